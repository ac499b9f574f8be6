"""Questions 4.1-4.5, two heads whose outputs are averaged. Judges simulate the student's queries."""

import math

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, answers_to, array, as_pair, vector
from attn_course.answers.mistakes import Trials, round_up, seen
from attn_course.questions.random_keys import (
    LIMIT,
    average_error,
    judge_finite_scores,
    keys_and_pairs,
    keys_of_lengths,
    keys_with_one_noisy,
    lengthening_needed,
    noise_for,
    spread_lengths,
    weights_of,
)
from attn_course.register import Claim, Claims, Part, Question, chains_prove

NEAR = 0.1  # L1 error that counts as "the average" in one draw of the keys
ENOUGH = 0.85  # share of draws that must be near: failures only fall like 1/t
DRAWS = 4000


def heads_average(rng: Generator, two_head_queries: Caller) -> str:
    """4.1: on the means themselves the averaged weights are one half on a and b each."""
    left = _judge_on_means(rng, two_head_queries) / 2
    return f"over 18 sets of means, at most {left:.2%} of the weight was left elsewhere."


def _judge_on_means(rng, queries_of, scaled=False):
    """Return the largest L1 error of an answer on all means; raise NotYet if it exceeds the limit.

    scaled: True if the scores are divided by sqrt(d).
    """
    answers = answers_to(rng, queries_of, keys_and_pairs(rng))
    judged = [(*setting, _pair(answer, setting[0])) for setting, answer in answers]
    lengths = [math.hypot(*pair.flat) for *_, pair in judged]
    constant = scaled and np.ptp(lengths) <= 1e-6 * max(lengths)

    if scaled:
        judged = [(means, a, b, pair / np.sqrt(means.shape[1])) for means, a, b, pair in judged]
    errors = [float(average_error(means, pair, a, b)) for means, a, b, pair in judged]
    if any(not error <= LIMIT for error in errors):
        factor = lengthening_needed([(means, pair, a, b) for means, a, b, pair in judged])
        trials = Trials(_mean_mistakes)
        for row, error in zip(judged, errors, strict=True):
            trials.require(error <= LIMIT, True, _mean_fact, *row, factor, constant)
    return max(errors)


def _pair(answer, means):
    """Return the two queries (2, d) an answer gives for these means (n, d)."""
    if answer is None:
        array(answer, "the answer")
    queries = as_pair(answer, "two queries are expected, one for each head: return q1, q2.")
    pair = []
    for name, query in zip(("q1", "q2"), queries, strict=True):
        query = vector(query, means.shape[1], name)
        judge_finite_scores(means, query, name)
        pair.append(query)
    return np.array(pair)


def _heads(keys, pair):
    """Return the weights of both heads, (2, ..., n)."""
    return np.array([weights_of(keys, query) for query in pair])


@seen
def _mean_mistakes(means, a, b, pair, factor, constant):
    """Return the mistakes of 4.1. factor: by which all queries must be multiplied, None if that is no help.

    constant: True if the queries do not grow with d, though scores are divided by sqrt(d).
    """
    on = _heads(means, pair)[:, [a, b]]  # (head, a or b)
    ties = np.abs(on - 0.5).max(1) < 0.05
    strays = on.sum(1) < 0.95
    away = (on.max(1) < 0.45) & (on.min(1) < 0.02)
    return {
        "right directions, but the scores are divided by sqrt(d), and your queries do not grow "
        "with d": factor is not None and constant,
        "right directions, but too short": factor is not None,
        "both heads give a and b almost no weight": away.all(),
        "one head gives almost no weight to the value that the other head leaves out": away.any(),
        "both heads have the same target, so the other value never enters": on.mean(0).max() > 0.95,
        "one head averages and the other copies, which gives three quarters and a quarter": (
            ties.any() and on.max() > 0.95
        ),
        "one head averages, but the other gives much of its weight to other keys": (
            ties.any() and strays.any()
        ),
        "both heads give much of their weight to other keys": strays.all(),
        "one head does its part, but the other gives much of its weight to other keys": (
            strays.any()
        ),
        "the weights of the two heads do not average to one half each": True,
    }


def _mean_fact(means, a, b, pair, factor, constant):
    """Return a clause on what both heads do, or what to multiply them by. means: (n, d); pair: (2, d)."""
    n, d = means.shape
    first, second = _heads(means, pair)
    if factor:
        left = 100 - 50 * (first[a] + first[b] + second[a] + second[b])
        target = f"n = {n}, d = {d}, a = {a}, b = {b}"
        if left > 1:
            told = f"{round_up(left, 3)}% of the weight is left elsewhere at {target}, where 1% is allowed"
        else:
            told = (
                f"a and b get {(first[a] + second[a]) / 2:.3f} and {(first[b] + second[b]) / 2:.3f} of the "
                f"weight at {target}, where one half each is asked for"
            )
        return f"{told}; multiply both queries by at least {factor:g}"

    return (
        f"head 1 gives v_a {first[a]:.2f}, v_b {first[b]:.2f} "
        f"and head 2 gives v_a {second[a]:.2f}, v_b {second[b]:.2f} (n = {n}, a = {a}, b = {b})"
    )


