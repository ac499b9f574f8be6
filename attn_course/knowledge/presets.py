"""The presets of the experiment: all settings of a run but its seed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """All settings of a run but its seed. num_people: told, held, strangers."""

    level: str = "word"
    num_people: tuple[int, int, int] = (50, 50, 50)
    num_names: int = 50
    block_size: int = 16
    D: int = 64
    num_layers: int = 2
    num_heads: int = 4
    attention: str = "causal"
    dropout: float = 0.0
    batch_size: int = 128
    pretrain_steps: int = 900
    pretrain_rate: float = 1e-2
    finetune_steps: int = 20
    finetune_rate: float = 5e-4
    scratch_steps: int = 100  # without pretraining there is more to learn
    scratch_rate: float = 1e-3


PRESETS = {
    "default": Preset(),
    "full": Preset(
        level="character",
        num_people=(1000, 500, 500),
        num_names=250,
        block_size=128,
        D=256,
        num_layers=4,
        num_heads=8,
        dropout=0.1,
        pretrain_steps=20_000,
        pretrain_rate=6e-4,
        finetune_steps=100,
        finetune_rate=2e-4,
        scratch_steps=1000,
        scratch_rate=6e-4,
    ),
}
