"""Questions 0.1-0.3: one worked example of each kind, worth no points."""

from functools import cache

import numpy as np

from attn_course.chain_rules import Task, both, has_common_denominator, in_places
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.reading import number
from attn_course.register import Part, Question
from attn_course.verdict import NotYet


def mean_of(rng, mean):
    """0.1: any function that returns the mean of a list of numbers."""
    for size in (1, 2, 5, 40):
        values = rng.normal(3, 2, size)
        found = number(mean(values), "mean(values)")
        if np.isclose(found, values.mean()):
            continue
        if np.isclose(found, values.sum()):
            raise NotYet(f"for {size} numbers you returned their sum, {found:.3g}.")
        if np.isclose(found, np.median(values)):
            raise NotYet(f"you returned the median, {found:.3g}; the mean is {values.mean():.3g}.")
        raise NotYet(f"mean({np.round(values[:5], 2).tolist()}) gave {found:.4g}.")
    return "it agrees on lists of 1 to 40 numbers."


@cache
def _one_fraction():
    import sympy as sp

    x = sp.Symbol("x", positive=True)
    start = 1 / (1 + x) + 1 / (1 - x)
    no_sum = Task("no sum left", lambda line: line[0] != "Add")
    return Claim(
        name="the chain",
        start=start,
        goal=start,
        to_do=(
            Task("a common denominator", has_common_denominator),
            both("x in one place", in_places("x once", 1, "x"), no_sum),
        ),
        symbols=(x,),
        where={x: (0, 1)},
    )


def sum_of_two(rng, chain):
    """0.2: 1/(1+x) + 1/(1-x) as one fraction."""
    judge_derivation(chain, _one_fraction())
    return "the chain starts at the sum, every step holds, and it ends in one fraction."


QUESTIONS = (
    Question(
        id="0.1",
        title="A function",
        minutes=2,
        parts=(Part("code", 0, ("mean",), mean_of),),
        hints=(
            "What do you divide the total by?",
            "`len(values)` is how many there are.",
        ),
    ),
    Question(
        id="0.2",
        title="A derivation",
        minutes=4,
        parts=(Part("derive", 0, ("one_fraction",), sum_of_two),),
        hints=(
            "Bring both fractions to the same denominator first.",
            "The product of the two denominators will do; then multiply it out.",
        ),
    ),
    Question(id="0.3", title="An answer in words", minutes=2, parts=(Part("written", 0),)),
)
