"""Train, stop and resume a language model."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attn_course.training.progress import Bar
from attn_course.training.trainer import BaseTrainer, Stopped, Update

SAVE_EVERY = 100  # steps

Arrays = tuple[np.ndarray, np.ndarray]
Watch = Callable[[int, nn.Module], None]


class TokenBatch(NamedTuple):
    """The input x (B, T) and the symbols to predict, y (B, T); there is no loss where y is 0."""

    x: torch.Tensor
    y: torch.Tensor


def train(
    model: nn.Module,
    batch: Callable[[int], Arrays],
    *,
    steps: int,
    rate: float,
    label: str = "training",
    checkpoint: Path | None = None,
    watch: Watch | None = None,
) -> list[float]:
    """Take `steps` steps of AdamW and return the loss of each, a list.

    batch: step -> (x, y), two integer arrays (B, T); no loss is taken where y is 0. A function of the
    step alone, so that a resumed run sees what an uninterrupted one would have seen.
    checkpoint: a file that is resumed from if it is there, and kept up to date. watch: called with
    (steps taken, model) before the first step and after each.
    Ctrl-C ends the run early, keeps what was trained and says so in a warning.
    """
    size = sum(parameter.numel() for parameter in model.parameters())
    settings = {"label": label, "steps": steps, "rate": rate, "parameters": size}
    trainer = BaseTrainer(
        model, mean_loss, settings=settings, checkpoint=checkpoint, save_every=SAVE_EVERY
    )
    trainer.resume()
    done = trainer.num_steps
    plan = [partial(_step, batch, step, steps, rate) for step in range(done, steps)]
    bar = Bar(label, steps, done=done, unit="step", shown=True)
    try:
        if watch:
            watch(done, model)
        trainer.run(plan, bar, watch=watch)
        trainer.save()
    except Stopped:
        how_far = f"{label} was stopped after {trainer.num_steps} of {steps} steps"
        warnings.warn(f"{how_far}; what was trained is kept.", stacklevel=2)
    finally:
        bar.close()
    return trainer.losses


def rate_at(step: int, steps: int, rate: float) -> float:
    """Return the learning rate of a step, from 0 to steps - 1.

    It rises linearly over the first twentieth, and falls as a cosine to a tenth of `rate`.
    """
    num_warm = max(1, steps // 20)
    warm = min(1.0, (step + 1) / num_warm)
    cosine = math.cos(math.pi * step / steps)
    return rate * warm * (0.55 + 0.45 * cosine)


def mean_loss(model: nn.Module, batch: TokenBatch) -> torch.Tensor:
    """Return the mean cross-entropy of the symbols that are to be predicted, a scalar."""
    logits = model(batch.x).flatten(0, 1)  # (B * T, V)
    return F.cross_entropy(logits, batch.y.flatten(), ignore_index=0)


def _step(batch, step, steps, rate):
    x, y = batch(step)
    return Update(
        batch=TokenBatch(torch.as_tensor(x), torch.as_tensor(y)),
        size=1,
        rate=rate_at(step, steps, rate),
        seed=step,  # dropout too is a function of the step
    )
