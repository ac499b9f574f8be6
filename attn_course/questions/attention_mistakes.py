"""The mistakes that attention invites: one table for all judges in which they can occur.

Each table is {sentence: a function that makes the mistake}, on torch tensors: SCORES takes queries and
keys, WEIGHTS and CAUSAL_WEIGHTS take scores and a mask, CAUSAL_MASKS takes a mask, SPLITS and MERGES
take what is split into heads or merged.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from attn_course.answers.mistakes import AnyOf, Seen
from attn_utils.kernels import softmax

NOT_HERE = Seen(False)  # the mistake cannot be made with these shapes
FINITE = -1e9  # what many write for minus infinity

# Scores


def scaled_products(q: Any, k: Any, power: float = -0.5) -> Any:
    """q (..., T, d), k (..., S, d) -> products times d ** power, (..., T, S)."""
    d = q.shape[-1]
    return q @ k.mT * d**power


def _viewed(q, k):
    """Return the numbers of k in their order, under the shape of the transpose."""
    *lead, S, d = k.shape
    return q @ k.reshape(*lead, d, S)


def _all_axes_turned(q, k):
    """Return the scores that `.T` gives where all three axes have one size."""
    if q.ndim != 3 or len({*q.shape, *k.shape}) > 1:
        return NOT_HERE
    return q @ k.permute(2, 1, 0)


def _swapped(q, k):
    """Return scores with a row for each key."""
    if q.shape != k.shape:
        return NOT_HERE
    return scaled_products(k, q)


VIEW = "`view` or `reshape` only renames the axes of k and moves no number; `transpose` is needed"
TURNED = "`.T` turns all three axes round, the batch included; only the last two may swap"


def _scaled(product, q, k):
    """Return a wrong product, divided by sqrt(d)."""
    root = q.shape[-1] ** 0.5
    return after(product(q, k), lambda scores: scores / root)


SCORES: dict[str, Callable] = {
    "the scores are not divided by sqrt(d), where d is the width of a query": partial(
        scaled_products, power=0.0
    ),
    "the scores are divided by d, the width of a query, not by sqrt(d)": partial(
        scaled_products, power=-1.0
    ),
    "the scores are multiplied by sqrt(d), not divided": partial(scaled_products, power=0.5),
    "the scores are divided by the root of the length, not of d": (
        lambda q, k: q @ k.mT / q.shape[-2] ** 0.5
    ),
    "rows and columns of the scores are swapped; row t belongs to query t": _swapped,
    VIEW: partial(_scaled, _viewed),
    f"{VIEW} (nor are the scores scaled)": _viewed,
    TURNED: partial(_scaled, _all_axes_turned),
    f"{TURNED} (nor are the scores scaled)": _all_axes_turned,
}

# Weights under a mask


def masked_softmax(scores: Any, look: Any, *, axis: int = -1, fill: float = -np.inf) -> Any:
    """Return the softmax of scores (..., T, S) over an axis; `fill` replaces what the mask does not show."""
    return softmax(scores.where(look, fill), axis)


def _either_fill(scores, look, axis=-1):
    """Return the weights by both fills, minus infinity and a very low number, as `AnyOf`."""
    exact = masked_softmax(scores, look, axis=axis)
    finite = masked_softmax(scores, look, axis=axis, fill=FINITE)
    return AnyOf((exact, finite))


def _along(axis, num_axes, scores, look):
    """Return the softmax over an axis counted from the front, in scores of so many axes or more."""
    if scores.ndim < num_axes:
        return NOT_HERE
    return _either_fill(scores, look, axis)


INVERTED = "the mask is the wrong way round (True means may look)"
WEIGHTS: dict[str, Callable] = {
    "the softmax runs over the queries, not over the keys, so that columns sum to one": (
        partial(_either_fill, axis=-2)
    ),
    "the softmax runs over the batch, not over the keys": partial(_along, 0, 3),
    "the softmax runs over the heads, not over the keys": partial(_along, 1, 4),
    "the mask comes after the softmax, so that hidden keys still count in the denominator": (
        lambda scores, look: softmax(scores) * look
    ),
    INVERTED: lambda scores, look: _either_fill(scores, ~look),
    "hidden scores are set to 0, but exp(0) = 1 is still a weight": (
        partial(masked_softmax, fill=0.0)
    ),
    "no key is hidden; the mask is missing or not used": lambda scores, look: softmax(scores),
    "no softmax is taken": lambda scores, look: scores.where(look, 0),
}

# Causal masks


CAUSAL_MASKS: dict[str, Callable] = {
    "the mask is transposed, so that a query sees itself and the future, not the past": (
        lambda look: look.mT
    ),
    "a query cannot see itself, because the diagonal is hidden too": lambda look: look.tril(-1),
    "the mask is shifted by one, so that a query also sees the key just after it": (
        lambda look: look | look.new_ones(look.shape[-2:]).tril(1)
    ),
}


def _through(change, scores, look):
    return _either_fill(scores, change(look))


CAUSAL_WEIGHTS: dict[str, Callable] = WEIGHTS | {
    sentence: partial(_through, change) for sentence, change in CAUSAL_MASKS.items()
}

LOW_FILL = (
    "a low number such as -20 or -10000 stands for a hidden score, and where the scores that may be seen "
    "are lower still, it takes their weight; minus infinity does not"
)
TOO_LATE = (
    "a hidden score far above the others takes all the weight before it is hidden, and nothing is left to "
    "share out; hide it before the softmax"
)

# Heads


def split_heads(x: Any, num_heads: int) -> Any:
    """(B, T, D) -> (B, H, T, d), neighbouring features together."""
    heads = x.unflatten(-1, (num_heads, -1))  # (B, T, H, d)
    return heads.transpose(1, 2)


def merge_heads(x: Any) -> Any:
    """(B, H, T, d) -> (B, T, D), one head after the other."""
    return x.transpose(1, 2).flatten(2)


def _split_in_memory(x, num_heads):
    """(B, T, D) -> (B, H, T, d), as the numbers lie in memory."""
    return x.reshape(len(x), num_heads, x.shape[1], -1)


def _merge_in_memory(x):
    """(B, H, T, d) -> (B, T, D), as the numbers lie in memory."""
    return x.reshape(len(x), x.shape[2], -1)


SPLITS: dict[str, Callable] = {
    "the heads are split by `view` or `reshape` alone, so that a head mixes several tokens": (
        _split_in_memory
    ),
    "every H-th feature goes to a head, where neighbours belong together": (
        lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)
    ),
}
MERGES: dict[str, Callable] = {
    "the heads are merged by `view` or `reshape` alone, so that features of several tokens mix": (
        _merge_in_memory
    ),
    "the heads are merged in the wrong order: their features are interleaved": (
        lambda x: x.permute(0, 2, 3, 1).flatten(2)
    ),
    "the heads are merged in the wrong order: the last comes first": (
        lambda x: merge_heads(x.flip(1))
    ),
}
BOTH_IN_MEMORY = (
    "the heads are split and merged by `view` or `reshape` alone, so that a head mixes several tokens",
    _split_in_memory,
    _merge_in_memory,
)


def far_below(
    rng: np.random.Generator, q: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draw queries and keys with scores from -40,000 sqrt(d) on downwards, far apart in each row.

    A low number that stands for a hidden score lies above them, and takes their weight.
    """
    depths = 1.0 + rng.permutation(k.shape[-2])
    keys = np.broadcast_to(-200 * depths[:, None], k.shape)
    return np.full(q.shape, 200.0), keys.copy()


