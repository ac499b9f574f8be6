"""Sees, in the text of cells, when an answer hands over what it should have made. Judges nothing."""

import ast
from collections import defaultdict

from attn_course.grading.find_cells import is_check
from attn_course.grading.magics import parsed

OURS = ("attn_utils.", "attn_course.")
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Answers that a library has ready under another name than the one that is asked for.
LENDERS = {
    "bleu": ("sacrebleu.",),
    "paired_bootstrap": ("attn_course.translation.scoring.bootstrap",),
}


def borrowed(cells, answers):
    """Return {answer: the objects to which its definition comes down}, if there are any.

    An object counts if it is the course's and has the very name that is asked for, or if it comes
    from a library that has the answer ready; also where a helper of the answer uses it.
    """
    text = Text(cells, answers)
    found = {name: {path for path in text.behind(name) if _lent(path, name)} for name in answers}
    return {name: sorted(paths) for name, paths in found.items() if paths}


def _lent(path, name):
    own = path.startswith(OURS) and path.endswith(f".{name}")
    return own or path.startswith(LENDERS.get(name, ()))


class Text:
    """What the statements of a notebook import and define, and what each definition mentions."""

    def __init__(self, cells, answers):
        self.answers = answers
        self.imported = {}  # name: the dotted path it stands for
        self.mentions = defaultdict(set)  # name: names of the notebook, and imported paths
        for statement in _statements(cells):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self._import(statement)
            else:
                self._define(statement)

    def behind(self, name):
        """Return the imported paths that a name comes down to, by way of any number of others."""
        seen = {name}
        left = [name]
        while left:
            name = left.pop()
            new = self.mentions.get(name, {self.imported.get(name, "")}) - seen
            seen |= new
            left += new
        return seen

    def _import(self, statement):
        """Note what each name stands for; `*` may stand for any of the answers."""
        module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            if alias.name == "*":
                new = {name: module + name for name in self.answers}
            elif module or alias.asname:
                new = {alias.asname or alias.name: module + alias.name}
            else:  # `import a.b` gives the name a
                top = alias.name.partition(".")[0]
                new = {top: top}
            self.imported |= new
            for name in new:
                self.mentions.pop(name, None)

    def _define(self, statement):
        nodes = list(ast.walk(statement))
        paths = {self._path(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}
        paths -= _local(statement, nodes)
        alias = self._path(getattr(statement, "value", None))
        for name in _defined(statement, nodes):
            self.imported.pop(name, None)
            self.mentions[name] = paths
            if "." in alias:
                self.imported[name] = alias

    def _path(self, node):
        """Return what an expression such as `layers.attend` stands for; "" if it is no such thing."""
        names = []
        while isinstance(node, ast.Attribute) and len(names) < 9:
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        above = self.imported.get(node.id)
        return ".".join([above, *reversed(names)]) if above else node.id


def _statements(cells):
    for cell in cells:
        counts = cell.kind == "code" and not is_check(cell)
        if counts and (found := parsed(cell.source)):
            yield from found[1].body


def _defined(statement, nodes):
    """Return the names that a statement gives to the notebook."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    return _stored(nodes) | {node.name for node in nodes if isinstance(node, DEFINITIONS)}


def _local(statement, nodes):
    """Return the names that a definition keeps to itself: its arguments and variables."""
    if not isinstance(statement, DEFINITIONS):
        return set()
    return _stored(nodes) | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _stored(nodes):
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
