"""Starts cells in a sandboxed fork server, for tests to put questions to, or the command in each tier."""

import csv
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from course import ROOT

from attn_course.grading.sandbox import tiers
from attn_course.grading.sandbox.fork_server import ForkServer, Limits
from attn_course.grading.sandbox.session import Session

MISSING = tiers.missing_mechanisms()
needs_sandbox = pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")
HERE = [tier.name for tier in tiers.SANDBOXES if tiers.works(tier)]
TIERS = HERE or [pytest.param("", marks=needs_sandbox)]
LIKE = {"namespaces": "", "landlock": "docker"}  # a machine whose best tier this is
SMALL = Limits(cell=10.0, total=60.0, memory=128 << 20)
ATTN = [sys.executable, "-c", "import sys, attn_course.cli as cli; sys.exit(cli.main())"]
FINE = "def fine(x):\n    return 2 * x"


def on_a_machine_like(machine, *arguments, command=ATTN):
    """`attn` where system calls are refused as on that machine; without a name, as they are here."""
    if machine:
        command = [sys.executable, ROOT / "tests" / "without_namespaces.py", machine, *command]
    command = [str(word) for word in (*command, *arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def rows(out):
    """The gradebook in the folder `out`: student -> row."""
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def said_of(out, who, question):
    """What the student is told on a question."""
    found = json.loads((out / "students" / f"{who}.json").read_text("utf-8"))
    return " ".join(test["output"] for test in found["tests"] if test["number"] == question)


@pytest.fixture(scope="module", params=TIERS)
def tier(request):
    """Every attack is tried in each tier that works on this machine."""
    return request.param


@pytest.fixture(scope="module")
def fork_server(tier):
    with ForkServer(("numpy", "sympy"), tier=tier) as fork_server:
        yield fork_server


@pytest.fixture
def submit(fork_server):
    """Start a session with these cells, a sound one last; it must still answer unless ended."""
    sessions = []

    def submit(*cells, limits=SMALL, names=()):
        sources = [textwrap.dedent(cell) for cell in (*cells, FINE)]
        session = Session(fork_server, dict(enumerate(sources, 1)), limits, names)
        sessions.append(session)
        session.run()
        return session

    yield submit
    for session in sessions:
        session.__exit__()


def ask(session, name, *args, **kwargs):
    return session.answers([name], 5)[0](*args, **kwargs)


def value(session, name):
    return session.answers([name], 5)[0].value()


def still_fine(session):
    return ask(session, "fine", 21) == 42


def descendants(pid):
    """Return the ids of every process below `pid`."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for below in map(int, task.read_text().split()):
            found += [below, *descendants(below)]
    return found
