"""Chains for every question that asks for one: honest ones in many styles, and false ones.

HONEST["1.2 at_least"][style] is a chain. FALSE["1.2 at_least"][name] is (chain, part of what must be said).
"""

from unittest.mock import patch

import numpy as np
import sympy as sp

import attn_course
from attn_course import register
from bank.average_of_two import (
    closed,
    counted,
    g_aa,
    g_ab,
    g_ia,
    g_ib,
    query,
    rest,
    s_a,
    s_b,
    s_i,
    scored,
    t,
    tie,
    unit,
)
from bank.average_of_two import weight as softmax
from bank.position import given as rotated


def derive(*steps, where=None):
    """A chain whose lines nobody has compared yet; `check` does that itself, and nothing is shown here."""
    with patch("attn_course.derivation.look_at"):
        return attn_course.derive(*steps, where=where)


def lines(*steps):
    """Steps with a reason each; a pair of a relation and an expression is an inequality."""
    return [(*step, "so") if isinstance(step, tuple) else (step, "so") for step in steps]


def maker(start, where=None):
    """A function that makes chains from the given line."""
    return lambda *steps: derive((start, "given"), *lines(*steps), where=where)


def held(head, *parts):
    """A sum or product that SymPy leaves as it is written."""
    return head(*parts, evaluate=False)


half = sp.Rational(1, 2)

# 0.2
x = sp.Symbol("x", positive=True)
other_x = sp.Symbol("x")
total = 1 / (1 + x) + 1 / (1 - x)
joined = 2 / ((1 + x) * (1 - x))
single = 2 / (1 - x**2)
fraction = maker(total, {x: (0, 1)})

# 1.1
every_score = sp.IndexedBase("s")
n, i, j, k = sp.symbols("n i j k", integer=True, positive=True)
Z = sp.Symbol("Z", positive=True)
every = sp.Sum(sp.exp(every_score[k]), (k, 1, n))
among = sp.Sum(sp.exp(every_score[i]), (i, 1, n))
share_of_i = sp.exp(every_score[i]) / Z
in_all = maker(sp.Sum(share_of_i, (i, 1, n)), {Z: every})
own_share = sp.exp(every_score[j]) / Z


def rivals_of(key):
    """Z divided by the exponential of one score, term by term."""
    return sp.Sum(sp.exp(every_score[k] - every_score[key]), (k, 1, n))


alone = maker(own_share, {Z: every, j: (1, n)})

# 1.2
s, gap, R = sp.symbols("s gap R", positive=True)
weight = sp.exp(s) / (sp.exp(s) + R)
divided = 1 / (1 + R * sp.exp(-s))
least = 1 / (1 + (n - 1) * sp.exp(-gap))
most = 1 / (1 + sp.exp(-gap))
at_gap = sp.exp(s - gap)
bound = maker(weight, {R: (at_gap, (n - 1) * at_gap)})
all_at_gap = weight.subs(R, (n - 1) * at_gap)
one_at_gap = weight.subs(R, at_gap)

# 2.3
product = lambda start: maker(start, query | unit)  # noqa: E731
of_a, of_i = product(s_a), product(s_i)
tied = maker(softmax, tie)
power_of_e = sp.Pow(sp.E, t, evaluate=False)
index = sp.Dummy("n", integer=True, positive=True)

# 3.2
h = sp.Symbol("t", positive=True)
ell, q_a, q_b, q_i, w = sp.symbols("ell s_a s_b s_i w", real=True)
others = sp.Sum(sp.exp(q_i), (i, 1, n - 2))
definition = sp.exp(ell * q_a) / (sp.exp(ell * q_a) + sp.exp(q_b) + others)
heights = {q_a: h, q_b: h, q_i: 0}
own = sp.exp(h * ell)
crowd = sp.exp(h) + n - 2
put_in = own / (own + sp.exp(h) + sp.Sum(1, (i, 1, n - 2)))
drawn = own / (own + crowd)
line = h * ell - sp.log(crowd)
of_ratio = sp.log(own / crowd)
given_length = maker(definition, heights)
log_odds = maker(sp.log(w / (1 - w)), heights | {w: definition})

# 3.5
c, d = sp.symbols("t d", positive=True)
lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
g_bb = sp.Symbol("g_bb", real=True)
key_a, key_b = c * lambda_a * (g_aa + g_ab), c * lambda_b * (g_ab + g_bb)
products = {p_a: key_a, p_b: key_b, g_aa: 1, g_ab: 0, g_bb: 1}
noisy_a, noisy_b = maker(p_a / sp.sqrt(d), products), maker(p_b / sp.sqrt(d), products)

# 4.5
beta, P = sp.symbols("beta P", positive=True)
e = sp.erf(1 / sp.sqrt(2 * beta))
variances = sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n / (n - 1) * 2
common = n / (2 * (n - 1)) * P * (1 - P)
once = n / (8 * (n - 1)) * (1 - e**2)
ratio = maker(variances, {P: (1 + e) / 2})

