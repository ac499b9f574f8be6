"""Puts the tests' own helpers on the path; no figure reaches the screen, no test is timed."""

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
