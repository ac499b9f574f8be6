"""What `check` notes, and what `progress()` makes of it."""

import json
import os
import threading

import pytest

from attn_course import check, hint, progress, progress_notes
from attn_course.verdict import State

ANSWER = {"question": "0.1", "part": "code", "status": "correct"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A student's folder, in which the student works."""
    for name in progress_notes.NOT_A_STUDENT:
        monkeypatch.delenv(name, raising=False)
    hidden = tmp_path / progress_notes.HIDDEN_FOLDER
    hidden.mkdir()
    names = ("00_start_here", "01_copying")
    notebooks = {name: {"questions": progress_notes.questions_as_data(name)} for name in names}
    (hidden / "edition.json").write_text(json.dumps({"notebooks": notebooks}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mean(values):
    return sum(values) / len(values)


def lines(folder):
    path = folder / ".attn" / "progress.jsonl"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def test_a_check_is_one_line_with_time_part_status_points_and_mistake(folder):
    check("0.1", mean)
    (line,) = lines(folder)
    entry = json.loads(line)
    assert entry.pop("time")[4] == "-"
    assert entry == {**ANSWER, "points": 0.0, "mistake": ""}
    check("0.1", sum)
    assert json.loads(lines(folder)[1])["mistake"]


def test_hints_are_noted_and_a_call_with_a_wrong_question_is_not(folder):
    count = len(hint("0.1").lines)  # another test may have asked for one
    check("7.77", mean)
    check("0.1")
    assert [json.loads(line).get("hints") for line in lines(folder)] == [count]


@pytest.mark.parametrize("name", progress_notes.NOT_A_STUDENT)
def test_nothing_is_written_in_the_grader_in_ci_or_under_nbval(folder, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    if name != "NBGRADER_EXECUTION":
        check("0.1", mean)
    assert lines(folder) == []


def test_a_torn_or_odd_line_is_skipped_and_the_next_note_is_whole(folder):
    path = folder / ".attn" / "progress.jsonl"
    path.write_bytes(json.dumps(ANSWER).encode() + b'\n[1]\n\xff\n{"question": "0.2", "pa')
    check("0.1", mean)
    notes = progress_notes.notes_of(folder)
    assert [note["question"] for note in notes] == ["0.1", "0.1"]
    assert progress_notes.progress_in(folder).notebooks[0].num_correct == 1


@pytest.mark.parametrize("path", ["progress.jsonl", "edition.json"])
def test_notes_that_cannot_be_written_or_read_are_never_an_error(folder, path):
    (folder / ".attn" / path).unlink(missing_ok=True)
    (folder / ".attn" / path).mkdir()
    assert check("0.1", mean)
    assert "00_start_here" in repr(progress())


def test_a_correct_answer_stays_so_until_it_is_judged_anew_or_changed():
    wrong = {**ANSWER, "status": "not yet"}

    def status(*notes):
        return progress_notes.states_of(notes)["0.1"].parts.get("code")

    assert status(ANSWER, wrong) == State.CORRECT
    assert status(ANSWER, {**wrong, "anew": True}) == State.NOT_YET
    assert status(ANSWER, {"question": "0.1", "changed": True}) is None
    moved = progress_notes.states_of([ANSWER, {"renumbered": {"0.1": "0.2"}}])
    assert moved["0.2"].parts == {"code": "correct"} and "0.1" not in moved


def test_progress_names_the_next_question_and_counts_hints(folder):
    check("0.1", mean)
    shown = progress()
    assert shown.next[0] == "0.2"
    assert "1 of 2" in repr(shown) and "Next: 0.2 " in repr(shown)
    assert "width:50%" in shown._repr_html_() and "<table>" in shown._repr_html_()
    for question, part in (("0.2", "derive"), ("1.1", "derive"), ("1.1", "code")):
        progress_notes.append(folder, {"question": question, "part": part, "status": "correct"})
    assert progress().next[0] == "1.2"


def test_notes_of_several_kernels_at_once_are_all_whole(folder):
    def write():
        for _ in range(50):
            progress_notes.append(folder, ANSWER)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(progress_notes.notes_of(folder)) == 200


def test_outside_a_students_folder_notes_live_as_long_as_the_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check("0.1", mean)
    assert "Kept until the kernel restarts" in repr(progress())
    assert os.listdir(tmp_path) == []
