"""Writing into the student's folder: `attn init`, `attn update` and `attn reset`. Nothing is ever lost."""

import contextlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_course import course_files
from attn_course.atomic_file import write_atomically
from attn_course.errors import UserError
from attn_course.progress_notes import EDITION, HIDDEN_FOLDER, append, edition_of
from attn_course.workspace.folder import (
    RELEASED,
    Target,
    as_text,
    new_backup_folder,
    notebooks_in,
    read_notebook,
    released_then,
    write_edition,
)
from attn_course.workspace.merge import (
    Merge,
    NotANotebook,
    Notebook,
    cells_of,
    match_with_released,
    merge,
)

README = """\
# The attention course: your folder

These notebooks are yours: nothing is written here except by `attn init`, `attn update` and `attn reset`,
and none of them loses an answer.

- **Start or go on:** `attn lab` opens JupyterLab at the notebook to go on with; `attn status` shows how far
  you are.
- **Check everything:** `attn check` judges all notebooks anew, `attn check 01` one of them, `attn check 1.4`
  one question.
- **Hand in:** restart the kernel, run all cells, save, and hand in the `.ipynb` files that you worked on.
- **Update:** when a newer edition of the course is installed, `attn update` brings it here and keeps your
  answers, notes and own cells. `attn update --dry-run` only says what would be done.
- **Begin a question again:** `attn reset 1.4`; the old answer goes to `.attn/backups/`.
"""


def kernel_info() -> dict[str, Any]:
    """Return what a kernel of this Python writes into a notebook.

    A notebook that has it from the start stays unchanged, and so saved, when its kernel starts.
    """
    from platform import python_version

    return {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": python_version(),
    }


def student_copy(path: Path) -> dict[str, Any]:
    """Return a released notebook as it lies in a student's folder."""
    notebook = read_notebook(path)
    notebook["metadata"] = {**notebook["metadata"], "language_info": kernel_info()}
    return notebook


@dataclass(frozen=True)
class Init:
    """What `attn init` did. left: files that were there and stay as they are."""

    written: list[str]
    left: list[str]


def init_folder(folder: Path, numbers: Sequence[str] = ()) -> Init:
    """Write the released notebooks into a folder, a README, and the hidden folder; overwrite nothing."""
    released = course_files.released_notebooks()
    if not released:
        raise UserError("this installation of the course has no notebooks; install it again.")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder.")
    names = list(released)
    if numbers:
        named = {
            word: [name for name in released if name == word or name[:2] == word.zfill(2)]
            for word in numbers
        }
        missing = [word for word, names in named.items() if not names]
        if missing:
            raise UserError(
                f"there is no notebook {', '.join(missing)}; FOLDER stands before --notebooks."
            )
        names = sorted({name for matches in named.values() for name in matches})
    then = released_then(folder)
    here = notebooks_in(folder)
    written: list[str] = []
    left: list[str] = []
    before = edition_of(folder)
    path = folder
    try:
        for name in names:
            path = here.get(name, folder / f"{name}.ipynb")
            if path.exists():
                left.append(path.name)
                continue
            text = released[name].read_text("utf-8")
            write_atomically(folder / HIDDEN_FOLDER / RELEASED / f"{name}.ipynb", text)
            write_atomically(path, as_text(student_copy(released[name])))
            written.append(path.name)
        path = folder / "README.md"
        if not path.exists():
            write_atomically(path, README)
        path = folder / HIDDEN_FOLDER / EDITION
        everything = [name for name in released if name in names or name in then]
        is_whole = not numbers or bool(before.get("is_whole"))
        write_edition(folder, everything, is_whole=is_whole)
    except OSError as error:
        stay = f" {_count(len(written), 'notebook')} before it can stay, and" if written else ""
        again = "the same command goes on from there." if written else "nothing was written."
        raise UserError(f"{path} could not be written: {_reason(error)};{stay} {again}") from None
    return Init(written, left)


def _count(number, noun):
    return f"{number} {noun}{'s' * (number != 1)}"


def is_newer_installed(folder: Path) -> bool:
    """Return True if the installed course has other notebooks than the ones the student began with."""
    released = course_files.released_notebooks()
    then = released_then(folder)
    here = notebooks_in(folder)
    edition = edition_of(folder)
    if _is_of_later_edition(edition):
        return False
    if edition.get("is_whole") and set(released) - set(then):
        return True
    return any(
        not _is_same_text(path, released[name])
        for name, path in then.items()
        if name in released and name in here  # a notebook that the student deleted stays away
    )


