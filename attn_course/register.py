"""Which questions there are: notebook, points, minutes, hints, judge; knows none of the answers."""

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
    judge: Callable | None = None  # judge(rng, *answers) -> what was measured, or raises NotYet


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
    def notebook(self):
        number = int(self.id.partition(".")[0])
        return next(name for name in POINTS if int(name[:2]) == number)

    @property
    def kind(self):
        return " + ".join(part.kind for part in self.parts)

    @property
    def points(self):
        return sum(part.points for part in self.parts)

    @property
    def is_bonus(self):
        return self.notebook in BONUS

    def part(self, kind):
        return next(part for part in self.parts if part.kind == kind)


@cache
def questions_of(notebook):
    """The questions of one notebook, in order."""
    return import_module(f"{__package__}.questions.{notebook[3:]}").QUESTIONS


def find(question_id):
    """The question with this id; KeyError with a sentence where there is none."""
    number = str(question_id).partition(".")[0].zfill(2)
    notebook = next((name for name in POINTS if name.startswith(f"{number}_")), None)
    known = {question.id: question for question in questions_of(notebook)} if notebook else {}
    if str(question_id) not in known:
        there = f"; notebook {number} has {', '.join(known)}" if known else ""
        raise KeyError(f"there is no question {question_id}{there}.")
    return known[str(question_id)]
