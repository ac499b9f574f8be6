"""What NumPy arrays and torch tensors have in common. torch is never imported."""

import functools
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

# One of the two in a call: tensors give tensors, arrays give arrays.
Array = TypeVar("Array", bound="np.ndarray | Tensor")


def is_tensor(x: object) -> bool:
    """Return True if x is a torch tensor. Only a program that imported torch can hold one.

    >>> is_tensor(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def library(*arrays: object) -> Any:
    """Return the module with the functions for these arrays: torch if one is a tensor, else numpy.

    >>> library([1, 2], np.zeros(3)).__name__
    'numpy'
    """
    if any(is_tensor(x) for x in arrays):
        return sys.modules["torch"]
    return np


def as_floats(*arrays: Any) -> list[Any]:
    """Return the arrays in one library, on one device and of their common float type.

    >>> [x.dtype.name for x in as_floats([1, 2], np.zeros(3, np.float32))]
    ['float64', 'float64']
    """
    xp = library(*arrays)
    device = next((x.device for x in arrays if is_tensor(x)), None)
    converted = [x if is_tensor(x) else xp.asarray(x, device=device) for x in arrays]
    dtype = common_float(*converted)
    return [cast(x, dtype) for x in converted]


def cast(x: Any, dtype: Any) -> Any:
    """Return x with numbers of this type; x itself if they are of this type already."""
    if is_tensor(x):
        return x.to(dtype)
    return x.astype(dtype, copy=False)


def common_float(*arrays: Any) -> Any:
    """Return the float type that holds the numbers of all arrays; integers become floats."""
    xp = library(*arrays)
    dtype = functools.reduce(xp.promote_types, (x.dtype for x in arrays))
    name = str(dtype)
    if "float" in name:
        return dtype
    if "int" not in name and "bool" not in name:
        raise TypeError(f"attention is defined for real numbers, got {dtype}")
    if xp is np:
        return np.dtype(float)
    return xp.get_default_dtype()


def broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast x to shape, as a view."""
    if tuple(x.shape) == shape:
        return x
    if is_tensor(x):
        return x.expand(shape)
    return np.broadcast_to(x, shape)


def shape_error(names: str, one: tuple[int, ...], other: tuple[int, ...]) -> ValueError:
    """Return the error that names two shapes which do not fit together.

    >>> shape_error("q and k", (3, 4), (5, 6))
    ValueError('q and k do not fit together: (3, 4) and (5, 6)')
    """
    return ValueError(f"{names} do not fit together: {tuple(one)} and {tuple(other)}")


def batch_shape(names: str, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the leading axes, all but the last two, that two shapes broadcast to.

    >>> batch_shape("q and k", (8, 1, 5, 64), (4, 7, 64))
    (8, 4)
    """
    try:
        return np.broadcast_shapes(tuple(one[:-2]), tuple(other[:-2]))
    except ValueError:
        raise shape_error(f"leading axes of {names}", one, other) from None
