"""German to English translation with a slot for attention: text, model, training, search, scores.

Names are imported when they are first used, so that a command can print its help before torch is loaded.
"""

from importlib import import_module
from typing import Any

MODULE_OF = {
    "BOS": "vocabulary",
    "EOS": "vocabulary",
    "PAD": "vocabulary",
    "Run": "trained_translator",
    "Trainer": "training",
    "bleu_of_counts": "scoring",
    "expected_time": "tables",
    "setting": "config",
}

__all__ = [*MODULE_OF]


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULE_OF[name]}"), name)
