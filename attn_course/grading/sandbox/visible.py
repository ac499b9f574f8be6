"""Which folders a shut-in process may read: Python, installed packages, the course. Reads none of them."""

import os
import sys
import sysconfig
from pathlib import Path

import attn_utils

COURSE = Path(__file__).resolve().parents[2]
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


def readable_paths():
    """Return the folders that hold Python, its packages and the course, none below another."""
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    python.append(sysconfig.get_config_var("LIBDIR") or "")
    ours = [str(COURSE), str(Path(attn_utils.__file__).resolve().parent)]
    candidates = {*SYSTEM, *python, *installed, *ours}
    paths = sorted(path for path in candidates if os.path.isdir(path))
    return [path for path in paths if not any(path.startswith(f"{other}/") for other in paths)]


def hidden_paths(names):
    """Return the paths of these folders and files of the course, as far as they exist."""
    paths = [str(COURSE / name) for name in names]
    return [path for path in paths if os.path.lexists(path)]


def without(paths, hidden):
    """Return `paths` with each folder that holds something hidden replaced by what else is in it."""
    found = []
    for path in paths:
        if path in hidden:
            continue
        if any(other.startswith(f"{path}/") for other in hidden):
            entries = sorted(entry.path for entry in os.scandir(path))
            found += without(entries, hidden)
        else:
            found.append(path)
    return found
