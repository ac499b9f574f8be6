"""A notebook's cell as plain Python: what stands for IPython's magics. Runs nothing, knows no question."""

import ast
import contextlib
import functools
import re
import warnings

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook
TIMING_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
MAGIC = (
    r"(?:%%?[A-Za-z]|!)(?:.*\\\n)*.*$"  # to the end of its line, and on where that is a backslash
)
# What stands for a magic. No two neighbours in a pattern eat the same letters, or a long cell of
# blanks would take for ever.
LINE_MAGICS = {
    re.compile(r"^([ \t]*)%time[ \t]+", re.M): "",
    re.compile(rf"^([ \t]*){MAGIC}", re.M): "pass",
    re.compile(rf"^([ \t]*\w[\w, ]*=[ \t]*){MAGIC}", re.M): "None",
    re.compile(r"^([ \t]*)(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})[ \t]*$", re.M): "pass",
}


def python_source(source: str) -> str:
    """Return `source` without IPython's magics, line for line, if it is not Python as it stands."""
    with contextlib.suppress(SyntaxError, ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(source, "<cell>", "exec", FLAGS, True)
        return source
    text = source.lstrip()
    first, _, rest = text.partition("\n")
    if first.startswith(TIMING_MAGICS):
        return python_source(f"pass\n{rest}")
    if first.startswith("%%"):
        return ""
    for pattern, word in LINE_MAGICS.items():
        instead = functools.partial(_instead, word)
        source = pattern.sub(instead, source)
    return source


def _instead(word: str, magic: re.Match) -> str:
    """What stands for a magic: a word, on as many lines."""
    num_breaks = magic[0].count("\n")
    return magic[1] + word + "\n" * num_breaks


@functools.lru_cache(maxsize=4096)
def parsed(source: str) -> tuple[str, ast.Module] | None:
    """Return (source, tree) of a cell without its magics, read once; None if it is not Python."""
    unreadable = (SyntaxError, ValueError, RecursionError, MemoryError)
    with contextlib.suppress(*unreadable), warnings.catch_warnings(action="ignore"):
        source = python_source(source)
        tree = ast.parse(source)
        return source, tree
    return None
