"""Equality of two trees, modulo a prime at random assignments.

Every symbol, exponential of a monomial, erf, logarithm and root is an unknown of its own. What holds
here holds wherever both sides are defined.
"""

import functools
import hashlib
import math
import secrets
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from attn_course.proofs.polynomials import (
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
    Tree,
    children,
    fraction_of,
    free_level,
    is_number,
    minus,
    rational,
    replaced,
    walk,
)

PRIME = 2**80 + 18513  # until the first `draw_prime`
SQUARES = (3, 5, 7, 11, 13, 17, 19)  # these, -1 and 2 have square roots modulo every prime drawn
ROOTS = 5040  # an unknown is a power with this exponent, so that its roots are unknowns too
LARGEST_POWER = ROOTS * 10**6  # a larger one may be a multiple of the order of every number
LARGEST_EXPANDED = 12  # power of a sum that is multiplied out
LARGEST_TRIED = 100  # small prime factors of a number are below this
SMALL_PRIMES = math.prod(
    k for k in range(23, 1000) if all(k % m for m in range(2, math.isqrt(k) + 1))
)
ASSIGNMENTS = 2
POSITIVE_HEADS = ("exp", "cosh", "sech", "erfc", "Constant")  # whatever stands below them
EQUAL = "equal"
DIFFERENT = "different"
UNKNOWN = "unknown"


def draw_prime() -> None:
    """Take another prime, which nobody could foresee: its multiples count as zero here.

    It is 1 modulo 8 and a square modulo each of SQUARES, so that by reciprocity these are squares
    modulo it.
    """
    global PRIME
    least = 1
    step = 8
    for prime in SQUARES:
        drawn = secrets.randbelow(prime - 1) + 1
        square = pow(drawn, 2, prime)
        while least % prime != square:
            least += step
        step *= prime
    found = 0
    while math.gcd(found, SMALL_PRIMES) > 1 or not _is_prime(found):
        steps = 2**56 + secrets.randbits(56)
        found = least + step * steps
    PRIME = found
    square_root.cache_clear()


def _is_prime(number):
    """Miller and Rabin's test, with 16 secret witnesses."""
    odd, twos = _odd_part(number - 1)
    for _ in range(16):
        witness = secrets.randbelow(number - 3) + 2
        turned = pow(witness, odd, number)
        turns = [pow(turned, 2**k, number) for k in range(twos)]
        if turned != 1 and number - 1 not in turns:
            return False
    return True


def _odd_part(number):
    """The odd number that is left of `number`, and how often it was halved."""
    twos = 0
    while number % 2 == 0:
        number //= 2
        twos += 1
    return number, twos


class Inexact(ArithmeticError):
    """Algebra has no word for this; numbers must decide."""


def compare(left: Tree, right: Tree, positive: frozenset[str]) -> str:
    """EQUAL if algebra shows that both are the same function, DIFFERENT if it shows that they are not."""
    first = _test(_same_values, left, right, positive)
    if first != UNKNOWN:
        return first
    return _test(_same_exponentials, left, right, positive)


def compare_squares(left: Tree, right: Tree, positive: frozenset[str]) -> str:
    """The same of the squares of both sides."""
    return _test(_same_squares, left, right, positive)


def _test(test, left, right, positive):
    """What `test` says of both sides at all assignments together."""
    assignments = [Assignment(positive) for _ in range(ASSIGNMENTS)]
    found = []
    try:
        for assignment in assignments:
            found.append(test(left, right, assignment))
    except ArithmeticError:
        return UNKNOWN
    if all(found):
        return EQUAL
    if any(assignment.opaque for assignment in assignments):
        return UNKNOWN
    return DIFFERENT


def _same_values(left, right, assignment):
    """Whether both sides are the same number."""
    first = assignment.value(left)
    second = assignment.value(right)
    return first == second


def _same_exponentials(left, right, assignment):
    """exp of both sides: it takes logarithms away, and no two real numbers share one."""
    if not _has_log(left) and not _has_log(right):
        raise Inexact
    difference = minus(left, right)
    terms = assignment.expanded(difference)
    denominators = [factor.denominator for factor in terms.values()]
    whole = math.lcm(*denominators)
    multiple = scaled(terms, whole)
    return assignment.exponential(multiple) == 1


def _has_log(tree):
    """Whether a logarithm stands anywhere in the tree."""
    return any(node[0] == "log" for node in walk(tree))


