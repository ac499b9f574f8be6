"""Read a notebook's cell as plain Python, with other text in place of IPython's magics."""

import ast
import contextlib
import functools
import re
import warnings
from typing import NamedTuple

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook
PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
# A magic goes to the end of its line, and on where that is a backslash.
MAGIC = r"(?:%%?[A-Za-z]|!)(?:.*\\\n)*.*$"
# The text in place of a magic. No two neighbours in a pattern eat the same letters, or a long cell of
# blanks would take for ever.
LINE_MAGICS = {
    re.compile(r"^([ \t]*)%time[ \t]+", re.M): "",
    re.compile(rf"^([ \t]*){MAGIC}", re.M): "pass",
    re.compile(rf"^([ \t]*\w[\w, ]*=[ \t]*){MAGIC}", re.M): "None",
    re.compile(r"^([ \t]*)(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})[ \t]*$", re.M): "pass",
}


def read_python(source: str, name: str = "<cell>") -> tuple[str, ast.Module]:
    """Return a cell without IPython's magics, line for line, and its syntax tree.

    name: the file name in messages. Raises SyntaxError or ValueError if the cell is not Python.
    """
    with contextlib.suppress(SyntaxError, ValueError):
        return source, _tree(source, name)
    text = source.lstrip()
    first, _, rest = text.partition("\n")
    if first.startswith("%%"):
        try:
            return read_python(f"pass\n{rest}", name)
        except (SyntaxError, ValueError):
            if first.startswith(PYTHON_MAGICS):
                raise
            return "", ast.Module([], [])  # a shell, HTML or another language
    for pattern, word in LINE_MAGICS.items():
        source = pattern.sub(functools.partial(_instead, word), source)
    return source, _tree(source, name)


def _tree(source, name):
    with warnings.catch_warnings(action="ignore"):
        return compile(source, name, "exec", FLAGS | ast.PyCF_ONLY_AST, True)


def _instead(word: str, magic: re.Match) -> str:
    """Return the text in place of a magic: a word, followed by as many line breaks as the magic has."""
    num_breaks = magic[0].count("\n")
    return magic[1] + word + "\n" * num_breaks


class Parsed(NamedTuple):
    """A cell without its magics. statements: all nodes of each statement."""

    source: str
    statements: list[list[ast.AST]]


@functools.lru_cache(maxsize=4096)
def parsed(source: str) -> Parsed | None:
    """Return the parsed cell, from a cache; None if it is not Python."""
    with contextlib.suppress(Exception):  # of the compiler, on the text of a stranger
        source, tree = read_python(source)
        return Parsed(source, list(map(_nodes, tree.body)))
    return None


def _nodes(statement):
    """Return a statement and every node below it, without the contexts of names (load or store)."""
    nodes = [statement]
    for node in nodes:
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, list):
                nodes += [item for item in part if isinstance(item, ast.AST)]
            elif isinstance(part, ast.AST) and name != "ctx":
                nodes.append(part)
    return nodes
