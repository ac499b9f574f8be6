"""A student's row of gradebook.csv and of an LMS's table, and Gradescope's JSON. Adds nothing up."""

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from attn_course import register
from attn_course.atomic_file import write_atomically
from attn_grader.gradebook import Gradebook, Sheet
from attn_grader.lms import LMS
from attn_grader.roster import RosterRow
from attn_grader.spreadsheet import csv_text, guarded, number


def csv_row(book: Gradebook, sheet: Sheet) -> dict[str, str]:
    """Return a student's row of gradebook.csv: points, sub-totals, total, lateness, what awaits a person."""
    row = {"student": guarded(sheet.student)}
    if book.roster.people:
        person = book.roster.person(sheet.student)
        row["name"] = guarded(person.name)
        row["email"] = guarded(person.email)
        row["id"] = guarded(person.id)
    for name in book.notebooks:
        for question in register.questions_of(name):
            row[question.id] = number(sheet.of_question(question.id))
        row[name] = number(sheet.before_deduction(name))
    row["total"] = number(sheet.total())
    if book.has_bonus:
        row["bonus"] = number(sheet.total(bonus=True))
    if book.has_lateness:
        row["days late"] = str(sheet.most_days_late)
        row["deducted"] = number(sheet.deduction)
    row["awaiting"] = str(sheet.num_waiting)
    row["problems"] = guarded(" ".join(sheet.problems))
    return row


def export(book: Gradebook, out: Path, formats: Collection[str], *, final: bool) -> int:
    """Write <format>.csv for each LMS; return how many notebooks have no final points yet.

    final: True if these get the points that they have so far, and do not stay blank.
    """
    rows = []
    num_unfinished = 0
    for student in book.students:
        sheet = book.sheet(student)
        rows.append(lms_row(book, sheet, final=final))
        num_unfinished += sum(map(sheet.awaits_a_person, book.notebooks))
    for name in formats:
        write_atomically(out / f"{name}.csv", csv_text(LMS[name].table(rows)))
    return num_unfinished


def lms_row(book: Gradebook, sheet: Sheet, *, final: bool) -> tuple[RosterRow, dict[str, str]]:
    """Return a student, as the roster has them, with {notebook: points} for the table of an LMS.

    Points are blank where nothing can be read or, unless final, a person is awaited.
    """
    points = {}
    for name in book.notebooks:
        is_settled = final or not sheet.awaits_a_person(name)
        points[name] = number(sheet.of(name)) if is_settled else ""
    person = book.roster.person(sheet.student)
    return replace(person, name=book.name_of(sheet.student)), points


def gradescope_json(sheet: Sheet) -> str:
    """Return a student's results as the text of Gradescope's results.json; the score has no bonus."""
    results = {
        "score": sheet.total() or 0,
        "output": "\n".join(sheet.problems + sheet.remarks),
        "visibility": "visible",
        "tests": [_test(entry) for entry in sheet.entries],
        "extra_data": {
            "bonus": sheet.total(bonus=True) or 0,
            "deducted": sheet.deduction,
            "sandboxes": sorted(sheet.tiers),
        },
    }
    return json.dumps(results, ensure_ascii=False)


def _test(entry):
    """Return a part of a question as one of Gradescope's tests."""
    question = entry.question
    return {
        "name": f"{question.id} {question.title} ({entry.part.kind})",
        "number": question.id,
        "score": entry.points,
        "max_score": entry.part.points,
        "status": "passed" if entry.passed else "failed",
        "output": " ".join(filter(None, [entry.message, entry.comment])),
        "visibility": "visible",
    }
