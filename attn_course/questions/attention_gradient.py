"""Judges of 13.3 and 13.4, the gradient of attention, at once and block by block.

torch's own differentiation is switched off while an answer runs.
"""

from itertools import permutations

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, largest_gap, shuffled
from attn_course.answers.mistakes import AnyOf, Seen
from attn_course.answers.tensors import close, only_tensors, tensor_trials
from attn_course.drivers import run_without_autograd
from attn_course.questions.peak_memory import judge_streamed
from attn_course.register import Claim, Claims, chains_prove
from attn_utils.kernels import softmax

NAMES = ("dq", "dk", "dv")
AUTOGRAD = "torch's own differentiation is switched off here: write the three products yourself"

# 13.3, the chain


@chains_prove(
    "the gradient of a score is its weight times g times the difference between its value and the context."
)
def pull_is_towards_the_value() -> Claims:
    """Return the claim of 13.3: the derivative of one score, with weight alpha and context c put in."""
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
        where={c: (power * v + C_0) / total, alpha: power / total},
        only=(g, alpha, v, c),
        slips={
            "the sign is turned round: the value comes first": g * alpha * (c - v),
            "the context is missing: the value is compared with nothing": g * alpha * v,
            "g is lost": alpha * (v - c),
            "the weight is squared": g * alpha**2 * (v - c),
            "the weight is lost": g * (v - c),
            "1 - alpha stands for the difference: raising one score lowers the other weights": (
                g * alpha * (1 - alpha) * v
            ),
            "value and context are added, not subtracted": g * alpha * (v + c),
        },
    )
    return (pull,)


# 13.3, the code

SHAPES = (  # leading axes, T, S, d, dv; only the square one lets a transposed matrix pass through
    ((), 5, 5, 5, 5),
    ((), 3, 7, 4, 6),
    ((2, 3), 4, 5, 3, 2),
    ((), 1, 1, 2, 3),
    ((), 6, 4, 2, 5),
)
FACTORS = (1.0, 2000.0)  # of the queries
SHIFTED = (SHAPES[1], 1.0, 2000.0)  # all scores of a row are large, and differ by little


def gradients_are_exact(rng: Generator, attention_backward: Caller) -> str:
    """13.3: gradients of q, k and v, for small and for large scores."""
    trials = tensor_trials(_wrong_gradients)
    others = [(shape, factor, 0.0) for shape in SHAPES[1:] for factor in FACTORS]
    first = [(SHAPES[0], 1.0, 0.0), (SHAPES[1], 1.0, 0.0)]
    last = [(SHAPES[0], FACTORS[1], 0.0), SHIFTED]
    for (lead, T, S, d, dv), factor, shift in [*first, *shuffled(rng, others), *last]:
        q, k, v, g = _inputs(rng, lead, T, S, d, dv, factor=factor)
        k += shift
        note = ", large scores" if factor + shift > 1 else ""
        setting = f"q {q.shape}, k {k.shape}, v {v.shape}{note}"
        result = _without_autograd(attention_backward, [q, k, v, g])
        gradients = _three(result, "attention_backward")
        right = exact_gradients(q, k, v, g)
        trials.require(gradients, right, _gap(gradients, right, setting), q, k, v, g, gradients)

    return f"all three gradients are right in {len(trials)} cases."


def _inputs(rng, lead, T, S, d, dv, *, factor):
    """Draw q (..., T, d), k (..., S, d), v (..., S, dv) and the gradient of the context (..., T, dv)."""
    shapes = ((T, d), (S, d), (S, dv), (T, dv))
    q, k, v, g = (rng.normal(size=(*lead, *shape)) for shape in shapes)
    return factor * q, k, v, g