# 5.4
rho = sp.Symbol("rho", positive=True)
E = sp.exp(rho**2)
near = E / (E + 2)
far = 1 / (E + 2)
far_2 = rho * sp.sqrt((near + far - 1) ** 2 + far**2)
far_1 = rho * sp.sqrt((far + near - 1) ** 2 + (near - 1) ** 2)
added = rho * sp.sqrt(((E + 1) * far - 1) ** 2 + far**2)
root_2 = sp.sqrt(2) * rho / (E + 2)
root_5 = sp.sqrt(5) * rho / (E + 2)
of_2, of_1 = maker(far_2), maker(far_1)

# 11.5 and 12.1
q_1, q_2, k_1, k_2, theta, m, place, delta = sp.symbols(
    "q_1 q_2 k_1 k_2 theta p_q p_k delta", real=True
)
inner, cross = q_1 * k_1 + q_2 * k_2, q_1 * k_2 - q_2 * k_1
rotation = maker(rotated, {m: place + delta})


def at(angle):
    return inner * sp.cos(angle * theta) + cross * sp.sin(angle * theta)


M_1, M_2, l_1, l_2 = sp.symbols("M_1 M_2 l_1 l_2", real=True)
Z_1, Z_2 = sp.symbols("Z_1 Z_2", positive=True)
first_block, second_block = sp.exp(M_1) * Z_1, sp.exp(M_2) * Z_2
block_share = first_block / (first_block + second_block)
sigmoid = 1 / (1 + sp.exp(l_2 - l_1))
merged = sp.exp(l_1) / (sp.exp(l_1) + sp.exp(l_2))
blocks = maker(block_share, {M_1: l_1 - sp.log(Z_1), M_2: l_2 - sp.log(Z_2)})

