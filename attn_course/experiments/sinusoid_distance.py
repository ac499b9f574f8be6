"""The distance of two positions in sines and cosines, in closed form."""

import numpy as np
from numpy.typing import ArrayLike

BASE = 10_000.0


def frequencies(d: int, base: float = BASE) -> np.ndarray:
    """Return the angle by which each pair of coordinates turns at each step, (d / 2,)."""
    return base ** (-np.arange(0, d, 2) / d)


def hand(positions: ArrayLike, pair: int, d: int) -> np.ndarray:
    """Return sine and cosine of one pair of coordinates at positions (T,): (T, 2)."""
    angles = np.asarray(positions) * frequencies(d)[pair]
    return np.stack([np.sin(angles), np.cos(angles)], -1)


def distance(steps: ArrayLike, d: int, base: float = BASE) -> np.ndarray:
    """Return the distance of e(p) from e(p + steps), the same for every p.

    steps: (n,). d: the number of coordinates, even; pair i turns by base ** (-2i / d) a step. Returns (n,).
    """
    angles = np.multiply.outer(np.asarray(steps), frequencies(d, base))  # (n, d/2)
    chords = 2 * np.sin(angles / 2)  # of each hand, (n, d/2)
    return np.linalg.norm(chords, axis=-1)


def closest(d: int, most: int) -> tuple[int, float]:
    """Return the number of steps, 1 to `most`, after which e is closest to where it was, and how close."""
    apart = distance(np.arange(1, most + 1), d)
    best = int(apart.argmin())
    return best + 1, float(apart[best])


def closer_and_closer(most: int) -> list[int]:
    """Return the numbers of steps, up to `most`, after which one hand comes closer than after any fewer."""
    apart = distance(np.arange(1, most + 1), 2)
    record = np.minimum.accumulate(apart)  # (most,)
    is_closer = np.diff(record, prepend=np.inf) < 0
    return (np.flatnonzero(is_closer) + 1).tolist()
