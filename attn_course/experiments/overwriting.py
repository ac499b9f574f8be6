"""Memories that are asked for the newest value of a letter whose value changes again and again.

At each of T steps a letter gets a new value, and then a letter that has a value is asked for its newest one.
Every letter has a learned query and a learned key; one number more is learned for all letters: by how much
a state fades, by how much the score of an older key falls, or how strongly a value is written.

`python -m attn_course.runs overwriting` records ten seeds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course import recorded_runs
from attn_course.experiments.adam import minimise

KINDS = ("linear", "linear that fades", "softmax with a slope", "delta rule")
NUM_LETTERS = 6
WIDTH = 8  # of queries and keys
VALUE_WIDTH = 4
LENGTH = 32  # of the texts of training
TEST_LENGTH = 96
NUM_TESTS = 100
STEPS = 300
BATCH = 32
RATE = 0.1
TEST_SEED = 10**6
TIMES_WRITTEN = (1, 2, 4, 8)
NUMS_OF_LETTERS = (4, 6, 8, 10, 12, 16)


class AssignmentTexts(NamedTuple):
    """Letters (B, T), the value (B, T, 4) that each step writes, and the letter (B, T) that it asks for."""

    letters: Tensor
    values: Tensor
    asked: Tensor


def texts(count: int, length: int, seed: int, num_letters: int = NUM_LETTERS) -> AssignmentTexts:
    """Draw random letters and values; each letter that has a value is asked for equally often."""
    source = torch.Generator().manual_seed(seed)
    letters = torch.randint(num_letters, (count, length), generator=source)
    values = torch.randn(count, length, VALUE_WIDTH, generator=source)
    has_value = functional.one_hot(letters, num_letters).cumsum(1) > 0  # (B, T, letters)
    choices = torch.multinomial(has_value.flatten(0, 1).double(), 1, generator=source)
    return AssignmentTexts(letters, values, choices.reshape(count, length))


def newest_values(text: AssignmentTexts) -> tuple[Tensor, Tensor]:
    """Return the right answers (B, T, 4), and how often the asked letter has been written so far (B, T)."""
    T = text.letters.shape[1]
    is_asked = text.letters[:, None] == text.asked[:, :, None]  # (B, T, T)
    is_asked &= torch.ones(T, T, dtype=torch.bool).tril()
    newest = (is_asked * torch.arange(1, T + 1)).argmax(-1)  # (B, T)
    index = newest[..., None].expand(*newest.shape, VALUE_WIDTH)
    return text.values.gather(1, index), is_asked.sum(-1)


class LetterMemory(nn.Module):
    """Queries and keys of letters, and one of four ways to keep values."""

    def __init__(self, kind: str, num_letters: int = NUM_LETTERS) -> None:
        super().__init__()
        self.kind = kind
        self.queries = nn.Embedding(num_letters, WIDTH)
        self.keys = nn.Embedding(num_letters, WIDTH)
        self.number = nn.Parameter(torch.tensor(-1.0))

    def forward(self, text: AssignmentTexts) -> Tensor:
        """Return what is read at each step, (B, T, 4)."""
        q, k = self.queries(text.asked), self.keys(text.letters)
        if self.kind == "delta rule":
            return self._overwrite(q, k, text.values)
        return self.weights(q, k) @ text.values

    @property
    def strength(self) -> Tensor:
        """Return the strength of a write, between 0 and 2."""
        return 2 * self.number.sigmoid()

    def weights(self, q: Tensor, k: Tensor) -> Tensor:
        """Return the weights (B, T, T) of all values written so far, for q and k (B, T, d)."""
        T = q.shape[1]
        past = torch.ones(T, T, dtype=torch.bool).tril()
        age = torch.arange(T)[:, None] - torch.arange(T)
        if self.kind == "softmax with a slope":
            scores = q @ k.mT / WIDTH**0.5 - functional.softplus(self.number) * age
            return scores.masked_fill(~past, -torch.inf).softmax(-1)
        if self.kind == "linear that fades":
            kept = (functional.logsigmoid(-self.number) * age.clamp(min=0)).exp()
            return q @ k.mT * kept * past
        products = q.exp() @ k.exp().mT * past
        return products / products.sum(-1, keepdim=True)

    def _overwrite(self, q, k, values):
        """Read a state that the delta rule writes, with keys of length one."""
        k = functional.normalize(k, dim=-1)
        state = values.new_zeros(len(values), WIDTH, VALUE_WIDTH)
        outputs = []
        for query, key, value in zip(q.unbind(1), k.unbind(1), values.unbind(1), strict=True):
            old = (key[:, None] @ state)[:, 0]  # (B, 4)
            state = state + self.strength * key[:, :, None] * (value - old)[:, None]
            outputs.append((query[:, None] @ state)[:, 0])
        return torch.stack(outputs, 1)


def train(kind: str, seed: int = 0, num_letters: int = NUM_LETTERS) -> LetterMemory:
    """Train a memory of this kind on short texts."""
    torch.manual_seed(seed)
    memory = LetterMemory(kind, num_letters)

    def loss_of(step: int) -> Tensor:
        text = texts(BATCH, LENGTH, 1000 * seed + step, num_letters)
        right, _ = newest_values(text)
        return (memory(text) - right).square().mean()

    minimise(memory, loss_of, steps=STEPS, rate=RATE)
    return memory


@torch.no_grad()
def errors(memory: LetterMemory, length: int = LENGTH) -> dict[str, float]:
    """Measure the mean squared error on texts of this length, by how often the letter was written.

    Returns {"all": ..., "1": ..., "2": ..., "4": ..., "8": ...}.
    """
    num_letters = memory.queries.num_embeddings
    text = texts(NUM_TESTS, length, TEST_SEED, num_letters)
    right, times = newest_values(text)
    squares = (memory(text) - right).square().mean(-1)
    of_all = {"all": squares.mean().item()}
    return of_all | {str(m): squares[times == m].mean().item() for m in TIMES_WRITTEN}


def error_of_the_mean(length: int = LENGTH) -> float:
    """Return the error of the mean of all values of the asked letter: 1 - 1/m for m writes, on average."""
    _, times = newest_values(texts(NUM_TESTS, length, TEST_SEED))
    return (1 - 1 / times).mean().item()


def record(seeds: Sequence[int] = range(10)) -> dict:
    """Record the errors of every kind and seed, and those of the delta rule by the number of letters."""
    torch.set_default_dtype(torch.float64)  # as in the notebook
    runs: dict[str, list] = {kind: [] for kind in KINDS}
    for kind, seed in ((kind, seed) for kind in KINDS for seed in seeds):
        memory = train(kind, seed)
        run = {"32": errors(memory), "96": errors(memory, TEST_LENGTH)}
        if kind == "delta rule":
            run["strength"] = {"eta": memory.strength.item()}
        runs[kind].append(
            {name: {k: round(x, 4) for k, x in part.items()} for name, part in run.items()}
        )
    by_letters = {
        str(n): [
            round(errors(train("delta rule", seed, n), TEST_LENGTH)["all"], 4) for seed in seeds[:3]
        ]
        for n in NUMS_OF_LETTERS
    }
    setting = {
        "steps": STEPS,
        "batch": BATCH,
        "rate": RATE,
        "letters": NUM_LETTERS,
        "width": WIDTH,
        "length": LENGTH,
        "test_length": TEST_LENGTH,
    }
    floors = {str(T): round(error_of_the_mean(T), 4) for T in (LENGTH, TEST_LENGTH)}
    return {
        "setting": setting,
        "seeds": list(seeds),
        "error_of_the_mean": floors,
        "errors": runs,
        "delta_rule_by_letters": by_letters,
    }


def recorded() -> dict:
    """Return the results that were recorded for the course."""
    return recorded_runs.read("overwriting")
