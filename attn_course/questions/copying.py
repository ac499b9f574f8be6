"""Questions 1.1-1.7, when attention copies one value."""

import math

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, answers_to, as_bool, number, vector
from attn_course.answers.mistakes import Seen, Trials, distinct_texts, round_up, same, seen
from attn_course.questions.random_keys import (
    drawn_rows,
    judge_finite_scores,
    leftover,
    stays_elsewhere,
    unseen_settings,
    weights_of,
)
from attn_course.register import Claim, Claims, Part, Question, chains_prove
from attn_utils.kernels import softmax

SMALL = 1e-300
LARGEST_GAP = 650.0  # the largest difference of two scores whose exponential does not underflow
COPY = 0.99  # the least weight on one key that is called a copy
COPIED = COPY - 1e-9  # the bound itself passes, rounded or not


def weights_are_softmax(rng: Generator, attention_weights: Caller) -> str:
    """1.1: weights are a distribution whose log-ratios are the score differences, at any size."""
    settings = _scored_keys(rng)
    trials = Trials(_softmax_mistakes, absolute=1e-200)
    for (query, keys, scale), answer in answers_to(rng, attention_weights, settings):
        n, d = keys.shape
        scores = keys @ query
        if _overflowed(answer):
            raise NotYet(
                f"the result has nan in it for scores between {scores.min():.6g} and "
                f"{scores.max():.6g}: an exponential overflowed, or all of them vanished."
            )
        found = vector(answer, n, f"the result for {n} keys")
        _judge_distribution(found, scores)
        right = softmax(scale * scores)
        trials.require(found, right, _log_ratios, scores, scale, d, found)

    _judge_quiet(attention_weights, settings)
    query, keys, _ = settings[0]
    found = vector(attention_weights(query, keys), len(keys), "the result without `scale`")
    if not same(found, softmax(keys @ query)):
        raise NotYet("with `scale` left out it should behave as with scale=1.0.")
    return (
        "a distribution at every size up to 10,000, and the logarithm of the ratio of two weights is "
        "the difference of their scores."
    )


def _scored_keys(rng):
    """Return [(query, keys, scale)]: scores of every size, of both signs, of one sign, tied, and alone."""
    drawn = []
    for n, d, size in ((7, 5, 2.0), (4, 3, 1.0), (5, 4, 40.0), (6, 4, 1e4), (5, 8, 1e4)):
        scores = rng.normal(size=n)
        drawn.append((d, scores * size / np.abs(scores).max()))
    drawn[-2][
        1
    ].sort()  # the least score first and then last: neither may be subtracted from the others
    drawn[-1][1][::-1].sort()
    # a gap that loses the smaller weight at scale 1, and not at a scale of one half or less
    drawn.append((4, rng.permutation([-900.0, 0.0, *rng.uniform(-5, 0, 3)])))

    for sign in (-1, 1):
        drawn.append((3, sign * (1e4 - rng.uniform(0, 12, 5))))  # large ones that differ by little
    drawn.append((2, np.full(1, rng.normal())))  # one key alone
    drawn.append((6, np.repeat(rng.normal(size=2), 2)))  # ties
    drawn.append((4, np.zeros(3)))

    settings = []
    for d, scores in drawn:
        query = rng.normal(size=d)
        keys = rng.normal(size=(len(scores), d))
        keys += np.outer(scores - keys @ query, query) / (query @ query)
        for scale in (1.0, rng.uniform(0.2, 0.5)):
            settings.append((query, keys, scale))

    query, keys, _ = settings[0]
    settings.append((query, keys, rng.uniform(1.5, 3)))
    settings.append((rng.normal(size=7), rng.normal(size=(rng.integers(60, 200), 7)), 1.0))
    return settings


