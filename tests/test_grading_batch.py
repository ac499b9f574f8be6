"""What a batch does when grading itself fails, hangs or is given a damaged file of results."""

import contextlib
import json
import os
import sys
import time
from pathlib import Path

import pytest

from attn_course import reading
from attn_course.grading import batch, marking, sandbox, session
from attn_course.grading.gradebook import Results
from attn_course.grading.submissions import File, Refused

SETTINGS = batch.Settings(1, session.Limits(total=1.0), ("sympy",), sandboxed=False)


def files(*names):
    return [File(name, "01_copying", Path(name), "01_copying.ipynb") for name in names]


def badly(file, **options):
    """Stands in for `mark`: one student's file ends the process, one hangs it, one breaks it."""
    if file.student == "ends":
        os._exit(9)
    if file.student == "hangs":
        time.sleep(600)
    if file.student == "breaks":
        raise RuntimeError("the fork server is gone")
    return {**marking.blank(file), "problem": "", "remarks": []}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.parametrize("jobs", [1, 3])
def test_a_file_that_ends_hangs_or_breaks_its_grader_costs_only_itself(monkeypatch, jobs):
    monkeypatch.setattr(batch, "MARGIN", 5.0)
    monkeypatch.setattr(batch, "warm_up", lambda modules: None)
    monkeypatch.setattr(session, "Zygote", lambda *a, **k: contextlib.nullcontext())
    monkeypatch.setattr(marking, "mark", badly)
    students = ["a", "ends", "b", "breaks", "c", "hangs", "d"]
    found = {r["student"]: r["problem"] for r in batch.grade(files(*students), SETTINGS, jobs)}
    assert found == {
        **dict.fromkeys("abcd", ""),
        "ends": "grading it ended its process.",
        "hangs": "grading it took too long and was stopped.",
        "breaks": "grading it failed (the fork server is gone).",
    }


def record(student):
    return {**marking.blank(files(student)[0]), "problem": "", "remarks": []}


def test_results_survive_a_line_cut_short(tmp_path):
    results = Results(tmp_path / "r", seed=5)
    for student in ("a", "b"):
        results.add(record(student))
    results.file.close()
    data = (tmp_path / "r").read_bytes()
    for cut in range(len(data.splitlines(keepends=True)[0]), len(data) + 1, 7):
        (tmp_path / "r").write_bytes(data[:cut])
        found = Results(tmp_path / "r")
        whole = data[:cut].count(b"\n") - 1
        assert found.seed == 5 and len(found.where) == whole
        found.add(record("c"))
        assert found.get(files("c")[0].key)["student"] == "c"
        found.file.close()
        lines = (tmp_path / "r").read_bytes().splitlines()
        assert len(lines) == whole + 2 and all(map(json.loads, lines))


def test_a_newer_record_of_the_same_file_wins(tmp_path):
    results = Results(tmp_path / "r")
    for problem in ("old", "new"):
        results.add({**record("a"), "problem": problem})
    assert results.get(files("a")[0].key)["problem"] == "new"


def test_seeds_are_secret_and_different(tmp_path):
    seeds = {Results(tmp_path / name).seed for name in "ab"}
    assert len(seeds) == 2 and min(seeds) > 1 << 64


def test_results_of_another_seed_or_changed_by_hand_are_refused(tmp_path):
    Results(tmp_path / "r", seed=5).file.close()
    with pytest.raises(Refused, match="another seed"):
        Results(tmp_path / "r", seed=6)
    results = Results(tmp_path / "r")
    results.add(record("a"))
    results.file.close()
    sound = (tmp_path / "r").read_text()
    edited = ["seed: 5\n", "5\n", "[]\n", "{}\n", '{"seed": 5}\n', "[" * 9_999 + "\n", "\0\xff\n"]
    for text in [*edited, sound.replace('"problem": ""', '"problem": "x"')]:
        (tmp_path / "r").write_text(text)
        with pytest.raises(Refused, match="changed by hand"):
            Results(tmp_path / "r")


def test_a_file_that_the_grader_itself_could_not_grade_is_tried_again(tmp_path):
    results, (file,) = Results(tmp_path / "r"), files("a")
    results.add(record("a"))
    assert results.has(file)
    results.add(batch.failed(file, "grading it took too long and was stopped."))
    assert not results.has(file) and "too long" in results.get(file.key)["problem"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit is not kept")
def test_what_an_answer_returns_cannot_take_all_memory_of_the_judge():
    with sandbox.at_most(256 << 20), pytest.raises(MemoryError):
        reading.array(["x" * 5_000_000] + [""] * 500)
    assert len(bytearray(512 << 20))


def test_inputs_depend_on_seed_student_and_question_and_on_nothing_else():
    def draw(*key):
        return marking.random_numbers(*key).random()

    keys = [(1, "ann", "1.1", "code"), (2, "ann", "1.1", "code"), (1, "bob", "1.1", "code")]
    keys += [(1, "ann", "1.2", "code"), (1, "ann", "1.1", "derive")]
    assert len({draw(*key) for key in keys}) == 5
    assert draw(*keys[0]) == draw(*keys[0])
    assert draw(None, "ann", "1.1", "code") == draw(None, "bob", "1.1", "code")
