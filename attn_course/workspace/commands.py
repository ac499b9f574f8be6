"""The commands of a student: `attn init`, `lab`, `status`, `check`, `update` and `reset`."""

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import click

from attn_course import course_files, register
from attn_course.command_line import (
    ATTENTION,
    DONE,
    SETTINGS,
    Command,
    Several,
    log,
    missing_package,
)
from attn_course.errors import UserError
from attn_course.progress_notes import progress_in, student_folder
from attn_course.workspace import folder as folders

PATH = click.Path(path_type=Path)


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("folder", required=False, type=PATH)
@click.option("--notebooks", cls=Several, metavar="NN...", help="Only these; without it, all.")
def init(folder: Path | None, notebooks: tuple[str, ...]) -> int:
    """Make a folder of your own with the notebooks of the course.

    Nothing is overwritten: a notebook that is there stays as it is. Without FOLDER it is the folder of the
    course that you are in, if there is one; else it is called work in a copy of the course, and
    attention-course elsewhere.
    """
    from attn_course.workspace.update import init_folder

    if folder is None:
        name = folders.WORK if course_files.clone() == Path.cwd() else folders.DEFAULT
        folder = student_folder() or Path(name)
    result = init_folder(folder, notebooks)
    if result.written:
        plural = "s" * (len(result.written) != 1)
        log.info(f"{len(result.written)} notebook{plural} written to {folder}.")
    if result.left:
        log.info(f"There already, and left as they are: {', '.join(result.left)}.")
    change = "" if Path.cwd() == folder.absolute() else f"cd {folder}, then "
    log.info(f"To begin: {change}attn lab")
    return DONE


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("where", required=False)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def lab(where: str | None, no_browser: bool) -> int:
    """Open JupyterLab where you go on.

    WHERE is 01, 3.2, the path of a notebook, or your folder; without a notebook, the one with the first
    question that is not yet correct is opened. The address that is printed leads there, too.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise UserError(missing_package("JupyterLab", "lab"))
    path = Path(where) if where else None
    if path and path.suffix == ".ipynb" and path.is_file():
        folder = student_folder(path.absolute().parent) or path.absolute().parent
        notebook = path.absolute().relative_to(folder).as_posix()
    elif path and path.is_dir():
        folder = student_folder(path.absolute()) or path.absolute()
        notebook = _notebook_to_open(folder, None)
    else:
        folder = folders.find_folder() or _new_work_folder()
        notebook = _notebook_to_open(folder, where)
    return start(jupyter_command(folder.absolute(), notebook, no_browser=no_browser), folder)


def jupyter_command(folder: Path, notebook: str, *, no_browser: bool = False) -> list[str]:
    """Return the command that starts JupyterLab in a folder and opens a notebook there."""
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{quote(notebook)}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    if no_browser or not has_screen():
        command.append("--no-browser")  # JupyterLab prints the address instead
    return command


def has_screen() -> bool:
    """Return True if a browser could open a window here."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def start(command: list[str], folder: Path) -> int:
    """Run JupyterLab until it ends. Ctrl-C goes to JupyterLab, which asks whether to stop."""
    if os.name == "posix":
        os.chdir(folder)
        os.execv(command[0], command)
    with subprocess.Popen(command, cwd=folder) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def _new_work_folder() -> Path:
    """Make the student's folder in a clone; elsewhere, raise UserError with the command that makes one."""
    from attn_course.workspace.update import init_folder

    clone = course_files.clone()
    if clone is None or not Path.cwd().is_relative_to(clone):
        return folders.required_folder()
    folder = clone / folders.WORK
    if folders.is_student_folder(folder):  # and another folder of the course lies beside it
        return folders.required_folder()
    result = init_folder(folder)
    log.info(
        f"Your folder is {folder}: {len(result.written)} notebooks, which no update overwrites."
    )
    return folder


def _notebook_to_open(folder: Path, where: str | None) -> str:
    """Return the file in the student's folder that WHERE names, or the one to go on with."""
    _say_if_newer(folder)
    if where is None:
        question = progress_in(folder).next
        where = question[0] if question else "00"
    target = folders.locate(where, folder)
    if target.question:
        log.info(f"Next: {target.question} {register.find(target.question).title}.")
    if target.file is None:
        raise UserError(
            f'{target.notebook}.ipynb is not in {folder}; attn init "{folder}" --notebooks '
            f"{target.notebook[:2]} brings it."
        )
    return target.file.absolute().relative_to(folder.absolute()).as_posix()


