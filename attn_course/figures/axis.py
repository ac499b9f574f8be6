"""One direction of a panel: its limits, and ticks at round numbers."""

import math

import numpy as np
from numpy.typing import ArrayLike

_MARGIN = 0.05  # of the data's span, left free at either end of an axis
_TICK_SPACE = {"x": 46, "y": 36}  # pixels between two ticks at least
_MOST_TICKS = 9
_STEPS = (1, 2, 2.5, 5, 10)  # times a power of ten
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Ticks = tuple[list[float], list[str]]  # places and labels


class Axis:
    """One direction of a panel: its label, what it includes, its limits and ticks."""

    def __init__(self, direction: str, pixels: float):
        """Make an axis. direction: "x" or "y"; pixels: its length, which decides how many ticks it has."""
        space = _TICK_SPACE[direction]
        self.most_ticks = int(np.clip(pixels / space, 2, _MOST_TICKS))
        self.label = ""
        self.is_log = False
        self.has_grid = True
        self.is_slanted = False  # the labels of its ticks
        self.starts_at_zero = False  # no margin below or above 0, where bars stand
        self.margin = _MARGIN
        self.ends: tuple[float, float] | None = None  # limits that were asked for
        self._included: list[float] = []
        self._ticks: Ticks | None = None

    def include(self, values: ArrayLike) -> None:
        """Make the limits wide enough for these numbers."""
        numbers = np.asarray(values, float)
        numbers = numbers[np.isfinite(numbers)]
        if numbers.size:
            self._included += [float(numbers.min()), float(numbers.max())]

    def set_ticks(self, places: ArrayLike, labels: list | None = None) -> None:
        """Set ticks at these places, with labels or with their numbers."""
        numbers = np.asarray(places, float).tolist()
        if labels is None:
            labels = [number_text(number) for number in numbers]
        self._ticks = numbers, [str(label) for label in labels]
        self.include(numbers)

    def limits(self) -> tuple[float, float]:
        """Return (from, to); from > to if the axis is reversed. Limits that were set apply if they differ."""
        if self.ends is not None:
            first, second = self.ends
            if np.isfinite(self.ends).all() and first != second:
                return float(first), float(second)
        numbers = np.array(self._included or [0.0, 1.0])
        if self.is_log:
            positive = numbers[numbers > 0]
            numbers = np.log10(positive) if positive.size else np.array([0.0, 1.0])
        low = numbers.min()
        high = numbers.max()
        if high - low < 1e-12 * max(1, abs(high)):
            low, high = low - 0.5, high + 0.5
        margin = self.margin * (high - low)
        touches_zero = self.starts_at_zero and not self.is_log
        low -= 0 if touches_zero and low == 0 else margin
        high += 0 if touches_zero and high == 0 else margin
        if self.is_log:
            return float(10**low), float(10**high)
        return float(low), float(high)

    def ticks(self) -> Ticks:
        """Return the places and labels of the ticks within the limits."""
        low, high = sorted(self.limits())
        if self._ticks is None:
            find = log_ticks if self.is_log else linear_ticks
            return find(low, high, self.most_ticks)
        slack = 1e-9 * (high - low)
        pairs = zip(*self._ticks, strict=True)
        seen = [pair for pair in pairs if low - slack <= pair[0] <= high + slack]
        return [value for value, _ in seen], [label for _, label in seen]

    def shares(self, values: ArrayLike) -> np.ndarray:
        """Return where numbers lie between the first limit (0) and the second (1); nan if there is no log."""
        numbers = np.asarray(values, float)
        first, second = self.limits()
        if self.is_log:
            numbers = np.log10(np.where(numbers > 0, numbers, np.nan))
            first, second = math.log10(first), math.log10(second)
        return (numbers - first) / (second - first)


def linear_ticks(low: float, high: float, most: int) -> Ticks:
    """Return multiples of the smallest round step of which at most `most` + 1 are between low and high."""
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    for factor in _STEPS:
        step = power * factor
        first = np.ceil(low / step - 1e-9)
        last = np.floor(high / step + 1e-9)
        if last - first <= most:
            break
    places = step * np.arange(first, last + 1) + 0.0  # no -0
    return places.tolist(), _same_digits(places, step)


def log_ticks(low: float, high: float, most: int) -> Ticks:
    """Return powers of ten, or 1, 2 and 5 times these if the axis spans fewer than two."""
    first = int(np.ceil(np.log10(low) - 1e-9))
    last = int(np.floor(np.log10(high) + 1e-9))
    if last - first >= 1:
        stride = (last - first) // most + 1
        exponents = range(first, last + 1, stride)
        places = [10.0**exponent for exponent in exponents]
        return places, [f"10{str(exponent).translate(_SUPERSCRIPTS)}" for exponent in exponents]

    places = []
    for exponent in range(first - 1, last + 1):
        for step in (1, 2, 5):
            value = step * 10.0**exponent
            if low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
                places.append(value)
    return places, [number_text(value) for value in places]


def number_text(number: float) -> str:
    """Return a number as text without superfluous digits."""
    return f"{number:g}".replace("-", "−")


def _same_digits(places, step):
    """Return multiples of a step as text, all with as many digits after the point as the step needs."""
    if step >= 1e6 or step < 1e-4:
        return [number_text(value) for value in places]
    digits = next(count for count in range(8) if np.isclose(step, round(step, count), rtol=1e-6))
    labels = [f"{value:.{digits}f}" for value in places]
    return [label.replace("-", "−") for label in labels]