def _overflowed(answer):
    """Return True if the answer contains nan."""
    try:
        values = np.asarray(answer)
    except (TypeError, ValueError, OverflowError):  # `vector` says what is wrong with it
        return False
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _judge_distribution(found, scores):
    lowest = found.min()
    if not lowest >= 0:
        raise NotYet(f"a weight is negative ({lowest:.3g}); a distribution has none.")
    total = found.sum()
    if not abs(total - 1) <= 1e-6:
        size = np.abs(scores).max()
        raise NotYet(f"the weights sum to {total:.4g} at scores of size {size:g}, not to 1.")


def _softmax_mistakes(scores, scale, d, found):
    """Return the table of mistakes of 1.1. scores, found: (n,); d: the length of the query."""
    n = len(scores)
    wrong_scores = {
        "the argument `scale` is ignored": scores,
        "the scores are divided by `scale` where they should be multiplied": scores / scale,
        "there is a 1/sqrt(d) that the question does not ask for": scale * scores / np.sqrt(d),
        "the signs are turned round: the smallest score wins": -scale * scores,
    }
    right = softmax(scale * scores)
    top = right.argmax()
    ratios = right / right[top]
    lowest = (found / found[top]).min() - ratios.min()
    added = lowest / (1 - lowest - ratios.min())  # to every exponential, the largest being 1
    with_more = (ratios + added) / (ratios + added).sum()
    return {
        "every key gets the same weight, whatever its score": np.full(n, 1 / n),
        "one key gets all the weight, a hard maximum; a softmax never gives exactly 0 or 1": (
            np.eye(n)[scores.argmax()]
        ),
        **{sentence: softmax(wrong) for sentence, wrong in wrong_scores.items()},
        "no weight is as small as it should be: a small number is added to every exponential, or the "
        "scores are cut off": Seen(added >= 0 and same(found, with_more, absolute=1e-12)),
    }


