"""The pages and tables that a batch leaves behind: one for the class, for each question, for each student."""

import base64
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

from attn_course.atomic_file import write_atomically
from attn_course.register import Part, Question, points_of
from attn_course.verdict import State
from attn_grader import copies, exports, insight
from attn_grader.gradebook import Gradebook, GradebookEntry, Sheet
from attn_grader.record import digest
from attn_grader.references import Reference
from attn_grader.render import render
from attn_grader.spreadsheet import csv_text

LOOK = {
    State.CORRECT: "good",
    State.READ: "good",
    State.NOT_YET: "bad",
    State.WAITING: "wait",
    State.NOT_ATTEMPTED: "none",
    State.ABSENT: "absent",
}
HEADING = re.compile(r"\*\*Rubric[^*]*\*\*")
ITEM = re.compile(r"([⅓⅔¼½¾]|\d)\s+(\S.*)", re.S)
FRACTIONS = {"⅓": "1/3", "⅔": "2/3", "¼": "1/4", "½": "1/2", "¾": "3/4"}
# No file name ends in a dot or blank.
PLAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._-]{0,98}[A-Za-z0-9_-])?")
PICTURES = "pictures"  # the folder of what students pasted
MOST_PAIRS = 200  # of students whose code is alike, on the page
MOST_NAMES = 5  # above a card that many share


@dataclass(frozen=True)
class ClassSummary:
    """What the pages say in short: how many answers await a person, and the named mistakes."""

    num_waiting: int
    mistakes: list[insight.Mistake]


def write(
    book: Gradebook,
    out: Path,
    *,
    counts: Mapping[str, int],
    codes: Mapping[str, str] | None = None,
) -> ClassSummary:
    """Write gradebook.csv, mistakes.csv, each student's JSON and feedback, and the grader's pages.

    counts: figures on the batch, shown on top. codes: {student: name on the pages of written answers},
    if these are anonymous.
    """
    names = codes or {student: student for student in book.students}
    parts = [
        PartPage(question, part, book.references.get(question.id, Reference()), names)
        for question in book.questions
        for part in question.parts
    ]
    sheets: dict[str, Sheet] = {}  # by the address of the feedback
    published: dict[str, list[str]] = defaultdict(list)  # by question
    borrowed: dict[str, list[str]] = defaultdict(list)
    code: dict[str, dict[str, str]] = {question.id: {} for question in book.questions}
    for student in book.students:
        name = file_name(student)
        sheet = book.sheet(student)
        sheet.entries = [_with_pictures_as_files(entry, out) for entry in sheet.entries]
        for entry in copies.published(sheet, book.references):
            sheet.remarks.append(f"{entry.question.id}: {copies.PUBLISHED}")
            published[entry.question.id].append(student)
        for entry in sheet.entries:
            if entry.borrowed:
                borrowed[entry.question.id].append(student)
        write_atomically(out / "students" / f"{name}.json", exports.gradescope_json(sheet))
        write_atomically(out / "students" / f"{name}.html", student_page(book, sheet))
        sheets[f"students/{quote(name)}.html"] = sheet
        for page, entry in zip(parts, sheet.entries, strict=True):
            page.add(sheet, entry)
            is_own = entry.answer and entry.status != State.NOT_ATTEMPTED
            is_published = student in published.get(entry.question.id, ())
            if entry.part.kind == "code" and is_own and not is_published:
                code[entry.question.id][student] = entry.answer
    for page in parts:
        if page.has_answers:
            html = page.html(anonymous=codes is not None)
            write_atomically(out / "questions" / f"{page.name}.html", html)
    waiting = sum(page.num_waiting for page in parts)
    mistakes = insight.mistakes_of(sheets.values())
    overview = class_page(
        book,
        sheets,
        counts={**counts, "answers awaiting a person": waiting},
        parts=parts,
        mistakes=mistakes,
        copied={copies.PUBLISHED_HEAD: published, copies.BORROWED_HEAD: borrowed},
        alike=copies.alike_pairs(code)[:MOST_PAIRS],
    )
    write_atomically(out / "index.html", overview)
    text = insight.mistakes_csv(mistakes, len(book.students), names=codes is None)
    write_atomically(out / "mistakes.csv", text)
    rows = [exports.csv_row(book, sheet) for sheet in sheets.values()]
    write_atomically(out / "gradebook.csv", csv_text(rows))
    return ClassSummary(waiting, mistakes)


def _with_pictures_as_files(entry, out):
    """Return an entry that names the files of its pictures, which are written beside the pages."""
    paths = {}
    for address, uri in entry.images.items():
        head, _, data = uri.partition(";base64,")
        name = f"{digest(uri)}.{head.removeprefix('data:image/')}"
        if not (out / PICTURES / name).exists():
            write_atomically(out / PICTURES / name, base64.b64decode(data))
        paths[address] = f"../{PICTURES}/{name}"
    return replace(entry, images=paths) if paths else entry


def file_name(student: str) -> str:
    """Return a student's name as a file name: itself if it is plain ASCII, else with a digest.

    Names that differ in capitals alone are refused when folders are read.
    """
    if PLAIN.fullmatch(student):
        return student
    letters = re.sub(r"[^A-Za-z0-9_-]+", "_", student)[:60]
    code = hashlib.sha256(student.encode()).hexdigest()
    return f"{letters}~{code[:12]}"


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


def anchor(question_id: str, kind: str) -> str:
    """Return the id of a part's card on a student's page, to which other pages link."""
    return f"q{question_id.replace('.', '-')}-{kind}"