@dataclass
class NotebookUpdate:
    """What an update does with one notebook. text: of the merged notebook, "" if nothing is written."""

    name: str
    path: Path
    text: str = ""
    merge: Merge | None = None
    problem: str = ""
    is_new: bool = False
    moved_from: Path | None = None  # the course has renamed the notebook, and the file follows

    def sentence(self) -> str:
        """Say in one line what was carried."""
        if self.problem:
            return self.problem
        if self.is_new:
            return "new; added."
        merge = self.merge
        assert merge is not None
        pieces = []
        if merge.kept:
            pieces.append(f"answers kept: {', '.join(merge.kept)}")
        if merge.num_notes:
            pieces.append(f"{_count(merge.num_notes, 'note')} of yours in our cells kept")
        if merge.num_own_cells:
            pieces.append(f"{_count(merge.num_own_cells, 'own cell')} kept")
        if merge.renumbered:
            moves = (f"{old} is now {new}" for old, new in merge.renumbered.items())
            pieces.append(f"renumbered: {', '.join(moves)}")
        if merge.removed:
            gone = ", ".join(dict.fromkeys(merge.removed))
            pieces.append(f"no longer asked: {gone} (your answer stays in the notebook)")
        if merge.changed:
            pieces.append(f"changed, so check again: {', '.join(merge.changed)}")
        if self.moved_from:
            pieces.append(f"was {self.moved_from.name}")
        return f"{'; '.join(pieces) or 'nothing of yours was in it'}."


def planned_updates(folder: Path) -> list[NotebookUpdate]:
    """Return what `attn update` would write, notebook by notebook. Writes nothing."""
    released = course_files.released_notebooks()
    then = released_then(folder)
    edition = edition_of(folder)
    if _is_of_later_edition(edition):
        raise UserError(
            f"this folder is of edition {edition['version']}, and the installed course is older "
            f"({course_files.version()}); install the newer one first."
        )
    here = notebooks_in(folder)
    renamed: dict[str, str] = {}  # name now: name then
    for name in then:
        if name not in released:
            renamed |= {new: name for new in released if new[3:] == name[3:] and new not in then}
    updates = []
    for name, path in here.items():
        if name not in released and name not in renamed.values():
            sentence = "no longer part of the course; it stays as it is."
            updates.append(NotebookUpdate(name, path, problem=sentence))
    for name, source in released.items():
        old_name = renamed.get(name, name)
        # The new name first: an update that was stopped has written that file, and not removed the old one.
        mine = here.get(name) or here.get(old_name)
        if mine is not None:
            update = _planned(name, source, then.get(old_name), mine)
            if old_name != name and mine.stem == old_name:
                update.moved_from, update.path = mine, mine.with_name(f"{name}.ipynb")
            if update.problem or update.text:
                updates.append(update)
        elif name not in then and name not in renamed and edition.get("is_whole", True):
            text = as_text(student_copy(source))
            path = folder / f"{name}.ipynb"
            updates.append(NotebookUpdate(name, path, text, is_new=True))
    return updates


def _planned(name: str, source: Path, base: Path | None, mine: Path) -> NotebookUpdate:
    update = NotebookUpdate(name, mine)
    if base and base.stem == name and _is_same_text(base, source):
        return update
    try:
        notebook = read_notebook(mine)
    except NotANotebook as problem:
        update.problem = f"left as it is: {problem}"
        return update
    update.merge = merge(_read_released(base), read_notebook(source), notebook)
    update.text = as_text(update.merge.notebook)
    return update


def _is_same_text(then: Path, now: Path) -> bool:
    return then.read_text("utf-8", "replace") == now.read_text("utf-8")


def _read_released(path: Path | None) -> Notebook | None:
    """Return a notebook as it was when the student got it; None if that is not known or damaged."""
    with contextlib.suppress(NotANotebook):
        return read_notebook(path) if path else None
    return None


def _is_of_later_edition(edition):
    return _as_numbers(edition.get("version")) > _as_numbers(course_files.version())


def _as_numbers(text: object) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in str(text or 0).split(".")]


