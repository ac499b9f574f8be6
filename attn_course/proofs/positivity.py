"""Proofs that a tree is nowhere negative, above 0 or has a value everywhere; nothing is sampled.

A tree is written as a quotient of sums in which no factor is negative. Every symbol is written with
unknowns that are 0 or more (n = 2 + u, a share of a range is u / (1 + u)) and the exponential of something
that is 0 or more as 1 + u.
"""

import contextlib
import functools
import math
from collections.abc import Hashable
from fractions import Fraction

from attn_course.proofs import modular, polynomials
from attn_course.proofs.domains import Domain
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
    DEFINED_EVERYWHERE,
    FUNCTIONS,
    MINUS_ONE,
    ONE,
    ZERO,
    Tree,
    add,
    children,
    fraction_of,
    is_number,
    minus,
    power,
    rational,
    substitute,
    symbols,
    times,
    walk,
    with_changed_parts,
)

LARGEST_POWER = 12  # of a sum that is multiplied out
TERMS = 20_000  # of one sum times those of the other
ROUNDS = 3  # in which exponentials find the unit that all of them are powers of
CLOSED_RANGES = 4  # whose upper ends are looked at one by one
UNIT = constant(1)

Quotient = tuple[Polynomial, Polynomial]  # (above, below)

multiplied = functools.partial(polynomials.multiplied, most=TERMS)


class Unproved(ArithmeticError):
    """There may be a proof, but not one of this kind."""


def never_negative(tree: Tree, domain: Domain) -> bool:
    """Return True if the tree is proved to be 0 or more wherever it has a value."""
    return _is_shown(tree, domain, strictly=False)


def always_positive(tree: Tree, domain: Domain) -> bool:
    """Return True if the tree is proved to be above 0 wherever it has a value.

    A share of a range never reaches the upper end, so an end that is part of it is looked at by itself.
    """
    places = {name: domain.range_of(name) for name in symbols(tree)}
    closed = [n for n, p in places.items() if p.low and p.high and not p.high_open]
    if len(closed) > CLOSED_RANGES:
        return False
    for name in closed:
        at_end = substitute(tree, {name: places[name].high or ZERO})
        inside = domain.changed(name, high_open=True)
        return always_positive(at_end, domain) and always_positive(tree, inside)
    return _is_shown(tree, domain, strictly=True)


def have_one_sign(left: Tree, right: Tree, domain: Domain) -> bool:
    """Return True if neither side is ever negative, or neither is ever positive, and this is proved."""
    for sign in (ONE, MINUS_ONE):
        if all(never_negative(times(sign, side), domain) for side in (left, right)):
            return True
    return False


def with_known_signs(tree: Tree, domain: Domain) -> Tree:
    """Return the tree without the absolute values and roots of even powers whose sign the domain fixes."""
    if tree[0] in BINDING or not any(_hides_a_sign(node) for node in walk(tree)):
        return tree
    tree = with_changed_parts(tree, lambda part: with_known_signs(part, domain))
    if not _hides_a_sign(tree):
        return tree
    inner = tree[1] if tree[0] == "Abs" else tree[1][1]
    for base in (inner, times(MINUS_ONE, inner)):
        if _is_not_negative(base, domain):
            if tree[0] == "Abs":
                return base
            return power(base, rational(fraction_of(tree[1][2]) * fraction_of(tree[2])))
    return tree


def _hides_a_sign(node):
    """Return True for |x| and for a root of an even power, (x**2)**(1/2)."""
    if node[0] == "Abs":
        return True
    if node[0] != "Pow" or not is_number(node[2]) or node[2][2] == 1 or node[1][0] != "Pow":
        return False
    exponent = node[1][2]
    return is_number(exponent) and exponent[2] == 1 and exponent[1] % 2 == 0


def has_value(tree: Tree, domain: Domain) -> bool:
    """Return True if the tree is proved to have a real value everywhere in the domain."""
    if not all(has_value(part, domain) for part in children(tree)):
        return False
    head = tree[0]
    if head == "log":
        return _is_positive(tree[1], domain)
    if head == "Indexed":
        return _is_whole(tree[2], domain)
    if head in BINDING:
        _, _, low, high, _ = tree
        count = add(minus(high, low), ONE)
        return all(_is_whole(end, domain) for end in (low, high)) and never_negative(count, domain)
    if head == "Pow" and is_number(tree[2]):
        _, base, exponent = tree
        if exponent[2] > 1:  # a root
            return _is_positive(base, domain) or (
                exponent[1] > 0 and _is_not_negative(base, domain)
            )
        below = exponent[1] < 0
        return (
            not below or _is_positive(base, domain) or _is_positive(times(MINUS_ONE, base), domain)
        )
    if head == "Pow":
        return _is_positive(tree[1], domain)
    return head in DEFINED_EVERYWHERE or head not in FUNCTIONS


