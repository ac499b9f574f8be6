"""Chains of symbolic steps: read, compared line by line, shown.

A step is `(expression, reason)`; with a relation other than "=" in front it is an inequality,
`("<=", expression, reason)`.
The proof engine is imported when a chain is made.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from attn_course.answers import NotAttempted, NotYet
from attn_course.cell_errors import guard_cells
from attn_course.numpy_symbols import let_numpy_take_symbols

if TYPE_CHECKING:
    from attn_course.proofs.domains import Domain
    from attn_course.proofs.trees import Tree
    from attn_course.register import Claim

EQUAL = "="
VALUE = "where"  # in place of a relation: the row holds the value of a symbol
_NO_ASSUMPTIONS = {"commutative": True}
_REASON = 300  # letters of a reason that are sent
_PLAIN_NAME = re.compile(r"[A-Za-z]+(_?\w+)?")
_LATEX = {"=": "=", "<=": r"\le", ">=": r"\ge", "<": r"\lt", ">": r"\gt"}
Show = Callable[[Any], str]  # writes an expression

guard_cells()
let_numpy_take_symbols()


@dataclass(frozen=True)
class Step:
    """One line of a chain: `relation` ties it to the line above."""

    expression: Any
    reason: str
    relation: str
    tree: "Tree"


@dataclass
class Derivation:
    """A compared chain: `fault` is a sentence on the line `at` that does not follow, or None."""

    part: ClassVar[str] = "derive"  # the part of a question that chains answer
    steps: list[Step]
    where: dict = field(default_factory=dict)
    fault: str | None = None
    at: int | None = None
    ways: list[str] = field(default_factory=list)  # how each step was shown to hold
    unproved: list[int] = field(default_factory=list)  # steps that numbers do not refute
    everywhere: bool = True  # whether every line was shown to have a value everywhere
    proved: str = EQUAL  # how the first line compares with the last
    notes: list[str] = field(default_factory=list)
    domain: "Domain | None" = None
    helpers: "dict[str, Tree] | None" = None  # the student's own symbols, if the question is known
    readable: bool = True

    @cached_property
    def symbols(self) -> dict[str, Any]:
        """Return {name: symbol} of all lines; of several symbols with one name, the first."""
        import sympy as sp

        first: dict[str, Any] = {}
        for step in self.steps:
            named = {str(symbol): symbol for symbol in step.expression.atoms(sp.Symbol)}
            for name in sorted(named):
                first.setdefault(name, named[name])
        return first

    @property
    def end(self) -> Any:
        return self.steps[-1].expression

    def summary(self, show: Show = str) -> str:
        """Return the result of the comparison in a few sentences; `show` writes an expression."""
        finding = self._finding(show)
        return " ".join([*self.notes, finding[0].upper() + finding[1:]])

    def _finding(self, show):
        if self.fault:
            return self.fault
        from attn_course.proofs.compare_lines import NO_RULE

        if len(self.steps) < 2:
            return "the chain has no steps yet."
        ways = ", ".join(f"{count} {way}" for way, count in Counter(self.ways).items())
        if self.unproved:
            steps = " and ".join(f"step {k}" for k in self.unproved)
            return f"no step fails ({ways}), but points are no proof of {steps}. {NO_RULE}"
        return f"every step holds ({ways}). {self.together(show)}"

    def together(self, show: Show = str) -> str:
        """Return a sentence on the first and the last line, and the values for which it holds."""
        statement = f"first line {self.proved} last line"
        ranges, values = _ranges_and_values(self, show)
        if ranges:
            statement += f", for all {' and '.join(ranges)}"
        if not self.everywhere:
            statement += ", wherever every line has a value"
        if values:
            statement += f", with {' and '.join(values)}"
        return f"Together: {statement.removesuffix('.')}."

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
        body = " \\\\\n".join(map(self._latex_line, range(len(self.steps))))
        return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$\n\n{self.summary(_inline)}"

    def _latex_line(self, k):
        from attn_course.latex_text import latex_of

        step = self.steps[k]
        relation = _LATEX[step.relation] if k else ""
        latex = _latex(step.expression)
        reason = latex_of(step.reason)
        if k == self.at:
            latex = rf"\boxed{{{latex}}}"
            reason += r"\quad\boldsymbol{\times}\ \text{does not follow}"
        return rf"{relation} &\;{latex} && {reason}"


def _latex(expression):
    """Return an expression in LaTeX, its symbols as they are called."""
    import sympy as sp

    from attn_course.latex_text import latex_of

    named = expression.atoms(sp.Symbol, sp.IndexedBase)
    odd = {
        symbol: latex_of(str(symbol)) for symbol in named if not _PLAIN_NAME.fullmatch(str(symbol))
    }
    return sp.latex(expression, symbol_names=odd)


def _inline(expression):
    """Return an expression inside a sentence in Markdown."""
    import sympy as sp

    return f"${_latex(sp.sympify(expression, strict=True))}$"


def derive(*steps: Any, where: Any = None) -> Derivation:
    """Compare each line of a chain with the line before it, and return the chain, ready to be shown.

    steps: `(expression, reason)` or `(relation, expression, reason)`, the first one the definition.
    where: symbol -> value, what a symbol stands for, or symbol -> (low, high), where it lies; both may use
    other symbols. A chain that starts at the given line of a question is compared under that question's
    premises.
    """
    from attn_course.proofs import compare_lines, domains, relations, trees  # noqa: F401, here no error is caught

    let_numpy_take_symbols()
    if where is not None and not isinstance(where, Mapping):
        fault = f"`where` is no dictionary: {domains.HOW_TO_WRITE_WHERE}."
        return Derivation([], fault=fault, readable=False)
    chain = Derivation([], dict(where or {}))
    for k, step in enumerate(steps):
        try:
            chain.steps.append(_read(step))
        except Exception as error:
            chain.fault = f"step {k} cannot be read: {_one_line(error)}."
            chain.readable = False
            return chain
    try:
        look_at(chain)
    except Exception as error:  # a derivation never stops a notebook
        chain.fault = f"whether the chain holds could not be decided ({type(error).__name__})."
    return chain


def _one_line(error):
    return " ".join(str(error).split())


def _read(step):
    import sympy as sp

    from attn_course.proofs import trees
    from attn_course.proofs.relations import read_relation

    size = len(step) if isinstance(step, tuple | list) else 0
    if size not in (2, 3):
        raise trees.Unreadable("write it as (expression, reason) or (relation, expression, reason)")
    relation, expression, reason = step if size == 3 else (EQUAL, *step)
    if isinstance(expression, str):
        raise trees.Unreadable("the expression stands in quotation marks; write it without them")
    try:
        read_expression = sp.sympify(expression, strict=True)
    except sp.SympifyError:
        raise trees.Unreadable(f"a {type(expression).__name__} is not an expression") from None
    if not isinstance(read_expression, sp.Expr):
        raise trees.Unreadable("it is not an expression of numbers and symbols")
    return Step(
        read_expression, str(reason), read_relation(relation), trees.tree_of(read_expression)
    )


def look_at(chain: Derivation) -> None:
    """Compare line by line and note the results in the chain, down to the first fault."""
    from attn_course.proofs import trees
    from attn_course.proofs.compare_lines import HOLDS, PARTLY, SEEN, Comparer
    from attn_course.proofs.domains import domain_of
    from attn_course.proofs.relations import compose
    from attn_course.register import claim_from

    lines = [step.tree for step in chain.steps]
    question, claim = (claim_from(lines[0]) if lines else None) or (None, None)
    chain.notes += _other_symbols(chain)
    try:
        if claim:
            chain.notes += _other_premises(chain, question, claim)
            chain.helpers = _helpers(chain, claim)
            chain.domain = claim.domain.with_helpers(chain.helpers)
            chain.where |= claim.where
        else:
            chain.notes += _undeclared(chain)
            chain.domain = domain_of(chain.symbols.values(), chain.where, lines)
        trees.limit_work(map(chain.domain.with_values, lines))
    except (trees.Unreadable, TypeError, ValueError) as error:
        subject = (
            "the chain cannot be judged" if "too long" in str(error) else "`where` cannot be read"
        )
        chain.fault = f"{subject}: {_one_line(error)}."
        return
    comparer = Comparer(chain.domain)
    for k, step in enumerate(chain.steps[1:], 1):
        strange = strange_symbol(lines[k], claim, chain.domain) if claim else ""
        outcome = comparer.compare(lines[k - 1], step.relation, lines[k])
        together = compose(chain.proved, step.relation)
        if strange:
            chain.fault = f"step {k} {strange}."
        elif not outcome:
            slip = comparer.named_slip(lines[k], claim.slip_trees) if claim else ""
            chain.fault = outcome.sentence(f"step {k}", slip)
            if not claim:
                chain.fault += _gone_without_value(chain, lines, k)
        elif together is None:
            chain.fault = turned_round(f"step {k}", chain.proved, step.relation)
        else:
            chain.proved = together
        if chain.fault:
            chain.at = k
            return
        chain.ways.append(outcome.detail)
        chain.everywhere &= outcome.state in (HOLDS, SEEN)
        if outcome.state not in (HOLDS, PARTLY):
            chain.unproved.append(k)


def strange_symbol(line: "Tree", claim: "Claim", domain: "Domain") -> str:
    """Return a clause on a symbol that neither the question nor a value in `where` explains; or ""."""
    from attn_course.proofs import trees

    names = trees.names_in(line)
    if names <= claim.names:  # their values hold nothing but symbols of the question
        return ""
    explained = claim.names.union(domain.values)
    strange = sorted(trees.names_in(domain.with_values(line)) - explained)
    strange += sorted(names - explained)
    if not strange:
        return ""
    name = trees.shown_name(strange[0])
    return (
        f"uses {name}, which this question does not have outside a sum over it. For a letter of your own, "
        f"say what it is with where={{{name}: value}}"
    )


def _helpers(chain, claim):
    """Return {name: value} of the symbols in `where` that the question does not have."""
    from attn_course.proofs.trees import tree_of

    return {
        str(symbol): tree_of(value)
        for symbol, value in _values(chain.where)
        if str(symbol) not in claim.names
    }


def _values(where):
    """Yield (symbol, value) for the entries of `where` that give a value and not a range."""
    import sympy as sp

    for symbol, value in where.items():
        if not isinstance(value, tuple | list):
            yield symbol, sp.sympify(value, strict=True)


def _other_premises(chain, question, claim):
    """Return a note if `where` says something else of the question's symbols than the question does."""
    from attn_course.proofs.domains import domain_of

    own = {symbol: value for symbol, value in chain.where.items() if str(symbol) in claim.names}
    ours, theirs = claim.domain, domain_of(claim.symbols, own, [claim.first_line])
    if (ours.ranges, ours.values) == (theirs.ranges, theirs.values):
        return []
    return [f"What question {question.id} says of its symbols counts here, whatever `where` says."]


