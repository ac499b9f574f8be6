"""The attention course: checks, hints, checked derivations, figures. Imports nothing heavy before use."""

from importlib import import_module
from types import ModuleType

from attn_course.checking import check, hint
from attn_course.derivation import derive
from attn_course.verdict import Verdict

__all__ = ["Verdict", "check", "derive", "hint", "plots"]


def __getattr__(name: str) -> ModuleType:
    """`plots` is the room of the figures, imported when first asked for: it brings matplotlib."""
    if name == "plots":
        return import_module("attn_course.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
