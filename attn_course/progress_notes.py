"""A student's progress: the notes that `check` and `hint` make, and `progress()`.

In a folder made by `attn init`, a note is a line of `.attn/progress.jsonl`. Elsewhere notes live as long as
the kernel. No file is written in the grader, under nbval, in CI, or while the course is built.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.verdict import COLOURS, State, Verdict

HIDDEN_FOLDER = ".attn"
EDITION = "edition.json"
NOTES = "progress.jsonl"
NOT_A_STUDENT = ("CI", "NBGRADER_EXECUTION", "PYTEST_VERSION", "ATTN_FIGURES")
LONGEST_LINE = 4096
BAR = 20  # characters of a bar on the terminal

session_notes: list[dict[str, Any]] = []  # the notes of this kernel


def is_student_session() -> bool:
    """Return False in the grader, in CI, under nbval, and while the course itself is built."""
    return not any(name in os.environ for name in NOT_A_STUDENT)


def student_folder(start: Path | None = None) -> Path | None:
    """Return the nearest folder, from `start` upwards, that `attn init` has made."""
    with contextlib.suppress(OSError):
        here = (start or Path.cwd()).absolute()
        for folder in (here, *here.parents):
            if (folder / HIDDEN_FOLDER / EDITION).is_file():
                return folder
    return None


def note(**entry: Any) -> None:
    """Add a note, with the time. It never fails, and it is kept in a file only in a student's folder."""
    entry = {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), **entry}
    session_notes.append(entry)
    folder = student_folder() if is_student_session() else None
    if folder:
        append(folder, entry)


def note_verdict(verdict: Verdict) -> None:
    """Note a verdict of a part of a question."""
    if not verdict.kind:  # the call was wrong, so nothing was judged
        return
    note(
        question=verdict.question,
        part=verdict.kind,
        status=str(verdict.status),
        points=verdict.points,
        mistake=verdict.mistake,
    )


def append(folder: Path, entry: dict[str, Any]) -> None:
    """Append a line to the notes of a folder, if it can be written; a torn last line stays torn and alone."""
    line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with contextlib.suppress(OSError), (folder / HIDDEN_FOLDER / NOTES).open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)


def notes_of(folder: Path | None) -> list[dict[str, Any]]:
    """Return the notes of a folder, or those of this kernel where there is none; odd lines are skipped."""
    if folder is None:
        return list(session_notes)
    notes = []
    with contextlib.suppress(OSError):
        for line in (folder / HIDDEN_FOLDER / NOTES).read_bytes().splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    notes.append(entry)
    return notes


@dataclass
class QuestionState:
    """The state of one question after all notes. parts: the last verdict of each part, by its kind."""

    parts: dict[str, str] = field(default_factory=dict)
    hints: int = 0
    gave_up: bool = False


def states_of(notes: Iterable[dict[str, Any]]) -> dict[str, QuestionState]:
    """Return {question: its state after these notes}.

    A part that was correct stays so until `attn check` judges anew, or an update or a reset changes it.
    """
    states: dict[str, QuestionState] = {}
    for entry in notes:
        renumbered = entry.get("renumbered")
        if isinstance(renumbered, dict):
            moved = {new: states.pop(old) for old, new in renumbered.items() if old in states}
            states.update(moved)
            states.pop("", None)  # questions that are gone
        question = entry.get("question")
        if not isinstance(question, str):
            continue
        state = states.setdefault(question, QuestionState())
        part, status, hints = entry.get("part"), entry.get("status"), entry.get("hints")
        if isinstance(part, str) and isinstance(status, str):
            was_correct = state.parts.get(part) == State.CORRECT
            if not was_correct or entry.get("anew") is True:  # trying something else costs nothing
                state.parts[part] = status
        if isinstance(hints, int):
            state.hints = max(state.hints, hints)
        state.gave_up |= entry.get("gave_up") is True
        if entry.get("changed") is True:
            state.parts.clear()
    return states


