"""Answers to 1.1-1.6: right ones of every form we could think of, and the known mistakes."""

import math
from functools import partial

import numpy as np

from attn_utils import attend, softmax
from bank import edited
from bank.chains import right, wrong


def plain(query, keys, scale=1.0):
    scores = scale * keys @ query
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


weights_with = partial(edited, plain)
naive = weights_with(" - scores.max()", "")


def log_sum_exp(query, keys, scale=1.0):
    scores = scale * keys @ query
    top = scores.max()
    return np.exp(scores - top - np.log(np.exp(scores - top).sum()))


def pairwise(query, keys, scale=1.0):
    scores = scale * keys @ query
    with np.errstate(over="ignore"):
        return 1 / np.exp(scores[None, :] - scores[:, None]).sum(1)


def by_hand(query, keys, scale=1.0):
    scores = [scale * float(sum(a * b for a, b in zip(key, query, strict=True))) for key in keys]
    powers = [2.718281828459045 ** (x - max(scores)) for x in scores]
    return [p / sum(powers) for p in powers]


def left_out_below(least, weights):
    kept = np.where(weights < least, 0, weights)
    return kept / kept.sum()


def right_but_noisy(query, keys, scale=1.0):
    np.exp(np.array(1e4))
    return softmax(scale * keys @ query)


def along(t):
    return lambda keys, j: t * keys[j]


def dual(t):
    return lambda keys, j: t * np.linalg.pinv(keys)[:, j]


def perpendicular(keys, j):
    """What is left of key j once the span of the others is taken away."""
    others = np.delete(keys, j, axis=0)
    left = (
        keys[j] - others.T @ np.linalg.lstsq(others.T, keys[j], rcond=None)[0]
        if len(others)
        else keys[j]
    )
    return 20 * left / (left @ left)


def gram(keys, j):
    return keys.T @ np.linalg.solve(keys @ keys.T, 30 * np.eye(len(keys))[j])


def uphill(keys, j):
    """Towards key j and away from what is looked at now, until almost nothing else is."""
    query = np.zeros(keys.shape[1])
    while softmax(keys @ query)[j] < 0.995:
        query += 100 * (keys[j] - softmax(keys @ query) @ keys) / np.linalg.norm(keys) ** 2
    return query


def margin(scores, j):
    return scores[j] - np.delete(scores, j).max(initial=-np.inf)


def others_alone(scores, j):
    """A lead over all others together, by a maximum of which there is none for a single key."""
    rest = np.delete(scores, j)
    best = rest.max()
    return scores[j] - best - np.log(np.exp(rest - best).sum()) > np.log(99)


def scales_in_place(query, keys, scale=1.0):
    keys *= scale
    return softmax(keys @ query)


def bound(rest):
    return lambda gap, n, diameter: diameter * rest(gap, n) / (1 + rest(gap, n))


def sharp(factor=lambda d: np.sqrt(d), inside=lambda n, e: (n - 1) * (1 - e) / e):
    return lambda n, d, epsilon: factor(d) * np.log(inside(n, epsilon))


def halve(excess, low=0.0, high=2000.0):
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def scores_are(test):
    """A kind of input of 1.1, told by the scaled scores."""
    return lambda query, keys, scale=1.0: test(scale * keys @ query)


def weight_in(low, high):
    return lambda scores, j: low < softmax(scores)[j] < high


