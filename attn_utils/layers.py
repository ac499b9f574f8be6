"""Knows attention as torch modules, built on the kernels; knows no task, no text and no training."""

import torch
from torch import nn

from attn_utils.kernels import attend, softmax
from attn_utils.masks import causal_mask


def evenly(width, num_heads):
    """Return num_heads if each head gets the same number of features, and refuse it otherwise."""
    if width % num_heads:
        raise ValueError(f"width {width} cannot be split evenly into {num_heads} heads")
    return num_heads


def split_heads(x, num_heads):
    """x (B, T, D) -> (B, H, T, d): each head gets d = D / H neighbouring features of every token."""
    return x.unflatten(-1, (evenly(x.shape[-1], num_heads), -1)).transpose(-3, -2)


def merge_heads(x):
    """x (B, H, T, d) -> (B, T, D): the inverse of `split_heads`."""
    return x.transpose(-3, -2).flatten(-2)


class CausalSelfAttention(nn.Module):
    """Multi-head attention of a sequence to its own past; the course builds it in 6.6."""

    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.num_heads = evenly(D, num_heads)
        self.query, self.key, self.value, self.out = (nn.Linear(D, D) for _ in range(4))
        self.drop_weights = nn.Dropout(attention_dropout)
        self.drop_output = nn.Dropout(residual_dropout)

    def _heads(self, x, *projections):
        """x (B, T, D) -> (B, H, T, d) for each projection."""
        return [split_heads(project(x), self.num_heads) for project in projections]

    def weights(self, x):
        """x (B, T, D) -> the weights (B, H, T, T) of each head, before dropout."""
        q, k = self._heads(x, self.query, self.key)
        return attend(q, k, k, causal=True)[1]

    def forward(self, x):
        """x (B, T, D) -> (B, T, D); position t looks at positions 0..t."""
        # gradients are added in the order of the projections: another order, other last digits
        v, q, k = self._heads(x, self.value, self.query, self.key)
        if self.training and self.drop_weights.p:
            context = self.drop_weights(attend(q, k, v, causal=True)[1]) @ v  # (B, H, T, d)
        else:  # nobody needs the weights, so they are never all in memory
            context, _ = attend(q, k, v, causal=True, need_weights=False)
        return self.drop_output(self.out(merge_heads(context)))


class SynthesizerAttention(nn.Module):
    """Causal attention whose weights softmax(ReLU(x A + b1) B + b2) compare no pair of tokens (7.1).

    Head i owns the columns i*d..(i+1)*d of A and its own B[i]; b2 belongs to all heads. The columns
    of B are positions, so no sequence may be longer than max_length.
    """

    def __init__(self, D, num_heads, max_length, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.num_heads, self.max_length, d = evenly(D, num_heads), max_length, D // num_heads
        self.A, self.value, self.out = (nn.Linear(D, D) for _ in range(3))  # A carries b1
        self.B = nn.Parameter(torch.empty(num_heads, d, max_length).uniform_(-1, 1) / d**0.5)
        self.b2 = nn.Parameter(torch.zeros(max_length))
        self.drop_weights = nn.Dropout(attention_dropout)
        self.drop_output = nn.Dropout(residual_dropout)

    def weights(self, x):
        """x (B, T, D) -> the weights (B, H, T, T) of each head, before dropout."""
        T = x.shape[-2]
        if self.max_length < T:
            raise ValueError(f"x {tuple(x.shape)} is longer than max_length {self.max_length}")
        hidden = split_heads(self.A(x).relu(), self.num_heads)  # (B, H, T, d)
        scores = hidden @ self.B[..., :T] + self.b2[:T]  # (B, H, T, T)
        return softmax(scores.masked_fill(~causal_mask(T, like=x), -torch.inf))

    def forward(self, x):
        """x (B, T, D) -> (B, T, D); position t looks at positions 0..t."""
        weights = self.drop_weights(self.weights(x))
        context = weights @ split_heads(self.value(x), self.num_heads)  # (B, H, T, d)
        return self.drop_output(self.out(merge_heads(context)))


class NoAttention(nn.Module):
    """The slot left empty: the decoder has only what the encoder's last state carried over."""

    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> zeros (B, T, D), zeros (B, T, S)."""
        B, T, _ = queries.shape
        return torch.zeros_like(queries), queries.new_zeros(B, T, memory.shape[1])


class MeanAttention(nn.Module):
    """Every query sees the same average of the real keys."""

    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S)."""
        weights = mask / mask.sum(-1, keepdim=True).clamp(min=1)  # (B, S)
        weights = weights.to(memory.dtype)[:, None].expand(-1, queries.shape[1], -1)
        return weights @ memory, weights


class DotAttention(nn.Module):
    """Scaled dot products; no parameters, so decoder and encoder must learn one common space."""

    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S)."""
        return attend(queries, memory, memory, mask=mask[:, None])


def _keep_variance(*linears):
    """Weights under which unit variance stays one; torch's default starts near uniform attention."""
    for linear in linears:
        nn.init.xavier_uniform_(linear.weight)


class AdditiveAttention(nn.Module):
    """Scores v . tanh(W q + U k): a small network looks at each pair of query and key."""

    def __init__(self, width):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        _keep_variance(self.query, self.key, self.score)

    def forward(self, queries, memory, mask):
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S)."""
        pairs = self.query(queries)[:, :, None] + self.key(memory)[:, None]  # (B, T, S, D)
        scores = self.score(pairs.tanh()).squeeze(-1).masked_fill(~mask[:, None], -torch.inf)
        weights = scores.softmax(-1).nan_to_num(0.0)  # a row without keys is all zeros
        return weights @ memory, weights


class MultiHeadAttention(nn.Module):
    """Scaled dot products in several learnt subspaces; the weights shown are the heads' average."""

    def __init__(self, width, *, num_heads=4):
        super().__init__()
        self.num_heads = evenly(width, num_heads)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        _keep_variance(self.query, self.key, self.value, self.out)

    def forward(self, queries, memory, mask):
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S)."""
        projected = self.query(queries), self.key(memory), self.value(memory)
        q, k, v = (split_heads(x, self.num_heads) for x in projected)
        context, weights = attend(q, k, v, mask=mask[:, None, None])  # (B, H, T, d), (B, H, T, S)
        return self.out(merge_heads(context)), weights.mean(1)


SLOTS = {
    "none": NoAttention,
    "mean": MeanAttention,
    "dot": DotAttention,
    "additive": AdditiveAttention,
    "multihead": MultiHeadAttention,
}
