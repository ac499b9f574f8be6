"""Knows attention as pure functions of arrays, NumPy or torch; knows nothing of layers or questions."""

import math
import sys

import numpy as np

from attn_utils.masks import causal_mask, is_tensor

BLOCK = 2**19  # scores worked on at a time: two megabytes of float32 stay in the cache
MIN_ROWS = 32  # fewer queries at a time would starve the matrix product


def softmax(scores, axis=-1):
    """Non-negative weights of the shape of scores that sum to one along axis, for scores of any size.

    Shifting the scores by their maximum changes nothing but keeps exp from overflowing. Scores that
    are all -inf, as of a query that may look at nothing, give weights of zero.

    >>> softmax([0.0, 1e4, 1e4])
    array([0. , 0.5, 0.5])
    """
    if is_tensor(scores):
        scores = scores if scores.is_floating_point() else scores * 1.0
        closed = (scores == -np.inf).all(axis, keepdim=True)
        return scores.masked_fill(closed, 0).softmax(axis).masked_fill(closed, 0)
    scores = np.asarray(scores)
    dtype = _float_type(scores)
    weights = scores.astype(np.promote_types(dtype, np.float32))
    return _softmax_in_place(weights, axis).astype(dtype, copy=False)


def attend(q, k, v, *, mask=None, causal=False, scale=None, need_weights=True):
    """Attention of every query over all keys: context = softmax(scale * q k^T) v.

    q: (..., T, d), or (d,) for a single query; k: (..., S, d); v: (..., S, dv); NumPy arrays or torch
    tensors, whose leading axes broadcast. Float types are kept, integers become floats.
    mask: boolean, broadcast to the scores (..., T, S), or (..., S) for a single query; True = may
    look. A query that may look at nothing gets weights and a context of zero.
    causal: hide later keys, aligned bottom-right as in `causal_mask`; combines with mask.
    scale: what the scores are multiplied by, 1 / sqrt(d) if None; 1.0 leaves them as they are.

    Returns context (..., T, dv) and weights (..., T, S), or None in place of weights that are not
    needed: then the scores are never all in memory at once, and memory grows linearly with length
    (for torch if no mask is given and causal is off or T = S).
    """
    q, k, v, mask = _of_one_kind(q, k, v, mask)
    if q.ndim == 1:  # the only query is also the last, which causal hides nothing from
        mask = None if mask is None else mask[..., None, :]
        context, weights = attend(q[None], k, v, mask=mask, scale=scale, need_weights=need_weights)
        return context[..., 0, :], weights[..., 0, :] if need_weights else None
    q, mask = _fitted(q, k, v, mask)
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    if not is_tensor(q):
        return _attend_numpy(q, k, v, mask, causal, scale, need_weights)
    return (_attend_torch if need_weights else _attend_fused)(q, k, v, mask, causal, scale)


def _attend_numpy(q, k, v, mask, causal, scale, need_weights):
    (*batch, T, _), S, dv = q.shape, k.shape[-2], v.shape[-1]
    dtype = np.promote_types(q.dtype, np.float32)  # NumPy can store half precision, not compute it
    weights = np.zeros((*batch, T, S), dtype) if need_weights else None
    context = np.zeros((*np.broadcast_shapes(tuple(batch), v.shape[:-2]), T, dv), dtype)
    for rows, keys in _row_blocks(T, S, _num_rows(q, S), causal):
        queries = q[..., rows, :].astype(dtype) * scale  # cheaper than scaling the scores
        out = weights[..., rows, keys] if need_weights else None
        scores = np.matmul(queries, k[..., keys, :].mT, out=out, dtype=dtype)
        _hide(scores, _part(mask, rows, keys), causal)
        context[..., rows, :] = _softmax_in_place(scores) @ v[..., keys, :]
    return tuple(x if x is None else x.astype(q.dtype, copy=False) for x in (context, weights))