def num_near(scores, j):
    """How many rivals are within 20 of the best of them."""
    others = np.delete(scores, j)
    return np.count_nonzero(others > others.max() - 20)


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["1.1"] = {
    "log-sum-exp": (log_sum_exp,),
    "one over a sum of ratios": (pairwise,),
    "plain Python lists": (by_hand,),
    "the kernel, a column": (
        lambda q, k, scale=1.0: attend(q[None], k, np.eye(len(k)), scale=scale)[1].T,
    ),
    **right("1.1"),
}
WRONG["1.1"] = {
    "keys scaled in place": (scales_in_place, "changes its argument keys in place"),
    "no exponential": (lambda q, k, scale=1.0: (k @ q) / (k @ q).sum(), "negative"),
    "not normalised": (weights_with(" / powers.sum()", ""), "sum to"),
    "overflow": (naive, "and 10000: an exponential overflowed"),
    "the largest size taken away": (
        weights_with("scores.max()", "np.abs(scores).max()"),
        "for scores between -10000 and",
    ),
    "the mean taken away": (
        weights_with("scores.max()", "scores.mean()"),
        "and 10000: an exponential overflowed, or all of them vanished",
    ),
    "a billionth added": (
        weights_with("scores.max())", "scores.max()) + 1e-9"),
        "a small number is added to every exponential, or the scores are cut off: at scale = 1 two "
        "scaled scores differ by 61.6, but the logarithm of the ratio of their weights is 20",
    ),
    "a hundred-thousandth added": (
        weights_with("scores.max())", "scores.max()) + 1e-5"),
        "differ by 3.2522, but the logarithm of the ratio of their weights is 3.2519",
    ),
    "cut off at fifty": (
        weights_with("scores - scores.max()", "np.maximum(scores - scores.max(), -50)"),
        "or the scores are cut off: at scale = 1 two scaled scores differ by 61.6, but the logarithm of "
        "the ratio of their weights is 50",
    ),
    "small weights left out": (
        lambda q, k, scale=1.0: left_out_below(1e-3, softmax(scale * k @ q)),
        "differ by 8.13, but the smaller one of their weights is 0",
    ),
    "overflow patched": (
        lambda q, k, scale=1.0: np.nan_to_num(naive(q, k, scale)),
        "at scores of size 10000",
    ),
    "a warning": (right_but_noisy, "warns"),
    "scale ignored": (weights_with("scale * ", ""), "ignored"),
    "divided by scale": (weights_with("scale *", "1 / scale *"), "divided by `scale`"),
    "scaled by sqrt(d) as well": (
        weights_with("keys @ query", "keys @ query / np.sqrt(len(query))"),
        "1/sqrt(d)",
    ),
    "sign": (weights_with("scale *", "-scale *"), "smallest score wins"),
    "the first score subtracted": (
        weights_with("scores - scores.max()", "scores - scores[0]"),
        "an exponential overflowed",
    ),
    "the last score subtracted": (
        weights_with("scores - scores.max()", "scores - scores[-1]"),
        "an exponential overflowed",
    ),
    "the scale as a power of the weights": (
        lambda q, k, scale=1.0: left_out_below(0, softmax(k @ q) ** scale),
        "but the smaller one of their weights is 0",
    ),
    "hard maximum": (
        lambda q, k, scale=1.0: np.eye(len(k))[(scale * k @ q).argmax()],
        "hard maximum",
    ),
    "uniform": (lambda q, k, scale=1.0: np.full(len(k), 1 / len(k)), "same weight"),
    "base two": (
        weights_with("np.exp(", "np.exp2("),
        "the logarithm of the ratio of their weights is 2.25",
    ),
    "transposed": (weights_with("keys @", "keys.T @"), "ValueError"),
    "clipped": (
        weights_with("scale * keys @ query", "np.clip(scale * keys @ query, -700, 700)"),
        "but the logarithm of the ratio of their weights is 0",
    ),
    "another default": (weights_with("scale=1.0", "scale=0.5"), "left out"),
    "one number": (lambda q, k, scale=1.0: 1.0, "one number came back"),
    "as many keys as in the first try": (
        lambda q, k, scale=1.0: softmax(scale * (k @ q)[:7]),
        "the result for",
    ),
    **wrong("1.1"),
}
INPUT_KINDS["1.1"] = {
    "attention_weights": {
        "large scores of both signs": scores_are(lambda s: s.min() < -2000 and s.max() > 2000),
        "large negative scores alone": scores_are(lambda s: s.max() < -900),
        "large positive scores alone": scores_are(lambda s: s.min() > 900),
        "large scores that differ by little": scores_are(
            lambda s: abs(s).min() > 900 and 0 < np.ptp(s) < 13
        ),
        "a weight far below rounding, but not zero": scores_are(lambda s: 20 < np.ptp(s) < 200),
        "a tie": scores_are(lambda s: len(s) > 1 and np.ptp(s) < 1e-9),
        "one key": lambda query, keys, *scale: len(keys) == 1,
        "many keys": lambda query, keys, *scale: len(keys) >= 60,
        "more keys than dimensions": lambda query, keys, *scale: len(keys) > len(query),
        "fewer keys than dimensions": lambda query, keys, *scale: len(keys) < len(query),
        "a scale below 1": lambda query, keys, scale=1.0: scale < 1,
        "a scale above 1": lambda query, keys, scale=1.0: scale > 1,
        "no scale": lambda query, keys, *scale: not scale,
    },
}

RIGHT["1.2"] = right("1.2")
WRONG["1.2"] = wrong("1.2")

