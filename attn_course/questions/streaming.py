"""Judge of 12.2, attention over one block of keys after another.

It measures the result and the memory, and knows nothing of the way.
"""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, number, shuffled
from attn_course.answers.mistakes import Seen, same
from attn_course.answers.tensors import (
    TOLERANCE,
    distance,
    only_tensors,
    tensor_trials,
)
from attn_course.drivers import run_tensors, run_watched
from attn_course.questions.attention_mistakes import wrong_contexts
from attn_utils.kernels import attend

READY_MADE = "scaled_dot_product_attention"
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
FAR_BELOW = (
    -1.1e4
)  # keys times queries whose coordinates are 1 to 2; so scores are from here to -1e5
EDGE = 700  # a score whose exponential is at the edge of what a float holds


def stream_is_exact_and_small(rng: Generator, stream: Caller) -> str:
    """12.2: softmax attention for ragged and oversized blocks, never holding T times S numbers."""
    trials = tensor_trials(_wrong_streams)
    others = shuffled(rng, CASES[1:])
    for shape, factor in [CASES[0], *others, (SHAPES[0], FAR_BELOW)]:
        block = shape[-1]
        inputs = _inputs(rng, *shape[:-1], factor=factor)
        setting = _in_words(inputs, block, factor)

        result = stream.via(run_tensors, inputs, block)
        (found,) = only_tensors(result, "stream", 1)
        right, _ = attend(*inputs)
        fact = distance(found, right, setting)
        trials.judge(found, right, fact, *inputs, block, found)

    memory = _judge_memory(rng, stream)
    return f"exact in {len(trials)} cases; {memory}."


def _inputs(rng, lead, T, S, d, dv, *, factor=1.0):
    """[q (..., T, d), k (..., S, d), v (..., S, dv)], queries multiplied by a factor."""
    q = rng.normal(size=(*lead, T, d))
    k = rng.normal(size=(*lead, S, d))
    v = rng.normal(size=(*lead, S, dv))
    if factor == FAR_BELOW:
        q = rng.uniform(1, 2, q.shape)
        k = rng.uniform(1, 2, k.shape)
    q *= factor
    return [q, k, v]


def _in_words(inputs, block, factor):
    """The sizes of a case."""
    q, k, _ = inputs
    sizes = {LARGE: ", large scores", FAR_BELOW: ", all scores below -10,000"}
    return f"q {q.shape}, k {k.shape}, block {block}{sizes.get(factor, '')}"


def _judge_memory(rng, stream):
    """A clause on the largest tensor at sizes drawn now; NotYet where it could hold a quarter of all scores.

    What comes out of the watched run is compared too.
    """
    T = int(rng.integers(200, 300))
    S = int(rng.integers(900, 1100))
    block = 16
    inputs = _inputs(rng, (), T, S, 8, 8)
    seen = stream.via(run_watched, inputs, block)
    (found,) = only_tensors(seen, "stream", 1)
    right, _ = attend(*inputs)
    if not same(found, right, TOLERANCE, TOLERANCE):
        raise NotYet(f"{distance(found, right, f'T = {T}, S = {S}, block {block}')}.")

    if READY_MADE in seen["used"]:
        raise NotYet(f"right, but torch's {READY_MADE} did the work: write the stream yourself.")

    largest = int(number(seen["largest"]))
    if largest == 0:
        raise NotYet(
            "right, but not one tensor was seen on the way: compute with torch, not NumPy."
        )

    where = f"at T = {T}, S = {S}, block {block}"
    together = f"and there are {T * S:,} scores in all"
    fact = f"{where} its largest tensor holds {largest:,} numbers"
    if not largest <= T * S / 4:
        raise NotYet(f"right, but {fact}, {together}.")

    held = int(number(seen["most_held"]))
    if not held <= T * S / 4:
        raise NotYet(
            f"right, but {where} its tensors hold {held:,} numbers at a time, {together}; let go of a "
            "block before the next."
        )

    return f"{fact} instead of {T * S:,}"


def _wrong_streams(q, k, v, block, found):
    """{sentence: the context (..., T, dv) of this mistake}."""
    too_short = k.shape[-2] < block
    return {
        "the softmax is taken block by block and the results averaged; a block with little mass counts as "
        "much as the others": _averaged_blocks(q, k, v, block),
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
        "one maximum for all rows: a row far below it has nothing left, 0 / 0": (
            _streamed(q, k, v, block, rows=False)
        ),
        "the last, shorter block is dropped: right only when block divides S": (
            Seen(True) if too_short else _without_last(q, k, v, block)
        ),
        "the root of d is missing in the scores": _streamed(q, k, v, block, scale=1.0),
    } | (_lost_rows(q, k, found) | wrong_contexts(q, k, v))


def _lost_rows(q, k, found):
    """{sentence: whether it tells why these rows of the context are no numbers}."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    top = scores.max(-1)  # (..., T)
    lost = ~np.isfinite(found).all(-1)
    with np.errstate(over="ignore"):
        mass = np.exp(scores).sum(-1)
    without_maximum = (mass == 0) | np.isinf(mass)
    below = top < -EDGE
    return {
        "the exponential of a large score is infinite; take a maximum away first": (
            Seen((lost == without_maximum).all()) if without_maximum.any() else None
        ),
        "the running maximum starts at a finite number; start at minus infinity, for all scores of a row "
        "may lie below": Seen((below >= lost).all()) if lost.any() else None,
    }


def _blocks(k, v, block):
    """Yield the keys (..., block, d) and values (..., block, dv) of each block."""
    num_keys = k.shape[-2]
    for start in range(0, num_keys, block):
        end = start + block
        keys = k[..., start:end, :]
        values = v[..., start:end, :]
        yield keys, values


def _averaged_blocks(q, k, v, block):
    """The mean over blocks of the attention within each."""
    contexts = []
    for keys, values in _blocks(k, v, block):
        context, _ = attend(q, keys, values)
        contexts.append(context)

    return np.mean(contexts, 0)


def _without_last(q, k, v, block):
    """The stream over whole blocks alone."""
    num_keys = k.shape[-2]
    stop = num_keys - num_keys % block
    keys = k[..., :stop, :]
    values = v[..., :stop, :]
    return _streamed(q, keys, values, block)


def _streamed(
    q, k, v, block, *, sums=True, outputs=True, rows=True, running=True, early=False, scale=None
):
    """The streaming loop of the mistakes above; flags say which step is done right.

    sums: the running sum is rescaled; outputs: the running output too; rows: each row has its own maximum;
    running: of all blocks so far; early: the output is divided at every block.
    """
    if scale is None:
        d = q.shape[-1]
        scale = d**-0.5

    largest = -np.inf
    mass = 0.0
    output = 0.0
    for keys, values in _blocks(k, v, block):
        scores = scale * q @ keys.mT  # (..., T, block)
        axis = -1 if rows else None
        top = scores.max(axis, keepdims=True)
        highest = np.maximum(largest, top) if running else top  # (..., T, 1)
        factor = np.exp(largest - highest)
        exps = np.exp(scores - highest)

        if sums:
            mass = factor * mass
        if outputs:
            output = factor * output
        mass = mass + exps.sum(-1, keepdims=True)
        output = output + exps @ values
        largest = highest
        if early:
            output = output / mass

    return output if early else output / mass
