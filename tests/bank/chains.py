"""Chains for every question that asks for one: honest ones in many styles, and false ones.

HONEST["1.2 at_least"][style] is a chain. FALSE["1.2 at_least"][name] is (chain, part of what must be said).
`right` and `wrong` make of them what RIGHT and WRONG of the other banks hold.
"""

from unittest.mock import patch

import numpy as np
import sympy as sp

from attn_course import derive


def maker(start, where=None):
    """A function that makes chains from the given line; a pair is a relation and an expression.

    Nobody has compared the lines yet: `check` does that itself, and nothing is shown here.
    """

    def chain(*lines):
        steps = [line if isinstance(line, tuple) else (line,) for line in lines]
        with patch("attn_course.derivation.look_at"):
            return derive((start, "given"), *((*step, "so") for step in steps), where=where)

    return chain


def held(head, *parts):
    """A sum or product that SymPy leaves as it is written."""
    return head(*parts, evaluate=False)


half = sp.Rational(1, 2)
NO_PROOF = "In a class, a person will look at it."
NO_VALUE = "has no finite real value"


def turning(factor):
    """1, but for the narrow place in which the factor is negative: there it is -1."""
    return sp.sqrt(sp.expand(factor**2)) / factor


def lacking(symbol, place):
    """1, but without a value at one place."""
    return held(sp.Mul, symbol - place, 1 / (symbol - place))


def false_at(name):
    return f"step 1 of {name} does not follow", f"step 2 of {name} does not follow"


HONEST = {}
FALSE = {}

# 0.2
x = sp.Symbol("x", positive=True)
other_x = sp.Symbol("x")
total = 1 / (1 + x) + 1 / (1 - x)
joined = 2 / ((1 + x) * (1 - x))
single = 2 / (1 - x**2)
fraction = maker(total, {x: (0, 1)})
padding = [number * sp.exp(-number * x) for number in range(1, 91)]
long_lines = [
    held(sp.Add, joined, number, -number, *padding, *(-part for part in padding))
    for number in range(2, 31)
]
cube = (x**3 + 3 * x**2 + 3 * x + 1) ** sp.Rational(1, 3) / (1 + x)
differences = [
    sp.Pow(
        x + sp.Rational(3, 2) + number * sp.Rational(1, 1000),
        (-1) ** number * sp.binomial(6, number),
    )
    for number in range(7)
]
long_decimal = sp.Float("1." + "0" * 25 + "1", 60)
prime = 2**80 + 18513
fraction_1, fraction_2 = false_at("the chain")

HONEST["0.2 one_fraction"] = {
    "a jump that SymPy hides": fraction(total / 1, single),
    "in one line": fraction(single),
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
    "three steps": fraction(joined, -2 / (x**2 - 1), single),
    "another form": fraction(joined, -2 / (x**2 - 1)),
    "ranges declared": maker(total, {x: (0, "1/2")})(joined, single),
}
FALSE["0.2 one_fraction"] = {
    "false step": (fraction(2 / (2 - x**2), single), fraction_1),
    "a sign": (fraction(joined, 2 / (1 + x**2)), fraction_2),
    "one only": (fraction(1 / (1 - x**2), single), fraction_1),
    "a term lost": (fraction(1 / (1 - x), single), fraction_1),
    "only an inequality": (fraction(joined, (">=", single)), "proves >=, where = is asked"),
    "vacuous": (fraction(("<=", 10**6 / (1 - x)), (">=", single)), "turns round"),
    "turned there and back": (fraction((">", 1), ("<", single)), "turns round"),
    "not to the end": (fraction(joined, -2 / ((x - 1) * (x + 1))), "x in one place is asked"),
    "back at the start": (fraction(joined, single, joined / 1), "x in one place is asked for"),
    "still a sum": (
        fraction(joined, single, 1 + (1 + x**2) / (1 - x**2)),
        "one fraction with x in one place is asked for",
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
        fraction_1,
    ),
    "a root that nobody takes": (fraction(held(sp.Mul, joined, cube), single), NO_PROOF),
    "nearly one": (fraction(joined, single * (1 + sp.Rational(1, 10**30))), "both sides are near"),
    "a very small exponential": (
        fraction(joined, single + sp.exp(-(10**6) / x)),
        "differ, if only by very little",
    ),
    "a multiple of a known prime": (
        fraction((2 + prime * x) / ((1 + x) * (1 - x)), single * (1 + prime)),
        fraction_1,
    ),
    "29 long lines": (fraction(*long_lines, single), "is too long to check"),
    "text": (fraction("2/(1-x**2)"), "quotation marks"),
    "a limit": (fraction(("x -> 0", 2)), "takes a limit"),
    "a symbol of another question": (fraction(joined * sp.Symbol("gap"), single), "uses gap"),
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
        NO_VALUE,
    ),
    "a logarithm of something negative": (
        fraction(held(sp.Add, joined, sp.log(x - half), -sp.log(x - half)), single),
        NO_VALUE,
    ),
    "coth without a value": (
        fraction(held(sp.Mul, joined, sp.coth(x - half), sp.tanh(x - half)), single),
        "near x = 0.5 it has no finite real value",
    ),
    "a hyperbolic identity with a wrong sign": (
        fraction(held(sp.Mul, joined, sp.cosh(x) ** 2 + sp.sinh(x) ** 2), single),
        fraction_1,
    ),
    "wrong start": (maker(single)(-2 / (x**2 - 1), single), "must start"),
}

