"""Chains for every question that asks for one: honest ones of many forms, and shams.

HONEST[question][name] is a tuple of answers as `check` takes them. SHAM[question][name] is (answers, part
of what must be said).
"""

from unittest.mock import patch

import numpy as np
import sympy as sp

import attn_course
from bank.average_of_two import closed as tied
from bank.average_of_two import (
    counted,
    g_aa,
    g_ab,
    g_bb,
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


def derive(*steps, where=None):
    """A chain whose lines nobody has compared yet; `check` does that itself, and nothing is shown here."""
    with patch("attn_course.derivation.look_at"):
        return attn_course.derive(*steps, where=where)


x = sp.Symbol("x", positive=True)
other_x = sp.Symbol("x")
total = 1 / (1 + x) + 1 / (1 - x)
joined = 2 / ((1 + x) * (1 - x))
single = 2 / (1 - x**2)


def lines(*steps):
    """Steps with a reason each; a pair of a relation and an expression is an inequality."""
    return [(*step, "so") if isinstance(step, tuple) else (step, "so") for step in steps]


def fraction(*steps):
    return (derive((total, "given"), *lines(*steps), where={x: (0, 0.9)}),)


def held(head, *parts):
    """A sum or product that SymPy leaves as it is written."""
    return head(*parts, evaluate=False)


s, gap, R = sp.symbols("s gap R", positive=True)
n, i = sp.symbols("n i", integer=True, positive=True)
weight = sp.exp(s) / (sp.exp(s) + R)
rivals = {R: (sp.exp(s - gap), (n - 1) * sp.exp(s - gap))}
divided = 1 / (1 + R * sp.exp(-s))
least = 1 / (1 + (n - 1) * sp.exp(-gap))
most = 1 / (1 + sp.exp(-gap))
all_at_gap = sp.exp(s) / (sp.exp(s) + (n - 1) * sp.exp(s - gap))
one_at_gap = sp.exp(s) / (sp.exp(s) + sp.exp(s - gap))


def bound(*steps):
    return derive((weight, "definition"), *lines(*steps), where=rivals)


at_least = bound(divided, (">=", least))
at_most = bound(divided, ("<=", most))

vanishing = sp.prod([n - k for k in range(2, 22)])


def product(start, *steps):
    return derive((start, "definition"), *lines(*steps), where=query | unit)


tied_scores = (
    product(s_a, t * (g_aa + g_ab), t),
    product(s_b, t * (g_ab + g_bb), t),
    product(s_i, t * (g_ia + g_ib), 0),
)


power_of_e = sp.Pow(sp.E, t, evaluate=False)
index = sp.Dummy("n", integer=True, positive=True)


def softened(*steps):
    return (*tied_scores, derive((softmax, "definition"), *lines(*steps), where=tie))


h = sp.Symbol("t", positive=True)
ell, q_a, q_b, q_i, w = sp.symbols("ell q_a q_b q_i w", real=True)
others = sp.Sum(sp.exp(q_i), (i, 1, n - 2))
definition = sp.exp(ell * q_a) / (sp.exp(ell * q_a) + sp.exp(q_b) + others)
heights = {q_a: (h, h), q_b: (h, h), q_i: (0, 0)}
own = sp.exp(h * ell)
crowd = sp.exp(h) + n - 2
put_in = own / (own + sp.exp(h) + sp.Sum(1, (i, 1, n - 2)))
drawn = own / (own + crowd)
line = h * ell - sp.log(crowd)
odds = sp.log(w / (1 - w))


def given_length(*steps):
    return derive((definition, "definition"), *lines(*steps), where=heights)


def log_odds(*steps):
    pinned = heights | {w: (definition, definition)}
    return derive((odds, "definition"), *lines(*steps), where=pinned)


weight_of_a = given_length(put_in, drawn)
straight = log_odds(sp.log(own / crowd), line)

c, d = sp.symbols("c d", positive=True)
lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
key_a, key_b = c * lambda_a * (g_aa + g_ab), c * lambda_b * (g_ab + g_bb)
products = unit | {p_a: (key_a, key_a), p_b: (key_b, key_b)}


def score(product, *steps):
    return derive((product / sp.sqrt(d), "definition"), *lines(*steps), where=products)


score_a = score(p_a, key_a / sp.sqrt(d), lambda_a * c / sp.sqrt(d))
score_b = score(p_b, key_b / sp.sqrt(d), lambda_b * c / sp.sqrt(d))

beta = sp.Symbol("beta", positive=True)
e = sp.erf(1 / sp.sqrt(2 * beta))
P = (1 + e) / 2
variances = sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n / (n - 1) * 2
shared = n / (2 * (n - 1)) * P * (1 - P)
once = n / (8 * (n - 1)) * (1 - e**2)


def ratio(*steps):
    return (derive((variances, "definition"), *lines(*steps)),)


E = sp.exp(beta**2)
near = E / (E + 2)
far = 1 / (E + 2)
far_2 = beta * sp.sqrt((near + far - 1) ** 2 + far**2)
far_1 = beta * sp.sqrt((far + near - 1) ** 2 + (near - 1) ** 2)
added = beta * sp.sqrt(((E + 1) * far - 1) ** 2 + far**2)
root_2 = sp.sqrt(2) * beta / (E + 2)
root_5 = sp.sqrt(5) * beta / (E + 2)


def distance(start, *steps):
    return derive((start, "length"), *lines(*steps))


error_2 = distance(far_2, added, root_2)
error_1 = distance(far_1, beta * sp.sqrt(far**2 + (near - 1) ** 2), root_5)

every_score = sp.IndexedBase("s")
j, k = sp.symbols("j k", integer=True, positive=True)
Z = sp.Symbol("Z", positive=True)
every = sp.Sum(sp.exp(every_score[k]), (k, 1, n))
among = sp.Sum(sp.exp(every_score[i]), (i, 1, n))
nested = sp.Sum(sp.exp(every_score[i]) / every, (i, 1, n))


def in_all(*steps):
    start = sp.Sum(sp.exp(every_score[i]) / Z, (i, 1, n))
    return derive((start, "definition"), *lines(*steps), where={Z: (every, every)})


def alone(*steps):
    start = sp.exp(every_score[j]) / Z
    return derive((start, "definition"), *lines(*steps), where={Z: (every, every)})


in_sum = in_all(among / Z, 1)
positive = alone((">", 0))

HONEST = {
    "0.2": {
        "join, multiply out": fraction(joined, single),
        "two fractions over one denominator": fraction(
            (1 - x) / (1 - x**2) + (1 + x) / (1 - x**2), single
        ),
        "the other sign": fraction(-2 / ((x - 1) * (x + 1)), -2 / (x**2 - 1)),
        "the numerator written out": fraction(
            held(sp.Add, 1 - x, 1 + x) / ((1 + x) * (1 - x)), joined, single
        ),
        "x declared anew": fraction(2 / ((1 + other_x) * (1 - other_x)), 2 / (1 - other_x**2)),
        "a line twice, as SymPy makes it": fraction(joined, joined, single, single),
        "a decimal": fraction(joined, 1 / (0.5 - 0.5 * x**2)),
        "a factor taken out": fraction(
            held(sp.Mul, 1 / (1 + x), 1 + (1 + x) / (1 - x)),
            held(sp.Mul, 1 / (1 + x), 2 / (1 - x)),
            single,
        ),
        "held back by SymPy's own word": fraction(
            (sp.UnevaluatedExpr(1 - x) + sp.UnevaluatedExpr(1 + x)) / ((1 + x) * (1 - x)),
            joined,
            single,
        ),
        "a range of one's own": (
            derive((total, ""), *lines(joined, single), where={x: ("1/4", "1/2")}),
        ),
    },
    "1.1": {
        "Z out, Z in": (in_sum, positive),
        "Z in, then out": (in_all(nested, 1), alone(sp.exp(every_score[j]) / every, (">", 0))),
        "Z out, Z in, cancel": (in_all(every / Z, held(sp.Mul, every, 1 / every), 1), positive),
    },
    "1.2": {
        "divide, then bound": (at_least, at_most),
        "bound, then divide": (
            bound((">=", all_at_gap), least),
            bound(("<=", one_at_gap), most),
        ),
        "signs as they are printed": (bound(divided, ("≥", least)), bound(divided, ("≤", most))),
        "from above": (
            bound(
                1 - R / (R + sp.exp(s)),
                (">=", 1 - (n - 1) * sp.exp(s - gap) / ((n - 1) * sp.exp(s - gap) + sp.exp(s))),
                least,
            ),
            at_most,
        ),
        "as a sigmoid": (
            bound(1 / (1 + sp.exp(sp.log(R) - s)), (">=", least)),
            bound(divided, ("<=", (1 + sp.tanh(gap / 2)) / 2)),
        ),
        "a sigmoid of the lead over all rivals": (
            bound(divided, (">=", 1 / (1 + sp.exp(sp.log(n - 1) - gap)))),
            bound(divided, ("<=", 1 / (1 + sp.exp(-gap)))),
        ),
        "six lines": (
            bound(
                1 / ((sp.exp(s) + R) * sp.exp(-s)),
                divided,
                1 - R / (R + sp.exp(s)),
                (">=", all_at_gap),
                least,
                sp.exp(gap) / (sp.exp(gap) + n - 1),
            ),
            at_most,
        ),
        "another form of the end": (
            bound(divided, (">=", least), sp.exp(gap) / (sp.exp(gap) + n - 1)),
            bound(divided, ("<=", most), sp.exp(gap) / (1 + sp.exp(gap))),
        ),
    },
    "2.3": {
        "put in, count, divide": softened(scored, counted, tied),
        "count first": softened(
            sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + (n - 2) * sp.exp(s_i)), counted
        ),
        "one score at a time": softened(
            sp.exp(t) / (sp.exp(t) + sp.exp(s_b) + rest),
            sp.exp(t) / (2 * sp.exp(t) + rest),
            scored,
            counted,
        ),
        "divide first": softened(
            1 / (1 + sp.exp(s_b - s_a) + rest * sp.exp(-s_a)),
            1 / (2 + sp.exp(-t) * sp.Sum(1, (i, 1, n - 2))),
            tied,
        ),
        "a power of e, and a sum that starts at 3": softened(
            power_of_e / (2 * power_of_e + sp.Sum(1, (i, 3, n))), counted
        ),
        "a Dummy to sum over": softened(
            sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (index, 1, n - 2))), counted
        ),
        "with NumPy's exponential": softened(
            np.exp(t) / (2 * np.exp(t) + sp.Sum(1, (i, 1, n - 2))), 1 / (2 + (n - 2) * np.exp(-t))
        ),
    },
    "3.2": {
        "put in, count; logarithm of a ratio": (weight_of_a, straight),
        "count first; the scores later": (
            given_length(
                sp.exp(ell * q_a) / (sp.exp(ell * q_a) + sp.exp(q_b) + (n - 2) * sp.exp(q_i)),
                drawn,
                1 / (1 + crowd / own),
            ),
            log_odds(sp.log(definition / (1 - definition)), sp.log(own / crowd), line),
        ),
        "minus the logarithm of the odds against": (
            weight_of_a,
            log_odds(-sp.log(1 / w - 1), -sp.log(crowd / own), line),
        ),
        "a difference of logarithms": (
            weight_of_a,
            log_odds(sp.log(w) - sp.log(1 - w), sp.log(drawn) - sp.log(1 - drawn), line),
        ),
        "the odds of the weight in (i)": (
            weight_of_a,
            log_odds(sp.log(drawn / (1 - drawn)), sp.log(own / crowd), line),
        ),
    },
    "3.5": {
        "put in, then orthonormality": (score_a, score_b),
        "one product at a time": (
            score(
                p_a,
                c * lambda_a * g_aa / sp.sqrt(d) + c * lambda_a * g_ab / sp.sqrt(d),
                c * lambda_a * g_aa * d ** sp.Rational(-1, 2),
                lambda_a * (c / sp.sqrt(d)),
            ),
            score(p_b, key_b / d**0.5, c * lambda_b / d**0.5),
        ),
    },
    "4.5": {
        "factor, then multiply": ratio(shared, once),
        "with the complement": ratio(
            shared, n / (8 * (n - 1)) * (1 + e) * (1 - e), n * (1 - e**2) / (8 * n - 8)
        ),
        "in powers of erf": ratio(shared, sp.expand(shared)),
        "with erfc": ratio(
            shared,
            n / (4 * (n - 1)) * P * sp.erfc(1 / sp.sqrt(2 * beta)),
            n / (8 * (n - 1)) * (1 - sp.erf(sp.sqrt(2) / (2 * sp.sqrt(beta))) ** 2),
        ),
    },
    "5.4": {
        "add the weights": (error_2, error_1),
        "in one line": (distance(far_2, root_2), distance(far_1, root_5)),
        "lines that SymPy makes one": (
            distance(far_2, beta * sp.sqrt(2 * far**2), sp.sqrt(2) * beta * far),
            distance(far_1, beta * sp.sqrt(5 * far**2), sp.sqrt(5) * beta * far),
        ),
        "multiplied out": (
            distance(far_2, sp.expand(far_2**2 / beta**2) ** sp.Rational(1, 2) * beta, root_2),
            distance(far_1, beta * sp.sqrt((far + near - 1) ** 2 + 4 * far**2), root_5),
        ),
        "the other way round": (
            distance(far_2, beta * sp.sqrt((1 - far - near) ** 2 + far**2), root_2),
            distance(
                far_1,
                beta * sp.sqrt((far + near - 1) ** 2 + (2 / (E + 2)) ** 2),
                beta * sp.sqrt(((E + 1) / (E + 2) - 1) ** 2 + 4 / (E + 2) ** 2),
                root_5,
            ),
        ),
    },
}