RIGHT["1.3"] = {
    "softmax above .99": (lambda scores, j: softmax(scores)[j] >= 0.99,),
    "sum of exponentials": (lambda scores, j: np.exp(scores - scores[j]).sum() < 1.05,),
    "zero or one": (lambda scores, j: int(softmax(scores)[j] > 0.9),),
    "a lead over all others together": (
        lambda s, j: s[j] - np.logaddexp.reduce(np.delete(s, j)) > np.log(99),
    ),
    "a threshold of 0.85": (lambda s, j: softmax(s)[j] > 0.85,),
    "the logarithm of the weight": (
        lambda scores, j: scores[j] - np.logaddexp.reduce(scores) > -0.01,
    ),
}
WRONG["1.3"] = {
    "an exponential of a large difference": (
        lambda scores, j: 1 / sum(math.exp(x - scores[j]) for x in scores) > 0.99,
        "copies([0, 1000], 0): your code stopped with OverflowError",
    ),
    "the others' logarithm alone": (
        others_alone,
        "0): your code stopped with ValueError: zero-size array",
    ),
    "no for a single key": (
        lambda s, j: len(s) > 1 and softmax(s)[j] > 0.99,
        "a single key has all of the weight",
    ),
    "too much weight asked": (
        lambda s, j: softmax(s)[j] > 0.9999999,
        "it asks for more weight on key j than a copy needs",
    ),
    "largest score": (lambda s, j: s.argmax() == j, "largest"),
    "ratio (000-1)": (lambda s, j: s[j] > 5 * np.delete(s, j).max() > 0, "ratio"),
    "others opposed (004-1)": (lambda s, j: np.delete(s, j).max() < 0 < s[j], "be negative"),
    "positive and largest (003-1)": (lambda s, j: s[j] == s.max() > 0, "be positive"),
    "margin that ignores n": (lambda s, j: margin(s, j) >= 4.5, "how many rivals"),
    "a margin of 7": (lambda s, j: margin(s, j) > 7, "10,000 others, all of them 0,"),
    "a margin of 10": (
        lambda s, j: margin(s, j) >= 10,
        "the weight on key j is 0.9999, and you said False",
    ),
    "a lead of log n": (
        lambda s, j: margin(s, j) > np.log(len(s)),
        "may weigh only as much as all others together",
    ),
    "a lead of log n and 3": (
        lambda s, j: margin(s, j) > np.log(len(s)) + 3,
        "a lead that grows with log(n), as if",
    ),
    "a lead of log 99 (n - 1)": (
        lambda s, j: margin(s, j) >= np.log(99 * (len(s) - 1)),
        "and only 1 within 20 of it",
    ),
    "a lead of 2 log n": (
        lambda s, j: margin(s, j) > 2 * np.log(len(s)),
        "as if all other keys scored as high as the best of them",
    ),
    "to base two": (
        lambda scores, j: softmax(scores * np.log(2))[j] > 0.99,
        "and 2,000 others, all of them 0, the weight on key j is 0.9999, and you said False",
    ),
    "more than an equal share": (
        lambda s, j: softmax(s)[j] > 1 / len(s),
        "it asks only for more than an equal share of the weight: ",
    ),
    "more than three quarters": (lambda s, j: softmax(s)[j] > 0.75, "and you said True"),
    "scores of 16 bits": (
        lambda s, j: softmax(s.astype(np.float16).astype(float))[j] > 0.99,
        "and you said True",
    ),
    "all but an n-th": (
        lambda s, j: softmax(s)[j] > 1 - 1 / len(s) if len(s) > 1 else True,
        "and you said True",
    ),
    "more than half": (lambda s, j: softmax(s)[j] > 0.5, "more than half of the weight"),
    "exactly one": (
        lambda s, j: softmax(s)[j] == 1,
        "it asks for a weight of exactly 1, which only rounding can give: ",
    ),
    "equal to the largest": (
        lambda s, j: s[j] == max(s),
        "it says yes to every score that no other one exceeds: ",
    ),
    "two margins": (
        lambda s, j: margin(s, j) > (9 if len(s) < 50_000 else 10),
        "and you said True",
    ),
    "ignores j": (lambda s, j: softmax(s)[0] > 0.99, "first score"),
    "overflow": (lambda s, j: naive(np.ones(1), s[:, None])[j] > 0.99, "a large score overflows"),
    "always": (lambda s, j: True, "yes every time"),
    "never": (lambda s, j: False, "no every time"),
    "a weight": (lambda s, j: softmax(s)[j], "True or False"),
    "a word": (lambda s, j: "yes", "the text 'yes', where True or False"),
}
INPUT_KINDS["1.3"] = {
    "copies": {
        "a single key": lambda scores, j: len(scores) == 1,
        "a key so far below that exp overflows": lambda scores, j: scores.max() - scores[j] > 710,
        "two keys": lambda scores, j: len(scores) == 2,
        "ten thousand keys": lambda scores, j: len(scores) > 1e4,
        "a weight above one half that is no copy": weight_in(0.5, 0.8),
        "a lead above log n that is no copy": lambda scores, j: (
            margin(scores, j) > np.log(len(scores)) and softmax(scores)[j] < 0.8
        ),
        "a copy with one near rival among many far ones": lambda scores, j: (
            num_near(scores, j) == 1
            and softmax(scores)[j] > 0.99
            and margin(scores, j) < np.log(len(scores)) + 3
        ),
        "no copy with one near rival among many far ones": lambda scores, j: (
            len(scores) > 30 and num_near(scores, j) == 1 and softmax(scores)[j] < 0.8
        ),
        "a tie for the first place": lambda scores, j: margin(scores, j) == 0,
        "negative scores alone, copied": lambda scores, j: (
            scores.max() < 0 and softmax(scores)[j] > 0.99
        ),
        "large positive scores alone": lambda scores, j: scores.min() > 900,
        "large negative scores alone, copied": lambda scores, j: (
            scores.max() < -900 and 0.99 < softmax(scores)[j] < 1
        ),
        "a weight that is rounded to 1": lambda scores, j: softmax(scores)[j] == 1,
        "a large lead and a weight below 1": lambda scores, j: (
            margin(scores, j) > 20 and softmax(scores)[j] < 1
        ),
        "the first key": lambda scores, j: j == 0,
        "the last key": lambda scores, j: j == len(scores) - 1,
    },
}

