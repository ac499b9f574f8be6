"""Chains of steps: true ones hold, false ones are found and shown with a point."""

import contextlib
import itertools
import math
import random
import re
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from bank import chains
from bank.chains import held
from course import JUDGED, ROOT, bank

from attn_course import check, derive, register
from attn_course.answers import Answer, NotAttempted, NotYet
from attn_course.derivation import VALUE, Derivation, as_data, look_at
from attn_course.judge_derivation import FOR_A_PERSON, from_data, judge_derivations
from attn_course.proofs import modular, positivity, trees
from attn_course.proofs.compare_lines import Comparer, apart, difference
from attn_course.proofs.domains import CONTEXTS, Domain, Range, domain_of, draw_points
from attn_course.proofs.intervals import Work
from attn_course.proofs.poles import find_pole
from attn_course.proofs.required_form import occurs_at_most
from attn_course.proofs.trees import Unreadable
from attn_course.register import Claim

t, s, y = sp.symbols("t s y", real=True)
x, u = sp.symbols("x u", positive=True)
n = sp.Symbol("n", integer=True, positive=True)
i, j = sp.symbols("i j", integer=True)
half = sp.Rational(1, 2)
share = sp.exp(t) / (2 * sp.exp(t) + n - 2)
closed = 1 / (2 + (n - 2) * sp.exp(-t))
small = sp.exp(-x * n)
many = sp.Sum(sp.Sum(sp.exp(-i * j * x) * sp.log(n + i * j), (i, 1, 30)), (j, 1, 30))


def compared(*lines, where=None):
    """A chain without reasons; a pair is a relation and an expression."""
    steps = [line if isinstance(line, tuple) else (line,) for line in lines]
    return derive(*((*step, "") for step in steps), where=where)


TRUE = {  # where, and the lines
    "proved": ({}, share, closed),
    "less or equal": ({}, sp.log(1 + x), ("<=", x)),
    "strictly greater": ({}, sp.exp(x), (">", 1 + x)),
    "a sum": ({}, sp.Sum(i, (i, 1, n)), n * (n + 1) / 2),
    "identity SymPy does not see": ({}, sp.cos(x) ** 2, 1 - sp.sin(x) ** 2),
    "a term that is seen at some points alone": ({}, sp.log(1 + small), ("<=", small)),
    "in its range": ({t: (0, 5)}, sp.Abs(t), t),
    "an open end": ({x: (0, 1)}, 1 / (1 + x) + 1 / (1 - x), (">", 2)),
    "two equal ends are a value": ({t: (2 * x, 2 * x)}, t, 2 * x),
    "a value with a logarithm": ({t: x - sp.log(u)}, sp.exp(t) * u, sp.exp(x)),
    "a value in every line": ({t: s + y}, t - 2 * s, 2 * y - t, y - s),
    "a value that comes and goes": ({t: 2 * x}, 2 * x, t, t + 2 * x - t),
}
FALSE = "step 1 does not follow"
PARTLY = "wherever every line has a value"
FAULTS = {  # what is said, where, and the lines
    "algebra": (FALSE, {}, share, 1 / (2 + n * sp.exp(-t)), closed),
    "sign": (FALSE, {}, sp.log(1 + x), (">=", x)),
    "equal is not less": (FALSE, {}, x, ("<", x)),
    "a limit": ("it takes a limit, and a chain says what", {}, closed, ("t → ∞", half)),
    "outside its domain": (FALSE, {}, sp.log(x - 5), sp.log(x - 5)),
    "without its range": (FALSE, {}, sp.Abs(t), t),
    "a term that is seen at some points alone": (FALSE, {}, sp.log(1 + small), (">=", small)),
    "a logarithm of either sign": (
        "has no finite real value",
        {y: (-1, 1)},
        y,
        held(sp.Mul, y, sp.log(y), 1 / sp.log(y)),
    ),
    "below a whole number": ("at n = 1 both sides are 2, so < does", {}, 2, ("<", n + 1)),
    "above a whole number": ("at n = 1 both sides are 2, so > does", {}, n + 1, (">", 2)),
    "a closed end": ("at y = 0 both sides are 1, so >", {y: (0, 1)}, 1 / (1 + y) + y, (">", 1)),
    "a symbol without a value": ("where={t: value}", {}, sp.exp(t) * u, sp.exp(x)),
    "values in a circle": ("is said with itself", {s: t + 1, t: s - 1}, s, t),
    "a number that Python would not print": (
        "a number in it is too long to check",
        {},
        x,
        x + sp.Integer(7) ** (10**6),
    ),
    "long lines": ("is too long to check", {}, chains.total, *chains.long_lines),
    "many operations": (
        "takes too many operations",
        {},
        many,
        (">=", many - sp.log(n)),
        (">=", many - n),
    ),
}
SUMMARIES = {  # what is said of a chain that holds, where, and the lines
    "a pole at an end": ("for all 0 < y <= 1.", {y: (0, 1)}, 1 / y, y / y**2),
    "no pole": ("for all 0 <= y <= 1.", {y: (0, 1)}, y * (y + 1), y**2 + y),
    "a positive symbol": ("for all 0 < x <= 1.", {x: (0, 1)}, x * (x + 1), x**2 + x),
    "whole numbers": ("for all n = 1, 2, ...", {}, n + n**2, n * (1 + n)),
    "whole numbers above a pole": ("for all n = 2, 3, ...", {}, n / (n - 1), 1 + 1 / (n - 1)),
    "poles of a tangent": (PARTLY, {}, sp.tan(y), sp.sin(y) / sp.cos(y)),
    "a pole in the given line": (PARTLY, {}, 1 / (x - t), -1 / (t - x)),
    "another symbol of the same name": ("this is another x", {}, x + x**2, x + sp.Symbol("x") ** 2),
    "lines that SymPy merges": ("Every step holds (1 by algebra)", {}, x + x, 2 * x),
    "no assumptions": ("n is declared without", {}, sp.Symbol("n") + 1, (">=", sp.Symbol("n"))),
    "a proof": ("Every step holds (1 by signs)", {}, x, ("<", x + 1)),
    "a proof of <=": ("1 by signs", {}, 2, ("<=", n + 1)),
    "a step without a proof": (
        "points are no proof of step 2",
        {},
        x,
        ("<=", x + 1),
        ("<=", x + 1 + x * sp.exp(-((x - 9) ** 2))),
    ),
}
KNOWN = {  # where, and lines that do not follow
    "a symbol that is left": ({}, x, 2 * x),
    "a range": ({u: (1, 2)}, 1 / (1 + u), (">=", half)),
    "what goes with a value": ({t: s + y}, t - s, 2 * y),
}