def _attend_torch(q, k, v, mask, causal, scale):
    T, S = q.shape[-2], k.shape[-2]
    split = causal and q.device.type == "cpu"  # nothing to skip otherwise, or faster in one step
    blocks = list(_row_blocks(T, S, _num_rows(q, S) if split else T, causal))
    if len(blocks) == 1:
        return _block_torch(q, k, v, mask, causal, scale)
    cut = ((q[..., r, :], k[..., c, :], v[..., c, :], _part(mask, r, c)) for r, c in blocks)
    return _stacked(blocks, (_block_torch(*parts, causal, scale) for parts in cut), S)


def _block_torch(q, k, v, mask, causal, scale):
    scores = (q * scale) @ k.mT  # cheaper than scaling the scores
    seeing = _hide_torch(scores, mask, causal)
    weights = sys.modules["torch"].softmax(scores, -1, out=None if scores.requires_grad else scores)
    weights = weights if seeing is None else weights * seeing
    return weights @ v, weights


def _stacked(blocks, results, S):
    """The (context, weights) of each block in turn, one below the other, the weights S wide."""
    torch, contexts, weights = sys.modules["torch"], [], []
    for (rows, keys), (context, block) in zip(blocks, results, strict=True):
        contexts.append(context)
        if block.requires_grad:  # gradients flow back through cat, not through a filled array
            weights.append(torch.nn.functional.pad(block, (0, S - keys.stop)))
        else:
            weights = weights or [block.new_zeros(*block.shape[:-2], blocks[-1][0].stop, S)]
            weights[0][..., rows, keys] = block
    return torch.cat(contexts, -2), weights[0] if len(weights) == 1 else torch.cat(weights, -2)


def _attend_fused(q, k, v, mask, causal, scale):
    """Context alone, by torch's own kernel."""
    square = bool(causal) and mask is None and q.shape[-2] == k.shape[-2]
    if causal and not square:  # torch aligns its own causal mask top-left
        below = causal_mask(q.shape[-2], k.shape[-2], like=q)
        mask = below if mask is None else mask & below
    batch = _batch("scores and v", q.shape, v.shape)
    four = (1,) * (2 - len(batch)) + batch  # the fast kernel wants four axes, of a mask two or four
    q, k, v = (_spread(x, (*four, *x.shape[-2:])) for x in (q, k, v))
    mask = mask[None] if mask is not None and mask.ndim == 3 else mask
    sdpa = sys.modules["torch"].nn.functional.scaled_dot_product_attention
    context = sdpa(q, k, v, attn_mask=mask, is_causal=square, scale=scale)
    return context.reshape(*batch, *context.shape[-2:]), None


