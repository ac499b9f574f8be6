"""The invented world of notebook 08 and the small language model that learns about it."""

from attn_utils.knowledge import findings
from attn_utils.knowledge.examples import MASK, PAD, Alphabet
from attn_utils.knowledge.lab import Lab
from attn_utils.knowledge.presets import PRESETS, Preset
from attn_utils.knowledge.training import train
from attn_utils.knowledge.world import CITIES, GROUPS, World

__all__ = [
    "CITIES",
    "GROUPS",
    "MASK",
    "PAD",
    "PRESETS",
    "Alphabet",
    "Lab",
    "Preset",
    "World",
    "findings",
    "train",
]
