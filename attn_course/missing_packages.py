"""Install the packages that a notebook needs and a machine lacks.

The set-up cell of a notebook calls this; on Colab and Kaggle right after it has installed the course itself.
"""

import importlib
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement  # every kernel of Jupyter has it

COURSE = "attention-course"


def install_missing(extra: str = "") -> None:
    """Install what the course needs with this extra; leave a package alone if its version is in range.

    Prints nothing if nothing is missing and one sentence if pip fails. May be called any number of times.
    """
    packages = needed_packages(extra)
    missing = [package for package in packages if not is_here(package)]
    if not missing:
        return

    here = [package.name for package in packages if package not in missing]
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


def needed_packages(extra: str = "") -> list[Requirement]:
    """Return the packages that the course needs on this machine; none if the course is not installed."""
    try:
        lines = requires(COURSE) or []
    except PackageNotFoundError:  # run from its folder, by somebody who knows what it needs
        return []

    packages = map(Requirement, lines)
    return [p for p in packages if p.marker is None or p.marker.evaluate({"extra": extra})]


def is_here(package: Requirement) -> bool:
    """Return True if a version of the package within its range is installed."""
    try:
        return package.specifier.contains(version(package.name), prereleases=True)
    except PackageNotFoundError:
        return False


def _install(packages: Sequence[str]) -> bool:
    """Install with pip; return True if pip succeeded."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    try:
        done = subprocess.run([*pip, *packages], capture_output=True)
    except OSError:  # Python in a browser starts no process
        return False
    return done.returncode == 0
