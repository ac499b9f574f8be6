"""Questions 2.1-2.5, when attention averages two values; judges measure, they hold no answer."""

from functools import cache

import numpy as np

from attn_course.chain_rules import HYPERBOLIC, PLAIN, SUMS, gone, without
from attn_course.frames import (
    error_of_average,
    factor_needed,
    frame,
    frames,
    unseen_settings,
    weights_of,
)
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.reading import array, matrix, number, vector
from attn_course.register import Part, Question
from attn_course.verdict import NotYet
from attn_utils.kernels import softmax

LIMIT = 0.02 + 1e-6  # L1 error of the weights: at most 1% of the weight is left elsewhere


def projection_separates(rng, projection):
    """2.1: M A = A and M B = 0, where the two subspaces fill the space and where they do not."""
    for d, m, p in ((5, 2, 2), (6, 1, 4), (6, 2, 4), (8, 3, 2)):
        basis = frame(rng, m + p, d).T
        A, B = basis[:, :m], basis[:, m:]
        found = array(projection(A, B), "the matrix")
        _judge_shape(found, d, m)
        M = matrix(found, (d, d), "the matrix")
        if max(np.abs(M @ A - A).max(), np.abs(M @ B).max()) > 1e-6:
            raise NotYet(_why_not_separated(M, A, B))
    return "v_a comes back and v_b vanishes, to better than 1e-6, in four pairs of subspaces."


def _judge_shape(found, d, m):
    known = {
        (m, m): f"it is {m} x {m}, but it must act on vectors of length {d}: the product is turned "
        "round",
        (m, d): "it returns the coordinates of v_a along the columns of A, not v_a itself; one "
        "product more is needed",
        (d, m): f"it takes {m} coordinates to a vector, but it is given a vector of length {d}",
    }
    if found.shape in known:
        raise NotYet(f"{known[found.shape]} (shape {found.shape}, expected {(d, d)}).")


def _why_not_separated(M, A, B):
    onto_a, onto_b = M @ A, M @ B
    near = np.allclose
    factor = np.vdot(A, onto_a) / np.vdot(A, A)
    if near(onto_a, A, atol=1e-6):
        leaks = np.linalg.norm(onto_b, axis=0).max()
        if near(onto_b, B):
            return "v_a comes back, but so does v_b: M B equals B where it must be zero."
        if near(onto_b, -B):
            return "v_a comes back, but v_b comes back with its sign turned: M B equals -B."
        return f"v_a comes back, but a unit vector of span(B) comes out with length {leaks:.2g}."
    if near(onto_a, 0, atol=1e-6):
        if near(onto_b, B):
            return "this keeps v_b and removes v_a: the roles of A and B are exchanged."
        if near(onto_b, 0, atol=1e-6):
            return "everything is sent to zero, v_a as well as v_b."
        return "v_a is sent to zero, and it is v_b that moves the result."
    if near(onto_a, factor * A, atol=1e-6) and near(onto_b, 0, atol=1e-6):
        return f"right subspace, wrong size: v_b vanishes, but v_a comes back times {factor:.3g}."
    off, leak = np.abs(onto_a - A).max(), np.abs(onto_b).max()
    rank = np.linalg.matrix_rank(onto_a, tol=1e-6)
    if rank < A.shape[1] and leak < 1e-6:
        return f"v_b vanishes, but of {A.shape[1]} directions of span(A) only {rank} comes back."
    return f"M A differs from A by up to {off:.2g}, and M B from zero by up to {leak:.2g}."


def query_averages(rng, average_query):
    """2.2: decided on the weights, which is the worst case over all values of length one."""
    worst = max(judge_average(average_query, *setting)[1] for setting in frames(rng))
    return f"over 18 sets of keys, at most {worst / 2:.2%} of the weight was left elsewhere."


def judge_average(query_of, keys, a, b):
    """One answer's query and the L1 error of its weights on one set of keys, or why it is wrong."""
    n, d = keys.shape
    query = vector(query_of(keys, a, b), d, f"the query for n = {n} keys")
    weights = weights_of(keys, query)
    error = error_of_average(weights, a, b)
    if error > LIMIT:
        raise NotYet(_why_not_average(keys, query, a, b, weights))
    return query, error


def _why_not_average(keys, query, a, b, weights):
    n, rest = len(keys), np.delete(weights, [a, b])
    if np.ptp(weights) < 1e-9:
        return f"every key scores the same, so each of the {n} gets weight {weights[a]:.3g}."
    factor = factor_needed(lambda c: error_of_average(weights_of(keys, c * query), a, b), LIMIT)
    if factor:
        return (
            f"right direction, leftover {rest.sum():.0%} at n = {n}: the margin is too small, "
            f"multiply the query by at least {np.ceil(10 * factor) / 10:g}."
        )
    scores = np.round(keys @ query, 9) + 0.0
    others = np.delete(scores, [a, b])
    two = f"the scores of a and b are {scores[a]:.3g} and {scores[b]:.3g}"
    if max(scores[a], scores[b]) < others.min() + 1e-9 and weights[a] < 1 / n:
        return f"the query points away from both keys: {two}, every other key scores more."
    if others.max(initial=-np.inf) > min(scores[a], scores[b]) - 1e-6:
        return _third_key(scores, a, b, weights, two)
    gap = scores[a] - scores[b]
    return (
        f"the two are not tied: {two}, and a gap of {gap:.3g} gives key a "
        f"{weights[a] / (weights[a] + weights[b]):.1%} of their weight."
    )


