"""What graders and students read: the class, a question's written answers, one's feedback. No HTML."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from attn_course.grading.gradebook import Entry, Gradebook, Sheet
from attn_course.grading.record import State
from attn_course.grading.references import Reference
from attn_course.grading.render import render
from attn_course.grading.similarity import (
    Likeness,
    plain_words,
    same_answers,
)
from attn_course.register import Part, Question, points_of

LOOK = {
    State.CORRECT: "good",
    State.READ: "good",
    State.NOT_YET: "bad",
    State.WAITING: "wait",
    State.NOT_ATTEMPTED: "",
    State.ABSENT: "",
}
SHADES = (State.CORRECT, State.NOT_YET, State.WAITING, State.READ)
HEADING = re.compile(r"\*\*Rubric[^*]*\*\*")
ITEM = re.compile(r"([⅓⅔¼½¾]|\d)\s+(\S.*)", re.S)
FRACTIONS = {"⅓": "1/3", "⅔": "2/3", "¼": "1/4", "½": "1/2", "¾": "3/4"}
LONGEST_LABEL = 120


def student_page(book: Gradebook, sheet: Sheet) -> str:
    """Return the feedback for one student."""
    return render(
        "student.html",
        f"Feedback for {book.name_of(sheet.student)}",
        book=book,
        sheet=sheet,
        tiers=sheet.tiers,
        look=LOOK,
    )


@dataclass(frozen=True)
class ClassRow:
    """One student on the page of the class."""

    sheet: Sheet
    name: str  # as the roster has it
    link: str
    numbers: list[float | None]

    @property
    def kinds(self) -> str:
        """What one can filter by."""
        held = {
            "problem": self.sheet.problems,
            "waiting": self.sheet.num_waiting,
            "remark": self.sheet.remarks,
            "late": self.sheet.days_late,
        }
        return " ".join(kind for kind, has in held.items() if has)


@dataclass(frozen=True)
class QuestionRow:
    """One part of a question on the page of the class."""

    question: Question
    part: Part
    counts: Counter[State]

    @property
    def done(self) -> int:
        """How many are right, or read by a person."""
        return self.counts[State.CORRECT] + self.counts[State.READ]

    @property
    def shares(self) -> list[tuple[str, float]]:
        """(colour, percentage) of each piece of the bar."""
        pieces = []
        for state in SHADES:
            share = self._share(self.counts[state])
            pieces.append((LOOK[state], 100 * share))
        return pieces

    @property
    def done_share(self) -> float:
        """Between 0 and 1."""
        return self._share(self.done)

    def _share(self, number):
        return number / max(self.counts.total(), 1)

    @property
    def place(self) -> tuple[int, ...]:
        """What it is sorted by."""
        numbers = self.question.id.split(".")
        return tuple(map(int, numbers))


@dataclass(frozen=True)
class Item:
    """One thing that a rubric gives points for."""

    points: str  # as "1/3"
    label: str


@dataclass(frozen=True)
class Card:
    """One answer on the page of a question."""

    name: str
    entry: Entry
    hints: list[str] = field(default_factory=list)


class AnswersPage:
    """The answers to one part of a question that a person marks, beside reference and rubric.

    Of a written part these are all, of a part with a judge those that await a person.
    """

    def __init__(
        self,
        question: Question,
        reference: Reference,
        names: Mapping[str, str],
        kind: str = "written",
    ):
        """names: {student: name on the page}; an anonymous page is sorted by these."""
        self.question = question
        self.kind = kind
        self.reference = reference
        self.names = names
        self.entries: dict[str, Entry] = {}
        self.tiers: Counter[str] = Counter()

    def add(self, sheet: Sheet) -> None:
        """Add a student's answer, if there is one or was."""
        for entry in sheet.entries:
            is_it = entry.question is self.question and entry.kind == self.kind
            is_marked = self.kind == "written" or entry.is_waiting or entry.mark
            if is_it and is_marked and (entry.answer or entry.previous):
                self.entries[self.names[sheet.student]] = entry
                self.tiers += sheet.tiers

    @property
    def name(self) -> str:
        """As "1.7", or "1.4-code" for a part that has a judge."""
        return self.question.id if self.kind == "written" else f"{self.question.id}-{self.kind}"

    @property
    def num_waiting(self) -> int:
        """How many answers have no points yet."""
        return sum(entry.is_waiting for entry in self.entries.values())

    def html(self, *, anonymous: bool) -> str:
        """Return the page."""
        names = sorted(self.entries) if anonymous else list(self.entries)
        hints = self._hints()
        most = self.question.part(self.kind).points
        cards = [Card(name, self.entries[name], hints.get(name, [])) for name in names]
        return render(
            "written.html",
            f"{self.question.id} {self.question.title}",
            page=self,
            reference=self.reference,
            items=rubric_items(self.reference.rubric, most),
            most=most,
            cards=cards,
            anonymous=anonymous,
            tiers=self.tiers,
        )

    def _hints(self):
        answers = {name: entry.answer for name, entry in self.entries.items()}
        found = {}
        for name, others in same_answers(answers).items():
            found[name] = [f"the same words as {_listed(others)}"]
        reference = plain_words(self.reference.answer)
        for name, text in answers.items():
            if text and plain_words(text) == reference:
                found.setdefault(name, []).append("the same words as the reference")
        return found


