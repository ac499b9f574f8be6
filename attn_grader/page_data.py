"""What graders and students read: the class, a question's written answers, one's feedback. No HTML."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from attn_course.register import Part, Question, points_of
from attn_course.verdict import State
from attn_grader.copies import Likeness, plain_words, same_answers
from attn_grader.gradebook import Gradebook, GradebookEntry, Sheet
from attn_grader.insight import Mistake, by_part, histogram, in_vain, not_begun
from attn_grader.references import Reference
from attn_grader.render import render

LOOK = {
    State.CORRECT: "good",
    State.READ: "good",
    State.NOT_YET: "bad",
    State.WAITING: "wait",
    State.NOT_ATTEMPTED: "",
    State.ABSENT: "",
}
SHADES = (State.CORRECT, State.READ, State.NOT_YET, State.WAITING, State.NOT_ATTEMPTED)
HEADING = re.compile(r"\*\*Rubric[^*]*\*\*")
ITEM = re.compile(r"([⅓⅔¼½¾]|\d)\s+(\S.*)", re.S)
FRACTIONS = {"⅓": "1/3", "⅔": "2/3", "¼": "1/4", "½": "1/2", "¾": "3/4"}


def student_page(book: Gradebook, sheet: Sheet) -> str:
    """Return the feedback for one student."""
    return render(
        "student.html",
        f"Feedback for {book.name_of(sheet.student)}",
        book=book,
        sheet=sheet,
        tiers=sheet.tiers,
        look=LOOK,
        anchor=anchor,
    )


def anchor(question: Question, part: Part) -> str:
    """Return the name of a part's card on a student's page, to which others lead."""
    return f"q{question.id.replace('.', '-')}-{part.kind}"


class PartPage:
    """One part of a question: how the class did, and the answers that a person marks.

    Of a written part these are all, of a part with a judge those that await a person.
    """

    def __init__(
        self, question: Question, part: Part, reference: Reference, names: Mapping[str, str]
    ):
        """names: {student: name on the page}; an anonymous page is sorted by these."""
        self.question = question
        self.part = part
        self.reference = reference
        self.names = names
        self.counts: Counter[State] = Counter()
        self.entries: dict[str, GradebookEntry] = {}
        self.tiers: Counter[str] = Counter()
        self.is_written = part.kind == "written"
        self.name = question.id if self.is_written else f"{question.id}-{part.kind}"

    def add(self, sheet: Sheet, entry: GradebookEntry) -> None:
        """Count a student's entry for this part, and keep the answer if a person marks it."""
        self.counts[entry.status] += 1
        is_marked = self.is_written or entry.is_waiting or entry.mark
        if is_marked and (entry.answer or entry.previous):
            self.entries[self.names[sheet.student]] = entry
            self.tiers += sheet.tiers

    @property
    def has_answers(self) -> bool:
        """Whether there is a page to mark: of a written part even if nobody has answered."""
        return self.is_written or bool(self.entries)

    @property
    def num_waiting(self) -> int:
        """How many answers have no points yet."""
        return sum(entry.is_waiting for entry in self.entries.values())

    @property
    def done(self) -> int:
        """How many are right, or read by a person."""
        return self.counts[State.CORRECT] + self.counts[State.READ]

    @property
    def done_share(self) -> float:
        """Between 0 and 1."""
        return self.done / max(self.counts.total(), 1)

    @property
    def shares(self) -> list[tuple[str, float, str]]:
        """(colour, percentage, words) of each piece of the bar."""
        total = max(self.counts.total(), 1)
        return [
            (
                LOOK[state] or "none",
                100 * self.counts[state] / total,
                f"{self.counts[state]} {state}",
            )
            for state in SHADES
            if self.counts[state]
        ]

    @property
    def anchor(self) -> str:
        """The name of this part's card on a student's page."""
        return anchor(self.question, self.part)

    @property
    def place(self) -> tuple[int, ...]:
        """What it is sorted by."""
        return tuple(map(int, self.question.id.split(".")))

    def html(self, *, anonymous: bool) -> str:
        """Return the page."""
        most = self.part.points
        return render(
            "written.html",
            f"{self.question.id} {self.question.title}",
            page=self,
            items=rubric_items(self.reference.rubric, most),
            most=most,
            cards=self._cards(anonymous),
            anonymous=anonymous,
            tiers=self.tiers,
        )

    def _cards(self, anonymous):
        """Return one card for each answer; identical ones that were marked alike share a card."""
        groups: dict[object, list[str]] = {}
        for name in sorted(self.entries) if anonymous else self.entries:
            entry = self.entries[name]
            marks = [
                (mark.points, mark.comment, mark.grader) if mark else None
                for mark in (entry.mark, entry.previous)
            ]
            groups.setdefault((entry.digest, *marks), []).append(name)
        hints = self._hints()
        return [Card(names, self.entries[names[0]], hints(names)) for names in groups.values()]

    def _hints(self):
        """Return a function of the names on a card: which other answers have the same words."""
        alike = same_answers({name: entry.answer for name, entry in self.entries.items()})
        reference = plain_words(self.reference.answer)

        def hints(names):
            others = [other for other in alike.get(names[0], ()) if other not in names]
            found = [f"the same words as {_listed(others)}"] if others else []
            text = self.entries[names[0]].answer
            if text and plain_words(text) == reference:
                found.append("the same words as the reference")
            return found

        return hints


