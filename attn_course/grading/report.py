"""Which files a batch leaves behind, and writes them one student at a time."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from attn_course.grading import exports
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.page_data import PartPage, class_page, student_page
from attn_course.grading.references import Reference
from attn_course.grading.similarity import alike_pairs
from attn_course.grading.spreadsheet import csv_text

# No file name ends in a dot or blank.
PLAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._-]{0,98}[A-Za-z0-9_-])?")
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
    sheets = {}
    names = codes or {student: student for student in book.students}
    pages = []
    for question in book.questions:
        for part in question.parts:
            reference = Reference(answer="")
            if part.kind == "written":
                reference = book.references.get(question.id, Reference())
            pages.append(PartPage(question, part, reference, names))
    code: dict[str, dict[str, str]] = {question.id: {} for question in book.questions}
    for student in book.students:
        name = file_name(student)
        sheet = book.sheet(student)
        save(out / "students" / f"{name}.json", exports.gradescope_json(sheet))
        save(out / "students" / f"{name}.html", student_page(book, sheet))
        sheets[f"students/{quote(name)}.html"] = sheet
        for page, entry in zip(pages, sheet.entries, strict=True):
            page.add(sheet, entry)
            if entry.part.kind == "code" and entry.answer:
                code[entry.question.id][student] = entry.answer
    for page in pages:
        if page.has_answers:
            save(out / "questions" / f"{page.name}.html", page.html(anonymous=codes is not None))
    waiting = sum(sheet.num_waiting for sheet in sheets.values())
    counts = {**counts, "answers awaiting a person": waiting}
    alike = alike_pairs(code)[:MOST_PAIRS]
    save(out / "index.html", class_page(book, sheets, counts=counts, parts=pages, alike=alike))
    rows = [exports.csv_row(book, sheet) for sheet in sheets.values()]
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
    return sum(sum(map(sheet.awaits_a_person, book.notebooks)) for sheet in sheets)


def save(path: Path, content: str | bytes) -> None:
    """Write a whole file or none: what was there stays until the new content is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name[:200]}.new")
    if isinstance(content, str):
        content = content.encode("utf-8", "backslashreplace")
    new.write_bytes(content)
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
