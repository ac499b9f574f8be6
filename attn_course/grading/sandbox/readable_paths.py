"""Which folders a sandboxed process may read: Python, installed packages, the course."""

import os
import sys
import sysconfig
from collections.abc import Collection, Iterable
from pathlib import Path

import attn_utils

COURSE = Path(__file__).resolve().parents[2]
PACKAGES = ("site-packages", "dist-packages")
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


def readable_paths() -> list[str]:
    """Return the folders that hold Python, its packages and the course, none below another."""
    packages = [path for path in sys.path if path.endswith(PACKAGES)]
    library = Path(attn_utils.__file__).resolve()
    candidates = {
        *SYSTEM,
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        sysconfig.get_config_var("LIBDIR") or "",
        *packages,
        str(library.parent),
        str(COURSE),
    }
    paths = sorted(path for path in candidates if os.path.isdir(path))
    inside = tuple(f"{path}/" for path in paths)
    return [path for path in paths if not path.startswith(inside)]


def hidden_paths(names: Iterable[str]) -> list[str]:
    """Return the paths of these folders and files of the course, as far as they exist."""
    paths = [str(COURSE / name) for name in names]
    return [path for path in paths if os.path.lexists(path)]


def without(paths: Iterable[str], hidden: Collection[str]) -> list[str]:
    """Return `paths` with each folder that holds something hidden replaced by what else is in it."""
    found: list[str] = []
    for path in paths:
        if path in hidden:
            continue
        if any(other.startswith(f"{path}/") for other in hidden):
            entries = sorted(entry.path for entry in os.scandir(path))
            found += without(entries, hidden)
        else:
            found.append(path)
    return found
