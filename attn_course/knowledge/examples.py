"""Knows how text becomes training strings and numbers; knows neither the world nor the model.

A symbol is always one character. At the level of words each word is written as one character of
Unicode's private area, so that whatever works on characters works on words.
"""

import numpy as np

MASK, PAD = "▒", "·"
PRIVATE = 0xE000  # the first character of the private area


def corrupt_span(document, rng, block_size):
    """A training string of `block_size` characters: prefix MASK suffix MASK span PAD ... PAD.

    document: a string without MASK and PAD. rng: a numpy Generator, the only source of chance.
    The document is cut to a length drawn from 4 .. 7/8 block_size; a quarter of it, on average, and
    never nothing, is taken out as the span.
    """
    kept = document[: rng.integers(4, 7 * block_size // 8, endpoint=True)]
    size = round(rng.uniform(0, len(kept) / 2))
    size = min(max(size, 1), len(kept))
    start = rng.integers(0, len(kept) - size, endpoint=True)
    span, rest = kept[start : start + size], kept[start + size :]
    return f"{kept[:start]}{MASK}{rest}{MASK}{span}".ljust(block_size, PAD)


def finetuning_pair(question, answer, block_size):
    """What is read and what is to be predicted, two strings of block_size - 1 characters.

    Predicted are the answer and the MASK that ends it; PAD stands where no loss is taken.
    """
    whole = f"{question}{MASK}{answer}{MASK}".ljust(block_size, PAD)
    return whole[:-1], PAD * len(question) + whole[len(question) + 1 :]


def pretraining_pair(whole):
    """The same two strings of a corrupted document: everything but PAD is predicted."""
    return whole[:-1], whole[1:]


class Alphabet:
    """Every symbol of the texts, as a character and as a number; PAD is 0 and MASK is 1."""

    def __init__(self, texts, *, level):
        if level not in ("word", "character"):
            raise ValueError(f"the level is {level!r}; it can be 'word' or 'character'.")
        self.level = level
        units = sorted({unit for text in texts for unit in self._units(text)})
        words = level == "word"
        self._character = {u: chr(PRIVATE + k) if words else u for k, u in enumerate(units)}
        self._unit = {character: unit for unit, character in self._character.items()}
        symbols = [PAD, MASK, *self._unit]
        self._number = {symbol: number for number, symbol in enumerate(symbols)}
        self._symbol = symbols

    def __len__(self):
        return len(self._symbol)

    def _units(self, text):
        return text.split() if self.level == "word" else text

    def spell(self, text):
        """text -> string of symbols; a word or character that was never listed is named."""
        try:
            return "".join(self._character[unit] for unit in self._units(text))
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} is not in the alphabet.") from None

    def read(self, string):
        """string of symbols -> text; MASK and PAD are shown as they are."""
        joint = " " if self.level == "word" else ""
        return joint.join(self._unit.get(symbol, symbol) for symbol in string)

    def numbers(self, strings):
        """Strings of one length -> integers (B, T)."""
        return np.array([[self._number[symbol] for symbol in string] for string in strings])

    def string(self, numbers):
        """Integers (T,) -> string of symbols."""
        return "".join(self._symbol[number] for number in numbers)