@dataclass(frozen=True)
class Card:
    """An answer on a page to mark, and all who gave it: what a person types holds for each of them."""

    names: list[str]
    entry: GradebookEntry
    hints: list[str]

    @property
    def title(self) -> str:
        """The names, or the first few of many."""
        return _listed(self.names)

    @property
    def members(self) -> str:
        """The names as the script reads them."""
        return json.dumps(self.names)


def class_page(
    book: Gradebook,
    sheets: Mapping[str, Sheet],
    *,
    counts: Mapping[str, int],
    parts: Sequence[PartPage],
    mistakes: Sequence[Mistake] = (),
    alike: Sequence[Likeness] = (),
) -> str:
    """Return the class at a glance.

    sheets: {address of the feedback: a student's sheet}. counts: figures for the top. parts: of all
    questions, with what they know of the class. mistakes: the most frequent first.
    """
    tiers: Counter[str] = Counter()
    for sheet in sheets.values():
        tiers += sheet.tiers
    return render(
        "class.html",
        "Gradebook",
        book=book,
        sheets=sheets,
        kinds=kinds,
        worth=points_of,
        counts=counts,
        parts=parts,
        mistakes=by_part(mistakes),
        links={sheet.student: link for link, sheet in sheets.items()},
        bins=histogram(sheets.values()),
        not_begun=not_begun(sheets.values()),
        in_vain=in_vain(sheets.values()),
        alike=alike,
        published=_published(sheets.values()),
        tiers=tiers,
    )


def _published(sheets):
    """Return {question: the students whose code is the published solution}."""
    students: dict[str, list[str]] = {}
    for sheet in sheets:
        for question in sheet.published:
            students.setdefault(question, []).append(sheet.student)
    return students


def kinds(sheet: Sheet) -> str:
    """Return what one can find a student by on the page of the class."""
    held = {
        "problem": sheet.problems,
        "waiting": sheet.num_waiting,
        "remark": sheet.remarks,
        "late": sheet.days_late,
    }
    return " ".join(kind for kind, has in held.items() if has)


def _listed(names, longest=5):
    shown = ", ".join(names[:longest])
    others = len(names) - longest
    return f"{shown} and {others} others" if others > 0 else shown


def rubric_items(rubric: str, most: float) -> list[tuple[str, str]]:
    """Return [("1/3", "this"), ...] for a rubric such as "⅓ this · ⅓ that · ⅓ more".

    Where its parts make one whole and the question is worth `most`, they are shares of that.
    """
    text = HEADING.sub("", rubric)
    pieces = [ITEM.match(piece.strip()) for piece in re.split(r"\s·\s", text)]
    found = [piece for piece in pieces if piece]
    amounts = [Fraction(FRACTIONS.get(piece[1], piece[1])) for piece in found]
    scale = Fraction(most) if sum(amounts) == 1 else Fraction(1)
    points = [str(scale * amount) for amount in amounts]
    labels = [_label(piece[2]) for piece in found]
    return list(zip(points, labels, strict=True))


def _label(text):
    """Return the first sentence, as Markdown; what follows is a remark to the grader."""
    return re.split(r"\.\s", " ".join(text.split()))[0]
