"""Tries a wheel and the set-up cell of the notebooks, each in empty environments of its own.

The wheel is built from the source archive, as an index gets both.

    python tests/try_install.py          # minutes, needs the network; never part of make test
    python tests/try_install.py --torch  # also with torch: the translator, notebooks from 06 on

Needs Linux, Python and git alone. Prints a line per environment, with megabytes and CPU seconds.
"""

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
LOCK = ROOT / "requirements/lock.txt"
FLOORS = ROOT / "requirements/minimum.txt"
BARE = "packaging"  # all that a kernel of Jupyter brings and the set-up cell uses
OFFLINE = ("unshare", "--map-root-user", "--net")  # a process that has no network
# A folder of packages that pip knows on this machine is no network, and would do.
NO_FOLDERS = {name: value for name, value in CLEAN.items() if not name.startswith("PIP_")}
NO_FOLDERS["PIP_CONFIG_FILE"] = os.devnull
PUBLISHED = "https://github.com/someone/attention"  # an address as a published course has it
NOT_FETCHED = "The course could not be fetched: switch the internet on and run this cell again.\n"
NOT_INSTALLED = "Not here, and could not be installed (is the internet switched on?): {}\n"
GERMAN = "Ein Hund rennt durch den Schnee."
SETUP_CELL = """
import sys
from attn_course.building.published_links import setup_cell
print(setup_cell(*sys.argv[1:]))
"""
# Runs a notebook in a kernel of this environment and says what its figures with sliders became.
IN_A_KERNEL = """
import sys
import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
pages = [output.get("data", {}).get("text/html", "") for output in outputs]
views = [output for output in outputs if "widget-view" in str(output.get("data", {}).keys())]
sliders = sum('data-sliders="[{' in page for page in pages)
print(f"figures with sliders without a kernel: {sliders}, as ipywidgets: {len(views)}")
"""


class Environment:
    """A virtual environment in a folder, with pip and the packages named."""

    def __init__(self, above, name, *packages):
        self.name = name
        self.folder = above / name.replace(" ", "_")
        self.began = children_cpu()
        subprocess.run([sys.executable, "-m", "venv", self.folder], check=True, env=CLEAN)
        self.python = self.folder / "bin" / "python"
        if packages:
            self.pip("install", *packages)

    def run(self, *arguments, cwd=None, online=True, status=0):
        """What a command of this environment's Python prints; it must end with this status."""
        done = subprocess.run(
            [*(() if online else OFFLINE), self.python, *arguments],
            cwd=cwd or self.folder,
            env=CLEAN if online else NO_FOLDERS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == status, f"{self.name}: {arguments}\n{done.stdout}"
        return done.stdout

    def pip(self, *arguments):
        self.run("-m", "pip", "--quiet", *arguments)

    def attn(self, *arguments, cwd=None):
        """What the command that pip installed prints."""
        return self.run(self.folder / "bin" / "attn", *arguments, cwd=cwd)

    def version(self, package):
        script = f"from importlib.metadata import version; print(version({package!r}))"
        return self.run("-c", script).strip()

    def lacks(self, package):
        script = f"import importlib.util as u; print(u.find_spec({package!r}) is None)"
        return self.run("-c", script).strip() == "True"

    def say(self, found):
        megabytes = sum(path.lstat().st_size for path in self.folder.rglob("*")) / 1e6
        cpu = children_cpu() - self.began
        print(f"{self.name:28} {megabytes:5.0f} MB {cpu:4.0f} CPU s  {found}", flush=True)


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def copy_tracked(folder):
    """Copy what git tracks."""
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, tracked.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)


def copy_of_project(folder):
    """What git tracks, as a repository of its own that pip can install from."""
    copy_tracked(folder)
    nobody = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*nobody, "commit", "-qm", "a copy"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


