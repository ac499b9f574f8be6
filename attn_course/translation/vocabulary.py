"""Subwords: text to ids and back, one vocabulary for both languages."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from attn_course.translation.corpora import Corpus

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
SPACE = "\u2581"  # stands for the blank before a word

Pair = tuple[list[int], list[int]]  # the ids of a German and an English text, without marks


class Vocabulary:
    """Byte-pair encoding; a piece that opens a word carries the blank before it.

    >>> vocabulary = Vocabulary.learn(["a dog runs.", "ein Hund rennt."], size=60)
    >>> vocabulary.decode(vocabulary.encode("ein dog rennt."))
    'ein dog rennt.'
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @classmethod
    def learn(cls, texts: Iterable[str], *, size: int) -> "Vocabulary":
        """Return the `size` pieces (fewer if the texts hold fewer) that shorten these texts the most."""
        model = models.BPE(unk_token=SPECIAL[UNK])
        tokenizer = Tokenizer(model)
        words = pre_tokenizers.Metaspace(prepend_scheme="first")
        marks = pre_tokenizers.Punctuation("isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, marks])
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=SPECIAL, show_progress=False, min_frequency=2
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        return cls(Tokenizer.from_file(str(path)))

    def save(self, path: Path) -> None:
        self.tokenizer.save(str(path))

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, without any mark of start or end."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def encode_pair(self, pair: tuple[str, str]) -> Pair:
        """Return the ids of a German and an English text."""
        german, english = pair
        return self.encode(german), self.encode(english)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids before the first end mark; other marks are left out."""
        kept = list(ids)
        if EOS in kept:
            kept = kept[: kept.index(EOS)]
        return self.tokenizer.decode(kept, skip_special_tokens=True)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the written form of each id."""
        return [self.tokenizer.id_to_token(i) or "" for i in ids]

    def words(self, text: str) -> list[str]:
        """Return the words of a text, as `word_numbers` counts them."""
        ids = self.encode(text)
        numbers = self.word_numbers(ids)
        pieces = self.pieces(ids)
        words: list[str] = []
        for number, piece in zip(numbers, pieces, strict=True):
            if number == len(words):
                words.append("")
            words[number] += piece.removeprefix(SPACE)
        return words

    def word_numbers(self, ids: Iterable[int]) -> list[int]:
        """Return for each id the number of its word, counted from 0; each punctuation mark is a word."""
        numbers = []
        word = -1
        for piece in self.pieces(ids):
            letters = filter(str.isalnum, piece)
            mark = not any(letters)
            if piece.startswith(SPACE) or mark:
                word += 1
            numbers.append(word)
        return numbers


class EncodedCorpus(NamedTuple):
    """The vocabulary of a corpus, and the ids of its training and validation pairs."""

    vocabulary: Vocabulary
    train: list[Pair]
    val: list[Pair]


ENCODED: dict[
    tuple, EncodedCorpus
] = {}  # of this process: notebooks train several slots on one text


def encode_corpus(corpus: Corpus, *, size: int) -> EncodedCorpus:
    """Return the corpus in `size` subwords, learnt once in a process."""
    key = (size, tuple(corpus.train), tuple(corpus.val))
    if key not in ENCODED:
        vocabulary = Vocabulary.learn(chain(*corpus.train), size=size)
        train = [vocabulary.encode_pair(pair) for pair in corpus.train]
        val = [vocabulary.encode_pair(pair) for pair in corpus.val]
        ENCODED[key] = EncodedCorpus(vocabulary, train, val)
    return ENCODED[key]