# 1.1
every_score = sp.IndexedBase("s")
n, i, j, k = sp.symbols("n i j k", integer=True, positive=True)
Z = sp.Symbol("Z", positive=True)
every = sp.Sum(sp.exp(every_score[k]), (k, 1, n))
among = sp.Sum(sp.exp(every_score[i]), (i, 1, n))
share_of_i = sp.exp(every_score[i]) / Z
in_all = maker(sp.Sum(share_of_i, (i, 1, n)), {Z: every})
own_share = sp.exp(every_score[j]) / Z
alone = maker(own_share, {Z: every, j: (1, n)})
sum_1, sum_2 = false_at("`sum_of_weights`")
one_1, one_2 = false_at("`one_weight`")

HONEST["1.1 sum_of_weights"] = {
    "in one line": in_all(1),
    "chains": in_all(among / Z, 1),
    "the sum put in first": in_all(sp.Sum(sp.exp(every_score[i]) / every, (i, 1, n)), 1),
    "Z out, Z in, cancel": in_all(every / Z, held(sp.Mul, every, 1 / every), 1),
    "Z divided by Z": in_all(among / Z, held(sp.Mul, Z, 1 / Z), 1),
    "by subs": in_all(among / Z, (among / Z).subs(Z, among), 1),
    "with the inverse of Z": in_all(held(sp.Mul, among, 1 / Z), every / Z, every / every, 1),
    "four lines": in_all(among / Z, every / Z, held(sp.Mul, every, 1 / every), Z / Z, 1),
}
FALSE["1.1 sum_of_weights"] = {
    "not to the end": (in_all(every / Z, among / Z), "still contains Z, n and s"),
    "two": (in_all(among / Z, 2), sum_2),
    "one weight for all": (in_all(n * sp.exp(every_score[1]) / Z, 1), sum_1),
    "a term too few": (in_all(sp.Sum(sp.exp(every_score[i]), (i, 2, n)) / Z, 1), sum_1),
    "a sum that cancels": (in_all(held(sp.Add, among / Z, n, -n), 2), "step 2"),
    "vacuous": (in_all(("<=", n + 1), (">=", 1)), "turns round"),
    "at most one": (in_all(among / Z, ("<=", 1)), "proves <=, where = is asked"),
    "another index": (in_all(sp.Sum(share_of_i, (i, 1, n)) / n, 1 / n, 1), sum_1),
    "a sum of ones": (in_all(n / Z, 1), sum_1),
}
HONEST["1.1 one_weight"] = {
    "chains": alone((">", 0)),
    "the sum put in first": alone(sp.exp(every_score[j]) / every, (">", 0)),
    "half of it": alone((">", own_share / 2), (">", 0)),
    "at least half of it": alone((">=", own_share / 2), (">", 0)),
    "divided inside the sum": alone(
        1 / sp.Sum(sp.exp(every_score[k] - every_score[j]), (k, 1, n)), (">", 0)
    ),
}
FALSE["1.1 one_weight"] = {
    "not negative": (alone((">=", 0)), "proves >=, where > is asked for"),
    "above minus one": (alone((">", -1)), "is not the best bound: it is -1, and 0 is a bound too"),
    "divided the wrong way": (
        alone(1 / sp.Sum(sp.exp(every_score[j] - every_score[k]), (k, 1, n)), (">", 0)),
        one_1,
    ),
    "too much": (alone((">", 1 / n)), one_1),
    "below one": (alone(("<", 1)), one_1),
    "a bound above": (alone(("<=", 1)), "proves <=, where > is asked for"),
    "the weight is above 1": (alone((">", 1), (">", 0)), one_1),
    "a weight may be zero": (alone(0), one_1),
}

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
tinier = sp.exp(-(10**6) * n)
bump = least + (divided - least) * (half + 5 * sp.exp(-100 * (gap - 8) ** 2))
narrow = (gap - 8) * (gap - sp.Rational(80001, 10000))
at_1, at_2 = false_at("`at_least`")

