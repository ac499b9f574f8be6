"""Judge a derivation: starts at the definition, every step holds, ends at the required function.

A chain travels as nested lists of strings, so that the grader can read one from a process it does
not trust. Nothing in it is ever evaluated as code.
"""

import re
from itertools import pairwise

from attn_course.derivation import Derivation, Step, compare
from attn_course.verdict import NotAttempted, NotYet

_CONSTANTS = ("pi", "E", "oo", "I", "GoldenRatio", "EulerGamma")
_FUNCTIONS = (
    "Add Mul Pow Abs Max Min Sum Product Integral Tuple Piecewise ExprCondPair exp log sin cos tan"
    " sinh cosh tanh coth sech atan asinh acosh atanh erf erfc erfinv gamma factorial binomial"
).split()
_RELATION = re.compile(r"=|[<>]=?|\w+ *-> *[+-]?(oo|\d{1,9}(/\d{1,9})?)", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,40}([./]\d{1,40})?(e[+-]?\d{1,2})?", re.ASCII)
_GROWS = ("Pow", "factorial", "gamma", "binomial")  # a few digits in, millions out
_LARGEST = 2_000  # nodes in one expression
_LONGEST = 10_000  # binary digits of one number


def as_data(chain):
    """The steps of a Derivation as `[[relation, reason, tree], ...]`, trees of strings."""
    if chain is None or chain is ...:
        raise NotAttempted
    if not isinstance(chain, Derivation):
        raise NotYet(f"a chain made with derive(...) is expected, but this is a {_kind(chain)}.")
    if chain.fault and "cannot be read" in chain.fault:
        raise NotYet(chain.fault)
    return [[step.relation, step.reason, _tree(step.expression)] for step in chain.steps]


def _kind(value):
    return type(value).__name__


def _tree(expression):
    if expression.is_Symbol:
        return ["Symbol", expression.name]
    if expression.is_Rational:
        return ["Rational", str(expression)]
    if expression.is_Float:
        return ["Float", str(expression)]
    if not expression.args:
        return ["Constant", {"Exp1": "E", "Infinity": "oo"}.get(_kind(expression), str(expression))]
    return [_kind(expression), *map(_tree, expression.args)]


def from_data(data, symbols):
    """The steps in `data` as SymPy again, its symbols replaced by ours of the same name."""
    budget = [_LARGEST]
    return [
        Step(_expression(tree, symbols, budget), str(why), _known(rel)) for rel, why, tree in data
    ]


def _known(relation):
    """A relation that is safe to read: what a limit tends to is later parsed, and parsing runs code."""
    if not _RELATION.fullmatch(str(relation)):
        raise NotYet("a line of the chain is tied to the one before by no relation of this course.")
    return str(relation)


def _expression(tree, symbols, budget):
    import sympy as sp

    budget[0] -= 1
    if budget[0] < 0:
        raise NotYet("an expression in the chain is too large to check.")
    head, *rest = tree
    if head == "Symbol":
        return symbols.get(rest[0], sp.Symbol(rest[0], real=True))
    if head in ("Rational", "Float") and _NUMBER.fullmatch(rest[0]):
        return getattr(sp, head)(rest[0])
    if head == "Constant" and rest[0] in _CONSTANTS:
        return getattr(sp, rest[0])
    if head in _FUNCTIONS:
        parts = [_expression(item, symbols, budget) for item in rest]
        if _length(head, parts) > _LONGEST:
            raise NotYet("a number in the chain is too large to check.")
        return getattr(sp, head)(*parts)
    raise NotYet(f"{head} is not something a chain of this course can use.")


def _length(head, parts):
    """About how many binary digits SymPy would need to work out `head` of numbers at once."""
    import mpmath

    digits = [max(abs(part.p), part.q).bit_length() for part in parts if part.is_Rational]
    if head in _GROWS and len(digits) == len(parts) > 0:
        return digits[0] * abs(parts[-1])
    return max((mpmath.mag(part) for part in parts if part.is_Float and part), default=0)


def judge_chain(answer, *, start, goal, symbols, where=None, only=None, steps=2, name="the chain"):
    """Raise NotYet unless the chain goes from `start` to something equal to `goal`, step by step.

    start: the definition. goal: any expression equal to the required end, which is never shown.
    symbols: the official symbols, as a tuple. only: those the last line may use.
    where: as in `derive`. steps: how many steps (lines after the first) there must be at least.
    Returns the last expression.
    """
    chain = from_data(answer.via(as_data), {symbol.name: symbol for symbol in symbols})
    if len(chain) < 2:
        raise NotAttempted
    if chain[0].expression != start:
        raise NotYet(f"{name} must start at the definition, which is given above it.")
    for k, (before, step) in enumerate(pairwise(chain), 1):
        holds, detail = compare(before.expression, step, where, prove=False)
        if not holds:
            raise NotYet(f"step {k} of {name} does not follow from the line before: {detail}.")
    end = chain[-1].expression
    _judge_end(end, goal, where or {}, only, name)
    moves = sum(a.expression != b.expression for a, b in pairwise(chain))
    if moves < steps:
        raise NotYet(f"{name} holds, but has {moves} of at least {steps} steps: show the way.")
    return end


def _judge_end(end, goal, where, only, name):
    extra = sorted(s.name for s in end.free_symbols - set(only or end.free_symbols))
    if extra:
        raise NotYet(f"the last line of {name} still contains {', '.join(extra)}.")
    holds, detail = compare(end, Step(goal, ""), where, prove=False)
    if not holds:
        raise NotYet(
            f"every step of {name} holds, but its last line is not what is asked for: {detail}, "
            "where the right-hand number is the one required."
        )
