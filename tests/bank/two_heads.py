"""Answers to 4.1-4.5 that must pass in whatever form they come, and mistakes that must not."""

import numpy as np
import sympy as sp

from attn_course import derive
from bank.average_of_two import PAIRS


def one_each(t, s=None):
    """Head 1 copies a, head 2 copies b."""
    return lambda means, a, b: (t * means[a], (s or t) * means[b])


def other_way_round(means, a, b):
    return 40 * means[b], 40 * means[a]


def same_query(t):
    return lambda means, a, b: (t * (means[a] + means[b]),) * 2


def others(means, *but):
    return np.delete(means, but, axis=0).sum(0)


def push_down(means, a, b):
    """Head 1 pushes all but a down, head 2 lifts b."""
    return -30 * others(means, a), 30 * means[b]


def push_down_the_rest_twice(means, a, b):
    """A tie at height zero, where the length of k_a is multiplied by nothing."""
    return (-30 * others(means, a, b),) * 2


def lift_and_push(means, a, b):
    return 30 * (means[a] - 0.5 * others(means, a)), 30 * (means[b] - 0.2 * others(means, a, b))


def shifted(means, a, b):
    """The same weights: a common shift of all scores changes nothing."""
    return 30 * means[a] + 5 * means.sum(0), 30 * means[b] - 7 * means.sum(0)


def split(p, t=30):
    """Head 1 gives a the share p and b the rest, head 2 the other way round."""
    x = np.log(p / (1 - p)) / 2

    def queries(means, a, b):
        both, apart = t * (means[a] + means[b]), x * (means[a] - means[b])
        return both + apart, both - apart

    return queries


def as_columns(means, a, b):
    return [(30 * means[a])[:, None].tolist(), (30 * means[b])[None]]


def as_one_array(means, a, b):
    return 50 * means[[a, b]]


def scaled(queries, factor=1.0):
    """The same queries made longer for the division by sqrt(d)."""

    def longer(means, a, b):
        return tuple(factor * np.sqrt(means.shape[1]) * query for query in queries(means, a, b))

    return longer


n = sp.Symbol("n", integer=True, positive=True)
beta, P = sp.symbols("beta P", positive=True)
e = sp.erf(1 / sp.sqrt(2 * beta))
START = (
    sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n / (n - 1) / (sp.Rational(1, 4) * 2)
)


def chain(*steps):
    return derive((START, "definition"), *((s, "algebra") for s in steps), where={P: (1 + e) / 2})


RIGHT = {
    "4.1": {
        "one head each": (one_each(20),),
        "the other way round": (other_way_round,),
        "unequal lengths": (one_each(12, 300),),
        "equal queries (002-7)": (same_query(10),),
        "equal queries, very long": (same_query(1e15),),
        "shares 0.7 and 0.3": (split(0.7),),
        "push the others down": (push_down,),
        "push the rest down twice": (push_down_the_rest_twice,),
        "common shift": (shifted,),
        "columns and lists": (as_columns,),
        "one array": (as_one_array,),
        "very long": (one_each(1e100),),
    },
    "4.2": {
        "one head each": (one_each(20),),
        "the other way round": (other_way_round,),
        "unequal lengths": (one_each(60, 12),),
        "no longer than it must be": (one_each(10),),
        "push the others down": (push_down,),
        "push the rest down twice": (push_down_the_rest_twice,),
        "lift and push": (lift_and_push,),
        "common shift downwards": (
            lambda means, a, b: (30 * means[a] - 20 * means.sum(0), 30 * means[b]),
        ),
        "one array": (as_one_array,),
        "very long": (one_each(1e15),),
    },
    "4.4": {
        "one head each": (scaled(one_each(30)),),
        "the other way round": (scaled(other_way_round),),
        "long enough on the means": (scaled(one_each(9.3)),),
        "a constant that is large for every d used": (one_each(500),),
        "very long, unequal": (one_each(1e12, 1e6),),
        "lift, and push a little": (
            scaled(lambda m, a, b: (50 * (m[a] - 0.05 * others(m, a)), 50 * m[b])),
        ),
    },
    "4.5": {
        "a difference of squares": (
            chain(n * P * (1 - P) / (2 * (n - 1)), n * (1 - e**2) / (8 * (n - 1))),
        ),
        "a product of probabilities": (
            chain(
                n * (P * (1 - P) * ((1 - P) + P)) / (2 * (n - 1)),
                n * (1 + e) * (1 - e) / (8 * (n - 1)),
                n * (1 - e**2) / (8 * (n - 1)),
            ),
        ),
        "with erfc": (
            chain(
                n * (P - P**2) / (2 * n - 2),
                n * (2 - sp.erfc(1 / sp.sqrt(2 * beta))) * (1 - e) / (8 * n - 8),
                n * (1 - (1 - sp.erfc(1 / sp.sqrt(2 * beta))) ** 2) / (8 * n - 8),
            ),
        ),
    },
}

