"""Judges of 11.5, 11.6 and 11.7, queries and keys that are turned by their positions.

They measure what a rotation does to vectors, in any pairing of the coordinates and either sense.
"""

from functools import cache, partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, matrix, shuffled, two, vector
from attn_course.answers.mistakes import Trials
from attn_course.drivers import call_with_rotation, make_rotation
from attn_course.questions.sinusoids import BASE, frequencies, is_off
from attn_course.register import Claim, Claims, chains_prove
from attn_utils.kernels import softmax

# 11.5, the chain


@cache
def claims_of_11_5() -> Claims:
    """The claim of 11.5: the product of two rotated pairs depends on delta = p_q - p_k alone."""
    import sympy as sp

    q1, q2, k1, k2 = sp.symbols("q_1 q_2 k_1 k_2", real=True)
    theta, p_q, p_k, delta = sp.symbols("theta p_q p_k delta", real=True)

    q_first, q_second = _rotated_pair(q1, q2, p_q * theta)
    k_first, k_second = _rotated_pair(k1, k2, p_k * theta)
    inner = q1 * k1 + q2 * k2
    cross = q1 * k2 - q2 * k1
    angle = delta * theta
    score = Claim(
        name="`score`",
        start=q_first * k_first + q_second * k_second,
        goal=inner * sp.cos(angle) + cross * sp.sin(angle),
        symbols=(q1, q2, k1, k2, theta, p_q, p_k, delta),
        where={p_q: p_k + delta},
        only=(q1, q2, k1, k2, theta, delta),
    )
    return (score,)


def _rotated_pair(first, second, angle):
    """Two coordinates, rotated by an angle, in SymPy."""
    import sympy as sp

    cos = sp.cos(angle)
    sin = sp.sin(angle)
    return first * cos - second * sin, first * sin + second * cos


score_is_relative = chains_prove(
    claims_of_11_5, "the score depends on the two positions through their difference alone."
)


# 11.5, the function

SIZES = ((8, BASE), (6, 100.0), (2, BASE))  # d and base
ROW = "row i must be turned by positions[i]"


def rotations_are_by_position(rng: Generator, rotate: Caller) -> str:
    """11.5: linear, keeps lengths, composes, leaves position 0, has the frequencies."""
    for d, base in shuffled(rng, SIZES):
        try:
            _judge_rotation(rng, rotate, d, base)
        except NotYet as error:
            raise NotYet(f"{error} (d = {d:g}, base = {base:g})") from None

    return "a rotation by position times frequency, for d = 8, 6 and 2, in a pairing of your own."


def _judge_rotation(rng, rotate, d, base):
    """All that makes it a rotation by position times frequency, in any pairing and sense."""
    theta = frequencies(d, base)
    late = int(rng.integers(20, 40))
    positions = (0, 1, 7, 2, late)
    x = rng.normal(size=(5, d))
    _judge_linear(rotate, x, positions, base)

    at = {}
    for p in (0, 1, 2, 3, 7, late):
        at[p] = _matrix_at(rotate, p, d, base)
    _judge_matrices(at, theta)

    batch = rng.normal(size=(3, 5, 5, d))
    turned = _turned(rotate, batch, positions, base)
    for i, p in enumerate(positions):
        found = turned[:, :, i]
        wanted = batch[:, :, i] @ at[p].T
        if is_off(found, wanted):
            raise NotYet(f"{ROW}, counted along the last axis but one.")

    _judge_frequencies(at[1], theta)


def _judge_linear(rotate, x, positions, base):
    """Twice x, (T, d), is turned into twice as much."""
    once = _turned(rotate, x, positions, base)
    twice = _turned(rotate, 2 * x, positions, base)
    if is_off(twice, 2 * once):
        raise NotYet(
            "twice the vector should give twice the result; a rotation multiplies and adds nothing."
        )


def _turned(rotate, x, positions, base):
    """What rotate gives, of the shape of x."""
    found = rotate(x, np.asarray(positions), base)
    return matrix(found, x.shape, f"rotate of an array {x.shape}")


def _matrix_at(rotate, position, d, base):
    """The matrix (d, d) by which a column is turned at this position, measured on unit vectors."""
    units = np.eye(d)[:, None]  # (d, 1, d)
    rows = _turned(rotate, units, [position], base)
    return rows.squeeze(1).T