HONEST["1.2 at_least"] = {
    "in one line": bound((">=", least)),
    "shortest": bound(divided, (">=", least)),
    "bound, then divide": bound((">=", all_at_gap), least),
    "bound, then simplify": bound((">=", all_at_gap), sp.simplify(all_at_gap)),
    "signs as they are printed": bound(divided, ("≥", least)),
    "through the leftover": bound(
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
    "another closed form": bound(divided, (">=", sp.exp(gap) / (sp.exp(gap) + n - 1))),
}
FALSE["1.2 at_least"] = {
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
    "n instead of n - 1": (
        bound(divided, (">=", 1 / (1 + n * sp.exp(-gap)))),
        "is not the best bound",
    ),
    "zero": (bound(divided, (">=", 0)), "is not the best bound"),
    "an equality": (bound(divided, least), at_2),
    "strict": (bound(divided, (">", least)), at_2),
    "wrong direction": (bound(divided, ("<=", least)), at_2),
    "the ends swapped": (bound(divided, ("<=", most)), "proves <=, where >= is asked for"),
    "for few keys only": (bound(divided, (">=", 1 / (1 + 10**6 * sp.exp(-gap)))), at_2),
    "false division": (bound(1 / (1 + R * sp.exp(s)), (">=", least)), at_1),
    "no inequality": (bound(all_at_gap - all_at_gap + weight, divided), "still contains R and s"),
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
        at_1,
    ),
    "undefined at one gap": (
        bound(held(sp.Mul, divided, lacking(gap, sp.Rational(1234567, 10**6))), (">=", least)),
        "near gap = 1.235 it has no finite real value",
    ),
    "starts in the middle": (maker(divided)(divided, (">=", least)), "must start"),
    "not a chain": (3.0, "derive"),
}
HONEST["1.2 at_most"] = {
    "shortest": bound(divided, ("<=", most)),
    "bound, then divide": bound(("<=", one_at_gap), most),
    "with tanh": bound(divided, ("<=", (1 + sp.tanh(gap / 2)) / 2)),
    "another closed form": bound(divided, ("<=", most), sp.exp(gap) / (1 + sp.exp(gap))),
    "through sech": bound(
        divided, ("<=", most), sp.exp(gap / 2) * sp.sech(gap / 2) / 2, most.simplify()
    ),
    "looser, then exact": bound(divided, ("<=", most), held(sp.Add, most, gap, -gap), most),
    "through the leftover": bound(
        1 - R / (R + sp.exp(s)), ("<=", 1 - at_gap / (at_gap + sp.exp(s))), most
    ),
    "signs as they are printed": bound(divided, ("≤", most)),
}
FALSE["1.2 at_most"] = {
    "vacuous above": (bound((">=", 0), ("<=", most)), "turns round"),
    "upper end is 1": (
        bound(divided, ("<=", 1)),
        "`at_most` holds, but its last line is not the best bound",
    ),
    "a small term too little": (bound(divided, ("<=", most - tinier), ("<=", most)), NO_PROOF),
    "a half": (bound(divided, ("<=", half)), "step 2 of `at_most` does not follow"),
    "the lower end": (bound(divided, (">=", least)), "proves >=, where <= is asked for"),
}

# 2.3
t, s_a, s_b, s_i = sp.symbols("t s_a s_b s_i", real=True)
rest = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
softmax = sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + rest)
closed = 1 / (2 + (n - 2) * sp.exp(-t))
scored = sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (i, 1, n - 2)))
counted = sp.exp(t) / (2 * sp.exp(t) + n - 2)
tie = {s_a: t, s_b: t, s_i: 0}
tied = maker(softmax, tie)
g_aa, g_ab, g_bb, g_ia, g_ib = sp.symbols("g_aa g_ab g_bb g_ia g_ib", real=True)
known = {s_a: t * (g_aa + g_ab), s_b: t * (g_ab + g_bb), s_i: t * (g_ia + g_ib)}
known |= {g_aa: 1, g_bb: 1, g_ab: 0, g_ia: 0, g_ib: 0}
of_a, of_i = maker(s_a, known), maker(s_i, known)
power_of_e = sp.Pow(sp.E, t, evaluate=False)
index = sp.Dummy("n", integer=True, positive=True)
vanishing = sp.prod([n - number for number in range(2, 22)])
score_a_1, score_a_2 = false_at("`score_a`")
score_i_1, score_i_2 = false_at("`score_i`")
tied_1, tied_2 = false_at("`two_tied`")

