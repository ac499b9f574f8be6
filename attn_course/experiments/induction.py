"""Attention-only models learn songs: after a letter of a song comes the letter that came after it before.

`python -m attn_course.runs induction` records models of one and two layers and ten seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from attn_course import records

TEST_SEED = 10**6  # no sequence of training is drawn by it
SHOWN_STEPS = 10  # how many steps lie between two measurements of a model in training
KINDS = {"two layers": 2, "one layer": 1}


@dataclass(frozen=True)
class Setting:
    """The task, the model and its training.

    A song has `shortest` to `longest` different letters; it is sung once, then snatches of it follow:
    after each letter it goes on with probability `goes_on`, else it jumps to any of its letters.
    """

    num_letters: int = 24
    length: int = 32
    shortest: int = 4
    longest: int = 24
    goes_on: float = 0.75
    width: int = 48
    num_heads: int = 2
    num_layers: int = 2
    steps: int = 400
    warm_up: int = 50
    batch: int = 64
    rate: float = 0.01


@dataclass(frozen=True)
class Batch:
    """Letters (B, T), and at which places (B, T) the next letter can be known and is asked for."""

    letters: Tensor
    asked: Tensor


def songs(setting: Setting, count: int, seed: int) -> Batch:
    """Songs and their snatches; asked for is the next letter wherever a snatch goes on."""
    source = torch.Generator().manual_seed(seed)
    letters = _different_letters(setting, count, source)
    sizes = setting.longest + 1 - setting.shortest
    lengths = setting.shortest + torch.randint(sizes, (count,), generator=source)

    at = torch.zeros(count, dtype=torch.long)  # which letter of its song a sequence is at
    places = []
    asked = torch.zeros(count, setting.length, dtype=torch.bool)
    for t in range(setting.length):
        if t > 0:
            drawn = torch.rand(2, count, generator=source)
            is_first_time = t < lengths
            has_next = at + 1 < lengths
            goes_on = has_next & (is_first_time | (drawn[0] < setting.goes_on))
            asked[:, t - 1] = goes_on & ~is_first_time
            jump = (drawn[1] * lengths).long()
            at = torch.where(goes_on, at + 1, jump)
        places.append(at)

    order = torch.stack(places, 1)
    return Batch(letters.gather(1, order), asked)


def said_twice(setting: Setting, count: int, seed: int, num_different: int = 10) -> Batch:
    """Different letters, said twice; asked for is the next letter the second time."""
    source = torch.Generator().manual_seed(seed)
    letters = _different_letters(setting, count, source)[:, :num_different]
    asked = torch.zeros(count, 2 * num_different, dtype=torch.bool)
    asked[:, num_different:-1] = True
    return Batch(letters.repeat(1, 2), asked)


def _different_letters(setting, count, source):
    """All letters (count, num_letters), each row in an order of its own."""
    drawn = torch.rand(count, setting.num_letters, generator=source)
    return drawn.argsort(1)


@dataclass(frozen=True)
class Trace:
    """What a model computed: a list entry for each layer.

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

        self.embedding = normal(setting.num_letters, D, size=1.0)
        self.places = normal(setting.length, D, size=1.0)
        self.W_q = normal(*heads, D, d)
        self.W_k = normal(*heads, D, d)
        self.W_v = normal(*heads, D, d)
        self.W_o = normal(*heads, d, D)
        self.read_out = normal(D, setting.num_letters)

    def trace(self, letters: Tensor, change: Change | None = None) -> Trace:
        """All that is computed for letters (B, T); change: what is added to the stream instead."""
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
        """Logits (B, T, letters) of the next letter."""
        return self.trace(letters).logits

    def weights_of(self, layer: int, head: int) -> tuple[np.ndarray, ...]:
        """(W_q, W_k, W_v, W_o) of one head as arrays; (D, d) three times, (d, D)."""
        maps = (self.W_q, self.W_k, self.W_v, self.W_o)
        return tuple(one[layer, head].detach().numpy() for one in maps)


@dataclass(frozen=True)
class Run:
    """A trained model, its loss at every step, and what was measured on the way: {name: a list}."""

    model: AttentionOnly
    losses: list[float]
    measured: dict[str, list[float]]


Draw = Callable[[Setting, int, int], Batch]


def train(setting: Setting | None = None, seed: int = 0, draw: Draw = songs) -> Run:
    """A model trained on what `draw` gives, measured every ten steps on letters said twice."""
    setting = setting or Setting()
    torch.manual_seed(seed)
    model = AttentionOnly(setting)
    optimiser = torch.optim.Adam(model.parameters(), lr=setting.rate, betas=(0.9, 0.98))
    losses = []
    measured: dict[str, list[float]] = {"step": [], "accuracy": [], "previous": [], "induction": []}
    for step in range(setting.steps):
        for group in optimiser.param_groups:
            group["lr"] = setting.rate * _schedule(step, setting)
        batch = draw(setting, setting.batch, 1000 * seed + step)
        loss = nn.functional.cross_entropy(*_asked_for(model(batch.letters), batch))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if (step + 1) % SHOWN_STEPS == 0:
            _measure(model, setting, step + 1, measured)

    return Run(model, losses, measured)


def _schedule(step, setting):
    """The share of the rate: up in a straight line, then down to a tenth."""
    up = (step + 1) / setting.warm_up
    down = 1 - 0.9 * (step - setting.warm_up) / max(1, setting.steps - setting.warm_up)
    return min(up, down)


