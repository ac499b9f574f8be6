"""What makes true lines a derivation: one thing a line, nothing undone, nothing padded."""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from attn_course.proofs import (
    intervals,
    modular,
)
from attn_course.proofs.domains import CONTEXTS
from attn_course.proofs.trees import (
    BINDING,
    Tree,
    changed_parts,
    children,
    fraction_of,
    is_number,
    substitute,
    symbols,
    times,
    walk,
)

MOST_PARTS = 16  # terms or factors among which padding is looked for
NEAR_INTEGER = 1e-6
ONE_THING = "One thing a line; what cancels counts as not there"
PLAIN = frozenset({"Add", "Mul", "Pow", "Symbol", "Rational", "exp"})
HYPERBOLIC = frozenset({"sinh", "cosh", "tanh", "coth", "sech", "csch"})
SUMS = frozenset({"Sum", "Bound", "Indexed"})
ERRORS = frozenset({"erf", "erfc"})
TURNS = frozenset({"sin", "cos", "tan"})
LOGS = frozenset({"log"})
VARYING = frozenset({"Symbol", "Bound", "Indexed"})


@dataclass(frozen=True)
class Task:
    """A thing to do: `what` in words, and whether a line has it done."""

    what: str
    done: Callable[[Tree], bool]


def gone(what: str, *names: str) -> Task:
    """The line depends on none of these symbols; one that cancels is as good as gone."""
    return Task(what, lambda line: not any(depends_on(line, name) for name in names))


def depends_on(line: Tree, name: str) -> bool:
    """Whether another symbol in the place of this one makes another function of the line."""
    if name not in symbols(line):
        return False
    other = substitute(line, {name: ("Symbol", f"another {name}")})
    return modular.compare(line, other, frozenset()) != modular.EQUAL


def present(what: str, name: str) -> Task:
    """The symbol has come in."""
    return Task(what, lambda line: name in symbols(line))


def without(what: str, *heads: str) -> Task:
    """None of these heads is left, such as "Sum"."""
    return Task(what, lambda line: not occurrences(line, *heads))


def occurs_at_most(what: str, most: int, *heads: str) -> Task:
    """These heads occur at most so often in all."""
    return Task(what, lambda line: occurrences(line, *heads) <= most)


def in_places(what: str, most: int, name: str) -> Task:
    """The symbol stands in at most so many places."""
    symbol = ("Symbol", name)

    def done(line: Tree) -> bool:
        places = [node for node in walk(line) if node == symbol]
        return len(places) <= most

    return Task(what, done)


def straight_line(what: str, name: str) -> Task:
    """A multiple of the symbol, plus what does not depend on it."""
    return Task(what, lambda line: name in symbols(line) and is_linear(line, name))


def both(what: str, *tasks: Task) -> Task:
    """Several tasks that count as one."""
    return Task(what, lambda line: all(task.done(line) for task in tasks))


def occurrences(line: Tree, *heads: str) -> int:
    return sum(node[0] in heads for node in walk(line))


def is_linear(line: Tree, name: str) -> bool:
    """Whether nothing but sums and multiples stand around the symbol."""
    if name not in symbols(line) or line == ("Symbol", name):
        return True
    if line[0] == "Add":
        return all(is_linear(part, name) for part in line[1:])
    if line[0] != "Mul":
        return False
    moving = [part for part in children(line) if name in symbols(part)]
    return len(moving) == 1 and is_linear(moving[0], name)


def has_common_denominator(line: Tree) -> bool:
    """Whether no sum in it, wherever it stands, is one of fractions over different denominators."""
    sums = [node[1:] for node in walk(line) if node[0] == "Add"]
    return all(len(set(map(denominator, terms))) == 1 for terms in sums)


def denominator(term: Tree) -> Tree:
    """What the term is divided by, as a product."""
    factors = term[1:] if term[0] == "Mul" else (term,)
    below = []
    for factor in factors:
        if _divides(factor):
            below.append(factor)
    return times(*below)


def _divides(factor):
    """Whether it is a power below the line."""
    if factor[0] != "Pow":
        return False
    exponent = factor[2]
    return is_number(exponent) and exponent[1] < 0


def close_to_integer(line: Tree) -> bool:
    """Whether a constant in it is nearly, but not quite, a whole number."""
    return any(_is_constant(node) and _is_close(node) for node in walk(line))


def _is_constant(node):
    """Whether nothing in it can vary."""
    heads = {part[0] for part in walk(node)}
    return heads.isdisjoint(VARYING)


def _is_close(node):
    if is_number(node):
        value = fraction_of(node)
        return 0 < abs(value - round(value)) < NEAR_INTEGER
    mp = CONTEXTS[0]
    try:
        middle, radius = intervals.Machine(mp, {}).value(node)
    except ArithmeticError:
        return False
    return radius < abs(middle - mp.nint(middle)) < NEAR_INTEGER


