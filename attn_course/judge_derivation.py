"""Judge a derivation against a claim: its start, its relation, its end, and the way between them.

A chain arrives as lists of strings, from a process that is not trusted. Nothing in it becomes code.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from attn_course.answers import Caller, NotAttempted, NotYet
from attn_course.derivation import as_data, domain_of
from attn_course.proofs import (
    intervals,
    modular,
    trees,
)
from attn_course.proofs.chain_rules import PLAIN, Task, close_to_integer, fault_in_form
from attn_course.proofs.compare_lines import FAILS, HOLDS, compare, difference_at
from attn_course.proofs.domains import Domain
from attn_course.proofs.relations import EQUAL, compose, is_limit, read_relation
from attn_course.proofs.trees import Tree, Unreadable, shown_name

LINES = 60  # of one chain
FOR_A_PERSON = "A person will look at it."


@dataclass(frozen=True, eq=False)
class Claim:
    """What a chain has to show, in SymPy.

    start: the given line. goal: any expression equal to the last line, which is never shown.
    to_do: the things to do, one a line. symbols: all that a line may use.
    where: as in `derive`; a symbol with two equal ends stands for that value until it goes.
    heads: what a line may be made of. only: the symbols that may be left in the end.
    in_one: whether the first line may be followed by the last.
    """

    name: str
    start: object
    goal: object
    to_do: tuple[Task, ...]
    symbols: tuple
    where: dict = field(default_factory=dict)
    relation: str = EQUAL
    heads: frozenset[str] = PLAIN
    only: tuple = ()
    in_one: bool = False

    @functools.cached_property
    def domain(self) -> Domain:
        return domain_of(self.symbols, self.where)

    @functools.cached_property
    def first_line(self) -> Tree:
        return trees.tree_of(self.start)

    @functools.cached_property
    def wanted(self) -> Tree:
        return trees.tree_of(self.goal)

    @property
    def names(self) -> set[str]:
        return {str(symbol) for symbol in self.symbols}


Claims = tuple[Claim, ...]


@dataclass(frozen=True)
class ChainLine:
    """One line of a chain as the judge has it."""

    relation: str
    tree: Tree


def from_data(data: Any, name: str = "the chain") -> list[ChainLine]:
    """The lines in `data`, read without trust."""
    if not isinstance(data, list) or len(data) > LINES:
        raise NotYet(f"{name} should be a chain of at most {LINES} lines.")
    lines = [_line(k, item, name) for k, item in enumerate(data)]
    try:
        trees.limit_work(line.tree for line in lines)
    except Unreadable as error:
        raise NotYet(f"{name} cannot be judged: {error}.") from None
    return lines


def _line(k, item, name):
    try:
        relation, _, tokens = item
        return ChainLine(read_relation(relation), trees.read(tokens))
    except Unreadable as error:
        raise NotYet(f"step {k} of {name} cannot be read: {error}.") from None
    except (TypeError, ValueError):
        raise NotYet(f"step {k} of {name} is not a line made with derive(...).") from None


def judge_derivation(answer: Caller, claim: Claim) -> None:
    """Raise NotYet unless the chain proves the claim, line by line.

    What is wrong for certain is said before what nobody can decide.
    """
    chain = chain_of(answer, claim.name)
    if len(chain) < 2:
        raise NotAttempted
    modular.draw_prime()  # after the chain is there, so that no line can be made for it
    if chain[0].tree != claim.first_line:
        raise NotYet(f"{claim.name} must start at the definition, which is given above it.")
    proved, doubts = _judge_lines(chain, claim)
    doubts += _judge_end(chain[-1].tree, proved, claim)
    trees_of_lines = [line.tree for line in chain]
    fault = fault_in_form(trees_of_lines, claim.to_do, claim.domain.positive, claim.in_one)
    if doubts:
        raise NotYet(f"every step of {claim.name} may hold, but {fault}." if fault else doubts[0])
    if fault:
        raise NotYet(f"every step of {claim.name} holds, but {fault}.")


def judge_derivations(answers: Sequence[Caller], claims: Sequence[Claim]) -> None:
    """Raise NotYet unless each chain proves its claim."""
    for answer, claim in zip(answers, claims, strict=True):
        judge_derivation(answer, claim)


def chain_of(answer: Caller, name: str) -> list[ChainLine]:
    """The lines that the process of the answer sends; a refusal from there never asks for a person."""
    try:
        data = answer.via(as_data)
    except NotYet as error:
        raise NotYet(str(error).replace(FOR_A_PERSON, "")) from None
    return from_data(data, name)


def _judge_lines(chain, claim):
    """The relation between the first line and the last, and a sentence on each step without a proof."""
    proved = EQUAL
    doubts = []
    work = intervals.Work()
    for k, line in enumerate(chain[1:], 1):
        step = f"step {k} of {claim.name}"
        if is_limit(line.relation):
            raise NotYet(f"{step} takes a limit, and this question asks for what always holds.")
        _judge_parts(step, line.tree, claim)
        together = compose(proved, line.relation)
        if together is None:
            raise NotYet(
                f"{step} turns round: after {proved} a line with {line.relation} says nothing of "
                "the first line."
            )
        outcome = compare(chain[k - 1].tree, line.relation, line.tree, claim.domain, work)
        if outcome.state == FAILS:
            raise NotYet(outcome.sentence(step))
        if outcome.state != HOLDS:
            doubts.append(f"{outcome.sentence(step)} {FOR_A_PERSON}")
        proved = together
    return proved, doubts


def _judge_parts(step, tree, claim):
    strange = sorted(trees.names_in(tree) - claim.names)
    if strange:
        raise NotYet(f"{step} uses {shown_name(strange[0])}, which this question does not have.")
    foreign = sorted(trees.heads(tree) - claim.heads)
    if foreign:
        raise NotYet(f"{step} uses {foreign[0]}, which no line of this chain needs.")
    if close_to_integer(tree):
        raise NotYet(f"{step} has a constant that is nearly a whole number: write it exactly.")


def _judge_end(end, proved, claim):
    """A sentence where nobody can tell whether the last line is the one that is asked for."""
    extra = sorted(trees.names_in(end) - {str(symbol) for symbol in claim.only})
    if claim.only and extra:
        raise NotYet(f"the last line of {claim.name} still contains {', '.join(extra)}.")
    if proved not in (claim.relation, EQUAL):
        raise NotYet(f"{claim.name} proves {proved}, where {claim.relation} is asked for.")
    outcome = compare(claim.wanted, EQUAL, end, claim.domain)
    if outcome.state == HOLDS:
        return []
    if outcome.state != FAILS:
        what = f"whether the last line of {claim.name} is what is asked for could not be decided"
        return [f"{what}: {outcome.doubt}. {FOR_A_PERSON}"]
    place, wanted, found = difference_at(claim.wanted, end, claim.domain)
    seen = f"at {place} it is {found}, and {wanted} is" if place else "it is not what is"
    if proved != EQUAL:
        raise NotYet(f"{claim.name} holds, but is not the best: {seen} possible.")
    raise NotYet(
        f"every step of {claim.name} holds, but its last line is not what is asked for: "
        f"{seen} required."
    )
