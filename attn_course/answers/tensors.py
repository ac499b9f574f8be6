"""Compare what a student's tensors hold with what they should hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_course.answers import NotYet, largest_gap
from attn_course.answers.mistakes import Mistakes, Trials, same
from attn_course.answers.wording import counted
from attn_course.drivers import as_leaf, gradients_of

TOLERANCE = 1e-5  # a softmax taken in float32 on the way, as is common, still passes
DETACHED = "the numbers are right, but no gradient flows back"
LEAVES_GRAPH = "something on the way leaves torch's graph, as NumPy and `detach` do"


def tensor_trials(mistakes: Mistakes | None = None) -> Trials:
    """Return trials whose numbers may have passed through float32."""
    return Trials(mistakes, relative=TOLERANCE, absolute=TOLERANCE)


def close(answer: Any, target: Any) -> bool:
    """Return True if two answers of the same shape agree as closely as float32 allows."""
    return same(answer, target, TOLERANCE, TOLERANCE)


def only_tensors(result: dict, name: str, count: int) -> list[np.ndarray]:
    """Return the outputs of the driver `run_function`, exactly `count` of them."""
    outputs = result["outputs"]
    if outputs is None:
        kinds = result["kinds"]
        ending = ": is a `return` missing?" if kinds == "NoneType" else "."
        raise NotYet(f"{name} returned {kinds}, where a tensor is expected{ending}")

    if len(outputs) != count:
        returned = counted(len(outputs), "tensor")
        verb = "is" if count == 1 else "are"
        raise NotYet(f"{name} returned {returned}, where {count} {verb} expected.")
    if count == 1 and result.get("is_tuple"):
        raise NotYet(f"{name} returned a tuple or list; return the one tensor in it.")
    return outputs


def leaves_of(arrays: Mapping[str, np.ndarray]) -> dict:
    """Return {name: tensor that collects gradients} for {name: array}."""
    return {name: as_leaf(values) for name, values in arrays.items()}


def distance(answer: np.ndarray, right: Any, setting: str) -> str:
    """Return a clause on how `answer` differs from an array or tensor: in shape, by nan, or by how much."""
    target = right.detach().numpy() if hasattr(right, "detach") else right
    if answer.shape != target.shape:
        return f"the shape is {answer.shape}, expected {target.shape} ({setting})"
    if np.isnan(answer).any():
        return f"the result contains nan, not a number ({setting})"
    if np.isinf(answer).any():
        return f"the result contains an infinity ({setting})"
    return f"it is off by up to {largest_gap(answer, target):.2g} ({setting})"


def judge_gradients(gradients: Any, right: Any, leaves: Mapping[str, Any], setting: str) -> None:
    """Raise NotYet unless the gradients are those of `right`, a tensor made of `leaves`.

    gradients: a list of arrays in the order of the leaves, or {name: array}; None where none flow.
    leaves: {name: tensor}.
    """
    if gradients is None:
        raise NotYet(f"{DETACHED}: {LEAVES_GRAPH}.")
    if not isinstance(gradients, Mapping):
        gradients = dict(zip(leaves, gradients, strict=False))

    targets = gradients_of(right, list(leaves.values())) or []
    for name, target in zip(leaves, targets, strict=True):
        if name not in gradients:
            raise NotYet(f"{DETACHED} to {name}: {LEAVES_GRAPH}.")
        if not close(gradients[name], target):
            fault = _fault_of(gradients[name], target)
            raise NotYet(f"the output is right, but the gradient of {name} {fault} ({setting}).")


def _fault_of(gradient, target):
    if gradient.shape != target.shape:
        return f"has shape {gradient.shape}, expected {target.shape}"
    if np.isnan(gradient).any():
        return "contains nan"
    return f"is off by {largest_gap(gradient, target):.2g}"


def loaded(result: dict, parameters: Mapping[str, np.ndarray]) -> dict:
    """Return the result of the driver `run_layer`; raise NotYet if the layer could not be run."""
    if result.get("kind") == "layer":
        raise NotYet("hand over the class itself, not a layer made of it.")
    if "kind" in result:
        raise NotYet(f"an nn.Module is expected, but this is of type {result['kind']}.")

    if "own" in result:
        rules = ", ".join(f"{name} {values.shape}" for name, values in parameters.items())
        raise NotYet(
            f"{_first_misfit(result['own'], parameters)}; so that weights can be copied in, the "
            f"parameters are named and shaped {rules}."
        )
    if "empty" in result:
        raise NotYet(f"`{result['empty']}` is still empty; the rest of the class can be built.")
    if "returned" in result:
        raise NotYet(f"forward returned a {result['returned']}, not one tensor.")
    return result


def _first_misfit(own, parameters):
    """Return a clause on a parameter that is not there, or else on one of another shape."""
    missing = [name for name in parameters if name not in own]
    if missing:
        others = [name for name in own if name not in parameters]
        there = f" (there is {', '.join(others)})" if others else ""
        return f"there is no parameter `{missing[0]}`{there}"

    name = next(name for name in parameters if tuple(own[name]) != parameters[name].shape)
    return f"`{name}` has shape {tuple(own[name])}, not {parameters[name].shape}"
