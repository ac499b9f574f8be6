"""Knows what decides a run, and the three presets; does nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """All settings of a run; `tokens` is its budget and `batch_tokens` its batch, in target subwords."""

    corpus: str = "embedded"
    attention: str = "dot"
    seed: int = 1
    vocabulary: int = 4000
    embedding: int = 256
    width: int = 384
    dropout: float = 0.3
    smoothing: float = 0.1
    rate: float = 3e-3
    warmup: int = 100  # steps
    cooldown: float = 0.4  # the last part of the budget, in which the rate falls to zero
    decay: float = 0.01
    clip: float = 1.0
    batch_tokens: int = 1000
    tokens: int = 1_000_000
    patience: int = 5  # epochs without a better validation BLEU before the run stops


PRESETS = {
    "default": Config(
        vocabulary=600, embedding=96, width=128, dropout=0.1, batch_tokens=500, tokens=325_000
    ),
    "ladder": Config(
        corpus="multi30k", vocabulary=3000, embedding=192, width=256, dropout=0.2, tokens=400_000
    ),
    "full": Config(corpus="multi30k", tokens=12_000_000),
}
