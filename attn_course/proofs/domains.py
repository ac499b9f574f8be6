"""Where the symbols of a chain lie, and points in it: moderate, wide, at the ends, in the middle, far out."""

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from attn_course.proofs import intervals
from attn_course.proofs.trees import (
    ONE,
    ZERO,
    Tree,
    Unreadable,
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
    tree_of,
)

CONTEXTS = tuple(map(intervals.context, (120, 300, 1300)))  # bits
MODES = ("moderate",) * 4 + ("wide",) * 4 + ("low", "high", "middle", "mixed")
MIXED = ("moderate", "wide", "low", "high", "middle")  # what a mixed point draws from, name by name
FAR = (13, 40, 200, 10**5)  # where one symbol without an upper end is, and up to twice as far
NEAR_END = Fraction(1, 10**6)  # how near to an end that is left out
RAISED = 3  # how often the least whole number is raised where a line has no value
DIGITS = 4  # of a number in a message
HOW_TO_WRITE_WHERE = "write where={symbol: value} or where={symbol: (low, high)}"


@dataclass(frozen=True)
class Range:
    """Where a symbol lies; an end that is None is no end, and one that is open is left out."""

    low: Tree | None = None
    high: Tree | None = None
    whole: bool = False
    positive: bool = False
    low_open: bool = False
    high_open: bool = False

    @property
    def ends(self) -> list[Tree]:
        return [end for end in (self.low, self.high) if end]


@dataclass(frozen=True)
class Domain:
    """Where all symbols lie, and the value of those that stand for something."""

    ranges: dict[str, Range]
    values: dict[str, Tree] = field(default_factory=dict)
    drawn: dict[frozenset[str], Iterator] = field(default_factory=dict, compare=False)
    defined: set[Tree] = field(default_factory=set, compare=False)  # lines shown to have values
    known: dict[Tree, Tree] = field(default_factory=dict, compare=False)  # lines with values put in

    @property
    def positive(self) -> frozenset[str]:
        """Names of the symbols that are above 0."""
        return frozenset(name for name, interval in self.ranges.items() if interval.positive)

    def range_of(self, name: str) -> Range:
        """Return where one symbol lies; anywhere if nothing is said."""
        return self.ranges.get(name) or Range()

    def changed(self, name: str, **ends: Any) -> "Domain":
        """Return the same with another range for one symbol."""
        ranges = {**self.ranges, name: replace(self.range_of(name), **ends)}
        return Domain(ranges, self.values, known=self.known)

    def with_helpers(self, values: dict[str, Tree]) -> "Domain":
        """Return this domain with values for symbols of the student's own."""
        return Domain(self.ranges, {**values, **self.values}) if values else self

    def with_values(self, line: Tree) -> Tree:
        """Return `line` with the values of all symbols that have one; a value may use others."""
        if line not in self.known:
            tree = line
            for _ in self.values:
                tree = substitute(tree, self.values)
            circular = sorted(symbols(tree) & set(self.values))
            if circular:
                raise Unreadable(f"the value of {shown_name(circular[0])} is said with itself")
            self.known[line] = tree
        return self.known[line]

    def narrowed(self, lines: Iterable[Tree]) -> "Domain":
        """Return the domain without ends at which a line has no value or another range is turned round.

        The least whole number is raised instead.
        """
        used = [self.with_values(line) for line in lines]
        for interval in self.ranges.values():
            if interval.low and interval.high:
                width = minus(interval.high, interval.low)
                used.append(("Pow", width, rational(Fraction(1, 2))))  # which has to be 0 or more
        domain = self
        for name, interval in sorted(self.ranges.items(), key=lambda item: not item[1].whole):
            if interval.low and is_number(interval.low) and not interval.low_open:
                for low in range(RAISED if interval.whole else 1):
                    end = rational(fraction_of(interval.low) + low)
                    if not _lacks_value(domain, used, name, end):
                        break
                    next_end = {"low": rational(fraction_of(end) + 1)}
                    domain = domain.changed(
                        name, **next_end if interval.whole else {"low_open": True}
                    )
            closed = (
                interval.high
                and is_number(interval.high)
                and not interval.high_open
                and not interval.whole
            )
            if closed and _lacks_value(domain, used, name, interval.high):
                domain = domain.changed(name, high_open=True)
        return domain


