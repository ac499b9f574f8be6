"""Equality of two trees, modulo a prime at random assignments.

Every symbol, exponential of a monomial, erf, logarithm and root is an unknown of its own. What holds
here holds wherever both sides are defined.
"""

import functools
import hashlib
import itertools
import math
import secrets
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from sympy import isprime, sqrt_mod

from attn_course.proofs.polynomials import (
    TERMS,
    Polynomial,
    added,
    constant,
    is_one,
    monomial,
    multiplied,
    ordered,
    scaled,
)
from attn_course.proofs.trees import (
    BINDING,
    FUNCTIONS,
    MINUS_ONE,
    Tree,
    add,
    children,
    fraction_of,
    free_level,
    is_number,
    minus,
    rational,
    replaced,
    times,
    walk,
)

SQUARES = (3, 5, 7, 11, 13, 17, 19)  # these, -1 and 2 have square roots modulo every prime drawn
ROOTS = 5040  # an unknown is a power with this exponent, so that its roots are unknowns too
LARGEST_POWER = ROOTS * 10**6  # a larger one may be a multiple of the order of every number
LARGEST_EXPANDED = 12  # power of a sum that is multiplied out
SHIFTS = (0, 1, -1, 2, -2, 3, -3)  # of the index of a sum
MOST_SPLIT = 8  # terms that are written beside a sum
LARGEST_TRIED = 100  # small prime factors of a number are below this
SMALL_PRIMES = math.prod(k for k in range(23, 1000) if isprime(k))
ASSIGNMENTS = 2
POSITIVE_HEADS = ("exp", "erfc", "Constant")  # whatever stands below them
EQUAL = "equal"
DIFFERENT = "different"
UNKNOWN = "unknown"


class Inexact(ArithmeticError):
    """The algebra here cannot express it; numbers must decide."""


class Field:
    """The whole numbers modulo a prime."""

    def __init__(self, prime: int = 2**80 + 18513) -> None:
        self.prime = prime
        self._roots: dict[int, int] = {}

    @classmethod
    def drawn(cls) -> "Field":
        """Return a field that nobody could foresee, since the multiples of its prime count as zero.

        The prime is 1 modulo 8 and a square modulo each of SQUARES, so that by reciprocity these are
        squares modulo it.
        """
        least = 1
        step = 8
        for prime in SQUARES:
            drawn = secrets.randbelow(prime - 1) + 1
            while least % prime != drawn * drawn % prime:
                least += step
            step *= prime
        found = 0
        while math.gcd(found, SMALL_PRIMES) > 1 or not isprime(found):
            found = least + step * (2**56 + secrets.randbits(56))
        return cls(found)

    def inverse(self, number: int) -> int:
        """Return the number whose product with this one is 1."""
        if number % self.prime == 0:
            raise ZeroDivisionError
        return pow(number, -1, self.prime)

    def power(self, number: int, exponent: int) -> int:
        """Return a whole power of either sign."""
        if abs(exponent) > LARGEST_POWER:
            raise Inexact
        found = pow(number, abs(exponent), self.prime)
        return self.inverse(found) if exponent < 0 else found

    def product(self, numbers: Iterable[int]) -> int:
        product = 1
        for number in numbers:
            product = product * number % self.prime
        return product

    def square_root(self, number: int) -> int:
        """Return one of the two square roots; raise Inexact if there is none."""
        if number not in self._roots:
            root = sqrt_mod(number % self.prime, self.prime)
            if root is None:
                raise Inexact
            self._roots[number] = int(root)
        return self._roots[number]


def compare(left: Tree, right: Tree, positive: frozenset[str], field: Field | None = None) -> str:
    """Return EQUAL if algebra shows that both are the same function, DIFFERENT if it shows that they are not.

    positive: names of the symbols above 0.
    """
    first = _test(_have_same_value, left, right, positive, field)
    if first != UNKNOWN:
        return first
    return _test(_have_same_exponential, left, right, positive, field)


def compare_squares(
    left: Tree, right: Tree, positive: frozenset[str], field: Field | None = None
) -> str:
    """Return the same of the squares of both sides."""
    return _test(_have_same_square, left, right, positive, field)


