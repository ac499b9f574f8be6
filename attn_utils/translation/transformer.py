"""A Transformer encoder-decoder of the course's own attention, with a cache. Knows no text."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from attn_utils import attend
from attn_utils.layers import merge_heads, split_heads
from attn_utils.translation.batches import Batch
from attn_utils.translation.vocabulary import PAD

BASE = 10_000.0  # of the wavelengths of rotary positions


class CrossMemory(NamedTuple):
    """What the decoder may use: keys and values (2L, B, H, S, d) of its L layers, and mask (B, S)."""

    cross: torch.Tensor
    mask: torch.Tensor

    def rows(self, index: torch.Tensor) -> "CrossMemory":
        """The memory of the sentences in index (N,), which may repeat."""
        return CrossMemory(self.cross[:, index], self.mask[index])


def rotate(x: torch.Tensor, first: int) -> torch.Tensor:
    """Rotary positions: x (B, H, T, d), whose T tokens stand at first, first + 1, ... -> the same shape.

    Pairs of features turn by an angle in proportion to the position, so that the dot product of a
    query and a key depends on how far apart they are and not on where they are.
    """
    T, d = x.shape[-2:]
    positions = torch.arange(first, first + T, device=x.device)  # (T,)
    halves = torch.arange(d // 2, device=x.device)
    speeds = BASE ** (-2 * halves / d)  # (d / 2,)
    angles = positions[:, None] * speeds  # (T, d / 2)
    cos = angles.cos().to(x.dtype)
    sin = angles.sin().to(x.dtype)
    one, other = x.chunk(2, dim=-1)
    return torch.cat([one * cos - other * sin, one * sin + other * cos], dim=-1)


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself, with rotary positions."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(
        self, x: torch.Tensor, *, mask: torch.Tensor | None = None, past: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """x (B, T, D) -> output (B, T, D) and the keys and values so far (2, B, H, t + T, d).

        With a mask (B, S) every token sees all real ones. Without, each sees itself, those before it
        and the past (2, B, H, t, d).
        """
        t = 0 if past is None else past.shape[-2]
        q = rotate(split_heads(self.query(x), self.num_heads), t)  # (B, H, T, d)
        k = rotate(split_heads(self.key(x), self.num_heads), t)
        v = split_heads(self.value(x), self.num_heads)
        if past is not None:
            k = torch.cat([past[0], k], dim=-2)
            v = torch.cat([past[1], v], dim=-2)
        if mask is None:
            context, _ = attend(q, k, v, causal=True, need_weights=False)
        else:
            context, _ = attend(q, k, v, mask=mask[:, None, None], need_weights=False)
        return self.out(merge_heads(context)), torch.stack([k, v])


class CrossAttention(nn.Module):
    """Multi-head attention of the decoder to the encoder: the one place where the languages meet."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def keys_and_values(self, states: torch.Tensor) -> torch.Tensor:
        """states (B, S, D) -> (2, B, H, S, d), computed once for a sentence."""
        keys = split_heads(self.key(states), self.num_heads)
        values = split_heads(self.value(states), self.num_heads)
        return torch.stack([keys, values])

    def forward(
        self, x: torch.Tensor, cross: torch.Tensor, mask: torch.Tensor, *, need_weights: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """x (B, T, D), cross (2, B, H, S, d), mask (B, S) -> (B, T, D), weights (B, H, T, S) or None."""
        q = split_heads(self.query(x), self.num_heads)
        keys, values = cross
        context, weights = attend(
            q, keys, values, mask=mask[:, None, None], need_weights=need_weights
        )
        return self.out(merge_heads(context)), weights


def feed_forward(width: int) -> nn.Sequential:
    """Two linear layers that look at one token at a time."""
    return nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))


class EncoderLayer(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, width: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, num_heads)
        self.mlp = feed_forward(width)
        self.before_attention = nn.LayerNorm(width)
        self.before_mlp = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """x (B, S, D), mask (B, S) -> (B, S, D)."""
        found, _ = self.attention(self.before_attention(x), mask=mask)
        x = x + self.dropout(found)
        return x + self.dropout(self.mlp(self.before_mlp(x)))


