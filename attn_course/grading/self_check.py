"""`attn check`: a student's own notebooks, judged as the grader will. Needs no package beyond the core."""

import contextlib
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.checking import Verdict
from attn_course.command_line import ATTENTION, DONE, missing_package
from attn_course.errors import UserError
from attn_course.grading.grade_one import Settings, grade_one, ungraded
from attn_course.grading.read_submission import UnreadableFile, read_bytes
from attn_course.grading.record import PartRecord, Record, State
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.supervisor import NotGraded
from attn_course.grading.sandbox.tiers import NoSandbox, best_tier
from attn_course.grading.submissions import File, files_of, notebook_of

YOU = "you"
LISTED = {State.NOT_ATTEMPTED: "○ not attempted", State.WAITING: "✎ read by a person"}


def check_file(path: Path, *, strict: bool = False) -> int:
    """Print every verdict of one notebook; strict: the exit status is 1 unless all are correct."""
    name = name_of(path)
    file = File(YOU, name, path, path.name)
    (record,) = judged([file])
    if record.problem:
        raise UserError(f"{path}: {record.problem}")
    for part in record.parts:
        if part.status == State.WAITING:
            print(f"✎ {part.question} {part.kind}: {part.message}")
        else:
            print(Verdict(part.question, part.status, part.message, part.points, part.out_of))
    print("\n".join(record.remarks))
    return _status([record], strict)


def name_of(path: Path, read: Callable[[Path], Any] = read_bytes) -> str:
    """Return which notebook a file is, once it is known to be one that `read` can read."""
    if not os.path.lexists(path):
        raise UserError(f"there is no file {path}.")
    name = notebook_of(Path(path.name))
    if not name:
        raise UserError(f"{path.name} is not a notebook of the course, such as 01_copying.ipynb.")
    try:
        read(path)
    except UnreadableFile as error:
        raise UserError(f"{path}: {error}") from None
    return name


def _status(records: Sequence[Record], strict: bool) -> int:
    """The exit status: 1 where a file could not be judged or, if strict, a part is not correct."""
    if any(record.problem for record in records):
        return ATTENTION
    if strict and not all(_is_correct(record) for record in records):
        return ATTENTION
    return DONE


def _is_correct(record):
    """Whether every part with a judge is correct, and every other one has an answer."""
    for part in record.parts:
        good = State.WAITING if part.kind == "written" else State.CORRECT
        if part.status != good:
            return False
    return True


def check_folder(folder: Path, *, strict: bool = False) -> int:
    """Print how far all notebooks of a folder are, each as soon as it is known, and what is next."""
    found = files_of(YOU, folder, register.NOTEBOOKS)
    files = [file for file in found if file.notebook]
    if not files:
        place = "this folder" if folder == Path() else folder
        raise UserError(f"there is no notebook of the course in {place}.")

    records = []
    for record in judged(files):
        records.append(record)
        print(overview_row(record), flush=True)

    print()
    print(points_so_far(records))
    print(next_step(records, folder))
    return _status(records, strict)


def judged(files: Sequence[File]) -> Iterator[Record]:
    """A record of each file, in order; one that cannot be judged does not stop the others.

    Notebooks without torch come first: theirs are judged before torch is loaded.
    """
    for needs_torch in (False, True):
        group = [file for file in files if register.needs_torch(file.notebook) is needs_torch]
        if needs_torch and find_spec("torch") is None:
            for file in group:
                yield ungraded(file, NotGraded(missing_package("torch", "torch")))
        elif group:
            yield from judged_together(group)


def judged_together(files: Sequence[File]) -> Iterator[Record]:
    """The records of files whose packages are all here."""
    notebooks = tuple(file.notebook for file in files)
    tier = best_tier() or NoSandbox.name
    settings = Settings(None, Limits(), notebooks, tier)
    with settings.supervisor() as supervisor:
        for file in files:
            with progress(f"judging {file.name} ..."):
                record = grade_one(file, supervisor, settings)
            yield record


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """Show a line as long as something is being done, where somebody looks at a terminal."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"\r{text}", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            blanks = " " * len(text)
            print(f"\r{blanks}\r", end="", file=sys.stderr, flush=True)


def overview_row(record: Record) -> str:
    """A notebook in a few lines: its points, then each part that has not all of them."""
    if record.problem:
        return f"{record.notebook:26} {record.problem}"

    lines = [f"{record.notebook:26} {_points([record])} points"]
    if not _is_begun(record):
        return f"{lines[0]}, not begun"

    labels: defaultdict[State, list[str]] = defaultdict(list)
    for part in record.parts:
        if part.status == State.NOT_YET:
            lines.append(f"  ✘ {_label(part)} not yet: {part.message}")
        elif part.status == State.WAITING and part.kind != "written":
            lines.append(f"  ✎ {_label(part)} awaits a person: {part.message}")
        else:
            labels[part.status].append(_label(part))
    for status, words in LISTED.items():
        if labels[status]:
            lines.append(f"  {words}: {', '.join(labels[status])}")
    return "\n".join(lines)


def _is_begun(record: Record) -> bool:
    return any(part.status != State.NOT_ATTEMPTED for part in record.parts)


def _label(part: PartRecord) -> str:
    """1.4, or "3.5 derive" where a question has several parts."""
    question = register.find(part.question)
    if len(question.parts) == 1:
        return part.question
    return f"{part.question} {part.kind}"


def points_so_far(records: Sequence[Record]) -> str:
    """All points so far, in one sentence."""
    bonus = [record for record in records if register.is_bonus(record.notebook)]
    course = [record for record in records if not register.is_bonus(record.notebook)]
    text = f"{_points(course)} points so far"
    if bonus:
        text += f", and {_points(bonus)} bonus points"
    waiting = 0.0
    for record in records:
        for part in record.parts:
            if part.status == State.WAITING:
                waiting += part.out_of - part.points
    if waiting:
        text += f"; a person reads answers worth {waiting:g} more"
    return f"{text}."


def _points(records: Sequence[Record]) -> str:
    """Such as "2.5 of 7", of all parts, those of a file that could not be judged among them."""
    points = 0.0
    for record in records:
        points += sum(part.points for part in record.parts)
    out_of = sum(register.points_of(record.notebook) for record in records)
    return f"{points:g} of {out_of:g}"


def next_step(records: Sequence[Record], folder: Path) -> str:
    """What to do now: mend what is not yet right, then answer what is still empty, then hand in."""
    begun = [record for record in records if _is_begun(record)]
    for status in (State.NOT_YET, State.NOT_ATTEMPTED):
        for record in [*begun, *records]:
            for part in record.parts:
                if part.status == status and (part.out_of or not begun):
                    return _advice(part, folder / record.file)

    broken = [record.file for record in records if record.problem]
    if broken:
        return f"Next: {broken[0]}, which could not be judged."
    return "Next: restart each kernel, run all cells, and hand in the .ipynb files."


def _advice(part: PartRecord, path: Path) -> str:
    question = register.find(part.question)
    title = f"Next: {part.question} {question.title} ({path})"
    if not question.hints:
        return f"{title}."
    return f'{title}; hint("{part.question}") helps.'
