"""Knows how to search for a translation, greedily or with a beam, many sentences at once; knows no text."""

from typing import NamedTuple

import torch

from attn_course.translation.vocabulary import BOS, EOS, PAD


class Decoded(NamedTuple):
    """tokens: list of B lists of ids, end mark included; weights: list of B tensors (T_b, S)."""

    tokens: list
    weights: list


def _trim(tokens, weights):
    """tokens (B, T), weights (B, T, S) -> Decoded, each sentence cut after its end mark."""
    lengths = (tokens != PAD).sum(-1).tolist()
    rows = tokens.tolist()
    return Decoded(
        [row[:n] for row, n in zip(rows, lengths, strict=True)],
        [w[:n].cpu() for w, n in zip(weights, lengths, strict=True)],
    )


def advance(model, last, memory, state):
    """last (N, 1) -> log-probabilities (N, V) of the next token, weights (N, 1, S), state."""
    logits, weights, state = model.decode(last, memory, state)
    logits = logits[:, -1].float()
    logits[:, [PAD, BOS]] = -torch.inf  # label smoothing leaves these marks a little mass
    return logits.log_softmax(-1), weights, state


@torch.inference_mode()
def greedy(model, source, lengths, *, max_length):
    """The likeliest token at each step. source (B, S), lengths (B,) -> Decoded."""
    memory, state = model.encode(source, lengths), None
    last = source.new_full((len(source), 1), BOS)
    done = torch.zeros_like(last, dtype=torch.bool)
    tokens, rows = [], []
    while len(tokens) < max_length and not done.all():
        log_probs, weights, state = advance(model, last, memory, state)
        last = log_probs.argmax(-1, keepdim=True).masked_fill(done, PAD)  # (B, 1)
        done |= last == EOS
        tokens.append(last)
        rows.append(weights)
    return _trim(torch.cat(tokens, 1), torch.cat(rows, 1))


class _Beams:
    """K hypotheses for each of B sentences, in rows b * K + k.

    tokens (B*K, t), weights (B*K, t, S), scores (B, K) log-probabilities, sizes (B, K) lengths.
    """

    def __init__(self, B, K, S, device):
        self.first = torch.arange(B, device=device)[:, None] * K  # (B, 1)
        self.tokens = torch.zeros(B * K, 0, dtype=torch.long, device=device)
        self.weights = torch.zeros(B * K, 0, S, device=device)
        self.sizes = torch.zeros(B, K, device=device)
        self.scores = torch.full((B, K), -torch.inf, device=device)
        self.scores[:, 0] = 0.0  # only one start hypothesis is alive, or the beam holds K copies

    @property
    def done(self):
        return (self.tokens == EOS).any(-1).view_as(self.scores)

    def extend(self, log_probs, weights, length_penalty):
        """log_probs (B*K, V), weights (B*K, 1, S) -> the rows (B*K,) that the new hypotheses grew from.

        A finished hypothesis stays, extended by PAD at no cost, and competes under its own length.
        """
        V, K = log_probs.shape[-1], self.scores.shape[1]
        padded = torch.full_like(log_probs[0], -torch.inf)
        padded[PAD] = 0.0
        steps = torch.where(self.done[..., None], padded, log_probs.view(-1, K, V))
        totals, sizes = self.scores[..., None] + steps, self.sizes + ~self.done
        ranks = (totals / sizes[..., None] ** length_penalty).flatten(1)  # (B, K * V)
        best = ranks.topk(K, dim=-1).indices
        rows = (self.first + best // V).flatten()
        self.scores, self.sizes = totals.flatten(1).gather(1, best), sizes.gather(1, best // V)
        self.tokens = torch.cat([self.tokens[rows], (best % V).view(-1, 1)], 1)
        self.weights = torch.cat([self.weights[rows], weights[rows]], 1)
        return rows


@torch.inference_mode()
def beam(model, source, lengths, *, max_length, size=5, length_penalty=1.0):
    """The best of `size` hypotheses by log-probability / length ** length_penalty.

    source (B, S), lengths (B,) -> Decoded.
    """
    B, S = source.shape
    beams = _Beams(B, size, S, source.device)
    sentences = torch.arange(B, device=source.device).repeat_interleave(size)
    memory, state = model.encode(source, lengths).rows(sentences), None
    last = source.new_full((B * size, 1), BOS)
    for _ in range(max_length):
        log_probs, weights, state = advance(model, last, memory, state)
        rows = beams.extend(log_probs, weights, length_penalty)
        last, state = beams.tokens[:, -1:], state[:, rows]
        if beams.done.all():
            break
    winners = beams.first[:, 0] + (beams.scores / beams.sizes**length_penalty).argmax(-1)
    return _trim(beams.tokens[winners], beams.weights[winners])