@pytest.mark.parametrize("name", TRUE)
def test_true_chains_hold(name):
    where, *lines = TRUE[name]
    assert compared(*lines, where=where).fault is None


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_false_step_is_named(name):
    said, where, *lines = FAULTS[name]
    assert said in compared(*lines, where=where).fault


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_chain_that_holds_says_how_and_for_which_values(name):
    said, where, *lines = SUMMARIES[name]
    chain = compared(*lines, where=where)
    assert chain.fault is None and said in chain.summary()


@pytest.mark.parametrize("name", KNOWN)
def test_nobody_is_asked_for_a_value_that_is_known(name):
    where, *lines = KNOWN[name]
    fault = compared(*lines, where=where).fault
    assert FALSE in fault and "where=" not in fault


def test_a_false_step_comes_with_a_point_where_both_sides_differ():
    fault = compared(x**2, 2 * x).fault
    assert "at x = " in fault and "the line before is " in fault


@pytest.mark.parametrize("step", [3, (x,), ("?", x, ""), ("1/0*(", ""), (object(), "")])
def test_what_is_not_a_step_is_one_sentence(step):
    fault = derive((x, ""), step).fault
    assert fault.startswith("step 1 cannot be read") and "\n" not in fault


def test_a_chain_is_shown_as_one_aligned_block():
    shown = derive((share, "100% sure"), ("<=", 1, "a share"))._repr_markdown_()
    assert r"\text{100}\%\text{ sure}" in shown and r"\le &" in shown
    assert shown.count("&&") == 2


def test_a_chain_survives_the_trip_as_plain_lists():
    chain = compared(sp.Sum(sp.exp(-i * x), (i, 1, n)) + sp.pi / 3, ("<=", n + 2))
    back = from_data(as_data(chain))
    assert [line.relation for line in back] == ["=", "<="]
    assert [line.tree for line in back] == [
        trees.read(trees.write(s.expression)) for s in chain.steps
    ]


TIE = Claim(
    name="the chain",
    start=share,
    goal=share,
    symbols=(t, n),
    forms=(occurs_at_most("one exponential", 1, "exp"),),
)


def judge_derivation(answer, claim):
    judge_derivations([answer], [claim])


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
    total = chains.total
    repr(compared(total, total + HOSTILE[name], where={odd: (1, x)}))
    verdict = check("0.2", compared(total, HOSTILE[name] + total, total))
    assert verdict.status == "not yet" and MARK not in verdict.message
    assert not list(tmp_path.iterdir())


def wire(data):
    """An answer from a process that sends what it likes."""
    return SimpleNamespace(run_driver=lambda driver: data)


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
        judge_derivation(wire([["=", "", trees.write(share)], ["=", "", FORGED[name]]]), TIE)
    assert MARK not in str(refused.value)
    with contextlib.suppress(Unreadable):
        Comparer(Domain({})).compare(trees.read(FORGED[name]), "=", trees.ONE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "relation", ["x -> " + CODE, CODE, "x" * 99 + " -> oo", "x -> 1/0", ["="], None]
)
def test_forged_relations_never_run_as_code(relation, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotYet):
        from_data([[relation, "", ["Symbol x"]]])
    assert not list(tmp_path.iterdir())


ODD = ([], "x", [3], ["Add 2"])  # where an expression should be
ODD_DATA = [None, "x", [1], [["=", ""]], *([["=", "", odd]] for odd in ODD)]


@pytest.mark.parametrize("data", [*ODD_DATA, [["=", "", ["Symbol x"]]] * 99], ids=repr)
def test_what_is_no_chain_is_refused_in_a_sentence(data):
    with pytest.raises(NotYet):
        from_data(data)


def test_an_expression_that_doubles_in_every_line_is_refused_at_once():
    grown = x
    for _ in range(60):
        grown = held(sp.Mul, grown, held(sp.Add, grown, 1))
    assert "too large" in compared(x, grown).fault


