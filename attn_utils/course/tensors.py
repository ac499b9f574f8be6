"""Compare what a student's torch functions and layers gave with what they should give; knows no question."""

import numpy as np

from .drivers import as_array, as_leaf, gradients_of
from .verdict import NotYet

TOLERANCE = 1e-5  # a softmax taken in float32 on the way, as is common, still passes


def only_tensors(result, name, count):
    """The outputs of `run_function`, exactly `count` of them."""
    outputs = result["outputs"]
    if outputs is None:
        missing = ": is a `return` missing?" if result["kinds"] == "NoneType" else "."
        raise NotYet(f"{name} returned {result['kinds']}, where a tensor is expected{missing}")
    if len(outputs) != count:
        raise NotYet(f"{name} returned {len(outputs)} tensors, where {count} are expected.")
    return outputs


def leaves_of(arrays):
    """{name: array} -> {name: tensor that collects gradients}."""
    return {name: as_leaf(value) for name, value in arrays.items()}


def match(found, right, setting, known=dict):
    """Pass if `found` is `right`; else name the first known mistake it equals, or how far off it is.

    known: called only for a wrong answer; -> {sentence: array or tensor}. Where `found` is nan it may
    stand for any number: one and the same mistake gives some people nan and others zero.
    """
    right = _array(right)
    if _same(found, right):
        return
    for sentence, wrong in known().items():
        wrong = _array(wrong)
        if wrong.shape == found.shape and _same(np.where(np.isnan(found), wrong, found), wrong):
            far = np.abs(np.nan_to_num(found) - right).max() if found.shape == right.shape else None
            size = "" if far is None else f"; the largest difference is {far:.2g}"
            raise NotYet(f"{sentence} ({setting}{size}).")
    if found.shape != right.shape:
        raise NotYet(f"the shape is {found.shape}, expected {right.shape} ({setting}).")
    if np.isnan(found).any():
        raise NotYet(f"the result contains nan, not a number ({setting}).")
    raise NotYet(f"it is off by up to {np.abs(found - right).max():.2g} ({setting}).")


def _array(value):
    return value if isinstance(value, np.ndarray) else as_array(value)


def _same(one, other):
    shapes_agree = one.shape == other.shape and not np.isnan(one).all()
    return shapes_agree and np.allclose(one, other, atol=TOLERANCE, equal_nan=True)


def match_gradients(found, right, leaves, setting):
    """Pass if the gradients found are those of `right`, a tensor made of `leaves`, {name: tensor}.

    found: a list in the order of the leaves, or arrays by name, that of x among them.
    """
    if found is None or (isinstance(found, dict) and "x" not in found):
        raise NotYet(
            "the numbers are right, but no gradient flows back: something on the way leaves the graph."
        )
    found = found if isinstance(found, dict) else dict(zip(leaves, found, strict=True))
    for name, wanted in zip(leaves, gradients_of(right, list(leaves.values())), strict=True):
        if name not in found or np.allclose(found[name], wanted, atol=TOLERANCE):
            continue
        if np.isnan(found[name]).any():
            raise NotYet(
                f"the output is right, but the gradient of {name} contains nan ({setting})."
            )
        far = np.abs(found[name] - wanted).max()
        raise NotYet(
            f"the output is right, but the gradient of {name} is off by {far:.2g} ({setting})."
        )


def sound(result, parameters):
    """The result of `run_layer`, unless the layer could not be run as the question says."""
    if result.get("kind") == "layer":
        raise NotYet("hand over the class itself, not a layer made of it.")
    if "kind" in result:
        raise NotYet(f"an nn.Module is expected, but this is a {result['kind']}.")
    if "returned" in result:
        raise NotYet(f"forward returned a {result['returned']}, not one tensor.")
    if "own" in result:
        raise NotYet(_why_not_loaded(result["own"], parameters))
    return result


def _why_not_loaded(own, parameters):
    shapes = {name: tuple(values.shape) for name, values in parameters.items()}
    rule = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    for name, shape in shapes.items():
        if name not in own:
            what = f"there is no parameter `{name}`"
            break
        if tuple(own[name]) != shape:
            what = f"`{name}` has shape {tuple(own[name])}, not {shape}"
            break
    return f"{what}; at this size the parameters are named and shaped {rule}."
