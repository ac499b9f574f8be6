"""Knows how encoded pairs become padded tensors of similar length; knows no text and no model."""

from typing import NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from attn_course.translation.vocabulary import BOS, EOS, PAD


class Batch(NamedTuple):
    """source (B, S), its lengths (B,) on the CPU, inputs (B, T) from the start mark, targets (B, T)."""

    source: torch.Tensor
    lengths: torch.Tensor
    inputs: torch.Tensor
    targets: torch.Tensor


def pad(sequences, device="cpu"):
    """Lists of ids -> (B, longest), the rest filled with PAD."""
    tensors = [torch.tensor(ids) for ids in sequences]
    return pad_sequence(tensors, batch_first=True, padding_value=PAD).to(device)


def pad_source(sources, device="cpu"):
    """Lists of ids -> source (B, S), each with its end mark, and lengths (B,) on the CPU."""
    sources = [[*ids, EOS] for ids in sources]
    return pad(sources, device), torch.tensor([len(ids) for ids in sources])


def collate(pairs, device="cpu"):
    """Encoded pairs -> Batch; inputs are targets moved one step to the right."""
    source, lengths = pad_source([s for s, _ in pairs], device)
    inputs = pad([[BOS, *t] for _, t in pairs], device)
    targets = pad([[*t, EOS] for _, t in pairs], device)
    return Batch(source, lengths, inputs, targets)


def bucket(pairs, *, max_tokens, generator):
    """Lists of indices of pairs of similar length, in a random order that the generator decides.

    The longer side of a batch, padded, holds at most max_tokens (or the batch is a single pair).
    """
    order = torch.randperm(len(pairs), generator=generator).tolist()
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    groups, group, longest = [], [], 0
    for i in order:
        longest = max(longest, len(pairs[i][0]) + 1, len(pairs[i][1]) + 1)
        if group and longest * (len(group) + 1) > max_tokens:
            groups.append(group)
            group, longest = [], max(len(pairs[i][0]), len(pairs[i][1])) + 1
        group.append(i)
    groups.append(group)
    return [groups[i] for i in torch.randperm(len(groups), generator=generator).tolist()]
