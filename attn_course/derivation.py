"""Chains of symbolic steps, each one checked against the one before; knows nothing of questions.

A step is `(expression, reason)`; with a relation other than "=" in front it is an inequality,
`("<=", expression, reason)`, or a limit, `("t -> oo", expression, reason)`. Steps are first compared
at random points in high precision, which finds a point where a wrong step fails; then SymPy tries to
prove those that agree.
"""

import functools
import random
from dataclasses import dataclass, field

POINTS = 40  # random points per step
DIGITS = 30  # significant digits at each point
MOST = 1_000  # terms of a sum that is written out
HUGE = 10_000  # binary digits that the argument of a function may have before its point
_FUNCTIONS = "exp sin cos tan sinh cosh tanh coth sech erf erfc gamma factorial binomial".split()
_COMPARE = {
    "=": lambda gap, size: abs(gap) <= size,
    "<=": lambda gap, size: gap <= size,
    ">=": lambda gap, size: gap >= -size,
    "<": lambda gap, size: gap < -size,
    ">": lambda gap, size: gap > size,
}
_ESCAPE = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {"^": "\\hat{}", "\\": "/"}
_LATEX = {"=": "=", "<=": r"\le", ">=": r"\ge", "<": "<", ">": ">"}


@dataclass(frozen=True)
class Step:
    """One line of a chain: `relation` ties it to the line above."""

    expression: object
    reason: str
    relation: str = "="


@dataclass
class Derivation:
    """A checked chain: `fault` is a sentence on the first step that does not follow, or None."""

    steps: list[Step]
    where: dict = field(default_factory=dict)
    fault: str | None = None
    proved: int = 0

    def __post_init__(self):
        for k in range(1, len(self.steps)):
            holds, detail = compare(self.steps[k - 1].expression, self.steps[k], self.where)
            if not holds:
                self.fault = f"step {k} does not follow from the line before: {detail}."
                return
            self.proved += detail == "proved"

    @property
    def start(self):
        return self.steps[0].expression

    @property
    def end(self):
        return self.steps[-1].expression

    def summary(self):
        """One sentence on the whole chain."""
        if self.fault:
            return self.fault
        count = len(self.steps) - 1
        if count < 1:
            return "the chain has no steps yet."
        sampled = count - self.proved
        parts = [f"{self.proved} proved by SymPy"] if self.proved else []
        parts += [f"{sampled} agreed at {POINTS} random points to {DIGITS} digits"] * bool(sampled)
        return f"every step holds ({', '.join(parts)})."

    def __repr__(self):
        lines = [f"  {step.relation:>2} {step.expression}   [{step.reason}]" for step in self.steps]
        first = ["   " + line.lstrip(" =") for line in lines[:1]]
        return "\n".join([*first, *lines[1:], self.summary()])

    def _repr_markdown_(self):
        import sympy as sp

        lines = []
        for k, step in enumerate(self.steps):
            relation = "" if k == 0 else _relation_latex(step.relation)
            reason = "".join(_ESCAPE.get(letter, letter) for letter in step.reason)
            lines.append(rf"{relation} &\;{sp.latex(step.expression)} && \text{{{reason}}}")
        if not lines:
            return self.summary()
        body = " \\\\\n".join(lines)
        return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$\n\n{self.summary()}"


def _relation_latex(relation):
    if "->" not in relation:
        return _LATEX[relation]
    name, _, target = (part.strip() for part in relation.partition("->"))
    return rf"\xrightarrow{{{name}\to {target.replace('oo', chr(92) + 'infty')}}}"


def derive(*steps, where=None):
    """Check a chain of steps and return it, ready to be shown.

    steps: `(expression, reason)` or `(relation, expression, reason)`, the first one the definition.
    where: symbol -> (low, high), the range a symbol is drawn from; the ends may use other symbols.
    """
    chain = []
    for k, step in enumerate(steps):
        try:
            chain.append(_read(step))
        except Exception as error:
            fault = f"step {k} cannot be read: {' '.join(str(error).split())}."
            return Derivation(chain[:1], dict(where or {}), fault)
    return Derivation(chain, dict(where or {}))


