"""How small models of the experiments are trained: by Adam, at a rate that falls like a cosine."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def minimise(
    model: nn.Module, loss_of: Callable[[int], Tensor], *, steps: int, rate: float
) -> None:
    """Train a model in place. loss_of: number of a step, from 0 on -> the loss of that step."""
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        loss = loss_of(step)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