def apply_updates(folder: Path, updates: Sequence[NotebookUpdate]) -> Path | None:
    """Back up, then write each notebook in one step; return the folder of the backup, if one was needed.

    The released notebook is replaced after the student's, so that an update which is stopped half way goes on
    where it was.
    """
    released = course_files.released_notebooks()
    _remove_temporary_files(folder)
    changed = [u.moved_from or u.path for u in updates if u.text and not u.is_new]
    backup = _back_up(folder, changed) if changed else None
    merges: list[Merge] = []
    try:
        for update in updates:
            if not update.text or (update.is_new and update.path.exists()):
                continue
            write_atomically(update.path, update.text)
            if update.moved_from:
                update.moved_from.unlink()
            text = released[update.name].read_text("utf-8")
            write_atomically(folder / HIDDEN_FOLDER / RELEASED / f"{update.name}.ipynb", text)
            if update.merge:
                merges.append(update.merge)
    except OSError as error:
        where = f" The notebooks as they were are in {backup}." if backup else ""
        raise UserError(
            f"stopped at {update.path.name}: {_reason(error)}. Nothing is lost, and attn update goes on "
            f"from there.{where}"
        ) from None
    finally:
        _note(folder, merges)
    gone = [name for name in released_then(folder) if name not in released]
    for name in gone:
        if any(update.moved_from and update.moved_from.stem == name for update in updates):
            (folder / HIDDEN_FOLDER / RELEASED / f"{name}.ipynb").unlink(missing_ok=True)
    is_whole = bool(edition_of(folder).get("is_whole", True))
    now = released_then(folder)
    write_edition(folder, [name for name in released if name in now], is_whole=is_whole)
    return backup


def _back_up(folder: Path, paths: Sequence[Path]) -> Path:
    """Copy notebooks into a new folder of the backups and return it; UserError if there is no room."""
    backup = new_backup_folder(folder)
    try:
        backup.mkdir(parents=True)
        for path in paths:
            shutil.copy2(path, backup / path.name)
    except OSError as error:
        shutil.rmtree(backup, ignore_errors=True)
        raise UserError(
            f"no backup could be made in {folder}: {_reason(error)}; nothing was changed."
        ) from None
    return backup


def _reason(error):
    return (error.strerror or "it cannot be written").lower()


def _remove_temporary_files(folder: Path) -> None:
    """Remove what an update that was killed has left: the file that it was writing."""
    names = "|".join(map(re.escape, {*course_files.released_notebooks(), *released_then(folder)}))
    for inside in (folder, folder / HIDDEN_FOLDER / RELEASED):
        for path in inside.glob(".*.ipynb.*"):
            if re.fullmatch(rf"\.({names})\.ipynb\.\w{{8}}", path.name):
                path.unlink(missing_ok=True)


def _note(folder: Path, merges: Sequence[Merge]) -> None:
    """Note what an update changed about earlier verdicts.

    All new numbers are one note: if 1.4 is now 2.4 and 2.4 is now 3.4, neither verdict follows the other.
    """
    renumbered: dict[str, str] = {}
    for merged in merges:
        renumbered |= merged.moved
    if renumbered:
        append(folder, {"renumbered": renumbered})
    for merged in merges:
        for question in merged.changed:
            append(folder, {"question": question, "changed": True})


def reset_question(folder: Path, target: Target) -> Path:
    """Put the released answer cells of a question back; return the backup of the notebook as it was."""
    assert target.file is not None
    released = _read_released(released_then(folder).get(target.notebook))
    if released is None:
        released = read_notebook(course_files.released_notebooks()[target.notebook])
    try:
        notebook = read_notebook(target.file)
    except NotANotebook as problem:
        raise UserError(f"{target.file} cannot be read: {problem}") from None
    base, mine = cells_of(released), cells_of(notebook)
    own_of = match_with_released(base, mine)
    has_ids = any("id" in cell.data for cell in mine)  # a format before 4.5 forbids them
    deleted = []
    for cell in base:
        if cell.question == target.question and cell.role in ("answer", "written"):
            own = own_of.get(cell)
            stub = {**cell.data, "id": own.id if own and own.id else cell.id}
            if not has_ids:
                del stub["id"]
            if own:
                notebook["cells"][own.number] = stub
            else:
                deleted.append(stub)
    end = max((c.number for c in mine if c.question == target.question), default=len(mine) - 1) + 1
    notebook["cells"][end:end] = deleted
    backup = _back_up(folder, [target.file]) / target.file.name
    try:
        write_atomically(target.file, as_text(notebook))
    except OSError as error:
        raise UserError(
            f"{target.file} could not be written: {_reason(error)}; it is as it was."
        ) from None
    append(folder, {"question": target.question, "changed": True})
    return backup
