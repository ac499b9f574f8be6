"""Judges one submission, shut in: from its bytes to a small reply. Knows no student, no file, no points."""

import contextlib
import sys
import threading
import time
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from attn_course import derive, register
from attn_course.answers import Answer
from attn_course.checking import judge
from attn_course.grading import find_cells
from attn_course.grading.borrowing import borrowed, statements_of
from attn_course.grading.foreign_text import one_line
from attn_course.grading.read_submission import (
    MAX_BYTES,
    Unreadable,
    parse_submission,
    read_submission,
)
from attn_course.grading.record import State
from attn_course.grading.sandbox import channel
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.session import Session
from attn_course.judge_derivation import FOR_A_PERSON
from attn_course.verdict import CORRECT, NOT_ATTEMPTED, NotAttempted

PATIENCE = 3  # times the seconds that `check` allows: a busy machine must cost nobody a point
HIDDEN = ()  # of the course: a judge needs it all
HANDED_OUT = Path(__file__).resolve().parents[3] / "notebooks"
MAX_JOB = MAX_BYTES + (1 << 16)
REPLY_SECONDS = 600.0  # for the supervisor, which may be busy, to do what it is asked


def prepare(preload: Iterable[str]) -> None:
    """Once, before any submission: rehearse every judge, and read the notebooks as handed out."""
    _rehearse_chains()
    modules = [sys.modules[name] for name in preload if hasattr(sys.modules[name], "QUESTIONS")]
    for question in (question for module in modules for question in module.QUESTIONS):
        for part in question.parts:
            if part.judge:
                _rehearse(part)
    for notebook in {module.QUESTIONS[0].notebook for module in modules if module.QUESTIONS}:
        _read_ahead(HANDED_OUT / f"{notebook}.ipynb")


def _read_ahead(path):
    """Parse the cells of a notebook that most submissions leave as they are; nobody's data."""
    with contextlib.suppress(Unreadable):  # where the package is installed alone
        for cell in read_submission(path).cells:
            if cell.kind == "code":
                find_cells.names_of(cell.source)
                statements_of(cell.source)


def _rehearse_chains():
    """Compare lines that nobody asks for, so that no judge is the first to need what that needs."""
    from sympy import IndexedBase, Sum, exp, symbols

    x, y = symbols("x y", positive=True)
    k, n = symbols("k n", positive=True, integer=True)
    total = Sum(x * exp(IndexedBase("s")[k]), (k, 1, n))
    derive((total / y, ""), (total / y + x, ""))
    derive((x + exp(y), ""), (">", x + y, ""), where={x: (0, n)})


def _rehearse(part):
    import sympy

    one = sympy.Integer(1)
    wrong = derive((one, ""), (one, "")) if part.kind == "derive" else lambda *a, **k: one
    with contextlib.suppress(Exception, NotAttempted):
        part.judge(random_numbers(None, "", ""), *(Answer(wrong) for _ in part.answers))


def serve(lines: Iterable[int], *, output: int) -> None:
    """Judge one submission: the job comes down the first line, the others lead to its children."""
    supervisor, *children = map(channel.Line, lines)
    job = supervisor.receive(_soon(), MAX_JOB)
    supervisor.send({"do": "report", **_reply(job, Children(supervisor, children))}, _soon())


def _soon():
    return time.monotonic() + REPLY_SECONDS


def _reply(job, children):
    try:
        return judge_submission(children, **job)
    except Unreadable as error:
        return {"problem": str(error), "parts": [], "remarks": []}
    except MemoryError:
        return {"problem": "it takes too much memory to read.", "parts": [], "remarks": []}


