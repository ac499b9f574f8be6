"""Values of a tree at a point, each with a bound on its error. mpmath only; no SymPy, no chains.

A ball is (middle, radius). A tree becomes a flat program once; a context of fixed precision runs it.
"""

import functools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

from attn_course.proofs.trees import BINDING, FUNCTIONS, Tree, children, walk

STEPS = 20_000  # operations of one evaluation
CHAIN_STEPS = 40_000  # operations on all lines of a chain
LARGEST = 40  # binary digits before the point of the argument of a function
LARGEST_OF_ERF = 12  # the same of the error function

HALF = Fraction(1, 2)

Ball = tuple  # (middle, radius)


class NoValue(ArithmeticError):
    """There is no real number here, at any precision."""


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
        """Another evaluation of the same chain."""
        self.here = STEPS
        return self

    def step(self) -> None:
        """One more operation, where there is one left."""
        self.here -= 1
        self.chain -= 1
        if self.chain < 0:
            raise Exhausted
        if self.here < 0:
            raise TooLong


def context(bits: int) -> Any:
    """mpmath at a precision that nobody changes."""
    made = mpmath.MPContext()
    made.prec = bits
    return made


@functools.lru_cache(maxsize=512)  # a class hands in the same few expressions again and again
def program(tree: Tree) -> list[tuple]:
    """(head, details, slots of the arguments) for each different part of the tree, the whole last."""
    places: dict[Tree, int] = {}
    code: list[tuple] = []

    def place(node: Tree) -> int:
        if node in places:
            return places[node]
        head = node[0]
        below = children(node)
        if head in BINDING:
            below = node[2:4]  # both ends; the body has a program of its own
        slots = tuple(map(place, below))
        details = _details(node)
        code.append((head, details, slots))
        places[node] = len(code) - 1
        return places[node]

    place(tree)
    return code


def _details(node):
    """What a node holds besides its arguments; a sum holds the program of its body."""
    if node[0] not in BINDING:
        return tuple(part for part in node[1:] if not isinstance(part, tuple))
    level = node[1]
    body = node[4]
    index = ("Bound", level)
    nodes = set(walk(body))
    uses = index in nodes
    code = program(body)
    return level, code, uses


@functools.lru_cache(maxsize=4096)
def _entry(seed):
    """A number of moderate size, drawn from a text."""
    rng = random.Random(seed)
    millionths = rng.randint(-3_000_000, 3_000_000)
    return Fraction(millionths, 10**6)


