"""`solution("1.4")`: the reference beside the student's answer, once that is correct."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from pathlib import Path

from attn_course import course_files, register
from attn_course.answer_cells import source_of
from attn_course.markers import BEGIN, EMPTY, END
from attn_course.progress_notes import (
    QuestionState,
    is_correct,
    note,
    notes_of,
    states_of,
    student_folder,
)
from attn_course.register import Part, Question
from attn_course.verdict import COLOURS, State, inline_html

MARKERS = re.compile(rf"^ *({BEGIN}|{END})\n?", re.M)
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_BOLD_HTML = r"<b>\1</b>"
NO_SOLUTIONS = "This edition of the course has no solutions; whoever gave it to you has them."
BEFORE_WRITTEN = (
    "{} is answered in words. Write your answer, save the notebook, and run this again; "
    '`solution("{}", give_up=True)` shows the reference all the same, and `progress()` notes it.'
)


@dataclass(frozen=True)
class ShownPart:
    """One part: the student's text ("" if it is not known) and the reference, as code or as Markdown."""

    kind: str
    mine: str
    reference: str
    rubric: str = ""

    def lines(self) -> Iterator[tuple[str, str, bool]]:
        """Yield (mine, reference, whether they differ) for the lines of both that correspond."""
        left, right = self.mine.splitlines(), self.reference.splitlines()
        matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
        for tag, start, end, other_start, other_end in matcher.get_opcodes():
            rows = zip_longest(left[start:end], right[other_start:other_end], fillvalue="")
            for mine, reference in rows:
                yield mine, reference, tag != "equal"


@dataclass(frozen=True)
class Solution:
    """The reference answer of a question beside the student's, or the reason why it is not shown."""

    title: str
    parts: tuple[ShownPart, ...] = ()
    sentence: str = ""

    def __repr__(self) -> str:
        if self.sentence:
            return self.sentence.replace("`", "")
        pieces = [f"Reference solution of {self.title}"]
        for part in self.parts:
            pieces += ["", part.reference]
            if part.rubric:
                pieces += ["", part.rubric]
        return "\n".join(pieces)

    def _repr_html_(self) -> str:
        """Return the sentence, or each part: code beside code, words as they are."""
        if self.sentence:
            return inline_html(self.sentence)
        pieces = [f"<b>{escape(self.title)}</b>"]
        for part in self.parts:
            if part.kind == "written":
                pieces.append(_words_html(part))
            else:
                pieces.append(_code_html(part, f", {part.kind}" if len(self.parts) > 1 else ""))
        return "".join(pieces)


_TABLE = "margin:0.5em 0;width:100%;table-layout:fixed"
_ROW = '<tr style="background:none">'  # JupyterLab stripes the rows of tables
_CODE = "white-space:pre-wrap;background:none;padding:0"
_CELL = "text-align:left;padding:0 12px 0 6px;vertical-align:top;border-left:3px solid {}"


def _words_html(part: ShownPart) -> str:
    """Return paragraphs. A notebook typesets the formulas in them."""
    html = []
    for text in f"{part.reference}\n\n{part.rubric}".strip().split("\n\n"):
        html.append(f'<p style="max-width:50em">{_BOLD.sub(_BOLD_HTML, inline_html(text))}</p>')
    return "".join(html)


def _code_html(part: ShownPart, kind: str) -> str:
    """Return the student's lines beside those of the reference, with a coloured edge where they differ."""
    rows = []
    for mine, reference, differs in part.lines():
        sides = [(reference, COLOURS[State.CORRECT])]
        if part.mine:
            sides.insert(0, (mine, COLOURS[State.NOT_YET]))
        cells = ""
        for text, colour in sides:
            style = _CELL.format(colour if differs and part.mine and text else "transparent")
            code = f'<code style="{_CODE}">{escape(text) or "&nbsp;"}</code>'
            cells += f'<td style="{style}">{code}</td>'
        rows.append(f"{_ROW}{cells}</tr>")
    names = ("your answer", "reference") if part.mine else ("reference",)
    heads = "".join(
        f'<th style="{_CELL.format("transparent")}">{name}{kind}</th>' for name in names
    )
    return f'<table style="{_TABLE}">{_ROW}{heads}</tr>{"".join(rows)}</table>'


def solution(question: str, *, give_up: bool = False) -> Solution:
    """Show the reference beside your own answer, once it is correct.

    give_up: show it all the same, which progress() notes.
    """
    try:
        asked = register.find(question)
    except KeyError as error:
        return Solution(str(question), sentence=error.args[0])
    source = course_files.solution_source(asked.notebook)
    if source is None:
        return Solution(asked.id, sentence=NO_SOLUTIONS)
    written = _written_answer(asked)
    is_judged = any(part.judge for part in asked.parts)
    is_earned = is_correct(asked) if is_judged else bool(written)
    if not is_earned and not give_up:
        return Solution(asked.id, sentence=_not_yet(asked, is_judged))
    has_blank_words = not written and any(part.kind == "written" for part in asked.parts)
    if not is_earned or (give_up and has_blank_words):
        note(question=asked.id, gave_up=True)
    cells = course_files.source_cells(source)
    parts = [_shown(asked, part, cells, written) for part in asked.parts]
    if is_judged and not give_up and has_blank_words:  # they come when something is written
        parts = [part for part in parts if part.kind != "written"]
    return Solution(f"{asked.id} {asked.title}", tuple(parts))


def _not_yet(question: Question, is_judged: bool) -> str:
    if not is_judged:
        return BEFORE_WRITTEN.format(question.id, question.id)
    states = states_of(notes_of(student_folder()))
    left = len(question.hints) - states.get(question.id, QuestionState()).hints
    sentence = f"{question.id} is not yet correct"
    if left > 0:
        hints = "hint" if left == 1 else "hints"
        sentence += f', and `hint("{question.id}")` has {left} more {hints} for you'
    return (
        f'{sentence}. `solution("{question.id}", give_up=True)` shows the reference all the same, and '
        "`progress()` notes it."
    )


def _shown(
    question: Question, part: Part, cells: list[course_files.SourceCell], written: str
) -> ShownPart:
    marks = (question.id, f"{question.id} {part.kind}")
    if part.kind == "written":
        answer = _joined(cells, "written", marks)
        return ShownPart("written", written, answer, _joined(cells, "rubric", marks))
    answers = [c.text for c in cells if c.marks.get("answer") in marks]
    own = [text for text in answers if any(name in text for name in part.answers)]
    reference = MARKERS.sub("", "\n\n".join(own or answers)).strip()
    return ShownPart(part.kind, MARKERS.sub("", source_of(part.answers)).strip(), reference)


def _joined(cells, role, marks):
    return "\n\n".join(cell.text for cell in cells if cell.marks.get(role) in marks)


def _written_answer(question: Question) -> str:
    """Return the student's words in the notebook as it was last saved; "" if there are none."""
    if all(part.kind != "written" for part in question.parts):
        return ""
    folder = student_folder() or Path.cwd()
    for path in sorted(folder.glob("*.ipynb")):
        text = _written_in(path, question)
        if text:
            return text
    return ""


def _written_in(path: Path, question: Question) -> str:
    try:
        notebook = json.loads(path.read_bytes())
        cells = [cell for cell in notebook["cells"] if _is_answer(cell, question)]
        texts = ["".join(cell["source"]) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return "\n\n".join(texts).replace(EMPTY.format(question.id), "").strip()


def _is_answer(cell, question):
    role = cell.get("metadata", {}).get("written", "")
    dashed = question.id.replace(".", "-")
    return role.partition(" ")[0] == question.id or cell.get("id") == f"q{dashed}-written"
