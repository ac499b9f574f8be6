"""Expressions as trees of plain tuples, made of a short list of heads.

Evaluates nothing, reads no text as code, and knows neither chains nor questions.

A tree is ("Symbol", name), ("Rational", p, q), ("Constant", "pi"), ("Bound", k), ("Indexed", name, index),
("Sum" or "Product", k, low, high, body) with its variable ("Bound", k), or (head, *arguments).
A tree travels as a list of strings in the order in which a stack of numbers would work it out.
"""

import math
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

NODES = 1_500  # in one expression
CHAIN_NODES = 6_000  # in all lines of a chain
DEPTH = 60
NAME = 40  # letters of a name
BINDERS = 8  # sums and products in one expression
FUNCTIONS = (
    "exp log sin cos tan sinh cosh tanh coth sech csch erf erfc Abs".split()
)  # of one argument
SEVERAL = ("Add", "Mul", "Max", "Min")
BINDING = ("Sum", "Product")
_WHOLE = re.compile(r"-?[0-9]{1,60}(/[0-9]{1,60})?")
_DECIMAL = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?")
_PLAIN_NAME = re.compile(r"[^\W\d]\w{0,19}")
ZERO = ("Rational", 0, 1)
ONE = ("Rational", 1, 1)

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


def write(expression) -> list[str]:
    """A SymPy expression as a list of strings, the arguments of a head before the head."""
    tokens = []
    _write(expression, tokens, 0)
    return tokens


def _write(expression, tokens, depth):
    if len(tokens) > NODES or depth > DEPTH:
        raise Unreadable("the expression is too large to check")
    head = type(expression).__name__
    if head in BINDING:
        return _write_binding(expression, tokens, depth)
    if head == "Indexed":
        _write_all(expression.indices, tokens, depth)
        tokens.append(f"Indexed {expression.base.label}")
        return None
    if head == "Exp1":
        tokens.extend(["Rational 1", "exp 1"])
        return None
    if expression.is_Symbol:
        tokens.append(f"Symbol {expression.name}")
        return None
    if expression.is_Rational:
        tokens.append(f"Rational {expression.p}/{expression.q}")
        return None
    if expression.is_Float:
        tokens.append(f"Decimal {float(expression)!r}")
        return None
    if not expression.args:
        tokens.append(f"Constant {expression}")
        return None
    _allowed(head)
    _write_all(expression.args, tokens, depth)
    tokens.append(f"{head} {len(expression.args)}")
    return None


def _write_all(expressions, tokens, depth):
    for expression in expressions:
        _write(expression, tokens, depth + 1)


def _write_binding(expression, tokens, depth):
    """Several limits are several sums, the first one innermost."""
    _write(expression.function, tokens, depth + 1)
    for limits in expression.limits:
        if len(limits) != 3:
            raise Unreadable("a sum needs its variable and both ends")
        variable, low, high = limits
        _write(low, tokens, depth + 1)
        _write(high, tokens, depth + 1)
        tokens.append(f"{type(expression).__name__} {variable.name}")


def read(tokens: list[str]) -> Tree:
    """The tree that `tokens` spell; Unreadable says in a sentence what is not allowed in it."""
    if not isinstance(tokens, list) or not 0 < len(tokens) <= NODES + DEPTH:
        raise Unreadable("the expression is too large to check")
    stack = []
    bound = 0
    for token in tokens:
        head, _, detail = str(token).partition(" ")
        if head in BINDING:
            bound += 1
            _enough(stack, 3, bound <= BINDERS)
            body, low, high = stack[-3:]
            stack[-3:] = [_bind(head, detail, low, high, body)]
        else:
            node, taken = _node(head, detail, stack)
            _enough(stack, taken, True)
            stack[len(stack) - taken :] = [node]
    if len(stack) != 1:
        raise Unreadable("the expression is not complete")
    _limit_depth(stack[0])
    return stack[0]


def _enough(stack, taken, allowed):
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
    taken = int(detail) if re.fullmatch("[0-9]{1,4}", detail) else 0
    arguments = stack[len(stack) - taken :] if taken <= len(stack) else []
    return _application(head, arguments), taken


def _allowed(head):
    if head != "Pow" and head not in SEVERAL and head not in FUNCTIONS:
        shown = head if _PLAIN_NAME.fullmatch(head) else "this"
        raise Unreadable(f"{shown} is not something a chain of this course can use")


def _application(head, arguments):
    _allowed(head)
    if head in SEVERAL and arguments:
        return (head, *sorted(arguments))
    if head == "Pow" and len(arguments) == 2:
        return ("Pow", *arguments)
    if head in FUNCTIONS and len(arguments) == 1:
        return (head, *arguments)
    raise Unreadable("the expression is not complete")


def _name(text):
    if not 0 < len(text) <= NAME:
        raise Unreadable("the name of a symbol is too long")
    return text


