"""Attention-only models learn songs: after a letter of a song comes the letter that came after it before.

A song has different letters. It is sung once, then short pieces of it follow: after each letter it goes on
with probability GOES_ON, else it jumps to any of its letters.

`python -m attn_course.runs induction` records models of one and two layers and ten seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attn_course import recorded_runs

NUM_LETTERS = 24
LENGTH = 32  # of a song with its pieces
SHORTEST, LONGEST = 4, 24  # songs
GOES_ON = 0.75
TEST_SEED = 10**6  # no sequence of training is drawn by it
SHOWN_STEPS = 10  # between two measurements of a model in training


@dataclass(frozen=True)
class Setting:
    """A model and its training."""

    num_layers: int = 2
    num_heads: int = 2
    width: int = 48
    steps: int = 400
    warm_up: int = 50
    batch: int = 64
    rate: float = 0.01


FOOLED = Setting(num_layers=1, num_heads=1, steps=300)  # for ten letters said twice, always ten


class LetterBatch(NamedTuple):
    """Letters (B, T), and at which places (B, T) the next letter can be known and is asked for."""

    letters: Tensor
    asked: Tensor


def songs(count: int, seed: int) -> LetterBatch:
    """Draw songs and pieces of them; the next letter is asked for wherever a piece goes on."""
    source = torch.Generator().manual_seed(seed)
    letters = _shuffled_alphabets(count, source)
    lengths = SHORTEST + torch.randint(LONGEST + 1 - SHORTEST, (count,), generator=source)

    at = torch.zeros(count, dtype=torch.long)  # which letter of its song a sequence is at
    places = [at]
    asked = torch.zeros(count, LENGTH, dtype=torch.bool)
    for t in range(1, LENGTH):
        drawn = torch.rand(2, count, generator=source)
        is_first_time = t < lengths
        has_next = at + 1 < lengths
        goes_on = has_next & (is_first_time | (drawn[0] < GOES_ON))
        asked[:, t - 1] = goes_on & ~is_first_time
        jump = (drawn[1] * lengths).long()
        at = torch.where(goes_on, at + 1, jump)
        places.append(at)

    order = torch.stack(places, 1)
    return LetterBatch(letters.gather(1, order), asked)


def said_twice(count: int, seed: int, num_different: int = 10) -> LetterBatch:
    """Draw different letters, said twice; the second time, the next letter is asked for."""
    source = torch.Generator().manual_seed(seed)
    letters = _shuffled_alphabets(count, source)[:, :num_different]
    asked = torch.zeros(count, 2 * num_different, dtype=torch.bool)
    asked[:, num_different:-1] = True
    return LetterBatch(letters.repeat(1, 2), asked)


def _shuffled_alphabets(count, source):
    """Return all letters (count, NUM_LETTERS), each row in an order of its own."""
    return torch.rand(count, NUM_LETTERS, generator=source).argsort(1)


class Trace(NamedTuple):
    """The intermediate results of a model, a list entry for each layer.

    streams: (B, T, D) before each layer, and after the last; written: (B, H, T, D), what each head adds;
    weights: (B, H, T, T); logits: (B, T, letters).
    """

    streams: list[Tensor]
    written: list[Tensor]
    weights: list[Tensor]
    logits: Tensor


Change = Callable[[int, Tensor], Tensor]  # (layer, written (B, H, T, D)) -> what is added instead


class AttentionOnly(nn.Module):
    """Embedding, places, layers of causal heads that add to the stream, read-out; no MLP, no norm."""

    def __init__(self, setting: Setting):
        super().__init__()
        D = setting.width
        d = D // setting.num_heads
        heads = (setting.num_layers, setting.num_heads)

        def normal(*shape: int, size: float = D**-0.5) -> nn.Parameter:
            return nn.Parameter(size * torch.randn(shape))

        self.embedding = normal(NUM_LETTERS, D, size=1.0)
        self.places = normal(LENGTH, D, size=1.0)
        self.W_q = normal(*heads, D, d)
        self.W_k = normal(*heads, D, d)
        self.W_v = normal(*heads, D, d)
        self.W_o = normal(*heads, d, D)
        self.read_out = normal(D, NUM_LETTERS)

    def trace(self, letters: Tensor, change: Change | None = None) -> Trace:
        """Return all intermediate results for letters (B, T); change: what is added to the stream instead."""
        T = letters.shape[1]
        visible = torch.ones(T, T, dtype=torch.bool).tril()
        x = self.embedding[letters] + self.places[:T]
        streams = [x]
        all_written = []
        all_weights = []
        for layer, maps in enumerate(zip(self.W_q, self.W_k, self.W_v, self.W_o, strict=True)):
            W_q, W_k, W_v, W_o = maps
            one = x[:, None]  # (B, 1, T, D)
            scores = (one @ W_q) @ (one @ W_k).mT / W_q.shape[-1] ** 0.5
            weights = scores.where(visible, -torch.inf).softmax(-1)
            written = weights @ (one @ W_v) @ W_o
            if change is not None:
                written = change(layer, written)
            x = x + written.sum(1)
            streams.append(x)
            all_written.append(written)
            all_weights.append(weights)
        return Trace(streams, all_written, all_weights, x @ self.read_out)

    def forward(self, letters: Tensor) -> Tensor:
        """Return logits (B, T, letters) of the next letter."""
        return self.trace(letters).logits

    def weights_of(self, layer: int, head: int) -> tuple[np.ndarray, ...]:
        """Return (W_q, W_k, W_v, W_o) of one head as arrays: (D, d) three times, then (d, D)."""
        maps = (self.W_q, self.W_k, self.W_v, self.W_o)
        return tuple(one[layer, head].detach().numpy() for one in maps)


class TrainedModel(NamedTuple):
    """A trained model, its loss at every step, and what was measured at some `steps`: {name: a list}."""

    model: AttentionOnly
    losses: list[float]
    steps: list[int]
    measured: dict[str, list[float]]


Draw = Callable[[int, int], LetterBatch]  # (how many sequences, seed)


def train(setting: Setting | None = None, seed: int = 0, draw: Draw = songs) -> TrainedModel:
    """Return a model trained on what `draw` gives, measured every ten steps on letters said twice."""
    setting = setting or Setting()
    torch.manual_seed(seed)
    model = AttentionOnly(setting)
    optimiser = torch.optim.Adam(model.parameters(), lr=setting.rate, betas=(0.9, 0.98))
    run = TrainedModel(model, [], [], {"accuracy": [], "previous": [], "induction": []})
    for step in range(setting.steps):
        for group in optimiser.param_groups:
            group["lr"] = setting.rate * _schedule(step, setting)
        batch = draw(setting.batch, 1000 * seed + step)
        loss = nn.functional.cross_entropy(*_asked_for(model(batch.letters), batch))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        run.losses.append(loss.item())
        if (step + 1) % SHOWN_STEPS == 0:
            run.steps.append(step + 1)
            for name, value in _measure(model).items():
                run.measured[name].append(value)

    return run


def _schedule(step, setting):
    """Return the factor of the learning rate: linear warm-up, then a straight line down to a tenth."""
    up = (step + 1) / setting.warm_up
    down = 1 - 0.9 * (step - setting.warm_up) / max(1, setting.steps - setting.warm_up)
    return min(up, down)


def _asked_for(logits, batch):
    """Return logits (n, letters) and next letters (n,) at the places that are asked for."""
    asked = batch.asked[:, :-1]
    return logits[:, :-1][asked], batch.letters[:, 1:][asked]


@torch.no_grad()
def _measure(model):
    """Measure the accuracy on letters said twice, and the best head of the first and of the last layer."""
    batch = said_twice(40, TEST_SEED)
    previous, following = head_scores(model.trace(batch.letters), batch)
    return {
        "accuracy": accuracy(model, batch),
        "previous": previous[0].max().item(),
        "induction": following[-1].max().item(),
    }


@torch.no_grad()
def accuracy(model: AttentionOnly, batch: LetterBatch, change: Change | None = None) -> float:
    """Return the share of asked letters that are said right."""
    predicted, targets = _asked_for(model.trace(batch.letters, change).logits, batch)
    return (predicted.argmax(-1) == targets).double().mean().item()


def head_scores(trace: Trace, batch: LetterBatch) -> tuple[Tensor, Tensor]:
    """Return (previous-token scores, induction scores), each (layers, H), the mean over sequences."""
    weights = torch.stack(trace.weights)  # (layers, B, H, T, T)
    previous = weights.diagonal(-1, -2, -1).mean((1, 3))

    letters = batch.letters
    T = letters.shape[1]
    before = torch.cat([torch.full((len(letters), 1), -1), letters[:, :-1]], 1)
    hits = (before[:, None] == letters[:, :, None]) & torch.ones(T, T, dtype=torch.bool).tril()
    on_hits = (weights * hits[:, None]).sum(-1)  # (layers, B, H, T)
    rows = hits.any(-1)[:, None]
    following = (on_hits * rows).sum((1, 3)) / rows.sum()
    return previous, following


@torch.no_grad()
def ablated(model: AttentionOnly, batch: LetterBatch, heads: Sequence[tuple[int, int]]) -> float:
    """Return the accuracy if these heads, (layer, head), write their mean over sequences at each place."""

    def change(layer: int, written: Tensor) -> Tensor:
        silenced = [head for its_layer, head in heads if its_layer == layer]
        written = written.clone()
        written[:, silenced] = written[:, silenced].mean(0)
        return written

    return accuracy(model, batch, change)


# One layer is not enough: four rows of four letters and the question A

LETTERS = "ABCD"
ROWS = ("ABCD", "ADCB", "CBAD", "CDAB")
SAYS_B = torch.tensor([1.0, -1.0, -1.0, 1.0])  # what follows A: B in the first and the last row


def rows_right(num_heads: int, starts: int = 60, steps: int = 300, seed: int = 0) -> Tensor:
    """Train one layer from many random starts; return how many of the four rows each gets right, (starts,).

    Every head has a free score and a free value (by how much it votes for B) for each letter at each place
    and for the question itself; the direct path votes too.
    """
    source = torch.Generator().manual_seed(seed)
    pairs = torch.tensor([[4 * LETTERS.index(x) + t for t, x in enumerate(row)] for row in ROWS])
    pairs = torch.cat([pairs, torch.full((4, 1), 16)], 1)  # (rows, 5)
    scores = (2 * torch.randn(starts, num_heads, 17, generator=source)).requires_grad_()
    votes = torch.randn(starts, num_heads, 17, generator=source).requires_grad_()
    direct = torch.zeros(starts, 1, requires_grad=True)
    optimiser = torch.optim.Adam([scores, votes, direct], lr=0.1)
    for _ in range(steps):
        weights = scores[..., pairs].softmax(-1)  # (starts, H, rows, 5)
        margins = (weights * votes[..., pairs]).sum((1, 3)) + direct
        loss = nn.functional.softplus(-SAYS_B * margins).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return (margins.detach() * SAYS_B > 0).sum(-1)


def record(seeds: Sequence[int] = range(10)) -> dict:
    """Record models of two layers and of one, and one trained on ten letters said twice, for every seed."""
    kinds = {
        "2 layers x 2 heads": (Setting(), songs),
        "2 layers x 1 head": (Setting(num_heads=1), songs),
        "1 layer x 1 head": (Setting(num_layers=1, num_heads=1), songs),
        "1 layer x 2 heads": (Setting(num_layers=1), songs),
        "1 layer x 4 heads": (Setting(num_layers=1, num_heads=4), songs),
        "1 layer, trained on ten letters twice": (FOOLED, said_twice),
    }
    results: dict = {"setting": asdict(Setting()), "seeds": list(seeds), "runs": {}}
    for name, (setting, draw) in kinds.items():
        runs = [train(setting, seed, draw) for seed in seeds]
        results["runs"][name] = [_findings(run) for run in runs]
    results["four rows right, of 60 starts"] = {
        num_heads: [int((rows_right(num_heads, seed=seed) == 4).sum()) for seed in seeds]
        for num_heads in (1, 2, 3)
    }
    return results


def _findings(run):
    """Return the record of one training."""
    twice = said_twice(400, TEST_SEED)
    tests = {
        "songs": songs(400, TEST_SEED),
        "ten twice": twice,
        "eight twice": said_twice(400, TEST_SEED, 8),
    }
    with torch.no_grad():
        trace = run.model.trace(twice.letters)
        previous, following = head_scores(trace, twice)
    num_layers, num_heads = previous.shape
    return {name: round(accuracy(run.model, batch), 4) for name, batch in tests.items()} | {
        "last loss": round(run.losses[-1], 4),
        "below 2.6 and 1 at step": [_first_below(run.losses, limit) for limit in (2.6, 1)],
        "previous": previous.double().numpy().round(4).tolist(),
        "induction": following.double().numpy().round(4).tolist(),
        "ablated": {
            f"layer {layer + 1}, head {head}": round(ablated(run.model, twice, [(layer, head)]), 4)
            for layer in range(num_layers)
            for head in range(num_heads)
        },
    }


def _first_below(losses, limit):
    return next((step for step, loss in enumerate(losses) if loss < limit), None)


def recorded() -> dict:
    """Return the results that were recorded for the course."""
    return recorded_runs.read("induction")
