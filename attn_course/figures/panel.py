"""Figures and their panels: marks, axes, title, legend. Nothing is drawn here."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures.marks import Bars, Cells, Mark
from attn_course.figures.style import COLOURS, DPI, SIZE, WIDEST
from attn_course.figures.ticks import Ticks, linear_ticks, log_ticks, written

_MARGIN = 0.05  # of the data's span, left free at either end of an axis
_AROUND = 80  # pixels: about what labels take of a panel's width and height
_TICK_SPACE = {"x": 46, "y": 36}  # pixels between two ticks at least
_MOST_TICKS = 9


class Axis:
    """One direction of a panel: its label, what it includes, its limits and ticks."""

    def __init__(self, direction: str, pixels: float):
        """direction: "x" or "y"; pixels: its length, which decides how many ticks there are."""
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
        """Ticks at these places, with labels or with their numbers."""
        numbers = np.asarray(places, float).tolist()
        if labels is None:
            labels = [written(number) for number in numbers]
        self._ticks = numbers, [str(label) for label in labels]
        self.include(numbers)

    def limits(self) -> tuple[float, float]:
        """(from, to); from > to where the axis is reversed. What was asked for counts if it is a span."""
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
        """Places and labels of the ticks within the limits."""
        low, high = sorted(self.limits())
        if self._ticks is None:
            find = log_ticks if self.is_log else linear_ticks
            return find(low, high, self.most_ticks)
        slack = 1e-9 * (high - low)
        pairs = zip(*self._ticks, strict=True)
        seen = [pair for pair in pairs if low - slack <= pair[0] <= high + slack]
        return [place for place, _ in seen], [label for _, label in seen]

    def shares(self, values: ArrayLike) -> np.ndarray:
        """Where numbers are between the first limit (0) and the second (1); nan for log of 0 or less."""
        numbers = np.asarray(values, float)
        first, second = self.limits()
        if self.is_log:
            numbers = np.log10(np.where(numbers > 0, numbers, np.nan))
            first, second = math.log10(first), math.log10(second)
        return (numbers - first) / (second - first)


class Panel:
    """One chart of a figure. Functions of `plots` take it as `ax` and return it."""

    def __init__(self, figure: "Figure"):
        width, height = figure.panel_size()
        self.figure = figure
        self.x = Axis("x", width - _AROUND)
        self.y = Axis("y", height - _AROUND)
        self.marks: list[Mark] = []
        self.title = ""
        self.has_legend = False
        self.legend_is_outside = False
        self.is_equal = False  # whether a unit of x is as long as a unit of y
        self.colour_bar: Cells | None = None  # the cells whose scale is shown beside the panel
        self.colour_bar_label = ""
        self._colours_used = 0

    def add(self, mark: Mark) -> None:
        """Put a mark on top of the others."""
        self.marks.append(mark)
        x, y = mark.extent()
        self.x.include(x)
        self.y.include(y)
        if isinstance(mark, Bars):
            self.y.starts_at_zero = True

    def next_colour(self) -> str:
        """The next of the colours that are used in turn."""
        colour = COLOURS[self._colours_used % len(COLOURS)]
        self._colours_used += 1
        return colour

    def limits(
        self, *, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None
    ) -> "Panel":
        """Set the limits of one axis or both; returns the panel."""
        if x is not None:
            self.x.ends = x
        if y is not None:
            self.y.ends = y
        return self

    def ticks(self, *, x: ArrayLike | None = None, y: ArrayLike | None = None) -> "Panel":
        """Set the places of the ticks of one axis or both; returns the panel."""
        if x is not None:
            self.x.set_ticks(x)
        if y is not None:
            self.y.set_ticks(y)
        return self

    def equal(self) -> "Panel":
        """Make a unit of x as long as a unit of y; returns the panel."""
        self.is_equal = True
        return self

    def legend_outside(self) -> "Panel":
        """Put the legend beside the panel, where it covers nothing; returns the panel."""
        self.legend_is_outside = True
        return self

    def _ipython_display_(self) -> None:
        """Nothing: the figure is shown when its cell has run."""


@dataclass
class Figure:
    """Panels in rows of `columns`. width: of the figure, height: of a row, in inches."""

    width: float
    height: float
    columns: int = 1
    panels: list[Panel] = field(default_factory=list)

    def panel_size(self) -> tuple[float, float]:
        """(width, height) that a panel may take with its labels, in pixels."""
        return self.width * DPI / self.columns, self.height * DPI


open_figures: list[Figure] = []  # made and not yet shown


def panels(
    count: int,
    *,
    height: float = 3.4,
    width: float | None = None,
    columns: int | None = None,
) -> list[Panel]:
    """`count` panels side by side, in rows of `columns`; `height` is that of a row, both in inches."""
    columns = columns or count
    width = width or 3.9 * columns
    figure = Figure(min(width, WIDEST), height, columns)
    figure.panels += [Panel(figure) for _ in range(count)]
    open_figures.append(figure)
    return figure.panels


def panel_or_new(ax: Panel | None) -> Panel:
    """`ax`, or the only panel of a new figure."""
    if ax is not None:
        return ax
    width, height = SIZE
    return panels(1, width=width, height=height)[0]


def same_scale(axes: list[Panel], directions: str = "xy") -> None:
    """Give panels that are compared the same limits, wide enough for all. directions: "x", "y", "xy"."""
    for direction in directions:
        each = [getattr(panel, direction) for panel in axes]
        limits = np.array([axis.limits() for axis in each])
        for axis in each:
            axis.ends = (limits.min(), limits.max())