def test_nothing_of_the_course_makes_code_from_expressions():
    paths = {*(ROOT / "attn_course" / "proofs").glob("*.py"), *(ROOT / "attn_course").glob("*.py")}
    loose = re.compile(r"lambdify|parse_expr|sympify\((?!.*strict=True)|(?<![.\w])eval\(")
    assert not [path for path in paths if loose.search(path.read_text("utf-8"))]


def test_a_chain_with_the_given_line_alone_is_not_attempted():
    with pytest.raises(NotAttempted):
        judge_derivation(Answer(compared(share)), TIE)


def test_the_students_own_ranges_do_not_help():
    chain = compared(share, 0, where={t: (-9999, -9998)})
    with pytest.raises(NotYet, match="step 1"):
        judge_derivation(Answer(chain), TIE)


@pytest.mark.parametrize("key", chains.FALSE)
def test_a_false_chain_costs_its_own_points_alone(key):
    question = key.split()[0]
    part = register.find(question).part("derive")
    left = part.points * (1 - 1 / len(part.answers))
    for chain, _ in chains.FALSE[key].values():
        assert check(question, *chains.answers(key, chain)).points == pytest.approx(left)


PLAINLY = {
    "Add": lambda *parts: sum(parts),
    "Mul": lambda *parts: math.prod(parts),
    "Pow": lambda base, exponent: base**exponent,
} | {name: getattr(math, name) for name in ("exp", "log", "erf", "erfc", "sin", "cos")}


def plain_value(tree, seed, bound=()):
    """The tree in floats at one point, worked out without any of the course's own arithmetic."""
    head, *parts = tree
    if head == "Rational":
        return parts[0] / parts[1]
    if head == "Bound":
        return dict(bound)[parts[0]]
    if head == "Symbol":
        whole = {"n": 5 + seed, "j": 2}
        return whole.get(parts[0], 0.1 + random.Random(f"{parts[0]} {seed}").random() / 2)
    if head == "Indexed":
        return random.Random(f"{parts[0]} {plain_value(parts[1], seed, bound)} {seed}").random()
    if head == "Sum":
        level, low, high, body = parts
        first, last = (round(plain_value(end, seed, bound)) for end in (low, high))
        terms = (plain_value(body, seed, (*bound, (level, k))) for k in range(first, last + 1))
        return sum(terms)
    return PLAINLY[head](*(plain_value(part, seed, bound) for part in parts))


def is_false(chain, claim):
    """Whether a line of the chain is wrong at one of a few points, in floats, or the last is not the goal."""
    lines = [claim.domain.with_values(line.tree) for line in chain]
    goal = claim.domain.with_values(claim.goal_tree)
    for seed in range(4):
        try:
            values = [float(plain_value(line, seed)) for line in lines]
        except (ArithmeticError, TypeError, ValueError):
            return True
        if not np.isclose(values[-1], plain_value(goal, seed), rtol=1e-9):
            return True
        for line, (above, value) in zip(chain[1:], itertools.pairwise(values), strict=True):
            equal = np.isclose(above, value, rtol=1e-9)
            holds = {"=": equal, "<": not equal and above < value, ">": not equal and above > value}
            if not (holds[line.relation[0]] or (equal and "=" in line.relation)):
                return True
    return False


def mutants(data):
    """The chain with one number changed, one head exchanged or one sign turned, in any line but the first."""
    exchanged = {"exp 1": "cosh 1", "erf 1": "erfc 1", "log 1": "exp 1", "Add 2": "Mul 2"}
    first = next(k for k, row in enumerate(data) if row[0] != VALUE)
    for k, (relation, why, tokens) in enumerate(data):
        for place, token in enumerate(tokens if k > first else []):
            head, _, detail = token.partition(" ")
            others = [exchanged[token]] if token in exchanged else []
            if head == "Rational":
                above, _, below = detail.partition("/")
                others = [f"Rational {int(above) + 1}/{below}", f"Rational {-int(above)}/{below}"]
                others = [other for other in others if other != token]
            for other in others:
                changed = [*tokens[:place], other, *tokens[place + 1 :]]
                yield [*data[:k], [relation, why, changed], *data[k + 1 :]]


CLAIMS = {}  # each with the honest chains on record
for question, part in JUDGED:
    if part.kind == "derive":
        found = [a if isinstance(a, tuple) else (a,) for a in bank(question, "RIGHT").values()]
        found = [answers for answers in found if isinstance(answers[0], Derivation)]
        for name, claim, *honest in zip(part.answers, part.judge.claims(), *found, strict=True):
            CLAIMS[f"{question.id} {name}"] = claim, honest


@pytest.mark.parametrize("key", CLAIMS)
def test_no_false_mutant_of_an_honest_chain_passes(key):
    claim, honest = CLAIMS[key]
    tried = 0
    for chain in honest:
        for changed in mutants(as_data(chain)):
            if is_false(from_data(changed), claim):
                tried += 1
                with pytest.raises((NotYet, NotAttempted)):
                    judge_derivation(wire(changed), claim)
        if tried >= 40:
            break
    assert tried


@pytest.mark.parametrize("key", CLAIMS)
def test_the_given_line_of_a_claim_has_a_value_everywhere_and_not_the_form_asked_for(key):
    claim, _ = CLAIMS[key]
    line = claim.domain.with_values(claim.first_line)
    assert positivity.has_value(line, claim.domain)
    allowed = claim.symbols if claim.only is None else claim.only
    left = trees.names_in(claim.first_line) - set(map(str, allowed))
    assert left or not all(form.holds(claim.first_line) for form in claim.forms)