def edition_of(folder: Path) -> dict[str, Any]:
    """Return what `attn init` or `attn update` wrote about the notebooks of a folder; {} if it is damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        edition = json.loads((folder / HIDDEN_FOLDER / EDITION).read_text("utf-8"))
        if isinstance(edition, dict):
            return edition
    return {}


def questions_as_data(notebook: str) -> list[dict[str, Any]]:
    """Return the questions of a notebook as an edition keeps them, so that `attn status` imports no judge."""
    return [
        {
            "id": question.id,
            "title": question.title,
            "judged": [part.kind for part in question.parts if part.judge],
        }
        for question in register.questions_of(notebook)
    ]


@dataclass(frozen=True)
class NotebookProgress:
    """How far one notebook is. next: the first question that is not yet correct, as (id, title).

    num_given_up: the questions whose solution was shown before they were correct.
    """

    name: str
    num_correct: int
    num_questions: int
    hints: int
    num_given_up: int
    is_begun: bool
    next: tuple[str, str] | None

    @property
    def share(self) -> float:
        return self.num_correct / max(self.num_questions, 1)


@dataclass(frozen=True)
class Progress:
    """How far a student is in each notebook; shown as bars."""

    notebooks: tuple[NotebookProgress, ...]
    is_kept: bool  # in a student's folder, beyond this kernel

    @property
    def next(self) -> tuple[str, str] | None:
        """The first open question of the first notebook that is begun and unfinished, else of any other."""
        open_ = [notebook for notebook in self.notebooks if notebook.next]
        begun = [notebook for notebook in open_ if notebook.is_begun]
        chosen = (begun or open_)[:1]
        return chosen[0].next if chosen else None

    def _rows(self) -> Iterator[tuple[NotebookProgress, str]]:
        for notebook in self.notebooks:
            count = f"{notebook.num_correct} of {notebook.num_questions}"
            hints = f", {notebook.hints} hint{'s' * (notebook.hints != 1)}" * bool(notebook.hints)
            given_up = f", {notebook.num_given_up} given up" * bool(notebook.num_given_up)
            yield notebook, count + hints + given_up

    def _last_line(self) -> str:
        if self.next is None:
            line = "Every question with a check is correct."
        else:
            question, title = self.next
            line = f"Next: {question} {title}."
        if not self.is_kept:
            line += " (Kept until the kernel restarts; in a folder made by attn init it is kept for good.)"
        return line

    def __repr__(self) -> str:
        lines = []
        for notebook, text in self._rows():
            filled = round(BAR * notebook.share)
            lines.append(f"{notebook.name:26} {'█' * filled}{'░' * (BAR - filled)} {text}")
        return "\n".join([*lines, self._last_line()])

    def _repr_html_(self) -> str:
        rows = []
        for notebook, text in self._rows():
            bar = (
                '<span style="display:inline-block;width:10em;height:0.8em;'
                'border:1px solid #7f7f7f;border-radius:2px">'
                f'<span style="display:block;width:{100 * notebook.share:.0f}%;height:100%;'
                f'background:{COLOURS[State.CORRECT]}"></span></span>'
            )
            rows.append(
                f'<tr><td style="text-align:left">{escape(notebook.name)}</td>'
                f'<td>{bar}</td><td style="text-align:left">{escape(text)}</td></tr>'
            )
        return f"<table>{''.join(rows)}</table><b>{escape(self._last_line())}</b>"


def progress_in(folder: Path | None) -> Progress:
    """Return the progress that is noted in a student's folder, or in this kernel where there is none."""
    states = states_of(notes_of(folder))
    notebooks = edition_of(folder).get("notebooks") if folder else None
    try:
        questions = {name: about["questions"] for name, about in (notebooks or {}).items()}
        rows = [_notebook_progress(name, list_, states) for name, list_ in questions.items()]
    except (AttributeError, KeyError, TypeError):  # somebody has changed edition.json
        rows = []
    if not rows:
        names = register.NOTEBOOKS
        rows = [_notebook_progress(name, questions_as_data(name), states) for name in names]
    return Progress(tuple(rows), folder is not None)


def _notebook_progress(name, questions, states):
    judged = [question for question in questions if question["judged"]]
    own = {question["id"]: states.get(question["id"], QuestionState()) for question in questions}
    still_open = [question for question in judged if not _is_correct(own[question["id"]], question)]
    first = still_open[0] if still_open else None
    return NotebookProgress(
        name,
        len(judged) - len(still_open),
        len(judged),
        sum(state.hints for state in own.values()),
        sum(state.gave_up for state in own.values()),
        any(state.parts for state in own.values()),
        (first["id"], first["title"]) if first else None,
    )


def _is_correct(state, question):
    return all(state.parts.get(kind) == State.CORRECT for kind in question["judged"])


def is_correct(question: register.Question) -> bool:
    """Return True if the notes say that every judged part of a question is correct."""
    states = states_of([*notes_of(student_folder()), *session_notes])
    state = states.get(question.id, QuestionState())
    return all(state.parts.get(part.kind) == State.CORRECT for part in question.parts if part.judge)


def progress() -> Progress:
    """Show every notebook with a bar, the hints used, the questions given up, and the next question."""
    return progress_in(student_folder())
