"""`attn check` without an argument: how far a student is, whatever lies in the folder."""

import contextlib
import io
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from classroom import filled, parts_of, right, save, wrong
from course import ROOT

from attn_course import cli, register
from attn_course.grading import self_check
from attn_course.grading.record import PartRecord, Record, State
from attn_course.grading.submissions import File


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A student's folder: 01 begun, 02 untouched, 03 broken, and a notebook of another course."""
    found = tmp_path_factory.mktemp("student")
    notebooks = found / "notebooks"
    choices = {}
    for question, part in parts_of("01_copying"):
        if question.id in ("1.3", "1.7"):
            choices[question.id, part.kind] = right("01_copying", question, part)
        if question.id == "1.6":
            choices[question.id, part.kind] = wrong(part)
    save(notebooks / "01_copying.ipynb", filled("01_copying", choices))
    for name in ("02_average_of_two.ipynb", "02_average_of_two.py"):
        shutil.copy(ROOT / "notebooks" / name, notebooks)
    (notebooks / "03_one_noisy_head.ipynb").write_text('{"cells": [', "utf-8")
    (notebooks / "history_essay.ipynb").write_text("{}", "utf-8")
    return found


@pytest.fixture(scope="module")
def overview(folder):
    """What `attn check` says there."""
    out = io.StringIO()
    err = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = cli.main(["check"])
    return SimpleNamespace(status=status, lines=out.getvalue().splitlines(), err=err.getvalue())


def test_every_notebook_of_the_course_has_its_line_and_no_other_file(overview):
    rows = [line for line in overview.lines if line[:2].isdigit()]
    names = [row.split()[0] for row in rows]
    assert names == ["01_copying", "02_average_of_two", "03_one_noisy_head"]


def test_points_what_is_not_yet_and_what_a_person_reads_are_told_apart(overview):
    begun, *details = overview.lines[:4]
    assert begun.split(maxsplit=1)[1] == f"0.5 of {register.points_of('01_copying'):g} points"
    assert details[0].startswith("  ✘ 1.6 not yet: ")
    assert details[1].startswith("  ○ not attempted: 1.1 derive, 1.1 code, 1.2, 1.4, 1.5")
    assert details[2] == "  ✎ read by a person: 1.7"


def test_a_notebook_that_was_not_begun_is_one_line(overview):
    line = next(line for line in overview.lines if line.startswith("02_"))
    points = register.points_of("02_average_of_two")
    assert line.endswith(f"0 of {points:g} points, not begun")


def test_a_broken_notebook_is_one_sentence_and_the_rest_goes_on(overview):
    line = next(line for line in overview.lines if line.startswith("03_"))
    assert "its JSON breaks off" in line
    assert overview.status == 1 and overview.err == ""


def test_the_end_says_how_many_points_there_are_and_what_to_do_next(overview):
    total, step = overview.lines[-2:]
    begun = ("01_copying", "02_average_of_two", "03_one_noisy_head")
    points = sum(map(register.points_of, begun))
    assert total == f"0.5 of {points:g} points so far; a person reads answers worth 0.5 more."
    assert step.startswith("Next: 1.6 ") and 'hint("1.6") helps.' in step
    assert "(notebooks/01_copying.ipynb)" in step


def test_a_folder_without_notebooks_of_the_course_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["check"]) == 2
    said = capsys.readouterr().err
    assert said == "attn check: there is no notebook of the course in this folder.\n"


def record(name, status):
    """A file in which every part that a judge marks has this status, and a person reads the rest."""
    parts = []
    for question, part in parts_of(name):
        is_right = status == State.CORRECT and part.judge
        found = status if part.judge else State.WAITING
        points = part.points if is_right else 0
        parts.append(PartRecord(question.id, part.kind, found, points, part.points, "", ""))
    return Record("you", name, f"{name}.ipynb", "", parts=tuple(parts))


@pytest.mark.parametrize(
    "status", [State.CORRECT, State.NOT_YET, State.NOT_ATTEMPTED, State.WAITING]
)
def test_a_strict_check_fails_unless_every_judged_part_is_correct(tmp_path, monkeypatch, status):
    name = "01_copying"
    shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", tmp_path)
    monkeypatch.setattr(self_check, "judged", lambda files: iter([record(name, status)]))
    for place in (tmp_path, tmp_path / f"{name}.ipynb"):
        assert cli.main(["check", str(place)]) == 0
        assert cli.main(["check", str(place), "--strict"]) == (status != State.CORRECT)


def test_when_all_is_answered_the_next_step_is_to_hand_in():
    done = [record(name, State.CORRECT) for name in register.NOTEBOOKS]
    assert "hand in the .ipynb files" in self_check.next_step(done, Path())
    said = self_check.points_so_far(done)
    bonus = sum(map(register.points_of, register.BONUS))
    points = sum(map(register.points_of, register.NOTEBOOKS)) - bonus
    assert re.match(
        rf"[\d.]+ of {points:g} points so far, and [\d.]+ of {bonus:g} bonus points; a person reads",
        said,
    )


def test_an_empty_answer_comes_after_a_wrong_one_and_after_notebooks_begun():
    empty = record("01_copying", State.NOT_ATTEMPTED)
    wrong_one = record("04_two_heads", State.NOT_YET)
    assert "Next: 4.1" in self_check.next_step([empty, wrong_one], Path())
    assert "Next: 1.1" in self_check.next_step([empty], Path())
    bad = Record("you", "01_copying", "01_copying.ipynb", "", problem="it is empty.")
    assert "could not be judged" in self_check.next_step([bad], Path())


def test_without_torch_the_other_notebooks_are_judged(folder, monkeypatch):
    monkeypatch.setattr(self_check, "find_spec", lambda name: None)
    monkeypatch.setattr(
        self_check, "judged_together", lambda files: (Record.of(file, "") for file in files)
    )
    names = ("05_keys_queries_values", "06_transformer_attention")
    files = [File("you", name, folder, f"{name}.ipynb") for name in names]
    first, second = self_check.judged(files)
    assert first.problem == ""
    assert "torch is not installed here; in the course's folder, pip install" in second.problem


def test_progress_is_shown_on_a_terminal_and_leaves_nothing(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    with self_check.progress("judging 01_copying.ipynb ..."):
        assert terminal.getvalue() == "\rjudging 01_copying.ipynb ..."
    assert terminal.getvalue().endswith(f"\r{' ' * 28}\r")


def test_a_part_with_a_judge_that_awaits_a_person_says_why():
    part = PartRecord("1.4", "code", State.WAITING, 0, 1, "cell 7 is not run.", "")
    found = Record("you", "01_copying", "01_copying.ipynb", "", parts=(part,))
    assert self_check.overview_row(found).splitlines()[1:] == [
        "  ✎ 1.4 awaits a person: cell 7 is not run."
    ]