@pytest.mark.parametrize("notebook", register.NOTEBOOKS)
def test_the_names_in_the_given_lines_are_those_of_the_claims(notebook):
    names = [
        " ".join(sorted(trees.names_in(claim.first_line)))
        for question in register.questions_of(notebook)
        for claim in register.claims_of(question)
    ]
    assert register.NAMES_IN_FIRST_LINES.get(notebook, ()) == tuple(dict.fromkeys(names))


@pytest.mark.parametrize("key", CLAIMS)
def test_every_given_line_is_recognised_as_that_of_its_question(key):
    claim, _ = CLAIMS[key]
    _, recognised = register.claim_from(claim.first_line)
    assert recognised.first_line == claim.first_line


FIRST_DERIVATION = """
import sys
import sympy as sp
from attn_course import derive
name = sys.argv[1]
derive((sp.Symbol(name, positive=True), ""), (sp.Symbol(name, positive=True), ""))
print(*sorted(module for module in sys.modules if module.startswith("attn_course.questions.")))
"""


@pytest.mark.parametrize(
    ("name", "notebook"),
    [("zeta", None), ("s_a", "average_of_two"), ("rho", "keys_queries_values")],
)
def test_a_derivation_imports_no_questions_whose_lines_have_other_names(name, notebook):
    run = [sys.executable, "-c", FIRST_DERIVATION, name]
    imported = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert bool(imported) == bool(notebook)
    assert notebook is None or f"attn_course.questions.{notebook}" in imported
    assert "attn_course.questions.copying" not in imported


BROKEN_MODULE = """
import sys
import sympy as sp
from attn_course import derive
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == broken: raise NameError("a bug in " + name)
sys.meta_path.insert(0, Broken())
x = sp.Symbol("x", positive=True)
for broken in sys.argv[1:]:
    for name in [name for name in sys.modules if name.startswith("attn_course.proofs")]:
        del sys.modules[name]
    try:
        print(broken, "no error:", derive((x + x, ""), (2 * x, "")).fault)
    except NameError as error:
        print(error)
"""


def test_an_error_at_import_of_a_proof_module_is_no_chain_that_could_not_be_decided():
    names = [path.stem for path in (ROOT / "attn_course" / "proofs").glob("[!_]*.py")]
    modules = [f"attn_course.proofs.{name}" for name in names if name != "required_form"]
    run = [sys.executable, "-c", BROKEN_MODULE, *modules]  # that one is imported by questions
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [f"a bug in {name}" for name in modules]


@pytest.mark.parametrize("odd", [sp.Eq(x, 1), [x, 1], None, ..., {1}, True, "x +"], ids=repr)
def test_what_is_no_expression_is_named_in_a_sentence(odd):
    for chain in (derive((x, ""), (odd, "")), derive((odd, ""), (x, ""))):
        assert "cannot be read" in chain.fault and chain.fault[1:] in repr(chain)
        assert chain.fault[1:] in chain._repr_markdown_()
        assert check("0.2", chain).status == "not yet"


def test_a_chain_says_what_it_proves():
    at_least = chains.HONEST["1.2 at_least"]["shortest"]
    counted = chains.HONEST["2.3 two_tied"]["count first"]
    for chain in (at_least, counted):
        look_at(chain)
    proved = at_least.summary()
    assert "Together: first line >= last line, for all gap, s > 0 and n = 2, 3, ..." in proved
    assert "with s_a = t and s_b = t and s_i = 0" in counted.summary()


def test_ranges_that_are_no_dictionary_get_a_sentence():
    chain = compared(x + x, 2 * x, where=5)
    assert "is no dictionary" in chain.summary()
    assert "is no dictionary" in check("0.2", chain).message


def test_a_questions_own_premises_under_another_index_get_no_note():
    scores, h = sp.IndexedBase("s"), sp.Symbol("h", integer=True, positive=True)
    Z = sp.Symbol("Z", positive=True)
    all_powers = sp.Sum(sp.exp(scores[h]), (h, 1, n))
    chain = derive(
        (sp.Sum(sp.exp(scores[h]) / Z, (h, 1, n)), "definition"),
        (1, "that sum is Z"),
        where={Z: all_powers},
    )
    assert not chain.notes
    assert not chain.fault


@pytest.mark.parametrize(
    ("relations", "proved"),
    [(["=", "="], "="), (["<", "<="], "<"), (["=", ">="], ">="), ([">=", ">", "="], ">")],
)
def test_relations_compose(relations, proved):
    lines = [("=", x)]
    for relation in relations:
        lines.append((relation, lines[-1][1] + {"<": 1, ">": -1}.get(relation[0], 0)))
    assert compared(*lines).proved == proved


def test_a_line_that_turns_round_is_marked():
    chain = compared(x, ("<=", x + 1), (">=", x))
    assert chain.at == 2 and "turns round" in chain.fault
    assert repr(chain).splitlines()[2].startswith("✘")
    assert chain._repr_markdown_().count(r"\boxed") == 1