WRONG = {
    "4.1": {
        "both heads on a": (lambda m, a, b: (20 * m[a], 20 * m[a]), "the same target"),
        "too short": (one_each(1), "multiply both queries by at least"),
        "average and uniform": (
            lambda m, a, b: (20 * (m[a] + m[b]), 0 * m[a]),
            "one head averages, but the other",
        ),
        "one opposite": (
            lambda m, a, b: (20 * m[a], -20 * m[b]),
            "one head gives almost no weight",
        ),
        "average and copy": (
            lambda m, a, b: (20 * (m[a] + m[b]), 20 * m[a]),
            "three quarters and a quarter",
        ),
        "both opposite": (
            lambda m, a, b: (-20 * (m[a] + m[b]),) * 2,
            "both heads give a and b almost no weight",
        ),
        "copy and uniform": (lambda m, a, b: (20 * m[a], 0 * m[b]), "one head does its part"),
        "both uniform": (
            lambda m, a, b: (20 * m.sum(0), 0 * m[b]),
            "both heads give much of their weight to other keys",
        ),
        "shares that do not make up": (
            lambda m, a, b: (split(0.7)(m, a, b)[0], split(0.6)(m, a, b)[0]),
            "do not average to one half each",
        ),
        "a single vector": (lambda m, a, b: 20 * (m[a] + m[b]), "two queries are expected"),
        "a query of the wrong width": (
            lambda m, a, b: (m[a][:-1], m[b]),
            "the shape of q1 is (11,)",
        ),
        "nothing returned": (lambda m, a, b: None, "is a `return` missing"),
    },
    "4.2": {
        "equal queries (002-8)": (same_query(20), "both heads got the same query"),
        "the same direction, one twice as long": (
            lambda m, a, b: (20 * (m[a] + m[b]), 40 * (m[a] + m[b])),
            "same noise: with 10 keys, over 3,685 draws, the weight on v_a was below 0.1 in 41%",
        ),
        "shares 0.9 and 0.1": (split(0.9), "is the restless one"),
        "right but short": (one_each(9.3), "ten times as long gives"),
        "long enough for twenty keys": (one_each(8), "at n = 100, d = 110"),
        "both heads on a": (lambda m, a, b: (20 * m[a],) * 2, "the same target"),
        "still too short for 4.1": (one_each(2), "multiply both queries by at least"),
    },
    "4.4": {
        "division forgotten (003-4, 003-10)": (one_each(10), "do not grow with d"),
        "long enough for twenty keys": (scaled(one_each(8)), "at n = 100, d = 110"),
        "sqrt(d) made up for, short": (scaled(one_each(4)), "too short: 9.75%"),
        "sqrt(d) made up for, nearly long enough": (scaled(one_each(6.6)), "too short: 2.39%"),
        "divided once more": (scaled(one_each(0.5)), "multiply both queries by at least"),
        "same query twice": (scaled(same_query(30)), "a tie that two random lengths break"),
        "pushes the others down": (scaled(push_down), "pushes such a key down"),
        "pushes the rest down twice": (
            scaled(push_down_the_rest_twice),
            "a key other than a and b had changed",
        ),
        "shares 0.9 and 0.1": (scaled(split(0.9)), "the weight on v_a had standard deviation"),
        "both heads on a": (scaled(lambda m, a, b: (20 * m[a],) * 2), "the same target"),
    },
    "4.5": {
        "averaging halves (002-8)": (
            chain(n * P * (1 - P) / (2 * (n - 1)), sp.Rational(1, 2)),
            "step 2 of `ratio` does not follow",
        ),
        "the quarter forgotten": (
            chain(2 * n * P * (1 - P) / (n - 1), n * (1 - e**2) / (2 * (n - 1))),
            "step 1 of `ratio` does not follow",
        ),
        "not simplified": (
            chain(
                n * (P * (1 - P) ** 2 + (1 - P) * P**2) / (2 * n - 2),
                n * (P - 2 * P**2 + P**3 + (1 - P) * P**2) / (2 * n - 2),
            ),
            "still contains P",
        ),
        "starts elsewhere": (
            derive((P * (1 - P), "given"), (P - P**2, "algebra"), ((1 - e**2) / 4, "algebra")),
            "must start at the definition",
        ),
    },
}


REGIMES = {
    "4.1": {"two_head_queries": PAIRS},
    "4.2": {"two_head_queries": PAIRS},
    "4.4": {"scaled_two_head_queries": PAIRS},
}
