"""The reference answers and rubrics that a person reads beside written answers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from attn_course import register
from attn_course.course_files import solution_source
from attn_grader.notebook import read_submission

HEADING = re.compile(r"^#+ ", re.M)
ABSENT = "the solutions are not on this machine."


@dataclass(frozen=True)
class Reference:
    """What the solution says about one question, as Markdown: its text and, if it is written, the rest."""

    answer: str = ABSENT
    rubric: str = ""
    question: str = ""
    code: str = ""  # of its code part, with the marks of the solution


def references(notebooks: Iterable[str]) -> dict[str, Reference]:
    """Return {question: reference} for the questions whose solutions are here."""
    references: dict[str, Reference] = {}
    for name in notebooks:
        source = solution_source(name)
        if source:
            cells = read_submission(source).cells
            for question in register.questions_of(name):
                references[question.id] = Reference(
                    _joined(cells, "written", question.id),
                    _joined(cells, "rubric", question.id),
                    _question_text(cells, question.id),
                    _joined(cells, "answer", question.id, f"{question.id} code"),
                )
    return references


def _joined(cells, role, *names):
    """Return the text of the cells that have this role for a question, called by one of these names."""
    texts = [cell.source.strip() for cell in cells if cell.marks.get(role) in names]
    return "\n\n".join(texts)


def _question_text(cells, question_id):
    """Return what stands below the heading of a question, up to the first cell that is no text."""
    for number, cell in enumerate(cells):
        if cell.kind != "markdown":
            continue
        _, heading, below = cell.source.partition(f"### {question_id}\n")
        if heading:
            texts = [below]
            for following in cells[number + 1 :]:
                if following.kind != "markdown" or following.marks or "#" in following.source[:1]:
                    break
                texts.append(following.source)
            return HEADING.split("\n\n".join(texts))[0].strip()
    return ""
