"""Questions 7.1 and 7.2, attention without comparisons; judges measure, they hold no answer."""

from functools import partial

import numpy as np

from ..reading import matrix
from ..register import Part, Question
from ..tensors import gradients_of, match, match_gradients, run_layer, sound
from ..verdict import NotYet
from .transformer_attention import (
    MASK_SLIPS,
    causal_weights,
    draw_parameters,
    head_slips,
    judge_dropouts,
    merge_blocks,
    project,
    split_blocks,
)

LAYER_SIZES = ((2, 5, 12, 3, 7), (1, 1, 4, 2, 3), (3, 7, 8, 1, 7), (2, 8, 8, 8, 9))


def _parameters(rng, D, H, max_length):
    shapes = {"A.weight": (D, D), "A.bias": (D,), "B": (H, D // H, max_length), "b2": (max_length,)}
    for name in ("value", "out"):
        shapes |= {f"{name}.weight": (D, D), f"{name}.bias": (D,)}
    return draw_parameters(rng, shapes)


def _synthesize(x, parameters, num_heads, *, slip="", scores=None, out=True, **steps):
    """The layer from arrays, or with one step of it replaced by a mistake."""
    split, merge = steps.get("split", split_blocks), steps.get("merge", merge_blocks)
    if scores is None:
        hidden, T = np.maximum(project(x, parameters, "A"), 0), x.shape[-2]
        scores = split(hidden, num_heads) @ parameters["B"][..., :T] + parameters["b2"][:T]
    values = split(project(x, parameters, "value"), num_heads)
    context = merge(causal_weights(scores, slip=slip) @ values)
    return project(context, parameters, "out") if out else context


def _score_slips(x, parameters, num_heads):
    """Scores that known mistakes make of the same parameters."""
    A, b1, B, b2 = (parameters[name] for name in ("A.weight", "A.bias", "B", "b2"))
    T, relu = x.shape[-2], partial(np.maximum, 0)
    hidden = relu(x @ A.T + b1)

    def scores(hidden, B=B[..., :T], b2=b2[:T]):
        return split_blocks(hidden, num_heads) @ B + b2

    return {
        "the ReLU is missing": scores(x @ A.T + b1),
        "the ReLU comes after B, on the scores": relu(scores(x @ A.T + b1)),
        "b1, the bias of A, is missing": scores(relu(x @ A.T)),
        "b2 is missing": scores(hidden, b2=0),
        "all heads use the B of the first head": scores(hidden, B[:1, :, :T]),
        "the last T columns of B and b2 are used; position 0 owns the first": (
            scores(hidden, B[..., -T:], b2[-T:])
        ),
        "the columns of b2 are taken from the end": scores(hidden, b2=b2[-T:]),
        "the scores are divided by sqrt(d); no dot product of two tokens calls for it here": (
            scores(hidden) / B.shape[1] ** 0.5
        ),
        "A is used as it is stored; nn.Linear multiplies by its transpose": scores(
            relu(x @ A + b1)
        ),
    }


def _layer_known(x, parameters, sizes):
    run = partial(_synthesize, x, parameters, sizes[3])
    slips = _score_slips(x, parameters, sizes[3])
    known = {sentence: run(scores=scores) for sentence, scores in slips.items()}
    known |= {sentence: run(slip=slip) for slip, sentence in MASK_SLIPS.items()}
    known |= head_slips(run, *sizes[:4])
    known["the last projection, `out`, is missing"] = run(out=False)
    return known


def layer_is_synthesizer(rng, layer_class):
    """7.1: equal to the formula with given weights, for T up to max_length; dropouts as in 6.6."""
    for sizes in LAYER_SIZES:
        B, T, D, H, max_length = sizes
        x, parameters = rng.normal(size=(B, T, D)), _parameters(rng, D, H, max_length)
        setting = f"(B, T, D, H, max_length) = {sizes}"
        result = sound(layer_class.via(run_layer, (D, H, max_length), parameters, x))
        right, known = _synthesize(x, parameters, H), _layer_known(x, parameters, sizes)
        match(result["outputs"][0], right, known, setting)
        match_gradients(result["gradients"], _gradients(x, parameters, H), setting)
    x, parameters = rng.normal(size=(40, 1, 6)), _parameters(rng, 6, 1, 2)
    judge_dropouts(partial(layer_class.via, run_layer, (6, 1, 2), parameters, x), parameters)
    return f"outputs and gradients agree on {len(LAYER_SIZES)} shapes, and both dropouts do their work."


def _gradients(x, parameters, num_heads):
    """The same computation in torch, for its gradients."""
    import torch

    leaves = {n: torch.tensor(v, requires_grad=True) for n, v in {"x": x, **parameters}.items()}
    T = x.shape[-2]

    def linear(x, name):
        return x @ leaves[f"{name}.weight"].mT + leaves[f"{name}.bias"]

    def heads(x):
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)

    scores = heads(linear(leaves["x"], "A").relu()) @ leaves["B"][..., :T] + leaves["b2"][:T]
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    y = linear((weights @ heads(linear(leaves["x"], "value"))).transpose(1, 2).flatten(-2), "out")
    return dict(zip(leaves, gradients_of(y, list(leaves.values())), strict=True))


def _row_of_comparison(x, t, rng):
    """Row t of the weights of a random key-query layer, from scores that are neither flat nor sharp."""
    D = x.shape[1]
    q, k = (x @ rng.normal(size=(D, D)) / D**0.5 for _ in range(2))
    return causal_weights(q @ k.T / D**0.5)[t]


def _row_of_synthesizer(x, t, rng):
    T, D = x.shape
    hidden = np.maximum(x @ rng.normal(size=(D, D)) / D**0.5, 0)
    return causal_weights(hidden @ rng.normal(size=(D, T)))[t]


def inputs_tell_apart(rng, two_inputs):
    """7.2: equal at t, yet row t of every key-query layer differs; that of a synthesizer cannot."""
    smallest = 1.0
    for T, D, t in ((4, 3, 2), (7, 5, 6), (2, 4, 1), (9, 8, 4)):
        pair = two_inputs(T, D, t)
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise NotYet("two_inputs should return two arrays.")
        x, other = (matrix(value, (T, D), "an input") for value in pair)
        setting = f"T = {T}, D = {D}, t = {t}"
        if not np.array_equal(x[t], other[t]):
            far = np.abs(x[t] - other[t]).max()
            raise NotYet(f"the inputs differ at position t itself, by {far:.2g} ({setting}).")
        moved = [_moved(row, x, other, t) for row in (_row_of_comparison, _row_of_synthesizer)]
        if np.median(moved[0]) < 1e-3:
            raise NotYet(_why_not_apart(x, other, t, moved[0], setting))
        smallest = min(smallest, np.median(moved[0]))
    return (
        f"in 20 random key-query layers row t moved, by {smallest:.2g} or more in the median; in 20 "
        f"random synthesizers it moved by {max(moved[1]):.0f}."
    )


def _moved(row, x, other, t):
    """By how much row t differs between the two inputs, in each of 20 random layers."""
    moved = []
    for seed in range(20):
        rows = [row(value, t, np.random.default_rng(seed)) for value in (x, other)]
        moved.append(np.abs(rows[0] - rows[1]).max())
    return moved


def _why_not_apart(x, other, t, moved, setting):
    if np.array_equal(x, other):
        return f"the two inputs are the same ({setting})."
    if np.array_equal(x[:t], other[:t]):
        return f"the inputs differ only after t, where the causal mask hides it ({setting})."
    if not x[t].any():
        return (
            f"x_t is zero, so its query is zero and every score with it: nothing to tell apart "
            f"({setting})."
        )
    return f"row t moves by only {np.median(moved):.1g} in the median of 20 layers ({setting})."


QUESTIONS = (
    Question(
        id="7.1",
        title="Attention that compares nothing",
        minutes=15,
        parts=(Part("code", 5, ("SynthesizerAttention",), layer_is_synthesizer),),
        covers=("004 2.i",),
        hints=(
            "Only the scores are new; the mask, the values, the heads and both dropouts are as in 6.6.",
            "Split the hidden features into heads before you multiply by B: head i has its own B[i].",
            "A sequence of T tokens uses the first T of the max_length columns.",
            "B has shape (H, d, max_length) and the hidden features (B, H, T, d): matmul does the rest.",
        ),
    ),
    Question(
        id="7.2",
        title="What it cannot do",
        minutes=20,
        parts=(Part("written", 3), Part("code", 1, ("two_inputs",), inputs_tell_apart)),
        covers=("004 2.ii",),
        hints=(
            "Hold the last token fixed. What is left of its row of weights? What is the output then, "
            "as a function of one other token?",
            "A sum of functions of one token each: what is f(1, 1) - f(1, 0) - f(0, 1) + f(0, 0)?",
            "For the inputs: which rows of x does row t of a key-query layer read?",
        ),
    ),
)