def heads_survive(rng: Generator, two_head_queries: Caller) -> str:
    """4.2: near the average in most draws in which only the length of k_a varies (and is positive)."""
    _judge_on_means(rng, two_head_queries)
    settings = keys_and_pairs(rng, sizes=((10, 14), (4, 6)), repeats=1)
    shares = []
    for (means, a, b), answer in answers_to(rng, two_head_queries, settings):
        pair = _pair(answer, means)
        keys = keys_with_one_noisy(rng, means, a, DRAWS, noise_for(*pair))
        keys = keys[keys[:, a] @ means[a] > 0]
        share = _share_near(keys, pair, a, b)
        if not share >= ENOUGH:
            raise NotYet(_why_not_robust(keys, pair, a, b))
        shares.append(share)

    many, few = shares
    return (
        f"the output was near the average in {few:.1%} of the draws with 4 keys "
        f"and in {many:.1%} with 10."
    )


def _share_near(keys, pair, a, b):
    """Return the share of the draws in which the averaged weights are near one half each."""
    return np.mean(average_error(keys, pair, a, b) < NEAR)


def _why_not_robust(keys, pair, a, b):
    """Return a sentence on why the output is not the average. keys: (draws, n, d); pair: (2, d)."""
    share = _share_near(keys, pair, a, b)
    larger = _share_near(keys, 10 * pair, a, b)
    setting = f"with {keys.shape[1]} keys, over {len(keys):,} draws,"
    if larger >= ENOUGH:
        return (
            f"right idea, but {setting} only {share:.0%} were near the average. Failures fall like "
            f"one over the length of the queries: ten times as long gives {larger:.0%}."
        )

    on_a = _heads(keys, pair)[:, :, a]  # (head, draws)
    if _parallel(*pair):
        averaged = on_a.mean(0)
        low = np.mean(averaged < 0.1)
        high = np.mean(averaged > 0.9)
        return (
            f"both heads got {_which_query(*pair)}, so both follow the same noise: {setting} the weight on "
            f"v_a was below 0.1 in {low:.0%} and above 0.9 in {high:.0%}."
        )

    spread = on_a.std(1)
    return (
        f"right on the means, but {setting} only {share:.0%} were near the average. Head "
        f"{spread.argmax() + 1} is the restless one: its weight on v_a has standard deviation "
        f"{spread.max():.2f}."
    )


def _parallel(first, second):
    """Return True if two queries have the same direction."""
    one = first / np.linalg.norm(first)
    other = second / np.linalg.norm(second)
    return one @ other > 1 - 1e-9


def _which_query(first, second):
    """Return the words for two parallel queries, which may differ in length."""
    is_same = np.allclose(first, second, rtol=1e-6)
    return "the same query" if is_same else "queries of one direction"


