"""Compare what a student's tensors hold with what they should hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_course.answers import NotYet, largest_gap
from attn_course.answers.mistakes import (
    Mistakes,
    Trials,
    same,
)
from attn_course.answers.wording import counted
from attn_course.drivers import as_leaf, gradients_of

TOLERANCE = 1e-5  # a softmax taken in float32 on the way, as is common, still passes
DETACHED = (
    "the numbers are right, but no gradient flows back: something on the way leaves the graph"
)


def tensor_trials(mistakes: Mistakes | None = None) -> Trials:
    """Trials whose numbers may have passed through float32."""
    return Trials(mistakes, relative=TOLERANCE, absolute=TOLERANCE)


def close(found: Any, wanted: Any) -> bool:
    """Whether two answers of the same shape agree as closely as float32 allows."""
    return same(found, wanted, TOLERANCE, TOLERANCE)


def only_tensors(result: dict, name: str, count: int) -> list[np.ndarray]:
    """The outputs of the driver `run_function`, exactly `count` of them."""
    outputs = result["outputs"]
    if outputs is None:
        kinds = result["kinds"]
        ending = ": is a `return` missing?" if kinds == "NoneType" else "."
        raise NotYet(f"{name} returned {kinds}, where a tensor is expected{ending}")

    if len(outputs) != count:
        returned = counted(len(outputs), "tensor")
        verb = "is" if count == 1 else "are"
        raise NotYet(f"{name} returned {returned}, where {count} {verb} expected.")
    if result.get("changed"):
        raise NotYet(
            f"{name} changes its arguments in place, as `/=` and `add_` do; make new tensors, because the "
            "caller still needs the old ones."
        )
    return outputs


def leaves_of(arrays: Mapping[str, np.ndarray]) -> dict:
    """{name: array} -> {name: tensor that collects gradients}."""
    leaves = {}
    for name, values in arrays.items():
        leaves[name] = as_leaf(values)

    return leaves


def difference(found: np.ndarray, right: Any, setting: str) -> str:
    """A clause on how `found` differs from the tensor `right`: in shape, by nan, or by how much."""
    wanted = np.asarray(right.detach())
    return distance(found, wanted, setting)


def distance(found: np.ndarray, right: np.ndarray, setting: str) -> str:
    """A clause on how `found` differs from `right`: in shape, by nan, or by how much."""
    if found.shape != right.shape:
        return f"the shape is {found.shape}, expected {right.shape} ({setting})"
    if np.isnan(found).any():
        return f"the result contains nan, not a number ({setting})"

    far = largest_gap(found, right)
    return f"it is off by up to {far:.2g} ({setting})"


def judge_gradients(found: Any, right: Any, leaves: Mapping[str, Any], setting: str) -> None:
    """NotYet unless the gradients found are those of `right`, a tensor made of `leaves`.

    found: a list of arrays in the order of the leaves, or {name: array}; None where none flow.
    leaves: {name: tensor}.
    """
    if found is None:
        raise NotYet(f"{DETACHED}.")
    if not isinstance(found, Mapping):
        found = dict(zip(leaves, found, strict=False))

    wanted = gradients_of(right, list(leaves.values())) or []
    for name, gradient in zip(leaves, wanted, strict=True):
        if name not in found:
            raise NotYet(f"{DETACHED} before it reaches {name}.")
        if not close(found[name], gradient):
            raise NotYet(_gradient_is_off(found[name], gradient, name, setting))


def _gradient_is_off(found, wanted, name, setting):
    """A sentence on how one gradient differs: in shape, by nan, or by how much."""
    what = f"the output is right, but the gradient of {name}"
    if found.shape != wanted.shape:
        return f"{what} has shape {found.shape}, expected {wanted.shape} ({setting})."
    if np.isnan(found).any():
        return f"{what} contains nan ({setting})."

    far = largest_gap(found, wanted)
    return f"{what} is off by {far:.2g} ({setting})."


def loaded(result: dict, parameters: Mapping[str, np.ndarray]) -> dict:
    """The result of the driver `run_layer`, unless the layer could not be run as the question says."""
    if result.get("kind") == "layer":
        raise NotYet("hand over the class itself, not a layer made of it.")
    if "kind" in result:
        raise NotYet(f"an nn.Module is expected, but this is of type {result['kind']}.")

    if "own" in result:
        raise NotYet(_why_not_loaded(result["own"], parameters))
    if "returned" in result:
        raise NotYet(f"forward returned a {result['returned']}, not one tensor.")
    return result


def _why_not_loaded(own, parameters):
    """Which parameter is missing or misshapen, and how all of them are to be named."""
    rules = [f"{name} {values.shape}" for name, values in parameters.items()]
    what = _first_misfit(own, parameters)
    return (
        f"{what}; so that weights can be copied in, the parameters are named and shaped "
        f"{', '.join(rules)}."
    )


def _first_misfit(own, parameters):
    """A clause on a parameter that is not there, or else on one of another shape."""
    missing = [name for name in parameters if name not in own]
    if missing:
        others = [name for name in own if name not in parameters]
        there = f" (there is {', '.join(others)})" if others else ""
        return f"there is no parameter `{missing[0]}`{there}"

    for name, values in parameters.items():
        shape = tuple(own[name])
        if shape != values.shape:
            return f"`{name}` has shape {shape}, not {values.shape}"

    raise ValueError("every parameter fits")
