"""Which answers are alike, as a hint to a person."""

import io
import keyword
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

FEWEST_LETTERS = 60  # shorter answers are alike by chance
GRAM = 10  # tokens in a row
WINDOW = 4  # of every so many grams in a row at least one is kept
FEWEST_PRINTS = 16  # answers with fewer prints of their own are trivial
MOST_HOLDERS = 4  # what more students have written is how one writes it
LEAST_SHARE = 0.8
UNREAD = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER)


def same_answers(answers: Mapping[str, str]) -> dict[str, list[str]]:
    """Return {name: the others whose words are the same} for those who have any."""
    groups = defaultdict(list)
    for name, text in answers.items():
        words = plain_words(text)
        if len(words) >= FEWEST_LETTERS:
            groups[words].append(name)
    found: dict[str, list[str]] = {}
    for names in groups.values():
        for name in names:
            others = [other for other in names if other != name]
            if others:
                found[name] = others
    return found


def plain_words(text: str) -> str:
    """Return a text without capitals, marks and layout."""
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words)


@dataclass(frozen=True)
class Likeness:
    """Two students whose code for a question has much in common that others have not."""

    question: str
    one: str
    other: str
    share: float  # of the smaller one's rare prints


class SimilarCode:
    """The prints of all code answers, gathered one at a time."""

    def __init__(self) -> None:
        self.prints: dict[str, dict[str, frozenset[int]]] = defaultdict(dict)

    def add(self, question: str, student: str, code: str) -> None:
        """Add an answer."""
        self.prints[question][student] = fingerprints(code)

    def pairs(self) -> list[Likeness]:
        """Return those who are alike, the most alike first."""
        found: list[Likeness] = []
        for question, held in self.prints.items():
            found += _alike(question, held)
        return sorted(found, key=lambda likeness: -likeness.share)


def _alike(question: str, held: Mapping[str, frozenset[int]]) -> Iterator[Likeness]:
    """Yield the pairs of students who share most of their rare prints.

    held: the prints of each student's answer.
    """
    rare: Counter[str] = Counter()
    shared: Counter[tuple[str, str]] = Counter()
    for students in _holders(held):
        if len(students) <= MOST_HOLDERS:
            pairs = combinations(students, 2)
            rare.update(students)
            shared.update(pairs)
    for pair, number in shared.items():
        one, other = pair
        fewer = min(rare[one], rare[other])
        share = number / fewer
        if fewer >= FEWEST_PRINTS and share >= LEAST_SHARE:
            yield Likeness(
                question=question,
                one=one,
                other=other,
                share=share,
            )


def _holders(held):
    """Who has each print, in the order of `held`."""
    found = defaultdict(list)
    for student, prints in held.items():
        for number in prints:
            found[number].append(student)
    return found.values()


def fingerprints(code: str) -> frozenset[int]:
    """Return the prints of a code: least hashes of windows of grams, as in winnowing."""
    tokens = _tokens(code)
    grams = _runs(tokens, GRAM)
    hashes = [crc32(" ".join(gram).encode("utf-8", "replace")) for gram in grams]
    windows = _runs(hashes, WINDOW)
    return frozenset(min(window) for window in windows)


def _runs(things, length):
    """All runs of so many things one after another."""
    starts = range(len(things) - length + 1)
    return [things[start : start + length] for start in starts]


def _tokens(code):
    """The tokens of a code as far as it is Python; a name of one's own counts as any other."""
    found: list[str] = []
    lines = io.StringIO(code)
    try:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type not in UNREAD:
                found.append(_plain(token, found))
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def _plain(token, before):
    """What stands for a token; before: what stands for those before it."""
    is_attribute = before[-1:] == ["."]
    is_fixed = is_attribute or keyword.iskeyword(token.string)
    if token.type == tokenize.NAME and not is_fixed:
        return "name"
    if token.type in (tokenize.INDENT, tokenize.DEDENT):
        return "indent"
    if token.type == tokenize.STRING:
        return "text"
    return token.string