def _judge_matrices(at, theta):
    """at: {position: matrix} for 0 to 3; a rotation by position times some frequencies."""
    still = np.eye(len(at[0]))
    if not is_off(at[1], at[0]):
        raise NotYet(f"{ROW}: position 1 turns no more than position 0.")

    if is_off(at[1].T @ at[1], still):
        sizes = np.linalg.svd(at[1], compute_uv=False)
        why = _why_lengths_change(sizes, theta)
        raise NotYet(
            f"{why}: at position 1 lengths are multiplied by {sizes.min():.2f} to {sizes.max():.2f}."
        )

    if is_off(at[0], still):
        if not is_off(np.sort(at[0]), np.sort(still)):
            raise NotYet(
                "at position 0 the coordinates come out in another order: pairs are read as neighbours and "
                "written as halves, or the other way round."
            )
        raise NotYet(
            "position 0 must stay as it is, and yours turns; the scores are still right. Do your positions "
            "start at 1?"
        )
    if is_off(at[1] @ at[2], at[3]):
        raise NotYet("turning by 1 and then by 2 is not turning by 3.")


def _why_lengths_change(sizes, theta):
    """The known mistake that stretches vectors by these singular values (d,)."""
    cos = np.cos(theta)
    sin = np.sin(theta)
    known = {
        "that is no rotation: one sine needs a minus": np.r_[cos + sin, cos - sin],
        "half of the rotation is missing: there is a cosine and no sine": np.r_[cos, cos],
        "half of the rotation is missing: there is a sine and no cosine": np.r_[sin, sin],
    }

    found = np.sort(sizes)
    for sentence, wrong in known.items():
        stretched = np.sort(np.abs(wrong))
        if not is_off(stretched, found):
            return sentence

    return (
        "lengths change: the two coordinates of a pair are turned by different angles, or the first is "
        "overwritten before the second has been computed"
    )


def _judge_frequencies(turned_by_one, theta):
    """Each frequency is the angle of two eigenvalues of the matrix at position 1."""
    eigenvalues = np.linalg.eigvals(turned_by_one)
    angles = np.angle(eigenvalues)
    found = np.sort(np.abs(angles))
    twice = np.repeat(theta, 2)

    if is_off(found, np.sort(twice)):
        said = _listed(found[::-2])
        right = _listed(theta)
        raise NotYet(f"frequencies are {said}, expected {right}.")


def _listed(values):
    """Numbers in a sentence."""
    return ", ".join(f"{value:.3g}" for value in values)


# 11.6

LENGTH = 24
ENOUGH = 0.99
SETTINGS = (
    ("neighbours", 16, BASE),
    ("halves", 16, BASE),
    ("clockwise", 10, 100.0),
    ("slowest first", 16, BASE),
)


def each_looks_back(rng: Generator, look_back: Caller) -> str:
    """11.6: in any layout, every token puts 99% of its causal attention on the token r back."""
    far = int(rng.integers(8, 13))
    cases = [(*setting, r) for setting in SETTINGS for r in (0, 1, 3, 7, far)]
    for layout, d, base, r in shuffled(rng, cases):
        pairs = _pairings(d)[layout]
        answer = look_back.via(call_with_rotation, r, d, pairs, base)
        q, k = _query_and_key(answer, d)

        rotate = make_rotation(pairs, base)
        least = _least_weight(q, k, rotate, r)
        if not least >= ENOUGH:
            why = _why_not_back(q, k, rotate, r)
            setting = f"r = {r}, d = {d}, base = {base:g}; the least weight is {least:.3f}"
            raise NotYet(f"{why} ({setting}).")

    return (
        f"at least 99% on the token r back at every position, in {len(cases)} cases, four layouts."
    )


def _pairings(d):
    """{layout: pairs (d/2, 2)}, the pair that turns fastest first."""
    features = np.arange(d)
    neighbours = features.reshape(-1, 2)
    halves = features.reshape(2, -1)
    return {
        "neighbours": neighbours,
        "clockwise": neighbours[:, ::-1],
        "slowest first": neighbours[::-1],
        "halves": halves.T,
    }


def _query_and_key(pair, d):
    """Two vectors (d,)."""
    query, key = two(pair, "look_back should return a query and a key.")
    return vector(query, d, "the query"), vector(key, d, "the key")


def _least_weight(q, k, rotate, r):
    """The smallest weight that any token puts on the token r back."""
    positions = np.arange(LENGTH)
    queries = rotate(q, positions)
    keys = rotate(k, positions)
    scores = queries @ keys.T / len(q) ** 0.5

    past = np.tri(LENGTH, dtype=bool)
    seen = np.where(past, scores, -np.inf)
    weights = softmax(seen)
    return weights.diagonal(-r).min()


