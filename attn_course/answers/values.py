"""Read a number, vector or matrix out of what an answer returned.

What cannot be read is told in a sentence: nothing that is nan, infinite, text or of another shape
gets any further.
"""

from typing import Any

import numpy as np

from attn_course.answers.verdict import NotYet

_KINDS = {"c": "complex numbers", "U": "text", "S": "text", "O": "text"}


def array(value: Any, name: str = "the answer") -> np.ndarray:
    """`value` as a finite float array."""
    if value is None:
        raise NotYet(f"{name} is None: is a `return` missing?")

    try:
        found = np.asarray(value)
        if _holds_numbers(found):
            found = found.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise NotYet(f"{name} is not an array of numbers.") from None

    if found.dtype.kind != "f":
        kind = _KINDS.get(found.dtype.kind, str(found.dtype))
        raise NotYet(f"{name} is {kind}, where real numbers are expected.")

    if np.isnan(found).any():
        raise NotYet(f"{name} contains nan (not a number).")
    if np.isinf(found).any():
        raise NotYet(f"{name} contains an infinity.")
    return found


def _holds_numbers(found):
    """Whether nothing in an array is text, which `float` would read as a number, or complex."""
    kind = found.dtype.kind
    if kind != "O":
        return kind in "biuf"
    return not any(isinstance(entry, str | bytes) for entry in found.flat)


def vector(value: Any, size: int, name: str = "the answer") -> np.ndarray:
    """`value` as a vector (size,); a single row or column counts as a vector."""
    found = array(value, name)
    long_axes = [axis for axis in found.shape if axis > 1]
    fits = found.size == size and len(long_axes) <= 1
    is_number = found.ndim == 0

    if is_number or not fits:
        raise NotYet(f"{name} has shape {found.shape}, expected {(size,)}.")
    return found.reshape(size)


def matrix(value: Any, shape: tuple[int, ...], name: str = "the answer") -> np.ndarray:
    """`value` as an array of exactly this shape."""
    found = array(value, name)
    shape = tuple(shape)

    if found.shape != shape:
        raise NotYet(f"{name} has shape {found.shape}, expected {shape}.")
    return found


def number(value: Any, name: str = "the answer") -> float:
    """`value` as one float; an array with one entry counts."""
    found = array(value, name)
    if found.size != 1:
        raise NotYet(f"{name} has shape {found.shape}, where one number is expected.")

    return float(found.reshape(()))


def largest_gap(one: np.ndarray, other: np.ndarray) -> float:
    """By how much two arrays of one shape differ where they differ most; nan if either holds one."""
    gaps = np.abs(one - other)
    return gaps.max(initial=0)


def two(value: Any, sentence: str) -> tuple[Any, Any]:
    """`value` as two things; the sentence tells what they should be."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise NotYet(sentence)
    first, second = value
    return first, second


def truth(value: Any, name: str = "the answer") -> bool:
    """`value` as True or False; 0 and 1 count."""
    expected = "where True or False is expected"
    if isinstance(value, str):
        beginning = value[:20]
        raise NotYet(f"{name} is the text {beginning!r}, {expected}.")

    found = number(value, name)
    if found not in (0.0, 1.0):
        raise NotYet(f"{name} is {found:g}, {expected}.")
    return bool(found)
