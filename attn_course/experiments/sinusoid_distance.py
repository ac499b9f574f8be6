"""How far apart sines and cosines put two positions, in closed form."""

import numpy as np
from numpy.typing import ArrayLike


def hand(positions: ArrayLike, pair: int, d: int, base: float = 10_000.0) -> np.ndarray:
    """Sine and cosine of one pair of coordinates at positions (T,): (T, 2)."""
    angles = np.asarray(positions) * _rates(d, base)[pair]
    return np.stack([np.sin(angles), np.cos(angles)], -1)


def distance(steps: ArrayLike, d: int, base: float = 10_000.0) -> np.ndarray:
    """The distance of e(p) from e(p + steps), the same for every p.

    steps: (n,). d: the number of coordinates, even; pair i turns by base ** (-2i / d) a step. Returns (n,).
    """
    rates = _rates(d, base)
    angles = np.multiply.outer(np.asarray(steps), rates)  # (n, d/2)
    chords = 2 * np.sin(angles / 2)  # of each hand, (n, d/2)
    return np.linalg.norm(chords, axis=-1)


def _rates(d, base):
    """By how much each of the d/2 pairs turns a step."""
    return base ** (-np.arange(0, d, 2) / d)


def closest(d: int, most: int) -> tuple[int, float]:
    """The number of steps from 1 to `most` after which e comes closest to where it was, and how close."""
    steps = np.arange(1, most + 1)
    apart = distance(steps, d)
    best = apart.argmin()
    nearest = int(steps[best])
    how_far = float(apart[best])
    return nearest, how_far


def closer_and_closer(most: int) -> list[int]:
    """The numbers of steps, up to `most`, after which one hand comes closer than after any fewer."""
    apart = distance(np.arange(1, most + 1), 2)
    found = []
    record = np.inf
    for steps, far in enumerate(apart, start=1):
        if far < record:
            found.append(steps)
            record = far

    return found
