"""What the page of the browser edition asks of Python: begin with an edition, update, begin again."""

import json

import pytest

from attn_course import course_files
from attn_course.progress_notes import note, progress_in
from attn_course.workspace import browser_drive

NAME = "01_copying"


@pytest.fixture
def drive(tmp_path, monkeypatch):
    """A drive with an unchanged notebook, and a function that releases it with a changed text of 1.4."""
    released = {NAME: tmp_path / "released" / f"{NAME}.ipynb"}
    released[NAME].parent.mkdir()
    notebook = json.loads(course_files.released_notebooks()[NAME].read_text("utf-8"))
    released[NAME].write_text(json.dumps(notebook), "utf-8")
    monkeypatch.setattr(course_files, "released_notebooks", lambda: released)
    folder = tmp_path / "drive"
    folder.mkdir()
    (folder / f"{NAME}.ipynb").write_text(json.dumps(notebook), "utf-8")
    monkeypatch.chdir(folder)

    def release_newer():
        for cell in notebook["cells"]:
            if "### 1.4" in "".join(cell["source"]):
                cell["source"] = [*cell["source"], "\n\nOf the newer edition."]
        released[NAME].write_text(json.dumps(notebook), "utf-8")

    return folder, release_newer


def answer(folder, text):
    path = folder / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == "q1-4-code"]
    cell["source"] = text
    path.write_text(json.dumps(notebook), "utf-8")


def test_an_answer_is_carried_into_a_newer_edition_and_the_notebook_as_it_was_is_kept(drive):
    folder, release_newer = drive
    assert browser_drive.begin(NAME) is False
    answer(folder, "mine = 1")
    release_newer()
    assert browser_drive.begin(NAME) is True
    assert browser_drive.begin(NAME) is True  # and the edition they began with is still known
    assert browser_drive.update(NAME) == "answers kept: 1.4; changed, so check again: 1.4."
    text = (folder / f"{NAME}.ipynb").read_text("utf-8")
    assert "mine = 1" in text
    assert "Of the newer edition." in text
    (backup,) = (folder / ".attn" / "backups").glob(f"*/{NAME}.ipynb")
    assert "mine = 1" in backup.read_text("utf-8")
    assert "Of the newer edition." not in backup.read_text("utf-8")
    assert browser_drive.begin(NAME) is False


def test_a_notebook_without_answers_is_of_the_edition_that_is_served(drive):
    folder, release_newer = drive
    browser_drive.begin(NAME)
    release_newer()
    served = course_files.released_notebooks()[NAME].read_text("utf-8")
    (folder / f"{NAME}.ipynb").write_text(served, "utf-8")
    assert browser_drive.begin(NAME) is False


def test_a_damaged_notebook_is_left_as_it_is_with_the_reason(drive):
    folder, release_newer = drive
    browser_drive.begin(NAME)
    (folder / f"{NAME}.ipynb").write_text("{", "utf-8")
    release_newer()
    assert browser_drive.begin(NAME) is True
    assert browser_drive.update(NAME).startswith("left as it is: it is damaged")
    assert (folder / f"{NAME}.ipynb").read_text("utf-8") == "{"


def test_progress_is_kept_on_the_drive_until_the_notebook_is_begun_again(drive, monkeypatch):
    folder, _ = drive
    browser_drive.begin(NAME)
    monkeypatch.delenv("PYTEST_VERSION")
    monkeypatch.delenv("CI", raising=False)
    for part in ("code", "numeric", "proof"):
        note(question="1.4", part=part, status="correct")
    (row,) = progress_in(folder).notebooks
    assert row.num_correct == 1
    browser_drive.forget(NAME)
    (row,) = progress_in(folder).notebooks
    assert row.num_correct == 0


def test_a_damaged_edition_file_is_written_anew(drive):
    folder, _ = drive
    browser_drive.begin(NAME)
    (folder / ".attn" / "edition.json").write_text("{", "utf-8")
    browser_drive.begin(NAME)
    assert [row.name for row in progress_in(folder).notebooks] == [NAME]
