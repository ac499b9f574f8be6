"""Chains of symbolic steps: read, compared line by line, shown. Knows no question and no expected value.

A step is `(expression, reason)`; with a relation other than "=" in front it is an inequality,
`("<=", expression, reason)`, or a limit, `("t -> oo", expression, reason)`.
"""

from collections import Counter
from dataclasses import dataclass, field

from attn_utils.course import trees
from attn_utils.course.numpy_symbols import let_numpy_take_symbols
from attn_utils.course.relations import (
    EQUAL,
    compose,
    is_limit,
    latex_of,
    limit_of,
    read_relation,
    weakened,
)
from attn_utils.course.trees import Unreadable
from attn_utils.course.verdict import NotAttempted, NotYet

LIMIT_SECONDS = 2.0  # that SymPy may spend on a limit
_ESCAPE = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {"^": "\\hat{}", "\\": "/"}
_REASON = 300  # letters of a reason that travel

let_numpy_take_symbols()


@dataclass(frozen=True)
class Step:
    """One line of a chain: `relation` ties it to the line above."""

    expression: object
    reason: str
    relation: str = EQUAL


@dataclass
class Derivation:
    """A compared chain: `fault` is a sentence on the line `at` that does not follow, or None."""

    steps: list[Step]
    where: dict = field(default_factory=dict)
    fault: str | None = None
    at: int | None = None
    found: list[str] = field(default_factory=list)  # how each step was found to hold
    together: str = ""  # what the whole chain proves
    notes: list[str] = field(default_factory=list)
    readable: bool = True

    @property
    def start(self):
        return self.steps[0].expression

    @property
    def end(self):
        return self.steps[-1].expression

    def summary(self) -> str:
        """What was found, in a few sentences."""
        return " ".join([*self.notes, self._finding()])

    def _finding(self):
        if self.fault:
            return self.fault
        if len(self.steps) < 2:
            return "the chain has no steps yet."
        ways = [f"{count} {way}" for way, count in Counter(self.found).items()]
        return f"every step holds ({', '.join(ways)}). {self.together}"

    def __repr__(self):
        lines = []
        for k, step in enumerate(self.steps):
            mark = "✘" if k == self.at else " "
            relation = step.relation if k else ""
            lines.append(f"{mark} {relation:>2} {step.expression}   [{step.reason}]")
        return "\n".join([*lines, self.summary()])

    def _repr_markdown_(self):
        if not self.steps:
            return self.summary()
        body = " \\\\\n".join(self._latex_line(k) for k in range(len(self.steps)))
        return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$\n\n{self.summary()}"

    def _latex_line(self, k):
        import sympy as sp

        step = self.steps[k]
        relation = latex_of(step.relation) if k else ""
        shown = sp.latex(step.expression)
        reason = "".join(_ESCAPE.get(letter, letter) for letter in step.reason)
        if k != self.at:
            return rf"{relation} &\;{shown} && \text{{{reason}}}"
        mark = r"\quad\boldsymbol{\times}\ \text{does not follow}"
        return rf"{relation} &\;\boxed{{{shown}}} && \text{{{reason}}}{mark}"


def derive(*steps, where: dict | None = None) -> Derivation:
    """Compare each line of a chain with the line before it, and return the chain, ready to be shown.

    steps: `(expression, reason)` or `(relation, expression, reason)`, the first one the definition.
    where: symbol -> (low, high), the range a symbol lies in; the ends may use other symbols. A symbol with
    two equal ends stands for that value, which is used in the line in which the symbol goes.
    """
    let_numpy_take_symbols()
    made = Derivation([], dict(where or {}))
    for k, step in enumerate(steps):
        try:
            made.steps.append(_read(step))
        except Exception as error:
            made.fault = f"step {k} cannot be read: {' '.join(str(error).split())}."
            made.readable = False
            return made
    look_at(made)
    return made


