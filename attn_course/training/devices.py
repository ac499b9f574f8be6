"""The device of a training, and its short numbers."""

from typing import TypeAlias

import torch

from attn_course.errors import UserError

DeviceLike: TypeAlias = str | torch.device | None


def best_device(name: DeviceLike = None) -> torch.device:
    """Return the device of that name, else cuda, else mps, else cpu."""
    if name is None:
        name = "cpu"
        if torch.backends.mps.is_available():
            name = "mps"
        if torch.cuda.is_available():
            name = "cuda"
    device = _named(name) if isinstance(name, str) else name
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"torch finds no GPU for device {str(name)!r}: leave it out, or say cpu.")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UserError("torch finds no Apple GPU for device 'mps': leave it out, or say cpu.")
    return device


def _named(name):
    """Return the device of that name, with or without a number behind it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    count = {"cpu": 1, "cuda": max(torch.cuda.device_count(), 1), "mps": 1}
    if device is None or (device.index or 0) >= count.get(device.type, 0):
        raise UserError(f"there is no device {name!r}: say cpu, cuda or mps.")
    return device


def half_precision(device: torch.device) -> torch.dtype | None:
    """Return the 16-bit numbers that make a device faster, or None where there are none.

    bfloat16 has the range of float32; an older GPU, a T4 say, has only float16, whose small gradients
    vanish unless they are scaled.
    """
    if device.type != "cuda":
        return None
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16
