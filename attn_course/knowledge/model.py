"""Knows the small language model, built of the course's own attention; knows no text and no training."""

import torch
from torch import nn

from attn_utils.layers import CausalSelfAttention, SynthesizerAttention

ATTENTION = ("causal", "synthesizer")


class Block(nn.Module):
    """Attention, then two linear layers, each added to what came in."""

    def __init__(self, D, num_heads, block_size, *, attention, dropout):
        super().__init__()
        options = {"attention_dropout": dropout, "residual_dropout": dropout}
        if attention not in ATTENTION:
            raise ValueError(f"attention is {attention!r}; it can be {' or '.join(ATTENTION)}.")
        if attention == "causal":
            self.attention = CausalSelfAttention(D, num_heads, **options)
        else:
            self.attention = SynthesizerAttention(D, num_heads, block_size, **options)
        self.before_attention, self.before_mlp = nn.LayerNorm(D), nn.LayerNorm(D)
        layers = nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D), nn.Dropout(dropout)
        self.mlp = nn.Sequential(*layers)

    def forward(self, x):
        """x (B, T, D) -> (B, T, D)."""
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class LanguageModel(nn.Module):
    """A decoder-only transformer: symbols in, scores for the next symbol out."""

    def __init__(self, num_symbols, block_size, *, D, num_layers, num_heads, attention, dropout):
        super().__init__()
        self.symbols, self.places = nn.Embedding(num_symbols, D), nn.Embedding(block_size, D)
        options = {"attention": attention, "dropout": dropout}
        blocks = (Block(D, num_heads, block_size, **options) for _ in range(num_layers))
        self.blocks = nn.Sequential(*blocks)
        self.last, self.head = nn.LayerNorm(D), nn.Linear(D, num_symbols, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.apply(_small_weights)

    def forward(self, x):
        """x (B, T), integers -> logits (B, T, num_symbols)."""
        T, longest = x.shape[1], len(self.places.weight)
        if longest < T:
            raise ValueError(f"x {tuple(x.shape)} is longer than the block of {longest}.")
        found = self.symbols(x) + self.places.weight[:T]  # (B, T, D)
        return self.head(self.last(self.blocks(self.dropout(found))))


def _small_weights(module):
    """Start near zero, so that the first predictions are close to uniform."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def best_device():
    """cuda, else mps, else cpu."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
