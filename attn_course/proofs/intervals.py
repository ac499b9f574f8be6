"""Values of a tree at a point, each with a bound on its error (ball arithmetic on mpmath).

A ball is (middle, radius). A tree is compiled to a flat list of operations once; an evaluator of fixed
precision runs it.
"""

import functools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

from attn_course.proofs.trees import BINDING, FUNCTIONS, SEVERAL, Tree, children, walk

STEPS = 20_000  # operations of one evaluation
CHAIN_STEPS = 40_000  # operations on all lines of a chain
LARGEST = 40  # bits before the point of the argument of a function
LARGEST_OF_ERF = 12  # the same of the error function

Ball = tuple  # (middle, radius)


class NoValue(ArithmeticError):
    """There is no real number here, at any precision. The message is a clause that says why, or ""."""


class Unclear(ArithmeticError):
    """This precision does not decide."""


class TooLong(ArithmeticError):
    """The value would take too many operations or digits."""


class Exhausted(ArithmeticError):
    """The chain takes too many operations in all."""


class Work:
    """Counts operations: those of one evaluation, and those of a whole chain."""

    def __init__(self, chain: int = CHAIN_STEPS):
        self.chain = chain
        self.begin()

    def begin(self) -> "Work":
        """Begin another evaluation of the same chain."""
        self.here = STEPS
        return self

    def step(self) -> None:
        """Count one more operation; raise Exhausted or TooLong if none is left."""
        self.here -= 1
        self.chain -= 1
        if self.chain < 0:
            raise Exhausted
        if self.here < 0:
            raise TooLong


def context(bits: int) -> Any:
    """Return mpmath at a precision that nobody changes."""
    made = mpmath.MPContext()
    made.prec = bits
    return made


@functools.lru_cache(maxsize=512)  # a class hands in the same few expressions again and again
def program(tree: Tree) -> list[tuple]:
    """Return (head, details, slots of the arguments) for each different part of the tree, the whole last."""
    places: dict[Tree, int] = {}
    code: list[tuple] = []

    def place(node: Tree) -> int:
        if node in places:
            return places[node]
        head = node[0]
        below = children(node)
        details = tuple(part for part in node[1:] if not isinstance(part, tuple))
        if head in BINDING:  # both ends are arguments; the body has a program of its own
            _, level, low, high, body = node
            below = low, high
            details = level, program(body), ("Bound", level) in walk(body)
        slots = tuple(map(place, below))
        code.append((head, details, slots))
        places[node] = len(code) - 1
        return places[node]

    place(tree)
    return code


@functools.lru_cache(maxsize=4096)
def _entry(seed):
    """Return a number of moderate size, drawn from a text."""
    return Fraction(random.Random(seed).randint(-3_000_000, 3_000_000), 10**6)