HONEST["2.3 score_a"] = {
    "in one line": of_a(t),
    "put in, then one and zero": of_a(t * (g_aa + g_ab), t),
    "one product at a time": of_a(t * g_aa + t * g_ab, t * g_aa, t),
    "a product by subs": of_a(
        t * (g_aa + g_ab), (t * (g_aa + g_ab)).subs(g_ab, 0), (t * g_aa).subs(g_aa, 1)
    ),
    "orthonormality in between": of_a(t * (1 + g_ab), t),
    "expanded": of_a(sp.expand(t * (g_aa + g_ab)), held(sp.Mul, t, held(sp.Add, 1, 0)), t),
}
FALSE["2.3 score_a"] = {
    "a product is left": (of_a(t * (g_aa + g_ab), t * g_aa), "`score_a` still contains g_aa"),
    "a key is orthogonal to itself": (of_a(t * (g_aa + g_ab), 0), score_a_2),
    "counted twice": (of_a(t * (g_aa + g_ab), 2 * t), score_a_2),
    "the other key": (of_a(t * g_ab, t), score_a_1),
}
HONEST["2.3 score_i"] = {
    "put in, then zero": of_i(t * (g_ia + g_ib), 0),
    "one product at a time": of_i(t * g_ia + t * g_ib, t * g_ib, 0),
    "zeros written": of_i(held(sp.Mul, t, held(sp.Add, 0, 0)), 0),
}
FALSE["2.3 score_i"] = {
    "the query opposes": (of_i(-t * (g_ia + g_ib), -t), score_i_2),
    "a score like a's": (of_i(t * (g_ia + g_ib), t), score_i_2),
    "the others oppose the query": (of_i(-t * (1 + g_ib), -t), score_i_1),
}
HONEST["2.3 two_tied"] = {
    "in one line": tied(closed),
    "shortest": tied(scored, counted),
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
    "count first": tied(sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + (n - 2) * sp.exp(s_i)), counted),
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
    "divided before it is counted": tied(
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
    "through the leftover": tied(counted, half - (n - 2) / (2 * (2 * sp.exp(t) + n - 2))),
    "with cosh and sinh for the exponential": tied(
        counted.subs(sp.exp(t), sp.cosh(t) + sp.sinh(t)), counted
    ),
    "a sum of one term around the end": tied(sp.Sum(counted, (i, 1, 1)), counted),
    "as a tanh": tied(
        scored, counted, closed, half - (n - 2) * sp.exp(-t) / (4 + 2 * (n - 2) * sp.exp(-t))
    ),
}
FALSE["2.3 two_tied"] = {
    "for few keys only": (
        tied(scored, sp.exp(t) / (2 * sp.exp(t) + n - 2 + vanishing), counted),
        tied_2,
    ),
    "the last line for few keys only": (
        tied(scored, counted, closed + vanishing * closed),
        "step 3 of `two_tied` does not follow",
    ),
    "one key too many": (tied(scored, sp.exp(t) / (2 * sp.exp(t) + n - 1)), tied_2),
    "others have weight zero (003-3)": (tied(sp.exp(t) / (2 * sp.exp(t)), half), tied_1),
    "vacuous": (tied(("<=", 10**6), (">=", closed)), "turns round"),
    "a bound": (tied(scored, counted, ("<=", half)), "proves <=, where = is asked"),
    "the limit": (tied(scored, counted, ("t -> oo", half)), "takes a limit"),
    "nothing put in": (tied(softmax * 1, softmax.doit()), "still contains s_a, s_b and s_i"),
    "not counted": (tied(scored, 1 / (2 + sp.exp(-t) * sp.Sum(1, (i, 1, n - 2)))), "a sum over"),
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
        NO_VALUE,
    ),
    "by cases": (
        tied(scored, sp.Piecewise((counted, n < 10**6), (closed, True))),
        "Piecewise is not something",
    ),
    "a and b counted again": (tied(counted, sp.exp(t) / (2 * sp.exp(t) + n)), tied_2),
    "not finished": (
        tied(sp.exp(t) / (2 * sp.exp(t) + rest), 1 / (2 + rest * sp.exp(-t))),
        "still contains s_i",
    ),
    "another start": (maker(counted, tie)(closed), "`two_tied` must start"),
    "a number": (0.5, "this is of type float"),
}

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
tiny = sp.exp(-(10**5) * n)
halved = half ** (10**5 * n)
weight_1, weight_2 = false_at("`weight_of_a`")
odds_1, odds_2 = false_at("`log_odds`")
OF_LOG_ODDS = "of `log_odds`"  # not proved, or refuted at a point far out

HONEST["3.2 weight_of_a"] = {
    "in one line": given_length(drawn),
    "shortest": given_length(put_in, drawn),
    "count first": given_length(
        sp.exp(ell * q_a) / (sp.exp(ell * q_a) + sp.exp(q_b) + (n - 2) * sp.exp(q_i)),
        drawn,
        1 / (1 + crowd / own),
    ),
    "other way round": given_length(put_in, 1 / (1 + crowd / own), drawn),
    "by subs": given_length(definition.subs(heights), drawn),
    "by subs and doit": given_length(
        definition.subs(heights).doit(), 1 / (1 + crowd * sp.exp(-h * ell))
    ),
    "at once, then divide": given_length(drawn, 1 / (1 + crowd / own)),
    "one minus the rest": given_length(put_in, 1 - crowd / (own + crowd)),
}
FALSE["3.2 weight_of_a"] = {
    "the length counts twice": (given_length(put_in, own / (2 * own + n - 2)), weight_2),
    "the sum is left": (given_length(definition.subs(q_a, h), put_in), "a sum over keys"),
    "the length is lost": (given_length(sp.exp(h) / (sp.exp(h) + crowd), drawn), weight_1),
    "k_b is random too (000-3)": (
        given_length(own / (own + sp.exp(h * sp.Symbol("epsilon_b")) + n - 2), drawn),
        "uses epsilon_b",
    ),
    "the others dropped (000-5)": (
        given_length(put_in, drawn, own / (own + sp.exp(h))),
        "step 3 of `weight_of_a`",
    ),
    "the length counts for both": (
        given_length(own / (2 * own + n - 2), 1 / (2 + (n - 2) / own)),
        weight_1,
    ),
    "heights left in": (
        given_length(definition.subs(q_i, 0), 1 / (1 + (sp.exp(q_b) + n - 2) / sp.exp(ell * q_a))),
        "still contains s_a and s_b",
    ),
}
HONEST["3.2 log_odds"] = {
    "in one line": log_odds(line),
    "shortest": log_odds(of_ratio, line),
    "the weight put in": log_odds(sp.log(definition / (1 - definition)), of_ratio, line),
    "minus the logarithm of the odds against": log_odds(
        -sp.log(1 / w - 1), -sp.log(crowd / own), line
    ),
    "logarithms apart": log_odds(
        sp.log(w) - sp.log(1 - w), sp.log(drawn) - sp.log(1 - drawn), line
    ),
    "the odds of the weight in (i)": log_odds(sp.log(drawn / (1 - drawn)), of_ratio, line),
    "around the mean length": log_odds(
        of_ratio, line, h * (ell - 1) - sp.log(1 + (n - 2) * sp.exp(-h))
    ),
    "by expand_log": log_odds(of_ratio, sp.expand_log(of_ratio, force=True)),
    "w beside its value": log_odds(of_ratio + w - drawn, line),
    "with something that cancels": log_odds(held(sp.Add, sp.log(w / (1 - w)), h, -h), line),
}
FALSE["3.2 log_odds"] = {
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
    "odds, not log-odds": (log_odds(own / crowd, line), odds_1),
    "the second is missing": (1.0, "derive"),
}

