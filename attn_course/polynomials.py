"""Sums of monomials with exact factors: {((generator, exponent), ...): factor}. Knows no trees.

A generator is anything that can be hashed and ordered; an exponent is a fraction of either sign.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

TERMS = 200  # of one sum times those of the other, where nobody asks for more
NOTHING = Fraction(0)

Monomial = tuple[tuple[Any, Fraction], ...]
Polynomial = dict[Monomial, Fraction]


class TooMany(ArithmeticError):
    """A product has more terms than anyone wants to see."""


def constant(number: Fraction | int) -> Polynomial:
    """A number; 0 has no terms."""
    if not number:
        return {}
    return {(): Fraction(number)}


def monomial(generator: Any, exponent: Fraction | int = 1) -> Polynomial:
    """A power of one generator."""
    pair = (generator, Fraction(exponent))
    key = (pair,)
    return {key: Fraction(1)}


def ordered(pairs: Iterable[tuple[Any, Fraction]]) -> Monomial:
    """Generators in a fixed order, without those to the power 0."""
    kept = [pair for pair in pairs if pair[1]]
    kept.sort()
    return tuple(kept)


def scaled(terms: Polynomial, number: Fraction | int) -> Polynomial:
    """Every factor times a number."""
    found = {}
    for key, factor in terms.items():
        found[key] = number * factor
    return found


def added(*sums: Polynomial) -> Polynomial:
    """All sums in one."""
    total: Polynomial = {}
    for terms in sums:
        for key, factor in terms.items():
            before = total.get(key, NOTHING)
            total[key] = before + factor
    return without_zeros(total)


def multiplied(left: Polynomial, right: Polynomial, most: int = TERMS) -> Polynomial:
    """Every term times every term, at most `most` of these."""
    num_terms = len(left) * len(right)
    if num_terms > most:
        raise TooMany
    total: Polynomial = {}
    for one, first in left.items():
        for other, second in right.items():
            key = merged(one, other)
            before = total.get(key, NOTHING)
            total[key] = before + first * second
    return without_zeros(total)


def merged(one: Monomial, other: Monomial) -> Monomial:
    """The product of two monomials."""
    exponents = dict(one)
    for generator, exponent in other:
        before = exponents.get(generator, NOTHING)
        exponents[generator] = before + exponent
    pairs = exponents.items()
    return ordered(pairs)


def without_zeros(terms: Polynomial) -> Polynomial:
    """The terms that are there at all."""
    found = {}
    for key, factor in terms.items():
        if factor:
            found[key] = factor
    return found
