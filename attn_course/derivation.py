"""Chains of symbolic steps: read, compared line by line, shown.

A step is `(expression, reason)`; with a relation other than "=" in front it is an inequality,
`("<=", expression, reason)`, or a limit, `("t -> oo", expression, reason)`.
"""

import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from attn_course.answers import NotAttempted, NotYet
from attn_course.numpy_symbols import let_numpy_take_symbols
from attn_course.proofs import trees
from attn_course.proofs.relations import (
    EQUAL,
    compose,
    is_limit,
    latex_of,
    limit_of,
    read_relation,
    weakened,
)
from attn_course.proofs.trees import Unreadable

_NO_ASSUMPTIONS = {"commutative": True}
LIMIT_SECONDS = 2.0  # that SymPy may spend on a limit
_ESCAPE = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {"^": "\\hat{}", "\\": "/"}
_REASON = 300  # letters of a reason that travel
Show = Callable[[Any], str]  # writes an expression
_TENDS = {EQUAL: "tends to", "<=": "ends at or below", ">=": "ends at or above"}

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

    part: ClassVar[str] = "derive"  # the part of a question that chains answer
    steps: list[Step]
    where: dict = field(default_factory=dict)
    fault: str | None = None
    at: int | None = None
    found: list[str] = field(default_factory=list)  # how each step was found to hold
    unproved: list[int] = field(default_factory=list)  # steps that numbers do not refute
    proved: str = EQUAL  # how the first line compares with the last
    limits: list[tuple] = field(default_factory=list)  # what went where on the way
    notes: list[str] = field(default_factory=list)
    readable: bool = True

    @property
    def start(self) -> Any:
        return self.steps[0].expression

    @property
    def end(self) -> Any:
        return self.steps[-1].expression

    def summary(self, show: Show = str) -> str:
        """What was found, in a few sentences; `show` writes an expression."""
        finding = self._finding(show)
        capital = finding[0].upper()
        sentences = [*self.notes, capital + finding[1:]]
        return " ".join(sentences)

    def _finding(self, show):
        if self.fault:
            return self.fault
        if len(self.steps) < 2:
            return "the chain has no steps yet."
        counts = Counter(self.found)
        ways = ", ".join(f"{count} {way}" for way, count in counts.items())
        found = f"every step holds ({ways})"
        if self.unproved:
            steps = " and ".join(f"step {k}" for k in self.unproved)
            found = f"no step fails ({ways}), but points are no proof of {steps}"
        return f"{found}. {self.together(show)}"

    def together(self, show: Show = str) -> str:
        """What the chain says of its first and its last line, and for which values."""
        said = f"first line {self.proved} last line"
        if self.limits:
            ways = [f"{name} -> {_shown_target(target)}" for name, target in self.limits]
            said = f"first line {_TENDS[self.proved]} last line as {' and '.join(ways)}"
        ranges, values = _places(self, show)
        if ranges:
            said += f", for all {' and '.join(ranges)}"
        if values:
            said += f", with {' and '.join(values)}"
        ending = "" if said.endswith(".") else "."
        return f"Together: {said}{ending}"

    def __repr__(self):
        lines = []
        for k, step in enumerate(self.steps):
            mark = "✘" if k == self.at else " "
            relation = step.relation if k else ""
            lines.append(f"{mark} {relation:>2} {step.expression}   [{step.reason}]")
        lines.append(self.summary())
        return "\n".join(lines)

    def _repr_markdown_(self):
        if not self.steps:
            return self.summary()
        lines = map(self._latex_line, range(len(self.steps)))
        body = " \\\\\n".join(lines)
        return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$\n\n{self.summary(_inline)}"

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


def _inline(expression):
    """An expression inside a sentence in Markdown."""
    import sympy as sp

    return f"${sp.latex(expression)}$"


