"""Proofs that a tree is nowhere negative: a quotient of sums in which no factor is negative.

Every symbol is written with unknowns that are 0 or more (n = 2 + u, a share of a range is u / (1 + u)) and
the exponential of something that is 0 or more as 1 + u. All numbers are exact, nothing is sampled. Knows no
chains.
"""

import functools
import math
from fractions import Fraction

from attn_course import polynomials
from attn_course.domains import Domain, Range
from attn_course.polynomials import Polynomial, added, constant, monomial, scaled
from attn_course.trees import (
    BINDING,
    ONE,
    ZERO,
    Tree,
    add,
    fraction_of,
    is_number,
    minus,
    power,
    rational,
    times,
    walk,
)

LARGEST_POWER = 12  # of a sum that is multiplied out
TERMS = 20_000  # of one sum times those of the other
ROUNDS = 3  # in which exponentials find the unit that all of them are powers of
UNIT = constant(1)


multiplied = functools.partial(polynomials.multiplied, most=TERMS)


class Unproved(ArithmeticError):
    """There may be a proof, but not one of this kind."""


def never_negative(tree: Tree, domain: Domain) -> bool:
    """Whether it is shown that the tree is 0 or more wherever it has a value."""
    return _is_shown(tree, domain, strictly=False)


def always_positive(tree: Tree, domain: Domain) -> bool:
    """Whether it is shown that the tree is above 0 wherever it has a value."""
    return _is_shown(tree, domain, strictly=True)


def have_one_sign(left: Tree, right: Tree, domain: Domain) -> bool:
    """Whether it is shown that neither side is ever negative, or that neither is ever positive."""
    for sign in (ONE, rational(-1)):
        if all(never_negative(times(sign, side), domain) for side in (left, right)):
            return True
    return False


def _is_shown(tree, domain, strictly):
    units: dict = {}
    for _ in range(ROUNDS):
        known = dict(units)
        unknowns = Unknowns(domain, units)
        try:
            above, _ = unknowns.quotient(tree)
        except ArithmeticError:
            above = None
        if units == known:
            break
    if above is None or units != known:
        return False
    return unknowns.is_positive(above) if strictly else _has_no_negative(above)


def _has_no_negative(terms):
    return all(factor > 0 for factor in terms.values())


