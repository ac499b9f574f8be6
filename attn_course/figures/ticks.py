"""Limits and ticks of an axis, by matplotlib's own rules."""

import numpy as np
from matplotlib import rcParams, ticker
from numpy.typing import ArrayLike

# How many ticks fit: matplotlib allows a label of x three times its height, one of y twice.
_ROOM = {"x": 3, "y": 2}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
        self.is_log = False

    def scaled(self, values: ArrayLike) -> np.ndarray:
        """Numbers as the axis spaces them; on a logarithmic one nan stands for what is not above 0."""
        numbers = np.asarray(values, float)
        if not self.is_log:
            return numbers
        above = np.where(numbers > 0, numbers, np.nan)
        return np.log10(above)

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
        if self.is_log:
            return self._automatic_log()
        lowest = min(self.data)
        highest = max(self.data)
        low, high = ticker.AutoLocator().nonsingular(lowest, highest)
        span = high - low
        margin = span * self._margin()
        slack = 1e-5 * span
        below = [edge for edge in self.sticky if edge <= low + slack]
        above = [edge for edge in self.sticky if edge >= high - slack]
        floor = max(below, default=-np.inf)
        ceiling = min(above, default=np.inf)
        return (
            max(low - margin, floor),
            min(high + margin, ceiling),
        )

    def _automatic_log(self):
        """The span of the data and a margin, in powers of ten."""
        low = min(self.data)
        high = max(self.data)
        if not 0 < low < high:
            raise NotInScene("a logarithmic axis of numbers that are not above 0")
        powers = np.log10(high / low)
        factor = 10 ** (self._margin() * powers)
        return float(low / factor), float(high * factor)

    def _margin(self):
        """The share of the span that is left free at either end."""
        return rcParams[f"axes.{self.name}margin"]

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
        locator = ticker.LogLocator() if self.is_log else ticker.AutoLocator()
        locator.axis = self
        return np.asarray(locator.tick_values(low, high))

    def _written(self, places):
        """Labels by matplotlib's own formatter."""
        if self.is_log:
            return self._written_powers(places)
        formatter = ticker.ScalarFormatter()
        formatter.axis = self
        labels = formatter.format_ticks(places)
        if formatter.get_offset():
            raise NotInScene("an axis whose numbers share a power of ten")
        return labels

    def _written_powers(self, places):
        """Powers of ten as 10², the way matplotlib sets them where the axis spans several."""
        low, high = sorted(self.limits())
        if high / low < 100:
            raise NotInScene("a logarithmic axis of less than two powers of ten")
        exponents = np.log10(places).round().astype(int)
        return [f"10{str(exponent).translate(_RAISED)}" for exponent in exponents]

    # What matplotlib's locators and formatters ask of an axis.

    def get_tick_space(self) -> int:
        """How many ticks fit."""
        size = rcParams[f"{self.name}tick.labelsize"]
        room = size * _ROOM[self.name]
        return int(self.points / room)

    def get_view_interval(self) -> tuple[float, float]:
        """The limits."""
        return self.limits()
