"""Values of a tree at a point, each with a bound on its error. mpmath only; no SymPy, no chains.

A ball is (middle, radius). A tree becomes a flat program once; a context of fixed precision runs it.
"""

import functools
import random
from fractions import Fraction

import mpmath

from attn_course.trees import BINDING, FUNCTIONS, Tree, children, walk

STEPS = 20_000  # operations of one evaluation
CHAIN_STEPS = 40_000  # operations on all lines of a chain
LARGEST = 40  # binary digits before the point of the argument of a function


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
        self.here = STEPS
        return self

    def step(self) -> None:
        self.here -= 1
        self.chain -= 1
        if self.chain < 0:
            raise Exhausted
        if self.here < 0:
            raise TooLong


def context(bits: int):
    """mpmath at a precision that nobody changes."""
    made = mpmath.MPContext()
    made.prec = bits
    return made


@functools.lru_cache(maxsize=512)  # a class hands in the same few expressions again and again
def program(tree: Tree) -> list[tuple]:
    """(head, details, slots of the arguments) for each different part of the tree, the whole last."""
    places = {}
    code = []

    def place(node):
        if node in places:
            return places[node]
        if node[0] in BINDING:
            slots = (place(node[2]), place(node[3]))
            details = (node[1], program(node[4]), ("Bound", node[1]) in set(walk(node[4])))
        else:
            slots = tuple(map(place, children(node)))
            details = tuple(part for part in node[1:] if not isinstance(part, tuple))
        code.append((node[0], details, slots))
        places[node] = len(code) - 1
        return places[node]

    place(tree)
    return code


