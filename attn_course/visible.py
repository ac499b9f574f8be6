"""Which leaves of a tree matter to its value at a point: what no number can see was not compared.

Knows trees and balls; compares no lines and knows no question.
"""

from fractions import Fraction

from attn_course import balls
from attn_course.trees import (
    BINDING,
    ZERO,
    Tree,
    children,
    fraction_of,
    is_number,
    shown_name,
    walk,
)

TERMS = 20  # at each end of a sum that are looked at
LONGEST = 60  # letters of a part as it is shown


def leaves(tree: Tree) -> dict[tuple, Tree]:
    """Every leaf that can be hidden, by the way down to it: places among the parts of each node."""
    found = {}
    stack = [((), tree)]
    while stack:
        way, node = stack.pop()
        parts = _open_parts(node)
        if not parts and node != ZERO and node[0] != "Mul":
            found[way] = node
        stack.extend(((*way, place), node[place]) for place in parts)
    return found


def _open_parts(node):
    """Places of the parts that need looking at: none beside a factor 0, none that are whole numbers."""
    if node[0] == "Indexed" or ZERO in _factors(node):
        return []
    if node[0] in BINDING:
        return [4]
    return [place for place, part in enumerate(node) if isinstance(part, tuple)]


def _factors(node):
    return node[1:] if node[0] == "Mul" else ()


def seen(tree: Tree, machine: balls.Machine, bits: int) -> set[tuple]:
    """The ways to the leaves that matter here: a share in them is a share of 2**-bits in the whole."""
    mp = machine.mp
    look = _Look(machine)
    middle, radius = look.value(tree)
    look.least = max(mp.ldexp(abs(middle), -bits), mp.ldexp(radius, bits))
    look.descend((), tree, mp.one)
    return look.found


class _Look:
    """Goes from the whole to its leaves with the slope of the whole in each part."""

    def __init__(self, machine):
        self.mp = machine.mp
        self.machine = machine
        self.known = {}
        self.found = set()
        self.least = self.mp.zero

    def value(self, node):
        if node not in self.known:
            self.known[node] = self._value(node)
        return self.known[node]

    def _value(self, node):
        if node[0] in BINDING:
            return self.machine.value(node)
        self.machine.work.step()
        details = [part for part in node[1:] if not isinstance(part, tuple)]
        return self.machine.step(node[0], details, [self.value(part) for part in children(node)])

    def descend(self, way, node, slope):
        parts = _open_parts(node)
        if not parts:
            if abs(slope * self.value(node)[0]) >= self.least and slope:
                self.found.add(way)
        elif node[0] in BINDING:
            self.repeat(way, node, slope)
        else:
            for place, partial in zip(parts, self.slopes(node), strict=True):
                self.descend((*way, place), node[place], slope * partial)

    def slopes(self, node):
        """How the value of a node changes with each of its parts."""
        parts = [self.value(part)[0] for part in children(node)]
        if node[0] == "Add":
            return [self.mp.one for _ in parts]
        if node[0] == "Mul":
            return [self.mp.fprod(parts[:k] + parts[k + 1 :]) for k in range(len(parts))]
        value = self.value(node)[0]
        if node[0] in ("Max", "Min"):
            return [self.mp.mpf(part == value) for part in parts]
        if node[0] == "Pow":
            return self.slopes_of_power(value, *parts)
        return [_SLOPES[node[0]](self.mp, *parts, value)]

    def slopes_of_power(self, value, base, exponent):
        if not base:
            return [self.mp.mpf(exponent == 1), self.mp.zero]
        return [exponent * value / base, value * self.mp.log(abs(base))]

    def repeat(self, way, node, slope):
        """The term of a sum or product is seen if one of those at its ends is."""
        head, level, low, high, body = node
        first = int(self.value(low)[0])
        last = int(self.value(high)[0])
        near = range(first, min(first + TERMS, last + 1))
        far = range(max(first + TERMS, last - TERMS), last + 1)
        total = self.value(node)[0]
        if ("Bound", level) not in set(walk(body)):
            near = near[:1]
            far = ()
            slope *= 1 if head == "Product" else last - first + 1
        for k in (*near, *far):
            point = self.machine.point | {level: self.machine.exact(Fraction(k))}
            inner = _Look(balls.Machine(self.mp, point, self.machine.work))
            inner.least = self.least
            inner.found = self.found
            term = inner.value(body)[0]
            if head == "Sum" or term:
                inner.descend((*way, 4), body, slope * total / term if head == "Product" else slope)


_SLOPES = {
    "exp": lambda mp, a, value: value,
    "log": lambda mp, a, value: 1 / a,
    "sin": lambda mp, a, value: mp.cos(a),
    "cos": lambda mp, a, value: mp.sin(a),
    "tan": lambda mp, a, value: 1 + value * value,
    "sinh": lambda mp, a, value: mp.cosh(a),
    "cosh": lambda mp, a, value: mp.sinh(a),
    "tanh": lambda mp, a, value: mp.sech(a) ** 2,
    "coth": lambda mp, a, value: mp.csch(a) ** 2,
    "sech": lambda mp, a, value: value * mp.tanh(a),
    "csch": lambda mp, a, value: value * mp.coth(a),
    "erf": lambda mp, a, value: mp.exp(-a * a),
    "erfc": lambda mp, a, value: mp.exp(-a * a),
    "Abs": lambda mp, a, value: mp.one,
}


def largest_part(tree: Tree, ways: set[tuple]) -> Tree:
    """The largest part around one of these leaves in which all leaves are among them."""
    way = min(ways)
    for length in range(len(way) + 1):
        inside = {other for other in leaves(tree) if other[:length] == way[:length]}
        if inside <= ways:
            break
    for place in way[:length]:
        tree = tree[place]
    return tree


def shown(tree: Tree) -> str:
    """A part of a line as it may stand in a message: short, and no name that is not a plain word."""
    text = _text(tree)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _text(tree):
    head = tree[0]
    parts = [_text(part) for part in children(tree)]
    if is_number(tree):
        return str(fraction_of(tree))
    if head in ("Symbol", "Constant"):
        return shown_name(tree[1])
    if head == "Bound":
        return "the index"
    if head in ("Add", "Mul", "Pow"):
        sign = {"Add": " + ", "Mul": "*", "Pow": "**"}[head]
        return sign.join(f"({part})" if _is_compound(part) else part for part in parts)
    return f"{shown_name(tree[1]) if head == 'Indexed' else head}({', '.join(parts)})"


def _is_compound(text):
    return any(sign in text for sign in " */") and not text.endswith(")")
