"""Answers to the worked examples of notebook 00."""

import numpy as np
import sympy as sp

from attn_course import derive

x = sp.Symbol("x", positive=True)
total = 1 / (1 + x) + 1 / (1 - x)

RIGHT = {
    "0.1": {
        "numpy": (np.mean,),
        "loop": (lambda values: sum(v / len(values) for v in values),),
        "array of one": (lambda values: np.array([np.mean(values)]),),
    },
    "0.2": {
        "three steps": (
            derive(
                (total, "given"),
                (2 / ((1 + x) * (1 - x)), "common denominator"),
                (-2 / (x**2 - 1), "other sign"),
                (2 / (1 - x**2), "back"),
            ),
        ),
        "another form": (
            derive((total, "given"), (2 / ((1 + x) * (1 - x)), "join"), (-2 / (x**2 - 1), "turn")),
        ),
        "ranges declared": (
            derive(
                (total, "given"),
                (2 / ((1 + x) * (1 - x)), "join"),
                (2 / (1 - x**2), "multiply out"),
                where={x: (0, "1/2")},
            ),
        ),
    },
}
WRONG = {
    "0.1": {
        "sum": (sum, "their sum"),
        "median": (np.median, "the median"),
        "first": (lambda values: values[0], "gave"),
    },
    "0.2": {
        "false step": (
            derive((total, "given"), (2 / (2 - x**2), "adding"), (2 / (2 - x**2), "same")),
            "step 1",
        ),
        "wrong start": (
            derive(
                (2 / (1 - x**2), "given"), (-2 / (x**2 - 1), "turned"), (2 / (1 - x**2), "back")
            ),
            "must start",
        ),
        "one step": (
            derive((total, "given"), (2 / (1 - x**2), "done")),
            "show at least one line between",
        ),
        "still a sum": (
            derive(
                (total, "given"),
                (2 / ((1 + x) * (1 - x)), "join"),
                (1 + (1 + x**2) / (1 - x**2), "split"),
            ),
            "one fraction with x in one place is asked for",
        ),
    },
}
