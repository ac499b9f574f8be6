"""One causal layer learns to say the token r back, told of positions in four ways. Knows no question.

`python -m attn_course.say_back FILE` records every way and three seeds.
"""

import json
import math
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from attn_utils import attend, rotate

WAYS = ("none", "learned", "sinusoid", "RoPE")
BANDS = ((3, 15), (16, 31), (32, 63), (64, 127))  # positions of the query; the first was trained
RUNS = Path(__file__).parent / "runs"
MOST_POSITIONS = 512  # rows of the learned table


@dataclass(frozen=True)
class Setting:
    """What is learnt, of which size, and for how long.

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

    way: how it is told of positions, one of WAYS.
    """

    def __init__(self, way: str, setting: Setting):
        super().__init__()
        if way not in WAYS:
            raise ValueError(f"there are {', '.join(WAYS)}, not {way!r}")
        width = setting.width
        self.way = way
        self.letters = nn.Embedding(setting.num_letters, width)
        self.places = nn.Embedding(MOST_POSITIONS, width) if way == "learned" else None
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.read = nn.Linear(width, setting.num_letters)

    def queries_and_keys(
        self, letters: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The input of the layer and its queries and keys, (B, T, D) each; positions: (T,)."""
        x = self.letters(letters)
        if self.way == "learned":
            x = x + self.places(positions)
        if self.way == "sinusoid":
            x = x + sinusoid(positions, x.shape[-1])
        q = self.query(x)
        k = self.key(x)
        if self.way == "RoPE":
            q = rotate(q, positions)
            k = rotate(k, positions)
        return x, q, k

    def forward(self, letters: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        if positions is None:
            positions = torch.arange(letters.shape[1])
        x, q, k = self.queries_and_keys(letters, positions)
        context, _ = attend(q, k, self.value(x), causal=True, need_weights=False)
        return self.read(x + context)

    @torch.no_grad()
    def scores(self, letters: torch.Tensor) -> torch.Tensor:
        """Mean scores (T, T) over the sequences (B, T): query t with key s, divided by sqrt(D)."""
        _, q, k = self.queries_and_keys(letters, torch.arange(letters.shape[1]))
        return (q @ k.mT).mean(0) / q.shape[-1] ** 0.5


def sinusoid(positions: torch.Tensor, width: int, base: float = 10_000.0) -> torch.Tensor:
    """Sine and cosine of positions (T,) times base ** (-2i / width), by turns: (T, width)."""
    start = torch.tensor([0.0, 1.0]).repeat(width // 2)  # every hand at twelve: (sin 0, cos 0)
    return rotate(start.expand(len(positions), width), -positions, base)


def draw_letters(setting: Setting, count: int, length: int, seed: int) -> torch.Tensor:
    """Sequences (count, length) of independent, equally likely letters."""
    source = torch.Generator().manual_seed(seed)
    return torch.randint(setting.num_letters, (count, length), generator=source)


def train(way: str, seed: int = 0, setting: Setting | None = None) -> OneLayer:
    """A model trained on sequences of setting.length; the loss starts where there is a token to say."""
    setting = setting or Setting()
    torch.manual_seed(seed)
    model = OneLayer(way, setting)
    optimiser = torch.optim.Adam(model.parameters(), lr=setting.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, setting.steps)
    for step in range(setting.steps):
        letters = draw_letters(setting, setting.batch, setting.length, 1000 * seed + step)
        offset = torch.randint(setting.most_offset + 1, ())
        logits = model(letters, offset + torch.arange(setting.length))[:, setting.back :]
        wanted = letters[:, : -setting.back]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return model


@torch.no_grad()
def accuracy(
    model: OneLayer, setting: Setting | None = None, back: int | None = None, stretch: float = 1.0
) -> np.ndarray:
    """Share of right letters at each position of the query, (test_length,); nan where there is none.

    back: which token counts as right, that of the task if None. stretch: positions are divided by it.
    """
    setting = setting or Setting()
    back = setting.back if back is None else back
    letters = draw_letters(setting, setting.num_tests, setting.test_length, seed=10**6)
    positions = torch.arange(setting.test_length)
    if stretch != 1:
        positions = positions / stretch
    said = model(letters, positions).argmax(-1)
    right = said[:, back:] == letters[:, : setting.test_length - back]
    found = np.full(setting.test_length, np.nan)
    found[back:] = right.double().mean(0).numpy()
    return found


def by_band(values: np.ndarray) -> list[float]:
    """Means of values (test_length,) over each band of positions, as far as there are values."""
    return [float(np.nanmean(values[low : high + 1])) for low, high in BANDS]


def score_at_distance(model: OneLayer, low: int, high: int, distance: int) -> float:
    """Mean score of queries at positions low..high with the key `distance` before them."""
    letters = draw_letters(Setting(), 200, high + 1, seed=10**6)
    scores = model.scores(letters)
    queries = torch.arange(max(low, distance), high + 1)
    return float(scores[queries, queries - distance].mean())


def order_blind_bound(num_tokens: int, num_letters: int = 8) -> float:
    """Best chance to name one of num_tokens earlier tokens if only their counts are known.

    They are exchangeable, so the best guess is the commonest letter, right in E[max count] / num_tokens.
    E[max] adds up P(max > m); no count exceeds m with the chance that independent Poisson counts, none
    above m, add up to num_tokens, divided by the chance that any do.
    """
    rate = num_tokens / num_letters
    counts = np.arange(num_tokens + 1)
    log_factorials = np.array([math.lgamma(n + 1) for n in counts])
    law = np.exp(counts * math.log(rate) - rate - log_factorials)  # of one letter's count
    any_counts = math.exp(
        num_tokens * math.log(num_tokens) - num_tokens - math.lgamma(num_tokens + 1)
    )
    expected = 0.0
    for most in range(num_tokens):
        total = np.ones(1)
        for _ in range(num_letters):
            total = np.convolve(total, law[: most + 1])[: num_tokens + 1]
        below = total[num_tokens] if len(total) > num_tokens else 0.0
        expected += 1 - below / any_counts
    return expected / num_tokens


def bound_by_position(setting: Setting | None = None) -> np.ndarray:
    """The bound at each position of the query, (test_length,); nan where no token is to be said."""
    setting = setting or Setting()
    found = np.full(setting.test_length, np.nan)
    for place in range(setting.back, setting.test_length):
        found[place] = order_blind_bound(place, setting.num_letters)
    return found


def record(seeds: tuple[int, ...] = (0, 1, 2)) -> dict:
    """Every way from each seed: accuracy by band, and what the models of the first seed score.

    Besides: the ways with a place for each position, trained at many offsets; RoPE with halved positions.
    """
    start = time.process_time()
    models = {way: [train(way, seed) for seed in seeds] for way in WAYS}
    moved = replace(Setting(), most_offset=112)
    offset = {way: [train(way, seed, moved) for seed in seeds] for way in ("learned", "sinusoid")}
    halved = {
        f"{back} back": [_bands(model, back=back, stretch=2) for model in models["RoPE"]]
        for back in (3, 6)
    }
    return {
        "setting": asdict(Setting()),
        "bands": BANDS,
        "seeds": seeds,
        "accuracy": {way: [_bands(model) for model in found] for way, found in models.items()},
        "bound": _rounded(by_band(bound_by_position())),
        "scores": {way: _scores(models[way][0]) for way in ("sinusoid", "RoPE")},
        "trained at offsets 0-112": {
            way: [_bands(model) for model in found] for way, found in offset.items()
        },
        "RoPE, positions halved": halved,
        "machine": f"cpu, {torch.get_num_threads()} thread, torch {torch.__version__}",
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def _bands(model, **options):
    return _rounded(by_band(accuracy(model, **options)))


def _scores(model):
    """Mean scores by distance for queries at trained and at new positions."""
    near = [score_at_distance(model, 8, 15, distance) for distance in range(9)]
    far = [score_at_distance(model, 64, 127, distance) for distance in range(128)]
    return {"queries 8-15": _rounded(near), "queries 64-127": _rounded(far)}


def _rounded(values):
    return [round(float(value), 4) for value in values]


def recorded() -> dict:
    """What was written by `main` for the course."""
    return json.loads((RUNS / "position.json").read_text(encoding="utf-8"))


def table(found: dict) -> str:
    """The accuracies of a record, a line for each way and a column for each band, seeds by slashes."""
    rows = {"": [f"{low}-{high}" for low, high in found["bands"]]}
    for way, runs in found["accuracy"].items():
        columns = zip(*runs, strict=True)
        rows[way] = [" / ".join(f"{value:.2f}" for value in column) for column in columns]
    rows["bound"] = [f"{value:.4f}" for value in found["bound"]]
    lines = []
    for name, cells in rows.items():
        filled = [f"{cell:>21}" for cell in cells]
        lines.append(f"{name:10}" + "".join(filled))
    return "\n".join(lines)


def remarks(found: dict) -> str:
    """What else a record says, a line each: peaks near and far, random offsets, halved positions."""
    lines = []
    for way, scores in found["scores"].items():
        near = scores["queries 8-15"]
        far = scores["queries 64-127"]
        rival = 16 + int(np.argmax(far[16:]))
        peaks = f"score 3 back {near[3]:.1f} at 8-15, {far[3]:.1f} at 64-127"
        lines.append(f"{way}: {peaks}; best distance above 15 is {rival}, score {far[rival]:.1f}")
    for way, runs in found["trained at offsets 0-112"].items():
        means = np.mean(runs, 0).round(2)
        lines.append(f"{way}, trained at random offsets, mean of seeds: {means}")
    for name, runs in found["RoPE, positions halved"].items():
        means = np.mean(runs, 0).round(2)
        lines.append(f"RoPE with positions halved afterwards, {name}: {means}")
    return "\n".join(lines)


def main() -> None:
    """Write the record to the file named on the command line."""
    (path,) = sys.argv[1:]
    torch.set_num_threads(1)
    whole = {"command": f"python -m attn_course.say_back {path}"} | record()
    lines = [f' "{name}": {json.dumps(value)}' for name, value in whole.items()]
    Path(path).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