def _say_if_newer(folder: Path) -> None:
    from attn_course.workspace.update import is_newer_installed

    if is_newer_installed(folder):
        log.info(
            "A newer edition of the notebooks is installed: attn update brings it here with your answers."
        )


@click.command(cls=Command, context_settings=SETTINGS)
def status() -> int:
    """Show how far you are, from the verdicts so far; runs nothing."""
    folder = folders.required_folder()
    click.echo(repr(progress_in(folder)))
    _say_if_newer(folder)
    return DONE


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("where", required=False)
@click.option("--strict", is_flag=True, help="Exit 1 if a part is not correct, for CI.")
def check(where: str | None, strict: bool) -> int:
    """Judge your answers anew, all or some of them.

    WHERE is 01, 3.2, the path of a notebook, or a folder. The answers are your own, so they run without a
    sandbox; for answers of others there is attn grade.
    """
    from attn_course.workspace import self_check

    if where and not Path(where).is_dir():
        path = Path(where)
        target = folders.locate(where, None if path.is_file() else folders.find_folder())
        if target.file is None:
            raise UserError(f"{target.notebook}.ipynb is not in {folders.required_folder()}.")
        with _waiting(f"judging {target.file.name} ..."):
            checked = self_check.check_notebook(target.notebook, target.file, target.question)
        if checked.problem:
            raise UserError(f"{target.file}: {checked.problem}")
        click.echo(self_check.report_in_full(checked))
        return self_check.exit_status([checked], strict)
    folder = Path(where) if where else _folder_to_check()
    all_checked = []
    for name, path in folders.notebooks_to_check(folder):
        with _waiting(f"judging {path.name} ..."):
            all_checked.append(self_check.check_notebook(name, path))
        click.echo(self_check.report_row(all_checked[-1]))
        sys.stdout.flush()
    if not all_checked:
        raise UserError(
            f"there is no notebook of the course in {folder}. {folders.where_the_course_is()}"
        )
    click.echo(f"\n{self_check.points_so_far(all_checked)}")
    click.echo(self_check.next_step(all_checked))
    return self_check.exit_status(all_checked, strict)


def _folder_to_check() -> Path:
    """Return the student's folder, or this one if notebooks of the course lie in it."""
    folder = folders.find_folder()
    if folder is None:
        for candidate in (Path.cwd(), Path("notebooks")):
            if any(folders.notebooks_to_check(candidate)):
                return candidate
    return folder or folders.required_folder()


@contextlib.contextmanager
def _waiting(text: str) -> Iterator[None]:
    """Show a line on a terminal until the work of the block is done."""
    is_terminal = sys.stderr.isatty()
    if is_terminal:
        print(f"\r{text}", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_terminal:
            print(f"\r{' ' * len(text)}\r", end="", file=sys.stderr, flush=True)


@click.command(cls=Command, context_settings=SETTINGS)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def update(dry_run: bool) -> int:
    """Bring the newest notebooks here with your answers.

    The notebooks of the installed edition take the place of those in your folder, with your answers, notes
    and own cells in them. The notebooks as they were go to the backups first.
    """
    from attn_course.workspace.update import apply_updates, planned_updates

    folder = folders.required_folder()
    updates = planned_updates(folder)
    for planned in updates:
        click.echo(f"{planned.path.name:30} {planned.sentence()}")
    has_work = any(planned.text for planned in updates)
    has_problem = any(planned.merge is None and not planned.is_new for planned in updates)
    if not has_work:
        click.echo(f"{folder}: nothing to update; it has edition {course_files.version()}.")
    elif dry_run:
        click.echo("Nothing was changed: attn update does it.")
    else:
        backup = apply_updates(folder, updates)
        click.echo(f"{folder} now has edition {course_files.version()}.")
        if backup:
            click.echo(f"The notebooks as they were are in {backup}.")
        click.echo("In JupyterLab, close notebooks that are open and open them again.")
    return ATTENTION if has_problem else DONE


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("question")
def reset(question: str) -> int:
    """Begin a question again.

    Its answer cells become as they were released. QUESTION is its number, such as 1.4. The answer so far goes
    to the backups.
    """
    from attn_course.workspace.update import reset_question

    folder = folders.required_folder()
    target = folders.locate(question, folder)
    if not target.question:
        raise UserError(f"{question} is not a question; write its number, such as 1.4.")
    if target.file is None:
        raise UserError(f"{target.notebook}.ipynb is not in {folder}.")
    backup = reset_question(folder, target)
    click.echo(
        f"{question} in {target.file.name} is as it was released. Your answer is in {backup}."
    )
    return DONE
