"""Which names a cell gives a meaning, and which it uses or mentions, as far as its text tells."""

import ast
import contextlib
import functools
import re
import symtable
import warnings
from dataclasses import dataclass, field

from attn_course.magics import parsed

ANYTHING = "*"  # what a cell with `from ... import *` defines
DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)
ASSIGNMENT = re.compile(r"^(\w+)[ \t]*(?::[^=\n]{0,99})?=(?!=)", re.M)
COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # they run where they stand
DEEPEST = 9  # attributes in a row that are followed
Mention = tuple[str, str]  # `layers.attend` is ("layers", ".attend")


@dataclass
class Names:
    """The global names of a statement, or of all statements of a cell."""

    defined: set[str] = field(default_factory=set)  # or changed in place
    assigned: set[str] = field(default_factory=set)  # those defined whatever was there before
    used: set[str] = field(default_factory=set)  # at once
    used_later: set[str] = field(default_factory=set)  # in a function
    imported: set[str] = field(default_factory=set)  # some of those defined
    called: set[str] = field(default_factory=set)  # whose methods are called, which may change them
    begun: set[str] = field(default_factory=set)  # at the start of a line, Python or not
    imports: dict[str, str] = field(default_factory=dict)  # name, or "*": what it stands for
    mentions: set[Mention] = field(default_factory=set)
    alias: Mention | None = None  # of an assignment, if its value is a mention

    @property
    def given(self) -> set[str]:
        """The names that it gives a meaning, or would if it were Python."""
        return self.defined | self.begun


def begun(text: str) -> set[str]:
    """Return the names that lines of a text begin to define, Python or not."""
    return {*DEFINITION.findall(text), *ASSIGNMENT.findall(text)}


@functools.lru_cache(maxsize=4096)
def names_of(source: str) -> Names:
    """Return the names of a cell, read once; one that is not Python has `begun` alone."""
    found = Names(begun=begun(source))
    for statement in statements_of(source):
        for name in ("defined", "used", "used_later", "imported", "called"):
            getattr(found, name).update(getattr(statement, name))
    return found


@functools.lru_cache(maxsize=4096)
def statements_of(source: str) -> tuple[Names, ...]:
    """Return the names of each statement of a cell, read once; none if it is not Python."""
    found = parsed(source)
    if not found:
        return ()
    names = []
    for nodes in found.statements:
        with contextlib.suppress(SyntaxError, RecursionError):
            names.append(_statement(nodes))
    return tuple(names)


def _statement(nodes):
    first = nodes[0]
    found = Names()
    with warnings.catch_warnings(action="ignore"):
        table = symtable.symtable(ast.unparse(first), "cell", "exec")
    _read(found, table, found.used)
    for node in nodes:
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                found.defined.add(ANYTHING)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                found.defined |= _root(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                found.called |= _root(method)
            case ast.AugAssign(target=ast.Name(id=name)) if name in found.defined:
                found.used.add(name)
            case ast.For():
                found.used -= _names(node.target) - _names(node.iter)
    if isinstance(first, ast.Assign | ast.FunctionDef | ast.ClassDef):
        found.assigned = found.defined.copy()
    if isinstance(first, ast.ImportFrom):
        for alias in first.names:
            found.imports[alias.asname or alias.name] = f"{first.module}.{alias.name}"
    elif isinstance(first, ast.Import):
        for alias in first.names:
            top = alias.name.partition(".")[0]  # `import a.b` gives the name a
            found.imports[alias.asname or top] = alias.name if alias.asname else top
    else:
        mentions = {_mention(node) for node in nodes} - {None}
        visible = found.used | found.used_later
        found.mentions = {mention for mention in mentions if mention[0] in visible}
        found.alias = _mention(getattr(first, "value", None))
    return found


def _read(found, table, used):
    """Note the names of a scope and of those inside it; used: where those go that it uses."""
    is_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        name = symbol.get_name()
        is_given = symbol.is_assigned() or symbol.is_imported()
        if is_given and (is_top or symbol.is_declared_global()):
            found.defined.add(name)
        if is_top and symbol.is_imported():
            found.imported.add(name)
        if symbol.is_referenced() and (is_top or symbol.is_global()):
            used.add(name)
    for inner in table.get_children():
        is_function = inner.get_type() == "function"
        runs_later = is_function and inner.get_name() not in COMPREHENSIONS
        _read(found, inner, found.used_later if runs_later else used)


def _root(node):
    """Return the name that an expression such as a.b[0].c starts with, in a set; else none."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _names(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _mention(node):
    """An expression such as `layers.attend` as a Mention; None if it is no such thing."""
    attributes = ""
    for _ in range(DEEPEST):
        if not isinstance(node, ast.Attribute):
            break
        attributes = f".{node.attr}{attributes}"
        node = node.value
    return (node.id, attributes) if isinstance(node, ast.Name) else None
