"""What leaves the grader as tables: gradebook.csv, files for an LMS, Gradescope's JSON. Adds nothing up."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

from attn_course import register
from attn_course.errors import UserError
from attn_course.grading.gradebook import Gradebook, Sheet
from attn_course.grading.roster import Person
from attn_course.grading.spreadsheet import guarded, number

PEOPLE = ("name", "email", "id")


def csv_header(book: Gradebook) -> list[str]:
    """Return the columns of gradebook.csv."""
    columns = ["student"]
    if book.roster.people:
        columns += PEOPLE
    for name in book.notebooks:
        columns += [question.id for question in register.questions_of(name)]
        columns.append(name)
    columns.append("total")
    if book.has_bonus:
        columns.append("bonus")
    if book.roster.has_due:
        columns += ["days late", "deducted"]
    return [*columns, "awaiting", "problems"]


def csv_row(book: Gradebook, sheet: Sheet) -> list[str]:
    """Return a student's row: points, sub-totals, total, lateness, answers that await a person."""
    row = [guarded(sheet.student)]
    if book.roster.people:
        person = book.roster.person(sheet.student)
        row.append(guarded(person.name))
        row.append(guarded(person.email))
        row.append(guarded(person.id))
    for name in book.notebooks:
        questions = register.questions_of(name)
        row += [number(sheet.of_question(question.id)) for question in questions]
        row.append(number(sheet.before_deduction(name)))
    row.append(number(sheet.total()))
    if book.has_bonus:
        row.append(number(sheet.total(bonus=True)))
    if book.roster.has_due:
        row.append(str(sheet.most_days_late))
        row.append(number(sheet.deduction))
    problems = " ".join(sheet.problems)
    row.append(str(sheet.num_waiting))
    row.append(guarded(problems))
    return row


def canvas(book: Gradebook, sheets: Iterable[Sheet], final: bool = False) -> list[list[str]]:
    """Return the rows that Canvas imports: ids, a column a notebook, a row of points possible.

    Its column ID is for numbers of its own making, and is looked at first: it stays empty.
    """
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    blanks = [""] * (len(columns) - 1)
    rows = [
        columns + book.notebooks,
        ["    Points Possible", *blanks, *_possible(book)],
    ]
    for sheet in sheets:
        who = _who(book, sheet)
        row = [who.name, "", who.id, who.email, ""]
        rows.append(row + _points(book, sheet, final))
    return rows


def moodle(book: Gradebook, sheets: Iterable[Sheet], final: bool = False) -> list[list[str]]:
    """Return the rows that Moodle imports: ID number, e-mail, a column a notebook.

    Moodle finds a student by one column, and takes a row where that is empty for the student above:
    each of the two is there only if all have it, and who has neither is left out.
    """
    people = [(_who(book, sheet), sheet) for sheet in sheets]
    known = [(who, sheet) for who, sheet in people if who.id or who.email]
    has_ids = all(who.id for who, _ in known)
    has_emails = all(who.email for who, _ in known)
    if not has_ids and not has_emails:
        raise UserError("moodle.csv needs a roster in which all have an id, or all have an email.")
    header = _some(["ID number", "Full name", "Email address"], has_ids, has_emails)
    rows = [header + book.notebooks]
    for who, sheet in known:
        row = _some([who.id, who.name, who.email], has_ids, has_emails)
        rows.append(row + _points(book, sheet, final))
    return rows


def _some(row, has_ids, has_emails):
    """Leave out of (id, name, e-mail) what some do not have."""
    kept = (has_ids, True, has_emails)
    return list(itertools.compress(row, kept))


def gradescope_table(
    book: Gradebook, sheets: Iterable[Sheet], final: bool = False
) -> list[list[str]]:
    """Return the rows of Gradescope's table of grades: points and points possible of each notebook."""
    header = ["First Name", "Last Name", "SID", "Email", "Sections"]
    for name in book.notebooks:
        header += [name, f"{name} - Max Points"]
    rows = [header]
    for sheet in sheets:
        who = _who(book, sheet)
        first, _, last = book.name_of(sheet.student).rpartition(" ")
        row = [guarded(first), guarded(last), who.id, who.email, ""]
        points = _points(book, sheet, final)
        possible = _possible(book)
        for pair in zip(points, possible, strict=True):
            row += pair
        rows.append(row)
    return rows


EXPORTS: dict[str, Callable[[Gradebook, Iterable[Sheet], bool], list[list[str]]]] = {
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": gradescope_table,
}


def _points(book, sheet, final):
    """The points of each notebook; blank if nothing was handed in or, unless final, a person is awaited."""
    points = []
    for name in book.notebooks:
        is_known = final or not sheet.awaits_a_person(name)
        points.append(number(sheet.of(name)) if is_known else "")
    return points


def num_unfinished(book: Gradebook, sheet: Sheet) -> int:
    """Return how many notebooks of a student have no final points yet."""
    return sum(sheet.awaits_a_person(name) for name in book.notebooks)


def _possible(book):
    return [number(register.points_of(name)) for name in book.notebooks]


def _who(book: Gradebook, sheet: Sheet) -> Person:
    """A student's row of the roster, never without a name; ids stay as the LMS knows them."""
    person = book.roster.person(sheet.student)
    return replace(person, name=guarded(book.name_of(sheet.student)))


def gradescope_json(sheet: Sheet) -> dict:
    """Return a student's results in the schema of Gradescope's results.json; the score has no bonus."""
    notes = sheet.problems + sheet.remarks
    return {
        "score": sheet.total() or 0,
        "output": "\n".join(notes),
        "visibility": "visible",
        "tests": [_test(entry) for entry in sheet.entries],
        "extra_data": {
            "bonus": sheet.total(bonus=True) or 0,
            "deducted": sheet.deduction,
            "sandboxes": sorted(sheet.tiers),
        },
    }


def _test(entry):
    """A part of a question as one of Gradescope's tests."""
    question = entry.question
    said = filter(None, [entry.message, entry.comment])
    return {
        "name": f"{question.id} {question.title} ({entry.kind})",
        "number": question.id,
        "score": entry.points,
        "max_score": entry.out_of,
        "status": "passed" if entry.passed else "failed",
        "output": " ".join(said),
        "visibility": "visible",
    }
