"""The judge of 9.4: additive and bilinear attention, computed again from parameters that it fills in."""

from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, largest_gap, shuffled
from attn_course.answers.mistakes import Trials
from attn_course.answers.wording import listed
from attn_course.drivers import run_filled_slot, run_slot_elsewhere, shapes_of_parameters
from attn_course.questions.attention_mistakes import (
    LOW_FILL,
    NOT_HERE,
    TOO_LATE,
    WEIGHTS,
    after,
    masked_softmax,
)

CLOSE = 1e-4
SIZES = [(3, 4, 6, 8), (2, 1, 5, 4), (2, 3, 2, 12)]  # (B, T, S, D), after a square one
SQUARE = (2, 5, 5, 5)  # there many slips give numbers, not errors
LAYERS = {"AdditiveAttention": ("query", "key", "score"), "BilinearAttention": ("key",)}


def judge_scores(name: str, rng: Generator, slot_class: Caller) -> None:
    """9.4: NotYet unless this slot is what its formula says, whatever its parameters are."""
    trials = Trials(partial(_mistakes, name), absolute=CLOSE, relative=CLOSE)
    for size in [SQUARE, *shuffled(rng, SIZES)]:
        width = size[-1]
        inputs = draw_sentences(rng, *size)
        parameters = _filled(rng, name, slot_class, width)
        result = _run(name, slot_class, width, parameters, inputs)
        found = result["outputs"]
        right = _right(name, parameters, inputs, found)
        far = [largest_gap(*pair) for pair in zip(found, right, strict=True)]
        fact = (
            f"{name}, (B, T, S, D) = {size}: the context is off by {far[0]:.2g} and the weights by "
            f"{far[1]:.2g}"
        )
        trials.require(found, right, fact, parameters, inputs)
        _judge_neighbours(name, slot_class, width, parameters, inputs, found)
        _judge_gradients(name, result, inputs[2])
    _judge_device(name, slot_class, width, inputs)


def draw_sentences(rng: Generator, B: int, T: int, S: int, D: int) -> list[np.ndarray]:
    """Draw [queries (B, T, D), memory (B, S, D) with 7 in the padding, mask (B, S) with a full first row]."""
    lengths = np.array([S, *rng.integers(1, S, size=B - 1)])
    mask = np.arange(S) < lengths[:, None]
    queries = rng.normal(size=(B, T, D)).astype(np.float32)
    memory = np.where(mask[..., None], rng.normal(size=(B, S, D)), 7.0).astype(np.float32)
    return [queries, memory, mask]


def _filled(rng, name, slot_class, width):
    """Draw {name of a parameter: what is copied into it}: normal, with variance 2.25 / columns."""
    shapes = slot_class.run_driver(shapes_of_parameters, width)
    layers = LAYERS[name]
    present = {parameter.rpartition(".")[0] for parameter in shapes}
    missing = [layer for layer in layers if f"{layer}.weight" not in shapes]
    others = sorted(present - set(layers))
    if missing:
        plural = "s" if len(shapes) > 1 else ""
        yours = f"the parameter{plural} {listed(sorted(shapes))}" if shapes else "no parameters"
        hint = "; that is *dot*" if not shapes else ""
        raise NotYet(
            f"{name} has no linear layer called {' or '.join(missing)}; yours has {yours}{hint}."
        )
    if others:
        raise NotYet(
            f"{name} has a layer {listed(others)} that its formula does not have; the values are "
            "the memory itself."
        )
    key = shapes["key.weight"]
    if name == "BilinearAttention" and (key != [width, width] or "key.bias" in shapes):
        raise NotYet(
            f"the layer key of {name} is D to D without a bias, nn.Linear(width, width, bias=False)."
        )
    if name == "AdditiveAttention":
        A = key[0]
        expected = {"query": [A, width], "key": [A, width], "score": [1, A]}
        for layer, shape in expected.items():
            if shapes[f"{layer}.weight"] != shape:
                raise NotYet(
                    f"the weight of the layer {layer} has shape {shapes[f'{layer}.weight']}, "
                    f"expected {shape}: "
                    "query and key go from D to A, score from A to 1."
                )
    return {
        parameter: (1.5 * rng.normal(size=shape) / shape[-1] ** 0.5).astype(np.float32)
        for parameter, shape in shapes.items()
    }


