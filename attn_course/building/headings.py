"""What is known of questions and notebooks, in words: headings, head lines, README's list."""

import re
from dataclasses import dataclass

from attn_course import register
from attn_course.errors import UserError
from attn_course.register import Question

# A question's heading is "### 1.4" in a source. What follows it is written here, whatever stood there.
HEADING = re.compile(r"^### (?P<id>\d+\.\d+)\b.*(?:\n\n\*.+ min\*)?$", re.M)
# The head line is "*60 min, needs 05*" in a source; counts and points are put in between.
HEAD = re.compile(r"^\*(?P<minutes>\d+) min,.*?\bneeds (?P<needs>.+)\*$", re.M)
TITLE = re.compile(r"^# (?P<title>.+)$", re.M)
QUOTE = re.compile(r"^> (?P<asks>.+)$", re.M)


def heading(question: Question) -> str:
    """Return the heading of a question and its card: kind, points, minutes."""
    points = points_in_words(question.points, question.is_bonus)
    card = f"*{question.kind} · {points} · {question.minutes} min*"

    return f"### {question.id} {question.title}\n\n{card}"


def points_in_words(points: float, is_bonus: bool = False) -> str:
    """Return points as text: 1 point, 0.5 points, 10 bonus points."""
    kind = "bonus point" if is_bonus else "point"
    plural = "" if points == 1 else "s"
    return f"{points:g} {kind}{plural}"


def write_headings(text: str) -> str:
    """Return `text` with every heading of a question written out."""
    return HEADING.sub(lambda match: heading(register.find(match["id"])), text)


def write_head(text: str, notebook: str) -> str:
    """Return `text` with the head line of `notebook` written out."""
    head_line = HEAD.search(text)
    if head_line is None:
        raise UserError('the first cell lacks its head line, "*45 min, needs 03*".')

    count = len(register.questions_of(notebook))
    questions = "1 question" if count == 1 else f"{count} questions"
    points = points_in_words(register.points_of(notebook), register.is_bonus(notebook))
    head = f"*{head_line['minutes']} min, {questions}, {points}, needs {head_line['needs']}*"
    return text.replace(head_line[0], head, 1)


def add_below_head(text: str, line: str) -> str:
    """Return `text` with `line` as a paragraph of its own below the head line."""
    return HEAD.sub(lambda head: f"{head[0]}\n\n{line}", text, count=1)


@dataclass(frozen=True)
class Row:
    """One notebook as README lists it."""

    name: str
    title: str
    asks: str
    minutes: int

    def card(self) -> str:
        """Return the minutes and the points of the notebook as text."""
        points = points_in_words(register.points_of(self.name), register.is_bonus(self.name))
        return f"*{self.minutes} min, {points}*"

    def markdown(self) -> str:
        """Return the line of the list."""
        address = f"notebooks/{self.name}.ipynb"
        return f"- [{self.name[:2]} {self.title}]({address}): {self.asks} {self.card()}"


def row_of(name: str, first_cell: str) -> Row:
    """Return README's row of a notebook, read from the first cell of its source."""
    title = TITLE.search(first_cell)
    quote = QUOTE.search(first_cell)
    head = HEAD.search(first_cell)

    if title is None or quote is None or head is None:
        raise UserError(
            f"solutions/{name}.py needs a title, a line that says what it asks, and one with its minutes."
        )

    return Row(name, title["title"], quote["asks"], int(head["minutes"]))


def summary(rows: list[Row]) -> str:
    """Return the first sentence about the course: how many notebooks, how many hours, from what to what."""
    hours = round(sum(row.minutes for row in rows) / 60)
    return (
        f"{len(rows)} Jupyter notebooks on attention in neural networks, about {hours} hours (twice that for "
        "a first-time reader): from one query and a few keys to a transformer layer and a German-to-English "
        "translator that you build yourself. Code and derivations are checked at once, in the notebook."
    )


def notebook_list(rows: list[Row]) -> str:
    """Return README's list of notebooks in their parts, with the sum of the points below it."""
    lines = []
    for part, names in register.PARTS.items():
        listed = [row.markdown() for row in rows if row.name in names]
        if listed:
            lines += [f"**{part}**", "", *listed, ""]

    course = [row.name for row in rows if not register.is_bonus(row.name)]
    bonus = sum(register.points_of(row.name) for row in rows if register.is_bonus(row.name))
    total = f"{points_in_words(sum(map(register.points_of, course)))} in all"
    if bonus:
        total += f", and {points_in_words(bonus, is_bonus=True)}"
    return "\n".join([*lines, f"{total}."])


def fill_region(text: str, name: str, body: str) -> str:
    """Replace what stands between `<!-- name: written by attn build -->` and `<!-- end of name -->`."""
    opening = f"<!-- {name}: written by attn build -->"
    closing = f"<!-- end of {name} -->"

    before, is_open, rest = text.partition(opening)
    _, is_closed, after = rest.partition(closing)
    if not is_open or not is_closed:
        raise UserError(f'README.md lacks the lines "{opening}" and "{closing}".')
    return f"{before}{opening}\n{body}\n{closing}{after}"