NO_PROOF = "which is no proof. A person will look at it."
OF_LOG_ODDS = "of `log_odds`"  # not proved, or refuted at a point far out
tiny = sp.exp(-(10**5) * n)
tinier = sp.exp(-(10**6) * n)
halved = sp.Rational(1, 2) ** (10**5 * n)
of_ratio = sp.log(own / crowd)
padding = [k * sp.exp(-k * x) for k in range(1, 91)]
opposite = [-part for part in padding]
long_lines = [held(sp.Add, joined, k, -k, *padding, *opposite) for k in range(2, 31)]
cancelling = sp.sin(x) ** 2 + sp.cos(x) ** 2
hyper = sp.cosh(beta) ** 2 - sp.sinh(beta) ** 2
half = sp.Rational(1, 2)
bump = least + (divided - least) * (half + 5 * sp.exp(-100 * (gap - 8) ** 2))
narrow = (gap - 8) * (gap - sp.Rational(80001, 10000))
narrow_beta = (beta - sp.Rational(81, 10)) * (beta - sp.Rational(811, 100))
cube = (x**3 + 3 * x**2 + 3 * x + 1) ** sp.Rational(1, 3) / (1 + x)
differences = [
    sp.Pow(x + sp.Rational(3, 2) + k * sp.Rational(1, 1000), (-1) ** k * sp.binomial(6, k))
    for k in range(7)
]


