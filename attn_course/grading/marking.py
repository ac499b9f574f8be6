"""Knows how one submission becomes a record of verdicts, by the judges that `check` uses."""

import zlib
from dataclasses import asdict, replace

import numpy as np

from attn_course import register
from attn_course.checking import judge
from attn_course.grading import matching
from attn_course.grading.borrowing import borrowed
from attn_course.grading.reading import Unreadable, read_submission
from attn_course.grading.session import Session, one_line
from attn_course.verdict import CORRECT, NOT_ATTEMPTED

WAITING = "awaits a person"
PATIENCE = 3  # times the seconds that `check` allows: a busy machine must cost nobody a point


def mark(file, *, seed, zygote, limits, everything=False):
    """Return the record of one file: plain data, with a sentence in `problem` if it has no grade.

    seed: secret of the batch; None draws the inputs that `check` draws in the notebook.
    """
    record = blank(file)
    try:
        if file.problem:
            raise Unreadable(file.problem)
        submission = read_submission(file.path)
    except Unreadable as error:
        return {**record, "problem": str(error), "remarks": list(file.remarks)}
    questions = register.questions_of(file.notebook)
    cells = matching.cells_to_run(submission.cells, questions, everything)
    with Session(zygote, cells, limits) as session:
        for question in questions:
            for part in question.parts:
                rng = random_numbers(seed, file.student, question.id, part.kind)
                record["parts"].append(_marked(session, submission.cells, question, part, rng))
    stopped = [f"cell {number}: {text}" for number, text in sorted(session.errors.items())]
    lent = [*_lent(submission.cells, questions, record["parts"])]
    remarks = [*file.remarks, *submission.remarks, *lent, *stopped]
    return {**record, "problem": "", "remarks": remarks, "cpu": round(session.cpu, 3)}


def _lent(cells, questions, verdicts):
    """Yield a remark on each right answer that is the course's own code, for a person to weigh."""
    if not any(verdict["status"] == CORRECT for verdict in verdicts):
        return
    parts = [(question.id, part) for question in questions for part in question.parts]
    lent = borrowed(cells, [name for _, part in parts for name in part.answers])
    for (number, part), verdict in zip(parts, verdicts, strict=True):
        paths = [path for name in part.answers for path in lent.get(name, ())]
        if paths and verdict["status"] == CORRECT:
            yield f"{number}: the answer hands over {' and '.join(paths)}."


def blank(file):
    """Return the record of a file of which nothing is known yet."""
    record = {"student": file.student, "notebook": file.notebook, "file": file.name}
    return {**record, "stamp": file.stamp, "parts": []}


def random_numbers(seed, student, question_id, kind):
    """Return the generator for one verdict: its own, so that no order of work changes it."""
    if seed is None:
        return np.random.default_rng(zlib.crc32(question_id.encode()))
    return np.random.default_rng([seed, *map(ord, f"{student}/{question_id}/{kind}")])


def _marked(session, cells, question, part, rng):
    found = matching.cells_of(cells, question, part)
    text = matching.text_of(found, question)
    if part.judge:
        question = replace(question, seconds=PATIENCE * question.seconds)
        verdict = judge(question, part, rng, session.answers(part.answers, question.seconds))
        verdict = {**asdict(verdict), "message": _message(verdict, found)}
    else:
        status, message = (WAITING, "a person reads this.") if text else (NOT_ATTEMPTED, "")
        message = message or "the answer is still empty."
        verdict = {"question": question.id, "status": status, "message": message}
        verdict |= {"points": 0, "out_of": part.points}
    return {**verdict, "kind": part.kind, "answer": text}


def _message(verdict, found):
    """Return what to tell about a verdict, where an empty answer has a cause to be told."""
    if verdict.status == NOT_ATTEMPTED and not found:
        return "its cell is gone, and nothing has the name that the question asks for."
    other = [cell for cell in found if cell.kind != "code"]
    if verdict.status == NOT_ATTEMPTED and other:
        return f"its cell {other[0].number} is a {other[0].kind} cell, which does not run."
    return one_line(verdict.message)
