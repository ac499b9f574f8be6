"""Which cells of a submission answer which part, and which cells they need. Runs nothing."""

import ast
import math
import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence

from attn_course.cell_names import ANYTHING, begun, names_of
from attn_course.grading.read_submission import Cell
from attn_course.grading.untrusted_text import (
    LONGEST_ANSWER,
    as_answer,
)
from attn_course.magics import parsed
from attn_course.markers import EMPTY
from attn_course.register import Part, Question, questions_of

Cells = Sequence[Cell]

HEADING = re.compile(r"^#+ +(.*)$", re.M)
NO_LETTER = re.compile(r"[^a-z0-9]+")
QUESTION = re.compile(r"^#+ +(\d+\.\d+)\b", re.M)
DRAWING = re.compile(r"\bplt\b|matplotlib|pyplot")  # `plots` needs no matplotlib to make its marks


def cells_of(cells: Cells, question: Question, part: Part) -> list[Cell]:
    """Return the cells that say they answer this part, and those that define what it asks for."""
    empty = EMPTY.format(question.id)
    found = []
    for cell in cells:
        if part.kind == "written":
            is_it = empty in cell.source
        else:
            is_it = _may_run(cell) and not names_of(cell.source).given.isdisjoint(part.answers)
        if is_it or _claims(cell, question, part):
            found.append(cell)
    return found


def _claims(cell, question, part):
    """Whether a cell says, by its id or its marks, that it answers this part."""
    dashed = question.id.replace(".", "-")
    if cell.id == f"q{dashed}-{part.kind}":
        return True
    role = "written" if part.kind == "written" else "answer"
    mark = cell.marks.get(role)
    whole = f"{question.id} {part.kind}"
    return mark in (question.id, whole)


def near_code(
    cells: Cells, question: Question, part: Part, handed_out: Collection[str] = ()
) -> list[Cell]:
    """Return the cells that never run and may hold what this part asks for, or what its answer needs.

    These are check cells and text that define such a name, and the answer's own cell where it gives
    another name than the one asked for. handed_out: the texts of the cells as students get them.
    """
    never_run = []
    claiming = []
    is_defined = False
    for cell in cells:
        if _may_run(cell):
            is_defined |= not names_of(cell.source).given.isdisjoint(part.answers)
        elif _is_changed(cell, handed_out) and _given(cell):
            never_run.append(cell)
        if _claims(cell, question, part) and _is_changed(cell, handed_out):
            claiming.append(cell)
    found = [] if is_defined else claiming
    if never_run:
        given: set[str] = set()
        used: set[str] = set()
        for source in cells_to_run(cells, [question]).values():
            names = names_of(source)
            given |= names.given
            used |= names.used | names.used_later
        wanted = used - given | set(part.answers)
        near = [cell for cell in never_run if not _given(cell).isdisjoint(wanted)]
        found += [cell for cell in near if cell not in found]
    return found


def _given(cell):
    """The names that a cell gives a meaning; of text, however long, the beginning is read, not parsed."""
    if cell.kind == "code":
        return names_of(cell.source).given
    return begun(cell.source[:LONGEST_ANSWER])


def near_words(cells: Cells, question: Question, handed_out: Collection[str] = ()) -> list[Cell]:
    """Return the text that may be the answer to a written question whose own cell is empty.

    It is text of the student's in the section of the question, else anywhere but in the section of
    another written question: cells of their own, our cells with more in them, comments in code.
    """
    written = set()
    for other in questions_of(question.notebook):
        written |= {other.id for part in other.parts if part.kind == "written"}
    lines = {line.strip() for text in handed_out for line in text.splitlines()}
    section = ""
    inside = []
    elsewhere = []
    for cell in cells:
        is_new = _is_changed(cell, handed_out)
        if cell.kind != "code":
            titles = QUESTION.findall(cell.source)
            if titles:
                section = titles[-1]
            elif not is_new and HEADING.match(cell.source):
                section = ""
        is_here = section == question.id
        if not is_new or "written" in cell.marks or cell.id.endswith("-written"):
            continue
        if cell.kind == "code" and not _has_words(cell, question, is_here, lines):
            continue
        if is_here:
            inside.append(cell)
        elif section not in written:
            elsewhere.append(cell)
    return inside or elsewhere