def turned_round(step: str, proved: str, relation: str) -> str:
    """Return a sentence on a line whose relation points the other way than those before it."""
    return (
        f"{step} turns round: after {proved} a line with {relation} says nothing of the first line. Keep "
        "to one direction."
    )


def _gone_without_value(chain, lines, k):
    """Return advice if a symbol has gone whose value is not declared; a question may declare it."""
    from attn_course.proofs import trees

    used = chain.domain.with_values
    gone = trees.symbols(lines[k - 1]) - trees.symbols(used(lines[k]))
    gone &= trees.symbols(used(lines[k - 1]))
    gone -= {str(symbol) for symbol in chain.where}
    for value in chain.domain.values.values():  # what the value of a symbol holds may go with it
        gone -= trees.symbols(used(value))
    gone = {name for name in gone if not chain.domain.range_of(name).whole}
    if not gone:
        return ""
    name = trees.shown_name(min(gone))
    return (
        f" {name} has gone: if the question says what it stands for or where it lies, say so with "
        f"where={{{name}: value}} or where={{{name}: (low, high)}}; `check` knows it anyway."
    )


def _other_symbols(chain):
    """Return a note on the first symbol that has the name of an earlier one and other assumptions."""
    import sympy as sp

    from attn_course.proofs.trees import shown_name

    first = set(chain.symbols.values())
    for k, step in enumerate(chain.steps):
        others = sorted(map(str, step.expression.atoms(sp.Symbol) - first))
        if others:
            name = shown_name(others[0])
            return [
                f"In step {k} this is another {name}, declared with other assumptions; it is read as the "
                f"{name} of the lines above."
            ]
    return []