def _log_ratios(scores, scale, d, found):
    """Return a clause on the two scores whose weights have the most wrong ratio."""
    top = scores.argmax()
    gaps = scale * (scores[top] - scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(found[top]) - np.log(found)
    off = np.abs(ratios - gaps)
    worst = np.where(gaps < LARGEST_GAP, off, 0).argmax()  # a smaller weight may be rounded to 0
    gap, ratio = distinct_texts(gaps[worst], ratios[worst])
    told = f"the logarithm of the ratio of their weights is {ratio}"
    if found[worst] == 0:
        told = "the smaller one of their weights is 0"
    return f"at scale = {scale:.3g} two scaled scores differ by {gap}, but {told}"


def _judge_quiet(attention_weights, settings):
    """Raise NotYet if an answer warns at any size, also where its numbers are right."""
    for query, keys, scale in settings:
        attention_weights(query, keys, scale)
        for warning in attention_weights.warned:
            size = np.abs(keys @ query).max()
            raise NotYet(
                f"the numbers are right, but at scores of size {size:g} it warns: {warning}."
            )


@chains_prove("the weights sum to one and each is above zero, whatever the scores.")
def weights_are_distribution() -> Claims:
    """Return the claims of 1.1: the weights sum to one, and each is above zero."""
    import sympy as sp

    scores = sp.IndexedBase("s")
    i, j, k, n = sp.symbols("i j k n", integer=True, positive=True)
    Z = sp.Symbol("Z", positive=True)
    sums = {Z: sp.Sum(sp.exp(scores[k]), (k, 1, n))}
    in_all = Claim(
        name="`sum_of_weights`",
        start=sp.Sum(sp.exp(scores[i]) / Z, (i, 1, n)),
        goal=sp.Integer(1),
        symbols=(scores, Z, n),
        where=sums,
        only=(),
        slips={
            "one term is missing, the sum has n of them": 1 - sp.exp(scores[1]) / Z,
            "the last term is missing": 1 - sp.exp(scores[n]) / Z,
            "there is no sum left, n weights were taken for n ones": n,
            "every exponential was taken for 1, as if all scores were 0": n / Z,
        },
    )
    each = Claim(
        name="`one_weight`",
        start=sp.exp(scores[j]) / Z,
        goal=sp.Integer(0),
        symbols=(scores, Z, j, n),
        where={**sums, j: (1, n)},
        relation=">",
        only=(),
    )
    return in_all, each


@chains_prove(
    "both chains hold, and the bounds are the best possible: there are scores that come arbitrarily close "
    "to them."
)
def weight_between() -> Claims:
    """Return the claims of 1.2: the weight is least when all rivals are at the gap, most when one is."""
    import sympy as sp

    s, gap, R = sp.symbols("s gap R", positive=True)
    n = sp.Symbol("n", integer=True, positive=True)
    weight = sp.exp(s) / (sp.exp(s) + R)
    fewest = sp.exp(s - gap)
    most = (n - 1) * fewest
    common = {
        "start": weight,
        "symbols": (s, gap, R, n),
        "where": {R: (fewest, most)},
        "only": (gap, n),
    }
    slips = {
        "n is written for n - 1, and key j is not its own rival": weight.subs(R, n * fewest),
        "the sign of the gap is turned round": weight.subs(R, most * sp.exp(2 * gap)),
        "R was not divided by e^s, as everything else was": 1 / (1 + R),
        "R was multiplied by e^s where it should be divided": 1 / (1 + R * sp.exp(s)),
        "the 1 below is lost, e^s divided by e^s": sp.exp(s) / R,
    }
    least = weight.subs(R, most)
    largest = weight.subs(R, fewest)
    low_slips = slips | {"the weight is least where R is largest, and here R is smallest": largest}
    high_slips = slips | {"the weight is largest where R is smallest, and here R is largest": least}
    return (
        Claim(name="`at_least`", goal=least, relation=">=", slips=low_slips, **common),
        Claim(name="`at_most`", goal=largest, relation="<=", slips=high_slips, **common),
    )


def tells_copying(rng: Generator, copies: Caller) -> str:
    """1.3: right on score vectors whose weight on j is at most 0.8 or at least 0.9999."""
    answers = answers_to(rng, copies, _copy_cases(rng), _copies_call)
    decisions = [(case, as_bool(answer, "copies(scores, j)")) for case, answer in answers]
    limits = _limit_behind(decisions, _lead), _limit_behind(decisions, _weight)
    trials = Trials(_copy_mistakes)
    for (scores, j), yes in decisions:
        trials.add(yes, _weight(scores, j) > COPY, _fact_of_copy, scores, j, yes, *limits)

    trials.settle()
    alone = [(rng.normal(size=1).round(1), 0)]  # last: a rule about rivals has none here
    for case, answer in answers_to(rng, copies, alone, _copies_call):
        if not as_bool(answer, "copies(scores, j)"):
            raise NotYet(
                f"{_copies_call(*case)} is False, but a single key has all of the weight, and its value is "
                "the output."
            )
    return f"right on {len(trials)} score vectors, from two keys to ten thousand."


def _copies_call(scores, j):
    rest = "" if len(scores) < 6 else ", ..."
    return f"copies([{', '.join(f'{score:g}' for score in scores[:5])}{rest}], {j})"


def _weight(scores, j):
    return softmax(scores)[j]


def _fact_of_copy(scores, j, yes, margin, least_weight):
    weight = _weight(scores, j)
    return f"for {_shown(scores, j)} the weight on key j is {weight:.4g}, and you said {yes}"


def _shown(scores, j):
    """Return scores (n,) in words, where they are too many for a list."""
    rivals = np.delete(scores, j)
    if len(rivals) < 6:
        return f"scores {scores.tolist()} and j = {j}"
    best = rivals.max()
    near = np.count_nonzero(rivals > best - 20)
    others = f"all of them {best:g}" if np.ptp(rivals) == 0 else f"the highest of them {best:g}"
    if near < len(rivals):
        others += f" and only {near:,} within 20 of it"
    return f"a score of {scores[j]:g} and {len(rivals):,} others, {others},"


def _copy_cases(rng):
    """Draw [(scores, j)]: no lead decides whatever n is, and no lead and n decide whatever the rivals are."""
    told = [
        ([1000.0, 990.0, 990.0], 0),
        ([0.02, 0.0001, 0.0001], 0),
        ([-200.0, -100.0, -200.0], 1),
        ([300.0, 100.0, 100.0], 0),
        ([-0.1, 0.1, -0.1], 1),
        ([40.0, 40.0, 0.0], 1),
        ([5.0, 1.0, 30.0], 0),
        ([0.0, 0.0, 0.0, 25.0], 3),
        ([0.0, 12.0], 1),
        ([0.0, 1000.0], 0),  # the exponential of the difference overflows
        ([-3000.0, -10.0, 1000.0], 0),
    ]
    cases = [(np.array(scores), j) for scores, j in told]
    for n, leads in (
        (2, (9.25, 9.5)),
        (2, (1.15, 1.35)),  # more than three quarters
        (2, (37.5, 38.5)),  # the weight is rounded to 1
        (2001, (4, 6)),
        (2001, (16.85, 17.4)),  # to base two it would not be a copy
        (10_001, (9.6, 9.95)),
        (10_001, (39, 40)),  # it is not
        (10_001, (9.3, 9.9)),
    ):
        cases.append(_one_leads(rng, np.zeros(n), leads))

    for _ in range(4):
        rivals = round(np.exp(rng.uniform(1, 9)))
        tie = np.log(rivals)  # the lead at which one key weighs as much as all others
        for leads in ((tie - 1, tie - 0.05), (tie + 0.05, tie + 1.3), (tie + 9.3, tie + 10)):
            cases.append(_one_leads(rng, np.zeros(rivals + 1), leads))

    for n in (40, 1001, 10_001):
        for leads in ((-3, -1), (0.2, 1.3), (9.3, 9.6)):  # one near rival among many far ones
            scores = rng.uniform(-120, -60, n).round(1)
            scores[0] = 0.0
            cases.append(_one_leads(rng, rng.permutation(scores), leads))

    for leads in ((12, 20), (-9, -1)) * 3:
        scores = rng.normal(scale=20, size=rng.integers(2, 6))
        cases.append(_one_leads(rng, scores.round(1), leads))

    for height in (
        -30_000.0,
        30_007.5,
    ):  # far from 0, and differing by little; 16 bits round them apart
        for leads in ((0.6, 1.3), (10, 11)):
            cases.append(_one_leads(rng, np.full(3, height), leads))
    return cases


def _one_leads(rng, scores, leads):
    """Return these scores and an index j, whose score now leads all others by a number drawn from `leads`."""
    j = int(rng.integers(len(scores)))
    if len(scores) > 2 and scores[j] == scores.max() > np.delete(scores, j).max():
        j = (j + 1) % len(scores)  # the one near rival stays
    scores[j] = np.delete(scores, j).max() + round(rng.uniform(*leads), 2)
    return scores, j


def _lead(scores, j):
    """Return the lead of score j over the others; infinite if it is alone. scores: (n,)."""
    return scores[j] - np.delete(scores, j).max(initial=-np.inf)


def _limit_behind(decisions, measure):
    """Return a limit of measure(scores, j), above which all decisions are yes and below which no; or nan.

    decisions: [((scores, j), True or False), ...].
    """
    least = min((measure(*case) for case, yes in decisions if yes), default=np.inf)
    most = max((measure(*case) for case, yes in decisions if not yes), default=-np.inf)
    return (least + most) / 2 if least > most else np.nan


def _copy_mistakes(scores, j, yes, margin, least_weight):
    """Return the mistakes of 1.3. scores: (n,); margin, least_weight: a limit that decides alike, or nan."""
    n = len(scores)
    rival = np.delete(scores, j).max()
    weight = softmax(scores)[j]
    lead = _lead(scores, j)
    powers = np.exp(scores)  # overflows, as theirs does
    grows = yes in (lead > np.log(COPY / (1 - COPY) * n), lead > 2 * np.log(n))
    return {
        "it says yes every time": True,
        "it says no every time": False,
        "it says yes to whichever score is largest": scores.argmax() == j,
        "it says yes to every score that no other one exceeds": scores[j] == scores.max(),
        "it asks only for more than an equal share of the weight": weight > 1 / n,
        "it asks only for more than half of the weight": weight > 0.5,
        "it asks for a weight of exactly 1, which only rounding can give": weight == 1,
        "it compares scores by their ratio": scores[j] > 5 * rival > 0,
        "it only asks that the other scores be negative": rival < 0 < scores[j],
        "it only asks that score j be positive and largest": scores[j] == scores.max() > 0,
        "it looks at the first score instead of score j": softmax(scores)[0] > COPY,
        "the exponential of a large score overflows": powers[j] / powers.sum() > COPY,
        "with a lead of log(n) key j may weigh only as much as all others together": lead
        > np.log(n),
        "it asks for a lead that grows with log(n), as if all other keys scored as high as the best "
        "of them": Seen(grows),
        "it asks for more weight on key j than a copy needs: 0.9999 counts as almost 1": Seen(
            yes == (weight > least_weight > 0.999)
        ),
        "it asks for one margin, no matter how many rivals there are": Seen(yes == (lead > margin)),
    }


def query_copies(rng: Generator, copy_query: Caller) -> str:
    """1.4: at least 99% of the weight on key j, for keys that are only linearly independent."""
    answers = answers_to(rng, copy_query, _independent_keys(rng))
    one_key = (rng.normal(size=(1, 4)), 0)
    answers += answers_to(rng, copy_query, [one_key])  # last: any finite query copies it
    rows = []
    for (keys, j), answer in answers:
        n, d = keys.shape
        query = vector(answer, d, f"the query for n = {n}, j = {j}")
        judge_finite_scores(keys, query)
        rows.append((keys, j, query))

    rows.sort(
        key=lambda row: _query_lead(*row) > 0
    )  # a wrong direction is named before a short query
    factor = _lengthening_of(rows)
    trials = Trials(_query_mistakes)
    for keys, j, query in rows:
        weight = weights_of(keys, query)[j]
        trials.add(weight >= COPIED, True, _query_fact, keys, j, query, factor)
    trials.settle()
    lowest = min(weights_of(keys, query)[j] for keys, j, query in rows)
    return f"the smallest weight on key j over {len(trials)} sets of keys was {lowest:.4f}."


def _query_lead(keys, j, query):
    return _lead(keys @ query, j)


def _lengthening_of(rows):
    """Return the factor by which every query must be multiplied, None if a query has the wrong direction."""
    leads = [(len(keys), _query_lead(keys, j, query)) for keys, j, query in rows if len(keys) > 1]
    if not all(lead > 0 for _, lead in leads):
        return None
    return max(np.log(COPY / (1 - COPY) * (n - 1)) / max(lead, SMALL) for n, lead in leads)


def _independent_keys(rng):
    """Yield (keys, j): generic keys first, then keys that lean on each other, keys of very unequal
    length, keys one of which is key j four times over and more, keys that point away from key j,
    keys all of which are short or long, and at last many keys."""
    for n, d in ((4, 6), (8, 12), (5, 5), (2, 3)):
        j = int(rng.integers(n))
        generic = rng.normal(size=(n, d))
        yield generic, j
        yield generic + 4 * rng.normal(size=d), j
        lengths = np.geomspace(0.5, 8, n)
        rng.shuffle(lengths)
        yield generic * lengths[:, None], j
        for multiple in (4, -4):
            hidden = generic.copy()
            hidden[(j + 1) % n] += multiple * generic[j]
            yield hidden, j

    for size in (0.001, 1000):
        yield size * rng.normal(size=(6, 9)), int(rng.integers(6))
    yield rng.normal(size=(100, 120)), int(rng.integers(100))


@seen
def _query_mistakes(keys, j, query, factor):
    """Return the mistakes of 1.4. keys: (n, d); factor: by which right directions are too short, or None."""
    along = query / max(math.hypot(*query), SMALL)
    cosine = keys[j] @ along / np.linalg.norm(keys[j])
    return {
        "the query is zero, so every key gets the same weight": not query.any(),
        "right direction, but too short": factor is not None,
        "the query points along key j, but alignment alone is not enough": cosine > 0.999999,
    }


def _query_fact(keys, j, query, factor):
    """Return a clause on the factor that is missing or the key that wins. keys: (n, d); query: (d,)."""
    n = len(keys)
    scores = keys @ query
    weight = weights_of(keys, query)[j]
    lead = _lead(scores, j)
    if factor is not None:
        reached, _ = distinct_texts(weight, COPY, digits=2)
        return (
            f"the weight on key j is {reached} at n = {n}, because its score leads by only "
            f"{lead:.3g}: multiply the query by at least {round_up(factor)}"
        )
    lengths = np.linalg.norm(keys, axis=1)
    own = f"key j = {j} (length {lengths[j]:.2g}) scores {scores[j]:.3g}"
    best = np.delete(np.arange(n), j)[np.delete(scores, j).argmax()]
    return (
        f"{own} and key {best} (length {lengths[best]:.2g}) scores {scores[best]:.3g}, so the weight on "
        f"key j is {weight:.2g}"
    )


def bound_is_tight(rng: Generator, copy_error_bound: Caller) -> str:
    """1.5: never below a distance that attention really reaches, never above the largest one."""
    settings = [
        (1.0, 2, 1.0),
        (2.0, 10, 2.5),
        (5.0, 100, 0.5),
        (0.0, 4, 1.0),
        (12.0, 100_000, 1000.0),
        (25.0, 3, 1e4),
    ]
    settings += drawn_rows(rng, 20, (0.0, 12.0), (2, 500), (0.1, 9.0))
    trials = Trials(_bound_mistakes)
    for (gap, n, diameter), answer in answers_to(rng, copy_error_bound, settings):
        bound = number(answer, "the bound")
        reached = leftover(gap, n) * diameter  # all rivals `gap` lower, their values on one side
        word = "too small to be a bound" if bound < reached else "a bound, but not the tight one"
        farthest, stated = distinct_texts(reached, bound, digits=4)
        fact = (
            f"at gap = {gap:.3g}, n = {n}, diameter = {diameter:.3g} "
            f"the output can be as far as {farthest} from v_j, "
            f"and your {stated} is {word}"
        )
        trials.add(bound, reached, fact, gap, n, diameter)

    trials.settle()
    return f"equal to the largest distance that attention reaches, in {len(trials)} settings."


def _bound_mistakes(gap, n, diameter):
    left = leftover(gap, n)
    return {
        "the diameter is missing": left,
        "this counts one rival, whatever n is": leftover(gap, 2) * diameter,
        "key j is counted among its own rivals": leftover(gap, n + 1) * diameter,
        "this is the weight on v_j; the distance comes from the rest": (1 - left) * diameter,
        "true but not tight (the denominator is more than e^gap)": (
            (n - 1) * np.exp(-gap) * diameter
        ),
    }


def sharpness_is_smallest(rng: Generator, copy_sharpness: Caller) -> str:
    """1.6: the multiple t leaves epsilon elsewhere, and a slightly smaller one leaves more."""
    settings = [
        (10, 64, 0.01),
        (3, 4, 0.05),
        (2, 2, 0.1),
        (1000, 1024, 0.001),
        (16, 16, 0.2),
        (2, 5, 0.45),
        (40, 50, 0.95),
        (6, 6, 1e-9),
    ]
    settings += unseen_settings(rng)

    trials = Trials(_sharpness_mistakes, relative=1e-4)
    for (n, d, epsilon), answer in answers_to(rng, copy_sharpness, settings):
        t = number(answer, "t")
        left = leftover(t / np.sqrt(d), n)
        fact = f"at n = {n}, d = {d}, epsilon = {epsilon:.3g} {stays_elsewhere(t, left, epsilon)}"
        trials.add(left, epsilon, fact, n, d, epsilon, t)

    trials.settle()
    return f"the weight on the other keys is epsilon in {len(trials)} settings."


@seen
def _sharpness_mistakes(n, d, epsilon, t):
    """Return {another reading of the question: True if it leaves epsilon elsewhere at this t}."""

    def leaves(score: float, n: int) -> bool:
        return same(leftover(score, n), epsilon, relative=1e-3)

    score = t / np.sqrt(d)
    return {
        "the division of the scores by sqrt(d) is not taken into account": leaves(t, n),
        "it multiplies by d, but the scores are divided by sqrt(d)": leaves(t / d, n),
        "this counts one rival, whatever n is": leaves(score, 2),
        "key j is counted among its own rivals": leaves(score, n + 1),
        "epsilon is a share of all the weight, and not of the weight on key j": (
            same((n - 1) * np.exp(-score), epsilon, relative=1e-3)
        ),
    }


QUESTIONS = (
    Question(
        id="1.1",
        title="Weights from scores",
        minutes=13,
        parts=(
            Part("derive", ("sum_of_weights", "one_weight"), weights_are_distribution, points=0.5),
            Part("code", ("attention_weights",), weights_are_softmax, points=1),
        ),
        covers=("002 a.i",),
        hints=(
            "In the derivation: which letters in the sum change from term to term, and which do not?",
            "In the derivation: a factor in front of a sum is written `sp.Sum(term, (i, 1, n)) / factor`.",
            "In the derivation: which sign does an exponential have, and which sign a sum of exponentials? A "
            'line that is smaller is written `(">", expression, "reason")`.',
            "In code: add the same number to every score. What happens to the weights?",
            "In code: so you may shift all scores until the largest one is a number whose exponential cannot "
            "overflow.",
        ),
    ),
    Question(
        id="1.2",
        title="What the gap decides",
        minutes=10,
        parts=(Part("derive", ("at_least", "at_most"), weight_between, points=1),),
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
        minutes=7,
        parts=(Part("code", ("copies",), tells_copying, points=0.5),),
        covers=("000 a", "001 a", "002 a.ii", "003 1.1", "004 a"),
        hints=(
            "The word 'larger' can mean a ratio, a sign or a difference. On which of them do the "
            "weights depend?",
            "Two thousand small weights can be large together, but a key that scores far lower "
            "hardly counts.",
        ),
    ),
    Question(
        id="1.4",
        title="A query that copies",
        minutes=12,
        parts=(Part("code", ("copy_query",), query_copies, points=1),),
        covers=("000 a", "001 a", "003 1.1"),
        hints=(
            "The query has d numbers, and there are n scores. Which n scores would give almost all "
            "weight to key j?",
            "Once the scores are chosen, the query is the solution of a linear system.",
            "`numpy.linalg.lstsq` also solves a system with fewer equations than unknowns.",
        ),
    ),
    Question(
        id="1.5",
        title="How far from the copy",
        minutes=10,
        parts=(Part("code", ("copy_error_bound",), bound_is_tight, points=1),),
        covers=("002 a.iii",),
        hints=(
            "Write the output as v_j plus a correction. Which weights multiply the correction?",
            "When is the correction largest: which scores do the rivals have then, and where are "
            "their values?",
        ),
    ),
    Question(
        id="1.6",
        title="How sharp is sharp enough",
        minutes=8,
        parts=(Part("code", ("copy_sharpness",), sharpness_is_smallest, points=0.5),),
        covers=("003 1.1",),
        hints=(
            "With orthonormal keys, what are the n scores of the query t * k_j after the division?",
            "Set the weight of all other keys together equal to epsilon, and solve for the score first.",
        ),
    ),
    Question(
        id="1.7",
        title="In your own words",
        minutes=6,
        parts=(Part("written", points=0.5),),
        covers=("000 a", "001 a", "002 a.iv", "004 a"),
        hints=(
            "Your function in 1.3 decides whether a value is copied. Say in words what it compares.",
            "Does the condition mention the values at all? In 1.5, what do they change, and what do "
            "they not change?",
        ),
    ),
)
