"""Which questions there are: notebook, points, minutes, hints, judge. Knows none of the answers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

# What each notebook is worth. A notebook's questions live in questions/<name>.py.
POINTS = {
    "00_start_here": 0,
    "01_copying": 6,
    "02_average_of_two": 7,
    "03_one_noisy_head": 8,
    "04_two_heads": 5,
    "05_keys_queries_values": 9,
    "06_transformer_attention": 16,
    "07_synthesizer": 9,
    "08_pretrained_knowledge": 14,
    "09_translation": 14,
    "10_bleu_comparison": 12,
    "11_position": 10,
    "12_fast_attention": 10,
}
# Notebooks beyond the course: their points stand in a column of their own, never among the 100.
BONUS = frozenset({"11_position", "12_fast_attention"})


@dataclass(frozen=True)
class Part:
    """What is marked on its own: "code" and "derive" by a judge, "written" by a person."""

    kind: str
    points: float
    answers: tuple[str, ...] = ()  # the names the judge is given, in order
    judge: Callable[..., str] | None = None  # judge(rng, *answers) -> what was measured, or NotYet


@dataclass(frozen=True)
class Question:
    """One question of the course."""

    id: str
    title: str
    minutes: int
    parts: tuple[Part, ...]
    covers: tuple[str, ...] = ()  # seed questions answered, as "001 a"
    hints: tuple[str, ...] = ()
    seconds: float = 5.0  # how long a check may take before it is stopped

    @property
    def notebook(self) -> str:
        """The name of its notebook, as "01_copying"."""
        number = self.id.partition(".")[0]
        return _notebook(number)

    @property
    def kind(self) -> str:
        """As "code + written"."""
        return " + ".join(part.kind for part in self.parts)

    @property
    def points(self) -> float:
        """Of all parts together."""
        return sum(part.points for part in self.parts)

    @property
    def is_bonus(self):
        return self.notebook in BONUS

    def part(self, kind):
        return next(part for part in self.parts if part.kind == kind)


def _notebook(number):
    """The notebook with this number, or None."""
    start = f"{number.zfill(2)}_"
    return next((name for name in POINTS if name.startswith(start)), None)


@cache
def questions_of(notebook: str) -> tuple[Question, ...]:
    """The questions of one notebook, in order."""
    module = import_module(f"{__package__}.questions.{notebook[3:]}")
    return module.QUESTIONS


def find(question_id: str) -> Question:
    """The question with this id; KeyError with a sentence where there is none."""
    question_id = str(question_id)
    number = question_id.partition(".")[0]
    notebook = _notebook(number)
    questions = questions_of(notebook) if notebook else ()
    for question in questions:
        if question.id == question_id:
            return question
    sentence = f"there is no question {question_id}"
    if questions:
        known = ", ".join(question.id for question in questions)
        sentence += f"; notebook {number.zfill(2)} has {known}"
    raise KeyError(f"{sentence}.")
