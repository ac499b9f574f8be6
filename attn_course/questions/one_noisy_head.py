"""Questions 3.1-3.5, one query and noisy keys."""

import math
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotAttempted, NotYet, answers_to, judge_separately, number
from attn_course.answers.mistakes import Trials
from attn_course.questions.average_of_two import judge_averages
from attn_course.questions.random_keys import (
    average_error,
    drawn_rows,
    error_of_average,
    keys_and_pairs,
    keys_with_one_noisy,
    noise_for,
    noisy_keys,
    orthonormal_rows,
    spread_lengths,
    weights_of,
)
from attn_course.register import Claim, Claims, Part, Question, chains_prove
from attn_utils.kernels import softmax

NUM_DRAWS = 4_000
SHARE_DRAWS = 300  # lengths of each of two keys, every pair of which is a draw
ROBUST = 0.04  # L1 error of the weights that noise may leave in 95% of the draws
LETTERS = tuple("ABCDEF")


def query_is_robust(rng: Generator, robust_query: Caller) -> str:
    """3.1: right on the means, which is all it sees, and on keys drawn close around them."""
    worst = 0.0
    judged = judge_averages(rng, robust_query, keys_and_pairs(rng))
    for (means, a, b), query, _ in judged:
        keys = noisy_keys(rng, means, 200, noise_for(query))
        error = np.quantile(average_error(keys, [query], a, b), 0.95)
        if not error <= ROBUST:
            raise NotYet(
                "right on the means, but noise that moves a score by 0.001 "
                f"changes the weights by {error:.2g} in total (n = {len(means)})."
            )
        worst = max(worst, error)

    return (
        f"over {len(judged)} sets of means, "
        f"95% of noisy draws had their weights within {worst:.3f} in total."
    )


@chains_prove("both chains hold, and the log-odds are a straight line in the length of the key.")
def weight_given_length() -> Claims:
    """Return the claims of 3.2: the weight of a key of length ell, and its log-odds."""
    import sympy as sp

    from attn_course.proofs.required_form import straight_line, without

    t = sp.Symbol("t", positive=True)
    ell, s_a, s_b, s_i, w = sp.symbols("ell s_a s_b s_i w", real=True)
    n, i = sp.symbols("n i", integer=True, positive=True)
    others = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
    own = sp.exp(ell * s_a)
    weight = own / (own + sp.exp(s_b) + others)
    rivals = sp.exp(t) + n - 2
    common: dict[str, Any] = {
        "symbols": (t, n, ell, s_a, s_b, s_i, w),
        "where": {s_a: t, s_b: t, s_i: 0, w: weight},
        "only": (t, n, ell),
    }
    no_sum = without("a form without a sum over keys", "Sum", "Product")
    return (
        Claim(
            name="`weight_of_a`",
            start=weight,
            goal=1 / (1 + rivals * sp.exp(-t * ell)),
            forms=(no_sum,),
            slips={
                "n is written for n - 2, and keys a and b are not among the others": (
                    1 / (1 + (rivals + 2) * sp.exp(-t * ell))
                ),
                "n - 1 is written for n - 2: two keys are not among the others": (
                    1 / (1 + (rivals + 1) * sp.exp(-t * ell))
                ),
                "the other keys are left out, but e^0 is 1": 1 / (1 + sp.exp(t - t * ell)),
                "ell is lost": 1 / (1 + rivals * sp.exp(-t)),
                "the score of b is multiplied by ell too, but only k_a changes its length": (
                    1 / (2 + (n - 2) * sp.exp(-t * ell))
                ),
                "a sign in the exponent is turned round": 1 / (1 + rivals * sp.exp(t * ell)),
            },
            **common,
        ),
        Claim(
            name="`log_odds`",
            start=sp.log(w / (1 - w)),
            goal=t * ell - sp.log(rivals),
            forms=(no_sum, straight_line("a straight line in ell", "ell")),
            slips={
                "the sign of the logarithm is turned round": t * ell + sp.log(rivals),
                "the logarithm of a quotient is a difference, not a quotient": t
                * ell
                / sp.log(rivals),
                "the rivals are lost": t * ell,
                "key b is lost among the rivals": t * ell - sp.log(n - 1),
                "the other keys are left out, but e^0 is 1": t * ell - t,
                "n is written for n - 2": t * ell - sp.log(sp.exp(t) + n),
                "n - 1 is written for n - 2": t * ell - sp.log(sp.exp(t) + n - 1),
            },
            **common,
        ),
    )