def _num_rows(q, S):
    """How many queries to take at a time, so that their scores stay in the cache."""
    return max(MIN_ROWS, BLOCK // max(1, math.prod(q.shape[:-2]) * S))


def _row_blocks(T, S, size, causal):
    """Yield (rows, keys): slices of at most size queries, and of the keys that they may look at.

    A causal block leaves out the keys after its last query, which saves half of the work.
    """
    blind = max(T - S, 0) if causal else 0  # queries before the first key
    if blind:
        yield slice(0, blind), slice(0, 0)
    for start in range(blind, max(T, 1), max(size, 1)):
        stop = min(start + size, T)
        yield slice(start, stop), slice(0, S - T + stop if causal else S)


def _hide(scores, mask, causal):
    """Set the scores of one block to -inf, in place, where a query may not look."""
    if mask is not None:
        np.copyto(scores, -np.inf, where=~mask)
    if causal:  # the last key is the last query's: later keys fill the corner of the last square
        corner = scores[..., -scores.shape[-2] :]
        np.copyto(corner, -np.inf, where=~causal_mask(*corner.shape[-2:]))


def _hide_torch(scores, mask, causal):
    """The same, but for rows without a key, since softmax of -inf alone has no value and no gradient.

    Returns which rows (..., T, 1) have a key, or None if all have: the others are still to be zeroed.
    """
    if mask is None and causal:
        corner = scores[..., -scores.shape[-2] :]
        corner += _bias(causal_mask(*corner.shape[-2:], like=scores), scores.dtype)
    if mask is None:
        return None
    look = mask & causal_mask(*scores.shape[-2:], like=scores) if causal else mask
    seeing = look.any(-1, keepdim=True)
    scores += _bias(look | ~seeing, scores.dtype)
    return None if seeing.all() else seeing


def _bias(look, dtype):
    """0 where a query may look and -inf where not: adding it is faster than filling the scores."""
    return look.new_zeros(look.shape, dtype=dtype).masked_fill_(~look, -np.inf)


def _part(mask, rows, keys):
    if mask is None:
        return None
    return mask[..., rows if mask.shape[-2] > 1 else slice(None), keys]


def _softmax_in_place(scores, axis=-1):
    scores -= scores.max(axis, keepdims=True, initial=np.finfo(scores.dtype).min)
    np.exp(scores, out=scores)
    # the largest score adds exp(0) = 1, so only a row with nothing to look at sums to less
    scores /= np.maximum(scores.sum(axis, keepdims=True), 1)
    return scores


def _float_type(*arrays):
    dtype = np.result_type(*arrays)
    if dtype.kind not in "biuf":
        raise TypeError(f"attention is defined for real numbers, got {dtype}")
    return dtype if dtype.kind == "f" else np.dtype(float)


def _of_one_kind(q, k, v, mask):
    """q, k and v as arrays of one library and one float type, and the mask as a boolean one."""
    if any(is_tensor(x) for x in (q, k, v)):
        torch = sys.modules["torch"]
        device = next(x.device for x in (q, k, v) if is_tensor(x))
        q, k, v = (torch.as_tensor(x, device=device) for x in (q, k, v))
        dtype = torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)
        if dtype.is_complex:
            raise TypeError(f"attention is defined for real numbers, got {dtype}")
        dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
        q, k, v = (x.to(dtype) for x in (q, k, v))
        mask = None if mask is None else torch.as_tensor(mask, device=device)
    else:
        q, k, v = (np.asarray(x) for x in (q, k, v))
        q, k, v = (x.astype(_float_type(q, k, v), copy=False) for x in (q, k, v))
        mask = None if mask is None else np.asarray(mask)
    if mask is not None and str(mask.dtype) not in ("bool", "torch.bool"):
        raise TypeError(f"mask must be boolean, True = may look, got {mask.dtype}")
    return q, k, v, mask


def _fitted(q, k, v, mask):
    """q with all leading axes of the scores, and mask (..., 1 or T, S).

    Raises a ValueError that names both shapes of the first pair that does not fit.
    """
    if q.ndim < 2 or k.ndim < 2 or q.shape[-1] != k.shape[-1]:
        raise _misfit("q (..., T, d) and k (..., S, d)", q.shape, k.shape)
    if v.ndim < 2 or k.shape[-2] != v.shape[-2]:
        raise _misfit("k (..., S, d) and v (..., S, dv)", k.shape, v.shape)
    T, S = q.shape[-2], k.shape[-2]
    scores = (*_batch("q and k", q.shape, k.shape), T, S)
    if mask is not None:
        mask = mask if mask.ndim > 1 else mask.reshape(1, -1)
        if mask.shape[-2] not in (1, T) or mask.shape[-1] not in (1, S):
            raise _misfit("mask and scores (..., T, S)", mask.shape, scores)
        mask = _spread(mask, (*mask.shape[:-1], S))
        scores = (*_batch("mask and scores", mask.shape, scores), T, S)
    _batch("scores and v", scores, v.shape)
    return _spread(q, (*scores[:-1], q.shape[-1])), mask


def _misfit(names, one, other):
    return ValueError(f"{names} do not fit together: {tuple(one)} and {tuple(other)}")


def _batch(names, one, other):
    """The leading axes that two shapes broadcast to."""
    try:
        return np.broadcast_shapes(one[:-2], other[:-2]) if one[:-2] != other[:-2] else one[:-2]
    except ValueError:
        raise _misfit(f"leading axes of {names}", one, other) from None


def _spread(x, shape):
    if x.shape == shape:
        return x
    return x.expand(shape) if is_tensor(x) else np.broadcast_to(x, shape)
