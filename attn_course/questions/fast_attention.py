"""Questions 13.1-13.4, attention and its gradient in little memory: judge of 13.2, titles, minutes and hints.

The judge measures the result and the memory, and knows nothing of the way.
"""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, largest_gap, shuffled
from attn_course.answers.mistakes import Seen
from attn_course.answers.tensors import close, distance, only_tensors, tensor_trials
from attn_course.drivers import run_tensors, run_watched
from attn_course.questions.attention_gradient import (
    gradients_are_exact,
    gradients_are_streamed,
    pull_is_towards_the_value,
)
from attn_course.questions.attention_mistakes import wrong_contexts
from attn_course.questions.online_softmax import blocks_are_merged, share_is_a_sigmoid
from attn_course.questions.peak_memory import judge_streamed
from attn_course.register import Part, Question
from attn_utils.kernels import attend

# 13.2

# Leading axes, T, S, d, dv, block: ragged, exact, larger than S, one of each, ragged.
SHAPES = (
    ((), 3, 7, 4, 5, 3),
    ((2,), 4, 8, 3, 3, 4),
    ((2, 3), 5, 6, 2, 7, 10),
    ((), 1, 1, 1, 2, 1),
    ((2,), 6, 9, 5, 4, 2),
)
LARGE = 2000.0  # what queries are multiplied by, so that exponentials of scores overflow
CASES = [(shape, factor) for shape in SHAPES for factor in (1.0, LARGE)]
# Of queries and keys whose coordinates are 1 and 2: scores are whole multiples of this, and exact.
FAR_BELOW = -2e9
SHIFTED = "shifted"  # all scores of a row are large and differ by little: float32 is too coarse
IN_WORDS = {
    1.0: "",
    LARGE: ", large scores",
    FAR_BELOW: ", all scores below -1,000,000,000",
    SHIFTED: ", large scores that differ by little",
}
SLIGHT = 0.01  # what float32 may be off by
EDGE = 700  # a score whose exponential is at the edge of what a float holds


def stream_is_exact_and_small(rng: Generator, stream: Caller) -> str:
    """13.2: softmax attention for ragged and oversized blocks, never holding T times S numbers."""
    trials = tensor_trials(_wrong_streams)
    last = [(SHAPES[0], FAR_BELOW), (SHAPES[0], SHIFTED)]
    for shape, factor in [CASES[0], *shuffled(rng, CASES[1:]), *last]:
        *sizes, block = shape
        q, k, v = _inputs(rng, *sizes, factor=factor)
        result = stream.run_driver(run_tensors, [q, k, v], block)
        (found,) = only_tensors(result, "stream", 1)
        right, _ = attend(q, k, v)
        setting = f"q {q.shape}, k {k.shape}, block {block}{IN_WORDS[factor]}"
        trials.require(found, right, distance(found, right, setting), q, k, v, block, found)

    T = int(rng.integers(200, 300))
    S = int(rng.integers(900, 1100))
    block = 16
    inputs = _inputs(rng, (), T, S, 8, 8, factor=1.0)
    seen = stream.run_driver(run_watched, inputs, block)
    (found,) = only_tensors(seen, "stream", 1)
    right, _ = attend(*inputs)
    if not close(found, right):
        raise NotYet(f"{distance(found, right, f'T = {T}, S = {S}, block {block}')}.")
    return f"exact in {len(trials)} cases; {judge_streamed(seen, T, S, block)}."


def _inputs(rng, lead, T, S, d, dv, *, factor):
    """Return [q (..., T, d), k (..., S, d), v (..., S, dv)], queries multiplied by a factor."""
    q, k, v = (rng.normal(size=(*lead, *shape)) for shape in ((T, d), (S, d), (S, dv)))
    if factor == FAR_BELOW:
        q, k = (rng.integers(1, 3, x.shape).astype(float) for x in (q, k))
    if factor == SHIFTED:
        return [q, k + LARGE, v]
    return [factor * q, k, v]


def _wrong_streams(q, k, v, block, found):
    S = k.shape[-2]
    whole = S - S % block
    right, _ = attend(q, k, v)
    contexts = [attend(q, keys, values)[0] for keys, values in _blocks(k, v, block)]
    return {
        "the softmax is taken block by block and the results averaged; a block with little mass counts as "
        "much as the others": np.mean(contexts, 0),
        "sum and output of earlier blocks are not rescaled when the maximum grows": (
            _streamed(q, k, v, block, sums=False, outputs=False)
        ),
        "each block is counted in the unit of its own maximum, and no unit is common to all": (
            _streamed(q, k, v, block, sums=False, outputs=False, running=False)
        ),
        "the output is rescaled and the sum is not": _streamed(q, k, v, block, sums=False),
        "the sum is rescaled and the output is not": _streamed(q, k, v, block, outputs=False),
        "the output is divided by the sum at every block; divide once, at the end": (
            _streamed(q, k, v, block, early=True)
        ),
        "only the last block is left: keep the running maximum, or earlier blocks get the factor 0": (
            contexts[-1]
        ),
        "the softmax is taken block by block and the results are added": sum(contexts),
        "a mask hides keys; there is none in this question": (
            attend(q, k, v, mask=np.tri(q.shape[-2], S, dtype=bool))[0]
        ),
        "one maximum for all rows: a row far below it has nothing left, 0 / 0": (
            _streamed(q, k, v, block, rows=False)
        ),
        "the last, shorter block is dropped: right only when block divides S": (
            _streamed(q, k[..., :whole, :], v[..., :whole, :], block) if whole else Seen(True)
        ),
        "float32 is too coarse where large scores differ by little; keep the type of the inputs": (
            Seen(found.shape == right.shape and largest_gap(found, right) <= SLIGHT)
        ),
    } | (_lost_rows(q, k, found) | wrong_contexts(q, k, v))


