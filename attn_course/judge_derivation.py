"""Judge a derivation against a claim: its start, every line after it, the relation it proves, its end.

A chain arrives as lists of strings, from a process that is not trusted. Nothing in it becomes code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attn_course.answers import Caller, NotAttempted, NotYet
from attn_course.answers.wording import listed
from attn_course.derivation import VALUE, as_data, strange_symbol, turned_round
from attn_course.proofs import trees
from attn_course.proofs.compare_lines import FAILS, HOLDS, Comparer
from attn_course.proofs.modular import Field
from attn_course.proofs.relations import EQUAL, compose, implies, read_relation
from attn_course.proofs.trees import Tree, Unreadable, shown_name
from attn_course.register import Claim

LINES = 60  # of one chain
HELPERS = 20  # symbols of the student's own, in one chain
FOR_A_PERSON = "In a class, a person will look at it."


@dataclass(frozen=True)
class ChainLine:
    """One line of a chain as the judge has it."""

    relation: str
    tree: Tree


def from_data(data: Any, name: str = "the chain") -> list[ChainLine]:
    """Return the lines in `data`, read without trust."""
    lines = []
    for k, item in enumerate(_rows(data, name, is_value=False)):
        try:
            relation, _, tokens = item
            lines.append(ChainLine(read_relation(relation), trees.read(tokens)))
        except Unreadable as error:
            raise NotYet(f"step {k} of {name} cannot be read: {error}.") from None
        except (TypeError, ValueError):
            raise NotYet(f"step {k} of {name} is not a line made with derive(...).") from None
    return lines


def helper_values(data: Any, name: str = "the chain") -> dict[str, Tree]:
    """Return the values that `where` gives to symbols, read without trust."""
    values = {}
    for item in _rows(data, name, is_value=True):
        try:
            _, symbol, tokens = item
            values[str(symbol)[: trees.NAME]] = trees.read(tokens)
        except (Unreadable, TypeError, ValueError):
            raise NotYet(f"a value in `where` of {name} cannot be read.") from None
    return values


def _rows(data, name, *, is_value):
    """Return the rows of a chain that hold a value of `where`, or those that hold a line."""
    if not isinstance(data, list) or len(data) > LINES + HELPERS:
        raise NotYet(f"{name} should be a chain of at most {LINES} lines.")
    rows = [row for row in data if (isinstance(row, list) and row[:1] == [VALUE]) == is_value]
    if len(rows) > (HELPERS if is_value else LINES):
        raise NotYet(f"{name} should be a chain of at most {LINES} lines.")
    return rows


def judge_derivations(answers: Sequence[Caller], claims: Sequence[Claim]) -> None:
    """Raise NotYet, with the share of the chains that prove their claims, unless all of them do."""
    read: list[tuple[list[ChainLine], dict[str, Tree]] | NotYet | None] = []
    for answer, claim in zip(answers, claims, strict=True):
        try:
            data = _data_of(answer)
            lines = from_data(data, claim.name)
            helpers = helper_values(data, claim.name)
            is_empty = len(lines) < 2 and all(line.tree == claim.first_line for line in lines)
            read.append(None if is_empty else (lines, helpers))
        except NotAttempted:
            read.append(None)
        except NotYet as error:
            read.append(error)
    if not any(read):
        raise NotAttempted
    field = Field.drawn()  # after the chains are there, so that no line can be made for it
    faults: list[NotYet] = []
    for chain, claim in zip(read, claims, strict=True):
        try:
            if chain is None:
                raise NotYet(f"{claim.name} is still empty.")
            if isinstance(chain, NotYet):
                raise chain
            judge_chain(*chain, claim, field)
        except NotYet as error:
            faults.append(error)
    if not faults:
        return
    held = len(claims) - len(faults)
    verb = "holds" if held == 1 else "hold"
    first, *others = map(str, faults)
    told = [f"{held} of {len(claims)} chains {verb}; {first}" if held else first]
    told += [other[0].upper() + other[1:] for other in others]
    raise NotYet(
        " ".join(told),
        share=held / len(claims),
        mistake=next((fault.mistake for fault in faults if fault.mistake), ""),
        needs_person=any(fault.needs_person for fault in faults),
    )


def _data_of(answer):
    """Return the rows that the process of the answer sends; a refusal from there never asks for a person."""
    try:
        return answer.run_driver(as_data)
    except NotYet as error:
        raise NotYet(str(error).replace(FOR_A_PERSON, "")) from None


def judge_chain(
    chain: Sequence[ChainLine], helpers: dict[str, Tree], claim: Claim, field: Field
) -> None:
    """Raise NotYet unless the chain proves the claim, line by line.

    helpers: values of the student's own symbols. A line that is wrong for certain is named before one that
    could not be decided.
    """
    if chain[0].tree != claim.first_line:
        raise NotYet(f"{claim.name} must start at the definition, which is given above it.")
    helpers = {name: value for name, value in helpers.items() if name not in claim.names}
    domain = claim.domain.with_helpers(helpers)
    try:
        trees.limit_work(domain.with_values(line.tree) for line in chain)
    except Unreadable as error:
        raise NotYet(f"{claim.name} cannot be judged: {error}.") from None
    comparer = Comparer(domain, field)
    proved, doubts = _judge_lines(chain, claim, comparer)
    doubts += _judge_end(chain[-1].tree, proved, claim, comparer)
    if doubts:
        raise NotYet(doubts[0], needs_person=True)


def _judge_lines(chain, claim, comparer):
    """Return the relation of the first line to the last, and a sentence on each step without a proof."""
    proved = EQUAL
    doubts = []
    for k, line in enumerate(chain[1:], 1):
        step = f"step {k} of {claim.name}"
        strange = strange_symbol(line.tree, claim, comparer.domain)
        if strange:
            raise NotYet(f"{step} {strange}.")
        together = compose(proved, line.relation)
        if together is None:
            raise NotYet(turned_round(step, proved, line.relation))
        outcome = comparer.compare(chain[k - 1].tree, line.relation, line.tree)
        if outcome.state == FAILS:
            slip = comparer.named_slip(line.tree, claim.slip_trees)
            raise NotYet(outcome.sentence(step, slip), mistake=slip)
        if outcome.state != HOLDS:
            doubts.append(f"{outcome.sentence(step)} {FOR_A_PERSON}")
        proved = together
    return proved, doubts


def _judge_end(end, proved, claim, comparer):
    """Return a list with a sentence if it cannot be decided whether the last line is the one asked for."""
    allowed = claim.names_in_end  # no helper symbols: they may hide what is still to be done
    extra = sorted(trees.names_in(end) - allowed)
    if extra:
        goal = f"nothing but {listed(sorted(allowed))}" if allowed else "a number"
        raise NotYet(
            f"the last line of {claim.name} still contains {listed(map(shown_name, extra))}: go on until "
            f"{goal} is left."
        )
    if not implies(proved, claim.relation) and proved != EQUAL:
        raise NotYet(f"{claim.name} proves {proved}, where {claim.relation} is asked for.")
    outcome = comparer.compare(claim.goal_tree, EQUAL, end)
    if outcome.state == FAILS:
        slip = comparer.named_slip(end, claim.slip_trees)
        raise NotYet(_other_end(end, proved, claim, comparer, slip), mistake=slip)
    for form in claim.forms:
        if not form.holds(end):
            raise NotYet(f"every step of {claim.name} holds, but go on: {form.what} is asked for.")
    if outcome.state == HOLDS:
        return []
    what = f"whether the last line of {claim.name} is what is asked for could not be decided"
    return [f"{what}: {outcome.doubt}. {FOR_A_PERSON}"]


def _other_end(end, proved, claim, comparer, slip):
    """Return a sentence on a last line that is not the one that is asked for."""
    point, goal, value = comparer.difference_at(claim.goal_tree, end)
    fault, comparison = "not what is asked for", "is required"
    if proved != EQUAL:
        fault, comparison = "not the best bound", "is a bound too"
    where = f"at {point} " if point else ""
    cause = f" ({slip})" if slip else ""
    difference = f": {where}it is {value}, and {goal} {comparison}" if goal else ""
    return f"every step of {claim.name} holds, but its last line is {fault}{difference}{cause}."
