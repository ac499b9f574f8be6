"""Does one line follow from the line before? Algebra and signs prove it; error bounds refute it."""

import contextlib
import math
from dataclasses import dataclass
from typing import Any

from attn_course.proofs import (
    intervals,
    modular,
    positivity,
)
from attn_course.proofs.domains import AT_ENDS, CONTEXTS, FLOATS, Domain, Point, draw_points, short
from attn_course.proofs.trees import ZERO, Tree, minus, names_in, shown_name, symbols

AGREED = 1200  # leading binary digits in which two equal numbers agree
HOLDS = "holds"  # proved
SEEN = "was not refuted"
FAILS = "fails"
OPEN = "could not be decided"
BY_ALGEBRA = "by algebra"
BY_SIGNS = "by signs"


@dataclass(frozen=True)
class Outcome:
    """Whether a step holds, and a word on how that was found or what was seen instead."""

    state: str
    detail: str

    def __bool__(self) -> bool:
        """Whether nothing speaks against the step; only HOLDS is a proof."""
        return self.state in (HOLDS, SEEN)

    @property
    def doubt(self) -> str:
        """Why nobody can tell whether the step holds."""
        return f"it was only {self.detail}, which is no proof" if self else self.detail

    def sentence(self, step: str) -> str:
        """What to say of a step that does not hold, or of which nobody can tell."""
        if self.state == FAILS:
            return f"{step} does not follow from the line before: {self.detail}."
        return f"whether {step} follows could not be decided: {self.doubt}."


def compare(
    before: Tree, relation: str, after: Tree, domain: Domain, work: intervals.Work | None = None
) -> Outcome:
    """Does `before relation after` hold wherever the symbols may lie?

    A symbol with a pinned value takes it where it has gone from `after`; one that still stands there is free.
    work: what may still be spent on the chain.
    """
    try:
        return _compare_freely(before, relation, after, domain, work or intervals.Work())
    except intervals.Exhausted:
        return Outcome(OPEN, "the chain takes too many operations to work out")


def _compare_freely(before, relation, after, domain, work):
    left = domain.with_values_used(before, after)
    outcome = _compare(left, relation, after, domain, work)
    standing = sorted(symbols(after) & set(domain.pins))
    if outcome.state == FAILS and standing:
        left = domain.with_all_values_used(before)
        right = domain.with_all_values_used(after)
        if _compare(left, relation, right, domain, work):
            names = " and ".join(map(shown_name, standing))
            verb = "stand" if len(standing) > 1 else "stands"
            return Outcome(FAILS, f"{names} still {verb} here, but the value has been used")
    return outcome


def _compare(left, relation, right, domain, work):
    known = modular.compare(left, right, domain.positive)
    if known == modular.EQUAL and relation in ("<", ">"):
        return Outcome(FAILS, f"both sides are equal, so {relation} does not hold")
    if known == modular.EQUAL:
        return _where_defined(right, domain, work, BY_ALGEBRA)
    if relation == "=":
        return _compare_unequal_forms(left, right, domain, work, known)
    if _is_shown_by_signs(left, relation, right, domain):
        return _where_defined(right, domain, work, BY_SIGNS)
    return _by_numbers(left, relation, right, domain, work)


def _compare_unequal_forms(left, right, domain, work, known):
    """An equality that algebra does not show at once: both sides may be roots."""
    squares = modular.compare_squares(left, right, domain.positive)
    if squares == modular.EQUAL and positivity.have_one_sign(left, right, domain):
        return _where_defined(right, domain, work, BY_ALGEBRA)
    found = _by_numbers(left, "=", right, domain, work)
    if found and modular.DIFFERENT in (known, squares):
        return Outcome(FAILS, "both sides differ, if only by very little")
    return found


def _is_shown_by_signs(left, relation, right, domain):
    gap = minus(left, right) if relation[0] == ">" else minus(right, left)
    if relation in ("<", ">"):
        return positivity.always_positive(gap, domain)
    return positivity.never_negative(gap, domain)


