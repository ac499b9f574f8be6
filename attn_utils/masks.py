"""Which queries may look at which keys, as boolean masks. No scores, no weights."""

from typing import Any

import numpy as np

from attn_utils.arrays import is_tensor, library


def causal_mask(T: int, S: int | None = None, *, like: Any = None) -> Any:
    """Return the (T, S) mask, True = may look, in which no query sees a later key.

    Aligned bottom-right: the last query sees all S keys, and the one before it one key fewer. With
    S > T the first S - T keys are a past that every query sees; with S < T the first T - S queries
    see nothing. S is T if not given. A torch tensor when `like` is one, on its device.

    >>> causal_mask(2, 3).astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    S = T if S is None else S
    if is_tensor(like):
        every = like.new_ones(T, S, dtype=library(like).bool)
        return every.tril(S - T)
    return np.tri(T, S, S - T, dtype=bool)


def padding_mask(lengths: Any, S: int) -> Any:
    """Return the (..., S) mask, True = may look, in which sequence i owns its first lengths[i] keys.

    lengths: integers of shape (...), each at most S; a torch tensor gives a torch tensor, and is
    not checked, since looking at its numbers would wait for its device.
    For scores of shape (B, T, S) add the axis of the queries: padding_mask(lengths, S)[:, None].

    >>> padding_mask([3, 1], 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 0, 0, 0]])
    """
    xp = library(lengths)
    lengths = xp.asarray(lengths)
    if xp is np and ((lengths < 0) | (lengths > S)).any():
        raise ValueError(f"lengths must lie between 0 and the {S} keys, got {lengths.tolist()}")
    keys = xp.arange(S, device=lengths.device)
    return keys < lengths[..., None]
