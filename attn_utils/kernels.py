"""Attention as pure functions of NumPy arrays or torch tensors. No layers, no questions."""

import math
from typing import Any, NamedTuple

import numpy as np

from attn_utils.arrays import (
    Array,
    as_floats,
    batch_shape,
    broadcast,
    cast,
    is_tensor,
    library,
    shape_error,
)
from attn_utils.masks import causal_mask

BLOCK = 2**19  # scores worked on at a time: two megabytes of float32 stay in the cache
MIN_ROWS = 32  # fewer queries at a time would starve the matrix product


def softmax(scores: Array, axis: int = -1) -> Array:
    """Return non-negative weights that sum to one along axis, for scores of any size.

    Shifting the scores by their maximum changes nothing but keeps exp from overflowing. Scores that
    are all -inf, as of a query that may look at nothing, give weights of zero.

    >>> softmax(np.array([0.0, 1e4, 1e4]))
    array([0. , 0.5, 0.5])
    """
    (floats,) = as_floats(scores)
    if is_tensor(floats):
        return _softmax_torch(floats, axis)
    weights = floats.astype(_at_least_single(floats))  # a copy, to work in
    _softmax_in_place(weights, axis)
    return cast(weights, floats.dtype)


def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    need_weights: bool = True,
) -> tuple[Array, Any]:
    """Return the context softmax(scale * q k^T) v of every query over all keys, and the weights.

    q: (..., T, d), or (d,) for a single query; k: (..., S, d); v: (..., S, dv); NumPy arrays or torch
    tensors, whose leading axes broadcast. Float types are kept, integers become floats.
    mask: boolean, broadcast to the scores (..., T, S), or (..., S) for a single query; True = may
    look. A query that may look at nothing gets weights and a context of zero.
    causal: hide later keys, aligned bottom-right as in `causal_mask`; combines with mask.
    scale: what the scores are multiplied by, 1 / sqrt(d) if None; 1.0 leaves them as they are.

    The context is (..., T, dv), the weights are (..., T, S). Without need_weights they are None: the
    scores are then never all in memory at once, and memory grows linearly with length (for torch if
    no mask is given and causal is off or T = S).

    >>> context, weights = attend(np.zeros((2, 4)), np.eye(4), np.eye(4), causal=True)
    >>> weights.round(2)
    array([[0.33, 0.33, 0.33, 0.  ],
           [0.25, 0.25, 0.25, 0.25]])
    """
    q, k, v = as_floats(q, k, v)
    mask = _as_mask(mask, q)
    if q.ndim == 1:
        return _attend_once(q, k, v, mask, scale, need_weights)
    q, mask, batch = _fitted(q, k, v, mask)
    scale = float(q.shape[-1] ** -0.5 if scale is None else scale)
    causal = causal and q.shape[-2] > 1  # the last query sees every key
    if not is_tensor(q):
        return _attend_numpy(q, k, v, mask, causal, scale, batch, need_weights)
    if need_weights:
        return _attend_torch(q, k, v, mask, causal, scale)
    return _attend_fused(q, k, v, mask, causal, scale, batch)


def rotate(x: Array, positions: Any, base: float = 10_000.0) -> Array:
    """Turn each pair of neighbouring features by an angle that grows with the position (RoPE).

    x: (..., T, d) queries or keys, d even; positions: integers (T,), or what broadcasts to (..., T).
    Features 2i and 2i + 1 turn by position * base ** (-2i / d), so the dot product of a turned query
    and a turned key depends on their positions through the difference alone. Shape and float type stay.

    >>> rotate(np.array([[1.0, 0.0], [1.0, 0.0]]), [0, 1]).round(2)
    array([[1.  , 0.  ],
           [0.54, 0.84]])
    """
    (x,) = as_floats(x)
    d = x.shape[-1]
    if d % 2:
        raise ValueError(f"features are turned in pairs, but x {tuple(x.shape)} has {d}")
    xp = library(x)
    wide = _at_least_single(x)  # half precision cannot tell position 2048 from 2049
    places = xp.asarray(positions, dtype=wide, device=x.device)  # (..., T)
    exponents = xp.arange(0, d, 2, dtype=wide, device=x.device) / d  # (d / 2,)
    angles = places[..., None] * base**-exponents  # (..., T, d / 2)
    cos = xp.cos(angles)
    sin = xp.sin(angles)
    even = x[..., 0::2]
    odd = x[..., 1::2]
    turned = xp.stack((even * cos - odd * sin, even * sin + odd * cos), -1)  # (..., T, d / 2, 2)
    return cast(turned.reshape(*turned.shape[:-2], d), x.dtype)


