"""A corpus as subword ids, encoded once and cached for later runs."""

import hashlib
import os
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from attn_course.translation.batches import Pair
from attn_course.translation.corpora import Corpus, cache_folder
from attn_course.translation.vocabulary import Vocabulary

CACHED_FROM = 10_000  # pairs; fewer are encoded faster than a file is read
IN_MEMORY: dict[str, "EncodedCorpus"] = {}  # of this process, by digest


class EncodedCorpus(NamedTuple):
    """The vocabulary of a corpus, and the ids of its training and validation pairs."""

    vocabulary: Vocabulary
    train: list[Pair]
    val: list[Pair]


def encode_corpus(corpus: Corpus, *, size: int) -> EncodedCorpus:
    """The corpus in `size` subwords; kept in memory, and a large one in the reader's cache as well."""
    key = _digest(corpus, size)
    if key not in IN_MEMORY:
        IN_MEMORY[key] = _from_cache(corpus, size, key)
    return IN_MEMORY[key]


def _digest(corpus, size):
    """A name for the text and the size."""
    found = hashlib.sha256(str(size).encode())
    for pairs in (corpus.train, corpus.val):
        for pair in pairs:
            found.update("\n".join(pair).encode())
            found.update(b"\0")
        found.update(b"\1")
    return found.hexdigest()[:32]


def _encode(corpus, size):
    vocabulary = Vocabulary.learn(chain(*corpus.train), size=size)
    encode = vocabulary.encode_pair
    return EncodedCorpus(
        vocabulary,
        train=list(map(encode, corpus.train)),
        val=list(map(encode, corpus.val)),
    )


def _from_cache(corpus, size, key):
    """Read from the cache, or encoded now and left there; a cache that fails is done without."""
    if len(corpus.train) < CACHED_FROM:
        return _encode(corpus, size)
    folder = cache_folder() / "encoded" / key
    try:
        return _read(folder)
    except Exception:  # missing or damaged, and the tokenizer's own errors have no better name
        encoded = _encode(corpus, size)
    _write(folder, encoded)
    return encoded


def _write(folder, encoded):
    """Leave vocabulary and pairs in a folder, the pairs as one row of ids with the size of each text."""
    texts = list(chain(*encoded.train, *encoded.val))
    sizes = [len(ids) for ids in texts]
    ids = list(chain(*texts))
    aside = folder / "aside.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        encoded.vocabulary.save(folder / "vocabulary.json")
        np.savez(aside, num_train=len(encoded.train), sizes=sizes, ids=ids)
        os.replace(aside, folder / "pairs.npz")
    except OSError:
        return  # a full or read-only disk costs time, not the run


def _read(folder):
    """What `_write` left."""
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    with np.load(folder / "pairs.npz") as arrays:
        num_train = int(arrays["num_train"])
        sizes = arrays["sizes"].tolist()
        ids = iter(arrays["ids"].tolist())
    texts = [list(islice(ids, size)) for size in sizes]
    german = texts[::2]
    english = texts[1::2]
    pairs = list(zip(german, english, strict=True))
    return EncodedCorpus(vocabulary, pairs[:num_train], pairs[num_train:])