RIGHT["1.4"] = {
    "dual basis": (dual(20),),
    "very large": (dual(1e12),),
    "exactly 99%": (lambda keys, j: dual(np.log(99 * max(len(keys) - 1, 1)))(keys, j),),
    "perpendicular part": (perpendicular,),
    "Gram matrix, as a column": (lambda keys, j: gram(keys, j)[:, None],),
    "all scores shifted": (
        lambda keys, j: np.linalg.pinv(keys) @ (15 * np.eye(len(keys))[j] + 3.0),
    ),
    "step by step uphill": (uphill,),
    "a list": (lambda keys, j: list(gram(keys, j)),),
}
WRONG["1.4"] = {
    "along the key, over its squared length": (
        lambda keys, j: 30 * keys[j] / (keys[j] @ keys[j]),
        "the query points along key j, but alignment alone is not enough: key j",
    ),
    "along the key, short (002-2)": (along(0.1), "alone is not enough: key j"),
    "along the key (002-2)": (along(1e3), "alignment alone"),
    "unscaled dual": (dual(1), "0.48 at n = 4, because its score leads by only 1: multiply"),
    "long enough for eight keys": (
        dual(7),
        "at n = 100, because its score leads by only 7: multiply",
    ),
    "nearly long enough for a hundred": (dual(9), "key j is 0.988 at n = 100"),
    "a ridge": (
        lambda keys, j: (
            20
            * keys.T
            @ np.linalg.solve(keys @ keys.T + 1e-3 * np.eye(len(keys)), np.eye(len(keys))[j])
        ),
        "at n = 6, because its score leads by only",
    ),
    "the wrong way": (lambda keys, j: -dual(20)(keys, j), "so the weight on key j"),
    "exactly 99%, whatever n": (
        lambda keys, j: dual(np.log(np.float64(99 * (len(keys) - 1))))(keys, j),
        "an infinity in the query for n = 1, j = 0",
    ),
    "signs, enormous": (
        lambda keys, j: np.sign(keys[j]) * 1.7e308,
        "overflow, and attention would return nan",
    ),
    "zero": (lambda keys, j: 0 * keys[j], "query is zero"),
    "one-hot of n": (lambda keys, j: 50 * np.eye(len(keys))[j], "shape"),
    "infinite": (lambda keys, j: keys[j] * np.inf, "infinity"),
    "key 0 always": (lambda keys, j: dual(20)(keys, 0), "so the weight on key j"),
    "away from the mean key": (
        lambda keys, j: 100 * (keys[j] - keys.mean(0)),
        "so the weight on key j",
    ),
}
INPUT_KINDS["1.4"] = {
    "copy_query": {
        "one key": lambda keys, j: len(keys) == 1,
        "as many keys as dimensions": lambda keys, j: len(keys) == keys.shape[1],
        "fewer keys than dimensions": lambda keys, j: 1 < len(keys) < keys.shape[1],
        "many keys": lambda keys, j: len(keys) >= 100,
        "a key that leans on key j and is longer": lambda keys, j: (
            (keys @ keys[j]).max() > 2 * keys[j] @ keys[j]
        ),
        "a key that points away from key j": lambda keys, j: (
            (keys @ keys[j]).min() < -2 * keys[j] @ keys[j]
        ),
        "short keys": lambda keys, j: np.linalg.norm(keys, axis=1).max() < 0.1,
        "long keys": lambda keys, j: np.linalg.norm(keys, axis=1).min() > 50,
        "keys of very unequal length": lambda keys, j: (
            np.ptp(np.log(np.linalg.norm(keys, axis=1))) > np.log(8)
        ),
    },
}

