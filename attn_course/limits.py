"""Limits of a line: a long sequence of numbers with error bounds. No SymPy, no questions."""

from fractions import Fraction

from attn_course import balls
from attn_course.compare_lines import (
    CONTEXTS,
    FAILS,
    HOLDS,
    OPEN,
    Domain,
    Outcome,
    Point,
    draw_points,
    short,
)
from attn_course.trees import Tree, names_in, shown_name, symbols

LONGEST = 40  # powers of ten on the way to infinity
NEAR = 1e-15


def compare_limit(before: Tree, name: str, target, after: Tree, domain: Domain) -> Outcome:
    """Does `before` tend to `after` when the symbol `name` goes to `target`?"""
    if name not in symbols(before):
        return Outcome(FAILS, f"{shown_name(name)} does not occur in it")
    if name in symbols(after):
        return Outcome(FAILS, f"{shown_name(name)} is still there after it went to its limit")
    others = (names_in(before) | names_in(after)) - {name}
    for mode, point in draw_points(others, domain):
        if mode != "moderate":
            break
        gap, reached = _closest(before, name, target, after, point)
        if gap is None:
            return Outcome(OPEN, "its values on the way could not be worked out")
        if not gap <= NEAR:
            place = point.shown(others)
            where = f" at {place}" if place else ""
            return Outcome(FAILS, f"near its limit{where} it is {short(reached)}")
    return Outcome(HOLDS, "as a limit of numbers")


def _closest(before, name, target, after, point):
    """The relative distance from `after` as far along as numbers can be worked out, and the value there."""
    mp = CONTEXTS[1]
    gap = reached = None
    for k in range(1, LONGEST):
        there = Point({**point.places, name: _approach(target, k)})
        try:
            machine = balls.Machine(mp, there.values(mp))
            reached = machine.value(before)[0]
            end = machine.value(after)[0]
        except ArithmeticError:
            break
        gap = abs(reached - end) / max(1, abs(end))
        if gap <= NEAR:
            break
    return gap, reached


def _approach(target, k):
    if target in (float("inf"), float("-inf")):
        return Fraction(10**k) * (1 if target > 0 else -1)
    return target + Fraction(1, 10**k)
