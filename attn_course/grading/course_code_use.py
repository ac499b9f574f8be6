"""Sees, in the text of cells, when an answer hands over what it should have made."""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from attn_course.cell_variables import ANYTHING, names_of
from attn_course.grading.find_cells import is_check
from attn_course.grading.read_submission import Cell
from attn_course.magics import parsed

DEEPEST = 9  # attributes in a row that are followed
Mention = tuple[str, str]  # `layers.attend` is ("layers", ".attend")
OURS = ("attn_utils.", "attn_course.")
# Answers that a library has ready under another name than the one that is asked for.
READY_MADE = {
    "bleu": (
        "sacrebleu.",
        "attn_course.translation.bleu_of_counts",
        "attn_course.translation.scoring.",
    ),
    "paired_bootstrap": ("attn_course.translation.scoring.bootstrap",),
}


def reused_objects(cells: Iterable[Cell], answers: Iterable[str]) -> dict[str, list[str]]:
    """Return {answer: the objects to which its definition comes down}, if there are any.

    An object counts if it is the course's and has the very name that is asked for, or if it comes
    from a library that has the answer ready; also where a helper of the answer uses it.
    """
    answers = list(answers)
    text = Text(cells, answers)
    found = {}
    for name in answers:
        ready_made = READY_MADE.get(name, ())
        paths = []
        for path in text.behind(name):
            is_ours = path.startswith(OURS) and path.endswith((f".{name}", ".*"))
            if is_ours or path.startswith(ready_made):
                paths.append(path)
        if paths:
            found[name] = sorted(paths)
    return found


@dataclass
class Statement:
    """What a statement imports, or defines and mentions."""

    defined: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)  # name, or "*": what it stands for
    mentions: set[Mention] = field(default_factory=set)
    alias: Mention | None = None  # of an assignment, if its value is a mention


@functools.lru_cache(maxsize=4096)
def statements_of(source: str) -> tuple[Statement, ...]:
    """Return the statements of a cell, read once; none if it is not Python."""
    cell = parsed(source)
    names = names_of(source)
    return tuple(_statement(nodes, names) for nodes in cell.statements) if cell else ()


def _statement(nodes, names):
    """What the statement of these nodes does; names: those of its cell."""
    first = nodes[0]
    imports = {}
    if isinstance(first, ast.ImportFrom):
        for alias in first.names:
            imports[alias.asname or alias.name] = f"{first.module}.{alias.name}"
    elif isinstance(first, ast.Import):
        for alias in first.names:
            top = alias.name.partition(".")[0]  # `import a.b` gives the name a
            imports[alias.asname or top] = alias.name if alias.asname else top
    if imports:
        return Statement(imports=imports)
    used = names.used | names.used_later
    mentions = {_mention(node) for node in nodes} - {None}
    return Statement(
        defined=names.defined & set(map(_defined, nodes)),
        mentions={mention for mention in mentions if mention[0] in used},
        alias=_mention(getattr(first, "value", None)),
    )


def _defined(node):
    """The name to which a function, class or assignment gives a meaning; None if the node is none."""
    if not isinstance(getattr(node, "ctx", None), ast.Store):
        return getattr(node, "name", None)
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return getattr(node, "id", None)


def _mention(node):
    """An expression such as `layers.attend` as a Mention; None if it is no such thing."""
    attributes = ""
    for _ in range(DEEPEST):
        if not isinstance(node, ast.Attribute):
            break
        attributes = f".{node.attr}{attributes}"
        node = node.value
    return (node.id, attributes) if isinstance(node, ast.Name) else None


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
                    if statement.imports:
                        self._import(statement)
                    else:
                        self._define(statement)

    def behind(self, name: str) -> set[str]:
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
        """Note what each name stands for; `*` may stand for any answer that is not defined above it."""
        for name, path in statement.imports.items():
            names = [name]
            if name == ANYTHING:
                names = [answer for answer in self.answers if answer not in self.mentions]
            for known in names:
                self.imported[known] = path
                self.mentions.pop(known, None)

    def _define(self, statement):
        paths = {self._path(*mention) for mention in statement.mentions}
        alias = self._path(*statement.alias) if statement.alias else ""
        for name in statement.defined:
            self.imported.pop(name, None)
            self.mentions[name] = paths
            if "." in alias:
                self.imported[name] = alias

    def _path(self, name, attributes):
        """Return what an expression such as `layers.attend` stands for."""
        above = self.imported.get(name)
        return f"{above}{attributes}" if above else name
