"""Answers to 3.1-3.5: right ones of every form we could think of, and the known mistakes."""

import math
from functools import partial

import numpy as np

from attn_utils import softmax
from bank import edited
from bank.average_of_two import PAIRS, TYING, both, push_down, three_keys
from bank.chains import right, wrong


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def crowd(t, n):
    """log(exp(t) + n - 2), for any t."""
    return t + math.log1p((n - 2) * math.exp(-t))


def weight_cdf(w, t, n):
    return normal((math.log(w / (1 - w)) - t + crowd(t, n)) / math.sqrt(t * t / 2))


law_with = partial(edited, weight_cdf)


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


def variance(beta, c, d):
    return 2 * beta * c**2 / d


def share(beta, c, d, w):
    """How often the gap passes the log-odds of w on either side."""
    return math.erfc(math.log(w / (1 - w)) / math.sqrt(2 * variance(beta, c, d)))


def variance_with(*edits):
    return edited(variance, *edits), share


def share_with(*edits):
    return variance, edited(share, *edits)


def share_by_drawing(beta, c, d, w):
    lengths = 1 + math.sqrt(beta) * np.random.default_rng(5).normal(size=(200_000, 2))
    weights = softmax(c / math.sqrt(d) * lengths)
    return np.mean(weights.max(-1) > w)


def gap_needed(c, d, w):
    """In lengths of keys: how far apart two must be for one of them to get more than w."""
    return math.log(w / (1 - w)) * math.sqrt(d) / c


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["3.1"] = {
    **TYING,
    "a list": lambda means, a, b: list(both(10)(means, a, b)),
    "a column": lambda means, a, b: both(10)(means, a, b)[:, None],
}
WRONG["3.1"] = {
    "no scale (000-2)": (both(1), "52% of the weight is left on other keys at n = 8"),
    "long enough for twenty keys": (both(8), "left on other keys at n = 100, a = "),
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
        "the scores of a and b are 0.333",
    ),
    "three": (three_keys, "ties with them"),
    "two queries": (lambda means, a, b: (20 * means[a], 20 * means[b]), "keys is (2, 12)"),
}
INPUT_KINDS["3.1"] = {"robust_query": PAIRS}

RIGHT["3.2"] = right("3.2")
WRONG["3.2"] = wrong("3.2")

RIGHT["3.3"] = {
    "closed form": weight_cdf,
    "through the length": by_the_length,
    "drawing 400,000 keys": by_drawing,
    "adding up the density": by_adding_up,
}
WRONG["3.3"] = {
    "k_b random too (000-3)": (law_with("t * t / 2", "t * t"), "as if k_b were random too"),
    "a half as deviation": (law_with("t * t / 2", "t * t / 4"), "not a standard deviation"),
    "root twice": (law_with("t * t / 2", "t * t / 2**0.5"), "root is taken twice"),
    "others left out (000-5)": (law_with("crowd(t, n)", "t"), "left out"),
    "one key more": (
        law_with("crowd(t, n)", "crowd(t, n + 1)"),
        "one of the two keys is counted among the others",
    ),
    "two keys more": (law_with("crowd(t, n)", "crowd(t, n + 2)"), "keys a and b are counted"),
    "a length of mean 0": (law_with(" - t", ""), "mean 1, not 0"),
    "the other tail": (law_with("normal(", "normal(-"), "*above* w"),
    "others pull upwards": (
        law_with("- t + crowd(t, n)", "+ t - crowd(t, n)"),
        "is 0.03194, the measured chance 0.76",
    ),
    "uniform": (lambda w, t, n: w, "this is w itself"),
    "a density": (
        lambda w, t, n: math.exp(-((math.log(w / (1 - w)) / t) ** 2)) / (t * w * (1 - w)),
        "between 0 and 1",
    ),
    "overflow": (
        law_with("crowd(t, n)", "math.log(math.exp(t) + n - 2)"),
        "weight_cdf(0.6, 1000, 50): your code stopped with OverflowError",
    ),
    "always a half": (lambda w, t, n: 0.5, "is 0.5, the measured"),
    "a hundred keys at most": (
        lambda w, t, n: weight_cdf(w, t, min(n, 100)),
        "the measured chance",
    ),
}
INPUT_KINDS["3.3"] = {
    "weight_cdf": {
        "a weight near 0": lambda w, t, n: w < 0.01,
        "a weight near 1": lambda w, t, n: w > 0.99,
        "one half": lambda w, t, n: w == 0.5,
        "a short query": lambda w, t, n: t < 0.3,
        "exp(t) overflows": lambda w, t, n: t > 710,
        "no other keys": lambda w, t, n: n == 2,
        "many keys": lambda w, t, n: n >= 1000,
        "many keys that outweigh k_b": lambda w, t, n: n >= 400 and math.exp(t) < n,
    },
}

