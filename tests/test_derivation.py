"""Chains of steps: true ones hold, false ones are found and shown with a point."""

import pytest
import sympy as sp

from attn_course import check, derive
from attn_course.answers import Answer
from attn_course.chains import as_data, from_data, judge_chain
from attn_course.verdict import NotAttempted, NotYet

t = sp.Symbol("t", real=True)
x = sp.Symbol("x", positive=True)
n, i = sp.Symbol("n", integer=True, positive=True), sp.Symbol("i", integer=True)
share = sp.exp(t) / (2 * sp.exp(t) + n - 2)
closed = 1 / (2 + (n - 2) * sp.exp(-t))

TRUE = {
    "proved": [(share, ""), (closed, "")],
    "limit": [(closed, ""), ("t -> oo", sp.Rational(1, 2), "")],
    "limit at zero": [(sp.sin(x) / x, ""), ("x -> 0", 1, "")],
    "less or equal": [(sp.log(1 + x), ""), ("<=", x, "")],
    "strictly greater": [(sp.exp(x), ""), (">", 1 + x, "")],
    "a sum": [(sp.Sum(i, (i, 1, n)), ""), (n * (n + 1) / 2, "")],
    "an integral": [
        (sp.Integral(sp.exp(-x * t**2), (t, -sp.oo, sp.oo)), ""),
        (sp.sqrt(sp.pi / x), ""),
    ],
    "identity SymPy does not see": [(sp.cos(x) ** 2, ""), (1 - sp.sin(x) ** 2, "")],
}
FALSE = {
    "algebra": [(share, ""), (1 / (2 + n * sp.exp(-t)), "")],
    "sign": [(sp.log(1 + x), ""), (">=", x, "")],
    "equal is not less": [(x, ""), ("<", x, "")],
    "limit": [(closed, ""), ("t -> oo", sp.Rational(1, 3), "")],
    "limit of an absent symbol": [(x, ""), ("t -> oo", x, "")],
    "outside its domain": [(sp.log(x - 5), ""), (sp.log(x - 5), "")],
}


@pytest.mark.parametrize("steps", TRUE.values(), ids=TRUE.keys())
def test_true_chains_hold(steps):
    assert derive(*steps).fault is None


@pytest.mark.parametrize("steps", FALSE.values(), ids=FALSE.keys())
def test_false_chains_name_their_first_false_step(steps):
    chain = derive(*steps, (steps[-1][-2], "same again"))
    assert chain.fault.startswith("step 1 does not follow")


def test_a_false_step_comes_with_a_point_where_both_sides_differ():
    fault = derive((x**2, ""), (2 * x, "")).fault
    assert "at x = " in fault and " it says " in fault


def test_a_step_that_only_holds_in_its_range_needs_the_range():
    steps = (sp.Abs(t), ""), (t, "")
    assert derive(*steps).fault
    assert derive(*steps, where={t: (0, 5)}).fault is None


@pytest.mark.parametrize("step", [3, (x,), ("?", x, ""), ("1/0*(", ""), (object(), "")])
def test_what_is_not_a_step_is_one_sentence(step):
    fault = derive((x, ""), step).fault
    assert fault.startswith("step 1 cannot be read") and "\n" not in fault


def test_a_chain_is_shown_as_one_aligned_block():
    shown = derive((share, "100% sure"), ("t -> oo", sp.Rational(1, 2), "limit"))._repr_markdown_()
    assert r"100\% sure" in shown and r"\xrightarrow{t\to \infty}" in shown
    assert shown.count("&&") == 2


def test_a_chain_survives_the_trip_as_plain_lists():
    chain = derive((sp.Sum(sp.exp(-i * x), (i, 1, n)) + sp.pi / 3, ""), ("<=", sp.oo, ""))
    back = from_data(as_data(chain), {"x": x, "n": n, "i": i})
    assert [step.expression for step in back] == [step.expression for step in chain.steps]


@pytest.mark.parametrize(
    "tree", [["__import__", ["Symbol", "os"]], ["Lambda"], ["Constant", "exit"]]
)
def test_a_forged_tree_is_refused(tree):
    with pytest.raises(NotYet):
        from_data([["=", "", tree]], {})


HUGE = ["Rational", "10000000000"]


@pytest.mark.parametrize(
    "tree", [["Rational", "1e999999999"], ["Pow", HUGE, HUGE], ["factorial", HUGE]]
)
def test_a_forged_number_cannot_keep_the_judge_busy(tree):
    with pytest.raises(NotYet):
        from_data([["=", "", tree]], {})


def test_a_huge_tree_is_refused():
    with pytest.raises(NotYet, match="too large"):
        from_data([["=", "", ["Add", *[["Symbol", "x"]] * 5000]]], {"x": x})


def judged(*steps, **options):
    options = {"start": share, "goal": share, "symbols": (t, n), "steps": 2} | options
    return judge_chain(Answer(derive(*steps)), **options)


def test_identical_lines_do_not_count_as_steps():
    with pytest.raises(NotYet, match="1 of at least 2"):
        judged((share, ""), (closed, ""), (closed, ""))


def test_a_chain_with_the_given_line_alone_is_not_attempted():
    with pytest.raises(NotAttempted):
        judged((share, ""))


def test_the_students_own_ranges_do_not_help():
    chain = derive((share, ""), (sp.Integer(0), "far away"), where={t: (-9999, -9998)})
    with pytest.raises(NotYet, match="step 1"):
        judge_chain(Answer(chain), start=share, goal=share, symbols=(t, n))


@pytest.mark.parametrize("odd", [sp.Eq(x, 1), [x, 1], None, ..., {1}, True, "x +"], ids=repr)
def test_what_is_no_expression_is_named_in_a_sentence(odd):
    for chain in (derive((x, "given"), (odd, "so")), derive((odd, "given"), (x, "so"))):
        assert "cannot be read" in chain.fault and chain.fault in repr(chain)
        assert chain.fault in chain._repr_markdown_()
        assert check("0.2", chain).status == "not yet"
