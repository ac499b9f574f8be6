"""`check` and `hint`: put a question's judge and a student's answer together."""

import os
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from attn_course import register
from attn_course.answers.answer import (
    Answer,
    Caller,
    listening,
    within,
)
from attn_course.answers.verdict import (
    CORRECT,
    NOT_ATTEMPTED,
    NOT_YET,
    NotAttempted,
    NotYet,
    Verdict,
    inline_html,
)
from attn_course.derivation import Derivation
from attn_course.register import Part, Question


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
    """The part these answers belong to: a chain of steps is a derivation, all else is code."""
    judged = [part for part in question.parts if part.judge]
    if len(judged) > 1:
        derived = answers and isinstance(answers[0], Derivation)
        kind = "derive" if derived else "code"
        judged = [part for part in judged if part.kind == kind]
    if not judged:
        raise NotYet("this question is answered in words and read by a person.")
    (part,) = judged
    if len(answers) != len(part.answers):
        names = ", ".join(part.answers)
        raise NotYet(f'call it as check("{question.id}", {names}).')
    return part


def judge(
    question: Question, part: Part, rng: np.random.Generator, callers: Sequence[Caller]
) -> Verdict:
    """The verdict of one part's judge on `callers`, whichever process they call into."""
    measure = part.judge
    if measure is None:
        raise ValueError(f"no judge marks the part {part.kind!r} of {question.id}.")

    def judged() -> str:
        try:
            return measure(rng, *callers)
        except NotYet as error:
            raise NotYet(f"{error}{_unsteady(callers)}") from None

    points = 0.0
    try:
        message = within(question.seconds, judged)
        status = CORRECT
        points = part.points
    except NotAttempted:
        status = NOT_ATTEMPTED
        message = "the answer is still empty."
    except NotYet as error:
        status = NOT_YET
        message = str(error)
    except ModuleNotFoundError as error:
        status = NOT_YET
        message = f"this check needs {error.name}, which is not installed here."
    except Exception as error:
        status = NOT_YET
        message = f"the check could not read this answer ({type(error).__name__})."

    return Verdict(question.id, status, message, points, part.points)


def _unsteady(callers):
    """A sentence for a function that answers the same question differently each time."""
    try:
        steady = all(caller.steady() for caller in callers)
    except (NotYet, NotAttempted):
        steady = False

    return "" if steady else " It also gave two different answers to the same input."


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
        text = f"Hints for {self.question}\n"
        for k, line in enumerate(self.lines, 1):
            text += f"  {k}. {line}\n"
        return text + (f"({self.left} more)" if self.left else "(no more hints)")

    def _repr_html_(self):
        if not self.question:
            return escape(self.lines[0])
        items = [f"<li>{inline_html(line)}</li>" for line in self.lines]
        more = f"{self.left} more: run the cell again." if self.left else "No more hints."
        title = escape(self.question)
        return f"<b>Hints for {title}</b><ol>{''.join(items)}</ol><i>{more}</i>"


def hint(question: str) -> Hint:
    """One hint more at each call. No hint contains the answer."""
    try:
        found = register.find(question)
    except KeyError as error:
        return Hint("", [error.args[0]], 0)

    count = min(_shown[found.id] + 1, len(found.hints))
    _shown[found.id] = count
    lines = list(found.hints[:count])
    return Hint(found.id, lines, len(found.hints) - count)
