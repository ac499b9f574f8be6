"""A small language whose pronouns follow two nouns, and a model of one layer."""

from collections.abc import Iterable, Sequence
from itertools import product

import torch
from torch import Tensor, nn

SINGULAR = ("cat", "dog", "bird", "child")
PLURAL = ("cats", "dogs", "birds", "children")
PLACES = ("near", "behind", "with")
SPREAD = 0.3  # of the first vectors: no softmax is saturated before it has learnt anything

Sentence = Sequence[str]


def sentences() -> list[Sentence]:
    """All 192 sentences such as "the dogs near the cat said they like it", nine words each.

    The first pronoun follows the first noun, the second pronoun the second noun.
    """
    found: list[Sentence] = []
    nouns = SINGULAR + PLURAL
    for subject, neighbour, place in product(nouns, nouns, PLACES):
        text = f"the {subject} {place} the {neighbour} said"
        if subject in PLURAL:
            text += " they like"
        else:
            text += " it likes"
        if neighbour in PLURAL:
            text += " them"
        else:
            text += " it"
        found.append(text.split())
    return found


class NextWord(nn.Module):
    """Predicts every next word of a sentence, from words, positions and one layer of attention.

    attention: a causal layer, (B, T, D) -> (B, T, D). Where a method takes one, it stands in for its own.
    """

    def __init__(self, attention: nn.Module, D: int):
        super().__init__()
        known = sentences()
        length = len(known[0])
        self.vocabulary = sorted({word for sentence in known for word in sentence})
        num_words = len(self.vocabulary)
        self.attention = attention
        self.word = nn.Embedding(num_words, D)
        self.place = nn.Embedding(length, D)
        self.read = nn.Linear(D, num_words)
        self.word.weight.data *= SPREAD
        self.place.weight.data *= SPREAD

    def ids(self, sentences: Iterable[Sentence]) -> Tensor:
        """Sentences of equally many words as numbers.

        Returns (B, T), the place of each word in the vocabulary.
        """
        rows = []
        for sentence in sentences:
            row = [self.vocabulary.index(word) for word in sentence]
            rows.append(row)
        return torch.tensor(rows)

    def embed(self, ids: Tensor) -> Tensor:
        """What the layer reads: a vector for each word plus one for its position.

        ids: (B, T). Returns (B, T, D).
        """
        T = ids.shape[1]
        places = self.place.weight[:T]
        return self.word(ids) + places

    def forward(self, ids: Tensor, attention: nn.Module | None = None) -> Tensor:
        """The probability of each word of the vocabulary to come next.

        ids: (B, T). Returns (B, T, words).
        """
        layer = attention or self.attention
        z = self.embed(ids)
        logits = self.read(z + layer(z))
        return logits.softmax(-1)

    def chances(self, ids: Tensor, attention: nn.Module | None = None) -> Tensor:
        """The probability of each word that does come, given those before it.

        ids: (B, T). Returns (B, T - 1).
        """
        read = ids[:, :-1]
        came = ids[:, 1:, None]
        found = self(read, attention)
        return found.gather(-1, came).squeeze(-1)

    def share_right(self, ids: Tensor, attention: nn.Module | None = None) -> Tensor:
        """In how many sentences the likeliest word is the one that comes.

        ids: (B, T). Returns a share for each place, (T - 1,).
        """
        read = ids[:, :-1]
        came = ids[:, 1:]
        likeliest = self(read, attention).argmax(-1)
        is_right = likeliest == came
        return is_right.double().mean(0)

    def fit(self, ids: Tensor, *, steps: int, rate: float) -> None:
        """Learn the sentences, all of them in every step.

        ids: (B, T).
        """
        optimiser = torch.optim.Adam(self.parameters(), lr=rate)
        for _ in range(steps):
            loss = -self.chances(ids).log().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