class Evaluator:
    """Runs programs in one context at one point: symbol -> ball."""

    def __init__(self, mp: Any, point: dict, work: Work | None = None):
        self.mp = mp
        self.point = point
        self.work = work or Work()

    def value(self, tree: Tree) -> Ball:
        return self.run(program(tree))

    def run(self, code: list[tuple]) -> Ball:
        """Return the ball of the last line of a program."""
        balls: list[Ball] = []
        for head, details, slots in code:
            self.work.step()
            arguments = [balls[slot] for slot in slots]
            balls.append(self.operate(head, details, arguments))
        return balls[-1]

    def operate(self, head: str, details: tuple, arguments: list[Ball]) -> Ball:
        """Return the ball of one line of a program."""
        if head in ("Symbol", "Bound"):
            return self.point[details[0]]
        if head == "Rational":
            return self.exact(Fraction(*details))
        if head == "Constant":
            return self.rounded(self.mp.pi * 1, 0)
        if head == "Indexed":
            return self.exact(self.entry(details[0], arguments[0]))
        if head in BINDING:
            return self.repeat(head, *details, *arguments)
        return _OPERATIONS[head](self, *arguments)

    def exact(self, fraction: Fraction) -> Ball:
        """Return a fraction; a whole number that fits has no radius."""
        above = fraction.numerator
        below = fraction.denominator
        middle = self.mp.mpf(above) / below
        if below == 1 and abs(above) < 1 << self.mp.prec:
            return middle, self.mp.zero
        return self.rounded(middle, 0)

    def rounded(self, middle: Any, radius: Any) -> Ball:
        """Return a ball whose middle was rounded a few times on the way."""
        return middle, radius + abs(middle) * self.mp.eps * 4

    def limit_size(self, ball: Ball, largest: int = LARGEST) -> None:
        """Raise TooLong if an argument is too large for a function."""
        if self.bits(ball) > largest:
            raise TooLong

    def bits(self, ball: Ball) -> Any:
        """Return the bits before the point of the largest number of a ball."""
        middle, radius = ball
        return self.mp.mag(abs(middle) + radius)

    def is_exact(self, middle: Any, radius: Any) -> bool:
        """Return True for a whole number that is short enough not to be rounded: no other has radius 0."""
        return not radius and self.mp.mag(middle) < self.mp.prec

    def is_whole(self, ball: Ball) -> bool:
        """Return True if the ball is one whole number."""
        middle, radius = ball
        return not radius and self.mp.isint(middle)

    def add(self, *balls: Ball) -> Ball:
        middle = self.mp.fsum([ball[0] for ball in balls])
        radius = self.mp.fsum([ball[1] for ball in balls])
        if self.is_exact(middle, radius):
            return middle, radius
        return self.rounded(middle, radius)

    def mul(self, *balls: Ball) -> Ball:
        return functools.reduce(self.times, balls)

    def times(self, left: Ball, right: Ball) -> Ball:
        a, ra = left
        b, rb = right
        middle = a * b
        radius = abs(a) * rb + abs(b) * ra + ra * rb
        if not ra and not rb and self.is_exact(middle, radius):
            return middle, radius
        return self.rounded(middle, radius)

    def inverse(self, ball: Ball) -> Ball:
        """Return 1 divided by a ball that does not contain 0."""
        a, ra = ball
        if a == 0 and ra == 0:
            raise NoValue
        size = abs(a)
        if size <= ra:
            raise Unclear
        return self.rounded(1 / a, ra / (size * (size - ra)))

    def pow(self, base: Ball, exponent: Ball) -> Ball:
        """Return a real power; near 0 it is a ball around 0."""
        e, re = exponent
        if re == 0 and self.mp.isint(e):
            return self.whole_power(base, int(e))
        self.limit_size(exponent)
        a, ra = base
        is_positive = e > re
        if a == 0 and ra == 0 and is_positive:
            return base
        size = abs(a)
        if size <= ra and is_positive:
            return self.mp.zero, (size + ra) ** (e - re)
        return self.exp(self.times(exponent, self.log(base)))

    def whole_power(self, base: Ball, exponent: int) -> Ball:
        """Return a power with a whole exponent of either sign."""
        if abs(exponent) > 1 << LARGEST:
            raise TooLong
        if exponent < 0:
            return self.inverse(self.whole_power(base, -exponent))
        if self.bits(base) * exponent > 1 << LARGEST:
            raise TooLong
        a, ra = base
        middle = a**exponent
        if not ra:
            return self.rounded(middle, 0)
        return self.rounded(middle, (abs(a) + ra) ** exponent - abs(middle))

    def exp(self, ball: Ball) -> Ball:
        """Return the exponential of a ball that is not too wide."""
        self.limit_size(ball)
        a, ra = ball
        if ra > 1:
            raise Unclear
        middle = self.mp.exp(a)
        return self.rounded(middle, 2 * middle * ra + abs(a) * middle * self.mp.eps)

    def log(self, ball: Ball) -> Ball:
        """Return the logarithm of a ball above 0."""
        a, ra = ball
        if a + ra <= 0:
            raise NoValue
        if a <= ra:
            raise Unclear
        return self.rounded(self.mp.log(a), ra / (a - ra) + self.mp.eps)

    def sin(self, ball: Ball) -> Ball:
        """Return the sine of a ball; its slope is at most 1."""
        self.limit_size(ball)
        a, ra = ball
        return self.rounded(self.mp.sin(a), ra + self.mp.eps)

    def cos(self, ball: Ball) -> Ball:
        """Return the cosine of a ball; its slope is at most 1."""
        self.limit_size(ball)
        a, ra = ball
        return self.rounded(self.mp.cos(a), ra + self.mp.eps)

    def tan(self, ball: Ball) -> Ball:
        return self.times(self.sin(ball), self.inverse(self.cos(ball)))

    def erf(self, ball: Ball) -> Ball:
        self.limit_size(ball, LARGEST_OF_ERF)
        return self.rounded(self.mp.erf(ball[0]), self._error_of_erf(ball))

    def erfc(self, ball: Ball) -> Ball:
        self.limit_size(ball, LARGEST_OF_ERF)
        return self.rounded(self.mp.erfc(ball[0]), self._error_of_erf(ball))

    def _error_of_erf(self, ball):
        """Return the radius of erf of a ball: erf is steepest where the ball is nearest to 0."""
        middle, radius = ball
        nearest = max(abs(middle) - radius, 0)
        return self.mp.mpf("1.13") * radius * self.mp.exp(-nearest * nearest)

    def abs(self, ball: Ball) -> Ball:
        middle, radius = ball
        return abs(middle), radius

    def max(self, *balls: Ball) -> Ball:
        """Return the largest, as unclear as the least clear of them."""
        return max(ball[0] for ball in balls), max(ball[1] for ball in balls)

    def min(self, *balls: Ball) -> Ball:
        """Return the smallest, as unclear as the least clear of them."""
        return min(ball[0] for ball in balls), max(ball[1] for ball in balls)

    def entry(self, name: str, index: Ball) -> Fraction:
        """Return an entry of a list, drawn from what stands for the list: the same at every precision."""
        self.limit_size(index)
        if not self.is_whole(index):
            raise NoValue
        middle, _ = self.point[name]
        digits = mpmath.nstr(mpmath.mpmathify(middle), 9)
        return _entry(f"{name} {digits} {int(index[0])}")

    def repeat(
        self, head: str, level: int, code: list[tuple], uses_index: bool, low: Ball, high: Ball
    ) -> Ball:
        """Return a sum or product; one whose terms are all the same is counted instead."""
        if not self.is_whole(low) or not self.is_whole(high):
            raise NoValue
        first = int(low[0])
        last = int(high[0])
        count = last - first + 1
        if count < 0:
            raise NoValue(", because a sum in it ends before it begins")
        total = self.exact(Fraction(head == "Product"))  # of no terms at all
        if not count:
            return total
        if not uses_index:
            combine = self.pow if head == "Product" else self.mul
            return combine(self.run(code), self.exact(Fraction(count)))
        if count * len(code) > self.work.here:
            raise TooLong
        join = self.mul if head == "Product" else self.add
        inner = Evaluator(self.mp, self.point, self.work)
        for k in range(first, last + 1):
            inner.point = self.point | {level: self.exact(Fraction(k))}
            total = join(total, inner.run(code))
        return total


_OPERATIONS: dict[str, Callable[..., Ball]] = {
    head: getattr(Evaluator, head.lower()) for head in ("Pow", *SEVERAL, *FUNCTIONS)
}
