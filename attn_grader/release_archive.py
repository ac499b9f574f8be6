"""What is handed out: the student edition, an autograder, sources for nbgrader."""

import json
import os
import re
import secrets
import time
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from attn_course import register
from attn_course.atomic_file import replaced
from attn_course.command_line import log
from attn_course.errors import UserError
from attn_grader.render import render

PACKAGE = (
    "attn_utils/**/*",
    "attn_course/**/*",
    "scripts/setup.sh",
    "requirements/lock.txt",
    "pyproject.toml",
    "LICENSE",
)
AUTOGRADER = ("attn_grader/**/*", *PACKAGE)
PARTS = ("notebooks/*.ipynb", "notebooks/*.py", "notebooks/*.toml", "environment.yml", *PACKAGE)
SCRIPTS = ("setup.sh", "run_autograder")
LEFT_OUT = re.compile(r"(^|/)(__pycache__|\.ipynb_checkpoints)|\.pyc$")
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
# The seconds since 1970 of the first and the last date that a zip archive can hold.
EARLIEST, LATEST = 315532800, 4354819198


def files_of(root: Path, notebooks: Collection[str] = ()) -> dict[str, bytes]:
    """Return {path inside the archive: its bytes} of the student edition, in order.

    notebooks: those that it holds, all if there are none.
    """
    files = _read(root, PARTS)
    for path in [path for path in files if path.startswith("notebooks/") and notebooks]:
        if path.endswith((".ipynb", ".py")) and Path(path).stem not in notebooks:
            del files[path]
    names = [name for name in register.NOTEBOOKS if f"notebooks/{name}.ipynb" in files]
    if not names:
        raise UserError("there are no notebooks to release; run attn build first.")
    rows = [(name, register.points_of(name), register.is_bonus(name)) for name in names]
    torch = ",torch" if any(map(register.needs_torch, names)) else ""
    readme = render("student_readme.md", notebooks=rows, torch=torch)
    files["README.md"] = f"{readme}\n".encode()
    files["Makefile"] = _makefile((root / "Makefile").read_text("utf-8")).encode()
    return files


def autograder_files(root: Path, notebooks: list[str]) -> dict[str, bytes]:
    """Return {path inside the archive: its bytes} of what Gradescope runs, in order."""
    files = _read(root, AUTOGRADER)
    needs_torch = any(map(register.needs_torch, notebooks))
    extras = "torch,grade" if needs_torch else "grade"
    for name in SCRIPTS:
        script = render(name, extras=extras, notebooks=" ".join(notebooks))
        files[name] = f"{script}\n".encode()
    files["README.md"] = b""  # pyproject.toml names it
    files["seed"] = secrets.token_hex(16).encode()  # of the inputs; no submission can read it
    return files


def nbgrader_files(root: Path, notebooks: Collection[str] = ()) -> dict[str, bytes]:
    """Return {path inside the archive: its bytes} of nbgrader's folder `source`, in order.

    These are the solutions without their rubrics, of which nbgrader would make empty answer cells, and
    with a first cell that ends the kernel where the course is missing: without it everybody gets zero.
    """
    files = {}
    for name in notebooks or register.NOTEBOOKS:
        path = root / "solutions" / f"{name}.ipynb"
        if path.is_file():
            notebook = json.loads(path.read_text("utf-8"))
            cells = [cell for cell in notebook["cells"] if not HIDDEN & cell["metadata"].keys()]
            notebook["cells"] = [_guard(), *cells]
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            files[f"source/{name}/{name}.ipynb"] = f"{text}\n".encode()
    if not files:
        raise UserError("the solutions are not on this machine.")
    return files


def _guard():
    """Return a locked cell that no student has to read, and that nbgrader runs first."""
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


def _read(root, parts):
    """Return {path: bytes} of the files below a folder that match one of the patterns."""
    paths = {path for part in parts for path in root.glob(part) if path.is_file()}
    names = [path.relative_to(root).as_posix() for path in sorted(paths)]
    return {name: (root / name).read_bytes() for name in names if not LEFT_OUT.search(name)}


def _makefile(text):
    """Return the Makefile with the rules that a student can run; a rule is a paragraph."""
    head, *rules = text.strip().split("\n\n")
    rules = [rule for rule in rules if re.match(TARGETS + r"|\.", rule)]
    text = "\n\n".join([head, *rules]) + "\n"
    return text.replace("setup: $(STAMP)", "setup: $(LAB)")


def pack(root: Path, target: Path, notebooks: Collection[str] = ()) -> int:
    """Write the student edition; return how many files it holds."""
    return write_zip(target, files_of(root, notebooks), f"{FOLDER}/")


def write_zip(target: Path, files: Mapping[str, bytes], folder: str = "") -> int:
    """Write an archive of files, below a folder in it; return how many files it holds."""
    return write_entries(target, ((f"{folder}{name}", data) for name, data in files.items()))


def write_entries(target: Path, entries: Iterable[tuple[str, bytes]]) -> int:
    """Write an archive of (path, bytes), the same bytes for the same entries and date; return their number.

    The date of every file is SOURCE_DATE_EPOCH where the environment has it, else the present. Only one
    entry is held in memory at a time.
    """
    date = time.gmtime(min(max(_build_time(), EARLIEST), LATEST))[:6]
    with replaced(target) as new, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in entries:
            entry = zipfile.ZipInfo(path, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path in SCRIPTS else 0o644) << 16
            archive.writestr(entry, data)
            log.debug(path)
        return len(archive.namelist())


def _build_time():
    """Return the date of the build in seconds since 1970: SOURCE_DATE_EPOCH if it is set, else now."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if not text:
        return time.time()
    if not re.fullmatch(r"\d{1,10}", text):
        raise UserError(f"SOURCE_DATE_EPOCH is {text!r}, not a number of seconds since 1970.")
    return int(text)