def _why_not_back(q, k, rotate, r):
    """Where the last query looks, if it is not the token r back."""
    last = LENGTH - 1
    places = np.arange(2 * LENGTH)  # as many again that the mask hides
    query = rotate(q, last)
    keys = rotate(k, places)
    scores = keys @ query / len(q) ** 0.5

    seen = scores[:LENGTH]
    looks = last - seen.argmax()
    flees = last - seen.argmin()
    if not np.ptp(seen) > 1e-9:
        return "the query or the key is zero, and every token is seen equally: uniform weights"
    if r > 0 and scores.argmax() == last + r:
        return f"it looks {looks} back: its peak is {r} ahead, which the mask hides"
    if looks == r and _leaves_out_fast_pairs(q, k, rotate):
        return (
            "right token, too little weight: only coordinates that turn slowly are used, and which ones turn "
            "fast depends on the layout, which is unknown"
        )
    if looks == r:
        weight = softmax(seen).max()
        return f"right token, weight {weight:.3f}: a longer query makes it sharper"
    if flees == r:
        return f"the token {r} back has the lowest score of all, not the highest; mind the sign"
    if looks == 2 * r:
        return f"it looks {looks} back, twice too far: turn the query or the key, not both"
    return f"it looks {looks} back, where {r} back is asked for"


def _leaves_out_fast_pairs(q, k, rotate):
    """Whether turning by one position hardly changes the score of the two vectors."""
    before = rotate(q, 0) @ rotate(k, 0)
    after = rotate(q, 1) @ rotate(k, 0)
    return abs(after - before) < 0.01 * np.linalg.norm(q) * np.linalg.norm(k)


# 11.7


def frequencies_are_extended(rng: Generator, interpolated: Caller, ntk_aware: Caller) -> str:
    """11.7: all pairs slower by the factor; or one ladder whose first pair is kept, its last one slower."""
    answers = {"interpolated": interpolated, "ntk_aware": ntk_aware}
    trials = {name: Trials(partial(_wrong_ladders, name)) for name in answers}
    for d, base, factor in _ladder_settings(rng):
        for name, answer in answers.items():
            call = f"{name}({d}, {base:g}, {factor:g})"
            found = vector(answer(d, base, factor), d // 2, call)
            right = _extended(d, base, factor)[name]
            ends = f"{_listed(found[[0, -1]])}, expected {_listed(right[[0, -1]])}"
            fact = f"the first and last frequency of {call} are {ends}"
            trials[name].judge(found, right, fact, d, base, factor)

    return (
        "interpolation slows every pair down alike; the NTK-aware base keeps the fastest pair and slows the "
        f"slowest by the whole factor, in {len(trials['ntk_aware'])} settings."
    )


def _ladder_settings(rng):
    """(d, base, factor): a usual one, then others in any order; a factor of 1 changes nothing."""
    factor = float(rng.uniform(1.2, 9))
    others = [
        (4, 100.0, 3.0),
        (10, 1000.0, 2.0),
        (16, BASE, 1.0),
        (64, 500_000.0, 8.0),
        (8, 50.0, factor),
    ]
    return [(32, BASE, 4.0), *shuffled(rng, others)]


def _extended(d, base, factor):
    """{name: frequencies (d / 2,)}."""
    ratio = factor ** (d / (d - 2))
    return {
        "interpolated": frequencies(d, base) / factor,
        "ntk_aware": frequencies(d, base * ratio),
    }


def _wrong_ladders(name, d, base, factor):
    """{sentence: frequencies (d / 2,)} for one of the two functions."""
    others = _extended(d, base, factor)
    del others[name]
    (other,) = others.values()
    plain = frequencies(d, base)
    wrong = {
        "these are the frequencies as they were": plain,
        "this is what the other function should return": other,
    }
    if name == "interpolated":
        return wrong | {"every pair turns faster, not slower": plain * factor}

    return wrong | {
        "the base is multiplied by the factor itself, so that the slowest pair slows down by less": (
            frequencies(d, base * factor)
        ),
        "the exponent of the factor is upside down": frequencies(d, base * factor ** ((d - 2) / d)),
        "the base became smaller, so that slow pairs turn faster": (
            frequencies(d, base / factor ** (d / (d - 2)))
        ),
        "the exponent of the factor is d / 2, far too large": frequencies(
            d, base * factor ** (d / 2)
        ),
    }
