"""What graders and students read: the class, a question's written answers, one's feedback. No HTML."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from attn_course.grading.gradebook import Entry, Gradebook, Sheet
from attn_course.grading.record import State
from attn_course.grading.references import Reference
from attn_course.grading.render import render
from attn_course.grading.similarity import Likeness, plain_words, same_answers
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
        self.entries: dict[str, Entry] = {}
        self.tiers: Counter[str] = Counter()
        self.is_written = part.kind == "written"
        self.name = question.id if self.is_written else f"{question.id}-{part.kind}"

    def add(self, sheet: Sheet, entry: Entry) -> None:
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
    def shares(self) -> list[tuple[str, float]]:
        """(colour, percentage) of each piece of the bar."""
        total = max(self.counts.total(), 1)
        return [(LOOK[state], 100 * (self.counts[state] / total)) for state in SHADES]

    @property
    def place(self) -> tuple[int, ...]:
        """What it is sorted by."""
        return tuple(map(int, self.question.id.split(".")))

    def html(self, *, anonymous: bool) -> str:
        """Return the page."""
        names = sorted(self.entries) if anonymous else list(self.entries)
        hints = self._hints()
        most = self.part.points
        cards = [(name, self.entries[name], hints.get(name, [])) for name in names]
        return render(
            "written.html",
            f"{self.question.id} {self.question.title}",
            page=self,
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


def class_page(
    book: Gradebook,
    sheets: Mapping[str, Sheet],
    *,
    counts: Mapping[str, int],
    parts: Sequence[PartPage],
    alike: Sequence[Likeness] = (),
) -> str:
    """Return the class at a glance.

    sheets: {address of the feedback: a student's sheet}. counts: figures for the top. parts: of all
    questions, with what they know of the class.
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
        alike=alike,
        tiers=tiers,
    )


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
    """Its first sentence as plain words; what follows is a remark to the grader."""
    first = re.split(r"\.\s", " ".join(text.split()))[0]
    plain = re.sub(r"[*$\\{}]", "", first)
    return plain if len(plain) <= LONGEST_LABEL else f"{plain[:LONGEST_LABEL].rstrip()} …"
