"""Answers to 2.1-2.5: right ones of every form we could think of, and the known mistakes."""

import math

import numpy as np

from attn_utils import softmax
from bank.chains import right, wrong


def both(height):
    return lambda keys, a, b: height * (keys[a] + keys[b])


def push_down(keys, a, b, height=12.0):
    return -height * np.delete(keys, [a, b], axis=0).sum(0)


def outside_the_span(keys, a, b):
    """Something orthogonal to every key is added, which no score can see."""
    away = np.arange(keys.shape[1]) * 5.0
    return both(10)(keys, a, b) + away - keys.T @ (keys @ away)


def from_log_weights(keys, a, b):
    wanted = np.full(len(keys), 1e-5)
    wanted[[a, b]] = 0.5
    return np.log(wanted) @ keys


def just_enough(keys, a, b):
    """The smallest height that leaves one per cent."""
    return max(0.0, np.log(49.5 * max(len(keys) - 2, 1))) * (keys[a] + keys[b])


def three_keys(keys, a, b):
    third = next((i for i in range(len(keys)) if i not in (a, b)), a)
    return 20 * (keys[a] + keys[b] + keys[third])


def tied(height, size):
    return softmax(np.array([height, height] + [0.0] * (size - 2)))


def by_cases(height, size):
    small = math.exp(-abs(height))
    if size == 2:
        return 0.5
    return 1 / (2 + (size - 2) * small) if height > 0 else small / (2 * small + size - 2)


def caught(t, n):
    try:
        return math.exp(t) / (2 * math.exp(t) + n - 2)
    except (OverflowError, ZeroDivisionError):
        return 0.5


def overflowing(height, size):
    with np.errstate(all="ignore"):
        return np.exp(height) / (2 * np.exp(height) + size - 2)


def through_tanh(height, size):
    """The two keys against all others is a sigmoid, and a sigmoid is half a tanh."""
    if size == 2:
        return 0.5
    return 0.25 * (1 + math.tanh((height + math.log(2 / (size - 2))) / 2))


def sharp(factor=math.sqrt, inside=lambda n, e: (n - 2) * (1 - e) / (2 * e), plain=lambda d: 1):
    return lambda n, d, epsilon, scaled: (
        (factor(d) if scaled else plain(d)) * math.log(inside(n, epsilon))
    )


def halve(n, d, epsilon, scaled):
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tied(middle, n)[2:].sum() > epsilon else (low, middle)
    return high * (math.sqrt(d) if scaled else 1)


TYING = {  # queries with two keys on top
    "the sum, high": both(10),
    "push the others down": push_down,
    "a common shift": lambda keys, a, b: 10 * (keys[a] + keys[b]) - 37 * keys.sum(0),
    "a part no key sees": outside_the_span,
    "logarithms of the weights": from_log_weights,
    "the smallest height": just_enough,
    "enormous": both(1e15),
}


