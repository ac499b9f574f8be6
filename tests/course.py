"""What the tests know of the course's files: sources, answers in them, and banks of answers."""

import ast
import contextlib
import importlib
from functools import cache
from pathlib import Path

import jupytext

from attn_course import register
from attn_course.cell_variables import names_of

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
    "07_synthesizer": ("steps = 150", "steps = 3"),
    "08_pretrained_knowledge": (
        "knowledge.Lab(seed=0, **options)",
        "knowledge.Lab(knowledge.Preset(pretrain_steps=20), seed=0, **options)",
    ),
    "09_seq2seq": ("STEPS, BY_HEART = 340, 150", "STEPS, BY_HEART = 4, 4"),
    "10_translation": ('PRESET = "default"', 'PRESET = "tiny"'),
    "11_bleu_comparison": ('PRESET = "default"', 'PRESET = "tiny"'),
    "12_position": (
        "delayed_copy.train(way)",
        "delayed_copy.train(way, setting=delayed_copy.CopySetting(steps=3))",
    ),
}
_SLOW = ("plots.", "check(", "train", "contest(", ".fit(", "Trainer(", "display(", "print(")


def all_parts(notebook):
    """Every part of every question of a notebook, in order."""
    return [part for question in register.questions_of(notebook) for part in question.parts]


def machine_points(notebook):
    """What the judges give for a notebook in which all is right."""
    return sum(part.points for part in all_parts(notebook) if part.judge)


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
    notebook = jupytext.read(ROOT / folder / f"{name}.py", fmt="py:percent")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kept = [cell for cell in cells if "check" not in cell.metadata]
    statements = [
        (ast.unparse(st), "answer" in cell.metadata)
        for cell in kept
        for st in ast.parse(cell.source).body
    ]
    needed = _needed(statements)
    space = {"__name__": "answers", "display": lambda *things: None}
    for text, is_answer in statements:
        if is_answer:
            exec(text, space)
        elif _is_light(text, needed):
            with contextlib.suppress(Exception):
                exec(text, space)
    return space


def _needed(statements):
    """Names that the answers use, directly or through what gives these names their values."""
    found = {name for text, is_answer in statements if is_answer for name in _used(text)}
    needed = set()
    while found - needed:
        needed |= found
        giving = [text for text, _ in statements if names_of(text).defined & needed]
        found = {name for text in giving for name in _used(text)}
    return needed


def _used(text):
    return names_of(text).used | names_of(text).used_later


def _is_light(text, needed):
    """Imports, functions and classes, and quick assignments of what is needed."""
    if text.startswith(("import ", "from ", "def ", "class ", "@")):
        return True
    return bool(names_of(text).defined & needed) and not any(word in text for word in _SLOW)
