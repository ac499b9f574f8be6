"""Answers to 3.1-3.5: right ones of every form we could think of, and the known mistakes."""

import math

import numpy as np
import sympy as sp

from attn_course import derive
from attn_utils import softmax
from bank.average_of_two import (
    PAIRS,
    TYING,
    both,
    push_down,
    three_keys,
)

t = sp.Symbol("t", positive=True)
ell, s_a, s_b, s_i, w = sp.symbols("ell s_a s_b s_i w", real=True)
n, i = sp.symbols("n i", integer=True, positive=True)
others = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
definition = sp.exp(ell * s_a) / (sp.exp(ell * s_a) + sp.exp(s_b) + others)
heights = {s_a: (t, t), s_b: (t, t), s_i: (0, 0)}
drawn = sp.exp(t * ell) / (sp.exp(t * ell) + sp.exp(t) + n - 2)
closed = 1 / (1 + (sp.exp(t) + n - 2) * sp.exp(-t * ell))
line = t * ell - sp.log(sp.exp(t) + n - 2)
ratio = sp.log(sp.exp(t * ell) / (sp.exp(t) + n - 2))


def weight_chain(*steps):
    return derive((definition, "definition"), *steps, where=heights)


def odds_chain(*steps):
    return derive((sp.log(w / (1 - w)), "log-odds"), *steps, where={w: (drawn, drawn)})


put_in = sp.exp(t * ell) / (sp.exp(t * ell) + sp.exp(t) + sp.Sum(1, (i, 1, n - 2)))
weight_of_a = weight_chain((put_in, "scores"), (drawn, "count"), (closed, "divide"))
log_odds = odds_chain((ratio, "a against the rest"), (line, "logarithm of a ratio"))


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def crowd(t, n):
    """log(exp(t) + n - 2), for any t."""
    return t + math.log1p((n - 2) * math.exp(-t))


def law(variance=lambda t: t * t / 2, rivals=crowd, turn=1):
    def weight_cdf(w, t, n):
        return normal(turn * (math.log(w / (1 - w)) - t + rivals(t, n)) / math.sqrt(variance(t)))

    return weight_cdf


def by_drawing(w, t, n):
    lengths = np.random.default_rng(0).normal(1, math.sqrt(0.5), 400_000)
    scores = t * lengths
    top = np.maximum(scores, t)
    mine = np.exp(scores - top)
    return np.mean(mine / (mine + np.exp(t - top) + (n - 2) * np.exp(-top)) <= w)


def by_adding_up(w, t, n):
    grid = np.linspace(-6, 8, 28_001)
    density = np.exp(-((grid - 1) ** 2)) / math.sqrt(math.pi)
    scores = np.c_[
        t * grid, np.full(len(grid), t), np.full(len(grid), math.log(max(n - 2, 1e-300)))
    ]
    return np.sum(density * (softmax(scores)[:, 0] <= w)) * (grid[1] - grid[0])


def by_the_length(w, t, n):
    length = (math.log(w) - math.log1p(-w) + crowd(t, n)) / t
    return 0.5 + 0.5 * math.erf(length - 1)


def tied_at(low):
    """A tie between the means at height `low`, everything else 12 lower."""
    return lambda means, a, b: 12 * (means[a] + means[b]) + (low - 12) * means.sum(0)


c, d = sp.symbols("t d", positive=True)
lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
g_aa, g_ab, g_bb = sp.symbols("g_aa g_ab g_bb", real=True)
key_a, key_b = c * lambda_a * (g_aa + g_ab), c * lambda_b * (g_ab + g_bb)
unit = {g_aa: (1, 1), g_ab: (0, 0), g_bb: (1, 1)}
products = unit | {p_a: (key_a, key_a), p_b: (key_b, key_b)}


def score_chain(product, *steps):
    return derive((product / sp.sqrt(d), "definition"), *steps, where=products)


score_a = score_chain(p_a, (key_a / sp.sqrt(d), "put in"), (c * lambda_a / sp.sqrt(d), "unit"))
score_b = score_chain(p_b, (key_b / sp.sqrt(d), "put in"), (c * lambda_b / sp.sqrt(d), "unit"))


def variance(beta, c, d):
    return 2 * beta * c**2 / d


def share(variance=variance, sides=1.0):
    """How often the gap passes the log-odds of w on either side."""
    return lambda beta, c, d, w: (
        sides * math.erfc(math.log(w / (1 - w)) / math.sqrt(2 * variance(beta, c, d)))
    )


