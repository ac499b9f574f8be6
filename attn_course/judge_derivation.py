"""Judge a derivation against a claim: its start, its relation, its end, and a line between them.

A chain arrives as lists of strings, from a process that is not trusted. Nothing in it becomes code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attn_course.answers import Caller, NotAttempted, NotYet
from attn_course.answers.wording import listed
from attn_course.derivation import as_data, turned_round
from attn_course.proofs import trees
from attn_course.proofs.compare_lines import FAILS, HOLDS, Comparer
from attn_course.proofs.modular import Field
from attn_course.proofs.relations import EQUAL, compose, implies, read_relation
from attn_course.proofs.trees import Tree, Unreadable, shown_name
from attn_course.register import Claim

LINES = 60  # of one chain
FOR_A_PERSON = "A person will look at it."


@dataclass(frozen=True)
class ChainLine:
    """One line of a chain as the judge has it."""

    relation: str
    tree: Tree


def from_data(data: Any, name: str = "the chain") -> list[ChainLine]:
    """The lines in `data`, read without trust."""
    if not isinstance(data, list) or len(data) > LINES:
        raise NotYet(f"{name} should be a chain of at most {LINES} lines.")
    lines = []
    for k, item in enumerate(data):
        try:
            relation, _, tokens = item
            lines.append(ChainLine(read_relation(relation), trees.read(tokens)))
        except Unreadable as error:
            raise NotYet(f"step {k} of {name} cannot be read: {error}.") from None
        except (TypeError, ValueError):
            raise NotYet(f"step {k} of {name} is not a line made with derive(...).") from None
    return lines


def judge_derivations(answers: Sequence[Caller], claims: Sequence[Claim]) -> None:
    """Raise NotYet unless each chain proves its claim; it tells what share of the chains does."""
    read: list[list[ChainLine] | NotYet | None] = []
    for answer, claim in zip(answers, claims, strict=True):
        try:
            chain = _chain_of(answer, claim.name)
            read.append(chain if len(chain) > 1 else None)
        except NotAttempted:
            read.append(None)
        except NotYet as error:
            read.append(error)
    if not any(read):
        raise NotAttempted
    field = Field.drawn()  # after the chains are there, so that no line can be made for it
    faults = []
    for chain, claim in zip(read, claims, strict=True):
        try:
            if chain is None:
                raise NotYet(f"{claim.name} is still empty.")
            if isinstance(chain, NotYet):
                raise chain
            judge_chain(chain, claim, field)
        except NotYet as error:
            faults.append(str(error))
    if not faults:
        return
    held = len(claims) - len(faults)
    verb = "holds" if held == 1 else "hold"
    first, *others = faults
    told = [f"{held} of {len(claims)} chains {verb}; {first}" if held else first]
    told += [other[0].upper() + other[1:] for other in others]
    raise NotYet(" ".join(told), share=held / len(claims))


def _chain_of(answer, name):
    """The lines that the process of the answer sends; a refusal from there never asks for a person."""
    try:
        data = answer.via(as_data)
    except NotYet as error:
        raise NotYet(str(error).replace(FOR_A_PERSON, "")) from None
    return from_data(data, name)


def judge_chain(chain: Sequence[ChainLine], claim: Claim, field: Field) -> None:
    """Raise NotYet unless the chain proves the claim, line by line.

    What is wrong for certain is said before what nobody can decide.
    """
    if chain[0].tree != claim.first_line:
        raise NotYet(f"{claim.name} must start at the definition, which is given above it.")
    try:
        trees.limit_work(claim.domain.with_values(line.tree) for line in chain)
    except Unreadable as error:
        raise NotYet(f"{claim.name} cannot be judged: {error}.") from None
    comparer = Comparer(claim.domain, field)
    proved, doubts = _judge_lines(chain, claim, comparer)
    doubts += _judge_end(chain[-1].tree, proved, claim, comparer)
    ends = (chain[0].tree, chain[-1].tree)
    if not claim.one_line and all(line.tree in ends for line in chain):
        raise NotYet(
            f"{claim.name} goes from its first line to its last in one step: show at least one line between "
            "them. Lines that SymPy shows alike count as one."
        )
    if doubts:
        raise NotYet(doubts[0])


def _judge_lines(chain, claim, comparer):
    """The relation between the first line and the last, and a sentence on each step without a proof."""
    proved = EQUAL
    doubts = []
    known = {str(symbol) for symbol in claim.symbols}
    for k, line in enumerate(chain[1:], 1):
        step = f"step {k} of {claim.name}"
        strange = sorted(trees.names_in(line.tree) - known)
        if strange:
            raise NotYet(
                f"{step} uses {shown_name(strange[0])}, which this question does not have."
            )
        together = compose(proved, line.relation)
        if together is None:
            raise NotYet(turned_round(step, proved, line.relation))
        outcome = comparer.compare(chain[k - 1].tree, line.relation, line.tree)
        if outcome.state == FAILS:
            raise NotYet(outcome.sentence(step))
        if outcome.state != HOLDS:
            doubts.append(f"{outcome.sentence(step)} {FOR_A_PERSON}")
        proved = together
    return proved, doubts


def _judge_end(end, proved, claim, comparer):
    """A sentence where nobody can tell whether the last line is the one that is asked for."""
    if claim.only is not None:
        allowed = {str(symbol) for symbol in claim.only}
        extra = sorted(trees.names_in(end) - allowed)
        if extra:
            wanted = f"nothing but {listed(sorted(allowed))}" if allowed else "a number"
            raise NotYet(
                f"the last line of {claim.name} still contains {listed(map(shown_name, extra))}: go on until "
                f"{wanted} is left."
            )
    if not implies(proved, claim.relation) and proved != EQUAL:
        raise NotYet(f"{claim.name} proves {proved}, where {claim.relation} is asked for.")
    outcome = comparer.compare(claim.wanted, EQUAL, end)
    if outcome.state == FAILS:
        raise NotYet(_other_end(end, proved, claim, comparer))
    for form in claim.forms:
        if not form.holds(end):
            raise NotYet(f"every step of {claim.name} holds, but go on: {form.what} is asked for.")
    if outcome.state == HOLDS:
        return []
    what = f"whether the last line of {claim.name} is what is asked for could not be decided"
    return [f"{what}: {outcome.doubt}. {FOR_A_PERSON}"]


def _other_end(end, proved, claim, comparer):
    """What to say of a last line that is not the one that is asked for."""
    place, wanted, found = comparer.difference_at(claim.wanted, end)
    what, better = "not what is asked for", "is required"
    if proved != EQUAL:
        what, better = "not the best bound", "is a bound too"
    where = f"at {place} " if place else ""
    seen = f": {where}it is {found}, and {wanted} {better}" if wanted else ""
    return f"every step of {claim.name} holds, but its last line is {what}{seen}."
