"""The search for a translation, greedy or with a beam, many sentences at once. Knows no text."""

from typing import Any, NamedTuple

import torch

from attn_course.translation.vocabulary import BOS, EOS, PAD


class Decoded(NamedTuple):
    """tokens: list of B lists of ids, end mark included; weights: list of B tensors (T_b, S)."""

    tokens: list[list[int]]
    weights: list[torch.Tensor]


class Hypothesis(NamedTuple):
    """One of several translations: its ids, weights (T, S), and log-probability / length ** penalty."""

    tokens: list[int]
    weights: torch.Tensor
    score: float


def _trim(tokens: torch.Tensor, weights: torch.Tensor) -> Decoded:
    """tokens (B, T), weights (B, T, S) -> Decoded on the CPU, each sentence cut after its end mark."""
    rows = tokens.cpu().tolist()
    weights = weights.cpu()
    lengths = [len(row) - row.count(PAD) for row in rows]
    return Decoded(
        tokens=[row[:length] for row, length in zip(rows, lengths, strict=True)],
        weights=[w[:length] for w, length in zip(weights, lengths, strict=True)],
    )


def advance(
    model: Any, last: torch.Tensor, memory: Any, state: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """last (N, 1) -> log-probabilities (N, V) of the next token, weights (N, 1, S), state."""
    logits, weights, state = model.decode(last, memory, state)
    logits = logits[:, -1].float()
    logits[:, :EOS] = -torch.inf  # label smoothing leaves PAD and BOS a little mass
    return logits.log_softmax(-1), weights, state


@torch.inference_mode()
def greedy(model: Any, source: torch.Tensor, lengths: torch.Tensor, *, max_length: int) -> Decoded:
    """The likeliest token at each step. source (B, S), lengths (B,) -> Decoded."""
    memory = model.encode(source, lengths)
    state = None
    last = source.new_full((len(source), 1), BOS)
    done = torch.zeros_like(last, dtype=torch.bool)
    tokens = []
    rows = []
    while len(tokens) < max_length:
        log_probs, weights, state = advance(model, last, memory, state)
        last = log_probs.argmax(-1, keepdim=True).masked_fill(done, PAD)  # (B, 1)
        done |= last == EOS
        tokens.append(last)
        rows.append(weights)
        if done.all():  # the only wait for the device
            break
    return _trim(torch.cat(tokens, 1), torch.cat(rows, 1))


class _Beams:
    """K hypotheses for each of B sentences, in rows b * K + k.

    tokens (B*K, t), weights (B*K, t, S), scores (B, K) log-probabilities, sizes (B, K) lengths,
    done (B, K).
    """

    def __init__(self, B: int, K: int, S: int, device: torch.device) -> None:
        self.first = K * torch.arange(B, device=device)[:, None]  # (B, 1)
        self.tokens = torch.zeros(B * K, 0, dtype=torch.long, device=device)
        self.weights = torch.zeros(B * K, 0, S, device=device)
        self.sizes = torch.zeros(B, K, device=device)
        self.done = torch.zeros(B, K, dtype=torch.bool, device=device)
        self.scores = torch.full((B, K), -torch.inf, device=device)
        self.scores[:, 0] = 0.0  # only one start hypothesis is alive, or the beam holds K copies

    def extend(
        self, log_probs: torch.Tensor, weights: torch.Tensor, length_penalty: float
    ) -> torch.Tensor:
        """log_probs (B*K, V), weights (B*K, 1, S) -> the rows (B*K,) that the new hypotheses grew from.

        A finished hypothesis stays, extended by PAD at no cost, and competes under its own length.
        """
        B, K = self.scores.shape
        V = log_probs.shape[-1]
        stay = torch.full_like(log_probs[0], -torch.inf)
        stay[PAD] = 0.0
        steps = torch.where(self.done[..., None], stay, log_probs.view(B, K, V))
        totals = self.scores[..., None] + steps  # (B, K, V)
        sizes = self.sizes + ~self.done  # (B, K)
        ranks = totals / sizes[..., None] ** length_penalty
        best = ranks.flatten(1).topk(K, dim=-1).indices  # (B, K), numbers of (hypothesis, token)
        parents = best // V  # (B, K)
        chosen = best % V
        rows = (self.first + parents).flatten()
        self.scores = totals.flatten(1).gather(1, best)
        self.sizes = sizes.gather(1, parents)
        self.done = self.done.gather(1, parents) | (chosen == EOS)
        self.tokens = torch.cat([self.tokens[rows], chosen.view(-1, 1)], 1)
        self.weights = torch.cat([self.weights[rows], weights[rows]], 1)
        return rows

    def ranked(self, length_penalty: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows (B, K) and their scores (B, K), best first."""
        values = self.scores / self.sizes**length_penalty
        values, order = values.sort(dim=-1, descending=True, stable=True)
        return self.first + order, values


def _search(
    model: Any,
    source: torch.Tensor,
    lengths: torch.Tensor,
    *,
    max_length: int,
    size: int,
    length_penalty: float,
) -> _Beams:
    B, S = source.shape
    beams = _Beams(B, size, S, source.device)
    sentences = torch.arange(B, device=source.device).repeat_interleave(size)
    memory = model.encode(source, lengths).rows(sentences)
    state = None
    last = source.new_full((B * size, 1), BOS)
    for _ in range(max_length):
        log_probs, weights, state = advance(model, last, memory, state)
        rows = beams.extend(log_probs, weights, length_penalty)
        last = beams.tokens[:, -1:]
        state = state[:, rows]
        if beams.done.all():  # the only wait for the device
            break
    return beams


@torch.inference_mode()
def beam(
    model: Any,
    source: torch.Tensor,
    lengths: torch.Tensor,
    *,
    max_length: int,
    size: int = 5,
    length_penalty: float = 1.0,
) -> Decoded:
    """The best of `size` hypotheses by log-probability / length ** length_penalty.

    source (B, S), lengths (B,) -> Decoded.
    """
    options = {"max_length": max_length, "size": size, "length_penalty": length_penalty}
    beams = _search(model, source, lengths, **options)
    rows, _ = beams.ranked(length_penalty)
    winners = rows[:, 0]
    return _trim(beams.tokens[winners], beams.weights[winners])


@torch.inference_mode()
def n_best(
    model: Any,
    source: torch.Tensor,
    lengths: torch.Tensor,
    *,
    max_length: int,
    size: int = 5,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """All hypotheses of the last beam, best first, for each sentence; arguments as for `beam`."""
    options = {"max_length": max_length, "size": size, "length_penalty": length_penalty}
    beams = _search(model, source, lengths, **options)
    rows, values = beams.ranked(length_penalty)
    flat = rows.flatten()
    decoded = _trim(beams.tokens[flat], beams.weights[flat])
    found = list(zip(decoded.tokens, decoded.weights, values.flatten().cpu().tolist(), strict=True))
    every = [Hypothesis(*fields) for fields in found if fields[2] > -torch.inf]
    width = len(every) // len(source)
    return [every[start : start + width] for start in range(0, len(every), width)]
