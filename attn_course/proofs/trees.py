"""Expressions as trees of plain tuples, made of a short list of heads.

Evaluates nothing, reads no text as code, and knows neither chains nor questions.

A tree is ("Symbol", name), ("Rational", p, q), ("Constant", "pi"), ("Bound", k), ("Indexed", name, index),
("Sum" or "Product", k, low, high, body) with its variable ("Bound", k), or (head, *arguments).
A tree travels as a list of strings in the order in which a stack of numbers would work it out.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

NODES = 1_500  # in one expression
CHAIN_NODES = 6_000  # in all lines of a chain
DEPTH = 60
LONGEST = 10_000  # binary digits of a number that is written down
NAME = 40  # letters of a name
BINDERS = 8  # sums and products in one expression
FUNCTIONS = (
    "exp log sin cos tan sinh cosh tanh coth sech csch erf erfc Abs".split()
)  # of one argument
SEVERAL = ("Add", "Mul", "Max", "Min")
BINDING = ("Sum", "Product")
_WHOLE = re.compile(r"-?[0-9]{1,60}(/[0-9]{1,60})?")
_DECIMAL = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?")
_COUNT = re.compile("[0-9]{1,4}")
_PLAIN_NAME = re.compile(r"[^\W\d]\w{0,19}")
ZERO = ("Rational", 0, 1)
ONE = ("Rational", 1, 1)
_E = ("exp", ONE)

Tree = tuple


class Unreadable(ValueError):
    """An expression that no chain of this course can use; the sentence says why."""


def rational(number: Fraction | int) -> Tree:
    """The tree of a number."""
    fraction = Fraction(number)
    return ("Rational", fraction.numerator, fraction.denominator)


def fraction_of(tree: Tree) -> Fraction:
    """The number of a tree that is one."""
    return Fraction(tree[1], tree[2])


def is_number(tree: Tree) -> bool:
    """Whether the tree is a fraction."""
    return tree[0] == "Rational"


def write(expression: Any) -> list[str]:
    """A SymPy expression as a list of strings, the arguments of a head before the head."""
    tokens: list[str] = []
    _write(expression, tokens, 0)
    return tokens


def _write(expression, tokens, depth):
    """Add the tokens of one expression."""
    if len(tokens) > NODES or depth > DEPTH:
        raise Unreadable("the expression is too large to check")
    head = type(expression).__name__
    if head in BINDING:
        _write_binding(expression, tokens, depth)
    elif head == "Indexed":
        _write_all(expression.indices, tokens, depth)
        name = expression.base.label
        tokens.append(f"Indexed {name}")
    elif head == "UnevaluatedExpr":
        _write(expression.args[0], tokens, depth + 1)
    elif head == "Exp1":
        tokens.append("Rational 1")
        tokens.append("exp 1")
    elif expression.is_Symbol:
        tokens.append(f"Symbol {expression}")
    elif expression.is_Rational:
        tokens.append(_write_number(expression))
    elif expression.is_Float:
        tokens.append(_write_decimal(expression))
    elif not expression.args:
        tokens.append(f"Constant {expression}")
    else:
        _write_application(expression, tokens, depth)


def _write_number(number):
    """One token; a number that Python would not even print is refused."""
    bits = number.p.bit_length() + number.q.bit_length()
    if bits > LONGEST:
        raise Unreadable("a number in it is too long to check")
    return f"Rational {number.p}/{number.q}"


def _write_decimal(number):
    """One token; what a float of Python cannot hold is refused, not rounded."""
    value = float(number)
    if number != value:
        raise Unreadable("a decimal in it cannot be read exactly: write it with sp.Rational")
    return f"Decimal {value!r}"


def _write_application(expression, tokens, depth):
    """Arguments first, then the head and their number."""
    head = type(expression).__name__
    _allowed(head)
    arguments = expression.args
    _write_all(arguments, tokens, depth)
    taken = len(arguments)
    tokens.append(f"{head} {taken}")


def _write_all(expressions, tokens, depth):
    """One after the other, a level deeper."""
    for expression in expressions:
        _write(expression, tokens, depth + 1)


def _write_binding(expression, tokens, depth):
    """Several limits are several sums, the first one innermost."""
    head = type(expression).__name__
    _write(expression.function, tokens, depth + 1)
    for limits in expression.limits:
        if len(limits) != 3:
            raise Unreadable("a sum needs its variable and both ends")
        variable, low, high = limits
        if not variable.is_Symbol:
            raise Unreadable("a sum has to run over a symbol")
        _write_all((low, high), tokens, depth)
        tokens.append(f"{head} {variable}")


def tree_of(expression: Any) -> Tree:
    """The tree of a SymPy expression."""
    return read(write(expression))


def read(tokens: list[str]) -> Tree:
    """The tree that `tokens` spell; Unreadable says in a sentence what is not allowed in it."""
    most = NODES + DEPTH
    if not isinstance(tokens, list) or not 0 < len(tokens) <= most:
        raise Unreadable("the expression is too large to check")
    stack: list[Tree] = []
    bound = 0
    for token in tokens:
        text = str(token)
        head, _, detail = text.partition(" ")
        if head in BINDING:
            bound += 1
            taken = 3
            _enough(stack, taken, bound <= BINDERS)
            body, low, high = stack[-taken:]
            node = _bind(head, detail, low, high, body)
        else:
            node, taken = _node(head, detail, stack)
            _enough(stack, taken, True)
        kept = len(stack) - taken
        stack[kept:] = [node]
    if len(stack) != 1:
        raise Unreadable("the expression is not complete")
    tree = stack[0]
    _limit_depth(tree)
    return tree


def _enough(stack, taken, allowed):
    """Unreadable where a head takes more trees than there are."""
    if taken > len(stack) or not allowed:
        raise Unreadable("the expression is not complete or too large to check")


def _node(head, detail, stack):
    """The node of one token, and how many trees it takes off the stack."""
    if head == "Symbol":
        return ("Symbol", _name(detail)), 0
    if head == "Rational":
        return _whole(detail), 0
    if head == "Decimal":
        return decimal(detail), 0
    if head == "Constant":
        return _constant(detail), 0
    if head == "Indexed":
        return ("Indexed", _name(detail), *stack[-1:]), 1
    taken = 0
    if _COUNT.fullmatch(detail):
        taken = int(detail)
    kept = len(stack) - taken
    arguments = stack[kept:] if kept >= 0 else []
    tree = _application(head, arguments)
    return tree, taken


def _allowed(head):
    """Unreadable where a chain has no use for the head."""
    if head == "Pow" or head in SEVERAL or head in FUNCTIONS:
        return
    shown = "this"
    if _PLAIN_NAME.fullmatch(head):
        shown = head
    raise Unreadable(f"{shown} is not something a chain of this course can use")


def _application(head, arguments):
    """A head with its arguments, in order where their order means nothing."""
    _allowed(head)
    if head in SEVERAL and arguments:
        return (head, *sorted(arguments))
    if head == "Pow" and len(arguments) == 2:
        base, exponent = arguments
        return ("exp", exponent) if base == _E else ("Pow", base, exponent)
    if head in FUNCTIONS and len(arguments) == 1:
        return (head, *arguments)
    raise Unreadable("the expression is not complete")


def _name(text):
    """A name of moderate length."""
    if not text:
        raise Unreadable("a symbol has no name")
    if len(text) > NAME:
        raise Unreadable("the name of a symbol is too long")
    return text


def shown_name(name: str) -> str:
    """`name` as it may stand in a message: a plain word, whatever a symbol was called."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return "a symbol with an odd name"


