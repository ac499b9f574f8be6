"""Where the symbols of a chain lie, and points in it: moderate, wide, at the ends, in the middle, far out."""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath

from attn_course.proofs import intervals
from attn_course.proofs.trees import (
    ZERO,
    Tree,
    add,
    fraction_of,
    is_number,
    minus,
    names_in,
    rational,
    shown_name,
    substitute,
    symbols,
    times,
)

FLOATS = mpmath.fp  # a context as quick as it is short
CONTEXTS = tuple(map(intervals.context, (120, 300, 1300)))  # binary digits
MODES = ("moderate",) * 4 + ("wide",) * 4 + ("low", "high", "middle", "mixed")
MIXED = ("moderate", "wide", "low", "high", "middle")  # what a mixed point draws from, name by name
AT_ENDS = ("low", "high", "mixed", "far")  # where a line need not have a value
FAR = (13, 40, 200, 10**5)  # where one symbol without an upper end is, and up to twice as far
FIXED_SHARES = {
    "low": Fraction(0),
    "high": Fraction(1),
    "middle": Fraction(1, 2),
}
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
    drawn: dict[frozenset[str], "DrawnPoints"] = field(default_factory=dict, compare=False)
    defined: set[Tree] = field(default_factory=set, compare=False)  # lines seen to have values

    @property
    def positive(self) -> frozenset[str]:
        """Names of the symbols that are above 0."""
        names = set()
        for name, place in self.ranges.items():
            if place.positive:
                names.add(name)
        return frozenset(names)

    def range_of(self, name: str) -> Range:
        """Where one symbol lies; anywhere if nothing is said."""
        anywhere = Range()
        return self.ranges.get(name, anywhere)

    def has_no_end(self, name: str) -> bool:
        """Whether a symbol may be as large as one likes, and stands for nothing else."""
        place = self.range_of(name)
        if name in self.pins or place.whole:
            return False
        return place.high is None

    def with_values_used(self, before: Tree, after: Tree) -> Tree:
        """`before` with the values of the pinned symbols that are gone from `after`."""
        standing = symbols(after)
        replaceable = set(self.pins) - standing
        for _ in self.pins:
            gone = symbols(before) & replaceable
            values = {name: self.pins[name] for name in gone}
            before = substitute(before, values)
        return before

    def with_all_values_used(self, line: Tree) -> Tree:
        """`line` with the values of all pinned symbols."""
        return self.with_values_used(line, ZERO)


class Point:
    """One place: exact numbers, or trees of the numbers before them."""

    def __init__(self, places: dict[str, Fraction | Tree]):
        self.places = places  # in the order in which they depend on one another
        self._known: dict = {}

    def values(self, mp: Any) -> dict[str, intervals.Ball]:
        """The balls of all names in one context."""
        if mp in self._known:
            return self._known[mp]
        found: dict[str, intervals.Ball] = {}
        machine = intervals.Machine(mp, found)
        for name, place in self.places.items():
            if isinstance(place, Fraction):
                found[name] = machine.exact(place)
            else:
                found[name] = machine.value(place)
        self._known[mp] = found
        return found

    def shown(self, names: set[str]) -> str:
        """The values of some names as a message shows them."""
        values = self.values(CONTEXTS[0])
        sayings = []
        for name in sorted(names):
            plain = shown_name(name)
            middle, _ = values[name]
            number = short(middle)
            sayings.append(f"{plain} = {number}")
        return ", ".join(sayings)


def short(value: Any, digits: int = 6) -> str:
    """A number in a few digits, a whole one without a point."""
    text = CONTEXTS[-1].nstr(value, digits)
    return text.removesuffix(".0")


class DrawnPoints:
    """(mode, point), drawn when they are asked for and kept: the same ones every time."""

    def __init__(self, names: frozenset[str], domain: Domain) -> None:
        self.names = names
        self.domain = domain
        self.known: list[tuple[str, Point]] = []

    def __iter__(self) -> Iterator[tuple[str, Point]]:
        """Those that are known, then more; all are drawn anew for these, as luck has no part in it."""
        num_known = len(self.known)
        yield from self.known[:num_known]
        drawn = _draw(self.names, self.domain)
        for place, found in enumerate(drawn):
            if place == len(self.known):
                self.known.append(found)
            if place >= num_known:
                yield found


def draw_points(names: set[str], domain: Domain) -> DrawnPoints:
    """The points of some names: what is said of a line does not depend on luck."""
    key = frozenset(names)
    if key not in domain.drawn:
        domain.drawn[key] = DrawnPoints(key, domain)
    return domain.drawn[key]


