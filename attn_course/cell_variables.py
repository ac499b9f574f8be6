"""The names that a cell defines and the names that it uses, as far as its text tells."""

import ast
import contextlib
import functools
import itertools
import math
import re
import symtable
import warnings
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from attn_course.magics import parsed

ANYTHING = "*"  # what a cell with `from ... import *` defines
DEFINITION = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)
ASSIGNMENT = re.compile(r"^(\w+)[ \t]*(?::[^=\n]{0,99})?=(?!=)", re.M)
COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # they run where they stand


@dataclass
class Names:
    """The global names of a cell, or of one of its statements."""

    defined: set[str] = field(default_factory=set)  # or changed in place
    assigned: set[str] = field(default_factory=set)  # by a statement, whatever was there before
    used: set[str] = field(default_factory=set)  # at once
    used_later: set[str] = field(default_factory=set)  # in a function
    imported: set[str] = field(default_factory=set)  # some of those defined
    called: set[str] = field(default_factory=set)  # whose methods are called, which may change them
    begun: set[str] = field(default_factory=set)  # at the start of a line, Python or not

    @property
    def given(self) -> set[str]:
        """The names that the cell defines, or would define if it were Python."""
        return self.defined | self.begun


def begun(text: str) -> set[str]:
    """Return the names that lines of a text begin to define, Python or not."""
    return {*DEFINITION.findall(text), *ASSIGNMENT.findall(text)}


@functools.lru_cache(maxsize=4096)
def names_of(source: str) -> Names:
    """Return the names of a cell, read once; one that is not Python has `begun` alone."""
    names = Names(begun=begun(source))
    cell = parsed(source)
    if cell is None:
        return names
    with contextlib.suppress(Exception):  # of the compiler, on the text of a stranger
        add_names(names, cell.source, itertools.chain.from_iterable(cell.statements))
    return names


def add_names(names: Names, source: str, nodes: Iterable[ast.AST]) -> None:
    """Add the names of a piece of Python, whose nodes these are; raise SyntaxError."""
    with warnings.catch_warnings(action="ignore"):
        table = symtable.symtable(source, "cell", "exec")
    _read(names, table, names.used)
    for node in nodes:
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                names.defined.add(ANYTHING)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                names.defined |= _root(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                names.called |= _root(method)
            case ast.AugAssign(target=ast.Name(id=name)) if name in names.defined:
                names.used.add(name)


def names_by_statement(source: str) -> list[Names]:
    """Return the names of each statement of a cell; none if it is not Python."""
    cell = parsed(source)
    if cell is None:
        return []
    statements = []
    for nodes in cell.statements:
        first = nodes[0]
        names = Names()
        try:
            add_names(names, ast.unparse(first), nodes)
        except (SyntaxError, RecursionError):
            continue
        for loop in nodes:
            if isinstance(loop, ast.For):
                names.used -= _names(loop.target) - _names(loop.iter)
        if isinstance(first, ast.Assign | ast.FunctionDef | ast.ClassDef):
            names.assigned = names.defined.copy()
        statements.append(names)
    return statements


def with_what_they_use(cells: Set[int], names: Mapping[int, Names]) -> Set[int]:
    """Return these cells and every cell that they use, directly or through other cells.

    names: {number of a cell: its names}, in order. A name that a function uses may be defined below it, since
    a function runs later. The cells that define a name are looked at once, so that no notebook takes long.
    """
    if not cells:
        return set()
    modules = set().union(*(cell.imported for cell in names.values()))
    # name: the cells that define or change it
    givers: defaultdict[str, deque[int]] = defaultdict(deque)
    # cell: {name that it uses: the cell before which it must be defined}
    ends: dict[int, dict[str, float]] = {}
    above: set[str] = set()
    for number, cell in names.items():
        for name in cell.defined | (cell.called - modules):  # a module's function changes nothing
            givers[name].append(number)
        above |= cell.defined
        used_later = cell.used_later | (cell.used - above)
        ends[number] = dict.fromkeys(cell.used, number) | dict.fromkeys(used_later, math.inf)
    chosen = {*cells, *givers[ANYTHING]}
    users = sorted(chosen)
    while users:
        for name, end in ends[users.pop()].items():
            queue = givers[name]
            while queue and queue[0] < end:
                number = queue.popleft()
                if number not in chosen:
                    chosen.add(number)
                    users.append(number)
    return chosen


def _read(names, table, used):
    """Add the names of a scope and of the scopes inside it; used: the set for the names that it uses."""
    is_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        name = symbol.get_name()
        is_given = symbol.is_assigned() or symbol.is_imported()
        if is_given and (is_top or symbol.is_declared_global()):
            names.defined.add(name)
        if is_top and symbol.is_imported():
            names.imported.add(name)
        if symbol.is_referenced() and (is_top or symbol.is_global()):
            used.add(name)
    for inner in table.get_children():
        is_function = inner.get_type() == "function"
        runs_later = is_function and inner.get_name() not in COMPREHENSIONS
        _read(names, inner, names.used_later if runs_later else used)


def _root(node):
    """Return {name} with which an expression such as a.b[0].c starts; an empty set if it starts otherwise."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _names(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
