"""What a class misunderstood, who may need a word, and which answers may be copies.

A copy, of a classmate or of the public solution, is a hint to a person and never costs a point.
"""

import contextlib
import io
import keyword
import re
import textwrap
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from zlib import crc32

from attn_course.markers import BEGIN, END
from attn_course.register import Part, Question
from attn_course.verdict import State
from attn_grader.gradebook import Sheet
from attn_grader.references import Reference
from attn_grader.spreadsheet import csv_text, guarded

NUM_BINS = 10  # of the histogram
FEWEST_TRIES = 3  # from which on a student may be said to try in vain
LEAST_SUCCESS = 0.25  # the share of correct answers below which they do
COLUMNS = ("question", "title", "part", "mistake", "count", "of", "students")
FEWEST_LETTERS = 60  # shorter answers are alike by chance
GRAM = 10  # tokens in a row
WINDOW = 4  # of every so many grams in a row at least one is kept
FEWEST_PRINTS = 16  # answers with fewer prints of their own are trivial
MOST_HOLDERS = 4  # what more students have written is how one writes it
LEAST_SHARE = 0.8
FEWEST_TOKENS = 40  # of a solution; many students write a shorter one alike
REGION = re.compile(rf"^ *{BEGIN}\n(.*?)^ *{END}$", re.M | re.S)
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
PUBLISHED = "the code is that of the published solution, but for names. It costs no points."
UNREAD = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER)


@dataclass(frozen=True)
class Mistake:
    """A known mistake in one part of a question, and the students who made it."""

    question: Question
    part: Part
    sentence: str
    students: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many students made it."""
        return len(self.students)


def mistakes_of(sheets: Iterable[Sheet]) -> list[Mistake]:
    """Return the named mistakes of a class, the most frequent first, in the order of questions if alike."""
    mistakes: dict[tuple[str, str, str], Mistake] = {}
    for sheet in sheets:
        for entry in sheet.entries:
            if entry.mistake and entry.status == State.NOT_YET:
                key = entry.question.id, entry.part.kind, entry.mistake
                new = Mistake(entry.question, entry.part, entry.mistake)
                mistakes.setdefault(key, new).students.append(sheet.student)
    return sorted(
        mistakes.values(), key=lambda mistake: (-mistake.count, order_of(mistake.question))
    )


def order_of(question: Question) -> tuple[int, ...]:
    """Return the key by which questions are sorted: 1.10 comes after 1.9."""
    return tuple(map(int, question.id.split(".")))


def by_part(mistakes: Iterable[Mistake]) -> dict[tuple[str, str], list[Mistake]]:
    """Return {(question, kind): its mistakes}, in the order given."""
    groups = defaultdict(list)
    for mistake in mistakes:
        groups[mistake.question.id, mistake.part.kind].append(mistake)
    return groups


def mistakes_csv(mistakes: Sequence[Mistake], num_students: int, *, names: bool) -> str:
    """Return the text of mistakes.csv; names: whether it says who made them."""
    columns = COLUMNS if names else COLUMNS[:-1]
    rows = []
    for mistake in mistakes:
        cells = {
            "question": mistake.question.id,
            "title": mistake.question.title,
            "part": mistake.part.kind,
            "mistake": mistake.sentence,
            "count": str(mistake.count),
            "of": str(num_students),
            "students": "; ".join(mistake.students),
        }
        rows.append({column: guarded(cells[column]) for column in columns})
    return csv_text(rows, columns)


def histogram(sheets: Iterable[Sheet]) -> list[int]:
    """Return how many students have which share of the points, in NUM_BINS equal ranges.

    Students without a known point are left out.
    """
    counts = [0] * NUM_BINS
    for sheet in sheets:
        points = sheet.total()
        most = sheet.out_of()
        if points is not None and most:
            counts[min(int(NUM_BINS * points / most), NUM_BINS - 1)] += 1
    return counts


def not_begun(sheets: Iterable[Sheet]) -> list[str]:
    """Return the students who handed in nothing, or notebooks without an answer of theirs."""
    blank = {State.ABSENT, State.NOT_ATTEMPTED}
    return [
        sheet.student
        for sheet in sheets
        if not sheet.ungraded and {entry.status for entry in sheet.entries} <= blank
    ]


def in_vain(sheets: Iterable[Sheet]) -> list[tuple[str, int, int]]:
    """Return (student, correct, answered) for those who answer much and have little right."""
    rows = []
    for sheet in sheets:
        counts = Counter(entry.status for entry in sheet.entries)
        correct, wrong = counts[State.CORRECT], counts[State.NOT_YET]
        if wrong >= FEWEST_TRIES and correct < LEAST_SUCCESS * (correct + wrong):
            rows.append((sheet.student, correct, correct + wrong))
    return rows


def note_published(sheet: Sheet, references: Mapping[str, Reference]) -> None:
    """Add a remark to a sheet for each answer that is the published solution."""
    for entry in sheet.entries:
        solution = references.get(entry.question.id, Reference()).code
        if entry.part.kind == "code" and is_published(entry.answer, solution):
            sheet.published.append(entry.question.id)
            sheet.remarks.append(f"{entry.question.id}: {PUBLISHED}")


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
