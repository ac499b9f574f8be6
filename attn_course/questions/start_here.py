"""Questions 0.1-0.3: one worked example of each kind, worth no points."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, answers_to, number
from attn_course.answers.mistakes import AnyOf, Trials, distinct_texts
from attn_course.register import Claim, Claims, Part, Question, chains_prove


def _mean_mistakes(values):
    mean = np.mean(values)
    middle = (min(values) + max(values)) / 2
    total = sum(values)
    n = len(values)
    return {
        "you returned their sum": total,
        "you returned the median": np.median(values),
        "you returned the middle between the smallest and the largest": middle,
        "the mean has been rounded": AnyOf(tuple(float(np.round(mean, k)) for k in range(5))),
        "the mean has been rounded down": AnyOf((np.floor(mean), np.trunc(mean))),
        "the total is divided by one more than the number of values": total / (n + 1),
        "the total is divided by one less than the number of values": (
            total / (n - 1) if n > 1 else None
        ),
        "the signs are lost": np.mean(np.abs(values)),
    }


def mean_of(rng: Generator, mean: Caller) -> str:
    """0.1: any function that returns the mean of a list of numbers."""
    lists = [rng.normal(3, 2, size).tolist() for size in (5, 40, 2, 1)]
    lists.append(rng.normal(-5, 2, 7).tolist())
    whole = rng.integers(-9, 9, 6).tolist()
    lists.append(whole + whole[:2])  # some of them twice
    lists.append(rng.normal(3, 2, rng.integers(200, 400)).tolist())

    trials = Trials(_mean_mistakes)
    for (values,), answer in answers_to(rng, mean, [(values,) for values in lists]):
        found = number(answer, "mean(values)")
        numbers = np.round(values[:5], 2).tolist()
        many = f"{len(values)} numbers, the first of them " if len(values) > 5 else ""
        right = np.mean(values)
        gave, mean_value = distinct_texts(found, right, digits=4)
        fact = f"for {many}{numbers} it gave {gave}, and their mean is {mean_value}"
        trials.add(found, right, fact, values)

    trials.settle()
    return "it agrees on lists of one number to hundreds."


@chains_prove("the chain starts at the sum, every step holds, and it ends in one fraction.")
def one_fraction_holds() -> Claims:
    """Return the claim of 0.2: the sum of two fractions is one fraction."""
    import sympy as sp

    from attn_course.proofs.required_form import in_places

    x = sp.Symbol("x", positive=True)
    start = 1 / (1 + x) + 1 / (1 - x)
    one_fraction = Claim(
        name="the chain",
        start=start,
        goal=start,
        symbols=(x,),
        where={x: (0, 1)},
        forms=(in_places("one fraction with x in one place", 1, "x"),),
        slips={
            "the numerators were multiplied, and over a common denominator they are added": (
                1 / (1 - x**2)
            ),
            "a sign is wrong, (1 + x)(1 - x) is 1 - x**2": 2 / (1 + x**2),
            "numerators and denominators were added, as if 1/a + 1/b were 2/(a + b)": sp.Integer(1),
        },
    )
    return (one_fraction,)


QUESTIONS = (
    Question(
        id="0.1",
        title="A function",
        minutes=3,
        parts=(Part("code", ("mean",), mean_of, points=0),),
        hints=(
            "What do you divide the total by?",
            "`len(values)` is the number of values.",
        ),
    ),
    Question(
        id="0.2",
        title="A derivation",
        minutes=5,
        parts=(Part("derive", ("one_fraction",), one_fraction_holds, points=0),),
        hints=(
            "Bring both fractions to the same denominator first.",
            "The product of the two denominators will do; then multiply it out. A power is written `x**2`, "
            'and a line `(expression, "reason"),` with a comma at its end.',
        ),
    ),
    Question(
        id="0.3",
        title="An answer in words",
        minutes=3,
        parts=(Part("written", points=0),),
        hints=(
            "If the query is twice as long, what happens to every score, and to the difference of "
            "two scores?",
            "The weights depend on these differences only. What do they approach when the differences grow?",
        ),
    ),
)
