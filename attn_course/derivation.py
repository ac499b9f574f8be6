"""Chains of symbolic steps: read, compared line by line, shown. Knows no question and no expected value.

A step is `(expression, reason)`; with a relation other than "=" in front it is an inequality,
`("<=", expression, reason)`, or a limit, `("t -> oo", expression, reason)`.
"""

from dataclasses import dataclass, field

from attn_course import trees
from attn_course.relations import is_limit, latex_of, limit_of, read_relation
from attn_course.trees import Unreadable
from attn_course.verdict import NotAttempted, NotYet

_ESCAPE = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {"^": "\\hat{}", "\\": "/"}
_REASON = 300  # letters of a reason that travel


@dataclass(frozen=True)
class Step:
    """One line of a chain: `relation` ties it to the line above."""

    expression: object
    reason: str
    relation: str = "="


@dataclass
class Derivation:
    """A compared chain: `fault` is a sentence on the line `at` that does not follow, or None."""

    steps: list[Step]
    where: dict = field(default_factory=dict)
    fault: str | None = None
    at: int | None = None
    found: list[str] = field(default_factory=list)  # how each step was found to hold
    readable: bool = True

    @property
    def start(self):
        return self.steps[0].expression

    @property
    def end(self):
        return self.steps[-1].expression

    def summary(self) -> str:
        """One sentence on the whole chain."""
        if self.fault:
            return self.fault
        if len(self.steps) < 2:
            return "the chain has no steps yet."
        ways = {way: self.found.count(way) for way in self.found}
        parts = [f"{count} {way}" for way, count in ways.items()]
        return f"every step holds ({', '.join(parts)})."

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
        if k == self.at:
            shown = rf"\boxed{{{shown}}}"
            reason = rf"{reason} \quad \times\ \text{{does not follow}}"
        return rf"{relation} &\;{shown} && \text{{{reason}}}"


def derive(*steps, where=None) -> Derivation:
    """Compare each line of a chain with the line before it, and return the chain, ready to be shown.

    steps: `(expression, reason)` or `(relation, expression, reason)`, the first one the definition.
    where: symbol -> (low, high), the range a symbol is drawn from; the ends may use other symbols.
    """
    chain = []
    for k, step in enumerate(steps):
        try:
            chain.append(_read(step))
        except Exception as error:
            fault = f"step {k} cannot be read: {' '.join(str(error).split())}."
            return Derivation(chain, dict(where or {}), fault, readable=False)
    made = Derivation(chain, dict(where or {}))
    look_at(made)
    return made


def _read(step):
    import sympy as sp

    if not isinstance(step, tuple | list) or len(step) not in (2, 3):
        raise Unreadable("write it as (expression, reason) or (relation, expression, reason)")
    relation, expression, reason = step if len(step) == 3 else ("=", *step)
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
    from attn_course.compare_lines import HOLDS, compare
    from attn_course.limits import compare_limit

    lines = [trees.read(trees.write(step.expression)) for step in chain.steps]
    try:
        domain = domain_of(_all_symbols(chain), chain.where)
    except Unreadable as error:
        chain.fault = f"`where` cannot be read: {error}."
        return
    for k, step in enumerate(chain.steps[1:], 1):
        if is_limit(step.relation):
            outcome = compare_limit(lines[k - 1], *limit_of(step.relation), lines[k], domain)
        else:
            outcome = compare(lines[k - 1], step.relation, lines[k], domain)
        if outcome.state != HOLDS:
            chain.fault = outcome.sentence(f"step {k}")
            chain.at = k
            return
        chain.found.append(outcome.detail)


def _all_symbols(chain):
    """Every symbol of the chain, in the order in which they appear."""
    found = {}
    for step in chain.steps:
        for symbol in sorted(step.expression.atoms(_symbol_class()), key=str):
            found.setdefault(symbol.name, symbol)
    return list(found.values())


def _symbol_class():
    import sympy as sp

    return sp.Symbol


def domain_of(symbols, where):
    """The Domain in which SymPy's assumptions and `where` put the symbols."""
    from attn_course.compare_lines import Domain

    ranges = {symbol.name: _assumed(symbol) for symbol in symbols}
    pins = {}
    for symbol, ends in where.items():
        low, high = (_end(end) for end in ends)
        for name in {n for end in (low, high) if end for n in trees.symbols(end)} - set(ranges):
            ranges[name] = _assumed_in(ends, name)
        if low == high and low is not None:
            pins[symbol.name] = low
        ranges[symbol.name] = _narrowed(_assumed(symbol), low, high)
    return Domain(ranges, pins)


def _end(end):
    """One end of a range as a tree; None where there is no end."""
    import sympy as sp

    if isinstance(end, str):
        return trees.decimal(end) if "/" not in end else trees.read([f"Rational {end}"])
    found = sp.sympify(end, strict=True)
    return None if found in (sp.oo, -sp.oo) else trees.read(trees.write(found))


def _assumed_in(ends, name):
    found = [s for end in ends for s in getattr(end, "free_symbols", ()) if s.name == name]
    return _assumed(found[0])


def _assumed(symbol):
    """Where a symbol lies when nothing is declared: its assumptions decide."""
    from attn_course.compare_lines import Range

    if symbol.is_integer and symbol.is_positive:
        return Range(trees.rational(2), whole=True, positive=True)
    low = trees.ZERO if symbol.is_nonnegative else None
    high = trees.ZERO if symbol.is_nonpositive else None
    return Range(low, high, bool(symbol.is_integer), bool(symbol.is_positive))


def _narrowed(assumed, low, high):
    from attn_course.compare_lines import Range

    low = assumed.low if low is None else low
    high = assumed.high if high is None else high
    return Range(low, high, assumed.whole, assumed.positive)


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
