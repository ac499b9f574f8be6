"""collected.csv: what an LMS tells about the files that `attn collect` sorted, for `attn grade` to read."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from attn_course.errors import UserError
from attn_course.grading.spreadsheet import csv_text, guarded, read_rows, unguarded

COLLECTED = "collected.csv"


@dataclass(frozen=True)
class Collected:
    """A row of collected.csv: a file below submissions/, and what the LMS tells about it."""

    student: str
    file: str  # below the student's folder
    handed_in: datetime | None
    late: bool
    counts: bool  # whether it is the newest copy
    name: str
    email: str
    lms_id: str
    id: str
    version: str
    sha256: str
    source: str


COLUMNS = [field.name for field in fields(Collected)]


def read_collected(folder: Path) -> dict[tuple[str, str], Collected]:
    """Return {(student, file): row} of the collected.csv in a folder; {} where there is none."""
    path = folder / COLLECTED
    if not path.exists():
        return {}
    found = {}
    for where, row in read_rows(path, COLUMNS):
        known: dict[str, Any] = {name: unguarded(row[name]) for name in COLUMNS}
        try:
            moment = datetime.fromisoformat(row["handed_in"]) if row["handed_in"] else None
        except ValueError:
            raise UserError(
                f"{where}: handed_in is {row['handed_in']!r}, not a date such as 2026-11-20T18:00."
            ) from None
        known["handed_in"] = moment.astimezone() if moment else None
        for name in ("late", "counts"):
            known[name] = row[name] == "yes"
        found[known["student"], known["file"]] = Collected(**known)
    return found


def dump(rows: Iterable[Collected]) -> str:
    """Return the rows as the text of a collected.csv."""
    return csv_text([_cells(row) for row in rows], COLUMNS)


def _cells(row):
    cells = asdict(row)
    cells["handed_in"] = row.handed_in.isoformat(timespec="seconds") if row.handed_in else ""
    for name in ("late", "counts"):
        cells[name] = "yes" if cells[name] else ""
    return {name: guarded(cell) for name, cell in cells.items()}