def _third_key(scores, a, b, weights, two):
    """A key that is neither a nor b scores as much as one of them."""
    low, high = sorted((a, b), key=lambda i: scores[i])
    ignored = np.isclose(scores[low], np.median(np.delete(scores, [a, b])), atol=1e-6)
    if ignored and weights[high] > 0.5:
        return (
            f"only one of the two keys is looked at: {two}, so it gets weight {weights[high]:.3g}."
        )
    if scores[low] < np.delete(scores, [a, b]).min() and weights[high] > 0.5:
        return f"one of the two keys is pushed down, below all the others: {two}."
    third = max(set(range(len(scores))) - {a, b}, key=lambda i: scores[i])
    word = "ties with them" if np.isclose(scores[third], scores[low]) else "comes between"
    return (
        f"a third key {word}: {two}, that of key {third} is {scores[third]:.3g} "
        f"(weight {weights[third]:.2g})."
    )


@cache
def _tie():
    """The claim of 2.3: the softmax of a tie, its scores put in and its rest counted."""
    import sympy as sp

    t, s_a, s_b, s_i = sp.symbols("t s_a s_b s_i", real=True)
    n, i = sp.symbols("n i", integer=True, positive=True)
    rest = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
    return Claim(
        name="the chain",
        start=sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + rest),
        goal=sp.exp(t) / (2 * sp.exp(t) + n - 2),
        to_do=(gone("the scores put in", "s_a", "s_b", "s_i"), without("the sum counted", "Sum")),
        symbols=(t, s_a, s_b, s_i, n),
        where={s_a: (t, t), s_b: (t, t), s_i: (0, 0)},
        heads=PLAIN | SUMS | HYPERBOLIC,
        only=(t, n),
    )


def tied_weight(rng, two_tied):
    """2.3: one chain from the softmax of the scores to a function of t and n alone."""
    judge_derivation(two_tied, _tie())
    return "the chain holds from the definition to a function of t and n."


def _tied_weights(t, n):
    """Measured: the weights of two keys that score t and n - 2 that score 0."""
    return softmax(np.r_[t, t, np.zeros(n - 2)].astype(float))


def weight_is_closed_form(rng, average_weight):
    """2.4: equal to the measured weight, also where exp(t) has no finite value."""
    ordinary = [(1.0, 10), (0.0, 5), (-3.0, 7), (2.5, 2), (25.0, 200)]
    ordinary += [(float(rng.uniform(-3, 25)), int(rng.integers(3, 200))) for _ in range(15)]
    extreme = [(1000.0, 50), (-1000.0, 50), (1e6, 3), (1000.0, 2), (-1000.0, 2)]
    for t, n in ordinary + extreme:
        call = f"average_weight({t:.4g}, {n})"
        try:
            found = number(average_weight(t, n), call)
        except NotYet as error:  # an overflow, most often: say where
            raise NotYet(str(error).replace("your code", f"{call}: your code", 1)) from None
        true = _tied_weights(t, n)[0]
        if not np.isclose(found, true, rtol=1e-6, atol=1e-14):
            raise NotYet(_why_not_weight(found, t, n, call))
        if average_weight.warned:
            raise NotYet(f"{call} is right, but it warns: {average_weight.warned[0]}.")
    return (
        f"equal to the measured weight in {len(ordinary + extreme)} settings, t from -1000 to 1e6."
    )


def _why_not_weight(found, t, n, call):
    weights = _tied_weights(t, n)
    fact = f"{call} is {found:.4g}, the measured weight {weights[0]:.4g}"
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        known = (
            ("that is the score, not the weight", t),
            ("keys a and b are counted twice below the line", np.exp(t) / (2 * np.exp(t) + n)),
            ("one key is counted twice below the line", np.exp(t) / (2 * np.exp(t) + n - 1)),
            ("that is only the limit for large t", 0.5),
            (
                "that is the weight of one winner; here two keys share",
                softmax(np.r_[t, [0] * (n - 1)])[0],
            ),
            ("that is the weight of one of the other keys", 1 / (2 * np.exp(t) + n - 2)),
            ("that is the weight of both keys together", 2 * weights[0]),
            ("that is the weight left for all the others", 1 - 2 * weights[0]),
            ("the exponential has moved below the line", 0.5 * np.exp(-t)),
        )
    for sentence, wrong in known:
        if np.isclose(found, wrong, rtol=1e-6):
            return f"{sentence}: {fact}."
    return f"{fact}."