def _asked_for(logits, batch):
    """Logits (n, letters) and next letters (n,) at the places that are asked."""
    asked = batch.asked[:, :-1]
    return logits[:, :-1][asked], batch.letters[:, 1:][asked]


@torch.no_grad()
def _measure(model, setting, step, measured):
    """Add accuracy and the best scores of a head in the first and in the last layer."""
    batch = said_twice(setting, 40, TEST_SEED)
    trace = model.trace(batch.letters)
    previous, following = head_scores(trace, batch)
    measured["step"].append(step)
    measured["accuracy"].append(_share_right(trace.logits, batch))
    measured["previous"].append(previous[0].max().item())
    measured["induction"].append(following[-1].max().item())


def _share_right(logits, batch):
    said, wanted = _asked_for(logits, batch)
    return (said.argmax(-1) == wanted).double().mean().item()


@torch.no_grad()
def accuracy(model: AttentionOnly, batch: Batch, change: Change | None = None) -> float:
    """The share of asked letters that are said right."""
    return _share_right(model.trace(batch.letters, change).logits, batch)


def head_scores(trace: Trace, batch: Batch) -> tuple[Tensor, Tensor]:
    """(previous-token scores, induction scores), each (layers, H), the mean over sequences."""
    weights = torch.stack(trace.weights)  # (layers, B, H, T, T)
    previous = weights.diagonal(-1, -2, -1).mean((1, 3))

    letters = batch.letters
    T = letters.shape[1]
    before = torch.cat([torch.full((len(letters), 1), -1), letters[:, :-1]], 1)
    hits = (before[:, None] == letters[:, :, None]) & torch.ones(T, T, dtype=torch.bool).tril()
    found = (weights * hits[:, None]).sum(-1)  # (layers, B, H, T)
    rows = hits.any(-1)[:, None]
    following = (found * rows).sum((1, 3)) / rows.sum()
    return previous, following


@torch.no_grad()
def ablated(model: AttentionOnly, batch: Batch, heads: Sequence[tuple[int, int]]) -> float:
    """Accuracy where these heads, (layer, head), write their mean over the sequences at each place."""

    def change(layer: int, written: Tensor) -> Tensor:
        for which, head in heads:
            if which == layer:
                written = written.clone()
                written[:, head] = written[:, head].mean(0)
        return written

    return accuracy(model, batch, change)


# One layer is not enough: four rows of four letters and the question A

LETTERS = "ABCD"
ROWS = ("ABCD", "ADCB", "CBAD", "CDAB")
SAYS_B = torch.tensor([1.0, -1.0, -1.0, 1.0])  # what follows A: B in the first and the last row


def rows_right(num_heads: int, starts: int = 60, steps: int = 300, seed: int = 0) -> Tensor:
    """How many of the four rows one layer gets right, (starts,), trained from this many random starts.

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
    """Two layers of two heads and of one, one layer, and the model that was fooled; every seed."""
    setting = Setting()
    kinds = {
        "2 layers x 2 heads": (setting, songs),
        "2 layers x 1 head": (replace(setting, num_heads=1), songs),
        "1 layer x 1 head": (replace(setting, num_heads=1, num_layers=1), songs),
        "1 layer x 4 heads": (replace(setting, num_heads=4, num_layers=1), songs),
        "1 layer, ten letters twice": (fooled_setting(), said_twice),
    }
    found: dict = {"setting": asdict(setting), "seeds": list(seeds), "runs": {}}
    for name, (own, draw) in kinds.items():
        found["runs"][name] = [_findings(own, seed, draw) for seed in seeds]
    found["four rows right, of 60 starts"] = {
        f"{H} heads": [int((rows_right(H, seed=seed) == 4).sum()) for seed in seeds]
        for H in (1, 2, 3)
    }
    return found


def fooled_setting() -> Setting:
    """One layer with one head, for ten letters said twice, always ten."""
    return replace(Setting(), num_heads=1, num_layers=1, steps=300)


def _findings(setting, seed, draw):
    """What is written down of one training."""
    run = train(setting, seed, draw)
    model = run.model
    tests = {
        "songs": songs(setting, 400, TEST_SEED),
        "ten twice": said_twice(setting, 400, TEST_SEED),
        "eight twice": said_twice(setting, 400, TEST_SEED, 8),
    }
    twice = tests["ten twice"]
    with torch.no_grad():
        previous, following = head_scores(model.trace(twice.letters), twice)
    below = [
        next((k for k, loss in enumerate(run.losses) if loss < limit), None) for limit in (2.6, 1)
    ]
    found = {name: round(accuracy(model, batch), 4) for name, batch in tests.items()}
    return found | {
        "last loss": round(run.losses[-1], 4),
        "below 2.6 and 1 at step": below,
        "previous": _rounded(previous),
        "induction": _rounded(following),
        "ablated": {
            f"layer {layer + 1}, head {head}": round(ablated(model, twice, [(layer, head)]), 4)
            for layer in range(setting.num_layers)
            for head in range(setting.num_heads)
        },
    }


def _rounded(scores):
    """Scores (layers, H) to four places, as they are written down."""
    return [[round(score, 4) for score in layer] for layer in scores.tolist()]


def recorded() -> dict:
    """What was recorded for the course."""
    return records.read("induction")