def _draw(names, domain):
    order = _in_order(names, domain)
    rng = random.Random(0)
    for mode in MODES:
        places = _places(rng, mode, domain, order)
        yield mode, Point(places)
        if not order:
            return
    endless = [name for name in order if domain.has_no_end(name)]
    pairs = itertools.product(endless, FAR)
    for name, distance in pairs:
        places = _places(rng, "moderate", domain, order)
        near = places[name]
        drawn = rng.randint(distance, 2 * distance)
        farther = Fraction(drawn)
        places[name] = _shifted(near, farther)
        yield "far", Point(places)


def _places(rng, mode, domain, order):
    """Where all names are at one point."""
    places = {}
    for name in order:
        places[name] = _place(rng, mode, domain, name)
    return places


def _in_order(names, domain):
    """Names with those they depend on before them."""
    order: list[str] = []
    entered = set()

    def visit(name: str) -> None:
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
    needed: set[str] = set()
    for end in (place.low, place.high):
        if end:
            needed |= names_in(end)
    value = domain.pins.get(name, ZERO)
    pin = domain.with_all_values_used(value)
    lists = names_in(pin) - symbols(pin)
    return needed | lists


def _place(rng, mode, domain, name):
    """Where one name is: a number, or a tree of the names before it."""
    pin = domain.pins.get(name, ZERO)
    if symbols(pin):
        return _elsewhere(rng, mode, domain, name)
    if mode == "mixed":
        mode = rng.choice(MIXED)
    place = domain.range_of(name)
    if place.whole:
        return _whole_number(rng, mode, place)
    if place.low is None and place.high is None:
        return _signed(rng, mode)
    if place.high is None:
        distance = _size(rng, mode)
        return _shifted_end(place.low, distance)
    if place.low is None:
        distance = _size(rng, mode)
        return _shifted_end(place.high, -distance)
    share = _share(rng, mode)
    factor = rational(share)
    width = minus(place.high, place.low)
    part = times(factor, width)
    return add(place.low, part)


def _elsewhere(rng, mode, domain, name):
    """A value that the symbol could have, were it not for the other symbols: its pin at another point."""
    value = domain.pins[name]
    pin = domain.with_all_values_used(value)
    order = _in_order(symbols(pin), domain)
    values: dict[str, Tree] = {}
    for other in order:
        place = _place(rng, mode, domain, other)
        if isinstance(place, Fraction):
            place = rational(place)
        values[other] = substitute(place, values)
    return substitute(pin, values)


def _shifted(place, distance):
    """A place farther up."""
    if isinstance(place, Fraction):
        return place + distance
    step = rational(distance)
    return add(place, step)


def _shifted_end(end, distance):
    """A place at a distance from the end of a range."""
    if is_number(end):
        number = fraction_of(end)
        return _shifted(number, distance)
    return _shifted(end, distance)


def _size(rng, mode):
    """A distance above 0: between 1e-4 and 12 where the mode is wide."""
    if mode == "wide":
        largest = math.log10(12 * MILLION)
        exponent = rng.uniform(2, largest)
        millionths = round(10**exponent)
    else:
        least = MILLION // 10
        millionths = rng.randint(least, 4 * MILLION)
    return Fraction(millionths, MILLION)


def _signed(rng, mode):
    """A number of either sign."""
    if mode == "wide":
        size = _size(rng, mode)
        sign = rng.choice((-1, 1))
        return size * sign
    largest = 3 * MILLION
    millionths = rng.randint(-largest, largest)
    return Fraction(millionths, MILLION)


def _share(rng, mode):
    """Where between two ends: 0 and 1 are the ends themselves."""
    if mode == "wide":
        digits = rng.randint(2, 6)
        near = Fraction(1, 10**digits)
        shares = (near, 1 - near)
        return rng.choice(shares)
    if mode in FIXED_SHARES:
        return FIXED_SHARES[mode]
    millionths = rng.randint(1, MILLION - 1)
    return Fraction(millionths, MILLION)


def _whole_number(rng, mode, place):
    """A whole number in its range; one whose range depends on others is at an end."""
    both = (place.low, place.high)
    ends = [end for end in both if end]
    if not all(map(is_number, ends)):
        return rng.choice(ends)
    low = -9
    if place.low is not None:
        least = fraction_of(place.low)
        low = math.ceil(least)
    high = low + 10**9
    if place.high is not None:
        largest = fraction_of(place.high)
        high = math.floor(largest)
    if mode == "low":
        return Fraction(low)
    if mode == "high" and place.high is not None:
        return Fraction(high)
    if mode == "wide":
        exponent = rng.uniform(0, 9)
        distance = round(10**exponent)
        farther = low + distance
        number = min(high, farther)
        return Fraction(number)
    most = min(high, low + 12)
    number = rng.randint(low, most)
    return Fraction(number)