# 3.5
c, d = sp.symbols("t d", positive=True)
lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
key_a, key_b = c * lambda_a * (g_aa + g_ab), c * lambda_b * (g_ab + g_bb)
products = {p_a: key_a, p_b: key_b, g_aa: 1, g_ab: 0, g_bb: 1}
noisy_a, noisy_b = maker(p_a / sp.sqrt(d), products), maker(p_b / sp.sqrt(d), products)
score_b_1, score_b_2 = false_at("`score_b`")

HONEST["3.5 score_a"] = {
    "in one line": noisy_a(lambda_a * c / sp.sqrt(d)),
    "chains": noisy_a(key_a / sp.sqrt(d), lambda_a * c / sp.sqrt(d)),
    "one product at a time": noisy_a(
        c * lambda_a * g_aa / sp.sqrt(d) + c * lambda_a * g_ab / sp.sqrt(d),
        c * lambda_a * g_aa * d ** sp.Rational(-1, 2),
        lambda_a * (c / sp.sqrt(d)),
    ),
    "a decimal exponent": noisy_a(key_a / d**0.5, c * lambda_a / d**0.5),
}
FALSE["3.5 score_a"] = {
    "a product is left": (
        noisy_a(key_a / sp.sqrt(d), c * lambda_a * g_aa / sp.sqrt(d)),
        "still contains g_aa",
    ),
    "no root": (noisy_a(key_a / d, lambda_a * c / d), "step 1 of"),
    "lengths squared (003-6)": (noisy_a(lambda_a**2 * c / sp.sqrt(d), c), score_a_1),
    "stops early": (noisy_a(key_a / sp.sqrt(d)), "still contains g_aa and g_ab"),
    "swapped": (noisy_b(key_b / sp.sqrt(d), lambda_b * c / sp.sqrt(d)), "must start"),
}
HONEST["3.5 score_b"] = {
    "chains": noisy_b(key_b / sp.sqrt(d), lambda_b * c / sp.sqrt(d)),
    "by subs": noisy_b(
        (p_b / sp.sqrt(d)).subs(p_b, key_b),
        (key_b / sp.sqrt(d)).subs({g_ab: 0, g_bb: 1}),
    ),
    "a root taken together": noisy_b(key_b / sp.sqrt(d), lambda_b * sp.sqrt(c**2 / d)),
}
FALSE["3.5 score_b"] = {
    "the other key": (noisy_b(key_a / sp.sqrt(d), lambda_a * c / sp.sqrt(d)), score_b_1),
    "no sqrt(d) (003-4)": (noisy_b(key_b, lambda_b * c), score_b_1),
}

# 4.5
beta, P = sp.symbols("beta P", positive=True)
e, complement = sp.erf(1 / sp.sqrt(2 * beta)), sp.erfc(1 / sp.sqrt(2 * beta))
variances = sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n / (n - 1) * 2
common = n / (2 * (n - 1)) * P * (1 - P)
once = n / (8 * (n - 1)) * (1 - e**2)
ratio = maker(variances, {P: (1 + e) / 2})
ratio_1, ratio_2 = false_at("`ratio`")

HONEST["4.5 ratio"] = {
    "in one line": ratio(once),
    "a difference of squares": ratio(common, once),
    "by factor and subs": ratio(
        sp.factor(variances), sp.factor(variances).subs(P, (1 + e) / 2), once
    ),
    "by simplify": ratio(sp.simplify(variances), once),
    "a product of probabilities": ratio(
        common, n / (8 * (n - 1)) * (1 + e) * (1 - e), n * (1 - e**2) / (8 * n - 8)
    ),
    "by way of erfc": ratio(
        common,
        n / (4 * (n - 1)) * P * complement,
        n / (8 * (n - 1)) * (1 - sp.erf(sp.sqrt(2) / (2 * sp.sqrt(beta))) ** 2),
    ),
    "P put in first": ratio(variances.subs(P, (1 + e) / 2), once),
    "twice, less once": ratio(
        held(sp.Add, held(sp.Mul, 2, variances), held(sp.Mul, -1, variances)), once
    ),
    "with hyperbolic functions": ratio(
        variances * held(sp.Add, sp.cosh(beta) ** 2, -(sp.sinh(beta) ** 2)), once
    ),
    "with erfc": ratio(
        common,
        n * (2 - complement) * complement / (8 * n - 8),
        n * (1 - (1 - complement) ** 2) / (8 * n - 8),
    ),
}
FALSE["4.5 ratio"] = {
    "not simplified": (ratio(variances.factor(), common), "still contains P"),
    "nearly the same": (
        ratio(common, once * (1 + sp.exp(-(10**4) * n))),
        "differ, if only by very little",
    ),
    "for many values": (ratio(common, once * n / (n + sp.Rational(1, 10**5))), ratio_2),
    "erf twice": (ratio(common, n / (8 * (n - 1)) * (1 - e) * (1 + e)), "erf occurs once"),
    "an upper bound": (ratio(common, ("<=", once)), "proves <="),
    "a factor forgotten": (ratio(common, n / (4 * (n - 1)) * (1 - e**2)), ratio_2),
    "averaging halves (002-8)": (ratio(common, half), ratio_2),
    "the quarter forgotten": (ratio(4 * common, n / (2 * (n - 1)) * (1 - e**2)), ratio_1),
    "starts elsewhere": (
        maker(P * (1 - P))(P - P**2, (1 - e**2) / 4),
        "must start at the definition",
    ),
}

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
NOT_SHORT = "rho in two places is asked for"
narrow_rho = (rho - sp.Rational(81, 10)) * (rho - sp.Rational(811, 100))

