"""How far a sentence is from the text a translator was trained on."""

import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from attn_course.errors import UserError

FILE = "known_words.npz"
FAR = 0.3  # share of unknown words above which a translation deserves a remark


def words_of(text: str) -> list[str]:
    """The words of a text without its punctuation.

    >>> words_of("Ein Hund, der rennt.")
    ['Ein', 'Hund', 'der', 'rennt']
    """
    return re.findall(r"\w+", text)


def _number(word):
    return zlib.crc32(word.encode())


def _listed(words):
    """The first five, for a sentence."""
    listed = ", ".join(words[:5])
    return f"{listed}, ..." if len(words) > 5 else listed


class KnownWords:
    """The words of the training text as they are written there, and how many its longest line has.

    numbers: a number of 32 bits for each word.
    """

    def __init__(self, numbers: Iterable[int], longest: int) -> None:
        self.numbers = set(numbers)
        self.longest = longest

    @classmethod
    def of(cls, texts: Iterable[str]) -> "KnownWords":
        """All words of the texts."""
        numbers: set[int] = set()
        longest = 0
        for text in texts:
            words = words_of(text)
            numbers.update(map(_number, words))
            longest = max(longest, len(words))
        return cls(numbers, longest)

    @classmethod
    def load(cls, folder: Path) -> "KnownWords | None":
        """Those of a run folder; None of a run that kept none."""
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            with np.load(path) as arrays:
                return cls(arrays["numbers"].tolist(), int(arrays["longest"]))
        except Exception as error:  # a damaged file fails in many ways
            kind = type(error).__name__
            raise UserError(
                f"{path} is damaged ({kind}): delete it to do without remarks."
            ) from error

    def save(self, folder: Path) -> None:
        numbers = np.array(sorted(self.numbers), dtype=np.uint32)
        np.savez(folder / FILE, numbers=numbers, longest=self.longest)

    def unknown(self, sentence: str) -> list[str]:
        """The words of a sentence that the training text does not hold.

        Capitals count, as they do for the model; the first word may have one because it is the first.
        """
        found = []
        for place, word in enumerate(words_of(sentence)):
            known = self._holds(word)
            if place == 0:
                known = known or self._holds(word.lower())
            if not known:
                found.append(word)
        return found

    def _holds(self, word):
        return _number(word) in self.numbers

    def remark(self, sentence: str) -> str | None:
        """One honest sentence about a text far from the training text; None if it is near."""
        reason = self._why_far(sentence)
        return f"{reason}: do not trust the translation." if reason else None

    def remark_on_lines(self, lines: Sequence[str]) -> str | None:
        """The same about the lines of a text, empty ones left out: which are far."""
        far = []
        for number, line in enumerate(lines, 1):
            if line.strip() and self._why_far(line):
                far.append(str(number))
        if not far:
            return None
        return (
            f"{len(far)} of {len(lines)} lines are far from the text this model learnt from "
            f"({_listed(far)}): do not trust their translations."
        )

    def _why_far(self, sentence):
        total = len(words_of(sentence))
        if total == 0:
            return "there is no word in the sentence"
        if total > self.longest:
            return (
                f"{total} words are more than this model ever met at a time (its longest text has "
                f"{self.longest})"
            )
        unknown = self.unknown(sentence)
        if len(unknown) <= FAR * total:
            return None
        return (
            f"{len(unknown)} of {total} words never occur in the German text this model learnt from "
            f"({_listed(unknown)})"
        )
