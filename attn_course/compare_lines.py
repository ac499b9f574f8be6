"""Does one line follow from the line before? First by algebra, then by numbers with error bounds.

Knows trees and where their symbols lie; no SymPy, no questions.
"""

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from attn_course import balls, modular, visible
from attn_course.trees import (
    ZERO,
    Tree,
    add,
    is_number,
    minus,
    names_in,
    rational,
    shown_name,
    substitute,
    symbols,
    times,
)

CONTEXTS = tuple(map(balls.context, (120, 300, 1300)))  # binary digits
AGREED = 1200  # leading binary digits in which two equal numbers agree
SIGNS = 60  # those that tell a number from its opposite, where the squares are equal
VISIBLE = 32  # binary digits: what changes a line by less than this part of it is not seen
MODES = ("moderate",) * 4 + ("wide",) * 4 + ("low", "high", "middle", "mixed")
AT_ENDS = ("low", "high", "mixed", "secret")  # where a line need not have a value
SECRET = 4  # points that nobody can foresee
FAR = (13, 40, 200, 10**5)  # where one symbol without an upper end is, and up to twice as far
HOLDS, FAILS, OPEN = "holds", "fails", "could not be decided"
RELATIONS = ("=", "<=", ">=", "<", ">")


@dataclass(frozen=True)
class Range:
    """Where a symbol lies; an end that is None is no end, and a positive number is never 0."""

    low: Tree | None = None
    high: Tree | None = None
    whole: bool = False
    positive: bool = False


@dataclass(frozen=True)
class Domain:
    """Where all symbols lie, and the value of those that stand for something."""

    ranges: dict[str, Range]
    pins: dict[str, Tree] = field(default_factory=dict)

    @property
    def positive(self) -> frozenset[str]:
        return frozenset(name for name, place in self.ranges.items() if place.positive)

    def has_no_end(self, name: str) -> bool:
        """Whether a symbol may be as large as one likes, and stands for nothing else."""
        place = self.ranges.get(name, Range())
        return place.high is None and not place.whole and name not in self.pins


@dataclass(frozen=True)
class Outcome:
    """Whether a step holds, and a word on how that was found or what was seen instead."""

    state: str
    detail: str

    def __bool__(self) -> bool:
        return self.state == HOLDS

    def sentence(self, step: str) -> str:
        """What to say of a step that does not hold, or that nobody can tell."""
        if self.state == OPEN:
            return f"whether {step} follows could not be decided: {self.detail}."
        return f"{step} does not follow from the line before: {self.detail}."


def compare(
    before: Tree, relation: str, after: Tree, domain: Domain, work: balls.Work | None = None
) -> Outcome:
    """Does `before relation after` hold wherever the symbols may lie?

    A symbol with a pinned value takes it where it has gone from `after`; one that still stands there is free.
    work: what may still be spent on the chain.
    """
    try:
        return _compare_freely(before, relation, after, domain, work or balls.Work())
    except balls.Exhausted:
        return Outcome(OPEN, "the chain takes too many operations to work out")


def _compare_freely(before, relation, after, domain, work):
    left = _with_values_used(before, after, domain)
    outcome = _compare(left, relation, after, domain, work)
    standing = sorted(symbols(after) & set(domain.pins))
    if outcome.state == FAILS and standing:
        both = (_with_values_used(line, ZERO, domain) for line in (before, after))
        if _compare(next(both), relation, next(both), domain, work):
            names = " and ".join(map(shown_name, standing))
            verb = "stand" if len(standing) > 1 else "stands"
            return Outcome(FAILS, f"{names} still {verb} here, but the value has been used")
    return outcome


def _compare(left, relation, after, domain, work):
    known = modular.compare(left, after, domain.positive)
    if known == modular.EQUAL:
        if relation in ("<", ">"):
            return Outcome(FAILS, f"both sides are equal, so {relation} does not hold")
        return _where_defined(after, domain, work)
    squares = modular.UNKNOWN
    if relation == "=":
        squares = modular.compare_squares(left, after, domain.positive)
    bits = SIGNS if squares == modular.EQUAL else AGREED
    found, hidden = _by_numbers(left, relation, after, domain, work, bits)
    if not found:
        return found
    if relation == "=" and modular.DIFFERENT in (known, squares):
        return Outcome(FAILS, "both sides differ, if only by very little")
    if hidden:
        return Outcome(OPEN, f"no number shows what {hidden} does in it")
    if squares == modular.EQUAL:
        return Outcome(HOLDS, "by algebra")  # the signs agreed at every point
    return found


def _with_values_used(before, after, domain):
    """`before` with the values of the pinned symbols that are gone from `after`."""
    standing = symbols(after)
    for _ in range(len(domain.pins)):
        gone = {name: domain.pins[name] for name in symbols(before) & set(domain.pins) - standing}
        before = substitute(before, gone)
    return before


