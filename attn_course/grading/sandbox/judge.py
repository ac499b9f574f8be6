"""Judges one submission, shut in: from its bytes to a small reply."""

import contextlib
import hashlib
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attn_course import derive, register
from attn_course.answers import Answer, NotAttempted
from attn_course.checking import CORRECT, NOT_ATTEMPTED, judge
from attn_course.grading import find_cells
from attn_course.grading.read_submission import (
    MAX_BYTES,
    UnreadableFile,
    parse_submission,
    read_submission,
)
from attn_course.grading.record import State
from attn_course.grading.reused_code import (
    borrowed,
    statements_of,
)
from attn_course.grading.sandbox import channel
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.session import Session
from attn_course.grading.untrusted_text import one_line
from attn_course.judge_derivation import FOR_A_PERSON
from attn_course.proofs.compare_lines import Comparer

PATIENCE = 3  # times the seconds that `check` allows: a busy machine must cost nobody a point
HIDDEN: tuple[str, ...] = ()  # of the course: a judge needs it all
HANDED_OUT = Path(__file__).resolve().parents[3] / "notebooks"
MAX_JOB = MAX_BYTES + (1 << 16)
REPLY_SECONDS = 600.0  # for the supervisor, which may be busy, to do what it is asked


def prepare(preload: Sequence[str]) -> None:
    """Once, before any submission: rehearse every judge, and read the notebooks as handed out."""
    _rehearse_chains()
    questions: list[register.Question] = []
    for name in preload:
        module = sys.modules[name]
        questions += getattr(module, "QUESTIONS", ())
    for question in questions:
        for part in question.parts:
            if part.judge:
                _rehearse(part)
    for notebook in {question.notebook for question in questions}:
        _read_ahead(HANDED_OUT / f"{notebook}.ipynb")


def _read_ahead(path):
    """Parse the cells of a notebook that most submissions leave as they are; nobody's data."""
    with contextlib.suppress(UnreadableFile):  # where the package is installed alone
        for cell in read_submission(path).cells:
            if cell.kind == "code":
                find_cells.names_of(cell.source)
                statements_of(cell.source)


def _rehearse_chains():
    """Compare lines that nobody asks for, so that no judge is the first to need what that needs."""
    from sympy import IndexedBase, Sum, exp, symbols

    x, y = symbols("x y", positive=True)
    k, n = symbols("k n", positive=True, integer=True)
    s = IndexedBase("s")
    term = x * exp(s[k])
    total = Sum(term, (k, 1, n))
    derive(
        (total / y, ""),
        (total / y + x, ""),
    )
    derive(
        (x + exp(y), ""),
        (">", x + y, ""),
        where={x: (0, n)},
    )


def _rehearse(part):
    """Judge an answer that nobody gave; of a claim, the points are then drawn for all submissions."""
    import sympy

    for claim in part.judge.claims() if part.kind == "derive" else ():
        Comparer(claim.domain).compare(claim.first_line, claim.relation, claim.wanted)

    one = sympy.Integer(1)

    def constant(*args: Any, **options: Any) -> Any:
        return one

    wrong = derive((one, ""), (one, "")) if part.kind == "derive" else constant
    answers = [Answer(wrong) for _ in part.answers]
    rng = random_numbers(None, "", "")
    with contextlib.suppress(Exception, NotAttempted):
        part.judge(rng, *answers)


def serve(lines: Sequence[int], *, output: int) -> None:
    """Judge one submission: the job comes down the first line, the others lead to its children."""
    supervisor, *others = map(channel.Line, lines)
    job = supervisor.receive(_soon(), MAX_JOB)
    report = _reply(job, Children(supervisor, others))
    report["do"] = "report"
    supervisor.send(report, _soon())


def _soon():
    return time.monotonic() + REPLY_SECONDS


def _reply(job, children):
    try:
        return judge_submission(children, **job)
    except UnreadableFile as error:
        problem = str(error)
    except MemoryError:
        problem = "it takes too much memory to read."
    return {"problem": problem, "parts": [], "remarks": []}