HONEST = {
    "0.2 one_fraction": {
        "join, multiply out": fraction(joined, single),
        "by simplify": fraction(sp.simplify(total), single),
        "by together and simplify": fraction(sp.together(total), sp.simplify(sp.together(total))),
        "by factor": fraction(sp.factor(sp.together(total)), -2 / (x**2 - 1)),
        "two fractions over one denominator": fraction(
            (1 - x) / (1 - x**2) + (1 + x) / (1 - x**2), single
        ),
        "a sum that SymPy merges": fraction(2 / (1 - x + x - x**2), joined, single),
        "the numerator written out": fraction(
            held(sp.Add, 1 - x, 1 + x) / ((1 + x) * (1 - x)), joined, single
        ),
        "held back by SymPy's own word": fraction(
            (sp.UnevaluatedExpr(1 - x) + sp.UnevaluatedExpr(1 + x)) / ((1 + x) * (1 - x)), single
        ),
        "x declared anew": fraction(2 / ((1 + other_x) * (1 - other_x)), 2 / (1 - other_x**2)),
        "a line twice, as SymPy makes it": fraction(joined, joined, single, single),
        "there and back": fraction(joined, total, joined, single),
        "with something that cancels": fraction(held(sp.Add, total, x, -x), single),
        "with a factor that is one": fraction(held(sp.Mul, total, 2 + x, 1 / (2 + x)), single),
        "to the power 1": fraction(held(sp.Pow, total, 1), single),
        "over its own inverse": fraction(held(sp.Pow, held(sp.Pow, total, -1), -1), single),
        "with sine and cosine": fraction(total * (sp.sin(x) ** 2 + sp.cos(x) ** 2), single),
        "with hyperbolic functions": fraction(
            held(sp.Mul, total, held(sp.Add, sp.cosh(x) ** 2, -(sp.sinh(x) ** 2))), single
        ),
        "a decimal": fraction(joined, 1 / (0.5 - 0.5 * x**2)),
        "a range of one's own": derive(
            (total, ""), *lines(joined, single), where={x: (sp.Rational(1, 4), half)}
        ),
    },
    "1.1 sum_of_weights": {
        "Z out, then the sum is Z": in_all(among / Z, 1),
        "Z in, then out": in_all(sp.Sum(sp.exp(every_score[i]) / every, (i, 1, n)), 1),
        "Z out, Z in, cancel": in_all(every / Z, held(sp.Mul, every, 1 / every), 1),
        "Z divided by Z": in_all(among / Z, held(sp.Mul, Z, 1 / Z), 1),
        "by subs": in_all(among / Z, (among / Z).subs(Z, among), 1),
        "with the inverse of Z": in_all(held(sp.Mul, among, 1 / Z), every / Z, every / every, 1),
        "four lines": in_all(among / Z, every / Z, held(sp.Mul, every, 1 / every), Z / Z, 1),
    },
    "1.1 one_weight": {
        "in one line": alone((">", 0)),
        "Z in first": alone(sp.exp(every_score[j]) / every, (">", 0)),
        "half of it": alone((">", own_share / 2), (">", 0)),
        "at least half of it": alone((">=", own_share / 2), (">", 0)),
        "divided inside the sum": alone(1 / rivals_of(j), (">", 0)),
    },
    "1.2 at_least": {
        "divide, then bound": bound(divided, (">=", least)),
        "bound, then divide": bound((">=", all_at_gap), least),
        "bound, then simplify": bound((">=", all_at_gap), sp.simplify(all_at_gap)),
        "signs as they are printed": bound(divided, ("≥", least)),
        "from above": bound(
            1 - R / (R + sp.exp(s)),
            (">=", 1 - (n - 1) * at_gap / ((n - 1) * at_gap + sp.exp(s))),
            least,
        ),
        "as a sigmoid": bound(1 / (1 + sp.exp(sp.log(R) - s)), (">=", least)),
        "a sigmoid of the lead": bound(divided, (">=", 1 / (1 + sp.exp(sp.log(n - 1) - gap)))),
        "six lines": bound(
            1 / ((sp.exp(s) + R) * sp.exp(-s)),
            divided,
            1 - R / (R + sp.exp(s)),
            (">=", all_at_gap),
            least,
            sp.exp(gap) / (sp.exp(gap) + n - 1),
        ),
        "a line that leads nowhere": bound(held(sp.Add, weight, n, -n), (">=", least)),
        "by subs": bound(divided, (">=", divided.subs(R, (n - 1) * at_gap)), least),
        "by expand": bound(
            sp.exp(s) / (sp.exp(s) + R), (">=", all_at_gap), 1 / sp.expand(1 / all_at_gap)
        ),
        "equal steps written with <= nowhere": bound(divided, ("==", divided), (">=", least)),
    },
    "1.2 at_most": {
        "divide, then bound": bound(divided, ("<=", most)),
        "bound, then divide": bound(("<=", one_at_gap), most),
        "with tanh": bound(divided, ("<=", (1 + sp.tanh(gap / 2)) / 2)),
        "another form of the end": bound(divided, ("<=", most), sp.exp(gap) / (1 + sp.exp(gap))),
        "through sech": bound(
            divided, ("<=", most), sp.exp(gap / 2) * sp.sech(gap / 2) / 2, most.simplify()
        ),
        "looser, then exact": bound(divided, ("<=", most), held(sp.Add, most, gap, -gap), most),
        "the rest first": bound(
            1 - R / (R + sp.exp(s)), ("<=", 1 - at_gap / (at_gap + sp.exp(s))), most
        ),
        "signs as they are printed": bound(divided, ("≤", most)),
    },
    "2.3 score_a": {
        "put in, then one and zero": of_a(t * (g_aa + g_ab), t),
        "one product at a time": of_a(t * g_aa + t * g_ab, t * g_aa, t),
        "a product by subs": of_a(
            t * (g_aa + g_ab), (t * (g_aa + g_ab)).subs(g_ab, 0), (t * g_aa).subs(g_aa, 1)
        ),
        "orthonormality in between": of_a(t * (1 + g_ab), t),
        "expanded": of_a(sp.expand(t * (g_aa + g_ab)), held(sp.Mul, t, held(sp.Add, 1, 0)), t),
    },
    "2.3 score_i": {
        "put in, then zero": of_i(t * (g_ia + g_ib), 0),
        "one at a time": of_i(t * g_ia + t * g_ib, t * g_ib, 0),
        "zeros written": of_i(held(sp.Mul, t, held(sp.Add, 0, 0)), 0),
    },
    "2.3 two_tied": {
        "put in, count, divide": tied(scored, counted, closed),
        "one score at a time": tied(
            sp.exp(t) / (sp.exp(t) + sp.exp(s_b) + rest),
            sp.exp(t) / (2 * sp.exp(t) + rest),
            scored,
            counted,
        ),
        "a value used before its symbol has gone": tied(
            sp.exp(t) / (sp.exp(s_a) + sp.exp(s_b) + rest), scored, counted
        ),
        "count first": tied(
            sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + (n - 2) * sp.exp(s_i)), counted
        ),
        "by doit": tied(softmax.doit(), counted),
        "by subs, SymPy takes exp(0)": tied(softmax.subs({s_a: t, s_b: t, s_i: 0}), counted),
        "by subs, doit and simplify": tied(
            softmax.subs({s_a: t, s_b: t, s_i: 0}).doit(),
            sp.expand(1 / (1 / counted).expand()),
            closed,
        ),
        "divide inside the sum": tied(
            1 / (1 + sp.exp(s_b - s_a) + sp.Sum(sp.exp(s_i - s_a), (i, 1, n - 2))), closed
        ),
        "divide first": tied(
            1 / (1 + sp.exp(s_b - s_a) + rest * sp.exp(-s_a)),
            1 / (2 + sp.exp(-t) * sp.Sum(1, (i, 1, n - 2))),
            closed,
        ),
        "a power of e, and a sum that starts at 3": tied(
            power_of_e / (2 * power_of_e + sp.Sum(1, (i, 3, n))), counted
        ),
        "a Dummy to sum over": tied(
            sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (index, 1, n - 2))), counted
        ),
        "with NumPy's exponential": tied(
            np.exp(t) / (2 * np.exp(t) + sp.Sum(1, (i, 1, n - 2))), 1 / (2 + (n - 2) * np.exp(-t))
        ),
        "count and put in at once": tied(counted, closed),
        "as half of what is left": tied(counted, half - (n - 2) / (2 * (2 * sp.exp(t) + n - 2))),
        "with cosh and sinh for the exponential": tied(
            counted.subs(sp.exp(t), sp.cosh(t) + sp.sinh(t)), counted
        ),
        "a sum of one term around the end": tied(sp.Sum(counted, (i, 1, 1)), counted),
    },
    "3.2 weight_of_a": {
        "put in, count": given_length(put_in, drawn),
        "count first": given_length(
            sp.exp(ell * q_a) / (sp.exp(ell * q_a) + sp.exp(q_b) + (n - 2) * sp.exp(q_i)),
            drawn,
            1 / (1 + crowd / own),
        ),
        "by subs": given_length(definition.subs(heights), drawn),
        "by subs and doit": given_length(
            definition.subs(heights).doit(), 1 / (1 + crowd * sp.exp(-h * ell))
        ),
        "at once, then divide": given_length(drawn, 1 / (1 + crowd / own)),
        "one minus the rest": given_length(put_in, 1 - crowd / (own + crowd)),
    },
    "3.2 log_odds": {
        "logarithm of a ratio": log_odds(of_ratio, line),
        "the weight put in": log_odds(sp.log(definition / (1 - definition)), of_ratio, line),
        "minus the logarithm of the odds against": log_odds(
            -sp.log(1 / w - 1), -sp.log(crowd / own), line
        ),
        "a difference of logarithms": log_odds(
            sp.log(w) - sp.log(1 - w), sp.log(drawn) - sp.log(1 - drawn), line
        ),
        "the odds of the weight in (i)": log_odds(sp.log(drawn / (1 - drawn)), of_ratio, line),
        "by expand_log": log_odds(of_ratio, sp.expand_log(of_ratio, force=True)),
        "w beside its value": log_odds(of_ratio + w - drawn, line),
        "with something that cancels": log_odds(held(sp.Add, sp.log(w / (1 - w)), h, -h), line),
    },
    "3.5 score_a": {
        "put in, then orthonormality": noisy_a(key_a / sp.sqrt(d), lambda_a * c / sp.sqrt(d)),
        "one product at a time": noisy_a(
            c * lambda_a * g_aa / sp.sqrt(d) + c * lambda_a * g_ab / sp.sqrt(d),
            c * lambda_a * g_aa * d ** sp.Rational(-1, 2),
            lambda_a * (c / sp.sqrt(d)),
        ),
        "with the root's decimal": noisy_a(key_a / d**0.5, c * lambda_a / d**0.5),
    },
    "3.5 score_b": {
        "put in, then orthonormality": noisy_b(key_b / sp.sqrt(d), lambda_b * c / sp.sqrt(d)),
        "by subs": noisy_b(
            (p_b / sp.sqrt(d)).subs(p_b, key_b),
            (key_b / sp.sqrt(d)).subs({g_ab: 0, g_bb: 1}),
        ),
        "a root taken together": noisy_b(key_b / sp.sqrt(d), lambda_b * sp.sqrt(c**2 / d)),
    },
    "4.5 ratio": {
        "factor, then P": ratio(common, once),
        "by factor and subs": ratio(
            sp.factor(variances), sp.factor(variances).subs(P, (1 + e) / 2), once
        ),
        "by simplify": ratio(sp.simplify(variances), once),
        "with the complement": ratio(
            common, n / (8 * (n - 1)) * (1 + e) * (1 - e), n * (1 - e**2) / (8 * n - 8)
        ),
        "with erfc": ratio(
            common,
            n / (4 * (n - 1)) * P * sp.erfc(1 / sp.sqrt(2 * beta)),
            n / (8 * (n - 1)) * (1 - sp.erf(sp.sqrt(2) / (2 * sp.sqrt(beta))) ** 2),
        ),
        "P put in first": ratio(variances.subs(P, (1 + e) / 2), once),
        "twice, less once": ratio(
            held(sp.Add, held(sp.Mul, 2, variances), held(sp.Mul, -1, variances)), once
        ),
        "with hyperbolic functions": ratio(
            variances * held(sp.Add, sp.cosh(beta) ** 2, -(sp.sinh(beta) ** 2)), once
        ),
    },
    "5.4 error_2": {
        "add the weights": of_2(added, root_2),
        "in one line": of_2(root_2),
        "lines that SymPy makes one": of_2(rho * sp.sqrt(2 * far**2), sp.sqrt(2) * rho * far),
        "by simplify": of_2(sp.simplify(far_2), root_2),
        "multiplied out": of_2(sp.sqrt(sp.expand(far_2**2 / rho**2)) * rho, root_2),
        "the other way round": of_2(rho * sp.sqrt((1 - far - near) ** 2 + far**2), root_2),
        "longer in between": of_2(root_2, sp.sqrt(2) * rho * (1 - near) / 2, root_2),
    },
    "5.4 error_1": {
        "near and far": of_1(rho * sp.sqrt(far**2 + (near - 1) ** 2), root_5),
        "five squares": of_1(rho * sp.sqrt(5 * far**2), sp.sqrt(5) * rho * far),
        "two far": of_1(rho * sp.sqrt((far + near - 1) ** 2 + 4 * far**2), root_5),
        "in fractions": of_1(
            rho * sp.sqrt((far + near - 1) ** 2 + (2 / (E + 2)) ** 2),
            rho * sp.sqrt(((E + 1) / (E + 2) - 1) ** 2 + 4 / (E + 2) ** 2),
            root_5,
        ),
    },
    "11.5 score": {
        "addition theorems, then delta": rotation(at(m - place), at(delta)),
        "expanded first": rotation(sp.expand(rotated), at(m - place), at(delta)),
        "delta first": rotation(rotated.subs(m, place + delta), at(delta)),
        "the other position": rotation(rotated.subs(place, m - delta), at(delta)),
        "by simplify": rotation(sp.expand_trig(at(m - place)), at(delta)),
    },
    "12.1 share": {
        "put in, divide": blocks(merged, sigmoid),
        "divide, put in": blocks(1 / (1 + Z_2 / Z_1 * sp.exp(M_2 - M_1)), sigmoid),
        "by subs": blocks(
            block_share.subs({M_1: l_1 - sp.log(Z_1), M_2: l_2 - sp.log(Z_2)}), sigmoid
        ),
        "as a tanh": blocks(merged, (1 + sp.tanh((l_1 - l_2) / 2)) / 2),
        "the same exponential twice": blocks(merged, sp.exp(l_1 - l_2) / (1 + sp.exp(l_1 - l_2))),
    },
}

