"""A student notebook full of wrong answers still runs from top to bottom without an error.

Untouched ones are executed as they are by nbval. Notebook 08 has its own test in tests/test_knowledge.py.
"""

import contextlib
import io
import itertools
import re

import jupytext
import pytest
from course import ROOT, WRITTEN, shortened

import attn_course as course
from attn_course import check

STUB, STEPS = 'raise NotImplementedError("your answer here")', "# your steps here"
WRONG = ("return 0.0", "return None", "return [[1.0], 'x']", "return 1 / 0")


def run_with_wrong_answers(name):
    """What the cells of a student notebook print in one name space; an error in any of them is raised.

    Experiments are cut short: what a wrong answer breaks, it breaks at the first step.
    """
    space = {"__name__": "__main__", "display": lambda *things: None}
    wrong = itertools.cycle(WRONG)
    notebook = jupytext.read(ROOT / "notebooks" / f"{name}.py", fmt="py:percent")
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for source in shortened(name, sources):
            source = source.replace(STEPS, '(0, "a false step"),')
            source = re.sub(re.escape(STUB), lambda _: next(wrong), source)
            exec(compile(source, f"<cell {name}>", "exec"), space)
    return printed.getvalue()


@pytest.mark.parametrize("name", [name for name in WRITTEN if int(name[:2]) not in (8, 10, 11)])
def test_a_notebook_full_of_wrong_answers_runs_to_the_end(name):
    run_with_wrong_answers(name)


@pytest.mark.parametrize("name", [name for name in WRITTEN if int(name[:2]) in (10, 11)])
def test_a_translation_notebook_full_of_wrong_answers_runs_to_the_end(name, monkeypatch):
    """Every check has said that something is wrong."""
    verdicts = []

    def spy(*args):
        verdicts.append(check(*args))
        return verdicts[-1]

    monkeypatch.setattr(course, "check", spy)
    run_with_wrong_answers(name)
    assert verdicts
    assert {verdict.status for verdict in verdicts} == {"not yet"}
    assert all(verdict.message for verdict in verdicts)


def test_notebook_14_prints_no_finding_that_rests_on_a_wrong_answer():
    printed = run_with_wrong_answers("15_decoding")
    assert "all tokens: mean error" in printed  # needs no answer
    assert "window: mean error" not in printed
    assert "tokens back" not in printed
    assert "dimensions spanned" not in printed