def cdf_is_exact(rng: Generator, weight_cdf: Caller) -> str:
    """3.3: within 0.005 of the chance found by following the weight as the key grows."""
    settings = [
        (0.1, 5.0, 2),
        (0.9, 5.0, 2),
        (0.4, 1.0, 6),
        (0.3, 2.0, 10),
        (0.05, 10.0, 100),
        (0.7, 0.5, 3),
        (0.2, 20.0, 1000),
        (0.6, 1000.0, 50),
        (0.001, 3.0, 4),
        (0.999, 3.0, 4),
        (0.5, 0.1, 2),
    ]
    settings += drawn_rows(rng, 8, (0.02, 0.98), (0.3, 12.0), (2, 60))
    settings += drawn_rows(rng, 2, (0.1, 0.5), (5.0, 6.5), (400, 1000))  # the others count
    trials = Trials(_chance_mistakes, relative=0, absolute=0.005)
    for (w, t, n), answer in answers_to(rng, weight_cdf, settings, _call):
        call = _call(w, t, n)
        found = number(answer, call)
        right = _chance(w, t, n)
        fact = f"{call} is {found:.4g}, the measured chance {right:.4g}"
        if not 0 <= found <= 1:
            raise NotYet(f"a probability lies between 0 and 1, but {fact}.")
        trials.add(found, right, fact, w, t, n)

    trials.settle()
    return f"right to 0.005 in {len(trials)} settings, t up to 1000 and up to 1000 keys."


def _call(w, t, n):
    return f"weight_cdf({w:.3g}, {t:.4g}, {n})"


def _chance(w, t, n, variance=0.5, mean=1.0):
    """Return how often k_a is shorter than the length at which the weight crosses w."""
    scores = np.zeros(n)
    scores[1] = t
    shortest = -200.0
    longest = 200.0
    for _ in range(40):
        length = (shortest + longest) / 2
        scores[0] = t * length
        if softmax(scores)[0] < w:
            shortest = length
        else:
            longest = length
    return NormalDist(mean, math.sqrt(variance)).cdf(longest)


def _chance_mistakes(w, t, n):
    return {
        "this is the chance of a weight *above* w": 1 - _chance(w, t, n),
        "this is right for a variance of 1, as if k_b were random too; it is one half": _chance(
            w, t, n, variance=1
        ),
        "one half is a variance, not a standard deviation": _chance(w, t, n, variance=0.25),
        "one half is a variance; its root is taken twice": _chance(w, t, n, variance=0.5**0.5),
        "the length has mean 1, not 0": _chance(w, t, n, mean=0.0),
        "the other keys are left out": _chance(w, t, 2),
        "one of the two keys is counted among the others as well": _chance(w, t, n + 1),
        "keys a and b are counted among the others": _chance(w, t, n + 2),
        "this is w itself": w,
    }


SIZES_SEEN = ((8, 12), (5, 7), (3, 4))  # n and d


def behaviour_is_seen(rng: Generator, behaviour: Caller, robust_query: Caller) -> str:
    """3.4: the letter that describes draws made with the student's own query of 3.1."""
    chosen = behaviour.value()
    if isinstance(chosen, str):
        chosen = chosen.strip().upper()
    if not isinstance(chosen, str) or chosen not in LETTERS:
        raise NotYet(f'`behaviour` is {chosen!r}; it should be one of the letters "A" to "F".')

    settings = keys_and_pairs(rng, sizes=SIZES_SEEN, repeats=1)
    (means, a, b), query, _ = _settled(rng, robust_query, settings)[0]
    keys = keys_with_one_noisy(rng, means, a, NUM_DRAWS, noise_for(query))
    weights = weights_of(keys, query)
    shares = _shares(weights, a, b)
    fact = (
        f"over {NUM_DRAWS:,} draws with your own query the output was near v_a in "
        f"{shares['near v_a']:.0%}, near v_b in {shares['near v_b']:.0%}, near the average in "
        f"{shares['average']:.0%}."
    )
    if chosen not in _fitting(shares):
        reasons = _why_not_seen(means, a, b, query, weights)
        raise NotYet(f"{reasons[chosen]}; {fact}")
    return fact


