"""Numbers and nouns that agree, "1 tensor", "the weights have", and lists, "a, b and c"."""

from collections.abc import Iterable


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 tensor", "2 tensors".

    plural: the plural of the noun, if an s at the end is not enough.
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or f'{noun}s'}"


def agree(subject: str, singular: str, plural: str) -> str:
    """Return the subject with the form of the verb that fits; a first noun in -s counts as a plural."""
    noun = subject.split(" of ")[0].split(" for ")[0]
    is_plural = noun.endswith("s") and not noun.endswith(("bias", "is", "ss", "us"))
    return f"{subject} {plural if is_plural else singular}"


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