class Summary(NamedTuple):
    """What the rest of a softmax needs to know of a block of keys, however many there are.

    largest: (..., T) largest score, -inf if there is no key; total: (..., T) sum of
    exp(score - largest); output: (..., T, dv) sum of exp(score - largest) * value.
    """

    largest: Any
    total: Any
    output: Any


def summary(scores: Array, values: Array) -> Summary:
    """Summarise what one block of keys adds to attention.

    scores: (..., T, S), or (S,) for a single query, -inf where it may not look; values: (..., S, dv).
    Half precision becomes single: its sums would stop growing at 2048.

    >>> summary(np.array([3.0, 3.0]), np.array([[1.0, 0.0], [0.0, 1.0]])).total
    np.float64(2.0)
    """
    scores, values = as_floats(scores, values)
    wide = _at_least_single(scores)
    scores = cast(scores, wide)
    xp = library(scores)
    if scores.shape[-1] == 0:
        largest = xp.full(scores.shape[:-1], -math.inf, dtype=wide, device=scores.device)
    else:
        largest = xp.amax(scores, -1)  # (..., T)
    exps = xp.exp(scores - _unit(largest)[..., None])  # (..., T, S)
    return Summary(largest, exps.sum(-1), exps @ cast(values, wide))


def merge(one: Summary, other: Summary) -> Summary:
    """Return the summary of two blocks of keys together, in any order.

    >>> values = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> first = summary(np.array([0.0, 0.0]), values[:2])
    >>> second = summary(np.array([1.0]), values[2:])
    >>> finish(merge(first, second)).round(3)
    array([3.093, 3.093])
    """
    xp = library(one.output, other.output)
    largest = xp.maximum(one.largest, other.largest)
    a = xp.exp(one.largest - _unit(largest))  # (..., T), at most 1
    b = xp.exp(other.largest - _unit(largest))
    total = a * one.total + b * other.total
    output = a[..., None] * one.output + b[..., None] * other.output
    return Summary(largest, total, output)


def finish(state: Summary) -> Any:
    """Return the context (..., T, dv) of all keys of a summary; zeros if there was none.

    >>> finish(summary(np.array([7.0, -np.inf]), np.array([[2.0], [3.0]])))
    array([2.])
    """
    # the largest score adds exp(0) = 1, so only a row with nothing to look at totals less
    return state.output / state.total.clip(1)[..., None]


def _unit(largest):
    """Return the largest score, or 0 where there is no key: -inf - (-inf) would have no value."""
    xp = library(largest)
    return xp.where(largest == -math.inf, 0.0, largest)


def _at_least_single(x):
    """Return the float type to compute in, where half precision is not enough."""
    xp = library(x)
    return xp.promote_types(x.dtype, xp.float32)


def _softmax_torch(scores, axis):
    """Return the weights, with finite gradients for rows that are all -inf."""
    closed = (scores == -math.inf).all(axis, keepdim=True)
    weights = scores.masked_fill(closed, 0).softmax(axis)
    return weights.masked_fill(closed, 0)


def _softmax_in_place(scores, axis=-1):
    """Replace the scores by their weights; a row that is all -inf becomes zeros."""
    least = np.finfo(scores.dtype).min
    scores -= scores.max(axis, keepdims=True, initial=least)
    np.exp(scores, out=scores)
    # the largest score adds exp(0) = 1, so only a row with nothing to look at sums to less
    scores /= np.maximum(scores.sum(axis, keepdims=True), 1)


def _as_mask(mask, like):
    """Return the mask as a boolean array of the library and on the device of like."""
    if mask is None:
        return None
    xp = library(like)
    mask = xp.asarray(mask, device=like.device)
    if mask.dtype != xp.bool:
        raise TypeError(f"mask must be boolean, True = may look, got {mask.dtype}")
    return mask


def _attend_once(q, k, v, mask, scale, need_weights):
    """Attend with one query (d,), which is also the last: causal hides nothing from it."""
    rows = None if mask is None else mask[..., None, :]
    context, weights = attend(q[None], k, v, mask=rows, scale=scale, need_weights=need_weights)
    if need_weights:
        weights = weights[..., 0, :]
    return context[..., 0, :], weights