def _settled(rng, robust_query, settings):
    """Return the answer to 3.1, judged once more."""
    try:
        return judge_averages(rng, robust_query, settings)
    except NotAttempted:
        raise NotYet("answer 3.1 first: the behaviour is that of your own query.") from None
    except NotYet as error:
        raise NotYet(
            f"correct 3.1 first, because the behaviour is that of its query: {error}"
        ) from None


def _shares(weights, a, b):
    """Return {a place: the share of the draws in which the output is near it}. weights: (draws, n)."""
    return {
        "near v_a": np.mean(weights[:, a] > 0.9),
        "near v_b": np.mean(weights[:, b] > 0.9),
        "average": np.mean(error_of_average(weights, a, b) < 0.1),
        "middle": np.mean(np.abs(weights[:, a] - 0.5) < 0.1),
    }


def _fitting(shares):
    """Return the descriptions that fit the draws; two of them where the draws lie between two."""
    ends = shares["near v_a"] + shares["near v_b"]
    fits = {
        "A": shares["average"] > 0.85,
        "B": ends > 0.7 * shares["middle"],
        "C": shares["average"] < 0.95 and ends < 1.5 * shares["middle"],
    }
    return [letter for letter, fit in fits.items() if fit]


def _why_not_seen(means, a, b, query, weights):
    """Return {letter: a clause that speaks against it}. means: (n, d); weights: (draws, n)."""

    def weight(length: float) -> float:
        """Return the weight of key a if it had this length."""
        keys = means.copy()
        keys[a] *= length
        return weights_of(keys, query)[a]

    together = weights[:, a] + weights[:, b]
    rest = max(0.0, 1 - together.min())
    return {
        "A": f"a key half as long as its mean gets weight {weight(0.5):.2g}, not one half",
        "B": f"nothing jumps, a key half as long as its mean still gets {weight(0.5):.2g}",
        "C": "the draws are not spread like this",
        "D": f"the values other than v_a and v_b never had more than {rest:.2%} together",
        "E": f"a key of length 2 gets weight {weight(2):.4f}, one of length 4 gets {weight(4):.4f}, "
        "and no weight passes 1",
        "F": "k_a is shorter than its mean in half of the draws",
    }


@chains_prove(
    "both scores follow from the definition; each depends on the length of its own key alone."
)
def two_scores() -> Claims:
    """Return the claims of 3.5: the score of k_a and that of k_b."""
    import sympy as sp

    t, d = sp.symbols("t d", positive=True)
    lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
    g_aa, g_ab, g_bb = sp.symbols("g_aa g_ab g_bb", real=True)
    products = {p_a: t * lambda_a * (g_aa + g_ab), p_b: t * lambda_b * (g_ab + g_bb)}
    return tuple(
        Claim(
            name=f"`score_{key}`",
            start=product / sp.sqrt(d),
            goal=length * t / sp.sqrt(d),
            symbols=(t, d, lambda_a, lambda_b, p_a, p_b, g_aa, g_ab, g_bb),
            where=products | {g_aa: 1, g_ab: 0, g_bb: 1},
            only=(t, d, length),
            slips={
                "the division by sqrt(d) is lost": length * t,
                "the score is divided by d where it should be divided by sqrt(d)": length * t / d,
                "both products are counted as 1, but the means are orthogonal": (
                    2 * length * t / sp.sqrt(d)
                ),
                "the length of the key is lost": t / sp.sqrt(d),
                "the length is squared, but the query is made of the means": (
                    length**2 * t / sp.sqrt(d)
                ),
            },
        )
        for key, product, length in (("a", p_a, lambda_a), ("b", p_b, lambda_b))
    )


def spread_of_output(rng: Generator, noisy_gap_variance: Caller, share_decided: Caller) -> str:
    """3.5: the variance of the gap, and how often one of the two values takes the output over."""
    return judge_separately(
        {
            "noisy_gap_variance": lambda: _judge_variance(rng, noisy_gap_variance),
            "share_decided": lambda: _judge_share(rng, share_decided),
        }
    )