def share_by_drawing(beta, c, d, w):
    lengths = 1 + math.sqrt(beta) * np.random.default_rng(5).normal(size=(200_000, 2))
    weights = softmax(c / math.sqrt(d) * lengths)
    return np.mean(weights.max(-1) > w)


RIGHT = {
    "3.1": {
        **TYING,
        "a list": lambda means, a, b: list(both(10)(means, a, b)),
        "a column": lambda means, a, b: both(10)(means, a, b)[:, None],
    },
    "3.2": {
        "shortest": (weight_of_a, log_odds),
        "other way round": (
            weight_chain((put_in, "scores"), (closed, "count"), (drawn, "multiply")),
            odds_chain((ratio, "ratio"), (line, "logarithm")),
        ),
        "around the mean length": (
            weight_of_a,
            odds_chain(
                (ratio, "a against the rest"),
                (line, "logarithms"),
                (t * (ell - 1) - sp.log(1 + (n - 2) * sp.exp(-t)), "take exp(t) out"),
            ),
        ),
        "logarithms apart": (
            weight_of_a,
            odds_chain(
                (sp.log(w) - sp.log(1 - w), "a ratio"),
                (sp.log(drawn) - sp.log(1 - drawn), "put w in"),
                (line, "the denominators cancel"),
            ),
        ),
    },
    "3.3": {
        "closed form": law(),
        "through the length": by_the_length,
        "drawing 400,000 keys": by_drawing,
        "adding up the density": by_adding_up,
    },
    "3.4": {
        "jumps, the sum": ("B", both(10)),
        "jumps, small letter": (" b ", both(7)),
        "stays, pushed down": ("A", push_down),
        "stays, tied low": ("A", tied_at(0.05)),
        "wanders, tied at a half": ("C", tied_at(0.5)),
        "jumps, tied far below zero": ("B", tied_at(-8)),
        "between two descriptions": ("C", tied_at(2.4)),
        "between two descriptions, the other": ("B", tied_at(2.4)),
    },
    "3.5": {
        "chains": (score_a, score_b),
        "a decimal exponent": (
            score_chain(p_a, (key_a * d**-0.5, "put in"), (lambda_a * c * d**-0.5, "unit")),
            score_b,
        ),
        "formula": (variance, share()),
        "two variances": (
            lambda beta, c, d: beta * (c / d**0.5) ** 2 + beta * (c / d**0.5) ** 2,
            share_by_drawing,
        ),
        "a covariance matrix": (
            lambda beta, c, d: np.array([c, -c]) @ (beta * np.eye(2)) @ np.array([c, -c]) / d,
            lambda beta, c, d, w: 2 * normal(-math.log(w / (1 - w)) / variance(beta, c, d) ** 0.5),
        ),
    },
}

