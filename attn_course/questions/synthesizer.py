"""Questions 7.1 and 7.2, attention without comparisons."""

from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, as_pair, largest_gap, matrix, shuffled
from attn_course.drivers import call_each, do_nothing
from attn_course.questions.attention_layers import draw_parameters, finish, judge_layer, linear
from attn_course.questions.attention_mistakes import SPLITS, split_heads
from attn_course.register import Part, Question
from attn_utils.kernels import softmax

NUM_LAYERS = 20
VISIBLE = 1e-6  # a weight that moves by less may have moved by rounding


def layer_is_synthesizer(rng: Generator, layer_class: Caller) -> str:
    """7.1: equal to the formula with given weights, for T up to max_length; dropouts as in 6.6."""
    T = int(rng.integers(5, 8))
    others = [(1, 1, 4, 2, 3), (3, 7, 8, 1, 7), (2, 8, 8, 8, 9)]
    return judge_layer(
        rng,
        layer_class,
        cases=[(2, T, 12, 3, T + 2), *shuffled(rng, others)],
        shapes=_layer_shapes,
        compute=_synthesize,
        known=_layer_known,
        aim=_aimed,
    )


def _layer_shapes(D, H, max_length):
    return {
        "A.weight": (D, D),
        "A.bias": (D,),
        "B": (H, D // H, max_length),
        "b2": (max_length,),
        "value.weight": (D, D),
        "value.bias": (D,),
        "out.weight": (D, D),
        "out.bias": (D,),
    }


def _aimed(rng, sizes, columns):
    """Draw parameters and x (1, T, D) for which every query gives key s a score near columns[s]."""
    parameters = draw_parameters(rng, _layer_shapes(*sizes))
    parameters["b2"][: len(columns)] = columns
    return parameters, rng.normal(size=(1, len(columns), sizes[0]))


def _synthesize(leaves, num_heads, *, scores=None, split=split_heads, split_values=None, **steps):
    """Return the output of equation (1), or with one step of it replaced by a mistake."""
    x = leaves["x"]
    T = x.shape[1]
    if scores is None:
        hidden = linear(leaves, x, "A").relu()
        B = leaves["B"][..., :T]  # (H, d, T)
        scores = split(hidden, num_heads) @ B + leaves["b2"][:T]
    values = (split_values or split)(linear(leaves, x, "value"), num_heads)
    return finish(leaves, scores, values, **steps)


def _layer_known(leaves, num_heads):
    """Return {sentence: output (B, T, D)}: mistakes of a layer that makes its scores of one token."""
    x = leaves["x"]
    T = x.shape[1]
    B = leaves["B"]  # (H, d, max_length)
    b2 = leaves["b2"]
    root = B.shape[1] ** 0.5
    linear_scores = split_heads(linear(leaves, x, "A"), num_heads) @ B[..., :T] + b2[:T]

    def run(changed: dict, **steps: Any) -> Any:
        """Return the output with some of the parameters changed, or a step of the layer."""
        return _synthesize(leaves | changed, num_heads, **steps)

    mistakes = {
        "the ReLU is missing": run({}, scores=linear_scores),
        "the ReLU comes after B, on the scores": run({}, scores=linear_scores.relu()),
        "b1, the bias of A, is missing": run({"A.bias": 0}),
        "b2 is missing, or is added along the queries, where the softmax cancels it": (
            run({"b2": 0 * b2})
        ),
        "all heads use the B of the first head": run({"B": B[:1]}),
        "the last T columns of B and b2 are used; the first column belongs to position 0": (
            run({"B": B[..., -T:], "b2": b2[-T:]})
        ),
        "the columns of b2 are taken from the end": run({"b2": b2[-T:]}),
        "the scores are divided by sqrt(d); no dot product of two tokens calls for it here": (
            run({"B": B / root, "b2": b2 / root})
        ),
        "A is used as it is stored; nn.Linear multiplies by its transpose": (
            run({"A.weight": leaves["A.weight"].mT})
        ),
    }
    for sentence, split in SPLITS.items():
        mistakes[f"in the hidden features, {sentence}"] = run(
            {}, split=split, split_values=split_heads
        )
        mistakes[f"in the values, {sentence}"] = run({}, split_values=split)
    return mistakes


def inputs_tell_apart(rng: Generator, two_inputs: Caller) -> str:
    """7.2: equal at t, yet row t of most key-query layers differs; that of a synthesizer cannot."""
    T, D = map(int, rng.integers(3, 9, 2))
    others = [(7, 5, 6), (2, 4, 1), (9, 8, 4), (T, D, T - 1)]
    settings = [(4, 3, 2), *shuffled(rng, others)]  # first one with a token after t
    pairs = two_inputs.run_driver(call_each, settings)
    two_inputs.run_driver(do_nothing)  # inputs may be drawn, so no call has to be repeated

    compared = []
    synthesized = []
    for (T, D, t), pair in zip(settings, pairs, strict=True):
        setting = f"T = {T}, D = {D}, t = {t}"
        inputs = as_pair(pair, "two_inputs should return two arrays.")
        x, other = (matrix(value, (T, D), "an input") for value in inputs)
        if not np.array_equal(x[t], other[t]):
            far = largest_gap(x[t], other[t])
            raise NotYet(f"the inputs differ at position t itself, by {far:.2g} ({setting}).")

        moved = _moved(_row_of_comparison, x, other, t, rng)
        if not np.isfinite(moved).all():
            raise NotYet(f"numbers of this size overflow in a layer ({setting}).")
        median = np.median(moved)
        compared.append(median)
        synthesized.append(max(_moved(_row_of_synthesizer, x, other, t, rng)))
        if not median >= VISIBLE:
            size = max(np.abs(pair).max() for pair in (x, other))
            smaller = _moved(_row_of_comparison, x / size, other / size, t, rng) if size > 1 else 0
            is_too_large = np.median(smaller) >= VISIBLE
            raise NotYet(_why_not_apart(x, other, t, median, is_too_large, setting))

    least = min(compared)
    most = max(synthesized)
    return (
        f"in {NUM_LAYERS} random layers with keys and queries row t changes, in the median by {least:.2g} or "
        f"more; in {NUM_LAYERS} random synthesizers it changes by {most:g}."
    )


def _moved(row, x, other, t, rng):
    """Return by how much row t differs between the two inputs, for each of some random layers.

    row: (x, t, rng) -> weights (t + 1,), of a layer that rng draws. x, other: (T, D).
    """
    moved = []
    for seed in rng.integers(2**31, size=NUM_LAYERS):
        with np.errstate(all="ignore"):
            before = row(x, t, np.random.default_rng(seed))
            after = row(other, t, np.random.default_rng(seed))
            moved.append(largest_gap(before, after))
    return moved


def _row_of_comparison(x, t, rng):
    """Return row t of the weights of a random key-query layer, from scores neither flat nor sharp."""
    q = _projected(x[t], rng)
    k = _projected(x[: t + 1], rng)
    return softmax(k @ q / len(q) ** 0.5)


def _row_of_synthesizer(x, t, rng):
    """Return the same of a random synthesizer."""
    T, D = x.shape
    hidden = np.maximum(_projected(x[t], rng), 0)
    B = rng.normal(size=(D, T))
    b2 = rng.normal(size=T)
    return softmax((hidden @ B + b2)[: t + 1])


def _projected(x, rng):
    """Return (..., D) by a random projection that keeps sizes, and a bias."""
    D = x.shape[-1]
    W = rng.normal(size=(D, D)) / D**0.5
    return x @ W + rng.normal(size=D)


def _why_not_apart(x, other, t, moved, is_too_large, setting):
    """Return a sentence for two inputs that a key-query layer cannot tell apart in row t.

    is_too_large: whether a layer can tell them apart once their numbers are made smaller.
    """
    if np.array_equal(x, other):
        return f"the two inputs are the same ({setting})."
    if np.array_equal(x[:t], other[:t]):
        return f"the inputs differ only after t, where the causal mask hides the difference ({setting})."
    fact = f"row t changes by only {moved:.1g} in the median of {NUM_LAYERS} layers"
    if is_too_large:
        largest = np.abs([x, other]).max()
        fact += f", because your numbers, up to {largest:.3g}, are so large that one key takes all the weight"
    return f"{fact} ({setting})."


QUESTIONS = (
    Question(
        id="7.1",
        title="Attention that compares nothing",
        minutes=15,
        parts=(Part("code", ("SynthesizerAttention",), layer_is_synthesizer, points=4.5),),
        covers=("004 2.i",),
        hints=(
            "Only the scores are new; the mask, the values, the heads and both dropouts are as in 6.6.",
            "Split the hidden features into heads before you multiply by B: head i has its own B[i].",
            "A sequence of T tokens uses the first T of the max_length columns.",
            "B has shape (H, d, max_length) and the hidden features (batch, H, T, d): matmul does the rest.",
        ),
    ),
    Question(
        id="7.2",
        title="What it cannot do",
        minutes=20,
        parts=(
            Part("written", points=2.5),
            Part("code", ("two_inputs",), inputs_tell_apart, points=1),
        ),
        covers=("004 2.ii",),
        hints=(
            "Hold the last token fixed. Can its row of weights still change? How does its output then "
            "depend on one other token?",
            "A sum of functions of one token each: what is f(1, 1) - f(1, 0) - f(0, 1) + f(0, 0)?",
            "For the inputs: which rows of x does row t of a key-query layer read?",
        ),
    ),
)
