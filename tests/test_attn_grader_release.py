"""The student edition: complete, the same bytes every time, and no solution in it."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from course import ROOT, SOURCES

from attn_course import cli, register
from attn_course.markers import solution_lines
from attn_grader.release_archive import FOLDER

WEIGHTS = (".npz", ".pt")  # of the bundled model: no text
# 09 lets a student go on without a part, and 10 trains with the course's own, so they are shipped
SHIPPED = {"09_seq2seq": {"attn_course/translation/parts.py", "attn_utils/layers.py"}}
LOOP = {  # every training loop of the course has these lines
    "for batch in batches:",
    "optimiser.zero_grad()",
    "loss.backward()",
    "optimiser.step()",
    "losses.append(loss.item())",
    "self.query = nn.Linear(width, width)",
}
BUILT = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    """The folder that a student unpacks."""
    folder = tmp_path_factory.mktemp("release")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOURCE_DATE_EPOCH", "1795000000")
        _packed_twice(folder)
    with zipfile.ZipFile(folder / "one.zip") as archive:
        archive.extractall(folder)
    return folder / FOLDER


def _packed_twice(folder):
    for name in ("one.zip", "two.zip"):
        assert cli.main(["release", "--out", str(folder / name)]) == 0
    assert (folder / "one.zip").read_bytes() == (folder / "two.zip").read_bytes()


def test_what_a_student_needs_is_there_and_nothing_else(edition):
    above = {path.name for path in edition.iterdir()}
    needed = {"README.md", "Makefile", "pyproject.toml", "environment.yml", "LICENSE"}
    needed |= {"scripts", "requirements"}
    assert above == needed | {"notebooks", "attn_utils", "attn_course"}
    assert {path.stem for path in (edition / "notebooks").iterdir()} == BUILT | {"jupytext"}
    assert not [path for path in edition.rglob("*") if path.suffix == ".pyc"]


def test_no_line_of_a_solution_rubric_or_reference_is_in_any_file(edition):
    files = [path for path in edition.rglob("*") if path.is_file() and path.suffix not in WEIGHTS]
    texts = {str(path.relative_to(edition)): _plain(path) for path in files}
    plain = "\n".join(texts.values())
    for source in SOURCES:
        text = source.read_text("utf-8")
        for line in solution_lines(text) - LOOP:
            if line in plain:
                holding = {name for name, held in texts.items() if line in held}
                holding -= SHIPPED.get(source.stem, set())
                assert not holding, f"`{line}` of solutions/{source.name} stands in {holding}"
        for cell in re.findall(
            r"^# %% \[markdown\] (?:written|rubric)=.*\n((?:#.*\n)+)", text, re.M
        ):
            lines = [line.lstrip("# ") for line in cell.splitlines()]
            assert not [line for line in lines if len(line) > 40 and line in plain], source.name
    assert "# BEGIN SOLUTION\n" not in plain


def test_a_line_of_a_solution_would_be_found_in_every_kind_of_file(tmp_path):
    line = min(solution_lines(SOURCES[1].read_text("utf-8")), key=len)
    cells = [{"source": ["import numpy\n", line]}]
    for name, text in {
        "a.py": f"x = 1\n    {line}",
        "b.ipynb": json.dumps({"cells": cells}),
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
        assert line in _plain(tmp_path / name)


def _plain(path):
    """The text of a file as a reader sees it; of a notebook, the cells, which must have no output."""
    text = path.read_text("utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    return "\n".join("".join(cell["source"]) for cell in cells)


@pytest.fixture(scope="module")
def programs(edition, tmp_path_factory):
    """The programs of a fresh environment: what the course needs, and attn_utils of the edition."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    paths = {
        place: sysconfig.get_path(place, vars={"base": folder}) for place in ("purelib", "scripts")
    }
    Path(paths["purelib"], "packages.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    install = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    run(Path(paths["scripts"]), edition, "python", *install, "-e", ".")
    return Path(paths["scripts"])


def run(programs, edition, program, *arguments):
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(edition.parent)}
    return subprocess.run(
        [programs / program, *arguments],
        cwd=edition,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_a_fresh_environment_runs_the_package_of_the_edition(programs, edition):
    done = run(
        programs, edition.parent, "python", "-c", "import attn_utils; print(attn_utils.__file__)"
    )
    assert done.stdout.startswith(str(edition)), done.stderr


def test_an_untouched_notebook_runs_from_top_to_bottom_in_a_fresh_environment(programs, edition):
    script = (
        "import sys, nbformat, nbclient\n"
        "notebook = nbformat.read(sys.argv[1], 4)\n"
        "nbclient.NotebookClient(notebook, kernel_name='python3').execute()\n"
        "assert 'not attempted' in nbformat.writes(notebook)"
    )
    done = run(programs, edition / "notebooks", "python", "-c", script, "00_start_here.ipynb")
    assert done.returncode == 0, done.stderr


def test_what_needs_the_grader_says_so_in_the_edition(programs, edition):
    done = run(programs, edition, "attn", "grade", "notebooks", "--out", "graded")
    sentence = "attn grade: this is the student edition; the whole course has this command.\n"
    assert done.returncode == 2 and done.stderr == sentence


def test_a_release_holds_what_its_makefile_and_readme_name(edition):
    makefile = (edition / "Makefile").read_text("utf-8")
    scripts = set(re.findall(r"(?<= )(?:scripts|requirements)/[a-z]+\.(?:sh|txt)\b", makefile))
    assert len(scripts) == 2 and all((edition / script).is_file() for script in scripts)
    assert "lab:" in makefile and "tests" not in makefile
    for target in ("setup", "lab"):
        planned = subprocess.run(
            ["make", "-n", target], cwd=edition, capture_output=True, text=True
        )
        assert "sh scripts/setup.sh .venv torch,lab,grade" in planned.stdout, planned.stderr
    readme = (edition / "README.md").read_text("utf-8")
    assert "make lab" in readme and all(name in readme for name in BUILT)
    assert "conda activate attention-course" in readme and "\npy -m venv .venv\n" in readme
    assert 'pip install -e ".[lab,torch]"' in readme and "attn update" in readme


def released(folder, *options):
    """The names in a released archive, its README, and the year of its files."""
    assert cli.main(["release", "--out", str(folder / "week.zip"), *options]) == 0
    with zipfile.ZipFile(folder / "week.zip") as archive:
        readme = archive.read(f"{FOLDER}/README.md").decode()
        names = {name.removeprefix(f"{FOLDER}/") for name in archive.namelist()}
        years = {info.date_time[0] for info in archive.infolist()}
    return names, readme, years


def test_a_week_holds_its_notebooks_and_no_folder_of_the_students(tmp_path):
    names, readme, _ = released(tmp_path, "--notebooks", "01", "2")
    notebooks = {name for name in names if name.startswith("notebooks/")}
    assert {Path(name).stem for name in notebooks} == {
        "01_copying",
        "02_average_of_two",
        "jupytext",
    }
    assert not [name for name in names if name.startswith("work/")]
    assert "01_copying" in readme and "03_one" not in readme and ".[lab]" in readme
    assert "PyTorch" not in readme


def test_the_first_week_with_pytorch_says_what_to_repeat(tmp_path):
    _, readme, _ = released(tmp_path, "--notebooks", "06")
    assert ".[lab,torch]" in readme
    assert "need PyTorch" in readme.partition("## When a new archive comes")[2]


def test_the_python_versions_of_the_readme_are_those_of_the_course(tmp_path):
    _, readme, _ = released(tmp_path, "--notebooks", "1")
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", text)
    assert re.findall(r"\b3\.\d+\b", readme) == versions


@pytest.mark.parametrize(("seconds", "year"), [("1795000000", 2026), ("0", 1980)])
def test_the_dates_in_an_archive_are_those_of_the_build(tmp_path, monkeypatch, seconds, year):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    _, _, years = released(tmp_path, "--notebooks", "1")
    assert years == {year}


def test_a_later_archive_unpacked_over_an_earlier_one_leaves_every_answer(tmp_path):
    released(tmp_path, "--notebooks", "1")
    shutil.unpack_archive(tmp_path / "week.zip", tmp_path)
    answer = tmp_path / FOLDER / "work" / "01_copying.ipynb"
    answer.parent.mkdir()
    answer.write_text("mine")
    released(tmp_path, "--notebooks", "1", "2")
    shutil.unpack_archive(tmp_path / "week.zip", tmp_path)
    assert answer.read_text() == "mine"
    assert (tmp_path / FOLDER / "notebooks" / "02_average_of_two.ipynb").is_file()


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """What an institution with nbgrader unpacks: {name: notebook}."""
    folder = tmp_path_factory.mktemp("nbgrader")
    assert cli.main(["release", "--nbgrader", "--out", str(folder / "source.zip")]) == 0
    with zipfile.ZipFile(folder / "source.zip") as archive:
        archive.extractall(folder)
    paths = (folder / "source").glob("*/*.ipynb")
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


def test_nbgraders_sources_hold_every_graded_cell_and_no_rubric(sources):
    assert sources.keys() == BUILT
    for name, found in sources.items():
        handed_out = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
        marked = [cell["id"] for cell in found["cells"] if "nbgrader" in cell["metadata"]]
        wanted = [cell["id"] for cell in handed_out["cells"] if "nbgrader" in cell["metadata"]]
        assert marked == ["course-is-here", *wanted], name


@pytest.mark.parametrize("inside", ["autograde", ""])
def test_nbgraders_kernel_ends_at_once_where_the_course_is_missing(sources, inside):
    first = sources["01_copying"]["cells"][0]
    assert first["metadata"]["nbgrader"]["locked"]  # a student who changes it gets it back
    guard = first["source"]
    environment = {"PATH": "/usr/bin:/bin", "NBGRADER_EXECUTION": inside}
    bare = [sys.executable, "-I", "-S", "-c", f"{guard}\nprint('went on')"]
    done = subprocess.run(bare, env=environment, capture_output=True, text=True, cwd="/")
    if inside:
        assert done.returncode == 1 and "lacks the course" in done.stderr and not done.stdout
    else:
        assert done.returncode == 0 and done.stdout == "went on\n"


def test_the_instructors_guide_has_the_points_of_this_version():
    text = (ROOT / "docs" / "instructors.md").read_text("utf-8")
    table = text.partition("| notebook | 1.0.0 | 2.0.0 |")[2].partition("\n\n")[0]
    points = {}
    for line in table.strip().splitlines()[1:]:
        name, _, new = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = re.findall(r"\d\d", name.partition(" was ")[0].partition(" were ")[0])
        if name.startswith("bonus"):
            numbers = [str(k) for k in range(int(numbers[0]), int(numbers[1]) + 1)]
        amounts = re.findall(r"\d[\d.]*", new) * len(numbers)
        points |= dict(zip(numbers, map(float, amounts), strict=False))
    graded = [name for name in register.NOTEBOOKS if register.points_of(name)]
    assert points == {name[:2]: register.points_of(name) for name in graded}


def test_the_instructors_guide_has_the_totals_of_its_plans():
    text = (ROOT / "docs" / "instructors.md").read_text("utf-8")
    table = text.partition("| week | six weeks | twelve weeks |")[2].partition("\n\n")[0]
    totals = []
    for plan in (2, 3):
        cells = [line.split("|")[plan].partition(":")[0] for line in table.strip().splitlines()[1:]]
        numbers = re.findall(r"\b\d\d\b", " ".join(cells[:11]))
        totals.append(sum(register.points_of(register.notebook_numbered(k)) for k in numbers))
    assert "{:g} points after six weeks, {:g} after twelve".format(*totals) in text