def _lacks_value(domain, lines, name, end):
    """Return True if a line has no value where the symbol `name` is at this end."""
    for line in lines:
        if name not in symbols(line):
            continue
        there = substitute(line, {name: end})
        lacking = False
        for _, point in itertools.islice(draw_points(names_in(there), domain), 3):
            try:
                intervals.Evaluator(CONTEXTS[0], point.values(CONTEXTS[0])).value(there)
                lacking = False
                break
            except intervals.NoValue:
                lacking = True
            except ArithmeticError:
                continue
        if lacking:
            return True
    return False


def domain_of(names: Iterable[Any], where: Mapping[Any, Any], lines: Iterable[Tree] = ()) -> Domain:
    """Return where SymPy's assumptions and `where` put symbols, without ends at which a line has no value."""
    ranges = {str(symbol): _assumed(symbol) for symbol in names}
    values = {}
    for symbol, value in where.items():
        if isinstance(symbol, str):
            raise Unreadable(f"its symbols stand without quotation marks: {HOW_TO_WRITE_WHERE}")
        name = str(symbol)
        ends = value if isinstance(value, tuple | list) else (value, value)
        if len(ends) != 2:
            raise Unreadable(HOW_TO_WRITE_WHERE)
        for end in ends:
            for other in getattr(end, "free_symbols", ()):
                if other.is_Symbol:  # a[k] is none, and k is only what a sum runs over
                    ranges.setdefault(str(other), _assumed(other))
        low, high = map(_end, ends)
        if low == high and low is not None:
            values[name] = low
            continue
        assumed = ranges.get(name) or _assumed(symbol)
        below_zero = low is None or (is_number(low) and fraction_of(low) <= 0)
        above_zero = high is None or (is_number(high) and fraction_of(high) >= 0)
        if not below_zero or assumed.low is None:
            assumed = replace(assumed, low=low, low_open=False)
        if not above_zero or assumed.high is None:
            assumed = replace(assumed, high=high, high_open=False)
        ranges[name] = assumed
    return Domain(ranges, values).narrowed(lines)


def _end(end):
    """Return one end of a range as a tree; None where there is no end."""
    expression = sp.sympify(end, strict=True)
    return None if expression in (sp.oo, -sp.oo) else tree_of(expression)


def _assumed(symbol):
    """Return where a symbol lies when nothing is declared: its assumptions decide."""
    whole = bool(symbol.is_integer)
    if whole and symbol.is_positive:
        return Range(ONE, whole=True, positive=True)
    return Range(
        low=ZERO if symbol.is_nonnegative else None,
        high=ZERO if symbol.is_nonpositive else None,
        whole=whole,
        positive=bool(symbol.is_positive),
        low_open=bool(symbol.is_positive),
        high_open=bool(symbol.is_negative),
    )


class Point:
    """One place: exact numbers, or trees of the numbers before them."""

    def __init__(self, places: dict[str, Fraction | Tree]):
        self.places = places  # in the order in which they depend on one another
        self._known: dict = {}

    def values(self, mp: Any) -> dict[str, intervals.Ball]:
        """Return the balls of all names in one context."""
        if mp not in self._known:
            balls: dict[str, intervals.Ball] = {}
            evaluator = intervals.Evaluator(mp, balls)
            for name, place in self.places.items():
                if isinstance(place, Fraction):
                    balls[name] = evaluator.exact(place)
                else:
                    balls[name] = evaluator.value(place)
            self._known[mp] = balls
        return self._known[mp]

    def shown(self, *lines: Tree) -> str:
        """Return the values of the names in some lines, and the first entries of lists, for a message."""
        values = self.values(CONTEXTS[0])
        names = set[str]().union(*map(names_in, lines))
        lists = names.difference(*map(symbols, lines))
        sayings = []
        for name in sorted(names):
            plain = shown_name(name)
            if name not in lists:
                sayings.append(f"{plain} = {short(values[name][0])}")
                continue
            evaluator = intervals.Evaluator(CONTEXTS[0], values)
            for k in (1, 2):
                entry = evaluator.exact(evaluator.entry(name, evaluator.exact(Fraction(k))))
                sayings.append(f"{plain}[{k}] = {short(entry[0])}")
            sayings.append("...")
        return ", ".join(sayings)


