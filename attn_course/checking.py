"""`check` and `hint`: judge a student's answer in limited time and explain the verdict."""

import contextlib
import contextvars
import ctypes
import io
import os
import sys
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from attn_course import answer_cells, progress_notes, register
from attn_course.answers import Answer, Caller, NotAttempted, NotYet
from attn_course.register import Part, Question
from attn_course.verdict import State, Verdict, inline_html

UNSTEADY = (
    "Two calls with the same arguments gave different results: an answer must not be random, and must not "
    "keep results of earlier calls."
)
PATIENCE = 4  # how many times its seconds an answer may take where others use the processor


def check(question: str, *answers: Any) -> Verdict:
    """Judge one answer (some questions take two) and explain the verdict.

    Returns a `Verdict` with `.status` "correct", "not yet" or "not attempted". It never raises,
    except inside nbgrader, which scores a check cell by whether it fails.
    """
    verdict = _check(str(question), answers)
    progress_notes.note_verdict(verdict)
    if verdict and progress_notes.is_student_session() and _has_solution(verdict.question):
        offer = f'`solution("{verdict.question}")` shows the reference beside your answer.'
        verdict = replace(verdict, remark=f"{verdict.remark} {offer}".strip())
    if not verdict and os.environ.get("NBGRADER_EXECUTION"):
        raise AssertionError(repr(verdict))
    return verdict


def _has_solution(question_id):
    from attn_course.course_files import solution_source  # a wrong answer needs none of it

    return solution_source(register.find(question_id).notebook) is not None


def _check(question_id, answers):
    missing = [answer.name for answer in answers if isinstance(answer, answer_cells.Missing)]
    try:
        question = register.find(question_id)
        if missing:
            raise NotYet(answer_cells.sentence_on_missing(missing[0]))
        part = _part(question, answers)
    except (KeyError, NotYet) as error:
        return Verdict(question_id, State.NOT_ATTEMPTED, error.args[0])

    rng = np.random.default_rng(zlib.crc32(question_id.encode()))
    with listening() as caught:
        callers = [Answer(answer, caught) for answer in answers]
        verdict = run_judge(question, part, rng, callers)
    return replace(verdict, remark=answer_cells.remark_on(part.answers))


def _part(question, answers):
    """Return the part that these answers belong to: "derive" for chains, which know that they are chains."""
    judged = [part for part in question.parts if part.judge]
    if len(judged) > 1:
        kinds = {getattr(answer, "part", "code") for answer in answers if answer is not ...}
        kind = "derive" if "derive" in kinds else "code"
        if not kinds:  # nothing but empty answers: their number tells
            kind = next((part.kind for part in judged if len(part.answers) == len(answers)), kind)
        judged = [part for part in judged if part.kind == kind]
    if not judged:
        raise NotYet("this question is answered in words and read by a person.")
    (part,) = judged
    if len(answers) != len(part.answers):
        names = ", ".join(part.answers)
        raise NotYet(f'call it as check("{question.id}", {names}).')
    return part


def run_judge(
    question: Question,
    part: Part,
    rng: np.random.Generator,
    callers: Sequence[Caller],
    *,
    limit: Callable[[float, Callable[[], str]], str] | None = None,
) -> Verdict:
    """Return the verdict of one part's judge on `callers`, whichever process these call into.

    limit: the function that ends the work after some seconds, in place of `within`.
    """
    measure = part.judge
    if measure is None:
        raise ValueError(f"no judge marks the part {part.kind!r} of {question.id}.")

    def judged() -> str:
        try:
            sentence = measure(rng, *callers)
        except NotYet as error:
            if not _are_steady(callers):
                error.args = (f"{error} {UNSTEADY}",)
            raise
        if not _are_steady(callers):
            raise NotYet(UNSTEADY, mistake=UNSTEADY)
        return sentence

    def verdict(status: State, message: str, share: float = 0.0, **more: Any) -> Verdict:
        points = part.points * share
        return Verdict(question.id, status, message, points, part.points, part.kind, **more)

    try:
        return verdict(State.CORRECT, (limit or within)(question.seconds, judged), share=1)
    except NotAttempted:
        return verdict(State.NOT_ATTEMPTED, "the answer is still empty.")
    except NotYet as error:
        about = {"mistake": error.mistake, "needs_person": error.needs_person}
        return verdict(State.NOT_YET, str(error), error.share, **about)
    except ModuleNotFoundError as error:
        message = f"this check needs {error.name}, which is not installed here."
        return verdict(State.NOT_YET, message, needs_person=True)
    except Exception as error:
        message = f"the check could not read this answer ({type(error).__name__})."
        return verdict(State.NOT_YET, message, needs_person=True)


