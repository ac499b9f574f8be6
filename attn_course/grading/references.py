"""The reference answers and rubrics that a person reads beside written answers."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attn_course import register
from attn_course.grading.read_submission import UnreadableFile, read_submission

ABSENT = "the solutions are not on this machine."


@dataclass(frozen=True)
class Reference:
    """What the solution says about one written question, as Markdown."""

    answer: str = ABSENT
    rubric: str = ""


def references(notebooks: Iterable[str], solutions: Path) -> dict[str, Reference]:
    """Return {question: reference} for the questions whose solutions are here."""
    found: dict[str, Reference] = {}
    for name in notebooks:
        with contextlib.suppress(UnreadableFile):
            cells = read_submission(solutions / f"{name}.py").cells
            for question in register.questions_of(name):
                answer = _joined(cells, "written", question.id)
                found[question.id] = Reference(answer, _joined(cells, "rubric", question.id))
    return found


def _joined(cells, role, question_id):
    texts = [cell.source.strip() for cell in cells if cell.marks.get(role) == question_id]
    return "\n\n".join(texts)