class ClassPage:
    """The class at a glance, gathered one student at a time."""

    def __init__(self, book: Gradebook):
        self.book = book
        self.rows: list[ClassRow] = []
        self.tiers: Counter[str] = Counter()
        self.questions: list[QuestionRow] = []
        for question in book.questions:
            for part in question.parts:
                row = QuestionRow(question, part, Counter())
                self.questions.append(row)

    def add(self, sheet: Sheet, link: str) -> None:
        """Add a student, whose feedback is at `link`."""
        numbers = [sheet.of(name) for name in self.book.notebooks]
        numbers.append(sheet.total())
        if self.book.has_bonus:
            numbers.append(sheet.total(bonus=True))
        numbers.append(sheet.num_waiting)
        name = self.book.name_of(sheet.student)
        shown = ClassRow(sheet, name, link, numbers)
        self.rows.append(shown)
        self.tiers += sheet.tiers
        for row, entry in zip(self.questions, sheet.entries, strict=True):
            row.counts[entry.status] += 1

    def html(
        self,
        counts: Mapping[str, int],
        answers: Sequence[AnswersPage],
        alike: list[Likeness] | None = None,
    ) -> str:
        """counts: figures for the top. answers: the pages on which a person marks."""
        return render(
            "class.html",
            "Gradebook",
            counts=counts,
            notebooks=self.book.notebooks,
            worth=points_of,
            has_due=self.book.roster.has_due,
            has_bonus=self.book.has_bonus,
            rows=self.rows,
            answers=answers,
            alike=alike or [],
            questions=self.questions,
            tiers=self.tiers,
        )


def _listed(names, longest=5):
    shown = ", ".join(names[:longest])
    others = len(names) - longest
    return f"{shown} and {others} others" if others > 0 else shown


def rubric_items(rubric: str, most: float) -> list[Item]:
    """Return what a rubric such as "⅓ this · ⅓ that · ⅓ more" gives points for, in order.

    Where its parts make one whole and the question is worth `most`, they are shares of that.
    """
    text = HEADING.sub("", rubric)
    pieces = [ITEM.match(piece.strip()) for piece in re.split(r"\s·\s", text)]
    found = [piece for piece in pieces if piece]
    amounts = [Fraction(FRACTIONS.get(piece[1], piece[1])) for piece in found]
    scale = Fraction(most) if sum(amounts) == 1 else Fraction(1)
    items = []
    for amount, piece in zip(amounts, found, strict=True):
        points = scale * amount
        label = _label(piece[2])
        items.append(Item(str(points), label))
    return items


def _label(text):
    """Its first sentence as plain words; what follows is a remark to the grader."""
    words = " ".join(text.split())
    first = re.split(r"\.\s", words)[0]
    plain = re.sub(r"[*$\\{}]", "", first)
    if len(plain) <= LONGEST_LABEL:
        return plain
    begin = plain[:LONGEST_LABEL].rstrip()
    return f"{begin} …"
