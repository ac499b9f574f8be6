"""Questions 7.1 and 7.2, attention without comparisons; judges measure, they hold no answer."""

import numpy as np

from ...kernels import softmax
from ..layer_mistakes import cut, finish, judge_layer, linear
from ..reading import matrix
from ..register import Part, Question
from ..verdict import NotYet

LAYER_SIZES = ((2, 5, 12, 3, 7), (1, 1, 4, 2, 3), (3, 7, 8, 1, 7), (2, 8, 8, 8, 9))
VISIBLE = 1e-6  # a weight that moves by less may have moved by rounding


def _layer_shapes(D, H, max_length):
    shapes = {"A.weight": (D, D), "A.bias": (D,), "B": (H, D // H, max_length), "b2": (max_length,)}
    for name in ("value", "out"):
        shapes |= {f"{name}.weight": (D, D), f"{name}.bias": (D,)}
    return shapes


def _synthesize(leaves, num_heads, *, scores=None, split=cut, **steps):
    """The layer of equation (1), or with one step of it replaced by a mistake."""
    x, T = leaves["x"], leaves["x"].shape[1]
    if scores is None:
        hidden = split(linear(leaves, x, "A").relu(), num_heads)
        scores = hidden @ leaves["B"][..., :T] + leaves["b2"][:T]
    return finish(leaves, scores, split(linear(leaves, x, "value"), num_heads), **steps)


def _score_slips(leaves, num_heads):
    """Scores that known mistakes make of the same parameters."""
    x, A, b1, B, b2 = (leaves[name] for name in ("x", "A.weight", "A.bias", "B", "b2"))
    T, hidden = x.shape[1], (x @ A.mT + b1).relu()

    def scores(hidden, B=B[..., :T], b2=b2[:T]):
        return cut(hidden, num_heads) @ B + b2

    return {
        "the ReLU is missing": scores(x @ A.mT + b1),
        "the ReLU comes after B, on the scores": scores(x @ A.mT + b1).relu(),
        "b1, the bias of A, is missing": scores((x @ A.mT).relu()),
        "b2 is missing": scores(hidden, b2=0),
        "all heads use the B of the first head": scores(hidden, B[:1, :, :T]),
        "the last T columns of B and b2 are used; position 0 owns the first": (
            scores(hidden, B[..., -T:], b2[-T:])
        ),
        "the columns of b2 are taken from the end": scores(hidden, b2=b2[-T:]),
        "the scores are divided by sqrt(d); no dot product of two tokens calls for it here": (
            scores(hidden) / B.shape[1] ** 0.5
        ),
        "A is used as it is stored; nn.Linear multiplies by its transpose": (
            scores((x @ A + b1).relu())
        ),
    }


def _layer_known(leaves, num_heads):
    slips = _score_slips(leaves, num_heads).items()
    return {sentence: _synthesize(leaves, num_heads, scores=scores) for sentence, scores in slips}


def layer_is_synthesizer(rng, layer_class):
    """7.1: equal to the formula with given weights, for T up to max_length; dropouts as in 6.6."""
    return judge_layer(
        rng, layer_class, LAYER_SIZES, shapes=_layer_shapes, compute=_synthesize, known=_layer_known
    )


def _row_of_comparison(x, t, rng):
    """Row t of the weights of a random key-query layer, from scores that are neither flat nor sharp."""
    D = x.shape[1]
    q, k = (x @ rng.normal(size=(D, D)) / D**0.5 for _ in range(2))
    return softmax(q[t] @ k[: t + 1].T / D**0.5)


def _row_of_synthesizer(x, t, rng):
    T, D = x.shape
    hidden = np.maximum(x[t] @ rng.normal(size=(D, D)) / D**0.5, 0)
    return softmax((hidden @ rng.normal(size=(D, T)))[: t + 1])


def inputs_tell_apart(rng, two_inputs):
    """7.2: equal at t, yet row t of most key-query layers differs; that of a synthesizer cannot."""
    compared, synthesized = [], []
    length, width = map(int, rng.integers(3, 9, 2))
    unseen = (length, width, length - 1)
    for T, D, t in ((4, 3, 2), (7, 5, 6), (2, 4, 1), (9, 8, 4), unseen):
        pair = two_inputs(T, D, t)
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise NotYet("two_inputs should return two arrays.")
        x, other = (matrix(value, (T, D), "an input") for value in pair)
        setting = f"T = {T}, D = {D}, t = {t}"
        if not np.array_equal(x[t], other[t]):
            far = np.abs(x[t] - other[t]).max()
            raise NotYet(f"the inputs differ at position t itself, by {far:.2g} ({setting}).")
        compared.append(np.median(_moved(_row_of_comparison, x, other, t)))
        synthesized.append(np.max(_moved(_row_of_synthesizer, x, other, t)))
        if compared[-1] < VISIBLE:
            raise NotYet(_why_not_apart(x, other, t, compared[-1], setting))
    return (
        f"in 20 random key-query layers row t moved, by {min(compared):.2g} or more in the median; in "
        f"20 random synthesizers it moved by {max(synthesized):g}."
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
    return f"row t moves by only {moved:.1g} in the median of 20 layers ({setting})."


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
