"""Two tasks that a synthesizer cannot learn, and a contest at them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations, product
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attn_utils.layers import CausalSelfAttention, SynthesizerAttention

D = 12  # symbols, each a one-hot vector
SEEDS = (0, 1, 2)
SMALLEST = 1e-6  # where curves end: as good as nothing
LENGTH = 200  # evaluations: a curve that ends earlier is carried on


class Examples(NamedTuple):
    """Every sequence there is: inputs (batch, T, D), and the number wanted at the last token, (batch,)."""

    inputs: Tensor
    targets: Tensor


class Fit(NamedTuple):
    """The best mean squared error so far at each evaluation, and the worst single error at the end."""

    losses: list[float]
    worst: float


def one_hot(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Return sequences of symbols as vectors (batch, T, D). sequences: lists of T symbols below D."""
    return torch.eye(D)[torch.tensor(sequences)]


def or_of_two() -> Examples:
    """Return all examples of two symbols 0 or 1, then symbol 2, which asks whether one of them is 1."""
    bits = (0, 1)
    sequences = []
    targets = []
    for first, second in product(bits, bits):
        sequences.append([first, second, 2])
        targets.append(float(first or second))
    return Examples(one_hot(sequences), torch.tensor(targets))


def recall_of_three() -> Examples:
    """Return all examples of three keys with a bit each, in any order, then a key whose bit is asked for.

    Symbol 2k + bit is the pair of key k and its bit; symbol 6 + k names key k. 144 sequences of four.
    """
    keys = range(3)
    orders = permutations(keys)
    all_bits = product((0, 1), repeat=3)
    sequences = []
    targets = []
    for order, bits, asked in product(orders, all_bits, keys):
        pairs = [2 * key + bits[key] for key in order]
        sequences.append([*pairs, 6 + asked])
        targets.append(float(bits[asked]))
    return Examples(one_hot(sequences), torch.tensor(targets))


def fit(layer: nn.Module, task: Examples, *, steps: int) -> Fit:
    """Train a layer with a linear readout at the last token by L-BFGS, all sequences in every step.

    layer: (batch, T, D) -> (batch, T, D).
    """
    read = nn.Linear(D, 1)
    learnt = [*layer.parameters(), *read.parameters()]
    optimiser = torch.optim.LBFGS(
        learnt,
        max_iter=steps,
        line_search_fn="strong_wolfe",
        tolerance_change=1e-12,
    )
    seen = []

    def loss() -> float:
        optimiser.zero_grad()
        last = layer(task.inputs)[:, -1]  # (batch, D)
        errors = read(last).squeeze(-1) - task.targets
        seen.append(errors.detach())
        mean_square = errors.square().mean()
        mean_square.backward()
        return mean_square.item()

    optimiser.step(loss)
    errors = torch.stack(seen)  # (evaluations, batch)
    losses = errors.square().mean(-1)
    best = losses.cummin(0)
    last_best = best.indices[-1]
    worst = errors[last_best].abs().max()
    return Fit(best.values.tolist(), worst.item())


def contest(task: Examples, num_heads: Iterable[int], *, steps: int) -> dict[str, list[Fit]]:
    """Train synthesizers with these numbers of heads, and one head with keys and queries, from each seed.

    Returns {name of the layer: one Fit a seed}.
    """
    T = task.inputs.shape[1]
    makers: dict[str, Callable[[], nn.Module]] = {}
    for H in num_heads:
        makers[f"synthesizer, heads: {H}"] = partial(SynthesizerAttention, D, H, T)
    makers["keys and queries, heads: 1"] = partial(CausalSelfAttention, D, 1)
    results: dict[str, list[Fit]] = {name: [] for name in makers}
    for name, make in makers.items():
        for seed in SEEDS:
            torch.manual_seed(seed)
            results[name].append(fit(make(), task, steps=steps))
    return results


def report(results: Mapping[str, Sequence[Fit]]) -> str:
    """Return a line for each layer: its last losses, one a seed, and the worst error of the first seed."""
    lines = []
    for name, fits in results.items():
        last = " ".join(f"{one.losses[-1]:.4f}" for one in fits)
        lines.append(f"{name:26} mean squared error {last}, worst error {fits[0].worst:.2f}")
    return "\n".join(lines)


def curves(
    results: Mapping[str, Sequence[Fit]], bounds: Mapping[str, float]
) -> dict[str, list[float]]:
    """Return the losses of the first seed over LENGTH evaluations, and each bound as a dashed line.

    bounds: {name: loss}. Returns the series of `plots.curves`.
    """
    series = {}
    for name, fits in results.items():
        losses = fits[0].losses
        end = [losses[-1]] * (LENGTH - len(losses))
        series[name] = [max(loss, SMALLEST) for loss in losses + end]
    for name, bound in bounds.items():
        series[f"-{name}"] = [bound] * LENGTH
    return series