def _without_autograd(answer, arrays, *others, watched=False):
    """Run an answer; if it asks torch for gradients, raise NotYet with a sentence on that."""
    try:
        return answer.run_driver(run_without_autograd, arrays, *others, watched=watched)
    except NotYet as error:
        words = ("require grad", "requires_grad", "inference tensor", "autograd")
        if any(word in str(error).lower() for word in words):
            raise NotYet(f"{AUTOGRAD}.", mistake=AUTOGRAD) from None
        raise


def _three(result, name):
    outputs = result["outputs"]
    if outputs is not None and len(outputs) != len(NAMES):
        raise NotYet(
            f"{name} returned {len(outputs)} of three gradients: dq, dk and dv are expected."
        )
    return only_tensors(result, name, len(NAMES))


def _gap(found, right, setting):
    for name, one, other in zip(NAMES, found, right, strict=True):
        if one.shape != other.shape:
            return f"{name} has shape {one.shape}, expected {other.shape} ({setting})"
        if not np.isfinite(one).all():
            return f"{name} contains nan or an infinity ({setting})"
        if not close(one, other):
            return f"{name} is off by up to {largest_gap(one, other):.2g} ({setting})"
    return setting


def exact_gradients(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray) -> list[np.ndarray]:
    """Return [dq, dk, dv] of attention without a mask, for the gradient g of its context."""
    return _gradients(q, k, v, g, softmax(q @ k.mT / q.shape[-1] ** 0.5))


def _gradients(q, k, v, g, P, *, minus=None, in_dq=None, in_dk=None):
    """Return [dq, dk, dv] for the weights P (..., T, S); options are where mistakes differ.

    minus: what is subtracted from dP; in_dq, in_dk: the factors of these two, 1 / sqrt(d) if None.
    """
    scale = 1 / q.shape[-1] ** 0.5
    if minus is None:
        minus = (g * (P @ v)).sum(-1, keepdims=True)
    dS = P * (g @ v.mT - minus)
    dq = (scale if in_dq is None else in_dq) * dS @ k
    dk = (scale if in_dk is None else in_dk) * dS.mT @ q
    return [dq, dk, P.mT @ g]


def _wrong_after_weights(q, k, v, g, P, found):
    """Return {sentence: [dq, dk, dv] of this mistake}, where the weights P are right: for 13.3 and 13.4."""
    dP = g @ v.mT
    context = P @ v
    row = (g * context).sum(-1, keepdims=True)
    bare = dP - row
    d = q.shape[-1]
    scale = d**-0.5

    def gradients(**options):
        return _gradients(q, k, v, g, P, **options)

    dq, dk, dv = right = gradients()
    other_orders = [list(order) for order in permutations(right) if order[2] is not dv]
    return {
        "nothing is subtracted from dP: a row of dS must add up to zero": gradients(minus=0.0),
        "the number of each row is added to dP; it is subtracted": gradients(minus=-row),
        "the plain mean of dP is subtracted; the mean weighted by P is meant": (
            gradients(minus=dP.mean(-1, keepdims=True))
        ),
        "the plain sum of dP is subtracted; the sum weighted by P is meant": (
            gradients(minus=dP.sum(-1, keepdims=True))
        ),
        "context times context is subtracted; d_out times context is meant": (
            gradients(minus=(context * context).sum(-1, keepdims=True))
        ),
        "d_out times d_out is subtracted; d_out times context is meant": (
            gradients(minus=(g * g).sum(-1, keepdims=True))
        ),
        "dS is P times that difference, and P is missing": [
            scale * bare @ k,
            scale * bare.mT @ q,
            dv,
        ],
        "the root of d is missing in dq and dk": gradients(in_dq=1.0, in_dk=1.0),
        "the root of d is missing in dq": gradients(in_dq=1.0),
        "the root of d is missing in dk": gradients(in_dk=1.0),
        "the root of d is taken twice in dq and dk": gradients(in_dq=1 / d, in_dk=1 / d),
        "the sign is turned round": [-dq, -dk, -dv],
        "the sign of dq and dk is turned round": [-dq, -dk, dv],
        "dq and dk have changed places": [dk, dq, dv],
        "the three gradients come in another order: return dq, dk, dv": AnyOf(tuple(other_orders)),
        "dv comes from dS; it comes from the weights P": [dq, dk, (P * bare).mT @ g],
        "the numbers are those of float32, too coarse for large scores; keep the type of the inputs": (
            Seen(_are_float32(found, right))
        ),
    }


