"""Questions 1.1-1.7, when attention copies one value; judges measure, they hold no answer."""

from functools import cache

import numpy as np

from attn_course.chain_rules import HYPERBOLIC, LOGS, PLAIN, gone, in_places
from attn_course.frames import unseen_settings
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.reading import number, truth, vector
from attn_course.register import Part, Question
from attn_course.verdict import NotYet
from attn_utils.kernels import softmax


def weights_are_softmax(rng, attention_weights):
    """1.1: weights are a distribution whose log-ratios are the score differences, at any size."""
    for n, d, size in ((4, 3, 1.0), (1, 2, 1.0), (6, 4, 1e4), (5, 8, 1e4), (7, 5, 2.0)):
        query, keys = rng.normal(size=d), rng.normal(size=(n, d))
        keys *= size / np.abs(keys @ query).max()
        for scale in (1.0, 0.25):
            found = vector(attention_weights(query, keys, scale), n, "the result")
            _judge_distribution(found, size)
            _judge_softmax(found, keys @ query, scale, size, d)
            if attention_weights.warned:
                text = attention_weights.warned[0]
                raise NotYet(
                    f"the numbers are right, but at scores of size {size:g} it warns: {text}."
                )
    plain = vector(attention_weights(query, keys), n, "the result without `scale`")
    if not np.allclose(plain, softmax(keys @ query), atol=1e-9):
        raise NotYet("with `scale` left out it should behave as with scale=1.0.")
    return "a distribution at every size up to 10,000, and each log-ratio is the score difference."


def _judge_distribution(found, size):
    if found.min() < 0:
        raise NotYet(f"a weight is negative ({found.min():.3g}); a distribution has none.")
    if not np.isclose(found.sum(), 1, atol=1e-6):
        raise NotYet(f"the weights sum to {found.sum():.4g} at scores of size {size:g}, not to 1.")