def wrong_contexts(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, look: np.ndarray | None = None
) -> dict:
    """Return {sentence: the context that each mistake gives}, for arrays as `attend` has them.

    look: the mask, (..., T, S); without one only the mistakes in scores and the axis of the softmax are left.
    """
    import torch

    queries, keys, values = (torch.tensor(x) for x in (q, k, v))
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if look is not None:
        mask = torch.tensor(look)
    table = {}
    for sentence, mistake in SCORES.items():
        scores = mistake(queries, keys)
        weights = after(scores, lambda found: masked_softmax(found, mask))
        table[sentence] = after(weights, lambda found: found @ values)
    scores = scaled_products(queries, keys)
    for sentence, mistake in CAUSAL_WEIGHTS.items():
        about_axes = "softmax" in sentence and "mask" not in sentence
        if look is not None or about_axes:
            table[sentence] = after(mistake(scores, mask), lambda found: found @ values)
    if look is not None:
        low = [masked_softmax(scores, mask, fill=fill) for fill in (-20.0, -1e4)]
        table[LOW_FILL] = AnyOf(tuple(weights @ values for weights in low))
    return table


def after(value: Any, step: Callable) -> Any:
    """Apply a later step to the result of a mistake."""
    if isinstance(value, Seen):
        return value
    if isinstance(value, AnyOf):
        return AnyOf(tuple(map(step, value.values)))
    return step(value)