def _test(test, left, right, positive, field):
    """Return the outcome of `test` on both sides at all assignments together."""
    assignments = [Assignment(positive, field or Field()) for _ in range(ASSIGNMENTS)]
    try:
        results = [test(left, right, assignment) for assignment in assignments]
    except ArithmeticError:
        return UNKNOWN
    if all(results):
        return EQUAL
    if any(assignment.opaque for assignment in assignments):
        return UNKNOWN
    return DIFFERENT


def _have_same_value(left, right, assignment):
    return assignment.value(left) == assignment.value(right)


def _have_same_exponential(left, right, assignment):
    """Return True if both sides have the same exponential: no two real numbers share one."""
    if not any(node[0] == "log" for side in (left, right) for node in walk(side)):
        raise Inexact
    terms = assignment.expanded(minus(left, right))
    whole = math.lcm(*(factor.denominator for factor in terms.values()))
    return assignment.exponential(scaled(terms, whole)) == 1


def _have_same_square(left, right, assignment):
    return assignment.square(left) == assignment.square(right)


def is_positive(tree: Tree, positive: frozenset[str]) -> bool:
    """Return True if the form alone shows that the value is above zero."""
    head = tree[0]
    if head in POSITIVE_HEADS:
        return True
    if head == "Symbol":
        return tree[1] in positive
    if head == "Rational":
        return tree[1] > 0
    if head in ("Add", "Mul"):
        return all(is_positive(part, positive) for part in children(tree))
    return head == "Pow" and is_positive(tree[1], positive)


