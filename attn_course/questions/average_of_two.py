"""Questions 2.1-2.5, when attention averages two values."""

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import (
    Caller,
    NotYet,
    answers_to,
    array,
    largest_gap,
    matrix,
    number,
    vector,
)
from attn_course.answers.mistakes import Seen, Trials, distinct_texts, same, seen
from attn_course.questions.random_keys import (
    LIMIT,
    average_error,
    drawn_rows,
    judge_finite_scores,
    keys_and_pairs,
    leftover,
    lengthening_needed,
    orthonormal_rows,
    stays_elsewhere,
    unseen_settings,
    weights_of,
)
from attn_course.register import Claim, Claims, Part, Question, chains_prove
from attn_utils.kernels import softmax


def projection_separates(rng: Generator, projection: Caller) -> str:
    """2.1: M A = A and M B = 0, where the two subspaces fill the space and where they do not."""
    settings = []
    for d, m, p in ((5, 2, 2), (6, 1, 4), (6, 2, 4), (8, 3, 2), (2, 1, 1), (9, 6, 1)):
        columns = orthonormal_rows(rng, m + p, d).T
        settings.append((columns[:, :m], columns[:, m:]))

    trials = Trials(_projection_mistakes, absolute=1e-6)
    for (A, B), answer in answers_to(rng, projection, settings):
        M = _read_projection(answer, A)
        with np.errstate(over="ignore", invalid="ignore"):
            onto_a = M @ A
            onto_b = M @ B
        trials.require((onto_a, onto_b), (A, 0 * B), _projection_fact, A, B, onto_a, onto_b)

    return f"v_a comes back and v_b vanishes, to better than 1e-6, in {len(trials)} pairs of subspaces."


def _read_projection(answer, A):
    """Return the matrix (d, d); name the mistake behind other shapes that A suggests."""
    d, m = A.shape
    mistakes = {
        (m, m): f"it must act on vectors of length {d}: the product is turned round",
        (m, d): "it returns the coordinates of v_a along the columns of A, not v_a itself; one "
        "product more is needed",
        (d, m): f"it takes {m} coordinates to a vector, but it is given a vector of length {d}",
    }
    found = array(answer, "the matrix")
    if found.shape in mistakes:
        raise NotYet(f"{mistakes[found.shape]} (shape {found.shape}, expected {(d, d)}).")
    return matrix(found, (d, d), "the matrix")


def _projection_mistakes(A, B, onto_a, onto_b):
    """Return the table of mistakes of 2.1. A, B: the columns; onto_a, onto_b: what M made of them."""
    near = partial(same, absolute=1e-6)
    first = np.outer(A[:, 0], A[:, 0])
    factor = np.vdot(A, onto_a) / np.vdot(A, A)
    return {
        "v_a comes back, but so does v_b: M B equals B where it must be zero": (A, B),
        "v_a comes back, but v_b comes back with its sign turned: M B equals -B": (A, -B),
        "this keeps v_b and removes v_a: the roles of A and B are exchanged": (0 * A, B),
        "everything is sent to zero, v_a as well as v_b": (0 * A, 0 * B),
        "v_b vanishes, but of span(A) only the first column comes back": (first @ A, 0 * B),
        "v_a comes back, but v_b does not vanish": Seen(near(onto_a, A)),
        "v_a is sent to zero, and the result depends on v_b": Seen(near(onto_a, 0 * A)),
        "right subspace, wrong size": Seen(near((onto_a, onto_b), (factor * A, 0 * B))),
    }


def _projection_fact(A, B, onto_a, onto_b):
    """Return a clause on the errors of M A and M B. A, onto_a: (d, m); B, onto_b: (d, p)."""
    factor = (np.vdot(A, onto_a) / np.vdot(A, A)).round(9) + 0.0  # no -0
    off = largest_gap(onto_a, A)
    lengths = np.linalg.norm(onto_b, axis=0).round(9)
    return (
        f"entries of M A differ from A's by up to {off:.2g} (along A it is {factor:.3g} times A), "
        f"and the columns of M B, which should be zero, are up to {lengths.max():.2g} long"
    )


def query_averages(rng: Generator, average_query: Caller) -> str:
    """2.2: decided on the weights, which is the worst case over all values of length one."""
    judged = judge_averages(rng, average_query, keys_and_pairs(rng))
    left = max(error for _, _, error in judged) / 2
    return f"over {len(judged)} sets of keys, at most {left:.2%} of the weight was left elsewhere."