def test_numpys_functions_take_symbols():
    assert np.exp(t) == sp.exp(t) and np.sqrt(x**2) == x and np.exp(-(x**2)) == sp.exp(-(x**2))
    assert np.log1p(x) == sp.log(1 + x) and np.expm1(x) == sp.exp(x) - 1
    assert np.float64(2.0) * x == 2.0 * x
    assert list(np.array([1, 2]) * x) == [x, 2 * x]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (2**0.5, "sp.sqrt(2)"),
        (1 / 3, "sp.Rational(1, 3)"),
        (3.141592653589793, "sp.pi"),
        (-(5**0.5), "-sp.sqrt(5)"),
        (0.123456789, "exactly"),
    ],
)
def test_a_rounded_number_is_told_what_to_write(number, advice):
    fault = compared(x, number * x).fault
    assert "is a rounded number" in fault and advice in fault


def test_two_numbers_that_differ_late_are_shown_with_enough_digits():
    fault = compared(x, x + sp.Rational(1, 10**9)).fault
    left, right = re.search(r"is (\S+) and this one is (\S+)\.", fault).groups()
    assert left != right


@pytest.mark.parametrize(("place", "digits"), [(3, 4), (7, 8), (11, 12)])
def test_no_more_digits_are_shown_than_tell_two_numbers_apart(place, digits):
    mp = CONTEXTS[-1]
    left = mp.mpf(1) / 3
    shown = apart(left, left + mp.mpf(10) ** -place)
    assert shown[0] == "0." + "3" * digits != shown[1]


def test_two_numbers_that_hardly_differ_are_told_by_their_difference():
    mp = CONTEXTS[-1]
    left = mp.mpf(1) / 3
    told = difference("=", -1, left, left + mp.mpf(10) ** -40)
    assert told == "both sides are near 0.3333 and differ by 1.0e-40"
    assert difference(">", 0, left, left) == "both sides are 0.3333, so > does not hold"


def test_the_points_at_which_two_lines_were_compared_are_counted():
    num_points = len(list(draw_points({"x"}, domain_of({x}, {}))))
    assert compared(sp.log(1 + x), ("<=", x)).ways == [f"compared at {num_points} points"]


def test_the_root_of_a_product_of_two_primes_is_no_product_of_known_roots():
    whole = trees.tree_of(sp.sqrt(101 * 151))
    parts = trees.tree_of(-sp.sqrt(101) * sp.sqrt(151, evaluate=False))
    assert whole[0] == "Pow" and parts[0] == "Mul"
    for _ in range(40):
        field = modular.Field.drawn()
        assert modular.compare(whole, parts, frozenset(), field) != modular.EQUAL


def test_a_power_that_every_order_divides_is_not_taken_for_one():
    field = modular.Field.drawn()
    tower = x
    for exponent in (field.prime - 1, 10**59):
        tower = held(sp.Pow, tower, exponent)
        tree = trees.tree_of(tower)
        assert modular.compare(tree, trees.ONE, frozenset({"x"}), field) == modular.UNKNOWN


listed = sp.IndexedBase("a")
IDENTITIES = {  # two forms, and whether algebra is sure that another function is another one
    "a tangent": (sp.tan(t), sp.sin(t) / sp.cos(t), True),
    "the sine of a sum": (sp.sin(t + s), sp.sin(t) * sp.cos(s) + sp.cos(t) * sp.sin(s), True),
    "the cosine of twice": (sp.cos(2 * t), 1 - 2 * sp.sin(t) ** 2, True),
    "erfc, and erf is odd": (sp.erfc(t), 1 + sp.erf(-t), True),
    "a distance": (sp.Abs(t - s), sp.Abs(s - t), False),
    "a positive distance": (held(sp.Abs, x * u), x * u, True),
    "a maximum": (sp.Max(t, s, 1), held(sp.Max, 1, s, t, s), False),
    "the root of a number": (held(sp.sqrt, 12), 2 * sp.sqrt(3), True),
    "the root of a fraction": (held(sp.Pow, sp.Rational(9, 20), half), 3 / (2 * sp.sqrt(5)), True),
    "two roots of numbers": (held(sp.Mul, held(sp.sqrt, 12), sp.sqrt(3)), 6 + 0 * x, True),
    "one and a half": (held(sp.Pow, x * u, 3 * half), x * u * sp.sqrt(x) * sp.sqrt(u), True),
    "a negative third": (x ** sp.Rational(-5, 3), 1 / (x * x ** sp.Rational(2, 3)), True),
    "the root of a power": (held(sp.sqrt, held(sp.Pow, x + u, 3)), (x + u) * sp.sqrt(x + u), False),
    "a root of any sign": (sp.sqrt(x * (t - s)), sp.sqrt(x) * sp.sqrt(t - s), False),
    "the root of an exponential": (held(sp.Pow, sp.exp(t), half), sp.exp(t / 2), True),
    "the logarithm of a number": (
        held(sp.log, sp.Rational(12, 5)),
        2 * sp.log(2) + sp.log(3) - sp.log(5),
        True,
    ),
    "the logarithm of a product": (
        held(sp.log, x * u**2 * (t - s)),
        sp.log(x) + 2 * sp.log(u) + sp.log(t - s),
        True,
    ),
    "a share of a logarithm": (sp.log(1 + x) / 2, held(sp.log, (1 + x) ** 3) / 6, True),
    "the logarithm of an exponential": (held(sp.log, sp.exp(t)), t, True),
    "the logarithm of one": (held(sp.log, held(sp.Add, t, 1, -t)), 0 * t, True),
    "a power with an unknown": (x**t, sp.exp(t * sp.log(x)), False),
    "a power with a sum": (2 ** (n + 1), 2 * 2**n, False),
    "a square in an exponent": (sp.exp((t + 1) ** 2), sp.exp(t**2) * sp.exp(2 * t) * sp.E, True),
    "a multiple of a logarithm": (sp.exp(3 * sp.log(1 + x) - t), (1 + x) ** 3 / sp.exp(t), True),
    "a sum is linear": (
        sp.Sum(3 * i * x + x, (i, 1, n)),
        3 * x * sp.Sum(i, (i, 1, n)) + n * x,
        False,
    ),
    "a product in a sum": (
        sp.Sum((listed[i] - x) * (listed[i] + i * t), (i, 1, n)),
        sp.Sum(listed[i] ** 2, (i, 1, n))
        + t * sp.Sum(i * listed[i], (i, 1, n))
        - x * sp.Sum(listed[i], (i, 1, n))
        - x * t * sp.Sum(i, (i, 1, n)),
        False,
    ),
    "a square in a sum": (
        sp.Sum((listed[i] - x) ** 2, (i, 1, n)),
        sp.Sum(listed[i] ** 2, (i, 1, n)) - 2 * x * sp.Sum(listed[i], (i, 1, n)) + n * x**2,
        False,
    ),
    "a sum is counted": (sp.Sum(x, (i, 3, n)), (n - 2) * x, True),
    "the name of an index": (sp.Sum(listed[i], (i, 1, n)), sp.Sum(listed[j], (j, 1, n)), False),
    "the name in a product": (
        sp.Product(listed[i], (i, 1, n)),
        sp.Product(listed[j], (j, 1, n)),
        False,
    ),
}


