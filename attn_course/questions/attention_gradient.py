"""Judges of 12.3 and 12.4, the gradient of attention, at once and block by block.

torch's own differentiation is switched off while an answer runs.
"""

from functools import cache

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, largest_gap, number, shuffled
from attn_course.answers.mistakes import Seen, Trials
from attn_course.answers.tensors import only_tensors
from attn_course.drivers import run_without_autograd
from attn_course.register import Claim, Claims, chains_prove
from attn_utils.kernels import softmax

NAMES = ("dq", "dk", "dv")
AUTOGRAD = "torch's own differentiation is switched off here: write the three products yourself"

# 12.3, the chain


@cache
def claims_of_12_3() -> Claims:
    """The claim of 12.3: the derivative of one score, with the weight alpha and the context c put in."""
    import sympy as sp

    s, v, c, g, C_0 = sp.symbols("s v c g C_0", real=True)
    Z_0, alpha = sp.symbols("Z_0 alpha", positive=True)
    power = sp.exp(s)
    total = power + Z_0
    pull = Claim(
        name="`pull`",
        start=(g * v * power * total - g * (power * v + C_0) * power) / total**2,
        goal=g * alpha * (v - c),
        symbols=(s, v, c, g, C_0, Z_0, alpha),
        where={C_0: c * total - v * power, Z_0: power / alpha - power, alpha: (0, 1)},
        only=(g, alpha, v, c),
    )
    return (pull,)


pull_is_towards_the_value = chains_prove(
    claims_of_12_3,
    "the gradient of a score is its weight times g times the difference between its value and the context.",
)


# 12.3, the code

SHAPES = (  # leading axes, T, S, d, dv; only the square one lets a transposed matrix pass through
    ((), 5, 5, 5, 5),
    ((), 3, 7, 4, 6),
    ((2, 3), 4, 5, 3, 2),
    ((), 1, 1, 2, 3),
    ((), 6, 4, 2, 5),
)
FACTORS = (1.0, 300.0)  # of the queries


def gradients_are_exact(rng: Generator, attention_backward: Caller) -> str:
    """12.3: gradients of q, k and v, for small and for large scores."""
    trials = Trials(_wrong_gradients, absolute=1e-9)
    others = [(shape, factor) for shape in SHAPES[1:] for factor in FACTORS]
    first = [(SHAPES[0], 1.0), (SHAPES[1], 1.0)]
    for (lead, T, S, d, dv), factor in [*first, *shuffled(rng, others), (SHAPES[0], FACTORS[1])]:
        q, k, v, g = _inputs(rng, lead, T, S, d, dv, factor)
        setting = f"q {q.shape}, k {k.shape}, v {v.shape}{', large scores' if factor > 1 else ''}"
        result = _without_autograd(attention_backward, [q, k, v, g])
        found = _three(result, "attention_backward")
        right = exact_gradients(q, k, v, g)
        trials.judge(found, right, _gap(found, right, setting), q, k, v, g)

    return f"all three gradients are right in {len(trials)} cases."


def _inputs(rng, lead, T, S, d, dv, factor):
    """q (..., T, d), k (..., S, d), v (..., S, dv) and the gradient of the context (..., T, dv)."""
    shapes = ((T, d), (S, d), (S, dv), (T, dv))
    q, k, v, g = (rng.normal(size=(*lead, *shape)) for shape in shapes)
    return factor * q, k, v, g


def _without_autograd(answer, arrays, *others, watched=False):
    """What an answer gives; one that asks torch for gradients is told so."""
    try:
        return answer.via(run_without_autograd, arrays, *others, watched=watched)
    except NotYet as error:
        words = (
            "require grad",
            "requires_grad",
            "Inference tensors",
            "inference tensor",
            "autograd",
        )
        if any(word in str(error) for word in words):
            raise NotYet(f"{AUTOGRAD}.") from None
        raise


def _three(result, name):
    """The three gradients."""
    outputs = result["outputs"]
    if outputs is not None and len(outputs) != len(NAMES):
        raise NotYet(
            f"{name} returned {len(outputs)} of three gradients: dq, dk and dv are expected."
        )
    return only_tensors(result, name, len(NAMES))


def _gap(found, right, setting):
    """A clause on the first gradient that differs."""
    for name, one, other in zip(NAMES, found, right, strict=True):
        if one.shape != other.shape:
            return f"{name} has shape {one.shape}, expected {other.shape} ({setting})"
        if not np.isfinite(one).all():
            return f"{name} contains nan or an infinity ({setting})"
        if not largest_gap(one, other) <= 1e-9 + 1e-6 * np.abs(other).max():
            return f"{name} is off by up to {largest_gap(one, other):.2g} ({setting})"
    return setting