HONEST["5.4 error_2"] = {
    "as short as possible": of_2(added, root_2),
    "in one line": of_2(root_2),
    "lines that SymPy makes one": of_2(rho * sp.sqrt(2 * far**2), sp.sqrt(2) * rho * far),
    "by simplify": of_2(sp.simplify(far_2), root_2),
    "multiplied out": of_2(sp.sqrt(sp.expand(far_2**2 / rho**2)) * rho, root_2),
    "longer, in other words": of_2(rho * sp.sqrt((1 - far - near) ** 2 + far**2), root_2),
    "longer in between": of_2(root_2, sp.sqrt(2) * rho * (1 - near) / 2, root_2),
}
FALSE["5.4 error_2"] = {
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
        NOT_SHORT,
    ),
    "longer again": (of_2(added, root_2, sp.sqrt(2) * rho * (1 - near) / 2), NOT_SHORT),
    "weights (1, 0, 1) (000-9)": (
        of_2(rho * sp.sqrt((2 * near - 1) ** 2 + near**2), sp.sqrt(2) * rho),
        "step 1 of `error_2` does not follow",
    ),
}
HONEST["5.4 error_1"] = {
    "as short as possible": of_1(rho * sp.sqrt(far**2 + (near - 1) ** 2), root_5),
    "five squares": of_1(rho * sp.sqrt(5 * far**2), sp.sqrt(5) * rho * far),
    "one of each": of_1(rho * sp.sqrt((far + near - 1) ** 2 + 4 * far**2), root_5),
    "longer, in other words": of_1(
        rho * sp.sqrt((far + near - 1) ** 2 + (2 / (E + 2)) ** 2),
        rho * sp.sqrt(((E + 1) / (E + 2) - 1) ** 2 + 4 / (E + 2) ** 2),
        root_5,
    ),
}
FALSE["5.4 error_1"] = {
    "not simplified": (of_1(rho * sp.sqrt(far**2 + (near - 1) ** 2)), NOT_SHORT),
    "three squares": (
        of_1(rho * sp.sqrt(3 * far**2), sp.sqrt(3) * rho * far),
        "step 1 of `error_1`",
    ),
    "the same error twice": (of_2(added, root_2), "`error_1` must start at the definition"),
    "a root of a sum taken term by term": (
        of_1(rho * sp.sqrt(far**2 + (near - 1) ** 2), 3 * rho * far),
        "step 2 of `error_1` does not follow",
    ),
}