PAIRS = {  # of keys or means (n, d), and two indices
    "two keys": lambda keys, a, b: len(keys) == 2,
    "three keys": lambda keys, a, b: len(keys) == 3,
    "as many keys as dimensions": lambda keys, a, b: len(keys) == keys.shape[1] > 3,
    "fewer keys than dimensions": lambda keys, a, b: len(keys) < keys.shape[1],
    "many keys": lambda keys, a, b: len(keys) >= 100,
    "a before b": lambda keys, a, b: a < b,
    "b before a": lambda keys, a, b: b < a,
    "the first key": lambda keys, a, b: 0 in (a, b),
    "the last key": lambda keys, a, b: len(keys) - 1 in (a, b),
}


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["2.1"] = {
    "everything but B (002-4)": lambda A, B: np.eye(len(A)) - B @ B.T,
    "pseudo-inverse": lambda A, B: A @ np.linalg.pinv(A),
    "normal equations": lambda A, B: A @ np.linalg.solve(A.T @ A, A.T),
    "sum of outer products": lambda A, B: sum(np.outer(x, x) for x in A.T),
    "oblique projector": lambda A, B: np.c_[A, 0 * B] @ np.linalg.pinv(np.c_[A, B]),
    "something else on the rest": lambda A, B: (
        A @ A.T + np.ones((len(A), len(A))) @ (np.eye(len(A)) - A @ A.T - B @ B.T)
    ),
    "nested lists": lambda A, B: (A @ A.T).tolist(),
}
WRONG["2.1"] = {
    "turned round (002-3)": (lambda A, B: A.T @ A, "turned round"),
    "coordinates only": (lambda A, B: A.T, "coordinates of v_a"),
    "A itself": (lambda A, B: A, "takes 2 coordinates"),
    "identity": (lambda A, B: np.eye(len(A)), "M B equals B"),
    "sum of both": (lambda A, B: A @ A.T + B @ B.T, "so does v_b"),
    "difference": (lambda A, B: A @ A.T - B @ B.T, "M B equals -B"),
    "the other one": (lambda A, B: B @ B.T, "exchanged"),
    "mixed": (
        lambda A, B: A @ np.ones((A.shape[1], B.shape[1])) @ B.T,
        "the result depends on v_b",
    ),
    "twice": (lambda A, B: 2 * A @ A.T, "along A it is 2 times A"),
    "a leak": (lambda A, B: A @ A.T + 0.5 * np.outer(A[:, 0], B[:, 0]), "up to 0.5 long"),
    "zero": (lambda A, B: 0 * A @ A.T, "everything is sent to zero"),
    "one column": (lambda A, B: np.outer(A[:, 0], A[:, 0]), "only the first column comes back"),
    "random": (lambda A, B: np.ones((len(A), len(A))), "differ from A's by"),
    "only when it fills the space": (lambda A, B: np.linalg.inv(np.c_[A, B]), "LinAlgError"),
}
INPUT_KINDS["2.1"] = {
    "projection": {
        "subspaces that fill the space": lambda A, B: A.shape[1] + B.shape[1] == len(A),
        "subspaces that do not": lambda A, B: A.shape[1] + B.shape[1] < len(A),
        "a plane": lambda A, B: len(A) == 2,
        "one column of A": lambda A, B: A.shape[1] == 1,
        "one column of B": lambda A, B: B.shape[1] == 1,
        "more columns of A": lambda A, B: A.shape[1] > B.shape[1],
        "more columns of B": lambda A, B: A.shape[1] < B.shape[1],
    },
}

RIGHT["2.2"] = {
    **TYING,
    "beyond enormous": both(1e100),
    "pushed down, enormous": lambda keys, a, b: push_down(keys, a, b, 1e15),
    "a list": lambda keys, a, b: list(both(10)(keys, a, b)),
    "a column": lambda keys, a, b: both(10)(keys, a, b)[:, None],
    "a row": lambda keys, a, b: both(10)(keys, a, b)[None],
}
WRONG["2.2"] = {
    "no scale (004-2)": (both(1), "52% of the weight is left on other keys at n = 8"),
    "long enough for twenty keys": (both(8), "left on other keys at n = 100, a = "),
    "as long as there are keys": (
        lambda keys, a, b: len(keys) * (keys[a] + keys[b]),
        "margin is too small: 1.001% of the weight is left",
    ),
    "half the sum": (both(0.5), "65% of the weight is left"),
    "only a": (lambda keys, a, b: 20 * keys[a], "only one of the two"),
    "difference": (lambda keys, a, b: 20 * (keys[a] - keys[b]), "pushed down, below"),
    "two to one": (lambda keys, a, b: 20 * (2 * keys[a] + keys[b]), "a gap of 20,"),
    "nearly tied": (lambda keys, a, b: 20 * keys[a] + 20.5 * keys[b], "a gap of -0.5,"),
    "sign": (both(-20), "points away"),
    "all keys": (lambda keys, a, b: 20 * keys.sum(0), "every key scores the same"),
    "elementwise product": (lambda keys, a, b: 99 * keys[a] * keys[b], "comes between"),
    "three keys": (three_keys, "ties with them"),
    "the first key instead of a": (
        lambda keys, a, b: 20 * (keys[0] + keys[b]),
        "ties with one of the two, and the other is not looked at: 50% of the weight",
    ),
    "the average of the scores": (lambda keys, a, b: 10.0, "one number came back"),
    "infinite": (lambda keys, a, b: np.inf * keys[a], "infinity"),
    "weights, not a query": (lambda keys, a, b: np.eye(len(keys))[a] / 2, "expected (12,)"),
}
INPUT_KINDS["2.2"] = {"average_query": PAIRS}

