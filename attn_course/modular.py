"""Equality of two trees by algebra: both are worked out modulo a prime at random assignments.

Every symbol, exponential of a monomial, erf, logarithm and root is an unknown of its own. What holds
here holds wherever both sides are defined. Knows nothing of precision, chains or questions.
"""

import functools
import hashlib
import math
import secrets
from collections.abc import Iterable
from fractions import Fraction

from attn_course.polynomials import added, multiplied, ordered, scaled
from attn_course.trees import BINDING, Tree, children, fraction_of, is_number, minus, rational, walk

PRIME = 2**80 + 18513  # until the first `draw_prime`
SQUARES = (3, 5, 7, 11, 13, 17, 19)  # these, -1 and 2 have square roots modulo every prime drawn
ROOTS = 5040  # an unknown is a power with this exponent, so that its roots are unknowns too
LARGEST_POWER = ROOTS * 10**6  # a larger one may be a multiple of the order of every number
LARGEST_TRIED = 100  # small prime factors of a number are below this
ASSIGNMENTS = 2
EQUAL = "equal"
DIFFERENT = "different"
UNKNOWN = "unknown"


def draw_prime() -> None:
    """Take another prime, which nobody could foresee: its multiples count as zero here.

    It is 1 modulo 8 and a square modulo each of SQUARES, so that by reciprocity these are squares
    modulo it.
    """
    global PRIME
    step = 8 * math.prod(SQUARES)
    while True:
        found = 1
        modulus = 8
        for prime in SQUARES:
            square = pow(secrets.randbelow(prime - 1) + 1, 2, prime)
            while found % prime != square:
                found += modulus
            modulus *= prime
        found += step * (2**56 + secrets.randbits(56))
        if _is_prime(found):
            break
    PRIME = found
    square_root.cache_clear()


def _is_prime(number):
    """Miller and Rabin's test, with 16 secret witnesses."""
    odd = number - 1
    twos = 0
    while odd % 2 == 0:
        odd //= 2
        twos += 1
    for _ in range(16):
        power_of_witness = pow(secrets.randbelow(number - 3) + 2, odd, number)
        turns = [pow(power_of_witness, 2**k, number) for k in range(twos)]
        if power_of_witness != 1 and number - 1 not in turns:
            return False
    return True


class Inexact(ArithmeticError):
    """Algebra has no word for this; numbers must decide."""


def compare(left: Tree, right: Tree, positive: frozenset[str]) -> str:
    """EQUAL if algebra shows that both are the same function, DIFFERENT if it shows that they are not."""
    first = _test(_same_values, left, right, positive)
    return first if first != UNKNOWN else _test(_same_exponentials, left, right, positive)


def compare_squares(left: Tree, right: Tree, positive: frozenset[str]) -> str:
    """The same of the squares of both sides."""
    return _test(_same_squares, left, right, positive)


def _test(test, left, right, positive):
    assignments = [Assignment(positive) for _ in range(ASSIGNMENTS)]
    try:
        found = [test(left, right, assignment) for assignment in assignments]
    except ArithmeticError:
        return UNKNOWN
    if all(found):
        return EQUAL
    return UNKNOWN if any(assignment.opaque for assignment in assignments) else DIFFERENT


def _same_values(left, right, assignment):
    return assignment.value(left) == assignment.value(right)


def _same_exponentials(left, right, assignment):
    """exp of both sides: it takes logarithms away, and no two real numbers share one."""
    if not any(node[0] == "log" for side in (left, right) for node in walk(side)):
        raise Inexact
    terms = assignment.expanded(minus(left, right))
    whole = math.lcm(*(factor.denominator for factor in terms.values()))
    return assignment.exponential(scaled(terms, whole)) == 1


def _same_squares(left, right, assignment):
    return assignment.square(left) == assignment.square(right)