def _is_positive(tree, domain):
    return modular.is_positive(tree, domain.positive) or always_positive(tree, domain)


def _is_not_negative(tree, domain):
    """Return True if the tree is proved to be 0 or more, by its form or by signs."""
    if tree[0] == "Abs":
        return True
    if tree[0] == "Pow" and is_number(tree[2]) and tree[2][1] % 2 == 0:
        return True
    if tree[0] in ("Add", "Mul") and all(_is_not_negative(part, domain) for part in tree[1:]):
        return True
    return modular.is_positive(tree, domain.positive) or never_negative(tree, domain)


def _is_whole(tree, domain):
    """Return True if the form alone shows that the tree is a whole number."""
    if tree[0] == "Symbol":
        return domain.range_of(tree[1]).whole
    if tree[0] in ("Add", "Mul"):
        return all(_is_whole(part, domain) for part in tree[1:])
    return tree[0] == "Bound" or (is_number(tree) and tree[2] == 1)


def _is_shown(tree, domain, strictly):
    """Return True if the numerator is proved to be 0 or more, or above 0.

    The units of the exponentials are worked out first.
    """
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
    return unknowns.is_positive(above) if strictly else _has_no_negative(above)


def _has_no_negative(terms):
    """Return True if all factors are above 0."""
    return all(factor > 0 for factor in terms.values())


