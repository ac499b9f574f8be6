"""German to English translation with a slot for attention: text, model, training, search, scores.

Names are fetched when they are first used, so that a command can speak before torch is there.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "BOS": "vocabulary",
    "EOS": "vocabulary",
    "PAD": "vocabulary",
    "Run": "runs",
    "Trainer": "training",
    "bleu_of_counts": "scoring",
    "setting": "config",
}
_ROOMS = ("corpora", "ready", "recording", "scoring", "tables")

__all__ = [*_HOMES, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