class Assignment:
    """Random numbers modulo the prime for everything that can be chosen."""

    def __init__(self, positive: frozenset[str], field: Field):
        self.positive = positive
        self.field = field
        self.seed = secrets.token_bytes(16)
        self.known: dict[Tree, int] = {}
        # of sums, by their index, one of each kind with the number that the sum starts at
        self.summands: dict[Tree, list[tuple[Tree, Fraction | None]]] = {}
        self.opaque = False  # whether some unknowns may depend on one another

    def dependent(self, *key: Any) -> int:
        """Return an unknown of which algebra does not know all there is to know."""
        self.opaque = True
        return self.unknown(*key)

    def unknown(self, *key: Any) -> int:
        """Return the same random number for the same key, never 0."""
        text = repr(key).encode()
        digest = hashlib.blake2b(text, key=self.seed, digest_size=16).digest()
        return int.from_bytes(digest, "big") % (self.field.prime - 1) + 1

    def value(self, tree: Tree) -> int:
        """Return the number modulo the prime that the tree stands for here."""
        if tree not in self.known:
            self.known[tree] = self._value(tree) % self.field.prime
        return self.known[tree]

    def values(self, trees: Iterable[Tree]) -> Iterable[int]:
        """Return the numbers of several trees, one after the other."""
        return map(self.value, trees)

    def _value(self, tree):
        head = tree[0]
        if head == "Rational":
            return tree[1] * self.field.inverse(tree[2])
        if head in ("Symbol", "Bound"):
            return self.with_roots(tree)
        if head == "Constant":
            return self.unknown(tree)
        if head == "Add":
            return sum(self.values(tree[1:]))
        if head == "Mul":
            return self.field.product(self.values(tree[1:]))
        if head == "Pow":
            return self.power(*tree[1:])
        if head == "exp":
            return self.exponential(self.expanded(tree[1]))
        if head in BINDING:
            return self.repeated(*tree)
        if head == "Indexed":
            return self.with_roots(head, tree[1], self.value(tree[2]))
        if head in ("Max", "Min"):  # arguments have no order and count once
            return self.dependent(head, sorted(set(self.values(tree[1:]))))
        return _FUNCTIONS[head](self, *tree[1:])

    def with_roots(self, *key: Any) -> int:
        """Return an unknown whose roots are unknowns too."""
        return pow(self.unknown(*key), ROOTS, self.field.prime)

    def power(self, base: Tree, exponent: Tree) -> int:
        """Return a power; one with an unknown exponent is an exponential."""
        if not is_number(exponent):
            terms = self.expanded(("Mul", exponent, ("log", base)))
            return self.exponential(terms)
        wanted = fraction_of(exponent)
        whole = math.floor(wanted)
        found = self.field.power(self.value(base), whole)
        if wanted == whole:
            return found
        return found * self.root(base, wanted - whole)

    def square(self, tree: Tree) -> int:
        """Return the square of a value; of a product, factor by factor, which frees it from square roots."""
        if tree[0] == "Mul":
            return self.field.product(map(self.square, tree[1:]))
        if tree[0] == "Pow" and is_number(tree[2]):
            exponent = rational(2 * fraction_of(tree[2]))
            return self.power(tree[1], exponent) % self.field.prime
        return self.field.power(self.value(tree), 2)

    def root(self, base: Tree, exponent: Fraction) -> int:
        """Return a power between 0 and 1; positive factors may leave the root one by one."""
        head = base[0]
        if head == "Symbol":
            return self.field.power(self.unknown(base), _whole(ROOTS * exponent))
        if head == "Rational" and base[1] > 0:
            powers = prime_powers(base).items()
            return self.field.product(self.root_of_prime(p, k * exponent) for p, k in powers)
        if head == "exp":
            return self.exponential(scaled(self.expanded(base[1]), exponent))
        if head == "Pow" and is_number(base[2]) and is_positive(base[1], self.positive):
            return self.power(base[1], rational(fraction_of(base[2]) * exponent))
        if head == "Mul":
            outside, inside = self.split(base)
            product = self.field.product(self.power(part, rational(exponent)) for part in outside)
            if not inside:
                return product
            rest = self.field.product(self.values(inside))
            return product * self.opaque_root(rest, exponent)
        return self.opaque_root(self.value(base), exponent)

    def split(self, factors: Tree) -> tuple[list[Tree], list[Tree]]:
        """Return the factors that are positive by their form, and the others."""
        outside = [part for part in factors[1:] if is_positive(part, self.positive)]
        inside = [part for part in factors[1:] if not is_positive(part, self.positive)]
        return outside, inside

    def opaque_root(self, value: int, exponent: Fraction) -> int:
        """Return `value` to the power `exponent`, where nothing is known of how the value is composed."""
        step = self.dependent("root", exponent.denominator, value % self.field.prime)
        return self.field.power(step, exponent.numerator)

    def root_of_prime(self, prime: int, exponent: Fraction) -> int:
        """Return a power of a prime; what division leaves of a larger number may be no prime."""
        whole = math.floor(exponent)
        part = exponent - whole
        outside = self.field.power(prime, whole)
        if not part:
            return outside
        if prime < LARGEST_TRIED**2 and part == Fraction(1, 2):
            return outside * self.field.square_root(prime)
        return outside * self.opaque_root(prime, part)

    def expanded(self, tree: Tree) -> Polynomial:
        """Return a sum of monomials, {((generator, exponent), ...): factor}."""
        head = tree[0]
        if head == "Rational":
            return constant(fraction_of(tree))
        if head == "Add":
            return added(*map(self.expanded, tree[1:]))
        if head == "Mul":
            return functools.reduce(multiplied, map(self.expanded, tree[1:]))
        if head == "Pow" and is_number(tree[2]):
            return self.expanded_power(tree, fraction_of(tree[2]))
        if head == "log":
            value = self.value(tree[1])
            return {} if value == 1 else monomial(("log", value))
        return monomial(self.generator(tree))

    def expanded_power(self, tree: Tree, exponent: Fraction) -> Polynomial:
        """Return a power multiplied out if it is a short one or that of a monomial, else as a generator."""
        base = self.expanded(tree[1])
        is_whole = exponent.denominator == 1
        if is_whole and 0 < exponent <= LARGEST_EXPANDED:
            return functools.reduce(multiplied, [base] * int(exponent))
        if len(base) == 1 and (is_whole or is_positive(tree[1], self.positive)):
            ((key, factor),) = base.items()
            if key and factor == 1:
                return {ordered((name, k * exponent) for name, k in key): Fraction(1)}
        return monomial(self.generator(tree))

    def generator(self, tree: Tree) -> tuple[str, Any]:
        """Return the generator that stands for a part of an exponent; equal parts have equal generators."""
        if tree[0] in ("Symbol", "Bound"):
            return "symbol", tree
        return "value", self.value(tree)

    def exponential(self, terms: Polynomial, kind: str = "real") -> int:
        """Return exp of a sum of monomials; that of a whole multiple of a logarithm is a power.

        kind: "imaginary" for exp(i x).
        """
        product = 1
        for key, factor in terms.items():
            if factor.denominator == 1 and kind == "real" and is_one(key, "log"):
                generator, _ = key[0]
                product *= self.field.power(generator[1], int(factor))
                continue
            self.opaque |= any(name[0] != "symbol" for name, _ in key)
            product *= self.field.power(self.unknown(kind, key), _whole(ROOTS * factor))
        return product % self.field.prime

    def log(self, argument: Tree) -> int:
        """Return a logarithm; positive factors may leave it one by one."""
        head = argument[0]
        if head == "exp":
            return self.value(argument[1])
        if head == "Rational" and argument[1] > 0:
            powers = prime_powers(argument).items()
            return sum(k * self.dependent("log", prime) for prime, k in powers)
        if head == "Pow" and is_positive(argument[1], self.positive):
            return self.value(argument[2]) * self.log(argument[1])
        if head == "Mul":
            outside, inside = self.split(argument)
            total = sum(map(self.log, outside))
            if not inside:
                return total
            return total + self.opaque_log(self.field.product(self.values(inside)))
        return self.opaque_log(self.value(argument))

    def opaque_log(self, value: int) -> int:
        """Return the logarithm of `value`, where nothing is known of how the value is composed."""
        return 0 if value == 1 else self.dependent("log", value)

    def cos(self, argument: Tree) -> int:
        up = self.exponential(self.expanded(argument), kind="imaginary")
        return (up + self.field.inverse(up)) * self.field.inverse(2)

    def sin(self, argument: Tree) -> int:
        up = self.exponential(self.expanded(argument), kind="imaginary")
        double = 2 * self.field.square_root(-1)
        return (up - self.field.inverse(up)) * self.field.inverse(double)

    def tan(self, argument: Tree) -> int:
        return self.sin(argument) * self.field.inverse(self.cos(argument))

    def erf(self, argument: Tree) -> int:
        """Return erf, which is odd: of the two signs of its argument the smaller number stands for both."""
        value = self.value(argument)
        opposite = -value % self.field.prime
        if not value:
            return 0
        return self.unknown("erf", value) if value <= opposite else -self.unknown("erf", opposite)

    def erfc(self, argument: Tree) -> int:
        return 1 - self.erf(argument)

    def abs(self, argument: Tree) -> int:
        """Return Abs, which is even: of the two signs of its argument the smaller number stands for both."""
        value = self.value(argument)
        if not value or is_positive(argument, self.positive):
            return value
        return self.dependent("Abs", min(value, -value % self.field.prime))

    def repeated(self, head: str, level: int, low: Tree, high: Tree, body: Tree) -> int:
        """Return a sum term by term; a term without the index is multiplied by the number of steps."""
        first = self.value(low)
        last = self.value(high)
        if head == "Product":
            return self.dependent(head, first, last, self.value(body))
        index = ("Bound", level)
        total = 0
        for term in _terms(body, index):
            factors = list(_factors(term, index))
            inside = [part for part in factors if index in walk(part)]
            outside = [part for part in factors if part not in inside]
            factor = self.field.product(self.values(outside))
            if not inside:
                total += factor * (last - first + 1)
                continue
            summand = ("Mul", *inside)
            own = ("Bound", free_level(summand))  # the index is named after what the summand holds
            total += factor * self.sum_of(replaced(summand, index, own), own, low, high)
        return total

    def sum_of(self, summand: Tree, index: Tree, low: Tree, high: Tree) -> int:
        """Return a sum of one product; the same sum, shifted or reversed, is written with the same summand.

        With F(m), the sum of this summand up to m, a sum from low to high is F(high) - F(low - 1).
        """
        turned = replaced(summand, index, add(low, high, times(MINUS_ONE, index)))
        values = self.value(summand), self.value(turned)
        start = self._constant_in(low)
        for kind, first in self.summands.get(index, ()):
            shifts = [*SHIFTS]
            if first is not None and start is not None and first - start not in SHIFTS:
                shifts.append(int(first - start))  # both sums start at their first term
            for shift in shifts:
                value = self.value(replaced(kind, index, add(index, rational(shift))))
                if value in values:
                    ends = add(high, rational(shift)), add(low, rational(shift - 1))
                    return self.sum_up_to(kind, index, ends[0]) - self.sum_up_to(
                        kind, index, ends[1]
                    )
        self.summands.setdefault(index, []).append((summand, start))
        below = add(low, MINUS_ONE)
        return self.sum_up_to(summand, index, high) - self.sum_up_to(summand, index, below)

    def _constant_in(self, tree):
        """Return the whole number that a tree is, None if it is none."""
        terms = self.expanded(tree)
        number = Fraction(terms.get((), 0))
        return number if number.denominator == 1 and not terms.keys() - {()} else None

    def sum_up_to(self, summand: Tree, index: Tree, end: Tree) -> int:
        """Return the sum of a summand up to this end; whole numbers added to the end are separate terms."""
        terms = self.expanded(end)
        constant_term = Fraction(terms.pop((), 0))
        if constant_term.denominator != 1 or abs(constant_term) > MOST_SPLIT:
            return self.dependent("Sum", self.value(summand), self.value(end))
        num_terms = constant_term.numerator
        base = add(end, rational(-num_terms))
        total = self.dependent("Sum", self.value(summand), self.value(base)) if terms else 0
        steps = range(1, num_terms + 1) if num_terms > 0 else range(num_terms + 1, 1)
        sign = 1 if num_terms > 0 else -1
        for step in steps:
            position = add(base, rational(step))
            total += sign * self.value(replaced(summand, index, position))
        self.opaque = True
        return total


