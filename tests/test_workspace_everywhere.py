"""What a student needs runs where Python has no fork, no POSIX signals and no `resource`, as on Windows."""

import ast
import json
import os
import subprocess
import sys

import pytest
from classroom import cell
from course import ROOT

from attn_course.workspace import commands

# Read by every Python that is started with this folder on its path, children too. The packages that choose
# their code by the system are imported first: what is tried is our code, not theirs.
WITHOUT_POSIX = """
import importlib.abc, os, signal, sys
import asyncio, click, ctypes, multiprocessing, numpy, subprocess, sysconfig, tempfile
sysconfig.get_config_vars()

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("resource", "fcntl", "pwd", "grp", "termios", "pty"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("resource", "fcntl", "pwd", "grp", "termios", "pty"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in ("fork", "forkpty", "geteuid", "getuid", "setsid", "killpg", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGCHLD", "SIGHUP", "alarm", "setitimer", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
sys.platform = "win32"
"""
RIGHT = "def mean(values):\n    return sum(values) / len(values)\n"
SOLUTION = (
    "from attn_course import check, progress, solution\n"
    "check('0.1', lambda values: sum(values) / len(values))\n"
    "print(solution('0.1')); print(progress())"
)


@pytest.fixture(scope="module")
def attn(tmp_path_factory):
    """A function that runs Python on such a system, in the student's folder, and returns what it prints."""
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(WITHOUT_POSIX)
    here = tmp_path_factory.mktemp("home")
    path = os.pathsep.join([str(site), str(ROOT)])
    kept = {
        name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_VERSION")
    }

    def run(*words, script=None, status=0):
        folder = here / "my course"
        command = ["-c", script] if script else ["-m", "attn_course.cli", *words]
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder if folder.exists() else here,
            env={**kept, "PYTHONPATH": path},
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    run.folder = here / "my course"
    return run


def test_init_check_status_update_reset_and_solution_run_there(attn):
    assert "notebooks written to my course" in attn("init", "my course")
    path = attn.folder / "00_start_here.ipynb"
    found = json.loads(path.read_text("utf-8"))
    cell(found, "q0-1-code")["source"] = RIGHT
    path.write_text(json.dumps(found), "utf-8")

    assert "✔ 0.1 correct" in attn("check", "00")
    assert "1 of 2" in attn("status")
    then = attn.folder / ".attn/released/00_start_here.ipynb"
    older = then.read_text("utf-8").replace("What is next", "What was next")
    then.write_text(older, "utf-8")
    assert "answers kept: 0.1" in attn("update")
    assert "mean" in "".join(cell(json.loads(path.read_text("utf-8")), "q0-1-code")["source"])
    assert "return sum(values) / len(values)" in attn(script=SOLUTION)
    assert "as it was released" in attn("reset", "0.1")
    assert "0 of 2" in attn("status")


def test_the_command_line_of_lab_is_made_there(attn):
    script = (
        "from pathlib import Path\n"
        "from attn_course.workspace import commands\n"
        "print(commands.jupyter_command(Path('C:/my course'), '01_copying.ipynb'))"
    )
    command = ast.literal_eval(attn(script=script))
    assert command[1:3] == ["-m", "jupyterlab"] and "--allow-root" not in command
    assert command[-1] == "--LabApp.default_url=/lab/tree/01_copying.ipynb"


def test_where_nothing_can_take_the_place_of_a_process_lab_waits_for_jupyterlab(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(commands.os, "name", "nt")
    status = commands.start([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)
    monkeypatch.undo()
    assert status == 3


POSIX = {
    "os": {"fork", "forkpty", "geteuid", "getuid", "setsid", "killpg", "waitpid", "kill"},
    "signal": {"SIGALRM", "SIGKILL", "alarm", "setitimer", "pthread_sigmask"},
}
MODULES = {"resource", "fcntl", "pwd", "grp", "termios", "pty"}
STUDENTS = [
    *(ROOT / "attn_course").glob("*.py"),
    *(ROOT / "attn_course" / "workspace").glob("*.py"),
    *(ROOT / "attn_course" / "answers").glob("*.py"),
    *(ROOT / "attn_course" / "questions").glob("*.py"),
    *(ROOT / "attn_course" / "proofs").glob("*.py"),
]


def posix_calls(path):
    """What a module uses that only POSIX has, as "os.fork"."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if name in POSIX.get(module, ()):
                    yield f"{path.name}: {module}.{name}"
            case ast.Import(names=names):
                yield from (f"{path.name}: {a.name}" for a in names if a.name in MODULES)
            case ast.ImportFrom(module=module) if module in MODULES:
                yield f"{path.name}: {module}"


def test_the_only_posix_call_on_a_students_path_is_asked_for_first():
    """os.geteuid stands behind hasattr, for JupyterLab's own --allow-root."""
    calls = [call for path in STUDENTS for call in posix_calls(path)]
    assert calls == ["commands.py: os.geteuid"]
