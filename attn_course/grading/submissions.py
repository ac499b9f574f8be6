"""Where submissions lie, whose they are and which notebook each is. Opens none of them."""

import os
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from attn_course import register
from attn_course.errors import UserError

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
SKIPPED = ("__MACOSX", "__pycache__")
MAX_FILES = 5_000  # looked at in one student's folder
MAX_DEPTH = 4
# What would steer a terminal, break a line, have a name read backwards or make two names look alike.
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


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
        """What tells it from every other file of the class."""
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


def find(folder: str | Path, notebooks: Collection[str]) -> tuple[list[str], list[File]]:
    """Return (students, files): every student's folder in `folder`, and what to grade in them."""
    if not Path(folder).is_dir():
        raise UserError(f"there is no folder {str(folder)!r}.")
    students = []
    files: list[File] = []
    has_folder = False
    for entry in sorted(os.scandir(folder), key=_name):
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        student = printable(entry.name)
        path = Path(entry.path)
        if entry.is_dir() or entry.is_symlink():
            has_folder = True
            students.append(student)
            files += files_of(student, path, notebooks)
        elif path.suffix.lower() in (".ipynb", *ARCHIVES):
            students.append(student)
            why = "it lies outside any student's folder."
            files.append(File(student, "", path, student, why))
    if not has_folder:
        raise UserError(f"{str(folder)!r} holds no folder; each student has one, named after them.")
    return students, files


def _name(entry):
    return entry.name


def printable(name: str | PurePath) -> str:
    """Return a file's name as text, whatever bytes it is made of; different names stay different."""
    raw = os.fsencode(name)
    doubled = raw.replace(b"\\", rb"\\")
    text = doubled.decode("utf-8", "backslashreplace")
    return UNSEEN.sub(_escaped, text)


def _escaped(letter):
    return letter[0].encode("unicode_escape").decode()


def files_of(student: str, folder: Path, notebooks: Collection[str]) -> list[File]:
    """Return one File for each of `notebooks` that the folder holds, and one for each oddity."""
    if folder.is_symlink():
        return [File(student, "", folder, student, "it is a link, not a folder.")]
    problems: dict[Path, str] = {}
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for path in _walk(folder, problems):
        name = notebook_of(path.relative_to(folder))
        why = _oddity(path)
        if name:
            found[name].append(path)
        elif why:
            problems[path] = why
    files = []
    for path, why in problems.items():
        place = student
        if path != folder:
            place = printable(path.relative_to(folder))
        files.append(File(student, "", path, place, why))
    for name in notebooks:
        if found[name]:
            files.append(_best(student, folder, name, found[name]))
    return files


def _oddity(path):
    """Why a file that is named after no notebook is not graded; "" if nobody would think it was."""
    ending = path.suffix.lower()
    if ending in ARCHIVES:
        return "it is an archive; unpack it first."
    if ending == ".ipynb":
        return "its name is that of no notebook, such as 01_copying.ipynb."
    if ".ipynb" in path.name.lower():
        return "its name does not end in .ipynb."
    return ""


def _walk(folder, problems):
    """Yield the files below `folder`, following no link, up to a sane number and depth.

    problems: {path: sentence}, to which those of folders that could not be read are added.
    """

    def closed(error: OSError) -> None:
        problems[Path(error.filename)] = f"it cannot be opened ({error.strerror})."

    left = MAX_FILES
    for above, folders, names in os.walk(folder, onerror=closed):
        inner = Path(above).relative_to(folder)
        depth = len(inner.parts)
        folders[:] = _to_enter(folders) if depth < MAX_DEPTH else []
        for name in sorted(names)[:left]:
            if not name.startswith("."):
                yield Path(above, name)
        if len(names) > left:
            problems[folder] = f"it holds over {MAX_FILES:,} files; the others were not looked at."
            return
        left -= len(names)


def _to_enter(folders):
    return sorted(name for name in folders if name[0] != "." and name not in SKIPPED)


def notebook_of(path: PurePath) -> str:
    """Return the notebook that a path names in its file or, as nbgrader does, in a folder."""
    if path.suffix.lower() not in (".ipynb", ".py"):
        return ""
    folders = reversed(path.parent.parts)
    for place in (path.stem, *folders):
        for name in register.NOTEBOOKS:
            if name in place.lower():
                return name
    return ""


def _best(student, folder, name, paths):
    """Of several files for one notebook take the notebook before its script, the plain name first."""

    def rank(path: Path) -> tuple[bool, bool, str]:
        is_script = path.suffix.lower() != ".ipynb"
        is_renamed = path.stem != name
        return is_script, is_renamed, str(path)

    best, *others = sorted(paths, key=rank)
    remarks = []
    for path in others:
        if path.suffix.lower() == ".ipynb":
            shown = printable(path.name)
            remarks.append(f"{shown} was handed in too, and not graded.")
    place = printable(best.relative_to(folder))
    return File(student, name, best, place, remarks=tuple(remarks))
