"""Checkpoints, written atomically: a kill leaves the old file or the new one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from attn_course.errors import UserError


def write_tensors(path: Path, state: Mapping[str, Any]) -> None:
    """Tensors and plain data, written aside and moved in: a kill leaves the old file or the new one."""
    aside = path.with_suffix(".aside")
    torch.save(state, aside)
    os.replace(aside, path)


def read_tensors(path: Path, device: torch.device) -> dict[str, Any]:
    """What `write_tensors` wrote."""
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # a damaged file fails in many ways
        raise damaged(path, error) from error
    if not isinstance(state, dict):
        raise damaged(path, TypeError())
    return state


def damaged(path: Path, error: Exception) -> UserError:
    """The refusal of a checkpoint that cannot be read."""
    kind = type(error).__name__
    return UserError(f"{path} is damaged ({kind}): delete it to start the run again.")