def _where_defined(line, domain, work):
    """Algebra holds wherever both sides have a value: a look whether this one has."""
    names = names_in(line)
    for mode, point in draw_points(names, domain):
        if mode != "moderate":
            break
        try:
            sign_of_difference(line, ZERO, point, work)
        except balls.NoValue:
            return Outcome(FAILS, f"at {point.shown(names)} it has no finite real value")
        except (balls.TooLong, balls.Unclear):
            continue
    return Outcome(HOLDS, "by algebra")


def _by_numbers(left, relation, right, domain, work, bits):
    """What numbers say, and the part of a line that mattered at no point, if there is one."""
    names = names_in(left) | names_in(right)
    hidden = Hidden(work, left, right)
    decided = 0
    extra = balls.Work(balls.EXTRA_STEPS)  # secret points change no budget, and so no verdict
    for mode, point in draw_points(names, domain):
        try:
            spent = extra if mode == "secret" else work
            sign, values = sign_of_difference(left, right, point, spent, bits)
        except balls.Exhausted:
            if mode == "secret":
                break
            raise
        except balls.NoValue:
            if mode in AT_ENDS:
                continue
            found = Outcome(FAILS, f"at {point.shown(names)} one side has no finite real value")
            return found, ""
        except (balls.TooLong, balls.Unclear):
            if mode == "moderate":
                return Outcome(OPEN, f"at {point.shown(names)} it could not be worked out"), ""
            continue
        decided += mode != "secret"  # what is said is the same every time
        if not _agrees(sign, relation):
            return Outcome(FAILS, _sentence(point.shown(names), values, relation)), ""
        if mode != "secret":
            hidden.look(point)
    return Outcome(HOLDS, f"compared at {decided} points"), hidden.part()