def derive(*steps: Any, where: Any = None) -> Derivation:
    """Compare each line of a chain with the line before it, and return the chain, ready to be shown.

    steps: `(expression, reason)` or `(relation, expression, reason)`, the first one the definition.
    where: symbol -> (low, high), the range a symbol lies in; the ends may use other symbols. A symbol with
    two equal ends stands for that value, which is used in the line in which the symbol goes.
    """
    let_numpy_take_symbols()
    if where is not None and not isinstance(where, Mapping):
        fault = "`where` is no dictionary: write where={symbol: (low, high)}."
        return Derivation([], {}, fault=fault, readable=False)
    made = Derivation([], dict(where or {}))
    for k, step in enumerate(steps):
        try:
            made.steps.append(_read(step))
        except Exception as error:
            made.fault = f"step {k} cannot be read: {_one_line(error)}."
            made.readable = False
            return made
    try:
        look_at(made)
    except Exception as error:  # a derivation never stops a notebook
        made.fault = f"whether the chain holds could not be decided ({type(error).__name__})."
    return made


def _one_line(error):
    words = str(error).split()
    return " ".join(words)


def _read(step):
    import sympy as sp

    size = len(step) if isinstance(step, tuple | list) else 0
    if size not in (2, 3):
        raise Unreadable("write it as (expression, reason) or (relation, expression, reason)")
    if size == 2:
        step = (EQUAL, *step)
    relation, expression, reason = step
    if isinstance(expression, str):
        raise Unreadable("the expression stands in quotation marks; write it without them")
    try:
        found = sp.sympify(expression, strict=True)
    except sp.SympifyError:
        raise Unreadable(f"a {type(expression).__name__} is not an expression") from None
    if not isinstance(found, sp.Expr):
        raise Unreadable("it is not an expression of numbers and symbols")
    trees.tree_of(found)
    return Step(found, str(reason), read_relation(relation))


def look_at(chain: Derivation) -> None:
    """Compare line by line and note in the chain what was found, down to the first fault."""
    from attn_course.proofs import intervals
    from attn_course.proofs.compare_lines import HOLDS

    lines = [trees.tree_of(step.expression) for step in chain.steps]
    try:
        trees.limit_work(lines)
    except Unreadable as error:
        chain.fault = f"the chain cannot be judged: {error}."
        return
    chain.notes += _other_symbols(chain) + _undeclared(chain) + _merged(lines)
    try:
        domain = domain_of(_first_of_each_name(chain), chain.where)
    except (Unreadable, TypeError, ValueError) as error:
        chain.fault = f"`where` cannot be read: {_one_line(error)}."
        return
    work = intervals.Work()
    for k, step in enumerate(chain.steps[1:], 1):
        outcome = _compare(chain, lines, k, domain, work)
        limits = dict(chain.limits)
        if not outcome:
            sentence = outcome.sentence(f"step {k}")
            chain.fault = sentence + _gone_without_value(chain, lines, k)
        elif not trees.symbols(lines[k]).isdisjoint(limits):
            chain.fault = f"step {k} brings back a symbol that has gone to its limit."
        elif not _go_on(chain, step.relation):
            chain.fault = _turned(k, chain.proved, step.relation)
        if chain.fault:
            chain.at = k
            return
        chain.found.append(outcome.detail)
        if outcome.state != HOLDS:
            chain.unproved.append(k)


def _gone_without_value(chain, lines, k):
    """What to do where a symbol has gone and nothing says what it stands for, as a question may."""
    before = trees.symbols(lines[k - 1])
    after = trees.symbols(lines[k])
    said = {str(symbol) for symbol in chain.where}
    for symbol, ends in chain.where.items():
        if str(symbol) in after:
            continue
        for end in ends:  # its value has been put in, and what that holds may go with it
            said |= {str(part) for part in getattr(end, "free_symbols", ())}

    gone = sorted(before.difference(after, said))
    if not gone:
        return ""
    name = trees.shown_name(gone[0])
    return (
        f" {name} has gone: if the question says what it stands for, say so with "
        f"where={{{name}: (value, value)}}; `check` knows it anyway."
    )