def _lost_rows(q, k, found):
    """Return {sentence: whether it tells why these rows of the context are no numbers}."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    lost = ~np.isfinite(found).all(-1)
    mass = np.exp(scores).sum(-1)
    without_maximum = (mass == 0) | np.isinf(mass)
    below = scores.max(-1) < -EDGE  # (..., T)
    return {
        "the exponential of a large score is infinite; take a maximum away first": (
            Seen((lost == without_maximum).all()) if without_maximum.any() else None
        ),
        "the running maximum starts at a finite number; start at minus infinity, for all scores of a row "
        "may lie below": Seen((below >= lost).all()) if lost.any() else None,
    }


def _blocks(k, v, block):
    """Yield the keys (..., block, d) and values (..., block, dv) of each block."""
    for start in range(0, k.shape[-2], block):
        part = slice(start, start + block)
        yield k[..., part, :], v[..., part, :]


def _streamed(q, k, v, block, *, sums=True, outputs=True, rows=True, running=True, early=False):
    """Run the streaming loop of the mistakes above; flags say which step is done right.

    sums: the running sum is rescaled; outputs: the running output too; rows: each row has its own maximum;
    running: of all blocks so far; early: the output is divided at every block.
    """
    scale = q.shape[-1] ** -0.5
    largest = -np.inf
    mass = 0.0
    output = 0.0
    for keys, values in _blocks(k, v, block):
        scores = scale * q @ keys.mT  # (..., T, block)
        top = scores.max(-1 if rows else None, keepdims=True)
        highest = np.maximum(largest, top) if running else top  # (..., T, 1)
        factor = np.exp(largest - highest)
        exps = np.exp(scores - highest)
        mass = (factor * mass if sums else mass) + exps.sum(-1, keepdims=True)
        output = (factor * output if outputs else output) + exps @ values
        largest = highest
        if early:
            output = output / mass

    return output if early else output / mass


# The questions

QUESTIONS = (
    Question(
        id="13.1",
        title="Two halves of a softmax",
        minutes=12,
        parts=(
            Part("derive", ("share",), share_is_a_sigmoid, points=1),
            Part("code", ("summary", "merge", "finish"), blocks_are_merged, points=2),
        ),
        hints=(
            "For the chain: what is e to the power of l_1? Then divide above and below.",
            "In code: each block has subtracted its own maximum. Which maximum can both subtract without "
            "overflow?",
            "The sum and the output of a block are multiplied by the same factor, which is at most 1.",
            "What is the factor of a block without keys, whose maximum is minus infinity, and what is it "
            "if both blocks have none?",
        ),
    ),
    Question(
        id="13.2",
        title="One block at a time",
        minutes=8,
        parts=(Part("code", ("stream",), stream_is_exact_and_small, points=2),),
        hints=(
            "A step of the loop is the `merge` of 13.1, for all queries at once.",
            "The maximum belongs to a row; keep an axis for it, so that it broadcasts against the block.",
            "By which factor does a sum change if a larger maximum is subtracted from its scores?",
        ),
        seconds=20.0,
    ),
    Question(
        id="13.3",
        title="The gradient of attention",
        minutes=12,
        parts=(
            Part("derive", ("pull",), pull_is_towards_the_value, points=1),
            Part("code", ("attention_backward",), gradients_are_exact, points=2),
        ),
        hints=(
            "For the chain: factor out the exponential over the sum of exponentials. What is left in the "
            "bracket?",
            "In code: the context is P @ v. Which product gives dP, the gradient with respect to P?",
            "dS is P times (dP minus one number for each row). Which two vectors of a query give it?",
            "The three gradients are three products. Their shapes are those of q, k and v: which axes must "
            "be summed over?",
        ),
    ),
    Question(
        id="13.4",
        title="The gradient, block by block",
        minutes=8,
        parts=(Part("code", ("stream_backward",), gradients_are_streamed, points=2),),
        hints=(
            "How do a score and the saved log-sum-exp of its row give the weight back, without a sum over "
            "keys?",
            "The number that is subtracted in each row of dS needs no keys at all: see equation (2).",
            "The keys of a block get their gradient from this block alone; a query gets a part from every "
            "block.",
        ),
        seconds=20.0,
    ),
)
