"""The invented world of notebook 08 and the small language model that learns about it."""

from attn_course.knowledge import findings, tables
from attn_course.knowledge.examples import MASK, PAD, Alphabet
from attn_course.knowledge.experiment import Lab
from attn_course.knowledge.presets import PRESETS, Preset
from attn_course.knowledge.training import train
from attn_course.knowledge.world import CITIES, GROUPS, World

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
    "tables",
    "train",
]
