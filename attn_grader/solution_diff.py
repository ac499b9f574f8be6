"""How a submission's answers differ from the solution's, as text and side by side."""

import difflib
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from attn_course import register
from attn_course.markers import BEGIN, END
from attn_grader.notebook import cells_of, read_submission, text_of
from attn_grader.references import references
from attn_grader.render import render

MARKERS = re.compile(rf"^ *({BEGIN}|{END})\n?", re.M)
SAME = "every answer is the solution's, letter for letter.\n"


@dataclass(frozen=True)
class Pair:
    """One part of a question: what the student wrote, and what the solution says."""

    title: str
    theirs: str
    ours: str


def answer_pairs(path: Path, notebook: str, solution: Path) -> Iterator[Pair]:
    """Yield a pair for every part of a notebook's questions."""
    theirs = read_submission(path).cells
    ours = read_submission(solution).cells
    written = references([notebook])
    for question in register.questions_of(notebook):
        for part in question.parts:
            left = text_of(cells_of(theirs, question, part), question)
            right = text_of(cells_of(ours, question, part), question)
            if part.kind == "written":
                right = written[question.id].answer
            title = f"{question.id} {question.title} ({part.kind})"
            yield Pair(title, left, MARKERS.sub("", right).strip())


def as_text(pairs: list[Pair], *, colour: bool) -> str:
    """Return nbdime's account of two notebooks that hold nothing but the answers."""
    from nbdime import diff_notebooks
    from nbdime.prettyprint import PrettyPrintConfig, pretty_print_notebook_diff

    ours = _notebook([pair.ours for pair in pairs])
    theirs = _notebook([pair.theirs for pair in pairs])
    printed = io.StringIO()
    config = PrettyPrintConfig(out=printed, use_color=colour, use_git=False, use_diff=False)
    changes = diff_notebooks(ours, theirs)
    pretty_print_notebook_diff("solution", "submission", ours, changes, config)
    text = printed.getvalue()
    for number, pair in enumerate(pairs):
        text = text.replace(f"/cells/{number}/source:", f"{pair.title}:")
    return text or SAME


def _notebook(sources):
    from nbformat.v4 import new_code_cell, new_notebook

    cells = [new_code_cell(source, id=f"answer-{k}") for k, source in enumerate(sources)]
    return new_notebook(cells=cells)


def as_page(title: str, pairs: list[Pair]) -> str:
    """Return a page with each answer on the left and the solution's on the right, line by line."""
    answers = [(pair.title, side_by_side(pair)) for pair in pairs]
    heading = f"{title} beside the solution"
    return render("difference.html", heading, answers=answers, tiers=Counter())


def side_by_side(pair: Pair) -> Iterator[tuple[str, str, bool]]:
    """Yield (theirs, ours, whether they differ) line by line; "" where one side has no such line."""
    left = pair.theirs.splitlines()
    right = pair.ours.splitlines()
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        lines = zip_longest(left[start:end], right[other_start:other_end], fillvalue="")
        for one, other in lines:
            yield one, other, kind != "equal"
