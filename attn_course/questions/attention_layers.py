"""Judge a causal layer with several heads: outputs, gradients, leaks and dropouts.

One computation on tensors is the reference and, with one of its steps replaced, each known mistake.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import STOPPED, Caller, NotYet, largest_gap
from attn_course.answers.mistakes import AnyOf
from attn_course.answers.tensors import (
    TOLERANCE,
    close,
    distance,
    judge_gradients,
    leaves_of,
    loaded,
    tensor_trials,
)
from attn_course.drivers import run_layer
from attn_course.markers import STUB
from attn_course.questions.attention_mistakes import (
    BOTH_IN_MEMORY,
    CAUSAL_WEIGHTS,
    INVERTED,
    LOW_FILL,
    MERGES,
    SPLITS,
    TOO_LATE,
    after,
    masked_softmax,
    merge_heads,
)
from attn_utils.masks import causal_mask

AXES = ("batch", "T", "D", "H", "max_length")
INVERTED_IN_LAYER = (
    "the mask is the wrong way round: True means hidden in nn.MultiheadAttention, and may look in this "
    "course and in scaled_dot_product_attention"
)


def judge_layer(
    rng: Generator,
    layer_class: Caller,
    *,
    cases: Sequence[tuple],
    shapes: Callable,
    compute: Callable,
    known: Callable,
    aim: Callable,
) -> str:
    """Raise NotYet unless a layer equals `compute`, gradients included, leaks nothing, and drops out rightly.

    cases: rows of (B, T, *sizes); the layer is made as layer_class(*sizes), with D and H the first two.
    shapes: sizes -> {parameter: shape}. compute: (leaves, H, **steps) -> output, where leaves holds
    the tensors by name, x among them. known: (leaves, H) -> {sentence: output}, its own mistakes.
    aim: as in `judge_leaks`.
    """
    trials = tensor_trials(partial(_mistakes, compute, known))
    for case in cases:
        B, T, *sizes = case
        D, H, *_ = sizes
        setting = f"({', '.join(AXES[: len(case)])}) = {case}"
        x = rng.normal(size=(B, T, D))
        parameters = draw_parameters(rng, shapes(*sizes))
        result = layer_class.run_driver(run_layer, sizes, parameters, x, stub=STUB)
        (found,) = loaded(result, parameters)["outputs"]

        leaves = leaves_of({"x": x, **parameters})
        right = compute(leaves, H)
        trials.require(found, right, distance(found, right, setting), leaves, H)
        judge_gradients(result["gradients"], right, leaves, setting)

    judge_later_calls(rng, layer_class, shapes, compute, cases[0][2:])
    judge_leaks(rng, layer_class, cases[0][2:], compute, aim)
    judge_dropouts(rng, layer_class, shapes, sizes[2:])
    return (
        f"outputs and gradients agree on {len(trials)} shapes, later calls of one layer depend on their own "
        "input alone, no gradient comes from a later token, and both dropouts work."
    )


def draw_parameters(rng: Generator, shapes: Mapping[str, tuple]) -> dict[str, np.ndarray]:
    """Draw arrays by parameter name, large enough for weights that are far from uniform."""
    return {name: 1.5 / shape[-1] ** 0.5 * rng.normal(size=shape) for name, shape in shapes.items()}


def linear(leaves: dict, x: Any, name: str) -> Any:
    """Return x W^T + b, as nn.Linear stores it."""
    return x @ leaves[f"{name}.weight"].mT + leaves[f"{name}.bias"]


def finish(
    leaves: dict,
    scores: Any,
    values: Any,
    *,
    weigh: Callable = masked_softmax,
    merge: Callable = merge_heads,
) -> Any:
    """Return the output (B, T, D) from scores (B, H, T, T) and values (B, H, T, d)."""
    weights = weigh(scores, causal_mask(scores.shape[-1], like=scores))
    return after(weights, lambda found: linear(leaves, merge(found @ values), "out"))


def _mistakes(compute, known, leaves, num_heads):
    """Return {sentence: output}: the layer's own mistakes, then those that any such layer invites."""
    run = partial(compute, leaves, num_heads)
    table = dict(known(leaves, num_heads))
    weigh = {INVERTED_IN_LAYER: CAUSAL_WEIGHTS[INVERTED]} | CAUSAL_WEIGHTS
    del weigh[INVERTED]
    weigh[LOW_FILL] = _low_fills
    for step, wrong in (("weigh", weigh), ("split", SPLITS), ("merge", MERGES)):
        table |= {sentence: run(**{step: mistake}) for sentence, mistake in wrong.items()}
    sentence, split, merge = BOTH_IN_MEMORY
    return table | {
        sentence: run(split=split, merge=merge),
        "the last projection, `out`, is missing": compute(_without(leaves, "out"), num_heads),
        "the projection `value` is missing": compute(_without(leaves, "value"), num_heads),
        "the input is added to the output; that is the work of whoever calls the layer": (
            run() + leaves["x"]
        ),
    }


