"""A Transformer encoder-decoder of the course's own attention, with a cache."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_course.translation.batches import Batch
from attn_course.translation.config import Config
from attn_course.translation.vocabulary import PAD
from attn_utils import attend, rotate
from attn_utils.layers import Cache, CausalSelfAttention, merge_heads, split_heads


class CrossMemory(NamedTuple):
    """What the decoder may use of a source sentence, computed once.

    cross: keys and values (2L, B, H, S, d) of the cross-attention of its L layers.
    mask: (B, S), True where there is a word.
    """

    cross: Tensor
    mask: Tensor

    def rows(self, index: Tensor) -> "CrossMemory":
        """Return the memory of the sentences in index (N,), which may repeat."""
        return CrossMemory(self.cross[:, index], self.mask[index])


class Projections(nn.Module):
    """The four matrices of multi-head attention."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)


class EncoderSelfAttention(Projections):
    """Multi-head attention of a sentence to all of itself, positions by rotation."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D), mask (B, S) -> (B, S, D)."""
        positions = torch.arange(x.shape[1], device=x.device)  # (S,)
        q = split_heads(self.query(x), self.num_heads)  # (B, H, S, d)
        k = split_heads(self.key(x), self.num_heads)
        v = split_heads(self.value(x), self.num_heads)
        context, _ = attend(
            rotate(q, positions),
            rotate(k, positions),
            v,
            mask=mask[:, None, None],
            need_weights=False,
        )
        return self.out(merge_heads(context))


class CrossAttention(Projections):
    """Multi-head attention of the decoder to the encoder: the one place where the languages meet."""

    def keys_and_values(self, states: Tensor) -> Tensor:
        """states (B, S, D) -> (2, B, H, S, d)."""
        keys = split_heads(self.key(states), self.num_heads)
        values = split_heads(self.value(states), self.num_heads)
        return torch.stack([keys, values])

    def forward(
        self, x: Tensor, cross: Tensor, mask: Tensor, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return the context of each target token, and where it looked.

        x: (B, T, D). cross: keys and values (2, B, H, S, d). mask: (B, S).
        Returns (B, T, D) and weights (B, H, T, S), or None in their place.
        """
        keys, values = cross
        context, weights = attend(
            split_heads(self.query(x), self.num_heads),
            keys,
            values,
            mask=mask[:, None, None],
            need_weights=need_weights,
        )
        return self.out(merge_heads(context)), weights


def feed_forward(width: int) -> nn.Sequential:
    """Return two linear layers that look at one token at a time."""
    return nn.Sequential(
        nn.Linear(width, 2 * width),
        nn.ReLU(),
        nn.Linear(2 * width, width),
    )


class EncoderLayer(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, width: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = EncoderSelfAttention(width, num_heads)
        self.mlp = feed_forward(width)
        self.before_attention = nn.LayerNorm(width)
        self.before_mlp = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D), mask (B, S) -> (B, S, D)."""
        update = self.attention(self.before_attention(x), mask)
        x = x + self.dropout(update)
        update = self.mlp(self.before_mlp(x))
        return x + self.dropout(update)


class DecoderLayer(nn.Module):
    """The same with a cache for the past, and with cross-attention in between."""

    def __init__(self, width: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = CausalSelfAttention(width, num_heads)
        self.cross_attention = CrossAttention(width, num_heads)
        self.mlp = feed_forward(width)
        self.before_attention = nn.LayerNorm(width)
        self.before_cross = nn.LayerNorm(width)
        self.before_mlp = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, cross: Tensor, mask: Tensor, cache: Cache, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """x (B, T, D) -> (B, T, D) and cross-attention weights (B, H, T, S) or None.

        cross: keys and values (2, B, H, S, d). mask: (B, S). cache: of the target tokens so far, which
        is brought up to date.
        """
        update = self.attention(self.before_attention(x), cache)
        x = x + self.dropout(update)
        update, weights = self.cross_attention(
            self.before_cross(x), cross, mask, need_weights=need_weights
        )
        x = x + self.dropout(update)
        update = self.mlp(self.before_mlp(x))
        return x + self.dropout(update), weights


class TransformerTranslator(nn.Module):
    """Pre-norm encoder and decoder, one embedding for source, target and output.

    Its state is the keys and values of the decoder's self-attention so far, one tensor
    (2L, B, H, t, d), so that a search can pick rows of it as it does of a GRU's state.
    """

    def __init__(self, config: Config, num_tokens: int) -> None:
        super().__init__()
        width = config.width
        sizes = (width, config.num_heads, config.dropout)
        self.scale = math.sqrt(width)
        self.embed = nn.Embedding(num_tokens, width, padding_idx=PAD)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(config.decoder_layers))
        self.memory_norm = nn.LayerNorm(width)
        self.output_norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(num_tokens))
        self.dropout = nn.Dropout(config.dropout)
        self.apply(_keep_variance)
        nn.init.normal_(self.embed.weight, std=width**-0.5)

    def _embedded(self, tokens):
        """tokens (B, T) -> (B, T, D), of variance one."""
        return self.dropout(self.embed(tokens) * self.scale)

    def encode(self, source: Tensor, lengths: Tensor | None = None) -> CrossMemory:
        """source (B, S) -> CrossMemory; the lengths, which a GRU needs, are not looked at."""
        mask = source != PAD
        x = self._embedded(source)
        for layer in self.encoder:
            x = layer(x, mask)
        states = self.memory_norm(x)
        pairs = [layer.cross_attention.keys_and_values(states) for layer in self.decoder]
        return CrossMemory(torch.cat(pairs), mask)

    def decode(
        self, inputs: Tensor, memory: CrossMemory, state: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read more target tokens.

        inputs: (B, T). state: keys and values (2L, B, H, t, d) of those before; None at the start.
        Returns logits (B, T, V), weights (B, T, S) of the last layer averaged over its heads, and the
        new state.
        """
        logits, weights, state = self._decode(inputs, memory, state, need_weights=True)
        return logits, weights.mean(1), state

    def _decode(self, inputs, memory, state, *, need_weights):
        """Decode as `decode` does, with the weights (B, H, T, S) of every head, or None in their place."""
        caches = self.caches_of(state)
        last = caches[-1]
        crosses = memory.cross.split(2)  # L times (2, B, H, S, d)
        x = self._embedded(inputs)
        for layer, cross, cache in zip(self.decoder, crosses, caches, strict=True):
            x, weights = layer(
                x,
                cross,
                memory.mask,
                cache,
                need_weights=need_weights and cache is last,
            )
        x = self.output_norm(x)
        logits = F.linear(x, self.embed.weight, self.bias)
        return logits, weights, state_of(caches)

    def caches_of(self, state: Tensor | None) -> list[Cache]:
        """Return one cache a layer, holding its part of the state (2L, B, H, t, d)."""
        caches = [Cache(rotate) for _ in self.decoder]
        if state is not None:
            for i, cache in enumerate(caches):
                cache.keys = state[2 * i]
                cache.values = state[2 * i + 1]
        return caches

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> logits (B, T, V) of every teacher-forced step at once."""
        memory = self.encode(batch.source)
        logits, _, _ = self._decode(batch.inputs, memory, None, need_weights=False)
        return logits


def state_of(caches: list[Cache]) -> Tensor:
    """Return the state (2L, B, H, t, d) from which `caches_of` makes these caches."""
    parts: list = []
    for cache in caches:
        parts += [cache.keys, cache.values]
    return torch.stack(parts)


def _keep_variance(module):
    """Draw weights under which the variance of a sum stays what it was."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