def _fitted(q, k, v, mask):
    """Return q with the leading axes of the scores, mask (..., 1 or T, S), and those of the context.

    Raises a ValueError that names both shapes of the first pair that does not fit.
    """
    if q.ndim < 2 or k.ndim < 2 or q.shape[-1] != k.shape[-1]:
        raise shape_error("q (..., T, d) and k (..., S, d)", q.shape, k.shape)
    if v.ndim < 2 or k.shape[-2] != v.shape[-2]:
        raise shape_error("k (..., S, d) and v (..., S, dv)", k.shape, v.shape)
    T = q.shape[-2]
    S = k.shape[-2]
    scores = (*batch_shape("q and k", q.shape, k.shape), T, S)
    if mask is not None:
        mask = _fitted_mask(mask, scores)
        scores = (*batch_shape("mask and scores", mask.shape, scores), T, S)
    batch = batch_shape("scores and v", scores, v.shape)
    return broadcast(q, (*scores[:-1], q.shape[-1])), mask, batch


def _fitted_mask(mask, scores):
    """Return mask with an axis (1 or T) of queries and one (S) of keys; raise if it does not fit."""
    if mask.ndim < 2:
        mask = mask.reshape(1, -1)
    T, S = scores[-2:]
    if mask.shape[-2] not in (1, T) or mask.shape[-1] not in (1, S):
        raise shape_error("mask and scores (..., T, S)", mask.shape, scores)
    return broadcast(mask, (*mask.shape[:-1], S))