WRONG = {
    "3.1": {
        "no scale (000-2)": (both(1), "52% of the weight is left on other keys at n = 8"),
        "long enough for twenty keys": (both(8), "left on other keys at n = 100, multiply"),
        "the first two, always": (
            lambda means, a, b: 20 * (means[0] + means[1]),
            "other keys score higher than both of them: 100% of the weight",
        ),
        "a unit vector": (both(0.5**0.5), "60% of the weight is left"),
        "only a": (lambda means, a, b: 20 * means[a], "only one of the two"),
        "difference": (lambda means, a, b: 20 * (means[a] - means[b]), "pushed down, below"),
        "expected lengths": (lambda means, a, b: 20 * means[a] + 30 * means[b], "a gap of -10,"),
        "sign": (both(-20), "points away"),
        "the mean of all": (lambda means, a, b: 20 * means.mean(0), "every key scores the same"),
        "product": (
            lambda means, a, b: 99 * means[a] * means[b],
            "at n = 8; the scores of a and b are 0.333",
        ),
        "three": (three_keys, "ties with them"),
        "two queries": (lambda means, a, b: (20 * means[a], 20 * means[b]), "keys is (2, 12)"),
    },
    "3.2": {
        "k_b is random too (000-3)": (
            (
                weight_chain(
                    (
                        sp.exp(t * ell)
                        / (sp.exp(t * ell) + sp.exp(t * sp.Symbol("epsilon_b")) + n - 2),
                        "scores",
                    ),
                    (closed, "divide"),
                ),
                log_odds,
            ),
            "uses epsilon_b",
        ),
        "the others dropped (000-5)": (
            (
                weight_chain(
                    (put_in, "scores"),
                    (drawn, "count"),
                    (sp.exp(t * ell) / (sp.exp(t * ell) + sp.exp(t)), "the rest is small"),
                ),
                log_odds,
            ),
            "step 3 of `weight_of_a`",
        ),
        "the length counts for both": (
            (
                weight_chain(
                    (sp.exp(t * ell) / (2 * sp.exp(t * ell) + n - 2), "scores"),
                    (1 / (2 + (n - 2) * sp.exp(-t * ell)), "divide"),
                ),
                log_odds,
            ),
            "step 1 of `weight_of_a`",
        ),
        "heights left in": (
            (
                weight_chain(
                    (1 / (1 + (sp.exp(s_b) + n - 2) * sp.exp(-ell * s_a)), "divide"),
                    (1 / (1 + (sp.exp(s_b) + n - 2) / sp.exp(ell * s_a)), "same"),
                ),
                log_odds,
            ),
            "still contains s_a and s_b",
        ),
        "not a line": (
            (weight_of_a, odds_chain((sp.log(drawn / (1 - drawn)), "put in"), (ratio, "simplify"))),
            "straight line",
        ),
        "odds, not log-odds": (
            (
                weight_of_a,
                odds_chain((sp.exp(t * ell) / (sp.exp(t) + n - 2), "odds"), (line, "log")),
            ),
            "step 1 of `log_odds`",
        ),
        "one step": ((weight_of_a, odds_chain((line, "clear"))), "show at least one line between"),
        "the second is missing": ((weight_of_a, 1.0), "derive"),
    },
    "3.3": {
        "k_b random too (000-3)": (law(lambda t: t * t), "as if k_b were random too"),
        "a half as deviation": (law(lambda t: t * t / 4), "not a standard deviation"),
        "root twice": (law(lambda t: t * t / 2**0.5), "root is taken twice"),
        "others left out (000-5)": (law(rivals=lambda t, n: t), "left out"),
        "one key more": (
            law(rivals=lambda t, n: crowd(t, n + 1)),
            "one of the two keys is counted among the others",
        ),
        "two keys more": (law(rivals=lambda t, n: crowd(t, n + 2)), "keys a and b are counted"),
        "a length of mean 0": (law(rivals=lambda t, n: crowd(t, n) + t), "mean 1, not 0"),
        "the other tail": (law(turn=-1), "*above* w"),
        "others pull upwards": (
            law(rivals=lambda t, n: 2 * t - crowd(t, n)),
            "is 0.03194, the measured chance 0.76",
        ),
        "uniform": (lambda w, t, n: w, "this is w itself"),
        "a density": (
            lambda w, t, n: math.exp(-((math.log(w / (1 - w)) / t) ** 2)) / (t * w * (1 - w)),
            "between 0 and 1",
        ),
        "overflow": (
            law(rivals=lambda t, n: math.log(math.exp(t) + n - 2)),
            "weight_cdf(0.6, 1000, 50): your code stopped with OverflowError",
        ),
        "always a half": (lambda w, t, n: 0.5, "is 0.5, the measured"),
    },
    "3.4": {
        "always the average": (("A", both(10)), "half as long as its mean gets weight"),
        "wanders (002-6)": (("C", both(10)), "not spread like this"),
        "the mean of the others": (("D", both(10)), "never had more than"),
        "grows with the length (004-4)": (("E", both(10)), "one of length 4 gets 1.0000"),
        "always v_a (000-4)": (("F", both(10)), "shorter than its mean"),
        "jumps, though pushed down (001-2)": (("B", push_down), "nothing jumps"),
        "3.1 is wrong": (("B", both(1)), "correct 3.1 first"),
        "3.1 is empty": (("B", None), "answer 3.1 first"),
        "a word": (("switches", both(10)), "one of the letters"),
        "a number": ((2, both(10)), "`behaviour` is 2"),
    },
    "3.5": {
        "lengths squared (003-6)": (
            (score_chain(p_a, (lambda_a**2 * c / sp.sqrt(d), "drawn"), (c, "mean")), score_b),
            "step 1 of `score_a`",
        ),
        "no sqrt(d) (003-4)": (
            (score_a, score_chain(p_b, (key_b, "put in"), (c * lambda_b, "unit"))),
            "step 1 of `score_b`",
        ),
        "stops early": (
            (score_chain(p_a, (key_a / sp.sqrt(d), "put in")), score_b),
            "still contains g_aa and g_ab",
        ),
        "in one line": (
            (score_a, score_chain(p_b, (c * lambda_b / sp.sqrt(d), "clear"))),
            "show at least one line between",
        ),
        "swapped": ((score_b, score_a), "must start"),
        "no 1/d (003-4)": ((lambda beta, c, d: 2 * beta * c**2, share()), "sqrt(d) is missing"),
        "1/sqrt(d)": (
            (lambda beta, c, d: 2 * beta * c**2 / d**0.5, share()),
            "squared in a variance",
        ),
        "one key": ((lambda beta, c, d: beta * c**2 / d, share()), "random, not one"),
        "doubled again": ((lambda beta, c, d: 4 * beta * c**2 / d, share()), "not doubled again"),
        "beta squared": (
            (lambda beta, c, d: 2 * beta**2 * c**2 / d, share()),
            "already a variance",
        ),
        "beta rooted": (
            (lambda beta, c, d: 2 * beta**0.5 * c**2 / d, share()),
            "no root is needed",
        ),
        "the mean square": ((lambda beta, c, d: 2 * (1 + beta) * c**2 / d, share()), "drops out"),
        "c not squared": ((lambda beta, c, d: 2 * beta * c / d, share()), "by its square"),
        "deviation": (
            (lambda beta, c, d: math.sqrt(2 * beta / d) * c, share()),
            "that is the standard deviation",
        ),
        "the mean (003-7)": ((lambda beta, c, d: 0.0, share()), "mean of the gap"),
        "drawn keys in the query (003-5)": (
            (lambda beta, c, d: (8 * beta + 4 * beta**2) * c**2 / d, share()),
            "made of the drawn keys",
        ),
        "a guess": ((lambda beta, c, d: 1.0, share()), "is 1, the measured variance"),
        "only a": ((variance, share(sides=0.5)), "b does so as often"),
        "the 2 of the normal law forgotten": (
            (variance, share(lambda beta, c, d: variance(beta, c, d) / 2)),
            "either both keys are random here, not one, or the 2 beside the variance is missing",
        ),
        "neither": (
            (variance, lambda beta, c, d, w: 1 - share()(beta, c, d, w)),
            "neither of the two",
        ),
        "one key in the share": (
            (variance, share(lambda beta, c, d: beta * c**2 / d)),
            "both keys are random here",
        ),
        "no sqrt(d) in the share": (
            (variance, share(lambda beta, c, d: 2 * beta * c**2)),
            "the scores are not divided",
        ),
        "beta as a deviation": (
            (variance, share(lambda beta, c, d: 2 * beta**2 * c**2 / d)),
            "not a standard deviation",
        ),
        "always": ((variance, lambda beta, c, d, w: 1.0), "the limit of long queries"),
        "never (003-7)": ((variance, lambda beta, c, d, w: 0.0), "is not the mean over draws"),
        "more than all": ((variance, lambda beta, c, d, w: 1.5), "between 0 and 1"),
        "a constant": ((variance, lambda beta, c, d, w: 0.3), "in a simulation it is"),
    },
}