RIGHT["1.5"] = {
    "through the weight": (lambda gap, n, D: D * (1 - 1 / (1 + (n - 1) * np.exp(-gap))),),
    "multiplied by exp(gap)": (lambda gap, n, D: D * (n - 1) / (np.exp(gap) + n - 1),),
    "by softmax": (lambda gap, n, D: D * softmax(np.r_[gap, [0.0] * (n - 1)])[1:].sum(),),
}
WRONG["1.5"] = {
    "one rival": (bound(lambda gap, n: np.exp(-gap)), "one rival"),
    "not tight": (lambda gap, n, D: (n - 1) * np.exp(-gap) * D, "denominator"),
    "no diameter": (
        lambda gap, n, D: bound(lambda g, n: (n - 1) * np.exp(-g))(gap, n, 1),
        "diameter is missing",
    ),
    "the weight itself": (lambda gap, n, D: D / (1 + (n - 1) * np.exp(-gap)), "the weight on v_j"),
    "n for n - 1": (bound(lambda gap, n: n * np.exp(-gap)), "among its own rivals"),
    "no gap": (lambda gap, n, D: D * (n - 1) / n, "a bound, but not the tight one"),
    "too small": (lambda gap, n, D: D * np.exp(-gap) / n, "too small to be a bound"),
    "values in random directions": (
        lambda gap, n, D: D * np.sqrt(n - 1) / (np.exp(gap) + n - 1),
        "can be as far as 1.373 from v_j, and your 0.4576 is too small to be a bound",
    ),
    "a string": (lambda gap, n, D: "small", "text came back for the bound"),
}
INPUT_KINDS["1.5"] = {
    "copy_error_bound": {
        "no gap": lambda gap, n, diameter: gap == 0,
        "a large gap": lambda gap, n, diameter: gap > 20,
        "one rival": lambda gap, n, diameter: n == 2,
        "many rivals": lambda gap, n, diameter: n >= 100_000,
        "a small diameter": lambda gap, n, diameter: diameter < 1,
        "a large diameter": lambda gap, n, diameter: diameter > 100,
    },
}

RIGHT["1.6"] = {
    "logit": (lambda n, d, e: np.sqrt(d) * (np.log(n - 1) + np.log1p(-e) - np.log(e)),),
    "an array of one": (lambda n, d, e: np.array([sharp()(n, d, e)]),),
    "halving an interval": (
        lambda n, d, e: halve(lambda c: softmax(np.r_[c / d**0.5, np.zeros(n - 1)])[1:].sum() - e),
    ),
    "refuses more orthonormal keys than dimensions": (
        lambda n, d, e: sharp()(n, d, e) if n <= d else 1 / 0,
    ),
}
WRONG["1.6"] = {
    "no sqrt(d) (003-4)": (sharp(lambda d: 1), "not taken into account"),
    "d for sqrt(d)": (sharp(lambda d: d), "divided by sqrt(d)"),
    "one rival": (sharp(inside=lambda n, e: (1 - e) / e), "one rival"),
    "n for n - 1": (sharp(inside=lambda n, e: n * (1 - e) / e), "among its own rivals"),
    "not the smallest": (sharp(inside=lambda n, e: n / e), "larger than it need be: 0.892%"),
    "too small": (
        sharp(inside=lambda n, e: n - 1),
        "is too small: 50% of the weight stays on the other keys, and 1% may",
    ),
    "epsilon for 1 - epsilon": (
        sharp(inside=lambda n, e: (n - 1) / e),
        "and not of the weight on key j: at n = 10, d = 64, epsilon = 0.01",
    ),
    "nan": (lambda n, d, e: np.log(-1.0), "nan"),
}
INPUT_KINDS["1.6"] = {
    "copy_sharpness": {
        "two keys": lambda n, d, epsilon: n == 2,
        "as many keys as dimensions": lambda n, d, epsilon: n == d,
        "many keys": lambda n, d, epsilon: n >= 1000,
        "a tiny epsilon": lambda n, d, epsilon: epsilon < 1e-8,
        "an epsilon above one half": lambda n, d, epsilon: epsilon > 0.5,
        "an epsilon near (n - 1) / n": lambda n, d, epsilon: epsilon > 0.85 * (n - 1) / n,
    },
}