RIGHT["3.4"] = {
    "jumps, the sum": ("B", both(10)),
    "jumps, small letter": (" b ", both(7)),
    "stays, pushed down": ("A", push_down),
    "stays, tied low": ("A", tied_at(0.05)),
    "wanders, tied at a half": ("C", tied_at(0.5)),
    "jumps, tied far below zero": ("B", tied_at(-8)),
    "between two descriptions": ("C", tied_at(2.4)),
    "between two descriptions, the other": ("B", tied_at(2.4)),
}
WRONG["3.4"] = {
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
}
INPUT_KINDS["3.4"] = {
    "robust_query": {
        "several keys": lambda means, a, b: len(means) >= 8,
        "one other key": lambda means, a, b: len(means) == 3,
    },
}

RIGHT["3.5"] = {
    **right("3.5"),
    "formula": (variance, share),
    "two variances": (
        lambda beta, c, d: beta * (c / d**0.5) ** 2 + beta * (c / d**0.5) ** 2,
        share_by_drawing,
    ),
    "a covariance matrix": (
        lambda beta, c, d: np.array([c, -c]) @ (beta * np.eye(2)) @ np.array([c, -c]) / d,
        lambda beta, c, d, w: 2 * normal(-math.log(w / (1 - w)) / variance(beta, c, d) ** 0.5),
    ),
}
WRONG["3.5"] = {
    **wrong("3.5"),
    "no 1/d (003-4)": (variance_with(" / d", ""), "sqrt(d) is missing"),
    "1/sqrt(d)": (variance_with("/ d", "/ d**0.5"), "squared in a variance"),
    "one key": (variance_with("2 * ", ""), "random, not one"),
    "doubled again": (variance_with("2 *", "4 *"), "not doubled again"),
    "beta squared": (variance_with("beta *", "beta**2 *"), "already a variance"),
    "beta rooted": (variance_with("beta *", "beta**0.5 *"), "no root is needed"),
    "the mean square": (variance_with("beta *", "(1 + beta) *"), "drops out"),
    "c not squared": (variance_with("c**2", "c"), "by its square"),
    "deviation": (
        variance_with("2 * beta * c**2 / d", "math.sqrt(2 * beta / d) * c"),
        "that is the standard deviation",
    ),
    "the mean (003-7)": ((lambda beta, c, d: 0.0, share), "mean of the gap"),
    "drawn keys in the query (003-5)": (
        variance_with("2 * beta", "(8 * beta + 4 * beta**2)"),
        "made of the drawn keys",
    ),
    "a guess": ((lambda beta, c, d: 1.0, share), "is 1, the measured variance"),
    "only a": (share_with("math.erfc", "0.5 * math.erfc"), "b does so as often"),
    "the 2 of the normal law forgotten": (
        share_with("2 * variance", "variance"),
        "either both keys are random here, not one, or the 2 beside the variance is missing",
    ),
    "neither": (share_with("return ", "return 1 - "), "neither of the two"),
    "one key in the share": (
        share_with("variance(beta, c, d)", "beta * c**2 / d"),
        "both keys are random here",
    ),
    "no sqrt(d) in the share": (
        share_with("variance(beta, c, d)", "variance(beta, c, 1)"),
        "the scores are not divided",
    ),
    "beta as a deviation": (
        share_with("variance(beta,", "variance(beta**2,"),
        "not a standard deviation",
    ),
    "always": ((variance, lambda beta, c, d, w: 1.0), "the limit of long queries"),
    "never (003-7)": ((variance, lambda beta, c, d, w: 0.0), "is not the mean over draws"),
    "more than all": ((variance, lambda beta, c, d, w: 1.5), "between 0 and 1"),
    "a constant": ((variance, lambda beta, c, d, w: 0.3), "in a simulation it is"),
}
INPUT_KINDS["3.5"] = {
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
}
