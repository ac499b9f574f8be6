"""Feedback goes back under the names of the download, as pages that need no other file."""

import base64
import json
import re
import zipfile
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from classroom import filled, notebook, png
from sandbox_sessions import needs_sandbox

from attn_course import cli
from attn_grader import feedback as feedbacks
from attn_grader.collect import COLLECTED, Collected, dump
from attn_grader.lms import LMS, DownloadedFile

NAME = "01_copying"
DOWNLOADED = DownloadedFile("", bytes)
METADATA = """submission_11:
  :submitters:
  - :name: Ada Lovelace
    :email: ada@x.edu
submission_12:
  :submitters:
  - :name: Zoë Åberg
    :email: zoe@x.edu
  - :name: Lee Kim
    :email: lee@x.edu
"""
PHOTO = base64.b64encode(png(4, 4)).decode()
PASTED = filled(NAME, {("1.7", "written"): f"![map](data:image/png;base64,{PHOTO})"})
# LMS: the download, and the names of the pages in the archive that goes back
DOWNLOADS = {
    "canvas": (
        {
            "lovelaceada_1234_901_01_copying.ipynb": PASTED,
            "åbergzoë_LATE_1235_902_HW1.ipynb": notebook(NAME),
            "kimlee_1236_903_answer.html": "<p>1.1</p>",
        },
        {
            "lovelaceada_1234_901_01_copying.html",
            "åbergzoë_LATE_1235_902_HW1.html",
            "kimlee_1236_903_answer.html",
        },
    ),
    "moodle": (
        {
            "Ada Lovelace_501_assignsubmission_file/01_copying.ipynb": PASTED,
            "Zoë Åberg_502_assignsubmission_file_/work/01_copying.ipynb": notebook(NAME),
            "Lee Kim_503_assignsubmission_file_01_copying.ipynb": notebook(NAME),
        },
        {
            "Ada Lovelace_501_assignsubmission_file/feedback.html",
            "Zoë Åberg_502_assignsubmission_file_/feedback.html",
            "Lee Kim_503_assignsubmission_file_feedback.html",
        },
    ),
    "gradescope": (
        {
            "assignment_7_export/submission_metadata.yml": METADATA,
            "assignment_7_export/submission_11/01_copying.ipynb": PASTED,
            "assignment_7_export/submission_12/01_copying.ipynb": notebook(NAME),
        },
        {
            "submission_11/feedback.html",
            "submission_12/feedback-lee_x_edu~0b12bb1e2d27.html",
            "submission_12/feedback-zoe_x_edu~0b12bb1e2d27.html",
        },
    ),
}


def names_in(path):
    with zipfile.ZipFile(path) as archive:
        return {re.sub(r"~[0-9a-f]{12}", "~0b12bb1e2d27", name) for name in archive.namelist()}


@needs_sandbox
@pytest.mark.parametrize("lms", DOWNLOADS)
def test_feedback_goes_back_under_the_names_of_the_download(tmp_path, lms):
    files, expected = DOWNLOADS[lms]
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    submissions, graded = str(tmp_path / "submissions"), tmp_path / "graded"
    collect = ["collect", str(tmp_path / "download.zip"), "--from", lms, "--out", submissions]
    assert cli.main(collect) in (0, 1)
    assert cli.main(["grade", submissions, "--out", str(graded), "--notebooks", "1"]) in (0, 1)
    assert cli.main(["feedback", str(graded), "--for", lms]) == 0
    target = graded / f"feedback-{lms}.zip"
    assert names_in(target) == expected
    with zipfile.ZipFile(target) as archive:
        pages = [archive.read(name).decode() for name in archive.namelist()]
    assert sum(f"base64,{PHOTO}" in page for page in pages) == 1
    for page in pages:
        assert "../" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
        assert "sandbox" not in page.partition("</style>")[2].partition("<script>")[0]


NUMBERED = [(1, "ann"), (2, "bob")]


def row(student, file, source, *, counts=True):
    known = {"handed_in": None, "late": False, "counts": counts, "source": source}
    return Collected(student, file, **known, **dict.fromkeys(("name", "email", "id"), ""), lms_id="1",
                     version="", sha256="")  # fmt: skip


@pytest.fixture
def graded(tmp_path):
    (tmp_path / "students").mkdir()
    for student in ("ann", "bob"):
        (tmp_path / "students" / f"{student}.html").write_text(student)
    return tmp_path


def feedback(graded, rows, *options):
    (graded / COLLECTED).write_text(dump(rows), "utf-8")
    return cli.main(["feedback", str(graded), "--for", "canvas", *options])


