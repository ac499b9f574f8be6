"""The verdict on an answer, with one list of states from `check` to the gradebook."""

import enum
import re
from dataclasses import dataclass
from html import escape

_CODE = re.compile(r"`([^`]+)`")
_STRESSED = re.compile(r"(?<![\w*])\*(\w[^*]*)\*(?![\w*])")


class State(enum.StrEnum):
    """How a part of a question stands. WAITING is the one state in which a person must look.

    `check` gives the first three; the others are those of a gradebook.
    """

    CORRECT = "correct"
    NOT_YET = "not yet"
    NOT_ATTEMPTED = "not attempted"
    WAITING = "awaits a person"
    READ = "read by a person"
    ABSENT = "not handed in"


_MARK = {State.CORRECT: "✔", State.NOT_YET: "✘", State.NOT_ATTEMPTED: "○", State.WAITING: "✎"}
COLOURS = {
    State.CORRECT: "#0072b2",
    State.NOT_YET: "#d55e00",
    State.NOT_ATTEMPTED: "#7f7f7f",
    State.WAITING: "#7f7f7f",
}


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check. A verdict is true if the answer is correct.

    kind: the part that was judged, "code" or "derive". mistake: the sentence of the known mistake that
    explains a wrong answer, "" if none does. needs_person: True if the judge could not decide. remark: a
    sentence beside the verdict itself.
    """

    question: str
    status: State
    message: str
    points: float = 0
    out_of: float = 0
    kind: str = ""
    mistake: str = ""
    needs_person: bool = False
    remark: str = ""

    def __bool__(self) -> bool:
        return self.status == State.CORRECT

    def _headline(self):
        headline = f"{_MARK[self.status]} {self.question} {self.status}"
        if self.out_of:
            headline += f" · {round(self.points, 2):g} of {self.out_of:g} points"
        return headline

    def __repr__(self) -> str:
        remark = f"\n  {self.remark.replace('`', '')}" if self.remark else ""
        return f"{self._headline()}\n  {self.message}{remark}"

    def _repr_html_(self):
        remark = f"<br><i>{inline_html(self.remark)}</i>" if self.remark else ""
        return (
            f'<div style="border-left:4px solid {COLOURS[self.status]};padding:2px 0 2px 10px">'
            f"<b>{escape(self._headline())}</b><br>{inline_html(self.message)}{remark}</div>"
        )


def inline_html(text: str) -> str:
    """Return one line of ours as HTML: `code` and *stress* as in Markdown, everything else escaped."""
    pieces = _CODE.split(escape(text))  # text and code in turns
    pieces[::2] = [_STRESSED.sub(r"<em>\1</em>", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"<code>{piece}</code>" for piece in pieces[1::2]]
    return "".join(pieces)
