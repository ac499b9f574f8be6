"""Attention as pure functions, for NumPy arrays and torch tensors; never imports torch itself."""

from attn_utils.kernels import attend, softmax
from attn_utils.masks import causal_mask, padding_mask

__all__ = ["attend", "causal_mask", "padding_mask", "softmax"]