def is_positive(tree: Tree, positive: frozenset[str]) -> bool:
    """Whether the form alone shows that the value is above zero."""
    head = tree[0]
    if head in ("exp", "cosh", "sech", "erfc") or tree[0] == "Constant":
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

    def __init__(self, positive):
        self.positive = positive
        self.seed = secrets.token_bytes(16)
        self.known = {}
        self.opaque = False  # whether some unknowns may depend on one another

    def dependent(self, *key):
        """An unknown of which algebra does not know all there is to know."""
        self.opaque = True
        return self.unknown(*key)

    def unknown(self, *key):
        """The same random number for the same key, never 0."""
        text = repr(key).encode()
        digest = hashlib.blake2b(text, key=self.seed, digest_size=16).digest()
        return int.from_bytes(digest, "big") % (PRIME - 1) + 1

    def value(self, tree):
        if tree not in self.known:
            self.known[tree] = self._value(tree) % PRIME
        return self.known[tree]

    def _value(self, tree):
        head = tree[0]
        if head == "Rational":
            return tree[1] * inverse(tree[2])
        if head in ("Symbol", "Bound"):
            return pow(self.unknown(tree), ROOTS, PRIME)
        if head == "Constant":
            return self.unknown(tree)
        if head == "Add":
            return sum(map(self.value, tree[1:]))
        if head == "Mul":
            return product(map(self.value, tree[1:]))
        if head == "Pow":
            return self.power(*tree[1:])
        if head == "exp":
            return self.exponential(self.expanded(tree[1]))
        if head in BINDING:
            return self.repeated(*tree)
        if head == "Indexed":
            return pow(self.unknown("Indexed", tree[1], self.value(tree[2])), ROOTS, PRIME)
        return _FUNCTIONS[head](self, *tree[1:])

    def power(self, base, exponent):
        if not is_number(exponent):
            return self.exponential(self.expanded(("Mul", exponent, ("log", base))))
        wanted = fraction_of(exponent)
        whole = wanted.numerator // wanted.denominator
        part = wanted - whole
        found = power(self.value(base), whole)
        return found * self.root(base, part) if part else found

    def square(self, tree):
        """Of a product the squares of its factors: a square root loses its root."""
        if tree[0] == "Mul":
            return product(map(self.square, tree[1:]))
        if tree[0] == "Pow" and is_number(tree[2]):
            exponent = rational(2 * fraction_of(tree[2]))
            return self.power(tree[1], exponent) % PRIME
        return power(self.value(tree), 2)

    def root(self, base, exponent):
        """A power between 0 and 1; positive factors may leave the root one by one."""
        head = base[0]
        if head == "Symbol":
            return power(self.unknown(base), _whole(ROOTS * exponent))
        if head == "Rational" and base[1] > 0:
            powers = prime_powers(base)
            return product(self.root_of_prime(p, k * exponent) for p, k in powers.items())
        if head == "exp":
            return self.exponential(scaled(self.expanded(base[1]), exponent))
        if head == "Pow" and is_number(base[2]) and is_positive(base[1], self.positive):
            whole = fraction_of(base[2]) * exponent
            return self.power(base[1], rational(whole))
        if head == "Mul":
            return self.root_of_product(base, exponent)
        return self.opaque_root(self.value(base), exponent)

    def root_of_product(self, base, exponent):
        outside, inside = self.split(base)
        wanted = rational(exponent)
        found = product(self.power(part, wanted) for part in outside)
        if not inside:
            return found
        return found * self.opaque_root(product(map(self.value, inside)), exponent)

    def split(self, factors):
        """The factors that are positive by their form, and the others."""
        outside = []
        inside = []
        for part in factors[1:]:
            place = outside if is_positive(part, self.positive) else inside
            place.append(part)
        return outside, inside

    def opaque_root(self, value, exponent):
        step = self.dependent("root", exponent.denominator, value % PRIME)
        return power(step, exponent.numerator)

    def root_of_prime(self, prime, exponent):
        whole = exponent.numerator // exponent.denominator
        part = exponent - whole
        if not part:
            return power(prime, whole)
        is_small = (
            prime < LARGEST_TRIED**2
        )  # what division leaves of a larger number may be no prime
        is_square_root = part == Fraction(1, 2) and is_small
        root = square_root(prime) if is_square_root else self.opaque_root(prime, part)
        return power(prime, whole) * root

    def expanded(self, tree):
        """A sum of monomials, {((generator, exponent), ...): factor}."""
        head = tree[0]
        if head == "Rational":
            return {(): fraction_of(tree)} if tree[1] else {}
        if head == "Add":
            return added(*map(self.expanded, tree[1:]))
        if head == "Mul":
            return functools.reduce(multiplied, map(self.expanded, tree[1:]))
        if head == "Pow" and is_number(tree[2]):
            return self.expanded_power(tree, fraction_of(tree[2]))
        if head == "log":
            return self.expanded_log(tree[1])
        return {((self.generator(tree), Fraction(1)),): Fraction(1)}

    def expanded_power(self, tree, exponent):
        base = self.expanded(tree[1])
        if exponent.denominator == 1 and 0 < exponent <= 12:
            return functools.reduce(multiplied, [base] * int(exponent))
        if len(base) == 1 and base.keys() != {()}:
            ((key, factor),) = base.items()
            if factor == 1 and (exponent.denominator == 1 or is_positive(tree[1], self.positive)):
                return {ordered((name, k * exponent) for name, k in key): Fraction(1)}
        return {((self.generator(tree), Fraction(1)),): Fraction(1)}

    def expanded_log(self, argument):
        value = self.value(argument)
        if value == 1:
            return {}
        return {((("log", value), Fraction(1)),): Fraction(1)}

    def generator(self, tree):
        """What stands for a part of an exponent: equal parts have equal names."""
        return ("symbol", tree) if tree[0] in ("Symbol", "Bound") else ("value", self.value(tree))

    def exponential(self, terms, kind="real"):
        """exp of a sum of monomials; that of a whole multiple of a logarithm is a power."""
        found = 1
        for key, factor in terms.items():
            if _is_log(key) and kind == "real" and factor.denominator == 1:
                found *= power(key[0][0][1], int(factor))
            else:
                self.opaque |= any(name[0] != "symbol" for name, _ in key)
                found *= power(self.unknown(kind, key), _whole(ROOTS * factor))
        return found % PRIME

    def log(self, argument):
        head = argument[0]
        if head == "exp":
            return self.value(argument[1])
        if head == "Rational" and argument[1] > 0:
            powers = prime_powers(argument)
            return sum(k * self.dependent("log", p) for p, k in powers.items())
        if head == "Pow" and is_positive(argument[1], self.positive):
            return self.value(argument[2]) * self.log(argument[1])
        if head == "Mul":
            outside, inside = self.split(argument)
            found = sum(map(self.log, outside))
            if not inside:
                return found
            return found + self.opaque_log(product(map(self.value, inside)))
        return self.opaque_log(self.value(argument))

    def opaque_log(self, value):
        return self.dependent("log", value % PRIME) if value % PRIME != 1 else 0

    def cosine(self, argument):
        up = self.exponential(self.expanded(argument), kind="turn")
        return (up + inverse(up)) * inverse(2)

    def sine(self, argument):
        up = self.exponential(self.expanded(argument), kind="turn")
        return (up - inverse(up)) * inverse(2 * square_root(-1))

    def hyperbolic_cosine(self, argument):
        up = self.exponential(self.expanded(argument))
        return (up + inverse(up)) * inverse(2)

    def hyperbolic_sine(self, argument):
        up = self.exponential(self.expanded(argument))
        return (up - inverse(up)) * inverse(2)

    def erf(self, argument):
        """Odd: of the two signs of its argument the smaller number stands for both."""
        value = self.value(argument)
        opposite = -value % PRIME
        sign = 1 if value <= opposite else -1
        return sign * self.unknown("erf", min(value, opposite)) if value else 0

    def absolute(self, argument):
        value = self.value(argument)
        if is_positive(argument, self.positive) or not value:
            return value
        return self.dependent("Abs", min(value, -value % PRIME))

    def extreme(self, head, *arguments):
        return self.dependent(head, sorted(set(map(self.value, arguments))))

    def repeated(self, head, level, low, high, body):
        """A sum is linear, and one without its index is counted."""
        count = self.value(high) - self.value(low) + 1
        index = ("Bound", level)
        if head == "Product":
            return self.dependent(head, self.value(low), self.value(high), self.value(body))
        found = 0
        for term in body[1:] if body[0] == "Add" else (body,):
            parts = term[1:] if term[0] == "Mul" else (term,)
            inside = [part for part in parts if index in set(walk(part))]
            outside = product(self.value(part) for part in parts if part not in inside)
            if inside:
                names = (head, self.value(low), self.value(high))
                term = renamed(("Mul", *inside), index)
                found += outside * self.dependent(*names, self.value(term))
            else:
                found += outside * count
        return found