def _merged(lines):
    """A note on lines that SymPy made the same."""
    for k, (above, line) in enumerate(pairwise(lines), 1):
        if line == above:
            return [f"SymPy shows step {k} like the line above it: the two count as one line."]
    return []


def _compare(chain, lines, k, domain, work):
    from attn_course.proofs.compare_limits import compare_limit
    from attn_course.proofs.compare_lines import compare

    before, after = lines[k - 1 : k + 1]
    relation = chain.steps[k].relation
    if not is_limit(relation):
        return compare(before, relation, after, domain, work)
    name, target = limit_of(relation)
    exact = _limit_by_sympy(chain.steps[k - 1].expression, name, target)
    return compare_limit(before, name, target, after, domain, exact, work)


def _go_on(chain, relation):
    """Note what is proved with one more line; False where the direction turns round."""
    if is_limit(relation):
        chain.limits.append(limit_of(relation))
        chain.proved = weakened(chain.proved)
        return True
    together = compose(chain.proved, relation)
    chain.proved = together or chain.proved
    return together is not None


def _turned(k, proved, relation):
    return f"step {k} turns round: after {proved} a line with {relation} says nothing of the first line."


def _limit_by_sympy(expression, name, target):
    """The limit as a tree, or None where SymPy does not find it in time."""
    import sympy as sp

    from attn_course.checking import OutOfTime, within

    symbol = next((s for s in expression.free_symbols if str(s) == name), None)
    if symbol is None:
        return None
    infinite = {float("inf"): sp.oo, float("-inf"): -sp.oo}
    end = infinite[target] if isinstance(target, float) else sp.Rational(target)
    try:
        found = within(LIMIT_SECONDS, lambda: sp.limit(expression, symbol, end))
        return trees.tree_of(found)
    except (Exception, OutOfTime):
        return None


def _symbols_by_line(chain):
    import sympy as sp

    return [sorted(step.expression.atoms(sp.Symbol), key=str) for step in chain.steps]


def _first_of_each_name(chain):
    """The symbols of the chain; another one of the same name is read as the first."""
    first: dict[str, Any] = {}
    for symbols in _symbols_by_line(chain):
        for symbol in symbols:
            first.setdefault(str(symbol), symbol)
    return list(first.values())


def _other_symbols(chain):
    """A note on the first symbol that shares its name with one above and is another."""
    first = {str(symbol): symbol for symbol in _first_of_each_name(chain)}
    for k, symbols in enumerate(_symbols_by_line(chain)):
        for symbol in symbols:
            if symbol != first[str(symbol)]:
                name = trees.shown_name(str(symbol))
                return [
                    f"In step {k} this is another {name}, declared with other assumptions; it is read as "
                    f"the {name} of the lines above."
                ]
    return []


def _undeclared(chain):
    """A note on a symbol that may be any number here, where a question may know more of it."""
    declared = {str(symbol) for symbol in chain.where}
    for symbol in _symbols_left(chain):
        if str(symbol) not in declared and symbol.assumptions0 == _NO_ASSUMPTIONS:
            name = trees.shown_name(str(symbol))
            return [
                f"{name} is declared without assumptions, so it may be any number here; `check` takes what "
                f"the question says of {name}."
            ]
    return []


def domain_of(symbols: Iterable[Any], where: Mapping[Any, tuple[Any, Any]]) -> Any:
    """The Domain in which SymPy's assumptions and `where` put the symbols."""
    from attn_course.proofs.domains import Domain

    ranges = {str(symbol): _assumed(symbol) for symbol in symbols}
    pins = {}
    for symbol, (low, high) in where.items():
        name = str(symbol)
        used = _free_symbols(low) | _free_symbols(high)
        for other in sorted(used, key=str):
            ranges.setdefault(str(other), _assumed(other))
        first = _end(low)
        last = _end(high)
        if first == last and first is not None:
            pins[name] = first
        else:
            assumed = ranges.get(name) or _assumed(symbol)
            ranges[name] = _narrowed(assumed, first, last)
    return Domain(ranges, pins)


