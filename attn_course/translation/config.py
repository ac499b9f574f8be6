"""Knows what decides a run, the presets, and the text that goes with each; trains nothing."""

from dataclasses import dataclass, replace

from attn_course.translation.corpora import embedded, load
from attn_utils.layers import SLOTS


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
    "tiny": Config(  # seconds: shows that everything runs, its scores mean nothing
        corpus="tiny", vocabulary=300, embedding=16, width=16, batch_tokens=100, tokens=1600
    ),
    "default": Config(
        vocabulary=600, embedding=96, width=128, dropout=0.1, batch_tokens=500, tokens=325_000
    ),
    "ladder": Config(
        corpus="multi30k", vocabulary=3000, embedding=192, width=256, dropout=0.2, tokens=400_000
    ),
    "full": Config(corpus="multi30k", tokens=4_000_000),
}


def setting(preset, *, tokens, **sizes):
    """What a notebook trains on: (corpus, {attention: Config}).

    The default preset takes an embedded corpus of these sizes and this budget in target subwords; the
    other presets have their own.
    """
    if preset not in PRESETS:
        raise ValueError(f"the preset must be one of {', '.join(PRESETS)}, not {preset!r}")
    config = PRESETS[preset]
    if preset == "default":
        corpus, config = embedded(**sizes), replace(config, tokens=tokens)
    else:
        corpus = load(config.corpus)
    return corpus, {name: replace(config, attention=name) for name in SLOTS}
