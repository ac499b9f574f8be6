"""A student's folder: init, status, check, update and reset, with good and bad input."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from classroom import cell, notebook, save
from course import ROOT

from attn_course import atomic_file, cli, course_files, register
from attn_course.errors import UserError
from attn_course.progress_notes import append, notes_of, progress_in, states_of
from attn_course.workspace import commands, folder, update

ANSWER = "def copy_query(keys, j):\n    return 30 * keys[j]  # mine\n"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """An installed edition of the course with 00 to 02, and no clone."""
    released = tmp_path / "installed"
    released.mkdir()
    for name in register.NOTEBOOKS[:3]:
        shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", released)
    monkeypatch.setattr(
        course_files,
        "released_notebooks",
        lambda: {path.stem: path for path in sorted(released.glob("*.ipynb"))},
    )
    monkeypatch.setattr(course_files, "clone", lambda: None)
    monkeypatch.setattr(course_files, "version", lambda: "1.0.0")
    for name in ("CI", "PYTEST_VERSION", "ATTN_FIGURES", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)
    here = tmp_path / "home"
    here.mkdir()
    monkeypatch.chdir(here)
    return released


@pytest.fixture
def mine(course):
    """A student's folder with an answer to 1.4, in which the student now works."""
    path = Path("mine").absolute()
    assert cli.main(["init", "mine", "-q"]) == 0
    os.chdir(path)
    answer(path)
    return path


def answer(path, text=ANSWER, name="01_copying.ipynb", cell_id="q1-4-code"):
    found = json.loads((path / name).read_text("utf-8"))
    cell(found, cell_id)["source"] = text
    save(path / name, found)


def release(course, change, name="01_copying"):
    """Install a later edition in which `change` was made to a notebook."""
    path = course / f"{name}.ipynb"
    found = json.loads(path.read_text("utf-8"))
    change(found)
    path.write_text(folder.as_text(found), "utf-8")


def shorter(found):
    cell(found, "notation")["source"] = "## Notation\n\nshorter"


def text_of(path, cell_id, name="01_copying.ipynb"):
    return "".join(cell(json.loads((path / name).read_text("utf-8")), cell_id)["source"])


def attn(capsys, *words, status=0):
    """What a command prints, on both streams."""
    assert cli.main(list(words)) == status
    printed = capsys.readouterr()
    return printed.out + printed.err


