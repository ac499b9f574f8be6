"""Questions 6.1-6.8, causal multi-head attention in torch.

Shapes, the layer and its costs are judged here, the steps in between in `attention_steps`.
"""

import math
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import (
    Caller,
    NotAttempted,
    NotYet,
    array,
    judge_separately,
    number,
    shuffled,
)
from attn_course.answers.mistakes import Trials, distinct_texts
from attn_course.questions.attention_layers import draw_parameters, finish, judge_layer, linear
from attn_course.questions.attention_mistakes import SCORES, after, scaled_products, split_heads
from attn_course.questions.attention_steps import (
    attend_is_masked_softmax,
    heads_split_and_merge,
    mask_is_causal,
    scores_are_scaled_products,
)
from attn_course.register import Part, Question

B, T, D, H = 2, 5, 12, 3  # the sizes for which 6.1 asks for shapes
SHAPES = {
    "q": (B, T, D),
    "scores": (B, T, T),
    "context": (B, T, D),
    "q_heads": (B, H, T, D // H),
    "scores_heads": (B, H, T, T),
    "context_heads": (B, H, T, D // H),
    "y": (B, T, D),
}


def shapes_are_predicted(rng: Generator, shapes: Caller) -> str:
    """6.1: the shape of every tensor of the batched computation."""
    predictions = shapes.value()
    if not isinstance(predictions, dict):
        raise NotYet(f"a dictionary is expected, but this is of type {type(predictions).__name__}.")
    if all(shape is None for shape in predictions.values()):
        raise NotAttempted

    for name, shape in SHAPES.items():
        if predictions.get(name) is None:
            raise NotYet(f"there is no prediction for {name} yet.")
        sizes = array(predictions[name], name).flat
        predicted = tuple(int(size) if size == int(size) else float(size) for size in sizes)
        if predicted != shape:
            raise NotYet(f"{name}: you predicted {predicted}; {_why_not_shape(predicted, shape)}.")

    return f"all {len(SHAPES)} shapes are those of the computation."


def _why_not_shape(found, shape):
    """Return a clause on what a predicted shape gets wrong."""
    d = D // H
    swapped = tuple({H: d, d: H}.get(size, size) for size in found)
    both = (found, shape)
    if found == shape[1:]:
        return "that is one sequence, and the batch axis is missing"
    if both == ((B, T, D), (B, T, T)):
        return "the shape of the input; a score belongs to a pair of tokens, not to a feature"
    if swapped == shape:
        return f"there are {H} heads of width {d}, not {d} heads of width {H}"
    if sorted(found) == sorted(shape):
        return "the sizes are right, their order is not: batch, head, query, then key or feature"
    if both == ((B, H, T, d), (B, T, D)):
        return "the heads are still apart; here they stand side by side again"
    if both == ((B, H, T, D), (B, H, T, d)):
        return "each head has its share of the width, not all of it"

    have = f"{len(found)} and {np.prod(found):g}"
    return f"the tensor has {len(shape)} axes and {np.prod(shape)} numbers, not {have}"


PROJECTIONS = ("query", "key", "value")


def layer_is_causal_attention(rng: Generator, layer_class: Caller) -> str:
    """6.6: equal to causal multi-head attention with given weights; both dropouts where they belong."""
    T = int(rng.integers(5, 8))
    others = [(1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8)]
    return judge_layer(
        rng,
        layer_class,
        cases=[(2, T, 12, 3), *shuffled(rng, others)],
        shapes=_layer_shapes,
        compute=_multi_head,
        known=_layer_known,
        aim=_aimed,
    )


def _layer_shapes(D, H):
    """Return {parameter: shape} of the four projections."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name in (*PROJECTIONS, "out"):
        shapes |= {f"{name}.weight": (D, D), f"{name}.bias": (D,)}
    return shapes


def _aimed(rng, sizes, columns):
    """Draw parameters and x (1, T, D) for which every query gives key s a score near columns[s]."""
    D, H = sizes
    d = D // H
    parameters = draw_parameters(rng, _layer_shapes(D, H))
    parameters["query.weight"][:] = 0
    query = parameters["query.bias"].reshape(H, d)
    unit = query / (query**2).sum(-1, keepdims=True)
    parameters["key.weight"][:, 0] = d**0.5 * unit.reshape(D)  # the first feature makes the score
    parameters["value.weight"][:, 0] = 0

    x = rng.normal(size=(1, len(columns), D))
    x[..., 0] = columns
    return parameters, x


def _multi_head(
    leaves, num_heads, *, score=scaled_products, order=PROJECTIONS, split=split_heads, **steps
):
    """Return causal multi-head attention, or with one step of it replaced by a mistake."""
    q, k, v = (split(linear(leaves, leaves["x"], name), num_heads) for name in order)
    return after(score(q, k), lambda scores: finish(leaves, scores, v, **steps))


def _layer_known(leaves, num_heads):
    """Return {sentence: output (B, T, D)}: mistakes of a layer that compares keys and queries."""
    run = partial(_multi_head, leaves, num_heads)
    turned = {name: leaf.mT if leaf.ndim == 2 else leaf for name, leaf in leaves.items()}
    across = leaves | {"x": leaves["x"].transpose(0, 1)}

    def by_whole_width(q: Any, k: Any) -> Any:
        return q @ k.mT / leaves["x"].shape[-1] ** 0.5

    mistakes = {sentence: run(score=score) for sentence, score in SCORES.items()}
    mistakes |= {
        "the scores are divided by sqrt(D); each head has its own width d": run(
            score=by_whole_width
        ),
        "the projections multiply by W, where nn.Linear multiplies by its transpose": (
            _multi_head(turned, num_heads)
        ),
        "batch and time have changed places, so that sequences see each other": (
            _multi_head(across, num_heads).transpose(0, 1)
        ),
    }

    _, *wrong_orders = permutations(PROJECTIONS)
    for order in wrong_orders:
        used = f"{', '.join(order)} for {', '.join(PROJECTIONS)}"
        mistakes[f"the projections are used in the wrong order, {used}"] = run(order=order)
    return mistakes


def counts_are_exact(rng: Generator, num_parameters: Caller, num_flops: Caller) -> str:
    """6.7: entries of the four projections; two operations for each multiply-add of each product."""
    T, d, H = map(int, rng.integers(3, 30, 3))
    others = [(5, 15, 3), (7, 8, 1), (T, d * H, H), (128, 64, 4)]
    settings = [(100, 256, 8), *shuffled(rng, others)]

    def judge_parameters() -> str:
        trials = Trials(_wrong_parameters)
        for _, D, H in settings:
            count = number(num_parameters(D, H), f"num_parameters({D}, {H})")
            right = sum(math.prod(shape) for shape in _layer_shapes(D, H).values())
            trials.require(count, right, f"{count:,.0f} parameters at D = {D}, {H} heads", D, H)
        return f"The parameters are exact in {len(trials)} settings."

    def judge_operations() -> str:
        trials = Trials(_wrong_flops)
        for T, D, H in settings:
            count = number(num_flops(T, D, H), f"num_flops({T}, {D}, {H})")
            right = sum(_flops(T, D, H).values())
            share, _ = distinct_texts(count / right, 1, 4) if count != right else ("all", "")
            part = f"which is {share} of what the products cost"
            fact = f"{count:,.0f} operations at T = {T}, D = {D}, {H} heads, {part}"
            trials.require(count, right, fact, T, D, H)
        return (
            f"So are the operations; the products over pairs of tokens take {_share_of_pairs(100, 256, 8)} "
            f"and {_share_of_pairs(128, 64, 4)}."
        )

    return judge_separately({"num_parameters": judge_parameters, "num_flops": judge_operations})


def _share_of_pairs(T, D, H):
    """Return a clause on the share of the operations that the products over pairs of tokens take."""
    flops = _flops(T, D, H)
    share = 1 - flops["projections"] / sum(flops.values())
    return f"{share:.0%} at T = {T}, D = {D}, {H} heads"


def _products(T, D, H):
    """Return (m, k, n, how often) of each matrix product of one layer on one sequence."""
    d = D // H
    return {
        "projections": (T, D, D, 4),
        "scores": (T, d, T, H),
        "context": (T, T, d, H),
    }


def _flops(T, D, H):
    """Return {product: operations}, two for each multiply-add."""
    return {name: 2 * math.prod(product) for name, product in _products(T, D, H).items()}


def _wrong_parameters(D, H):
    matrix = D * D
    projection = matrix + D
    return {
        "the biases are missing": 4 * matrix,
        "one projection is missing": 3 * projection,
        "one projection and the biases are missing": 3 * matrix,
        "each head gets matrices of the full width": H * 4 * projection,
        "each head sees only its chunk of the input; a head reads all D features": (
            4 * (matrix // H + D)
        ),
        "each head sees only its chunk of the input, and biases are missing": 4 * matrix // H,
    }


def _wrong_flops(T, D, H):
    """Return {sentence: count}, each also with a multiplication and its addition counted as one operation."""
    flops = _flops(T, D, H)
    total = sum(flops.values())
    projections = flops["projections"]
    pairs = flops["scores"] + flops["context"]
    sums = sum(m * n * often for m, _, n, often in _products(T, D, H).values())
    wrong = {
        "the products of all pairs of tokens are missing": projections,
        "the projections are missing": pairs,
        "half of the work on pairs of tokens is missing; there are two products, and a plain one "
        "computes hidden scores too": total - flops["scores"],
        "only pairs that may be seen are counted; a plain product computes hidden scores too": (
            projections + pairs * (T + 1) / (2 * T)
        ),
        "every head is counted with the full width": projections + H * pairs,
        "one projection is missing": total - projections / 4,
        "k products take k - 1 additions, which you counted; here, as in torch's counter, each "
        "multiplication counts with one addition, 2 k in all": total - sums,
    }
    twice = (
        "a multiplication and the addition that follows it are two operations, and you count one"
    )
    halves = {f"{sentence}; besides, {twice}": count / 2 for sentence, count in wrong.items()}
    return wrong | halves | {twice: total / 2}


QUESTIONS = (
    Question(
        id="6.1",
        title="Shapes first",
        minutes=5,
        parts=(Part("code", ("shapes",), shapes_are_predicted, points=1),),
        covers=("004 review",),
        hints=(
            "A matrix product works on the last two axes and leaves the ones before them alone.",
            "How many pairs of tokens does one sequence have? And how many heads look at each pair?",
            "H heads share the D features equally.",
        ),
    ),
    Question(
        id="6.2",
        title="Scores of a whole batch",
        minutes=5,
        parts=(Part("code", ("scores",), scores_are_scaled_products, points=1.5),),
        covers=("004 review",),
        hints=(
            "Write down the shapes of q and k; which axis has to disappear, and which one must move?",
            "`transpose` takes the two axes you name; count them from the end.",
            "The d under the root is the width of one query.",
        ),
    ),
    Question(
        id="6.3",
        title="Attention under a mask",
        minutes=12,
        parts=(Part("code", ("attend",), attend_is_masked_softmax, points=2),),
        covers=("004 review",),
        hints=(
            "Which axis of the scores runs over the keys?",
            "What must a score be, so that its exponential is exactly 0?",
            "Where every key of a row is hidden, the softmax gives nan: replace that row before or after it.",
            "`masked_fill` and `torch.where` pass no gradient to the entries they replace; adding does.",
        ),
    ),
    Question(
        id="6.4",
        title="No look ahead",
        minutes=5,
        parts=(Part("code", ("causal_mask",), mask_is_causal, points=1),),
        covers=("004 review",),
        hints=(
            "Row t belongs to query t. Which tokens come before it? Does it see itself?",
            "torch can keep one triangle of a matrix, with or without its diagonal.",
        ),
    ),
    Question(
        id="6.5",
        title="Split into heads, and merge",
        minutes=7,
        parts=(Part("code", ("split_heads", "merge_heads"), heads_split_and_merge, points=1.5),),
        covers=("004 review",),
        hints=(
            "First give the features two axes, head and feature; then move one axis.",
            "Splitting an axis in two leaves all numbers in their order; exchanging axes does not.",
            "Merging is the same two steps backwards. After `transpose` use `reshape`; `view` fails.",
        ),
    ),
    Question(
        id="6.6",
        title="The layer",
        minutes=15,
        parts=(Part("code", ("CausalSelfAttention",), layer_is_causal_attention, points=3.5),),
        covers=("004 review",),
        hints=(
            "You have written every step above: project, split, attend, merge, project.",
            "The scale belongs to the width of a head, not to the width of the layer.",
            "One dropout acts on the weights before they meet the values, the other on the output.",
            "`nn.Dropout` is off in eval mode by itself; `F.dropout` needs `training=self.training`.",
        ),
    ),
    Question(
        id="6.7",
        title="What it costs, and why the root",
        minutes=14,
        parts=(
            Part("code", ("num_parameters", "num_flops"), counts_are_exact, points=1),
            Part("written", points=1.5),
        ),
        covers=("004 review",),
        hints=(
            "List the matrix products of one layer with their shapes; everything else is small.",
            "(m, k) times (k, n) makes m n numbers, each of k multiplications and as many additions.",
            "Do heads change how many numbers there are, or only how they are grouped?",
            "For the root: what is the variance of one term q_i k_i, and of the sum of d of them?",
        ),
    ),
    Question(
        id="6.8",
        title="Why several heads",
        minutes=12,
        parts=(Part("written", points=1.5),),
        covers=("000 preface",),
        hints=(
            "In the proof, where is it used that all words share one denominator?",
            "Compare the rows *look* of the four sentences: in which of them does head 0 look at a noun, and "
            "what do these nouns have in common?",
            "A head finds what it looks for, or it does not. What do two finds mean, and what does one?",
        ),
    ),
)
