"""Answers to the worked examples of notebook 00."""

from fractions import Fraction

import numpy as np

from bank.chains import right, wrong


def only_lists(values):
    assert isinstance(values, list)
    return sum(values) / len(values)


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["0.1"] = {
    "numpy": (np.mean,),
    "loop": (lambda values: sum(v / len(values) for v in values),),
    "array of one": (lambda values: np.array([np.mean(values)]),),
    "an empty list thought of": (lambda values: sum(values) / len(values) if values else 0.0,),
    "a list and nothing else": (only_lists,),
    "a fraction": (lambda values: sum(map(Fraction, values)) / len(values),),
}
WRONG["0.1"] = {
    "sum": (sum, "their sum"),
    "median": (np.median, "the median"),
    "first": (lambda values: values[0], "it gave 2.121, and their mean is 1.735"),
    "an array expected": (lambda values: values.mean(), "'list' object has no attribute 'mean'"),
    "whole numbers": (lambda values: sum(values) // len(values), "rounded down"),
    "rounded": (lambda values: round(sum(values) / len(values)), "has been rounded: "),
    "two decimals": (
        lambda values: round(sum(values) / len(values), 2),
        "it gave 1.74, and their mean is 1.735",
    ),
    "cut to whole numbers": (
        lambda values: int(sum(values) / len(values)),
        "rounded down: for [2.12, -0.22, 1.86, 5.1, -0.19] it gave 1, and",
    ),
    "one more": (lambda values: sum(values) / (len(values) + 1), "one more than"),
    "the middle of the range": (lambda values: (min(values) + max(values)) / 2, "the middle"),
    "one less": (lambda values: sum(values) / max(len(values) - 1, 1), "one less than"),
    "each number once": (
        lambda values: sum(set(values)) / len(set(values)),
        "for 8 numbers, the first of them [4, 1, -3, 3, -3] it gave 1, and their mean is 0.875",
    ),
    "the first hundred": (lambda values: np.mean(values[:100]), " numbers, the first of them "),
    "without signs": (lambda values: sum(map(abs, values)) / len(values), "signs are lost"),
}
INPUT_KINDS["0.1"] = {
    "mean": {
        "a list": lambda values: isinstance(values, list),
        "one number": lambda values: len(values) == 1,
        "two numbers": lambda values: len(values) == 2,
        "an odd number of numbers": lambda values: len(values) > 2 and len(values) % 2,
        "many numbers": lambda values: len(values) >= 200,
        "whole numbers": lambda values: all(isinstance(value, int) for value in values),
        "a number that comes twice": lambda values: len(set(values)) < len(values),
        "negative numbers alone": lambda values: max(values) < 0,
        "numbers of both signs": lambda values: min(values) < 0 < max(values),
    },
}

RIGHT["0.2"] = right("0.2")
WRONG["0.2"] = wrong("0.2")
