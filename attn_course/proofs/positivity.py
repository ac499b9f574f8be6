"""Proofs that a tree is nowhere negative: a quotient of sums in which no factor is.

Every symbol is written with unknowns that are 0 or more (n = 2 + u, a share of a range is u / (1 + u)) and
the exponential of something that is 0 or more as 1 + u. All numbers are exact, nothing is sampled.
"""

import contextlib
import functools
import math
from collections.abc import Hashable
from fractions import Fraction

from attn_course.proofs import polynomials
from attn_course.proofs.domains import Domain, Range
from attn_course.proofs.polynomials import (
    Monomial,
    Number,
    Polynomial,
    added,
    constant,
    is_one,
    monomial,
    scaled,
)
from attn_course.proofs.trees import (
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
MINUS_ONE = rational(-1)
HALF = rational(Fraction(1, 2))

Quotient = tuple[Polynomial, Polynomial]  # (above, below)

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
    for sign in (ONE, MINUS_ONE):
        first = times(sign, left)
        second = times(sign, right)
        if never_negative(first, domain) and never_negative(second, domain):
            return True
    return False


def _is_shown(tree, domain, strictly):
    """Whether the sum above is 0 or more, or above 0, once the units of the exponentials are found."""
    units: dict = {}
    above: Polynomial | None = None
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
    if strictly:
        return unknowns.is_positive(above)
    return _has_no_negative(above)


def _has_no_negative(terms):
    """Whether all factors are above 0."""
    return all(factor > 0 for factor in terms.values())


class Unknowns:
    """The unknowns of one proof, all of them 0 or more, and trees written with them.

    A quotient is (above, below) with `below` above 0.
    """

    def __init__(self, domain: Domain, units: dict):
        self.domain = domain
        self.units = units  # exponent -> the least common denominator of its factors
        self.above_zero: set[Hashable] = set()  # unknowns that are never 0
        self.ends_missing = False  # whether some range was taken without its upper end
        self.written: dict[Tree, Quotient] = {}  # while no unit changes, a tree has one quotient

    def is_positive(self, terms: Polynomial) -> bool:
        """Whether the form shows that the sum is above 0: one of its terms always is."""
        if not _has_no_negative(terms) or self.ends_missing:
            return False
        return any(map(self.is_never_zero, terms))

    def is_never_zero(self, key: Monomial) -> bool:
        """Whether all unknowns of a monomial are above 0."""
        return all(unknown in self.above_zero for unknown, _ in key)

    def unknown(self, name: Hashable, above_zero: bool) -> Polynomial:
        """An unknown as a sum of one term."""
        if above_zero:
            self.above_zero.add(name)
        return monomial(name)

    def quotient(self, tree: Tree) -> Quotient:
        """The tree written with the unknowns; Unproved where it cannot be."""
        if tree not in self.written:
            self.written[tree] = self._quotient(tree)
        return self.written[tree]

    def _quotient(self, tree):
        head = tree[0]
        if head == "Rational":
            number = fraction_of(tree)
            return constant(number), UNIT
        if head == "Symbol":
            return self.symbol(tree[1])
        if head == "Constant":
            name = ("Constant", tree[1])
            return self.unknown(name, above_zero=True), UNIT
        if head == "Add":
            terms = map(self.quotient, tree[1:])
            return functools.reduce(self.sum, terms)
        if head == "Mul":
            factors = map(self.quotient, tree[1:])
            return functools.reduce(self.product, factors)
        if head == "Pow":
            return self.power(*tree[1:])
        if head == "exp":
            return self.exponential(tree[1])
        if head in BINDING:
            return self.repeated(*tree)
        if head in _BY_EXPONENTIALS:
            rewrite = _BY_EXPONENTIALS[head]
            rewritten = rewrite(tree[1])
            return self.quotient(rewritten)
        raise Unproved

    def sum(self, left: Quotient, right: Quotient) -> Quotient:
        """Two quotients in one."""
        a, b = left
        c, d = right
        if b == d:
            return added(a, c), b
        first = multiplied(a, d)
        second = multiplied(c, b)
        above = added(first, second)
        below = multiplied(b, d)
        return above, below

    def product(self, left: Quotient, right: Quotient) -> Quotient:
        """Above times above, below times below."""
        a, b = left
        c, d = right
        above = multiplied(a, c)
        below = multiplied(b, d)
        return above, below

    def inverse(self, quotient: Quotient) -> Quotient:
        """1 divided by a quotient whose sign is known."""
        above, below = quotient
        if self.certainly_positive(above):
            return below, above
        opposite = scaled(above, -1)
        if self.certainly_positive(opposite):
            return scaled(below, -1), opposite
        raise Unproved

    def certainly_positive(self, terms: Polynomial) -> bool:
        """Whether a sum without negative terms is above 0 or, where it is 0, nothing is defined."""
        return bool(terms) and _has_no_negative(terms)

    def symbol(self, name: str) -> Quotient:
        """A symbol by its distance from an end, or by its share of its range."""
        place = self.domain.ranges.get(name, Range())
        key = ("Symbol", name)
        if place.low is None:
            if place.high is None:
                raise Unproved
            below = self.unknown(key, above_zero=False)
            distance = scaled(below, -1)
            high = self.quotient(place.high)
            return self.sum(high, (distance, UNIT))
        starts_at_zero = place.low == ZERO
        above_zero = place.positive and starts_at_zero
        distance = self.unknown(key, above_zero)
        if place.high is None:
            low = self.quotient(place.low)
            return self.sum(low, (distance, UNIT))
        self.ends_missing = True
        high = self.quotient(place.high)
        upper = self.product(high, (distance, UNIT))
        whole = added(UNIT, distance)
        low = self.quotient(place.low)
        total = self.sum(low, upper)
        return self.product(total, (UNIT, whole))

    def power(self, base: Tree, exponent: Tree) -> Quotient:
        """A power; one with an unknown exponent is an exponential."""
        if not is_number(exponent):
            above, _ = self.quotient(base)
            if not self.is_positive(above):
                raise Unproved
            logarithm = ("log", base)
            product = times(exponent, logarithm)
            return self.exponential(product)
        wanted = fraction_of(exponent)
        whole = math.floor(wanted)
        part = wanted - whole
        found = (UNIT, UNIT)
        if whole:
            found = self.whole_power(base, whole)
        if not part:
            return found
        root = self.root(base, part)
        return self.product(found, root)

    def whole_power(self, base: Tree, exponent: int) -> Quotient:
        """A power with a whole exponent of either sign, but 0."""
        if abs(exponent) > LARGEST_POWER:
            raise Unproved
        quotient = self.quotient(base)
        if exponent < 0:
            quotient = self.inverse(quotient)
        factors = [quotient] * abs(exponent)
        return functools.reduce(self.product, factors)

    def root(self, base: Tree, exponent: Fraction) -> Quotient:
        """A real power between 0 and 1 is never negative; that of an unknown is one of its powers."""
        if base[0] == "Symbol":
            own = (monomial(base), UNIT)
            if self.quotient(base) == own:
                return monomial(base, exponent), UNIT
        try:
            above, _ = self.quotient(base)
            above_zero = self.is_positive(above)
        except ArithmeticError:
            above_zero = False
        unknown = ("root", base, exponent.denominator)
        self.unknown(unknown, above_zero)
        return monomial(unknown, exponent.numerator), UNIT

    def exponential(self, exponent: Tree) -> Quotient:
        """exp of a sum, term by term."""
        found = (UNIT, UNIT)
        terms = expanded(exponent)
        for key, factor in terms.items():
            term = self.exponential_of_term(key, factor)
            found = self.product(found, term)
        return found

    def exponential_of_term(self, key: Monomial, factor: Number) -> Quotient:
        """exp(factor * key); that of a multiple of a logarithm is a power."""
        if is_one(key, "log"):
            logarithm, _ = key[0]
            return self.power(logarithm[1], rational(factor))
        known = self.units.get(key, 1)
        shares = math.lcm(known, factor.denominator)
        self.units[key] = shares
        return self.power_of_unit(key, factor * shares)

    def power_of_unit(self, key: Monomial, exponent: Number) -> Quotient:
        """A whole power of the exponential of `key`, or of the share of it that all powers have in common."""
        unit = ("exp", key)
        sign: Polynomial | None = None
        with contextlib.suppress(ArithmeticError):
            sign = self.product_of(key)
        if sign is None or not _has_no_negative(sign):
            self.unknown(unit, above_zero=True)
            return monomial(unit, exponent), UNIT
        above_zero = self.is_positive(sign)
        excess = self.unknown(unit, above_zero)
        size = max(exponent, -exponent)
        if size > LARGEST_POWER:
            raise Unproved
        base = added(UNIT, excess)
        factors = [base] * int(size)
        whole = functools.reduce(multiplied, factors, UNIT)
        if exponent > 0:
            return whole, UNIT
        return UNIT, whole

    def product_of(self, key: Monomial) -> Polynomial:
        """The part of an exponent that `key` is, written with the unknowns: only its sign counts."""
        parts = []
        for generator, exponent in key:
            part = power(generator, rational(exponent))
            parts.append(part)
        product = times(ONE, *parts)
        above, _ = self.quotient(product)
        return above

    def repeated(self, head: str, level: int, low: Tree, high: Tree, body: Tree) -> Quotient:
        """A sum of at least one positive term is positive; without its index it is counted."""
        if head != "Sum":
            raise Unproved
        index = ("Bound", level)
        steps = minus(high, low)
        if index not in set(walk(body)):
            count = add(steps, ONE)
            counted = times(count, body)
            return self.quotient(counted)
        above, _ = self.quotient(body)
        last, _ = self.quotient(steps)
        if not self.is_positive(above):
            raise Unproved
        if not _has_no_negative(last):
            raise Unproved
        name = ("Sum", low, high, body)
        return self.unknown(name, above_zero=True), UNIT


def expanded(tree: Tree) -> Polynomial:
    """An exponent as a sum of monomials in trees that are no sums, products or whole powers."""
    head = tree[0]
    if head == "Rational":
        return constant(fraction_of(tree))
    if head == "Add":
        sums = map(expanded, tree[1:])
        return added(*sums)
    if head == "Mul":
        factors = map(expanded, tree[1:])
        return functools.reduce(multiplied, factors)
    if head == "Pow" and _is_small_power(tree[2]):
        base = expanded(tree[1])
        repeated = [base] * tree[2][1]
        return functools.reduce(multiplied, repeated)
    return monomial(tree)


def _is_small_power(exponent):
    """Whether a power with this exponent is multiplied out."""
    if not is_number(exponent):
        return False
    _, above, below = exponent
    return below == 1 and 0 < above <= LARGEST_POWER


def _exp(tree):
    """The exponential of a tree."""
    return ("exp", tree)


def _inverse(tree):
    """1 divided by a tree."""
    return power(tree, MINUS_ONE)


def _ratio(above, below):
    """One tree divided by another."""
    factor = _inverse(below)
    return times(above, factor)


def _double(tree):
    """exp(2 x)."""
    doubled = times(rational(2), tree)
    return _exp(doubled)


def _opposite(tree):
    """exp(-x)."""
    negative = times(MINUS_ONE, tree)
    return _exp(negative)


def _tanh(tree):
    double = _double(tree)
    above = minus(double, ONE)
    below = add(double, ONE)
    return _ratio(above, below)


def _coth(tree):
    double = _double(tree)
    above = add(double, ONE)
    below = minus(double, ONE)
    return _ratio(above, below)


def _cosh(tree):
    up = _exp(tree)
    down = _opposite(tree)
    total = add(up, down)
    return times(HALF, total)


def _sinh(tree):
    up = _exp(tree)
    down = _opposite(tree)
    difference = minus(up, down)
    return times(HALF, difference)


def _sech(tree):
    below = _cosh(tree)
    return _inverse(below)


def _csch(tree):
    below = _sinh(tree)
    return _inverse(below)


_BY_EXPONENTIALS = {
    "tanh": _tanh,
    "coth": _coth,
    "cosh": _cosh,
    "sinh": _sinh,
    "sech": _sech,
    "csch": _csch,
}
