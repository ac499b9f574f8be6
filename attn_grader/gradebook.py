"""Adds up verdicts and a person's marks to a student's sheet."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from attn_course import register
from attn_course.verdict import State
from attn_grader.collect import Collected
from attn_grader.notebook import digests_of
from attn_grader.record import Key, Record, digest, judge_digest
from attn_grader.references import Reference
from attn_grader.roster import Roster
from attn_grader.sandbox.policy import NoSandbox
from attn_grader.submissions import MOST_PROBLEMS, File
from attn_grader.written_marks import ManualMark, Marks

NOTHING = "nothing was handed in."
LATE_BY_LMS = (
    "the LMS marks it as late and does not say by how much. It counts as one day, of which free days are "
    "taken off, unless a person decides otherwise."
)
IMPOSSIBLE = "its date, {:%Y-%m-%d}, cannot be; a person decides whether it is late."
UNNAMED = "the roster does not name this student."


@dataclass(frozen=True)
class GradebookEntry:
    """One part of a question in one student's sheet: the machine's verdict, or a person's mark."""

    question: register.Question
    part: register.Part
    status: State = State.ABSENT
    points: float = 0
    message: str = "this notebook was not handed in."
    answer: str = ""
    digest: str = ""  # of the answer and of its judge or rubric
    mark: ManualMark | None = None
    previous: ManualMark | None = None  # given to another answer or by another rubric
    images: dict[str, str] = field(default_factory=dict)  # pasted into a written answer
    mistake: str = ""  # the sentence of the known mistake that explains a wrong answer
    borrowed: str = ""  # the course's own objects that the answer may be
    is_unread: bool = False  # True if the file of the notebook could not be graded

    @property
    def has_points(self) -> bool:
        """Return False if there is nothing to give points to, which is not the same as zero points."""
        return self.status != State.ABSENT and (not self.is_unread or self.mark is not None)

    @property
    def comment(self) -> str:
        """The remark of a person for the student."""
        return self.mark.comment if self.mark else ""

    @property
    def is_waiting(self) -> bool:
        """True if a person has yet to look at the answer, for the first time or again."""
        return self.status == State.WAITING or self.previous is not None

    @property
    def passed(self) -> bool:
        """True if the answer is correct, or a person gave it points."""
        return self.status == State.CORRECT or (self.status == State.READ and self.points > 0)


@dataclass
class Sheet:
    """One student's results: every part of every question, lateness, and remarks on the files."""

    student: str
    entries: list[GradebookEntry]
    remarks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    days_late: dict[str, int] = field(default_factory=dict)  # of each notebook
    deductions: dict[str, float] = field(default_factory=dict)  # of each notebook
    tiers: Counter[str] = field(default_factory=Counter)  # number of files graded in each sandbox
    ungraded: dict[str, str] = field(default_factory=dict)  # of each notebook: why
    # {notebook: why its date cannot be}
    undated: dict[str, str] = field(default_factory=dict)

    def of_notebook(self, notebook: str) -> list[GradebookEntry]:
        """Return the entries of one notebook."""
        return [entry for entry in self.entries if entry.question.notebook == notebook]

    def of_question(self, question_id: str) -> float | None:
        """Return the points of one question, None where its notebook was not handed in or cannot be read."""
        return _earned(entry for entry in self.entries if entry.question.id == question_id)

    def before_deduction(self, notebook: str) -> float | None:
        """Return what the answers of a notebook earned, None where it was not handed in or cannot be read."""
        return _earned(self.of_notebook(notebook))

    def of(self, notebook: str) -> float | None:
        """Return the points of a notebook after what lateness costs."""
        points = self.before_deduction(notebook)
        if points is None:
            return None
        return points - self.deductions.get(notebook, 0)

    def awaits_a_person(self, notebook: str) -> bool:
        """Return True if a person has yet to look at an answer of a notebook, at its file or at its date."""
        return notebook in self.undated or any(
            entry.is_waiting for entry in self.of_notebook(notebook)
        )

    def total(self, *, bonus: bool = False) -> float | None:
        """Return the points of the course, or those of bonus notebooks."""
        names = {entry.question.notebook for entry in self.entries}
        counted = [self.of(name) for name in sorted(names) if register.is_bonus(name) == bonus]
        earned = [points for points in counted if points is not None]
        return sum(earned) if earned else None

    def out_of(self, *, bonus: bool = False) -> float:
        """Return what the notebooks of the batch are worth, or its bonus notebooks."""
        return sum(entry.part.points for entry in self.entries if entry.question.is_bonus == bonus)

    @property
    def deduction(self) -> float:
        """The points that lateness costs in all."""
        return sum(self.deductions.values())

    @property
    def most_days_late(self) -> int:
        """How many days late the latest notebook is."""
        return max(self.days_late.values(), default=0)

    @property
    def num_waiting(self) -> int:
        """How many answers and dates a person has yet to look at."""
        return len(self.undated) + sum(entry.is_waiting for entry in self.entries)


def _earned(entries):
    """Return the points of entries together, None where none of them has any."""
    points = [entry.points for entry in entries if entry.has_points]
    return sum(points) if points else None


