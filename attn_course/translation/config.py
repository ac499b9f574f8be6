"""The settings of a run, the presets, and the corpus of each."""

from dataclasses import dataclass, replace

from attn_course.errors import UserError
from attn_course.translation.corpora import Corpus, embedded, load

ATTENTIONS = (
    "none",
    "mean",
    "dot",
    "bilinear",
    "additive",
    "multihead",
)  # the names of layers.SLOTS
ARCHITECTURES = ("gru", "transformer")
BEAM = 5  # hypotheses that a search keeps unless it is told


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
    architecture: str = "gru"
    encoder_layers: int = 1
    decoder_layers: int = 1
    num_heads: int = 4  # of a Transformer's attention


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
    "large": Config(corpus="multi30k", tokens=8_000_000, patience=20),
}
GPU_FACTOR = 4


def transformer(config: Config) -> Config:
    """Return the same text, budget and seed for a Transformer, which has sizes and a rate of its own.

    The tiny preset stays tiny. A Transformer's cross-attention always has several heads.
    """
    width = 16 if config.corpus == "tiny" else 192
    return replace(
        config,
        architecture="transformer",
        attention="multihead",
        embedding=width,
        width=width,
        encoder_layers=3,
        decoder_layers=2,
        dropout=0.15 if config.tokens < 5_000_000 else 0.2,
        rate=2.5e-3,
        warmup=60,
    )


def for_gpu(config: Config) -> Config:
    """Return the settings for a GPU: as many steps, each on four times the text.

    A GPU is idle with 1,000 subwords at a time. The ladder stays as it is, so that its runs can be
    compared, and so do the invented scenes.
    """
    is_small = config.tokens <= PRESETS["ladder"].tokens
    if is_small or config.corpus in ("tiny", "embedded"):
        return config
    return replace(
        config,
        batch_tokens=GPU_FACTOR * config.batch_tokens,
        tokens=GPU_FACTOR * config.tokens,
    )


def gpu_remark(config: Config) -> str:
    """Return the sentence about settings that `for_gpu` has changed."""
    return (
        f"on a GPU each step takes {GPU_FACTOR} times as much text: {config.batch_tokens:,} subwords a "
        f"step, {config.tokens:,} in all"
    )


def setting(preset: str, *, tokens: int, **sizes: int) -> tuple[Corpus, dict[str, Config]]:
    """Return what a notebook trains on: (corpus, {attention: Config}).

    The default preset takes an embedded corpus of these sizes and this budget in target subwords; the
    other presets have their own, and on a GPU the larger ones change as `for_gpu` says.
    """
    if preset not in PRESETS:
        raise UserError(f"the preset must be one of {', '.join(PRESETS)}, not {preset!r}.")
    config = PRESETS[preset]
    if preset == "default":
        corpus = embedded(**sizes)
        config = replace(config, tokens=tokens)
    else:
        corpus = load(config.corpus)
        from attn_course.training.devices import best_device

        if best_device().type == "cuda":
            config = for_gpu(config)
    return corpus, {name: replace(config, attention=name) for name in ATTENTIONS}