class Machine:
    """Runs programs in one context at one point: symbol -> ball."""

    def __init__(self, mp: Any, point: dict, work: Work | None = None):
        self.mp = mp
        self.point = point
        self.work = work or Work()

    def value(self, tree: Tree) -> Ball:
        """The ball of a tree."""
        code = program(tree)
        return self.run(code)

    def run(self, code: list[tuple]) -> Ball:
        """The ball of the last line of a program."""
        found: list[Ball] = []
        for head, details, slots in code:
            self.work.step()
            arguments = [found[slot] for slot in slots]
            ball = self.step(head, details, arguments)
            found.append(ball)
        return found[-1]

    def step(self, head: str, details: tuple, arguments: list[Ball]) -> Ball:
        """The ball of one line of a program."""
        if head in ("Symbol", "Bound"):
            name = details[0]
            return self.point[name]
        if head == "Rational":
            fraction = Fraction(*details)
            return self.exact(fraction)
        if head == "Constant":
            pi = self.mp.pi * 1
            return self.rounded(pi, 0)
        if head == "Indexed":
            return self.indexed(details[0], arguments[0])
        if head in BINDING:
            return self.repeat(head, *details, *arguments)
        operation = _OPERATIONS[head]
        return operation(self, *arguments)

    def exact(self, fraction: Fraction) -> Ball:
        """A fraction; a whole number that fits has no radius."""
        above = fraction.numerator
        below = fraction.denominator
        middle = self.mp.mpf(above) / below
        limit = 1 << self.mp.prec
        if below == 1 and abs(above) < limit:
            return middle, self.mp.zero
        return self.rounded(middle, 0)

    def whole(self, number: int) -> Ball:
        """A whole number."""
        fraction = Fraction(number)
        return self.exact(fraction)

    def rounded(self, middle: Any, radius: Any) -> Ball:
        """A ball whose middle was rounded a few times on the way."""
        size = abs(middle)
        error = size * self.mp.eps * 4
        return middle, radius + error

    def moderate(self, ball: Ball) -> None:
        """TooLong where an argument is too large for a function."""
        if self.digits(ball) > LARGEST:
            raise TooLong

    def digits(self, ball: Ball) -> Any:
        """Binary digits before the point of the largest number of a ball."""
        middle, radius = ball
        largest = abs(middle) + radius
        return self.mp.mag(largest)

    def is_exact(self, middle: Any, radius: Any) -> bool:
        """Only whole numbers have no radius, and a short whole number is not rounded."""
        if radius:
            return False
        return self.mp.mag(middle) < self.mp.prec

    def is_whole(self, ball: Ball) -> bool:
        """Whether the ball is one whole number."""
        middle, radius = ball
        if radius:
            return False
        return self.mp.isint(middle)

    def add(self, *balls: Ball) -> Ball:
        """The sum of all balls."""
        middles = [ball[0] for ball in balls]
        radii = [ball[1] for ball in balls]
        middle = self.mp.fsum(middles)
        radius = self.mp.fsum(radii)
        if self.is_exact(middle, radius):
            return middle, radius
        return self.rounded(middle, radius)

    def mul(self, first: Ball, *others: Ball) -> Ball:
        """The product of all balls, from the left."""
        for other in others:
            first = self.times(first, other)
        return first

    def times(self, left: Ball, right: Ball) -> Ball:
        """The product of two balls."""
        a, ra = left
        b, rb = right
        middle = a * b
        radius = abs(a) * rb
        radius += abs(b) * ra
        radius += ra * rb
        both_exact = not ra and not rb
        if both_exact and self.is_exact(middle, radius):
            return middle, radius
        return self.rounded(middle, radius)

    def inverse(self, ball: Ball) -> Ball:
        """1 divided by a ball that keeps away from 0."""
        a, ra = ball
        if a == 0 and ra == 0:
            raise NoValue
        size = abs(a)
        if size <= ra:
            raise Unclear
        nearest = size - ra
        radius = ra / (size * nearest)
        return self.rounded(1 / a, radius)

    def pow(self, base: Ball, exponent: Ball) -> Ball:
        """A real power; near 0 it is a ball around 0."""
        e, re = exponent
        if re == 0 and self.mp.isint(e):
            return self.whole_power(base, int(e))
        self.moderate(exponent)
        a, ra = base
        is_positive = e > re
        if a == 0 and ra == 0 and is_positive:
            return base
        size = abs(a)
        if size <= ra and is_positive:
            largest = size + ra
            least = e - re
            return self.mp.zero, largest**least
        logarithm = self.log(base)
        product = self.mul(exponent, logarithm)
        return self.exp(product)

    def whole_power(self, base: Ball, exponent: int) -> Ball:
        """A power with a whole exponent of either sign."""
        if abs(exponent) > 1 << LARGEST:
            raise TooLong
        if exponent < 0:
            below = self.whole_power(base, -exponent)
            return self.inverse(below)
        digits = self.digits(base) * exponent
        if digits > 1 << LARGEST:
            raise TooLong
        a, ra = base
        middle = a**exponent
        if not ra:
            return self.rounded(middle, 0)
        largest = abs(a) + ra
        highest = largest**exponent
        radius = highest - abs(middle)
        return self.rounded(middle, radius)

    def exp(self, ball: Ball) -> Ball:
        """The exponential of a ball that is not too wide."""
        self.moderate(ball)
        a, ra = ball
        if ra > 1:
            raise Unclear
        middle = self.mp.exp(a)
        of_argument = 2 * middle * ra
        size = abs(a)
        of_exp = size * middle * self.mp.eps
        radius = of_argument + of_exp
        return self.rounded(middle, radius)

    def log(self, ball: Ball) -> Ball:
        """The logarithm of a ball above 0."""
        a, ra = ball
        if a + ra <= 0:
            raise NoValue
        if a <= ra:
            raise Unclear
        middle = self.mp.log(a)
        smallest = a - ra
        radius = ra / smallest + self.mp.eps
        return self.rounded(middle, radius)

    def sin(self, ball: Ball) -> Ball:
        """The sine; its slope is 1 at most."""
        self.moderate(ball)
        a, ra = ball
        middle = self.mp.sin(a)
        radius = ra + self.mp.eps
        return self.rounded(middle, radius)

    def cos(self, ball: Ball) -> Ball:
        """The cosine; its slope is 1 at most."""
        self.moderate(ball)
        a, ra = ball
        middle = self.mp.cos(a)
        radius = ra + self.mp.eps
        return self.rounded(middle, radius)

    def tan(self, ball: Ball) -> Ball:
        """The sine divided by the cosine."""
        above = self.sin(ball)
        below = self.cos(ball)
        factor = self.inverse(below)
        return self.mul(above, factor)

    def sinh(self, ball: Ball) -> Ball:
        """Half of exp(x) - exp(-x)."""
        return self.halved_sum(ball, -1)

    def cosh(self, ball: Ball) -> Ball:
        """Half of exp(x) + exp(-x)."""
        return self.halved_sum(ball, 1)

    def halved_sum(self, ball: Ball, sign: int) -> Ball:
        """Half of exp(x) and exp(-x) with a sign."""
        up = self.exp(ball)
        middle, radius = self.inverse(up)
        signed = sign * middle
        down = (signed, radius)
        half = self.exact(HALF)
        total = self.add(up, down)
        return self.mul(half, total)

    def tanh(self, ball: Ball) -> Ball:
        """sinh divided by cosh."""
        above = self.sinh(ball)
        factor = self.sech(ball)
        return self.mul(above, factor)

    def coth(self, ball: Ball) -> Ball:
        """cosh divided by sinh."""
        above = self.cosh(ball)
        factor = self.csch(ball)
        return self.mul(above, factor)

    def sech(self, ball: Ball) -> Ball:
        """1 divided by cosh."""
        below = self.cosh(ball)
        return self.inverse(below)

    def csch(self, ball: Ball) -> Ball:
        """1 divided by sinh."""
        below = self.sinh(ball)
        return self.inverse(below)

    def erf(self, ball: Ball) -> Ball:
        """The error function."""
        self._limit_erf(ball)
        middle = self.mp.erf(ball[0])
        radius = self._slope_of_erf(ball)
        return self.rounded(middle, radius)

    def erfc(self, ball: Ball) -> Ball:
        """What the error function leaves of 1."""
        self._limit_erf(ball)
        middle = self.mp.erfc(ball[0])
        radius = self._slope_of_erf(ball)
        return self.rounded(middle, radius)

    def _limit_erf(self, ball):
        """TooLong where the argument is too large for erf."""
        if self.digits(ball) > LARGEST_OF_ERF:
            raise TooLong

    def _slope_of_erf(self, ball):
        """What the radius becomes: erf is steepest where the ball is nearest to 0."""
        middle, radius = ball
        distance = abs(middle) - radius
        nearest = max(distance, 0)
        slope = self.mp.exp(-nearest * nearest)
        steepest = self.mp.mpf("1.13")
        return steepest * radius * slope

    def abs(self, ball: Ball) -> Ball:
        """The absolute value."""
        middle, radius = ball
        return abs(middle), radius

    def max(self, *balls: Ball) -> Ball:
        """The largest, as unclear as the least clear of them."""
        middle = max(ball[0] for ball in balls)
        radius = max(ball[1] for ball in balls)
        return middle, radius

    def min(self, *balls: Ball) -> Ball:
        """The smallest, as unclear as the least clear of them."""
        middle = min(ball[0] for ball in balls)
        radius = max(ball[1] for ball in balls)
        return middle, radius

    def indexed(self, name: str, index: Ball) -> Ball:
        """An entry of a list, drawn from what stands for the list: the same at every precision."""
        self.moderate(index)
        if not self.is_whole(index):
            raise NoValue
        place = int(index[0])
        middle, _ = self.point[name]
        shown = mpmath.nstr(mpmath.mpmathify(middle), 9)
        entry = _entry(f"{name} {shown} {place}")
        return self.exact(entry)

    def repeat(
        self,
        head: str,
        level: int,
        code: list[tuple],
        uses: bool,
        low: Ball,
        high: Ball,
    ) -> Ball:
        """A sum or product; one whose terms are all the same is counted, not walked through."""
        if not self.is_whole(low) or not self.is_whole(high):
            raise NoValue
        first = int(low[0])
        last = int(high[0])
        count = last - first + 1
        if count < 0:
            raise NoValue
        if not uses:
            return self.counted(head, code, count)
        num_steps = count * len(code)
        if num_steps > self.work.here:
            raise TooLong
        total = self.nothing(head)
        combine = self.mul if head == "Product" else self.add
        inner = Machine(self.mp, self.point, self.work)
        for k in range(first, last + 1):
            index = self.whole(k)
            inner.point = self.point | {level: index}
            term = inner.run(code)
            total = combine(total, term)
        return total

    def nothing(self, head: str) -> Ball:
        """A product of no factors is 1, a sum of no terms 0."""
        number = int(head == "Product")
        return self.whole(number)

    def counted(self, head: str, code: list[tuple], count: int) -> Ball:
        """A sum or product of `count` times the same."""
        if not count:
            return self.nothing(head)
        number = self.whole(count)
        term = self.run(code)
        if head == "Product":
            return self.pow(term, number)
        return self.mul(number, term)


_OPERATIONS: dict[str, Callable[..., Ball]] = {
    "Add": Machine.add,
    "Mul": Machine.mul,
    "Pow": Machine.pow,
    "Abs": Machine.abs,
    "Max": Machine.max,
    "Min": Machine.min,
}
_OPERATIONS |= {name: getattr(Machine, name) for name in FUNCTIONS if name != "Abs"}
