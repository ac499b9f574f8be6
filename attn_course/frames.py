"""Random keys and the weights a query gives them, for the judges of 01-05; knows no question."""

import numpy as np

from attn_utils.kernels import softmax

SIZES = ((8, 12), (20, 24), (5, 5), (3, 6), (3, 3), (2, 2))  # (n, d), generic ones first


def frame(rng, n, d):
    """n orthonormal vectors of width d, one a row, uniform over all such frames. Returns (n, d)."""
    basis, upper = np.linalg.qr(rng.normal(size=(d, n)))
    return (basis * np.sign(np.diag(upper))).T


def frames(rng, sizes=SIZES, repeats=3):
    """Yield (keys, a, b): orthonormal keys (n, d), and two different indices in either order.

    Generic sizes come first, so that a mistake is described where it shows best; the edge cases at
    the end (n = d, n = 3, n = 2) are there to accept, not to explain.
    """
    for n, d in sizes:
        for _ in range(repeats):
            a, b = map(int, rng.choice(n, 2, replace=False))
            yield frame(rng, n, d), a, b


def weights_of(keys, query):
    """Attention weights (..., n) of one query (d,) over keys (..., n, d), at any size of the query.

    Scores that differ by no more than rounding can explain count as equal, so that a tie at height
    1e15 is still a tie; working with the query at size one keeps 1e300 from overflowing.
    """
    size = np.abs(query).max()
    if size == 0:
        return np.full(keys.shape[:-1], 1 / keys.shape[-2])
    unit = query / size
    gaps = keys @ unit
    gaps -= gaps.max(-1, keepdims=True)
    longest = np.linalg.norm(keys, axis=-1).max()
    slack = 64 * np.finfo(float).eps * np.linalg.norm(unit) * longest * np.sqrt(len(query))
    with np.errstate(over="ignore"):
        return softmax(np.where(gaps >= -slack, 0.0, gaps * size))


def error_of_average(weights, a, b):
    """L1 distance (...) of weights (..., n) from one half on a and b each.

    It is the worst distance of the output from the average over all values of length at most one.
    """
    target = np.zeros(weights.shape[-1])
    target[[a, b]] = 0.5
    return np.abs(weights - target).sum(-1)


def factor_needed(error_at, limit, largest=1e6):
    """The smallest factor >= 1 with error_at(factor) <= limit, or None if even `largest` fails.

    error_at: how wrong an answer is when multiplied by a factor; taken to fall as the factor grows.
    """
    low, high = 1.0, largest
    if error_at(high) > limit:
        return None
    for _ in range(40):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if error_at(middle) <= limit else (middle, high)
    return high


def noise_for(*queries):
    """A key variance so small that it moves any score of these queries by about 1e-3.

    Zero for queries so long (1e9) that such noise would be lost in rounding.
    """
    longest = max(np.linalg.norm(query) for query in queries)
    return 0.0 if longest > 1e9 else (1e-3 / max(longest, 1.0)) ** 2


def noisy_keys(rng, means, num_samples, noise):
    """Draws of all keys around their means (n, d), variance `noise` in every coordinate.

    Returns (num_samples, n, d).
    """
    return means + np.sqrt(noise) * rng.normal(size=(num_samples, *means.shape))


def keys_of_random_length(rng, means, a, num_samples, noise, *, variance=0.5):
    """Draws as in `noisy_keys`, in which key a has variance `variance` along its mean as well.

    a: an index, or several, or slice(None) for every key. Returns (num_samples, n, d).
    """
    lengths = np.ones((num_samples, len(means), 1))
    lengths[:, a] += np.sqrt(variance) * rng.normal(size=lengths[:, a].shape)
    return lengths * means + noisy_keys(rng, np.zeros_like(means), num_samples, noise)


def unseen_settings(rng):
    """Three (n, d, epsilon) with at most d keys and a small epsilon, so that no table of answers helps."""
    sizes = [int(n) for n in rng.integers(3, 60, 3)]
    return [(n, n + int(rng.integers(200)), float(rng.uniform(0.001, 0.3))) for n in sizes]
