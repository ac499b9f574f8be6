"""Judges of 12.3-12.7, positions as angles: sines and cosines of them, and queries and keys turned by them.

They measure distances, shifts and what a rotation does to vectors, in any order or pairing of the
coordinates and either sense.
"""

from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import (
    Caller,
    NotYet,
    array,
    as_pair,
    judge_separately,
    largest_gap,
    matrix,
    shuffled,
    vector,
)
from attn_course.answers.mistakes import Seen, Trials, distinct_texts
from attn_course.drivers import call_with_rotation, make_rotation
from attn_course.register import Claim, Claims, chains_prove
from attn_utils import kernels

BASE = 10_000.0
NEAR = 1e-4  # angles taken in float32 still pass
SLIGHT = 2e-3  # what float16 may be off by


def frequencies(d: int, base: float) -> np.ndarray:
    """Return base ** (-2i / d) for i = 0 .. d/2 - 1.

    d: even. Returns (d/2,), from 1 downwards.
    """
    exponents = np.arange(0, d, 2) / d
    return float(base) ** -exponents


def is_off(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Return True if two arrays of one shape differ by more than float32 explains, or hold a nan."""
    return not largest_gap(found, wanted) <= NEAR


# 12.3

CLOCKS = ((8, BASE), (6, 100.0))  # d and base
ANOTHER_LADDER = (
    "Your last wavelength is exactly 2π times the base; the formula above stops one step earlier."
)
ANOTHER_START = (
    "Your hands start elsewhere, by one angle for all positions; no distance depends on it."
)


def distances_are_those_of_a_clock(rng: Generator, sinusoid: Caller) -> str:
    """12.3: the Gram matrix is that of the formula, so any order, sign or start of the hands passes.

    Another ladder that is in use, from 1 to 1 / base in equal steps, passes with a remark.
    """
    early, late = rng.integers([3, 60], [9, 99])
    far = 2 * int(rng.integers(256, 500)) + 1  # odd: bfloat16 rounds it; beyond a table of 512
    farther = 2 * int(rng.integers(1024, 1100)) + 1  # float16 rounds it
    mixed = np.array([early, late, far, early, 0])
    others = np.array([late, 0, early, far, farther])  # as many, so that no result fits both
    cases = []  # positions in order, and some that repeat
    for d, base in shuffled(rng, CLOCKS):
        cases += [(np.arange(40), d, base), (mixed, d, base), (others, d, base)]

    embeddings = [_embedding(sinusoid, *case) for case in cases]
    if all(map(_has_other_ladder, embeddings, cases)):
        return f"inner products depend on the distance alone. {ANOTHER_LADDER}"

    one_hand = (mixed, 2, BASE)
    cases.append(one_hand)
    embeddings.append(_embedding(sinusoid, *one_hand))

    trials = Trials(_wrong_products, relative=0, absolute=NEAR)
    for case, embedding in zip(cases, embeddings, strict=True):
        positions, d, base = case
        products = embedding @ embedding.T
        right = _products(positions, frequencies(d, base))
        off = largest_gap(products, right)
        fact = f"inner products are off by up to {off:.2g} at d = {d}, base = {base:g}"
        trials.require(products, right, fact, *case, products)

    at_zero = np.sort(np.abs(embedding[-1]))  # a sine of 0 and a cosine of 0, up to signs
    remark = f" {ANOTHER_START}" if is_off(at_zero, np.array([0.0, 1.0])) else ""
    return f"inner products depend on the distance as they should, for d = 8, 6 and 2.{remark}"


def _embedding(sinusoid, positions, d, base):
    """Return the embeddings that `sinusoid` gives, (T, d)."""
    T = len(positions)
    embedding = array(sinusoid(positions, d, base), f"sinusoid(positions, {d}, {base:g})")
    if embedding.shape == (T, d // 2):
        raise NotYet(
            f"d/2 columns, {embedding.shape}: without its cosine a hand cannot tell forwards from backwards."
        )
    if embedding.shape != (T, d):
        raise NotYet(f"the shape is {embedding.shape}, expected {(T, d)}.")
    return embedding


def _has_other_ladder(embedding, case):
    """Return True if the rates go from 1 to 1 / base in equal steps of their logarithm."""
    positions, d, base = case
    products = _products(positions, base ** -np.linspace(0, 1, d // 2))
    return not is_off(embedding @ embedding.T, products)


def _angles(positions, rates):
    """Return the angles (T, d/2) of hands that turn at these rates."""
    return np.multiply.outer(positions, rates)


def _products(positions, rates):
    """Return the inner products (T, T) of embeddings whose hands turn at these rates."""
    return _products_of(_angles(positions, rates))


def _products_of(angles):
    """Return the inner products (T, T) of the sines and cosines of these angles (T, d/2)."""
    sines = np.sin(angles)
    cosines = np.cos(angles)
    return sines @ sines.T + cosines @ cosines.T


def _as_bfloat16(positions):
    """Return the positions, rounded to the eight binary digits of bfloat16."""
    step = 2.0 ** np.maximum(np.floor(np.log2(np.maximum(positions, 1))) - 7, 0)
    return np.round(positions / step) * step


def _wrong_products(positions, d, base, found):
    theta = frequencies(d, base)
    sines = np.sin(_angles(positions, theta))
    cosines = np.cos(_angles(positions, theta))
    floored_rates = np.exp(np.arange(0, d, 2) * (-np.log(base) / d // 2))
    return {
        "the exponent is doubled, so that at d = 8 the last hand moves 1000 times too slowly": (
            _products(positions, theta**2)
        ),
        "the exponent is halved: only half of the range of wavelengths is used": (
            _products(positions, theta**0.5)
        ),
        "sign of the exponent: hands should slow down, these speed up": (
            _products(positions, 1 / theta)
        ),
        "these are the hands of base 10,000; use the base that is given": (
            _products(positions, frequencies(d, BASE))
        ),
        "without its cosine a hand cannot tell forwards from backwards": 2 * sines @ sines.T,
        "without its sine a hand cannot tell forwards from backwards": 2 * cosines @ cosines.T,
        "large positions are rounded: bfloat16 holds no odd number above 256": (
            _products(_as_bfloat16(positions), theta)
        ),
        "large positions are rounded: float16 holds no odd number above 2048": (
            _products(np.float64(np.float16(positions)), theta)
        ),
        "use the given positions: two that are equal must have equal embeddings": (
            _products(np.arange(len(positions)), theta)
        ),
        "floor division makes the angles integers": _products_of(positions[:, None] // (1 / theta)),
        "floor division rounds the exponent: `a / d // 2` is (a / d) // 2": (
            _products(positions, floored_rates)
        ),
        "sine and cosine of a pair need one frequency, else length depends on position": (
            Seen(not np.ptp(np.diag(found)) <= 0.1)  # rounding changes lengths less
        ),
    }


# 12.4

SHIFTS = ((3, 8), (-2, 6), (0, 4), (11, 2))  # k and d
PLACES = np.arange(20, 60)


def shift_is_a_matrix(rng: Generator, shift_matrix: Caller) -> str:
    """12.4: M e(p) = e(p + k) at positions 20 to 59."""
    trials = Trials(_wrong_shifts, relative=0, absolute=NEAR)
    drawn = int(rng.integers(4, 11))
    for k, d in shuffled(rng, [*SHIFTS, (drawn, 8)]):
        name = f"shift_matrix({k}, {d})"
        value = array(shift_matrix(k, d), name)
        if value.shape == (d,):
            raise NotYet(
                f"{name} is a vector, such as e({k}): a position, not a map of shape (d, d)."
            )
        now = _clock(PLACES, d).T
        right = _clock(PLACES + k, d).T
        moved = matrix(value, (d, d), name) @ now
        off = largest_gap(moved, right)
        fact = f"M e(p) and e(p + j) differ by up to {off:.2g} (j = {k}, d = {d})"
        trials.add(moved, right, fact, k, d, now, moved)

    trials.settle()
    return f"M e(p) = e(p + j) for {len(trials)} shifts, forwards, backwards and by 0."


def _clock(positions, d):
    """Return sine and cosine by turns, (T, d)."""
    angles = _angles(positions, frequencies(d, BASE))
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(-1, d)


def _wrong_shifts(k, d, now, found):
    right = kernels.rotate(np.eye(d), k, BASE)  # in rows: (sine, cosine) turn the other way
    (embedding,) = _clock([k], d)
    halves = np.arange(d).reshape(-1, 2).T.ravel()  # all sines first, then all cosines
    wrong = {
        "it moves back, M e(p) = e(p - j), as the transpose of M does": right.T,
        "right for the other layout; here sine and cosine alternate": right[np.ix_(halves, halves)],
        "this shifts by one, whatever j": kernels.rotate(np.eye(d), 1, BASE),
        "a diagonal of e(j) stretches coordinates; sine and cosine have to be mixed": (
            np.diag(embedding)
        ),
        "`eye` with an offset shifts coordinates, not positions": np.eye(d, k=k),
        "a rotation needs its minus: one of the two sines": np.triu(right) - np.tril(right, -1),
        "both sines have lost their sign": np.abs(right),
    }
    lengths = np.hypot(found[0::2], found[1::2])
    first_is_right = not is_off(found[:2], right[:2] @ now)
    all_turn = not is_off(lengths, np.ones_like(lengths))
    return {sentence: way @ now for sentence, way in wrong.items()} | {
        "the first hand moves as it should and slower ones do not, as with another base": (
            Seen(first_is_right and all_turn)
        )
    }


# 12.5, the chain


@chains_prove("the score depends on the two positions through their difference alone.")
def score_is_relative() -> Claims:
    """Return the claim of 12.5: the product of two rotated pairs depends on delta = p_q - p_k alone."""
    import sympy as sp

    q1, q2, k1, k2 = sp.symbols("q_1 q_2 k_1 k_2", real=True)
    theta, p_q, p_k, delta = sp.symbols("theta p_q p_k delta", real=True)

    def rotated(first, second, angle):
        cos = sp.cos(angle)
        sin = sp.sin(angle)
        return sp.Matrix([first * cos - second * sin, first * sin + second * cos])

    inner = q1 * k1 + q2 * k2
    cross = q1 * k2 - q2 * k1
    angle = delta * theta
    cos = sp.cos(angle)
    sin = sp.sin(angle)
    score = Claim(
        name="`score`",
        start=rotated(q1, q2, p_q * theta).dot(rotated(k1, k2, p_k * theta)),
        goal=inner * cos + cross * sin,
        symbols=(q1, q2, k1, k2, theta, p_q, p_k, delta),
        where={p_q: p_k + delta},
        only=(q1, q2, k1, k2, theta, delta),
        slips={
            "the sine has the wrong sign": inner * cos - cross * sin,
            "the term with the sine is missing": inner * cos,
            "the term with the cosine is missing": cross * sin,
            "sine and cosine are exchanged": inner * sin + cross * cos,
            "theta is lost": inner * sp.cos(delta) + cross * sp.sin(delta),
            "the angles are added, but their difference counts": (
                inner * sp.cos((p_q + p_k) * theta) + cross * sp.sin((p_q + p_k) * theta)
            ),
            "q_1 k_1 and q_2 k_2 are added, not subtracted": (
                (q1 * k1 - q2 * k2) * cos + cross * sin
            ),
            "q_2 k_1 is subtracted, not added": inner * cos + (q1 * k2 + q2 * k1) * sin,
        },
    )
    return (score,)


# 12.5, the function

SIZES = ((8, BASE), (6, 100.0), (2, BASE))  # d and base
ROW = "row i must be turned by positions[i]"


def rotations_are_by_position(rng: Generator, rotate: Caller) -> str:
    """12.5: linear, keeps lengths, composes, leaves position 0, has the frequencies."""
    for d, base in shuffled(rng, SIZES):
        try:
            _judge_rotation(rng, rotate, d, base)
        except NotYet as error:
            raise NotYet(f"{error} (d = {d:g}, base = {base:g})") from None

    return "a rotation by position times frequency, for d = 8, 6 and 2, in a pairing of your own."


def _judge_rotation(rng, rotate, d, base):
    """Raise NotYet unless it is a rotation by position times frequency, in any pairing and direction."""
    theta = frequencies(d, base)
    late = 2 * int(rng.integers(256, 300)) + 1  # odd: bfloat16 rounds it; beyond a table of 512
    positions = (0, 1, 7, 2, late)

    def turned(x, positions):
        vectors = rotate(x, np.asarray(positions), base)
        return matrix(vectors, x.shape, f"rotate of an array {x.shape}")

    x = rng.normal(size=(5, d))
    once = turned(x, positions)
    twice = turned(2 * x, positions)
    if is_off(twice, 2 * once):
        raise NotYet(
            "twice the vector should give twice the result; a rotation multiplies and adds nothing."
        )

    units = np.eye(d)[:, None]  # (d, 1, d)
    at = {p: turned(units, [p]).squeeze(1).T for p in (0, 1, 2, 3, 7, late)}
    _judge_matrices(at, theta)

    batch = rng.normal(size=(3, 5, 5, d))
    turned_batch = turned(batch, positions)
    for i, p in enumerate(positions):
        if is_off(turned_batch[:, :, i], batch[:, :, i] @ at[p].T):
            raise NotYet(f"{ROW}, counted along the last axis but one.")

    angles = np.angle(np.linalg.eigvals(at[1]))  # each frequency belongs to two eigenvalues
    rates = np.sort(np.abs(angles))
    if is_off(rates, np.sort(np.repeat(theta, 2))):
        raise NotYet(f"frequencies are {_listed(rates[::-2])}, expected {_listed(theta)}.")


def _judge_matrices(at, theta):
    """Raise NotYet unless the matrices rotate by their position times some frequencies."""
    still = np.eye(len(at[0]))
    if not is_off(at[1], at[0]):
        raise NotYet(f"{ROW}: position 1 turns no more than position 0.")

    if is_off(at[1].T @ at[1], still):
        sizes = np.linalg.svd(at[1], compute_uv=False)
        why = _why_lengths_change(sizes, theta)
        least, most = f"{sizes.min():.2f}", f"{sizes.max():.2f}"
        factor = least if least == most else f"{least} to {most}"
        raise NotYet(f"{why}: at position 1 lengths are multiplied by {factor}.", mistake=why)

    if is_off(at[0], still):
        if not is_off(np.sort(at[0]), np.sort(still)):
            raise NotYet(
                "at position 0 the coordinates come out in another order: pairs are read as neighbours and "
                "written as halves, or the other way round."
            )
        if not is_off(at[0] @ at[0], still):
            raise NotYet(
                "position 0 must stay as it is, and yours turns the sign of some coordinates: the minus "
                "belongs to one of the two sines, and to no cosine."
            )
        raise NotYet(
            "position 0 must stay as it is, and yours turns; the scores are still right. Do your positions "
            "start at 1?"
        )
    if is_off(at[1] @ at[2], at[3]):
        raise NotYet("turning by 1 and then by 2 is not turning by 3.")
    late = max(at)
    if is_off(at[late], np.linalg.matrix_power(at[1], late)):
        raise NotYet(
            f"position {late} is not {late} turns by 1: are large positions rounded? bfloat16 holds no odd "
            "number above 256."
        )


def _why_lengths_change(sizes, theta):
    """Return the known mistake that stretches vectors by these singular values (d,)."""
    cos = np.cos(theta)
    sin = np.sin(theta)
    if np.abs(sizes - 1).max() < SLIGHT:
        return "the numbers are rounded: use floats of 32 or 64 bits"
    mistakes = {
        "that is no rotation: one sine needs a minus": np.r_[cos + sin, cos - sin],
        "half of the rotation is missing: there is a cosine and no sine": np.r_[cos, cos],
        "half of the rotation is missing: there is a sine and no cosine": np.r_[sin, sin],
    }

    for sentence, wrong in mistakes.items():
        if not is_off(np.sort(np.abs(wrong)), np.sort(sizes)):
            return sentence
    if not is_off(sizes, np.full_like(sizes, sizes.mean())):
        return "all vectors are stretched or shrunk alike; a rotation keeps their lengths"
    if not sizes.min() > NEAR:
        return "some coordinates are lost; each pair gives two new coordinates"
    return (
        "lengths change: the two coordinates of a pair are turned by different angles, or the first is "
        "overwritten before the second has been computed"
    )


def _listed(values):
    return ", ".join(f"{value:.3g}" for value in values)


# 12.6

LENGTH = 24
ENOUGH = 0.99
LAYOUTS = {  # of features (d,) -> pairs (d/2, 2), the pair that turns fastest first
    "neighbours": lambda features: features.reshape(-1, 2),
    "halves": lambda features: features.reshape(2, -1).T,
    "clockwise": lambda features: features.reshape(-1, 2)[:, ::-1],
    "slowest first": lambda features: features.reshape(-1, 2)[::-1],
}
SETTINGS = (
    ("neighbours", 16, BASE),
    ("halves", 16, BASE),
    ("clockwise", 10, 100.0),
    ("slowest first", 16, BASE),
)


def each_looks_back(rng: Generator, look_back: Caller) -> str:
    """12.6: in any layout, every token puts 99% of its causal attention on the token r back."""
    far = int(rng.integers(8, 13))
    usual = (*SETTINGS[0], 3)  # first: here 2r, r + 1 and r - 1 are different distances
    others = [(*setting, r) for setting in SETTINGS for r in (0, 1, 3, 7, far)]
    cases = [usual, *others]
    for layout, d, base, r in [usual, *shuffled(rng, others)]:
        pairs = LAYOUTS[layout](np.arange(d))
        answer = look_back.run_driver(call_with_rotation, r, d, pairs, base)
        query, key = as_pair(answer, "look_back should return a query and a key.")
        q = vector(query, d, "the query")
        k = vector(key, d, "the key")

        rotate = make_rotation(pairs, base)
        least = _least_weight(q, k, rotate, r)
        if not least >= ENOUGH:
            why = _why_not_back(q, k, rotate, r)
            setting = f"r = {r}, d = {d}, base = {base:g}; the least weight is {least:.3f}"
            raise NotYet(f"{why} ({setting}).")

    return (
        f"at least 99% on the token r back at every position, in {len(cases)} cases, four layouts."
    )


def _least_weight(q, k, rotate, r):
    """Return the least weight that a token puts on the token r back, where there is one."""
    places = np.arange(LENGTH)
    _, weights = kernels.attend(
        rotate(q, places), rotate(k, places), np.zeros((LENGTH, 1)), causal=True
    )
    return weights.diagonal(-r).min()


def _why_not_back(q, k, rotate, r):
    """Return a clause on where the last query looks instead of the token r back."""
    last = LENGTH - 1
    keys = rotate(k, np.arange(2 * LENGTH))  # as many again that the mask hides
    scores = keys @ rotate(q, last) / len(q) ** 0.5
    seen = scores[:LENGTH]
    looks = last - seen.argmax()
    flees = last - seen.argmin()
    if not np.ptp(seen) > 1e-9:
        return "the query or the key is zero, and every token is seen equally: uniform weights"
    if r > 0 and scores.argmax() == last + r:
        return f"it looks {looks} back: its peak is {r} ahead, which the mask hides"
    change = (rotate(q, 1) - rotate(q, 0)) @ rotate(k, 0)
    is_long_enough = _least_weight(10 * q, k, rotate, r) >= ENOUGH  # ten times as long
    is_slow = abs(change) < 0.01 * np.linalg.norm(q) * np.linalg.norm(k)
    if looks == r and is_slow and not is_long_enough:
        return (
            "right token, too little weight: only coordinates that turn slowly are used, and which ones turn "
            "fast depends on the layout, which is unknown"
        )
    if looks == r:
        weight = kernels.softmax(seen).max()
        return f"right token, weight {weight:.3f}: a longer query makes it sharper"
    if flees == r:
        return f"the token {r} back has the lowest score of all, not the highest; mind the sign"
    if looks == 2 * r:
        return f"it looks {looks} back, twice too far: turn the query or the key, not both"
    return f"it looks {looks} back, where {r} back is asked for"


# 12.7

LADDERS = (  # d, base, factor: a usual one first; a factor of 1 changes nothing
    (32, BASE, 4.0),
    (4, 100.0, 3.0),
    (10, 1000.0, 2.0),
    (16, BASE, 1.0),
    (64, 500_000.0, 8.0),
)


def frequencies_are_extended(rng: Generator, interpolated: Caller, ntk_aware: Caller) -> str:
    """12.7: all pairs slower by the factor; or one ladder whose first pair is kept, its last one slower."""
    drawn = (8, 50.0, float(rng.uniform(1.2, 9)))
    settings = [LADDERS[0], *shuffled(rng, [*LADDERS[1:], drawn])]

    def judge_ladder(name: str, answer: Caller, clause: str) -> str:
        trials = Trials(partial(_wrong_ladders, name))
        for d, base, factor in settings:
            call = f"{name}({d}, {base:g}, {factor:g})"
            theta = vector(answer(d, base, factor), d // 2, call)
            right = _extended(d, base, factor)[name]
            worst = int(np.abs(theta / right - 1).argmax())
            one, other = distinct_texts(theta[worst], right[worst])
            fact = f"frequency {worst} of {call} is {one}, expected {other}"
            trials.require(theta, right, fact, d, base, factor)
        return f"{clause}, in {len(trials)} settings."

    slower = "Interpolation slows every pair down alike"
    kept = "The NTK-aware base keeps the fastest pair and slows the slowest by the whole factor"
    return judge_separately(
        {
            "interpolated": partial(judge_ladder, "interpolated", interpolated, slower),
            "ntk_aware": partial(judge_ladder, "ntk_aware", ntk_aware, kept),
        }
    )


def _extended(d, base, factor):
    """Return {name: frequencies (d / 2,)}."""
    return {
        "interpolated": frequencies(d, base) / factor,
        "ntk_aware": frequencies(d, base * factor ** (d / (d - 2))),
    }


def _wrong_ladders(name, d, base, factor):
    """Return {sentence: frequencies (d / 2,)} for one of the two functions."""
    right = _extended(d, base, factor)
    plain = frequencies(d, base)
    wrong = {"these are the frequencies as they were": plain}
    other = "this is what the other function should return"
    if name == "interpolated":
        return wrong | {
            other: right["ntk_aware"],
            "every pair turns faster, not slower": plain * factor,
        }

    return wrong | {
        other: right["interpolated"],
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