class Children:
    """The processes of a submission, which the supervisor starts and ends for us."""

    def __init__(self, supervisor: channel.Line, lines: list[channel.Line]) -> None:
        self.supervisor = supervisor
        self.lines = lines
        self.figures = False  # whether they draw
        self.num_requests = 0
        self.lock = threading.Lock()

    def spawn(self, limits: Limits) -> channel.Line:
        """Return our end of the line to a new child; the supervisor knows the limits."""
        self._ask("spawn", figures=self.figures)
        return self.lines.pop(0)

    def end(self) -> tuple[int, float]:
        """End the child; return its exit code and CPU seconds."""
        found = self._ask("end")
        return found["exit"], found["cpu"]

    def _ask(self, what, **more):
        with self.lock:
            self.num_requests += 1
            number = self.num_requests
            request = {"do": what, "id": number, **more}
            self.supervisor.send(request, _soon())
            while True:
                found = self.supervisor.receive(_soon())
                if found["id"] == number:  # another is for one whose judge was stopped meanwhile
                    return found


def judge_submission(
    children: Children,
    *,
    suffix: str,
    notebook: str,
    data: np.ndarray,
    secret: str | None,
    limits: dict[str, Any],
    everything: bool,
) -> dict[str, Any]:
    """Return the reply on a file: (status, message, answer, share of points) a part, in order, and remarks.

    data: the bytes of the file as an array; suffix: how its name ends. secret: the text from which
    this submission's inputs are drawn; None draws those that `check` draws in the notebook.
    """
    submission = parse_submission(data.tobytes(), suffix)
    questions = register.questions_of(notebook)
    asked: list[tuple[register.Question, register.Part]] = []
    for question in questions:
        asked += [(question, part) for part in question.parts]
    cells = find_cells.cells_to_run(submission.cells, questions, everything)
    children.figures = find_cells.draws(cells)
    with Session(children, cells, Limits(**limits)) as session:
        parts = [_judged(session, submission.cells, *pair, secret) for pair in asked]
    remarks = [
        *submission.remarks,
        *_lent(submission.cells, asked, parts),
        *_undecided(asked, parts),
        *_stopped(session.errors),
    ]
    return {"problem": "", "parts": parts, "remarks": remarks}


def _judged(session, cells, question, part, secret):
    found = find_cells.cells_of(cells, question, part)
    text = find_cells.text_of(found, question)
    if not part.judge and text:
        return State.WAITING, "a person reads this.", text, 0.0
    if not part.judge:
        return State.NOT_ATTEMPTED, "the answer is still empty.", "", 0.0
    seconds = PATIENCE * question.seconds
    patient = replace(question, seconds=seconds)
    rng = random_numbers(secret, question.id, part.kind)
    answers = session.answers(part.answers, seconds)
    verdict = judge(patient, part, rng, answers)
    message = _message(verdict, found)
    share = verdict.points / part.points if part.points else 0.0
    return verdict.status, message, text, float(share)


def random_numbers(secret: str | None, question_id: str, kind: str) -> np.random.Generator:
    """Return the generator for one verdict: its own, so that no order of work changes it."""
    if secret is None:
        name = question_id.encode()
        return np.random.default_rng(zlib.crc32(name))
    text = f"{secret}/{question_id}/{kind}"
    digest = hashlib.sha256(text.encode())
    seed = np.frombuffer(digest.digest(), np.uint32)
    return np.random.default_rng(seed)


def _message(verdict, found):
    """Return what to tell about a verdict, where an empty answer has a cause to be told."""
    if verdict.status != NOT_ATTEMPTED:
        return one_line(verdict.message)
    if not found:
        return "its cell is gone, and nothing has the name that the question asks for."
    for cell in found:
        if cell.kind != "code":
            return f"its cell {cell.number} is a {cell.kind} cell, which does not run."
    return one_line(verdict.message)


def _stopped(errors):
    """Yield a remark on each cell that did not run."""
    for number, text in sorted(errors.items()):
        yield f"cell {number}: {text}"


def _undecided(asked, verdicts):
    """Yield a remark on each derivation in which a step is neither shown nor refuted."""
    for (question, part), (_, message, *_) in zip(asked, verdicts, strict=True):
        if part.kind == "derive" and FOR_A_PERSON in message:
            yield f"{question.id}: a step could not be decided; a person should look."


def _lent(cells, asked, verdicts):
    """Yield a remark on each right answer that is the course's own code, for a person to weigh."""
    right = []
    names: list[str] = []
    for (question, part), (status, *_) in zip(asked, verdicts, strict=True):
        if status == CORRECT:
            right.append((question, part))
            names += part.answers
    if not right:
        return
    lent = borrowed(cells, names)
    for question, part in right:
        paths: list[str] = []
        for name in part.answers:
            paths += lent.get(name, ())
        if paths:
            yield f"{question.id}: the answer hands over {' and '.join(paths)}."