def gap_needed(c, d, w):
    """In lengths of keys: how far apart two must be for one of them to get more than w."""
    return math.log(w / (1 - w)) * math.sqrt(d) / c


REGIMES = {
    "3.1": {"robust_query": PAIRS},
    "3.3": {
        "weight_cdf": {
            "a weight near 0": lambda w, t, n: w < 0.01,
            "a weight near 1": lambda w, t, n: w > 0.99,
            "one half": lambda w, t, n: w == 0.5,
            "a short query": lambda w, t, n: t < 0.3,
            "exp(t) overflows": lambda w, t, n: t > 710,
            "no other keys": lambda w, t, n: n == 2,
            "many keys": lambda w, t, n: n >= 1000,
        },
    },
    "3.4": {
        "robust_query": {
            "several keys": lambda means, a, b: len(means) >= 8,
            "one other key": lambda means, a, b: len(means) == 3,
        },
    },
    "3.5": {
        "noisy_gap_variance": {
            "a variance above 1": lambda beta, c, d: beta > 1,
            "a variance between": lambda beta, c, d: 0.1 < beta < 0.9,
            "a tiny variance": lambda beta, c, d: beta < 0.001,
            "a long query": lambda beta, c, d: c > 100,
            "a factor of 1": lambda beta, c, d: c == 1,
            "a width that is no square": lambda beta, c, d: d % math.isqrt(d),
        },
        "share_decided": {
            "hardly a draw decided": lambda beta, c, d, w: (
                gap_needed(c, d, w) > 5 * math.sqrt(2 * beta)
            ),
            "nearly all draws decided": lambda beta, c, d, w: (
                0 < gap_needed(c, d, w) < 0.01 * math.sqrt(2 * beta)
            ),
            "w = 1/2": lambda beta, c, d, w: w == 0.5,
            "w near 1": lambda beta, c, d, w: w >= 0.99,
            "a tiny variance": lambda beta, c, d, w: beta <= 0.01,
        },
    },
}