class Course:
    """The course to be tried: a copy of the project, its wheel, and what an installed one knows."""

    def __init__(self, above):
        self.above = above
        self.project = copy_of_project(above / "project")
        builder = Environment(above, "builder", "hatchling")
        builder.run("-m", "hatchling", "build", "-t", "sdist", "-d", above, cwd=self.project)
        (archive,) = above.glob("*.tar.gz")
        builder.pip("wheel", "--no-deps", "-w", above, archive)
        (self.wheel,) = above.glob("*.whl")
        self.installed = Environment(above, "wheel, core")
        self.installed.pip("install", "-c", LOCK, self.wheel)
        self.address = f"file://localhost{self.project}"

    def setup_cell(self, notebook, address=None):
        """The cell as the build writes it, for the copy of the project."""
        return self.installed.run("-c", SETUP_CELL, address or self.address, notebook)

    def solutions(self, numbers):
        return sorted((self.project / "solutions").glob(f"{numbers}_*.ipynb"))

    def verdicts(self, place):
        """How many verdicts 00-05 give there, without a kernel; all are as stored."""
        script = self.project / "tests" / "run_without_kernel.py"
        rows = place.run(script, *self.solutions("0[0-5]"))
        found = [int(row.split()[1]) for row in rows.splitlines()]
        assert len(found) == 6, rows
        return sum(found)


def try_wheel(course):
    """The wheel in an empty environment: checks, recorded runs, notebooks 00-05 without a kernel."""
    place = course.installed
    assert place.lacks("torch") and place.lacks("ipywidgets") and place.lacks("IPython")
    student = course.above / "student"
    shutil.copytree(course.project / "notebooks", student / "notebooks")
    said = place.attn("check", "notebooks/01_copying.ipynb", cwd=student)
    assert "1.2 not attempted" in said, said
    runs = (
        "from attn_course import recorded_runs; print(recorded_runs.read('knowledge')['command'])"
    )
    assert "runs knowledge" in place.run("-c", runs)
    count = course.verdicts(place)
    place.say(f"attn check works, recorded runs are found, {count} verdicts of 00-05 as stored")


def try_floors(course):
    place = Environment(course.above, "floors of the core", "-c", FLOORS, course.wheel)
    count = course.verdicts(place)
    versions = [f"{name} {place.version(name)}" for name in ("numpy", "matplotlib", "sympy")]
    place.say(f"{', '.join(versions)}: {count} verdicts of 00-05 as stored")


def try_offline(course):
    """Neither the course nor its packages can be fetched: one sentence each."""
    place = Environment(course.above, "offline", BARE)
    cell = course.setup_cell("00_start_here", PUBLISHED)
    said = place.run("-c", cell, online=False, status=1)
    assert said == NOT_FETCHED, said
    place.pip("install", "--no-deps", course.wheel)
    said = place.run("-c", cell, online=False)
    assert said == NOT_INSTALLED.format("click matplotlib numpy sympy"), said
    place.say("one sentence without the course, one without its packages")


def try_cell(place, cell, *, kept, lacks=()):
    """The cell brings the course, keeps what is within the ranges, and is silent the second time."""
    before = {package: place.version(package) for package in kept}
    assert place.run("-c", cell) == ""
    assert {package: place.version(package) for package in kept} == before
    assert all(place.lacks(package) for package in lacks)
    assert place.run("-c", cell) == ""
    script = "from attn_course import check; print(check('1.1', None).status)"
    assert place.run("-c", script).strip() == "not attempted"
    versions = ", ".join(f"{package} {version}" for package, version in before.items())
    return f"the cell brought the course, kept {versions}, is silent when run again"


def try_old_numpy(course):
    """What is older than the range is replaced; if it is loaded already, a restart is asked for."""
    place = Environment(course.above, "numpy 1.26", BARE, "numpy==1.26.4")
    said = place.run("-c", f"import numpy\n{course.setup_cell('00_start_here')}")
    assert said == "Now restart the kernel: it still holds an older numpy.\n", said
    place.say(f"numpy 1.26.4 became {place.version('numpy')}; said to restart the kernel")


def try_core(course):
    """A kernel with NumPy 2.0.2, without torch and ipywidgets: the cell, then a notebook with sliders."""
    packages = (BARE, "numpy==2.0.2", "ipykernel", "nbclient")
    place = Environment(course.above, "no torch, no ipywidgets", *packages)
    cell = course.setup_cell("00_start_here")
    said = try_cell(place, cell, kept=["numpy"], lacks=["torch", "ipywidgets"])
    notebook = course.project / "notebooks" / "03_one_noisy_head.ipynb"
    *_, sliders = place.run("-c", IN_A_KERNEL, notebook).splitlines()
    assert sliders == "figures with sliders without a kernel: 1, as ipywidgets: 0", sliders
    place.say(f"{said}; {sliders}")


