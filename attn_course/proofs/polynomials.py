"""Sums of monomials with exact factors: {((generator, exponent), ...): factor}.

A generator is anything that can be hashed and ordered; an exponent is a fraction of either sign. Whole
numbers are kept as such: Python works them out many times faster than fractions.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

TERMS = 200  # of one sum times those of the other, where nobody asks for more

Number = Fraction | int
Monomial = tuple[tuple[Any, Number], ...]
Polynomial = dict[Monomial, Number]


class TooMany(ArithmeticError):
    """A product has too many terms."""


def simple(number: Number) -> Number:
    """Return the same number, as an integer if it is one."""
    return number.numerator if number.denominator == 1 else number


def constant(number: Number) -> Polynomial:
    """Return a number; 0 has no terms."""
    return {(): simple(number)} if number else {}


def monomial(generator: Any, exponent: Number = 1) -> Polynomial:
    """Return a power of one generator."""
    return {((generator, simple(exponent)),): 1}


def ordered(pairs: Iterable[tuple[Any, Number]]) -> Monomial:
    """Return generators in a fixed order, without those to the power 0."""
    return tuple(sorted(pair for pair in pairs if pair[1]))


def is_one(key: Monomial, kind: str) -> bool:
    """Return True if a monomial is one generator whose first entry is this kind."""
    return len(key) == 1 and key[0][0][0] == kind and key[0][1] == 1


def scaled(terms: Polynomial, number: Number) -> Polynomial:
    """Return every factor times a number."""
    return {key: simple(number * factor) for key, factor in terms.items()}


def added(*sums: Polynomial) -> Polynomial:
    """Return all sums in one."""
    total: Polynomial = {}
    for terms in sums:
        for key, factor in terms.items():
            total[key] = total.get(key, 0) + factor
    return {key: factor for key, factor in total.items() if factor}


def multiplied(left: Polynomial, right: Polynomial, most: int = TERMS) -> Polynomial:
    """Return every term times every term, at most `most` of these."""
    if len(left) * len(right) > most:
        raise TooMany
    total: Polynomial = {}
    for one, first in left.items():
        for other, second in right.items():
            key = merged(one, other)
            total[key] = total.get(key, 0) + first * second
    return {key: factor for key, factor in total.items() if factor}


def merged(one: Monomial, other: Monomial) -> Monomial:
    """Return the product of two monomials."""
    exponents = dict(one)
    for generator, exponent in other:
        exponents[generator] = exponents.get(generator, 0) + exponent
    return ordered(exponents.items())