def _run(name, slot_class, width, parameters, inputs, before=None):
    B, T, D = inputs[0].shape
    S = inputs[1].shape[1]
    result = slot_class.run_driver(run_filled_slot, width, parameters, inputs, before)
    outputs = result["outputs"]
    if outputs is None or len(outputs) != 2:
        raise NotYet(f"{name} should return two tensors, (context, weights).")
    context, weights = outputs
    for what, found, shape in (("context", context, (B, T, D)), ("weights", weights, (B, T, S))):
        if found.shape != shape:
            raise NotYet(f"the {what} of {name} has shape {found.shape}, expected {shape}.")
    return result


def _layer(parameters, name, x):
    """Return the linear layer of that name, with its bias if it has one."""

    import torch

    found = x @ torch.tensor(parameters[f"{name}.weight"], dtype=torch.float64).mT
    bias = parameters.get(f"{name}.bias")
    return found if bias is None else found + torch.tensor(bias, dtype=torch.float64)


def _tensors(inputs):
    import torch

    queries, memory, mask = inputs
    return (
        torch.tensor(queries, dtype=torch.float64),
        torch.tensor(memory, dtype=torch.float64),
        torch.tensor(mask)[:, None],
    )


def _additive(parameters, q, m, combine, *, swapped=False):
    """Return the scores of `combine`d projections (B, T, S, A)."""
    of_queries, of_keys = ("key", "query") if swapped else ("query", "key")
    pairs = combine(
        _layer(parameters, of_queries, q)[:, :, None], _layer(parameters, of_keys, m)[:, None]
    )
    return _layer(parameters, "score", pairs).squeeze(-1)


def _added(q, k):
    return (q + k).tanh()


def _right(name, parameters, inputs, found):
    """Return [context, weights]; of two readings of W in q . W k, those that are nearer to the answer's."""

    import torch

    q, m, look = _tensors(inputs)
    if name == "AdditiveAttention":
        return _attended(_additive(parameters, q, m, _added), m, look)
    W = torch.tensor(parameters["key.weight"], dtype=torch.float64)
    readings = [_attended(q @ M @ m.mT / q.shape[-1] ** 0.5, m, look) for M in (W, W.mT)]
    return min(readings, key=lambda right: np.nan_to_num(largest_gap(found[1], right[1]), nan=9))


def _attended(scores, m, look):
    weights = masked_softmax(scores, look)
    return [(weights @ m).numpy(), weights.numpy()]


def _mistakes(name, parameters, inputs):
    q, m, look = _tensors(inputs)
    D = q.shape[-1]
    if name == "AdditiveAttention":
        right = _additive(parameters, q, m, _added)
        pairs = (_layer(parameters, "query", q)[:, :, None], _layer(parameters, "key", m)[:, None])
        A = pairs[0].shape[-1]
        scores = {
            "without tanh the query cancels: its part is the same for all keys, and the softmax ignores it": (
                _additive(parameters, q, m, lambda a, b: a + b)
            ),
            "tanh is taken of each part, and then the query cancels too; add first": (
                _additive(parameters, q, m, lambda a, b: a.tanh() + b.tanh())
            ),
            "the layer score is left out: the entries of tanh are added up as they are": (
                _added(*pairs).sum(-1)
            ),
            "a sigmoid stands where tanh belongs": _additive(
                parameters, q, m, lambda a, b: (a + b).sigmoid()
            ),
            "tanh is taken of the scores; it belongs before the layer `score`": (
                _additive(parameters, q, m, lambda a, b: a + b).tanh()
            ),
            "the key's part is subtracted from the query's; add them": (
                _additive(parameters, q, m, lambda a, b: (a - b).tanh())
            ),
            "relu stands where tanh belongs": _additive(
                parameters, q, m, lambda a, b: (a + b).relu()
            ),
            "the layers are exchanged: `query` belongs to the queries, `key` to the memory": (
                _additive(parameters, q, m, _added, swapped=True)
            ),
            "additive scores need no scale, and here they are divided by a root of the width": right
            / D**0.5,
            "additive scores need no scale, and here they are divided by a root of A": (
                right / A**0.5 if A != D else NOT_HERE
            ),
            "the two parts are multiplied; additive attention adds them": (
                _additive(parameters, q, m, lambda a, b: (a * b).tanh())
            ),
            "the two parts are multiplied, and there is no tanh": (
                _additive(parameters, q, m, lambda a, b: a * b)
            ),
        }
    else:
        k = _layer(parameters, "key", m)
        right = q @ k.mT / D**0.5
        scores = {
            "the scores are not divided by the root of D": q @ k.mT,
            "the scores are divided by D, not by its root": q @ k.mT / D,
            "the layer `key` is not used: that is *dot*": q @ m.mT / D**0.5,
            "W is used twice, for queries and for keys": (
                _layer(parameters, "key", q) @ k.mT / D**0.5
            ),
            "bilinear scores have no tanh": right.tanh(),
            "bilinear scores have no tanh, neither have keys": q @ k.tanh().mT / D**0.5,
        }
    table: dict[str, Any] = {
        sentence: after(wrong, lambda wrong: _attended(wrong, m, look))
        for sentence, wrong in scores.items()
    }
    for sentence, weigh in WEIGHTS.items():
        wrong = weigh(right, look)
        table[sentence] = after(wrong, lambda weights: [weights @ m, weights])
    weights = masked_softmax(right, look)
    is_square = q.shape[1] == m.shape[1]
    table["rows and columns of the scores are exchanged; row t belongs to query t"] = (
        _attended(right.mT, m, look) if is_square else NOT_HERE
    )
    is_cube = is_square and q.shape[1] == D
    table["the weights come first; return (context, weights)"] = (
        [weights.numpy(), (weights @ m).numpy()] if is_cube else NOT_HERE
    )
    values = _layer(parameters, "key", m)
    table["the values are projected; they are the memory itself"] = (
        [(weights @ values).numpy(), weights.numpy()] if values.shape == m.shape else NOT_HERE
    )
    return table


