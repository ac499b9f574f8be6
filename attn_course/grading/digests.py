"""Short names for what a grade was given for: an answer, a judge, a rubric."""

import hashlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("attn_utils", "attn_course")
LENGTH = 16
IMPORT = re.compile(r"^[ \t]*import ([\w., ]+)", re.M)
FROM_IMPORT = re.compile(r"^[ \t]*from ([\w.]+) import (\([^)]*\)|.*)", re.M)
NAME = re.compile(r"\w+")


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
    name = notebook[3:]
    waiting = [ROOT / "attn_course" / "questions" / f"{name}.py"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = path.read_text("utf-8")
            waiting += _imported(path)
    texts = [found[path] for path in sorted(found)]
    return digest(*texts)


@cache
def _imported(path):
    """The files of ours that a file names in its imports; our own code has them in plain lines."""
    text = path.read_text("utf-8")
    names = []
    for line in IMPORT.findall(text):
        names += line.split(", ")
    for module, things in FROM_IMPORT.findall(text):
        names += [f"{module}.{thing}" for thing in NAME.findall(things)]
    places = []
    for name in names:
        package, *_ = name.split(".")
        place = _place(name) if package in PACKAGES else None
        if place:
            places.append(place)
    return places


def _place(name):
    """The file that a dotted name is in: a module, or the one that holds something of that name."""
    parts = name.split(".")
    for inside in (parts, parts[:-1]):
        stem = ROOT.joinpath(*inside)
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path
    return None