def test_an_archive_for_one_assignment_has_the_names_of_its_files_alone(graded):
    rows = [
        row("ann", "01_copying.ipynb", "leeann_1_90_01_copying.ipynb"),
        row("ann", "02_average_of_two.ipynb", "leeann_1_91_02_average_of_two.ipynb"),
        row("bob", "01_copying.ipynb", "raybob_2_92_01_copying.ipynb"),
        row("bob", "earlier/1/02_average_of_two.ipynb", "raybob_2_80_x.ipynb", counts=False),
    ]
    assert feedback(graded, rows, "--notebooks", "2") == 0
    assert names_in(graded / "feedback-canvas.zip") == {"leeann_1_91_02_average_of_two.html"}
    assert feedback(graded, rows) == 0
    expected = {"leeann_1_90_01_copying.html", "raybob_2_92_01_copying.html"}
    assert names_in(graded / "feedback-canvas.zip") == expected


def test_who_handed_in_no_notebook_is_named_where_the_archive_is_for_one_assignment(graded, capsys):
    rows = [
        row("ann", "01_copying.ipynb", "leeann_1_90_01_copying.ipynb"),
        row("bob", "report.pdf", "raybob_2_92_report.pdf"),
    ]
    assert feedback(graded, rows, "--notebooks", "1") == 1
    sentence = (
        "no page for bob, who handed in report.pdf: no notebook of this assignment is among it."
    )
    assert sentence in capsys.readouterr().out
    assert names_in(graded / "feedback-canvas.zip") == {"leeann_1_90_01_copying.html"}
    assert feedback(graded, rows) == 0


def test_the_archive_is_written_page_by_page_and_never_held_in_memory(graded, monkeypatch):
    read = []
    written = []
    packed = feedbacks.self_contained
    monkeypatch.setattr(
        feedbacks, "self_contained", lambda page: read.append(len(written)) or packed(page)
    )
    write = zipfile.ZipFile.writestr
    monkeypatch.setattr(
        zipfile.ZipFile, "writestr", lambda *args: written.append(args[1]) or write(*args)
    )
    rows = [row(who, "01_copying.ipynb", f"{who}_{k}_90_01.ipynb") for k, who in NUMBERED]
    assert feedback(graded, rows) == 0
    assert read == [0, 1]  # each page is read after the one before is written


def test_a_date_of_the_build_that_is_no_number_is_one_sentence(graded, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert feedback(graded, [row("ann", "01_copying.ipynb", "ann_1_90_01.ipynb")]) == 2
    assert "SOURCE_DATE_EPOCH is 'yesterday', not a number" in capsys.readouterr().err
    assert not (graded / "feedback-canvas.zip").exists()


@pytest.mark.parametrize(
    ("seconds", "year"), [("0", 1980), ("1795000000", 2026), ("9999999999", 2107)]
)
def test_every_date_of_the_build_is_one_that_an_archive_can_hold(
    graded, monkeypatch, seconds, year
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    assert feedback(graded, [row("ann", "01_copying.ipynb", "ann_1_90_01.ipynb")]) == 0
    with zipfile.ZipFile(graded / "feedback-canvas.zip") as archive:
        assert [info.date_time[0] for info in archive.infolist()] == [year]


def test_a_student_without_a_page_is_named(graded, capsys):
    rows = [row(who, "01_copying.ipynb", f"{who}_1_90_01.ipynb") for who in ("ann", "cid")]
    assert feedback(graded, rows) == 1
    assert "no page for cid: attn grade has written none." in capsys.readouterr().out


def test_what_canvas_takes_no_page_for_is_named(graded, capsys):
    rows = [
        row("ann", "01_copying.ipynb", "leeann_1_90_01_copying.ipynb"),
        row("bob", "text.html", "raybob_2_text.html"),
    ]
    assert feedback(graded, rows) == 1
    sentence = "no page for bob, who handed in text.html: Canvas takes none back for that."
    assert sentence in capsys.readouterr().out


def test_feedback_without_a_download_or_for_another_lms_is_one_sentence(graded, capsys):
    assert cli.main(["feedback", str(graded), "--for", "canvas"]) == 2
    assert "sort the download with attn collect" in capsys.readouterr().err
    rows = [row("cid", "01_copying.ipynb", "cid_1_90_01.ipynb")]  # as in the folder of attn collect
    assert feedback(graded, rows) == 2
    assert "name the folder that attn grade wrote." in capsys.readouterr().err
    assert not list(graded.glob("*.zip"))
    rows = [row("ann", "01_copying.ipynb", "Ann_5_assignsubmission_file/01_copying.ipynb")]
    assert feedback(graded, rows) == 2
    assert "is named as Canvas names files." in capsys.readouterr().err


@pytest.mark.parametrize("lms", LMS)
def test_a_page_is_recognised_as_its_lms_recognises_a_file_of_the_download(lms):
    """What `attn collect` reads in the name of a page is the student whose file it answers."""
    files, _ = DOWNLOADS[lms]
    for source in files:
        place = LMS[lms].feedback(f"homework/{source}")
        if lms == "gradescope":
            assert place.split("/")[0] in source or source.endswith(".yml")
            continue
        (again,) = LMS[lms].copies([replace(DOWNLOADED, path=place)], [], None)
        (before,) = LMS[lms].copies([replace(DOWNLOADED, path=source)], [], None)
        assert again.student == before.student
        assert PurePosixPath(place).suffix == ".html"