class Machine:
    """Runs programs in one context at one point: symbol -> ball."""

    def __init__(self, mp, point, work=None):
        self.mp = mp
        self.point = point
        self.work = work or Work()

    def value(self, tree):
        return self.run(program(tree))

    def run(self, code):
        found = []
        for head, details, slots in code:
            self.work.step()
            found.append(self.step(head, details, [found[slot] for slot in slots]))
        return found[-1]

    def step(self, head, details, arguments):
        if head == "Symbol":
            return self.point[details[0]]
        if head == "Bound":
            return self.point[details[0]]
        if head == "Rational":
            return self.exact(Fraction(*details))
        if head == "Constant":
            return self.rounded(self.mp.pi * 1, 0)
        if head == "Indexed":
            return self.indexed(details[0], arguments[0])
        if head in BINDING:
            return self.repeat(head, *details, *arguments)
        return _OPERATIONS[head](self, *arguments)

    def exact(self, fraction):
        middle = self.mp.mpf(fraction.numerator) / fraction.denominator
        if fraction.denominator == 1 and abs(fraction.numerator) < 1 << self.mp.prec:
            return middle, self.mp.zero
        return self.rounded(middle, 0)

    def rounded(self, middle, radius):
        """A ball whose middle was rounded a few times on the way."""
        return middle, radius + abs(middle) * self.mp.eps * 4

    def moderate(self, ball):
        if self.mp.mag(abs(ball[0]) + ball[1]) > LARGEST:
            raise TooLong

    def is_exact(self, middle, radius):
        """Only whole numbers have no radius, and a short whole number is not rounded."""
        return not radius and self.mp.mag(middle) < self.mp.prec

    def add(self, *balls):
        middle = self.mp.fsum(b[0] for b in balls)
        radius = self.mp.fsum(b[1] for b in balls)
        return (middle, radius) if self.is_exact(middle, radius) else self.rounded(middle, radius)

    def mul(self, first, *others):
        for other in others:
            (a, ra), (b, rb) = first, other
            radius = abs(a) * rb + abs(b) * ra + ra * rb
            exact = not ra and not rb and self.is_exact(a * b, radius)
            first = (a * b, radius) if exact else self.rounded(a * b, radius)
        return first

    def inverse(self, ball):
        a, ra = ball
        if a == 0 and ra == 0:
            raise NoValue
        if abs(a) <= ra:
            raise Unclear
        return self.rounded(1 / a, ra / (abs(a) * (abs(a) - ra)))

    def pow(self, base, exponent):
        e, re = exponent
        if re == 0 and self.mp.isint(e):
            return self.whole_power(base, int(e))
        self.moderate(exponent)
        a, ra = base
        if a == 0 and ra == 0 and e > re:
            return base
        if abs(a) <= ra and e > re:
            return self.mp.zero, (abs(a) + ra) ** (e - re)
        return self.exp(self.mul(exponent, self.log(base)))

    def whole_power(self, base, exponent):
        if abs(exponent) > 1 << LARGEST:
            raise TooLong
        if exponent < 0:
            return self.inverse(self.whole_power(base, -exponent))
        a, ra = base
        if self.mp.mag(abs(a) + ra) * exponent > 1 << LARGEST:
            raise TooLong
        middle = a**exponent
        return self.rounded(middle, (abs(a) + ra) ** exponent - abs(middle) if ra else 0)

    def exp(self, ball):
        self.moderate(ball)
        a, ra = ball
        if ra > 1:
            raise Unclear
        middle = self.mp.exp(a)
        return self.rounded(middle, 2 * middle * ra + abs(a) * middle * self.mp.eps)

    def log(self, ball):
        a, ra = ball
        if a + ra <= 0:
            raise NoValue
        if a <= ra:
            raise Unclear
        return self.rounded(self.mp.log(a), ra / (a - ra) + self.mp.eps)

    def sin(self, ball):
        self.moderate(ball)
        return self.rounded(self.mp.sin(ball[0]), ball[1] + self.mp.eps)

    def cos(self, ball):
        self.moderate(ball)
        return self.rounded(self.mp.cos(ball[0]), ball[1] + self.mp.eps)

    def tan(self, ball):
        return self.mul(self.sin(ball), self.inverse(self.cos(ball)))

    def sinh(self, ball):
        return self.halved_sum(ball, -1)

    def cosh(self, ball):
        return self.halved_sum(ball, 1)

    def halved_sum(self, ball, sign):
        up = self.exp(ball)
        down = self.inverse(up)
        return self.mul(self.exact(Fraction(1, 2)), self.add(up, (sign * down[0], down[1])))

    def tanh(self, ball):
        return self.mul(self.sinh(ball), self.sech(ball))

    def coth(self, ball):
        return self.mul(self.cosh(ball), self.csch(ball))

    def sech(self, ball):
        return self.inverse(self.cosh(ball))

    def csch(self, ball):
        return self.inverse(self.sinh(ball))

    def erf(self, ball):
        return self.rounded(self.mp.erf(self._for_erf(ball)), self._slope_of_erf(ball))

    def erfc(self, ball):
        return self.rounded(self.mp.erfc(self._for_erf(ball)), self._slope_of_erf(ball))

    def _for_erf(self, ball):
        if self.mp.mag(abs(ball[0]) + ball[1]) > 12:
            raise TooLong
        return ball[0]

    def _slope_of_erf(self, ball):
        """What the radius becomes: erf is steepest where the ball is nearest to 0."""
        nearest = max(abs(ball[0]) - ball[1], 0)
        return self.mp.mpf("1.13") * ball[1] * self.mp.exp(-nearest * nearest)

    def abs(self, ball):
        return abs(ball[0]), ball[1]

    def max(self, *balls):
        return max(b[0] for b in balls), max(b[1] for b in balls)

    def min(self, *balls):
        return min(b[0] for b in balls), max(b[1] for b in balls)

    def indexed(self, name, index):
        """An entry of a list, drawn from what stands for the list: the same at every precision."""
        self.moderate(index)
        if index[1] or not self.mp.isint(index[0]):
            raise NoValue
        seed = f"{name} {self.mp.nstr(self.point[name][0], 9)} {int(index[0])}"
        return self.exact(Fraction(random.Random(seed).randint(-3_000_000, 3_000_000), 10**6))

    def repeat(self, head, level, code, uses, low, high):
        """A sum or product; one whose terms are all the same is counted, not walked through."""
        if low[1] or high[1] or not self.mp.isint(low[0]) or not self.mp.isint(high[0]):
            raise NoValue
        first = int(low[0])
        count = int(high[0]) - first + 1
        if count < 0:
            raise NoValue
        if not uses:
            return self.counted(head, code, count)
        if count * len(code) > self.work.here:
            raise TooLong
        total = self.exact(Fraction(int(head == "Product")))
        combine = self.mul if head == "Product" else self.add
        inner = Machine(self.mp, self.point, self.work)
        for k in range(first, first + count):
            inner.point = self.point | {level: self.exact(Fraction(k))}
            total = combine(total, inner.run(code))
        return total

    def counted(self, head, code, count):
        number = self.exact(Fraction(count))
        if not count:
            return self.exact(Fraction(int(head == "Product")))
        term = self.run(code)
        return self.pow(term, number) if head == "Product" else self.mul(number, term)


_OPERATIONS = {
    "Add": Machine.add,
    "Mul": Machine.mul,
    "Pow": Machine.pow,
    "Abs": Machine.abs,
    "Max": Machine.max,
    "Min": Machine.min,
} | {name: getattr(Machine, name) for name in FUNCTIONS if name != "Abs"}