NO_PROOF = "A person will look at it."
tiny = sp.exp(-(10**5) * n)
tinier = sp.exp(-(10**6) * n)
halved = half ** (10**5 * n)
padding = [number * sp.exp(-number * x) for number in range(1, 91)]
long_lines = [
    held(sp.Add, joined, number, -number, *padding, *(-part for part in padding))
    for number in range(2, 31)
]
bump = least + (divided - least) * (half + 5 * sp.exp(-100 * (gap - 8) ** 2))
narrow = (gap - 8) * (gap - sp.Rational(80001, 10000))
narrow_rho = (rho - sp.Rational(81, 10)) * (rho - sp.Rational(811, 100))
cube = (x**3 + 3 * x**2 + 3 * x + 1) ** sp.Rational(1, 3) / (1 + x)
differences = [
    sp.Pow(
        x + sp.Rational(3, 2) + number * sp.Rational(1, 1000),
        (-1) ** number * sp.binomial(6, number),
    )
    for number in range(7)
]
vanishing = sp.prod([n - number for number in range(2, 22)])
long_decimal = sp.Float("1." + "0" * 25 + "1", 60)
prime = 2**80 + 18513


def turning(factor):
    """1, but for the narrow place in which the factor is negative: there it is -1."""
    return sp.sqrt(sp.expand(factor**2)) / factor


