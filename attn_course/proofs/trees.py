"""Expressions as trees of plain tuples, made of a short list of heads; nothing is evaluated or run.

A tree is ("Symbol", name), ("Rational", p, q), ("Constant", "pi"), ("Bound", k), ("Indexed", name, index),
("Sum" or "Product", k, low, high, body) with its variable ("Bound", k), or (head, *arguments).
A tree is sent as a list of strings in postfix order: the arguments of a head before the head.
Hyperbolic functions become exponentials when a tree is read.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

NODES = 1_500  # in one expression
CHAIN_NODES = 6_000  # in all lines of a chain
DEPTH = 70
LONGEST = 10_000  # bits of a number that is written down
NAME = 40  # letters of a name
BINDERS = 8  # sums and products in one expression
FUNCTIONS = "exp log sin cos tan erf erfc Abs".split()  # of one argument
DEFINED_EVERYWHERE = (
    "exp sin cos erf erfc Abs".split()
)  # those that have a value at every real number
HYPERBOLIC = "sinh cosh tanh coth sech csch".split()
SEVERAL = ("Add", "Mul", "Max", "Min")
BINDING = ("Sum", "Product")
_WHOLE = re.compile(r"-?[0-9]{1,60}(/[0-9]{1,60})?")
_DECIMAL = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?")
_COUNT = re.compile("[0-9]{1,4}")
_PLAIN_NAME = re.compile(r"[^\W\d]\w{0,19}")
ZERO = ("Rational", 0, 1)
ONE = ("Rational", 1, 1)
MINUS_ONE = ("Rational", -1, 1)
_HALF = ("Rational", 1, 2)
_E = ("exp", ONE)

Tree = tuple


class Unreadable(ValueError):
    """An expression that no chain of this course can use; the sentence says why."""


def rational(number: Fraction | int) -> Tree:
    fraction = Fraction(number)
    return ("Rational", fraction.numerator, fraction.denominator)


def fraction_of(tree: Tree) -> Fraction:
    return Fraction(tree[1], tree[2])


def is_number(tree: Tree) -> bool:
    return tree[0] == "Rational"


def write(expression: Any) -> list[str]:
    """Return a SymPy expression as a list of strings, the arguments of a head before the head."""
    tokens: list[str] = []
    _write(expression, tokens, 0)
    return tokens


def _write(expression, tokens, depth):
    if len(tokens) >= NODES or depth > DEPTH:
        raise Unreadable("the expression is too large to check")
    head = type(expression).__name__
    below: tuple = expression.args
    if head in BINDING:
        _write_binding(expression, tokens, depth)
        return
    if head == "Indexed":
        below = expression.indices
        token = f"Indexed {expression.base.label}"
    elif head == "UnevaluatedExpr":
        _write(below[0], tokens, depth + 1)
        return
    elif head == "Exp1":
        tokens.append("Rational 1")
        token = "exp 1"
    elif head == "Symbol":  # SymPy takes long to print one
        token = f"Symbol {expression.name}"
    elif expression.is_Symbol:
        token = f"Symbol {expression}"
    elif expression.is_Rational:
        if expression.p.bit_length() + expression.q.bit_length() > LONGEST:
            raise Unreadable("a number in it is too long to check")
        token = f"Rational {expression.p}/{expression.q}"
    elif expression.is_Float:
        value = float(expression)
        if expression != value:
            raise Unreadable("a decimal in it cannot be read exactly: write it with sp.Rational")
        token = f"Decimal {value!r}"
    elif not below:
        token = f"Constant {expression}"
    else:
        _require_known(head)
        token = f"{head} {len(below)}"
    for part in below:
        _write(part, tokens, depth + 1)
    tokens.append(token)


def _write_binding(expression, tokens, depth):
    """Write a sum; several limits are several sums, the first one innermost."""
    head = type(expression).__name__
    _write(expression.function, tokens, depth + 1)
    for limits in expression.limits:
        if len(limits) != 3:
            raise Unreadable("a sum needs its variable and both ends")
        variable, low, high = limits
        if not variable.is_Symbol:
            raise Unreadable("a sum has to run over a symbol")
        _write(low, tokens, depth + 1)
        _write(high, tokens, depth + 1)
        tokens.append(f"{head} {variable}")


def tree_of(expression: Any) -> Tree:
    """Return the tree of a SymPy expression."""
    return read(write(expression))


def read(tokens: list[str]) -> Tree:
    """Return the tree that `tokens` spell; Unreadable says in a sentence what is not allowed in it."""
    if not isinstance(tokens, list) or not tokens:
        raise Unreadable("the expression is not complete")
    stack: list[Tree] = []
    sizes: list[tuple[int, int]] = []  # nodes and levels of each tree on the stack
    num_binders = 0
    for token in tokens:
        head, _, detail = str(token).partition(" ")
        num_taken, make = _reader(head, detail)
        num_binders += head in BINDING
        kept = len(stack) - num_taken
        if kept < 0:
            raise Unreadable("the expression is not complete")
        repeats = 2 if head in HYPERBOLIC else 1
        num_nodes = 1 + repeats * sum(size[0] for size in sizes[kept:])
        depth = 1 + max((size[1] for size in sizes[kept:]), default=0)
        if num_nodes > NODES or depth > DEPTH or num_binders > BINDERS:
            raise Unreadable("the expression is too large to check")
        stack[kept:] = [make(*stack[kept:])]
        sizes[kept:] = [(num_nodes, depth)]
    if len(stack) != 1:
        raise Unreadable("the expression is not complete")
    return stack[0]


def _reader(head, detail):
    """Return how many trees a token takes off the stack, and what makes one tree of them."""
    if head in BINDING:
        name = _name(detail)
        return 3, lambda body, low, high: _bind(head, name, low, high, body)
    if head == "Indexed":
        return 1, lambda index: ("Indexed", _name(detail), index)
    if head in ("Symbol", "Rational", "Decimal", "Constant"):
        readers = {"Rational": _whole, "Decimal": decimal, "Constant": _constant}
        leaf = ("Symbol", _name(detail)) if head == "Symbol" else readers[head](detail)
        return 0, lambda: leaf
    _require_known(head)
    num_taken = int(detail) if _COUNT.fullmatch(detail) else 0
    expected = num_taken if head in SEVERAL else 1 + (head == "Pow")
    if num_taken != expected or not num_taken:
        raise Unreadable("the expression is not complete")
    if head in HYPERBOLIC:
        return 1, lambda argument: by_exponentials(head, argument)
    if head == "Pow":
        return (
            2,
            lambda base, exponent: ("exp", exponent) if base == _E else ("Pow", base, exponent),
        )
    return num_taken, lambda *arguments: _in_order(head, list(arguments))


def _require_known(head):
    if head == "Pow" or head in SEVERAL or head in FUNCTIONS or head in HYPERBOLIC:
        return
    text = head if _PLAIN_NAME.fullmatch(head) else "this"
    raise Unreadable(f"{text} is not something a chain of this course can use")


def by_exponentials(head: str, x: Tree) -> Tree:
    """Return a hyperbolic function of `x`, written with exponentials."""
    up = ("exp", x)
    down = ("exp", times(MINUS_ONE, x))
    double = ("exp", times(rational(2), x))
    difference = minus(up, down)
    parts = {
        "sinh": (_HALF, difference),
        "cosh": (_HALF, add(up, down)),
        "tanh": (minus(double, ONE), power(add(double, ONE), MINUS_ONE)),
        "coth": (add(double, ONE), power(minus(double, ONE), MINUS_ONE)),
        "sech": (rational(2), power(add(up, down), MINUS_ONE)),
        "csch": (rational(2), power(difference, MINUS_ONE)),
    }
    return times(*parts[head])


def _name(text):
    if not text:
        raise Unreadable("a symbol has no name")
    if len(text) > NAME:
        raise Unreadable("the name of a symbol is too long")
    return text


def shown_name(name: str) -> str:
    """Return `name` as it may stand in a message: a plain word, whatever a symbol was called."""
    return name if _PLAIN_NAME.fullmatch(name) else "a symbol with an odd name"


def _whole(text):
    """Return a whole number or a fraction of two."""
    if not _WHOLE.fullmatch(text):
        raise Unreadable("a number in it is too long to check")
    above, _, below = text.partition("/")
    if below and not int(below):
        raise Unreadable("a number in it is divided by zero")
    return rational(Fraction(int(above), int(below or 1)))


def _constant(text):
    if text == "pi":
        return ("Constant", "pi")
    if text == "I":
        raise Unreadable("lines are real here: write cos and sin instead of exp(I x)")
    if text in ("oo", "-oo", "zoo", "nan"):
        raise Unreadable(f"{text} is not a real number")
    raise Unreadable("a constant in it is not something a chain of this course can use")


def decimal(text: str) -> Tree:
    """0.25 is a quarter; a decimal that was cut off is refused, with what to write instead."""
    if not _DECIMAL.fullmatch(text):
        raise Unreadable("a number in it is not a real number of moderate size")
    value = Fraction(text)
    mantissa, _, _ = text.partition("e")
    digits = mantissa.strip("-0.").replace(".", "")
    if len(digits) <= 6:
        return rational(value)
    raise Unreadable(f"{text} is a rounded number: {_exactly(float(value))}")


def _exactly(value):
    """Return what to write for a number that looks like a rounded root, fraction, pi, e or logarithm."""
    constants = {math.pi: "sp.pi", 2 * math.pi: "2 * sp.pi", math.e: "sp.E"}
    for k in range(2, 60):
        constants[math.sqrt(k)] = f"sp.sqrt({k})"
        constants[1 / math.sqrt(k)] = f"1 / sp.sqrt({k})"
        constants[math.log(k)] = f"sp.log({k})"
    size = abs(value)
    fraction = Fraction(size).limit_denominator(200)
    constants[float(fraction)] = f"sp.Rational({fraction.numerator}, {fraction.denominator})"
    near = min(constants, key=lambda number: abs(number - size))
    if abs(near - size) <= 1e-12 * near:
        sign = "-" * (value < 0)
        return f"write {sign}{constants[near]}"
    return "write it exactly, with sp.sqrt, sp.Rational, sp.exp or sp.log"


def _bind(head, name, low, high, body):
    """Return a sum or product of `body` over the symbol `name`."""
    level = free_level(body)
    return (head, level, low, high, substitute(body, {name: ("Bound", level)}))


def free_level(body: Tree) -> int:
    """Return the first number that no sum or product in the body has for its index."""
    return 1 + max((node[1] for node in walk(body) if node[0] in BINDING), default=0)


def children(tree: Tree) -> tuple[Tree, ...]:
    """Return the trees right below."""
    return tuple(part for part in tree[1:] if isinstance(part, tuple))


def walk(tree: Tree) -> Iterator[Tree]:
    """Return the tree and everything in it."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def limit_work(lines: Iterable[Tree]) -> None:
    """Raise Unreadable where the lines of a chain take too long to compare."""
    num_nodes = sum(1 for line in lines for _ in walk(line))
    if num_nodes > CHAIN_NODES:
        raise Unreadable(
            f"it is too long to check: {num_nodes} symbols, numbers and operations, where {CHAIN_NODES} "
            "are many. Leave out what the derivation does not need"
        )


