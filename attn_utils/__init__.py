"""Attention as pure functions, for NumPy arrays and torch tensors. Never imports torch itself."""

from attn_utils.kernels import attend, finish, merge, rotate, softmax, summary
from attn_utils.masks import causal_mask, padding_mask

__all__ = [
    "attend",
    "causal_mask",
    "finish",
    "merge",
    "padding_mask",
    "rotate",
    "softmax",
    "summary",
]