def try_first_hour(course):
    """The wheel alone: init, check, status, an update by a later wheel, reset, solution."""
    place = Environment(course.above, "a student's first hour", "-c", LOCK, course.wheel)
    home = course.above / "home"
    home.mkdir()
    place.attn("init", "mine", cwd=home)
    mine = home / "mine"
    path = mine / "01_copying.ipynb"
    solved = json.loads((course.project / "solutions" / path.name).read_text("utf-8"))
    answers = {cell["id"]: cell["source"] for cell in solved["cells"]}
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if {"answer", "written"} & set(cell["metadata"]):
            cell["source"] = answers[cell["id"]]
    path.write_text(json.dumps(notebook), "utf-8")
    said = place.attn("check", "01", cwd=mine)
    total = said.splitlines()[-1]
    assert "a person reads answers" in total and "not yet" not in said, said
    assert "6 of 6" in place.attn("status", cwd=mine)

    released = course.project / "notebooks" / "01_copying.ipynb"
    text = released.read_text("utf-8").replace("## Notation", "## Notation, once more")
    released.write_text(text, "utf-8")
    project = course.project / "pyproject.toml"
    before = project.read_text("utf-8")
    version = re.search(r'^version = "(.+)"$', before, re.M)
    project.write_text(before.replace(version[0], f'version = "{version[1]}.1"'), "utf-8")
    later = course.above / "later"
    place.pip("wheel", "--no-deps", "-w", later, course.project)
    place.pip("install", "--no-deps", *later.glob("*.whl"))
    assert "attn update brings it here" in place.attn("status", cwd=mine)
    assert "answers kept: 1.1, 1.2" in place.attn("update", cwd=mine)
    now = path.read_text("utf-8")
    assert "## Notation, once more" in now and place.attn("check", "01", cwd=mine) == said
    assert "as it was released" in place.attn("reset", "1.4", cwd=mine)
    shown = place.run("-c", "import attn_course; print(attn_course.solution('1.5'))", cwd=mine)
    assert "def copy_error_bound" in shown, shown
    place.say(f"attn init, check ({total}), status, update, reset; solution is shown")


def imports_of(course, numbers):
    """Every import of these notebooks outside functions, as one script."""
    lines = []
    for path in sorted((course.project / "notebooks").glob(f"{numbers}_*.py")):
        statements = ast.parse(path.read_text("utf-8")).body
        imports = [node for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
        lines += map(ast.unparse, imports)
    return "\n".join(dict.fromkeys(lines))


def try_cell_of_the_others(course):
    """Notebooks from 06 on share one cell: where torch is missing it comes, and all they import is there."""
    names = [path.stem for path in course.solutions("[01][0-9]") if path.stem >= "06"]
    cells = {course.setup_cell(name) for name in names}
    (cell,) = cells
    place = Environment(course.above, "cell of 06 and later", BARE, "numpy==2.1.3")
    said = try_cell(place, cell, kept=["numpy"])
    for numbers in ("0[6-9]", "1[0-9]"):
        place.run("-c", imports_of(course, numbers))
    place.say(f"{said}; torch {place.version('torch')} came; what {len(names)} notebooks import is")


def try_wheel_with_torch(course):
    """The translator of a wheel; then, without the course, a cell that keeps the torch that is there."""
    place = Environment(course.above, "wheel, torch", "-c", LOCK, f"{course.wheel}[torch]")
    said = place.attn("translate", GERMAN)
    assert "dog" in said, said
    place.say(f"attn translate {GERMAN!r}: {said.strip()!r}")
    place.pip("uninstall", "-y", "attention-course")
    place.pip("install", "numpy==2.1.3")
    cell = course.setup_cell("10_translation")
    place.say(try_cell(place, cell, kept=["numpy", "torch"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true")
    tries = [try_wheel, try_first_hour, try_floors, try_offline, try_core, try_old_numpy]
    if parser.parse_args().torch:
        tries += [try_cell_of_the_others, try_wheel_with_torch]
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder))
        for attempt in tries:
            attempt(course)


if __name__ == "__main__":
    main()
