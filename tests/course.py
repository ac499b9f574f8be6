"""What the tests know of the course's files: sources, answers in them, and banks of answers."""

import ast
import importlib
from functools import cache
from pathlib import Path

import jupytext

from attn_course import register

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))
WRITTEN = [path.stem for path in SOURCES]
JUDGED = [
    (question, part)
    for name in WRITTEN
    for question in register.questions_of(name)
    for part in question.parts
    if part.judge
]
# Experiments that may be cut short where only their end matters: the text of the notebook, and what runs.
SHORTER = {
    "07_synthesizer": ("task, steps=150)", "task, steps=3)"),
    "09_translation": ('PRESET = "default"', 'PRESET = "tiny"'),
    "10_bleu_comparison": ('PRESET = "default"', 'PRESET = "tiny"'),
    "11_position": (
        "say_back.train(way)",
        "say_back.train(way, setting=say_back.Setting(steps=3))",
    ),
}
_SLOW = ("plots.", "check(", "train", ".fit(", "Trainer(", "display(", "print(")


def bank(question, kind):
    """The RIGHT or WRONG answers on record for a question, as name -> entry."""
    module = importlib.import_module(f"bank.{question.notebook[3:]}")
    return getattr(module, kind).get(question.id, {})


def shortened(name, sources):
    """The cells of a notebook with its experiment cut short, which must stand in exactly one of them."""
    if name not in SHORTER:
        return list(sources)
    text, short = SHORTER[name]
    count = sum(source.count(text) for source in sources)
    assert count == 1, f"{name} holds {text!r} {count} times"
    return [source.replace(text, short) for source in sources]


def answers_in(folder, name):
    """The names a notebook's answer cells define, with only the light cells before them run."""
    return dict(_answers_in(folder, name))


@cache
def _answers_in(folder, name):
    space = {"__name__": "answers", "display": lambda *things: None}
    for cell in jupytext.read(ROOT / folder / f"{name}.py", fmt="py:percent").cells:
        if cell.cell_type == "code" and "check" not in cell.metadata:
            _run(cell.source, space, everything="answer" in cell.metadata)
    return space


def _run(source, space, everything):
    for statement in ast.parse(source).body:
        text = ast.unparse(statement)
        light = isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
        light |= isinstance(statement, ast.Assign) and not any(word in text for word in _SLOW)
        if everything or light:
            try:
                exec(compile(text, "<cell>", "exec"), space)
            except Exception:
                if everything:
                    raise