def _low_fills(scores, look):
    return AnyOf(tuple(masked_softmax(scores, look, fill=fill) for fill in (-1.0, -5.0, -10.0)))


def _without(leaves, name):
    """Return the leaves with a projection that changes nothing."""
    bias = leaves[f"{name}.bias"]
    identity = bias.new_ones(len(bias)).diag()
    return leaves | {f"{name}.weight": identity, f"{name}.bias": 0}


KEEPS = "the layer uses keys, weights or a mask of an earlier call again"
MOST_TOKENS = 64  # as the cards say
FIXED_LENGTH = "the mask has a fixed length, where each input has its own"


def judge_later_calls(
    rng: Generator, layer_class: Caller, shapes: Callable, compute: Callable, sizes: tuple
) -> None:
    """Raise NotYet if one layer, called again on other inputs, gives another output than a new layer.

    The later inputs have the shape of the first, then a greater length and another batch, then one token.
    Each comes after those before it, so the last run has four calls.
    shapes, compute: as in `judge_layer`. sizes: D, H and the largest length, if the layer is made with one.
    """
    D, H, *others = sizes
    T = int(rng.integers(4, 8))
    longest = int(rng.integers(34, MOST_TOKENS + 1))
    x, *later = (rng.normal(size=(*axes, D)) for axes in ((2, T), (2, T), (3, longest), (1, 1)))
    sizes = (D, H, *(max(size, longest) for size in others))
    parameters = draw_parameters(rng, shapes(*sizes))
    for k, other in enumerate(later):
        setting = f"(B, T) = {x.shape[:2]} at first, {other.shape[:2]} later"
        try:
            result = layer_class.run_driver(run_layer, sizes, parameters, x, later=later[: k + 1])
        except NotYet as error:
            if STOPPED not in str(error):
                raise
            message = f"{FIXED_LENGTH}, or {KEEPS}: {setting}, and {error}"
            raise NotYet(message, mistake=FIXED_LENGTH) from None
        *_, output = loaded(result, parameters)["outputs"]
        right = compute(leaves_of({"x": other, **parameters}), H)
        if not close(output, right):
            fact = distance(output, right, setting)
            raise NotYet(
                f"{KEEPS}; the first call is right, in the later one {fact}.", mistake=KEEPS
            )


def judge_leaks(
    rng: Generator, layer_class: Caller, sizes: tuple, compute: Callable, aim: Callable
) -> None:
    """Raise NotYet if an output depends on a later token, whose score is far above all that may be seen.

    compute: as in `judge_layer`. aim: (rng, sizes, columns (T,)) -> parameters and x (1, T, D) for which
    every query gives key s a score near columns[s].
    """
    T = int(rng.integers(4, 7))
    last = int(rng.integers(T - 1))  # the last token that is shown
    low = -rng.uniform(2e4, 3e4)
    columns = np.where(np.arange(T) <= last, low, 1000.0)
    parameters, x = aim(rng, sizes, columns)
    result = layer_class.run_driver(run_layer, sizes, parameters, x, num_outputs=last + 1)
    (found,) = loaded(result, parameters)["outputs"]
    leak = np.abs(result["gradients"]["x"][:, last + 1 :]).max()
    setting = f"where the scores that may be seen are near {low:.0f} and later ones near 1000"
    if np.isnan(leak):
        raise NotYet(f"{TOO_LATE}: the gradient is nan {setting}.", mistake=TOO_LATE)
    if not leak <= 0:
        raise NotYet(
            f"{LOW_FILL}: a later token reaches output {last}, with a gradient of {leak:.2g} and not "
            f"exactly 0, {setting}.",
            mistake=LOW_FILL,
        )

    right = compute(leaves_of({"x": x, **parameters}), sizes[1])
    if not close(found[:, 0], right[:, 0]):  # the first token sees itself alone, with weight 1
        raise NotYet(f"{LOW_FILL}: output 0 is wrong {setting}.", mistake=LOW_FILL)


NUM_SEQUENCES = 16  # sizes of the layer in which dropouts are traced
NUM_HEADS = 3
LENGTH = 4  # also the width of a head: as many values as it takes to tell the tokens apart
FAIR = 0.25  # coins agree half of the time; of 288 pairs, fewer or more do in one of 1e16 draws