def _undeclared(chain):
    """Return a note on a symbol that may be any number here; a question may restrict it."""
    from attn_course.proofs.trees import shown_name

    declared = {str(symbol) for symbol in chain.where}
    for symbol in _symbols_left(chain):
        if str(symbol) not in declared and symbol.assumptions0 == _NO_ASSUMPTIONS:
            name = shown_name(str(symbol))
            return [
                f"{name} is declared without assumptions, so it may be any number here; `check` takes what "
                f"the question says of {name}."
            ]
    return []


def _ranges_and_values(chain, show):
    """Return two lists of texts: the ranges of the symbols, equal ones together, and the values."""
    declared = {str(symbol): value for symbol, value in chain.where.items()}
    alike: dict[str, list[str]] = {}
    between = []
    values = []
    for symbol in _symbols_left(chain):
        name = show(symbol)
        interval = chain.domain.range_of(str(symbol))
        value = declared.get(str(symbol))
        if str(symbol) in chain.domain.values:
            values.append(
                f"{name} = {show(value[0] if isinstance(value, tuple | list) else value)}"
            )
        elif value is None:
            alike.setdefault(_assumed(interval), []).append(name)
        else:
            between.append(_between(interval, name, value, show))
    ranges = [", ".join(names) + text for text, names in alike.items()]
    return ranges + between, values


