"""Knows which cells of a submission answer which part, and which cells they need; runs nothing."""

import ast
import contextlib
import functools
import itertools
import math
import re
import symtable
import warnings
from collections import defaultdict, deque

from attn_course.grading.foreign_text import LONGEST_ANSWER, as_answer
from attn_course.grading.magics import parsed
from attn_course.markers import EMPTY

ANYTHING = "*"  # what a cell with `from ... import *` defines
HEADING = re.compile(r"\s*#+ ")
QUESTION = re.compile(r"\s*#+ +\d+\.\d+\b")
BEGINNING = re.compile(r"^(?:def|class) +(\w+)", re.M)
DRAWING = re.compile(r"\bplots\s*\.|\bplt\b|matplotlib|pyplot|attn_course\.figures")
COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # they run where they stand


def cells_of(cells, question, part):
    """Return the cells that say they answer this part, and those that define what it asks for."""
    named = {cell.number for cell in cells if _claims(cell, question, part)}
    if part.kind == "written":
        return _written(cells, question, named)
    return [cell for cell in cells if cell.number in named or _defines(cell, part.answers)]


def _claims(cell, question, part):
    """Whether a cell says, by its id or its marks, that it answers this part."""
    dashed = question.id.replace(".", "-")
    if cell.id == f"q{dashed}-{part.kind}":
        return True
    role = "written" if part.kind == "written" else "answer"
    return cell.marks.get(role) in (question.id, f"{question.id} {part.kind}")


def _defines(cell, answers):
    if cell.kind != "code" or is_check(cell):
        return False
    names = names_of(cell.source)
    return not names.defined.isdisjoint(answers) or not names.begun.isdisjoint(answers)


def _written(cells, question, named):
    """Return the cells of a written answer: the one meant for it, else text put below that one."""
    empty = EMPTY.format(question.id)
    found = [c for c in cells if c.number in named or empty in c.source]
    if found and not text_of(found, question):
        below = cells[cells.index(found[-1]) + 1 :]
        return found + list(itertools.takewhile(_is_students, below))
    return found or _section(cells, question, HEADING) or _section(cells, question, QUESTION)


def _section(cells, question, end):
    """Return the text below the heading of a question, up to the next heading of the kind `end`."""
    heading = re.compile(rf"^#+ +{re.escape(question.id)}\b", re.M)
    places = [place for place, cell in enumerate(cells) if heading.search(cell.source)]
    if not places:
        return []
    below = cells[places[0] + 1 :]
    section = itertools.takewhile(lambda cell: not end.match(cell.source), below)
    return [cell for cell in section if cell.kind != "code" and not HEADING.match(cell.source)]


def _is_students(cell):
    """Whether a cell is text that a student may have added; the course's own has an id of its kind."""
    ours = HEADING.match(cell.source) or re.match(r"markdown-[0-9a-f]{8}", cell.id)
    return cell.kind != "code" and not ours


def text_of(cells, question):
    """Return what a person reads as the answer; "" where the cell is as it was handed out."""
    empty = EMPTY.format(question.id)
    texts = [cell.source[:LONGEST_ANSWER].replace(empty, "").strip() for cell in cells]
    return as_answer("\n\n".join(text for text in texts if text))


def is_check(cell):
    """Whether a cell says it is a check: it is never run, and nothing in it counts."""
    return "check" in cell.marks or cell.id.endswith("-check")


def cells_to_run(cells, questions, everything=False):
    """Return {number: source} of the cells that the answers need, in their order.

    These are the answer cells, and every cell that defines a name which one of these uses: before
    it, or anywhere if the name is used in a function, which runs later. Figures and training are
    therefore left out unless an answer uses what they make.
    """
    judged = [(question, part) for question in questions for part in question.parts if part.judge]
    code = [c for c in cells if c.kind == "code" and not is_check(c) and "written" not in c.marks]
    if everything:
        return {cell.number: cell.source for cell in code}
    new = {c.number for question, part in judged for c in cells_of(code, question, part)}
    needed = _with_what_they_use(new, {cell.number: names_of(cell.source) for cell in code})
    return {cell.number: cell.source for cell in code if cell.number in needed}


def draws(cells):
    """Whether a cell of {number: source} seems to draw, beyond importing what it would take."""
    return any(DRAWING.search(source) for source in cells.values())


def _with_what_they_use(cells, names):
    """Return these cells and all that they use, by way of any number of others.

    Each cell that gives a name is looked at once for it, so that no notebook takes long.
    """
    gives, uses_later = _gives(names), _uses_later(names)
    givers = defaultdict(deque)  # name: the cells that give it and are not chosen for it yet
    for number, given in gives.items():
        for name in given:
            givers[name].append(number)
    chosen = cells | set(givers[ANYTHING]) if cells else set()
    users = sorted(chosen)
    while users:
        user = users.pop()
        above = ((name, user) for name in names[user].used)
        anywhere = ((name, math.inf) for name in uses_later[user])
        for name, end in itertools.chain(above, anywhere):
            left = givers.get(name)
            while left and left[0] < end:
                number = left.popleft()
                if number not in chosen:
                    chosen.add(number)
                    users.append(number)
    return chosen


def _gives(names):
    """Return {cell: the names it takes part in}; a method called on a module makes nothing."""
    modules = set().union(*(cell.imported for cell in names.values()))
    return {n: cell.defined | (cell.called - modules) for n, cell in names.items()}


def _uses_later(names):
    """Return {cell: the names that even a cell below it may give, those with none above included}."""
    found, above = {}, set()
    for number, cell in names.items():
        above |= cell.defined
        found[number] = cell.used_later | (cell.used - above)
    return found


@functools.lru_cache(maxsize=4096)
def names_of(source):
    """Return the Names of a cell, read once."""
    return Names(source)


class Names:
    """The global names that a cell defines (or changes in place) and uses, at once or later.

    `imported` are some of those defined; `called` are the things whose methods it calls as statements,
    and so may change. All are empty if the cell is not Python: then it cannot run either. `begun` are
    those that it begins to define at the start of a line, Python or not.
    """

    def __init__(self, source):
        self.defined = set()
        self.used = set()
        self.used_later = set()
        self.imported = set()
        self.called = set()
        self.begun = set(BEGINNING.findall(source))
        if not (found := parsed(source)):
            return
        source, tree = found
        with (
            contextlib.suppress(SyntaxError, RecursionError),
            warnings.catch_warnings(action="ignore"),
        ):
            self._read(symtable.symtable(source, "cell", "exec"), self.used)
            for node in ast.walk(tree):
                self._read_changes(node)

    def _read(self, table, used):
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            given = symbol.is_assigned() or symbol.is_imported()
            if given and (top or symbol.is_declared_global()):
                self.defined.add(symbol.get_name())
            if top and symbol.is_imported():
                self.imported.add(symbol.get_name())
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(symbol.get_name())
        for inner in table.get_children():
            later = inner.get_type() == "function" and inner.get_name() not in COMPREHENSIONS
            self._read(inner, self.used_later if later else used)

    def _read_changes(self, node):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                self.defined.add(ANYTHING)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                self.defined |= _root(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                self.called |= _root(method)


def _root(node):
    """Return the name that an expression such as a.b[0].c starts with, in a set; else none."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()
