"""Judges one submission, in a sandbox: from its bytes to a small reply."""

import contextlib
import functools
import hashlib
import re
import signal
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from attn_course import derive, register
from attn_course.answers import Answer, NotAttempted, NotYet
from attn_course.cell_variables import names_of
from attn_course.checking import CORRECT, NOT_ATTEMPTED, OutOfTime, judge
from attn_course.grading import find_cells
from attn_course.grading.course_code_use import reused_objects, statements_of
from attn_course.grading.pasted_images import images_of
from attn_course.grading.read_submission import (
    MAX_BYTES,
    UnreadableFile,
    parse_submission,
    read_submission,
)
from attn_course.grading.record import State
from attn_course.grading.sandbox import channel
from attn_course.grading.sandbox.fork_server import Ended, Limits
from attn_course.grading.sandbox.session import Session
from attn_course.grading.untrusted_text import one_line
from attn_course.judge_derivation import FOR_A_PERSON
from attn_course.proofs.compare_lines import Comparer

PATIENCE = 3  # times the seconds that `check` allows: a busy machine must cost nobody a point
HIDDEN: tuple[str, ...] = ()  # of the course: a judge needs it all
HANDED_OUT = Path(__file__).resolve().parents[3] / "notebooks"
MAX_JOB = MAX_BYTES + (1 << 16)
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.]*\w)")
SHORT = re.compile(r"\d{1,2}\.\d{1,2}")  # as the number of a question
# How `check` begins a sentence on a fault that is not the answer's.
OUR_FAULT = ("the check could not read", "this check needs")
NEAR_WORDS = "its cell is empty; a person looks whether this text is the answer."
NEAR_CODE = "A person will look at what is not run as an answer: cell"
AGAIN_SECONDS = 0.1  # until work that has swallowed the end of its time is ended once more
REPLY_SECONDS = 600.0  # for the supervisor, which may be busy, to do what it is asked


def prepare(preload: Sequence[str]) -> None:
    """Once, before any submission: run every judge, and read the notebooks as handed out."""
    _warm_up_chains()
    questions: list[register.Question] = []
    for name in preload:
        questions += getattr(sys.modules[name], "QUESTIONS", ())
    for question in questions:
        for part in question.parts:
            if part.judge:
                _warm_up(part)
    for notebook in {question.notebook for question in questions}:
        handed_out(notebook)


@functools.cache
def handed_out(notebook: str) -> frozenset[str]:
    """Return the texts of a notebook's cells as students get them; none where the package is alone.

    Most submissions leave these cells as they are, so that what is read of them here serves all.
    """
    texts = set()
    with contextlib.suppress(UnreadableFile):
        for cell in read_submission(HANDED_OUT / f"{notebook}.ipynb").cells:
            texts.add(cell.source.strip())
            if cell.kind == "code":
                names_of(cell.source)
                statements_of(cell.source)
    return frozenset(texts)


def _warm_up_chains():
    """Compare lines that nobody asks for, so that no judge is the first to need what that needs."""
    from sympy import IndexedBase, Sum, exp, symbols

    x, y = symbols("x y", positive=True)
    k, n = symbols("k n", positive=True, integer=True)
    s = IndexedBase("s")
    total = Sum(x * exp(s[k]), (k, 1, n))
    derive((total / y, ""), (total / y + x, ""))
    derive((x + exp(y), ""), (">", x + y, ""), where={x: (0, n)})


def _warm_up(part):
    """Judge an answer that nobody gave; the points of a claim are then drawn for all submissions."""
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


def serve(sockets: Sequence[int], *, output: int) -> None:
    """Judge one submission: the job comes by the first socket, the others lead to its children."""
    signal.signal(signal.SIGPROF, out_of_time)
    supervisor, *others = map(channel.Connection, sockets)
    job = supervisor.receive(_soon(), MAX_JOB)
    report: dict[str, Any] = {"problem": "", "parts": [], "remarks": []}
    try:
        report = judge_submission(Children(supervisor, others), **job)
    except UnreadableFile as error:
        report["problem"] = str(error)
    except MemoryError:
        report["problem"] = "it takes too much memory to read."
    supervisor.send({**report, "do": "report"}, _soon())


def _soon():
    return time.monotonic() + REPLY_SECONDS


def out_of_time(signum: int, frame: object) -> None:
    """End the work of a judge, whose time is over."""
    raise OutOfTime