def lacking(symbol, place):
    """1, but without a value at one place."""
    return held(sp.Mul, symbol - place, 1 / (symbol - place))


def false_at(name):
    return f"step 1 of `{name}` does not follow", f"step 2 of `{name}` does not follow"


at_1, at_2 = false_at("at_least")
tied_1, tied_2 = false_at("two_tied")
odds_1, odds_2 = false_at("log_odds")
OF_LOG_ODDS = "of `log_odds`"  # not proved, or refuted at a point far out

FALSE = {
    "0.2 one_fraction": {
        "a false line": (fraction(2 / (2 - x**2), single), "step 1 of the chain does not follow"),
        "a sign": (fraction(joined, 2 / (1 + x**2)), "step 2 of the chain does not follow"),
        "one only": (fraction(1 / (1 - x**2), single), "step 1 of the chain does not follow"),
        "a term lost": (fraction(1 / (1 - x), single), "step 1 of the chain does not follow"),
        "a jump": (fraction(single), "show at least one line between"),
        "a jump that SymPy hides": (fraction(total / 1, single), "show at least one line between"),
        "only an inequality": (fraction(joined, (">=", single)), "proves >=, where = is asked"),
        "vacuous": (fraction(("<=", 10**6 / (1 - x)), (">=", single)), "turns round"),
        "turned there and back": (fraction((">", 1), ("<", single)), "turns round"),
        "not to the end": (fraction(joined, -2 / ((x - 1) * (x + 1))), "x in one place is asked"),
        "back at the start": (fraction(joined, single, joined / 1), "x in one place is asked for"),
        "split again": (
            fraction(joined, single, 1 + (1 + x**2) / (1 - x**2)),
            "x in one place is asked for",
        ),
        "a decimal whose last digits are lost": (
            fraction(joined, held(sp.Mul, single, long_decimal)),
            "cannot be read exactly",
        ),
        "a decimal below the smallest float": (
            fraction(joined, held(sp.Add, single, sp.Float("1e-400", 50))),
            "cannot be read exactly",
        ),
        "a rounded number": (
            fraction(1.4142135623730951**2 / ((1 + x) * (1 - x)) * x / x, single),
            "is a rounded number",
        ),
        "another golden number": (fraction(joined * sp.GoldenRatio, single), "a constant in it"),
        "a product that is nearly one": (
            fraction(held(sp.Mul, joined, *differences), single),
            "step 1 of the chain",
        ),
        "a root that nobody takes": (fraction(held(sp.Mul, joined, cube), single), NO_PROOF),
        "nearly one": (
            fraction(joined, single * (1 + sp.Rational(1, 10**30))),
            "both sides are near",
        ),
        "a very small exponential": (
            fraction(joined, single + sp.exp(-(10**6) / x)),
            "differ, if only by very little",
        ),
        "a multiple of a known prime": (
            fraction((2 + prime * x) / ((1 + x) * (1 - x)), single * (1 + prime)),
            "step 1 of the chain does not follow",
        ),
        "29 long lines": (fraction(*long_lines, single), "is too long to check"),
        "text": (fraction("2/(1-x**2)"), "quotation marks"),
        "a limit": (fraction(("x -> 0", 2)), "takes a limit"),
        "a symbol of another question": (fraction(joined * s / gap, single), "uses gap"),
        "no value in the middle": (
            fraction(held(sp.Mul, joined, lacking(x, half)), single),
            "near x = 0.5 it has no finite real value",
        ),
        "no value near an end": (
            fraction(held(sp.Mul, joined, lacking(x, sp.Rational(1, 1000003))), single),
            "has a value everywhere was not shown",
        ),
        "a root of something negative": (
            fraction(held(sp.Mul, joined, sp.sqrt(x - half), 1 / sp.sqrt(x - half)), single),
            "has no finite real value",
        ),
        "a logarithm of something negative": (
            fraction(held(sp.Add, joined, sp.log(x - half), -sp.log(x - half)), single),
            "has no finite real value",
        ),
        "coth without a value": (
            fraction(held(sp.Mul, joined, sp.coth(x - half), sp.tanh(x - half)), single),
            "near x = 0.5 it has no finite real value",
        ),
        "a hyperbolic identity with a wrong sign": (
            fraction(held(sp.Mul, joined, sp.cosh(x) ** 2 + sp.sinh(x) ** 2), single),
            "step 1 of the chain does not follow",
        ),
    },
    "1.1 sum_of_weights": {
        "a jump": (in_all(1), "show at least one line between"),
        "not to the end": (in_all(every / Z, among / Z), "still contains Z, n and s"),
        "two": (in_all(among / Z, 2), "step 2 of `sum_of_weights`"),
        "one weight for all": (
            in_all(n * sp.exp(every_score[1]) / Z, 1),
            "step 1 of `sum_of_weights`",
        ),
        "a term too few": (
            in_all(sp.Sum(sp.exp(every_score[i]), (i, 2, n)) / Z, 1),
            "step 1 of `sum_of_weights`",
        ),
        "a sum that cancels": (in_all(held(sp.Add, among / Z, n, -n), 2), "step 2"),
        "vacuous": (in_all(("<=", n + 1), (">=", 1)), "turns round"),
        "at most one": (in_all(among / Z, ("<=", 1)), "proves <=, where = is asked"),
        "another index": (
            in_all(sp.Sum(share_of_i, (i, 1, n)) / n, 1 / n, 1),
            "step 1 of `sum_of_weights`",
        ),
    },
    "1.1 one_weight": {
        "not strict": (alone((">=", 0)), "proves >=, where > is asked for"),
        "loose": (alone((">", -1)), "0 is a bound too"),
        "divided the wrong way": (
            alone(1 / sp.Sum(sp.exp(every_score[j] - every_score[k]), (k, 1, n)), (">", 0)),
            "step 1 of `one_weight` does not follow",
        ),
        "too much": (alone((">", 1 / n)), "step 1 of `one_weight` does not follow"),
        "below one": (alone(("<", 1)), "step 1 of `one_weight` does not follow"),
        "at most one": (alone(("<=", 1)), "proves <=, where > is asked for"),
        "the weight is above 1": (alone((">", 1), (">", 0)), "step 1 of `one_weight`"),
        "equal to zero": (alone(0), "step 1 of `one_weight` does not follow"),
    },
    "1.2 at_least": {
        "false near a gap of 8 alone": (bound(divided, (">=", bump), (">=", least)), NO_PROOF),
        "another sign in a narrow place": (
            bound(held(sp.Mul, divided, turning(narrow)), divided, (">=", least)),
            "of `at_least`",
        ),
        "false for a gap above 13": (
            bound((">=", least + (weight - least) * gap / 13), (">=", least)),
            at_1,
        ),
        "vacuous": (bound(("<=", 10**6), (">=", least)), "turns round"),
        "a jump": (bound((">=", least)), "show at least one line between"),
        "loose": (bound(divided, (">=", 1 / (1 + n * sp.exp(-gap)))), "is not the best bound"),
        "zero": (bound(divided, (">=", 0)), "is not the best bound"),
        "an equality": (bound(divided, least), at_2),
        "strict": (bound(divided, (">", least)), at_2),
        "the wrong way": (bound(divided, ("<=", least)), at_2),
        "the other end": (bound(divided, ("<=", most)), "proves <=, where >= is asked for"),
        "for few keys only": (bound(divided, (">=", 1 / (1 + 10**6 * sp.exp(-gap)))), at_2),
        "divided wrongly": (bound(1 / (1 + R * sp.exp(s)), (">=", least)), at_1),
        "R is left": (bound(all_at_gap - all_at_gap + weight, divided), "still contains R and s"),
        "a minimum": (bound(divided, (">=", sp.Min(least, 1))), NO_PROOF),
        "a small term": (bound(divided, (">=", least + tinier), (">=", least)), NO_PROOF),
        "a hyperbolic function far out": (
            bound(divided, (">=", least * sp.coth(10**6 * n)), (">=", least)),
            NO_PROOF,
        ),
        "an exponential of next to nothing": (
            bound(divided, (">=", least * sp.exp(tinier)), (">=", least)),
            NO_PROOF,
        ),
        "undefined for a gap up to 1/20": (
            bound(
                held(sp.Mul, divided, sp.sqrt(gap - half / 10), 1 / sp.sqrt(gap - half / 10)),
                divided,
                (">=", least),
            ),
            "step 1 of `at_least` does not follow",
        ),
        "undefined at one gap": (
            bound(held(sp.Mul, divided, lacking(gap, sp.Rational(1234567, 10**6))), (">=", least)),
            "near gap = 1.235 it has no finite real value",
        ),
    },
    "1.2 at_most": {
        "vacuous": (bound((">=", 0), ("<=", most)), "turns round"),
        "loose by far": (bound(divided, ("<=", 1)), "is not the best bound"),
        "a small term": (bound(divided, ("<=", most - tinier), ("<=", most)), NO_PROOF),
        "a half": (bound(divided, ("<=", half)), "step 2 of `at_most` does not follow"),
        "the lower end": (bound(divided, (">=", least)), "proves >=, where <= is asked for"),
    },
    "2.3 score_a": {
        "a jump": (of_a(t), "show at least one line between"),
        "a product is left": (of_a(t * (g_aa + g_ab), t * g_aa), "still contains g_aa"),
        "orthogonal to itself": (of_a(t * (g_aa + g_ab), 0), "step 2 of `score_a`"),
        "counted twice": (of_a(t * (g_aa + g_ab), 2 * t), "step 2 of `score_a`"),
        "the other key": (of_a(t * g_ab, t), "step 1 of `score_a`"),
    },
    "2.3 score_i": {
        "the query opposes": (of_i(-t * (g_ia + g_ib), -t), "step 2 of `score_i`"),
        "a score like a's": (of_i(t * (g_ia + g_ib), t), "step 2 of `score_i`"),
    },
    "2.3 two_tied": {
        "a jump": (tied(counted), "show at least one line between"),
        "for few keys only": (
            tied(scored, sp.exp(t) / (2 * sp.exp(t) + n - 2 + vanishing), counted),
            tied_2,
        ),
        "the last line for few keys only": (
            tied(scored, counted, closed + vanishing * closed),
            "step 3 of `two_tied` does not follow",
        ),
        "one key too many": (tied(scored, sp.exp(t) / (2 * sp.exp(t) + n - 1)), tied_2),
        "the others vanish": (tied(sp.exp(t) / (2 * sp.exp(t)), half), tied_1),
        "vacuous": (tied(("<=", 10**6), (">=", closed)), "turns round"),
        "a bound": (tied(scored, counted, ("<=", half)), "proves <=, where = is asked"),
        "the limit": (tied(scored, counted, ("t -> oo", half)), "takes a limit"),
        "nothing put in": (tied(softmax * 1, softmax.doit()), "still contains s_a, s_b and s_i"),
        "not counted": (
            tied(scored, 1 / (2 + sp.exp(-t) * sp.Sum(1, (i, 1, n - 2)))),
            "a sum over",
        ),
        "another symbol of the name the sum runs over": (
            tied(sp.exp(t) / (2 * sp.exp(t) + sp.Sum(n - index + 1, (index, 1, n - 2))), counted),
            tied_1,
        ),
        "a sum over no symbol": (
            tied(sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (sp.Idx("i"), 1, n - 2))), counted),
            "run over a symbol",
        ),
        "a sum with too few terms": (
            tied(sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (i, 4, n)) + 1), counted),
            "has no finite real value",
        ),
        "by cases": (
            tied(scored, sp.Piecewise((counted, n < 10**6), (closed, True))),
            "Piecewise is not something",
        ),
    },
    "3.2 weight_of_a": {
        "the length counts twice": (
            given_length(put_in, own / (2 * own + n - 2)),
            "step 2 of `weight_of_a` does not follow",
        ),
        "a jump": (given_length(drawn), "show at least one line between"),
        "the sum is left": (given_length(definition.subs(q_a, h), put_in), "a sum over keys"),
        "the length is lost": (
            given_length(sp.exp(h) / (sp.exp(h) + crowd), drawn),
            "step 1 of `weight_of_a`",
        ),
    },
    "3.2 log_odds": {
        "a jump": (log_odds(line), "show at least one line between"),
        "not a line": (log_odds(sp.log(drawn / (1 - drawn)), of_ratio), "a straight line in ell"),
        "the wrong sign": (log_odds(of_ratio, h * ell + sp.log(crowd)), odds_2),
        "a small term": (log_odds(of_ratio + tiny, line), OF_LOG_ODDS),
        "a small power": (log_odds(of_ratio + halved, line), OF_LOG_ODDS),
        "a small power inside": (log_odds(sp.log(own / crowd + halved), line), OF_LOG_ODDS),
        "a factor next to one": (log_odds(of_ratio * (1 + tiny), line), OF_LOG_ODDS),
        "factors next to one": (
            log_odds(of_ratio * (1 + tiny) * (1 - tiny) * (1 + tiny**2), line),
            OF_LOG_ODDS,
        ),
        "an exponential of next to nothing": (
            log_odds(sp.log(own / crowd * sp.exp(tiny)), line),
            OF_LOG_ODDS,
        ),
        "a power with a small exponent": (log_odds(of_ratio * n**tiny, line), OF_LOG_ODDS),
        "a small term that is seen elsewhere": (
            log_odds(of_ratio + tiny + held(sp.log, tiny) + 10**5 * n, line),
            OF_LOG_ODDS,
        ),
        "a sum of small terms": (
            log_odds(of_ratio + sp.Sum(sp.exp(-(10**5) * i), (i, 1, n)), line),
            OF_LOG_ODDS,
        ),
        "an integral": (
            log_odds(sp.Integral(1 / x, (x, 1, w / (1 - w))), line),
            "Integral is not something",
        ),
    },
    "3.5 score_a": {
        "a jump": (noisy_a(lambda_a * c / sp.sqrt(d)), "show at least one line between"),
        "a product is left": (
            noisy_a(key_a / sp.sqrt(d), c * lambda_a * g_aa / sp.sqrt(d)),
            "still contains g_aa",
        ),
        "no root": (noisy_a(key_a / d, lambda_a * c / d), "step 1 of"),
    },
    "3.5 score_b": {
        "the other key": (
            noisy_b(key_a / sp.sqrt(d), lambda_a * c / sp.sqrt(d)),
            "step 1 of `score_b`",
        ),
        "not divided": (noisy_b(key_b, lambda_b * c), "step 1 of `score_b`"),
    },
    "4.5 ratio": {
        "a jump": (ratio(once), "show at least one line between"),
        "P is left": (ratio(variances.factor(), common), "still contains P"),
        "nearly the same": (
            ratio(common, once * (1 + sp.exp(-(10**4) * n))),
            "differ, if only by very little",
        ),
        "for many values": (
            ratio(common, once * n / (n + sp.Rational(1, 10**5))),
            "step 2 of `ratio` does not follow",
        ),
        "erf twice": (ratio(common, n / (8 * (n - 1)) * (1 - e) * (1 + e)), "erf occurs once"),
        "an upper bound": (ratio(common, ("<=", once)), "proves <="),
        "a factor forgotten": (ratio(common, n / (4 * (n - 1)) * (1 - e**2)), "step 2 of `ratio`"),
    },
    "5.4 error_2": {
        "the other sign": (of_2(added, -root_2), "step 2 of `error_2`"),
        "another sign in a narrow place": (
            of_2(held(sp.Mul, added, turning(narrow_rho)), root_2),
            "of `error_2`",
        ),
        "very little under the root": (
            of_2(rho * sp.sqrt(2 * far**2 + sp.exp(-(10**6) * (1 + rho))), root_2),
            "differ, if only by very little",
        ),
        "an exponential of next to nothing": (
            of_2(added * sp.exp(sp.exp(-(10**6) * (1 + rho))), root_2),
            NO_PROOF,
        ),
        "a rounded root": (of_2(added, 2**0.5 * rho / (E + 2)), "write sp.sqrt(2)"),
        "cosh and sinh for the exponential": (
            of_2(added, root_2.subs(E, sp.cosh(rho**2) + sp.sinh(rho**2))),
            "rho in two places is asked for",
        ),
        "longer again": (
            of_2(added, root_2, sp.sqrt(2) * rho * (1 - near) / 2),
            "rho in two places is asked for",
        ),
    },
    "5.4 error_1": {
        "not short": (
            of_1(rho * sp.sqrt(far**2 + (near - 1) ** 2)),
            "rho in two places is asked for",
        ),
        "three squares": (
            of_1(rho * sp.sqrt(3 * far**2), sp.sqrt(3) * rho * far),
            "step 1 of `error_1`",
        ),
    },
    "11.5 score": {
        "the sum of positions": (rotation(at(m + place), at(delta)), "step 1 of `score`"),
        "another sign": (rotation(at(m - place), at(-delta)), "step 2 of `score`"),
        "m is left": (rotation(sp.expand(rotated), at(m - place)), "still contains p_k and p_q"),
        "a jump": (rotation(at(delta)), "show at least one line between"),
    },
    "12.1 share": {
        "without exponentials": (blocks(l_1 / (l_1 + l_2), sigmoid), "step 1 of `share`"),
        "the other block": (blocks(merged, 1 / (1 + sp.exp(l_1 - l_2))), "step 2 of `share`"),
        "a jump": (blocks(sigmoid), "show at least one line between"),
        "two exponentials": (
            blocks(1 / (1 + second_block / first_block), merged),
            "one and the same exponential",
        ),
    },
}


def answers(key, chain):
    """The answers of a question as `check` takes them: the first honest chains, and this one in its place."""
    question, name = key.split()
    names = register.find(question).part("derive").answers
    first = {other: next(iter(HONEST[f"{question} {other}"].values())) for other in names}
    first[name] = chain
    return tuple(first.values())
