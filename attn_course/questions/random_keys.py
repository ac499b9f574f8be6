"""Random keys and the weights a query gives them, for the judges of 01-05."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import NotYet
from attn_course.answers.mistakes import distinct_texts, round_up
from attn_utils.kernels import softmax

ROUNDING = 64 * np.finfo(float).eps
LIMIT = 0.02 + 1e-6  # L1 error of an average: at most 1% of the weight is left elsewhere
SIZES = (
    (8, 12),
    (20, 24),
    (5, 5),
    (3, 6),
    (3, 3),
    (2, 2),
    (100, 110),
)  # (n, d), generic ones first
MANY = 50  # keys, of which one draw is enough


def orthonormal_rows(rng: Generator, n: int, d: int) -> np.ndarray:
    """Draw n orthonormal vectors of width d, one a row, uniform over all such sets. Returns (n, d)."""
    basis, upper = np.linalg.qr(rng.normal(size=(d, n)))
    return (basis * np.sign(np.diag(upper))).T


def keys_and_pairs(
    rng: Generator, sizes: Iterable[tuple[int, int]] = SIZES, repeats: int = 3
) -> Iterator[tuple[np.ndarray, int, int]]:
    """Yield (keys, a, b): orthonormal keys (n, d), and two different indices in either order.

    Generic sizes come first, so that a mistake is described where it shows best; the edge cases at
    the end (n = d, n = 3, n = 2, many keys) are there to accept, not to explain.
    """
    for n, d in sizes:
        for _ in range(repeats if n < MANY else 1):
            a, b = rng.choice(n, 2, replace=False)
            yield orthonormal_rows(rng, n, d), int(a), int(b)


def weights_of(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return attention weights (..., n) of one query (d,) over keys (..., n, d), at any size of the query.

    Scores that differ by no more than rounding can explain count as equal, so that a tie at height
    1e15 is still a tie; working with the query at size one keeps 1e300 from overflowing.
    """
    size = np.abs(query).max()
    if size == 0:
        return np.full(keys.shape[:-1], 1 / keys.shape[-2])
    unit = query / size
    scores = keys @ unit
    gaps = scores - scores.max(-1, keepdims=True)
    largest_score = np.linalg.norm(unit) * np.linalg.norm(keys, axis=-1).max()
    slack = ROUNDING * largest_score * np.sqrt(len(query))
    with np.errstate(over="ignore"):
        scaled = np.where(gaps >= -slack, 0.0, gaps * size)
    return softmax(scaled)


def judge_finite_scores(keys: np.ndarray, query: np.ndarray, name: str = "this query") -> None:
    """Raise NotYet if a score is beyond what a computer holds: attention would return nan."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = keys @ query
    if not np.isfinite(scores).all():
        raise NotYet(f"the scores of {name} overflow, and attention would return nan: shorten it.")


def leftover(height: float, n: int, leaders: int = 1) -> float:
    """Return the weight outside `leaders` keys that score `height`, where the other n - leaders score 0."""
    others = n - leaders
    with np.errstate(over="ignore"):  # then nothing is left
        return others / (others + leaders * np.exp(height))


def stays_elsewhere(t: float, left: float, epsilon: float) -> str:
    """Return a clause on a query of this size: how much weight stays on the other keys, how much may."""
    word = "larger than it need be" if left < epsilon else "too small"
    stays, allowed = distinct_texts(100 * left, 100 * epsilon)
    return (
        f"your t = {t:.4g} is {word}: {stays}% of the weight stays on the other keys, and "
        f"{allowed}% may"
    )


def error_of_average(weights: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return the L1 distance (...) of weights (..., n) from one half on a and b each.

    It is the worst distance of the output from the average over all values of length at most one.
    """
    target = np.zeros(weights.shape[-1])
    target[[a, b]] = 0.5
    return np.abs(weights - target).sum(-1)


def average_error(keys: np.ndarray, queries: Iterable[np.ndarray], a: int, b: int) -> np.ndarray:
    """Return the L1 error (...) of the weights over keys (..., n, d), averaged over the heads.

    queries: (d,) for each head.
    """
    heads = [weights_of(keys, query) for query in queries]
    return error_of_average(np.mean(heads, axis=0), a, b)