def _whole(text):
    """A whole number or a fraction of two."""
    if not _WHOLE.fullmatch(text):
        raise Unreadable("a number in it is too long to check")
    above, _, below = text.partition("/")
    if below and not int(below):
        raise Unreadable("a number in it is divided by zero")
    numerator = int(above)
    denominator = int(below or 1)
    fraction = Fraction(numerator, denominator)
    return rational(fraction)


def _constant(text):
    """Of the constants without a fraction only pi."""
    if text == "pi":
        return ("Constant", "pi")
    if text in ("oo", "-oo", "zoo", "nan", "I"):
        raise Unreadable(f"{text} is not a real number")
    raise Unreadable("a constant in it is not something a chain of this course can use")


def decimal(text: str) -> Tree:
    """0.25 is a quarter; a decimal that was cut off is refused, with what to write instead."""
    if not _DECIMAL.fullmatch(text):
        raise Unreadable("a number in it is not a real number of moderate size")
    value = Fraction(text)
    mantissa, _, _ = text.partition("e")
    stripped = mantissa.strip("-0.")
    digits = stripped.replace(".", "")
    if len(digits) <= 6:
        return rational(value)
    advice = _exactly(float(value))
    raise Unreadable(f"{text} is a rounded number: {advice}")


def _exactly(value):
    """What to write for a number that looks like a rounded root, fraction, pi, e or logarithm."""
    size = abs(value)
    known = _known_numbers()
    fraction = Fraction(size).limit_denominator(200)
    above = fraction.numerator
    below = fraction.denominator
    known[float(fraction)] = f"sp.Rational({above}, {below})"
    near = min(known, key=lambda number: abs(number - size))
    error = abs(near - size)
    if error <= 1e-12 * near:
        sign = "-" * (value < 0)
        return f"write {sign}{known[near]}"
    return "write it exactly, with sp.sqrt, sp.Rational, sp.exp or sp.log"


