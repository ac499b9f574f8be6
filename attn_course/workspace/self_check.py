"""`attn check`: a student's own notebooks judged anew, each in an ordinary child process, on every system."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from attn_course import course_files, register
from attn_course.command_line import ATTENTION, DONE, missing_package
from attn_course.progress_notes import append, is_student_session, student_folder
from attn_course.verdict import State, Verdict
from attn_course.workspace.folder import read_notebook
from attn_course.workspace.merge import NotANotebook, cells_of

SECONDS = 1800  # after which a notebook is given up
LISTED = {State.NOT_ATTEMPTED: "○ not attempted", State.WAITING: "✎ read by a person"}


@dataclass(frozen=True)
class Checked:
    """The verdicts of one notebook, or of one question in it. problem: why there are none."""

    notebook: str
    path: Path
    verdicts: tuple[Verdict, ...] = ()
    problem: str = ""
    question: str = ""

    @property
    def is_begun(self) -> bool:
        return any(verdict.status != State.NOT_ATTEMPTED for verdict in self.verdicts)


def check_notebook(notebook: str, path: Path, question: str = "") -> Checked:
    """Judge one notebook, or one question in it, in a child process."""
    try:
        read_notebook(path)
    except NotANotebook as problem:
        return Checked(notebook, path, problem=str(problem))
    if _is_untouched(notebook, path):
        return Checked(notebook, path, _empty_verdicts(notebook, question), question=question)
    if register.needs_torch(notebook) and find_spec("torch") is None:
        return Checked(notebook, path, problem=missing_package("torch", "torch"))
    command = [
        sys.executable,
        "-m",
        "attn_course.workspace.run_answers",
        notebook,
        str(path.absolute()),
        question,
    ]
    try:
        child = subprocess.run(
            command,
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Checked(notebook, path, problem=f"it did not finish within {SECONDS // 60} minutes.")
    if child.returncode:
        reason = child.stderr.strip().splitlines()[-1:] or ["its process was ended"]
        return Checked(notebook, path, problem=f"it could not be judged ({reason[0][:200]}).")
    verdicts = []
    for line in child.stdout.splitlines():
        fields = json.loads(line)
        verdicts.append(Verdict(**{**fields, "status": State(fields["status"])}))
    _note(path, verdicts)
    return Checked(notebook, path, tuple(verdicts), question=question)


def _is_untouched(notebook, path):
    """Return True if all cells are as the installed course has them."""
    released = course_files.released_notebooks().get(notebook)
    if released is None:
        return False
    ours, mine = cells_of(read_notebook(released)), cells_of(read_notebook(path))
    return [cell.source for cell in ours] == [cell.source for cell in mine]


def _empty_verdicts(notebook, question_id):
    message = "the answer is still empty."
    return tuple(
        Verdict(question.id, State.NOT_ATTEMPTED, message, 0.0, part.points, part.kind)
        for question in register.questions_of(notebook)
        if question_id in ("", question.id)
        for part in question.parts
    )


def _note(path, verdicts):
    folder = student_folder(path.parent)
    for verdict in verdicts:
        if folder and is_student_session() and verdict.status != State.WAITING:
            append(
                folder,
                {
                    "question": verdict.question,
                    "part": verdict.kind,
                    "status": str(verdict.status),
                    "points": verdict.points,
                    "mistake": verdict.mistake,
                    "anew": True,
                },
            )


def report_in_full(checked: Checked) -> str:
    """Return every verdict as text, and the total of the notebook or of the one question."""
    lines = []
    for verdict in checked.verdicts:
        headline, *message = str(replace(verdict, question=_label(verdict))).splitlines()
        lines += [headline] if verdict.status == State.NOT_ATTEMPTED else [headline, *message]
    return "\n".join(
        [*lines, f"{checked.question or checked.notebook}: {points_so_far([checked])}"]
    )


def report_row(checked: Checked) -> str:
    """Return a notebook in a few lines: its points, then each part that has not all of them."""
    if checked.problem:
        return f"{checked.notebook:26} {checked.problem}"
    lines = [f"{checked.notebook:26} {_points([checked])}"]
    if not checked.is_begun:
        return f"{lines[0]}, not begun"
    labels: defaultdict[State, list[str]] = defaultdict(list)
    for verdict in checked.verdicts:
        if verdict.status == State.NOT_YET:
            lines.append(f"  ✘ {_label(verdict)} not yet: {verdict.message}")
        else:
            labels[verdict.status].append(_label(verdict))
    for status, words in LISTED.items():
        if labels[status]:
            lines.append(f"  {words}: {', '.join(labels[status])}")
    return "\n".join(lines)


def _label(verdict: Verdict) -> str:
    """Return "1.4", or "3.5 derive" if the question has several parts."""
    parts = register.find(verdict.question).parts
    return verdict.question if len(parts) == 1 else f"{verdict.question} {verdict.kind}"


def points_so_far(all_checked: Sequence[Checked]) -> str:
    """Return all points so far as one sentence."""
    bonus = [checked for checked in all_checked if register.is_bonus(checked.notebook)]
    course = [checked for checked in all_checked if not register.is_bonus(checked.notebook)]
    totals = []
    if course:
        totals.append(f"{_points(course)} so far")
    if bonus:
        totals.append(f"{_points(bonus, 'bonus points')}{'' if course else ' so far'}")
    text = ", and ".join(totals)
    waiting = sum(v.out_of for c in all_checked for v in c.verdicts if v.status == State.WAITING)
    if waiting:
        text += f"; a person reads answers worth {waiting:.4g} more"
    return f"{text}."


def _points(all_checked: Iterable[Checked], noun: str = "points") -> str:
    """Return such as "2.5 of 7 points", of all parts, also of a notebook that could not be judged."""
    points = out_of = 0.0
    for checked in all_checked:
        points += sum(verdict.points for verdict in checked.verdicts)
        if checked.question:
            out_of += sum(verdict.out_of for verdict in checked.verdicts)
        else:
            out_of += register.points_of(checked.notebook)
    return f"{points:.4g} of {out_of:.4g} {noun}" if out_of else f"no {noun}"


def next_step(all_checked: Sequence[Checked]) -> str:
    """Say what to do now: mend a wrong answer, then write one that is still empty, then hand in."""
    begun = [checked for checked in all_checked if checked.is_begun]
    for status in (State.NOT_YET, State.NOT_ATTEMPTED):
        for checked in [*begun, *all_checked]:
            for verdict in checked.verdicts:
                if verdict.status == status and (verdict.out_of or not begun):
                    return _advice(verdict, checked.path)
    broken = [checked.path.name for checked in all_checked if checked.problem]
    if broken:
        return f"Next: {broken[0]}, which could not be judged."
    return "Next: restart each kernel, run all cells, and hand in the .ipynb files."


def _advice(verdict: Verdict, path: Path) -> str:
    question = register.find(verdict.question)
    title = f"Next: {question.id} {question.title} ({path.name})"
    return f'{title}; hint("{question.id}") helps.' if question.hints else f"{title}."


def exit_status(all_checked: Sequence[Checked], strict: bool) -> int:
    """Return 1 if a notebook could not be judged or, if strict, an answer is missing or not correct."""
    if any(checked.problem for checked in all_checked):
        return ATTENTION
    good = (State.CORRECT, State.WAITING)
    all_good = all(
        verdict.status in good for checked in all_checked for verdict in checked.verdicts
    )
    return DONE if all_good or not strict else ATTENTION
