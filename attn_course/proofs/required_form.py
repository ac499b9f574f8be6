"""Forms that a question may ask of the last line of a chain."""

from collections.abc import Callable
from dataclasses import dataclass

from attn_course.proofs.trees import Tree, children, is_number, symbols, walk


@dataclass(frozen=True)
class Form:
    """A form of the last line: `what` names it, and `holds` returns True if a line has it."""

    what: str
    holds: Callable[[Tree], bool]


def without(what: str, *heads: str) -> Form:
    """Return the form in which none of these heads is left, such as "Sum"."""
    return occurs_at_most(what, 0, *heads)


def occurs_at_most(what: str, most: int, *heads: str) -> Form:
    """Return the form in which these heads occur at most so often in all."""
    return Form(what, lambda line: sum(node[0] in heads for node in walk(line)) <= most)


def in_places(what: str, most: int, name: str) -> Form:
    """Return the form of a line that is no sum and in which the symbol stands in at most so many places."""

    def holds(line: Tree) -> bool:
        num_places = sum(node == ("Symbol", name) for node in walk(line))
        return line[0] != "Add" and num_places <= most

    return Form(what, holds)


def straight_line(what: str, name: str) -> Form:
    """Return a multiple of the symbol, plus what does not depend on it."""
    return Form(what, lambda line: name in symbols(line) and is_linear(line, name))


def one_exponential(what: str) -> Form:
    """Return the form in which all exponentials, and powers with a symbol above, are one and the same."""

    def holds(line: Tree) -> bool:
        powers = {node for node in walk(line) if node[0] == "Pow" and not is_number(node[2])}
        return len(powers | {node for node in walk(line) if node[0] == "exp"}) <= 1

    return Form(what, holds)


def is_linear(line: Tree, name: str) -> bool:
    """Return True if nothing but sums and multiples stand around the symbol."""
    if name not in symbols(line) or line == ("Symbol", name):
        return True
    if line[0] == "Add":
        return all(is_linear(part, name) for part in line[1:])
    varying = [part for part in children(line) if name in symbols(part)]
    return line[0] == "Mul" and len(varying) == 1 and is_linear(varying[0], name)
