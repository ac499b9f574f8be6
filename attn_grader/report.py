"""Which files a batch leaves behind, and writes them one student at a time."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from attn_course.atomic_file import write_atomically
from attn_grader import exports
from attn_grader.copies import alike_pairs
from attn_grader.gradebook import Gradebook, GradebookEntry
from attn_grader.insight import Mistake, mistakes_csv, mistakes_of
from attn_grader.lms import LMS
from attn_grader.page_data import PartPage, class_page, student_page
from attn_grader.record import digest
from attn_grader.references import Reference
from attn_grader.spreadsheet import csv_text

# No file name ends in a dot or blank.
PLAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._-]{0,98}[A-Za-z0-9_-])?")
PICTURES = "pictures"  # the folder of what students pasted
MOST_PAIRS = 200  # of students whose code is alike, on the page


def write(
    book: Gradebook,
    out: Path,
    *,
    counts: Mapping[str, int],
    codes: Mapping[str, str] | None = None,
) -> "Written":
    """Write gradebook.csv, mistakes.csv, each student's JSON and feedback, and the grader's pages.

    counts: figures on the batch, shown on top. codes: {student: name on the pages of written answers},
    if these are anonymous.
    """
    sheets = {}
    names = codes or {student: student for student in book.students}
    pages = []
    for question in book.questions:
        for part in question.parts:
            reference = book.references.get(question.id, Reference())
            if part.kind != "written":
                reference = replace(reference, answer="", rubric="")
            pages.append(PartPage(question, part, reference, names))
    code: dict[str, dict[str, str]] = {question.id: {} for question in book.questions}
    for student in book.students:
        name = file_name(student)
        sheet = book.sheet(student)
        sheet.entries = [_with_pictures_as_files(entry, out) for entry in sheet.entries]
        write_atomically(out / "students" / f"{name}.json", exports.gradescope_json(sheet))
        write_atomically(out / "students" / f"{name}.html", student_page(book, sheet))
        sheets[f"students/{quote(name)}.html"] = sheet
        for page, entry in zip(pages, sheet.entries, strict=True):
            page.add(sheet, entry)
            if entry.part.kind == "code" and entry.answer:
                code[entry.question.id][student] = entry.answer
    for page in pages:
        if page.has_answers:
            write_atomically(
                out / "questions" / f"{page.name}.html", page.html(anonymous=codes is not None)
            )
    waiting = sum(sheet.num_waiting for sheet in sheets.values())
    counts = {**counts, "answers awaiting a person": waiting}
    alike = alike_pairs(code)[:MOST_PAIRS]
    mistakes = mistakes_of(sheets.values())
    overview = class_page(book, sheets, counts=counts, parts=pages, mistakes=mistakes, alike=alike)
    write_atomically(out / "index.html", overview)
    text = mistakes_csv(mistakes, len(book.students), names=codes is None)
    write_atomically(out / "mistakes.csv", text)
    rows = [exports.csv_row(book, sheet) for sheet in sheets.values()]
    write_atomically(out / "gradebook.csv", csv_text(rows))
    return Written(waiting, mistakes)


@dataclass(frozen=True)
class Written:
    """What the pages say in short: how many answers await a person, and the named mistakes."""

    num_waiting: int
    mistakes: list[Mistake]


def _with_pictures_as_files(entry: GradebookEntry, out: Path) -> GradebookEntry:
    """Write the pictures of an answer beside the pages, which then name files instead of holding pictures."""
    paths = {}
    for address, uri in entry.images.items():
        head, _, data = uri.partition(";base64,")
        name = f"{digest(uri)}.{head.removeprefix('data:image/')}"
        if not (out / PICTURES / name).exists():
            write_atomically(out / PICTURES / name, base64.b64decode(data))
        paths[address] = f"../{PICTURES}/{name}"
    return replace(entry, images=paths) if paths else entry


def export(book: Gradebook, out: Path, formats: Iterable[str], *, final: bool) -> int:
    """Write <format>.csv for each LMS; return how many notebooks have no final points yet.

    final: whether these get the points that they have so far, or stay blank.
    """
    sheets = [book.sheet(student) for student in book.students]
    for name in formats:
        table = LMS[name].table(exports.lms_rows(book, sheets, final=final))
        write_atomically(out / f"{name}.csv", csv_text(table))
    return sum(sum(map(sheet.awaits_a_person, book.notebooks)) for sheet in sheets)


def file_name(student: str) -> str:
    """Return a student's name as a file name: itself if it is plain ASCII, else with a digest.

    Names that differ in capitals alone are refused when folders are found.
    """
    if PLAIN.fullmatch(student):
        return student
    letters = re.sub(r"[^A-Za-z0-9_-]+", "_", student)[:60]
    code = hashlib.sha256(student.encode()).hexdigest()
    return f"{letters}~{code[:12]}"
