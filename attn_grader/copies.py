"""Which answers may be copies: of the published solution, of a classmate's, of the course's own functions.

A copy is a hint to a person, remarked on and counted; it never costs a point.
"""

import ast
import contextlib
import io
import keyword
import re
import textwrap
import tokenize
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations
from zlib import crc32

from attn_course.magics import parsed
from attn_course.markers import BEGIN, END
from attn_grader.gradebook import GradebookEntry, Sheet
from attn_grader.notebook import Cell, is_changed, is_check
from attn_grader.references import Reference

OURS = ("attn_utils", "attn_course")
FEWEST_LETTERS = 60  # shorter answers are alike by chance
GRAM = 10  # tokens in a row
WINDOW = 4  # of every so many grams in a row at least one is kept
FEWEST_PRINTS = 16  # answers with fewer prints of their own are trivial
MOST_HOLDERS = 4  # what more students have written is how one writes it
LEAST_SHARE = 0.8
FEWEST_TOKENS = 40  # of a solution; many students write a shorter one alike
REGION = re.compile(rf"^ *{BEGIN}\n(.*?)^ *{END}$", re.M | re.S)
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
BORROWED = "the answer may be {}. It costs no points."
BORROWED_HEAD = "Answers that may be functions of the course itself."
PUBLISHED_HEAD = "Code that is the published solution but for names."
PUBLISHED = "the code is that of the published solution, but for names. It costs no points."
UNREAD = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER)


def published(sheet: Sheet, references: Mapping[str, Reference]) -> list[GradebookEntry]:
    """Return the entries of a sheet whose code is the published solution."""
    return [
        entry
        for entry in sheet.entries
        if entry.part.kind == "code"
        and is_published(entry.answer, references.get(entry.question.id, Reference()).code)
    ]


def same_answers(answers: Mapping[str, str]) -> dict[str, list[str]]:
    """Return {name: the others whose words are the same} for those who have any."""
    groups = defaultdict(list)
    for name, text in answers.items():
        words = plain_words(text)
        if len(words) >= FEWEST_LETTERS:
            groups[words].append(name)
    alike: dict[str, list[str]] = {}
    for names in groups.values():
        if len(names) > 1:
            alike |= {name: [other for other in names if other != name] for name in names}
    return alike


def plain_words(text: str) -> str:
    """Return a text without capitals, marks, layout and pictures."""
    return " ".join(re.findall(r"\w+", PICTURE.sub("", text).casefold()))


def is_published(answer: str, solution: str) -> bool:
    """Return True if the code of an answer is the solution's, names, texts and comments aside.

    solution: the cell with its marks; if little stands between them, many write the same.
    """
    tokens, is_long = _solution_tokens(solution)
    return is_long and _without_texts(answer) == tokens


@cache
def _solution_tokens(solution):
    """Return the tokens of a solution, and whether its own part is long enough to be told apart."""
    regions = sum(len(_without_texts(textwrap.dedent(text))) for text in REGION.findall(solution))
    return _without_texts(solution), regions >= FEWEST_TOKENS


def _without_texts(code):
    return [token for token in _tokens(code) if token != "text"]


@dataclass(frozen=True)
class Likeness:
    """Two students whose code for a question has much in common that others have not."""

    question: str
    one: str
    other: str
    share: float  # of the smaller one's rare prints


def alike_pairs(code: Mapping[str, Mapping[str, str]]) -> list[Likeness]:
    """Return those who are alike, the most alike first; code: {question: {student: answer}}."""
    pairs: list[Likeness] = []
    for question, answers in code.items():
        pairs += _alike(question, answers)
    return sorted(pairs, key=lambda likeness: -likeness.share)


def _alike(question: str, answers: Mapping[str, str]) -> Iterator[Likeness]:
    """Yield the pairs of students who share most of their rare prints."""
    holders = defaultdict(list)  # of each print, in the order of `answers`
    for student, text in answers.items():
        for number in fingerprints(text):
            holders[number].append(student)
    rare: Counter[str] = Counter()
    shared: Counter[tuple[str, str]] = Counter()
    for students in holders.values():
        if len(students) <= MOST_HOLDERS:
            rare.update(students)
            shared.update(combinations(students, 2))
    for (one, other), number in shared.items():
        fewer = min(rare[one], rare[other])
        share = number / fewer
        if fewer >= FEWEST_PRINTS and share >= LEAST_SHARE:
            yield Likeness(question, one, other, share)


def fingerprints(code: str) -> frozenset[int]:
    """Return the prints of a code: least hashes of windows of grams, as in winnowing."""
    grams = _runs(_tokens(code), GRAM)
    hashes = [crc32(" ".join(gram).encode("utf-8", "replace")) for gram in grams]
    return frozenset(map(min, _runs(hashes, WINDOW)))


def _runs(items, length):
    """Return all runs of so many items one after another."""
    return [items[start : start + length] for start in range(len(items) - length + 1)]


def _tokens(code):
    """Return the tokens of a code as far as it is Python; all names that it chose itself are one token."""
    tokens: list[str] = []
    # `tokenize` may fail on the text of a stranger in any way: SystemError, MemoryError, RecursionError.
    with contextlib.suppress(Exception):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type not in UNREAD:
                tokens.append(_plain(token, tokens))
    return tokens


def _plain(token, before):
    """Return the text that stands for a token; before: the texts of the tokens before it."""
    is_attribute = before[-1:] == ["."]
    is_fixed = is_attribute or keyword.iskeyword(token.string)
    if token.type == tokenize.NAME and not is_fixed:
        return "name"
    if token.type in (tokenize.INDENT, tokenize.DEDENT):
        return "indent"
    if token.type == tokenize.STRING:
        return "text"
    return token.string


def borrowed(cells: Sequence[Cell], handed_out: Collection[str]) -> dict[str, str]:
    """Return {name: dotted name} of what the student takes from the course under the name it has there.

    This reads imports and attributes alone. What cells as handed out import says nothing of the student.
    """
    modules = {}
    origins: dict[str, str] = {}
    for cell in cells:
        tree = parsed(cell.source) if cell.kind == "code" and not is_check(cell) else None
        used = {}
        for node in chain.from_iterable(tree.statements if tree else ()):
            match node:
                case ast.ImportFrom(module=str(module)) if module.startswith(OURS):
                    for alias in node.names:
                        modules[alias.asname or alias.name] = f"{module}.{alias.name}"
                        used[alias.name] = f"{module}.{alias.name}"
                case ast.Import():
                    for alias in node.names:
                        if alias.name.startswith(OURS):
                            modules[alias.asname or alias.name.partition(".")[0]] = alias.name
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
                    used[attribute] = f"{modules[name]}.{attribute}"
        if is_changed(cell, handed_out):
            origins |= used
    return origins