def lengthening_needed(rows: Sequence[tuple[np.ndarray, np.ndarray, int, int]]) -> float | None:
    """Return the factor, in two digits, that makes every query long enough; None if no factor does.

    rows: (keys, queries (heads, d), a, b) for every case that was drawn.
    """
    factors = []
    for row in rows:
        factor = factor_needed(partial(_error_if_longer, row), LIMIT)
        if factor is None:
            return None
        factors.append(factor)
    advice = float(round_up(max(factors)))
    return advice if all(_error_if_longer(row, advice) <= LIMIT for row in rows) else None


def _error_if_longer(row, factor):
    keys, queries, a, b = row
    return average_error(keys, factor * queries, a, b)


def factor_needed(error_at: Callable[[float], Any], limit: float) -> float | None:
    """Return the smallest factor >= 1 with error_at(factor) <= limit, or None if even a million fails.

    error_at: how wrong an answer is when multiplied by a factor; taken to fall as the factor grows.
    """
    low = 1.0
    high = 1e6
    if not error_at(high) <= limit:
        return None
    for _ in range(40):
        middle = np.sqrt(low * high)
        if error_at(middle) <= limit:
            high = middle
        else:
            low = middle
    return high


def noise_for(*queries: np.ndarray) -> float:
    """Return a key variance so small that it moves any score of these queries by about 1e-3.

    Zero for queries so long (1e9) that such noise would be lost in rounding.
    """
    longest = max(float(np.linalg.norm(query)) for query in queries)
    if longest > 1e9:
        return 0.0
    return (1e-3 / max(longest, 1.0)) ** 2


def noisy_keys(rng: Generator, means: np.ndarray, num_samples: int, noise: float) -> np.ndarray:
    """Draw all keys around their means (n, d), with variance `noise` in every coordinate.

    Returns (num_samples, n, d).
    """
    return means + np.sqrt(noise) * rng.normal(size=(num_samples, *means.shape))


def keys_of_lengths(
    rng: Generator, means: np.ndarray, lengths: np.ndarray, noise: float
) -> np.ndarray:
    """Return draws (num_draws, n, d) of keys along their means (n, d), of these lengths (num_draws, n).

    noise: the variance that every coordinate has besides.
    """
    lying = noisy_keys(rng, np.zeros_like(means), len(lengths), noise)
    return lengths[..., None] * means + lying


def keys_with_one_noisy(
    rng: Generator, means: np.ndarray, a: int, num_draws: int, noise: float
) -> np.ndarray:
    """Return draws as `keys_of_lengths` does; only the length of key a varies, with variance one half."""
    lengths = np.ones((num_draws, len(means)))
    lengths[:, [a]] = spread_lengths(num_draws, 1, variance=0.5)
    return keys_of_lengths(rng, means, lengths, noise)


def spread_lengths(num_draws: int, num_keys: int, variance: float) -> np.ndarray:
    """Return lengths (num_draws, num_keys) of keys, N(1, variance) at evenly spread probabilities.

    Each key has them in an order of its own, the same at every call: how often something happens, and
    with it a verdict, does not depend on luck.
    """
    law = NormalDist(1, variance**0.5)
    column = [law.inv_cdf((k + 0.5) / num_draws) for k in range(num_draws)]
    shuffle = np.random.default_rng(num_keys).permutation
    return np.transpose([shuffle(column) for _ in range(num_keys)])


def drawn_rows(rng: Generator, count: int, *ranges: tuple[float, float]) -> list[tuple]:
    """Draw rows with a number from each range: a whole one where both ends are, and below the second."""
    return [tuple(_drawn_between(rng, *ends) for ends in ranges) for _ in range(count)]


def _drawn_between(rng, low, high):
    if isinstance(low, int) and isinstance(high, int):
        return int(rng.integers(low, high))
    return float(rng.uniform(low, high))


def unseen_settings(rng: Generator) -> list[tuple[int, int, float]]:
    """Draw three (n, d, epsilon), at most d keys and a small epsilon, so that no table of answers helps."""
    rows = drawn_rows(rng, 3, (3, 60), (0, 200), (0.001, 0.3))
    return [(n, n + more, epsilon) for n, more, epsilon in rows]