RIGHT["2.3"] = right("2.3")
WRONG["2.3"] = wrong("2.3")

RIGHT["2.4"] = {
    "softmax itself": lambda t, n: tied(t, n)[0],
    "two cases": by_cases,
    "a tanh": through_tanh,
    "an array of one": lambda t, n: np.array([by_cases(t, n)]),
}
WRONG["2.4"] = {
    "zero below -3.5": (
        lambda t, n: 0.0 if t < -3.5 else by_cases(t, n),
        "is 0, the measured weight",
    ),
    "one half above 20": (
        lambda t, n: 0.5 if t > 20 else by_cases(t, n),
        "average_weight(22.5, 100000) is 0.5, the measured weight 0.499996",
    ),
    "the score (003-3)": (lambda t, n: t, "that is the score"),
    "counted twice": (lambda t, n: np.exp(t) / (2 * np.exp(t) + n), "counted twice"),
    "counted once too often": (
        lambda t, n: np.exp(t) / (2 * np.exp(t) + n - 1),
        "one key is counted twice",
    ),
    "the limit": (lambda t, n: 0.5, "only the limit"),
    "one of the two lost": (
        lambda t, n: math.exp(min(t, 700)) / (math.exp(min(t, 700)) + n - 2),
        "one of the two exponentials e^t below is lost: average_weight(1, 10) is 0.2536",
    ),
    "one winner": (lambda t, n: softmax(np.r_[t, np.zeros(n - 1)])[0], "one winner"),
    "another key's": (lambda t, n: 1 / (2 * np.exp(t) + n - 2), "one of the other keys"),
    "both together": (lambda t, n: 2 * tied(t, n)[0], "both keys together"),
    "the leftover": (lambda t, n: 1 - 2 * tied(t, n)[0], "all the others"),
    "below the line (004-3)": (lambda t, n: 1 / (2 * np.exp(t)), "in the denominator, where it"),
    "overflow, silent": (overflowing, "average_weight(1000, 50) is nan"),
    "overflow, loud": (lambda t, n: 1 / (2 + (n - 2) * math.exp(-t)), "OverflowError"),
    "zero over zero": (
        lambda t, n: (
            math.exp(t - max(t, 0)) / (2 * math.exp(t - max(t, 0)) + (n - 2) * math.exp(-max(t, 0)))
        ),
        "average_weight(-1000, 2): your code stopped with ZeroDivisionError",
    ),
    "overflow, warned, and no others": (
        lambda t, n: 1 / (2 + (n - 2) * np.exp(-t)),
        "average_weight(-1000, 2) is nan",
    ),
    "overflow, warned": (
        lambda t, n: 0.5 if n == 2 else 1 / (2 + (n - 2) * np.exp(-t)),
        "it warns",
    ),
    "no thought for two keys": (
        lambda t, n: 0.0 if t < -700 else by_cases(t, n),
        "average_weight(-1000, 2) is 0, the measured weight 0.5",
    ),
    "overflow, caught": (caught, "50) is 0, the measured weight 0.5"),
    "the sign of t": (lambda t, n: tied(-t, n)[0], "sign of t is turned round"),
    "rounded": (lambda t, n: round(tied(t, n)[0], 4), "is 0.2023, the measured weight 0.202305"),
    "a guess": (lambda t, n: 1 / n, "is 0.1, the measured"),
}
INPUT_KINDS["2.4"] = {
    "average_weight": {
        "t = 0": lambda t, n: t == 0,
        "a moderate negative t": lambda t, n: -12 < t < -3.5 and n > 2,
        "a negative t": lambda t, n: -40 < t < 0,
        "exp(t) overflows": lambda t, n: t > 710,
        "exp(-t) overflows": lambda t, n: t < -710,
        "twice exp(t) overflows, and exp(t) does not": lambda t, n: 709.09 < t < 709.78,
        "no other keys": lambda t, n: n == 2,
        "no other keys and a large t": lambda t, n: n == 2 and abs(t) > 710,
        "many keys": lambda t, n: n >= 100_000,
        "many keys, and a weight that is nearly one half": lambda t, n: (
            n >= 100_000 and 20 < t < 25
        ),
    },
}