def unpadded(line: Tree, positive: frozenset[str]) -> Tree:
    """The line without terms that add up to 0, factors that multiply to 1 and whatever else does nothing."""
    return _stripped(line, modular.Assignment(positive))


def _stripped(node, assignment):
    node = _core(node, assignment)
    head = node[0]
    parts = changed_parts(node, lambda part: _stripped(part, assignment))
    if head not in ("Add", "Mul"):
        return (head, *parts)
    flat = _flat(head, parts)
    kept = _without_idle(head, flat, assignment)
    if len(kept) == 1:
        return kept[0]
    return (head, *sorted(kept))


def _flat(head, parts):
    """The parts, with those of a sum in a sum or of a product in a product one by one."""
    found: list[Tree] = []
    for part in parts:
        same = isinstance(part, tuple) and part[0] == head
        found.extend(_flat(head, part[1:]) if same else [part])
    return found


def _core(node, assignment):
    """The last part that all of the node comes to, as (v + n) - n and v to the power 1 come to v."""
    try:
        value = assignment.value(node)
        same = [part for part in _inside(node) if assignment.value(part) == value]
    except ArithmeticError:
        return node
    return min(same, key=lambda part: sum(1 for _ in walk(part)))


def _inside(node):
    """The node and what it is made of; the ends of a sum only say how often."""
    yield node
    parts = node[4:] if node[0] in BINDING else children(node)
    for part in parts:
        yield from _inside(part)


def _without_idle(head, parts, assignment):
    """Without the groups of parts that change nothing; all of them are never such a group."""
    try:
        values = [assignment.value(part) for part in parts]
    except ArithmeticError:
        return parts
    while len(parts) <= MOST_PARTS:
        idle = _idle_group(head, values)
        if not idle:
            break
        parts = [part for k, part in enumerate(parts) if k not in idle]
        values = [value for k, value in enumerate(values) if k not in idle]
    return parts


def _idle_group(head, values):
    """Places of some values, not all, that add up to 0 or multiply to 1; each half is gone through once."""
    middle = len(values) // 2
    first = _combinations(head, values[:middle], 0)
    second = _combinations(head, values[middle:], middle)
    opposites = {_opposite(head, value): group for value, group in second}
    for value, group in first:
        idle = group + opposites.get(value, ())
        if value in opposites and 0 < len(idle) < len(values):
            return idle
    return ()


def _combinations(head, values, start):
    """(combined value, places) for every group of the values, the empty one first."""
    combine = operator.add if head == "Add" else operator.mul
    neutral = 0 if head == "Add" else 1
    found: list[tuple[int, tuple[int, ...]]] = [(neutral, ())]
    for place, value in enumerate(values, start):
        for combined, group in list(found):
            total = combine(combined, value) % modular.PRIME
            larger = (*group, place)
            found.append((total, larger))
    return found


def _opposite(head, value):
    """What makes 0 of a sum or 1 of a product; nothing makes 1 of the product 0."""
    if head == "Add":
        return -value % modular.PRIME
    return modular.inverse(value) if value else None


def has_too_many_parts(line: Tree) -> bool:
    """Whether a sum or product in it is so long that nobody looks for padding in it."""
    for node in walk(line):
        head, *parts = node
        if head in ("Add", "Mul") and len(_flat(head, parts)) > MOST_PARTS:
            return True
    return False


def fault_in_form(
    lines: list[Tree],
    tasks: Iterable[Task],
    positive: frozenset[str],
    in_one: bool = False,
) -> str | None:
    """What is wrong with the way the lines go from first to last, as a sentence, or None.

    A line finishes at most one task, undoes none unless it finishes another, and is none of the earlier
    lines; all tasks are done in the end, and not at once unless `in_one` says so. Where nothing is
    listed, one line may do.
    """
    for step, line in enumerate(lines):
        if has_too_many_parts(line):
            return f"step {step} has a sum or product of over {MOST_PARTS} parts: leave some out"
    seen: list[tuple[Tree, set[str]]] = []
    for step, line in enumerate(unpadded(line, positive) for line in lines):
        done = {task.what for task in tasks if task.done(line)}
        if not seen:
            seen.append((line, done))
            continue
        before, done_before = seen[-1]
        if line == before:
            continue
        if line in dict(seen):
            return f"step {step} goes back to a line above it"
        new = sorted(done - done_before)
        undone = done_before - done
        if undone and not new:
            return f"step {step} undoes what was done: {min(undone)}"
        if len(new) > 1:
            return f"step {step} does two things at once: {' and '.join(new)}. {ONE_THING}"
        seen.append((line, done))
        if not in_one and len(seen) == 2 and done and len(done) == len(list(tasks)):
            return (
                f"step {step} jumps to the end: show a line on the way. Lines that SymPy shows alike count "
                "as one"
            )
    _, done = seen[-1]
    for task in tasks:
        if task.what not in done:
            return f"one thing is still to do: {task.what}"
    return None
