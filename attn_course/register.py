"""Which questions there are: notebook, points, minutes, hints, judge."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_course.proofs.domains import Domain
    from attn_course.proofs.required_form import Form
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
# Their points stand in a column of their own, never among the 100.
BONUS: frozenset[str] = frozenset(PARTS["Beyond the handouts"])
# Names of the notebooks that import torch; `attn build` writes it from their sources.
TORCH_NOTEBOOKS = Path(__file__).with_name("torch_notebooks.txt")

# The points of every part. Totals of questions, notebooks and the course are added up from these rows;
# a new question gets a row of its own, and the other rows stay as they are.
POINTS: dict[str, dict[str, float]] = {
    # 00_start_here
    "0.1": {"code": 0},
    "0.2": {"derive": 0},
    "0.3": {"written": 0},
    # 01_copying
    "1.1": {"derive": 0.5, "code": 1},
    "1.2": {"derive": 1},
    "1.3": {"code": 0.5},
    "1.4": {"code": 1},
    "1.5": {"code": 1},
    "1.6": {"code": 0.5},
    "1.7": {"written": 0.5},
    # 02_average_of_two
    "2.1": {"code": 0.5, "written": 1},
    "2.2": {"code": 1.5},
    "2.3": {"derive": 2.5},
    "2.4": {"code": 0.5},
    "2.5": {"code": 1},
    # 03_one_noisy_head
    "3.1": {"code": 1, "written": 1},
    "3.2": {"derive": 1},
    "3.3": {"code": 1},
    "3.4": {"code": 1, "written": 1},
    "3.5": {"derive": 0.5, "code": 1, "written": 0.5},
    # 04_two_heads
    "4.1": {"code": 1},
    "4.2": {"code": 1},
    "4.3": {"written": 1},
    "4.4": {"code": 1},
    "4.5": {"derive": 1},
    # 05_keys_queries_values
    "5.1": {"code": 2},
    "5.2": {"written": 2},
    "5.3": {"code": 3},
    "5.4": {"derive": 1},
    "5.5": {"code": 1},
    # 06_transformer_attention
    "6.1": {"code": 1},
    "6.2": {"code": 1.5},
    "6.3": {"code": 2.5},
    "6.4": {"code": 1},
    "6.5": {"code": 1.5},
    "6.6": {"code": 4},
    "6.7": {"code": 1, "written": 2},
    "6.8": {"written": 1.5},
    # 07_synthesizer
    "7.1": {"code": 5},
    "7.2": {"written": 3, "code": 1},
    # 08_pretrained_knowledge
    "8.1": {"code": 4},
    "8.2": {"code": 4},
    "8.3": {"written": 2},
    "8.4": {"written": 2},
    "8.5": {"written": 2},
    # 09_translation
    "9.1": {"code": 5},
    "9.2": {"code": 2, "written": 1},
    "9.3": {"written": 3},
    "9.4": {"code": 3},
    # 10_bleu_comparison
    "10.1": {"code": 4},
    "10.2": {"code": 4},
    "10.3": {"written": 4},
    # 11_position
    "11.1": {"code": 1, "written": 1},
    "11.2": {"code": 0.5},
    "11.3": {"code": 1, "written": 1},
    "11.4": {"code": 0.5},
    "11.5": {"derive": 1, "code": 1},
    "11.6": {"code": 1, "written": 1},
    "11.7": {"code": 1},
    # 12_fast_attention
    "12.1": {"derive": 1, "code": 2},
    "12.2": {"code": 2},
    "12.3": {"derive": 1, "code": 2},
    "12.4": {"code": 2},
    # 13_induction
    "13.1": {"code": 1},
    "13.2": {"code": 2},
    "13.3": {"derive": 1, "code": 1},
    "13.4": {"written": 1},
    "13.5": {"code": 1},
    "13.6": {"code": 1},
    "13.7": {"code": 1, "written": 1},
    # 14_decoding
    "14.1": {"code": 1},
    "14.2": {"code": 1},
    "14.3": {"code": 1},
    "14.4": {"code": 2},
    "14.5": {"code": 2},
    "14.6": {"code": 1},
    "14.7": {"code": 1, "written": 1},
}


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


def chains_prove(message: str) -> Callable[[Callable[[], Claims]], Callable[..., str]]:
    """Turn a function that returns claims into the judge of one chain for each of them.

    message: what the judge says when all chains hold. Its `claims()` are made once.
    """

    def judge_of(make_claims: Callable[[], Claims]) -> Callable[..., str]:
        claims = cache(make_claims)

        def judge(rng: Any, *chains: Any) -> str:
            judging = import_module(f"{__package__}.judge_derivation")  # with the proof engine
            judging.judge_derivations(chains, claims())
            return message

        judge.claims = claims  # type: ignore[attr-defined]
        return judge

    return judge_of


@dataclass(frozen=True)
class Part:
    """What is marked on its own: "code" and "derive" by a judge, "written" by a person."""

    kind: str
    answers: tuple[str, ...] = ()  # the names the judge is given, in order
    judge: Callable[..., str] | None = None  # judge(rng, *answers) -> what was measured, or NotYet
    points: float = 0.0  # from POINTS


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
    return tuple(_with_points(question) for question in module.QUESTIONS)


def _with_points(question: Question) -> Question:
    """The question with the points that stand in POINTS for each of its parts."""
    row = POINTS.get(question.id, {})
    kinds = [part.kind for part in question.parts]
    if sorted(row) != sorted(kinds):
        from attn_course.errors import UserError

        raise UserError(
            f"question {question.id} has the parts {', '.join(kinds)}; "
            "give each its points in POINTS of attn_course/register.py."
        )
    parts = tuple(replace(part, points=row[part.kind]) for part in question.parts)
    return replace(question, parts=parts)


def points_of(notebook: str) -> float:
    """What a notebook is worth."""
    return sum(question.points for question in questions_of(notebook))


def is_bonus(notebook: str) -> bool:
    """Whether a notebook lies beyond the course's 100 points."""
    return notebook in BONUS


def needs_torch(notebook: str) -> bool:
    """Whether a notebook needs more than NumPy, matplotlib and SymPy."""
    return notebook in TORCH_NOTEBOOKS.read_text("utf-8").split()


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
