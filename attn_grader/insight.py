"""What a class misunderstood: named mistakes and who made them, points, and who may need a word."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from attn_course.register import Part, Question
from attn_course.verdict import State
from attn_grader.gradebook import GradebookEntry, Sheet
from attn_grader.spreadsheet import csv_text, guarded

NUM_BINS = 10  # of the histogram
FEWEST_TRIES = 3  # from which on a student may be said to try in vain
LEAST_SUCCESS = 0.25  # the share of correct answers below which they do
COLUMNS = ("question", "title", "part", "mistake", "count", "of", "students")


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
                mistake = mistakes.setdefault(
                    key, Mistake(entry.question, entry.part, entry.mistake)
                )
                mistake.students.append(sheet.student)
    return sorted(mistakes.values(), key=lambda mistake: (-mistake.count, _order(mistake.question)))


def by_part(mistakes: Iterable[Mistake]) -> dict[tuple[str, str], list[Mistake]]:
    """Return {(question, kind): its mistakes}, in the order given."""
    groups = defaultdict(list)
    for mistake in mistakes:
        groups[mistake.question.id, mistake.part.kind].append(mistake)
    return groups


def _order(question):
    return tuple(map(int, question.id.split(".")))


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


@dataclass(frozen=True)
class Bin:
    """A bar of the histogram: students whose points lie in this range of percent."""

    low: int
    high: int
    count: int
    height: float  # percentage of the highest bar


def histogram(sheets: Iterable[Sheet]) -> list[Bin]:
    """Return how many students have which share of the points; who has none that are known is left out."""
    counts = [0] * NUM_BINS
    for sheet in sheets:
        points = sheet.total()
        most = sheet.out_of()
        if points is not None and most:
            counts[min(int(NUM_BINS * points / most), NUM_BINS - 1)] += 1
    width = 100 // NUM_BINS
    highest = max(*counts, 1)
    return [
        Bin(width * number, width * (number + 1), count, 100 * count / highest)
        for number, count in enumerate(counts)
    ]


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
        right = sum(entry.status == State.CORRECT for entry in sheet.entries)
        answered = right + sum(map(_is_wrong, sheet.entries))
        if answered - right >= FEWEST_TRIES and right < LEAST_SUCCESS * answered:
            rows.append((sheet.student, right, answered))
    return rows


def _is_wrong(entry: GradebookEntry) -> bool:
    return entry.status == State.NOT_YET
