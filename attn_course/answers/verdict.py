"""What a judge can say about an answer."""

import re
from dataclasses import dataclass
from html import escape

CORRECT = "correct"
NOT_YET = "not yet"
NOT_ATTEMPTED = "not attempted"
_MARK = {CORRECT: "✔", NOT_YET: "✘", NOT_ATTEMPTED: "○"}
_COLOUR = {CORRECT: "#0072b2", NOT_YET: "#d55e00", NOT_ATTEMPTED: "#7f7f7f"}  # colour-blind safe
_CODE = re.compile(r"`([^`]+)`")
_STRESSED = re.compile(r"(?<![\w*])\*(\w[^*]*)\*(?![\w*])")


class NotYet(Exception):
    """Raised by a judge: the answer is wrong, and this sentence says what was measured."""


class NotAttempted(Exception):
    """Raised when the answer is still the empty stub."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check: true exactly when the answer is correct."""

    question: str
    status: str  # "correct", "not yet" or "not attempted"
    message: str
    points: float = 0
    out_of: float = 0

    def __bool__(self) -> bool:
        return self.status == CORRECT

    def _headline(self):
        mark = _MARK[self.status]
        headline = f"{mark} {self.question} {self.status}"
        if self.out_of:
            headline += f" · {self.points:g} of {self.out_of:g} points"
        return headline

    def __repr__(self) -> str:
        return f"{self._headline()}\n  {self.message}"

    def _repr_html_(self):
        return (
            f'<div style="border-left:4px solid {_COLOUR[self.status]};padding:2px 0 2px 10px">'
            f"<b>{escape(self._headline())}</b><br>{inline_html(self.message)}</div>"
        )


def inline_html(text: str) -> str:
    """One line of ours as HTML: `code` and *stress* as in Markdown, everything else escaped."""
    pieces = _CODE.split(escape(text))
    for k, piece in enumerate(pieces):
        if k % 2:
            pieces[k] = f"<code>{piece}</code>"
        else:
            pieces[k] = _STRESSED.sub(r"<em>\1</em>", piece)

    return "".join(pieces)
