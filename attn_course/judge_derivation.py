"""Judge a derivation: it starts at the definition, every step holds, it ends at what is asked for.

A chain arrives as lists of strings, from a process that is not trusted. Nothing in it becomes code.
"""

from dataclasses import dataclass
from itertools import pairwise

from attn_course import trees
from attn_course.compare_lines import HOLDS, compare
from attn_course.derivation import as_data, domain_of
from attn_course.limits import compare_limit
from attn_course.relations import is_limit, limit_of, read_relation
from attn_course.trees import Tree, Unreadable, shown_name
from attn_course.verdict import NotAttempted, NotYet

LINES = 60  # of one chain


@dataclass(frozen=True)
class Line:
    """One line of a chain as the judge has it."""

    relation: str
    tree: Tree


def from_data(data, known=None) -> list[Line]:
    """The lines in `data`; `known` are the names of symbols that a line may use."""
    if not isinstance(data, list) or len(data) > LINES:
        raise NotYet(f"a chain of at most {LINES} lines is expected.")
    return [_line(k, item, known) for k, item in enumerate(data)]


def _line(k, item, known):
    try:
        relation, _, tokens = item
        tree = trees.read(tokens)
        line = Line(read_relation(relation), tree)
    except Unreadable as error:
        raise NotYet(f"step {k} cannot be read: {error}.") from None
    except (TypeError, ValueError):
        raise NotYet(f"step {k} is not a line made with derive(...).") from None
    strange = sorted(trees.names_in(tree) - set(known)) if known is not None else []
    if strange:
        raise NotYet(f"step {k} uses {shown_name(strange[0])}, which this question does not have.")
    return line


def judge_chain(answer, *, start, goal, symbols, where=None, only=None, steps=2, name="the chain"):
    """Raise NotYet unless the chain goes from `start` to something equal to `goal`, step by step.

    start: the definition. goal: any expression equal to the required end, which is never shown.
    symbols: the official symbols, as a tuple. only: those the last line may use.
    where: as in `derive`. steps: how many steps (lines after the first) there must be at least.
    Returns the last expression.
    """
    chain = from_data(answer.via(as_data), {symbol.name for symbol in symbols})
    if len(chain) < 2:
        raise NotAttempted
    domain = domain_of(symbols, where or {})
    if chain[0].tree != trees.read(trees.write(start)):
        raise NotYet(f"{name} must start at the definition, which is given above it.")
    for k, (before, line) in enumerate(pairwise(chain), 1):
        if is_limit(line.relation):
            outcome = compare_limit(before.tree, *limit_of(line.relation), line.tree, domain)
        else:
            outcome = compare(before.tree, line.relation, line.tree, domain)
        if outcome.state != HOLDS:
            raise NotYet(outcome.sentence(f"step {k} of {name}"))
    end = chain[-1].tree
    _judge_end(end, goal, domain, only, name)
    moves = sum(a.tree != b.tree for a, b in pairwise(chain))
    if moves < steps:
        raise NotYet(f"{name} holds, but has {moves} of at least {steps} steps: show the way.")
    return end


def _judge_end(end, goal, domain, only, name):
    allowed = {symbol.name for symbol in only} if only else trees.symbols(end)
    extra = sorted(trees.symbols(end) - allowed)
    if extra:
        raise NotYet(f"the last line of {name} still contains {', '.join(extra)}.")
    outcome = compare(trees.read(trees.write(goal)), "=", end, domain)
    if outcome.state != HOLDS:
        raise NotYet(
            f"every step of {name} holds, but its last line is not what is asked for: {outcome.detail}."
        )


def occurrences(tree: Tree, *heads: str) -> int:
    """How often these heads occur in it."""
    return sum(node[0] in heads for node in trees.walk(tree))


def is_linear(tree: Tree, name: str) -> bool:
    """Whether the form is a straight line in a symbol: nothing but sums and multiples around it."""
    if name not in trees.symbols(tree) or tree == ("Symbol", name):
        return True
    if tree[0] == "Add":
        return all(is_linear(part, name) for part in tree[1:])
    moving = [part for part in tree[1:] if isinstance(part, tuple) and name in trees.symbols(part)]
    return tree[0] == "Mul" and len(moving) == 1 and is_linear(moving[0], name)
