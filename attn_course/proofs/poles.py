"""Where a line has no value: a denominator or logarithm whose sign changes is 0 on the way."""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from attn_course.proofs import intervals
from attn_course.proofs.domains import CONTEXTS, Domain, Point, draw_points
from attn_course.proofs.trees import (
    Tree,
    add,
    fraction_of,
    is_number,
    names_in,
    rational,
    times,
    walk,
)

BASES = 3  # points from which one symbol after the other is moved
WHOLE = 30  # whole numbers that are tried, from the least one
HALVINGS = 60


def find_pole(line: Tree, domain: Domain, work: intervals.Work) -> str:
    """Return a place of the domain where the line has no value, as "gap = 0.3333"; "" where none is found.

    One symbol is moved at a time. A factor that is positive in one place and negative in another is 0 on
    the way, because it is continuous, or has no value there itself.
    """
    points = [point for _, point in draw_points(names_in(line), domain)]
    ends = [end for interval in domain.ranges.values() for end in interval.ends]
    nodes = itertools.chain(*map(walk, [line, *ends]))
    lists = {node[1] for node in nodes if node[0] == "Indexed"}  # without a value to be moved
    movable = [name for name in points[0].places if name not in lists]
    for factor in _must_not_vanish(line):
        for base in points[:BASES]:
            for name in movable:
                moved = _moved(base, name, points, domain)
                zero = _zero(factor, moved, domain.range_of(name).whole, work)
                if zero:
                    return zero.shown(factor)
    return ""


def _must_not_vanish(line: Tree) -> Iterator[Tree]:
    """Return the factors of all denominators and logarithms, but for those that hold the index of a sum."""
    parts = []
    for node in walk(line):
        if node[0] == "log" or (node[0] == "Pow" and is_number(node[2]) and node[2][1] < 0):
            parts.append(node[1])
        if node[0] == "tan":
            parts.append(("cos", node[1]))
    for part in parts:  # which grows on the way
        if part[0] == "Mul":
            parts.extend(part[1:])
        elif part[0] == "Abs" or (part[0] == "Pow" and is_number(part[2])):
            parts.append(part[1])
        elif not any(node[0] == "Bound" for node in walk(part)):
            yield part


def _moved(base, name, points, domain):
    """Return points like the base point, with other numbers for one symbol: whole ones in turn, or drawn."""
    place = domain.range_of(name)
    places = [point.places[name] for point in points]
    if place.whole and place.low and is_number(place.low) and not place.high:
        places = [fraction_of(place.low) + k for k in range(WHOLE)]
    return [Point({**base.places, name: place}) for place in places]


def _zero(factor: Tree, points: Sequence[Point], whole: bool, work: intervals.Work) -> Point | None:
    """Return a point where the factor is 0, or near one: between two points of different sign."""
    signed: dict[int, Point] = {}
    for point in points:
        sign = _sign(factor, point, work)
        if sign == 0:
            return point
        if sign:
            signed.setdefault(sign, point)
    if whole or len(signed) < 2:
        return None
    low, high = Fraction(0), Fraction(1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        zero = _between(signed[-1], signed[1], middle)
        sign = _sign(factor, zero, work)
        if not sign:
            break
        low, high = (middle, high) if sign < 0 else (low, middle)
    return zero


def _sign(factor, point, work):
    """Return -1, 0 or 1; 0 also if there is no value, and None if the sign is not clear."""
    mp = CONTEXTS[0]
    try:
        middle, radius = intervals.Evaluator(mp, point.values(mp), work.begin()).value(factor)
    except intervals.NoValue:
        return 0
    except (intervals.TooLong, intervals.Unclear):
        return None
    if abs(middle) > radius:
        return 1 if middle > 0 else -1
    return None if radius else 0


def _between(first, second, share):
    """Return a point on the way from one point to another, which differ in one symbol."""
    places = {}
    for name, start in first.places.items():
        end = second.places[name]
        if start == end:
            places[name] = start
        else:
            left, right = (p if isinstance(p, tuple) else rational(p) for p in (start, end))
            places[name] = add(times(rational(1 - share), left), times(rational(share), right))
    return Point(places)
