"""Which questions there are: notebook, points, minutes, hints, judge."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_course.proofs.domains import Domain
    from attn_course.proofs.forms import Form
    from attn_course.proofs.trees import Tree

# The notebooks in order, in the parts that README lists. The questions of NN_name live in questions/name.py.
PARTS = {
    "Attention by hand": (
        "00_start_here",
        "01_copying",
        "02_average_of_two",
        "03_one_noisy_head",
        "04_two_heads",
        "05_keys_queries_values",
    ),
    "Attention in a Transformer": (
        "06_transformer_attention",
        "07_synthesizer",
        "08_pretrained_knowledge",
    ),
    "Translation": (
        "09_translation",
        "10_bleu_comparison",
    ),
    "Beyond the handouts": (
        "11_position",
        "12_fast_attention",
        "13_induction",
        "14_decoding",
    ),
}
NOTEBOOKS = tuple(name for names in PARTS.values() for name in names)
# Notebooks that import torch; a test holds this to their set-up cells.
USES_TORCH: frozenset[str] = frozenset(
    {
        "06_transformer_attention",
        "07_synthesizer",
        "08_pretrained_knowledge",
        "09_translation",
        "10_bleu_comparison",
        "11_position",
        "12_fast_attention",
        "13_induction",
        "14_decoding",
    }
)
# Their points stand in a column of their own, never among the 100.
BONUS: frozenset[str] = frozenset(PARTS["Beyond the handouts"])


@dataclass(frozen=True, eq=False)
class Claim:
    """What a chain has to show, in SymPy.

    start: the given line. goal: any expression equal to the last line, which is never shown.
    symbols: all that a line may use. where: values and ranges, as in `derive`.
    relation: between the first line and the last. only: the symbols that may be left in the last line.
    forms: what else the last line should look like. one_line: whether the last line may follow the first.
    """

    name: str
    start: object
    goal: object
    symbols: tuple
    where: dict = field(default_factory=dict)
    relation: str = "="
    only: tuple | None = None
    forms: "tuple[Form, ...]" = ()
    one_line: bool = False

    @cached_property
    def domain(self) -> "Domain":
        """Where the symbols lie and the given line has a value."""
        from attn_course.proofs.domains import domain_of

        return domain_of(self.symbols, self.where, [self.first_line])

    @cached_property
    def first_line(self) -> "Tree":
        from attn_course.proofs.trees import tree_of

        return tree_of(self.start)

    @cached_property
    def wanted(self) -> "Tree":
        from attn_course.proofs.trees import tree_of

        return tree_of(self.goal)


Claims = tuple[Claim, ...]


def chains_prove(make_claims: Callable[[], Claims], message: str) -> Callable[..., str]:
    """A judge of one chain for each claim; `message` is what it says when all of them hold."""

    def judge(rng: Any, *chains: Any) -> str:
        judging = import_module(f"{__package__}.judge_derivation")  # with the proof engine
        judging.judge_derivations(chains, make_claims())
        return message

    judge.claims = make_claims  # type: ignore[attr-defined]
    return judge


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

    @cached_property
    def notebook(self) -> str:
        """The name of its notebook, as "01_copying"."""
        number = self.id.partition(".")[0]
        return notebook_numbered(number) or ""

    @property
    def kind(self) -> str:
        """As "code + written"."""
        return " + ".join(part.kind for part in self.parts)

    @property
    def points(self) -> float:
        """Of all parts together."""
        return sum(part.points for part in self.parts)

    @property
    def is_bonus(self) -> bool:
        """Whether its points stand in the column of their own."""
        return is_bonus(self.notebook)

    def part(self, kind: str) -> Part:
        """Its one part of this kind."""
        return next(part for part in self.parts if part.kind == kind)


def notebook_numbered(number: str) -> str | None:
    """The notebook with this number, written as "1" or "01"."""
    start = f"{number.zfill(2)}_"
    return next((name for name in NOTEBOOKS if name.startswith(start)), None)


@cache
def questions_of(notebook: str) -> tuple[Question, ...]:
    """The questions of one notebook, in order."""
    module = import_module(f"{__package__}.questions.{notebook[3:]}")
    return module.QUESTIONS


def points_of(notebook: str) -> float:
    """What a notebook is worth."""
    return sum(question.points for question in questions_of(notebook))


def is_bonus(notebook: str) -> bool:
    """Whether a notebook lies beyond the course's 100 points."""
    return notebook in BONUS


def needs_torch(notebook: str) -> bool:
    """Whether a notebook needs more than NumPy, matplotlib and SymPy."""
    return notebook in USES_TORCH


def find(question_id: str) -> Question:
    """The question with this id; KeyError with a sentence where there is none."""
    question_id = str(question_id)
    number = question_id.partition(".")[0]
    notebook = notebook_numbered(number)
    questions = questions_of(notebook) if notebook else ()
    for question in questions:
        if question.id == question_id:
            return question
    sentence = f"there is no question {question_id}"
    if questions:
        known = ", ".join(question.id for question in questions)
        sentence += f"; notebook {number.zfill(2)} has {known}"
    raise KeyError(f"{sentence}.")
