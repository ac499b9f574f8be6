"""Knows which files a batch leaves behind, and writes them one student at a time."""

import hashlib
import json
import os
import re
from collections import Counter
from urllib.parse import quote

from attn_course.grading import gradebook
from attn_course.grading.pages import ClassPage, WrittenPage, student_page
from attn_course.grading.read_submission import Unreadable, read_submission

UNBOXED = (
    '<p class="warn">These submissions were run without a sandbox (--no-sandbox): nothing kept '
    "their code from this machine's files, network or results.</p>\n"
)


def write(book, out, *, solutions, counts, sandboxed=True):
    """Write gradebook.csv, every student's JSON and feedback, and the grader's pages into `out`.

    counts: figures on the batch, shown on top. Returns how many written answers await a person.
    """
    remark = "" if sandboxed else UNBOXED
    overview, rows, waiting = ClassPage(book), [gradebook.csv_header(book)], 0
    written = [WrittenPage(question, *texts) for question, texts in _to_read(book, solutions)]
    for student, name in file_names(book.students).items():
        sheet = book.sheet(student)
        results = json.dumps(gradebook.gradescope(sheet), indent=1, ensure_ascii=False)
        save(out / "students" / f"{name}.json", results)
        save(out / "students" / f"{name}.html", student_page(book, sheet, remark))
        rows.append(gradebook.csv_row(book, sheet))
        overview.add(sheet, f"students/{quote(name)}.html")
        waiting += sheet.num_waiting
        for page in written:
            page.add(sheet)
    for page in written:
        save(out / "questions" / f"{page.question.id}.html", page.html(remark))
    links = [(p.question, f"questions/{p.question.id}.html", p.num_waiting) for p in written]
    save(out / "index.html", overview.html({**counts, "awaiting": waiting}, links, remark))
    save(out / "gradebook.csv", gradebook.csv_text(rows))
    return waiting


def _to_read(book, solutions):
    """Yield (question, (reference, rubric)) for each question that a person reads."""
    for question in book.questions:
        if any(part.kind == "written" for part in question.parts):
            yield question, reference(solutions / f"{question.notebook}.py", question.id)


def reference(path, question_id):
    """Return the reference answer and the rubric of a question; empty where there is no solution."""
    try:
        cells = read_submission(path).cells
    except Unreadable:
        return "the solutions are not on this machine.", ""
    found = {"written": [], "rubric": []}
    for cell in cells:
        for role, texts in found.items():
            if cell.marks.get(role) == question_id:
                texts.append(cell.source.strip())
    return tuple("\n\n".join(texts) for texts in found.values())


def save(path, text):
    """Write a whole file or none: what was there stays until the new text is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name[:200]}.new")
    new.write_text(text, "utf-8", "backslashreplace", "\n")
    os.replace(new, path)


def file_names(students):
    """Return {student: file name}, different even where capitals and small letters are the same."""
    twins = Counter(map(str.casefold, students))
    return {student: file_name(student, twins[student.casefold()] > 1) for student in students}


def file_name(student, has_twin=False):
    """Return a student's name as a file name: itself, unless it is too long or has odd letters."""
    plain = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", student).strip(". ") or "_"
    short = plain.encode()[:100].decode("utf-8", "ignore")
    if short == student and not has_twin:
        return student
    return f"{short}-{hashlib.sha256(student.encode()).hexdigest()[:8]}"