def _are_steady(callers):
    """Return True if every answer gives the same result again for its last call."""
    with contextlib.suppress(NotYet, NotAttempted):
        return all(caller.is_steady() for caller in callers)
    return True


class OutOfTime(BaseException):
    """Thrown into a student's code that has run out of time."""


class StoppableThread(threading.Thread):
    """A thread that prints nothing if another `OutOfTime` arrives while it is ending."""

    def run(self) -> None:
        """Do the work."""
        with contextlib.suppress(OutOfTime):
            super().run()


@contextlib.contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Keep what an answer prints off the page, and yield the list in which its warnings are collected."""
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        yield caught


def within(seconds: float, work: Callable[[], str]) -> str:
    """Return `work()`, run in a thread of its own; raise NotYet if it does not finish in time.

    On a busy machine the work may take longer, until it has used that many seconds of a processor, but at
    most PATIENCE times as long. Where no thread can start, the work runs here for as long as it takes.
    """
    outcome: dict[str, Any] = {}
    used = time.process_time()

    def run() -> None:
        torch = sys.modules.get("torch")
        if torch:  # in a new thread it would use all cores again, for the smallest exponential too
            torch.set_num_threads(torch.get_num_threads())
        try:
            outcome["result"] = work()
        except BaseException as error:
            outcome["error"] = error

    inside = contextvars.copy_context()
    thread = StoppableThread(target=inside.run, args=(run,), daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return work()  # Python in a browser has no threads, and no way to stop what runs too long

    thread.join(seconds)
    patience_ends = time.monotonic() + (PATIENCE - 1) * seconds
    while thread.is_alive() and time.monotonic() < patience_ends:
        if time.process_time() - used >= seconds:
            break
        thread.join(seconds / 20)

    if thread.is_alive():
        _stop(thread)
        raise NotYet(f"it did not finish within {seconds:g} seconds.")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def _stop(thread):
    """Throw `OutOfTime` into the thread a few times; one that swallows them is left behind."""
    throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for _ in range(5):
        throw(ctypes.c_ulong(thread.ident), ctypes.py_object(OutOfTime))
        thread.join(0.1)
        if not thread.is_alive():
            return


_shown: Counter[str] = Counter()


@dataclass(frozen=True)
class Hint:
    """The hints given so far for one question, and how many are left; without a question, a remark."""

    question: str
    lines: list[str]
    left: int

    def __repr__(self) -> str:
        if not self.question:
            return self.lines[0]
        lines = [f"  {k}. {line}" for k, line in enumerate(self.lines, 1)]
        more = f"({self.left} more)" if self.left else "(no more hints)"
        return "\n".join([f"Hints for {self.question}", *lines, more])

    def _repr_html_(self):
        if not self.question:
            return escape(self.lines[0])
        items = [f"<li>{inline_html(line)}</li>" for line in self.lines]
        more = f"{self.left} more: run the cell again." if self.left else "No more hints."
        return f"<b>Hints for {escape(self.question)}</b><ol>{''.join(items)}</ol><i>{more}</i>"


HINT_STARTS = {"derive": "In the derivation: ", "code": "In code: ", "written": "In words: "}


def hint(question: str) -> Hint:
    """Show one hint more at each call. No hint contains the answer.

    question: as "1.1", or "1.1 derive", "1.1 code" or "1.1 written" for the hints of one part alone.
    """
    number, _, kind = str(question).strip().partition(" ")
    try:
        entry = register.find(number)
    except KeyError as error:
        return Hint("", [error.args[0]], 0)

    others = tuple(start for name, start in HINT_STARTS.items() if kind and name != kind)
    hints = [line for line in entry.hints if not line.startswith(others)]
    name = f"{number} {kind}".strip()
    count = min(_shown[name] + 1, len(hints))
    _shown[name] = count
    progress_notes.note(question=entry.id, hints=count)
    return Hint(name, hints[:count], len(hints) - count)


answer_cells.watch_cells()