class PartPage:
    """One part of a question: how the class did, and the answers that a person marks.

    Of a written part these are all answers, of a part with a judge those that await a person.
    """

    def __init__(
        self, question: Question, part: Part, reference: Reference, names: Mapping[str, str]
    ):
        """names: {student: name on the page}; an anonymous page is sorted by these."""
        self.question = question
        self.part = part
        self.names = names
        self.is_written = part.kind == "written"
        self.reference = reference if self.is_written else replace(reference, answer="", rubric="")
        self.name = question.id if self.is_written else f"{question.id}-{part.kind}"
        self.anchor = anchor(question.id, part.kind)
        self.order = insight.order_of(question)
        self.counts: Counter[State] = Counter()
        self.unnamed: list[str] = []  # students whose mistake has no name
        self.entries: dict[str, GradebookEntry] = {}
        self.tiers: Counter[str] = Counter()

    def add(self, sheet: Sheet, entry: GradebookEntry) -> None:
        """Count a student's entry for this part, and keep the answer if a person marks it."""
        self.counts[entry.status] += 1
        if entry.status == State.NOT_YET and not entry.mistake:
            self.unnamed.append(sheet.student)
        is_marked = self.is_written or entry.is_waiting or entry.mark
        is_there = entry.answer or entry.previous or (entry.is_waiting and not entry.is_unread)
        if is_marked and is_there:
            self.entries[self.names[sheet.student]] = entry
            self.tiers += sheet.tiers

    @property
    def has_answers(self) -> bool:
        """True if there is a page to mark. A written part has one even if nobody has answered."""
        return self.is_written or bool(self.entries)

    @property
    def num_waiting(self) -> int:
        """How many of the answers on this page have no points yet."""
        return sum(entry.is_waiting for entry in self.entries.values())

    @property
    def num_done(self) -> int:
        """How many answers are correct, or read by a person."""
        return self.counts[State.CORRECT] + self.counts[State.READ]

    @property
    def bar(self) -> list[tuple[str, float, str]]:
        """(colour, percentage, words) of each piece of the bar."""
        total = self.counts.total()
        states = [state for state in LOOK if self.counts[state]]
        return [
            (LOOK[state], 100 * self.counts[state] / total, f"{self.counts[state]} {state}")
            for state in states
        ]

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
        """Return one card for each answer; identical answers that were marked alike share a card."""
        groups: dict[object, list[str]] = {}
        for name in sorted(self.entries) if anonymous else self.entries:
            entry = self.entries[name]
            marks = [
                (mark.points, mark.comment, mark.grader) if mark else None
                for mark in (entry.mark, entry.previous)
            ]
            groups.setdefault((entry.digest if entry.answer else name, *marks), []).append(name)
        alike = copies.same_answers({name: entry.answer for name, entry in self.entries.items()})
        reference = copies.plain_words(self.reference.answer)
        cards = []
        for names in groups.values():
            entry = self.entries[names[0]]
            others = [other for other in alike.get(names[0], ()) if other not in names]
            hints = [f"the same words as {_listed(others)}"] if others else []
            if entry.answer and copies.plain_words(entry.answer) == reference:
                hints.append("the same words as the reference")
            cards.append(Card(names, entry, hints))
        return cards


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


def _listed(names):
    num_others = len(names) - MOST_NAMES
    if num_others <= 0:
        return ", ".join(names)
    others = "1 other" if num_others == 1 else f"{num_others} others"
    return f"{', '.join(names[:MOST_NAMES])} and {others}"


def rubric_items(rubric: str, most: float) -> list[tuple[str, str]]:
    """Return [("1/3", "this"), ...] for a rubric such as "⅓ this · ⅓ that · ⅓ more".

    Where its parts make one whole and the question is worth `most`, they are shares of that. Of each
    part the first sentence is the label; the others are remarks to the grader.
    """
    pieces = re.split(r"\s·\s", HEADING.sub("", rubric))
    items = [item for item in (ITEM.match(piece.strip()) for piece in pieces) if item]
    amounts = [Fraction(FRACTIONS.get(item[1], item[1])) for item in items]
    scale = Fraction(most) if sum(amounts) == 1 else Fraction(1)
    labels = [re.split(r"\.\s", " ".join(item[2].split()))[0] for item in items]
    return [(str(scale * amount), label) for amount, label in zip(amounts, labels, strict=True)]


def class_page(
    book: Gradebook,
    sheets: Mapping[str, Sheet],
    *,
    counts: Mapping[str, int],
    parts: Sequence[PartPage],
    mistakes: Sequence[insight.Mistake] = (),
    copied: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    alike: Sequence[copies.Likeness] = (),
) -> str:
    """Return the class at a glance.

    sheets: {address of the feedback: a student's sheet}. counts: figures for the top. parts: of all
    questions, after every sheet was added to them. mistakes: the most frequent first. copied: {what is
    hinted at: {question: students}}.
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
        mistakes=insight.by_part(mistakes),
        links={sheet.student: link for link, sheet in sheets.items()},
        bins=insight.histogram(sheets.values()),
        not_begun=insight.not_begun(sheets.values()),
        in_vain=insight.in_vain(sheets.values()),
        alike=alike,
        copied=copied or {},
        anchor=anchor,
        tiers=tiers,
    )


def kinds(sheet: Sheet) -> str:
    """Return the words by which the page of the class filters its students."""
    has = {
        "problem": sheet.problems,
        "waiting": sheet.num_waiting,
        "remark": sheet.remarks,
        "late": sheet.days_late,
    }
    return " ".join(kind for kind in has if has[kind])
