"""The student edition: complete, the same bytes every time, and no solution in it."""

import json
import re
import subprocess
import sys
import zipfile

import pytest
from course import ROOT, SOURCES

from attn_utils import cli
from attn_utils.course.build import solution_lines
from attn_utils.grading.releasing import FOLDER

BUILT = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    """The folder that a student unpacks."""
    folder = tmp_path_factory.mktemp("release")
    for name in ("one.zip", "two.zip"):
        assert cli.main(["release", "--out", str(folder / name)]) == 0
    assert (folder / "one.zip").read_bytes() == (folder / "two.zip").read_bytes()
    with zipfile.ZipFile(folder / "one.zip") as archive:
        archive.extractall(folder)
    return folder / FOLDER


def test_what_a_student_needs_is_there_and_nothing_else(edition):
    above = {path.name for path in edition.iterdir()}
    needed = {"README.md", "Makefile", "pyproject.toml", "environment.yml", "LICENSE", ".ci"}
    assert above == needed | {"notebooks", "attn_utils", "solutions"}
    records = {
        path.relative_to(edition / "solutions") for path in (edition / "solutions").rglob("*.*")
    }
    assert records and all(path.match("runs/*.json") for path in records)
    assert {path.stem for path in (edition / "notebooks").iterdir()} == BUILT
    assert not [path for path in edition.rglob("*") if path.suffix == ".pyc"]


def test_no_solution_rubric_or_reference_is_in_the_notebooks(edition):
    texts = {path: path.read_text("utf-8") for path in (edition / "notebooks").iterdir()}
    plain = "\n".join(_plain(path, text) for path, text in texts.items())
    for source in SOURCES:
        text = source.read_text("utf-8")
        assert not [line for line in solution_lines(text) if line in plain], source.name
        for cell in re.findall(
            r"^# %% \[markdown\] (?:written|rubric)=.*\n((?:#.*\n)+)", text, re.M
        ):
            lines = [line.lstrip("# ") for line in cell.splitlines()]
            assert not [line for line in lines if len(line) > 40 and line in plain], source.name
    assert "BEGIN SOLUTION" not in plain


def _plain(path, text):
    if path.suffix == ".py":
        return text
    cells = json.loads(text)["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    return "\n".join("".join(cell["source"]) for cell in cells)


def attn(edition, *arguments):
    program = "import sys, attn_utils.cli as cli; sys.exit(cli.main())"
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        cwd=edition,
        env={"PYTHONPATH": str(edition), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


def test_a_students_first_steps_work_in_the_edition(edition):
    done = attn(edition, "check", "notebooks/00_start_here.ipynb")
    assert done.returncode == 0 and "○ 0.1 not attempted" in done.stdout, done.stderr


def test_what_needs_the_solutions_says_so_in_the_edition(edition):
    done = attn(edition, "diff", "notebooks/00_start_here.ipynb")
    assert (
        done.returncode == 2
        and done.stderr == "attn diff: the solutions are not on this machine.\n"
    )


def test_a_release_holds_what_make_lab_needs(edition):
    makefile = (edition / "Makefile").read_text("utf-8")
    scripts = set(re.findall(r"\.ci/\S+", makefile)) - {".ci/run"}
    assert scripts and all((edition / script).is_file() for script in scripts)
    readme = (edition / "README.md").read_text("utf-8")
    assert "make lab" in readme and all(name in readme for name in BUILT)