def judge_averages(
    rng: Generator, query_of: Caller, settings: Iterable[tuple]
) -> list[tuple[tuple, np.ndarray, float]]:
    """Return [(setting, query, L1 error of its weights)] of an answer that is right on every (keys, a, b)."""
    judged = []
    for setting, answer in answers_to(rng, query_of, settings):
        keys, a, b = setting
        n, d = keys.shape
        query = vector(answer, d, f"the query for n = {n} keys")
        judge_finite_scores(keys, query)
        judged.append((setting, query, float(average_error(keys, [query], a, b))))

    if any(not error <= LIMIT for *_, error in judged):
        factor = lengthening_needed(
            [(keys, query[None], a, b) for (keys, a, b), query, _ in judged]
        )
        trials = Trials(_average_mistakes)
        for setting, query, error in judged:
            trials.require(error <= LIMIT, True, _average_fact, *setting, query, factor)
    return judged


@seen
def _average_mistakes(keys, a, b, query, factor):
    """Return the mistakes of 2.2. keys: (n, d); factor: by which all queries must be multiplied, or None."""
    pair = [a, b]
    weights = weights_of(keys, query)
    one_wins = weights[pair].max() > 0.5
    scores = _scores(keys, query)
    top = scores[pair].max()
    bottom = scores[pair].min()
    others = np.delete(scores, pair)
    high = others.max(initial=-np.inf)
    low = others.min(initial=np.inf)
    usual = np.median(others) if others.size else np.inf
    ignored = abs(bottom - usual) < 1e-6
    below_all = top < low - 1e-9
    return {
        "every key scores the same": np.ptp(weights) < 1e-9,
        "right direction, but the margin is too small": factor is not None,
        "the query points away from both keys": below_all and not one_wins,
        "only one of the two keys is looked at": ignored and one_wins,
        "one of the two keys is pushed down, below all the others": bottom < low and one_wins,
        "other keys score higher than both of them": high > top + 1e-6,
        "a third key ties with them": abs(high - bottom) < 1e-6,
        "a third key ties with one of the two, and the other is not looked at": abs(high - top)
        < 1e-6,
        "a third key comes between": high > bottom,
        "the two are not tied": abs(top - bottom) > 1e-9,
    }


def _scores(keys, query):
    """Return the scores, (n,), without their last digits."""
    return np.round(keys @ query, 9) + 0.0  # no -0


def _average_fact(keys, a, b, query, factor):
    """Return a clause on leftover, scores, weights and the missing factor. keys: (n, d); query: (d,)."""
    weights = weights_of(keys, query)
    left = np.delete(weights, [a, b]).sum()
    percent = f"{left:.0%}"
    if percent == "1%":  # which may be left
        percent = f"{distinct_texts(100 * left, 1)[0]}%"
    fact = f"{percent} of the weight is left on other keys at n = {len(keys)}, a = {a}, b = {b}"

    if factor:
        fact += f", multiply the query by at least {factor:g}"

    scores = _scores(keys, query)
    gap = scores[a] - scores[b]
    fact += (
        f"; the scores of a and b are {scores[a]:.3g} and {scores[b]:.3g}, a gap of {gap:.3g}, "
        f"their weights {weights[a]:.3g} and {weights[b]:.3g}"
    )

    others = np.delete(scores, [a, b])
    if len(others):
        fact += f", the highest other score is {others.max():.3g}"
    return fact


@chains_prove("the scores follow from the query, and the weight from the scores.")
def tied_weight() -> Claims:
    """Return the claims of 2.3: two scores from the query, and the weight of two tied keys."""
    import sympy as sp

    from attn_course.proofs.required_form import without

    t, s_a, s_b, s_i = sp.symbols("t s_a s_b s_i", real=True)
    g_aa, g_ab, g_bb, g_ia, g_ib = sp.symbols("g_aa g_ab g_bb g_ia g_ib", real=True)
    n, i = sp.symbols("n i", integer=True, positive=True)
    scores: dict[str, Any] = {
        "symbols": (t, s_a, s_b, s_i, g_aa, g_ab, g_bb, g_ia, g_ib),
        "where": {s_a: t * (g_aa + g_ab), s_b: t * (g_ab + g_bb), s_i: t * (g_ia + g_ib)}
        | {g_aa: 1, g_bb: 1, g_ab: 0, g_ia: 0, g_ib: 0},
        "only": (t,),
    }
    rest = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
    count_slips = {
        "n is written for n - 2, and keys a and b are not among the others": n,
        "n - 1 is written for n - 2: two keys are not among the others": n - 1,
        "the other keys are left out, but e^0 is 1": sp.Integer(0),
        "the other keys are left out but for one": sp.Integer(1),
    }
    two = 2 * sp.exp(t)
    slips = {sentence: sp.exp(t) / (two + count) for sentence, count in count_slips.items()} | {
        "one of the two exponentials e^t below is lost": sp.exp(t) / (sp.exp(t) + n - 2),
        "that is the weight of a and b together": two / (two + n - 2),
        "a factor 2 is lost where everything is divided by e^t": 1 / (1 + (n - 2) * sp.exp(-t)),
        "a sign in the exponent is turned round": 1 / (2 + (n - 2) * sp.exp(t)),
    }
    of_score = {
        "both products are counted as 1, but k_a and k_b are orthogonal": 2 * t,
        "k_a times k_a is 1, the square of its length": sp.Integer(0),
        "the factor t is lost": sp.Integer(1),
        "a sign is turned round": -t,
    }
    return (
        Claim(name="`score_a`", start=s_a, goal=t, slips=of_score, **scores),
        Claim(
            name="`score_i`",
            start=s_i,
            goal=sp.Integer(0),
            slips={
                "k_i is orthogonal to both keys, so its score is not that of a": t,
                "orthogonal keys have the product 0, not a negative one": -t,
            },
            **scores,
        ),
        Claim(
            name="`two_tied`",
            start=sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + rest),
            goal=sp.exp(t) / (2 * sp.exp(t) + n - 2),
            symbols=(t, s_a, s_b, s_i, n),
            where={s_a: t, s_b: t, s_i: 0},
            only=(t, n),
            forms=(without("a form without a sum over keys", "Sum", "Product"),),
            slips=slips,
        ),
    )


