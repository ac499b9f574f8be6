"""Which files a batch leaves behind, and writes them one student at a time."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from attn_course.grading import exports
from attn_course.grading.gradebook import Gradebook, Sheet
from attn_course.grading.pages import AnswersPage, ClassPage, student_page
from attn_course.grading.references import Reference
from attn_course.grading.similarity import SimilarCode
from attn_course.grading.spreadsheet import csv_text

PLAIN = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9 ._-]{0,98}[A-Za-z0-9_-])?"
)  # no file name ends in a dot or blank
MOST_PAIRS = 200  # of students whose code is alike, on the page


def write(
    book: Gradebook,
    out: Path,
    *,
    counts: Mapping[str, int],
    codes: Mapping[str, str] | None = None,
) -> int:
    """Write gradebook.csv, every student's JSON and feedback, and the grader's pages into `out`.

    counts: figures on the batch, shown on top. codes: {student: name on the pages of written answers},
    if these are anonymous. Returns how many answers await a person.
    """
    overview = ClassPage(book)
    rows = [exports.csv_header(book)]
    names = codes or {student: student for student in book.students}
    pages = []
    for question in book.questions:
        for part in question.parts:
            reference = Reference(answer="")
            if part.kind == "written":
                reference = book.references.get(question.id, Reference())
            pages.append(AnswersPage(question, reference, names, part.kind))
    similar = SimilarCode()
    waiting = 0
    for student in book.students:
        name = file_name(student)
        sheet = book.sheet(student)
        row = exports.csv_row(book, sheet)
        link = f"students/{quote(name)}.html"
        _write_student(book, sheet, out / "students", name)
        rows.append(row)
        overview.add(sheet, link)
        waiting += sheet.num_waiting
        for entry in sheet.entries:
            if entry.kind == "code" and entry.answer:
                similar.add(entry.question.id, student, entry.answer)
        for page in pages:
            page.add(sheet)
    shown = [page for page in pages if page.kind == "written" or page.entries]
    for page in shown:
        text = page.html(anonymous=codes is not None)
        save(out / "questions" / f"{page.name}.html", text)
    alike = similar.pairs()[:MOST_PAIRS]
    front = overview.html({**counts, "answers awaiting a person": waiting}, shown, alike)
    save(out / "index.html", front)
    save(out / "gradebook.csv", csv_text(rows))
    return waiting


def export(book: Gradebook, out: Path, formats: Iterable[str], *, final: bool) -> int:
    """Write <format>.csv for each LMS; return how many notebooks have no final points yet.

    final: whether these get the points that they have so far, or stay blank.
    """
    sheets = [book.sheet(student) for student in book.students]
    for name in formats:
        table = exports.EXPORTS[name](book, sheets, final)
        save(out / f"{name}.csv", csv_text(table))
    return sum(exports.num_unfinished(book, sheet) for sheet in sheets)


def _write_student(book: Gradebook, sheet: Sheet, folder: Path, name: str) -> None:
    results = exports.gradescope_json(sheet)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    page = student_page(book, sheet)
    save(folder / f"{name}.json", text)
    save(folder / f"{name}.html", page)


def save(path: Path, text: str) -> None:
    """Write a whole file or none: what was there stays until the new text is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name[:200]}.new")
    new.write_text(text, "utf-8", "backslashreplace", "\n")
    os.replace(new, path)


def file_name(student: str) -> str:
    """Return a student's name as a file name: itself if it is plain ASCII, else with a digest.

    Names that differ in capitals alone are refused when folders are found.
    """
    if PLAIN.fullmatch(student):
        return student
    letters = re.sub(r"[^A-Za-z0-9_-]+", "_", student)[:60]
    code = hashlib.sha256(student.encode()).hexdigest()
    return f"{letters}~{code[:12]}"