def scaled_heads_survive(rng: Generator, scaled_two_head_queries: Caller) -> str:
    """4.4: scores divided by sqrt(d), and every key has a random length of variance one quarter.

    The size of the queries is judged on the means alone. Whether the directions survive the noise is
    asked at the student's size and at ten times that, as failures fall with the size.
    """
    _judge_on_means(rng, scaled_two_head_queries, scaled=True)
    settings = keys_and_pairs(rng, sizes=((20, 24), (4, 6)), repeats=1)
    told = []
    for (means, a, b), answer in answers_to(rng, scaled_two_head_queries, settings):
        n, d = means.shape
        pair = _pair(answer, means) / np.sqrt(d)
        lengths = spread_lengths(DRAWS // 2, n, variance=0.25)
        lengths = lengths[lengths[:, [a, b]].min(1) > 0]
        keys = keys_of_lengths(rng, means, lengths, noise=0)
        own = _share_near(keys, pair, a, b)
        larger = _share_near(keys, 10 * pair, a, b)
        if not max(own, larger) >= ENOUGH:
            raise NotYet(_why_not_routed(keys, lengths, pair, a, b))
        told.append(f"{own:.0%} with {n} keys ({larger:.0%})")

    return (
        f"near the average in {', '.join(told)} of the draws; in brackets for queries ten times as "
        "long."
    )


def _why_not_routed(keys, lengths, pair, a, b):
    """Return a clause on draws that fail. keys: (draws, n, d); lengths: (draws, n); pair: (2, d)."""
    num_draws, n, _ = keys.shape
    share = _share_near(keys, pair, a, b)
    fact = f"with {n} keys only {share:.0%} of {num_draws:,} draws were near the average"

    weights = _heads(keys, 10 * pair).mean(0)  # longer queries show what the directions do
    strayed = np.delete(weights, [a, b], axis=1).sum(1) > NEAR
    flipped = np.delete(lengths, [a, b], axis=1).min(1) < 0
    both = np.mean(strayed & flipped)
    if both > 0.9 * strayed.mean() > 0:
        return (
            f"{fact}: in {both:.0%} a key other than a and b had changed its sign, "
            "and a query that pushes such a key down then gives it a high score."
        )
    if _parallel(*pair):
        return f"both heads got {_which_query(*pair)}, a tie that two random lengths break: {fact}."
    return f"{fact}: the weight on v_a had standard deviation {weights[:, a].std():.2f}."


@chains_prove(
    "the chain holds; for two values and variance 1/2 the ratio is "
    f"{(1 - math.erf(1) ** 2) / 4:.4f}."
)
def variance_falls() -> Claims:
    """Return the claim of 4.5: two variances, each written out by its definition, and their ratio."""
    import sympy as sp

    from attn_course.proofs.required_form import occurs_at_most

    n = sp.Symbol("n", integer=True, positive=True)
    beta, P = sp.symbols("beta P", positive=True)
    one_head = sp.Rational(1, 4) * 2
    coin = P * (1 - P) ** 2 + (1 - P) * P**2
    two_heads = sp.Rational(1, 4) * coin * n / (n - 1)
    ratio = Claim(
        name="`ratio`",
        start=two_heads / one_head,
        goal=two_heads / one_head,
        symbols=(n, beta, P),
        where={P: (1 + sp.erf(1 / sp.sqrt(2 * beta))) / 2},
        only=(n, beta),
        forms=(occurs_at_most("a form in which erf occurs once", 1, "erf", "erfc"),),
        slips={
            "P (1 - P) is a quarter of 1 - erf**2, and the quarter is lost": 4
            * two_heads
            / one_head,
            "a factor 2 is too much": 2 * two_heads / one_head,
            "a factor 2 is lost": two_heads / one_head / 2,
            "n and n - 1 are exchanged": two_heads / one_head * (n - 1) ** 2 / n**2,
            "a sign is wrong, (1 + e)(1 - e) is 1 - e**2": (
                n / (8 * (n - 1)) * (1 + sp.erf(1 / sp.sqrt(2 * beta)) ** 2)
            ),
            "the other variance is above: two heads are divided by one head": one_head / two_heads,
        },
    )
    return (ratio,)


QUESTIONS = (
    Question(
        id="4.1",
        title="Two queries",
        minutes=8,
        parts=(Part("code", ("two_head_queries",), heads_average, points=1),),
        covers=("000 d.i", "001 d.i", "002 d.i", "004 d.i"),
        hints=(
            "The output is already an average of two heads. What is the simplest thing that each "
            "head can return?",
            "Averaging the outputs of two heads averages their weights: which two lists of weights "
            "have the average you want?",
            "More than one pair is right here. The next question accepts fewer of them.",
        ),
    ),
    Question(
        id="4.2",
        title="Two queries that survive",
        minutes=9,
        parts=(Part("code", ("two_head_queries",), heads_survive, points=1),),
        covers=("000 d.ii", "001 d.ii", "002 d.ii", "004 d.ii"),
        hints=(
            "In which of your heads does the score of k_a matter, and how close to it is the next score?",
            "A small change of a score breaks a tie, but it does not matter if one key has a clear lead.",
            "If the design is right, the share of failures falls like one over the length of the queries.",
        ),
    ),
    Question(
        id="4.3",
        title="What the output looks like",
        minutes=9,
        parts=(Part("written", points=1),),
        covers=("000 d.ii", "001 d.ii", "002 d.ii", "004 d.ii"),
        hints=(
            "Consider one head at a time: which of the two depends on the length of $k_a$?",
            "What does that head do when the length is near 1, when it is near 0, and when it is below 0?",
        ),
    ),
    Question(
        id="4.4",
        title="Every key of random length",
        minutes=11,
        parts=(Part("code", ("scaled_two_head_queries",), scaled_heads_survive, points=1),),
        covers=("003 1.4",),
        hints=(
            "The function is not given the lengths. From which vectors can the queries be built?",
            "A score is divided by sqrt(d): how long must a query be for the score to stay the same?",
            "Other keys may change their sign. Does any of your scores depend on them?",
        ),
    ),
    Question(
        id="4.5",
        title="How far the variance falls",
        minutes=10,
        parts=(Part("derive", ("ratio",), variance_falls, points=1),),
        hints=(
            "P (1 - P)^2 + (1 - P) P^2 has a common factor. `P` may stand in your lines, but not in "
            "the last one.",
            "Write P and 1 - P with erf, `sp.erf(...)`, and multiply: a sum times a difference.",
        ),
    ),
)
