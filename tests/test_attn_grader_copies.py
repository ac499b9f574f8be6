"""Copies of the published solution: found whatever the names, remarked on, counted, never a point."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from classroom import full_record, parts_of, right
from course import ROOT

from attn_course.verdict import State
from attn_grader import pages
from attn_grader.gradebook import Gradebook
from attn_grader.insight import PUBLISHED, alike_pairs, is_published, note_published
from attn_grader.references import references
from attn_grader.submissions import File

NAME = "01_copying"
QUESTION = "1.4"
SOLUTIONS = references([NAME], ROOT / "solutions")
SOLUTION = SOLUTIONS[QUESTION].code


def answer_of(question):
    (pair,) = [(q, part) for q, part in parts_of(NAME) if (q.id, part.kind) == (question, "code")]
    return right(NAME, *pair)


ANSWER = answer_of(QUESTION)
DISGUISES = {
    "as it is": ANSWER,
    "with comments": f"# all my own work\n{ANSWER}  # done",
    "with other names": re.sub(r"\bkeys\b", "rows", ANSWER),
    "without the docstring": re.sub(r'""".*?"""', "", ANSWER, flags=re.S),
    "with other spaces": ANSWER.replace(" = ", "   =  ") + "\n\n\n",
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_the_published_solution_is_recognised_in_every_disguise_of_layout(disguise):
    assert is_published(DISGUISES[disguise], SOLUTION)


def test_another_computation_and_a_short_solution_are_nobodys_copy():
    assert not is_published(ANSWER.replace("+", "-").replace("*", "/"), SOLUTION)
    assert not is_published("", SOLUTION) and not is_published("", "")
    short = "# BEGIN SOLUTION\nreturn keys[j] * 30\n# END SOLUTION\n"
    assert not is_published("return keys[j] * 30\n", short)


def test_a_copy_is_remarked_on_and_counted_and_costs_no_point(tmp_path):
    texts = {"Ann": ANSWER, "Bob": DISGUISES["with other names"], "Cid": "def copy_query(): ..."}

    def record_of(key):
        record = full_record(key)
        parts = [
            replace(part, answer=texts[key[0]] if part.question == QUESTION else "")
            for part in record.parts
        ]
        return replace(record, parts=tuple(parts))

    files = [File(student, NAME, Path("nowhere"), f"{NAME}.ipynb") for student in texts]
    book = Gradebook(list(texts), [NAME], files, record_of, references=SOLUTIONS)
    sheets = {student: book.sheet(student) for student in texts}
    for sheet in sheets.values():
        note_published(sheet, book.references)
    assert sheets["Ann"].remarks == sheets["Bob"].remarks == [f"{QUESTION}: {PUBLISHED}"]
    assert sheets["Cid"].remarks == []
    assert sheets["Ann"].total() == sheets["Cid"].total()
    assert all(entry.status != State.WAITING for entry in sheets["Ann"].entries if entry.part.judge)
    pages.write(book, tmp_path, counts={})
    page = (tmp_path / "index.html").read_text("utf-8")
    line = page.partition(f"<li>{QUESTION}: 2, ")[2].split("</li>")[0]
    assert "Ann" in line and "Bob" in line and "Cid" not in line


@pytest.mark.parametrize("error", [SystemError, MemoryError, RecursionError])
def test_whatever_reading_one_cell_raises_costs_nobody_the_gradebook(monkeypatch, error):
    """Finding 9: on some versions of Python a text makes `tokenize` raise what nobody expects."""

    def broken(readline):
        raise error("tokenize")

    monkeypatch.setattr("tokenize.generate_tokens", broken)
    assert alike_pairs({QUESTION: {"Ann": ANSWER, "Bob": ANSWER}}) == []
    assert not is_published(ANSWER, SOLUTION + "# read anew")
