"""Sees, in the text of cells, when an answer hands over what it should have made."""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from attn_course.grading.find_cells import is_check
from attn_course.grading.magics import parsed
from attn_course.grading.read_submission import Cell

OURS = ("attn_utils.", "attn_course.")
DEEPEST = 9  # attributes in a row that are followed
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Answers that a library has ready under another name than the one that is asked for.
LENDERS = {
    "bleu": (
        "sacrebleu.",
        "attn_course.translation.bleu_of_counts",
        "attn_course.translation.scoring.",
    ),
    "paired_bootstrap": ("attn_course.translation.scoring.bootstrap",),
}


def borrowed(cells: Iterable[Cell], answers: Iterable[str]) -> dict[str, list[str]]:
    """Return {answer: the objects to which its definition comes down}, if there are any.

    An object counts if it is the course's and has the very name that is asked for, or if it comes
    from a library that has the answer ready; also where a helper of the answer uses it.
    """
    answers = list(answers)
    text = Text(cells, answers)
    found = {}
    for name in answers:
        paths = [path for path in text.behind(name) if _lent(path, name)]
        if paths:
            found[name] = sorted(paths)
    return found


def _lent(path, name):
    own = path.startswith(OURS) and path.endswith((f".{name}", ".*"))
    return own or path.startswith(LENDERS.get(name, ()))


class Text:
    """What the statements of a notebook import and define, and what each definition mentions."""

    def __init__(self, cells: Iterable[Cell], answers: Iterable[str]) -> None:
        self.answers = list(answers)
        self.imported: dict[str, str] = {}  # name: the dotted path it stands for
        # name: names of the notebook, and imported paths
        self.mentions: defaultdict[str, set[str]] = defaultdict(set)
        for cell in cells:
            if cell.kind == "code" and not is_check(cell):
                for statement in statements_of(cell.source):
                    self._read(statement)

    def behind(self, name: str) -> set[str]:
        """Return the imported paths that a name comes down to, by way of any number of others."""
        seen = {name}
        left = [name]
        while left:
            name = left.pop()
            path = self.imported.get(name, "")
            mentioned = self.mentions.get(name, {path})
            new = mentioned - seen
            seen |= new
            left += new
        return seen

    def _read(self, statement):
        if isinstance(statement, Import):
            self._import(statement)
        else:
            self._define(statement)

    def _import(self, statement):
        """Note what each name stands for; `*` may stand for any answer that is not defined above it."""
        for name, path in statement.names.items():
            if name == "*":
                new = {answer: path for answer in self.answers if answer not in self.mentions}
            else:
                new = {name: path}
            self.imported |= new
            for known in new:
                self.mentions.pop(known, None)

    def _define(self, statement):
        paths = {self._path(*mention) for mention in statement.mentions}
        paths -= statement.local
        alias = self._path(*statement.value) if statement.value else ""
        for name in statement.defined:
            self.imported.pop(name, None)
            self.mentions[name] = paths
            if "." in alias:
                self.imported[name] = alias

    def _path(self, name, attributes):
        """Return what an expression such as `layers.attend` stands for."""
        above = self.imported.get(name)
        return f"{above}{attributes}" if above else name


@dataclass(frozen=True)
class Import:
    """A statement that imports: {name in the notebook, or "*": the dotted path it stands for}."""

    names: dict[str, str]


@dataclass(frozen=True)
class Definition:
    """Any other statement. A mention such as `layers.attend` is ("layers", ".attend")."""

    defined: frozenset[str]
    local: frozenset[str]  # what a definition keeps to itself: its arguments and variables
    mentions: frozenset[tuple[str, str]]
    value: tuple[str, str] | None  # of an assignment, if it is a mention


@functools.lru_cache(maxsize=4096)
def statements_of(source: str) -> tuple[Import | Definition, ...]:
    """Return the statements of a cell, read once; none if it is not Python."""
    found = parsed(source)
    if not found:
        return ()
    return tuple(map(_statement, found.statements))


def _statement(nodes):
    node = nodes[0]
    if isinstance(node, ast.ImportFrom):
        return Import(dict(_imported_from(node)))
    if isinstance(node, ast.Import):
        return Import(dict(map(_imported, node.names)))
    mentions = set()
    stored = set()
    arguments = set()
    inner = set()
    for part in nodes:
        if isinstance(part, ast.Name | ast.Attribute):
            mentions.add(_mention(part))
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            stored.add(part.id)
        elif isinstance(part, ast.arg):
            arguments.add(part.arg)
        elif isinstance(part, DEFINITIONS):
            inner.add(part.name)
    if isinstance(node, DEFINITIONS):
        defined = {node.name}
        local = stored | arguments
    else:
        defined = stored | inner
        local = set()
    return Definition(
        defined=frozenset(defined),
        local=frozenset(local),
        mentions=frozenset(mentions - {None}),
        value=_mention(getattr(node, "value", None)),
    )


def _imported_from(node):
    """Yield (name, path) of what `from a import b, c as d` gives."""
    for alias in node.names:
        name = alias.asname or alias.name
        yield name, f"{node.module}.{alias.name}"


def _imported(alias):
    """(name, path) of `import a.b`, which gives the name a, or of `import a.b as c`."""
    if alias.asname:
        return alias.asname, alias.name
    top = alias.name.partition(".")[0]
    return top, top


def _mention(node):
    """An expression such as `layers.attend` as (name, attributes); None if it is no such thing."""
    attributes = ""
    for _ in range(DEEPEST):
        if not isinstance(node, ast.Attribute):
            break
        attributes = f".{node.attr}{attributes}"
        node = node.value
    return (node.id, attributes) if isinstance(node, ast.Name) else None