@pytest.mark.parametrize(("left", "right", "sure"), IDENTITIES.values(), ids=IDENTITIES.keys())
def test_algebra_shows_an_identity_and_nothing_next_to_it(left, right, sure):
    lines = [trees.tree_of(line) for line in (left, right, right + x / 10**6)]
    positive = frozenset({"x", "u", "n"})
    assert modular.compare(lines[0], lines[1], positive) == modular.EQUAL
    assert modular.compare_squares(lines[0], lines[1], positive) == modular.EQUAL
    other = modular.DIFFERENT if sure else modular.UNKNOWN
    assert modular.compare(lines[0], lines[2], positive) == other


SIGNS = {
    "a square": ((x - 2) ** 2, False),  # true, but not shown by the signs of its terms
    "a sum": (x + u**2, True),
    "a difference": (x - u, False),
    "an exponential above one": (sp.exp(x) - 1, True),
    "an exponential below one": (1 - sp.exp(-x), True),
    "a hyperbolic function": (1 - sp.tanh(x), True),
    "halves of an exponent": (sp.exp(x) - sp.exp(x / 2), True),
    "a whole number of 1 or more": (n**2 - 1, True),
    "a whole number of 2 or more": (n**2 - 4, False),
    "a power with a negative base": ((-2) ** n, False),
    "a root": (sp.sqrt(x - u), True),
    "a root of a symbol, squared": ((1 + sp.sqrt(x)) ** 2 - x, True),
    "the opposite of a root": (-sp.sqrt(x), False),
    "a root of a square": (sp.sqrt((x - 2) ** 2, evaluate=False) - x + 2, False),
    "a logarithm in an exponent": (sp.exp(sp.log(n) - x) - sp.exp(-x), True),
    "a logarithm": (sp.log(1 + x), False),
    "a small exponential": (1 - sp.exp(-(10**6) * x), False),
    "a sum of exponentials": (sp.Sum(sp.exp(i * t), (i, 1, n)), True),
    "an empty sum": (sp.Sum(sp.exp(i * t), (i, 1, n - 2)), False),
    "a sine": (2 + sp.sin(x), False),
    "a divisor of either sign": (1 / (x - u), False),
    "a product with an index": (sp.Product(1 + i**2, (i, 1, n)), False),
    "a sum of terms of either sign": (sp.Sum(sp.exp(i * t) - u, (i, 1, n)), False),
    "a power that is multiplied out": (sp.exp(12 * x) - 1, True),
    "a power that is not": (sp.exp(13 * x) - 1, False),
}


@pytest.mark.parametrize(("expression", "shown"), SIGNS.values(), ids=SIGNS.keys())
def test_signs_show_what_is_never_negative_and_nothing_else(expression, shown):
    domain = domain_of(expression.free_symbols, {})
    assert positivity.never_negative(trees.tree_of(expression), domain) == shown


def test_nothing_is_above_zero_that_is_zero_at_an_end():
    domain = domain_of({y, n}, {y: (0, 1)})
    for expression in (n - 1, y, 1 - y, sp.sqrt(1 + sp.sin(y))):
        tree = trees.tree_of(expression)
        assert positivity.never_negative(tree, domain)
        assert not positivity.always_positive(tree, domain)
    for expression in (n, 1 + y, 2 - y):
        assert positivity.always_positive(trees.tree_of(expression), domain)
    inside = domain_of({y}, {y: (0, 1)}, [trees.tree_of(1 / y + 1 / (1 - y))])
    for expression in (y, 1 - y, y * (1 - y)):
        assert positivity.always_positive(trees.tree_of(expression), inside)