def _known_numbers():
    """Numbers that are often written as decimals, and how they are written exactly."""
    known = {
        math.pi: "sp.pi",
        2 * math.pi: "2 * sp.pi",
        math.e: "sp.E",
    }
    for k in range(2, 60):
        root = math.sqrt(k)
        logarithm = math.log(k)
        known[root] = f"sp.sqrt({k})"
        known[1 / root] = f"1 / sp.sqrt({k})"
        known[logarithm] = f"sp.log({k})"
    return known


def _bind(head, name, low, high, body):
    """A sum or product over the symbol `name` of its body."""
    level = free_level(body)
    index = ("Bound", level)
    values = {_name(name): index}
    inner = substitute(body, values)
    return (head, level, low, high, inner)


def free_level(body: Tree) -> int:
    """The first number that no sum or product in the body has for its index."""
    level = 0
    for node in walk(body):
        if node[0] in BINDING:
            level = max(level, node[1])
    return level + 1


def children(tree: Tree) -> tuple[Tree, ...]:
    """The trees right below."""
    return tuple(part for part in tree[1:] if isinstance(part, tuple))


def walk(tree: Tree) -> Iterator[Tree]:
    """The tree and everything in it."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def limit_work(lines: Iterable[Tree]) -> None:
    """Raise Unreadable where the lines of a chain take too long to compare."""
    num_nodes = 0
    for line in lines:
        num_nodes += sum(1 for _ in walk(line))
    if num_nodes > CHAIN_NODES:
        raise Unreadable(
            f"it is too long to check: {num_nodes} symbols, numbers and operations, where {CHAIN_NODES} "
            "are many. Leave out what the derivation does not need"
        )


def _limit_depth(tree):
    """Unreadable where the tree is too deep, level by level."""
    level = [tree]
    for _ in range(DEPTH + 10):
        below: list[Tree] = []
        for node in level:
            below.extend(children(node))
        if not below:
            return
        level = below
    raise Unreadable("the expression is too large to check")


def symbols(tree: Tree) -> set[str]:
    """Names of the symbols in it; those that a sum runs over have none."""
    return {node[1] for node in walk(tree) if node[0] == "Symbol"}


def names_in(tree: Tree) -> set[str]:
    """Names of the symbols and of the lists in it."""
    return {node[1] for node in walk(tree) if node[0] in ("Symbol", "Indexed")}


def heads(tree: Tree) -> set[str]:
    """The heads of everything in it."""
    return {node[0] for node in walk(tree)}


def substitute(tree: Tree, values: dict[str, Tree]) -> Tree:
    """The tree with trees in the place of some symbols."""
    head = tree[0]
    if head == "Symbol":
        return values.get(tree[1], tree)
    if not values or not children(tree):
        return tree
    if head in BINDING:
        return _substitute_below(tree, values)
    parts = changed_parts(tree, lambda part: substitute(part, values))
    return _in_order(head, parts)


def changed_parts(tree: Tree, change: Callable[[Tree], Tree]) -> list[Any]:
    """What stands below the head, every tree among it changed."""
    parts = []
    for part in tree[1:]:
        if isinstance(part, tuple):
            part = change(part)
        parts.append(part)
    return parts


def _in_order(head, parts):
    """A head with its parts, sorted where their order means nothing."""
    if head in SEVERAL:
        parts.sort()
    return (head, *parts)


def _substitute_below(tree, values):
    """A sum with trees in the place of some symbols; sums among these trees keep an index of their own."""
    head, level, low, high, body = tree
    own = ("Bound", -level)  # of this sum alone while trees come in
    free = replaced(body, ("Bound", level), own)
    inner = substitute(free, values)
    new_level = free_level(inner)
    index = ("Bound", new_level)
    new_body = replaced(inner, own, index)
    new_low = substitute(low, values)
    new_high = substitute(high, values)
    return (head, new_level, new_low, new_high, new_body)


def replaced(tree: Tree, old: Tree, new: Tree) -> Tree:
    """The tree with one part in the place of another, wherever it stands."""
    if tree == old:
        return new
    parts = changed_parts(tree, lambda part: replaced(part, old, new))
    return _in_order(tree[0], parts)


def add(*terms: Tree) -> Tree:
    """A sum, its terms in order."""
    return ("Add", *sorted(terms))


def times(*factors: Tree) -> Tree:
    """A product, its factors in order."""
    return ("Mul", *sorted(factors))


def power(base: Tree, exponent: Tree) -> Tree:
    """A power."""
    return ("Pow", base, exponent)


def minus(left: Tree, right: Tree) -> Tree:
    """A difference, as a sum with a negative term."""
    negative = rational(-1)
    opposite = times(negative, right)
    return add(left, opposite)