def _free_symbols(end):
    return set(getattr(end, "free_symbols", ()))


def _end(end):
    """One end of a range as a tree; None where there is no end."""
    import sympy as sp

    if isinstance(end, str) and "/" in end:
        return trees.read([f"Rational {end}"])
    if isinstance(end, str):
        return trees.decimal(end)
    found = sp.sympify(end, strict=True)
    if found in (sp.oo, -sp.oo):
        return None
    return trees.tree_of(found)


def _assumed(symbol):
    """Where a symbol lies when nothing is declared: its assumptions decide."""
    from attn_course.proofs.domains import Range

    if symbol.is_integer and symbol.is_positive:
        return Range(trees.rational(2), whole=True, positive=True)
    low = trees.ZERO if symbol.is_nonnegative else None
    high = trees.ZERO if symbol.is_nonpositive else None
    return Range(low, high, bool(symbol.is_integer), bool(symbol.is_positive))


def _narrowed(assumed, low, high):
    from attn_course.proofs.domains import Range

    low = assumed.low if low is None else low
    high = assumed.high if high is None else high
    return Range(low, high, assumed.whole, assumed.positive)


def _shown_target(target):
    return str(target).replace("inf", "oo")


def _places(chain, show):
    """Where the symbols of the chain lie, those that lie alike together: ranges first, then values."""
    declared = {str(symbol): ends for symbol, ends in chain.where.items()}
    alike: dict[str, list[str]] = {}
    between = []
    values = []
    for symbol in _symbols_left(chain):
        name = show(symbol)
        if str(symbol) not in declared:
            kind = _kind(symbol)
            alike.setdefault(kind, []).append(name)
            continue
        low, high = declared[str(symbol)]
        if str(low) == str(high):
            values.append(f"{name} = {show(low)}")
        else:
            before = "<" if _is_left_out(chain, symbol, low) else "<="
            after = "<" if _is_left_out(chain, symbol, high) else "<="
            between.append(f"{show(low)} {before} {name} {after} {show(high)}")
    ranges = [", ".join(names) + kind for kind, names in alike.items()]
    return ranges + between, values


def _is_left_out(chain, symbol, end):
    """Whether a symbol may come near a number but not reach it: there it is 0, or a line has no value."""
    import sympy as sp

    if not isinstance(end, numbers.Rational):
        return False
    if symbol.is_positive and end == 0:
        return True
    lines = [step.expression.subs(symbol, end) for step in chain.steps]
    return any(line.has(sp.zoo, sp.nan) for line in lines)


def _symbols_left(chain):
    """The symbols in its lines, sorted, without those that have gone to a limit."""
    names = set()
    for step in chain.steps:
        names |= trees.symbols(trees.tree_of(step.expression))
    for name, _ in chain.limits:
        names.discard(name)
    left = [symbol for symbol in _first_of_each_name(chain) if str(symbol) in names]
    return sorted(left, key=str)


def _kind(symbol):
    if symbol.is_integer:
        return " = 2, 3, ..." if symbol.is_positive else " whole"
    if symbol.is_positive:
        return " > 0"
    return " >= 0" if symbol.is_nonnegative else ""


def as_data(chain: Any) -> list:
    """The lines of a Derivation as `[[relation, reason, tokens], ...]`: lists of strings."""
    if chain is None or chain is ...:
        raise NotAttempted
    if not isinstance(chain, Derivation):
        kind = type(chain).__name__
        raise NotYet(f"a chain made with derive(...) is expected, but this is of type {kind}.")
    if not chain.readable:
        raise NotYet(chain.fault)
    return [
        [step.relation, step.reason[:_REASON], trees.write(step.expression)] for step in chain.steps
    ]
