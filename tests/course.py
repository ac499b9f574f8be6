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
    "07_synthesizer": ("steps = 150", "steps = 3"),
    "08_pretrained_knowledge": (
        "knowledge.Lab(seed=0, **options)",
        "knowledge.Lab(knowledge.Preset(pretrain_steps=20), seed=0, **options)",
    ),
    "09_translation": ('PRESET = "default"', 'PRESET = "tiny"'),
    "10_bleu_comparison": ('PRESET = "default"', 'PRESET = "tiny"'),
    "11_position": (
        "delayed_copy.train(way)",
        "delayed_copy.train(way, setting=delayed_copy.Setting(steps=3))",
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
        (st, "answer" in cell.metadata) for cell in kept for st in ast.parse(cell.source).body
    ]
    needed = _needed(statements)
    space = {"__name__": "answers", "display": lambda *things: None}
    for statement, is_answer in statements:
        if is_answer or _is_light(statement, needed):
            _run(statement, space, may_fail=not is_answer)
    return space


def _needed(statements):
    """Names that the answers use, directly or through what gives these names their values."""
    found = {name for statement, is_answer in statements if is_answer for name in _used(statement)}
    needed = set()
    while found - needed:
        needed |= found
        giving = [statement for statement, _ in statements if _given(statement) & needed]
        found = {name for statement in giving for name in _used(statement)}
    return needed


def _names(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _used(statement):
    """Names that a statement takes from elsewhere; of a function or class, no arguments and no locals."""
    used = _names(statement)
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        inside = list(ast.walk(statement))
        used -= {node.arg for node in inside if isinstance(node, ast.arg)}
        names = [node for node in inside if isinstance(node, ast.Name)]
        used -= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return used


def _given(statement):
    """Names that a statement gives a value, or changes by an index."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {name for target in targets for name in _names(target)}


def _is_light(statement, needed):
    """Imports, functions and classes, and quick assignments of what is needed."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
        return True
    text = ast.unparse(statement)
    return bool(_given(statement) & needed) and not any(word in text for word in _SLOW)


def _run(statement, space, may_fail):
    try:
        exec(compile(ast.unparse(statement), "<cell>", "exec"), space)
    except Exception:
        if not may_fail:
            raise
