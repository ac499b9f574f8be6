"""The reference answers and rubrics that a person reads beside written answers."""

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
    """Return {question: reference} for each question that a person reads."""
    found: dict[str, Reference] = {}
    for name in notebooks:
        ids = [q.id for q in register.questions_of(name) if has_written(q)]
        if ids:
            cells = _cells(solutions / f"{name}.py")
            found |= {question_id: _reference(cells, question_id) for question_id in ids}
    return found


def has_written(question: register.Question) -> bool:
    """Whether a person reads a part of this question."""
    return any(part.kind == "written" for part in question.parts)


def _cells(path):
    try:
        return read_submission(path).cells
    except UnreadableFile:
        return None


def _reference(cells, question_id):
    if cells is None:
        return Reference()
    return Reference(
        answer=_joined(cells, "written", question_id),
        rubric=_joined(cells, "rubric", question_id),
    )


def _joined(cells, role, question_id):
    texts = [cell.source.strip() for cell in cells if cell.marks.get(role) == question_id]
    return "\n\n".join(texts)
