"""Sums of monomials with exact factors: {((generator, exponent), ...): factor}. Knows no trees.

A generator is anything that can be hashed and ordered; an exponent is a fraction of either sign.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

TERMS = 200  # of one sum times those of the other, where nobody asks for more

Monomial = tuple[tuple[Any, Fraction], ...]
Polynomial = dict[Monomial, Fraction]


class TooMany(ArithmeticError):
    """A product has more terms than anyone wants to see."""


def constant(number: Fraction | int) -> Polynomial:
    return {(): Fraction(number)} if number else {}


def monomial(generator: Any, exponent: Fraction | int = 1) -> Polynomial:
    return {((generator, Fraction(exponent)),): Fraction(1)}


def ordered(pairs: Iterable[tuple[Any, Fraction]]) -> Monomial:
    """Generators in a fixed order, without those to the power 0."""
    return tuple(sorted(pair for pair in pairs if pair[1]))


def scaled(terms: Polynomial, number: Fraction | int) -> Polynomial:
    return {key: number * factor for key, factor in terms.items()}


def added(*sums: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for terms in sums:
        for key, factor in terms.items():
            total[key] = total.get(key, Fraction(0)) + factor
    return without_zeros(total)


def multiplied(left: Polynomial, right: Polynomial, most: int = TERMS) -> Polynomial:
    if len(left) * len(right) > most:
        raise TooMany
    total: Polynomial = {}
    for one, first in left.items():
        for other, second in right.items():
            key = merged(one, other)
            total[key] = total.get(key, Fraction(0)) + first * second
    return without_zeros(total)


def merged(one: Monomial, other: Monomial) -> Monomial:
    """The product of two monomials."""
    exponents = dict(one)
    for generator, exponent in other:
        exponents[generator] = exponents.get(generator, Fraction(0)) + exponent
    return ordered(exponents.items())


def without_zeros(terms: Polynomial) -> Polynomial:
    return {key: factor for key, factor in terms.items() if factor}
