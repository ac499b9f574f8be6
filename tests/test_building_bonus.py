"""Bonus points are called so on cards and in the release; test_grading_book adds them up."""

from course import ROOT

from attn_course import register
from attn_course.building.cards import heading
from attn_course.grading import release_archive

PROPER = "01_copying"
EXTRA = "02_average_of_two"


def test_cards_and_the_release_say_that_points_are_a_bonus(monkeypatch):
    monkeypatch.setattr(register, "BONUS", frozenset({EXTRA}))
    question = register.questions_of(EXTRA)[1]
    assert f"\n\n*code · {question.points:g} bonus points · " in heading(question)
    readme = release_archive.files_of(ROOT)["README.md"].decode()
    assert f"| `{EXTRA}` | {register.points_of(EXTRA):g} (bonus) |" in readme
    assert f"| `{PROPER}` | {register.points_of(PROPER):g} |" in readme
