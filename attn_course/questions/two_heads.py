"""Questions 4.1-4.5, two heads whose outputs are averaged; judges simulate the student's queries."""

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from attn_course.chain_rules import ERRORS, PLAIN, at_most
from attn_course.frames import (
    error_of_average,
    factor_needed,
    frame,
    frames,
    keys_of_random_length,
    noise_for,
    noisy_keys,
    weights_of,
)
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.reading import array, vector
from attn_course.register import Part, Question
from attn_course.verdict import NotYet

LIMIT = 0.02 + 1e-6  # L1 error on the means: at most 1% of the weight is left elsewhere
NEAR = 0.1  # L1 error that counts as "the average" in one draw of the keys
ENOUGH = 0.85  # share of draws that must be near: failures only fall like 1/t
DRAWS = 4000
# The length of k_a in each draw: N(1, 1/2) at evenly spread probabilities, so that the share of good
# draws, and with it the verdict, is the same for every seed.
LENGTHS = np.array([NormalDist(1, 0.5**0.5).inv_cdf((k + 0.5) / DRAWS) for k in range(DRAWS)])


def _pair(queries_of, means, a, b):
    """The two queries (2, d) an answer gives for these means."""
    found, d = queries_of(means, a, b), means.shape[1]
    if found is None:
        array(found, "the answer")
    if not isinstance(found, list | tuple | np.ndarray) or len(found) != 2:
        raise NotYet("two queries are expected, one for each head: return q1, q2.")
    return np.array([vector(query, d, f"q{k}") for k, query in enumerate(found, 1)])


def _heads(keys, pair):
    """The weights of both heads, (2, ..., n)."""
    return np.array([weights_of(keys, query) for query in pair])


def _error(keys, pair, a, b):
    return error_of_average(_heads(keys, pair).mean(0), a, b)


def heads_average(rng, two_head_queries):
    """4.1: on the means themselves the averaged weights are one half on a and b each."""
    worst = max(_judge_on_means(two_head_queries, *setting) for setting in frames(rng))
    return f"over 18 sets of means, at most {worst / 2:.2%} of the weight was left elsewhere."


def _judge_on_means(queries_of, means, a, b):
    pair = _pair(queries_of, means, a, b)
    error = _error(means, pair, a, b)
    if error > LIMIT:
        raise NotYet(_why_not_average(means, pair, a, b))
    return error


def _why_not_average(means, pair, a, b):
    heads, n = _heads(means, pair), len(means)
    factor = factor_needed(lambda f: _error(means, f * pair, a, b), LIMIT)
    left = 1 - heads.mean(0)[[a, b]].sum()
    if factor:
        return (
            f"right directions, but {left:.0%} of the weight is left elsewhere at n = {n}: multiply "
            f"both queries by at least {factor:.2g}."
        )
    on = heads[:, [a, b]]
    fact = " and ".join(
        f"head {k} gives v_a {x:.2f}, v_b {y:.2f}" for k, (x, y) in enumerate(on, 1)
    )
    return f"{_pattern(on)}: {fact} (n = {n})."


def _pattern(on):
    """What is wrong with two heads that give these weights to a and b. on: (2, 2)."""
    total = on.mean(0)
    ties, away = np.abs(on - 0.5).max(1) < 0.05, (on.max(1) < 0.45) & (on.min(1) < 0.02)
    if away.all():
        return "both heads turn away from a and b"
    if away.any():
        return "one head turns away from the value that is missing"
    if total.max() > 0.95:
        return "both heads have the same target, so the other value never enters"
    if ties.any() and on.max() > 0.95:
        return "one head averages and the other copies, which gives three quarters and a quarter"
    if ties.any():
        return "one head averages, but the other one spreads its weight over everything"
    if on.sum(1).min() < 0.95:
        return "one head does its part, but the other spreads its weight over everything"
    return "the two heads do not make up for each other"