def weight_is_closed_form(rng: Generator, average_weight: Caller) -> str:
    """2.4: equal to the measured weight, also where exp(t) has no finite value."""
    ordinary = [
        (1.0, 10),
        (0.0, 5),
        (-3.0, 7),
        (2.5, 2),
        (25.0, 200),
        (-30.0, 12),
        (12.0, 100_000),
        (22.5, 100_000),  # not yet one half
        (40.0, 100_000),
        (-4.5, 9),
        (-20.0, 30),
    ]
    ordinary += drawn_rows(rng, 15, (-3.0, 25.0), (3, 200))
    ordinary += drawn_rows(rng, 4, (-12.0, -3.0), (3, 200))  # small weights, which are not 0
    extreme = [
        (1000.0, 50),
        (-1000.0, 50),
        (1e6, 3),
        (-1e6, 3),
        (1000.0, 2),
        (-1000.0, 2),
        (float(rng.uniform(709.1, 709.7)), 50),  # exp(t) is finite, and twice that is not
    ]

    trials = Trials(_weight_mistakes, absolute=1e-16)
    for settings in (ordinary, extreme):
        for (t, n), answer in answers_to(rng, average_weight, settings, _call):
            call = _call(t, n)
            found = number(answer, call)
            right = _tied_weight(t, n)
            returned, measured = distinct_texts(found, right, digits=4)
            fact = f"{call} is {returned}, the measured weight {measured}"
            trials.add(found, right, fact, t, n)
        trials.settle()

    for t, n in extreme:
        average_weight(t, n)
        for warning in average_weight.warned:
            raise NotYet(f"{_call(t, n)} is right, but it warns: {warning}.")
    return f"equal to the measured weight in {len(trials)} settings, t from -1e6 to 1e6."


def _call(t, n):
    return f"average_weight({t:.4g}, {n})"


def _tied_weight(t, n):
    """Measure the weight of each of two keys that score t, where n - 2 others score 0."""
    scores = np.zeros(n)
    scores[:2] = t
    return softmax(scores)[0]


def _weight_mistakes(t, n):
    top = np.exp(t)
    weight = _tied_weight(t, n)
    return {
        "that is the score, not the weight": t,
        "keys a and b are counted twice in the denominator": top / (2 * top + n),
        "one key is counted twice in the denominator": top / (2 * top + n - 1),
        "that is only the limit for large t": 0.5,
        "one of the two exponentials e^t below is lost": top / (top + n - 2),
        "that is the weight of one winner; here two keys share": 1 - leftover(t, n),
        "that is the weight of one of the other keys": 1 / (2 * top + n - 2),
        "that is the weight of both keys together": 2 * weight,
        "that is the weight left for all the others": 1 - 2 * weight,
        "the sign of t is turned round": _tied_weight(-t, n),
        "the exponential is in the denominator, where it should be in the numerator": 0.5 / top,
    }


def sharpness_is_smallest(rng: Generator, average_sharpness: Caller) -> str:
    """2.5: at the height returned exactly epsilon is left elsewhere, scaled or not."""
    sizes = [
        (10, 64, 0.01),
        (3, 4, 0.05),
        (1000, 1024, 0.001),
        (16, 16, 0.2),
        (5, 9, 1e-6),
        (3, 3, 0.3),
        (30, 40, 0.9),
        *unseen_settings(rng),
    ]
    settings = [(*size, is_scaled) for size, is_scaled in product(sizes, (False, True))]
    trials = Trials(_sharpness_mistakes, relative=1e-4)
    for (n, d, epsilon, scaled), answer in answers_to(rng, average_sharpness, settings):
        t = number(answer, "t")
        height = t / np.sqrt(d) if scaled else t
        left = leftover(height, n, leaders=2)
        fact = (
            f"at n = {n}, d = {d}, epsilon = {epsilon:.3g}, scaled = {scaled} "
            f"{stays_elsewhere(t, left, epsilon)}"
        )
        trials.add(left, epsilon, fact, n, d, epsilon, scaled, t, height)

    trials.settle()
    return f"exactly epsilon is left on the other keys in {len(trials)} settings."