_FUNCTIONS = {
    "log": Assignment.log,
    "sin": Assignment.sine,
    "cos": Assignment.cosine,
    "tan": lambda self, x: self.sine(x) * inverse(self.cosine(x)),
    "sinh": Assignment.hyperbolic_sine,
    "cosh": Assignment.hyperbolic_cosine,
    "tanh": lambda self, x: self.hyperbolic_sine(x) * inverse(self.hyperbolic_cosine(x)),
    "coth": lambda self, x: self.hyperbolic_cosine(x) * inverse(self.hyperbolic_sine(x)),
    "sech": lambda self, x: inverse(self.hyperbolic_cosine(x)),
    "csch": lambda self, x: inverse(self.hyperbolic_sine(x)),
    "erf": Assignment.erf,
    "erfc": lambda self, x: 1 - self.erf(x),
    "Abs": Assignment.absolute,
    "Max": lambda self, *parts: self.extreme("Max", *parts),
    "Min": lambda self, *parts: self.extreme("Min", *parts),
}


def renamed(tree: Tree, index: Tree) -> Tree:
    """The tree with the variable of the sum around it named after what the tree itself holds."""
    inner = max((node[1] for node in walk(tree) if node[0] in BINDING), default=0)
    return _replaced(tree, index, ("Bound", inner + 1))


