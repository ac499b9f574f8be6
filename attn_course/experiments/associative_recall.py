"""Queries and keys that read n stored values back, trained or made by hand."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Weigh = Callable[[Tensor, Tensor], Tensor]


def linear_weights(q: Tensor, k: Tensor) -> Tensor:
    """Return the weights (T, S) of linear attention with exponentials for features, no mask.

    q: (T, d), k: (S, d).
    """
    products = q.exp() @ k.exp().mT
    return products / products.sum(-1, keepdim=True)


def any_sign(q: Tensor, k: Tensor) -> Tensor:
    """Return the weights (T, S) of features (T, d) and (S, d) as they are, without a normaliser."""
    return q @ k.mT


def softmax_on_a_circle(n: int) -> Tensor:
    """Return softmax weights (n, n) at d = 2, nothing trained: each query along its key and long enough."""
    turn = 2 * math.pi / n
    angles = turn * torch.arange(n)
    keys = torch.stack([angles.cos(), angles.sin()], 1)
    length = math.log(999 * n) / (1 - math.cos(turn))
    scores = length * keys @ keys.mT
    return scores.softmax(-1)


def squared_error(weights: Tensor) -> Tensor:
    """Return the mean squared error of what weights (n, n) read, over values of mean 0 and variance 1."""
    n = len(weights)
    return (weights - torch.eye(n)).square().sum() / n


def train(n: int, d: int, weigh: Weigh, seed: int = 0) -> Tensor:
    """Train queries and keys (n, d), each query to read its own key; return their weights (n, n)."""
    torch.manual_seed(seed)
    learnt = [torch.randn(n, d, requires_grad=True) for _ in range(2)]
    optimiser = torch.optim.LBFGS(learnt, max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        error = squared_error(weigh(*learnt))
        error.backward()
        return error

    optimiser.step(loss)
    return weigh(*learnt).detach()


def errors_by_count(
    counts: Sequence[int], widths: Sequence[int] = (4, 8)
) -> dict[str, list[float]]:
    """Return squared errors for these numbers of keys: trained features of any sign, softmax on a circle.

    counts: (n,). widths: of the features, one series each. Returns {what reads: n errors}.
    """
    series = {}
    for d in widths:
        trained = [train(n, d, any_sign) for n in counts]
        series[f"weights of any sign, d = {d}"] = [
            squared_error(weights).item() for weights in trained
        ]

    by_hand = [softmax_on_a_circle(n) for n in counts]
    series["softmax, d = 2"] = [squared_error(weights).item() for weights in by_hand]
    return series