def exact_gradients(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray) -> list[np.ndarray]:
    """[dq, dk, dv] of attention without a mask, for the gradient g of its context."""
    return _gradients(q, k, v, g)


def _gradients(q, k, v, g, *, axis=-1, minus=None):
    """[dq, dk, dv]; options are where mistakes differ.

    axis: over which the softmax runs; minus: (P, dP, context) -> what is subtracted from dP.
    """
    scale = 1 / q.shape[-1] ** 0.5
    P = softmax(scale * q @ k.mT, axis)
    dP = g @ v.mT
    context = P @ v
    row = (g * context).sum(-1, keepdims=True) if minus is None else minus(P, dP, context)
    dS = P * (dP - row)
    return [scale * dS @ k, scale * dS.mT @ q, P.mT @ g]


def _wrong_gradients(q, k, v, g):
    """{sentence: [dq, dk, dv] of this mistake}; None where shapes do not let it happen."""
    right = exact_gradients(q, k, v, g)
    dq, dk, dv = right
    scale = 1 / q.shape[-1] ** 0.5
    P = softmax(scale * q @ k.mT)
    dP = g @ v.mT
    dS = P * (dP - (P * dP).sum(-1, keepdims=True))
    T, S = P.shape[-2:]
    is_square = T == S

    def minus(rule):
        return _gradients(q, k, v, g, minus=rule)

    table = {
        "nothing is subtracted from dP: a row of dS must add up to zero": minus(
            lambda P, dP, c: 0.0
        ),
        "that is the diagonal of the Jacobian alone: raising one score lowers the other weights": (
            [scale * (P * (1 - P) * dP) @ k, scale * (P * (1 - P) * dP).mT @ q, dv]
        ),
        "the sum runs over the queries of a key; it runs over the keys of a query": (
            minus(lambda P, dP, c: (P * dP).sum(-2, keepdims=True))
        ),
        "the plain mean of dP is subtracted; the mean weighted by P is meant": (
            minus(lambda P, dP, c: dP.mean(-1, keepdims=True))
        ),
        "context times context is subtracted; d_out times context is meant": (
            minus(lambda P, dP, c: (c * c).sum(-1, keepdims=True))
        ),
        "the root of d is missing in dq and dk": [dq / scale, dk / scale, dv],
        "the root of d is taken twice in dq and dk": [dq * scale, dk * scale, dv],
        "the sign is turned round": [-dq, -dk, -dv],
        "the sign of dq and dk is turned round": [-dq, -dk, dv],
        "dq and dk have changed places": [dk, dq, dv],
        "the softmax runs over the queries": _gradients(q, k, v, g, axis=-2),
    }
    transposed = {
        "the number for each query is subtracted along the wrong axis: keep its axis, (T, 1)": lambda: (
            minus(lambda P, dP, c: (P * dP).sum(-1)[..., None, :])
        ),
        "dS is not transposed in dk": lambda: [dq, scale * dS @ q, dv],
        "P is not transposed in dv": lambda: [dq, dk, P @ g],
        "dS is transposed in dq": lambda: [scale * dS.mT @ k, dk, dv],
    }
    for sentence, make in transposed.items():
        table[sentence] = make() if is_square else Seen(True)
    return table


# 12.4

BLOCKS = (  # T, S, d, dv, block
    (5, 7, 3, 4, 3),
    (4, 4, 4, 4, 2),
    (6, 5, 2, 3, 9),
    (1, 1, 1, 2, 1),
    (3, 9, 5, 4, 1),
)
LARGE = 2000.0


def gradients_are_streamed(rng: Generator, stream_backward: Caller) -> str:
    """12.4: the same gradients from saved outputs and log-sum-exps, never holding T times S numbers."""
    trials = Trials(_wrong_streams, absolute=1e-9)
    others = [(shape, factor) for shape in BLOCKS[1:] for factor in (1.0, LARGE)]
    for shape, factor in [(BLOCKS[0], 1.0), *shuffled(rng, [*others, (BLOCKS[0], LARGE)])]:
        *sizes, block = shape
        given, right = _saved(rng, sizes, factor)
        T, S = sizes[:2]
        setting = f"T = {T}, S = {S}, block {block}{', large scores' if factor > 1 else ''}"
        found = _three(_without_autograd(stream_backward, given, block), "stream_backward")
        trials.judge(found, right, _gap(found, right, setting), *given, block, found)

    return f"exact in {len(trials)} cases; {_judge_memory(rng, stream_backward)}."