def _between(interval, name, value, show):
    """Return a range as it was declared; ends that do not belong to it are written with <."""
    low, high = value
    text = name
    if interval.low:
        end = show(0 if interval.low == ("Rational", 0, 1) else low)
        text = f"{end} {'<' if interval.low_open else '<='} {text}"
    if interval.high:
        end = show(0 if interval.high == ("Rational", 0, 1) else high)
        text = f"{text} {'<' if interval.high_open else '<='} {end}"
    return text


def _symbols_left(chain):
    """Return the symbols in the lines of a chain, sorted."""
    from attn_course.proofs import trees

    lines = [step.tree for step in chain.steps]
    if chain.domain:
        lines += [chain.domain.with_values(line) for line in lines]
    names = set[str]().union(*map(trees.symbols, lines))
    symbols = dict(chain.symbols)
    for value in chain.where.values():
        for end in value if isinstance(value, tuple | list) else (value,):
            for symbol in getattr(end, "free_symbols", ()):
                symbols.setdefault(str(symbol), symbol)
    return [symbols[name] for name in sorted(names) if name in symbols]


def _assumed(interval):
    """Return as text the range that follows from the assumptions on a symbol; "" for any real number."""
    if interval.whole and interval.low:
        least = interval.low[1]
        return f" = {least}, {least + 1}, ..."
    if interval.whole:
        return " whole"
    if interval.low:
        return " > 0" if interval.low_open else " >= 0"
    if interval.high:
        return " < 0" if interval.high_open else " <= 0"
    return ""


def failed_chains(error: Exception, names: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Return a chain with a fault for each name that was not assigned. names: first and last line of each."""
    assert error.__traceback__
    line = error.__traceback__.tb_lineno
    message = " ".join(f"{type(error).__name__}: {error}".split()).replace("`", "'")[:200]
    advice = ""
    if any(text in str(error) for text in ("for ^", "'Xor'", "expecting bool or Boolean")):
        advice = " In Python ^ is no power: write ** for powers, as in x**2."
    elif isinstance(error, TypeError) and "float" in str(error):
        advice = " Functions of `math` take numbers only: write sp.exp, sp.log or sp.sqrt."
    chains = {}
    for name, (first, last) in names.items():
        if last >= line:
            where = "cannot be evaluated" if first <= line else "stopped the cell before this chain"
            fault = f"line {line} of the cell {where}: `{message}`.{advice}"
            chains[name] = Derivation([], fault=fault, readable=False)
    return chains


def as_data(chain: Any) -> list:
    """Return a Derivation as lists of strings.

    First the values in `where`, `["where", name, tokens]`; if the question is known, those of its own
    symbols are left out. Then the lines, `[relation, reason, tokens]`.
    """
    if chain is None or chain is ...:
        raise NotAttempted
    if not isinstance(chain, Derivation):
        kind = type(chain).__name__
        raise NotYet(f"a chain made with derive(...) is expected, but this is of type {kind}.")
    if not chain.readable:
        raise NotYet(str(chain.fault))
    from attn_course.proofs.trees import Unreadable, write

    rows = []
    for symbol, value in _values(chain.where):
        if chain.helpers is not None and str(symbol) not in chain.helpers:
            continue
        with contextlib.suppress(Unreadable):
            rows.append([VALUE, str(symbol), write(value)])
    return rows + [
        [step.relation, step.reason[:_REASON], write(step.expression)] for step in chain.steps
    ]