def _read(step):
    import sympy as sp

    if not isinstance(step, tuple | list) or len(step) not in (2, 3):
        raise Unreadable("write it as (expression, reason) or (relation, expression, reason)")
    relation, expression, reason = step if len(step) == 3 else (EQUAL, *step)
    if isinstance(expression, str):
        raise Unreadable("the expression stands in quotation marks; write it without them")
    try:
        found = sp.sympify(expression, strict=True)
    except sp.SympifyError:
        raise Unreadable(f"a {type(expression).__name__} is not an expression") from None
    if not isinstance(found, sp.Expr):
        raise Unreadable("it is not an expression of numbers and symbols")
    trees.read(trees.write(found))
    return Step(found, str(reason), read_relation(relation))


def look_at(chain: Derivation) -> None:
    """Compare line by line and note in the chain what was found, down to the first fault."""
    lines = [trees.read(trees.write(step.expression)) for step in chain.steps]
    symbols = _first_of_each_name(chain)
    try:
        domain = domain_of(symbols, chain.where)
    except (Unreadable, TypeError, ValueError) as error:
        chain.fault = f"`where` cannot be read: {' '.join(str(error).split())}."
        return
    chain.notes += _merged(lines)
    proved = EQUAL
    limits = []
    for k, step in enumerate(chain.steps[1:], 1):
        outcome = _compare(chain, lines, k, domain)
        together = _and_then(proved, step.relation, limits)
        if not outcome:
            chain.fault = outcome.sentence(f"step {k}")
        elif together is None:
            chain.fault = _turned(k, proved, step.relation)
        elif {name for name, _ in limits} & trees.symbols(lines[k]):
            chain.fault = f"step {k} brings back a symbol that has gone to its limit."
        if chain.fault:
            chain.at = k
            return
        proved = together
        chain.found.append(outcome.detail)
    chain.together = _statement(chain, proved, limits)


def _merged(lines):
    """A note on lines that SymPy made the same."""
    same = [k for k in range(1, len(lines)) if lines[k] == lines[k - 1]]
    if not same:
        return []
    return [f"SymPy shows step {same[0]} like the line above it: the two count as one line."]


def _compare(chain, lines, k, domain):
    from attn_utils.course.compare_lines import compare
    from attn_utils.course.limits import compare_limit

    relation = chain.steps[k].relation
    if not is_limit(relation):
        return compare(lines[k - 1], relation, lines[k], domain)
    name, target = limit_of(relation)
    exact = _limit_by_sympy(chain.steps[k - 1].expression, name, target)
    return compare_limit(lines[k - 1], name, target, lines[k], domain, exact)


def _and_then(proved, relation, limits):
    """What is proved with one more line; a limit is noted in `limits`."""
    if not is_limit(relation):
        return compose(proved, relation)
    limits.append(limit_of(relation))
    return weakened(proved)


def _turned(k, proved, relation):
    return f"step {k} turns round: after {proved} a line with {relation} says nothing of the first line."


def _limit_by_sympy(expression, name, target):
    """The limit as a tree, or None where SymPy does not find it in time."""
    import sympy as sp

    from attn_utils.course.answers import Stopped, within

    symbol = next((s for s in expression.free_symbols if s.name == name), None)
    if symbol is None:
        return None
    infinite = {float("inf"): sp.oo, float("-inf"): -sp.oo}
    end = infinite[target] if isinstance(target, float) else sp.Rational(target)
    try:
        found = within(LIMIT_SECONDS, lambda: sp.limit(expression, symbol, end))
        return trees.read(trees.write(found))
    except (Exception, Stopped):
        return None


def _first_of_each_name(chain):
    """The symbols of the chain; another one of the same name is read as the first, and noted."""
    import sympy as sp

    first = {}
    for k, step in enumerate(chain.steps):
        for symbol in sorted(step.expression.atoms(sp.Symbol), key=str):
            known = first.setdefault(symbol.name, symbol)
            if known != symbol and not chain.notes:
                name = trees.shown_name(symbol.name)
                chain.notes.append(
                    f"In step {k} this is another {name}, declared with other assumptions; it is read "
                    f"as the {name} of the lines above."
                )
    return list(first.values())


