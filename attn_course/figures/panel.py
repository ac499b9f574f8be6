"""Figures and their panels: marks, axes, title, legend. Nothing is drawn here."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures.axis import Axis
from attn_course.figures.marks import Bars, Cells, Mark
from attn_course.figures.style import COLOURS, DPI, SIZE, WIDEST

_AROUND = 80  # pixels: about what labels take of a panel's width and height


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
        """Return the next of the colours that are used in turn."""
        colour = COLOURS[self._colours_used % len(COLOURS)]
        self._colours_used += 1
        return colour

    def limits(
        self, *, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None
    ) -> "Panel":
        """Set the limits of one axis or both, and return the panel."""
        if x is not None:
            self.x.ends = x
        if y is not None:
            self.y.ends = y
        return self

    def ticks(self, *, x: ArrayLike) -> "Panel":
        """Set the places of the ticks of x, and return the panel."""
        self.x.set_ticks(x)
        return self

    def equal(self) -> "Panel":
        """Make a unit of x as long as a unit of y, and return the panel."""
        self.is_equal = True
        return self

    def legend_outside(self) -> "Panel":
        """Put the legend beside the panel, where it covers nothing, and return the panel."""
        self.legend_is_outside = True
        return self

    def _ipython_display_(self) -> None:
        """Show nothing: the figure is shown when its cell has run."""


@dataclass
class Figure:
    """Panels in rows of `columns`. width: of the figure, height: of a row, in inches."""

    width: float
    height: float
    columns: int = 1
    panels: list[Panel] = field(default_factory=list)

    def panel_size(self) -> tuple[float, float]:
        """Return (width, height) that a panel may take with its labels, in pixels."""
        return self.width * DPI / self.columns, self.height * DPI


open_figures: list[Figure] = []  # made and not yet shown


def panels(
    count: int,
    *,
    height: float = 3.4,
    width: float | None = None,
    columns: int | None = None,
) -> list[Panel]:
    """Return `count` panels of a new figure, in rows of `columns`. height: of a row, in inches."""
    columns = columns or count
    width = width or 3.9 * columns
    figure = Figure(min(width, WIDEST), height, columns)
    figure.panels += [Panel(figure) for _ in range(count)]
    open_figures.append(figure)
    return figure.panels


def panel_or_new(ax: Panel | None) -> Panel:
    """Return `ax`, or the only panel of a new figure."""
    if ax is not None:
        return ax
    width, height = SIZE
    return panels(1, width=width, height=height)[0]


def same_scale(axes: list[Panel]) -> None:
    """Give panels that are compared the same limits, wide enough for all; a reversed axis stays reversed."""
    for direction in ("x", "y"):
        aligned = [getattr(panel, direction) for panel in axes]
        limits = np.array([axis.limits() for axis in aligned])
        for axis, (first, second) in zip(aligned, limits, strict=True):
            ends = (limits.min(), limits.max())
            axis.ends = ends if first < second else ends[::-1]
