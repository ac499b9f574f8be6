"""Notebooks run to their end with every right answer on record: pictures take each form a judge accepts."""

import contextlib
import io
from functools import cache

import jupytext
import pytest
from course import JUDGED, ROOT
from seed_stability import on_record

from attn_course.experiments import associative_recall, attention_sink, induction


@pytest.fixture(autouse=True)
def _each_model_is_trained_once(monkeypatch):
    monkeypatch.setenv("ATTN_FIGURES", "still")
    for module in (associative_recall, attention_sink, induction):
        monkeypatch.setattr(module, "train", cache(module.train))


def right_answers(name):
    """{part: [answers, ...]} of the code questions whose functions a notebook calls after their check."""
    cells = code_cells(name)
    later = "".join(cell.source for cell in cells if not {"answer", "check"} & set(cell.metadata))
    return {
        f"{question.id} {part.kind}": [
            dict(zip(part.answers, answers, strict=True))
            for _, answers, status in on_record(question, part)
            if status == "correct"
        ]
        for question, part in JUDGED
        if question.notebook == name and part.kind == "code"
        if any(f"{function}(" in later for function in part.answers)
    }


def code_cells(name):
    notebook = jupytext.read(ROOT / "solutions" / f"{name}.py", fmt="py:percent")
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run_with(name, answers):
    """Run the cells of a solution; after the cell of an answer, its names stand for others."""
    space = {"__name__": "__main__", "display": lambda *things: None}
    for cell in code_cells(name):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(cell.source, f"<cell {name}>", "exec"), space)
        marker = cell.metadata.get("answer", "")
        space |= answers.get(marker, {}) | answers.get(f"{marker} code", {})


@pytest.mark.parametrize("name", ["01_copying", "02_average_of_two", "14_induction", "15_decoding"])
def test_a_notebook_runs_with_every_right_answer(name):
    right = right_answers(name)
    for turn in range(max(map(len, right.values()))):
        run_with(name, {part: forms[turn % len(forms)] for part, forms in right.items()})
