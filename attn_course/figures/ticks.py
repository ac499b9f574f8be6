"""Limits and ticks of an axis, by matplotlib's own rules. Knows numbers, not pictures."""

import numpy as np
from matplotlib import rcParams, ticker
from numpy.typing import ArrayLike

# How many ticks fit: matplotlib allows a label of x three times its height, one of y twice.
_ROOM = {"x": 3, "y": 2}


class NotInScene(Exception):
    """Something a scene cannot draw, in a few words; matplotlib draws it instead."""


class Axis:
    """One direction of a panel: what its data span, what it shows, where its ticks are."""

    def __init__(self, name: str, points: float):
        """name: "x" or "y"; points: its length on the page, in points."""
        self.name = name
        self.points = points
        self.data: list[float] = []
        self.sticky: list[float] = []
        self.manual: tuple[float, float] | None = None
        self.fixed_ticks: np.ndarray | None = None
        self.fixed_labels: list[str] | None = None
        self.inverted = False

    def include(self, values: ArrayLike) -> None:
        """Let the limits hold these numbers."""
        numbers = np.asarray(values, float)
        numbers = numbers[np.isfinite(numbers)]
        if numbers.size:
            self.data += [float(numbers.min()), float(numbers.max())]

    def limits(self) -> tuple[float, float]:
        """(from, to) as drawn: to < from where the axis is inverted."""
        if self.manual is not None:
            return self.manual
        low, high = self._automatic()
        ticks = self.fixed_ticks
        if ticks is not None and ticks.size:
            low = min(low, float(ticks.min()))
            high = max(high, float(ticks.max()))
        if self.inverted:
            return high, low
        return low, high

    def _automatic(self):
        """The span of the data and a margin, which no sticky edge lets pass."""
        if not self.data:
            return 0.0, 1.0
        lowest = min(self.data)
        highest = max(self.data)
        low, high = ticker.AutoLocator().nonsingular(lowest, highest)
        span = high - low
        margin = span * rcParams[f"axes.{self.name}margin"]
        slack = 1e-5 * span
        below = [edge for edge in self.sticky if edge <= low + slack]
        above = [edge for edge in self.sticky if edge >= high - slack]
        floor = max(below, default=-np.inf)
        ceiling = min(above, default=np.inf)
        return (
            max(low - margin, floor),
            min(high + margin, ceiling),
        )

    def ticks(self) -> tuple[np.ndarray, list[str]]:
        """Places and labels of the ticks within the limits."""
        low, high = sorted(self.limits())
        if self.fixed_ticks is not None:
            places = self.fixed_ticks
            labels = self.fixed_labels
        else:
            places = self._automatic_ticks(low, high)
            labels = None
        if labels is None:
            labels = self._written(places)
        slack = 1e-9 * (high - low)
        seen = (places >= low - slack) & (places <= high + slack)
        shown = [labels[k] for k in np.flatnonzero(seen)]
        return places[seen], shown

    def _automatic_ticks(self, low, high):
        """Where matplotlib's own locator puts ticks."""
        locator = ticker.AutoLocator()
        locator.axis = self
        return np.asarray(locator.tick_values(low, high))

    def _written(self, places):
        """Labels by matplotlib's own formatter."""
        formatter = ticker.ScalarFormatter()
        formatter.axis = self
        labels = formatter.format_ticks(places)
        if formatter.get_offset():
            raise NotInScene("an axis whose numbers share a power of ten")
        return labels

    # What matplotlib's locators and formatters ask of an axis.

    def get_tick_space(self) -> int:
        """How many ticks fit."""
        size = rcParams[f"{self.name}tick.labelsize"]
        return int(np.floor(self.points / (size * _ROOM[self.name])))

    def get_view_interval(self) -> tuple[float, float]:
        """The limits."""
        return self.limits()