def _num_rows(q, S):
    """Return how many queries to take at a time, so that their scores stay in the cache."""
    scores_per_row = math.prod(q.shape[:-2]) * S
    return max(MIN_ROWS, BLOCK // max(1, scores_per_row))


def _row_blocks(T, S, size, causal):
    """Yield (rows, keys): slices of at most size queries, and of the keys that they may look at.

    A causal block leaves out the keys after its last query, which saves half of the work.
    """
    first = 0
    if causal and T > S:  # queries before the first key
        first = T - S
        yield slice(0, first), slice(0, 0)
    for start in range(first, max(T, 1), max(size, 1)):
        stop = min(start + size, T)
        last_key = S - T + stop if causal else S
        yield slice(start, stop), slice(0, last_key)


def _part(mask, rows, keys):
    """Return the mask (..., 1 or T, S) of one block."""
    if mask is None:
        return None
    if mask.shape[-2] == 1:
        return mask[..., keys]
    return mask[..., rows, keys]


def _attend_numpy(q, k, v, mask, causal, scale, batch, need_weights):
    """Return context (*batch, T, dv) and weights (..., T, S) or None, from a few queries at a time."""
    T = q.shape[-2]
    S = k.shape[-2]
    wide = _at_least_single(q)  # NumPy can store half precision, not compute it
    context = np.zeros((*batch, T, v.shape[-1]), wide)  # (..., T, dv)
    weights = np.zeros((*q.shape[:-1], S), wide) if need_weights else None  # (..., T, S)

    for rows, keys in _row_blocks(T, S, _num_rows(q, S), causal):
        queries = q[..., rows, :].astype(wide) * scale  # cheaper than scaling the scores
        seen = k[..., keys, :].mT  # (..., d, keys)
        out = None if weights is None else weights[..., rows, keys]
        scores = np.matmul(queries, seen, out=out, dtype=wide)  # (..., rows, keys)
        _hide_numpy(scores, _part(mask, rows, keys), causal)
        _softmax_in_place(scores)
        context[..., rows, :] = scores @ v[..., keys, :]
    if weights is not None:
        weights = cast(weights, q.dtype)
    return cast(context, q.dtype), weights


def _hide_numpy(scores, mask, causal):
    """Set the scores (..., T, S) of one block to -inf, in place, where a query may not look."""
    if mask is not None:
        np.copyto(scores, -np.inf, where=~mask)
    if causal:
        corner = _corner(scores)
        later = ~causal_mask(*corner.shape[-2:])
        np.copyto(corner, -np.inf, where=later)


def _corner(scores):
    """Return the last square of the scores of a causal block; all keys to hide lie in it."""
    T = scores.shape[-2]
    return scores[..., -T:]


def _attend_torch(q, k, v, mask, causal, scale):
    """Return context (..., T, dv) and weights (..., T, S), block by block where that is faster."""
    T = q.shape[-2]
    S = k.shape[-2]
    size = T
    if causal and q.device.type == "cpu":  # elsewhere one large step is faster
        size = _num_rows(q, S)
    blocks = list(_row_blocks(T, S, size, causal))
    if len(blocks) == 1:
        return _block_torch(q, k, v, mask, causal, scale)

    def _results():
        for rows, keys in blocks:
            block = q[..., rows, :], k[..., keys, :], v[..., keys, :], _part(mask, rows, keys)
            yield _block_torch(*block, causal, scale)

    return _stacked(_results(), blocks, T, S)


def _block_torch(q, k, v, mask, causal, scale):
    """Return context (..., T, dv) and weights (..., T, S) of one block."""
    scores = (q * scale) @ k.mT  # (..., T, S); cheaper than scaling the scores
    seeing = _hide_torch(scores, mask, causal)
    out = None if scores.requires_grad else scores
    weights = library(q).softmax(scores, -1, out=out)
    if seeing is not None:
        weights = library(q).mul(weights, seeing, out=out)
    return weights @ v, weights


def _stacked(results, blocks, T, S):
    """Return the contexts and weights of all blocks, one below the other, the weights S wide."""
    contexts = []
    widened = []
    whole = None  # (..., T, S), filled where no gradient has to flow back through it
    for (context, weights), (rows, keys) in zip(results, blocks, strict=True):
        contexts.append(context)
        if weights.requires_grad:
            beyond = weights.new_zeros(*weights.shape[:-1], S - keys.stop)
            widened.append(library(weights).cat((weights, beyond), -1))
            continue
        if whole is None:
            whole = weights.new_zeros(*weights.shape[:-2], T, S)
        whole[..., rows, keys] = weights
    torch = library(context)
    if whole is None:
        whole = torch.cat(widened, -2)
    return torch.cat(contexts, -2), whole


def _hide_torch(scores, mask, causal):
    """Add -inf in place where a query may not look, but not to a whole row: it would have no softmax.

    Returns which rows (..., T, 1) have a key, 1 or 0: the others are still to be zeroed; or None if
    every row has one.
    """
    if mask is None:
        if causal:
            corner = _corner(scores)
            look = causal_mask(*corner.shape[-2:], like=scores)
            corner += _bias(look, scores.dtype)
        return None
    look, seeing = _opened(_both(mask, causal, scores.shape, scores))
    scores += _bias(look, scores.dtype)
    return seeing.to(scores.dtype)


def _both(mask, causal, shape, like):
    """Return the mask and the causal mask of the last two axes of shape as one; None if neither."""
    if not causal:
        return mask
    look = causal_mask(*shape[-2:], like=like)
    return look if mask is None else mask & look


def _opened(look):
    """Return look with rows that see nothing opened, and which rows (..., T, 1) were open before.

    Nobody asks whether there are such rows: the answer would have to be waited for.
    """
    seeing = look.any(-1, keepdim=True)
    return look | ~seeing, seeing


def _bias(look, dtype):
    """Return 0 where a query may look and -inf elsewhere: adding is faster than filling the scores."""
    bias = look.new_zeros(look.shape, dtype=dtype)
    return bias.masked_fill_(~look, -math.inf)


def _attend_fused(q, k, v, mask, causal, scale, batch):
    """Return context (*batch, T, dv) by torch's own kernel, which gives zeros to a row without keys."""
    T = q.shape[-2]
    S = k.shape[-2]
    own_mask = causal and mask is None and T == S  # torch aligns its causal mask top-left
    if not own_mask:
        mask = _both(mask, causal, (T, S), q)
    if mask is not None:
        mask = mask[(None,) * (4 - mask.ndim)]
    context = library(q).nn.functional.scaled_dot_product_attention(
        *(_four_axes(x, batch) for x in (q, k, v)),
        attn_mask=mask,
        is_causal=own_mask,
        scale=scale,
    )
    return context.reshape(*batch, T, v.shape[-1]), None


def _four_axes(x, batch):
    """Broadcast x over the leading axes batch; the fast kernel wants at least two of them."""
    missing = (1,) * (2 - len(batch))
    return broadcast(x, (*missing, *batch, *x.shape[-2:]))
