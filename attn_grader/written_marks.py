"""The points that a person gives: reads, checks and merges written.csv."""

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from attn_course import register
from attn_course.errors import UserError
from attn_grader.spreadsheet import csv_text, guarded, read_rows, unguarded
from attn_grader.submissions import canonical, spellings

COLUMNS = ("student", "question", "part", "points", "comment", "grader", "digest")
NEEDED = ("student", "question", "points")
LONGEST_NUMBER = 20
Key = tuple[str, str, str]  # student, question, part


@dataclass(frozen=True)
class ManualMark:
    """The points of a person for a part. `digest` is that of the answer and of the judge or rubric."""

    points: float
    comment: str = ""
    grader: str = ""
    digest: str = ""  # empty: for whatever is there when the mark arrives

    def agrees(self, other: "ManualMark") -> bool:
        """Return True if both give the same points, or are for different answers."""
        same_answer = self.digest == other.digest or "" in (self.digest, other.digest)
        return not same_answer or abs(self.points - other.points) < 1e-6


Marks = dict[Key, ManualMark]


def codes(seed: int, students: Iterable[str]) -> dict[str, str]:
    """Return {student: name on anonymous pages}, which tells nothing to one without the seed."""
    secret = f"{seed:x}".encode()
    return {
        student: hmac.new(secret, student.encode(), hashlib.sha256).hexdigest()[:10]
        for student in students
    }


def load(
    path: Path,
    students: Collection[str],
    *,
    hidden: Mapping[str, str] | None = None,
    strict: bool = True,
) -> Marks:
    """Return the marks in a file; raise UserError at the first bad line.

    A row may also replace the points of the machine: its part is then "code" or "derive". A file without
    a first line of names has the columns student, question, part, points, comment. The column of comments
    may be called remark.
    hidden: {name on anonymous pages: student}. strict: True if a row for an unknown student is refused;
    a student may have left since an earlier run.
    """
    marks: Marks = {}
    spelled = spellings(students)
    for where, row in read_rows(path, NEEDED, COLUMNS):
        if not row["points"]:
            continue
        student = unguarded(row["student"])
        student = (hidden or {}).get(student) or spelled.get(canonical(student), student)
        if strict and student not in students:
            raise UserError(f"{where}: there is no student {student!r}.")
        key, mark = _read(student, row, where)
        if marks.setdefault(key, mark) != mark:
            raise UserError(f"{where}: {student!r} was given other points for {key[1]} above.")
    return marks


def _read(student, row, where):
    try:
        question = register.find(row["question"])
    except KeyError as error:
        raise UserError(f"{where}: {error.args[0]}") from None
    kind = row.get("part") or "written"
    if kind not in [part.kind for part in question.parts]:
        raise UserError(f"{where}: question {question.id} has no {kind} part.")
    most = question.part(kind).points
    points = _number(row["points"])
    if points is None or not 0 <= points <= most:
        raise UserError(f"{where}: {row['points']!r} is not a number of points from 0 to {most:g}.")
    mark = ManualMark(
        points=points,
        comment=unguarded(row.get("comment") or row.get("remark", "")),
        grader=unguarded(row.get("grader", "")),
        digest=row.get("digest", ""),
    )
    return (student, question.id, kind), mark


def _number(text):
    """Return the number in a text such as 0.5 or 2/3, None if it is no such text."""
    if len(text) > LONGEST_NUMBER or "e" in text.lower():
        return None
    try:
        return float(Fraction(text.replace(",", ".")))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def merged(earlier: Marks, new: Mapping[str, Marks]) -> Marks:
    """Return all marks together; raise UserError with the list where graders contradict each other.

    earlier: the marks of earlier runs; graders may change their own, and not those of others.
    new: {name of a file: its marks}.
    """
    result = dict(earlier)
    sources = dict.fromkeys(earlier, "")
    conflicts = []
    for name, marks in new.items():
        for key, mark in marks.items():
            before = result.get(key)
            is_own = not sources.get(key) and before is not None and before.grader == mark.grader
            if before is None or is_own or before.agrees(mark):
                result[key] = mark
                sources[key] = name
            else:
                conflicts.append(_conflict(key, (before, sources[key]), (mark, name)))
    if conflicts:
        raise UserError(
            "graders contradict each other; take out one row of each pair, then run again.\n"
            + "\n".join(conflicts)
        )
    return result


def _conflict(key, *sides):
    sentences = [
        f"{mark.points:g} by {mark.grader or 'nobody named'} in {name or 'the written.csv of --out'}"
        for mark, name in sides
    ]
    return f"  {' '.join(key)}: {', '.join(sentences)}"


def dump(marks: Marks) -> str:
    """Return the merged marks as the text of a written.csv."""
    rows = []
    for key, mark in sorted(marks.items(), key=lambda item: item[0]):
        cells = [*key, f"{mark.points:.12g}", mark.comment, mark.grader, mark.digest]
        rows.append(dict(zip(COLUMNS, map(guarded, cells), strict=True)))
    return csv_text(rows)
