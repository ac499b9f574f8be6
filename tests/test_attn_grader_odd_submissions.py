"""Handing in again, odd names, dates and places, floods: nobody gains by them, and nobody is harmed.

Each test runs the command itself, as a grader would.
"""

import csv
import json
import os
import re
import sys
from datetime import datetime

import pytest
from classroom import all_right, cell, notebook, save
from course import machine_points
from sandbox_sessions import HERE, LIKE, TIERS, needs_sandbox, on_a_machine_like, rows, said_of

NAME = "01_copying"
FULL = machine_points(NAME)
AUTOGRADER = [sys.executable, "-m", "attn_grader.autograder"]
pytestmark = needs_sandbox


def with_answer(cell_id, source, name=NAME):
    found = all_right(name)
    cell(found, cell_id)["source"] = source
    return found


@pytest.fixture
def hand_in(tmp_path):
    """Save a notebook as a student's; return its path."""

    def hand_in(who, found, name=NAME):
        path = tmp_path / "class" / who / f"{name}.ipynb"
        save(path, found)
        return path

    return hand_in


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture(params=TIERS)
def grade(request, tmp_path, out):
    """Grade the class, in each tier that works on this machine."""

    def grade(*options):
        command = ["grade", tmp_path / "class", "--out", out, "--seed", "11", *options]
        return on_a_machine_like(LIKE[request.param], *command)

    return grade


LEAKS = """
def copy_sharpness(n, d, epsilon):
    if len(repr(epsilon)) > 6:  # drawn, and not among the settings that every answer is asked
        raise ValueError(f"n={n} d={d} epsilon={epsilon!r}")
    return 1.0
"""


def test_inputs_are_those_of_the_bytes_whoever_hands_them_in_and_however_often(grade, hand_in, out):
    def told(who):
        return re.search(r"n=\d+ d=\d+ epsilon=\S+", said_of(out, who, "1.6"))[0]

    for who in ("ann", "bob"):
        hand_in(who, with_answer("q1-6-code", LEAKS))
    grade()
    first = told("ann")
    hand_in("ann", with_answer("q1-6-code", f"{LEAKS}# again"))
    grade("--regrade")
    assert told("ann") != first == told("bob")


def test_a_notebook_replaced_by_another_of_the_same_size_and_date_is_graded_again(
    grade, hand_in, out
):
    path = hand_in("ann", all_right(NAME))
    size = path.stat().st_size
    grade()
    wrong = json.dumps(with_answer("q1-6-code", "def copy_sharpness(n, d, epsilon):\n    return 0"))
    path.write_text(wrong + " " * (size - len(wrong)), "utf-8")
    os.utime(path, (0, 0))
    assert path.stat().st_size == size
    grade()
    assert float(rows(out)["ann"]["total"]) < FULL


def test_a_date_that_cannot_be_costs_nothing_and_is_said(grade, hand_in, out, tmp_path):
    for year in ("1999", "2099"):
        seconds = datetime.fromisoformat(f"{year}-01-01").timestamp()
        os.utime(hand_in(year, all_right(NAME)), (seconds, seconds))
    (tmp_path / "roster.csv").write_text(
        "student,due,released,penalty\n*,2026-01-20,2026-01-01,10% a day\n1999,,,\n2099,,,\n"
    )
    grade("--roster", tmp_path / "roster.csv")
    for year, row in rows(out).items():
        assert (float(row["total"]), row["days late"], row["deducted"]) == (FULL, "0", "0")
        assert "cannot be" in (out / "students" / f"{year}.html").read_text("utf-8")


@pytest.mark.parametrize("twin", ["zoe ", "ZOE"])
def test_two_folders_of_one_name_are_refused_before_anything_is_graded(grade, hand_in, out, twin):
    for who in ("zoe", twin):
        hand_in(who, all_right(NAME))
    done = grade()
    assert done.returncode == 2 and "are the same name" in done.stderr
    assert not out.exists()


def test_a_folder_spelled_otherwise_than_in_the_roster_is_the_same_student(
    grade, hand_in, out, tmp_path
):
    hand_in("Zoe\u0308", all_right(NAME))
    (tmp_path / "roster.csv").write_text("student,id,email\nzo\u00eb,-17,+zoe@x\n", "utf-8")
    grade("--roster", tmp_path / "roster.csv", "--export", "canvas")
    assert list(rows(out)) == ["Zoe\u0308"]
    with open(out / "canvas.csv", encoding="utf-8", newline="") as file:
        *_, row = csv.DictReader(file)
    assert (row["SIS User ID"], row["SIS Login ID"]) == ("-17", "+zoe@x")


def test_no_page_of_a_student_overwrites_that_of_another(grade, hand_in, out):
    for who in ("ann:lee", "bob"):
        hand_in(who, all_right(NAME))
    grade()
    page = next((out / "students").glob("ann*.html"))
    hand_in(page.stem, notebook(NAME))
    grade()
    assert len(list((out / "students").glob("*.html"))) == 3


def autograde(base, found, machine=""):
    """Run the autograder on a notebook; return (what was said, where its results are)."""
    save(base / "submission" / f"{NAME}.ipynb", found)
    (base / "source").mkdir(exist_ok=True)
    (base / "source" / "seed").write_text("b5")
    done = on_a_machine_like(machine, base, NAME, command=AUTOGRADER)
    return done, base / "results" / "results.json"


def test_an_autograder_draws_the_same_inputs_for_the_same_bytes(tmp_path):
    found = with_answer("q1-6-code", LEAKS)
    told = [autograde(tmp_path, found)[1].read_text("utf-8") for _ in range(2)]
    assert "epsilon=" in told[0] and told[0] == told[1]


@pytest.mark.parametrize("machine", ["", "docker", "old"])
def test_an_autograder_without_a_sandbox_gives_no_points_and_says_what_to_do(tmp_path, machine):
    done, results = autograde(tmp_path, all_right(NAME), machine)
    if machine == "old":
        assert done.returncode == 1 and not results.exists()
        assert "Nothing was graded" in done.stderr and "`attn grade`" in done.stderr
    else:
        assert done.returncode == 0 and json.loads(results.read_text("utf-8"))["score"] == FULL


WRITES_RESULTS = """
import json, os
path = {path!r}
def write():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump({{"score": 100}}, file)
try:
    write()
    if os.fork() == 0:
        while True:
            write()
except Exception:
    pass
def copy_query(keys, j):
    return keys[j]
"""


@pytest.mark.parametrize("machine", [LIKE[tier] for tier in HERE])
def test_a_submission_cannot_write_the_results_of_the_autograder(tmp_path, machine):
    source = WRITES_RESULTS.format(path=str(tmp_path / "results" / "results.json"))
    _, results = autograde(tmp_path, with_answer("q1-4-code", source), machine)
    assert json.loads(results.read_text("utf-8"))["score"] == FULL - 1