def _judge_softmax(found, scores, scale, size, d):
    if np.allclose(found, softmax(scale * scores), atol=1e-6):
        return
    known = {
        "the argument `scale` is ignored": scores,
        "the scores are divided by `scale` where they should be multiplied": scores / scale,
        "there is a 1/sqrt(d) that the question does not ask for": scale * scores / np.sqrt(d),
        "the signs are turned round: the smallest score wins": -scale * scores,
    }
    for sentence, wrong in known.items():
        if np.allclose(found, softmax(wrong), atol=1e-6):
            raise NotYet(f"{sentence} (scale = {scale:g}).")
    if size <= 10 and np.isclose(found.max(), 1) and len(found) > 1:
        raise NotYet("one key gets all the weight: that is a hard maximum, which no score reaches.")
    if np.allclose(found, np.full(len(found), 1 / len(found))):
        raise NotYet("every key gets the same weight, whatever its score.")
    gaps = scale * (scores.max() - scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(found[scores.argmax()]) - np.log(found)
    worst = np.where(found > 0, np.abs(ratios - gaps), 0).argmax()  # zeros may be rounded
    raise NotYet(
        f"two scores differ by {gaps[worst]:.3g}, but the log-ratio of their weights is "
        f"{ratios[worst]:.3g}."
    )


@cache
def _bounds():
    """The claims of 1.2: the weight is least when all rivals are at the gap, most when one is."""
    import sympy as sp

    s, gap, R = sp.symbols("s gap R", positive=True)
    n = sp.Symbol("n", integer=True, positive=True)
    weight = sp.exp(s) / (sp.exp(s) + R)
    fewest = sp.exp(s - gap)
    most = (n - 1) * fewest
    common = {
        "start": weight,
        "to_do": (gone("R gone", "R"), in_places("exp(s) divided out", 1, "s")),
        "symbols": (s, gap, R, n),
        "where": {R: (fewest, most)},
        "heads": PLAIN | HYPERBOLIC | LOGS,
        "only": (gap, n),
    }
    return (
        Claim(name="`at_least`", goal=weight.subs(R, most), relation=">=", **common),
        Claim(name="`at_most`", goal=weight.subs(R, fewest), relation="<=", **common),
    )


def weight_between(rng, at_least, at_most):
    """1.2: two chains from the definition, one to each end of what the gap allows."""
    for chain, claim in zip((at_least, at_most), _bounds(), strict=True):
        judge_derivation(chain, claim)
    return "both chains hold, and no bound in gap and n alone is tighter: scores come as near as you like."


_COPY_CASES = {  # name: (scores, j); every weight is below .51 or above .9999
    "clear": ([1000.0, 990.0, 990.0], 0),
    "ratio": ([0.02, 0.0001, 0.0001], 0),
    "negative": ([-200.0, -100.0, -200.0], 1),
    "positive": ([300.0, 100.0, 100.0], 0),
    "opposed": ([-0.1, 0.1, -0.1], 1),
    "tie": ([40.0, 40.0, 0.0], 1),
    "other wins": ([5.0, 1.0, 30.0], 0),
    "last": ([0.0, 0.0, 0.0, 25.0], 3),
    "two": ([0.0, 12.0], 1),
    "many, margin 5": ([0.0] * 1000 + [5.0] + [0.0] * 1000, 1000),
    "many, enough": ([0.0] * 1000 + [17.6] + [0.0] * 1000, 1000),
}
_COPY_MISTAKES = {
    "it says yes to whichever score is largest": lambda s, j: s.argmax() == j,
    "it compares scores by their ratio": lambda s, j: s[j] > 5 * np.delete(s, j).max() > 0,
    "it only asks that the other scores be negative": lambda s, j: np.delete(s, j).max() < 0 < s[j],
    "it only asks that score j be positive and largest": lambda s, j: s[j] == s.max() > 0,
    "it asks for a margin but not how many rivals there are": (
        lambda s, j: s[j] - np.delete(s, j).max() >= 4.5
    ),
    "it looks at the first score instead of score j": lambda s, j: softmax(s)[0] > 0.99,
    "the exponential of a large score overflows": lambda s, j: max(s) < 700 and softmax(s)[j] > 0.9,
    "it says yes every time": lambda s, j: True,
    "it says no every time": lambda s, j: False,
}


def _copy_cases(rng):
    """The cases above, and six that nobody has seen, of which every other is a copy."""
    cases = dict(_COPY_CASES)
    for k in range(6):
        n = int(rng.integers(2, 6))
        j, scores = int(rng.integers(n)), rng.normal(scale=20, size=n)
        lead = rng.uniform(12, 20) if k % 2 else rng.uniform(-9, -1)
        scores[j] = np.delete(scores, j).max() + lead
        cases[f"drawn {k}"] = scores.round(1).tolist(), j
    return cases


def tells_copying(rng, copies):
    """1.3: right on score vectors whose weight on j is far from any sensible threshold."""
    said, cases = {}, _copy_cases(rng)
    for name, (scores, j) in cases.items():
        said[name] = truth(copies(np.array(scores), j), "copies(scores, j)")
    truths = {name: softmax(np.array(s))[j] > 0.99 for name, (s, j) in cases.items()}
    wrong = [name for name in said if said[name] != truths[name]]
    if not wrong:
        return f"right on {len(said)} score vectors, from two keys to two thousand."
    scores, j = cases[wrong[0]]
    weight = softmax(np.array(scores))[j]
    shown = f"{scores}" if len(scores) < 6 else f"one {scores[j]:g} among {len(scores) - 1} zeros"
    fact = (
        f"for scores {shown} and j = {j} the weight is {weight:.4g}, and you said {said[wrong[0]]}"
    )
    for sentence, mistake in _COPY_MISTAKES.items():
        if all(said[k] == bool(mistake(np.array(s), j)) for k, (s, j) in cases.items()):
            raise NotYet(f"{sentence}: {fact}.")
    raise NotYet(f"{fact}.")


def query_copies(rng, copy_query):
    """1.4: at least 99% of the weight on key j, for keys that are only linearly independent."""
    lowest = 1.0
    for keys, j in _independent_keys(rng):
        query = vector(copy_query(keys, j), keys.shape[1], "the query")
        weights = softmax(keys @ query)
        if weights[j] < 0.99:
            raise NotYet(_why_not_copied(keys, j, query, weights))
        lowest = min(lowest, weights[j])
    return f"the smallest weight on key j over 20 sets of keys was {lowest:.4f}."


def _independent_keys(rng):
    """Yield (keys, j): generic keys first, then keys that lean on each other, keys of very unequal
    length, and keys one of which is key j four times over, and more."""
    for n, d in ((4, 6), (8, 12), (5, 5), (2, 3), (1, 4)):
        j, generic = int(rng.integers(n)), rng.normal(size=(n, d))
        leaning = generic + 4 * rng.normal(size=d)
        unequal = generic * rng.permutation(np.geomspace(0.5, 8, n))[:, None]
        hidden = generic + 4 * np.outer(np.arange(n) == (j + 1) % n, generic[j])
        yield from ((keys, j) for keys in (generic, leaning, unequal, hidden))


def _why_not_copied(keys, j, query, weights):
    scores, norm = keys @ query, np.linalg.norm
    margin = scores[j] - np.delete(scores, j).max(initial=-np.inf)
    if margin > 1e-9:
        need = np.log(99 * (len(keys) - 1)) / margin
        return (
            f"right direction, but weight {weights[j]:.2g} at n = {len(keys)}: the margin is "
            f"{margin:.3g}, so multiply the query by at least {need:.2g}."
        )
    if not query.any():
        return f"the query is zero, so every key gets weight {weights[j]:.2g}."
    cosine = scores[j] / (norm(query) * norm(keys[j]))
    best = int(scores.argmax())
    fact = f"key {best} scores {scores[best]:.3g} against {scores[j]:.3g} for key j = {j}"
    if cosine > 0.999999:
        return (
            f"the query points along key j, and still {fact}: its length is {norm(keys[best]):.2g}, "
            f"that of key j {norm(keys[j]):.2g}. Alignment alone does not decide."
        )
    return f"{fact}, so the weight on key j is {weights[j]:.2g}."


def bound_is_tight(rng, copy_error_bound):
    """1.5: never below a distance that attention really reaches, never above the largest one."""
    for gap, n, diameter in [(1.0, 2, 1.0), (2.0, 10, 2.5), (5.0, 100, 0.5), (0.0, 4, 1.0)] + [
        (float(rng.uniform(0, 12)), int(rng.integers(2, 500)), float(rng.uniform(0.1, 9)))
        for _ in range(20)
    ]:
        said = number(copy_error_bound(gap, n, diameter), "the bound")
        reached = _largest_distance(gap, n, diameter)
        if not np.isclose(said, reached, rtol=1e-6, atol=1e-12 * diameter):
            raise NotYet(_why_not_tight(said, reached, gap, n, diameter))
    return "equal to the largest distance that attention reaches, in 24 settings."


def _largest_distance(gap, n, diameter):
    """Measured: all rivals exactly `gap` lower, all their values `diameter` away on one side."""
    weights = softmax(np.r_[gap, np.zeros(n - 1)])
    return weights[1:].sum() * diameter


def _why_not_tight(said, reached, gap, n, diameter):
    setting = f"at gap = {gap:.3g}, n = {n}, diameter = {diameter:.3g}"
    fact = f"{setting} the output can be {reached:.4g} away, and your bound is {said:.4g}"
    one_rival, share = _largest_distance(gap, 2, diameter), reached / diameter
    if np.isclose(said, share):
        return f"the diameter is missing: {fact}."
    if np.isclose(said, one_rival) and n > 2:
        return f"this counts one rival, but there are {n - 1}: {fact}."
    if np.isclose(said, diameter - reached):
        return f"this is the weight on v_j; the distance comes from the rest: {fact}."
    if said < reached:
        return f"too small to be a bound: {fact}."
    if np.isclose(said, (n - 1) * np.exp(-gap) * diameter):
        return f"true but not tight (the denominator is more than e^gap): {fact}."
    return f"true here but not tight: {fact}."


def sharpness_is_smallest(rng, copy_sharpness):
    """1.6: the multiple c leaves epsilon elsewhere, and a slightly smaller one leaves more."""
    settings = [(10, 64, 0.01), (3, 4, 0.05), (2, 2, 0.1), (1000, 1024, 0.001), (16, 16, 0.2)]
    settings += unseen_settings(rng)
    for n, d, epsilon in settings:
        c = number(copy_sharpness(n, d, epsilon), "c")
        left = _elsewhere(c / np.sqrt(d), n)
        if not np.isclose(left, epsilon, rtol=1e-4):
            raise NotYet(_why_not_smallest(c, left, n, d, epsilon))
    return f"the weight left elsewhere is epsilon in {len(settings)} settings."


def _elsewhere(score, n):
    return softmax(np.r_[score, np.zeros(n - 1)])[1:].sum()


def _why_not_smallest(c, left, n, d, epsilon):
    setting = f"at n = {n}, d = {d}, epsilon = {epsilon:g}"
    fact = f"{setting} your c = {c:.4g} leaves {left:.3g} elsewhere"
    for factor, sentence in (
        (np.sqrt(d), "the division by sqrt(d) is not made up for"),
        (1 / np.sqrt(d), "it makes up for d where only sqrt(d) divides"),
    ):
        if np.isclose(_elsewhere(c * factor / np.sqrt(d), n), epsilon, rtol=1e-3):
            return f"{sentence}: {fact}."
    for counted, sentence in (
        (2, f"this counts one rival, but there are {n - 1}"),
        (n + 1, "key j is counted among its own rivals"),
    ):
        if np.isclose(_elsewhere(c / np.sqrt(d), counted), epsilon, rtol=1e-3):
            return f"{sentence}: {fact}."
    if left < epsilon:
        return f"large enough, but not the smallest: {fact}."
    return f"too small: {fact}."


QUESTIONS = (
    Question(
        id="1.1",
        title="Weights from scores",
        minutes=6,
        parts=(Part("code", 1, ("attention_weights",), weights_are_softmax),),
        covers=("002 a.i",),
        hints=(
            "Which two properties make a list of numbers a distribution? Which function is positive?",
            "Add the same number to every score: what happens to the weights?",
            "You may therefore choose the largest score to be whatever suits the computer.",
        ),
    ),
    Question(
        id="1.2",
        title="What the gap decides",
        minutes=8,
        parts=(Part("derive", 1, ("at_least", "at_most"), weight_between),),
        covers=("002 a.ii",),
        hints=(
            "Divide numerator and denominator by the same thing, so that only R remains unknown.",
            "The weight falls when R grows. How large can R be? How small?",
            'An inequality step is written (">=", expression, reason).',
        ),
    ),
    Question(
        id="1.3",
        title="Does it copy?",
        minutes=5,
        parts=(Part("code", 0.5, ("copies",), tells_copying),),
        covers=("000 a", "001 a", "002 a.ii", "003 1.1", "004 a"),
        hints=(
            "The word 'larger' can mean a ratio, a sign or a difference. Which one does exp see?",
            "Two thousand small weights are not small together.",
        ),
    ),
    Question(
        id="1.4",
        title="A query that copies",
        minutes=10,
        parts=(Part("code", 0.5, ("copy_query",), query_copies),),
        covers=("000 a", "001 a", "003 1.1"),
        hints=(
            "The query has d numbers; the keys ask n things of it. Which n scores would you like?",
            "Choosing the scores first leaves a linear system for the query.",
            "`numpy.linalg.lstsq` solves such a system also when there are fewer keys than numbers.",
        ),
    ),
    Question(
        id="1.5",
        title="How far from the copy",
        minutes=8,
        parts=(Part("code", 1, ("copy_error_bound",), bound_is_tight),),
        covers=("002 a.iii",),
        hints=(
            "Write the output as v_j plus a correction. Which weights multiply the correction?",
            "When is the correction largest: how do the rivals score, and where do their values lie?",
        ),
    ),
    Question(
        id="1.6",
        title="How sharp is sharp enough",
        minutes=6,
        parts=(Part("code", 1, ("copy_sharpness",), sharpness_is_smallest),),
        covers=("003 1.1",),
        hints=(
            "With orthonormal keys, what are the n scores of the query c * k_j after the division?",
            "Set the weight left elsewhere equal to epsilon and solve for the score first.",
        ),
    ),
    Question(
        id="1.7",
        title="In your own words",
        minutes=5,
        parts=(Part("written", 1),),
        covers=("000 a", "001 a", "002 a.iv", "004 a"),
    ),
)
