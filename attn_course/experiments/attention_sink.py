"""A head that has nothing to say rests on the first token, and what becomes of it behind a window.

Tokens are (letter, number) pairs after a start token. At each token the head returns the mean number of the
tokens so far that carry the partner of its letter, and 0 if there is none. A softmax cannot return
nothing, so the head learns to rest on the start token, whose number is 0.

`python -m attn_course.runs attention_sink` records ten seeds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attn_course import recorded_runs
from attn_course.experiments.adam import minimise

NUM_LETTERS = 16
WIDTH = 32  # of queries and keys
SMALL = 0.3  # of queries and keys before training: with large scores some would never learn
LENGTH = 32  # of the texts of training
STEPS = 1000
BATCH = 32
RATE = 0.1
WINDOW = 16
TEST_LENGTH = 96
NUM_TESTS = 50
TEST_SEED = 10**6  # no text of training is drawn by it


class NumberedTexts(NamedTuple):
    """Letters (B, T) with the start token first, and the number (B, T) that each token carries."""

    letters: Tensor
    numbers: Tensor


def texts(count: int, length: int, seed: int) -> NumberedTexts:
    """Draw random letters with numbers from 1 to 2; the start token has a letter of its own and number 0."""
    source = torch.Generator().manual_seed(seed)
    letters = torch.randint(NUM_LETTERS, (count, length), generator=source)
    numbers = 1 + torch.rand(count, length, generator=source)
    letters[:, 0] = NUM_LETTERS
    numbers[:, 0] = 0
    return NumberedTexts(letters, numbers)


def right_answers(text: NumberedTexts, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the right answers, and whether there is a partner, both (B, T), behind a mask (T, T).

    Letters 0 and 1 are partners, 2 and 3, and so on.
    """
    is_partner = text.letters[:, :, None] == (text.letters ^ 1)[:, None]  # (B, T, T)
    seen = is_partner & mask
    count = seen.sum(-1)
    total = (seen * text.numbers[:, None]).sum(-1)
    return total / count.clamp(min=1), count > 0


class Head(nn.Module):
    """One head: queries and keys are learned, one of each for every letter; values are the numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = nn.Embedding(NUM_LETTERS + 1, WIDTH)
        self.keys = nn.Embedding(NUM_LETTERS + 1, WIDTH)
        for table in (self.queries, self.keys):
            nn.init.normal_(table.weight, std=SMALL)

    def weights(self, text: NumberedTexts, mask: Tensor) -> Tensor:
        """Return the weights (B, T, T) under a boolean mask (T, T)."""
        q = self.queries(text.letters)
        k = self.keys(text.letters)
        scores = q @ k.mT / WIDTH**0.5
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def forward(self, text: NumberedTexts, mask: Tensor) -> Tensor:
        """Return the output of the head, (B, T)."""
        return (self.weights(text, mask) @ text.numbers[..., None])[..., 0]


def train(seed: int = 0) -> Head:
    """Train a head on short texts, without a window."""
    torch.manual_seed(seed)
    head = Head()
    mask = window_of(LENGTH, LENGTH, 0)

    def loss_of(step: int) -> Tensor:
        text = texts(BATCH, LENGTH, 1000 * seed + step)
        right, _ = right_answers(text, mask)
        return (head(text, mask) - right)[:, 1:].square().mean()

    minimise(head, loss_of, steps=STEPS, rate=RATE)
    return head


@torch.no_grad()
def errors(head: Head, mask: np.ndarray | Tensor) -> dict[str, float]:
    """Measure the mean distance from the right answer on long texts under a mask, after the first window.

    mask: (T, T). Partners count where it shows them. Returns {"a partner in sight": ..., "none": ...}.
    """
    look = torch.as_tensor(mask)
    text = texts(NUM_TESTS, len(look), TEST_SEED)
    right, has_partner = right_answers(text, look)
    far = (head(text, look) - right).abs()
    late = torch.arange(len(look)) > WINDOW
    return {
        "a partner in sight": far[has_partner & late].mean().item(),
        "none": far[~has_partner & late].mean().item(),
    }


def window_of(T: int, window: int, sinks: int) -> Tensor:
    """Return the mask (T, T) of the last `window` tokens and the first `sinks`."""
    past = torch.ones(T, T, dtype=torch.bool).tril()
    kept = torch.arange(T) < sinks
    return past.triu(1 - window) | (past & kept)


def record(seeds: Sequence[int] = range(10)) -> dict:
    """Record the errors of every seed with all tokens, a window, and a window that keeps the start token."""
    masks = {
        "all tokens": window_of(TEST_LENGTH, TEST_LENGTH, 0),
        "window": window_of(TEST_LENGTH, WINDOW, 0),
        "window and start token": window_of(TEST_LENGTH, WINDOW, 1),
    }
    runs = []
    for seed in seeds:
        head = train(seed)
        rounded = {}
        for name, mask in masks.items():
            far = errors(head, mask)
            rounded[name] = {where: round(error, 4) for where, error in far.items()}
        runs.append(rounded)
    setting = {"steps": STEPS, "window": WINDOW, "test_length": TEST_LENGTH}
    return {"setting": setting, "seeds": list(seeds), "errors": runs}


def recorded() -> dict:
    """Return the results that were recorded for the course."""
    return recorded_runs.read("attention_sink")
