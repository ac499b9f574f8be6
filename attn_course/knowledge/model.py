"""The small language model, built of the course's own attention."""

from torch import Tensor, nn

from attn_course.errors import UserError
from attn_utils.layers import CausalSelfAttention, SynthesizerAttention

ATTENTION = ("causal", "synthesizer")


def _attention(name, D, num_heads, block_size, dropout):
    options = {
        "attention_dropout": dropout,
        "residual_dropout": dropout,
    }
    if name == "causal":
        return CausalSelfAttention(D, num_heads, **options)
    if name == "synthesizer":
        return SynthesizerAttention(D, num_heads, block_size, **options)
    raise UserError(f"attention is {name!r}; it can be {' or '.join(ATTENTION)}.")


class Block(nn.Module):
    """Attention, then two linear layers, each added to what came in."""

    def __init__(
        self, D: int, num_heads: int, block_size: int, *, attention: str, dropout: float
    ) -> None:
        super().__init__()
        self.attention = _attention(attention, D, num_heads, block_size, dropout)
        self.before_attention = nn.LayerNorm(D)
        self.before_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(
            nn.Linear(D, 4 * D),
            nn.GELU(),
            nn.Linear(4 * D, D),
            nn.Dropout(dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) -> (B, T, D)."""
        found = self.attention(self.before_attention(x))
        x = x + found
        found = self.mlp(self.before_mlp(x))
        return x + found


class LanguageModel(nn.Module):
    """A decoder-only transformer: symbols in, scores for the next symbol out.

    Positions are a learned table, not rotations: the synthesizer it is compared with has no keys to rotate.
    """

    def __init__(
        self,
        num_symbols: int,
        block_size: int,
        *,
        D: int,
        num_layers: int,
        num_heads: int,
        attention: str,
        dropout: float,
    ) -> None:
        super().__init__()
        self.symbols = nn.Embedding(num_symbols, D)
        self.places = nn.Embedding(block_size, D)
        blocks = []
        for _ in range(num_layers):
            blocks.append(Block(D, num_heads, block_size, attention=attention, dropout=dropout))
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.LayerNorm(D)
        self.head = nn.Linear(D, num_symbols, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.apply(_small_weights)

    def forward(self, x: Tensor) -> Tensor:
        """Scores for the symbol after each.

        x: (B, T), numbers of symbols, T at most block_size.
        Returns logits (B, T, num_symbols).
        """
        _, T = x.shape
        places = self.places.weight
        if len(places) < T:
            shape = tuple(x.shape)
            raise ValueError(f"x {shape} is longer than the block of {len(places)}.")
        found = self.symbols(x) + places[:T]  # (B, T, D)
        found = self.dropout(found)
        found = self.blocks(found)
        return self.head(self.last(found))


def _small_weights(module):
    """Start near zero, so that the first predictions are close to uniform."""
    if not isinstance(module, nn.Linear | nn.Embedding):
        return
    nn.init.normal_(module.weight, std=0.02)
    bias = getattr(module, "bias", None)
    if bias is not None:
        nn.init.zeros_(bias)
