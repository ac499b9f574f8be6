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
    """A product has more terms than anyone wants to see."""


def simple(number: Number) -> Number:
    """The same number, as an integer if it is one."""
    return number.numerator if number.denominator == 1 else number


def constant(number: Number) -> Polynomial:
    """A number; 0 has no terms."""
    if not number:
        return {}
    return {(): simple(number)}


def monomial(generator: Any, exponent: Number = 1) -> Polynomial:
    """A power of one generator."""
    pair = (generator, simple(exponent))
    key = (pair,)
    return {key: 1}


def ordered(pairs: Iterable[tuple[Any, Number]]) -> Monomial:
    """Generators in a fixed order, without those to the power 0."""
    kept = [pair for pair in pairs if pair[1]]
    kept.sort()
    return tuple(kept)


def is_one(key: Monomial, kind: str) -> bool:
    """Whether a monomial is one generator of this kind, which the generator begins with."""
    if len(key) != 1:
        return False
    generator, exponent = key[0]
    return generator[0] == kind and exponent == 1


def scaled(terms: Polynomial, number: Number) -> Polynomial:
    """Every factor times a number."""
    found = {}
    for key, factor in terms.items():
        found[key] = simple(number * factor)
    return found


def added(*sums: Polynomial) -> Polynomial:
    """All sums in one."""
    total: Polynomial = {}
    for terms in sums:
        for key, factor in terms.items():
            before = total.get(key, 0)
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
            before = total.get(key, 0)
            total[key] = before + first * second
    return without_zeros(total)


def merged(one: Monomial, other: Monomial) -> Monomial:
    """The product of two monomials."""
    exponents = dict(one)
    for generator, exponent in other:
        before = exponents.get(generator, 0)
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
