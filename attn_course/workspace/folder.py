"""The student's folder: where it is, which notebooks lie in it, and how files there are written."""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_course import course_files, register
from attn_course.atomic_file import write_atomically
from attn_course.errors import UserError
from attn_course.progress_notes import EDITION, HIDDEN_FOLDER, questions_as_data, student_folder
from attn_course.workspace.merge import NotANotebook, cells_of, name_of

WORK = "work"  # the student's folder in a clone
DEFAULT = "attention-course"  # and anywhere else
QUESTION = re.compile(r"\d{1,2}\.\d{1,2}")
RELEASED = "released"  # in the hidden folder: the notebooks as they were when the student got them
BACKUPS = "backups"


@dataclass(frozen=True)
class Target:
    """The notebook, or the question in it, that a command is about. file: the student's, if there is one."""

    notebook: str
    file: Path | None
    question: str = ""


def as_text(notebook: dict[str, Any]) -> str:
    """Return a notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def read_notebook(path: Path) -> dict[str, Any]:
    """Return a notebook as plain data; NotANotebook with the reason if it cannot be read."""
    try:
        notebook = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise NotANotebook("it is damaged (its JSON breaks off or is no JSON).") from None
    cells_of(notebook)
    return notebook


def find_folder() -> Path | None:
    """Return the student's folder: this one, one above, or the only one right below."""
    here = Path.cwd()
    folder = student_folder(here)
    if folder:
        return folder
    below = _folders_below()
    clone = course_files.clone()
    if not below and clone and here.is_relative_to(clone) and is_student_folder(clone / WORK):
        return clone / WORK
    return below[0] if len(below) == 1 else None


def _folders_below() -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(path.parents[1] for path in Path.cwd().glob(f"*/{HIDDEN_FOLDER}/{EDITION}"))
    return []


def is_student_folder(folder: Path) -> bool:
    """Return True if `attn init` has made this folder."""
    return (folder / HIDDEN_FOLDER / EDITION).is_file()


def required_folder() -> Path:
    """Return the student's folder; UserError with where to look if there is none here."""
    folder = find_folder()
    if folder is None:
        below = ", ".join(path.name for path in _folders_below())
        if below:
            raise UserError(f"there are several folders of the course here: {below}; cd into one.")
        raise UserError(
            f"no folder of the course is here, above, or right below. {where_the_course_is()}"
        )
    return folder


def where_the_course_is() -> str:
    """Say where the student's folder is, or how to make one."""
    clone = course_files.clone()
    if clone and is_student_folder(clone / WORK):
        return f"The course's folder is {clone / WORK}."
    if clone:
        return f"The course is in {clone}; attn lab makes the folder {WORK} there."
    return "attn init FOLDER makes one; inside it, this command works."


def notebooks_in(folder: Path) -> dict[str, Path]:
    """Return {notebook of the course: the student's file}, also of files that have been renamed."""
    files: dict[str, Path] = {}
    names = {*course_files.released_notebooks(), *released_then(folder)}
    others = []
    for path in sorted(folder.glob("*.ipynb")):
        if path.stem in names:
            files[path.stem] = path
        else:
            others.append(path)
    for path in others:
        with contextlib.suppress(NotANotebook, OSError):
            name = name_of(read_notebook(path))
            if name in names:
                files.setdefault(name, path)
    return files


def released_then(folder: Path) -> dict[str, Path]:
    """Return {name: file} of the notebooks as they were when the student got them."""
    return {path.stem: path for path in (folder / HIDDEN_FOLDER / RELEASED).glob("*.ipynb")}


def edition_as_data(names: list[str], *, is_whole: bool) -> dict[str, Any]:
    """Return what a student's folder keeps about the edition. is_whole: updates add new notebooks."""
    return {
        "version": course_files.version(),
        "is_whole": is_whole,
        "notebooks": {
            name: {"questions": questions_as_data(name)}
            for name in names
            if name in register.NOTEBOOKS
        },
    }


def write_edition(folder: Path, names: list[str], *, is_whole: bool) -> None:
    """Write what the folder keeps about the edition, unless that is there already."""
    text = json.dumps(edition_as_data(names, is_whole=is_whole), indent=1, ensure_ascii=False)
    path = folder / HIDDEN_FOLDER / EDITION
    if not path.is_file() or path.read_text("utf-8") != f"{text}\n":
        write_atomically(path, f"{text}\n")


def new_backup_folder(folder: Path) -> Path:
    """Return the name of a folder for backups that is not there yet."""
    stem = folder / HIDDEN_FOLDER / BACKUPS / time.strftime("%Y-%m-%d_%H-%M-%S")
    path, number = stem, 2
    while path.exists():
        path, number = stem.with_name(f"{stem.name}_{number}"), number + 1
    return path


def locate(where: str, folder: Path | None) -> Target:
    """Return what `01`, `3.2`, `01_copying`, a file name or a path stands for; UserError if nothing does."""
    path = Path(where)
    if QUESTION.fullmatch(where):
        number = where.partition(".")[0]
        notebook = register.notebook_numbered(number)
        if notebook is None or where not in [q.id for q in register.questions_of(notebook)]:
            raise UserError(f"there is no question {where}.")
        return Target(notebook, _file_of(notebook, folder), where)
    if where.isdigit():
        notebook = register.notebook_numbered(where)
        if notebook is None:
            raise UserError(f"there is no notebook {where}; the course has {_numbers()}.")
        return Target(notebook, _file_of(notebook, folder))
    if path.is_file():
        if path.suffix == ".ipynb":
            notebook = path.stem if path.stem in register.NOTEBOOKS else _name_inside(path)
            if notebook in register.NOTEBOOKS:
                return Target(notebook, path.absolute())
        raise UserError(f"{path} is not a notebook of the course, such as 01_copying.ipynb.")
    notebook = path.name.removesuffix(".ipynb")
    if notebook in register.NOTEBOOKS and path.name == where:
        return Target(notebook, _file_of(notebook, folder))
    raise UserError(f"there is no notebook {where}; write a number such as 01 or 3.2, or a path.")


def _name_inside(path):
    with contextlib.suppress(NotANotebook, OSError):
        return name_of(read_notebook(path))
    return ""


def _file_of(notebook, folder):
    return notebooks_in(folder).get(notebook) if folder else None


def _numbers():
    return f"{register.NOTEBOOKS[0][:2]} to {register.NOTEBOOKS[-1][:2]}"


def notebooks_to_check(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (name, file) of the student's notebooks, in the order of the course."""
    here = notebooks_in(folder)
    for name in register.NOTEBOOKS:
        if name in here:
            yield name, here[name]