def snapshot(path):
    return {p.relative_to(path): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_a_students_folder_holds_notebooks_a_readme_and_nothing_else(course, capsys):
    printed = attn(capsys, "init", "mine")
    names = {path.name for path in Path("mine").iterdir()}
    assert names == {f"{name}.ipynb" for name in register.NOTEBOOKS[:3]} | {"README.md", ".attn"}
    assert "3 notebooks written to mine." in printed and "cd mine" in printed


def test_init_overwrites_nothing_and_names_what_it_left(course, capsys):
    Path("mine").mkdir()
    Path("mine/01_copying.ipynb").write_text("something of mine")
    Path("mine/README.md").write_text("my own")
    printed = attn(capsys, "init", "mine")
    assert "left as they are: 01_copying.ipynb." in printed
    assert Path("mine/01_copying.ipynb").read_text() == "something of mine"
    assert Path("mine/README.md").read_text() == "my own"


def test_init_of_some_notebooks_writes_these_and_later_the_others(course, capsys):
    attn(capsys, "init", "mine", "--notebooks", "1", "02")
    assert not Path("mine/00_start_here.ipynb").exists()
    printed = attn(capsys, "init", "mine")
    assert "1 notebook written" in printed
    for words in (["other", "--notebooks", "77"], ["--notebooks", "01", "77"]):
        printed = attn(capsys, "init", *words, status=2)
        assert printed == (
            "attn init: there is no notebook 77; FOLDER stands before --notebooks.\n"
        )


def test_init_inside_a_students_folder_makes_no_second_one(mine, capsys):
    (mine / "02_average_of_two.ipynb").unlink()
    assert "1 notebook written" in attn(capsys, "init")
    assert (mine / "02_average_of_two.ipynb").is_file()
    assert not list(mine.glob("*/.attn"))


def test_init_that_was_stopped_by_a_full_disk_goes_on_later(course, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        forbid_writing(patch, OSError(28, "No space left on device"), allowed=3)
        printed = attn(capsys, "init", "mine", status=2)
    assert printed == (
        f"attn init: {Path('mine/01_copying.ipynb')} could not be written: no space left on device; "
        "1 notebook before it can stay, and the same command goes on from there.\n"
    )
    assert "2 notebooks written to mine" in attn(capsys, "init", "mine")
    assert "01_copying" in attn(capsys, "check", "mine")


def test_above_several_folders_of_the_course_they_are_named(mine, capsys):
    os.chdir(mine.parent)
    attn(capsys, "init", "other")
    assert attn(capsys, "status", status=2) == (
        "attn status: there are several folders of the course here: mine, other; cd into one.\n"
    )


def test_init_into_a_file_or_a_readonly_folder_is_one_sentence(course, capsys, monkeypatch):
    Path("file").write_text("")
    assert attn(capsys, "init", "file", status=2) == "attn init: file is a file, not a folder.\n"
    forbid_writing(monkeypatch)
    assert "permission denied; nothing was written." in attn(capsys, "init", "mine", status=2)


def forbid_writing(monkeypatch, error=None, allowed=0):
    """As in a folder that is read-only, or on a disk that is full after some files."""
    error = error or PermissionError(13, "Permission denied", "mine")
    count = [0]
    make = atomic_file.tempfile.mkstemp

    def refuse(*args, **options):
        count[0] += 1
        if count[0] > allowed:
            raise error
        return make(*args, **options)

    monkeypatch.setattr(atomic_file.tempfile, "mkstemp", refuse)


@pytest.mark.parametrize("words", [["status"], ["update"], ["check"], ["reset", "1.4"]])
def test_elsewhere_a_command_says_how_to_make_a_folder(course, capsys, words):
    printed = attn(capsys, *words, status=2)
    assert "no folder of the course is here" in printed and "attn init FOLDER makes one" in printed


def test_in_a_clone_a_command_says_where_the_course_is(course, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(course_files, "clone", lambda: tmp_path / "clone")
    assert f"The course is in {tmp_path / 'clone'}" in attn(capsys, "status", status=2)


def test_commands_work_from_inside_and_from_above(mine, capsys):
    (mine / "deeper").mkdir()
    for place in (mine, mine / "deeper", mine.parent):
        os.chdir(place)
        assert "01_copying" in attn(capsys, "status")


def test_a_folder_that_was_moved_goes_on(mine, capsys):
    os.chdir(mine.parent)
    mine.rename(mine.with_name("renamed"))
    assert "01_copying" in attn(capsys, "status")
    assert "nothing to update" in attn(capsys, "update")


def test_status_shows_what_was_noted_and_what_is_next(mine, capsys):
    for part in ("derive", "code"):
        append(mine, {"question": "1.1", "part": part, "status": "correct"})
    append(mine, {"question": "1.4", "hints": 2})
    printed = attn(capsys, "status")
    assert "1 of 6, 2 hints" in printed and "Next: 1.2 " in printed


def test_check_judges_one_notebook_with_its_total_and_notes_it(mine, capsys):
    answer(
        mine,
        "import numpy as np\n\n"
        + ANSWER.replace("30 * keys[j]", "30 * np.linalg.pinv(keys)[:, j]"),
    )
    printed = attn(capsys, "check", "01")
    assert "✔ 1.4 correct" in printed and "○ 1.2 not attempted" in printed
    assert printed.endswith("01_copying: 1 of 6 points so far.\n")
    assert "1 of 6" in attn(capsys, "status")
    for where in ("01_copying", "01_copying.ipynb", str(mine / "01_copying.ipynb")):
        assert attn(capsys, "check", where) == printed
    assert attn(capsys, "check", "01", "--strict", status=1) == printed


def test_check_of_a_question_judges_it_alone_and_names_its_parts(mine, capsys):
    assert attn(capsys, "check", "1.4").splitlines()[0].startswith("✘ 1.4 not yet · 0 of 1 points")
    assert attn(capsys, "check", "1.4").endswith("\n1.4: 0 of 1 points so far.\n")
    answer(mine, "import math\n\n" + ANSWER, cell_id="q1-1-code")
    printed = attn(capsys, "check", "1.1")
    assert "○ 1.1 derive not attempted" in printed and "○ 1.1 code not attempted" in printed
    assert "1.4" not in printed


def test_a_check_whose_notes_cannot_be_written_shows_its_verdicts(mine, capsys):
    (mine / ".attn/progress.jsonl").unlink(missing_ok=True)
    (mine / ".attn/progress.jsonl").mkdir()
    assert "✘ 1.4 not yet" in attn(capsys, "check", "01")
    assert "as it was released" in attn(capsys, "reset", "1.4")


def test_check_without_an_argument_shows_all_notebooks_and_what_is_next(mine, capsys):
    printed = attn(capsys, "check")
    lines = printed.splitlines()
    assert lines[0].split(maxsplit=1) == ["00_start_here", "no points, not begun"]
    assert any(line.startswith("  ✘ 1.4 not yet: ") for line in lines)
    assert re.match(r"0 of \d+ points so far\.$", lines[-2])
    assert lines[-1].startswith("Next: 1.4 ") and "(01_copying.ipynb)" in lines[-1]


def test_a_cell_that_stops_is_said_at_its_question_and_the_rest_is_judged(mine, capsys):
    answer(mine, "1 / 0\n" + ANSWER)
    printed = attn(capsys, "check", "01")
    assert (
        "copy_query is not defined: the cell that defines it stopped: ZeroDivisionError" in printed
    )
    answer(mine, "def copy_query(keys, j:\n")
    assert "SyntaxError" in attn(capsys, "check", "01")


def test_an_answer_may_start_programs_and_nobody_waits_for_what_it_asks(mine, capsys):
    right = ANSWER.replace("30 * keys[j]", "30 * np.linalg.pinv(keys)[:, j]")
    answer(mine, f"import os\nimport numpy as np\nos.system('echo noise')\n{right}")
    assert "✔ 1.4 correct" in attn(capsys, "check", "1.4")
    answer(mine, f"name = input('Your name? ')\n{ANSWER}")
    assert "stopped: EOFError" in attn(capsys, "check", "1.4")


def test_a_broken_notebook_is_one_sentence_and_the_others_are_judged(mine, capsys):
    (mine / "02_average_of_two.ipynb").write_text('{"cells": [')
    printed = attn(capsys, "check", status=1)
    assert "its JSON breaks off" in printed and "00_start_here" in printed
    assert "its JSON breaks off" in attn(capsys, "check", "02", status=2)


def test_what_check_and_reset_cannot_find_is_one_sentence(mine, capsys):
    assert "there is no notebook 77; the course has 00 to " in attn(capsys, "check", "77", status=2)
    assert "there is no question 1.99." in attn(capsys, "reset", "1.99", status=2)
    assert "01 is not a question; write its number" in attn(capsys, "reset", "01", status=2)
    (mine / "01_copying.ipynb").unlink()
    assert "01_copying.ipynb is not in" in attn(capsys, "reset", "1.4", status=2)


def test_update_without_a_new_edition_changes_nothing(mine, capsys):
    before = snapshot(mine)
    assert "nothing to update; it has edition 1.0.0." in attn(capsys, "update")
    assert snapshot(mine) == before


def test_update_brings_the_new_text_keeps_the_answer_and_makes_a_backup(mine, course, capsys):
    release(course, shorter)
    assert "attn update brings it here" in attn(capsys, "status")
    before = snapshot(mine)
    planned = attn(capsys, "update", "--dry-run")
    assert "answers kept: 1.4" in planned and "Nothing was changed" in planned
    assert snapshot(mine) == before
    printed = attn(capsys, "update")
    assert text_of(mine, "q1-4-code") == ANSWER
    assert text_of(mine, "notation") == "## Notation\n\nshorter"
    (backup,) = (mine / ".attn/backups").iterdir()
    assert str(backup) in printed
    assert (backup / "01_copying.ipynb").read_bytes() == before[Path("01_copying.ipynb")]
    after = snapshot(mine)
    assert "nothing to update" in attn(capsys, "update")
    assert snapshot(mine) == after


def test_a_notebook_that_was_renamed_is_found_by_its_cells(mine, course, capsys):
    (mine / "01_copying.ipynb").rename(mine / "HW1_Fatima.ipynb")
    release(course, shorter)
    assert "HW1_Fatima.ipynb" in attn(capsys, "update")
    assert text_of(mine, "q1-4-code", "HW1_Fatima.ipynb") == ANSWER
    assert not (mine / "01_copying.ipynb").exists()


def test_two_editions_behind_is_one_update(mine, course, capsys):
    release(course, shorter)
    release(course, lambda found: cell(found, "which-row-copies").update(source="## Rows"))
    attn(capsys, "update")
    assert text_of(mine, "notation") == "## Notation\n\nshorter"
    assert text_of(mine, "which-row-copies") == "## Rows"
    assert text_of(mine, "q1-4-code") == ANSWER


def test_a_changed_question_loses_its_verdict_until_it_is_checked_again(mine, course, capsys):
    append(mine, {"question": "1.4", "part": "code", "status": "correct"})
    assert progress_in(mine).notebooks[1].num_correct == 1
    release(
        course,
        lambda found: cell(found, "q1-4-code").update(
            source="def copy_query(keys, j, share):\n    ..."
        ),
    )
    assert "changed, so check again: 1.4" in attn(capsys, "update")
    assert progress_in(mine).notebooks[1].num_correct == 0


def test_the_verdict_on_a_removed_question_is_not_that_of_the_next_one(mine, course, capsys):
    append(mine, {"question": "1.6", "part": "code", "status": "correct"})

    def without_last_but_one(released):
        gone = ("q1-5-code", "q1-5-check")
        released["cells"] = [each for each in released["cells"] if each["id"] not in gone]
        text = json.dumps(released).replace("1.6", "1.5").replace("q1-6", "q1-5")
        released["cells"] = json.loads(text)["cells"]

    assert "1 of 6" in attn(capsys, "status")
    release(course, without_last_but_one)
    attn(capsys, "update")
    states = states_of(notes_of(mine))
    assert states["1.5"].parts == {"code": "correct"} and "1.6" not in states
    release(course, without_last_but_one)
    attn(capsys, "update")
    assert "1.5" not in states_of(notes_of(mine))


def as_number(course, old, new):
    """Release a notebook under another number: its file, its questions and the marks of their cells."""
    path = course / f"{old}.ipynb"
    before, after = int(old[:2]), int(new[:2])
    text = re.sub(
        rf"(?<![\d.]){before}\.([1-9])(?!\d| point)", rf"{after}.\1", path.read_text("utf-8")
    )
    path.unlink()
    text = re.sub(rf"\bq{before}-", f"q{after}-", text)
    (course / f"{new}.ipynb").write_text(text, "utf-8")


def test_when_a_notebook_is_inserted_every_verdict_moves_to_the_next_number_once(
    mine, course, capsys
):
    append(mine, {"question": "1.4", "part": "code", "status": "correct"})
    append(mine, {"question": "2.4", "part": "code", "status": "not yet"})
    as_number(course, "02_average_of_two", "03_average_of_two")
    as_number(course, "01_copying", "02_copying")
    assert "answers kept: 2.4; renumbered: 1.4 is now 2.4; was 01_copying.ipynb." in attn(
        capsys, "update"
    )
    states = states_of(notes_of(mine))
    assert {question: state.parts["code"] for question, state in states.items()} == {
        "2.4": "correct",
        "3.4": "not yet",
    }


def test_a_damaged_copy_of_the_released_notebook_stops_neither_update_nor_reset(
    mine, course, capsys
):
    released = mine / ".attn/released/01_copying.ipynb"
    release(course, shorter)
    for damaged in (b"", b'{"cells": [\xff'):
        released.write_bytes(damaged)
        assert "attn update brings it here" in attn(capsys, "status")
        assert "as it was released" in attn(capsys, "reset", "1.4")
        answer(mine)
    assert "answers kept: 1.4" in attn(capsys, "update")
    assert text_of(mine, "q1-4-code") == ANSWER
    assert released.read_bytes() == (course / "01_copying.ipynb").read_bytes()


def test_a_notebook_that_the_student_deleted_stays_away_and_nothing_asks_for_an_update(
    mine, course, capsys
):
    (mine / "01_copying.ipynb").unlink()
    release(course, shorter)
    assert "newer edition" not in attn(capsys, "status")
    assert "nothing to update" in attn(capsys, "update")
    assert not (mine / "01_copying.ipynb").exists()


def test_a_renamed_notebook_whose_update_was_killed_keeps_what_was_written_since(
    mine, course, capsys
):
    (course / "01_copying.ipynb").rename(course / "04_copying.ipynb")
    shutil.copy(mine / "01_copying.ipynb", mine / "04_copying.ipynb")
    answer(mine, "since = 1", "04_copying.ipynb")
    attn(capsys, "update")
    assert text_of(mine, "q1-4-code", "04_copying.ipynb") == "since = 1"
    assert text_of(mine, "q1-4-code") == ANSWER


def test_a_broken_notebook_is_left_as_it_is_and_the_others_are_updated(mine, course, capsys):
    (mine / "01_copying.ipynb").write_text('{"cells": [')
    release(course, shorter)
    release(course, lambda found: found["cells"].pop(), "02_average_of_two")
    printed = attn(capsys, "update", status=1)
    assert "left as it is: it is damaged (its JSON breaks off" in printed
    assert (mine / "01_copying.ipynb").read_text() == '{"cells": ['
    assert "02_average_of_two.ipynb" in printed


def test_a_new_notebook_is_added_only_to_a_folder_with_the_whole_course(mine, course, capsys):
    os.chdir(mine.parent)
    attn(capsys, "init", "some", "--notebooks", "01")
    shutil.copy(ROOT / "notebooks/03_one_noisy_head.ipynb", course)
    for name, added in (("mine", True), ("some", False)):
        os.chdir(mine.parent / name)
        attn(capsys, "update")
        assert Path("03_one_noisy_head.ipynb").exists() is added


def test_a_notebook_that_the_course_drops_or_renames_keeps_its_answers(mine, course, capsys):
    (course / "02_average_of_two.ipynb").unlink()
    (course / "01_copying.ipynb").rename(course / "04_copying.ipynb")
    printed = attn(capsys, "update", status=1)
    assert "no longer part of the course; it stays as it is" in printed
    assert (mine / "02_average_of_two.ipynb").exists()
    assert text_of(mine, "q1-4-code", "04_copying.ipynb") == ANSWER
    assert not (mine / "01_copying.ipynb").exists()
    (backup,) = (mine / ".attn/backups").iterdir()
    assert text_of(backup, "q1-4-code") == ANSWER


def test_on_a_full_disk_every_notebook_is_whole_and_update_goes_on_later(
    mine, course, capsys, monkeypatch
):
    release(course, shorter)
    release(course, lambda found: found["cells"].pop(), "02_average_of_two")
    full = OSError(28, "No space left on device", "mine")
    with monkeypatch.context() as patch:
        forbid_writing(patch, full, allowed=2)
        printed = attn(capsys, "update", status=2)
    assert "no space left on device" in printed and "Nothing is lost" in printed
    for path in mine.glob("*.ipynb"):
        assert json.loads(path.read_text("utf-8"))["cells"]
    assert text_of(mine, "q1-4-code") == ANSWER
    attn(capsys, "update")
    assert text_of(mine, "notation") == "## Notation\n\nshorter"
    assert "nothing to update" in attn(capsys, "update")


def test_without_room_for_a_backup_nothing_is_changed(mine, course, capsys, monkeypatch):
    release(course, shorter)
    before = snapshot(mine)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(update.shutil, "copy2", full)
    assert "no backup could be made" in attn(capsys, "update", status=2)
    assert snapshot(mine) == before


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_update_of_a_readonly_folder_is_one_sentence(mine, course, capsys):
    release(course, shorter)
    (mine / ".attn").chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "nothing was changed" in attn(capsys, "update", status=2)
    (mine / ".attn").chmod(0o755)


KILLED = """
import os, sys
from attn_course import atomic_file, course_files, cli
from attn_course.workspace import folder
from pathlib import Path
released = Path(sys.argv[1])
course_files.released_notebooks = lambda: {p.stem: p for p in sorted(released.glob("*.ipynb"))}
replace, count = os.replace, [0]
def stop(*paths):
    count[0] += 1
    if count[0] > int(sys.argv[2]):
        os._exit(9)
    replace(*paths)
atomic_file.os.replace = stop
sys.exit(cli.main(["update"]))
"""


@pytest.mark.parametrize("num_files", [0, 1, 2, 3, 4])
def test_an_update_that_is_killed_anywhere_goes_on_and_ends_the_same(
    mine, course, capsys, num_files
):
    for name in register.NOTEBOOKS[1:3]:
        release(course, shorter, name)
    save(mine / "02_average_of_two.ipynb", with_own_cell("02_average_of_two"))
    command = [sys.executable, "-c", KILLED, course, str(num_files)]
    done = subprocess.run(command, cwd=mine, capture_output=True, text=True)
    assert done.returncode in (0, 9), done.stderr
    attn(capsys, "update")
    for name in register.NOTEBOOKS[1:3]:
        assert text_of(mine, "notation", f"{name}.ipynb") == "## Notation\n\nshorter"
    assert text_of(mine, "q1-4-code") == ANSWER
    assert text_of(mine, "own", "02_average_of_two.ipynb") == "mine"
    assert not list(mine.rglob(".*.ipynb.*"))


def with_own_cell(name):
    found = notebook(name)
    found["cells"].insert(
        3, {"cell_type": "markdown", "id": "own", "metadata": {}, "source": "mine"}
    )
    return found


def test_a_folder_of_a_later_edition_is_not_taken_back(mine, course, capsys, monkeypatch):
    release(course, shorter)
    monkeypatch.setattr(course_files, "version", lambda: "0.9.0")
    assert "newer edition" not in attn(capsys, "status")
    printed = attn(capsys, "update", status=2)
    assert "the installed course is older (0.9.0)" in printed
    assert text_of(mine, "q1-4-code") == ANSWER


def test_reset_gives_the_stub_back_and_says_where_the_answer_is(mine, capsys):
    append(mine, {"question": "1.4", "part": "code", "status": "correct"})
    printed = attn(capsys, "reset", "1.4")
    assert text_of(mine, "q1-4-code") == "".join(
        cell(notebook("01_copying"), "q1-4-code")["source"]
    )
    (backup,) = (mine / ".attn/backups").glob("*/01_copying.ipynb")
    assert str(backup) in printed and ANSWER in text_of(backup.parent, "q1-4-code")
    assert progress_in(mine).notebooks[1].num_correct == 0


def test_reset_on_a_full_disk_leaves_the_answer(mine, capsys, monkeypatch):
    forbid_writing(monkeypatch, OSError(28, "No space left on device"))
    printed = attn(capsys, "reset", "1.4", status=2)
    assert "could not be written: no space left on device; it is as it was." in printed
    assert text_of(mine, "q1-4-code") == ANSWER


def test_reset_finds_an_answer_whose_id_is_gone_and_a_deleted_one_comes_back(mine, capsys):
    found = json.loads((mine / "01_copying.ipynb").read_text("utf-8"))
    cell(found, "q1-4-code")["id"] = "x"
    save(mine / "01_copying.ipynb", found)
    attn(capsys, "reset", "1.4")
    stub = "".join(cell(notebook("01_copying"), "q1-4-code")["source"])
    assert text_of(mine, "x") == stub
    found["cells"] = [each for each in found["cells"] if each["id"] != "x"]
    save(mine / "01_copying.ipynb", found)
    attn(capsys, "reset", "1.4")
    assert text_of(mine, "q1-4-code") == stub


def test_reset_of_a_notebook_without_ids_takes_the_answer_out_and_the_notebook_stays_valid(
    mine, capsys
):
    found = json.loads((mine / "01_copying.ipynb").read_text("utf-8"))
    for each in found["cells"]:
        del each["id"]
        each["metadata"] = {}
    found["nbformat_minor"] = 4
    save(mine / "01_copying.ipynb", found)
    attn(capsys, "reset", "1.4")
    after = json.loads((mine / "01_copying.ipynb").read_text("utf-8"))
    assert len(after["cells"]) == len(found["cells"]) and ANSWER not in json.dumps(after)
    nbformat.validate(nbformat.from_dict(after))


@pytest.mark.parametrize("where", ["01", "1", "1.4", "01_copying", "01_copying.ipynb"])
def test_lab_opens_what_is_named_in_the_students_folder(mine, capsys, monkeypatch, where):
    started = []
    monkeypatch.setattr(commands, "start", lambda command, path: started.append((command, path)))
    for place in (mine, mine.parent):
        os.chdir(place)
        path = str(mine / where) if where.endswith(".ipynb") else where
        assert cli.main(["lab", path]) == 0
    for command, path in started:
        assert f"--ServerApp.root_dir={mine}" in command and path == mine
        assert "--LabApp.default_url=/lab/tree/01_copying.ipynb" in command


def test_lab_opens_the_notebook_to_go_on_with(mine, capsys, monkeypatch):
    started = []
    monkeypatch.setattr(commands, "start", lambda command, path: started.append(command))
    for question, part in (("0.1", "code"), ("0.2", "derive"), ("1.1", "code")):
        append(mine, {"question": question, "part": part, "status": "correct"})
    assert "Next: 1.1 " in attn(capsys, "lab")
    assert "--LabApp.default_url=/lab/tree/01_copying.ipynb" in started[0]


def test_lab_opens_a_folder_that_is_named_and_says_where_there_is_none(mine, capsys, monkeypatch):
    started = []
    monkeypatch.setattr(commands, "start", lambda command, path: started.append(command))
    monkeypatch.chdir(mine.parent)
    attn(capsys, "lab", "mine")
    assert f"--ServerApp.root_dir={mine}" in started[0]
    (mine.parent / "empty").mkdir()
    assert "00_start_here.ipynb is not in" in attn(capsys, "lab", "empty", status=2)
    monkeypatch.chdir(mine.parent / "empty")
    assert "attn init FOLDER makes one" in attn(capsys, "lab", status=2)


def test_in_a_clone_lab_makes_the_folder_work_and_git_ignores_it(
    course, capsys, monkeypatch, tmp_path
):
    clone = tmp_path / "clone"
    (clone / "notebooks").mkdir(parents=True)
    monkeypatch.setattr(course_files, "clone", lambda: clone)
    monkeypatch.setattr(commands, "start", lambda command, path: None)
    monkeypatch.chdir(clone / "notebooks")
    assert "which no update overwrites" in attn(capsys, "lab")
    assert (clone / "work/00_start_here.ipynb").is_file()
    assert "nothing to update" in attn(capsys, "update")
    monkeypatch.chdir(clone)
    attn(capsys, "init", "other")
    assert "other, work; cd into one" in attn(capsys, "lab", status=2)
    assert "/work/" in (ROOT / ".gitignore").read_text().split()


def test_a_release_unpacked_over_an_older_one_touches_no_answer(tmp_path):
    target = tmp_path / "edition.zip"
    assert cli.main(["release", "--out", str(target), "-q"]) == 0
    with zipfile.ZipFile(target) as archive:
        assert not [name for name in archive.namelist() if "/work/" in name]
        top = archive.namelist()[0].partition("/")[0]
        archive.extractall(tmp_path)
        mine = tmp_path / top / "work"
        update.init_folder(mine, ["01"])
        answer(mine)
        archive.extractall(tmp_path)
    assert text_of(mine, "q1-4-code") == ANSWER


def test_a_newer_release_unpacked_over_this_one_says_its_own_version(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "9.1.0"\n')
    monkeypatch.setattr(course_files, "PACKAGE", tmp_path / "attn_course")
    assert course_files.version() == "9.1.0"


def test_git_never_sees_the_folder_of_the_student(tmp_path):
    repository = tmp_path / "clone"
    (repository / "work").mkdir(parents=True)
    shutil.copy(ROOT / ".gitignore", repository)
    (repository / "work" / "01_copying.ipynb").write_text("mine")
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    listed = subprocess.check_output(
        ["git", "status", "--porcelain", "-uall"], cwd=repository, text=True
    )
    assert listed == "?? .gitignore\n"


def test_every_command_of_a_student_is_declared_in_one_module():
    names = {"init", "lab", "status", "check", "update", "reset"}
    assert all(cli.COMMANDS[name][0] == f"{commands.__name__}:{name}" for name in names)


def test_a_damaged_edition_file_stops_nothing(mine, capsys):
    for damaged in ("{", '{"notebooks": {"01_copying": 3}}', '{"notebooks": 3, "version": [1]}'):
        (mine / ".attn/edition.json").write_text(damaged)
        assert "01_copying" in attn(capsys, "status")
        assert "nothing to update" in attn(capsys, "update")
    with pytest.raises(UserError):
        folder.locate("nonsense", mine)