def _same_squares(left, right, assignment):
    """Whether both sides have the same square."""
    first = assignment.square(left)
    second = assignment.square(right)
    return first == second


def is_positive(tree: Tree, positive: frozenset[str]) -> bool:
    """Whether the form alone shows that the value is above zero."""
    head = tree[0]
    if head in POSITIVE_HEADS:
        return True
    if head == "Symbol":
        return tree[1] in positive
    if head == "Rational":
        return tree[1] > 0
    if head in ("Add", "Mul"):
        return all(is_positive(part, positive) for part in children(tree))
    if head == "Pow":
        return is_positive(tree[1], positive)
    return False


class Assignment:
    """Random numbers modulo the prime for everything that can be chosen."""

    def __init__(self, positive: frozenset[str]):
        self.positive = positive
        self.seed = secrets.token_bytes(16)
        self.known: dict[Tree, int] = {}
        self.opaque = False  # whether some unknowns may depend on one another

    def dependent(self, *key: Any) -> int:
        """An unknown of which algebra does not know all there is to know."""
        self.opaque = True
        return self.unknown(*key)

    def unknown(self, *key: Any) -> int:
        """The same random number for the same key, never 0."""
        text = repr(key).encode()
        mixed = hashlib.blake2b(text, key=self.seed, digest_size=16)
        digest = mixed.digest()
        number = int.from_bytes(digest, "big")
        return number % (PRIME - 1) + 1

    def value(self, tree: Tree) -> int:
        """The number modulo the prime that the tree stands for here."""
        if tree not in self.known:
            found = self._value(tree)
            self.known[tree] = found % PRIME
        return self.known[tree]

    def values(self, trees: Iterable[Tree]) -> Iterable[int]:
        """The numbers of several trees, one after the other."""
        return map(self.value, trees)

    def _value(self, tree):
        """The number before it is reduced."""
        head = tree[0]
        if head == "Rational":
            below = inverse(tree[2])
            return tree[1] * below
        if head in ("Symbol", "Bound"):
            return self.with_roots(tree)
        if head == "Constant":
            return self.unknown(tree)
        if head == "Add":
            values = self.values(tree[1:])
            return sum(values)
        if head == "Mul":
            values = self.values(tree[1:])
            return product(values)
        if head == "Pow":
            return self.power(*tree[1:])
        if head == "exp":
            return self.growth(tree[1])
        if head in BINDING:
            return self.repeated(*tree)
        if head == "Indexed":
            index = self.value(tree[2])
            return self.with_roots(head, tree[1], index)
        function = _FUNCTIONS[head]
        return function(self, *tree[1:])

    def with_roots(self, *key: Any) -> int:
        """An unknown whose roots are unknowns too."""
        least = self.unknown(*key)
        return pow(least, ROOTS, PRIME)

    def power(self, base: Tree, exponent: Tree) -> int:
        """A power; one with an unknown exponent is an exponential."""
        if not is_number(exponent):
            logarithm = ("log", base)
            terms = self.expanded(("Mul", exponent, logarithm))
            return self.exponential(terms)
        wanted = fraction_of(exponent)
        whole = math.floor(wanted)
        part = wanted - whole
        value = self.value(base)
        found = power(value, whole)
        if not part:
            return found
        return found * self.root(base, part)

    def square(self, tree: Tree) -> int:
        """Of a product the squares of its factors: a square root loses its root."""
        if tree[0] == "Mul":
            squares = map(self.square, tree[1:])
            return product(squares)
        if tree[0] == "Pow" and is_number(tree[2]):
            doubled = 2 * fraction_of(tree[2])
            exponent = rational(doubled)
            found = self.power(tree[1], exponent)
            return found % PRIME
        value = self.value(tree)
        return power(value, 2)

    def root(self, base: Tree, exponent: Fraction) -> int:
        """A power between 0 and 1; positive factors may leave the root one by one."""
        head = base[0]
        if head == "Symbol":
            least = self.unknown(base)
            wanted = _whole(ROOTS * exponent)
            return power(least, wanted)
        if head == "Rational" and base[1] > 0:
            return self.root_of_number(base, exponent)
        if head == "exp":
            terms = self.expanded(base[1])
            share = scaled(terms, exponent)
            return self.exponential(share)
        is_power = head == "Pow" and is_number(base[2])
        if is_power and is_positive(base[1], self.positive):
            inner = fraction_of(base[2])
            combined = rational(inner * exponent)
            return self.power(base[1], combined)
        if head == "Mul":
            return self.root_of_product(base, exponent)
        value = self.value(base)
        return self.opaque_root(value, exponent)

    def root_of_number(self, base: Tree, exponent: Fraction) -> int:
        """The root of a positive fraction, prime by prime."""
        found = 1
        for prime, times in prime_powers(base).items():
            root = self.root_of_prime(prime, times * exponent)
            found = found * root % PRIME
        return found

    def root_of_product(self, base: Tree, exponent: Fraction) -> int:
        """The roots of the positive factors, and one root of all others."""
        outside, inside = self.split(base)
        wanted = rational(exponent)
        roots = [self.power(part, wanted) for part in outside]
        found = product(roots)
        if not inside:
            return found
        rest = product(self.values(inside))
        return found * self.opaque_root(rest, exponent)

    def split(self, factors: Tree) -> tuple[list[Tree], list[Tree]]:
        """The factors that are positive by their form, and the others."""
        outside = []
        inside = []
        for part in factors[1:]:
            if is_positive(part, self.positive):
                outside.append(part)
            else:
                inside.append(part)
        return outside, inside

    def opaque_root(self, value: int, exponent: Fraction) -> int:
        """A power of the root of a number of which only the number is known."""
        step = self.dependent(
            "root",
            exponent.denominator,
            value % PRIME,
        )
        return power(step, exponent.numerator)

    def root_of_prime(self, prime: int, exponent: Fraction) -> int:
        """A power of a prime; what division leaves of a larger number may be no prime."""
        whole = math.floor(exponent)
        part = exponent - whole
        if not part:
            return power(prime, whole)
        outside = power(prime, whole)
        is_small = prime < LARGEST_TRIED**2
        if is_small and part == Fraction(1, 2):
            return outside * square_root(prime)
        return outside * self.opaque_root(prime, part)

    def expanded(self, tree: Tree) -> Polynomial:
        """A sum of monomials, {((generator, exponent), ...): factor}."""
        head = tree[0]
        if head == "Rational":
            number = fraction_of(tree)
            return constant(number)
        if head == "Add":
            sums = map(self.expanded, tree[1:])
            return added(*sums)
        if head == "Mul":
            parts = map(self.expanded, tree[1:])
            return functools.reduce(multiplied, parts)
        if head == "Pow" and is_number(tree[2]):
            exponent = fraction_of(tree[2])
            return self.expanded_power(tree, exponent)
        if head == "log":
            return self.expanded_log(tree[1])
        name = self.generator(tree)
        return monomial(name)

    def expanded_power(self, tree: Tree, exponent: Fraction) -> Polynomial:
        """A power multiplied out, or that of a single monomial."""
        base = self.expanded(tree[1])
        is_whole = exponent.denominator == 1
        if is_whole and 0 < exponent <= LARGEST_EXPANDED:
            repeated = [base] * int(exponent)
            return functools.reduce(multiplied, repeated)
        key = _single_monomial(base)
        may_leave = is_whole or is_positive(tree[1], self.positive)
        if key and may_leave:
            raised = []
            for name, k in key:
                raised.append((name, k * exponent))
            wanted = ordered(raised)
            return {wanted: Fraction(1)}
        own = self.generator(tree)
        return monomial(own)

    def expanded_log(self, argument: Tree) -> Polynomial:
        """A logarithm as a generator of its own; that of 1 is nothing."""
        value = self.value(argument)
        if value == 1:
            return {}
        return monomial(("log", value))

    def generator(self, tree: Tree) -> tuple[str, Any]:
        """What stands for a part of an exponent: equal parts have equal names."""
        if tree[0] in ("Symbol", "Bound"):
            return "symbol", tree
        return "value", self.value(tree)

    def exponential(self, terms: Polynomial, kind: str = "real") -> int:
        """exp of a sum of monomials; that of a whole multiple of a logarithm is a power."""
        found = 1
        for key, factor in terms.items():
            is_whole = factor.denominator == 1
            if is_whole and kind == "real" and is_one(key, "log"):
                generator, _ = key[0]
                found *= power(generator[1], int(factor))
                continue
            self.opaque |= any(name[0] != "symbol" for name, _ in key)
            least = self.unknown(kind, key)
            wanted = _whole(ROOTS * factor)
            found *= power(least, wanted)
        return found % PRIME

    def log(self, argument: Tree) -> int:
        """A logarithm; positive factors may leave it one by one."""
        head = argument[0]
        if head == "exp":
            return self.value(argument[1])
        if head == "Rational" and argument[1] > 0:
            return self.log_of_number(argument)
        if head == "Pow" and is_positive(argument[1], self.positive):
            exponent = self.value(argument[2])
            return exponent * self.log(argument[1])
        if head == "Mul":
            return self.log_of_product(argument)
        value = self.value(argument)
        return self.opaque_log(value)

    def log_of_number(self, argument: Tree) -> int:
        """The logarithm of a positive fraction, prime by prime."""
        found = 0
        for prime, times in prime_powers(argument).items():
            found += times * self.dependent("log", prime)
        return found

    def log_of_product(self, argument: Tree) -> int:
        """The logarithms of the positive factors, and one of all others."""
        outside, inside = self.split(argument)
        logarithms = map(self.log, outside)
        found = sum(logarithms)
        if not inside:
            return found
        rest = product(self.values(inside))
        return found + self.opaque_log(rest)

    def opaque_log(self, value: int) -> int:
        """The logarithm of a number of which only the number is known."""
        reduced = value % PRIME
        if reduced == 1:
            return 0
        return self.dependent("log", reduced)

    def turn(self, argument: Tree) -> int:
        """What stands for exp(i x)."""
        terms = self.expanded(argument)
        return self.exponential(terms, kind="turn")

    def growth(self, argument: Tree) -> int:
        """What stands for exp(x)."""
        terms = self.expanded(argument)
        return self.exponential(terms)

    def cosine(self, argument: Tree) -> int:
        up = self.turn(argument)
        total = up + inverse(up)
        return total * inverse(2)

    def sine(self, argument: Tree) -> int:
        up = self.turn(argument)
        difference = up - inverse(up)
        double = 2 * square_root(-1)
        return difference * inverse(double)

    def tangent(self, argument: Tree) -> int:
        above = self.sine(argument)
        below = self.cosine(argument)
        return above * inverse(below)

    def hyperbolic_cosine(self, argument: Tree) -> int:
        up = self.growth(argument)
        total = up + inverse(up)
        return total * inverse(2)

    def hyperbolic_sine(self, argument: Tree) -> int:
        up = self.growth(argument)
        difference = up - inverse(up)
        return difference * inverse(2)

    def hyperbolic_tangent(self, argument: Tree) -> int:
        above = self.hyperbolic_sine(argument)
        below = self.hyperbolic_cosine(argument)
        return above * inverse(below)

    def hyperbolic_cotangent(self, argument: Tree) -> int:
        above = self.hyperbolic_cosine(argument)
        below = self.hyperbolic_sine(argument)
        return above * inverse(below)

    def hyperbolic_secant(self, argument: Tree) -> int:
        below = self.hyperbolic_cosine(argument)
        return inverse(below)

    def hyperbolic_cosecant(self, argument: Tree) -> int:
        below = self.hyperbolic_sine(argument)
        return inverse(below)

    def erf(self, argument: Tree) -> int:
        """Odd: of the two signs of its argument the smaller number stands for both."""
        value = self.value(argument)
        if not value:
            return 0
        opposite = -value % PRIME
        if value <= opposite:
            return self.unknown("erf", value)
        return -self.unknown("erf", opposite)

    def erfc(self, argument: Tree) -> int:
        """What erf leaves of 1."""
        return 1 - self.erf(argument)

    def absolute(self, argument: Tree) -> int:
        """Even: of the two signs of its argument the smaller number stands for both."""
        value = self.value(argument)
        if not value or is_positive(argument, self.positive):
            return value
        opposite = -value % PRIME
        return self.dependent("Abs", min(value, opposite))

    def extreme(self, head: str, *arguments: Tree) -> int:
        """Max or Min, whose arguments have no order and count once."""
        different = set(self.values(arguments))
        return self.dependent(head, sorted(different))

    def repeated(self, head: str, level: int, low: Tree, high: Tree, body: Tree) -> int:
        """A sum is linear, and one without its index is counted."""
        first = self.value(low)
        last = self.value(high)
        key = (head, first, last)
        if head == "Product":
            return self.dependent(*key, self.value(body))
        count = last - first + 1
        index = ("Bound", level)
        found = 0
        for term in _parts(body, "Add"):
            inside, outside = _by_index(_parts(term, "Mul"), index)
            factor = product(self.values(outside))
            if inside:
                rest = renamed(("Mul", *inside), index)
                value = self.value(rest)
                found += factor * self.dependent(*key, value)
            else:
                found += factor * count
        return found


