"""Attention as torch modules, built on the kernels. No task, no text, no training."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_utils.kernels import attend, softmax
from attn_utils.masks import causal_mask

Rotation = Callable[[Tensor, Tensor], Tensor]  # (x, positions) -> x, such as kernels.rotate
Attended = tuple[Tensor, Tensor]  # context and weights


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Split x (B, T, D) into (B, H, T, d): each head gets d = D / H neighbouring features of a token.

    >>> split_heads(torch.zeros(2, 5, 12), 3).shape
    torch.Size([2, 3, 5, 4])
    """
    _refuse_uneven(x.shape[-1], num_heads)
    heads = x.unflatten(-1, (num_heads, -1))  # (B, T, H, d)
    return heads.transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """Merge x (B, H, T, d) into (B, T, D), the inverse of `split_heads`.

    >>> merge_heads(torch.zeros(2, 3, 5, 4)).shape
    torch.Size([2, 5, 12])
    """
    return x.transpose(-3, -2).flatten(-2)


def _refuse_uneven(width, num_heads):
    """Raise unless each head gets the same number of features."""
    if width % num_heads:
        raise ValueError(f"width {width} cannot be split evenly into {num_heads} heads")


class Cache:
    """The keys and values of the tokens so far; each step computes only those of new tokens.

    rotate: turns queries and keys by their positions, which are counted from the first token; None
    leaves them as they are. A fresh cache and all tokens at once are one causal pass over them.
    """

    def __init__(self, rotate: Rotation | None = None) -> None:
        self.rotate = rotate
        self.keys: Tensor | None = None  # (..., t, d), each turned once, by its own position
        self.values: Tensor | None = None  # (..., t, dv)

    @property
    def length(self) -> int:
        """The number t of tokens kept."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def extend(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Keep the keys and values of n new tokens: q, k (..., n, d), v (..., n, dv).

        Returns the new queries (..., n, d), turned, and all keys and values so far (..., t + n, .).
        """
        if self.rotate is not None:
            t = self.length
            positions = torch.arange(t, t + k.shape[-2], device=k.device)  # (n,)
            q = self.rotate(q, positions)
            k = self.rotate(k, positions)
        self.keys = k if self.keys is None else torch.cat((self.keys, k), -2)
        self.values = v if self.values is None else torch.cat((self.values, v), -2)
        return q, self.keys, self.values

    def step(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return the context (..., n, dv) of n new tokens; q, k (..., n, d), v (..., n, dv).

        >>> x = torch.randn(2, 3, 4)
        >>> cache = Cache()
        >>> steps = [cache.step(new, new, new) for new in x.split(1, dim=1)]
        >>> torch.allclose(torch.cat(steps, 1), Cache().step(x, x, x), atol=1e-6)
        True
        """
        q, keys, values = self.extend(q, k, v)
        context, _ = attend(q, keys, values, causal=True, need_weights=False)
        return context

    def rows(self, index: Tensor) -> "Cache":
        """Return a new cache of the sequences in index (N,), which may repeat, as the best beams do."""
        chosen = Cache(self.rotate)
        if self.keys is not None and self.values is not None:
            chosen.keys = self.keys[index]  # (N, ..., t, d)
            chosen.values = self.values[index]
        return chosen


class CausalSelfAttention(nn.Module):
    """Multi-head attention of a sequence to its own past, as 6.6 builds it."""

    def __init__(
        self,
        D: int,
        num_heads: int,
        *,
        attention_dropout: float = 0.0,
        residual_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _refuse_uneven(D, num_heads)
        self.num_heads = num_heads
        self.query = nn.Linear(D, D)
        self.key = nn.Linear(D, D)
        self.value = nn.Linear(D, D)
        self.out = nn.Linear(D, D, bias=True)
        self.drop_weights = nn.Dropout(attention_dropout)
        self.drop_output = nn.Dropout(residual_dropout)

    def _heads(self, projected):
        return split_heads(projected, self.num_heads)  # (B, H, T, d)

    def weights(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> the weights (B, H, T, T) of each head, before dropout."""
        q = self._heads(self.query(x))
        k = self._heads(self.key(x))
        _, weights = attend(q, k, k, causal=True)
        return weights

    def forward(self, x: Tensor, cache: Cache | None = None) -> Tensor:
        """x (B, T, D) -> (B, T, D); position t looks at positions 0..t, and at what is in the cache.

        >>> CausalSelfAttention(12, 3)(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
        """
        # gradients are added in the order of the projections: another order, other last digits
        v = self._heads(self.value(x))
        q = self._heads(self.query(x))
        k = self._heads(self.key(x))
        if cache is not None:
            q, k, v = cache.extend(q, k, v)
        if self.training and self.drop_weights.p:
            _, weights = attend(q, k, v, causal=True)
            context = self.drop_weights(weights) @ v  # (B, H, T, d)
        else:  # nobody needs the weights, so they are never all in memory
            context, _ = attend(q, k, v, causal=True, need_weights=False)
        return self.drop_output(self.out(merge_heads(context)))


class SynthesizerAttention(nn.Module):
    """Causal attention whose weights softmax(ReLU(x A + b1) B + b2) compare no pair of tokens (7.1).

    Head i owns the columns i*d..(i+1)*d of A and its own B[i]; b2 belongs to all heads. The columns
    of B are positions, so no sequence may be longer than max_length.
    """

    def __init__(
        self,
        D: int,
        num_heads: int,
        max_length: int,
        *,
        attention_dropout: float = 0.0,
        residual_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _refuse_uneven(D, num_heads)
        d = D // num_heads
        self.num_heads = num_heads
        self.max_length = max_length
        self.A = nn.Linear(D, D)  # its bias is b1
        self.value = nn.Linear(D, D)
        self.out = nn.Linear(D, D, bias=True)
        uniform = torch.empty(num_heads, d, max_length).uniform_(-1, 1)
        self.B = nn.Parameter(uniform / d**0.5)  # (H, d, max_length)
        self.b2 = nn.Parameter(torch.zeros(max_length))
        self.drop_weights = nn.Dropout(attention_dropout)
        self.drop_output = nn.Dropout(residual_dropout)

    def weights(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> the weights (B, H, T, T) of each head, before dropout."""
        T = x.shape[-2]
        if self.max_length < T:
            raise ValueError(f"x {tuple(x.shape)} is longer than max_length {self.max_length}")
        hidden = split_heads(self.A(x).relu(), self.num_heads)  # (B, H, T, d)
        scores = hidden @ self.B[..., :T] + self.b2[:T]  # (B, H, T, T)
        later = ~causal_mask(T, like=x)
        return softmax(scores.masked_fill(later, -torch.inf))

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> (B, T, D); position t looks at positions 0..t.

        >>> SynthesizerAttention(12, 3, max_length=9)(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
        """
        weights = self.drop_weights(self.weights(x))
        values = split_heads(self.value(x), self.num_heads)
        context = weights @ values  # (B, H, T, d)
        return self.drop_output(self.out(merge_heads(context)))


class Slot(nn.Module):
    """A kind of attention that stands between a decoder and its memory; all have one call."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S).

        >>> mask = torch.tensor([[True, True, False]])
        >>> MeanAttention(8)(torch.zeros(1, 1, 8), torch.zeros(1, 3, 8), mask)[1]
        tensor([[[0.5000, 0.5000, 0.0000]]])
        """
        raise NotImplementedError


class NoAttention(Slot):
    """The slot left empty: the decoder has only what the encoder's last state carried over."""

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """Return zeros for context (B, T, D) and weights (B, T, S)."""
        B, T, _ = queries.shape
        S = memory.shape[1]
        return torch.zeros_like(queries), queries.new_zeros(B, T, S)


class MeanAttention(Slot):
    """Every query sees the same average of the real keys."""

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """Return the same context (B, T, D) and weights (B, T, S) for every query."""
        T = queries.shape[1]
        num_keys = mask.sum(-1, keepdim=True)  # (B, 1)
        weights = mask / num_keys.clamp(min=1)  # (B, S)
        weights = weights.to(memory.dtype)[:, None].expand(-1, T, -1)  # (B, T, S)
        return weights @ memory, weights


class DotAttention(Slot):
    """Scaled dot products; no parameters, so decoder and encoder must learn one common space."""

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """Return context (B, T, D) and weights (B, T, S) of `attend`."""
        return attend(queries, memory, memory, mask=mask[:, None])


class BilinearAttention(Slot):
    """Scores q . W k / sqrt(D): a learnt matrix (D, D) says which keys suit which queries."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.key = nn.Linear(width, width, bias=False)
        _keep_variance(self)

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S)."""
        return attend(queries, self.key(memory), memory, mask=mask[:, None])


class AdditiveAttention(Slot):
    """Scores v . tanh(W q + U k): a small network looks at each pair of query and key."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        _keep_variance(self)

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S).

        The pairs of queries and keys need B * T * S * D numbers.
        """
        q = self.query(queries)[:, :, None]  # (B, T, 1, D)
        k = self.key(memory)[:, None]  # (B, 1, S, D)
        pairs = (q + k).tanh()  # (B, T, S, D)
        scores = self.score(pairs).squeeze(-1)  # (B, T, S)
        hidden = ~mask[:, None]  # (B, 1, S)
        weights = softmax(scores.masked_fill(hidden, -torch.inf))
        return weights @ memory, weights


class MultiHeadAttention(Slot):
    """Scaled dot products in several learnt subspaces; the weights shown are the heads' average."""

    def __init__(self, width: int, *, num_heads: int = 4) -> None:
        super().__init__(width)
        _refuse_uneven(width, num_heads)
        self.num_heads = num_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        _keep_variance(self)

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> Attended:
        """Return the context (B, T, D) of all heads and the mean (B, T, S) of their weights."""
        H = self.num_heads
        q = split_heads(self.query(queries), H)  # (B, H, T, d)
        k = split_heads(self.key(memory), H)  # (B, H, S, d)
        v = split_heads(self.value(memory), H)
        context, weights = attend(q, k, v, mask=mask[:, None, None])
        return self.out(merge_heads(context)), weights.mean(1)


def _keep_variance(slot):
    """Draw weights under which unit variance stays one; torch's start is near uniform attention."""
    for linear in slot.children():
        nn.init.xavier_uniform_(linear.weight)


SLOTS: dict[str, type[Slot]] = {
    "none": NoAttention,
    "mean": MeanAttention,
    "dot": DotAttention,
    "bilinear": BilinearAttention,
    "additive": AdditiveAttention,
    "multihead": MultiHeadAttention,
}
