"""Puts the tests' own helpers on the path; no figure reaches the screen, no test is timed."""

import logging
import sys
from pathlib import Path

import hypothesis
import matplotlib
import pytest

sys.path.insert(0, str(Path(__file__).parent))
matplotlib.use("Agg")
hypothesis.settings.register_profile("course", deadline=None)
hypothesis.settings.load_profile("course")


@pytest.fixture(autouse=True)
def _same_numbers_for_the_next_test():
    """A notebook that was run here may have chosen torch's default numbers; the next test has its own."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_default_dtype(torch.float32)


@pytest.fixture(autouse=True)
def _same_log_for_the_next_test():
    """A command that was run here writes its log to an output which is closed after the test."""
    yield
    log = logging.getLogger("attn_course")
    log.handlers.clear()
    log.propagate = True
    log.setLevel(logging.NOTSET)


@pytest.fixture(scope="module")
def questions_with_known_points():
    """A course of two notebooks, for tests that add points up, whatever its questions are worth."""
    from attn_course import register

    def question(question_id, kind, points):
        part = register.Part(kind, judge=None if kind == "written" else print, points=points)
        return register.Question(question_id, "A title", 5, (part,))

    proper = (
        question("1.1", "code", 1),
        question("1.2", "derive", 4),
        question("1.7", "written", 1),
    )
    course = {"01_copying": proper, "02_average_of_two": (question("2.1", "code", 7),)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register, "questions_of", course.__getitem__)
        yield