def _has_words(cell, question, is_here, known):
    """Whether a code cell may answer a question in words: by comments that are not among known lines."""
    is_answer = "answer" in cell.marks or cell.id.endswith(("-code", "-derive"))
    if not is_answer and _is_words(cell.source):
        return True
    lines = [line.strip() for line in cell.source.splitlines()]
    comments = [line for line in lines if line.startswith("#") and line not in known]
    return any(is_here or question.id in comment for comment in comments)


def _is_changed(cell, handed_out):
    """Whether there is something of the student's in a cell; an unchanged one has a text of ours.

    Where the notebook as handed out is not at hand, ids that the course makes tell.
    """
    text = cell.source.strip()
    if not text or handed_out:
        return bool(text) and text not in handed_out
    names = [NO_LETTER.sub("-", title.lower()).strip("-")[:40] for title in HEADING.findall(text)]
    return not re.match(r"(markdown|code)-[0-9a-f]{8}", cell.id) and cell.id not in names


def _is_words(source):
    """Whether a code cell holds nothing but comments and texts, or is not Python and defines nothing."""
    found = parsed(source)
    if found is None:
        return not names_of(source).given
    for nodes in found.statements:
        match nodes[0]:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
        return False
    return True


def text_of(cells: Cells, question: Question) -> str:
    """Return what a person reads as the answer; "" where the cell is as it was handed out."""
    empty = EMPTY.format(question.id)
    texts = []
    for cell in cells:
        begin = cell.source[:LONGEST_ANSWER]
        text = begin.replace(empty, "").strip()
        if text:
            texts.append(text)
    return as_answer("\n\n".join(texts))


def is_check(cell: Cell) -> bool:
    """Whether a cell says it is a check: it is never run, and nothing in it counts."""
    return "check" in cell.marks or cell.id.endswith("-check")


def cells_to_run(
    cells: Cells, questions: Iterable[Question], everything: bool = False
) -> dict[int, str]:
    """Return {number: source} of the cells that the answers need, in their order.

    These are the answer cells, and every cell that defines a name which one of these uses: before
    it, or anywhere if the name is used in a function, which runs later. Figures and training are
    therefore left out unless an answer uses what they make.
    """
    code = list(filter(_may_run, cells))
    sources = {cell.number: cell.source for cell in code}
    if everything:
        return sources
    names = {number: names_of(source) for number, source in sources.items()}
    answering = _answering(code, questions)
    needed = _with_what_they_use(answering, names)
    chosen = {}
    for number, source in sources.items():
        if number in needed:
            chosen[number] = source
    return chosen


def _may_run(cell):
    if cell.kind != "code" or is_check(cell):
        return False
    return "written" not in cell.marks


def _answering(cells, questions):
    """The numbers of the cells that answer a part which has a judge."""
    found: set[int] = set()
    for question in questions:
        for part in question.parts:
            if part.judge:
                answer = cells_of(cells, question, part)
                found.update(cell.number for cell in answer)
    return found


def draws(cells: dict[int, str]) -> bool:
    """Whether a cell of {number: source} seems to draw with matplotlib."""
    return any(DRAWING.search(source) for source in cells.values())


def _with_what_they_use(cells, names):
    """Return these cells and all that they use, by way of any number of others.

    Each cell that gives a name is looked at once for it, so that no notebook takes long.
    """
    if not cells:
        return set()
    givers = _givers(names)
    uses_later = _uses_later(names)
    chosen = cells | set(givers[ANYTHING])
    users = sorted(chosen)
    while users:
        user = users.pop()
        ends = dict.fromkeys(names[user].used, user)
        ends |= dict.fromkeys(uses_later[user], math.inf)
        for name, end in ends.items():
            for number in _taken(givers.get(name), end):
                if number not in chosen:
                    chosen.add(number)
                    users.append(number)
    return chosen


def _taken(numbers, end):
    """Take from the front of a queue what lies below `end`."""
    while numbers and numbers[0] < end:
        yield numbers.popleft()


def _givers(names):
    """Return {name: the cells that take part in it}, in their order.

    A method that is called on a module makes nothing.
    """
    modules = set()
    for cell in names.values():
        modules |= cell.imported
    found: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, cell in names.items():
        changed = cell.called - modules
        for name in cell.defined | changed:
            found[name].append(number)
    return found


def _uses_later(names):
    """Return {cell: the names that even a cell below it may give, those with none above included}."""
    found = {}
    above = set()
    for number, cell in names.items():
        above |= cell.defined
        given_below = cell.used - above
        found[number] = cell.used_later | given_below
    return found
