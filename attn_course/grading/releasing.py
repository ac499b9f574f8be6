"""Knows what students are given: notebooks, package, set-up, recorded runs; no solution or test."""

import re
import zipfile

from attn_course import register
from attn_course.grading.submissions import Refused

PARTS = (
    "notebooks/*.ipynb",
    "notebooks/*.py",
    "attn_utils/**/*",
    "attn_course/**/*",
    ".setup.sh",
    ".requirements.lock",
    "environment.yml",
    "pyproject.toml",
    "LICENSE",
)
TARGETS = r"(help|setup|\$\(STAMP\)|lab|clean):"  # of the Makefile; the others need the tests
FOLDER = "attention-course"
README = """# The attention course: student edition

You need Python 3.11 or newer and `make`. One command sets everything up in `.venv` and opens the
first notebook:

```sh
make lab
```

With conda: `conda env create -f environment.yml`, then `jupyter lab notebooks/00_start_here.ipynb`.

## Answer, check, hand in

Each question has a check cell. Its verdict is *correct*, *not yet* (with what was measured) or *not
attempted*; a wrong answer never stops the notebook. `hint("1.4")` gives one hint more at each call.
Written answers are read by a person.

Before you hand in, restart the kernel and run all cells. `.venv/bin/attn check
notebooks/01_copying.ipynb` shows every verdict of a notebook at once, as the grader computes them.
Hand in the `.ipynb` files under their own names. Cells may be added and moved: the grader runs your
answer cells and the cells that define what these use.

| notebook | points |
|---|---|
{table}
"""


def files_of(root):
    """Return {path inside the archive: bytes}, in order."""
    paths = sorted({path for part in PARTS for path in root.glob(part) if _wanted(path)})
    if not any(path.suffix == ".ipynb" for path in paths):
        raise Refused("there are no notebooks to release; run attn build first.")
    found = {str(path.relative_to(root)): path.read_bytes() for path in paths}
    held = {path.stem for path in paths}
    rows = [_row(name) for name in register.NOTEBOOKS if name in held]
    found["README.md"] = README.format(table="\n".join(rows)).encode()
    found["Makefile"] = _makefile((root / "Makefile").read_text("utf-8")).encode()
    return found


def _row(name):
    bonus = " (bonus)" if register.is_bonus(name) else ""
    return f"| `{name}` | {register.points_of(name):g}{bonus} |"


def _makefile(text):
    """The Makefile with the rules a student can run; a rule is a paragraph."""
    head, *rules = text.strip().split("\n\n")
    kept = [rule for rule in rules if re.match(TARGETS + r"|\.", rule)]
    whole = "\n\n".join([head, *kept]) + "\n"
    return whole.replace("EXTRAS := dev", "EXTRAS := torch,lab,grade")


def _wanted(path):
    hidden = any(re.match(r"__pycache__|\.ipynb_checkpoints", part) for part in path.parts)
    return path.is_file() and not hidden and path.suffix != ".pyc"


def pack(root, target):
    """Write the archive, the same bytes for the same files; return how many it holds."""
    files = files_of(root)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", (2000, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return len(files)
