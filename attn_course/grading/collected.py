"""collected.csv: what an LMS tells about the files that `attn collect` sorted, for `attn grade` to read."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from attn_course.errors import UserError
from attn_course.grading.spreadsheet import csv_text, guarded, read_rows, unguarded

COLLECTED = "collected.csv"
COLUMNS = (
    *("student", "file", "handed_in", "late", "counts", "name", "email", "lms_id", "id"),
    *("version", "sha256", "source"),
)


@dataclass(frozen=True)
class Student:
    """Whom an LMS names. `lms_id` is its own number, `id` that of the institution."""

    lms_id: str
    name: str = ""
    email: str = ""
    id: str = ""


@dataclass(frozen=True)
class Collected:
    """A row of collected.csv: a file below submissions/, and what the LMS tells about it."""

    student: str
    file: str  # below the student's folder
    handed_in: datetime | None
    is_late: bool
    counts: bool  # whether it is the newest copy
    who: Student
    version: str
    sha256: str
    source: str

    def cells(self) -> list[str]:
        """Return it as the cells of a table."""
        moment = self.handed_in.isoformat(timespec="seconds") if self.handed_in else ""
        late = "yes" if self.is_late else ""
        counts = "yes" if self.counts else ""
        who = [
            guarded(text) for text in (self.who.name, self.who.email, self.who.lms_id, self.who.id)
        ]
        last = [self.version, self.sha256, guarded(self.source)]
        return [guarded(self.student), guarded(self.file), moment, late, counts, *who, *last]


def read_collected(folder: Path) -> dict[tuple[str, str], Collected]:
    """Return {(student, file): row} of the collected.csv in a folder; {} where there is none."""
    path = folder / COLLECTED
    if not path.exists():
        return {}
    found = {}
    for where, row in read_rows(path, COLUMNS):
        try:
            moment = datetime.fromisoformat(row["handed_in"]) if row["handed_in"] else None
        except ValueError:
            raise UserError(
                f"{where}: handed_in is {row['handed_in']!r}, not a date such as 2026-11-20T18:00."
            ) from None
        student = unguarded(row["student"])
        file = unguarded(row["file"])
        who = Student(*(unguarded(row[name]) for name in ("lms_id", "name", "email", "id")))
        found[student, file] = Collected(
            student=student,
            file=file,
            handed_in=moment.astimezone() if moment else None,
            is_late=row["late"] == "yes",
            counts=row["counts"] == "yes",
            who=who,
            version=row["version"],
            sha256=row["sha256"],
            source=unguarded(row["source"]),
        )
    return found


def dump(rows: Iterable[Collected]) -> str:
    """Return the rows as the text of a collected.csv."""
    return csv_text([COLUMNS, *(row.cells() for row in rows)])
