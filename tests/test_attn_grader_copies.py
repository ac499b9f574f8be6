"""Copies of the published solution and of the course's own functions: remarked on, counted, never a point."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from classroom import filled, full_record, parts_of, right

from attn_course.verdict import State
from attn_grader import grade, pages
from attn_grader.copies import (
    BORROWED_HEAD,
    PUBLISHED,
    PUBLISHED_HEAD,
    alike_pairs,
    borrowed,
    is_published,
)
from attn_grader.gradebook import Gradebook
from attn_grader.notebook import Cell
from attn_grader.record import PartRecord
from attn_grader.references import references
from attn_grader.sandbox import Limits
from attn_grader.submissions import File

NAME = "01_copying"
QUESTION = "1.4"
SOLUTIONS = references([NAME])
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
    origin = {"Cid": "attn_utils.kernels.attend"}

    def record_of(key):
        record = full_record(key)
        parts = [
            replace(part, answer=texts[key[0]], borrowed=origin.get(key[0], ""))
            if part.question == QUESTION
            else part
            for part in record.parts
        ]
        return replace(record, parts=tuple(parts))

    files = [File(student, NAME, Path("nowhere"), f"{NAME}.ipynb") for student in texts]
    book = Gradebook(list(texts), [NAME], files, record_of, references=SOLUTIONS)
    sheets = [book.sheet(student) for student in texts]
    assert len({sheet.total() for sheet in sheets}) == 1
    assert all(entry.passed for sheet in sheets for entry in sheet.entries if entry.part.judge)
    pages.write(book, tmp_path, counts={})
    remarks = {
        student: (tmp_path / "students" / f"{student}.html").read_text("utf-8") for student in texts
    }
    assert [PUBLISHED in remarks[student] for student in texts] == [True, True, False]
    page = (tmp_path / "index.html").read_text("utf-8")
    _, of_solution = page.split(PUBLISHED_HEAD)
    of_solution, of_course = of_solution.split(BORROWED_HEAD)
    assert "two students share" not in page  # the solution is what they share
    for text, number, students in [(of_solution, 2, ["Ann", "Bob"]), (of_course, 1, ["Cid"])]:
        line = text.partition(f"<summary>{QUESTION}: <b>{number}</b></summary>")[2].split("</li>")[
            0
        ]
        links = [f'href="students/{student}.html#q1-4-code">{student}</a>' for student in texts]
        assert [
            student for student, link in zip(texts, links, strict=True) if link in line
        ] == students


BORROWED = {
    "imported": "from attn_utils.kernels import attend",
    "imported under another name": "from attn_utils.kernels import attend as f",
    "an attribute": "from attn_utils import kernels\nattend = kernels.attend",
    "an attribute of a package": "import attn_utils.kernels as k\nattend = k.attend",
}


def borrowed_in(*sources, handed_out=()):
    cells = [Cell(number, "code", source) for number, source in enumerate(sources, 1)]
    return borrowed(cells, handed_out).get("attend")


@pytest.mark.parametrize("name", BORROWED)
def test_what_is_taken_from_the_course_is_recognised_unless_it_was_handed_out(name):
    assert borrowed_in(BORROWED[name]) == "attn_utils.kernels.attend"
    assert borrowed_in(BORROWED[name], handed_out=[BORROWED[name]]) is None


def test_an_attribute_of_what_the_notebook_imports_is_taken_from_the_course():
    imports = "from attn_utils import kernels"
    taken = borrowed_in(imports, "attend = kernels.attend", handed_out=[imports])
    assert taken == "attn_utils.kernels.attend"


def test_the_record_of_a_file_names_what_a_right_answer_takes_from_the_course(monkeypatch):
    name = "06_transformer_attention"
    known = {"6.3": State.CORRECT, "6.4": State.NOT_YET}

    def verdicts(job, warm, cells, sources, parts, limits):
        states = {(q.id, part.kind): (part, known.get(q.id, State.CORRECT)) for q, part in parts}
        made = {
            key: PartRecord(key[0], state, "", 0.0, part.points, part.kind)
            for key, (part, state) in states.items()
        }
        return made, {}, 0.0

    monkeypatch.setattr(grade, "verdicts", verdicts)
    taken = {(question, "code"): "from attn_utils import attend, causal_mask" for question in known}
    data = json.dumps(filled(name, taken)).encode()
    job = grade.Job(name, ".ipynb", data, "", None)
    record = grade.grade(job, None, grade.Settings(Limits(), (name,), "namespaces"))
    assert {part.question: part.borrowed for part in record.parts if part.borrowed} == {
        "6.3": "attn_utils.attend"
    }
    assert "6.3: the answer may be attn_utils.attend. It costs no points." in record.remarks


@pytest.mark.parametrize("error", [SystemError, MemoryError, RecursionError])
def test_whatever_reading_one_cell_raises_costs_nobody_the_gradebook(monkeypatch, error):
    """Finding 9: on some versions of Python a text makes `tokenize` raise what nobody expects."""

    def broken(readline):
        raise error("tokenize")

    monkeypatch.setattr("tokenize.generate_tokens", broken)
    assert alike_pairs({QUESTION: {"Ann": ANSWER, "Bob": ANSWER}}) == []
    assert not is_published(ANSWER, SOLUTION + "# read anew")
