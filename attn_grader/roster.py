"""roster.csv: who is in the class, when their work is due and what lateness costs."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from pathlib import Path

from attn_course.errors import UserError
from attn_grader.spreadsheet import read_rows, unguarded
from attn_grader.submissions import canonical, spellings

IDENTITY = ("name", "email", "id", "lms_id")
EVERYONE = "*"  # the row that holds for all who have nothing else in theirs
DAY = timedelta(days=1)
PENALTY = re.compile(r"(\d+(?:\.\d+)?) ?(%?)(?: (?:a|per) day)?")


@dataclass(frozen=True)
class RosterRow:
    """A student, and the rule for what they hand in."""

    student: str
    name: str = ""
    email: str = ""
    id: str = ""
    lms_id: str = ""  # the LMS's own number, which Canvas puts into the names of files
    due: datetime | None = None
    released: datetime | None = None  # when the work was handed out
    handed_in: datetime | None = None  # None: when the file was last changed
    free_days: float = 0
    penalty: float = 0  # for each further day begun
    is_share: bool = False  # whether the penalty is a share of the points, or points

    def is_possible(self, changed: datetime | None, now: datetime) -> bool:
        """Return True if a file can have been changed then: after `released`, and not in the future."""
        if changed is None:
            return True
        return (self.released or changed) <= changed <= now

    def days_late(self, changed: datetime | None) -> int:
        """Return how many days beyond the free ones have begun at the moment of handing in."""
        moment = self.handed_in or changed
        if self.due is None or moment is None:
            return 0
        return self.days_beyond_free((moment - self.due) / DAY)

    def days_beyond_free(self, days: float) -> int:
        """Return how many of these days have begun after the free ones."""
        return max(0, math.ceil(days - self.free_days))

    def deduction(self, points: float, days: int) -> float:
        """Return what `days` of lateness take from `points`."""
        each = points * self.penalty if self.is_share else self.penalty
        return min(points, each * days)


@dataclass(frozen=True)
class Roster:
    """The class. Without a file nobody is named, and no date is due."""

    people: dict[str, RosterRow] = field(default_factory=dict)
    everyone: RosterRow = RosterRow(EVERYONE)

    @property
    def has_due(self) -> bool:
        """True if there is a date after which work is late."""
        return any(person.due for person in (self.everyone, *self.people.values()))

    def person(self, student: str) -> RosterRow:
        """Return a student's row, or everyone's rule where they have none."""
        return self.people.get(student, self.everyone)


def load(path: Path, students: Iterable[str] = ()) -> Roster:
    """Return the roster in a CSV file; raise UserError at the first bad line.

    students: names as their folders have them; the roster may spell them in another way.
    """
    rows: dict[str, tuple[str, dict[str, str]]] = {}
    spelled = spellings(students)
    for where, row in read_rows(path, ("student",)):
        student = unguarded(row["student"])
        if not student:
            raise UserError(f"{where}: there is no student in it.")
        student = spelled.setdefault(canonical(student), student)
        if student in rows:
            raise UserError(f"{where}: {student!r} is in the roster already.")
        rows[student] = where, row
    where, rules = rows.pop(EVERYONE, ("", {}))
    for column in IDENTITY:
        if rules.get(column):
            raise UserError(f"{where}: {column} is of one student; the row {EVERYONE} is of all.")
    _refuse_twins(rows)
    everyone = _person(EVERYONE, rules, where)
    people = {}
    for student, (where, row) in rows.items():
        filled = {name: cell for name, cell in row.items() if cell}
        people[student] = _person(student, rules | filled, where)
    return Roster(people, everyone)


def _refuse_twins(rows):
    """Raise UserError where two students have one id or one e-mail."""
    owners: dict[tuple[str, str], str] = {}
    for where, row in rows.values():
        for column in ("email", "id", "lms_id"):
            text = canonical(row.get(column, ""))
            other = owners.setdefault((column, text), where)
            if text and other != where:
                raise UserError(f"{other} and {where}: both have the {column} {row[column]!r}.")


def _person(student, row, where):
    who = {name: unguarded(row.get(name, "")) for name in IDENTITY}
    penalty, is_share = _penalty(row.get("penalty", ""), where)
    return RosterRow(
        student=student,
        **who,
        due=_moment(row, "due", where),
        released=_moment(row, "released", where, time.min),
        handed_in=_moment(row, "handed_in", where),
        free_days=_days(row.get("free_days", ""), where),
        penalty=penalty,
        is_share=is_share,
    )


def _moment(row, column, where, of_day=time(23, 59, 59)):
    """Return the moment in a column, such as 2026-11-20T18:00, or 2026-11-20 at this time of the day."""
    text = row.get(column)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"{where}: {column} is {text!r}, not a date such as 2026-11-20.") from None
    if len(text) == len("2026-11-20"):
        moment = datetime.combine(moment.date(), of_day)
    try:
        return moment.astimezone()
    except (ValueError, OverflowError):  # before the first year of a time zone
        raise UserError(f"{where}: {column} is {text!r}, a date out of range.") from None


def _days(text, where):
    if not text:
        return 0.0
    if not re.fullmatch(r"\d{1,3}(\.\d+)?", text):
        raise UserError(f"{where}: free_days is {text!r}, not a number of days.")
    return float(text)


def _penalty(text, where):
    """Return (amount, whether it is a share) of a rule such as "10% a day" or "0.5 a day"."""
    if not text:
        return 0.0, False
    match = PENALTY.fullmatch(text)
    if not match:
        raise UserError(
            f"{where}: penalty is {text!r}, not a rule such as '10% a day' or '0.5 a day'."
        )
    amount = float(match[1])
    return (amount / 100, True) if match[2] else (amount, False)