def _judge_share(rng, share_decided):
    """Raise NotYet unless the share of decided draws is within 0.01 of the share in a simulation."""
    settings = [
        (0.25, 80.0, 16, 0.9),
        (0.05, 20.0, 64, 0.6),
        (1.0, 3.0, 4, 0.75),
        (0.01, 40.0, 9, 0.99),
        (0.1, 0.5, 16, 0.95),
        (0.5, 1000.0, 4, 0.9),
        (0.3, 5.0, 8, 0.5),
    ]
    settings += drawn_rows(rng, 6, (0.02, 1.0), (2.0, 60.0), (3, 99), (0.55, 0.99))
    trials = Trials(_share_mistakes, relative=0, absolute=0.01)
    for (beta, c, d, w), answer in answers_to(rng, share_decided, settings):
        call = f"share_decided({beta:.3g}, {c:.3g}, {d}, {w:.3g})"
        found = number(answer, call)
        right = _decided(beta, c, d, w)
        fact = f"{call} is {found:.4g}, in a simulation it is {right:.4g}"
        if not 0 <= found <= 1:
            raise NotYet(f"a share lies between 0 and 1, but {fact}.")
        trials.add(found, right, fact, beta, c, d, w)

    trials.settle()
    return f"the share of decided draws is right in {len(trials)} settings."


@cache
def _differences(random_keys):
    """Return differences of two keys' lengths, in standard deviations: all pairs of evenly spread lengths."""
    lengths = spread_lengths(SHARE_DRAWS, 1, variance=1).ravel()
    others = lengths if random_keys == 2 else np.ones(1)
    return np.subtract.outer(lengths, others).ravel()


def _decided(beta, c, d, w, random_keys=2):
    """Return the share of the draws in which a or b has more than w of the weight of both."""
    gaps = c * math.sqrt(beta / d) * _differences(random_keys)
    larger = 1 / (1 + np.exp(-np.abs(gaps)))  # the softmax of two scores
    return np.mean(larger > w)


def _share_mistakes(beta, c, d, w):
    decided = _decided(beta, c, d, w)
    one_random = _decided(beta, c, d, w, random_keys=1)
    return {
        "that is how often *a* takes over; b does so as often": decided / 2,
        "that is how often neither of the two takes over": 1 - decided,
        "both keys are random here, not one": one_random,
        "the 2 beside the variance is missing: a normal law has erfc(x / sqrt(2 V))": one_random,
        "the scores are not divided by sqrt(d)": _decided(beta, c, 1, w),
        "beta is a variance, not a standard deviation": _decided(beta**2, c, d, w),
        "you say that every draw is decided, which is true only in the limit of long queries": 1.0,
        "you say that no draw is decided, but a single draw is not the mean over draws": 0.0,
    }


def _judge_variance(rng, noisy_gap_variance):
    """Raise NotYet unless the variance of the difference of the two scores is right."""
    settings = [
        (0.3, 80.0, 7),
        (0.5, 3.0, 5),
        (0.05, 20.0, 64),
        (2.0, 1.0, 9),
        (1e-4, 500.0, 3),
    ]
    settings += drawn_rows(rng, 3, (0.01, 2.0), (1.0, 90.0), (3, 99))
    trials = Trials(_variance_mistakes)
    for (beta, c, d), answer in answers_to(rng, noisy_gap_variance, settings):
        call = f"noisy_gap_variance({beta:g}, {c:g}, {d})"
        found = number(answer, call)
        right = _gap_variance(rng, beta, c, d)
        fact = f"{call} is {found:.4g}, the measured variance {right:.4g}"
        trials.add(found, right, fact, beta, c, d, right)

    trials.settle()
    return f"the variance is right in {len(trials)} settings."


def _gap_variance(rng, beta, c, d):
    """Return the variance of the difference of two scores, by four pairs of lengths 1 +- sqrt(beta)."""
    means = orthonormal_rows(rng, 2, d)
    scores = means @ (c * means.sum(0)) / math.sqrt(d)
    lengths = 1 + math.sqrt(beta) * np.array([-1, 1])
    of_a, of_b = np.multiply.outer(scores, lengths)
    return np.subtract.outer(of_a, of_b).var()


