"""Which cells of a submission answer which part, and which cells they need. Runs nothing."""

import ast
import math
import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence

from attn_course.cell_variables import ANYTHING, begun, names_of
from attn_course.grading.read_submission import Cell
from attn_course.grading.untrusted_text import LONGEST_ANSWER, as_answer
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
        is_it = empty in cell.source if part.kind == "written" else _defines(cell, part)
        if is_it or _claims(cell, question, part):
            found.append(cell)
    return found


def _defines(cell, part):
    """Whether a cell that may run defines what a part asks for."""
    return _may_run(cell) and not names_of(cell.source).given.isdisjoint(part.answers)


def _claims(cell, question, part):
    """Whether a cell says, by its id or its marks, that it answers this part."""
    dashed = question.id.replace(".", "-")
    role = "written" if part.kind == "written" else "answer"
    claimed = cell.marks.get(role) in (question.id, f"{question.id} {part.kind}")
    return claimed or cell.id == f"q{dashed}-{part.kind}"


def near_code(
    cells: Cells, question: Question, part: Part, handed_out: Collection[str] = ()
) -> list[Cell]:
    """Return the cells that never run and may hold what this part asks for, or what its answer needs.

    These are check cells and text that define such a name, and the answer's own cell where it gives
    another name than the one asked for. handed_out: the texts of the cells as students get them.
    """
    changed = [cell for cell in cells if _is_changed(cell, handed_out)]
    found = []
    if not any(_defines(cell, part) for cell in cells):
        found = [cell for cell in changed if _claims(cell, question, part)]
    never_run = [cell for cell in changed if not _may_run(cell) and _given(cell)]
    if not never_run:
        return found
    given: set[str] = set()
    used: set[str] = set()
    for source in cells_to_run(cells, [question]).values():
        names = names_of(source)
        given |= names.given
        used |= names.used | names.used_later
    wanted = used - given | set(part.answers)
    near = [cell for cell in never_run if not _given(cell).isdisjoint(wanted)]
    return found + [cell for cell in near if cell not in found]


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
    texts = [cell.source[:LONGEST_ANSWER].replace(empty, "").strip() for cell in cells]
    return as_answer("\n\n".join(filter(None, texts)))


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
    code = [cell for cell in cells if _may_run(cell)]
    sources = {cell.number: cell.source for cell in code}
    if everything:
        return sources
    names = {number: names_of(source) for number, source in sources.items()}
    answering: set[int] = set()
    for question in questions:
        for part in question.parts:
            if part.judge:
                answering.update(cell.number for cell in cells_of(code, question, part))
    needed = _with_what_they_use(answering, names)
    return {number: source for number, source in sources.items() if number in needed}


def _may_run(cell):
    return cell.kind == "code" and not is_check(cell) and "written" not in cell.marks


def draws(cells: dict[int, str]) -> bool:
    """Whether a cell of {number: source} seems to draw with matplotlib."""
    return any(DRAWING.search(source) for source in cells.values())


def _with_what_they_use(cells, names):
    """Return these cells and all that they use, by way of any number of others.

    Each cell that gives a name is looked at once for it, so that no notebook takes long.
    """
    if not cells:
        return set()
    modules = set().union(*(cell.imported for cell in names.values()))
    # name: the cells that take part in it
    givers: defaultdict[str, deque[int]] = defaultdict(deque)
    ends = {}  # cell: {name that it uses: the cell before which this must be given}
    above = set()
    for number, cell in names.items():
        for name in cell.defined | (cell.called - modules):  # a module's function changes nothing
            givers[name].append(number)
        above |= cell.defined
        used_later = cell.used_later | (cell.used - above)
        ends[number] = dict.fromkeys(cell.used, number) | dict.fromkeys(used_later, math.inf)
    chosen = cells | set(givers[ANYTHING])
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