def _saved(rng, sizes, factor):
    """[q, k, v, out, lse, d_out] as a forward pass saves them, and the right gradients."""
    T, S, d, dv = sizes
    q, k, v, g = _inputs(rng, (), T, S, d, dv, factor)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    top = scores.max(-1)
    lse = top + np.log(np.exp(scores - top[:, None]).sum(-1))
    return [q, k, v, softmax(scores) @ v, lse, g], exact_gradients(q, k, v, g)


def _judge_memory(rng, stream_backward):
    """A clause on the largest tensor at a size drawn now; the result of that run is compared too."""
    T, S = (int(size) for size in rng.integers(900, 1100, 2))
    block = 16
    given, right = _saved(rng, (T, S, 8, 8), 1.0)
    seen = _without_autograd(stream_backward, given, block, watched=True)
    found = _three(seen, "stream_backward")
    where = f"T = {T}, S = {S}, block {block}"
    if not all(
        one.shape == other.shape for one, other in zip(found, right, strict=True)
    ) or not all(largest_gap(one, other) <= 1e-6 for one, other in zip(found, right, strict=True)):
        raise NotYet(f"{_gap(found, right, where)}.")

    largest = int(number(seen["largest"]))
    if largest == 0:
        raise NotYet(
            "right, but not one tensor was seen on the way: compute with torch, not NumPy."
        )
    together = f"and there are {T * S:,} weights in all"
    if not largest <= T * S / 4:
        raise NotYet(
            f"right, but at {where} its largest tensor holds {largest:,} numbers, {together}."
        )
    held = int(number(seen["most_held"]))
    if not held <= T * S / 4:
        raise NotYet(
            f"right, but at {where} its tensors hold {held:,} numbers at a time, {together}; let go of a "
            "block "
            "before the next."
        )
    return f"at {where} its largest tensor holds {largest:,} numbers instead of {T * S:,}"


def _wrong_streams(q, k, v, out, lse, g, block, found):
    """{sentence: [dq, dk, dv] of this mistake}."""
    scale = 1 / q.shape[-1] ** 0.5
    scores = scale * q @ k.mT
    with np.errstate(all="ignore"):
        raw = np.exp(scores) / np.exp(lse)[:, None]
    S = len(k)
    starts = range(0, S, block)
    parts = [slice(start, start + block) for start in starts]
    own = np.concatenate([softmax(scores[:, part]) for part in parts], 1)
    dP = g @ v.mT
    P = np.exp(scores - lse[:, None])
    row = (g * out).sum(-1, keepdims=True)
    in_block = np.concatenate(
        [
            np.repeat((P * dP)[:, part].sum(-1, keepdims=True), len(range(S)[part]), 1)
            for part in parts
        ],
        1,
    )
    whole = S - S % block
    last = parts[-1]

    def gradients(P, minus=row, scale_out=scale):
        dS = P * (dP - minus)
        return [scale_out * dS @ k, scale_out * dS.mT @ q, P.mT @ g]

    right = gradients(P)
    dS = P * (dP - row)
    only_last = [scale * dS[:, last] @ k[last], *right[1:]]
    dropped = P.copy()
    dropped[:, whole:] = 0
    without_root = np.exp(np.minimum(q @ k.mT - lse[:, None], 700))
    top = scores.max(-1, keepdims=True)
    is_lost = not all(np.isfinite(one).all() for one in found)
    return {
        "the softmax is taken within the block; use the saved log-sum-exp, which belongs to the whole row": (
            gradients(own)
        ),
        "the maximum is subtracted in place of the log-sum-exp, so the weights do not add up to one": (
            gradients(np.exp(scores - top))
        ),
        "what is subtracted from dP comes from one block; it belongs to the whole row": (
            gradients(P, in_block)
        ),
        "nothing is subtracted from dP: a row of dS must add up to zero": gradients(P, 0.0),
        "dq keeps the last block alone: add the part of each block": only_last,
        "the last, shorter block is dropped: right only when block divides S": (
            gradients(dropped) if whole else Seen(True)
        ),
        "the root of d is missing in the scores; `lse` was taken of the scaled ones": (
            gradients(without_root)
        ),
        "the root of d is missing in dq and dk": gradients(P, row, 1.0),
        "exp(score) / exp(lse) overflows for large scores: subtract before you exponentiate": (
            Seen(is_lost) if not np.isfinite(raw).all() else None
        ),
    }
