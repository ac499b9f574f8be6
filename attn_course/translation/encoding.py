"""A corpus as numbers, learnt and encoded once for every run that wants it. Knows no model."""

import hashlib
import os
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attn_course.translation.batches import Pair
from attn_course.translation.corpora import Corpus, cache_folder
from attn_course.translation.vocabulary import Vocabulary

WORTH_A_FILE = 10_000  # pairs; fewer are encoded before a file is found

_known: dict[str, "EncodedCorpus"] = {}


class EncodedCorpus(NamedTuple):
    """The vocabulary of a corpus, and the ids of its training and validation pairs."""

    vocabulary: Vocabulary
    train: list[Pair]
    val: list[Pair]


def encode_corpus(corpus: Corpus, *, size: int) -> EncodedCorpus:
    """The corpus in `size` subwords; kept in memory, and a large one in the reader's cache as well."""
    key = _digest(corpus, size)
    if key not in _known:
        _known[key] = _from_cache(corpus, size, key)
    return _known[key]


def _digest(corpus: Corpus, size: int) -> str:
    """A name for the text and the size."""
    found = hashlib.sha256(str(size).encode())
    for pairs in (corpus.train, corpus.val):
        for pair in pairs:
            found.update("\n".join(pair).encode())
            found.update(b"\0")
        found.update(b"\1")
    return found.hexdigest()[:32]


def _encode(corpus: Corpus, size: int) -> EncodedCorpus:
    vocabulary = Vocabulary.learn(chain(*corpus.train), size=size)
    train = [vocabulary.encode_pair(pair) for pair in corpus.train]
    val = [vocabulary.encode_pair(pair) for pair in corpus.val]
    return EncodedCorpus(vocabulary, train, val)


def _from_cache(corpus: Corpus, size: int, key: str) -> EncodedCorpus:
    """Read from the cache, or encoded now and left there; a cache that fails is done without."""
    if len(corpus.train) < WORTH_A_FILE:
        return _encode(corpus, size)
    folder = cache_folder() / "encoded" / key
    try:
        return _read(folder)
    except (OSError, ValueError, KeyError, EOFError):
        encoded = _encode(corpus, size)
    except Exception:  # the tokenizer's own errors have no better name
        encoded = _encode(corpus, size)
    _write(folder, encoded)
    return encoded


def _write(folder: Path, encoded: EncodedCorpus) -> None:
    arrays = {"num_train": np.array(len(encoded.train))}
    pairs = encoded.train + encoded.val
    sequences = [ids for pair in pairs for ids in pair]
    arrays["sizes"] = np.array([len(ids) for ids in sequences], dtype=np.int32)
    arrays["ids"] = np.array(list(chain(*sequences)), dtype=np.int32)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        encoded.vocabulary.save(folder / "vocabulary.json")
        np.savez(folder / "aside.npz", **arrays)
        os.replace(folder / "aside.npz", folder / "pairs.npz")
    except OSError:
        return  # a full or read-only disk costs time, not the run


def _read(folder: Path) -> EncodedCorpus:
    with np.load(folder / "pairs.npz") as arrays:
        num_train = int(arrays["num_train"])
        ends = np.cumsum(arrays["sizes"])
        ids = arrays["ids"].tolist()
    starts = np.concatenate([[0], ends[:-1]])
    sequences = [ids[a:b] for a, b in zip(starts, ends, strict=True)]
    pairs = list(zip(sequences[::2], sequences[1::2], strict=True))
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    return EncodedCorpus(vocabulary, pairs[:num_train], pairs[num_train:])
