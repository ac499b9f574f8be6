"""Starts cells in a sandboxed child, for tests to put questions to, or the command in each tier."""

import contextlib
import csv
import json
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from course import ROOT

from attn_grader import workers
from attn_grader.sandbox import Limits, policy
from attn_grader.sandbox.session import Session, WarmProcess

MISSING = policy.missing_mechanisms()
needs_sandbox = pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")
HERE = [tier.name for tier in policy.SANDBOXES if policy.works(tier)]
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


@contextlib.contextmanager
def warm_process(*preload, tier):
    """A warm process in a Python of its own, which has imported these."""
    program = """
import json, socket, sys
from attn_grader.sandbox import child
fd, tier, *preload = json.loads(sys.argv[1])
child.import_all(preload)
child.serve(socket.socket(fileno=fd), tier)
"""
    ours, theirs = socket.socketpair()
    with theirs:
        arguments = json.dumps([theirs.fileno(), tier, *preload])
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, arguments],
            pass_fds=[theirs.fileno()],
            cwd="/",
            env=workers.clean_environment(),
        )
    try:
        yield WarmProcess(ours, process.pid)
    finally:
        ours.close()
        process.wait()


@pytest.fixture(scope="module")
def warm(tier):
    with warm_process("numpy", "sympy", tier=tier) as warm:
        yield warm


@pytest.fixture
def submit(warm):
    """Start a session with these cells, a sound one last; it must still answer unless ended."""
    sessions = []

    def submit(*cells, limits=SMALL, names=()):
        sources = [textwrap.dedent(cell) for cell in (*cells, FINE)]
        session = Session(warm, dict(enumerate(sources, 1)), limits, names)
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
