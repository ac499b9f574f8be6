"""What is handed out: the student edition, an autograder, sources for nbgrader."""

import json
import re
import secrets
import zipfile
from pathlib import Path

from attn_course import register
from attn_course.command_line import log
from attn_course.errors import UserError
from attn_course.grading.render import render

PACKAGE = (
    "attn_utils/**/*",
    "attn_course/**/*",
    "scripts/setup.sh",
    "requirements/lock.txt",
    "pyproject.toml",
    "LICENSE",
)
PARTS = ("notebooks/*.ipynb", "notebooks/*.py", "notebooks/*.toml", "environment.yml", *PACKAGE)
SCRIPTS = ("setup.sh", "run_autograder")
LEFT_OUT = re.compile(r"(^|/)(__pycache__|\.ipynb_checkpoints|scaffold/)|\.pyc$")
TARGETS = r"(help|setup|\$\(LAB\)|lab|clean):"  # of the Makefile; the others need the tests
HIDDEN = {"rubric", "only"}  # marks of cells that students never see
GUARD = """import os

try:
    import attn_course.checking
    import sympy
except ImportError as missing:
    if os.environ.get("NBGRADER_EXECUTION"):
        os.write(2, f"This kernel lacks the course ({missing}); nothing was graded.\\n".encode())
        os._exit(1)"""
FOLDER = "attention-course"
DATE = (2000, 1, 1, 0, 0, 0)  # of every file in an archive: the same files are the same bytes
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


def files_of(root: Path) -> dict[str, bytes]:
    """Return {path inside the archive: its bytes} of the student edition, in order."""
    found = _held(root, PARTS)
    notebooks = {Path(name).stem for name in found if name.endswith(".ipynb")}
    if not notebooks:
        raise UserError("there are no notebooks to release; run attn build first.")
    rows = []
    for name in register.NOTEBOOKS:
        if name in notebooks:
            bonus = " (bonus)" if register.is_bonus(name) else ""
            rows.append(f"| `{name}` | {register.points_of(name):g}{bonus} |")
    found["README.md"] = README.format(table="\n".join(rows)).encode()
    found["Makefile"] = _makefile((root / "Makefile").read_text("utf-8")).encode()
    return found


def autograder_files(root: Path, notebooks: list[str]) -> dict[str, bytes]:
    """Return {path inside the archive: its bytes} of what Gradescope runs, in order."""
    found = _held(root, PACKAGE)
    needs_torch = any(map(register.needs_torch, notebooks))
    extras = "torch,grade" if needs_torch else "grade"
    for name in SCRIPTS:
        script = render(name, extras=extras, notebooks=" ".join(notebooks))
        found[name] = f"{script}\n".encode()
    found["README.md"] = b""  # pyproject.toml names it
    found["seed"] = secrets.token_hex(16).encode()  # of the inputs; no submission can read it
    return found


def nbgrader_files(root: Path) -> dict[str, bytes]:
    """Return {path inside the archive: its bytes} of nbgrader's folder `source`, in order.

    These are the solutions without their rubrics, of which nbgrader would make empty answer cells, and
    with a first cell that ends the kernel where the course is missing: without it everybody gets zero.
    """
    found = {}
    for name in register.NOTEBOOKS:
        path = root / "solutions" / f"{name}.ipynb"
        if path.is_file():
            notebook = json.loads(path.read_text("utf-8"))
            kept = [cell for cell in notebook["cells"] if not HIDDEN & cell["metadata"].keys()]
            notebook["cells"] = [_guard(), *kept]
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            found[f"source/{name}/{name}.ipynb"] = f"{text}\n".encode()
    if not found:
        raise UserError("the solutions are not on this machine.")
    return found


def _guard():
    """A locked cell that no student has to read, and that nbgrader runs first."""
    nbgrader = {
        "grade": False,
        "grade_id": "course-is-here",
        "locked": True,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "course-is-here",
        "metadata": {"nbgrader": nbgrader},
        "outputs": [],
        "source": GUARD,
    }


def _held(root, parts):
    paths = {path for part in parts for path in root.glob(part) if path.is_file()}
    names = [path.relative_to(root).as_posix() for path in sorted(paths)]
    return {name: (root / name).read_bytes() for name in names if not LEFT_OUT.search(name)}


def _makefile(text):
    """The Makefile with the rules a student can run; a rule is a paragraph."""
    head, *rules = text.strip().split("\n\n")
    kept = [rule for rule in rules if re.match(TARGETS + r"|\.", rule)]
    whole = "\n\n".join([head, *kept]) + "\n"
    return whole.replace("setup: $(STAMP)", "setup: $(LAB)")


def pack(root: Path, target: Path) -> int:
    """Write the student edition; return how many files it holds."""
    return write_zip(target, files_of(root), f"{FOLDER}/")


def write_zip(target: Path, files: dict[str, bytes], folder: str = "") -> int:
    """Write an archive, the same bytes for the same files; return how many they are."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"{folder}{name}", DATE)
            mode = 0o755 if name in SCRIPTS else 0o644
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = mode << 16
            archive.writestr(entry, data)
            log.debug(name)
    return len(files)