def _read(step):
    import sympy as sp

    if not isinstance(step, tuple | list) or len(step) not in (2, 3):
        raise ValueError("write it as (expression, reason) or (relation, expression, reason)")
    relation, expression, reason = step if len(step) == 3 else ("=", *step)
    relation = str(relation).strip()
    if relation not in _COMPARE and "->" not in relation:
        raise ValueError(f'"{relation}" is not a relation; use =, <=, >=, <, > or "t -> oo"')
    expression = sp.sympify(expression)
    if not isinstance(expression, sp.Expr):
        raise ValueError(f"{expression} is not an expression of numbers and symbols")
    return Step(expression, str(reason), relation)


def compare(before, step, where=None, prove=True):
    """Does `step` follow from `before`? (True, "proved" or "sampled") or (False, why not)."""
    if "->" in step.relation:
        return _compare_limit(before, step, where or {}, prove)
    left_of, right_of = evaluator(before), evaluator(step.expression)
    draw = sampler(before.free_symbols | step.expression.free_symbols, where or {})
    for _ in range(POINTS):
        point = draw()
        left, right = left_of(point), right_of(point)
        if left is None or right is None:
            return False, f"at {_show(point)} one side has no finite real value"
        size = 10.0 ** (3 - DIGITS) * max(1, abs(left), abs(right))
        if not _COMPARE[step.relation](left - right, size):
            return (
                False,
                f"at {_show(point)} it says {_short(left)} {step.relation} {_short(right)}",
            )
    return True, "proved" if prove and _prove(before, step) else "sampled"


def _prove(before, step):
    """Whether SymPy shows the difference to be zero, or of the right sign, without sampling."""
    import sympy as sp

    gap = sp.simplify(sp.expand(before - step.expression))
    if step.relation == "=":
        return gap == 0 or sp.expand(sp.numer(sp.together(gap))) == 0
    sign = gap.is_nonpositive if "<" in step.relation else gap.is_nonnegative
    return bool(sign) and step.relation in ("<=", ">=")


def _compare_limit(before, step, where, prove):
    import sympy as sp

    name, _, target = (part.strip() for part in step.relation.partition("->"))
    symbol = next((s for s in before.free_symbols if s.name == name), None)
    if symbol is None:
        return False, f"{name} does not occur in it"
    target = sp.sympify(target)
    others = {s: ends for s, ends in where.items() if s != symbol}
    draw = sampler((before.free_symbols | step.expression.free_symbols) - {symbol}, others)
    left_of, right_of = evaluator(before), evaluator(step.expression)
    for _ in range(5):
        point = draw()
        end = right_of(point)
        near = [left_of({**point, symbol: _approach(target, k)}) for k in (1, 2, 3, 4)]
        if end is None or None in near or not _closes_in([abs(x - end) for x in near], abs(end)):
            return False, f"near {name} = {target} at {_show(point)} it is {_short(near[-1])}"
    return True, "proved" if prove and _limit_is(before, symbol, target, step) else "sampled"


def _closes_in(gaps, size):
    return gaps[-1] <= gaps[0] and gaps[-1] < 1e-2 * max(1, size)


def _limit_is(before, symbol, target, step):
    import sympy as sp

    try:
        return sp.simplify(sp.limit(before, symbol, target) - step.expression) == 0
    except NotImplementedError:  # SymPy's word for a limit it cannot find
        return False


def _approach(target, k):
    import mpmath
    import sympy as sp

    if target.is_infinite:
        return mpmath.mpf(10) ** k * (1 if target == sp.oo else -1)
    return mpmath.mpf(float(target)) + mpmath.mpf(10) ** (-2 * k)


