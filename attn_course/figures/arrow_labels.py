"""Places for the names of arrows, none on another name or on an arrow."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

_SIDE = 193  # points, the side of a square panel
_LETTER = 5.6  # points, the width of a letter of nine points
_HEIGHT = 11.0  # points
_DISTANCES = (8.0, 17.0, 28.0)  # points from the tip, the nearest first
_ANGLES = np.arange(8) * np.pi / 4
_SIDES = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)  # (8, 2)
_ALONG = np.linspace(0.15, 1.0, 12)  # shares of an arrow that a name should not cover
_ON_A_NAME = 4  # a name on another is worse than one that covers this many points of arrows
_OUTSIDE = 5  # a name that leaves the panel is worse than one that covers this many others


def shifts_of_names(names: Sequence[str], ends: ArrayLike, limit: float) -> np.ndarray:
    """Return how far the middle of each name is from the tip of its arrow, (n, 2), in points.

    ends: (n, 2), where the arrows from the origin end. limit: the panel goes from -limit to limit.
    """
    tips = np.asarray(ends, float) * _SIDE / (2 * limit)
    arrows = tips[:, None] * _ALONG[:, None]  # (n, 12, 2)
    points = arrows.reshape(-1, 2)
    taken: list[np.ndarray] = []
    middles = []
    for name, tip in zip(names, tips, strict=True):
        half = np.array([_LETTER * len(name), _HEIGHT]) / 2
        places = _candidates(tip, half)
        boxes = [np.array([place - half, place + half]) for place in places]
        costs = [_cost(box, points, taken) for box in boxes]
        best = int(np.argmin(costs))
        taken.append(boxes[best])
        middles.append(places[best])
    return np.array(middles) - tips


def _candidates(tip, half):
    """Return places for the middle of a name around the tip, the outer ones first. half: half its size."""
    away = _SIDES @ tip
    order = np.argsort(-away, kind="stable")
    for_width = np.array([half[0], 0.0])
    middles = []
    for distance in _DISTANCES:
        for side in _SIDES[order]:
            middles.append(tip + side * (for_width + distance))
    return middles


def _cost(box, points, taken):
    """Return how much a name hides. box: (2, 2), its low and its high corner; points: (m, 2)."""
    low, high = box
    is_inside = (points > low) & (points < high)  # (m, 2)
    cost = int(is_inside.all(1).sum())
    for other_low, other_high in taken:
        if (low <= other_high).all() and (high >= other_low).all():
            cost += _ON_A_NAME
    if np.abs(box).max() > _SIDE / 2:
        cost += _OUTSIDE
    return cost
