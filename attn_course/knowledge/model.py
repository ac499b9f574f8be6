"""The small language model, built of the course's own attention."""

from torch import Tensor, nn

from attn_course.errors import UserError
from attn_course.knowledge.presets import Preset
from attn_utils.layers import CausalSelfAttention, SynthesizerAttention


def _attention(preset):
    sizes = (preset.D, preset.num_heads)
    dropout = {"attention_dropout": preset.dropout, "residual_dropout": preset.dropout}
    if preset.attention == "causal":
        return CausalSelfAttention(*sizes, **dropout)
    if preset.attention == "synthesizer":
        return SynthesizerAttention(*sizes, preset.block_size, **dropout)
    raise UserError(f"attention is {preset.attention!r}; it can be causal or synthesizer.")


class Block(nn.Module):
    """Attention, then two linear layers, each added to what came in."""

    def __init__(self, preset: Preset) -> None:
        super().__init__()
        D = preset.D
        self.attention = _attention(preset)
        self.before_attention = nn.LayerNorm(D)
        self.before_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(
            nn.Linear(D, 4 * D),
            nn.GELU(),
            nn.Linear(4 * D, D),
            nn.Dropout(preset.dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream x, (B, T, D), after the block."""
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class LanguageModel(nn.Module):
    """A decoder-only transformer: symbols in, scores for the next symbol out.

    Positions are a learned table, not rotations: the synthesizer it is compared with has no keys to rotate.
    """

    def __init__(self, preset: Preset, num_symbols: int) -> None:
        super().__init__()
        D = preset.D
        self.symbols = nn.Embedding(num_symbols, D)
        self.places = nn.Embedding(preset.block_size, D)
        self.blocks = nn.Sequential(*(Block(preset) for _ in range(preset.num_layers)))
        self.last = nn.LayerNorm(D)
        self.head = nn.Linear(D, num_symbols, bias=False)
        self.dropout = nn.Dropout(preset.dropout)
        self.apply(_small_weights)

    def forward(self, x: Tensor) -> Tensor:
        """Return scores for the symbol after each.

        x: (B, T), numbers of symbols, T at most block_size.
        Returns logits (B, T, num_symbols).
        """
        _, T = x.shape
        places = self.places.weight
        if len(places) < T:
            shape = tuple(x.shape)
            raise ValueError(f"x {shape} is longer than the block of {len(places)}.")
        stream = self.symbols(x) + places[:T]  # (B, T, D)
        stream = self.dropout(stream)
        stream = self.blocks(stream)
        return self.head(self.last(stream))


def _small_weights(module):
    """Start near zero, so that the first predictions are close to uniform."""
    if not isinstance(module, nn.Linear | nn.Embedding):
        return
    nn.init.normal_(module.weight, std=0.02)
    bias = getattr(module, "bias", None)
    if bias is not None:
        nn.init.zeros_(bias)
