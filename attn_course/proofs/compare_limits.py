"""Does a line tend to the next one? By SymPy's limit, or by a long sequence of numbers."""

from fractions import Fraction

from attn_course.proofs import intervals
from attn_course.proofs.compare_lines import FAILS, HOLDS, OPEN, SEEN, Comparer, Outcome
from attn_course.proofs.domains import CONTEXTS, Point, draw_points, short
from attn_course.proofs.trees import Tree, names_in, shown_name, symbols

LONGEST = 60  # powers of ten on the way
NEAR = 1e-15
POINTS = 4


def compare_limit(
    before: Tree,
    name: str,
    target: Fraction | float,
    after: Tree,
    comparer: Comparer,
    exact: Tree | None = None,
) -> Outcome:
    """Does `before` tend to `after` when the symbol `name` goes to `target`?

    exact: the limit as SymPy finds it, where it does.
    """
    before = comparer.domain.with_values(before)
    after = comparer.domain.with_values(after)
    if name not in symbols(before):
        return Outcome(FAILS, f"{shown_name(name)} does not occur in it")
    if name in symbols(after):
        return Outcome(FAILS, f"{shown_name(name)} is still there after it went to its limit")
    if exact is not None and comparer.compare(exact, "=", after).state == HOLDS:
        return Outcome(HOLDS, "by SymPy's limit")
    others = (names_in(before) | names_in(after)) - {name}
    points = [point for mode, point in draw_points(others, comparer.domain) if mode == "moderate"]
    for point in points[:POINTS]:
        gap, reached, settled = _closest(before, name, target, after, point, comparer.work)
        if gap is not None and gap <= NEAR:
            continue
        if not settled:
            return Outcome(OPEN, "neither SymPy nor numbers could tell")
        place = point.shown(*(("Symbol", other) for other in others))
        where = f" at {place}" if place else ""
        return Outcome(FAILS, f"near its limit{where} it is {short(reached)}")
    return Outcome(SEEN, f"compared with numbers that come within {NEAR:g}")


def _closest(before, name, target, after, point, work):
    """How near the sequence comes, where it ends, and whether it had settled there."""
    mp = CONTEXTS[1]
    gap = reached = None
    settled = False
    for k in range(1, LONGEST):
        if target in (float("inf"), float("-inf")):
            place = Fraction(10**k if target > 0 else -(10**k))
        else:
            place = target + Fraction(1, 10**k)
        there = Point({**point.places, name: place})
        try:
            evaluator = intervals.Evaluator(mp, there.values(mp), work.begin())
            last, reached = reached, evaluator.value(before)[0]
            end = evaluator.value(after)[0]
        except ArithmeticError:
            break
        gap = abs(reached - end) / max(1, abs(end))
        settled = last is not None and abs(last - reached) <= NEAR * max(1, abs(reached))
    return gap, reached, settled
