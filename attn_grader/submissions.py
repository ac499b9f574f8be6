"""Where submissions lie, whose they are and which notebook each is. Opens none of them."""

import hashlib
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from attn_course import register
from attn_course.errors import UserError
from attn_grader import notebook
from attn_grader.notebook import UnreadableFile, own_texts, parse_submission, read_bytes

NOTEBOOKS = (".ipynb", ".py")
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
# What may be a notebook that was printed or exported.
PRINTED = (
    ".pdf",
    ".html",
    ".htm",
    ".docx",
    ".doc",
    ".odt",
    ".tex",
    ".md",
    ".txt",
    ".rtf",
    ".png",
    ".jpg",
)
NO_NOTEBOOK = "it was handed in and is no notebook, so a person has to look at it."
TOO = "handed in too; it is no notebook, and only a person can read it."
PRINTED_ONLY = "a file of type {} was handed in, and no notebook; a person looks at it."
EARLIER = "earlier"  # the folder of what a later download has replaced
# What systems and editors leave behind; any other folder that is passed over is named.
SKIPPED = ("__MACOSX", "__pycache__", ".ipynb_checkpoints", ".git", ".venv", ".vscode", ".idea")
DATE_OF_NBGRADER = "timestamp.txt"  # lies beside each notebook in nbgrader's submitted/
DOTTED = "its name begins with a dot, so it was passed over."
MOST_PROBLEMS = 5  # of one student that are told; the others are counted
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
    copies: tuple[str, ...] = ()  # names of other files with other answers to the same notebook

    @property
    def key(self) -> tuple[str, str, str]:
        """The student, the notebook and the name, which no other file of the class shares."""
        return self.student, self.notebook, self.name

    @property
    def changed(self) -> datetime | None:
        """When the file was last changed, None where that cannot be told."""
        try:
            return datetime.fromtimestamp(os.lstat(self.path).st_mtime).astimezone()
        except (OSError, OverflowError, ValueError):  # some file systems keep any year
            return None

    def read(self) -> bytes:
        """Return what is in the file; raise UnreadableFile."""
        if self.problem:
            raise UnreadableFile(self.problem)
        return read_bytes(self.path)

    @property
    def stamp(self) -> str:
        """The SHA-256 of what is in the file now, with the names of its copies, or why it cannot be read."""
        try:
            return self.stamped(hashlib.sha256(self.read()).hexdigest())
        except UnreadableFile as error:
            return f"unreadable: {error}"

    def stamped(self, sha256: str) -> str:
        """Return what a record of this file is kept under: another as soon as a copy comes or goes."""
        return "; beside ".join([sha256, *self.copies]) if sha256 else ""


def canonical(name: str) -> str:
    """Return the one form in which names of students are compared: in folders, rosters and marks."""
    composed = unicodedata.normalize("NFC", name)
    return unicodedata.normalize("NFC", composed.strip().casefold())


def spellings(students: Iterable[str]) -> dict[str, str]:
    """Return {canonical name: name as it is spelled here}."""
    return {canonical(student): student for student in students}


def find(folder: str | Path, notebooks: Collection[str]) -> tuple[list[str], list[File]]:
    """Return (students, files): every student's folder in `folder`, and what to grade in them."""
    if not Path(folder).is_dir():
        raise UserError(f"there is no folder {str(folder)!r}.")
    students: dict[str, str] = {}
    files: list[File] = []
    has_folder = False
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        student = printable(entry.name)
        path = Path(entry.path)
        is_folder = entry.is_dir() or entry.is_symlink()
        is_stray = path.suffix.lower() in (".ipynb", *ARCHIVES)
        if entry.name in SKIPPED or not (is_folder or is_stray):
            continue
        twin = students.setdefault(canonical(student), student)
        if twin != student:
            raise UserError(
                f"{twin!r} and {student!r} in {str(folder)!r} are the same name but for spaces, "
                "capitals or how letters are encoded; rename or merge them."
            )
        if entry.name.startswith("."):
            files.append(File(student, "", path, student, DOTTED))
        elif is_folder:
            has_folder = True
            files += files_of(student, path, notebooks)
        else:
            files.append(File(student, "", path, student, "it lies outside any student's folder."))
    if not has_folder:
        raise UserError(f"{str(folder)!r} holds no folder; each student has one, named after them.")
    return list(students.values()), files


def single_file(path: Path) -> File:
    """Return a file that a person names, once it is sure that it can be read."""
    if not os.path.lexists(path):
        raise UserError(f"there is no file {path}.")
    if path.suffix.lower() not in NOTEBOOKS:
        raise UserError(f"{path.name} is no notebook: its name ends neither in .ipynb nor in .py.")
    try:
        data = read_bytes(path)
        parse_submission(data, path.name)
    except UnreadableFile as error:
        raise UserError(f"{path}: {error}") from None
    name = notebook_of(PurePath(path.name)) or notebook_by_cells(data, path.name)
    if not name:
        raise UserError(f"{path.name} is not a notebook of the course, such as 01_copying.ipynb.")
    return File("", name, path, printable(path.name))


def printable(name: str | PurePath) -> str:
    """Return a file's name as text, whatever bytes it is made of; different names stay different."""
    raw = os.fsencode(name)
    doubled = raw.replace(b"\\", rb"\\")
    text = doubled.decode("utf-8", "backslashreplace")
    return UNSEEN.sub(lambda letter: letter[0].encode("unicode_escape").decode(), text)


