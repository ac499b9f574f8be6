"""Remarks on sentences that are far from the text a translator was trained on."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from attn_course.errors import UserError

FILE = "known_words.npz"
FAR = 0.3  # share of unknown words above which a translation is not to be trusted
COMMON = 1 / 40_000  # of all words of the training text: what a common word has at least
GERMAN = 0.25  # share of common words below which a sentence does not look German


def words_of(text: str) -> list[str]:
    """Return the words of a text without its punctuation.

    >>> words_of("Ein Hund, der rennt.")
    ['Ein', 'Hund', 'der', 'rennt']
    """
    return re.findall(r"\w+", text)


def _number(word):
    return zlib.crc32(word.encode())


def _listed(words):
    """Return the first five, for a sentence."""
    listed = ", ".join(words[:5])
    return f"{listed}, ..." if len(words) > 5 else listed


def _holds(numbers, place, word):
    """Return True if a word has one of these numbers; the first may be written with a capital."""
    return _number(word) in numbers or (place == 0 and _number(word.lower()) in numbers)


class KnownWords:
    """The words of the German training text as they are written there, and how many its longest line has.

    numbers: a number of 32 bits for each word. common: those of words that are common there, and more common
    than in the English text, so that few of them are in a sentence of another language.
    """

    def __init__(self, numbers: Iterable[int], common: Iterable[int], longest: int) -> None:
        self.numbers = set(numbers)
        self.common = set(common)
        self.longest = longest

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "KnownWords":
        """Return all words of the German texts of some pairs, German and English."""
        german: Counter[str] = Counter()
        english: Counter[str] = Counter()
        longest = 0
        for source, target in pairs:
            words = words_of(source)
            german.update(words)
            english.update(words_of(target))
            longest = max(longest, len(words))
        lowest = COMMON * german.total()
        common = [w for w, count in german.items() if count >= lowest and count > english[w]]
        return cls(map(_number, german), map(_number, common), longest)

    @classmethod
    def load(cls, folder: Path) -> "KnownWords | None":
        """Return the known words of a run folder, or None if the run kept none."""
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            with np.load(path) as arrays:
                return cls(
                    arrays["numbers"].tolist(), arrays["common"].tolist(), int(arrays["longest"])
                )
        except Exception as error:  # a damaged file fails in many ways
            kind = type(error).__name__
            raise UserError(
                f"{path} is damaged ({kind}): delete it to do without remarks."
            ) from error

    def save(self, folder: Path) -> None:
        """Keep the numbers in a run folder."""
        numbers = np.array(sorted(self.numbers), np.uint32)
        common = np.array(sorted(self.common), np.uint32)
        np.savez(folder / FILE, numbers=numbers, common=common, longest=self.longest)

    def unknown(self, sentence: str) -> list[str]:
        """Return the words of a sentence that the training text does not hold.

        Capitals count, as they do for the model; the first word may have one because it is the first.
        """
        return [
            word
            for position, word in enumerate(words_of(sentence))
            if not _holds(self.numbers, position, word)
        ]

    def remark(self, sentence: str) -> str | None:
        """Return one sentence about a text that is far from the training text or has words it has not."""
        reason = self._why_far(sentence)
        if reason:
            return f"{reason}: do not trust the translation."
        unknown = self.unknown(sentence)
        if unknown:
            return (
                f"the German text this model learnt from does not contain {_listed(unknown)}: what became of "
                f"{'this word' if len(unknown) == 1 else 'these words'} is a guess."
            )
        return None

    def remark_on_lines(self, lines: Sequence[str]) -> str | None:
        """Return a sentence that names the lines of a text that are far; empty lines are left out."""
        numbered = enumerate(lines, 1)
        far = [str(i) for i, line in numbered if line.strip() and self._why_far(line)]
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
        never = (
            f"{len(unknown)} of {total} words never occur in the German text this model learnt from "
            f"({_listed(unknown)})"
        )
        words = enumerate(words_of(sentence))
        num_common = sum(_holds(self.common, position, word) for position, word in words)
        if num_common < GERMAN * total:
            common = f"{num_common} of {total} words are common in the text it learnt from"
            reason = never if len(unknown) > FAR * total else common
            return f"this does not look like the German this model knows, since {reason}"
        return never if len(unknown) > FAR * total else None
