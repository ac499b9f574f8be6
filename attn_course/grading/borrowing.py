"""Knows, from the text of cells alone, when an answer is code of the course itself; judges nothing."""

import ast
import contextlib

from attn_course.grading.magics import python_source
from attn_course.grading.matching import is_check

OURS, JUDGES = ("attn_utils.", "attn_course."), "attn_course.questions."


def borrowed(cells, answers):
    """Return {answer: the objects of the course to which its definition comes down}, if any.

    An object counts if it has the very name that is asked for, or if it is a judge's, be it in a
    helper of the answer.
    """
    known, uses = {}, {}  # name: where it was imported from; name: what its definition mentions
    for statement in _statements(cells):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            new = _imports(statement, answers)
            known |= new
            uses |= {name: {path} for name, path in new.items()}
            continue
        nodes = [n for n in ast.walk(statement) if isinstance(n, ast.Name | ast.Attribute)]
        mentioned = {_path(node, known) for node in nodes}
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        judges = {path for name in names & uses.keys() for path in uses[name] if _ours(path)}
        for name in _defined(statement):
            known[name] = _path(getattr(statement, "value", None), known)
            uses[name] = mentioned | judges
    found = {name: {path for path in uses.get(name, ()) if _ours(path, name)} for name in answers}
    return {name: sorted(paths) for name, paths in found.items() if paths}


def _ours(path, name=None):
    return path.startswith(JUDGES) or (path.startswith(OURS) and path.endswith(f".{name}"))


def _statements(cells):
    for cell in cells:
        if cell.kind == "code" and not is_check(cell):
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                yield from ast.parse(python_source(cell.source)).body


def _defined(statement):
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    if isinstance(statement, definitions):
        return {statement.name}
    nodes = list(ast.walk(statement))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {node.name for node in nodes if isinstance(node, definitions)}


def _imports(statement, answers):
    """Return {name: the dotted path it stands for}; `*` may stand for any of the answers."""
    module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    names = [(a.name, a.asname or a.name) for a in statement.names if a.name != "*"]
    if len(names) < len(statement.names):
        names = zip(answers, answers, strict=True)
    if not module:  # `import a.b` gives the name a, `import a.b as c` gives c
        names = [(a, b) if a != b else (a.partition(".")[0],) * 2 for a, b in names]
    return {name: module + path for path, name in names}


def _path(node, known):
    """Return the dotted path of an expression such as `layers.attend`; "" if it is none."""
    names = []
    while isinstance(node, ast.Attribute) and len(names) < 9:
        names.append(node.attr)
        node = node.value
    above = known.get(node.id) if isinstance(node, ast.Name) else ""
    return ".".join([above, *reversed(names)]) if above else ""