def files_of(student: str, folder: Path, notebooks: Collection[str]) -> list[File]:
    """Return one File for each of `notebooks` that the folder holds, and one for each oddity, up to a few."""
    if folder.is_symlink():
        return [File(student, "", folder, student, "it is a link, not a folder.")]
    problems: dict[Path, str] = {}
    notebooks = list(notebooks)
    printed: list[Path] = []
    others: list[Path] = []
    candidates: defaultdict[str, list[Path]] = defaultdict(list)
    for path in _walk(folder, problems):
        if name := notebook_of(path.relative_to(folder)) or _by_cells(path):
            candidates[name].append(path)
        elif problem := _oddity(path):
            problems[path] = problem
        elif path.suffix.lower() in PRINTED:
            printed.append(path)
        else:
            others.append(path)
    for path in printed:
        name = _named(path.relative_to(folder)) or (notebooks[0] if len(notebooks) == 1 else "")
        if name and not candidates[name]:
            candidates[name].append(path)
        elif not name and not any(candidates.values()):
            problems[path] = PRINTED_ONLY.format(path.suffix[1:].upper())
        elif path not in candidates[name]:
            others.append(path)
    problems |= dict.fromkeys(others, TOO if any(candidates.values()) else NO_NOTEBOOK)
    files = [
        _best(student, folder, name, candidates[name]) for name in notebooks if candidates[name]
    ]
    most = MOST_PROBLEMS if len(problems) <= MOST_PROBLEMS else MOST_PROBLEMS - 1
    for path in sorted(problems, key=lambda path: path != folder)[:most]:
        name = printable(path.relative_to(folder)) if path != folder else student
        files.append(File(student, "", path, name, problems[path]))
    more = len(problems) - most
    if more > 0:
        files.append(File(student, "", folder, "...", f"{more:,} more files were passed over."))
    return files


def _by_cells(path):
    """Return the notebook that an .ipynb of any name is by its cells, or ""."""
    if path.suffix.lower() != ".ipynb":
        return ""
    try:
        return notebook_by_cells(read_bytes(path), path.name)
    except UnreadableFile:
        return ""


def _oddity(path):
    """Return why a file that is named after no notebook is not graded; "" if nobody expects it to be."""
    ending = path.suffix.lower()
    if ending in ARCHIVES:
        return "it is an archive; unpack it first."
    if ending == ".ipynb":
        return "neither its name nor its cells are those of a notebook of the course."
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
        depth = len(Path(above).relative_to(folder).parts)
        kept = []
        for name in sorted(set(folders) - set(SKIPPED)):
            if name.startswith("."):
                problems[Path(above, name)] = DOTTED
            elif depth >= MAX_DEPTH:
                problems[Path(above, name)] = "it lies too deep, and was passed over."
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names)[:left]:
            if not name.startswith(".") and name != DATE_OF_NBGRADER:
                yield Path(above, name)
        if len(names) > left:
            problems[folder] = f"it holds over {MAX_FILES:,} files; the others were not looked at."
            return
        left -= len(names)


def notebook_of(path: PurePath) -> str:
    """Return the notebook that a path names in its file or, as nbgrader does, in a folder."""
    return _named(path) if path.suffix.lower() in NOTEBOOKS else ""


def _named(path):
    """Return the notebook that a path of any ending names, or ""."""
    folders = reversed(path.parent.parts)
    for part in (path.stem, *folders):
        for name in register.NOTEBOOKS:
            if name in part.lower():
                return name
    return ""


def notebook_by_cells(data: bytes, name: str) -> str:
    """Return the notebook that a file is by its cells, "" where that cannot be told."""
    try:
        return notebook.notebook_by_cells(parse_submission(data, name).cells)
    except UnreadableFile:
        return ""


def _best(student, folder, name, paths):
    """Return the file that counts among several for one notebook; its remarks name the other notebooks.

    One as it was handed out counts only if there is no other, then a damaged one; a notebook comes before
    its script, then the shallowest path, then the plain name.
    """
    texts = {path: own_texts(path, name) if len(paths) > 1 else None for path in paths}
    newest = [path for path in paths if EARLIER not in path.relative_to(folder).parts[:1]]
    if any(texts[path] for path in newest):  # what these have replaced is only kept
        paths = newest

    def rank(path: Path) -> tuple[bool, bool, bool, int, bool, str]:
        is_script = path.suffix.lower() != ".ipynb"
        is_renamed = path.stem != name
        is_damaged = texts[path] is None
        return texts[path] == [], is_damaged, is_script, len(path.parts), is_renamed, str(path)

    best, *others = sorted(paths, key=rank)
    best_name = printable(best.relative_to(folder))
    if best.suffix.lower() in PRINTED:
        problem = PRINTED_ONLY.format(best.suffix[1:].upper())
        return File(student, name, best, best_name, problem)
    others = [path for path in others if path.suffix.lower() == ".ipynb"]
    names = [printable(path.relative_to(folder)) for path in others]
    remarks = [f"{other} was handed in too, and not graded." for other in names[:MOST_PROBLEMS]]
    if len(names) > MOST_PROBLEMS:
        remarks.append(f"{len(names) - MOST_PROBLEMS:,} more copies were not graded.")
    copies = [
        other
        for path, other in zip(others, names, strict=True)
        if texts[path] not in ([], texts[best])
    ]
    return File(student, name, best, best_name, remarks=tuple(remarks), copies=tuple(copies))