def _where_defined(line, domain, work, way):
    """A proof holds wherever both sides have a value: a look whether this one has."""
    if line in domain.defined:
        return Outcome(HOLDS, way)
    names = names_in(line)
    for mode, point in draw_points(names, domain):
        if mode != "moderate":
            break
        if _has_plain_value(line, point, work):
            continue
        try:
            sign_of_difference(line, ZERO, point, work)
        except intervals.NoValue:
            return Outcome(FAILS, f"at {point.shown(names)} it has no finite real value")
        except (intervals.TooLong, intervals.Unclear):
            continue
    domain.defined.add(line)
    return Outcome(HOLDS, way)


def _has_plain_value(line, point, work):
    """Whether floats are enough to see that a line has a value; more digits decide where they are not."""
    with contextlib.suppress(ArithmeticError, ValueError):
        machine = intervals.Machine(FLOATS, point.values(FLOATS), work.begin())
        ball = machine.value(line)
        return all(map(math.isfinite, ball))
    return False


def _by_numbers(left, relation, right, domain, work):
    """What numbers say: they can refute, but not prove."""
    names = names_in(left) | names_in(right)
    num_decided = 0
    for mode, point in draw_points(names, domain):
        try:
            sign, values = sign_of_difference(left, right, point, work)
        except intervals.NoValue:
            if mode in AT_ENDS:
                continue
            return Outcome(FAILS, f"at {point.shown(names)} one side has no finite real value")
        except (intervals.TooLong, intervals.Unclear):
            if mode != "moderate":
                continue
            return Outcome(OPEN, f"at {point.shown(names)} it could not be worked out")
        num_decided += 1
        if not _agrees(sign, relation):
            return Outcome(FAILS, _sentence(point.shown(names), values, relation))
    return Outcome(SEEN, f"compared at {num_decided} points")


def difference_at(left: Tree, right: Tree, domain: Domain) -> tuple[str, str, str]:
    """A point where two lines differ, and their values there; empty where none was found."""
    names = names_in(left) | names_in(right)
    work = intervals.Work()
    for _, point in draw_points(names, domain):
        try:
            sign, values = sign_of_difference(left, right, point, work)
        except ArithmeticError:
            continue
        if sign:
            return point.shown(names), *apart(*values)
    return "", "", ""


def _agrees(sign, relation):
    if sign == 0:
        return "=" in relation
    return relation[0] == ("<" if sign < 0 else ">")


def _sentence(place, values, relation):
    left, right = apart(*values)
    prefix = f"at {place} " if place else ""
    if relation == "=":
        return f"{prefix}the line before is {left} and this one is {right}"
    return f"{prefix}the line before is {left}, which is not {relation} {right}"


def apart(left: Any, right: Any) -> tuple[str, str]:
    """Both numbers with as many digits as it takes to tell them apart."""
    for digits in (6, 12, 24, 48):
        if short(left, digits) != short(right, digits):
            break
    return short(left, digits), short(right, digits)


def sign_of_difference(
    left: Tree, right: Tree, point: Point, work: intervals.Work
) -> tuple[int, tuple]:
    """-1, 0 or 1 for left - right, and both values; raises where no precision decides."""
    error = intervals.Unclear()
    for mp in CONTEXTS:
        try:
            machine = intervals.Machine(mp, point.values(mp), work.begin())
            first, first_radius = machine.value(left)
            second, second_radius = machine.value(right)
        except intervals.Unclear as unclear:
            error = unclear
            continue
        radius = first_radius + second_radius
        if abs(first - second) > radius:
            return (1 if first > second else -1), (first, second)
        size = max(abs(first), abs(second))
        if radius <= mp.ldexp(size, -AGREED) or radius < mp.ldexp(1, -AGREED):
            return 0, (first, second)
    raise error
