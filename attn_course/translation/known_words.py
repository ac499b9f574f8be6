"""How far a sentence is from the text a translator was trained on. Knows no subwords and no model."""

import re
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

FILE = "known_words.npy"
FAR = 0.3  # share of unknown words above which a translation deserves a remark


def words_of(text: str) -> list[str]:
    """The words of a text without its punctuation.

    >>> words_of("Ein Hund, der rennt.")
    ['Ein', 'Hund', 'der', 'rennt']
    """
    return re.findall(r"\w+", text)


def _number(word):
    return zlib.crc32(word.lower().encode())


class KnownWords:
    """The words of the training text, each kept as a number of 32 bits; capitals make no difference."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = set(numbers.tolist())

    @classmethod
    def of(cls, texts: Iterable[str]) -> "KnownWords":
        """All words of the texts."""
        found: set[int] = set()
        for text in texts:
            found.update(map(_number, words_of(text)))
        return cls(np.array(sorted(found), dtype=np.uint32))

    @classmethod
    def load(cls, folder: Path) -> "KnownWords | None":
        """Those of a run folder; None of a run that kept none."""
        path = folder / FILE
        if not path.is_file():
            return None
        return cls(np.load(path))

    def save(self, folder: Path) -> None:
        numbers = np.array(sorted(self.numbers), dtype=np.uint32)
        np.save(folder / FILE, numbers)

    def unknown(self, sentence: str) -> list[str]:
        """The words of a sentence that the training text does not hold."""
        found = []
        for word in words_of(sentence):
            if _number(word) not in self.numbers:
                found.append(word)
        return found

    def remark(self, sentence: str) -> str | None:
        """One honest sentence about a text far from the training text; None if it is near."""
        unknown = self.unknown(sentence)
        total = len(words_of(sentence))
        if len(unknown) <= FAR * total:
            return None
        listed = ", ".join(unknown[:5])
        if len(unknown) > 5:
            listed += ", ..."
        return (
            f"{len(unknown)} of {total} words never occur in the German text this model learnt from "
            f"({listed}): do not trust the translation."
        )
