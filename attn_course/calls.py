"""Call a student's function, and notice if it changes its arguments in place."""

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

PLAIN = (float, int, str, type(None), frozenset)  # a function cannot change them


class ArgumentChanged(Exception):
    """Raised if a student's function changes an argument in place; the message says which one."""


def call_unchanged(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return function(*args, **kwargs); raise ArgumentChanged if it changes an argument."""
    before = _contents((args, kwargs))
    try:
        result = function(*args, **kwargs)
    except RuntimeError as error:
        if "leaf Variable" in str(error) and "in-place" in str(error):  # torch noticed it first
            raise _changed(function, "an argument") from None
        raise
    if not _same_contents(before, _contents((args, kwargs))):
        names = _parameter_names(function, len(args)) + list(kwargs)
        values = [*args, *kwargs.values()]
        copies = [*before[0], *before[1].values()]
        changed = next(
            name
            for name, value, copied in zip(names, values, copies, strict=True)
            if not _same_contents(copied, _contents(value))
        )
        raise _changed(function, f"its argument {changed}")
    return result


def _changed(function, argument):
    """Return the error for a function that changes an argument in place."""
    name = (
        "forward" if hasattr(function, "forward") else getattr(function, "__name__", "the answer")
    )
    return ArgumentChanged(
        f"{name} changes {argument} in place, as `x *= 2`, `x[0] = 1`, `x.sort()`, `x.append(1)` or "
        "`x.add_(1)` would change x. The caller still needs the old values: make a new one."
    )


def _parameter_names(function, count):
    """Return the names of the first `count` arguments, or their numbers where the function does not say."""
    names = []
    with contextlib.suppress(TypeError, ValueError):
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.signature(getattr(function, "forward", function))  # of a module
        parameters = signature.parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return [names[k] if k < len(names) else f"number {k + 1}" for k in range(count)]


def _contents(value):
    """Return a copy of the contents of an argument that a function could change; None for other objects."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: _contents(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if isinstance(item, PLAIN) else _contents(item) for item in value]
    if hasattr(value, "detach"):  # a torch tensor
        return None if value.is_meta else value.detach().clone()
    return set(value) if isinstance(value, set) else None


def _same_contents(before, now):
    """Return True if two results of `_contents` are equal; nan equals nan."""
    if before is now:
        return True
    if type(before) is not type(now):
        return False
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(
            _same_contents(before[key], now[key]) for key in before
        )
    if isinstance(before, list):
        return len(before) == len(now) and all(
            one is other or _same_contents(one, other)
            for one, other in zip(before, now, strict=True)
        )
    if hasattr(before, "detach"):
        before, now = _as_array(before), _as_array(now)
    if isinstance(before, np.ndarray):
        if before.shape != now.shape or before.dtype != now.dtype:
            return False
        return np.array_equal(before, now, equal_nan=before.dtype.kind in "fc")
    return bool(before == now)


def _as_array(tensor):
    """Return a torch tensor as an array; NumPy has no bfloat16."""
    tensor = tensor.cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()
