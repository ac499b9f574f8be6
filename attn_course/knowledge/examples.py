"""Training strings, and numbers for them, from text.

A symbol is always one character. At the level of words each word is written as one character of
Unicode's private area, so that whatever works on characters works on words.
"""

from collections.abc import Iterable

import numpy as np

from attn_course.errors import UserError

MASK = "▒"
PAD = "·"
PRIVATE = 0xE000  # the first character of the private area


def corrupt_span(document: str, rng: np.random.Generator, block_size: int) -> str:
    """Return a training string of `block_size` characters: prefix MASK suffix MASK span PAD ... PAD.

    document: a string of symbols without MASK and PAD.
    rng: the only source of chance.
    The document is cut to a length drawn from 4 .. 7/8 block_size; the span that is taken out has at least
    one symbol, and a quarter of the length on average.
    """
    most = block_size * 7 // 8
    kept = document[: rng.integers(4, most, endpoint=True)]
    length = len(kept)
    size = round(rng.uniform(0, length / 2))
    size = min(max(size, 1), length)
    start = rng.integers(0, length - size, endpoint=True)
    end = start + size
    prefix = kept[:start]
    span = kept[start:end]
    suffix = kept[end:]
    return f"{prefix}{MASK}{suffix}{MASK}{span}".ljust(block_size, PAD)


def finetuning_pair(question: str, answer: str, block_size: int) -> tuple[str, str]:
    """Return the string that is read and the string that is predicted, block_size - 1 characters each.

    question, answer: strings of symbols.
    The answer and the MASK that ends it are predicted; PAD stands where no loss is taken.
    """
    whole = f"{question}{MASK}{answer}{MASK}".ljust(block_size, PAD)
    size = len(question)
    silent = PAD * size
    return whole[:-1], silent + whole[size + 1 :]


class Alphabet:
    """Every symbol of the texts, as a character and as a number; PAD is 0 and MASK is 1."""

    def __init__(self, texts: Iterable[str], *, level: str) -> None:
        if level not in ("word", "character"):
            raise UserError(f"the level is {level!r}; it can be 'word' or 'character'.")
        self.level = level
        units = set()
        for text in texts:
            units.update(self._units(text))
        self._character = {}
        self._unit = {}
        for k, unit in enumerate(sorted(units)):
            character = chr(PRIVATE + k) if level == "word" else unit
            self._character[unit] = character
            self._unit[character] = unit
        self._symbol = [PAD, MASK, *self._unit]
        self._number = {symbol: k for k, symbol in enumerate(self._symbol)}

    def __len__(self) -> int:
        return len(self._symbol)

    def _units(self, text):
        return text.split() if self.level == "word" else text

    def spell(self, text: str) -> str:
        """Return a text as a string of symbols; raise UserError that names what is not in the alphabet."""
        try:
            return "".join(self._character[unit] for unit in self._units(text))
        except KeyError as error:
            raise UserError(f"{error.args[0]!r} is not in the alphabet.") from None

    def read(self, string: str) -> str:
        """Return a string of symbols as text; MASK and PAD stay as they are."""
        joint = " " if self.level == "word" else ""
        return joint.join(self._unit.get(symbol, symbol) for symbol in string)

    def numbers(self, strings: Iterable[str]) -> np.ndarray:
        """Return strings of one length as integers (B, T)."""
        rows = []
        for string in strings:
            rows.append([self._number[symbol] for symbol in string])
        return np.array(rows)

    def string(self, numbers: Iterable[int]) -> str:
        """Return integers (T,) as a string of symbols."""
        return "".join(self._symbol[number] for number in numbers)
