"""Batches of encoded pairs, padded and bucketed by length."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attn_course.translation.vocabulary import BOS, EOS, PAD, Pair

Ids = list[int]


class Batch(NamedTuple):
    """source (B, S), its lengths (B,) on the CPU, inputs (B, T) from the start mark, targets (B, T)."""

    source: Tensor
    lengths: Tensor
    inputs: Tensor
    targets: Tensor

    @property
    def on_cpu(self) -> tuple[str, ...]:
        """What never moves to another device: packing reads it on the CPU."""
        return ("lengths",)


def pad(sequences: Sequence[Ids], device: str | torch.device = "cpu") -> Tensor:
    """Return lists of ids as integers (B, longest), the rest filled with PAD."""
    tensors = [torch.tensor(ids) for ids in sequences]
    padded = pad_sequence(tensors, batch_first=True, padding_value=PAD)
    return padded.to(device)


def pad_source(sources: Sequence[Ids], device: str | torch.device = "cpu") -> tuple[Tensor, Tensor]:
    """Return lists of ids as source (B, S), each with its end mark, and lengths (B,) on the CPU."""
    source = pad([[*ids, EOS] for ids in sources], device)
    return source, torch.tensor([len(ids) + 1 for ids in sources])


def collate(pairs: Sequence[Pair], device: str | torch.device = "cpu") -> Batch:
    """Return encoded pairs as a Batch.

    Inputs are targets moved one step to the right; a source ends with an end mark.
    """
    source, lengths = pad_source([german for german, _ in pairs], device)
    inputs = pad([[BOS, *english] for _, english in pairs], device)
    targets = pad([[*english, EOS] for _, english in pairs], device)
    return Batch(source, lengths, inputs, targets)


def bucket(
    pairs: Sequence[Pair], *, max_tokens: int, generator: torch.Generator
) -> list[list[int]]:
    """Return lists of indices of pairs of similar length, in a random order that the generator decides.

    The longer side of a batch, padded, holds at most max_tokens (or the batch is a single pair).
    """

    def by_length(i: int) -> tuple[int, int]:
        source, target = pairs[i]
        return len(target), len(source)

    order = torch.randperm(len(pairs), generator=generator).tolist()
    order.sort(key=by_length)
    groups: list[list[int]] = [[]]
    longest = 0
    for i in order:
        size = max(map(len, pairs[i])) + 1  # and a mark
        longest = max(longest, size)
        group = groups[-1]
        if group and longest * (len(group) + 1) > max_tokens:
            group = []
            groups.append(group)
            longest = size
        group.append(i)
    shuffled = torch.randperm(len(groups), generator=generator).tolist()
    return [groups[i] for i in shuffled]