def test_what_is_wrong_for_certain_is_said_before_what_nobody_can_decide():
    tower = sp.exp(sp.exp(10**10 * x))
    verdict = check("0.2", compared(chains.total, chains.total + tower, chains.joined))
    assert "x in one place" in verdict.message and "a person" not in verdict.message


def test_a_forged_refusal_asks_for_no_person():
    chain = compared(chains.total, chains.joined)
    chain.readable = False
    chain.fault = f"step 1 is hard. {FOR_A_PERSON}"
    verdict = check("0.2", chain)
    assert verdict.status == "not yet" and FOR_A_PERSON not in verdict.message


@pytest.mark.parametrize("where", [{t: (1, 2, 3)}, {"t": 1}, {t: "1"}, {t: (0, "x")}], ids=repr)
def test_values_that_cannot_be_read_get_a_sentence(where):
    fault = compared(t, t + 0, where=where).fault
    assert fault.startswith("`where` cannot be read") and "\n" not in fault


def test_another_root_of_the_same_number_is_another_number():
    roots = [trees.tree_of(2 ** sp.Rational(1, k)) for k in (2, 3, 4)]
    for one, other in itertools.combinations(roots, 2):
        assert modular.compare(one, other, frozenset()) != modular.EQUAL


@pytest.mark.parametrize(
    "tokens",
    [
        ["Symbol x", "exp"],
        ["Symbol x", "exp one"],
        ["Symbol x", "Symbol x", "exp 2"],
        ["Symbol x", "Pow 1"],
        ["Symbol x", "Symbol x", "Symbol x", "Pow 3"],
        ["Add 0"],
        ["Symbol x", "Symbol x"],
    ],
    ids=" ".join,
)
def test_a_head_with_another_number_of_arguments_is_refused(tokens):
    with pytest.raises(Unreadable, match="not complete"):
        trees.read(tokens)


@pytest.mark.parametrize(
    ("most", "tokens"),
    [
        (trees.BINDERS, lambda k: ["Symbol x", *["Rational 1", "Rational 3", "Sum i"] * k]),
        (trees.NAME, lambda k: ["Symbol " + k * "x"]),
        (trees.NODES, lambda k: ["Symbol x"] * (k - 1) + [f"Add {k - 1}"]),
        (trees.DEPTH, lambda k: ["Symbol x"] + ["exp 1"] * (k - 1)),
        (60, lambda k: ["Rational " + k * "9"]),
    ],
    ids=["sums", "letters", "nodes", "levels", "digits"],
)
def test_an_expression_may_be_as_large_as_the_limit_and_no_larger(most, tokens):
    trees.read(tokens(most))
    with pytest.raises(Unreadable, match="too"):
        trees.read(tokens(most + 1))


def drawn_in(place, mode):
    """Where ten symbols of one range are at the points of a mode."""
    names = {f"x_{k}" for k in range(10)}
    domain = Domain(dict.fromkeys(names, place))
    points = [point for found, point in draw_points(names, domain) if found == mode]
    return [float(middle) for point in points for middle, _ in point.values(CONTEXTS[0]).values()]


TWO = trees.rational(2)
FIVE = trees.rational(5)


@pytest.mark.parametrize(("side", "place"), [(1, Range(low=TWO)), (-1, Range(high=TWO))])
def test_wide_points_are_nearer_to_the_end_of_a_range_and_farther_from_it(side, place):
    moderate = [side * (value - 2) for value in drawn_in(place, "moderate")]
    wide = [side * (value - 2) for value in drawn_in(place, "wide")]
    assert min(moderate) >= 0.1 and max(moderate) <= 4
    assert 1e-4 <= min(wide) < 0.1 and 4 < max(wide) <= 12


def test_points_between_two_ends_lie_at_them_in_the_middle_or_next_to_them():
    place = Range(TWO, FIVE)
    for mode, value in {"low": 2, "high": 5, "middle": 3.5}.items():
        assert set(drawn_in(place, mode)) == {value}
    assert all(2 < value < 5 for value in drawn_in(place, "moderate"))
    shares = [(value - 2) / 3 for value in drawn_in(place, "wide")]
    digits = {round(-math.log10(min(share, 1 - share)), 6) for share in shares}
    assert digits == {2, 3, 4, 5, 6} and min(shares) < 0.5 < max(shares)


def test_whole_numbers_stay_whole_and_in_their_range():
    place = Range(TWO, FIVE, whole=True)
    for mode in ("moderate", "wide", "low", "high", "middle", "mixed"):
        assert set(drawn_in(place, mode)) <= {2, 3, 4, 5}
    assert set(drawn_in(place, "low")) == {2} and set(drawn_in(place, "high")) == {5}
    far = drawn_in(Range(TWO, whole=True), "wide")
    assert all(value.is_integer() for value in far) and 10**6 < max(far) <= 2 + 10**9
    assert set(drawn_in(Range(high=FIVE, whole=True), "low")) == {-9}


def test_a_point_where_two_lines_differ_names_the_symbols_of_both():
    comparer = Comparer(domain_of({x, u}, {}))
    first, second = (trees.tree_of(line) for line in (x, x + u))
    place, left, right = comparer.difference_at(first, second)
    assert "u = " in place and "x = " in place and float(left) < float(right)
    assert comparer.difference_at(first, first) == ("", "", "")