_FUNCTIONS: dict[str, Callable[..., int]] = {
    head: getattr(Assignment, head.lower()) for head in FUNCTIONS if head != "exp"
}


def _terms(summand, index):
    """The terms of a summand; sums with the index that are factors or squared are multiplied out."""
    if index not in walk(summand):
        return [summand]
    if summand[0] == "Add":
        return [term for part in summand[1:] for term in _terms(part, index)]
    if summand[0] == "Pow" and is_number(summand[2]):
        exponent = fraction_of(summand[2])
        if exponent not in range(2, LARGEST_EXPANDED + 1):
            return [summand]
        parts = [summand[1]] * int(exponent)
    elif summand[0] == "Mul":
        parts = summand[1:]
    else:
        return [summand]
    sums = [_terms(part, index) for part in parts]
    if not 1 < math.prod(map(len, sums)) <= TERMS:
        return [summand]
    return [("Mul", *_flat(factors)) for factors in itertools.product(*sums)]


def _flat(factors):
    """The factors of a product of products."""
    for factor in factors:
        yield from factor[1:] if factor[0] == "Mul" else (factor,)


def _factors(term, index):
    """Return the factors of a term; an exponential of a sum is one factor with the index and one without."""
    for part in term[1:] if term[0] == "Mul" else (term,):
        if part[0] != "exp" or part[1][0] != "Add":
            yield part
            continue
        with_index = [one for one in part[1][1:] if index in walk(one)]
        without = [one for one in part[1][1:] if index not in walk(one)]
        for exponents in (with_index, without):
            if exponents:
                yield ("exp", add(*exponents) if len(exponents) > 1 else exponents[0])


def _whole(number):
    """Return the whole number that a fraction is; Inexact if it is none."""
    if number.denominator != 1:
        raise Inexact
    return int(number)


def prime_powers(number: Tree) -> dict[int, int]:
    """Return {prime: exponent} of a positive fraction for small primes; what is left counts as one prime."""
    powers: dict[int, int] = {}
    for part, sign in ((number[1], 1), (number[2], -1)):
        for prime in range(2, LARGEST_TRIED):
            while part % prime == 0:
                powers[prime] = powers.get(prime, 0) + sign
                part //= prime
        if part > 1:
            powers[part] = sign
    return powers