def short(value: Any, digits: int = DIGITS) -> str:
    """Return a number in a few digits, a whole one without a point."""
    return CONTEXTS[-1].nstr(value, digits).removesuffix(".0")


def draw_points(names: set[str], domain: Domain) -> Iterator[tuple[str, Point]]:
    """Return an iterator over (mode, point); points are drawn when asked for, and kept."""
    key = frozenset(names)
    drawn = domain.drawn.get(key) or _draw(key, domain)
    domain.drawn[key], points = itertools.tee(drawn)
    return points


def _draw(names, domain):
    order = _in_order(names, domain)
    rng = random.Random(0)
    for mode in MODES:
        yield mode, Point({name: _place(rng, mode, domain.range_of(name)) for name in order})
        if not order:
            return
    places = {name: domain.range_of(name) for name in order}
    endless = [
        name for name, interval in places.items() if interval.high is None and not interval.whole
    ]
    for name, distance in itertools.product(endless, FAR):
        values = {other: _place(rng, "moderate", interval) for other, interval in places.items()}
        values[name] = _shifted(values[name], Fraction(rng.randint(distance, 2 * distance)))
        yield "far", Point(values)


def _in_order(names, domain):
    """Return names with those that the ends of their ranges depend on before them."""
    order: list[str] = []
    entered = set()

    def visit(name: str) -> None:
        if name in entered:
            return
        entered.add(name)
        for other in sorted(set[str]().union(*map(names_in, domain.range_of(name).ends))):
            visit(other)
        order.append(name)

    for name in sorted(names):
        visit(name)
    return order


def _place(rng, mode, place):
    """Return where one name is: a number, or a tree of the names before it."""
    if mode == "mixed":
        mode = rng.choice(MIXED)
    if place.whole:
        return _whole_number(rng, mode, place)
    if place.low is None and place.high is None:
        if mode == "wide":
            return _size(rng, mode) * rng.choice((-1, 1))
        return Fraction(rng.randint(-3000, 3000), 1000)
    if place.high is None:
        distance = _from_end(place.low_open) if mode == "low" else _size(rng, mode)
        return _shifted(place.low, distance)
    if place.low is None:
        distance = _from_end(place.high_open) if mode == "high" else _size(rng, mode)
        return _shifted(place.high, -distance)
    return add(place.low, times(rational(_share(rng, mode, place)), minus(place.high, place.low)))


def _from_end(is_open):
    return NEAR_END if is_open else Fraction(0)


def _shifted(place, distance):
    """Return a place farther up: a number where it is one, else a tree."""
    if isinstance(place, Fraction):
        return place + distance
    if is_number(place):
        return fraction_of(place) + distance
    return add(place, rational(distance))


def _size(rng, mode):
    """Return a distance above 0, between 1e-4 and 12 where the mode is wide, with few digits."""
    if mode == "wide":
        exponent = rng.uniform(-4, math.log10(12))
        return Fraction(f"{10**exponent:.3g}")
    return Fraction(rng.randint(100, 4000), 1000)


def _share(rng, mode, place):
    """Return where between two ends a point lies: 0 and 1 are the ends themselves."""
    if mode == "wide":
        near = Fraction(1, 10 ** rng.randint(2, 6))
        return rng.choice((near, 1 - near))
    if mode == "low":
        return _from_end(place.low_open)
    if mode == "high":
        return 1 - _from_end(place.high_open)
    return Fraction(1, 2) if mode == "middle" else Fraction(rng.randint(1, 999), 1000)


def _whole_number(rng, mode, place):
    """Return a whole number in its range; one whose range depends on others is at an end."""
    if not all(map(is_number, place.ends)):
        return rng.choice(place.ends)
    low = math.ceil(fraction_of(place.low)) if place.low else -9
    high = math.floor(fraction_of(place.high)) if place.high else low + 10**9
    if mode == "low":
        return Fraction(low)
    if mode == "high" and place.high:
        return Fraction(high)
    if mode == "wide":
        return Fraction(min(high, low + round(10 ** rng.uniform(0, 9))))
    return Fraction(rng.randint(low, min(high, low + 12)))
