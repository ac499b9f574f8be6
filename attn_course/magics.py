"""A notebook's cell as plain Python: what stands for IPython's magics."""

import ast
import contextlib
import functools
import re
import warnings
from typing import NamedTuple

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook
TIMING_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
# A magic goes to the end of its line, and on where that is a backslash.
MAGIC = r"(?:%%?[A-Za-z]|!)(?:.*\\\n)*.*$"
# What stands for a magic. No two neighbours in a pattern eat the same letters, or a long cell of
# blanks would take for ever.
LINE_MAGICS = {
    re.compile(r"^([ \t]*)%time[ \t]+", re.M): "",
    re.compile(rf"^([ \t]*){MAGIC}", re.M): "pass",
    re.compile(rf"^([ \t]*\w[\w, ]*=[ \t]*){MAGIC}", re.M): "None",
    re.compile(r"^([ \t]*)(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})[ \t]*$", re.M): "pass",
}


def read_python(source: str, name: str = "<cell>") -> tuple[str, ast.Module]:
    """Return a cell without IPython's magics, line for line, and its tree; SyntaxError, ValueError.

    name: of the cell, for what goes wrong in it.
    """
    with contextlib.suppress(SyntaxError, ValueError):
        return source, _tree(source, name)
    text = source.lstrip()
    first, _, rest = text.partition("\n")
    if first.startswith(TIMING_MAGICS):
        return read_python(f"pass\n{rest}", name)
    if first.startswith("%%"):
        return "", ast.Module([], [])
    for pattern, word in LINE_MAGICS.items():
        source = pattern.sub(functools.partial(_instead, word), source)
    return source, _tree(source, name)


def _tree(source, name):
    with warnings.catch_warnings(action="ignore"):
        return compile(source, name, "exec", FLAGS | ast.PyCF_ONLY_AST, True)


def _instead(word: str, magic: re.Match) -> str:
    """What stands for a magic: a word, on as many lines."""
    num_breaks = magic[0].count("\n")
    return magic[1] + word + "\n" * num_breaks


class Parsed(NamedTuple):
    """A cell without its magics: its text, and all nodes of each of its statements."""

    source: str
    statements: list[list[ast.AST]]


@functools.lru_cache(maxsize=4096)
def parsed(source: str) -> Parsed | None:
    """Return what is in a cell, read once; None if it is not Python."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        source, tree = read_python(source)
        return Parsed(source, list(map(_nodes, tree.body)))
    return None


def _nodes(statement):
    """Return a statement and every node below it but those that say how a name is meant."""
    found = [statement]
    for node in found:
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, list):
                found += [item for item in part if isinstance(item, ast.AST)]
            elif isinstance(part, ast.AST) and name != "ctx":
                found.append(part)
    return found
