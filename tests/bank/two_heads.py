"""Answers to 4.1-4.5 that must pass in whatever form they come, and mistakes that must not."""

import itertools

import numpy as np

from bank.average_of_two import PAIRS
from bank.chains import right, wrong


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


def split(p, t=30):
    """Head 1 gives a the share p and b the rest, head 2 the other way round."""
    x = np.log(p / (1 - p)) / 2

    def queries(means, a, b):
        both, apart = t * (means[a] + means[b]), x * (means[a] - means[b])
        return both + apart, both - apart

    return queries


def as_one_array(means, a, b):
    return 50 * means[[a, b]]


_sizes = itertools.count(500)


def random_queries(means, a, b):
    """Right at every call, but never the same."""
    size = next(_sizes)
    return size * means[a], size * means[b]


def scaled(queries, factor=1.0):
    """The same queries made longer for the division by sqrt(d)."""

    def longer(means, a, b):
        return tuple(factor * np.sqrt(means.shape[1]) * query for query in queries(means, a, b))

    return longer


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["4.1"] = {
    "one head each": (one_each(20),),
    "the other way round": (other_way_round,),
    "the values of a dictionary": (lambda m, a, b: {"q1": 20 * m[a], "q2": 20 * m[b]}.values(),),
    "unequal lengths": (one_each(12, 300),),
    "equal queries (002-7)": (same_query(10),),
    "equal queries, very long": (same_query(1e15),),
    "shares 0.7 and 0.3": (split(0.7),),
    "push the others down": (push_down,),
    "push the rest down twice": (push_down_the_rest_twice,),
    "common shift": (
        lambda means, a, b: (
            30 * means[a] + 5 * means.sum(0),
            30 * means[b] - 7 * means.sum(0),
        ),
    ),
    "columns and lists": (
        lambda means, a, b: [(30 * means[a])[:, None].tolist(), (30 * means[b])[None]],
    ),
    "one array": (as_one_array,),
    "very long": (one_each(1e100),),
}
WRONG["4.1"] = {
    "both heads on a": (lambda m, a, b: (20 * m[a], 20 * m[a]), "the same target"),
    "too short": (one_each(1), "multiply both queries by at least"),
    "average and uniform": (
        lambda m, a, b: (20 * (m[a] + m[b]), 0 * m[a]),
        "one head averages, but the other",
    ),
    "one opposite": (lambda m, a, b: (20 * m[a], -20 * m[b]), "one head gives almost no weight"),
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
    "a query of the wrong width": (lambda m, a, b: (m[a][:-1], m[b]), "the shape of q1 is (11,)"),
    "nothing returned": (lambda m, a, b: None, "is a `return` missing"),
}
INPUT_KINDS["4.1"] = {"two_head_queries": PAIRS}

RIGHT["4.2"] = {
    "one head each": (one_each(20),),
    "the other way round": (other_way_round,),
    "unequal lengths": (one_each(60, 12),),
    "no longer than it must be": (one_each(10),),
    "push the others down": (push_down,),
    "push the rest down twice": (push_down_the_rest_twice,),
    "lift and push": (
        lambda means, a, b: (
            30 * (means[a] - 0.5 * others(means, a)),
            30 * (means[b] - 0.2 * others(means, a, b)),
        ),
    ),
    "common shift downwards": (
        lambda means, a, b: (30 * means[a] - 20 * means.sum(0), 30 * means[b]),
    ),
    "one array": (as_one_array,),
    "very long": (one_each(1e15),),
}
WRONG["4.2"] = {
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
}
INPUT_KINDS["4.2"] = {"two_head_queries": PAIRS}

RIGHT["4.4"] = {
    "one head each": (scaled(one_each(30)),),
    "the other way round": (scaled(other_way_round),),
    "long enough on the means": (scaled(one_each(9.3)),),
    "a constant that is large for every d used": (one_each(500),),
    "very long, unequal": (one_each(1e12, 1e6),),
    "lift, and push a little": (
        scaled(lambda m, a, b: (50 * (m[a] - 0.05 * others(m, a)), 50 * m[b])),
    ),
}
WRONG["4.4"] = {
    "random lengths": (random_queries, "must not be random"),
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
}
INPUT_KINDS["4.4"] = {"scaled_two_head_queries": PAIRS}

RIGHT["4.5"] = right("4.5")
WRONG["4.5"] = wrong("4.5")
