"""`solution("1.4")`: what is shown when, and that it is the solution's own text."""

import pytest
from classroom import filled, notebook, save
from course import JUDGED

from attn_course import check, course_files, progress, progress_notes, register, solution
from attn_course.reference_solution import ShownPart


@pytest.fixture(autouse=True)
def nothing_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_notes, "session_notes", [])
    monkeypatch.chdir(tmp_path)


def mean(values):
    return sum(values) / len(values)


def test_before_it_is_correct_the_hints_that_are_left_and_the_way_out_are_named():
    shown = solution("0.1")
    left = len(register.find("0.1").hints)
    assert "0.1 is not yet correct" in repr(shown) and f"has {left} more hint" in repr(shown)
    assert "give_up=True" in repr(shown) and "return" not in repr(shown)


def test_after_a_correct_check_the_reference_is_shown():
    check("0.1", mean)
    assert "return sum(values) / len(values)" in repr(solution("0.1"))


def test_giving_up_shows_it_and_is_noted():
    assert "return sum(values) / len(values)" in repr(solution("0.1", give_up=True))
    assert "0 of 2, 1 given up" in repr(progress())


def test_a_written_reference_comes_with_its_rubric_once_something_is_written(tmp_path):
    assert "answered in words" in repr(solution("0.3"))
    path = tmp_path / "00_start_here.ipynb"
    save(path, notebook("00_start_here"))
    assert "answered in words" in repr(solution("0.3"))
    save(path, filled("00_start_here", {("0.3", "written"): "It is 1."}))
    assert "Rubric" in repr(solution("0.3")) and "approaches 1" in repr(solution("0.3"))
    assert "<b>Rubric.</b>" in solution("0.3")._repr_html_()


def test_an_edition_without_solutions_says_who_has_them(monkeypatch):
    monkeypatch.setattr(course_files, "solution_source", lambda name: None)
    assert repr(solution("0.1", give_up=True)) == (
        "This edition of the course has no solutions; whoever gave it to you has them."
    )


def test_a_question_that_is_not_there_is_one_sentence():
    assert repr(solution("1.99")).startswith("there is no question 1.99")


def test_lines_that_differ_are_marked_and_others_are_not():
    part = ShownPart("code", "a = 1\nb = 2", "a = 1\nb = 3\nc = 4")
    assert list(part.lines()) == [
        ("a = 1", "a = 1", False),
        ("b = 2", "b = 3", True),
        ("", "c = 4", True),
    ]


def test_parts_of_a_question_are_told_apart_and_rows_have_no_stripes():
    page = solution("1.1", give_up=True)._repr_html_()
    assert "reference, derive<" in page and "reference, code<" in page
    assert "<tr>" not in page and ", code<" not in solution("0.1", give_up=True)._repr_html_()


@pytest.mark.parametrize(
    "question",
    sorted({question.id for question, _ in JUDGED}, key=lambda q: [*map(int, q.split("."))]),
)
def test_every_judged_question_has_a_reference_that_names_its_answers(question):
    shown = solution(question, give_up=True)
    assert not shown.sentence
    for part, asked in zip(shown.parts, register.find(question).parts, strict=True):
        assert not asked.answers or any(name in part.reference for name in asked.answers)
        assert "SOLUTION" not in part.reference
        assert asked.kind != "written" or part.rubric
