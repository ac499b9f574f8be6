"""The register of questions: notebook, points, minutes, hints and judge of each."""

from collections.abc import Callable
from dataclasses import dataclass, field
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
        "09_seq2seq",
        "10_translation",
        "11_bleu_comparison",
    ),
    "Further topics": (
        "12_position",
        "13_fast_attention",
        "14_induction",
        "15_decoding",
        "16_gates_and_memory",
    ),
}
NOTEBOOKS = tuple(name for names in PARTS.values() for name in names)
# Their points stand in a column of their own.
BONUS: frozenset[str] = frozenset(PARTS["Further topics"])
# The names in the given line of every chain: `derive` asks no other notebook for its claims.
NAMES_IN_FIRST_LINES = {
    "00_start_here": ("x",),
    "01_copying": ("Z n s", "Z j s", "R s"),
    "02_average_of_two": ("s_a", "s_i", "n s_a s_b s_i"),
    "03_one_noisy_head": ("ell n s_a s_b s_i", "w", "d p_a", "d p_b"),
    "04_two_heads": ("P n",),
    "05_keys_queries_values": ("rho",),
    "12_position": ("k_1 k_2 p_k p_q q_1 q_2 theta",),
    "13_fast_attention": ("M_1 M_2 Z_1 Z_2", "C_0 Z_0 g s v"),
    "14_induction": ("f_0 f_1 n_0 n_1 s",),
    "16_gates_and_memory": ("C Z s_0", "C Z g s_0", "A R", "C_0 C_1 Z_0 Z_1", "F d eta k q r_k v"),
}
# Names of the notebooks that import torch; `attn build` writes it from their sources.
TORCH_NOTEBOOKS = Path(__file__).with_name("torch_notebooks.txt")


@dataclass(frozen=True, eq=False)
class Claim:
    """What a chain has to show, in SymPy.

    start: the given line. goal: any expression equal to the last line, which is never shown.
    symbols: all that a line may use. where: values and ranges, as in `derive`.
    relation: between the first line and the last. only: the symbols that may be left in the last line.
    forms: what else the last line should look like. slips: {sentence: what a line is if this slip was made}.
    """

    name: str
    start: object
    goal: object
    symbols: tuple
    where: dict = field(default_factory=dict)
    relation: str = "="
    only: tuple | None = None
    forms: "tuple[Form, ...]" = ()
    slips: dict = field(default_factory=dict)

    @cached_property
    def domain(self) -> "Domain":
        """The values of the symbols for which the given line has a value."""
        from attn_course.proofs.domains import domain_of

        return domain_of(self.symbols, self.where, [self.first_line])

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all symbols of the question."""
        return frozenset(map(str, self.symbols))

    @cached_property
    def names_in_end(self) -> frozenset[str]:
        """The names that may be left in the last line."""
        return self.names if self.only is None else frozenset(map(str, self.only))

    @cached_property
    def first_line(self) -> "Tree":
        """The given line as the tree that the proof engine reads."""
        from attn_course.proofs.trees import tree_of

        return tree_of(self.start)

    @cached_property
    def goal_tree(self) -> "Tree":
        """The goal as such a tree."""
        from attn_course.proofs.trees import tree_of

        return tree_of(self.goal)

    @cached_property
    def slip_trees(self) -> "dict[str, Tree]":
        """The slips as such trees: {sentence: tree}."""
        from attn_course.proofs.trees import tree_of

        return {sentence: tree_of(expression) for sentence, expression in self.slips.items()}


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
    """A part of a question with points of its own: a judge marks "code" and "derive", a person "written"."""

    kind: str
    answers: tuple[str, ...] = ()  # the names the judge is given, in order
    judge: Callable[..., str] | None = None  # judge(rng, *answers) -> what was measured, or NotYet
    points: float = field(kw_only=True)


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
        """The name of the question's notebook, such as "01_copying"."""
        number = self.id.partition(".")[0]
        return notebook_numbered(number) or ""

    @property
    def kind(self) -> str:
        """The kinds of all parts, such as "code + written"."""
        return " + ".join(part.kind for part in self.parts)

    @property
    def points(self) -> float:
        """The points of all parts together."""
        return sum(part.points for part in self.parts)

    @property
    def is_bonus(self) -> bool:
        """True if the points stand in the column of bonus points."""
        return is_bonus(self.notebook)

    def part(self, kind: str) -> Part:
        """Return the one part of this kind."""
        return next(part for part in self.parts if part.kind == kind)


def notebook_numbered(number: str) -> str | None:
    """Return the notebook with this number, written as "1" or "01"; None if there is none."""
    start = f"{number.zfill(2)}_"
    return next((name for name in NOTEBOOKS if name.startswith(start)), None)


@cache
def questions_of(notebook: str) -> tuple[Question, ...]:
    """Return the questions of one notebook, in order."""
    module = import_module(f"{__package__}.questions.{notebook[3:]}")
    questions: tuple[Question, ...] = module.QUESTIONS
    return questions


def points_of(notebook: str) -> float:
    """Return the points of all questions of a notebook."""
    return sum(question.points for question in questions_of(notebook))


def is_bonus(notebook: str) -> bool:
    """Return True if a notebook gives bonus points."""
    return notebook in BONUS


def needs_torch(notebook: str) -> bool:
    """Return True if a notebook needs torch."""
    return notebook in TORCH_NOTEBOOKS.read_text("utf-8").split()


def claims_of(question: Question) -> list[Claim]:
    """Return what the chains of a question have to show."""
    parts = [part for part in question.parts if part.kind == "derive"]
    return [claim for part in parts for claim in part.judge.claims()]  # type: ignore[union-attr]


def claim_from(first_line: "Tree") -> tuple[Question, Claim] | None:
    """Return the claim whose chain starts with this line, and its question; None if there is none."""
    from attn_course.proofs.trees import names_in

    names = " ".join(sorted(names_in(first_line)))
    for notebook, starts in NAMES_IN_FIRST_LINES.items():
        for question in questions_of(notebook) if names in starts else ():
            for claim in claims_of(question):
                if claim.first_line == first_line:
                    return question, claim
    return None


def find(question_id: str) -> Question:
    """Return the question with this id; raise KeyError with a sentence if there is none."""
    question_id = str(question_id)
    number = question_id.partition(".")[0]
    notebook = notebook_numbered(number)
    questions = questions_of(notebook) if notebook else ()
    for question in questions:
        if question.id == question_id:
            return question
    sentence = f"there is no question {question_id}"
    if questions:
        ids = ", ".join(question.id for question in questions)
        sentence += f"; notebook {number.zfill(2)} has {ids}"
    raise KeyError(f"{sentence}.")
