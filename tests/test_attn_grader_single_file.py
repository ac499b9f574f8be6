"""`attn grade FILE`: the verdicts of one file in the sandbox, or one sentence."""

import os
import shutil
import sys

import pytest
from classroom import all_right, cell, save
from course import ROOT, machine_points
from sandbox_sessions import LIKE, TIERS, needs_sandbox, on_a_machine_like

from attn_course import cli

NAME = "01_copying"


@needs_sandbox
@pytest.mark.parametrize("tier", TIERS)
def test_the_verdicts_of_one_file_are_printed_and_nothing_is_written(tmp_path, tier):
    path = tmp_path / "homework of ann.ipynb"  # its cells tell which notebook it is
    found = all_right(NAME)
    cell(found, "q1-4-code")["source"] = "def copy_query(keys, j):\n    open('/etc/passwd')"
    save(path, found)
    done = on_a_machine_like(LIKE[tier], "grade", path)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[-1] == f"{machine_points(NAME) - 1:g} of 6 points, 2 answers await a person."
    (number,) = [k for k, line in enumerate(lines) if "1.4 awaits a person" in line]
    assert "your code stopped with" in lines[number + 1]
    assert any("1.1 derive correct" in line for line in lines)
    assert os.listdir(tmp_path) == [path.name]


STOLEN = """
import pathlib
import attn_course
source = pathlib.Path(attn_course.__file__).parent / "course" / "solutions" / "01_copying.py"
text = source.read_text()
exec(text[text.index("def copy_query"):].partition("# END SOLUTION")[0])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The three packages as a wheel installs them, with notebooks and solutions inside."""
    site = tmp_path_factory.mktemp("wheel") / "site-packages"
    for name in ("attn_utils", "attn_course", "attn_grader"):
        shutil.copytree(ROOT / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("notebooks", "solutions"):
        target = site / "attn_course" / "course" / name
        shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("[!0]*"))
    program = f"import sys; sys.path.insert(0, {str(site)!r}); import attn_course.cli as cli; "
    return [sys.executable, "-c", f"{program}sys.exit(cli.main())"]


@needs_sandbox
@pytest.mark.parametrize("tier", TIERS)
def test_a_submission_cannot_read_the_solutions_of_an_installed_wheel(installed, tmp_path, tier):
    found = all_right(NAME)
    cell(found, "q1-4-code")["source"] = STOLEN
    path = tmp_path / f"{NAME}.ipynb"
    save(path, found)
    done = on_a_machine_like(LIKE[tier], "grade", path, command=installed)
    lines = done.stdout.splitlines()
    assert lines[-1].startswith(f"{machine_points(NAME) - 1:g} of 6 points"), done.stdout
    assert any("1.4 awaits a person · 0 of 1 points" in line for line in lines)
    done = on_a_machine_like("", "diff", path, command=installed)
    assert done.returncode == 0 and STOLEN.split()[-1] in done.stdout


SENTENCES = {
    "missing.ipynb": "there is no file missing.ipynb.",
    "folder.ipynb": "--out is missing: the folder for gradebook, feedback and pages.",
    "pipe.ipynb": "pipe.ipynb: it is not a regular file.",
    "link.ipynb": "link.ipynb: it is a link, not a file.",
    "empty.ipynb": "empty.ipynb: it is empty.",
    "01_copying.pdf": "01_copying.pdf is no notebook: its name ends neither in .ipynb nor in .py.",
    "cut.ipynb": "cut.ipynb: its JSON breaks off (line 2, column 1).",
    "list.ipynb": "list.ipynb: it is JSON, but not a notebook.",
    "bytes.ipynb": "bytes.ipynb: it is not UTF-8 text (byte 0x89 in line 1).",
    "other.ipynb": "other.ipynb is not a notebook of the course, such as 01_copying.ipynb.",
    "plain.py": "plain.py is not a notebook of the course, such as 01_copying.ipynb.",
}
CONTENTS = {
    "empty.ipynb": b"",
    "01_copying.pdf": b"%PDF-1.4",
    "cut.ipynb": b'{"cells": [\n',
    "list.ipynb": b"[]",
    "bytes.ipynb": b"\x89PNG",
    "other.ipynb": b'{"nbformat": 4, "cells": []}',
    "plain.py": b"x = 1\n",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_file_that_cannot_be_graded_gets_one_sentence(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for other, content in CONTENTS.items():
        (tmp_path / other).write_bytes(content)
    os.mkdir("folder.ipynb")
    os.mkfifo("pipe.ipynb")
    os.symlink("01_copying.pdf", "link.ipynb")
    assert cli.main(["grade", name]) == 2
    assert capsys.readouterr().err == f"attn grade: {SENTENCES[name]}\n"


def test_a_file_without_permission_gets_one_sentence(tmp_path, monkeypatch, capsys):
    path = tmp_path / f"{NAME}.ipynb"
    shutil.copy(ROOT / "notebooks" / path.name, path)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("attn_grader.notebook._open_plainly", refuse)
    assert cli.main(["grade", str(path)]) == 2
    expected = f"attn grade: {path}: it cannot be opened (Permission denied).\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    "option", ["--out o", "--notebooks 1", "--final", "--anonymous", "--regrade", "--export canvas"]
)
def test_an_option_for_a_class_is_refused_beside_one_file(tmp_path, capsys, option):
    path = tmp_path / f"{NAME}.ipynb"
    save(path, all_right(NAME))
    assert cli.main(["grade", str(path), *option.split()]) == 2
    name = option.split()[0]
    expected = f"attn grade: {name} goes with a folder of submissions, not with one file.\n"
    assert capsys.readouterr().err == expected
