"""Knows which queries may look at which keys, as boolean masks; knows nothing of scores or weights."""

import sys

import numpy as np


def is_tensor(x):
    """Whether x is a torch tensor; a program that holds one has imported torch, so we need not."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def causal_mask(T, S=None, *, like=None):
    """The (T, S) mask, True = may look, in which no query sees a later key.

    Aligned bottom-right: the last query sees all S keys, and the one before it one key fewer. With
    S > T the first S - T keys are a past that every query sees; with S < T the first T - S queries
    see nothing. S is T if not given. A torch tensor when `like` is one, on its device.

    >>> causal_mask(2, 3).astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    S = T if S is None else S
    if is_tensor(like):
        return like.new_ones(T, S, dtype=sys.modules["torch"].bool).tril(S - T)
    return np.tri(T, S, S - T, dtype=bool)


def padding_mask(lengths, S):
    """The (..., S) mask, True = may look, in which sequence i owns its first lengths[i] keys.

    lengths: integers of shape (...), each at most S; a torch tensor gives a torch tensor.
    For scores of shape (B, T, S) add the axis of the queries: padding_mask(lengths, S)[:, None].

    >>> padding_mask([3, 1], 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 0, 0, 0]])
    """
    if is_tensor(lengths):
        keys = sys.modules["torch"].arange(S, device=lengths.device)
    else:
        lengths, keys = np.asarray(lengths), np.arange(S)
    if ((lengths < 0) | (lengths > S)).any():
        raise ValueError(f"lengths must lie between 0 and the {S} keys, got {lengths.tolist()}")
    return keys < lengths[..., None]