def _parts(tree, head):
    """The terms of a sum or the factors of a product; anything else is its own only part."""
    if tree[0] == head:
        return tree[1:]
    return (tree,)


def _by_index(parts, index):
    """The parts in which the index stands, and the others."""
    inside = []
    outside = []
    for part in parts:
        if index in set(walk(part)):
            inside.append(part)
        else:
            outside.append(part)
    return inside, outside


def _single_monomial(terms):
    """The only monomial of a sum, where it has the factor 1 and is no number."""
    if len(terms) != 1:
        return None
    ((key, factor),) = terms.items()
    if factor != 1:
        return None
    return key


_FUNCTIONS: dict[str, Callable[..., int]] = {
    "log": Assignment.log,
    "sin": Assignment.sine,
    "cos": Assignment.cosine,
    "tan": Assignment.tangent,
    "sinh": Assignment.hyperbolic_sine,
    "cosh": Assignment.hyperbolic_cosine,
    "tanh": Assignment.hyperbolic_tangent,
    "coth": Assignment.hyperbolic_cotangent,
    "sech": Assignment.hyperbolic_secant,
    "csch": Assignment.hyperbolic_cosecant,
    "erf": Assignment.erf,
    "erfc": Assignment.erfc,
    "Abs": Assignment.absolute,
    "Max": lambda self, *parts: self.extreme("Max", *parts),
    "Min": lambda self, *parts: self.extreme("Min", *parts),
}