def _replaced(tree, old, new):
    if tree == old:
        return new
    parts = [_replaced(part, old, new) if isinstance(part, tuple) else part for part in tree[1:]]
    return (tree[0], *parts)


def inverse(number: int) -> int:
    if number % PRIME == 0:
        raise ZeroDivisionError
    return pow(number, -1, PRIME)


def power(number: int, exponent: int) -> int:
    if abs(exponent) > LARGEST_POWER:
        raise Inexact
    return inverse(pow(number, -exponent, PRIME)) if exponent < 0 else pow(number, exponent, PRIME)


def product(numbers: Iterable[int]) -> int:
    found = 1
    for number in numbers:
        found = found * number % PRIME
    return found


def _whole(number):
    if number.denominator != 1:
        raise Inexact
    return int(number)


def _is_log(key):
    return len(key) == 1 and key[0][0][0] == "log" and key[0][1] == 1


def factors(number: int) -> dict[int, int]:
    """Small prime factors with their exponents; what is left counts as one prime."""
    found = {}
    for prime in range(2, LARGEST_TRIED):
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
    return found | ({number: 1} if number > 1 else {})


def prime_powers(number: Tree) -> dict[int, int]:
    """Prime factors of a positive fraction, those below with negative exponents."""
    below = factors(number[2])
    return factors(number[1]) | {prime: -exponent for prime, exponent in below.items()}


@functools.cache
def square_root(number: int) -> int:
    """A root modulo the prime by Tonelli and Shanks; Inexact where there is none."""
    if not _has_root(number):
        raise Inexact
    odd = PRIME - 1
    twos = 0
    while odd % 2 == 0:
        odd //= 2
        twos += 1
    turn = pow(_without_root(), odd, PRIME)
    left = pow(number, odd, PRIME)
    root = pow(number, (odd + 1) // 2, PRIME)
    while left != 1:
        order = next(k for k in range(1, twos) if pow(left, 2**k, PRIME) == 1)
        step = pow(turn, 2 ** (twos - order - 1), PRIME)
        twos = order
        turn = step * step % PRIME
        root = root * step % PRIME
        left = left * turn % PRIME
    return root


def _has_root(number):
    return pow(number, (PRIME - 1) // 2, PRIME) == 1


def _without_root():
    """The smallest number that is no square modulo the prime."""
    return next(number for number in range(2, 1000) if not _has_root(number))
