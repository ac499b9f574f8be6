"""What a judge can say about an answer; knows nothing of questions or of how answers are run."""

from dataclasses import dataclass
from html import escape

CORRECT, NOT_YET, NOT_ATTEMPTED = "correct", "not yet", "not attempted"
_MARK = {CORRECT: "✔", NOT_YET: "✘", NOT_ATTEMPTED: "○"}
_COLOUR = {CORRECT: "#0072b2", NOT_YET: "#d55e00", NOT_ATTEMPTED: "#7f7f7f"}  # colour-blind safe


class NotYet(Exception):
    """Raised by a judge: the answer is wrong, and this sentence says what was measured."""


class NotAttempted(Exception):
    """Raised when the answer is still the empty stub."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check: true exactly when the answer is correct."""

    question: str
    status: str
    message: str
    points: float = 0
    out_of: float = 0

    def __bool__(self):
        return self.status == CORRECT

    def _headline(self):
        score = f" · {self.points:g} of {self.out_of:g} points" if self.out_of else ""
        return f"{_MARK[self.status]} {self.question} {self.status}{score}"

    def __repr__(self):
        return f"{self._headline()}\n  {self.message}"

    def _repr_html_(self):
        return (
            f'<div style="border-left:4px solid {_COLOUR[self.status]};padding:2px 0 2px 10px">'
            f"<b>{escape(self._headline())}</b><br>{escape(self.message)}</div>"
        )