class Gradebook:
    """The results of a batch, with the points of the machine and those of people."""

    def __init__(
        self,
        students: list[str],
        notebooks: list[str],
        files: Iterable[File],
        record_of: Callable[[Key], Record],
        *,
        marks: Marks | None = None,
        references: Mapping[str, Reference] | None = None,
        roster: Roster | None = None,
        collected: Mapping[tuple[str, str], Collected] | None = None,
        now: datetime | None = None,
    ):
        """record_of: gives the newest record of a file.

        collected: what an LMS says about files, by student and name of the file.
        """
        self.students = students
        self.notebooks = notebooks
        self.record_of = record_of
        self.marks = marks or {}
        self.references = references or {}
        self.roster = roster or Roster()
        self.collected = collected or {}
        self.now = now or datetime.now().astimezone()
        self.questions: list[register.Question] = []
        for name in notebooks:
            self.questions += register.questions_of(name)
        self.has_lateness = self.roster.has_due or any(row.late for row in self.collected.values())
        self.has_bonus = any(register.is_bonus(name) for name in notebooks)
        self.files: dict[str, list[File]] = {student: [] for student in students}
        for file in files:
            self.files[file.student].append(file)

    def name_of(self, student: str) -> str:
        """Return a student's name as the roster has it, else that of the folder."""
        person = self.roster.person(student)
        return person.name or student

    def sheet(self, student: str) -> Sheet:
        """Return one student's results."""
        records = [self.record_of(file.key) for file in self.files[student]]
        by_notebook = {record.notebook: record for record in records}
        sheet = Sheet(student, [])
        for question in self.questions:
            record = by_notebook.get(question.notebook)
            sheet.entries += [
                self._entry(student, question, part, record) for part in question.parts
            ]
        for record in records:
            sheet.remarks += [f"{record.file}: {text}" for text in record.remarks]
            is_unprotected = record.tier == NoSandbox.name
            if record.tier and (is_unprotected or not record.problem):
                sheet.tiers[record.tier] += 1
            if record.problem:
                sheet.problems.append(f"{record.file}: {record.problem}")
                sheet.ungraded[record.notebook] = record.problem
        if not records:
            sheet.problems.append(NOTHING)
        if self.roster.people and student not in self.roster.people:
            sheet.problems.append(UNNAMED)
        more = len(sheet.problems) - MOST_PROBLEMS
        if more > 0:
            sheet.problems[MOST_PROBLEMS:] = [f"and {more:,} more problems."]
        self._add_lateness(sheet)
        return sheet

    def _entry(self, student, question, part, record):
        entry = _judged(question, part, record)
        entry = replace(entry, digest=self._digest(entry))
        mark = self.marks.get((student, question.id, part.kind))
        if mark is None:
            return entry
        if mark.digest not in ("", entry.digest):
            return replace(entry, previous=mark)
        return replace(entry, status=State.READ, points=mark.points, mark=mark)

    def _digest(self, entry):
        """Return a digest of an answer and of the judge or rubric it is for."""
        question = entry.question
        if entry.part.kind == "written":
            reference = self.references.get(question.id, Reference())
            return digest(entry.answer, reference.rubric, *digests_of(entry.images))
        return digest(entry.answer, judge_digest(question.notebook))

    def _add_lateness(self, sheet):
        """Note how late each notebook of a sheet is, and what that costs."""
        person = self.roster.person(sheet.student)
        for file in self.files[sheet.student]:
            name = file.notebook
            row = self.collected.get((file.student, file.name))
            moment = row.handed_in if row else file.changed
            if row and row.handed_in is None and not person.handed_in:
                if not row.late:
                    continue
                sheet.remarks.append(f"{file.name}: {LATE_BY_LMS}")
                days = person.days_beyond_free(1)
            elif person.due and not person.handed_in and not person.is_possible(moment, self.now):
                sheet.undated[name] = IMPOSSIBLE.format(moment)
                sheet.remarks.append(f"{file.name}: {sheet.undated[name]}")
                continue
            else:
                days = person.days_late(moment)
            points = sheet.before_deduction(name)
            if points is not None and days:
                sheet.days_late[name] = days
                sheet.deductions[name] = person.deduction(points, days)

    def stamped_marks(self) -> Marks:
        """Return all marks, each with the digest of what it was given for."""
        marks = dict(self.marks)
        for student in {student for student, _, _ in marks if student in self.files}:
            for entry in self.sheet(student).entries:
                if entry.mark:
                    key = student, entry.question.id, entry.part.kind
                    marks[key] = replace(entry.mark, digest=entry.digest)
        return marks


def _judged(question, part, record):
    """Return the machine's verdict on a part. record: of its notebook, None if it was not handed in."""
    entry = GradebookEntry(question, part)
    if record is None:
        return entry
    for verdict in record.parts:
        if verdict.question == question.id and verdict.kind == part.kind:
            return replace(
                entry,
                status=verdict.status,
                points=verdict.points,
                message=verdict.message,
                answer=verdict.answer,
                images=verdict.images,
                mistake=verdict.mistake,
                borrowed=verdict.borrowed,
            )
    return replace(entry, status=State.WAITING, message=record.problem, is_unread=True)
