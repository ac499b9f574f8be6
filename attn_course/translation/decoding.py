"""Greedy search and beam search for translations, in batches."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from attn_course.translation.batches import Ids
from attn_course.translation.vocabulary import BOS, EOS, PAD


class Hypothesis(NamedTuple):
    """One of several translations: its ids, and log-probability / length."""

    tokens: Ids
    score: float


def advance(model: Any, last: Tensor, memory: Any, state: Tensor | None) -> tuple[Tensor, Tensor]:
    """Make one step of any search.

    last: (N, 1), the tokens written last. memory: of N sentences. state: None at the start.
    Returns log-probabilities (N, V) of the next token, and the new state.
    """
    logits, _, state = model.decode(last, memory, state)
    logits = logits[:, -1].float()
    logits[:, :EOS] = -torch.inf  # label smoothing leaves PAD and BOS a little mass
    return logits.log_softmax(-1), state


@torch.inference_mode()
def greedy(model: Any, source: Tensor, lengths: Tensor, *, max_length: int | Tensor) -> list[Ids]:
    """Return the likeliest token at each step, for each sentence.

    source: (B, S). lengths: (B,) on the CPU.
    max_length: of a translation, in tokens; one number, or one for each sentence, (B,) on the CPU.
    """
    memory = model.encode(source, lengths)
    limits, num_steps = _limits(max_length, source)
    state = None
    last = source.new_full((len(source), 1), BOS)
    done = torch.zeros_like(last, dtype=torch.bool)
    tokens: list[Tensor] = []
    for step in range(1, num_steps + 1):
        log_probs, state = advance(model, last, memory, state)
        likeliest = log_probs.argmax(-1, keepdim=True)  # (B, 1)
        last = likeliest.masked_fill(done, PAD)
        done |= last == EOS
        done |= limits == step
        tokens.append(last)
        if done.all():  # the only wait for the device
            break
    return _trimmed(torch.cat(tokens, 1))


def _limits(max_length, source):
    """Return the limit of each sentence in subwords (B, 1), on the device of source, and the largest."""
    limits = torch.as_tensor(max_length).expand(len(source))[:, None]
    return limits.to(source.device, non_blocking=True), int(limits.max())


def _trimmed(tokens):
    """tokens (B, T) -> B lists of ids, each cut after its end mark."""
    return [row[: len(row) - row.count(PAD)] for row in tokens.cpu().tolist()]


class SearchState:
    """What a step needs of N hypotheses; state[rows] picks rows, also repeatedly.

    memory: of N sentences. state: of the decoder, with the hypotheses along its second axis, or None
    before the first step.
    """

    def __init__(self, memory: Any, state: Tensor | None = None) -> None:
        self.memory = memory
        self.state = state

    def __len__(self) -> int:
        return len(self.memory.mask)

    def __getitem__(self, rows: Any) -> "SearchState":
        device = self.memory.mask.device
        rows = torch.arange(len(self), device=device)[rows].reshape(-1)
        return SearchState(
            memory=self.memory.rows(rows),
            state=None if self.state is None else self.state[:, rows],
        )


class _Beams:
    """K hypotheses for each of B sentences, in rows b * K + k.

    sentences: (B*K,), the sentence of each row; first: (B, 1), the first row of each sentence.
    tokens: (B*K, t).
    scores: (B, K) log-probabilities; sizes: (B, K) lengths; done: (B, K).
    """

    def __init__(self, source: Tensor, K: int, length_penalty: float) -> None:
        B = len(source)
        numbers = torch.arange(B, device=source.device)
        empty = torch.zeros(B, K, device=source.device)
        self.length_penalty = length_penalty
        self.sentences = numbers.repeat_interleave(K)
        self.first = K * numbers[:, None]
        self.tokens = numbers.new_zeros(B * K, 0)
        self.sizes = empty
        self.done = empty > 0
        # only one start hypothesis is alive, or the beam would hold K copies
        self.scores = torch.full_like(empty, -torch.inf)
        self.scores[:, 0] = 0.0

    def extend(self, log_probs: Tensor) -> Tensor:
        """Keep the best K of all hypotheses that are one token longer.

        log_probs: (B*K, V).
        Returns the rows (B*K,) that the new hypotheses grew from.
        A finished hypothesis stays, extended by PAD at no cost, and competes under its own length.
        """
        B, K = self.scores.shape
        V = log_probs.shape[-1]
        stay = torch.full_like(log_probs[0], -torch.inf)  # (V,)
        stay[PAD] = 0.0
        steps = torch.where(self.done[..., None], stay, log_probs.view(B, K, V))
        totals = self.scores[..., None] + steps  # (B, K, V)
        sizes = self.sizes + ~self.done  # (B, K)
        ranks = self._ranks(totals, sizes[..., None])  # (B, K, V)
        _, best = ranks.flatten(1).topk(K)  # (B, K), numbers of (hypothesis, token)
        parents = best // V
        chosen = best % V
        self.scores = totals.flatten(1).gather(1, best)
        self.sizes = sizes.gather(1, parents)
        self.done = self.done.gather(1, parents)
        self.done |= chosen == EOS
        rows = (self.first + parents).flatten()
        self.tokens = torch.cat([self.tokens[rows], chosen.view(-1, 1)], 1)
        return rows

    def _ranks(self, scores, sizes):
        """Return log-probability / length ** length_penalty."""
        return scores / sizes**self.length_penalty

    def ranked(self) -> tuple[Tensor, Tensor]:
        """Return rows (B, K) and their scores (B, K), best first."""
        values = self._ranks(self.scores, self.sizes)
        values, order = values.sort(dim=-1, descending=True, stable=True)
        return self.first + order, values


def _searched(model, source, lengths, max_length, size, length_penalty):
    """Return the beams when every hypothesis has come to its end, or is as long as it may be."""
    limits, num_steps = _limits(max_length, source)
    beams = _Beams(source, size, length_penalty)
    memory = model.encode(source, lengths)
    memory = memory.rows(beams.sentences)
    state = None
    last = torch.full_like(beams.sentences[:, None], BOS)
    for step in range(1, num_steps + 1):
        log_probs, state = advance(model, last, memory, state)
        rows = beams.extend(log_probs)
        beams.done |= limits == step
        last = beams.tokens[:, -1:]
        state = state[:, rows]
        if beams.done.all():  # the only wait for the device
            break
    return beams


@torch.inference_mode()
def beam(
    model: Any,
    source: Tensor,
    lengths: Tensor,
    *,
    max_length: int | Tensor,
    size: int = 5,
    length_penalty: float = 1.0,
) -> list[Ids]:
    """Return the best of `size` hypotheses by log-probability / length ** length_penalty.

    source, lengths, max_length: as for `greedy`.
    """
    beams = _searched(model, source, lengths, max_length, size, length_penalty)
    rows, _ = beams.ranked()
    return _trimmed(beams.tokens[rows[:, 0]])


@torch.inference_mode()
def n_best(
    model: Any, source: Tensor, lengths: Tensor, *, max_length: int | Tensor, size: int = 5
) -> list[list[Hypothesis]]:
    """Return all hypotheses of the last beam, best first, for each sentence; arguments as for `beam`."""
    beams = _searched(model, source, lengths, max_length, size, length_penalty=1)
    rows, values = beams.ranked()
    ranks = values.cpu().tolist()
    lists = []
    for chosen, scores in zip(rows, ranks, strict=True):
        hypotheses = map(Hypothesis, _trimmed(beams.tokens[chosen]), scores)
        # a wide beam may have places that nothing could fill
        lists.append([hypothesis for hypothesis in hypotheses if hypothesis.score > -torch.inf])
    return lists