class Hidden:
    """The leaves of some lines that have not mattered at any point so far.

    A few small changes can cancel to a much smaller one, so the more leaves there are, the more each
    has to matter.
    """

    def __init__(self, work: balls.Work, *lines: Tree):
        self.work = work
        self.unseen = [(line, set(visible.leaves(line))) for line in lines]
        self.bits = min(VISIBLE, AGREED // max(1, *(len(ways) for _, ways in self.unseen)))

    def look(self, point: "Point") -> None:
        for line, ways in self.unseen:
            for mp in CONTEXTS[1:] if ways else ():
                with contextlib.suppress(balls.NoValue, balls.Unclear, balls.TooLong):
                    machine = balls.Machine(mp, point.values(mp), self.work.begin())
                    ways -= visible.seen(line, machine, self.bits)
                    break

    def part(self) -> str:
        """The largest part that no point has shown; empty where there is none."""
        for line, ways in self.unseen:
            if ways:
                return visible.shown(visible.largest_part(line, ways))
        return ""


def difference_at(left: Tree, right: Tree, domain: Domain) -> tuple[str, str, str]:
    """A point where two lines differ, and their values there; empty where none was found."""
    names = names_in(left) | names_in(right)
    work = balls.Work()
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


def short(value, digits: int = 6) -> str:
    return CONTEXTS[-1].nstr(value, digits).removesuffix(".0")


def apart(left, right) -> tuple[str, str]:
    """Both numbers with as many digits as it takes to tell them apart."""
    for digits in (6, 12, 24, 48):
        if short(left, digits) != short(right, digits):
            break
    return short(left, digits), short(right, digits)


def sign_of_difference(
    left: Tree, right: Tree, point: "Point", work: balls.Work, bits: int = AGREED
) -> tuple[int, tuple]:
    """-1, 0 or 1 for left - right, and both values; raises where no precision decides."""
    error = balls.Unclear()
    for mp in CONTEXTS:
        try:
            machine = balls.Machine(mp, point.values(mp), work.begin())
            first = machine.value(left)
            second = machine.value(right)
        except balls.Unclear as unclear:
            error = unclear
            continue
        gap = abs(first[0] - second[0])
        size = max(abs(first[0]), abs(second[0]))
        radius = first[1] + second[1]
        if gap > radius:
            return (1 if first[0] > second[0] else -1), (first[0], second[0])
        if radius <= mp.ldexp(size, -bits) or radius < mp.ldexp(1, -AGREED):
            return 0, (first[0], second[0])
    raise error


class Point:
    """One place: exact numbers, or trees of the numbers before them."""

    def __init__(self, places):
        self.places = places  # name -> Fraction or tree, in the order in which they depend
        self._known = {}

    def values(self, mp):
        if mp not in self._known:
            found = {}
            machine = balls.Machine(mp, found)
            for name, place in self.places.items():
                exact = isinstance(place, Fraction)
                found[name] = machine.exact(place) if exact else machine.value(place)
            self._known[mp] = found
        return self._known[mp]

    def shown(self, names):
        values = self.values(CONTEXTS[0])
        return ", ".join(f"{shown_name(k)} = {short(values[k][0])}" for k in sorted(names))


def draw_points(names: set[str], domain: Domain) -> Iterator[tuple[str, Point]]:
    """(mode, point): moderate, wide, at the ends and in the middle; then some that are secret."""
    order = _in_order(names, domain)
    fixed = random.Random(0)
    for mode in MODES:
        yield mode, Point({name: _place(fixed, mode, domain, name) for name in order})
        if not order:
            return
    secret = random.SystemRandom()
    for _ in range(SECRET):
        yield "secret", Point({name: _place(secret, "mixed", domain, name) for name in order})
    for far, size in itertools.product(order, FAR):
        if domain.has_no_end(far):
            places = {name: _place(secret, "moderate", domain, name) for name in order}
            places[far] = _shifted_by(places[far], secret.randint(size, 2 * size))
            yield "secret", Point(places)


def _in_order(names, domain):
    """Names with those they depend on before them."""
    order = []
    entered = set()

    def visit(name):
        if name in entered:
            return
        entered.add(name)
        place = domain.ranges.get(name, Range())
        for end in (place.low, place.high):
            for other in sorted(names_in(end)) if end else ():
                visit(other)
        pin = _with_values_used(domain.pins.get(name, ZERO), ZERO, domain)
        for other in sorted(names_in(pin) - symbols(pin)):
            visit(other)
        order.append(name)

    for name in sorted(names):
        visit(name)
    return order


def _place(rng, mode, domain, name):
    place = domain.ranges.get(name, Range())
    if symbols(domain.pins.get(name, ZERO)):
        return _elsewhere(rng, mode, domain, name)
    if mode == "mixed":
        mode = rng.choice(("moderate", "wide", "low", "high", "middle"))
    if place.whole:
        return _whole_number(rng, mode, place)
    if place.low is None and place.high is None:
        return _signed(rng, mode)
    if place.high is None:
        return _shifted(place.low, _size(rng, mode))
    if place.low is None:
        return _shifted(place.high, -_size(rng, mode))
    share = _share(rng, mode)
    return add(place.low, times(rational(share), minus(place.high, place.low)))


def _elsewhere(rng, mode, domain, name):
    """A value that the symbol could have, were it not for the other symbols: its pin at another point."""
    pin = _with_values_used(domain.pins[name], ZERO, domain)
    values = {}
    for other in _in_order(symbols(pin), domain):
        place = _place(rng, mode, domain, other)
        tree = rational(place) if isinstance(place, Fraction) else place
        values[other] = substitute(tree, values)
    return substitute(pin, values)


def _shifted_by(place, distance):
    return place + distance if isinstance(place, Fraction) else add(place, rational(distance))


def _shifted(end, distance):
    return distance + Fraction(*end[1:]) if end[0] == "Rational" else add(end, rational(distance))


def _size(rng, mode):
    """A distance above 0: between 1e-4 and 12 where the mode is wide."""
    if mode == "wide":
        return Fraction(round(10 ** rng.uniform(2, math.log10(12e6))), 10**6)
    return Fraction(rng.randint(100_000, 4_000_000), 10**6)


def _signed(rng, mode):
    if mode == "wide":
        return _size(rng, mode) * rng.choice((-1, 1))
    return Fraction(rng.randint(-3_000_000, 3_000_000), 10**6)


def _share(rng, mode):
    """Where between two ends: 0 and 1 are the ends themselves."""
    if mode == "wide":
        near = Fraction(1, 10 ** rng.randint(2, 6))
        return rng.choice((near, 1 - near))
    fixed = {"low": Fraction(0), "high": Fraction(1), "middle": Fraction(1, 2)}
    return fixed.get(mode) if mode in fixed else Fraction(rng.randint(1, 999_999), 10**6)


def _whole_number(rng, mode, place):
    ends = [end for end in (place.low, place.high) if end]
    if not all(map(is_number, ends)):
        return rng.choice(ends)
    low = -9 if place.low is None else math.ceil(Fraction(*place.low[1:]))
    high = low + 10**9 if place.high is None else math.floor(Fraction(*place.high[1:]))
    if mode == "low":
        return Fraction(low)
    if mode == "high" and place.high is not None:
        return Fraction(high)
    if mode == "wide":
        return Fraction(min(high, low + round(10 ** rng.uniform(0, 9))))
    return Fraction(rng.randint(low, min(high, low + 12)))
