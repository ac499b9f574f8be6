"""Words cut into other pieces than usual, so that a model meets rare pieces too. Knows no model.

BPE-dropout (Provilkov, Emelianenko, Voita 2020): while a word is put together from its letters, each
possible merge is left out with some probability.
"""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

from attn_course.translation.batches import Ids, Pair
from attn_course.translation.vocabulary import UNK, Vocabulary

WAYS = 16  # cuts drawn for each word, among which each epoch chooses


class Cutter:
    """The pairs of a corpus, cut anew for every epoch: a function of seed and epoch alone.

    >>> vocabulary = Vocabulary.learn(["dogs dogs dogs"], size=30)
    >>> cutter = Cutter(vocabulary, [("dogs", "dogs dogs")], dropout=0.5, seed=1)
    >>> {vocabulary.decode(english) for epoch in range(9) for _, english in cutter.epoch(epoch)}
    {'dogs dogs'}
    """

    def __init__(
        self, vocabulary: Vocabulary, pairs: Sequence[tuple[str, str]], *, dropout: float, seed: int
    ) -> None:
        self.seed = seed
        self.vocabulary = vocabulary
        tokenizer = json.loads(vocabulary.tokenizer.to_str())
        model = tokenizer["model"]
        self.numbers: dict[str, int] = model["vocab"]
        self.ranks: dict[tuple[str, str], int] = {}
        for rank, (left, right) in enumerate(model["merges"]):
            self.ranks[left, right] = rank
        self.dropout = dropout
        self.chance = random.Random(f"cuts {seed}")
        self.ways: dict[str, list[Ids]] = {}
        self.pairs = []
        for german, english in pairs:
            self.pairs.append((self._words(german), self._words(english)))

    def epoch(self, number: int) -> list[Pair]:
        """Every pair as ids, each word cut in one of its ways."""
        choose = random.Random(f"epoch {self.seed} {number}").random

        def cut(words: list[str]) -> Ids:
            ids: Ids = []
            for word in words:
                ways = self.ways[word]
                ids += ways[int(choose() * len(ways))]
            return ids

        return [(cut(german), cut(english)) for german, english in self.pairs]

    def _words(self, text):
        words = []
        for word, _ in self.vocabulary.tokenizer.pre_tokenizer.pre_tokenize_str(text):
            words.append(word)
            if word not in self.ways:
                self.ways[word] = [self._cut(word) for _ in range(WAYS)]
        return words

    def _cut(self, word):
        """Letters merged as the vocabulary merges them, each merge left out with the chance of dropout."""
        pieces = list(word)
        while True:
            allowed = [
                found for found in self._merges(pieces) if self.chance.random() >= self.dropout
            ]
            if not allowed:
                return [self.numbers.get(piece, UNK) for piece in pieces]
            _, first = min(allowed)
            pieces[first : first + 2] = [pieces[first] + pieces[first + 1]]

    def _merges(self, pieces: list[str]) -> Iterator[tuple[int, int]]:
        """(rank, where) of each two neighbours that the vocabulary would merge."""
        neighbours = pairwise(pieces)
        for where, pair in enumerate(neighbours):
            rank = self.ranks.get(pair)
            if rank is not None:
                yield rank, where