def _judge_neighbours(name, slot_class, width, parameters, inputs, found):
    """Raise NotYet unless a sentence alone, more padding, and a slot called before all give the same."""
    queries, memory, mask = inputs
    longer = [
        queries,
        np.pad(memory, ((0, 0), (0, 2), (0, 0)), constant_values=50.0),
        np.pad(mask, ((0, 0), (0, 2))),
    ]
    alone = [values[-1:] for values in inputs]
    changes: dict[str, tuple[list, Any, slice]] = {
        "two more places of padding change": (longer, None, slice(None)),
        "the other sentences of a batch change": (alone, None, slice(-1, None)),
        "an earlier call of the same slot changes": (
            inputs,
            [queries[::-1].copy(), 0.5 - memory, mask],
            slice(None),
        ),
    }
    for sentence, (others, before, rows) in changes.items():
        context, _ = _run(name, slot_class, width, parameters, others, before)["outputs"]
        far = largest_gap(context, found[0][rows])
        if np.isnan(far):
            raise NotYet(f"{name}: {TOO_LATE}: {sentence} a context to nan.")
        if not far <= CLOSE:
            raise NotYet(f"{name}: {sentence} a context by {far:.2g}.")


def _judge_gradients(name, result, mask):
    """Raise NotYet unless the gradient at padding is exactly 0, and not 0 in any layer."""
    if not result["gradients"]:
        raise NotYet(f"{name} is right, but no gradient flows back: something is detached.")
    _, of_memory = result["gradients"]
    leak = np.abs(of_memory[~mask]).max(initial=0)
    if not leak <= 0:
        raise NotYet(
            f"{name}: {LOW_FILL}: padding reaches the context, with a gradient of {leak:.2g}."
        )
    for parameter, gradient in result["of_parameters"].items():
        if parameter.endswith("weight") and not np.abs(gradient).max() > 0 and mask.shape[1] > 2:
            raise NotYet(
                f"{name} is right, but no gradient reaches {parameter}: something is detached."
            )


def _judge_device(name, slot_class, width, inputs):
    """Raise NotYet unless the outputs are on the device of the inputs, where new tensors are on another."""
    result = slot_class.run_driver(run_slot_elsewhere, width, [values.shape for values in inputs])
    others = set(result.get("devices", ())) - {result["wanted"]}
    if others or result.get("names_device"):
        raise NotYet(
            f"{name} makes a tensor on the CPU, wherever its inputs are: on a GPU this stops. Make it with "
            "their `device`."
        )
