"""Short names for what a grade was given for: an answer, a judge, a rubric. Knows no verdict."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("attn_utils", "attn_course")
LENGTH = 16


def digest(*texts: str) -> str:
    """Return sixteen letters that are others as soon as one of the texts is another."""
    found = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()[:LENGTH]


@cache
def judge_digest(notebook: str) -> str:
    """Return the digest of all our code that judges a notebook, its imports and theirs too."""
    if not notebook:
        return ""
    found: dict[Path, str] = {}
    waiting = [ROOT / "attn_course" / "questions" / f"{notebook[3:]}.py"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = path.read_text("utf-8")
            waiting += _imported(path)
    return digest(*(found[path] for path in sorted(found)))


@cache
def _imported(path):
    tree = ast.parse(path.read_text("utf-8"))
    names = [name for node in ast.walk(tree) for name in _names(node)]
    ours = [name for name in names if name.split(".")[0] in HOUSES]
    return [place for name in ours if (place := _place(name))]


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield f"{node.module}.{alias.name}"


def _place(name):
    """The file that a dotted name is in: a module, or the one that holds something of that name."""
    parts = name.split(".")
    for inside in (parts, parts[:-1]):
        stem = ROOT.joinpath(*inside)
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path
    return None
