"""A head behind a window that often has nothing to look at: what lets it stay silent?

The task is that of `attention_sink`: at each token the head returns the mean number of the tokens in its
window that carry the partner of its letter, and 0 if there is none. There is no start token to rest on.
What follows the softmax is nothing, a gate made from the token, a learned sink, or a sink fixed at 0.

`python -m attn_course.runs silent_head` records ten seeds.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attn_course import recorded_runs
from attn_course.experiments import attention_sink
from attn_course.experiments.adam import minimise
from attn_course.experiments.attention_sink import (
    NUM_LETTERS,
    WIDTH,
    NumberedTexts,
    right_answers,
    window_of,
)

KINDS = ("nothing", "gate of the token", "sink, learned", "sink at 0")
WINDOW = 16
LONGER_WINDOW = 64
LENGTH = 32  # of the texts of training
TEST_LENGTH = 96
NUM_TESTS = 50
STEPS = 400
BATCH = 32
RATE = 0.1
TEST_SEED = 10**6
NUM_KEYS = (16, 256, 4096, 16_384)  # that do not match, for the limits of a sink


def texts(count: int, length: int, seed: int) -> NumberedTexts:
    """Return random letters and numbers, as in `attention_sink`, without the start token."""
    letters, numbers = attention_sink.texts(count, length + 1, seed)
    return NumberedTexts(letters[:, 1:], numbers[:, 1:])


class SilentHead(nn.Module):
    """One head over letters and numbers, and a gate or a sink by which it may return less than a mean."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.head = attention_sink.Head()
        self.gate = nn.Parameter(torch.zeros(NUM_LETTERS))  # one number for each letter
        self.sink = nn.Parameter(torch.zeros(()), requires_grad=kind == "sink, learned")

    @property
    def has_sink(self) -> bool:
        """Return True if a sink competes with the keys."""
        return self.kind.startswith("sink")

    def forward(self, text: NumberedTexts, mask: Tensor) -> Tensor:
        """Return the output of the head, (B, T), under a boolean mask (T, T)."""
        q = self.head.queries(text.letters)
        k = self.head.keys(text.letters)
        scores = (q @ k.mT / WIDTH**0.5).masked_fill(~mask, -torch.inf)
        context = self.read(scores, text.numbers[:, None])
        if self.kind == "gate of the token":
            return context * self.gate[text.letters].sigmoid()
        return context

    def read(self, scores: Tensor, numbers: Tensor) -> Tensor:
        """Return the weighted sum of numbers over the last axis; a sink takes its part of the weight."""
        if not self.has_sink:
            return (scores.softmax(-1) * numbers).sum(-1)
        sink = self.sink.expand(*scores.shape[:-1], 1)
        weights = torch.cat((scores, sink), -1).softmax(-1)
        return (weights[..., :-1] * numbers).sum(-1)


def train(kind: str, seed: int = 0) -> SilentHead:
    """Train a head of this kind on short texts behind a window."""
    torch.manual_seed(seed)
    head = SilentHead(kind)
    mask = window_of(LENGTH, WINDOW, 0)

    def loss_of(step: int) -> Tensor:
        text = texts(BATCH, LENGTH, 1000 * seed + step)
        right, _ = right_answers(text, mask)
        return (head(text, mask) - right).square().mean()

    minimise(head, loss_of, steps=STEPS, rate=RATE)
    return head


@torch.no_grad()
def errors(head: SilentHead, window: int = WINDOW) -> dict[str, float]:
    """Measure the mean distance from the right answer on long texts behind a window, after the first window.

    Returns {"a partner in sight": ..., "none": ...}.
    """
    mask = window_of(TEST_LENGTH, window, 0)
    text = texts(NUM_TESTS, TEST_LENGTH, TEST_SEED)
    right, has_partner = right_answers(text, mask)
    distances = (head(text, mask) - right).abs()
    late = torch.arange(TEST_LENGTH) >= WINDOW
    return {
        "a partner in sight": distances[has_partner & late].mean().item(),
        "none": distances[~has_partner & late].mean().item(),
    }


@torch.no_grad()
def error_among(head: SilentHead, num_keys: int) -> float:
    """Return the mean output of a head where none of `num_keys` keys matches, so that 0 is right."""
    source = torch.Generator().manual_seed(TEST_SEED)
    letters = torch.arange(NUM_LETTERS)[:, None]
    others = torch.randint(1, NUM_LETTERS, (NUM_LETTERS, num_keys), generator=source)
    keys = (letters ^ 1) ^ others  # never the partner
    numbers = 1 + torch.rand(NUM_LETTERS, num_keys, generator=source)
    q = head.head.queries(letters)  # (letters, 1, d)
    scores = (q @ head.head.keys(keys).mT)[:, 0] / WIDTH**0.5
    return head.read(scores, numbers).abs().mean().item()


def record(seeds: Sequence[int] = range(10)) -> dict:
    """Record the errors of each kind of head, for every seed."""
    torch.set_default_dtype(torch.float64)  # as in the notebook
    runs: dict[str, list] = {kind: [] for kind in KINDS}
    for kind, seed in ((kind, seed) for kind in KINDS for seed in seeds):
        head = train(kind, seed)
        run = {"window": errors(head), "longer window": errors(head, LONGER_WINDOW)}
        if head.has_sink:
            run["among"] = {n: error_among(head, n) for n in NUM_KEYS}
            run["sink"] = {"score": head.sink.item()}
        runs[kind].append(
            {name: {k: round(x, 4) for k, x in part.items()} for name, part in run.items()}
        )
    setting = {
        "steps": STEPS,
        "batch": BATCH,
        "rate": RATE,
        "length": LENGTH,
        "window": WINDOW,
        "longer_window": LONGER_WINDOW,
        "test_length": TEST_LENGTH,
    }
    return {"setting": setting, "seeds": list(seeds), "errors": runs}


def recorded() -> dict:
    """Return the results that were recorded for the course."""
    return recorded_runs.read("silent_head")
