"""Steps of AdamW that can be watched, stopped, killed and resumed."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from attn_course.atomic_file import replaced
from attn_course.errors import UserError
from attn_course.training.devices import half_precision
from attn_course.training.progress import Bar, Interrupt

FETCH_EVERY = 50  # steps between two waits for the device
PREFETCH = 4  # batches made ready while the device works


class Stopped(KeyboardInterrupt):
    """A training that was stopped from the keyboard; the message says what was kept."""


class Update(NamedTuple):
    """One update, a function of its number alone, so that a resumed run sees the same.

    batch: a named tuple of tensors on the CPU. size: what the summed loss is divided by, and what the
    step takes off the budget. seed: of dropout.
    """

    batch: Any
    size: int
    rate: float
    seed: int


class BaseTrainer:
    """A model with its optimiser, the loss of every step so far, and the file that keeps them.

    loss: (model, batch) -> the summed loss, a scalar. settings: plain data that a checkpoint must agree
    with.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[nn.Module, Any], torch.Tensor],
        *,
        settings: dict[str, Any],
        decay: float = 0.01,
        clip: float = 1.0,
        checkpoint: Path | None = None,
        save_every: int = 200,
    ) -> None:
        self.model = model
        self.loss = loss
        self.settings = settings
        self.clip = clip
        self.checkpoint = checkpoint
        self.save_every = save_every
        self.counters: dict[str, Any] = {}  # plain data of a subclass that a checkpoint keeps
        self.device = next(model.parameters()).device
        self.dtype = half_precision(self.device)
        scaled = self.dtype is torch.float16  # or small gradients vanish
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=scaled)
        self.optimiser = torch.optim.AdamW(
            model.parameters(),
            betas=(0.9, 0.98),
            weight_decay=decay,
            fused=True if self.device.type == "cuda" else None,  # the scaler's verdict stays there
        )
        self._losses: list[float] = []
        self._waiting: list[tuple[torch.Tensor, int]] = []  # losses that are still on the device

    @property
    def num_steps(self) -> int:
        return len(self._losses) + len(self._waiting)

    @property
    def losses(self) -> list[float]:
        """The loss of every step, divided by its size; waits for the device."""
        self._fetch()
        return self._losses

    def run(
        self,
        plan: Iterable[Callable[[], Update]],
        bar: Bar,
        *,
        watch: Callable[[int, nn.Module], None] | None = None,
    ) -> None:
        """Take the planned steps. After Ctrl-C, save everything and raise Stopped.

        plan: each entry makes its step when called, on another thread and a few steps ahead.
        watch: called with the number of steps taken and the model, after each.
        """
        with Interrupt() as interrupt:
            try:
                for step in prefetched(self._make, plan):
                    self.take(step)
                    self.count(step)
                    bar.advance(step.size)
                    if self._losses and not self._waiting:
                        bar.note(loss=self._losses[-1])
                    if watch:
                        watch(self.num_steps, self.model)
                    if self.num_steps % self.save_every == 0:
                        self.save()
                    if interrupt.pressed:
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                if not interrupt.twice:  # the second one may have cut a step in half
                    self.save()
                raise Stopped from None

    def _make(self, entry):
        step = entry()
        if self.device.type == "cuda":
            pinned = [tensor.pin_memory() for tensor in step.batch]  # a GPU reads it by itself
            step = step._replace(batch=type(step.batch)(*pinned))
        return step

    def count(self, step: Update) -> None:
        """Bring `counters` up to date after a step; a subclass that has some does it here."""

    def take(self, step: Update) -> None:
        """Make one update; its loss stays on the device."""
        self.model.train()
        torch.manual_seed(step.seed)
        batch = to_device(step.batch, self.device)
        short = torch.autocast(self.device.type, self.dtype) if self.dtype else nullcontext()
        with short:
            total = self.loss(self.model, batch)
        for group in self.optimiser.param_groups:
            group["lr"] = step.rate
        self.optimiser.zero_grad()
        self.scaler.scale(total / step.size).backward()
        self.scaler.unscale_(self.optimiser)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self._waiting.append((total.detach(), step.size))
        if len(self._waiting) >= FETCH_EVERY:
            self._fetch()

    def _fetch(self):
        """Wait once for all losses that are still on the device."""
        if not self._waiting:
            return
        totals = torch.stack([total for total, _ in self._waiting])
        sizes = [size for _, size in self._waiting]
        for total, size in zip(totals.cpu().tolist(), sizes, strict=True):
            self._losses.append(total / size)
        self._waiting.clear()

    def save(self) -> None:
        """Keep everything in the checkpoint, if there is one."""
        losses = self.losses
        if self.checkpoint is None:
            return
        state = {
            "settings": self.settings,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "losses": losses,
            "counters": self.counters,
        }
        write_tensors(self.checkpoint, state)

    def resume(self) -> bool:
        """Go back to the checkpoint if there is one, and say whether there was."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return False
        try:
            saved = torch.load(self.checkpoint, map_location=self.device, weights_only=True)
            is_ours = saved["settings"] == self.settings
            if is_ours:
                self.model.load_state_dict(saved["model"])
                self.optimiser.load_state_dict(saved["optimiser"])
                self.scaler.load_state_dict(saved["scaler"])
                self._losses = list(saved["losses"])
                self.counters = dict(saved["counters"])
        except Exception as error:  # each part of a broken file fails in its own way
            kind = type(error).__name__
            raise UserError(
                f"{self.checkpoint} is damaged ({kind}): delete it to start the run again."
            ) from error
        if not is_ours:
            folder = self.checkpoint.parent
            raise UserError(
                f"{folder} holds a run with other settings or on other text: choose another folder."
            )
        return True


def write_tensors(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors and plain data in one step: a kill leaves the old file or the new one."""
    with replaced(path) as new:
        torch.save(state, new)


def to_device(batch: Any, device: torch.device) -> Any:
    """Move a named tuple of tensors to a device without waiting; fields named in `on_cpu` stay behind."""
    fields = batch._asdict()
    moving = fields.keys() - getattr(batch, "on_cpu", ())
    return batch._replace(**{name: fields[name].to(device, non_blocking=True) for name in moving})


def prefetched(make: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Yield make(item) of each item in turn, made by another thread a few items ahead."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        ahead: deque = deque()
        for item in items:
            ahead.append(pool.submit(make, item))
            if len(ahead) > PREFETCH:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
