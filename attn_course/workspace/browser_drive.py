"""The browser edition's drive as a student's folder: what the page around JupyterLite asks of Python.

The drive has the notebooks from the start: a reader's own where one was saved, else as they are served.
"""

from pathlib import Path

from attn_course import course_files, register
from attn_course.atomic_file import write_atomically
from attn_course.errors import UserError
from attn_course.progress_notes import HIDDEN_FOLDER, append, edition_of
from attn_course.workspace.folder import (
    RELEASED,
    read_notebook,
    released_then,
    write_edition,
)
from attn_course.workspace.merge import NotANotebook, cells_of
from attn_course.workspace.update import apply_updates, planned_updates


def begin(name: str, folder: Path | None = None) -> bool:
    """Keep a notebook as it is released beside the reader's; return True if theirs is of an older edition."""
    folder = folder or Path.cwd()
    released = course_files.released_notebooks()
    text = released[name].read_text("utf-8")
    base = released_then(folder).get(name)
    is_older = base is not None and base.read_text("utf-8") != text
    if is_older and _is_unchanged(folder / f"{name}.ipynb", released[name]):
        is_older = False
    if not is_older:
        _write_if_other(folder / HIDDEN_FOLDER / RELEASED / f"{name}.ipynb", text)
    edition = edition_of(folder)
    names = list(edition.get("notebooks", ()))
    if edition.get("version") != course_files.version() or names != list(released):
        write_edition(folder, list(released), is_whole=False)
    return is_older


def _is_unchanged(mine: Path, released: Path) -> bool:
    """Return True if every cell of the reader's notebook is as it is released."""
    try:
        own = cells_of(read_notebook(mine))
    except NotANotebook:
        return False
    ours = cells_of(read_notebook(released))
    return len(own) == len(ours) and all(map(lambda cell, other: cell.same_as(other), own, ours))


def _write_if_other(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        write_atomically(path, text)


def update(name: str, folder: Path | None = None) -> str:
    """Do what `attn update` does with one notebook; return what was carried, in a sentence."""
    folder = folder or Path.cwd()
    try:
        updates = [update for update in planned_updates(folder) if update.name == name]
        apply_updates(folder, updates)
    except UserError as error:
        return str(error)
    write_edition(folder, list(course_files.released_notebooks()), is_whole=False)
    return " ".join(update.sentence() for update in updates)


def forget(name: str, folder: Path | None = None) -> None:
    """Note that the questions of a notebook begin again."""
    for question in register.questions_of(name):
        append(folder or Path.cwd(), {"question": question.id, "changed": True})