def sampler(symbols, where):
    """A function that draws points: symbol -> number, each inside its range, integers whole."""
    import mpmath
    import sympy as sp

    rng = random.Random(0)
    ends = {s: tuple(map(sp.sympify, pair)) for s, pair in where.items()}
    wanted = set(symbols) | {s for pair in ends.values() for end in pair for s in end.free_symbols}
    order = sorted(wanted - set(ends), key=str) + [s for s in ends if s in wanted]
    ranges = [(s, *map(evaluator, ends.get(s) or map(sp.sympify, _range(s)))) for s in order]

    def draw():
        point = {}
        for symbol, low_of, high_of in ranges:
            low, high = low_of(point), high_of(point)
            if symbol.is_integer:
                point[symbol] = mpmath.mpf(rng.randint(int(mpmath.ceil(low)), int(high)))
            else:
                with mpmath.workdps(DIGITS + 10):
                    point[symbol] = low + (high - low) * rng.randint(1, 10**6 - 1) / 10**6
        return point

    return draw


def _range(symbol):
    """Where a symbol is drawn from when nothing is declared: its assumptions decide."""
    if symbol.is_integer:
        return (2, 9)
    if symbol.is_positive:
        return ("1/10", 4)
    return (-3, 3)


@functools.lru_cache(maxsize=128)  # a class hands in the same few expressions again and again
def evaluator(expression):
    """A function from a point to the value in high precision, None where it is not finite and real."""
    import mpmath

    symbols, compiled = sorted(expression.free_symbols, key=str), _compiler(expression)

    def value(point):
        with mpmath.workdps(DIGITS + 10):
            found = mpmath.mpmathify(compiled(point)(*(point[s] for s in symbols)))
            real = mpmath.isfinite(found) and abs(found.imag) < mpmath.mpf(10) ** (5 - DIGITS)
            return found.real if real else None

    def guarded(point):
        try:
            return value(point)
        except (ArithmeticError, TypeError, ValueError, NameError):
            return None

    return guarded


def _compiler(expression):
    """A function from a point to the expression as a function of its symbols, sorted by name.

    The integers of the point are put into sums, products and integrals, which are then worked out.
    """
    import sympy as sp

    symbols = sorted(expression.free_symbols, key=str)
    compound = expression.has(sp.Sum, sp.Product, sp.Integral, sp.Limit, sp.Derivative)
    counted = [s for s in symbols if compound and s.is_integer]

    @functools.cache
    def compiled(*counts):
        exact = expression.subs(dict(zip(counted, map(sp.Integer, counts), strict=True)))
        limits = [end for s in exact.atoms(sp.Sum, sp.Product) for end in sum(s.limits, ())]
        if any(end.is_Integer and abs(end) > MOST for end in limits):
            raise OverflowError
        return sp.lambdify(symbols, *_within_reason(exact.doit() if compound else exact))

    return lambda point: compiled(*(int(point[s]) for s in counted))


def _within_reason(expression):
    """`expression` and the modules to run it with, where no argument is so large that it takes hours.

    The sine of 2^n needs n digits of pi; and x ** y is such a function of y.
    """
    import mpmath
    import sympy as sp

    def bounded(function, first=0):
        def run(*args):
            if max(map(mpmath.mag, args[first:])) > HUGE:
                raise OverflowError
            return function(*args)

        return run

    functions = {name: bounded(getattr(mpmath, name)) for name in _FUNCTIONS}
    power = sp.Function("bounded_power")
    functions[power.__name__] = bounded(mpmath.power, first=1)
    powers = expression.replace(lambda e: e.is_Pow, lambda e: power(*e.args))
    return powers, [functions, "mpmath"]


def _short(value):
    return "no number" if value is None else f"{float(value):.6g}"


def _show(point):
    return ", ".join(
        f"{s} = {_short(v)}" for s, v in sorted(point.items(), key=lambda x: x[0].name)
    )
