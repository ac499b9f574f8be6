"""`check` and `hint`: put a question's judge and a student's answer together; no mathematics."""

import os
import zlib
from collections import Counter
from html import escape

import numpy as np

from attn_course import register
from attn_course.answers import Answer, listening, within
from attn_course.derivation import Derivation
from attn_course.verdict import CORRECT, NOT_ATTEMPTED, NOT_YET, NotAttempted, NotYet, Verdict


def check(question, *answers):
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
        kind = "derive" if answers and isinstance(answers[0], Derivation) else "code"
        judged = [part for part in judged if part.kind == kind]
    if not judged:
        raise NotYet("this question is answered in words and read by a person.")
    if len(answers) != len(judged[0].answers):
        names = ", ".join(judged[0].answers)
        raise NotYet(f'call it as check("{question.id}", {names}).')
    return judged[0]


def judge(question, part, rng, callers):
    """The verdict of one part's judge on `callers`, whichever process they call into."""

    def verdict(status, message, points=0):
        return Verdict(question.id, status, message, points, part.points)

    def judged():
        try:
            return part.judge(rng, *callers)
        except NotYet as error:
            raise NotYet(f"{error}{_unsteady(callers)}") from None

    try:
        return verdict(CORRECT, within(question.seconds, judged), part.points)
    except NotAttempted:
        return verdict(NOT_ATTEMPTED, "the answer is still empty.")
    except NotYet as error:
        return verdict(NOT_YET, str(error))
    except Exception as error:
        return verdict(NOT_YET, f"the check could not read this answer ({type(error).__name__}).")


def _unsteady(callers):
    """A sentence for a function that answers the same question differently each time."""
    try:
        steady = all(caller.steady() for caller in callers)
    except (NotYet, NotAttempted):
        steady = False
    return "" if steady else " It also gave two different answers to the same input."


_shown = Counter()


class Hint:
    """The hints given so far for one question."""

    def __init__(self, question, lines, left):
        self.question, self.lines, self.left = question, lines, left

    def __repr__(self):
        more = f"({self.left} more)" if self.left else "(no more hints)"
        return "\n".join([f"Hints for {self.question}", *self._numbered(), more])

    def _numbered(self):
        return [f"  {k}. {line}" for k, line in enumerate(self.lines, 1)]

    def _repr_html_(self):
        items = "".join(f"<li>{escape(line)}</li>" for line in self.lines)
        more = f"{self.left} more: run the cell again." if self.left else "No more hints."
        return f"<b>Hints for {escape(self.question)}</b><ol>{items}</ol><i>{more}</i>"


def hint(question):
    """One hint more at each call. No hint contains the answer."""
    try:
        found = register.find(question)
    except KeyError as error:
        return Hint(str(question), [error.args[0]], 0)
    _shown[found.id] = min(_shown[found.id] + 1, len(found.hints))
    shown = _shown[found.id]
    return Hint(found.id, list(found.hints[:shown]), len(found.hints) - shown)
