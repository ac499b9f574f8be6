"""A corpus as subword ids."""

from itertools import chain
from typing import NamedTuple

from attn_course.translation.batches import Pair
from attn_course.translation.corpora import Corpus
from attn_course.translation.vocabulary import Vocabulary

ENCODED: dict[
    tuple, "EncodedCorpus"
] = {}  # of this process: notebooks train several slots on one text


class EncodedCorpus(NamedTuple):
    """The vocabulary of a corpus, and the ids of its training and validation pairs."""

    vocabulary: Vocabulary
    train: list[Pair]
    val: list[Pair]


def encode_corpus(corpus: Corpus, *, size: int) -> EncodedCorpus:
    """The corpus in `size` subwords, learnt once in a process."""
    key = (size, tuple(corpus.train), tuple(corpus.val))
    if key not in ENCODED:
        vocabulary = Vocabulary.learn(chain(*corpus.train), size=size)
        train = [vocabulary.encode_pair(pair) for pair in corpus.train]
        val = [vocabulary.encode_pair(pair) for pair in corpus.val]
        ENCODED[key] = EncodedCorpus(vocabulary, train, val)
    return ENCODED[key]
