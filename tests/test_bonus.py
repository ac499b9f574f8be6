"""Bonus points stand in a column of their own, wherever points are added up."""

import pytest
from course import ROOT

from attn_course import register
from attn_course.building.cards import heading
from attn_course.grading import gradebook, pages, releasing

PROPER = "01_copying"
EXTRA = "02_average_of_two"
NOTEBOOKS = [PROPER, EXTRA]


class Full:
    """Stands in for results.jsonl: one student, every part right."""

    def get(self, key):
        parts = [
            {"question": question.id, "kind": part.kind, "status": "correct"}
            | {"points": part.points, "out_of": part.points, "message": "", "answer": ""}
            for question in register.questions_of(key)
            for part in question.parts
        ]
        return {"notebook": key, "file": key, "parts": parts, "problem": "", "remarks": []}


class Handed:
    def __init__(self, notebook):
        self.student = "Ann"
        self.key = notebook


@pytest.fixture
def book(monkeypatch):
    monkeypatch.setattr(register, "BONUS", frozenset({EXTRA}))
    return gradebook.Gradebook(["Ann"], NOTEBOOKS, map(Handed, NOTEBOOKS), Full(), {})


def test_the_gradebook_has_a_column_for_the_bonus_that_the_total_leaves_out(book):
    sheet = book.sheet("Ann")
    row = dict(zip(gradebook.csv_header(book), gradebook.csv_row(book, sheet), strict=True))
    assert float(row["total"]) == register.points_of(PROPER)
    assert float(row["bonus"]) == register.points_of(EXTRA) == float(row[EXTRA])


def test_without_a_bonus_notebook_there_is_no_such_column():
    alone = gradebook.Gradebook(["Ann"], [PROPER], [Handed(PROPER)], Full(), {})
    assert "bonus" not in gradebook.csv_header(alone)
    assert "bonus" not in pages.student_page(alone, alone.sheet("Ann"), "")


def test_pages_and_gradescope_show_the_bonus_beside_the_points(book):
    sheet = book.sheet("Ann")
    page = pages.student_page(book, sheet, "")
    assert f"{register.points_of(PROPER):g} of {register.points_of(PROPER):g}" in page
    assert f"{register.points_of(EXTRA):g} of {register.points_of(EXTRA):g}" in page
    sent = gradebook.gradescope(sheet)
    assert sent["score"] == register.points_of(PROPER)
    assert sent["extra_data"] == {"bonus": register.points_of(EXTRA)}


def test_the_class_page_has_as_many_columns_as_a_row_has_cells(book):
    shown = pages.ClassPage(book)
    shown.add(book.sheet("Ann"), "ann.html")
    html = shown.html({}, [], "")
    head = html.split("<tbody", 1)[0]
    assert head.count("<th ") == shown.rows[0].count("<td") and ">bonus<" in head


def test_cards_and_the_release_say_that_points_are_a_bonus(book):
    question = register.questions_of(EXTRA)[1]
    assert f"\n\n*code · {question.points:g} bonus points · " in heading(question)
    readme = releasing.files_of(ROOT)["README.md"].decode()
    assert f"| `{EXTRA}` | 7 (bonus) |" in readme and f"| `{PROPER}` | 6 |" in readme
