"""Read a number, vector or matrix out of what an answer returned, or say in a sentence why not."""

import numpy as np

from attn_course.verdict import NotYet


def array(value, name="the answer"):
    """`value` as a finite float array."""
    if value is None:
        raise NotYet(f"{name} is None: is a `return` missing?")
    try:
        found = np.asarray(value)
        found = found.astype(float) if found.dtype.kind in "biufO" else found
    except (TypeError, ValueError):
        raise NotYet(f"{name} is not an array of numbers.") from None
    if found.dtype.kind != "f":
        kind = {"c": "complex numbers", "U": "text"}.get(found.dtype.kind, str(found.dtype))
        raise NotYet(f"{name} is {kind}, where real numbers are expected.")
    if np.isnan(found).any():
        raise NotYet(f"{name} contains nan (not a number).")
    if np.isinf(found).any():
        raise NotYet(f"{name} contains an infinity.")
    return found


def vector(value, size, name="the answer"):
    """`value` as a vector of `size`; a single row or column counts as a vector."""
    found = array(value, name)
    if found.size != size or sum(axis > 1 for axis in found.shape) > 1 or found.ndim == 0:
        raise NotYet(f"{name} has shape {found.shape}, expected {(size,)}.")
    return found.reshape(size)


def matrix(value, shape, name="the answer"):
    """`value` as an array of exactly this shape."""
    found = array(value, name)
    if found.shape != tuple(shape):
        raise NotYet(f"{name} has shape {found.shape}, expected {tuple(shape)}.")
    return found


def number(value, name="the answer"):
    """`value` as one float; an array with one entry counts."""
    found = array(value, name)
    if found.size != 1:
        raise NotYet(f"{name} has shape {found.shape}, where one number is expected.")
    return float(found.reshape(()))


def truth(value, name="the answer"):
    """`value` as True or False; 0 and 1 count."""
    if isinstance(value, str):
        raise NotYet(f"{name} is the text {value[:20]!r}, where True or False is expected.")
    found = number(value, name)
    if found not in (0.0, 1.0):
        raise NotYet(f"{name} is {found:g}, where True or False is expected.")
    return bool(found)
