"""Knows attention as pure functions of arrays, NumPy or torch; knows nothing of layers or questions."""

import sys

import numpy as np

from attn_utils.masks import causal_mask, is_tensor


def softmax(scores, axis=-1):
    """Non-negative weights of the shape of scores that sum to one along axis, for scores of any size.

    Shifting the scores by their maximum changes nothing but keeps exp from overflowing. Scores that
    are all -inf, a query with nothing to look at, give weights of zero.

    >>> softmax([0.0, 1e4, 1e4])
    array([0. , 0.5, 0.5])
    """
    if is_tensor(scores):
        empty = (scores == -np.inf).all(axis, keepdim=True)
        return scores.masked_fill(empty, 0).softmax(axis).masked_fill(empty, 0)
    scores = np.asarray(scores)
    return _softmax_in_place(scores.astype(_float_type(scores)), axis)


def attend(q, k, v, *, mask=None, causal=False, scale=None, need_weights=True):
    """Attention of every query over all keys: context = softmax(scale * q k^T) v.

    q: (..., T, d), or (d,) for a single query; k: (..., S, d); v: (..., S, dv); NumPy arrays or torch
    tensors, whose leading axes broadcast. Integers become floats, float types are kept.
    mask: boolean, broadcast to the scores (..., T, S), or (..., S) for a single query; True = may
    look. A query that may look at nothing gets weights and a context of zero.
    causal: hide later keys, aligned bottom-right as in `causal_mask`; combines with mask.
    scale: what the scores are multiplied by, 1 / sqrt(d) if None; 1.0 leaves them as they are.

    Returns context (..., T, dv) and weights (..., T, S), or None for the weights if they are not
    needed: then no (T, S) matrix is ever held, and memory grows linearly with length.
    """
    q, k, v, mask = _of_one_kind(q, k, v, mask)
    if q.ndim == 1:
        mask = None if mask is None else mask[..., None, :]
        options = {"mask": mask, "scale": scale, "need_weights": need_weights}  # it is the last: sees all
        context, weights = attend(q[None], k, v, **options)
        return context[..., 0, :], weights[..., 0, :] if need_weights else None
    _check_shapes(q, k, v, mask)
    q = q * (q.shape[-1] ** -0.5 if scale is None else float(scale))  # cheaper than scaling (T, S)
    if not is_tensor(q):
        return _attend_numpy(q, k, v, mask, causal, need_weights)
    return (_attend_torch if need_weights else _attend_fused)(q, k, v, mask, causal)


def _attend_torch(q, k, v, mask, causal):
    """Context and weights of torch tensors."""
    mask = _with_causal(mask, causal, q, k)
    scores = q @ k.mT
    if mask is None:
        weights = scores.softmax(-1)
    else:
        seeing = mask.any(-1, keepdim=True)
        # softmax of an all-masked row has no value and no gradient: such a row is left open, then zeroed
        weights = scores.masked_fill(~mask & seeing, -np.inf).softmax(-1)
        weights = weights if seeing.all() else weights.masked_fill(~seeing, 0)
    return weights @ v, weights


def _attend_fused(q, k, v, mask, causal):
    """Context alone, by torch's own kernel, which wants four axes for its fast path."""
    square = q.shape[-2] == k.shape[-2]  # torch aligns causal top-left: the same only here
    plain = causal and square and mask is None
    mask = None if plain else _with_causal(mask, causal, q, k)
    ndim = max(q.ndim, k.ndim, v.ndim, 0 if mask is None else mask.ndim)
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v) if x is not None))
    q, k, v = (x.expand(*batch, *x.shape[-2:])[(None,) * (4 - ndim)] for x in (q, k, v))
    sdpa = sys.modules["torch"].nn.functional.scaled_dot_product_attention
    context = sdpa(q, k, v, attn_mask=mask, is_causal=plain, scale=1.0)
    return context.reshape(*context.shape[4 - ndim :]) if ndim < 4 else context, None


def _attend_numpy(q, k, v, mask, causal, need_weights):
    """Context and weights of NumPy arrays."""
    mask = _with_causal(mask, causal, q, k)
    scores = q @ k.mT
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = _softmax_in_place(scores)
    return weights @ v, weights if need_weights else None


def _softmax_in_place(scores, axis=-1):
    scores -= scores.max(axis, keepdims=True, initial=np.finfo(scores.dtype).min)
    np.exp(scores, out=scores)
    # the largest score adds exp(0) = 1, so only a row with nothing to look at sums to less
    scores /= np.maximum(scores.sum(axis, keepdims=True), 1)
    return scores


def _with_causal(mask, causal, q, k):
    if not causal:
        return mask
    below = causal_mask(q.shape[-2], k.shape[-2], like=q)
    return below if mask is None else mask & below


def _float_type(*arrays):
    dtype = np.result_type(*arrays)
    if dtype.kind not in "biuf":
        raise TypeError(f"attention needs real numbers, got {dtype}")
    return dtype if dtype.kind == "f" else np.dtype(float)


def _of_one_kind(q, k, v, mask):
    """The same four as arrays of one library, q, k and v of one float type."""
    if any(is_tensor(x) for x in (q, k, v)):
        torch = sys.modules["torch"]
        device = next(x.device for x in (q, k, v) if is_tensor(x))
        q, k, v = (torch.as_tensor(x, device=device) for x in (q, k, v))
        dtype = torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)
        dtype = dtype if dtype.is_floating_point else torch.get_default_dtype()
        q, k, v = (x.to(dtype) for x in (q, k, v))
        mask = None if mask is None else torch.as_tensor(mask, device=device)
    else:
        q, k, v = (np.asarray(x) for x in (q, k, v))
        q, k, v = (x.astype(_float_type(q, k, v), copy=False) for x in (q, k, v))
        mask = None if mask is None else np.asarray(mask)
    if mask is not None and "bool" not in str(mask.dtype):
        raise TypeError(f"mask must be boolean, True = may look, got {mask.dtype}")
    return q, k, v, mask


def _check_shapes(q, k, v, mask):
    """Raise a ValueError that names both shapes of the first pair that does not fit."""
    shapes = {"q": tuple(q.shape), "k": tuple(k.shape), "v": tuple(v.shape)}
    if min(len(shape) for shape in shapes.values()) < 2:
        raise ValueError(f"k and v need two axes or more: {shapes}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q {shapes['q']} and k {shapes['k']} differ in width, their last axis")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k {shapes['k']} and v {shapes['v']} differ in number of keys")