def _are_float32(found, right):
    """Return True if the gradients have the right shapes and hold numbers of float32, not all whole."""
    pairs = list(zip(found, right, strict=True))
    return (
        all(one.shape == other.shape for one, other in pairs)
        and all(np.array_equal(one, np.float32(one)) for one in found)
        and not all(np.array_equal(one, np.round(one)) for one in found)
    )


def _wrong_gradients(q, k, v, g, found):
    """Return {sentence: [dq, dk, dv] of this mistake}; None where shapes do not let it happen."""
    d = q.shape[-1]
    scale = d**-0.5
    scores = scale * q @ k.mT
    P = softmax(scores)
    dP = g @ v.mT
    dS = P * (dP - (P * dP).sum(-1, keepdims=True))
    dq, dk, dv = exact_gradients(q, k, v, g)
    overflow = not np.isfinite(np.exp(scores)).all()

    def of_weights(weights, **options):
        return _gradients(q, k, v, g, weights, **options)

    table = _wrong_after_weights(q, k, v, g, P, found) | {
        "that is the diagonal of the Jacobian alone: raising one score lowers the other weights": (
            of_weights(P, minus=P * dP)
        ),
        "the sum runs over the queries of a key; it runs over the keys of a query": (
            of_weights(P, minus=(P * dP).sum(-2, keepdims=True))
        ),
        "the softmax runs over the queries": of_weights(softmax(scores, -2)),
        "the root of d is missing in the scores": of_weights(softmax(scores / scale)),
        "the root of d is missing in the scores, in dq and in dk": (
            of_weights(softmax(scores / scale), in_dq=1.0, in_dk=1.0)
        ),
        "d stands everywhere in place of the root of d": (
            of_weights(softmax(scores * scale), in_dq=1 / d, in_dk=1 / d)
        ),
        "the exponential of a large score is infinite; take the largest of its row away first": (
            Seen(not all(np.isfinite(one).all() for one in found)) if overflow else None
        ),
    }
    transposed = {
        "the number for each query is subtracted along the wrong axis: keep its axis, (T, 1)": lambda: (
            of_weights(P, minus=(P * dP).sum(-1)[..., None, :])
        ),
        "dS is not transposed in dk": lambda: [dq, scale * dS @ q, dv],
        "P is not transposed in dv": lambda: [dq, dk, P @ g],
        "dS is transposed in dq": lambda: [scale * dS.mT @ k, dk, dv],
    }
    T, S = P.shape[-2:]
    for sentence, make in transposed.items():
        table[sentence] = make() if T == S else Seen(True)
    return table


# 13.4

BLOCKS = (  # T, S, d, dv, block
    (5, 7, 3, 4, 3),
    (4, 4, 4, 4, 2),
    (6, 5, 2, 3, 9),
    (1, 1, 1, 2, 1),
    (3, 9, 5, 4, 1),
)
LARGE = 2000.0


