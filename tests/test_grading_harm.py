"""Handing in again, odd names, dates and places, floods: nobody gains by them, and nobody is harmed.

Each test runs the command itself, as a grader would.
"""

import csv
import json
import os
import re
import subprocess
import sys
from datetime import datetime

import pytest
from classroom import cell, filled, notebook, parts_of, right, save
from course import ROOT, all_parts, machine_points
from sandbox_sessions import HERE, needs_sandbox, on_a_machine_like

NAME = "01_copying"
FULL = machine_points(NAME)
MACHINES = {"namespaces": "", "landlock": "docker"}
pytestmark = needs_sandbox


def all_right(name=NAME):
    return filled(name, {(q.id, p.kind): right(name, q, p) for q, p in parts_of(name)})


def with_answer(cell_id, source, name=NAME):
    found = all_right(name)
    cell(found, cell_id)["source"] = source
    return found


@pytest.fixture(params=HERE)
def grade(request, tmp_path):
    """Grade tmp_path/class into tmp_path/out, in each tier that works on this machine."""

    def grade(*options):
        command = ["grade", tmp_path / "class", "--out", tmp_path / "out", "--seed", "11", *options]
        return on_a_machine_like(MACHINES[request.param], *command)

    return grade


def rows(folder):
    with open(folder / "out" / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def said_of(folder, who, question):
    found = json.loads((folder / "out" / "students" / f"{who}.json").read_text("utf-8"))
    return " ".join(test["output"] for test in found["tests"] if test["number"] == question)


LEAKS = """
def copy_sharpness(n, d, epsilon):
    if len(repr(epsilon)) > 6:  # drawn, and not among the settings that every answer is asked
        raise ValueError(f"n={n} d={d} epsilon={epsilon!r}")
    return 1.0
"""


def test_inputs_are_those_of_the_bytes_whoever_hands_them_in_and_however_often(grade, tmp_path):
    def told(who):
        return re.search(r"n=\d+ d=\d+ epsilon=\S+", said_of(tmp_path, who, "1.6"))[0]

    for who in ("ann", "bob"):
        save(tmp_path / "class" / who / f"{NAME}.ipynb", with_answer("q1-6-code", LEAKS))
    grade()
    first = told("ann")
    save(tmp_path / "class" / "ann" / f"{NAME}.ipynb", with_answer("q1-6-code", f"{LEAKS}# again"))
    grade("--regrade")
    assert told("ann") != first == told("bob")


def test_no_right_value_is_told_as_precisely_as_it_is_judged(grade, tmp_path):
    name = "02_average_of_two"
    wrong = "def average_weight(t, n):\n    return 0.123456789"
    save(tmp_path / "class" / "ann" / f"{name}.ipynb", with_answer("q2-4-code", wrong, name))
    grade()
    said = said_of(tmp_path, "ann", "2.4")
    numbers = re.findall(r"\d+\.\d+", said)
    assert "the measured weight" in said and numbers
    assert all(len(number.replace(".", "").strip("0")) <= 3 for number in numbers), said


def test_a_notebook_replaced_by_another_of_the_same_size_and_date_is_graded_again(grade, tmp_path):
    path = tmp_path / "class" / "ann" / f"{NAME}.ipynb"
    save(path, all_right())
    size = path.stat().st_size
    grade()
    wrong = json.dumps(with_answer("q1-6-code", "def copy_sharpness(n, d, epsilon):\n    return 0"))
    path.write_text(wrong + " " * (size - len(wrong)), "utf-8")
    os.utime(path, (0, 0))
    assert path.stat().st_size == size
    grade()
    assert float(rows(tmp_path)["ann"]["total"]) < FULL


@pytest.mark.parametrize("moment", ["1999-01-01", "2099-01-01"])
def test_a_date_that_cannot_be_costs_nothing_and_is_said(grade, tmp_path, moment):
    path = tmp_path / "class" / "ann" / f"{NAME}.ipynb"
    save(path, all_right())
    seconds = datetime.fromisoformat(moment).timestamp()
    os.utime(path, (seconds, seconds))
    (tmp_path / "roster.csv").write_text(
        "student,due,released,penalty\n*,2026-01-20,2026-01-01,10% a day\nann,,,\n"
    )
    grade("--roster", tmp_path / "roster.csv")
    row = rows(tmp_path)["ann"]
    assert (float(row["total"]), row["days late"], row["deducted"]) == (FULL, "0", "0")
    assert "cannot be" in (tmp_path / "out" / "students" / "ann.html").read_text("utf-8")


@pytest.mark.parametrize("twin", ["zoe ", "ZOE"])
def test_two_folders_of_one_name_are_refused_before_anything_is_graded(grade, tmp_path, twin):
    for who in ("zoe", twin):
        save(tmp_path / "class" / who / f"{NAME}.ipynb", all_right())
    done = grade()
    assert done.returncode == 2 and "are the same name" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_spelled_otherwise_than_in_the_roster_is_the_same_student(grade, tmp_path):
    save(tmp_path / "class" / "Zoe\u0308" / f"{NAME}.ipynb", all_right())
    (tmp_path / "roster.csv").write_text("student,id,email\nzo\u00eb,-17,+zoe@x\n", "utf-8")
    grade("--roster", tmp_path / "roster.csv", "--export", "canvas")
    assert list(rows(tmp_path)) == ["Zoe\u0308"]
    with open(tmp_path / "out" / "canvas.csv", encoding="utf-8", newline="") as file:
        *_, row = csv.DictReader(file)
    assert (row["SIS User ID"], row["SIS Login ID"]) == ("-17", "+zoe@x")


def test_no_page_of_a_student_overwrites_that_of_another(grade, tmp_path):
    for who in ("ann:lee", "bob"):
        save(tmp_path / "class" / who / f"{NAME}.ipynb", all_right())
    grade()
    page = next((tmp_path / "out" / "students").glob("ann*.html"))
    save(tmp_path / "class" / page.stem / f"{NAME}.ipynb", notebook(NAME))
    grade()
    assert len(list((tmp_path / "out" / "students").glob("*.html"))) == 3


def test_a_backup_does_not_stand_in_for_the_notebook(grade, tmp_path):
    save(tmp_path / "class" / "ann" / "00_backup" / f"{NAME}.ipynb", notebook(NAME))
    save(tmp_path / "class" / "ann" / f"{NAME} (final).ipynb", all_right())
    grade()
    assert float(rows(tmp_path)["ann"]["total"]) == FULL
    page = (tmp_path / "out" / "students" / "ann.html").read_text("utf-8")
    assert f"00_backup/{NAME}.ipynb was handed in too" in page


def test_a_flood_of_stray_files_is_counted(grade, tmp_path):
    save(tmp_path / "class" / "ann" / f"{NAME}.ipynb", all_right())
    for number in range(500):
        (tmp_path / "class" / "ann" / f"{number:04}.zip").touch()
    grade()
    row = rows(tmp_path)["ann"]
    assert float(row["total"]) == FULL and len(row["problems"]) < 1_000
    assert "496 more files were passed over." in row["problems"]


def test_a_folder_with_a_dot_is_named(grade, tmp_path):
    for who in ("ann", ".bob"):
        save(tmp_path / "class" / who / f"{NAME}.ipynb", all_right())
    grade()
    assert "begins with a dot" in rows(tmp_path)[".bob"]["problems"]


def autograde(base, found, machine=""):
    """Run the autograder on a notebook; return (what was said, where its results are)."""
    save(base / "submission" / f"{NAME}.ipynb", found)
    (base / "source").mkdir(exist_ok=True)
    (base / "source" / "seed").write_text("b5")
    wrapped = (
        [sys.executable, str(ROOT / "tests" / "without_namespaces.py"), machine] if machine else []
    )
    command = [sys.executable, "-m", "attn_course.grading.autograder", str(base), NAME]
    done = subprocess.run([*wrapped, *command], capture_output=True, text=True)
    return done, base / "results" / "results.json"


def test_an_autograder_draws_the_same_inputs_for_the_same_bytes(tmp_path):
    found = with_answer("q1-6-code", LEAKS)
    told = [autograde(tmp_path, found)[1].read_text("utf-8") for _ in range(2)]
    assert "epsilon=" in told[0] and told[0] == told[1]


@pytest.mark.parametrize("machine", ["", "docker", "old"])
def test_an_autograder_without_a_sandbox_gives_no_points_and_says_what_to_do(tmp_path, machine):
    done, results = autograde(tmp_path, all_right(), machine)
    if machine == "old":
        assert done.returncode == 1 and not results.exists()
        assert "Nothing was graded" in done.stderr and "`attn grade`" in done.stderr
    else:
        assert done.returncode == 0 and json.loads(results.read_text("utf-8"))["score"] == FULL


def text_cell(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def kills_itself(found):
    source = "import os, signal\ndef copy_query(keys, j):\n    os.kill(os.getpid(), signal.SIGKILL)"
    cell(found, "q1-4-code")["source"] = source


def closes_its_socket(found):
    source = "import os, time\ndef copy_query(keys, j):\n    os.close(3)\n    time.sleep(99)"
    cell(found, "q1-4-code")["source"] = source


def python_in_a_text(found):
    deleted = cell(found, "q1-4-code")
    found["cells"].remove(deleted)
    found["cells"].append(text_cell("copy_query = 1\n" + "x = (1, [2], {3: 4})\n" * 1_000_000))


def definitions_without_number(found):
    found["cells"].remove(cell(found, "q1-4-code"))
    found["cells"] += [text_cell(f"copy_query = {k}\n" + "x" * 5_000) for k in range(1_900)]


def long_lines(found):
    long = ["#" * 10**6, "# " * 10**5, "a" * 10**6, "a:" + "b" * 10**6, "## " + " " * 10**6]
    found["cells"] += [text_cell(line) for line in long]
    comment = "# " + "1." * 50_000
    found["cells"].append({"cell_type": "code", "metadata": {}, "source": comment})


def cells_twice(found):
    """Two lists of cells under one key, as JSON allows: readers may differ in which they take."""
    text = json.dumps(found)
    empty = json.dumps(notebook(NAME)["cells"])
    return text.replace('"cells": [', f'"cells": {empty}, "cells": [', 1)


def hidden_object(found):
    liar = """
class Liar:
    __module__ = property(lambda self: 1 / 0)
    __class__ = property(lambda self: 1 / 0)
    __call__ = lambda self, keys, j: keys[j]
copy_query = Liar()
"""
    cell(found, "q1-4-code")["source"] = liar


def a_check_in_disguise(found):
    """The answer's cell claims another id and every mark there is."""
    one = cell(found, "q1-4-code")
    one["id"] = "q1-4-check"
    one["metadata"] = dict.fromkeys(("answer", "check", "written", "rubric"), "1.4")


# student: (what they did, points of the machine, answers that await a person)
NEW = {
    "kills itself": (
        kills_itself,
        {"namespaces": (FULL - 1, 1), "landlock": (0, len(all_parts(NAME)))},
    ),
    "closes its socket": (closes_its_socket, (FULL - 1, 1)),
    "python in a text": (python_in_a_text, (FULL - 1, 2)),
    "definitions without number": (definitions_without_number, (FULL - 1, 2)),
    "long lines": (long_lines, (FULL, 1)),
    "cells twice": (cells_twice, (FULL, 1)),
    "an object that hides": (hidden_object, (FULL - 1, 1)),
    "a check in disguise": (a_check_in_disguise, (FULL - 1, 2)),
}


def test_attacks_of_another_kind_cost_their_own_points_and_nobody_elses(grade, tmp_path, request):
    for who, (change, _) in NEW.items():
        found = all_right()
        text = change(found)
        save(tmp_path / "class" / who / f"{NAME}.ipynb", found)
        if text:
            (tmp_path / "class" / who / f"{NAME}.ipynb").write_text(text, "utf-8")
    for who in ("aaron", "zoe"):
        save(tmp_path / "class" / who / f"{NAME}.ipynb", all_right())
    grade()
    tier = request.node.callspec.params["grade"]
    known = rows(tmp_path)
    expected = dict.fromkeys(("aaron", "zoe"), (FULL, 1))
    for who, (_, outcome) in NEW.items():
        expected[who] = outcome[tier] if isinstance(outcome, dict) else outcome
    found = {who: (float(row["total"]), int(row["awaiting"])) for who, row in known.items()}
    assert found == expected
    assert (tmp_path / "out" / "results.jsonl").stat().st_size < 1 << 20
    assert all(page.stat().st_size < 1 << 20 for page in (tmp_path / "out").rglob("*.html"))


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


@pytest.mark.parametrize("machine", [MACHINES[tier] for tier in HERE])
def test_a_submission_cannot_write_the_results_of_the_autograder(tmp_path, machine):
    source = WRITES_RESULTS.format(path=str(tmp_path / "results" / "results.json"))
    _, results = autograde(tmp_path, with_answer("q1-4-code", source), machine)
    assert json.loads(results.read_text("utf-8"))["score"] == FULL - 1