def judge_dropouts(
    rng: Generator, layer_class: Caller, shapes: Callable, others: Iterable[int] = ()
) -> None:
    """Raise NotYet unless dropout is off in eval and at rate 0, and else drops each number on its own.

    All scores are made equal and all projections invertible, so that every single weight can be read
    off the output. others: what the layer is made with besides D and H, not below the length.
    """
    D = NUM_HEADS * LENGTH
    sizes = (D, NUM_HEADS, *(max(size, LENGTH) for size in others))
    parameters = {name: np.zeros(shape) for name, shape in shapes(*sizes).items()}
    parameters["value.weight"] = _orthogonal(rng, D)
    parameters["out.weight"] = _orthogonal(rng, D)
    parameters["out.bias"] = rng.normal(size=D)

    values = _orthogonal(rng, LENGTH)  # a row for each token, the same in every head
    sequence = np.tile(values, NUM_HEADS) @ parameters["value.weight"]
    x = np.tile(sequence, (NUM_SEQUENCES, 1, 1))

    def outputs(**options: Any) -> list[np.ndarray]:
        """Return the outputs of the layer for x, one array for each run."""
        seed = int(rng.integers(2**31))
        result = layer_class.run_driver(run_layer, sizes, parameters, x, seed=seed, **options)
        return loaded(result, parameters)["outputs"]

    def weights(output: np.ndarray) -> np.ndarray:
        """Read off an output, which is turned back."""
        context = (output - parameters["out.bias"]) @ parameters["out.weight"]
        heads = context.reshape(NUM_SEQUENCES, LENGTH, NUM_HEADS, LENGTH)  # (B, T, H, d)
        return heads @ values.T  # (B, T, H, S)

    rate = float(rng.uniform(0.4, 0.6))
    (calm,) = outputs()
    for option in ("attention_dropout", "residual_dropout"):
        for output in outputs(repeats=2, **{option: rate}):
            _judge_eval(output, calm, option)

    if not close(outputs(train=True), [calm]):
        raise NotYet("with both dropouts at 0, training mode should change nothing.")
    (output,) = outputs(train=True, attention_dropout=rate)
    lost = _lost(weights(output), weights(calm), rate)
    if lost is None:
        why = "does not drop whole weights: it acts somewhere else"
        if close(output, calm):
            why = (
                "changes nothing in training where all scores are equal: it should drop weights after "
                "the softmax"
            )
        elif _lost(output, calm, rate) is not None:
            why = "acts on the output; the two dropouts have changed places"
        mistake = f"attention_dropout {why}"
        raise NotYet(f"{mistake}.", mistake=mistake)
    seen = np.broadcast_to(causal_mask(LENGTH)[:, None], lost.shape)  # (B, T, H, S)
    _judge_coins("attention_dropout", lost, seen, rate, "sequences queries heads keys")

    (output,) = outputs(train=True, residual_dropout=rate)
    lost = _lost(output, calm, rate)
    if lost is None:
        why = "does not drop features of the final output: it acts too early"
        if close(output, calm):
            why = "changes nothing in training: it should drop output features"
        mistake = f"residual_dropout {why}"
        raise NotYet(f"{mistake}.", mistake=mistake)
    seen = np.ones_like(lost)
    _judge_coins("residual_dropout", lost, seen, rate, "sequences tokens features")


def _orthogonal(rng, size):
    """Return a random matrix (size, size) that turns and mirrors."""
    basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return basis


def _judge_eval(output, calm, option):
    """Raise NotYet if a dropout changes the output of a layer in evaluation mode."""
    if output.shape != calm.shape:
        raise NotYet(f"{option} changes the shape of the output to {output.shape}.")
    far = largest_gap(output, calm)
    if not far <= TOLERANCE:
        mistake = f"{option} is left on in eval mode"
        raise NotYet(f"{mistake}: the output moves by up to {far:.2g}.", mistake=mistake)


def _lost(found, calm, rate):
    """Return a mask of the dropped numbers; None unless all others were divided by 1 - rate."""
    if found.shape != calm.shape or close(found, calm):
        return None
    lost = np.abs(found) <= TOLERANCE
    kept = np.abs(found - calm / (1 - rate)) <= TOLERANCE
    return lost if (lost | kept).all() else None


def _judge_coins(name, lost, seen, rate, axes):
    """Raise NotYet if too few or too many are lost, or if neighbours along one axis are lost together.

    lost, seen: which numbers were dropped, and which could be. axes: what they run over, in words.
    """
    share = lost[seen].mean()
    if not abs(share - rate) <= 0.15:
        raise NotYet(f"{name} at rate {rate:.2f} drops {share:.0%}.")

    for axis, what in enumerate(axes.split()):
        fate = np.moveaxis(lost, axis, 0)
        there = np.moveaxis(seen, axis, 0)
        is_pair = there[1:] & there[:-1]
        agree = (fate[1:] == fate[:-1])[is_pair].mean()
        if not FAIR <= agree <= 1 - FAIR:
            raise NotYet(
                f"{name} does not drop each number independently: neighbouring {what} are dropped or kept "
                f"together in {agree:.0%} of cases."
            )
