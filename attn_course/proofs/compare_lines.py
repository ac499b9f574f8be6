"""Decide whether a line follows from the line before.

Algebra and signs prove; numbers with error bounds refute.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attn_course.proofs import intervals, modular, positivity
from attn_course.proofs.domains import CONTEXTS, DIGITS, Domain, Point, draw_points, short
from attn_course.proofs.poles import find_pole
from attn_course.proofs.trees import ZERO, Tree, minus, names_in

AGREED = 1200  # leading bits in which two equal numbers agree
HOLDS = "holds"  # proved
PARTLY = "holds where it has a value"  # proved, but nobody knows where it has one
SEEN = "was not refuted"
FAILS = "fails"
OPEN = "could not be decided"
BY_ALGEBRA = "by algebra"
BY_SIGNS = "by signs"
NO_RULE = (
    "No rule of this course covers the step: write it in smaller steps, and a sum with the index that is "
    "given."
)
FIND_THE_SLIP = ". Put these numbers into both lines to find the slip"


@dataclass(frozen=True)
class Outcome:
    """The state of a step, and a few words on how it was proved or what speaks against it."""

    state: str
    detail: str

    def __bool__(self) -> bool:
        """Return True if nothing speaks against the step; only HOLDS is a proof for the whole domain."""
        return self.state in (HOLDS, PARTLY, SEEN)

    @property
    def doubt(self) -> str:
        """A clause that says why it is open whether the step holds."""
        if self.state == PARTLY:
            return (
                "that every denominator, root and logarithm in it has a value everywhere was not shown. "
                "Write it in a form without them, or with positive ones"
            )
        if self:
            return f"it was only {self.detail}, which is no proof"
        return self.detail

    def sentence(self, step: str, slip: str = "") -> str:
        """Return a sentence on a step that does not hold or could not be decided; slip: its named cause."""
        if self.state == FAILS:
            cause = f"{slip}; {self.detail.removesuffix(FIND_THE_SLIP)}" if slip else self.detail
            return f"{step} does not follow from the line before: {cause}."
        return f"whether {step} follows could not be decided: {self.doubt}. {NO_RULE}"


class Comparer:
    """Compare the lines of one chain, within a budget of operations."""

    def __init__(self, domain: Domain, field: modular.Field | None = None) -> None:
        self.domain = domain
        self.field = field or modular.Field()
        self.work = intervals.Work()
        self._prepared: dict[
            Tree, Tree
        ] = {}  # a line is compared with the one before and the one after

    def compare(self, before: Tree, relation: str, after: Tree) -> Outcome:
        """Decide whether `before relation after` holds, and both have a value, wherever the symbols may lie.

        A symbol that stands for something has its value on both sides.
        """
        try:
            return self._compare(self._with_values(before), relation, self._with_values(after))
        except intervals.Exhausted:
            return Outcome(OPEN, "the chain takes too many operations to work out")

    def _with_values(self, line):
        """Return a line with the values of all symbols, and without signs that the domain fixes."""
        if line not in self._prepared:
            in_values = self.domain.with_values(line)
            self._prepared[line] = positivity.with_known_signs(in_values, self.domain)
        return self._prepared[line]

    def named_slip(self, line: Tree, slips: Mapping[str, Tree]) -> str:
        """Return the sentence of the slip that gives this line, "" if none does."""
        for sentence, wrong_line in slips.items():
            if self.compare(wrong_line, "=", line).state in (HOLDS, PARTLY):
                return sentence
        return ""

    def _compare(self, left, relation, right):
        decided = modular.compare(left, right, self.domain.positive, self.field)
        if decided == modular.EQUAL and relation in ("<", ">"):
            return Outcome(FAILS, f"both sides are equal, so {relation} does not hold")
        if decided == modular.EQUAL:
            return self._where_defined(left, right, BY_ALGEBRA)
        if relation != "=":
            gap = minus(left, right) if relation[0] == ">" else minus(right, left)
            shows = positivity.never_negative if "=" in relation else positivity.always_positive
            if shows(gap, self.domain):
                return self._where_defined(left, right, BY_SIGNS)
            return self._by_numbers(left, relation, right)
        squares = modular.compare_squares(left, right, self.domain.positive, self.field)
        if squares == modular.EQUAL and positivity.have_one_sign(left, right, self.domain):
            return self._where_defined(left, right, BY_ALGEBRA)
        outcome = self._by_numbers(left, "=", right)
        if outcome and modular.DIFFERENT in (decided, squares):
            return Outcome(FAILS, "both sides differ, if only by very little")
        return outcome

    def _where_defined(self, left, right, way):
        """Return the outcome of a proof, which holds wherever both sides have a value."""
        state = HOLDS
        for side, name in ((left, "the line before"), (right, "it")):
            if side in self.domain.defined:
                continue
            if positivity.has_value(side, self.domain):
                self.domain.defined.add(side)
                continue
            state = PARTLY
            for _, point in draw_points(names_in(side), self.domain):
                try:
                    sign_of_difference(side, ZERO, point, self.work)
                except intervals.NoValue as reason:
                    return Outcome(
                        FAILS, f"{_at(point, side)}{name} has no finite real value{reason}"
                    )
                except (intervals.TooLong, intervals.Unclear):
                    continue
        if state == HOLDS:
            return Outcome(HOLDS, way)
        pole = find_pole(right, self.domain, self.work)
        if pole and not find_pole(left, self.domain, self.work):
            return Outcome(FAILS, f"near {pole} it has no finite real value")
        return Outcome(PARTLY, f"{way}, wherever it has a value")

    def _by_numbers(self, left, relation, right):
        """Return the outcome of a comparison at points, which can refute a step and not prove it."""
        num_decided = 0
        for mode, point in draw_points(names_in(left) | names_in(right), self.domain):
            try:
                sign, values = sign_of_difference(left, right, point, self.work)
            except intervals.NoValue as reason:
                place = _at(point, left, right)
                return Outcome(FAILS, f"{place}one side has no finite real value{reason}")
            except (intervals.TooLong, intervals.Unclear):
                if mode != "moderate":
                    continue
                return Outcome(OPEN, f"{_at(point, left, right)}it could not be worked out")
            num_decided += 1
            agrees = relation[0] == ("<" if sign < 0 else ">") if sign else "=" in relation
            if not agrees:
                seen = difference(relation, sign, *values)
                return Outcome(FAILS, f"{_at(point, left, right)}{seen}{FIND_THE_SLIP}")
        return Outcome(SEEN, f"compared at {num_decided} points")

    def difference_at(self, left: Tree, right: Tree) -> tuple[str, str, str]:
        """Return a point where two lines differ, and their values there; three empty texts if none is met."""
        left = self.domain.with_values(left)
        right = self.domain.with_values(right)
        for _, point in draw_points(names_in(left) | names_in(right), self.domain):
            try:
                sign, values = sign_of_difference(left, right, point, self.work)
            except ArithmeticError:
                continue
            if sign:
                return point.shown(left, right), *apart(*values)
        return "", "", ""


def _at(point, *lines):
    place = point.shown(*lines)
    return f"at {place} " if place else ""


def difference(relation: str, sign: int, left: Any, right: Any) -> str:
    """Return a clause on the values of two lines at a point where `left relation right` is false."""
    if not sign:
        return f"both sides are {short(left)}, so {relation} does not hold"
    first, second = apart(left, right)
    if first == second:
        return f"both sides are near {first} and differ by {short(abs(left - right))}"
    if relation == "=":
        return f"the line before is {first} and this one is {second}"
    return f"the line before is {first}, which is not {relation} {second}"


def apart(left: Any, right: Any) -> tuple[str, str]:
    """Return both numbers in four digits, or in as many more as tell them apart."""
    for digits in (DIGITS, 2 * DIGITS, 3 * DIGITS):
        first, second = short(left, digits), short(right, digits)
        if first != second:
            return first, second
    return short(left), short(right)


def sign_of_difference(
    left: Tree, right: Tree, point: Point, work: intervals.Work
) -> tuple[int, tuple]:
    """Return -1, 0 or 1 for left - right, and both values; raise Unclear if no precision decides."""
    error = intervals.Unclear()
    for mp in CONTEXTS:
        try:
            evaluator = intervals.Evaluator(mp, point.values(mp), work.begin())
            first, first_radius = evaluator.value(left)
            second, second_radius = evaluator.value(right)
        except intervals.Unclear as unclear:
            error = unclear
            continue
        radius = first_radius + second_radius
        if abs(first - second) > radius:
            return (1 if first > second else -1), (first, second)
        size = max(abs(first), abs(second))
        if radius <= mp.ldexp(size, -AGREED) or radius < mp.ldexp(1, -AGREED):
            return 0, (first, second)
    raise error
