"""Judges of 13.3, an induction head as a table of pairs that is counted in the context."""

import math
from functools import cache

from numpy.random import Generator

from attn_course.answers import Caller, asked, number
from attn_course.answers.mistakes import Trials
from attn_course.register import Claim, Claims, chains_prove

# The chain


@cache
def claims_of_13_3() -> Claims:
    """The claim of 13.3: B's share, where alpha is the weight on all matches."""
    import sympy as sp

    s = sp.Symbol("s", real=True)
    n_0, n_1, f_0, f_1 = sp.symbols("n_0 n_1 f_0 f_1", positive=True)
    alpha = sp.Symbol("alpha", positive=True)
    share = Claim(
        name="`share`",
        start=(f_1 * sp.exp(s) + f_0) / (n_1 * sp.exp(s) + n_0),
        goal=alpha * f_1 / n_1 + (1 - alpha) * f_0 / n_0,
        symbols=(s, n_0, n_1, f_0, f_1, alpha),
        where={s: sp.log(alpha * n_0 / (n_1 * (1 - alpha))), alpha: (0, 1)},
        only=(n_0, n_1, f_0, f_1, alpha),
    )
    return (share,)


share_is_a_mixture = chains_prove(
    claims_of_13_3,
    "the share of B is a mixture of its share of the matches and its share of the other keys.",
)


# The code

FIRST = (1000, 4, 0.01)
SETTINGS = ((11, 1, 0.01), (1000, 1, 0.01), (51, 7, 1e-6), (10**9, 3, 1e-9), (12, 2, 0.3))


def sharpness_is_smallest(rng: Generator, sharpness: Caller) -> str:
    """13.3: the smallest score that leaves epsilon to the keys that do not match."""
    trials = Trials(_wrong_scores)
    n = int(rng.integers(20, 400))
    drawn = (n, int(rng.integers(2, n // 3)), float(rng.uniform(0.001, 0.1)))
    for setting, answer in asked(rng, sharpness, [FIRST, *SETTINGS, drawn]):
        call = f"sharpness({', '.join(f'{value:g}' for value in setting)})"
        found = number(answer, call)
        left = _left_over(found, *setting)
        fact = f"{call} leaves {left:.3g} of the weight to the other keys, and {setting[2]:g} is asked for"
        trials.add(found, _right_score(*setting), fact, *setting)

    trials.settle()
    return f"right in {len(trials)} settings; it grows with the logarithm of the number of keys."


def _right_score(n, num_matches, epsilon):
    return math.log((n - num_matches) / num_matches) + math.log((1 - epsilon) / epsilon)


def _left_over(score, n, num_matches, epsilon):
    """The weight on keys that do not match, where each match has this score and all others 0."""
    others = n - num_matches
    return 1 / (1 + num_matches / others * math.exp(min(score, 700)))


def _wrong_scores(n, num_matches, epsilon):
    """{sentence: the score that this mistake gives}."""
    right = _right_score(n, num_matches, epsilon)
    odds = math.log((1 - epsilon) / epsilon)
    others = n - num_matches
    return {
        "that is the score for a single match": math.log(n - 1) + odds,
        "the number of matches is left out: several matches share the weight": (
            math.log(others) + odds
        ),
        "there are n - num_matches other keys, not n": math.log(n / num_matches) + odds,
        "that leaves epsilon to the matches; they should keep 1 - epsilon": (
            math.log(others / num_matches) - odds
        ),
        "several matches need a smaller score, not a larger one": math.log(others * num_matches)
        + odds,
        "that is a logarithm to base 2; exp belongs to the natural one": right / math.log(2),
        "that is a logarithm to base 10; exp belongs to the natural one": right / math.log(10),
        "nearly: the matches keep 1 - epsilon of the weight, not 1": (
            math.log(others / num_matches) - math.log(epsilon)
        ),
        "the sign is turned round": -right,
        "that is the ratio of the weights; the score is its logarithm": math.exp(right),
        "there is no root of d here: scores are given as they are": right * math.sqrt(n),
    }
