"""Chains of steps: true ones hold, false ones are found and shown with a point."""

import contextlib
import re
from pathlib import Path

import pytest
import sympy as sp
from bank import chains

from attn_utils.course import check, derive, trees
from attn_utils.course.answers import Answer
from attn_utils.course.chain_rules import at_most
from attn_utils.course.compare_lines import Domain, compare
from attn_utils.course.derivation import as_data
from attn_utils.course.judge_derivation import Claim, from_data, judge_derivation
from attn_utils.course.trees import Unreadable
from attn_utils.course.verdict import NotAttempted, NotYet

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
    assert "at x = " in fault and "the line before is " in fault


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
    chain = derive((sp.Sum(sp.exp(-i * x), (i, 1, n)) + sp.pi / 3, ""), ("<=", n + 2, ""))
    back = from_data(as_data(chain))
    assert [line.relation for line in back] == ["=", "<="]
    assert [line.tree for line in back] == [
        trees.read(trees.write(s.expression)) for s in chain.steps
    ]


TIE = Claim(
    name="the chain",
    start=share,
    goal=share,
    to_do=(at_most("one exponential", 1, "exp"),),
    symbols=(t, n),
)


MARK = "pwned"
CODE = f"open('{MARK}','w')"
odd = sp.Symbol(CODE, positive=True)
whole = sp.Symbol(CODE, integer=True, positive=True)
default = sp.Symbol("y=" + CODE, positive=True)
HOSTILE = {
    "a symbol": odd - odd**2 / odd + 2 * odd,
    "the variable of an integral": sp.Integral(odd, (odd, 0, x)),
    "an argument with a default": sp.Integral(sp.gamma(default), (default, 1, 2)),
    "the variable of a sum": sp.Sum(whole, (whole, 1, 3)),
    "the end of a sum": sp.Sum(i, (i, 1, whole)),
    "the variable of a product": sp.Product(whole, (whole, 1, 3)),
    "a function": sp.Function(CODE)(x),
    "a list": sp.IndexedBase(CODE)[i],
    "a derivative": sp.Derivative(odd**2, odd),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_name_of_a_symbol_never_runs_as_code(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    total = 1 / (1 + x) + 1 / (1 - x)
    chain = derive((total, ""), (total + HOSTILE[name], ""), where={odd: (1, x)})
    repr(chain)
    verdict = check("0.2", derive((total, ""), (HOSTILE[name] + total, ""), (total, "")))
    assert verdict.status == "not yet" and MARK not in verdict.message
    assert not list(tmp_path.iterdir())


class Wire:
    """An answer from a process that sends what it likes."""

    def __init__(self, data):
        self.data = data

    def via(self, driver):
        return self.data


FORGED = {
    "a symbol": ["Symbol " + CODE],
    "a bound variable": ["Rational 1", "Rational 1", "Rational 3", "Sum " + CODE],
    "a list": ["Rational 1", "Indexed " + CODE],
    "a whole number": ["Rational " + CODE],
    "a decimal": ["Decimal " + CODE],
    "a constant": ["Constant " + CODE],
    "a head": ["Rational 1", CODE + " 1"],
    "a head that Python knows": ["Symbol os", "__import__ 1"],
    "a head that SymPy knows": ["Symbol x", "Symbol x", "Lambda 2"],
    "an inner name of the machine": ["Rational 1", "run 1"],
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_lists_never_run_as_code(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotYet) as refused:
        judge_derivation(Wire([["=", "", trees.write(share)], ["=", "", FORGED[name]]]), TIE)
    assert MARK not in str(refused.value)
    with contextlib.suppress(Unreadable):
        compare(trees.read(FORGED[name]), "=", trees.ONE, Domain({}))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "relation", ["x -> " + CODE, CODE, "x" * 99 + " -> oo", "x -> 1/0", ["="], None]
)
def test_forged_relations_never_run_as_code(relation, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotYet):
        from_data([[relation, "", ["Symbol x"]]])
    assert not list(tmp_path.iterdir())


ODD_DATA = [
    None,
    "x",
    [1],
    [["=", ""]],
    [["=", "", []]],
    [["=", "", "x"]],
    [["=", "", [3]]],
    [["=", "", ["Add 2"]]],
]


@pytest.mark.parametrize("data", [*ODD_DATA, [["=", "", ["Symbol x"]]] * 99], ids=repr)
def test_what_is_no_chain_is_refused_in_a_sentence(data):
    with pytest.raises(NotYet):
        from_data(data)


@pytest.mark.parametrize(
    "tokens", [["Symbol x"] * 5000 + ["Add 5000"], ["Symbol x"] + ["exp 1"] * 500]
)
def test_a_huge_tree_is_refused(tokens):
    with pytest.raises(NotYet, match="too large"):
        from_data([["=", "", tokens]])


def test_an_expression_that_doubles_in_every_line_is_refused_at_once():
    grown = x
    for _ in range(60):
        grown = sp.Mul(grown, sp.Add(grown, 1, evaluate=False), evaluate=False)
    assert "too large" in derive((x, ""), (grown, "")).fault


def test_nothing_of_the_course_makes_code_from_expressions():
    folder = Path(trees.__file__).parents[1]
    texts = {path.name: path.read_text("utf-8") for path in folder.rglob("*.py")}
    loose = re.compile(r"lambdify|parse_expr|sympify\((?!.*strict=True)|(?<![.\w])eval\(")
    grading = {"child.py"}  # it runs the cells of a submission, shut in
    assert not [name for name in texts.keys() - grading if loose.search(texts[name])]


def judged(*steps):
    return judge_derivation(Answer(derive(*steps)), TIE)


def test_a_chain_with_the_given_line_alone_is_not_attempted():
    with pytest.raises(NotAttempted):
        judged((share, ""))


def test_the_students_own_ranges_do_not_help():
    chain = derive((share, ""), (sp.Integer(0), "far away"), where={t: (-9999, -9998)})
    with pytest.raises(NotYet, match="step 1"):
        judge_derivation(Answer(chain), TIE)


def entries(kind):
    return [
        pytest.param(question, entry, id=f"{question} {name}")
        for question, found in kind.items()
        for name, entry in found.items()
    ]


@pytest.mark.parametrize(("question", "answers"), entries(chains.HONEST))
def test_an_honest_chain_passes_whatever_its_form(question, answers):
    verdict = check(question, *answers)
    assert verdict.status == "correct", verdict


@pytest.mark.parametrize(("question", "entry"), entries(chains.SHAM))
def test_a_sham_is_refused_with_its_own_sentence(question, entry):
    answers, fragment = entry
    verdict = check(question, *answers)
    assert verdict.status == "not yet", verdict
    assert fragment in verdict.message, verdict


@pytest.mark.parametrize("odd", [sp.Eq(x, 1), [x, 1], None, ..., {1}, True, "x +"], ids=repr)
def test_what_is_no_expression_is_named_in_a_sentence(odd):
    for chain in (derive((x, "given"), (odd, "so")), derive((odd, "given"), (x, "so"))):
        assert "cannot be read" in chain.fault and chain.fault in repr(chain)
        assert chain.fault in chain._repr_markdown_()
        assert check("0.2", chain).status == "not yet"