@seen
def _sharpness_mistakes(n, d, epsilon, scaled, t, height):
    """Return {another reading of the question: True if it leaves epsilon elsewhere at this t}.

    height: the score of the two keys, t divided by sqrt(d) or not.
    """

    def leaves(height: float, n: int, leaders: int = 2) -> bool:
        return same(leftover(height, n, leaders), epsilon, relative=1e-3)

    root = np.sqrt(d)
    half = np.log(2)
    return {
        "the division of the scores by sqrt(d) is not taken into account": leaves(t, n),
        "it multiplies by d, but the scores are divided by sqrt(d)": leaves(
            t / d if scaled else t, n
        ),
        "there is a sqrt(d), but unscaled scores are not divided by it": leaves(t / root, n),
        "`scaled` is read the wrong way round": leaves(t if scaled else t / root, n),
        "that is the height at which one key wins alone; here two share": leaves(height, n, 1),
        "keys a and b are counted among the others": leaves(height, n + 2),
        "one of the two keys is counted among the others as well": leaves(height, n + 1),
        "a factor of two is lost, there are two keys at the top": leaves(height - half, n),
        "there is one factor of two too many": leaves(height + half, n),
        "epsilon is a share of all the weight, and not of the weight on the two keys": (
            same((n - 2) / 2 * np.exp(-height), epsilon, relative=1e-3)
        ),
    }


QUESTIONS = (
    Question(
        id="2.1",
        title="Take a sum apart",
        minutes=16,
        parts=(
            Part("code", ("projection",), projection_separates, points=0.5),
            Part("written", points=1),
        ),
        covers=("002 b.i",),
        hints=(
            "The two vectors are arbitrary, so one of them may be zero. What must M A be, and what "
            "must M B be?",
            "How long is the projection of v_a + v_b onto one column of A? What does v_b contribute to it?",
            "First find the coordinates of v_a along the columns of A; then build v_a from them.",
            "In words: every v_a is A x for some x. Write v_b likewise, multiply out, and look where "
            "the two assumptions come in.",
        ),
    ),
    Question(
        id="2.2",
        title="A query that averages",
        minutes=10,
        parts=(Part("code", ("average_query",), query_averages, points=1.5),),
        covers=("000 b", "001 b", "002 b.ii", "004 b"),
        hints=(
            "Which scores would give the weights 1/2, 1/2 and almost nothing elsewhere?",
            "Two things must be true at once: two keys have the same score, and all others score much lower.",
            "Which score does k_i get if the query is a sum of multiples of orthonormal keys?",
        ),
    ),
    Question(
        id="2.3",
        title="The weight, from its definition",
        minutes=13,
        parts=(Part("derive", ("score_a", "score_i", "two_tied"), tied_weight, points=2.5),),
        covers=("000 b", "002 b.ii", "003 1.2"),
        hints=(
            "Multiply the query out: which products of two different keys are left, and what are they?",
            "First put the three scores into the weight: write t for s_a and s_b, and 0 for s_i. In SymPy "
            "e^t is `sp.exp(t)`.",
            "A sum of equal terms is a product: `sp.Sum(1, (i, 1, m))` is m. How many terms are there?",
            "Dividing above and below by the same exponential leaves one exponential.",
        ),
    ),
    Question(
        id="2.4",
        title="The weight, for any t",
        minutes=7,
        parts=(Part("code", ("average_weight",), weight_is_closed_form, points=0.5),),
        covers=("002 b.ii", "003 1.2"),
        hints=(
            "Your derivation in 2.3 ends in a formula. In which equal form does the exponential "
            "become small for large t?",
            "A float can hold e^700 but not e^710. Does the exact exponent still matter above 700?",
        ),
    ),
    Question(
        id="2.5",
        title="How high the tie must be",
        minutes=7,
        parts=(Part("code", ("average_sharpness",), sharpness_is_smallest, points=1),),
        covers=("003 1.2",),
        hints=(
            "In 1.6 one key had the exponential e^t. How many have it here, and how many keys are left?",
            "Set the weight of all other keys together equal to epsilon, and solve for e^t before you take "
            "the logarithm.",
            "If the scores are divided by sqrt(d), what must the undivided score be?",
        ),
    ),
)
