"""The GRU encoder-decoder with a slot for attention, and the choice between it and a Transformer."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_course.errors import UserError
from attn_course.translation.batches import Batch
from attn_course.translation.config import ARCHITECTURES, Config
from attn_course.translation.transformer import TransformerTranslator
from attn_course.translation.vocabulary import PAD
from attn_utils.layers import SLOTS


class Memory(NamedTuple):
    """All that the decoder may use: states (B, S, D), mask (B, S), and its own first state (1, B, D)."""

    states: Tensor
    mask: Tensor
    start: Tensor

    def rows(self, index: Tensor) -> "Memory":
        """Return the memory of the sentences in index (N,), which may repeat."""
        return Memory(
            states=self.states[index],
            mask=self.mask[index],
            start=self.start[:, index],
        )


class RecurrentTranslator(nn.Module):
    """Bidirectional GRU encoder, GRU decoder, one embedding for source, target and output.

    The decoder never feeds its context back, so all teacher-forced steps are one GRU call and one
    call of the cross-attention. slot: a module (queries, memory, mask) -> (context, weights), see
    layers.SLOTS. Queries and memory are normalised: their scaled dot products then have a variance
    near one from the first step on, where those of raw GRU states are all near zero and attention is
    slow to start.
    """

    def __init__(self, config: Config, num_tokens: int, slot: nn.Module) -> None:
        super().__init__()
        embedding = config.embedding
        width = config.width
        self.embed = nn.Embedding(num_tokens, embedding, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=embedding**-0.5)
        self.encoder = nn.GRU(embedding, width // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, width)
        self.decoder = nn.GRU(embedding, width, batch_first=True)
        self.memory_norm = nn.LayerNorm(width)
        self.query_norm = nn.LayerNorm(width)
        self.slot = slot
        self.readout = nn.Linear(2 * width, embedding)
        self.bias = nn.Parameter(torch.zeros(num_tokens))
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """source (B, S), lengths (B,) on the CPU -> Memory. Packed, so no state has read padding."""
        x = self.dropout(self.embed(source))  # (B, S, E)
        states, last = self._read(x, lengths)
        ends = last.transpose(0, 1).flatten(1)  # (B, D)
        start = self.bridge(ends).tanh()  # (B, D)
        states = self.dropout(states)
        return Memory(
            states=self.memory_norm(states),
            mask=source != PAD,
            start=start[None],
        )

    def _read(self, x, lengths):
        """x (B, S, E) -> states (B, S, D), last states (2, B, D / 2).

        Sorted here, on the CPU: torch would ask the device for the order, and wait.
        """
        lengths, order = lengths.sort(descending=True)
        back = order.argsort().to(x.device, non_blocking=True)
        order = order.to(x.device, non_blocking=True)
        in_order = x.index_select(0, order)
        packed = pack_padded_sequence(in_order, lengths, batch_first=True)
        states, last = self.encoder(packed)
        S = x.shape[1]
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=S)
        return states.index_select(0, back), last.index_select(1, back)

    def decode(
        self, inputs: Tensor, memory: Memory, state: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read more target tokens.

        inputs: (B, T). state: (1, B, D) after those before; None at the start.
        Returns logits (B, T, V), cross-attention weights (B, T, S), and the new state.
        """
        if state is None:
            state = memory.start
        x = self.dropout(self.embed(inputs))  # (B, T, E)
        states, state = self.decoder(x, state)
        queries = self.query_norm(states)  # (B, T, D)
        context, weights = self.slot(queries, memory.states, memory.mask)
        joined = torch.cat([queries, context], dim=-1)  # (B, T, 2D)
        features = self.readout(joined).tanh()  # (B, T, E)
        features = self.dropout(features)
        logits = F.linear(features, self.embed.weight, self.bias)
        return logits, weights, state

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> logits (B, T, V) of every teacher-forced step at once."""
        memory = self.encode(batch.source, batch.lengths)
        logits, _, _ = self.decode(batch.inputs, memory)
        return logits


Translator = RecurrentTranslator | TransformerTranslator


def build(config: Config, num_tokens: int, *, slot: nn.Module | None = None) -> Translator:
    """Return the translator that a configuration describes, with fresh weights.

    num_tokens: size of the vocabulary. slot: a module in the place of the configured attention.
    """
    if config.architecture not in ARCHITECTURES:
        names = ", ".join(ARCHITECTURES)
        raise UserError(f"the architecture must be one of {names}, not {config.architecture!r}.")
    if config.attention not in SLOTS:
        names = ", ".join(SLOTS)
        raise UserError(f"attention must be one of {names}, not {config.attention!r}.")
    if config.architecture == "gru":
        slot = slot or SLOTS[config.attention](config.width)
        return RecurrentTranslator(config, num_tokens, slot)
    if slot is not None or config.attention != "multihead":
        raise UserError("a Transformer has multi-head cross-attention of its own and no slot.")
    return TransformerTranslator(config, num_tokens)
