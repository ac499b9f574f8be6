"""A head that has nothing to say rests on the first token, and what becomes of it behind a window.

Tokens are (letter, number) pairs after a start token. At each token the head returns the mean number of the
tokens so far that carry the partner of its letter, and 0 if there is none. A softmax cannot return
nothing, so the head learns to rest on the start token, whose number is 0.

`python -m attn_course.runs attention_sink` records ten seeds.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from attn_course import records

TEST_SEED = 10**6  # no sequence of training is drawn by it
SMALL = 0.3  # of queries and keys before training: with large scores some would never learn


@dataclass(frozen=True)
class Setting:
    """The task, the head, its training, and the longer texts that it is tried on afterwards."""

    num_letters: int = 16
    length: int = 32
    width: int = 32
    steps: int = 1000
    batch: int = 32
    rate: float = 0.1
    window: int = 16
    test_length: int = 96
    num_tests: int = 50


@dataclass(frozen=True)
class Text:
    """Letters (B, T) with the start token first, and the number (B, T) that each token carries."""

    letters: Tensor
    numbers: Tensor


def texts(setting: Setting, count: int, length: int, seed: int) -> Text:
    """Random letters with numbers from 1 to 2; the start token has a letter of its own and number 0."""
    source = torch.Generator().manual_seed(seed)
    letters = torch.randint(setting.num_letters, (count, length), generator=source)
    numbers = 1 + torch.rand(count, length, generator=source)
    letters[:, 0] = setting.num_letters
    numbers[:, 0] = 0
    return Text(letters, numbers)


def partners(text: Text) -> Tensor:
    """Which tokens (B, T, T) carry the partner of a token's letter: 0 and 1 are partners, 2 and 3, ..."""
    return text.letters[:, :, None] == (text.letters ^ 1)[:, None]


def wanted(text: Text, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(the right answers, whether there is a partner), both (B, T), among what a mask (T, T) shows."""
    seen = partners(text) & mask
    count = seen.sum(-1)
    total = (seen * text.numbers[:, None]).sum(-1)
    return total / count.clamp(min=1), count > 0


class Head(nn.Module):
    """One head: queries and keys are learned, one of each for every letter; values are the numbers."""

    def __init__(self, setting: Setting):
        super().__init__()
        kinds = setting.num_letters + 1
        self.queries = nn.Embedding(kinds, setting.width)
        self.keys = nn.Embedding(kinds, setting.width)
        for table in (self.queries, self.keys):
            nn.init.normal_(table.weight, std=SMALL)

    def weights(self, text: Text, mask: Tensor) -> Tensor:
        """(B, T, T) under a boolean mask (T, T)."""
        q = self.queries(text.letters)
        k = self.keys(text.letters)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def forward(self, text: Text, mask: Tensor) -> Tensor:
        """What the head returns, (B, T)."""
        return (self.weights(text, mask) @ text.numbers[..., None])[..., 0]


def train(seed: int = 0, setting: Setting | None = None) -> Head:
    """A head trained on short texts, all of which it sees."""
    setting = setting or Setting()
    torch.manual_seed(seed)
    head = Head(setting)
    optimiser = torch.optim.Adam(head.parameters(), lr=setting.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, setting.steps)
    mask = torch.ones(setting.length, setting.length, dtype=torch.bool).tril()
    for step in range(setting.steps):
        text = texts(setting, setting.batch, setting.length, 1000 * seed + step)
        right, _ = wanted(text, mask)
        loss = (head(text, mask) - right)[:, 1:].square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()

    return head


@torch.no_grad()
def errors(
    head: Head, mask: np.ndarray | Tensor, setting: Setting | None = None
) -> dict[str, float]:
    """The mean distance from the right answer on long texts under a mask (T, T), after its first window.

    What is right is counted in the window alone. Returns {"a partner in the window": ..., "none": ...}.
    """
    setting = setting or Setting()
    look = torch.as_tensor(mask)
    T = len(look)
    text = texts(setting, setting.num_tests, T, TEST_SEED)
    in_window = look.clone()
    in_window[:, 0] = False
    right, has_partner = wanted(text, in_window)
    far = (head(text, look) - right).abs()
    late = torch.arange(T) > setting.window
    return {
        "a partner in the window": far[has_partner & late].mean().item(),
        "none": far[~has_partner & late].mean().item(),
    }


def window_of(T: int, window: int, sinks: int) -> Tensor:
    """The mask (T, T) of the last `window` tokens and the first `sinks`."""
    past = torch.ones(T, T, dtype=torch.bool).tril()
    kept = torch.arange(T) < sinks
    return past.triu(1 - window) | (past & kept)


def record(seeds: Sequence[int] = range(10)) -> dict:
    """The errors of every seed with all tokens, a window, and a window with the start token kept."""
    setting = Setting()
    T = setting.test_length
    masks = {
        "all tokens": window_of(T, T, 0),
        "window": window_of(T, setting.window, 0),
        "window and start token": window_of(T, setting.window, 1),
    }
    runs = []
    for seed in seeds:
        head = train(seed, setting)
        found = {}
        for name, mask in masks.items():
            far = errors(head, mask, setting)
            found[name] = {where: round(error, 4) for where, error in far.items()}
        runs.append(found)
    return {"setting": asdict(setting), "seeds": list(seeds), "errors": runs}


def recorded() -> dict:
    """What was recorded for the course."""
    return records.read("attention_sink")