# Sums with another index, signs that a range fixes, symbols of one's own, and slips that are named
a_size, count = sp.symbols("a_size count", positive=True)
shifted = sp.Sum(sp.exp(every_score[i - 1]), (i, 2, n + 1))
from_zero = sp.Sum(sp.exp(every_score[i + 1]), (i, 0, n - 1))
backwards = sp.Sum(sp.exp(every_score[n + 1 - i]), (i, 1, n))
backwards_from_zero = sp.Sum(sp.exp(every_score[n - i]), (i, 0, n - 1))
first_apart = sp.exp(every_score[1]) + sp.Sum(sp.exp(every_score[i]), (i, 2, n))
last_apart = sp.exp(every_score[n]) + sp.Sum(sp.exp(every_score[i]), (i, 1, n - 1))
HONEST["1.1 sum_of_weights"] |= {
    "shifted by one": in_all(shifted / Z, 1),
    "from zero": in_all(from_zero / Z, 1),
    "backwards": in_all(backwards / Z, 1),
    "backwards from zero": in_all(backwards_from_zero / Z, 1),
    "the first term apart": in_all(first_apart / Z, 1),
    "the last term apart": in_all(last_apart / Z, 1),
    "apart and together again": in_all(first_apart / Z, last_apart / Z, among / Z, 1),
    "two terms at both ends apart": in_all(
        (first_apart - sp.exp(every_score[n]) + sp.exp(every_score[n])) / Z, 1
    ),
    "a line twice": in_all(among / Z, among / Z, 1, 1),
    "with a name for the sum": maker(sp.Sum(share_of_i, (i, 1, n)), {Z: every, a_size: every})(
        among / a_size, 1
    ),
}
FALSE["1.1 sum_of_weights"] |= {
    "shifted at one end": (in_all(sp.Sum(sp.exp(every_score[i]), (i, 2, n + 1)) / Z, 1), sum_1),
    "shifted in the term": (in_all(sp.Sum(sp.exp(every_score[i - 1]), (i, 1, n)) / Z, 1), sum_1),
    "the first term twice": (
        in_all((sp.exp(every_score[1]) + among) / Z, 1),
        sum_1,
    ),
    "the last term lost": (
        in_all(sp.Sum(sp.exp(every_score[i]), (i, 1, n - 1)) / Z, 1),
        "the last term is missing",
    ),
    "backwards, one too far": (
        in_all(sp.Sum(sp.exp(every_score[n - i]), (i, 1, n)) / Z, 1),
        sum_1,
    ),
    "as many as terms": (in_all(n, 1), "n weights were taken for n ones"),
    "a name without a value": (
        in_all(among / a_size, 1),
        "say what it is with where={a_size: value}",
    ),
    "a name with a wrong value": (
        maker(sp.Sum(share_of_i, (i, 1, n)), {Z: every, a_size: 2 * every})(among / a_size, 1),
        sum_1,
    ),
    "a value in a circle": (
        maker(sp.Sum(share_of_i, (i, 1, n)), {Z: every, a_size: count, count: a_size})(
            among / a_size, 1
        ),
        "is said with itself",
    ),
    "another value for a symbol of the question": (
        maker(sp.Sum(share_of_i, (i, 1, n)), {Z: 1})(among, 1),
        sum_1,
    ),
}
HONEST["0.2 one_fraction"] |= {
    "with an absolute value": fraction(2 / (sp.Abs(1 - x) * (1 + x)), single),
    "with the root of a square": fraction(2 / (sp.sqrt((1 - x) ** 2) * (1 + x)), single),
    "with a root multiplied out": fraction(2 / (sp.sqrt(1 - 2 * x + x**2) * (1 + x)), single),
    "a fourth root": fraction(2 / (((1 - x) ** 4) ** sp.Rational(1, 4) * (1 + x)), single),
    "a name for the denominator": maker(total, {x: (0, 1), a_size: 1 - x**2})(2 / a_size, single),
}
FALSE["0.2 one_fraction"] |= {
    "an absolute value of the wrong sign": (
        fraction(2 / (held(sp.Mul, -1, sp.Abs(1 - x)) * (1 + x)), single),
        fraction_1,
    ),
    "the root of a square outside its range": (
        fraction(2 / ((sp.sqrt((x - 2) ** 2) - 1) * (2 - x)), single),
        fraction_1,
    ),
    "numerators multiplied": (fraction(1 / (1 - x**2)), "the numerators were multiplied"),
    "denominators added": (fraction(1), "numerators and denominators were added"),
}
HONEST["1.2 at_least"] |= {
    "a name for the bound": maker(
        weight, {R: (at_gap, (n - 1) * at_gap), a_size: (n - 1) * at_gap}
    )((">=", sp.exp(s) / (sp.exp(s) + a_size)), least),
}
FALSE["1.2 at_least"] |= {
    "R divided by nothing": (bound(1 / (1 + R), (">=", least)), "R was not divided by e^s"),
    "the smallest R": (
        bound((">=", one_at_gap), most),
        "the weight is least where R is largest, and here R is smallest",
    ),
    "R multiplied": (bound(1 / (1 + R * sp.exp(s))), "where it should be divided"),
    "n rivals": (
        bound(divided, (">=", sp.exp(gap) / (sp.exp(gap) + n))),
        "n is written for n - 1",
    ),
}
FALSE["1.2 at_most"] |= {
    "the largest R": (
        bound(divided, ("<=", least)),
        "the weight is largest where R is smallest, and here R is largest",
    ),
}
FALSE["2.3 two_tied"] |= {
    "n others": (tied(sp.exp(t) / (2 * sp.exp(t) + n)), "n is written for n - 2"),
    "no others": (tied(half), "the other keys are left out, but e^0 is 1"),
    "one exponential below": (
        tied(sp.exp(t) / (sp.exp(t) + n - 2)),
        "one of the two exponentials e^t below is lost",
    ),
    "the sign of t": (tied(1 / (2 + (n - 2) * sp.exp(t))), "a sign in the exponent"),
}
HONEST["3.2 weight_of_a"] |= {
    "a name for the rivals": maker(definition, heights | {a_size: sp.exp(t) + n - 2})(
        1 / (1 + a_size * sp.exp(-t * ell)), 1 / (1 + (sp.exp(t) + n - 2) * sp.exp(-t * ell))
    ),
}
FALSE["3.2 weight_of_a"] |= {
    "b grows too": (
        given_length(sp.exp(t * ell) / (2 * sp.exp(t * ell) + n - 2)),
        "the score of b is multiplied by ell too",
    ),
}

