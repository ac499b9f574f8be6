"""Starts a submission's cells in one sandboxed fork server, for tests to put questions to."""

import textwrap

import pytest

from attn_course.grading.sandbox import tiers
from attn_course.grading.sandbox.fork_server import Limits, Zygote
from attn_course.grading.sandbox.session import Session

MISSING = tiers.missing_mechanisms()
needs_sandbox = pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")
HERE = [tier.name for tier in tiers.LOCKED if tiers.works(tier)]
SMALL = Limits(cell=10.0, total=60.0, memory=128 << 20)
FINE = "def fine(x):\n    return 2 * x"


@pytest.fixture(scope="module", params=HERE)
def tier(request):
    """Every attack is tried in each tier that works on this machine."""
    return request.param


@pytest.fixture(scope="module")
def zygote(tier):
    with Zygote(("numpy", "sympy"), tier=tier) as zygote:
        yield zygote


@pytest.fixture
def submit(zygote):
    """Start a session with these cells, a sound one last; it must still answer unless ended."""
    sessions = []

    def submit(*cells, limits=SMALL):
        sources = [textwrap.dedent(cell) for cell in (*cells, FINE)]
        session = Session(zygote, dict(enumerate(sources, 1)), limits)
        sessions.append(session)
        session.run()
        return session

    yield submit
    for session in sessions:
        session.__exit__()


def ask(session, name, *args, **kwargs):
    return session.answers([name], 5)[0](*args, **kwargs)


def still_fine(session):
    return ask(session, "fine", 21) == 42
