"""What a class misunderstood, how its points are spread, and who may need a word."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from attn_course.register import Part, Question
from attn_course.verdict import State
from attn_grader.gradebook import Sheet
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