class Unknowns:
    """The unknowns of one proof, all of them 0 or more, and trees written with them.

    A quotient is (above, below) with `below` above 0.
    """

    def __init__(self, domain: Domain, units: dict):
        self.domain = domain
        self.units = units  # exponent -> the least common denominator of its factors
        self.above_zero: set[Hashable] = set()  # unknowns that are never 0
        self.ends_are_open = True  # whether no upper end that belongs to its range was left out
        self.written: dict[Tree, Quotient] = {}  # while no unit changes, a tree has one quotient

    def is_positive(self, terms: Polynomial) -> bool:
        """Return True if the form shows that the sum is above 0, because one of its terms always is."""
        if not _has_no_negative(terms) or not self.ends_are_open:
            return False
        return any(all(unknown in self.above_zero for unknown, _ in key) for key in terms)

    def unknown(self, name: Hashable, above_zero: bool) -> Polynomial:
        """Return an unknown as a sum of one term."""
        if above_zero:
            self.above_zero.add(name)
        return monomial(name)

    def quotient(self, tree: Tree) -> Quotient:
        """Return the tree written with the unknowns; Unproved where it cannot be."""
        if tree not in self.written:
            self.written[tree] = self._quotient(tree)
        return self.written[tree]

    def _quotient(self, tree):
        head = tree[0]
        if head == "Rational":
            return constant(fraction_of(tree)), UNIT
        if head == "Symbol":
            return self.symbol(tree[1])
        if head == "Constant":
            return self.unknown(tree, above_zero=True), UNIT
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
        raise Unproved

    def sum(self, left: Quotient, right: Quotient) -> Quotient:
        a, b = left
        c, d = right
        if b == d:
            return added(a, c), b
        return added(multiplied(a, d), multiplied(c, b)), multiplied(b, d)

    def product(self, left: Quotient, right: Quotient) -> Quotient:
        a, b = left
        c, d = right
        return multiplied(a, c), multiplied(b, d)

    def inverse(self, quotient: Quotient) -> Quotient:
        """Return 1 divided by a quotient of one sign; where that is 0, nothing has a value."""
        above, below = quotient
        for sign in (1, -1):
            signed = scaled(above, sign)
            if signed and _has_no_negative(signed):
                return scaled(below, sign), signed
        raise Unproved

    def symbol(self, name: str) -> Quotient:
        """Return a symbol by its distance from an end, or by its share of its range."""
        interval = self.domain.range_of(name)
        key = ("Symbol", name)
        if interval.low is None:
            if interval.high is None:
                raise Unproved
            distance = scaled(self.unknown(key, interval.high_open), -1)
            return self.sum(self.quotient(interval.high), (distance, UNIT))
        distance = self.unknown(key, interval.low_open)
        low = self.quotient(interval.low)
        if interval.high is None:
            return self.sum(low, (distance, UNIT))
        self.ends_are_open &= interval.high_open
        upper = self.product(self.quotient(interval.high), (distance, UNIT))
        return self.product(self.sum(low, upper), (UNIT, added(UNIT, distance)))

    def power(self, base: Tree, exponent: Tree) -> Quotient:
        """Return a power; one with an unknown exponent is an exponential."""
        if not is_number(exponent):
            above, _ = self.quotient(base)
            if not self.is_positive(above):
                raise Unproved
            return self.exponential(times(exponent, ("log", base)))
        target = fraction_of(exponent)
        whole = math.floor(target)
        found = self.whole_power(base, whole) if whole else (UNIT, UNIT)
        if target == whole:
            return found
        return self.product(found, self.root(base, target - whole))

    def whole_power(self, base: Tree, exponent: int) -> Quotient:
        """Return a power with a whole exponent of either sign, but 0."""
        if abs(exponent) > LARGEST_POWER:
            raise Unproved
        quotient = self.quotient(base)
        if exponent < 0:
            quotient = self.inverse(quotient)
        return functools.reduce(self.product, [quotient] * abs(exponent))

    def root(self, base: Tree, exponent: Fraction) -> Quotient:
        """Return a power with an exponent between 0 and 1: never negative, and a monomial for a symbol."""
        if base[0] == "Symbol" and self.quotient(base) == (monomial(base), UNIT):
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
        """Return exp of a sum, term by term; that of a multiple of a logarithm is a power."""
        found = (UNIT, UNIT)
        for key, factor in expanded(exponent).items():
            if is_one(key, "log"):
                logarithm, _ = key[0]
                term = self.power(logarithm[1], rational(factor))
            else:
                shares = math.lcm(self.units.get(key, 1), factor.denominator)
                self.units[key] = shares
                term = self.power_of_unit(key, factor * shares)
            found = self.product(found, term)
        return found

    def power_of_unit(self, key: Monomial, exponent: Number) -> Quotient:
        """Return a power of the exponential of `key`, or of the share that all its powers have in common."""
        unit = ("exp", key)
        sign: Polynomial | None = None
        with contextlib.suppress(ArithmeticError):
            # only the sign of what stands in the exponent counts
            parts = [power(generator, rational(k)) for generator, k in key]
            sign, _ = self.quotient(times(ONE, *parts))
        if sign is None or not _has_no_negative(sign):
            self.unknown(unit, above_zero=True)
            return monomial(unit, exponent), UNIT
        excess = self.unknown(unit, self.is_positive(sign))
        size = int(abs(Fraction(exponent)))
        if size > LARGEST_POWER:
            raise Unproved
        factors = [added(UNIT, excess)] * size
        whole = functools.reduce(multiplied, factors, UNIT)
        return (whole, UNIT) if exponent > 0 else (UNIT, whole)

    def repeated(self, head: str, level: int, low: Tree, high: Tree, body: Tree) -> Quotient:
        """Return a sum: positive if its terms are; a term without the index is multiplied by their number."""
        if head != "Sum":
            raise Unproved
        steps = minus(high, low)
        if ("Bound", level) not in walk(body):
            return self.quotient(times(add(steps, ONE), body))
        above, _ = self.quotient(body)
        last, _ = self.quotient(steps)
        if not self.is_positive(above) or not _has_no_negative(last):
            raise Unproved
        return self.unknown(("Sum", low, high, body), above_zero=True), UNIT


def expanded(tree: Tree) -> Polynomial:
    """Return an exponent as a sum of monomials in trees that are no sums, products or whole powers."""
    head = tree[0]
    if head == "Rational":
        return constant(fraction_of(tree))
    if head == "Add":
        return added(*map(expanded, tree[1:]))
    if head == "Mul":
        return functools.reduce(multiplied, map(expanded, tree[1:]))
    if head == "Pow" and is_number(tree[2]):
        _, above, below = tree[2]
        if below == 1 and 0 < above <= LARGEST_POWER:
            return functools.reduce(multiplied, [expanded(tree[1])] * above)
    return monomial(tree)
