"""Brings the packages that a notebook needs and a machine lacks.

The set-up cell of a notebook calls it, on Colab or Kaggle right after the course itself has come.
"""

import importlib
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement  # every kernel of Jupyter has it

COURSE = "attention-course"


def install_missing(extra: str = "") -> None:
    """Install what the course asks for with `extra`; what is here and within its range stays as it is.

    Silent where nothing is missing, one sentence where that fails; to be run as often as one likes.
    """
    wanted = wanted_packages(extra)
    missing = [package for package in wanted if not is_here(package)]
    if not missing:
        return

    here = [package.name for package in wanted if package not in missing]
    kept = [f"{name}=={version(name)}" for name in here]
    names = " ".join(package.name for package in missing)
    ranges = [f"{package.name}{package.specifier}" for package in missing]
    if not _install([*ranges, *kept]):
        print(f"Not here, and could not be installed (is the internet switched on?): {names}")
        return

    importlib.invalidate_caches()
    loaded = [package.name for package in missing if package.name in sys.modules]
    if loaded:
        print(f"Now restart the kernel: it still holds an older {', '.join(loaded)}.")


def wanted_packages(extra: str = "") -> list[Requirement]:
    """What the course asks for on this machine, by name and range; nothing where it was not installed."""
    try:
        lines = requires(COURSE) or []
    except PackageNotFoundError:  # it runs from its folder: whoever did that knows what it needs
        return []

    packages = map(Requirement, lines)
    return [p for p in packages if p.marker is None or p.marker.evaluate({"extra": extra})]


def is_here(package: Requirement) -> bool:
    """Whether it is installed, in a version within the range."""
    try:
        return package.specifier.contains(version(package.name), prereleases=True)
    except PackageNotFoundError:
        return False


def _install(packages: Sequence[str]) -> bool:
    """Whether pip could."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    try:
        done = subprocess.run([*pip, *packages], capture_output=True)
    except OSError:  # Python in a browser starts no process
        return False
    return done.returncode == 0