@pytest.mark.parametrize("head", trees.HYPERBOLIC)
def test_hyperbolic_functions_are_read_as_exponentials(head):
    tree = trees.read(["Symbol x", f"{head} 1"])
    allowed = "Symbol Rational Add Mul Pow exp".split()
    assert {node[0] for node in trees.walk(tree)} <= set(allowed)
    name = {"sech": "cosh", "csch": "sinh", "coth": "tanh"}.get(head, head)
    value = getattr(math, name)(plain_value(("Symbol", "x"), 0))
    wanted = value if name == head else 1 / value
    assert plain_value(tree, 0) == pytest.approx(wanted)


def test_hyperbolic_functions_in_one_another_are_refused_before_they_fill_the_memory():
    with pytest.raises(Unreadable, match="too large"):
        trees.read(["Symbol x", *["cosh 1"] * 40])


def grown(rng, depth):
    """A random expression in x and y with roots, logarithms, denominators and hyperbolic functions."""
    if not depth:
        return rng.choice([x, y, n, sp.Integer(1), sp.Integer(2), sp.Rational(1, 2)])
    left, right = grown(rng, depth - 1), grown(rng, depth - 1)
    forms = [
        lambda: left + right,
        lambda: left - right,
        lambda: left * right,
        lambda: held(sp.Mul, left, held(sp.Pow, right, -1)),
        lambda: held(sp.sqrt, left),
        lambda: held(sp.log, left),
        lambda: sp.exp(left),
        lambda: left**2 + right,
        lambda: held(sp.tanh, left),
        lambda: held(sp.coth, left),
    ]
    return rng.choice(forms)()


@pytest.mark.parametrize("seed", range(8))
def test_what_is_shown_to_have_a_value_has_one_everywhere(seed):
    rng = random.Random(seed)
    num_shown = 0
    for _ in range(60):
        with contextlib.suppress(Unreadable):
            tree = trees.tree_of(grown(rng, 3))
            domain = domain_of({x, y, n}, {y: (0, 1)})
            if not positivity.has_value(tree, domain):
                continue
            num_shown += 1
            assert find_pole(tree, domain, Work()) == ""
            for place in ((1e-3, 0, 1), (1, 1, 2), (2, 0.5, 3)):
                values = [trees.rational(Fraction(value)) for value in place]
                there = trees.substitute(tree, dict(zip("xyn", values, strict=True)))
                with contextlib.suppress(OverflowError):
                    assert not isinstance(plain_value(there, 0), complex)
    assert num_shown


@pytest.mark.parametrize("seed", range(8))
def test_no_hyperbolic_line_that_is_wrong_is_proved(seed):
    rng = random.Random(seed)
    functions = [sp.sinh, sp.cosh, sp.tanh, sp.sech, sp.exp]
    comparer = Comparer(domain_of({x}, {}))
    for _ in range(30):
        left, right = (
            rng.choice(functions)(x * rng.randint(1, 3)) ** rng.randint(1, 2)
            * rng.choice(functions)(x)
            for _ in range(2)
        )
        for relation in ("=", "<=", ">"):
            if (
                comparer.compare(trees.tree_of(left), relation, trees.tree_of(right)).state
                != "holds"
            ):
                continue
            for at in (0.01, 0.3, 1.0, 2.5):
                first, second = (float(side.subs(x, at)) for side in (left, right))
                close = math.isclose(first, second, rel_tol=1e-9)
                true = {
                    "=": close,
                    "<=": close or first < second,
                    ">": not close and first > second,
                }
                assert true[relation], (left, relation, right, at)


POLES = {
    3 * x - 1: "near x = 0.3333",
    x**2 - 2: "near x = 1.414",
    (sp.exp(x) - 2) ** 2: "near x = 0.6931",
    sp.log(sp.Abs(5 * x - 7)): "near x = 1.4",
    x - t: "near t = ",
    sp.exp(x) - n: "near n = ",
    n - 23: "near n = 23",
    sp.tan(x / 9): "near x = 14.14",
}


@pytest.mark.parametrize("factor", POLES, ids=str)
def test_a_line_that_divides_by_zero_somewhere_does_not_follow(factor):
    fault = compared(x, held(sp.Mul, x, factor, 1 / factor), x).fault
    assert POLES[factor] in fault and "no finite real value" in fault


# An entry of a list is drawn anew in every place, so its sign does not change on a way.
WITHOUT_POLE = [2 * n - 17, n**2 - 3, x**2 + 1, 1 + sp.exp(t) * n, listed[1]]


@pytest.mark.parametrize("factor", WITHOUT_POLE, ids=str)
def test_no_pole_is_found_where_there_is_none(factor):
    line = trees.tree_of(1 / factor)
    assert find_pole(line, domain_of({x, t, n, listed}, {}), Work()) == ""


def test_an_empty_chain_costs_its_own_points_alone():
    first, second, third = chains.answers("2.3 two_tied", None)
    verdict = check("2.3", first, second, third)
    assert verdict.message == "2 of 3 chains hold; `two_tied` is still empty."
    assert verdict.points == pytest.approx(2.5 * 2 / 3) and verdict.status == "not yet"
    assert check("2.3", None, None, None).status == "not attempted"


def test_two_false_chains_are_told_one_after_the_other():
    at_least, at_most = chains.right("1.2")["shortest"]
    said = (
        "`at_least` proves <=, where >= is asked for. `at_most` proves >=, where <= is asked for."
    )
    assert check("1.2", at_most, at_least).message == said
