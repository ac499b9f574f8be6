"""Runs the answers of one notebook and judges them, in a process of its own: a line of JSON for each part.

    python -m attn_course.workspace.run_answers NOTEBOOK FILE QUESTION   # an empty QUESTION is all of them

It is the student's own code, so there is no sandbox. Cells that no answer needs, such as figures and
training, are not run.
"""

import asyncio
import builtins
import contextlib
import inspect
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from attn_course import register
from attn_course.answers import Answer
from attn_course.cell_errors import Guard
from attn_course.cell_variables import names_of, with_what_they_use
from attn_course.checking import listening, run_judge
from attn_course.magics import FLAGS, read_python
from attn_course.markers import EMPTY
from attn_course.register import Part, Question
from attn_course.verdict import State, Verdict
from attn_course.workspace.folder import read_notebook
from attn_course.workspace.merge import MatchedCell, cells_of


def verdicts_of(notebook: str, path: Path, question_id: str = "") -> list[Verdict]:
    """Return a verdict for every part of a notebook's questions, in order, or of one question."""
    cells = cells_of(read_notebook(path))
    questions = tuple(q for q in register.questions_of(notebook) if question_id in ("", q.id))
    space, errors = run_cells(cells, questions)
    return [
        _verdict(cells, question, part, space, errors)
        for question in questions
        for part in question.parts
    ]


def run_cells(
    cells: list[MatchedCell], questions: tuple[Question, ...]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Run what the answers need; return the variables, and {name: why its cell did not run}."""
    code = {
        c.number: c.source for c in cells if c.kind == "code" and c.role not in ("check", "written")
    }
    names = {number: names_of(source) for number, source in code.items()}
    answers = {name for question in questions for part in question.parts for name in part.answers}
    answering = {number for number, cell in names.items() if cell.given & answers}
    needed = with_what_they_use(answering, names)
    space: dict[str, Any] = {"__name__": "__main__"}
    errors: dict[str, str] = {}
    for number, source in code.items():
        if number not in needed:
            continue
        error = _run_cell(source, f"<cell {number + 1}>", space)
        for name in names[number].given:
            errors.pop(name, None)
            if error:
                errors[name] = f"the cell that defines it stopped: {error}"
    return space, errors


def _run_cell(source, name, space):
    """Run a cell; return what went wrong as one line, "" if nothing did."""
    try:
        _, tree = read_python(source, name)
        tree = Guard().visit(tree)
        compiled = compile(tree, name, "exec", FLAGS, dont_inherit=True)
        result = eval(compiled, space)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except (Exception, SystemExit) as error:
        lines = str(error).strip().splitlines()
        return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
    return ""


def _verdict(
    cells: list[MatchedCell],
    question: Question,
    part: Part,
    space: dict[str, Any],
    errors: dict[str, str],
) -> Verdict:
    def verdict(status: State, message: str) -> Verdict:
        return Verdict(question.id, status, message, 0.0, part.points, part.kind)

    if part.kind == "written":
        if _is_written(cells, question):
            return verdict(State.WAITING, "a person reads this answer.")
        return verdict(State.NOT_ATTEMPTED, "the answer is still empty.")
    missing = [name for name in part.answers if name not in space]
    if missing:
        reason = errors.get(missing[0])
        message = (
            f"{missing[0]} is not defined: {reason}" if reason else f"{missing[0]} is not defined."
        )
        return verdict(State.NOT_YET if reason else State.NOT_ATTEMPTED, message)
    with listening() as caught:
        callers = [Answer(space[name], caught) for name in part.answers]
        return run_judge(question, part, np.random.default_rng(), callers)


def _is_written(cells, question):
    """Return True if the cell of a written answer holds text of the student's."""
    empty = EMPTY.format(question.id)
    text = ""
    for cell in cells:
        if cell.role == "written" and cell.question == question.id:
            text += cell.source.replace(empty, "")
    return bool(text.strip())


def main() -> None:
    """Print the verdicts; what the answers print themselves goes nowhere."""
    notebook, path, question_id = sys.argv[1:]
    os.environ.setdefault("MPLBACKEND", "agg")
    builtins.display = lambda *things, **options: None  # type: ignore[attr-defined]
    # Programs that a cell starts write to this process's own output, past sys.stdout.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        verdicts = verdicts_of(notebook, Path(path), question_id)
    for verdict in verdicts:
        print(json.dumps(vars(verdict)), file=output, flush=True)


if __name__ == "__main__":
    main()