# Fresh chains: log-sum-exp, sums taken apart, symbols of one's own, and a symbol that hides the work
part, other_part = sp.symbols("A B")
named_total = maker(total, {x: (0, 1), part: 1 + x, other_part: 1 - x})
hidden_total = maker(total, {x: (0, 1), part: total})
named_sums = maker(sp.Sum(share_of_i, (i, 1, n)), {Z: every, part: sp.exp(every_score[1])})
from_third = sp.Sum(sp.exp(every_score[i]), (i, 3, n))
named_far = maker(far_2, {part: far})
HONEST["0.2 one_fraction"] |= {
    "names for both denominators": named_total(
        1 / part + 1 / other_part, (part + other_part) / (part * other_part), single
    ),
    "an exponential of logarithms": fraction(sp.exp(sp.log(2) - sp.log(1 - x**2)), single),
    "the absolute value of a negative number": fraction(1 / (1 + x) + 1 / sp.Abs(x - 1), single),
    "the root of a whole line squared": fraction(sp.sqrt(total**2), single),
}
FALSE["0.2 one_fraction"] |= {
    "a name for all that is given": (hidden_total(part), "still contains A: go on until nothing"),
    "one denominator under both names": (
        maker(total, {x: (0, 1), part: 1 + x})(2 / part**2, single),
        fraction_1,
    ),
}
HONEST["1.1 sum_of_weights"] |= {
    "with the logarithm of the sum": in_all(
        sp.Sum(sp.exp(every_score[i] - sp.log(Z)), (i, 1, n)), 1
    ),
    "every score less the first": in_all(
        sp.Sum(sp.exp(every_score[i] - every_score[1]), (i, 1, n)) / (Z * sp.exp(-every_score[1])),
        1,
    ),
    "shifted by three": in_all(sp.Sum(sp.exp(every_score[i + 3]), (i, -2, n - 3)) / Z, 1),
    "shifted by five": in_all(sp.Sum(sp.exp(every_score[i - 5]), (i, 6, n + 5)) / Z, 1),
    "backwards, shifted by forty": in_all(
        sp.Sum(sp.exp(every_score[n + 41 - i]), (i, 41, n + 40)) / Z, 1
    ),
    "the first term apart, the rest shifted": in_all(
        (sp.exp(every_score[1]) + sp.Sum(sp.exp(every_score[i + 1]), (i, 1, n - 1))) / Z, 1
    ),
    "the first term under a name": named_sums(
        (part + sp.Sum(sp.exp(every_score[i]), (i, 2, n))) / Z, 1
    ),
}
FALSE["1.1 sum_of_weights"] |= {
    "shifted by five, one term too many": (
        in_all(sp.Sum(sp.exp(every_score[i - 5]), (i, 6, n + 6)) / Z, 1),
        sum_1,
    ),
    "shifted by five, the ends by four": (
        in_all(sp.Sum(sp.exp(every_score[i - 5]), (i, 5, n + 4)) / Z, 1),
        sum_1,
    ),
    "from zero to n": (in_all(sp.Sum(sp.exp(every_score[i]), (i, 0, n)) / Z, 1), sum_1),
    "two terms apart, which one key has not": (
        in_all((sp.exp(every_score[1]) + sp.exp(every_score[2]) + from_third) / Z, 1),
        "because a sum in it ends before it begins",
    ),
    "the exponential of a sum": (in_all(sp.exp(sp.Sum(every_score[i], (i, 1, n))) / Z, 1), sum_1),
}
HONEST["2.3 two_tied"] |= {
    "with the logarithm of the sum": tied(
        sp.exp(s_a - sp.log(sp.exp(s_a) + sp.exp(s_b) + rest)), counted
    ),
    "the others from zero": tied(sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (k, 0, n - 3))), counted),
    "a name for the exponential": maker(softmax, tie | {part: sp.exp(t)})(
        part / (2 * part + n - 2), counted
    ),
}
FALSE["2.3 two_tied"] |= {
    "a name with another value": (
        maker(softmax, tie | {part: sp.exp(2 * t)})(part / (2 * part + n - 2), counted),
        tied_1,
    ),
    "from 3 to n + 1": (
        tied(sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (i, 3, n + 1))), counted),
        "n - 1 is written for n - 2",
    ),
}
HONEST["3.2 log_odds"] |= {
    "half the logarithm of the square": log_odds(half * sp.log((w / (1 - w)) ** 2), line)
}
FALSE["3.5 score_a"] |= {
    "the length without its sign": (noisy_a(c * sp.Abs(lambda_a) / sp.sqrt(d)), score_a_1),
}
HONEST["5.4 error_2"] |= {
    "a name for the weight": named_far(rho * sp.sqrt((-part) ** 2 + part**2), root_2),
}
FALSE["5.4 error_2"] |= {
    "a name that hides rho": (named_far(sp.sqrt(2) * rho * part), "go on until nothing but rho"),
}


def keys_of(question):
    """The keys of a question's chains, which stand in the order of its answers."""
    return [key for key in HONEST if key.split()[0] == question]


def first(key):
    return next(iter(HONEST[key].values()))


def answers(key, chain):
    """The answers of a question as `check` takes them: the first honest chains, and this one in its place."""
    return tuple(chain if other == key else first(other) for other in keys_of(key.split()[0]))


def right(question):
    """RIGHT of a bank: chains of one name together, each beside the first ones of the others."""
    keys = keys_of(question)
    names = dict.fromkeys(name for key in keys for name in HONEST[key])
    return {name: tuple(HONEST[key].get(name, first(key)) for key in keys) for name in names}


def wrong(question):
    """WRONG of a bank: each false chain beside the first honest ones of the others."""
    found = {}
    for key in keys_of(question):
        assert found.keys().isdisjoint(FALSE[key]), key
        found |= {name: (answers(key, chain), said) for name, (chain, said) in FALSE[key].items()}
    return found