def heads_survive(rng, two_head_queries):
    """4.2: near the average in most draws in which only the length of k_a varies (and is positive)."""
    for setting in frames(rng):
        _judge_on_means(two_head_queries, *setting)
    shares = []
    for n, d in ((10, 14), (4, 6)):
        means, (a, b) = frame(rng, n, d), map(int, rng.choice(n, 2, replace=False))
        pair = _pair(two_head_queries, means, a, b)
        keys = noisy_keys(rng, means, DRAWS, noise_for(*pair))
        keys[:, a] += np.outer(LENGTHS - 1, means[a])
        keys = keys[keys[:, a] @ means[a] > 0]
        shares.append(_share_near(keys, pair, a, b))
        if shares[-1] < ENOUGH:
            raise NotYet(_why_not_robust(keys, pair, a, b))
    return (
        f"the output was near the average in {shares[1]:.1%} of the draws with 4 keys and in "
        f"{shares[0]:.1%} with 10."
    )


def _share_near(keys, pair, a, b):
    """In which share of the draws the averaged weights are near one half each."""
    return (_error(keys, pair, a, b) < NEAR).mean()


def _why_not_robust(keys, pair, a, b):
    share, larger = _share_near(keys, pair, a, b), _share_near(keys, 10 * pair, a, b)
    setting = f"with {keys.shape[1]} keys, over {len(keys):,} draws,"
    if larger >= ENOUGH:
        return (
            f"right idea, but {setting} only {share:.0%} were near the average. Failures fall like "
            f"one over the length of the queries: ten times as long gives {larger:.0%}."
        )
    heads = _heads(keys, pair)
    low, high = (heads.mean(0)[:, a] < 0.1).mean(), (heads.mean(0)[:, a] > 0.9).mean()
    if _parallel(*pair):
        return (
            f"both heads got the same query, so both follow the same noise: {setting} the weight on "
            f"v_a was below 0.1 in {low:.0%} and above 0.9 in {high:.0%}."
        )
    spread = heads[:, :, a].std(1)
    k = int(spread.argmax())
    return (
        f"right on the means, but {setting} only {share:.0%} were near the average. Head {k + 1} is "
        f"the restless one: its weight on v_a has standard deviation {spread[k]:.2f}."
    )


def _parallel(first, second):
    """Whether two queries are the same up to their length."""
    return first @ second > (1 - 1e-9) * np.linalg.norm(first) * np.linalg.norm(second)