class Unknowns:
    """The unknowns of one proof, all of them 0 or more, and trees written with them.

    A quotient is (above, below) with `below` above 0.
    """

    def __init__(self, domain: Domain, units: dict):
        self.domain = domain
        self.units = units  # exponent -> the least common denominator of its factors
        self.above_zero = set()  # unknowns that are never 0
        self.ends_missing = False  # whether some range was taken without its upper end

    def is_positive(self, terms: Polynomial) -> bool:
        """Whether the form shows that the sum is above 0: one of its terms always is."""
        if not _has_no_negative(terms) or self.ends_missing:
            return False
        return any(all(unknown in self.above_zero for unknown, _ in key) for key in terms)

    def unknown(self, name, above_zero: bool) -> Polynomial:
        if above_zero:
            self.above_zero.add(name)
        return monomial(name)

    def quotient(self, tree: Tree) -> tuple[Polynomial, Polynomial]:
        head = tree[0]
        if head == "Rational":
            return constant(fraction_of(tree)), UNIT
        if head == "Symbol":
            return self.symbol(tree[1])
        if head == "Constant":
            return self.unknown(("Constant", tree[1]), above_zero=True), UNIT
        if head == "Add":
            return functools.reduce(self.sum, map(self.quotient, tree[1:]))
        if head == "Mul":
            return functools.reduce(self.product, map(self.quotient, tree[1:]))
        if head == "Pow":
            return self.power(*tree[1:])
        if head == "exp":
            return self.exponential(tree[1])
        if head in BINDING:
            return self.repeated(*tree)
        if head in _BY_EXPONENTIALS:
            return self.quotient(_BY_EXPONENTIALS[head](tree[1]))
        raise Unproved

    def sum(self, left, right):
        if left[1] == right[1]:
            return added(left[0], right[0]), left[1]
        above = added(multiplied(left[0], right[1]), multiplied(right[0], left[1]))
        return above, multiplied(left[1], right[1])

    def product(self, left, right):
        return multiplied(left[0], right[0]), multiplied(left[1], right[1])

    def inverse(self, quotient):
        above, below = quotient
        if self.certainly_positive(above):
            return below, above
        if self.certainly_positive(scaled(above, -1)):
            return scaled(below, -1), scaled(above, -1)
        raise Unproved

    def certainly_positive(self, terms):
        """Whether a sum without negative terms is above 0 or, where it is 0, nothing is defined."""
        return bool(terms) and _has_no_negative(terms)

    def symbol(self, name):
        place = self.domain.ranges.get(name, Range())
        unknown = functools.partial(self.unknown, ("Symbol", name))
        if place.low is None and place.high is None:
            raise Unproved
        if place.low is None:
            distance = scaled(unknown(above_zero=False), -1)
            return self.sum(self.quotient(place.high), (distance, UNIT))
        distance = unknown(above_zero=place.positive and place.low == ZERO)
        if place.high is None:
            return self.sum(self.quotient(place.low), (distance, UNIT))
        self.ends_missing = True
        high = self.product(self.quotient(place.high), (distance, UNIT))
        whole = added(UNIT, distance)
        return self.product(self.sum(self.quotient(place.low), high), (UNIT, whole))

    def power(self, base, exponent):
        if not is_number(exponent):
            if not self.is_positive(self.quotient(base)[0]):
                raise Unproved
            return self.exponential(times(exponent, ("log", base)))
        wanted = fraction_of(exponent)
        whole = wanted.numerator // wanted.denominator
        part = wanted - whole
        found = self.whole_power(base, whole) if whole else (UNIT, UNIT)
        return self.product(found, self.root(base, part)) if part else found

    def whole_power(self, base, exponent):
        if abs(exponent) > LARGEST_POWER:
            raise Unproved
        quotient = self.quotient(base)
        if exponent < 0:
            quotient = self.inverse(quotient)
        return functools.reduce(self.product, [quotient] * abs(exponent))

    def root(self, base, exponent):
        """A real power between 0 and 1 is never negative; that of an unknown is one of its powers."""
        name = ("Symbol", base[1])
        if base[0] == "Symbol" and self.quotient(base) == (monomial(name), UNIT):
            return monomial(name, exponent), UNIT
        try:
            above_zero = self.is_positive(self.quotient(base)[0])
        except ArithmeticError:
            above_zero = False
        unknown = ("root", base, exponent.denominator)
        self.unknown(unknown, above_zero)
        return monomial(unknown, exponent.numerator), UNIT

    def exponential(self, exponent):
        found = (UNIT, UNIT)
        for key, factor in expanded(exponent).items():
            found = self.product(found, self.exponential_of_term(key, factor))
        return found

    def exponential_of_term(self, key, factor):
        """exp(factor * key); that of a multiple of a logarithm is a power."""
        if len(key) == 1 and key[0][0][0] == "log" and key[0][1] == 1:
            return self.power(key[0][0][1], rational(factor))
        shares = math.lcm(self.units.get(key, 1), factor.denominator)
        self.units[key] = shares
        return self.power_of_unit(key, factor * shares)

    def power_of_unit(self, key, exponent):
        """A whole power of the exponential of `key`, or of the share of it that all powers have in common."""
        unit = ("exp", key)
        try:
            sign = self.product_of(key)
        except ArithmeticError:
            sign = None
        if sign is None or not _has_no_negative(sign):
            self.unknown(unit, above_zero=True)
            return monomial(unit, exponent), UNIT
        excess = self.unknown(unit, above_zero=self.is_positive(sign))
        if abs(exponent) > LARGEST_POWER:
            raise Unproved
        whole = functools.reduce(multiplied, [added(UNIT, excess)] * abs(int(exponent)), UNIT)
        return (whole, UNIT) if exponent > 0 else (UNIT, whole)

    def product_of(self, key):
        """The part of an exponent that `key` is, written with the unknowns: only its sign counts."""
        parts = [power(generator, rational(exponent)) for generator, exponent in key]
        return self.quotient(times(ONE, *parts))[0]

    def repeated(self, head, level, low, high, body):
        """A sum of at least one positive term is positive; without its index it is counted."""
        if head != "Sum":
            raise Unproved
        count = add(minus(high, low), ONE)
        if ("Bound", level) not in set(walk(body)):
            return self.quotient(times(count, body))
        above, _ = self.quotient(body)
        last, _ = self.quotient(minus(high, low))
        if not self.is_positive(above) or not _has_no_negative(last):
            raise Unproved
        return self.unknown(("Sum", low, high, body), above_zero=True), UNIT


def expanded(tree: Tree) -> Polynomial:
    """An exponent as a sum of monomials in trees that are no sums, products or whole powers."""
    head = tree[0]
    if head == "Rational":
        return constant(fraction_of(tree))
    if head == "Add":
        return added(*map(expanded, tree[1:]))
    if head == "Mul":
        return functools.reduce(multiplied, map(expanded, tree[1:]))
    if head == "Pow" and is_number(tree[2]) and tree[2][2] == 1 and 0 < tree[2][1] <= LARGEST_POWER:
        return functools.reduce(multiplied, [expanded(tree[1])] * tree[2][1])
    return monomial(tree)


def _exp(tree):
    return ("exp", tree)


def _opposite(tree):
    return times(rational(-1), tree)


def _ratio(above, below):
    return times(above, power(below, rational(-1)))


def _double(tree):
    return _exp(times(rational(2), tree))


def _tanh(tree):
    return _ratio(minus(_double(tree), ONE), add(_double(tree), ONE))


def _coth(tree):
    return _ratio(add(_double(tree), ONE), minus(_double(tree), ONE))


def _cosh(tree):
    return times(rational(Fraction(1, 2)), add(_exp(tree), _exp(_opposite(tree))))


def _sinh(tree):
    return times(rational(Fraction(1, 2)), minus(_exp(tree), _exp(_opposite(tree))))


def _sech(tree):
    return power(_cosh(tree), rational(-1))


def _csch(tree):
    return power(_sinh(tree), rational(-1))


_BY_EXPONENTIALS = {
    "tanh": _tanh,
    "coth": _coth,
    "cosh": _cosh,
    "sinh": _sinh,
    "sech": _sech,
    "csch": _csch,
}