def renamed(tree: Tree, index: Tree) -> Tree:
    """The tree with the variable of the sum around it named after what the tree itself holds."""
    own = ("Bound", free_level(tree))
    return replaced(tree, index, own)


def inverse(number: int) -> int:
    """What times the number is 1 modulo the prime."""
    if number % PRIME == 0:
        raise ZeroDivisionError
    return pow(number, -1, PRIME)


def power(number: int, exponent: int) -> int:
    """A whole power modulo the prime, of either sign."""
    if abs(exponent) > LARGEST_POWER:
        raise Inexact
    found = pow(number, abs(exponent), PRIME)
    if exponent < 0:
        return inverse(found)
    return found


def product(numbers: Iterable[int]) -> int:
    """All numbers multiplied modulo the prime."""
    found = 1
    for number in numbers:
        found = found * number % PRIME
    return found


def _whole(number):
    """The whole number that a fraction is; Inexact if it is none."""
    if number.denominator != 1:
        raise Inexact
    return int(number)


def factors(number: int) -> dict[int, int]:
    """Small prime factors with their exponents; what is left counts as one prime."""
    found: dict[int, int] = {}
    for prime in range(2, LARGEST_TRIED):
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
    if number > 1:
        found[number] = 1
    return found


def prime_powers(number: Tree) -> dict[int, int]:
    """Prime factors of a positive fraction, those below with negative exponents."""
    found = factors(number[1])
    below = factors(number[2])
    for prime, exponent in below.items():
        found[prime] = -exponent
    return found


@functools.cache
def square_root(number: int) -> int:
    """A root modulo the prime by Tonelli and Shanks; Inexact where there is none."""
    if not _has_root(number):
        raise Inexact
    odd, twos = _odd_part(PRIME - 1)
    turn = pow(_without_root(), odd, PRIME)
    left = pow(number, odd, PRIME)
    root = pow(number, (odd + 1) // 2, PRIME)
    while left != 1:
        order = _squarings_to_one(left, twos)
        halvings = twos - order - 1
        step = pow(turn, 2**halvings, PRIME)
        twos = order
        turn = step * step % PRIME
        root = root * step % PRIME
        left = left * turn % PRIME
    return root


def _squarings_to_one(number, most):
    """How often the number is squared until it is 1, less than `most` times."""
    orders = range(1, most)
    return next(k for k in orders if pow(number, 2**k, PRIME) == 1)


def _has_root(number):
    """Whether the number is a square modulo the prime, by Euler's criterion."""
    half = (PRIME - 1) // 2
    return pow(number, half, PRIME) == 1


def _without_root():
    """The smallest number that is no square modulo the prime."""
    return next(number for number in range(2, 1000) if not _has_root(number))