def scaled_heads_survive(rng, scaled_two_head_queries):
    """4.4: scores divided by sqrt(d), and every key has a random length of variance one quarter.

    The size of the queries is judged on the means alone. Whether the directions survive the noise is
    asked at the student's size and at ten times that, as failures fall with the size.
    """
    for means, a, b in frames(rng):
        _judge_scaled(scaled_two_head_queries, means, a, b)
    shares = []
    for n, d in ((20, 24), (4, 6)):
        means, (a, b) = frame(rng, n, d), map(int, rng.choice(n, 2, replace=False))
        pair = _pair(scaled_two_head_queries, means, a, b) / np.sqrt(d)
        keys = keys_of_random_length(rng, means, slice(None), DRAWS // 2, 0, variance=0.25)
        lengths = np.einsum("mnd,nd->mn", keys, means)
        kept = (lengths[:, [a, b]] > 0).all(1)
        own, larger = (_share_near(keys[kept], f * pair, a, b) for f in (1, 10))
        shares.append((n, own, larger))
        if max(own, larger) < ENOUGH:
            raise NotYet(_why_not_routed(keys[kept], lengths[kept], pair, a, b))
    told = ", ".join(f"{own:.0%} with {n} keys ({larger:.0%})" for n, own, larger in shares)
    return f"near the average in {told} of the draws; in brackets for queries ten times as long."


def _judge_scaled(queries_of, means, a, b):
    pair, root = _pair(queries_of, means, a, b), np.sqrt(means.shape[1])
    if _error(means, pair / root, a, b) <= LIMIT:
        return
    if _error(means, pair, a, b) <= LIMIT:
        left = 1 - _heads(means, pair / root).mean(0)[[a, b]].sum()
        raise NotYet(
            f"right without the division, but the scores are divided by sqrt(d) = {root:.2f} and "
            f"{left:.0%} of the weight is left elsewhere: multiply the queries by sqrt(d)."
        )
    raise NotYet(_why_not_average(means, pair / root, a, b))


def _why_not_routed(keys, lengths, pair, a, b):
    share = _share_near(keys, pair, a, b)
    fact = (
        f"with {keys.shape[1]} keys only {share:.0%} of {len(keys):,} draws were near the average"
    )
    weights = _heads(keys, 10 * pair).mean(0)  # longer queries show what the directions do
    others = np.delete(np.arange(keys.shape[1]), [a, b])
    strayed = weights[:, others].sum(1) > NEAR
    flipped = (lengths[:, others] < 0).any(1)
    if strayed.any() and flipped[strayed].mean() > 0.9:
        return (
            f"{fact}: in {(strayed & flipped).mean():.0%} a key other than a and b had changed its "
            "sign, and a query that pushes such a key down lifts it up then."
        )
    if _parallel(*pair):
        return f"both heads got the same query, a tie that two random lengths break: {fact}."
    return f"{fact}: the weight on v_a had standard deviation {weights[:, a].std():.2f}."


@cache
def _ratio():
    """The claim of 4.5: two variances, each written out by its definition, and their ratio."""
    import sympy as sp

    n = sp.Symbol("n", integer=True, positive=True)
    beta = sp.Symbol("beta", positive=True)
    P = (1 + sp.erf(1 / sp.sqrt(2 * beta))) / 2
    one_head = sp.Rational(1, 4) * 2
    two_heads = sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n / (n - 1)
    return Claim(
        name="`ratio`",
        start=two_heads / one_head,
        goal=two_heads / one_head,
        to_do=(at_most("erf once", 1, "erf", "erfc"),),
        symbols=(n, beta),
        heads=PLAIN | ERRORS,
    )


def variance_falls(rng, ratio):
    """4.5: from two variances, each written out by its definition, to their ratio in n and beta."""
    judge_derivation(ratio, _ratio())
    value = (1 - math.erf(1) ** 2) / 4
    return f"the chain holds; for two values and variance 1/2 the ratio is {value:.4f}."


QUESTIONS = (
    Question(
        id="4.1",
        title="Two queries",
        minutes=6,
        parts=(Part("code", 1, ("two_head_queries",), heads_average),),
        covers=("000 d.i", "001 d.i", "002 d.i", "004 d.i"),
        hints=(
            "The output is an average already. What is the least each head has to do?",
            "Averaging the outputs of two heads averages their weights: which two lists of weights "
            "have the average you want?",
            "More than one pair is right here. The next question is choosier.",
        ),
    ),
    Question(
        id="4.2",
        title="Two queries that survive",
        minutes=8,
        parts=(Part("code", 1, ("two_head_queries",), heads_survive),),
        covers=("000 d.ii", "001 d.ii", "002 d.ii", "004 d.ii"),
        hints=(
            "In which of your heads does the score of k_a matter, and how close is its rival?",
            "A tie is decided by the smallest change of a score. A clear lead is not.",
            "If the idea is right, failures fall only like one over the length of the queries.",
        ),
    ),
    Question(
        id="4.3",
        title="What the output looks like",
        minutes=6,
        parts=(Part("written", 1),),
        covers=("000 d.ii", "001 d.ii", "002 d.ii", "004 d.ii"),
    ),
    Question(
        id="4.4",
        title="Every key of random length",
        minutes=8,
        parts=(Part("code", 1, ("scaled_two_head_queries",), scaled_heads_survive),),
        covers=("003 1.4",),
        hints=(
            "The lengths are not an argument. Which vectors may the queries be made of?",
            "A score is divided by sqrt(d): how long must a query be for the score to stay the same?",
            "Other keys may change their sign. Does any of your scores depend on them?",
        ),
    ),
    Question(
        id="4.5",
        title="How far the variance falls",
        minutes=8,
        parts=(Part("derive", 1, ("ratio",), variance_falls),),
        hints=(
            "P (1 - P)^2 + (1 - P) P^2 has a common factor.",
            "Write P and 1 - P with erf and multiply: a sum times a difference.",
        ),
    ),
)
