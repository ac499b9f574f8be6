"""Knows the points that a person gives: reads, checks and merges written.csv; knows no verdict."""

import csv
import io

from attn_course import register
from attn_course.grading.gradebook import csv_text, guarded, unguarded
from attn_course.grading.submissions import Refused

COLUMNS = ("student", "question", "part", "points", "comment")


def load(path, students, strict=True):
    """Return {(student, question, part): (points, comment)}; raise Refused at the first bad line.

    A row may also lift what the machine gave: its part is then "code" or "derive".
    strict: whether a row for a student who is not there is a bad one; some may have left.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise Refused(f"{path} cannot be read ({reason}).") from None
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return _points(rows, path.name, students, strict)
    except csv.Error as error:
        raise Refused(f"{path} is not a table of commas and lines ({error}).") from None


def _points(reader, name, students, strict):
    if not {"student", "question", "points"} <= set(reader.fieldnames or ()):
        raise Refused(f"{name} needs the columns student, question and points.")
    found = {}
    for row in reader:
        if (row["points"] or "").strip():
            where = f"{name}, line {reader.line_num}"
            key, value = _read(row, students, where)
            if strict and key[0] not in students:
                raise Refused(f"{where}: there is no student {key[0]!r}.")
            if found.setdefault(key, value) != value:
                raise Refused(f"{where}: {key[0]!r} was given other points for {key[1]} above.")
    return found


def _read(row, students, where):
    student = row["student"] or ""
    student = student if student in students else unguarded(student)
    try:
        question = register.find((row["question"] or "").strip())
    except KeyError as error:
        raise Refused(f"{where}: {error.args[0]}") from None
    kind = (row.get("part") or "").strip() or "written"
    if kind not in [part.kind for part in question.parts]:
        raise Refused(f"{where}: question {question.id} has no {kind} part.")
    points, most = row["points"].strip(), question.part(kind).points
    try:
        number = float(points)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise Refused(f"{where}: {points!r} is not a number of points from 0 to {most:g}.")
    return (student, question.id, kind), (number, unguarded((row.get("comment") or "").strip()))


def dump(given):
    """Return the merged points as the text of a written.csv."""
    rows = [
        (guarded(student), question, kind, f"{points:g}", guarded(comment))
        for (student, question, kind), (points, comment) in sorted(given.items())
    ]
    return csv_text([COLUMNS, *rows])