def sharpness_is_smallest(rng, average_sharpness):
    """2.5: at the height returned exactly epsilon is left elsewhere, scaled or not."""
    settings = [(10, 64, 0.01), (3, 4, 0.05), (1000, 1024, 0.001), (16, 16, 0.2), (5, 9, 1e-6)]
    settings += unseen_settings(rng)
    for n, d, epsilon in settings:
        for scaled in (False, True):
            t = number(average_sharpness(n, d, epsilon, scaled), "t")
            if not np.isclose(_leftover(t, n, d * scaled), epsilon, rtol=1e-4):
                raise NotYet(_why_not_smallest(t, n, d, epsilon, scaled))
    return f"exactly epsilon is left elsewhere in {2 * len(settings)} settings."


def _leftover(t, n, d=0):
    """Measured: the weight outside the tie at height t; scores divided by sqrt(d) unless d is 0."""
    height = np.clip(t / np.sqrt(d or 1), -700, 700)
    return softmax(np.r_[height, height, np.zeros(n - 2)])[2:].sum()


def _why_not_smallest(t, n, d, epsilon, scaled):
    left = _leftover(t, n, d * scaled)
    setting = f"at n = {n}, d = {d}, epsilon = {epsilon:g}, scaled = {scaled}"
    fact = f"{setting} your t = {t:.4g} leaves {left:.3g} elsewhere"

    def leaves(height, size, target=epsilon):
        return np.isclose(_leftover(height, size), target, rtol=1e-3)

    if scaled and leaves(t, n):
        return f"the division by sqrt(d) is not made up for: {fact}."
    if scaled and leaves(t / d, n):
        return f"it makes up for d where only sqrt(d) divides: {fact}."
    if not scaled and leaves(t / np.sqrt(d), n):
        return f"there is a sqrt(d), but these scores are not divided by it: {fact}."
    height = t / np.sqrt(d) if scaled else t
    copied = softmax(np.r_[height, np.zeros(n - 1)])[1:].sum()
    if np.isclose(copied, epsilon, rtol=1e-3):
        return f"that is the height at which one key wins alone; here two share: {fact}."
    if leaves(height, n + 2):
        return f"keys a and b are counted among the others: {fact}."
    if leaves(height, n + 1):
        return f"one of the two keys is counted among the others as well: {fact}."
    if leaves(height + np.log(2), n) or leaves(height - np.log(2), n):
        return f"a factor of two is lost, there are two keys at the top: {fact}."
    return f"{'large enough, but not the smallest' if left < epsilon else 'too small'}: {fact}."


QUESTIONS = (
    Question(
        id="2.1",
        title="Take a sum apart",
        minutes=8,
        parts=(Part("code", 1, ("projection",), projection_separates),),
        covers=("002 b.i",),
        hints=(
            "The two vectors are arbitrary, so one of them may be zero. What must M do to A, what to B?",
            "How long is the shadow of v_a + v_b on one column of A? What does v_b add to it?",
            "First find the coordinates of v_a along the columns of A; then build v_a from them.",
        ),
    ),
    Question(
        id="2.2",
        title="A query that averages",
        minutes=8,
        parts=(Part("code", 2, ("average_query",), query_averages),),
        covers=("000 b", "001 b", "002 b.ii", "004 b"),
        hints=(
            "Which scores would give the weights 1/2, 1/2 and almost nothing elsewhere?",
            "Two things must hold at once: a tie between two keys, and a margin over the rest.",
            "With orthonormal keys you can read off the score of k_i for any sum of multiples of keys.",
        ),
    ),
    Question(
        id="2.3",
        title="The weight, from its definition",
        minutes=8,
        parts=(Part("derive", 2, ("two_tied",), tied_weight),),
        covers=("000 b", "002 b.ii", "003 1.2"),
        hints=(
            "Put the three kinds of score in first: two of them are t, the rest 0.",
            "A sum of equal terms is a product. How many terms are there?",
            "Dividing above and below by the same exponential leaves one exponential.",
        ),
    ),
    Question(
        id="2.4",
        title="The weight, for any t",
        minutes=5,
        parts=(Part("code", 1, ("average_weight",), weight_is_closed_form),),
        covers=("002 b.ii", "003 1.2"),
        hints=(
            "Your chain in 2.3 ends in a formula; which of its equal forms has an exponential that shrinks?",
            "A double holds e^700 but not e^710. Above that, does it matter which number it is?",
        ),
    ),
    Question(
        id="2.5",
        title="How high the tie must be",
        minutes=8,
        parts=(Part("code", 1, ("average_sharpness",), sharpness_is_smallest),),
        covers=("003 1.2",),
        hints=(
            "Write the weight left elsewhere as a fraction with one exponential in it.",
            "Set it equal to epsilon and solve for that exponential before you take the logarithm.",
            "If the scores are divided by sqrt(d), what must the undivided score be?",
        ),
    ),
)
