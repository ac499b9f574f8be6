"""Tries the ways in: a built wheel and the set-up cell, each in empty environments of its own.

    python tests/environments.py          # minutes, needs the network; never part of make test
    python tests/environments.py --torch  # also with torch: the translator, a set-up cell of 06-12

Needs Python and git alone. Prints a line per environment, with megabytes and CPU seconds.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
LOCK = ROOT / ".requirements.lock"
BARE = "packaging"  # all that a kernel of Jupyter brings and the set-up cell uses
SENTENCE = (
    "The course is not here and could not be fetched: switch the internet on, run this again."
)


class Environment:
    """A virtual environment in a folder, with pip and the packages named."""

    def __init__(self, above, name, *packages):
        self.name = name
        self.folder = above / name.replace(" ", "_")
        self.began = children_cpu()
        subprocess.run([sys.executable, "-m", "venv", self.folder], check=True, env=CLEAN)
        self.python = self.folder / "bin" / "python"
        if packages:
            self.run("-m", "pip", "install", "--quiet", *packages)

    def run(self, *arguments, cwd=None, **settings):
        """What a command of this environment's Python prints; it must not fail."""
        done = subprocess.run(
            [self.python, *arguments],
            cwd=cwd or self.folder,
            env=CLEAN | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{self.name}: {arguments}\n{done.stdout}"
        return done.stdout

    def attn(self, *arguments, cwd=None):
        return self.run("-m", "attn_course.cli", *arguments, cwd=cwd)

    def version(self, package):
        script = f"from importlib.metadata import version; print(version({package!r}))"
        return self.run("-c", script).strip()

    def lacks(self, package):
        script = f"import importlib.util as u; print(u.find_spec({package!r}) is None)"
        return self.run("-c", script).strip() == "True"

    def say(self, found):
        megabytes = sum(path.lstat().st_size for path in self.folder.rglob("*")) / 1e6
        cpu = children_cpu() - self.began
        print(f"{self.name:24} {megabytes:5.0f} MB {cpu:4.0f} CPU s  {found}", flush=True)


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def copy_of_project(folder):
    """What git tracks, as a repository of its own that pip can install from."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, tracked.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    nobody = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*nobody, "commit", "-qm", "a copy"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def setup_cell(repository, notebook):
    """The cell as the build writes it, for the copy of the project."""
    from attn_course.building import ways_in

    return ways_in.setup_cell(repository, notebook)


def try_wheel(above, project):
    """A wheel in an empty environment: checks, recorded runs, notebooks 00-05 without a kernel."""
    place = Environment(above, "wheel, core")
    place.run("-m", "pip", "wheel", "--quiet", "--no-deps", "-w", above, project)
    (wheel,) = above.glob("*.whl")
    place.run("-m", "pip", "install", "--quiet", "-c", LOCK, wheel)
    assert place.lacks("torch") and place.lacks("ipywidgets") and place.lacks("IPython")
    student = above / "student"
    shutil.copytree(project / "notebooks", student / "notebooks")
    said = place.attn("check", "notebooks/01_copying.ipynb", cwd=student)
    assert "1.1 not attempted" in said, said
    runs = (
        "from importlib.resources import files; print(*(files('attn_course') / 'runs').iterdir())"
    )
    assert "knowledge" in place.run("-c", runs)
    solutions = sorted((project / "solutions").glob("0[0-5]_*.ipynb"))
    rows = place.run(project / "tests" / "run_bare.py", *solutions).splitlines()
    assert len(rows) == len(solutions), rows
    place.say("attn check works, recorded runs are found, 00-05 have their verdicts")
    return wheel


def try_wheel_with_torch(above, wheel):
    place = Environment(above, "wheel, torch")
    place.run("-m", "pip", "install", "--quiet", "-c", LOCK, f"{wheel}[torch]")
    said = place.attn("translate", "Ein Hund rennt durch den Schnee.")
    assert "dog" in said, said
    place.say(f"attn translate: {said.strip().splitlines()[-1]}")


def try_cell(above, name, cell, packages, *, kept, lacks=()):
    """The cell brings the course, keeps what is within the ranges, and is silent the second time."""
    place = Environment(above, name, BARE, *packages)
    before = {package: place.version(package) for package in kept}
    assert place.run("-c", cell) == ""
    assert {package: place.version(package) for package in kept} == before
    assert all(place.lacks(package) for package in lacks)
    assert place.run("-c", cell) == ""
    script = "from attn_course import check; print(check('1.1', None).status)"
    assert place.run("-c", script).strip() == "not attempted"
    versions = ", ".join(f"{package} {version}" for package, version in before.items())
    place.say(f"the cell brought the course; kept {versions or 'nothing'}; silent when run again")


def try_old_numpy(above, cell):
    """What is older than the range is replaced; if it is loaded already, a restart is asked for."""
    place = Environment(above, "numpy 1.26", BARE, "numpy==1.26.4")
    said = place.run("-c", f"import numpy\n{cell}")
    assert said == "Now restart the kernel: it still holds an older numpy.\n", said
    place.say(f"numpy 1.26.4 became {place.version('numpy')}; said to restart the kernel")


def try_offline(above, cell):
    place = Environment(above, "offline", BARE)
    cell = cell.replace("git+file://localhost", "git+file://localhost/nowhere")
    said = place.run("-c", cell, PIP_NO_INDEX="1")
    assert said == f"{SENTENCE}\n", said
    place.say("one sentence")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true")
    with_torch = parser.parse_args().torch
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        above = Path(folder)
        project = copy_of_project(above / "project")
        wheel = try_wheel(above, project)
        core = setup_cell(f"file://localhost{project}", "00_start_here")
        try_offline(above, core)
        older = ("numpy==2.0.2",)
        try_cell(above, "numpy 2.0.2, no torch", core, older, kept=["numpy"], lacks=["torch"])
        try_old_numpy(above, core)
        if with_torch:
            try_wheel_with_torch(above, wheel)
            cell = setup_cell(f"file://localhost{project}", "06_transformer_attention")
            packages = ("numpy==2.1.3", "torch")
            try_cell(above, "torch is there", cell, packages, kept=["numpy", "torch"])


if __name__ == "__main__":
    main()
