"""Judges of 11.3 and 11.4, embeddings that are sines and cosines of a position.

They measure distances and shifts, in any order of the coordinates; they know nothing of queries and keys.
"""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, largest_gap, matrix, shuffled
from attn_course.answers.mistakes import (
    Seen,
    Trials,
)

BASE = 10_000.0
NEAR = 1e-4  # angles taken in float32 still pass


def frequencies(d: int, base: float) -> np.ndarray:
    """base ** (-2i / d) for i = 0 .. d/2 - 1.

    d: even. Returns (d/2,), from 1 downwards.
    """
    exponents = np.arange(0, d, 2) / d
    return float(base) ** -exponents


def is_off(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether two arrays of one shape differ by more than float32 explains, or hold a nan."""
    return not largest_gap(found, wanted) <= NEAR


# 11.3

SIZES = ((8, BASE), (6, 100.0))  # d and base
ANOTHER_LADDER = (
    "Your last wavelength is exactly 2π times the base; the formula above stops one step earlier."
)
ANOTHER_START = (
    "Your hands start elsewhere, by one angle for all positions; no distance depends on it."
)


def distances_are_those_of_a_clock(rng: Generator, sinusoid: Caller) -> str:
    """11.3: the Gram matrix is that of the formula, so any order, sign or start of the hands passes.

    Another ladder that is in use, from 1 to 1 / base in equal steps, passes with a remark.
    """
    cases = _cases(rng)
    found = [_embedding(sinusoid, *case) for case in cases]
    if all(map(_has_other_ladder, found, cases)):
        return f"inner products depend on the distance alone. {ANOTHER_LADDER}"

    one_hand = (cases[-1][0], 2, BASE)
    last = _embedding(sinusoid, *one_hand)
    cases.append(one_hand)
    found.append(last)

    trials = Trials(_wrong_products, relative=0, absolute=NEAR)
    for case, embedding in zip(cases, found, strict=True):
        positions, d, base = case
        products = embedding @ embedding.T
        right = _products(positions, frequencies(d, base))
        off = largest_gap(products, right)
        fact = f"inner products are off by up to {off:.2g} at d = {d}, base = {base:g}"
        trials.judge(products, right, fact, *case, products)

    remark = _remark_on_start(last[-1])
    return f"inner products depend on the distance as they should, for d = 8, 6 and 2.{remark}"


def _remark_on_start(embedding):
    """A sentence where position 0 with one hand is not a sine of 0 and a cosine of 0, up to signs."""
    sizes = np.sort(np.abs(embedding))
    starts_at_zero = not is_off(sizes, np.array([0.0, 1.0]))
    return "" if starts_at_zero else f" {ANOTHER_START}"


def _cases(rng):
    """[(positions, d, base), ...]: each size with positions in order, and with some that repeat."""
    early, late = rng.integers([3, 60], [9, 99])
    in_order = np.arange(41)
    mixed = np.array([early, late, early, 0])

    cases = []
    for d, base in shuffled(rng, SIZES):
        cases.append((in_order, d, base))
        cases.append((mixed, d, base))

    return cases


def _embedding(sinusoid, positions, d, base):
    """What sinusoid gives, (T, d)."""
    T = len(positions)
    value = sinusoid(positions, d, base)
    found = array(value, f"sinusoid(positions, {d}, {base:g})")
    if found.shape == (T, d // 2):
        raise NotYet(
            f"d/2 columns, {found.shape}: without its cosine a hand cannot tell forwards from backwards."
        )
    if found.shape != (T, d):
        raise NotYet(f"the shape is {found.shape}, expected {(T, d)}.")
    return found


def _has_other_ladder(embedding, case):
    """Whether its rates go from 1 to 1 / base in equal steps of their logarithm."""
    positions, d, base = case
    exponents = np.linspace(0, 1, d // 2)
    wanted = _products(positions, base**-exponents)
    found = embedding @ embedding.T
    return not is_off(found, wanted)


def _angles(positions, rates):
    """(T, d/2), where hands turn at these rates."""
    return np.multiply.outer(np.asarray(positions, float), rates)


def _products(positions, rates):
    """Inner products (T, T) of embeddings whose hands turn at these rates."""
    return _products_of(_angles(positions, rates))


def _products_of(angles):
    """Inner products (T, T) of the sines and cosines of these angles (T, d/2)."""
    sines = np.sin(angles)
    cosines = np.cos(angles)
    return sines @ sines.T + cosines @ cosines.T


def _wrong_products(positions, d, base, found):
    """{sentence: the inner products (T, T) of an embedding with this mistake}."""
    theta = frequencies(d, base)
    sines = np.sin(_angles(positions, theta))
    counted = np.arange(len(positions))
    floored_angles = positions[:, None] // (1 / theta)
    floored_factor = -np.log(base) / d // 2
    floored_rates = np.exp(np.arange(0, d, 2) * floored_factor)
    lengths = np.diag(found)
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
        "use the given positions: two that are equal must have equal embeddings": (
            _products(counted, theta)
        ),
        "floor division makes the angles integers": _products_of(floored_angles),
        "floor division rounds the exponent: `a / d // 2` is (a / d) // 2": (
            _products(positions, floored_rates)
        ),
        "sine and cosine of a pair need one frequency, else length depends on position": (
            Seen(not np.ptp(lengths) <= 1e-3)
        ),
    }


# 11.4

SHIFTS = ((3, 8), (-2, 6), (0, 4), (11, 2))  # k and d
PLACES = np.arange(20, 60)


def shift_is_a_matrix(rng: Generator, shift_matrix: Caller) -> str:
    """11.4: M e(p) = e(p + k) at positions 20 to 59."""
    trials = Trials(_wrong_shifts, relative=0, absolute=NEAR)
    drawn = int(rng.integers(4, 11))
    settings = [*SHIFTS, (drawn, 8)]
    for k, d in shuffled(rng, settings):
        now = _clock(PLACES, d).T
        right = _clock(PLACES + k, d).T

        shift = _shift(shift_matrix, k, d)
        found = shift @ now
        off = largest_gap(found, right)
        fact = f"M e(p) and e(p + j) differ by up to {off:.2g} (j = {k}, d = {d})"
        trials.add(found, right, fact, k, d, now, found)

    trials.settle()
    return f"M e(p) = e(p + j) for {len(trials)} shifts, forwards, backwards and by 0."


def _clock(positions, d):
    """Sine and cosine by turns, (T, d)."""
    theta = frequencies(d, BASE)
    angles = _angles(positions, theta)
    found = np.zeros((len(angles), d))
    found[:, 0::2] = np.sin(angles)
    found[:, 1::2] = np.cos(angles)
    return found


def _shift(shift_matrix, k, d):
    """What shift_matrix gives, (d, d)."""
    name = f"shift_matrix({k}, {d})"
    said = shift_matrix(k, d)
    value = array(said, name)
    if value.shape == (d,):
        raise NotYet(f"{name} is a vector, such as e({k}): a position, not a map of shape (d, d).")
    return matrix(value, (d, d), name)


def _wrong_shifts(k, d, now, found):
    """{sentence: what a matrix with this mistake makes of the embeddings `now` (d, T)}."""
    right = _blocks(k, d)
    (embedding,) = _clock([k], d)
    wrong = {
        "it moves back, M e(p) = e(p - j), as the transpose of M does": right.T,
        "right for the other layout; here sine and cosine alternate": _in_halves(right),
        "this shifts by one, whatever j": _blocks(1, d),
        "a diagonal of e(j) stretches coordinates; sine and cosine have to be mixed": (
            np.diag(embedding)
        ),
        "`eye` with an offset shifts coordinates, not positions": np.eye(d, k=k),
        "a rotation needs its minus: one of the two sines": _blocks(k, d, sign=1.0),
        "both sines have lost their sign": np.abs(right),
    }
    table = {sentence: way @ now for sentence, way in wrong.items()}
    slow = "the first hand moves as it should and slower ones do not, as with another base"
    table[slow] = Seen(_is_first_hand_right(found, right @ now))
    return table


def _blocks(k, d, sign=-1.0):
    """The matrix (d, d) that turns each (sine, cosine) by k times its frequency.

    sign: of the sine below the diagonal.
    """
    angles = k * frequencies(d, BASE)
    cos = np.cos(angles)
    sin = np.sin(angles)
    first = np.arange(0, d, 2)
    second = first + 1

    found = np.zeros((d, d))
    found[first, first] = cos
    found[first, second] = sin
    found[second, first] = sign * sin
    found[second, second] = cos
    return found


def _in_halves(blocks):
    """The same map (d, d) where all sines come first and then all cosines."""
    pairs = np.arange(len(blocks)).reshape(-1, 2)
    order = pairs.T.ravel()
    return blocks[np.ix_(order, order)]


def _is_first_hand_right(found, right):
    """Whether embeddings (d, T) have the first pair right and every pair of length one."""
    if is_off(found[:2], right[:2]):
        return False
    sines = found[0::2]
    cosines = found[1::2]
    lengths = np.hypot(sines, cosines)
    return not is_off(lengths, np.ones_like(lengths))
