"""Which outputs depend on which inputs, measured by gradients."""

from collections.abc import Callable

import torch
from torch import Tensor

from attn_utils.layers import CausalSelfAttention, SynthesizerAttention


def reach(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Measure the influence of each input token on each output token.

    function: (T, D) -> (T, dv). x: (T, D).
    Returns (T, T): row t, column s is the norm of the derivative of output t by input s.
    """
    jacobian = torch.autograd.functional.jacobian(function, x)  # (T, dv, T, D)
    return jacobian.norm(dim=(1, 3))


def reach_of_weights(layer: CausalSelfAttention | SynthesizerAttention, x: Tensor) -> Tensor:
    """Measure the influence of each token on each row of a layer's weights, all heads together.

    x: (T, D), one sequence.
    Returns (T, T): row t, column s is the norm of the derivative of row t of the weights by token s.
    """

    def rows(tokens: Tensor) -> Tensor:
        weights = layer.weights(tokens[None])[0]  # (H, T, S)
        return weights.transpose(0, 1).flatten(1)  # (T, H * S)

    return reach(rows, x)


def softmax_slope(scores: Tensor) -> Tensor:
    """Return the size of the softmax's Jacobian, diag(w) - w w^T, through which gradients reach the scores.

    scores: (..., S). Returns its Frobenius norm, (...).
    """
    weights = scores.softmax(-1)
    squares = weights.square().sum(-1)
    cubes = weights.pow(3).sum(-1)
    # The sum of all squared entries; rounding may leave it below 0.
    total = squares - 2 * cubes + squares**2
    return total.clamp(min=0).sqrt()
