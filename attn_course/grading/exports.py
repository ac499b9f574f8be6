"""What leaves the grader as tables: gradebook.csv, files for an LMS, Gradescope's JSON. Adds nothing up."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

from attn_course import register
from attn_course.errors import UserError
from attn_course.grading.gradebook import Gradebook, Sheet
from attn_course.grading.roster import Person
from attn_course.grading.spreadsheet import guarded, number

Table = list[dict[str, str]]  # rows by their columns


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
    if book.roster.has_due:
        row["days late"] = str(sheet.most_days_late)
        row["deducted"] = number(sheet.deduction)
    row["awaiting"] = str(sheet.num_waiting)
    row["problems"] = guarded(" ".join(sheet.problems))
    return row


def canvas(book: Gradebook, sheets: Iterable[Sheet], final: bool) -> Table:
    """Return the rows that Canvas imports: ids, a column a notebook, a row of points possible.

    Its column ID is for numbers of its own making, and is looked at first: it stays empty.
    """
    possible = {name: number(register.points_of(name)) for name in book.notebooks}
    rows = [_canvas_row("    Points Possible", "", "", possible)]
    for sheet in sheets:
        who = _who(book, sheet)
        rows.append(_canvas_row(who.name, who.id, who.email, _points(book, sheet, final)))
    return rows


def _canvas_row(name, number, login, points):
    who = {"Student": name, "ID": "", "SIS User ID": number, "SIS Login ID": login, "Section": ""}
    return who | points


def moodle(book: Gradebook, sheets: Iterable[Sheet], final: bool) -> Table:
    """Return the rows that Moodle imports: ID number, e-mail, a column a notebook.

    Moodle finds a student by one column, and takes a row where that is empty for the student above:
    each of the two is there only if all have it, and who has neither is left out.
    """
    rows = []
    for sheet in sheets:
        who = _who(book, sheet)
        ids = {"ID number": who.id, "Full name": who.name, "Email address": who.email}
        if who.id or who.email:
            rows.append(ids | _points(book, sheet, final))
    lacking = [key for key in ("ID number", "Email address") if not all(row[key] for row in rows)]
    if len(lacking) == 2:
        raise UserError("moodle.csv needs a roster in which all have an id, or all have an email.")
    for row in rows:
        for key in lacking:
            del row[key]
    return rows


def gradescope_table(book: Gradebook, sheets: Iterable[Sheet], final: bool) -> Table:
    """Return the rows of Gradescope's table of grades: points and points possible of each notebook."""
    rows = []
    for sheet in sheets:
        who = _who(book, sheet)
        first, _, last = book.name_of(sheet.student).rpartition(" ")
        row = {"First Name": guarded(first), "Last Name": guarded(last)}
        row |= {"SID": who.id, "Email": who.email, "Sections": ""}
        for name, points in _points(book, sheet, final).items():
            row[name] = points
            row[f"{name} - Max Points"] = number(register.points_of(name))
        rows.append(row)
    return rows


EXPORTS: dict[str, Callable[[Gradebook, Iterable[Sheet], bool], Table]] = {
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": gradescope_table,
}


def _points(book, sheet, final):
    """{notebook: points}; blank if nothing was handed in or, unless final, a person is awaited."""
    points = {}
    for name in book.notebooks:
        is_known = final or not sheet.awaits_a_person(name)
        points[name] = number(sheet.of(name)) if is_known else ""
    return points


def _who(book: Gradebook, sheet: Sheet) -> Person:
    """A student's row of the roster, never without a name; ids stay as the LMS knows them."""
    person = book.roster.person(sheet.student)
    return replace(person, name=guarded(book.name_of(sheet.student)))


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
    """A part of a question as one of Gradescope's tests."""
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
