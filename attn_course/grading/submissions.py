"""Knows where submissions lie, whose they are and which notebook each is; opens none of them."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from attn_course import register

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
SKIPPED = ("__MACOSX", "__pycache__")
MAX_FILES = 5_000  # looked at in one student's folder
MAX_DEPTH = 4
# What would steer a terminal, break a line, have a name read backwards or make two names look alike.
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class Refused(Exception):
    """What was asked for cannot be done; the text is one sentence."""


@dataclass(frozen=True)
class File:
    """One file handed in. `problem` says why it is not even opened; `remarks` what was odd."""

    student: str
    notebook: str
    path: Path
    name: str  # of the file, below the student's folder
    problem: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """By what its record is found: student, notebook, name."""
        return self.student, self.notebook, self.name

    @property
    def changed(self) -> datetime | None:
        """When the file was last changed, None where that cannot be told."""
        try:
            return datetime.fromtimestamp(os.lstat(self.path).st_mtime).astimezone()
        except (OSError, OverflowError, ValueError):  # some file systems keep any year
            return None

    @property
    def stamp(self) -> str:
        """Changes when the file does, so that a batch taken up again grades it again."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return "absent"
        return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def find(folder: Path, notebooks: Iterable[str]) -> tuple[list[str], list[File]]:
    """Return (students, files): every student's folder in `folder`, and what to grade in them."""
    if not Path(folder).is_dir():
        raise Refused(f"there is no folder {str(folder)!r}.")
    notebooks = list(notebooks)
    students: dict[str, Path | None] = {}
    files: list[File] = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        student = printable(entry.name)
        path = Path(entry.path)
        if entry.is_dir() or entry.is_symlink():
            students[student] = path
            files += files_of(student, path, notebooks)
        elif path.suffix.lower() in (".ipynb", *ARCHIVES):
            students[student] = None
            files.append(File(student, "", path, student, "it lies outside any student's folder."))
    if not any(students.values()):
        raise Refused(f"{str(folder)!r} holds no folder; each student has one, named after them.")
    return list(students), files


def printable(name: str | Path) -> str:
    """Return a file's name as text, whatever bytes it is made of; different names stay different."""
    text = os.fsencode(name).replace(b"\\", rb"\\").decode("utf-8", "backslashreplace")
    return UNSEEN.sub(lambda letter: letter[0].encode("unicode_escape").decode(), text)


def files_of(student: str, folder: Path, notebooks: Iterable[str]) -> list[File]:
    """Return one File for each of `notebooks` that the folder holds, and one for each oddity."""
    if folder.is_symlink():
        return [File(student, "", folder, student, "it is a link, not a folder.")]
    problems: dict[Path, str] = {}
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for path in _walk(folder, problems):
        place = path.relative_to(folder)
        name = notebook_of(place)
        if path.suffix.lower() in ARCHIVES:
            problems[path] = "it is an archive; unpack it first."
        elif name:
            found[name].append(path)
        elif path.suffix.lower() == ".ipynb":
            problems[path] = "its name is that of no notebook, such as 01_copying.ipynb."
        elif ".ipynb" in path.name.lower():
            problems[path] = "its name does not end in .ipynb."
    files = []
    for path, why in problems.items():
        place = student if path == folder else printable(path.relative_to(folder))
        files.append(File(student, "", path, place, why))
    for name in notebooks:
        if found[name]:
            files.append(_best(student, folder, name, found[name]))
    return files


def _walk(folder, problems):
    """Yield the files below `folder`, following no link, up to a sane number and depth.

    problems: {path: sentence}, to which those of folders that could not be read are added.
    """

    def closed(error):
        problems[Path(error.filename)] = f"it cannot be opened ({error.strerror})."

    left = MAX_FILES
    for above, folders, names in os.walk(folder, onerror=closed):
        depth = len(Path(above).relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if f[0] != "." and f not in SKIPPED)
        folders[:] = folders if depth < MAX_DEPTH else []
        for name in sorted(names)[:left]:
            if not name.startswith("."):
                yield Path(above, name)
        if len(names) > left:
            problems[folder] = f"it holds over {MAX_FILES:,} files; the others were not looked at."
            return
        left -= len(names)


def notebook_of(path: Path) -> str:
    """Return the notebook that a path names in its file or, as nbgrader does, in a folder."""
    if path.suffix.lower() not in (".ipynb", ".py"):
        return ""
    places = [path.stem, *reversed(path.parent.parts)]
    known = (name for place in places for name in register.NOTEBOOKS if name in place.lower())
    return next(known, "")


def _best(student, folder, name, paths):
    """Of several files for one notebook take the notebook before its script, the plain name first."""

    def rank(path):
        return path.suffix.lower() != ".ipynb", path.stem != name, str(path)

    paths = sorted(paths, key=rank)
    others = [path for path in paths[1:] if path.suffix.lower() == ".ipynb"]
    remarks = tuple(f"{printable(path.name)} was handed in too, and not graded." for path in others)
    place = printable(paths[0].relative_to(folder))
    return File(student, name, paths[0], place, remarks=remarks)
