"""What a question asks of a chain. Nothing is proved here, so that questions are quick to import."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numpy.random import Generator

from attn_course.answers import Caller

if TYPE_CHECKING:
    from attn_course.proofs.domains import Domain
    from attn_course.proofs.forms import Form
    from attn_course.proofs.trees import Tree


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

    @functools.cached_property
    def domain(self) -> "Domain":
        """Where the symbols lie and the given line has a value."""
        from attn_course.derivation import domain_of

        return domain_of(self.symbols, self.where, [self.first_line])

    @functools.cached_property
    def first_line(self) -> "Tree":
        from attn_course.proofs.trees import tree_of

        return tree_of(self.start)

    @functools.cached_property
    def wanted(self) -> "Tree":
        from attn_course.proofs.trees import tree_of

        return tree_of(self.goal)


Claims = tuple[Claim, ...]


def chains_prove(make_claims: Callable[[], Claims], message: str) -> Callable[..., str]:
    """A judge of one chain for each claim; `message` is what it says when all of them hold."""

    def judge(rng: Generator, *chains: Caller) -> str:
        from attn_course.judge_derivation import judge_derivations

        judge_derivations(chains, make_claims())
        return message

    judge.claims = make_claims  # type: ignore[attr-defined]
    return judge