def _variance_mistakes(beta, c, d, right):
    return {
        "the division by sqrt(d) is missing": right * d,
        "the root of d is squared in a variance": right * math.sqrt(d),
        "both keys are random, not one": right / 2,
        "both keys are random with variance beta each, their sum is not doubled again": right * 2,
        "beta is already a variance": right * beta,
        "beta is a variance already, so no root is needed": right / math.sqrt(beta),
        "the mean of a length drops out of a variance": right * (1 + beta) / beta,
        "a factor multiplies a variance by its square": right / c,
        "that is the standard deviation": math.sqrt(right),
        "that is the mean of the gap; its variance is asked for": 0.0,
        "that is the variance if the query were made of the drawn keys, which it cannot see": (
            right * (4 + 2 * beta)
        ),
    }


QUESTIONS = (
    Question(
        id="3.1",
        title="A query that sees only the means",
        minutes=10,
        parts=(
            Part("code", ("robust_query",), query_is_robust, points=1),
            Part("written", points=1),
        ),
        covers=("000 c.i", "001 c.i", "002 c.i", "004 c.i"),
        hints=(
            "If there were no noise at all, which question of 02 would this be?",
            "A score is linear in its key. Which variance does a score get from noise of variance nu "
            "in the key?",
            "In words: compare the noise of one score with the lead over the other keys. Then compare the "
            "noise of the gap between a and b with 1.",
        ),
    ),
    Question(
        id="3.2",
        title="The weight, given the length",
        minutes=10,
        parts=(Part("derive", ("weight_of_a", "log_odds"), weight_given_length, points=1),),
        covers=("000 c.ii", "001 c.ii", "002 c.ii"),
        hints=(
            "First put in the scores on the means. Which of them is multiplied by the length of k_a? The "
            "cell has short names for two parts of the denominator, `own` and `rest`.",
            "w / (1 - w) is the weight of a against the weight of everything else together.",
            "The logarithm of a product is a sum; ell should end up outside every function. In SymPy: "
            "`sp.log(x)` is the logarithm, `sp.exp(t * ell)` the exponential.",
        ),
    ),
    Question(
        id="3.3",
        title="The law of the weight",
        minutes=14,
        parts=(Part("code", ("weight_cdf",), cdf_is_exact, points=1),),
        covers=("000 c.ii", "002 c.ii", "004 c.ii"),
        hints=(
            "The weight grows with the length, so 'weight at most w' means 'length at most ...'.",
            "A linear function of a normal variable is normal. Which mean and which variance does it have?",
            "The normal distribution function is (1 + erf(x / sqrt(2))) / 2. Beware of exp(1000).",
        ),
    ),
    Question(
        id="3.4",
        title="What the output does",
        minutes=13,
        parts=(
            Part("code", ("behaviour", "robust_query"), behaviour_is_seen, points=1),
            Part("written", points=1),
        ),
        covers=("000 c.ii", "001 c.ii", "002 c.ii", "004 c.ii"),
        hints=(
            "Take your own query of 3.1. Which score does k_a have when it is half as long?",
            "The score of k_b does not change. How large is the gap between the two scores, compared with 1?",
        ),
    ),
    Question(
        id="3.5",
        title="Every key of random length",
        minutes=22,
        parts=(
            Part("derive", ("score_a", "score_b"), two_scores, points=0.5),
            Part("code", ("noisy_gap_variance", "share_decided"), spread_of_output, points=1),
            Part("written", points=0.5),
        ),
        covers=("003 1.3",),
        hints=(
            "In the derivation: put the key and the query in and multiply out. A product of two means is a "
            "symbol such as `g_ab`: which of these products are left?",
            "In code: the gap is a multiple of a difference of two independent variables.",
            "In code: what does a constant factor do to a variance?",
            "In code: item a has more than w of the weight of both when the gap exceeds a certain logarithm. "
            "Which one?",
            "In words: what is the mean over all draws, where is a single draw, and how often "
            "is it in between?",
        ),
    ),
)