def shown_name(name: str) -> str:
    """`name` as it may stand in a message: a plain word, whatever a symbol was called."""
    return name if _PLAIN_NAME.fullmatch(name) else "a symbol with an odd name"


def _whole(text):
    if not _WHOLE.fullmatch(text):
        raise Unreadable("a number in it is too long to check")
    above, _, below = text.partition("/")
    if below and not int(below):
        raise Unreadable("a number in it is divided by zero")
    return rational(Fraction(int(above), int(below or 1)))


def _constant(text):
    if text == "pi":
        return ("Constant", "pi")
    shown = text if text in ("oo", "-oo", "zoo", "nan", "I") else "this"
    raise Unreadable(f"{shown} is not a real number")


def decimal(text: str) -> Tree:
    """0.25 is a quarter; a decimal that was cut off is refused, with what to write instead."""
    if not _DECIMAL.fullmatch(text):
        raise Unreadable("a number in it is not a real number of moderate size")
    value = Fraction(text)
    if len(text.partition("e")[0].strip("-0.").replace(".", "")) <= 6:
        return rational(value)
    raise Unreadable(f"{text} is a rounded number: {_exactly(float(value))}")


def _exactly(value):
    """What to write for a number that looks like a rounded root, fraction, pi, e or logarithm."""
    known = {math.pi: "sp.pi", 2 * math.pi: "2 * sp.pi", math.e: "sp.E"}
    for k in range(2, 60):
        known[math.sqrt(k)] = f"sp.sqrt({k})"
        known[1 / math.sqrt(k)] = f"1 / sp.sqrt({k})"
        known[math.log(k)] = f"sp.log({k})"
    fraction = Fraction(abs(value)).limit_denominator(200)
    known[float(fraction)] = f"sp.Rational({fraction.numerator}, {fraction.denominator})"
    near = min(known, key=lambda number: abs(number - abs(value)))
    if abs(near - abs(value)) <= 1e-12 * near:
        return f"write {'-' * (value < 0)}{known[near]}"
    return "write it exactly, with sp.sqrt, sp.Rational, sp.exp or sp.log"


def _bind(head, name, low, high, body):
    level = 1 + max((node[1] for node in walk(body) if node[0] in BINDING), default=0)
    return (head, level, low, high, substitute(body, {_name(name): ("Bound", level)}))


def children(tree: Tree) -> tuple[Tree, ...]:
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
    num_nodes = sum(1 for line in lines for _ in walk(line))
    if num_nodes > CHAIN_NODES:
        raise Unreadable(
            f"it is too long to check: {num_nodes} symbols, numbers and operations, where {CHAIN_NODES} "
            "are many. Leave out what the derivation does not need"
        )


def _limit_depth(tree):
    level = [tree]
    for _ in range(DEPTH + 10):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise Unreadable("the expression is too large to check")


def symbols(tree: Tree) -> set[str]:
    """Names of the symbols in it; those that a sum runs over have none."""
    return {node[1] for node in walk(tree) if node[0] == "Symbol"}


def names_in(tree: Tree) -> set[str]:
    """Names of the symbols and of the lists in it."""
    return {node[1] for node in walk(tree) if node[0] in ("Symbol", "Indexed")}


def heads(tree: Tree) -> set[str]:
    return {node[0] for node in walk(tree)}


def substitute(tree: Tree, values: dict[str, Tree]) -> Tree:
    """The tree with trees in the place of some symbols."""
    if tree[0] == "Symbol":
        return values.get(tree[1], tree)
    if not values or not children(tree):
        return tree
    if tree[0] in BINDING:
        return _substitute_below(tree, values)
    parts = [substitute(part, values) if isinstance(part, tuple) else part for part in tree[1:]]
    return (tree[0], *(sorted(parts) if tree[0] in SEVERAL else parts))


def _substitute_below(tree, values):
    """A sum with trees in the place of some symbols; sums among these trees keep an index of their own."""
    head, level, low, high, body = tree
    own = f"#{level}"  # no symbol has such a name
    body = substitute(_replaced(body, ("Bound", level), ("Symbol", own)), values)
    level = 1 + max((node[1] for node in walk(body) if node[0] in BINDING), default=0)
    body = _replaced(body, ("Symbol", own), ("Bound", level))
    return (head, level, substitute(low, values), substitute(high, values), body)


def _replaced(tree, old, new):
    """The tree with one part in the place of another, wherever it stands."""
    if tree == old:
        return new
    parts = [_replaced(part, old, new) if isinstance(part, tuple) else part for part in tree[1:]]
    return (tree[0], *(sorted(parts) if tree[0] in SEVERAL else parts))


def add(*terms: Tree) -> Tree:
    return ("Add", *sorted(terms))


def times(*factors: Tree) -> Tree:
    return ("Mul", *sorted(factors))


def power(base: Tree, exponent: Tree) -> Tree:
    return ("Pow", base, exponent)


def minus(left: Tree, right: Tree) -> Tree:
    return add(left, times(rational(-1), right))