class DecoderLayer(nn.Module):
    """The same with cross-attention between the two."""

    def __init__(self, width: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, num_heads)
        self.cross_attention = CrossAttention(width, num_heads)
        self.mlp = feed_forward(width)
        self.before_attention = nn.LayerNorm(width)
        self.before_cross = nn.LayerNorm(width)
        self.before_mlp = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: torch.Tensor,
        cross: torch.Tensor,
        mask: torch.Tensor,
        past: torch.Tensor | None,
        *,
        need_weights: bool,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        """x (B, T, D) -> (B, T, D), weights (B, H, T, S) or None, keys and values so far."""
        found, past = self.attention(self.before_attention(x), past=past)
        x = x + self.dropout(found)
        found, weights = self.cross_attention(
            self.before_cross(x), cross, mask, need_weights=need_weights
        )
        x = x + self.dropout(found)
        x = x + self.dropout(self.mlp(self.before_mlp(x)))
        return x, weights, past


class TransformerTranslator(nn.Module):
    """Pre-norm encoder and decoder, one embedding for source, target and output.

    Its state is the keys and values of the decoder's self-attention so far, one tensor
    (2L, B, H, t, d), so that a search can pick rows of it as it does of a GRU's state.
    """

    def __init__(
        self,
        *,
        num_tokens: int,
        width: int = 192,
        encoder_layers: int = 3,
        decoder_layers: int = 2,
        num_heads: int = 4,
        dropout: float = 0.15,
    ) -> None:
        super().__init__()
        options = {"num_heads": num_heads, "dropout": dropout}
        self.scale = math.sqrt(width)
        self.embed = nn.Embedding(num_tokens, width, padding_idx=PAD)
        self.encoder = nn.ModuleList(EncoderLayer(width, **options) for _ in range(encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(width, **options) for _ in range(decoder_layers))
        self.memory_norm = nn.LayerNorm(width)
        self.output_norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(num_tokens))
        self.dropout = nn.Dropout(dropout)
        self.apply(_start)
        nn.init.normal_(self.embed.weight, std=width**-0.5)

    def _embedded(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens (B, T) -> (B, T, D), of variance one."""
        return self.dropout(self.embed(tokens) * self.scale)

    def encode(self, source: torch.Tensor, lengths: torch.Tensor | None = None) -> CrossMemory:
        """source (B, S) -> CrossMemory; the lengths, which a GRU needs, are not looked at."""
        mask = source != PAD
        x = self._embedded(source)
        for layer in self.encoder:
            x = layer(x, mask)
        states = self.memory_norm(x)
        pairs = [layer.cross_attention.keys_and_values(states) for layer in self.decoder]
        return CrossMemory(torch.cat(pairs), mask)

    def decode(
        self, inputs: torch.Tensor, memory: CrossMemory, state: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """inputs (B, T), state (2L, B, H, t, d) -> logits (B, T, V), weights (B, T, S), new state.

        The weights are those of the last layer, averaged over its heads.
        """
        logits, weights, state = self._decode(inputs, memory, state, need_weights=True)
        return logits, weights.mean(1), state

    def _decode(
        self,
        inputs: torch.Tensor,
        memory: CrossMemory,
        state: torch.Tensor | None,
        *,
        need_weights: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = self._embedded(inputs)
        last = len(self.decoder) - 1
        states = []
        for i, layer in enumerate(self.decoder):
            part = slice(2 * i, 2 * i + 2)
            past = None if state is None else state[part]
            wanted = need_weights and i == last
            x, weights, past = layer(x, memory.cross[part], memory.mask, past, need_weights=wanted)
            states.append(past)
        logits = F.linear(self.output_norm(x), self.embed.weight, self.bias)
        return logits, weights, torch.cat(states)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Batch -> logits (B, T, V) of every teacher-forced step at once."""
        memory = self.encode(batch.source)
        logits, _, _ = self._decode(batch.inputs, memory, None, need_weights=False)
        return logits


def _start(module: nn.Module) -> None:
    """Weights under which the variance of a sum stays what it was."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
