"""Where the symbols of a chain lie, and points in it: moderate, wide, at the ends, in the middle, far out.

Knows trees; compares nothing and knows no question.
"""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from attn_course import balls
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
MODES = ("moderate",) * 4 + ("wide",) * 4 + ("low", "high", "middle", "mixed")
AT_ENDS = ("low", "high", "mixed", "far")  # where a line need not have a value
FAR = (13, 40, 200, 10**5)  # where one symbol without an upper end is, and up to twice as far
MILLION = 10**6


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

    def range_of(self, name: str) -> Range:
        return self.ranges.get(name, Range())

    def has_no_end(self, name: str) -> bool:
        """Whether a symbol may be as large as one likes, and stands for nothing else."""
        place = self.range_of(name)
        return place.high is None and not place.whole and name not in self.pins

    def with_values_used(self, before: Tree, after: Tree) -> Tree:
        """`before` with the values of the pinned symbols that are gone from `after`."""
        standing = symbols(after)
        for _ in range(len(self.pins)):
            gone = symbols(before) & set(self.pins) - standing
            before = substitute(before, {name: self.pins[name] for name in gone})
        return before

    def with_all_values_used(self, line: Tree) -> Tree:
        return self.with_values_used(line, ZERO)


class Point:
    """One place: exact numbers, or trees of the numbers before them."""

    def __init__(self, places: dict[str, Fraction | Tree]):
        self.places = places  # in the order in which they depend on one another
        self._known: dict = {}

    def values(self, mp) -> dict[str, balls.Ball]:
        if mp not in self._known:
            found: dict = {}
            machine = balls.Machine(mp, found)
            for name, place in self.places.items():
                is_exact = isinstance(place, Fraction)
                found[name] = machine.exact(place) if is_exact else machine.value(place)
            self._known[mp] = found
        return self._known[mp]

    def shown(self, names: set[str]) -> str:
        values = self.values(CONTEXTS[0])
        return ", ".join(f"{shown_name(name)} = {short(values[name][0])}" for name in sorted(names))


def short(value, digits: int = 6) -> str:
    return CONTEXTS[-1].nstr(value, digits).removesuffix(".0")


def draw_points(names: set[str], domain: Domain) -> Iterator[tuple[str, Point]]:
    """(mode, point), the same ones every time: what is said of a line does not depend on luck."""
    order = _in_order(names, domain)
    rng = random.Random(0)
    for mode in MODES:
        yield mode, Point({name: _place(rng, mode, domain, name) for name in order})
        if not order:
            return
    endless = [name for name in order if domain.has_no_end(name)]
    for name, distance in itertools.product(endless, FAR):
        places = {other: _place(rng, "moderate", domain, other) for other in order}
        places[name] = _shifted(places[name], Fraction(rng.randint(distance, 2 * distance)))
        yield "far", Point(places)


def _in_order(names, domain):
    """Names with those they depend on before them."""
    order: list[str] = []
    entered = set()

    def visit(name):
        if name in entered:
            return
        entered.add(name)
        for other in sorted(_needed_for(name, domain)):
            visit(other)
        order.append(name)

    for name in sorted(names):
        visit(name)
    return order


def _needed_for(name, domain):
    """The names in the ends of a range, and the lists in the value that a symbol stands for."""
    place = domain.range_of(name)
    needed = set()
    for end in (place.low, place.high):
        needed |= names_in(end) if end else set()
    pin = domain.with_all_values_used(domain.pins.get(name, ZERO))
    return needed | (names_in(pin) - symbols(pin))


def _place(rng, mode, domain, name):
    if symbols(domain.pins.get(name, ZERO)):
        return _elsewhere(rng, mode, domain, name)
    if mode == "mixed":
        mode = rng.choice(("moderate", "wide", "low", "high", "middle"))
    place = domain.range_of(name)
    if place.whole:
        return _whole_number(rng, mode, place)
    if place.low is None and place.high is None:
        return _signed(rng, mode)
    if place.high is None:
        return _shifted_end(place.low, _size(rng, mode))
    if place.low is None:
        return _shifted_end(place.high, -_size(rng, mode))
    share = rational(_share(rng, mode))
    return add(place.low, times(share, minus(place.high, place.low)))


def _elsewhere(rng, mode, domain, name):
    """A value that the symbol could have, were it not for the other symbols: its pin at another point."""
    pin = domain.with_all_values_used(domain.pins[name])
    values: dict[str, Tree] = {}
    for other in _in_order(symbols(pin), domain):
        place = _place(rng, mode, domain, other)
        tree = rational(place) if isinstance(place, Fraction) else place
        values[other] = substitute(tree, values)
    return substitute(pin, values)


def _shifted(place, distance):
    return place + distance if isinstance(place, Fraction) else add(place, rational(distance))


def _shifted_end(end, distance):
    return _shifted(Fraction(*end[1:]) if is_number(end) else end, distance)


def _size(rng, mode):
    """A distance above 0: between 1e-4 and 12 where the mode is wide."""
    if mode == "wide":
        return Fraction(round(10 ** rng.uniform(2, math.log10(12 * MILLION))), MILLION)
    return Fraction(rng.randint(MILLION // 10, 4 * MILLION), MILLION)


def _signed(rng, mode):
    if mode == "wide":
        return _size(rng, mode) * rng.choice((-1, 1))
    return Fraction(rng.randint(-3 * MILLION, 3 * MILLION), MILLION)


def _share(rng, mode):
    """Where between two ends: 0 and 1 are the ends themselves."""
    if mode == "wide":
        near = Fraction(1, 10 ** rng.randint(2, 6))
        return rng.choice((near, 1 - near))
    fixed = {"low": Fraction(0), "high": Fraction(1), "middle": Fraction(1, 2)}
    if mode in fixed:
        return fixed[mode]
    return Fraction(rng.randint(1, MILLION - 1), MILLION)


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