RIGHT["2.5"] = {
    "logarithms apart": lambda n, d, e, scaled: (
        (math.sqrt(d) if scaled else 1.0) * (math.log(n - 2) - math.log(2) + math.log(1 / e - 1))
    ),
    "halving an interval": halve,
    "a NumPy number": lambda n, d, e, scaled: (
        np.sqrt(d if scaled else 1) * np.log((n - 2) * (1 / e - 1) / 2)
    ),
    "refuses more orthonormal keys than dimensions": lambda n, d, e, scaled: (
        sharp()(n, d, e, scaled) if n <= d else 1 / 0
    ),
}
WRONG["2.5"] = {
    "no sqrt(d) (003-4)": (sharp(factor=lambda d: 1), "not taken into account"),
    "d for sqrt(d)": (sharp(factor=lambda d: d), "divided by sqrt(d)"),
    "always sqrt(d)": (sharp(plain=math.sqrt), "not divided by it"),
    "one winner": (sharp(inside=lambda n, e: (n - 1) * (1 - e) / e), "one key wins alone"),
    "n for n - 2": (sharp(inside=lambda n, e: n * (1 - e) / (2 * e)), "among the others"),
    "n - 1 for n - 2": (sharp(inside=lambda n, e: (n - 1) * (1 - e) / (2 * e)), "one of the two"),
    "a half lost": (sharp(inside=lambda n, e: (n - 2) * (1 - e) / e), "factor of two"),
    "not the smallest": (sharp(inside=lambda n, e: 10 * n / e), "larger than it need be"),
    "too small": (sharp(inside=lambda n, e: n - 1), "too small"),
    "right for a small epsilon alone": (
        sharp(inside=lambda n, e: (n - 2) / (2 * e)),
        "and not of the weight on the two keys: at n = 10, d = 64, epsilon = 0.01, scaled = False your "
        "t = 5.991 is larger than it need be: 0.99% of the weight stays on the other keys, and 1% may",
    ),
    "scaled for not scaled": (
        sharp(factor=lambda d: 1, plain=math.sqrt),
        "`scaled` is read the wrong way round",
    ),
    "infinite": (lambda n, d, e, scaled: math.inf, "t is infinite"),
}
INPUT_KINDS["2.5"] = {
    "average_sharpness": {
        "scaled": lambda n, d, epsilon, scaled: scaled,
        "not scaled": lambda n, d, epsilon, scaled: not scaled,
        "three keys": lambda n, d, epsilon, scaled: n == 3,
        "as many keys as dimensions": lambda n, d, epsilon, scaled: n == d,
        "many keys": lambda n, d, epsilon, scaled: n >= 1000,
        "a tiny epsilon": lambda n, d, epsilon, scaled: epsilon < 1e-5,
        "an epsilon above one half": lambda n, d, epsilon, scaled: epsilon > 0.5,
        "an epsilon near (n - 2) / n": lambda n, d, epsilon, scaled: epsilon > 0.85 * (n - 2) / n,
    },
}
