"""`check` and `hint`: judge a student's answer in limited time, and say what was found."""

import contextlib
import contextvars
import ctypes
import io
import os
import re
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from attn_course import register
from attn_course.answers import Answer, Caller, NotAttempted, NotYet
from attn_course.register import Part, Question

CORRECT = "correct"
NOT_YET = "not yet"
NOT_ATTEMPTED = "not attempted"
PATIENCE = 4  # how many times its seconds an answer may take where others use the processor
_MARK = {CORRECT: "✔", NOT_YET: "✘", NOT_ATTEMPTED: "○"}
_COLOUR = {CORRECT: "#0072b2", NOT_YET: "#d55e00", NOT_ATTEMPTED: "#7f7f7f"}  # colour-blind safe
_CODE = re.compile(r"`([^`]+)`")
_STRESSED = re.compile(r"(?<![\w*])\*(\w[^*]*)\*(?![\w*])")


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check: true exactly when the answer is correct."""

    question: str
    status: str  # "correct", "not yet" or "not attempted"
    message: str
    points: float = 0
    out_of: float = 0

    def __bool__(self) -> bool:
        return self.status == CORRECT

    def _headline(self):
        headline = f"{_MARK[self.status]} {self.question} {self.status}"
        if self.out_of:
            headline += f" · {self.points:g} of {self.out_of:g} points"
        return headline

    def __repr__(self) -> str:
        return f"{self._headline()}\n  {self.message}"

    def _repr_html_(self):
        return (
            f'<div style="border-left:4px solid {_COLOUR[self.status]};padding:2px 0 2px 10px">'
            f"<b>{escape(self._headline())}</b><br>{inline_html(self.message)}</div>"
        )


def inline_html(text: str) -> str:
    """One line of ours as HTML: `code` and *stress* as in Markdown, everything else escaped."""
    pieces = _CODE.split(escape(text))  # text and code in turns
    pieces[::2] = [_STRESSED.sub(r"<em>\1</em>", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"<code>{piece}</code>" for piece in pieces[1::2]]
    return "".join(pieces)


def check(question: str, *answers: Any) -> Verdict:
    """Judge one answer (some questions take two) and say what was found.

    Returns a `Verdict` with `.status` "correct", "not yet" or "not attempted". It never raises,
    except inside nbgrader, which scores a check cell by whether it fails.
    """
    verdict = _check(str(question), answers)
    if not verdict and os.environ.get("NBGRADER_EXECUTION"):
        raise AssertionError(repr(verdict))
    return verdict


def _check(question_id, answers):
    try:
        question = register.find(question_id)
        part = _part(question, answers)
    except (KeyError, NotYet) as error:
        return Verdict(question_id, NOT_ATTEMPTED, error.args[0])

    rng = np.random.default_rng(zlib.crc32(question_id.encode()))
    with listening() as caught:
        callers = [Answer(answer, caught) for answer in answers]
        return judge(question, part, rng, callers)


def _part(question, answers):
    """The part these answers belong to: a chain made by `derive` says that it is one."""
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


def judge(
    question: Question,
    part: Part,
    rng: np.random.Generator,
    callers: Sequence[Caller],
    *,
    limit: Callable[[float, Callable[[], str]], str] | None = None,
) -> Verdict:
    """The verdict of one part's judge on `callers`, whichever process they call into.

    limit: what ends the work after some seconds, in place of `within`.
    """
    measure = part.judge
    if measure is None:
        raise ValueError(f"no judge marks the part {part.kind!r} of {question.id}.")

    def judged() -> str:
        try:
            return measure(rng, *callers)
        except NotYet as error:
            raise NotYet(f"{error}{_unsteady(callers)}", error.share) from None

    def verdict(status: str, message: str, share: float = 0.0) -> Verdict:
        return Verdict(question.id, status, message, part.points * share, part.points)

    try:
        return verdict(CORRECT, (limit or within)(question.seconds, judged), share=1)
    except NotAttempted:
        return verdict(NOT_ATTEMPTED, "the answer is still empty.")
    except NotYet as error:
        return verdict(NOT_YET, str(error), error.share)
    except ModuleNotFoundError as error:
        return verdict(NOT_YET, f"this check needs {error.name}, which is not installed here.")
    except Exception as error:
        return verdict(NOT_YET, f"the check could not read this answer ({type(error).__name__}).")


def _unsteady(callers):
    """A sentence for a function that answers the same question differently each time."""
    with contextlib.suppress(NotYet, NotAttempted):
        if all(caller.steady() for caller in callers):
            return ""
    return " It also gave two different answers to the same input."


class OutOfTime(BaseException):
    """Thrown into a student's code that has run out of time."""


class StoppableThread(threading.Thread):
    """A thread that ends without a word when `OutOfTime` comes once more, on its way out."""

    def run(self) -> None:
        """Do the work."""
        with contextlib.suppress(OutOfTime):
            super().run()


@contextlib.contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Keep what an answer prints off the page, and collect its warnings in the list given."""
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        yield caught


def within(seconds: float, work: Callable[[], str]) -> str:
    """`work()` in a thread of its own, or NotYet when it has not finished in time.

    On a busy machine it waits until the work has had that many seconds of a processor, within PATIENCE.
    Where no thread can start it runs here, for as long as it takes.
    """
    outcome: dict[str, Any] = {}
    used = time.process_time()

    def run() -> None:
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


def hint(question: str) -> Hint:
    """One hint more at each call. No hint contains the answer."""
    try:
        found = register.find(question)
    except KeyError as error:
        return Hint("", [error.args[0]], 0)

    count = min(_shown[found.id] + 1, len(found.hints))
    _shown[found.id] = count
    return Hint(found.id, list(found.hints[:count]), len(found.hints) - count)
