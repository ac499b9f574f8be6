"""Knows how a language model is trained, stopped and resumed; does not know what the batches say."""

import math
import os
import sys
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from tqdm.auto import tqdm

SAVE_EVERY = 100  # steps


def train(model, batch, *, steps, rate, label="training", checkpoint=None, watch=None):
    """Take `steps` steps of AdamW and return the loss of each, a list.

    batch: step -> (x, y), two integer arrays (B, T); no loss is taken where y is 0. A function of the
    step alone, so that a resumed run sees what an uninterrupted one would have seen.
    checkpoint: a file that is resumed from if it is there, and kept up to date. watch: called with
    (steps taken, model) before the first step and after each.
    Ctrl-C ends the run early, keeps what was trained and says so in a warning.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98))
    size = sum(parameter.numel() for parameter in model.parameters())
    settings = {"label": label, "steps": steps, "rate": rate, "parameters": size}
    losses = _resume(checkpoint, settings, model, optimiser)
    bar = tqdm(total=steps, initial=len(losses), desc=label, leave=False)
    watch = watch or (lambda step, model: None)
    try:
        watch(len(losses), model)
        for step in range(len(losses), steps):
            losses.append(_step(model, optimiser, batch(step), rate_at(step, steps, rate), step))
            watch(step + 1, model)
            bar.update()
            bar.set_postfix(loss=f"{losses[-1]:.2f}", refresh=False)
            if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
                _save(checkpoint, settings, model, optimiser, losses)
    except KeyboardInterrupt:
        _save(checkpoint, settings, model, optimiser, losses)
        done = f"{label} was stopped after {len(losses)} of {steps} steps"
        warnings.warn(f"{done}; what was trained is kept.", stacklevel=2)
    finally:
        bar.close()
        _leave_no_trace()
    return losses


def rate_at(step, steps, rate):
    """Linear warm-up over the first twentieth, then a cosine down to a tenth of `rate`."""
    warm = min(1.0, (step + 1) / max(1, steps // 20))
    return rate * warm * (0.55 + 0.45 * math.cos(math.pi * step / steps))


def _step(model, optimiser, pair, rate, step):
    device = next(model.parameters()).device
    x, y = (torch.as_tensor(part, device=device) for part in pair)
    for group in optimiser.param_groups:
        group["lr"] = rate
    torch.manual_seed(step)  # dropout too is a function of the step
    model.train()
    with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=0)
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def _save(path, settings, model, optimiser, losses):
    """Written aside and moved in: a kill leaves the old file or the new one."""
    if path is None:
        return
    aside = Path(path).with_suffix(".aside")
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "losses": losses}
    torch.save({"settings": settings, **state}, aside)
    os.replace(aside, path)


def _resume(path, settings, model, optimiser):
    """The losses so far, with model and optimiser as they were; none where there is no file."""
    if path is None or not Path(path).exists():
        return []
    saved = torch.load(path, map_location=next(model.parameters()).device, weights_only=True)
    if saved["settings"] != settings:
        raise ValueError(f"{path} holds a run with other settings: {saved['settings']}.")
    model.load_state_dict(saved["model"])
    optimiser.load_state_dict(saved["optimiser"])
    return saved["losses"]


def _leave_no_trace():
    """In a notebook the finished bar goes with the output of the cell; nothing of it is stored."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if hasattr(shell, "kernel"):
        from IPython.display import clear_output

        clear_output()