def domain_of(symbols, where):
    """The Domain in which SymPy's assumptions and `where` put the symbols."""
    from attn_utils.course.compare_lines import Domain

    ranges = {str(symbol): _assumed(symbol) for symbol in symbols}
    pins = {}
    for symbol, (low, high) in where.items():
        for other in sorted(_free_symbols(low) | _free_symbols(high), key=str):
            ranges.setdefault(other.name, _assumed(other))
        ends = (_end(low), _end(high))
        if ends[0] == ends[1] and ends[0] is not None:
            pins[symbol.name] = ends[0]
        else:
            assumed = ranges.get(symbol.name) or _assumed(symbol)
            ranges[symbol.name] = _narrowed(assumed, *ends)
    return Domain(ranges, pins)


def _free_symbols(end):
    return set(getattr(end, "free_symbols", ()))


def _end(end):
    """One end of a range as a tree; None where there is no end."""
    import sympy as sp

    if isinstance(end, str):
        return trees.decimal(end) if "/" not in end else trees.read([f"Rational {end}"])
    found = sp.sympify(end, strict=True)
    return None if found in (sp.oo, -sp.oo) else trees.read(trees.write(found))


def _assumed(symbol):
    """Where a symbol lies when nothing is declared: its assumptions decide."""
    from attn_utils.course.compare_lines import Range

    if symbol.is_integer and symbol.is_positive:
        return Range(trees.rational(2), whole=True, positive=True)
    low = trees.ZERO if symbol.is_nonnegative else None
    high = trees.ZERO if symbol.is_nonpositive else None
    return Range(low, high, bool(symbol.is_integer), bool(symbol.is_positive))


def _narrowed(assumed, low, high):
    from attn_utils.course.compare_lines import Range

    low = assumed.low if low is None else low
    high = assumed.high if high is None else high
    return Range(low, high, assumed.whole, assumed.positive)


def _statement(chain, proved, limits):
    """What the chain says of its first and its last line, and for which values."""
    if not chain.steps[1:]:
        return ""
    way = " and ".join(f"{name} -> {_shown_target(target)}" for name, target in limits)
    said = f"first line {proved} last line"
    if way:
        tends = {EQUAL: "tends to the last line", "<=": "ends at or below the last line"}
        said = f"the first line {tends.get(proved, 'ends at or above the last line')} as {way}"
    places = _places(chain, {name for name, _ in limits})
    return f"Together: {said}{', for all ' if places else ''}{' and '.join(places)}."


def _shown_target(target):
    return str(target).replace("inf", "oo")


def _places(chain, gone):
    """Where the symbols of the chain lie, in words, those that lie alike together."""
    used = {s for step in chain.steps for s in step.expression.free_symbols}
    by_name = {s.name: s for s in used if s.name not in gone}
    ranged = {symbol.name: ends for symbol, ends in chain.where.items()}
    alike = {}
    for name in sorted(by_name):
        if name not in ranged:
            alike.setdefault(_kind(by_name[name]), []).append(name)
    places = [f"{', '.join(names)}{kind}" for kind, names in alike.items()]
    for name in sorted(by_name.keys() & ranged.keys()):
        low, high = ranged[name]
        places.append(f"{name} = {low}" if str(low) == str(high) else f"{low} <= {name} <= {high}")
    return places


def _kind(symbol):
    if symbol.is_integer:
        return " = 2, 3, ..." if symbol.is_positive else " whole"
    if symbol.is_positive:
        return " > 0"
    return " >= 0" if symbol.is_nonnegative else ""


def as_data(chain) -> list:
    """The lines of a Derivation as `[[relation, reason, tokens], ...]`: lists of strings."""
    if chain is None or chain is ...:
        raise NotAttempted
    if not isinstance(chain, Derivation):
        kind = type(chain).__name__
        raise NotYet(f"a chain made with derive(...) is expected, but this is a {kind}.")
    if not chain.readable:
        raise NotYet(chain.fault)
    return [
        [step.relation, step.reason[:_REASON], trees.write(step.expression)] for step in chain.steps
    ]
