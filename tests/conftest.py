"""Puts the tests' own helpers on the path; no figure reaches the screen, no test is timed."""

import sys
from pathlib import Path

import hypothesis
import matplotlib

sys.path.insert(0, str(Path(__file__).parent))
matplotlib.use("Agg")
hypothesis.settings.register_profile("course", deadline=None)
hypothesis.settings.load_profile("course")
