"""A small language in which one word must read two nouns at once, and a model of one layer.

`python -m attn_course.runs heads` records how often models with one head and with several are right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product

import torch
from torch import Tensor, nn

from attn_course import recorded_runs
from attn_course.experiments import heads
from attn_utils.layers import CausalSelfAttention

SINGULAR = ("cat", "dog", "bird", "child")
PLURAL = ("cats", "dogs", "birds", "children")
PLACES = ("near", "behind", "with")
SPREAD = 0.3  # of the first vectors: no softmax is saturated before it has learnt anything
HEADS = (1, 2, 4, 8)

Sentence = Sequence[str]


@dataclass(frozen=True)
class TaskSetting:
    """The width of a model and how it is trained."""

    D: int = 32
    steps: int = 300
    rate: float = 0.02


def sentences() -> list[Sentence]:
    """Return all 192 sentences such as "the dogs near the cat look different", seven words each.

    The last word is *alike* if both nouns are singular or both are plural, else *different*.
    """
    results: list[Sentence] = []
    nouns = SINGULAR + PLURAL
    for subject, neighbour, place in product(nouns, nouns, PLACES):
        is_alike = (subject in PLURAL) == (neighbour in PLURAL)
        last = "alike" if is_alike else "different"
        results.append(["the", subject, place, "the", neighbour, "look", last])

    return results


class LastWord(nn.Module):
    """Predicts the last word of a sentence, from words, positions and one layer of attention.

    attention: a causal layer, (B, T, D) -> (B, T, D). Where a method takes one, it stands in for its own.
    """

    def __init__(self, attention: nn.Module, D: int):
        super().__init__()
        language = sentences()
        length = len(language[0])
        self.vocabulary = sorted({word for sentence in language for word in sentence})
        num_words = len(self.vocabulary)
        self.attention = attention
        self.word = nn.Embedding(num_words, D)
        self.place = nn.Embedding(length, D)
        self.read = nn.Linear(D, num_words)
        self.word.weight.data *= SPREAD
        self.place.weight.data *= SPREAD

    def ids(self, sentences: Iterable[Sentence]) -> Tensor:
        """Return sentences of one length as numbers (B, T): the place of each word in the vocabulary."""
        rows = [[self.vocabulary.index(word) for word in sentence] for sentence in sentences]
        return torch.tensor(rows)

    def embed(self, ids: Tensor) -> Tensor:
        """Return the input of the layer: a vector for each word plus one for its position.

        ids: (B, T). Returns (B, T, D).
        """
        T = ids.shape[1]
        return self.word(ids) + self.place.weight[:T]

    def forward(self, ids: Tensor, attention: nn.Module | None = None) -> Tensor:
        """Return the probability of each word of the vocabulary to follow the words given.

        ids: (B, T). Returns (B, words).
        """
        layer = attention or self.attention
        z = self.embed(ids)
        logits = self.read(z + layer(z))
        return logits[:, -1].softmax(-1)

    def chances(self, ids: Tensor, attention: nn.Module | None = None) -> Tensor:
        """Return the probability of the word that does come last.

        ids: (B, T). Returns (B,).
        """
        probabilities = self(ids[:, :-1], attention)
        return probabilities.gather(-1, ids[:, -1:])[:, 0]

    def share_right(self, ids: Tensor, attention: nn.Module | None = None) -> float:
        """Return the share of sentences, (B, T), whose last word the model finds likeliest."""
        likeliest = self(ids[:, :-1], attention).argmax(-1)
        is_right = likeliest == ids[:, -1]
        return float(is_right.double().mean())

    def fit(self, ids: Tensor, *, steps: int, rate: float) -> None:
        """Train on the last word of all sentences, (B, T), all of them in every step."""
        optimiser = torch.optim.Adam(self.parameters(), lr=rate)
        for _ in range(steps):
            loss = -self.chances(ids).log().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def train(
    num_heads: int,
    seed: int,
    setting: TaskSetting | None = None,
    layer: type[nn.Module] | None = None,
) -> LastWord:
    """Return a model that is trained on all sentences.

    layer: a class that 6.6 accepts, in place of the course's; it starts from the same parameters.
    """
    setting = setting or TaskSetting()
    torch.manual_seed(seed)
    model = LastWord(CausalSelfAttention(setting.D, num_heads), setting.D)
    if layer is not None:
        model.attention = heads.start_from(model.attention, layer(setting.D, num_heads))
    model.fit(model.ids(sentences()), steps=setting.steps, rate=setting.rate)
    return model


def record(seeds: Sequence[int] = tuple(range(10))) -> dict:
    """Record the share of right last words for each number of heads and each seed, equally trained."""
    setting = TaskSetting(steps=600)
    shares: dict[str, list[float]] = {}
    num_parameters = {}
    for num_heads in HEADS:
        shares[str(num_heads)] = []
        for seed in seeds:
            model = train(num_heads, seed, setting)
            right = model.share_right(model.ids(sentences()))
            shares[str(num_heads)].append(round(right, 4))
        num_parameters[str(num_heads)] = sum(p.numel() for p in model.attention.parameters())

    return {
        "setting": asdict(setting),
        "seeds": list(seeds),
        "parameters of the layer": num_parameters,
        "right": shares,
    }


def recorded() -> dict:
    """Return the results that were recorded for the course."""
    return recorded_runs.read("heads")


def table(results: dict) -> str:
    """Return a line for each number of heads: parameters of the layer, and the share right of each seed."""
    seeds = "".join(f"{seed:>6}" for seed in results["seeds"])
    lines = [f"heads  parameters  right, by seed {seeds}"]
    for num_heads, shares in results["right"].items():
        cells = "".join(f"{share:6.0%}" for share in shares)
        count = results["parameters of the layer"][num_heads]
        lines.append(f"{num_heads:>5}  {count:>10,}                 {cells}")

    return "\n".join(lines)
