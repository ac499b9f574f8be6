"""Puts the tests' own helpers on the path, and keeps figures off the screen."""

import sys
from pathlib import Path

import matplotlib

sys.path.insert(0, str(Path(__file__).parent))
matplotlib.use("Agg")
