"""Knows the encoder-decoder with a slot for attention; does not know which attention is in the slot."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_course.translation.vocabulary import PAD
from attn_utils.layers import SLOTS
from attn_utils.masks import padding_mask


class Memory(NamedTuple):
    """What the decoder may use: states (B, S, D), mask (B, S), and its own first state (1, B, D)."""

    states: torch.Tensor
    mask: torch.Tensor
    start: torch.Tensor

    def rows(self, index):
        """The memory of the sentences in index (N,), which may repeat."""
        return Memory(self.states[index], self.mask[index], self.start[:, index])


class Translator(nn.Module):
    """Bidirectional GRU encoder, GRU decoder, one embedding for source, target and output.

    The decoder never feeds its context back, so all teacher-forced steps are one GRU call and one
    attention call. slot: a module (queries, memory, mask) -> (context, weights), see layers.SLOTS.
    Queries and memory are normalised: their scaled dot products then have a variance near one from
    the first step on, where those of raw GRU states are all near zero and attention is slow to start.
    """

    def __init__(self, slot, *, num_tokens, embedding=256, width=384, dropout=0.3):
        super().__init__()
        self.embed = nn.Embedding(num_tokens, embedding, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=embedding**-0.5)
        self.encoder = nn.GRU(embedding, width // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, width)
        self.decoder = nn.GRU(embedding, width, batch_first=True)
        self.memory_norm, self.query_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.slot = slot
        self.readout = nn.Linear(2 * width, embedding)
        self.bias = nn.Parameter(torch.zeros(num_tokens))
        self.dropout = nn.Dropout(dropout)

    def encode(self, source, lengths):
        """source (B, S), lengths (B,) on the CPU -> Memory. Packed, so no state has read padding."""
        x = self.dropout(self.embed(source))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        start = self.bridge(last.transpose(0, 1).flatten(1)).tanh()[None]  # (1, B, D)
        mask = padding_mask(lengths.to(source.device), source.shape[1])
        return Memory(self.memory_norm(self.dropout(states)), mask, start)

    def decode(self, inputs, memory, state=None):
        """inputs (B, T), state (1, B, D) -> logits (B, T, V), weights (B, T, S), new state."""
        x = self.dropout(self.embed(inputs))
        states, state = self.decoder(x, memory.start if state is None else state)
        queries = self.query_norm(states)
        context, weights = self.slot(queries, memory.states, memory.mask)
        joined = torch.cat([queries, context], dim=-1)  # (B, T, 2D)
        features = self.dropout(self.readout(joined).tanh())
        return F.linear(features, self.embed.weight, self.bias), weights, state

    def forward(self, batch):
        """Batch -> logits (B, T, V) of every teacher-forced step at once."""
        return self.decode(batch.inputs, self.encode(batch.source, batch.lengths))[0]


def build(config, num_tokens, *, slot=None):
    """The translator that a configuration describes, with fresh weights; its slot, or the one given."""
    if config.attention not in SLOTS:
        raise ValueError(f"attention must be one of {', '.join(SLOTS)}, not {config.attention!r}")
    return Translator(
        slot or SLOTS[config.attention](config.width),
        num_tokens=num_tokens,
        embedding=config.embedding,
        width=config.width,
        dropout=config.dropout,
    )