def gradients_are_streamed(rng: Generator, stream_backward: Caller) -> str:
    """13.4: the same gradients from saved outputs and log-sum-exps, never holding T times S numbers."""
    trials = tensor_trials(_wrong_streams)
    others = [(shape, factor) for shape in BLOCKS[1:] for factor in (1.0, LARGE)]
    for shape, factor in [(BLOCKS[0], 1.0), *shuffled(rng, [*others, (BLOCKS[0], LARGE)])]:
        *sizes, block = shape
        saved, right = _saved(rng, sizes, factor)
        T, S = sizes[:2]
        setting = f"T = {T}, S = {S}, block {block}{', large scores' if factor > 1 else ''}"
        gradients = _three(_without_autograd(stream_backward, saved, block), "stream_backward")
        trials.require(gradients, right, _gap(gradients, right, setting), *saved, block, gradients)

    T, S = (int(size) for size in rng.integers(900, 1100, 2))
    block = 16
    saved, right = _saved(rng, (T, S, 8, 8), 1.0)
    seen = _without_autograd(stream_backward, saved, block, watched=True)
    gradients = _three(seen, "stream_backward")
    if not all(map(close, gradients, right)):
        raise NotYet(f"{_gap(gradients, right, f'T = {T}, S = {S}, block {block}')}.")
    return f"exact in {len(trials)} cases; {judge_streamed(seen, T, S, block)}."


def _saved(rng, sizes, factor):
    """Return [q, k, v, out, lse, d_out] as a forward pass saves them, and the right gradients."""
    q, k, v, g = _inputs(rng, (), *sizes, factor=factor)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    top = scores.max(-1)
    lse = top + np.log(np.exp(scores - top[:, None]).sum(-1))
    return [q, k, v, softmax(scores) @ v, lse, g], exact_gradients(q, k, v, g)


def _wrong_streams(q, k, v, out, lse, g, block, found):
    scale = 1 / q.shape[-1] ** 0.5
    scores = scale * q @ k.mT
    P = np.exp(scores - lse[:, None])
    dP = g @ v.mT
    row = (g * out).sum(-1, keepdims=True)
    dS = P * (dP - row)
    blocks = [slice(start, start + block) for start in range(0, len(k), block)]
    whole = len(k) - len(k) % block
    is_lost = not all(np.isfinite(one).all() for one in found)
    overflows = not np.isfinite(np.exp(scores)).all()

    def of_weights(weights):
        return _gradients(q, k, v, g, weights, minus=row)

    def within_blocks(change, numbers):
        return np.concatenate([change(numbers[:, part]) for part in blocks], 1)

    _, dk, dv = of_weights(P)
    last = blocks[-1]
    sums = within_blocks(lambda part: 0 * part + part.sum(-1, keepdims=True), P * dP)
    below_top = within_blocks(lambda part: part - part.max(-1, keepdims=True), scores)
    return _wrong_after_weights(q, k, v, g, P, found) | {
        "the softmax is taken within the block; use the saved log-sum-exp, which belongs to the whole row": (
            of_weights(within_blocks(softmax, scores))
        ),
        "the maximum is subtracted in place of the log-sum-exp, so the weights do not add up to one": (
            of_weights(np.exp(scores - scores.max(-1, keepdims=True)))
        ),
        "the maximum of the block is subtracted; the saved log-sum-exp belongs there": (
            of_weights(np.exp(below_top))
        ),
        "the log-sum-exp is a divisor in your weights; it is a logarithm, to be subtracted from the score": (
            of_weights(np.exp(scores) / lse[:, None])
        ),
        "the log-sum-exp is not used, so the weights do not add up to one": of_weights(
            np.exp(scores)
        ),
        "what is subtracted from dP comes from one block; it belongs to the whole row": (
            _gradients(q, k, v, g, P, minus=sums)
        ),
        "dq keeps the last block alone: add the part of each block": (
            [scale * dS[:, last] @ k[last], dk, dv]
        ),
        "the last, shorter block is dropped: right only when block divides S": (
            of_weights(np.where(np.arange(len(k)) < whole, P, 0.0)) if whole else Seen(True)
        ),
        "the root of d is missing in the scores; `lse` was taken of the scaled ones": (
            of_weights(np.exp(np.minimum(scores / scale - lse[:, None], 700)))
        ),
        "exp(score) / exp(lse) overflows for large scores: subtract before you exponentiate": (
            Seen(is_lost) if overflows else None
        ),
    }
