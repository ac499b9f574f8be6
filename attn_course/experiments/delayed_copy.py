"""One causal layer learns to repeat an earlier token, with positions encoded in four ways.

`python -m attn_course.runs position` records every way and three seeds.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from attn_course import recorded_runs
from attn_course.experiments.adam import minimise
from attn_course.experiments.sinusoid_distance import BASE, frequencies
from attn_utils import attend, rotate

WAYS = ("none", "learned", "sinusoid", "RoPE")
BANDS = ((3, 15), (16, 31), (32, 63), (64, 127))  # positions of the query; the first was trained
MOST_POSITIONS = 512  # rows of the learned table
TEST_SEED = 10**6  # no sequence of training is drawn by it
LONGER_SEED = 10**7  # by which sequences are drawn to train on at a new length


@dataclass(frozen=True)
class CopySetting:
    """The task, the sizes of the model, and the length of training.

    most_offset: in training every sequence of a batch starts at one position drawn from 0..most_offset.
    """

    back: int = 3
    num_letters: int = 8
    length: int = 16
    width: int = 32
    steps: int = 400
    batch: int = 64
    rate: float = 0.01
    num_tests: int = 200
    test_length: int = 128
    most_offset: int = 0


class OneLayer(nn.Module):
    """Embedding, one head of causal attention, residual, readout: letters (B, T) -> logits (B, T, letters).

    way: how it is told of positions, one of WAYS. With RoPE, pair i turns by base ** (-2i / D) / stretch at
    every step; `extend` changes both.
    """

    def __init__(self, way: str, setting: CopySetting):
        super().__init__()
        if way not in WAYS:
            raise ValueError(f"there are {', '.join(WAYS)}, not {way!r}")

        width = setting.width
        self.way = way
        self.base = BASE
        self.stretch = 1.0
        self.letters = nn.Embedding(setting.num_letters, width)
        self.places = None
        if way == "learned":
            self.places = nn.Embedding(MOST_POSITIONS, width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.read = nn.Linear(width, setting.num_letters)

    def queries_and_keys(self, letters: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the input of the layer and its queries and keys, (B, T, D) each; positions: (T,)."""
        x = self.letters(letters)
        if self.places is not None:
            x = x + self.places(positions)
        if self.way == "sinusoid":
            x = x + sinusoid(positions, x.shape[-1])

        q = self.query(x)
        k = self.key(x)
        if self.way == "RoPE":
            places = positions / self.stretch
            q = rotate(q, places, self.base)
            k = rotate(k, places, self.base)
        return x, q, k

    def forward(self, letters: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return logits (B, T, letters) for letters (B, T) at positions (T,), by default 0, 1, 2, ..."""
        if positions is None:
            positions = torch.arange(letters.shape[1])

        x, q, k = self.queries_and_keys(letters, positions)
        v = self.value(x)
        context, _ = attend(q, k, v, causal=True, need_weights=False)
        return self.read(x + context)

    @torch.no_grad()
    def scores(self, letters: Tensor) -> Tensor:
        """Return the mean scores (T, T) over the sequences (B, T): query t with key s, divided by sqrt(D)."""
        _, q, k = self.queries_and_keys(letters, torch.arange(letters.shape[1]))
        return (q @ k.mT).mean(0) / q.shape[-1] ** 0.5


def sinusoid(positions: Tensor, width: int, base: float = BASE) -> Tensor:
    """Return sine and cosine, by turns, of positions (T,) times base ** (-2i / width): (T, width)."""
    hand = torch.tensor([0.0, 1.0])  # at twelve: (sin 0, cos 0)
    hands = hand.repeat(width // 2)

    rows = hands.expand(len(positions), width)
    return rotate(rows, -positions, base)


def draw_letters(setting: CopySetting, count: int, length: int, seed: int) -> Tensor:
    """Draw sequences (count, length) of independent, equally likely letters."""
    source = torch.Generator().manual_seed(seed)
    return torch.randint(setting.num_letters, (count, length), generator=source)


def train(way: str, seed: int = 0, setting: CopySetting | None = None) -> OneLayer:
    """Return a model trained on sequences of setting.length; its loss begins with the first token to say."""
    setting = setting or CopySetting()
    torch.manual_seed(seed)
    model = OneLayer(way, setting)
    places = torch.arange(setting.length)

    def loss_of(step: int) -> Tensor:
        letters = draw_letters(setting, setting.batch, setting.length, 1000 * seed + step)
        offset = torch.randint(setting.most_offset + 1, ())
        return _loss(model(letters, offset + places), letters, setting.back)

    minimise(model, loss_of, steps=setting.steps, rate=setting.rate)
    return model


def _loss(logits, letters, back):
    """Return the cross-entropy of logits (B, T, letters) for letters (B, T) said `back` tokens later."""
    predicted = logits[:, back:].flatten(0, 1)
    targets = letters[:, :-back].flatten()
    return nn.functional.cross_entropy(predicted, targets)


@torch.no_grad()
def accuracy(
    model: OneLayer, setting: CopySetting | None = None, back: int | None = None
) -> np.ndarray:
    """Return the share of right letters at each position, (test_length,); nan where none is to be said.

    back: which token counts as right, that of the task if None.
    """
    setting = setting or CopySetting()
    if back is None:
        back = setting.back
    T = setting.test_length
    letters = draw_letters(setting, setting.num_tests, T, TEST_SEED)
    logits = model(letters)
    predicted = logits.argmax(-1)
    targets = letters[:, : T - back]
    right = predicted[:, back:] == targets
    shares = right.double().mean(0)

    by_position = np.full(T, np.nan)
    by_position[back:] = shares.numpy()
    return by_position


def by_band(values: np.ndarray) -> list[float]:
    """Return the mean of values (test_length,) over each band of positions, leaving nan out."""
    return [float(np.nanmean(values[low : high + 1])) for low, high in BANDS]


def score_at_distance(model: OneLayer, low: int, high: int, distance: int) -> float:
    """Return the mean score of queries at positions low..high with the key `distance` before them."""
    length = high + 1
    letters = draw_letters(CopySetting(), 200, length, TEST_SEED)
    scores = model.scores(letters)

    first = max(low, distance)
    queries = torch.arange(first, length)
    keys = queries - distance
    return float(scores[queries, keys].mean())


def order_blind_bound(num_tokens: int, num_letters: int = 8) -> float:
    """Return the best chance to name one of num_tokens earlier tokens if only their counts are known.

    They are exchangeable, so the best guess is the commonest letter, right in E[max count] / num_tokens.
    E[max] adds up P(max > m); no count exceeds m with the chance that independent Poisson counts, none
    above m, add up to num_tokens, divided by the chance that any do.
    """
    rate = num_tokens / num_letters
    law = np.array([_poisson(rate, count) for count in range(num_tokens + 1)])
    any_counts = _poisson(num_tokens, num_tokens)
    expected = 0.0
    for most in range(num_tokens):
        none_above = np.zeros(num_tokens + 1)
        none_above[: most + 1] = law[: most + 1]  # of one letter's count
        total = np.ones(1)  # chances of sums, up to num_tokens
        for _ in range(num_letters):
            total = np.convolve(total, none_above)[: num_tokens + 1]
        expected += 1 - total[-1] / any_counts

    return expected / num_tokens


def _poisson(rate, count):
    """Return the chance of this count where `rate` are expected."""
    log_power = count * math.log(rate)
    log_factorial = math.lgamma(count + 1)
    return math.exp(log_power - rate - log_factorial)


def bound_by_position() -> np.ndarray:
    """Return the bound at each position of the query, (test_length,); nan where no token is to be said."""
    setting = CopySetting()
    bound = np.full(setting.test_length, np.nan)
    for position in range(setting.back, setting.test_length):
        bound[position] = order_blind_bound(position, setting.num_letters)

    return bound


def extend(model: OneLayer, frequencies: np.ndarray) -> OneLayer:
    """Return a copy of a model with RoPE whose pairs turn by these frequencies: (D / 2,), geometric."""
    first, second = frequencies[:2]
    longer = copy.deepcopy(model)
    longer.stretch = float(1 / first)
    longer.base = float((first / second) ** len(frequencies))
    return longer


def ways_to_extend(factor: float) -> dict[str, np.ndarray]:
    """Return {name: frequencies} for sequences that are longer by this factor than those of training."""
    width = CopySetting().width
    ntk_base = BASE * factor ** (width / (width - 2))
    return {
        "as trained": frequencies(width),
        "interpolated": frequencies(width) / factor,
        "NTK-aware": frequencies(width, ntk_base),
    }


def train_longer(model: OneLayer, length: int, steps: int = 100, rate: float = 0.003) -> OneLayer:
    """Return a copy of a model that was trained on with sequences of a new length."""
    setting = CopySetting()
    tuned = copy.deepcopy(model)
    optimiser = torch.optim.Adam(tuned.parameters(), lr=rate)
    for step in range(steps):
        letters = draw_letters(setting, setting.batch, length, LONGER_SEED + step)
        loss = _loss(tuned(letters), letters, setting.back)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return tuned


def share_right(model: OneLayer, length: int, back: int = 3) -> float:
    """Return the share of letters that are said rightly in sequences of this length, over all positions."""
    setting = replace(CopySetting(), test_length=length)
    return float(np.nanmean(accuracy(model, setting, back)))


def record_longer(seeds: Sequence[int] = tuple(range(5))) -> dict:
    """Record RoPE at 2 and 4 times the trained length, for each way to extend it and after more training."""
    trained = [train("RoPE", seed) for seed in seeds]
    results: dict[str, dict] = {}
    for factor in (2, 4):
        length = factor * CopySetting().length
        results[str(factor)] = {}
        for name, new in ways_to_extend(factor).items():
            models = [extend(model, new) for model in trained]
            tuned = [train_longer(model, length) for model in models]
            shares = {
                "3 back": [share_right(model, length) for model in models],
                "3 back times the factor": [share_right(m, length, 3 * factor) for m in models],
                "3 back, after 100 steps at this length": [share_right(m, length) for m in tuned],
            }
            results[str(factor)][name] = {what: _rounded(row) for what, row in shares.items()}

    return {"setting": asdict(CopySetting()), "seeds": list(seeds), "right": results}


def table_of_longer(results: dict) -> str:
    """Return a line for each factor and way: means over the seeds, the lowest and highest in brackets."""
    lines = []
    for factor, ways in results["right"].items():
        heads = ["3 back", f"{3 * int(factor)} back", "3 back, trained on"]
        lines.append(f"{factor} times the length" + "".join(f"{head:>20}" for head in heads))
        for name, measures in ways.items():
            line = f"  {name:16}"
            for shares in measures.values():
                line += f"{np.mean(shares):.2f} ({min(shares):.2f}-{max(shares):.2f})".rjust(20)
            lines.append(line)

    return "\n".join(lines)


def record(seeds: tuple[int, ...] = (0, 1, 2)) -> dict:
    """Record the accuracy by band of every way and seed, and the scores of the first seed's models.

    The ways "learned" and "sinusoid" are recorded once more, trained at random offsets.
    """
    models = {way: [train(way, seed) for seed in seeds] for way in WAYS}
    moved = replace(CopySetting(), most_offset=112)
    at_offsets = {
        way: [train(way, seed, moved) for seed in seeds] for way in ("learned", "sinusoid")
    }
    scores = {}
    for way in ("sinusoid", "RoPE"):
        model = models[way][0]
        near = [score_at_distance(model, 8, 15, distance) for distance in range(9)]
        far = [score_at_distance(model, 64, 127, distance) for distance in range(128)]
        scores[way] = {"queries 8-15": _rounded(near), "queries 64-127": _rounded(far)}
    return {
        "setting": asdict(CopySetting()),
        "bands": BANDS,
        "seeds": seeds,
        "accuracy": {way: _bands(results) for way, results in models.items()},
        "bound": _rounded(by_band(bound_by_position())),
        "scores": scores,
        "trained at offsets 0-112": {way: _bands(results) for way, results in at_offsets.items()},
    }


def _bands(models):
    """Return the accuracies of each model, by band."""
    return [_rounded(by_band(accuracy(model))) for model in models]


def _rounded(values):
    """Return the values as they are recorded, with four digits after the point."""
    return [round(float(value), 4) for value in values]


def recorded(name: str = "position") -> dict:
    """Return the results that were recorded for the course: "position", or "longer" by `record_longer`."""
    return recorded_runs.read(name)


def table(results: dict) -> str:
    """Return the accuracies of a record, a line for each way and a column for each band, seeds by slashes."""
    rows = {"": [f"{low}-{high}" for low, high in results["bands"]]}
    for way, runs in results["accuracy"].items():
        columns = zip(*runs, strict=True)
        rows[way] = [" / ".join(f"{share:.2f}" for share in column) for column in columns]
    rows["bound"] = [f"{value:.4f}" for value in results["bound"]]
    lines = [
        f"{name:10}" + "".join(f"{cell:>21}" for cell in cells) for name, cells in rows.items()
    ]
    return "\n".join(lines)


def remarks(results: dict) -> str:
    """Return further lines of a record: the score three back and its best rival, random offsets."""
    lines = []
    for way, scores in results["scores"].items():
        near = scores["queries 8-15"]
        far = scores["queries 64-127"]
        rival = 16 + int(np.argmax(far[16:]))
        lines.append(
            f"{way}: score 3 back {near[3]:.1f} at 8-15, {far[3]:.1f} at 64-127; "
            f"best distance above 15 is {rival}, score {far[rival]:.1f}"
        )
    for way, runs in results["trained at offsets 0-112"].items():
        means = np.mean(runs, 0).round(2)
        lines.append(f"{way}, trained at random offsets, mean of seeds: {means}")
    return "\n".join(lines)
