"""Knows how a submission's answers differ from the solution's, as text and side by side."""

import difflib
import io
import re
from html import escape

from attn_course import register
from attn_course.grading import find_cells
from attn_course.grading.page import page
from attn_course.grading.read_submission import read_submission
from attn_course.grading.report import reference
from attn_course.markers import BEGIN, END


def answer_pairs(path, notebook, solutions):
    """Yield (title, student's text, solution's text) for every part of a notebook's questions."""
    theirs = read_submission(path).cells
    ours = read_submission(solutions / f"{notebook}.py").cells
    for question in register.questions_of(notebook):
        for part in question.parts:
            right = find_cells.text_of(find_cells.cells_of(ours, question, part), question)
            if part.kind == "written":
                right = reference(solutions / f"{notebook}.py", question.id)[0]
            right = re.sub(rf"^ *({BEGIN}|{END})\n?", "", right, flags=re.M).strip()
            left = find_cells.text_of(find_cells.cells_of(theirs, question, part), question)
            yield f"{question.id} {question.title} ({part.kind})", left, right


def as_text(pairs, *, colour):
    """Return nbdime's account of two notebooks that hold nothing but the answers."""
    from nbdime import diff_notebooks
    from nbdime.prettyprint import PrettyPrintConfig, pretty_print_notebook_diff

    ours, theirs = _notebook(pairs, 2), _notebook(pairs, 1)
    config = PrettyPrintConfig(out=io.StringIO(), use_color=colour, use_git=False, use_diff=False)
    changes = diff_notebooks(ours, theirs)
    pretty_print_notebook_diff("solution", "submission", ours, changes, config)
    text = config.out.getvalue()
    for number, (title, _, _) in enumerate(pairs):
        text = text.replace(f"/cells/{number}/source:", f"{title}:")
    return text or "every answer is the solution's, letter for letter.\n"


def _notebook(pairs, side):
    from nbformat.v4 import new_code_cell, new_notebook

    cells = [new_code_cell(pair[side], id=f"answer-{number}") for number, pair in enumerate(pairs)]
    return new_notebook(cells=cells)


def as_page(title, pairs):
    """Return a page with each answer on the left and the solution's on the right, line by line."""
    body = [
        f'<h2>{escape(name)}</h2><table class="diff"><thead><tr><th>submission</th>'
        f"<th>solution</th></tr></thead><tbody>{''.join(_rows(left, right))}</tbody></table>"
        for name, left, right in pairs
    ]
    return page(f"{title} beside the solution", "\n".join(body))


def _rows(left, right):
    left, right = left.splitlines(), right.splitlines()
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        for k in range(max(b - a, d - c)):
            one = left[a + k] if a + k < b else ""
            two = right[c + k] if c + k < d else ""
            marks = ("", "") if kind == "equal" else ("gone" if one else "", "new" if two else "")
            cells = zip(marks, (one, two), strict=True)
            shown = (f'<td class="{mark}">{escape(line)}</td>' for mark, line in cells)
            yield f"<tr>{''.join(shown)}</tr>"