def symbols(tree: Tree) -> set[str]:
    """Return the names of the symbols in a tree, without those that a sum runs over."""
    return {node[1] for node in walk(tree) if node[0] == "Symbol"}


def names_in(tree: Tree) -> set[str]:
    """Return the names of the symbols and of the lists in a tree."""
    return {node[1] for node in walk(tree) if node[0] in ("Symbol", "Indexed")}


def substitute(tree: Tree, values: dict[str, Tree]) -> Tree:
    """Return the tree with trees in the place of some symbols."""
    head = tree[0]
    if head == "Symbol":
        return values.get(tree[1], tree)
    if not values or not children(tree):
        return tree
    if head not in BINDING:
        parts = _changed_parts(tree, lambda part: substitute(part, values))
        return _in_order(head, parts)
    _, level, low, high, body = tree
    own = ("Bound", -level)  # of this sum alone, while other sums may come in
    inner = substitute(replaced(body, ("Bound", level), own), values)
    new_level = free_level(inner)
    new_body = replaced(inner, own, ("Bound", new_level))
    return (head, new_level, substitute(low, values), substitute(high, values), new_body)


def with_changed_parts(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """Return the tree with every tree right below it changed."""
    return _in_order(tree[0], _changed_parts(tree, change))


def _changed_parts(tree: Tree, change: Callable[[Tree], Tree]) -> list[Any]:
    """Return the parts below the head, with every tree among them changed."""
    return [change(part) if isinstance(part, tuple) else part for part in tree[1:]]


def _in_order(head, parts):
    """Return a head with its parts, sorted where their order means nothing."""
    if head in SEVERAL:
        parts.sort()
    return (head, *parts)


def replaced(tree: Tree, old: Tree, new: Tree) -> Tree:
    """Return the tree with one part in the place of another, wherever it stands."""
    if tree == old:
        return new
    parts = _changed_parts(tree, lambda part: replaced(part, old, new))
    return _in_order(tree[0], parts)


def add(*terms: Tree) -> Tree:
    return ("Add", *sorted(terms))


def times(*factors: Tree) -> Tree:
    return ("Mul", *sorted(factors))


def power(base: Tree, exponent: Tree) -> Tree:
    return ("Pow", base, exponent)


def minus(left: Tree, right: Tree) -> Tree:
    """Return a difference, as a sum with a negative term."""
    return add(left, times(MINUS_ONE, right))
