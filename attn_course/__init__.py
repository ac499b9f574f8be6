"""The attention course: checks, hints, checked derivations, figures."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_course.checking import check, hint
    from attn_course.derivation import derive
    from attn_course.progress_notes import progress
    from attn_course.reference_solution import solution
    from attn_course.verdict import Verdict

    plots: ModuleType

__all__ = ["Verdict", "check", "derive", "hint", "plots", "progress", "solution"]
LOADED_ON_USE = {
    "Verdict": "attn_course.verdict",
    "check": "attn_course.checking",
    "derive": "attn_course.derivation",
    "hint": "attn_course.checking",
    "progress": "attn_course.progress_notes",
    "solution": "attn_course.reference_solution",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for; `plots` is the package of the figures."""
    if name == "plots":
        return import_module("attn_course.figures")
    if name in LOADED_ON_USE:
        module = import_module(LOADED_ON_USE[name])
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
