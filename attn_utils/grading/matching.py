"""Knows which cells of a submission answer which part, and which cells they need; runs nothing."""

import ast
import contextlib
import re
import symtable
import warnings

from attn_utils.course.build import EMPTY
from attn_utils.grading.child import python_source

LONGEST = 20_000  # letters of an answer that reports show
COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # they run where they stand


def cells_of(cells, question, part):
    """Return the cells that say they answer this part, else those that define what it asks for."""
    wanted = f"q{question.id.replace('.', '-')}-{part.kind}"
    role = "written" if part.kind == "written" else "answer"
    marks = (question.id, f"{question.id} {part.kind}")
    named = [c for c in cells if c.id == wanted or c.marks.get(role) in marks]
    if part.kind == "written":
        return named or _under_heading(cells, question)
    defining = [c for c in cells if c.kind == "code" and any(_defines(c, n) for n in part.answers)]
    return [cell for cell in cells if cell in named or cell in defining]


def _defines(cell, name):
    if is_check(cell):
        return False
    return re.search(
        rf"^(?:(?:async +)?def|class) +{name}\b|^{name}\b *(?:[:,=])", cell.source, re.M
    )


def _under_heading(cells, question):
    """Return the text cells between a question's heading and the next heading or code."""
    heading = rf"^#+ +{re.escape(question.id)}\b"
    start = next((k for k, c in enumerate(cells) if re.search(heading, c.source, re.M)), len(cells))
    found = []
    for cell in cells[start + 1 :]:
        if cell.kind == "code" or re.match(r"#+ ", cell.source):
            break
        found.append(cell)
    return found


def text_of(cells, question):
    """Return what a person reads as the answer; "" where the cell is as it was handed out."""
    empty = EMPTY.format(question.id)
    texts = [cell.source.replace(empty, "").strip() for cell in cells]
    return "\n\n".join(text for text in texts if text)[:LONGEST]


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
    names = {cell.number: Names(cell.source) for cell in code}
    chosen = set()
    while new:
        chosen |= new
        wanted = [(names[user], user) for user in new]
        new = {n for n in names for used, user in wanted if used.needs(names[n], n < user)} - chosen
    return {cell.number: cell.source for cell in code if cell.number in chosen}


class Names:
    """The global names that a cell defines (or changes in place) and uses, at once or later.

    All are empty if the cell is not Python: then it cannot run either.
    """

    def __init__(self, source):
        self.defined, self.used, self.used_later = set(), set(), set()
        unparsable = (SyntaxError, ValueError, RecursionError, MemoryError)
        with contextlib.suppress(*unparsable), warnings.catch_warnings(action="ignore"):
            source = python_source(source)
            self._read(symtable.symtable(source, "cell", "exec"), self.used)
            self._read_changes(ast.parse(source))

    def needs(self, other, before):
        return bool(other.defined & (self.used | self.used_later if before else self.used_later))

    def _read(self, table, used):
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if top and (symbol.is_assigned() or symbol.is_imported()):
                self.defined.add(symbol.get_name())
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(symbol.get_name())
        for inner in table.get_children():
            later = inner.get_type() == "function" and inner.get_name() not in COMPREHENSIONS
            self._read(inner, self.used_later if later else used)

    def _read_changes(self, tree):
        """A cell that sets an item or attribute of a thing takes part in defining it."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
                while isinstance(node, ast.Subscript | ast.Attribute):
                    node = node.value
                if isinstance(node, ast.Name):
                    self.defined.add(node.id)