def within_cpu(seconds: float, work: Callable[[], str]) -> str:
    """Return `work()`, or raise NotYet when this process has used so many seconds of a processor.

    Time that the submission takes is limited where it is asked.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
    try:
        return work()
    except OutOfTime:
        raise NotYet(f"it did not finish within {seconds:g} seconds.") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Children:
    """The processes of a submission, which the supervisor starts and ends for us."""

    def __init__(
        self, supervisor: channel.Connection, connections: list[channel.Connection]
    ) -> None:
        self.supervisor = supervisor
        self.connections = connections
        self.figures = False  # whether they draw
        self.num_requests = 0

    def spawn(self, limits: Limits) -> channel.Connection:
        """Return the connection to a new child; the supervisor knows the limits."""
        self._ask("spawn", figures=self.figures)
        return self.connections.pop(0)

    def end(self, *, is_gone: bool = False) -> Ended:
        """End the child; is_gone: it has closed its connection, and may end by itself."""
        found = self._ask("end", is_gone=is_gone)
        return Ended(found["exit"], found["cpu"], found["killed"])

    def _ask(self, what, **more):
        self.num_requests += 1
        self.supervisor.send({"do": what, "id": self.num_requests, **more}, _soon())
        while True:
            found = self.supervisor.receive(_soon())
            if found["id"] == self.num_requests:  # another is for a request whose time was over
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
    names = chain.from_iterable(part.answers for _, part in asked if part.judge)
    cells = find_cells.cells_to_run(submission.cells, questions, everything)
    children.figures = find_cells.draws(cells)
    parts = []
    images = {}
    with Session(children, cells, Limits(**limits), list(names)) as session:
        for question, part in asked:
            if part.judge:
                verdict = _verdict(session, submission.cells, question, part, secret)
            else:
                found, verdict = _written(submission.cells, question, part)
                images[question.id] = {
                    address: np.frombuffer(picture, np.uint8)
                    for address, picture in images_of(found).items()
                }
            if session.was_killed:
                return {"problem": "", "parts": [], "remarks": [], "killed": True}
            parts.append(verdict)
    remarks = [
        *submission.remarks,
        *_reused(submission.cells, asked, parts),
        *(f"cell {number}: {text}" for number, text in sorted(session.errors.items())),
    ]
    return {"problem": "", "parts": parts, "remarks": remarks, "images": images}


def _written(cells, question, part):
    """The cells of an answer that a person reads, and (state, message, its text, 0)."""
    found = find_cells.cells_of(cells, question, part)
    text = find_cells.text_of(found, question)
    if text:
        return found, (State.WAITING, "a person reads this.", text, 0.0)
    near = find_cells.near_words(cells, question, handed_out(question.notebook))
    if near:
        return near, (State.WAITING, NEAR_WORDS, find_cells.text_of(near, question), 0.0)
    return [], (State.NOT_ATTEMPTED, "the answer is still empty.", "", 0.0)


def _verdict(session, cells, question, part, secret):
    """(state, message, text of the answer, share of the points) of one part."""
    found = find_cells.cells_of(cells, question, part)
    text = find_cells.text_of(found, question)
    patient = replace(question, seconds=PATIENCE * question.seconds)
    rng = random_numbers(secret, question.id, part.kind)
    answers = session.answers(part.answers, patient.seconds)
    verdict = judge(patient, part, rng, answers, limit=within_cpu)
    message = one_line(verdict.message)
    if verdict.status == CORRECT:
        return State.CORRECT, message, text, 1.0
    if secret is not None:
        message = rounded(message)
    share = verdict.points / part.points if part.points else 0.0
    is_undecided = part.kind == "derive" and FOR_A_PERSON in message
    if is_undecided or message.startswith(OUR_FAULT):
        return State.WAITING, message, text, float(share)
    near = find_cells.near_code(cells, question, part, handed_out(question.notebook))
    if near:
        places = ", ".join(str(cell.number) for cell in near[:5])
        both = [cell for cell in cells if cell in found or cell in near]
        text = find_cells.text_of(both, question)
        return State.WAITING, f"{message} {NEAR_CODE} {places}.", text, 0.0
    if verdict.status == NOT_ATTEMPTED and not found:
        message = "its cell is gone, and nothing has the name that the question asks for."
    return State(verdict.status), message, text, float(share)


def rounded(message: str) -> str:
    """Return a message whose numbers have three digits, fewer than any judge looks at."""
    found = NUMBER.sub(_three_digits, message)
    return message if found == message else f"{found} (Numbers here are rounded.)"


def _three_digits(number):
    text = number[0]
    if SHORT.fullmatch(text):
        return text
    digits = text.partition("e")[0].replace(".", "").strip("0")
    return text if len(digits) <= 3 else f"{float(text):.3g}"


def random_numbers(secret: str | None, question_id: str, kind: str) -> np.random.Generator:
    """Return the generator for one verdict: its own, so that no order of work changes it."""
    if secret is None:
        return np.random.default_rng(zlib.crc32(question_id.encode()))
    digest = hashlib.sha256(f"{secret}/{question_id}/{kind}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))


def _reused(cells, asked, verdicts):
    """Yield a remark on each right answer that is the course's own code, for a person to weigh."""
    judged = zip(asked, verdicts, strict=True)
    right = [about for about, (status, *_) in judged if status == CORRECT]
    if not right:
        return
    reused = reused_objects(cells, chain.from_iterable(part.answers for _, part in right))
    for question, part in right:
        paths = [*chain.from_iterable(reused.get(name, ()) for name in part.answers)]
        if paths:
            yield f"{question.id}: the answer hands over {' and '.join(paths)}."
