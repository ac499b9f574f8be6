"""The attention course; `from attn_course import plots` gives its figures. Imports nothing heavy."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """`plots` is the room of the figures, imported when first asked for: it brings matplotlib."""
    if name == "plots":
        return import_module("attn_course.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