class Children:
    """The processes of a submission, which the supervisor starts and ends for us."""

    def __init__(self, supervisor: channel.Line, lines: list[channel.Line]):
        self.supervisor = supervisor
        self.lines = lines
        self.figures = False  # whether they draw
        self.num_requests = 0
        self.lock = threading.Lock()

    def spawn(self, limits: Limits) -> channel.Line:
        """Have the next child started; return the line to it."""
        self._ask("spawn", figures=self.figures)
        return self.lines.pop(0)

    def end(self) -> tuple[int, float]:
        """Have the child ended; return its exit code and CPU seconds."""
        found = self._ask("end")
        return found["exit"], found["cpu"]

    def _ask(self, what, **more):
        with self.lock:
            self.num_requests += 1
            number = self.num_requests
            self.supervisor.send({"do": what, "id": number, **more}, _soon())
            while (found := self.supervisor.receive(_soon()))["id"] != number:
                pass  # the answer to one whose judge was stopped meanwhile
        return found


def judge_submission(
    children: Children,
    *,
    suffix: str,
    notebook: str,
    data: np.ndarray,
    secret: str | None,
    limits: dict,
    everything: bool,
) -> dict:
    """Return the reply on a file: (status, message, answer) of each part, in order, and remarks.

    data: the bytes of the file as an array; suffix: how its name ends. secret: the text from which
    this submission's inputs are drawn; None draws those that `check` draws in the notebook.
    """
    submission = parse_submission(data.tobytes(), suffix)
    questions = register.questions_of(notebook)
    asked = [(question, part) for question in questions for part in question.parts]
    cells = find_cells.cells_to_run(submission.cells, questions, everything)
    children.figures = find_cells.draws(cells)
    with Session(children, cells, Limits(**limits)) as session:
        parts = [_judged(session, submission.cells, *pair, secret) for pair in asked]
    lent = _lent(submission.cells, asked, parts)
    stopped = (f"cell {number}: {text}" for number, text in sorted(session.errors.items()))
    remarks = [*submission.remarks, *lent, *_undecided(asked, parts), *stopped]
    return {"problem": "", "parts": parts, "remarks": remarks}


def _judged(session, cells, question, part, secret):
    found = find_cells.cells_of(cells, question, part)
    text = find_cells.text_of(found, question)
    if not part.judge:
        if text:
            return State.WAITING, "a person reads this.", text
        return State.NOT_ATTEMPTED, "the answer is still empty.", ""
    patient = replace(question, seconds=PATIENCE * question.seconds)
    rng = random_numbers(secret, question.id, part.kind)
    verdict = judge(patient, part, rng, session.answers(part.answers, patient.seconds))
    return verdict.status, _message(verdict, found), text


def random_numbers(secret: str | None, question_id: str, kind: str) -> np.random.Generator:
    """Return the generator for one verdict: its own, so that no order of work changes it."""
    if secret is None:
        return np.random.default_rng(zlib.crc32(question_id.encode()))
    return np.random.default_rng(list(f"{secret}/{question_id}/{kind}".encode()))


def _message(verdict, found):
    """Return what to tell about a verdict, where an empty answer has a cause to be told."""
    if verdict.status == NOT_ATTEMPTED and not found:
        return "its cell is gone, and nothing has the name that the question asks for."
    other = [cell for cell in found if cell.kind != "code"]
    if verdict.status == NOT_ATTEMPTED and other:
        return f"its cell {other[0].number} is a {other[0].kind} cell, which does not run."
    return one_line(verdict.message)


def _undecided(asked, verdicts):
    """Yield a remark on each derivation in which a step is neither shown nor refuted."""
    for (question, part), (_, message, _) in zip(asked, verdicts, strict=True):
        if part.kind == "derive" and FOR_A_PERSON in message:
            yield f"{question.id}: a step could not be decided; a person should look."


def _lent(cells, asked, verdicts):
    """Yield a remark on each right answer that is the course's own code, for a person to weigh."""
    right = [pair for pair, said in zip(asked, verdicts, strict=True) if said[0] == CORRECT]
    if not right:
        return
    lent = borrowed(cells, [name for _, part in right for name in part.answers])
    for question, part in right:
        paths = [path for name in part.answers for path in lent.get(name, ())]
        if paths:
            yield f"{question.id}: the answer hands over {' and '.join(paths)}."