def turning(factor):
    """1, but for the narrow place in which the factor is negative: there it is -1."""
    return sp.sqrt(sp.expand(factor**2)) / factor


long_decimal = sp.Float("1." + "0" * 25 + "1", 60)

SHAM = {
    "0.2": {
        "a decimal whose last digits are lost": (
            fraction(joined, held(sp.Mul, single, long_decimal)),
            "cannot be read exactly",
        ),
        "a decimal below the smallest float": (
            fraction(joined, held(sp.Add, single, sp.Float("1e-400", 50))),
            "cannot be read exactly",
        ),
        "a sum in brackets": (
            fraction(held(sp.Mul, 2, 1 / (2 + 2 * x) + 1 / (2 - 2 * x)), single),
            "two things at once",
        ),
        "to the power 1": (fraction(held(sp.Pow, total, 1), single), "two things at once"),
        "over its own inverse": (
            fraction(held(sp.Pow, held(sp.Pow, total, -1), -1), single),
            "two things at once",
        ),
        "brackets that cancel": (
            fraction(held(sp.Add, held(sp.Add, total, x), -x), single),
            "two things at once",
        ),
        "another golden number": (fraction(joined * sp.GoldenRatio, single), "a constant in it"),
        "a product that is nearly one": (
            fraction(held(sp.Mul, joined, cube, *differences), single),
            "step 1 of the chain",
        ),
        "a root that nobody takes": (fraction(held(sp.Mul, joined, cube), single), NO_PROOF),
        "a jump": (fraction(single), "two things at once"),
        "vacuous": (fraction(("<=", 10**6 / (1 - x)), (">=", single)), "turns round"),
        "a false line": (fraction(2 / (2 - x**2), single), "step 1 of the chain does not follow"),
        "a line that cancels": (
            fraction(held(sp.Add, total, x, -x), single),
            "two things at once",
        ),
        "a factor that is one": (
            fraction(held(sp.Mul, total, 2 + x, 1 / (2 + x)), single),
            "two things at once",
        ),
        "sine and cosine": (fraction(total * cancelling, joined, single), "uses cos"),
        "a maximum": (fraction(sp.Max(total, 0, evaluate=False), single), "uses Max"),
        "an absolute value": (fraction(held(sp.Abs, total), joined, single), "uses Abs"),
        "only an inequality": (fraction(joined, (">=", single)), "proves >=, where = is asked"),
        "there and back": (fraction(joined, total, joined, single), "goes back to a line above"),
        "not to the end": (
            fraction(joined, -2 / ((x - 1) * (x + 1))),
            "still to do: x in one place",
        ),
        "undone again": (fraction(joined, single, joined / 1), "goes back to a line above"),
        "split again": (
            fraction(joined, single, 1 + (1 + x**2) / (1 - x**2)),
            "undoes what was done",
        ),
        "nearly one": (
            fraction(joined, single * (1 + sp.Rational(1, 10**30))),
            "nearly a whole number",
        ),
        "a very small exponential": (
            fraction(joined, single + sp.exp(-(10**6) / x)),
            "differ, if only by very little",
        ),
        "a multiple of a known prime": (
            fraction((2 + (2**80 + 18513) * x) / ((1 + x) * (1 - x)), single * (1 + 2**80 + 18513)),
            "step 1 of the chain does not follow",
        ),
        "29 long lines": (
            fraction(*long_lines, single),
            "is too long to check",
        ),
        "a rounded number": (
            fraction(1.4142135623730951**2 / ((1 + x) * (1 - x)) * x / x, single),
            "is a rounded number",
        ),
        "text": (fraction("2/(1-x**2)"), "quotation marks"),
        "a limit": (fraction(("x -> 0", 2)), "takes a limit"),
        "a symbol of another question": (fraction(joined * s / gap), "uses gap"),
    },
    "1.1": {
        "a jump": ((in_all(1), positive), "two things at once"),
        "a sum without scores": (
            (in_all(sp.Sum(1 / n, (i, 1, n)), 1), positive),
            "two things at once",
        ),
        "a sum that cancels": ((in_all(held(sp.Add, among / Z, n, -n), 2), positive), "step 2"),
        "vacuous": ((in_all(("<=", n + 1), (">=", 1)), positive), "turns round"),
        "at most one": ((in_all(among / Z, ("<=", 1)), positive), "proves <=, where = is asked"),
        "not strict": ((in_sum, alone((">=", 0))), "proves >=, where > is asked for"),
        "loose": ((in_sum, alone((">", -1))), "not the best"),
        "too much": ((in_sum, alone((">", 1 / n))), "step 1 of `one_weight` does not follow"),
        "by an absolute value": (
            (in_sum, alone(held(sp.Abs, alone().start), (">", 0))),
            "uses Abs",
        ),
    },
    "1.2": {
        "false near a gap of 8 alone": (
            (bound(divided, (">=", bump), (">=", least)), at_most),
            NO_PROOF,
        ),
        "another sign in a narrow place": (
            (bound(held(sp.Mul, divided, turning(narrow)), divided, (">=", least)), at_most),
            NO_PROOF,
        ),
        "false for a gap above 13": (
            (bound((">=", least + (bound().start - least) * gap / 13), (">=", least)), at_most),
            "step 1 of `at_least` does not follow",
        ),
        "vacuous": ((bound(("<=", 10**6), (">=", least)), at_most), "turns round"),
        "vacuous the other way": ((at_least, bound((">=", 0), ("<=", most))), "turns round"),
        "a jump": ((bound((">=", least)), at_most), "two things at once"),
        "loose": (
            (bound(divided, (">=", 1 / (1 + n * sp.exp(-gap)))), at_most),
            "`at_least` holds, but is not the best",
        ),
        "loose by far": ((at_least, bound(divided, ("<=", 1))), "not the best"),
        "the ends exchanged": ((at_most, at_least), "proves <=, where >= is asked for"),
        "an equality": ((bound(divided, least), at_most), "step 2 of `at_least` does not follow"),
        "strict": ((bound(divided, (">", least)), at_most), "step 2 of `at_least` does not follow"),
        "the wrong way": ((bound(divided, ("<=", least)), at_most), "step 2 of `at_least`"),
        "for few keys only": (
            (bound(divided, (">=", 1 / (1 + 10**6 * sp.exp(-gap)))), at_most),
            "step 2 of `at_least` does not follow",
        ),
        "R is left": ((bound(divided, (">=", divided)), at_most), "still contains R, s"),
        "a minimum": ((bound(divided, (">=", sp.Min(least, 1))), at_most), "uses Min"),
        "a small term in a bound from below": (
            (bound(divided, (">=", least + tinier), (">=", least)), at_most),
            NO_PROOF,
        ),
        "a small term in a bound from above": (
            (at_least, bound(divided, ("<=", most - tinier), ("<=", most))),
            NO_PROOF,
        ),
        "a hyperbolic function far out": (
            (bound(divided, (">=", least * sp.coth(10**6 * n)), (">=", least)), at_most),
            NO_PROOF,
        ),
        "an exponential of next to nothing": (
            (bound(divided, (">=", least * sp.exp(tinier)), (">=", least)), at_most),
            NO_PROOF,
        ),
        "a way round that cancels": (
            (bound(held(sp.Add, weight, n, -n), (">=", least)), at_most),
            "two things at once",
        ),
        "R in two brackets": (
            (bound((">=", held(sp.Add, least / 2 + R, least / 2 - R)), least), at_most),
            "counts as not there",
        ),
        "R above and below": (
            (bound((">=", R / (R + R * (n - 1) * sp.exp(-gap))), least), at_most),
            "two things at once",
        ),
    },
    "2.3": {
        "a jump": (softened(counted, tied), "two things at once: the scores put in and the sum"),
        "a value used too early": (
            softened(sp.exp(t) / (sp.exp(s_a) + sp.exp(s_b) + rest), scored, counted),
            "s_a and s_b and s_i still stand here",
        ),
        "for few keys only": (
            softened(scored, sp.exp(t) / (2 * sp.exp(t) + n - 2 + vanishing), counted),
            "step 2 of `two_tied` does not follow",
        ),
        "the last line for few keys only": (
            softened(scored, counted, tied + vanishing * tied),
            "step 3 of `two_tied` does not follow",
        ),
        "one key too many": (
            softened(scored, sp.exp(t) / (2 * sp.exp(t) + n - 1)),
            "step 2 of `two_tied` does not follow",
        ),
        "vacuous": (softened(("<=", 10**6), (">=", tied)), "turns round"),
        "a bound": (softened(scored, counted, ("<=", sp.Rational(1, 2))), "proves <="),
        "the limit": (softened(scored, counted, ("t -> oo", sp.Rational(1, 2))), "takes a limit"),
        "nothing put in": (softened(softmax * 1), "still contains s_a, s_b, s_i"),
        "a line that cancels": (
            softened(held(sp.Add, softmax, t, -t), counted),
            "two things at once",
        ),
        "another symbol of the name the sum runs over": (
            softened(
                sp.exp(t) / (2 * sp.exp(t) + sp.Sum(n - index + 1, (index, 1, n - 2))), counted
            ),
            "step 1 of `two_tied` does not follow",
        ),
        "a sum of one term around the end": (
            softened(sp.Sum(counted, (i, 1, 1)), counted),
            "two things at once",
        ),
        "a sum over no symbol": (
            softened(sp.exp(t) / (2 * sp.exp(t) + sp.Sum(1, (sp.Idx("i"), 1, n - 2))), counted),
            "run over a symbol",
        ),
        "by cases": (
            softened(scored, sp.Piecewise((counted, n < 10**6), (tied, True))),
            "Piecewise is not something",
        ),
    },
    "3.2": {
        "a jump in (i)": ((given_length(drawn, 1 / (1 + crowd / own)), straight), "two things"),
        "a jump in (ii)": ((weight_of_a, log_odds(line)), "w put in"),
        "not a line": (
            (weight_of_a, log_odds(sp.log(drawn / (1 - drawn)), sp.log(own / crowd))),
            "still to do: a straight line in ell",
        ),
        "a value used too early": (
            (weight_of_a, log_odds(sp.log(own / crowd) + w - drawn, line)),
            "w still stands here",
        ),
        "a line and something that cancels": (
            (weight_of_a, log_odds(held(sp.Add, odds, h, -h), line)),
            "two things at once",
        ),
        "the length counts twice": (
            (given_length(put_in, own / (2 * own + n - 2)), straight),
            "step 2 of `weight_of_a` does not follow",
        ),
        "a small term beside the logarithm": (
            (weight_of_a, log_odds(of_ratio + tiny, line)),
            OF_LOG_ODDS,
        ),
        "a small power beside the logarithm": (
            (weight_of_a, log_odds(of_ratio + halved, line)),
            OF_LOG_ODDS,
        ),
        "a small power inside the logarithm": (
            (weight_of_a, log_odds(sp.log(own / crowd + halved), line)),
            OF_LOG_ODDS,
        ),
        "a factor next to one": ((weight_of_a, log_odds(of_ratio * (1 + tiny), line)), OF_LOG_ODDS),
        "factors next to one": (
            (weight_of_a, log_odds(of_ratio * (1 + tiny) * (1 - tiny) * (1 + tiny**2), line)),
            OF_LOG_ODDS,
        ),
        "an exponential of next to nothing": (
            (weight_of_a, log_odds(sp.log(own / crowd * sp.exp(tiny)), line)),
            OF_LOG_ODDS,
        ),
        "a power with a small exponent": (
            (weight_of_a, log_odds(of_ratio * n**tiny, line)),
            OF_LOG_ODDS,
        ),
        "a small term that is seen elsewhere": (
            (weight_of_a, log_odds(of_ratio + tiny + held(sp.log, tiny) + 10**5 * n, line)),
            OF_LOG_ODDS,
        ),
        "a sum of small terms": (
            (weight_of_a, log_odds(of_ratio + sp.Sum(sp.exp(-(10**5) * i), (i, 1, n)), line)),
            OF_LOG_ODDS,
        ),
        "a small term in a difference": (
            (weight_of_a, log_odds(of_ratio + held(sp.Mul, 1 + tiny, 1) - 1, line)),
            OF_LOG_ODDS,
        ),
        "an integral": (
            (weight_of_a, log_odds(sp.Integral(1 / x, (x, 1, w / (1 - w))), line)),
            "Integral is not something",
        ),
    },
    "3.5": {
        "a jump": ((score(p_a, lambda_a * c / sp.sqrt(d)), score_b), "two things at once"),
        "a product is left": (
            (score(p_a, key_a / sp.sqrt(d), c * lambda_a * g_aa / sp.sqrt(d)), score_b),
            "still contains g_aa",
        ),
        "the other key": (
            (score_a, score(p_b, key_a / sp.sqrt(d), lambda_a * c / sp.sqrt(d))),
            "uses g_aa",
        ),
        "no root": ((score(p_a, key_a / d, lambda_a * c / d), score_b), "step 1 of"),
    },
    "4.5": {
        "a jump": (ratio(once), "jumps to the end"),
        "a line that cancels": (ratio(held(sp.Add, variances, n, -n), once), "jumps to the end"),
        "a factor that is one": (
            ratio(held(sp.Mul, variances, n + beta, 1 / (n + beta)), once),
            "jumps to the end",
        ),
        "eleven terms that cancel": (
            ratio(held(sp.Add, variances, *(k * n for k in range(1, 10)), -45 * n), once),
            "jumps to the end",
        ),
        "eighteen terms that cancel": (
            ratio(held(sp.Add, variances, *(k * n for k in range(1, 17)), -136 * n), once),
            "a sum or product of over 16 parts",
        ),
        "brackets that cancel": (
            ratio(held(sp.Mul, held(sp.Mul, variances, n), 1 / n), once),
            "jumps to the end",
        ),
        "twice, less once": (
            ratio(held(sp.Add, held(sp.Mul, 2, variances), held(sp.Mul, -1, variances)), once),
            "jumps to the end",
        ),
        "a factor that looks like one": (ratio(variances * hyper, once), "uses cosh"),
        "nearly the same": (
            ratio(shared, once * (1 + sp.exp(-(10**4) * n))),
            "differ, if only by very little",
        ),
        "for many values": (
            ratio(shared, once * n / (n + sp.Rational(1, 10**5))),
            "step 2 of `ratio` does not follow",
        ),
        "not simplified": (ratio(shared, n * (P - P**2) / (2 * n - 2)), "still to do: erf once"),
        "an upper bound": (ratio(shared, ("<=", once)), "proves <="),
    },
    "5.4": {
        "cosh and sinh for exp": (
            (distance(far_2, added, root_2.subs(E, sp.cosh(beta**2) + sp.sinh(beta**2))), error_1),
            "uses cosh",
        ),
        "the other sign": ((distance(far_2, added, -root_2), error_1), "step 2 of `error_2`"),
        "another sign in a narrow place": (
            (distance(far_2, held(sp.Mul, added, turning(narrow_beta)), root_2), error_1),
            NO_PROOF,
        ),
        "very little under the root": (
            (
                distance(far_2, beta * sp.sqrt(2 * far**2 + sp.exp(-(10**6) * (1 + beta))), root_2),
                error_1,
            ),
            "differ, if only by very little",
        ),
        "an exponential of next to nothing": (
            (
                distance(far_2, added * sp.exp(sp.exp(-(10**6) * (1 + beta))), root_2),
                error_1,
            ),
            NO_PROOF,
        ),
        "a rounded root": (
            (distance(far_2, added, 2**0.5 * beta / (E + 2)), error_1),
            "write sp.sqrt(2)",
        ),
        "not short": (
            (error_2, distance(far_1, beta * sp.sqrt(far**2 + (near - 1) ** 2))),
            "still to do: beta in two places",
        ),
        "longer again": (
            (
                distance(far_2, added, root_2, sp.sqrt(2) * beta * (1 - near) / 2),
                error_1,
            ),
            "undoes what was done",
        ),
    },
}
