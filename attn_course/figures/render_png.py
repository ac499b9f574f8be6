"""A figure as PNG, drawn with matplotlib; imported only where a picture is made."""

import base64
import io
from functools import singledispatch

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from attn_course.figures import marks
from attn_course.figures.axis import Axis, linear_ticks
from attn_course.figures.panel import Figure, Panel
from attn_course.figures.style import (
    DPI,
    LABEL_SIZE,
    MARKER_DIAMETER,
    SMALL_SIZE,
    TEXT,
    TITLE_SIZE,
    scale_colours,
)

_LEGEND_DOT = 40  # square points: large enough to see its colour


def render_png(figure: Figure) -> str:
    """Return the figure as a PNG in base64."""
    rows = -(-len(figure.panels) // figure.columns)
    with rc_context({"font.size": LABEL_SIZE, "font.family": ["DejaVu Sans"]}):
        canvas = Canvas((figure.width, rows * figure.height), DPI, layout="constrained")
        for number, panel in enumerate(figure.panels, 1):
            _draw_panel(canvas.add_subplot(rows, figure.columns, number), panel)
        buffer = io.BytesIO()
        canvas.savefig(buffer, format="png", metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode()


def _draw_panel(ax: Axes, panel: Panel) -> None:
    """Draw one panel with its axes, marks, legend and colour bar."""
    for mark in panel.marks:
        _draw(mark, ax)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(panel.title, loc="left", fontsize=TITLE_SIZE)
    _draw_axis(ax, "x", panel.x)
    _draw_axis(ax, "y", panel.y)
    ax.set_aspect("equal" if panel.is_equal else "auto")
    if panel.has_legend:
        options = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if panel.legend_is_outside else {}
        legend = ax.legend(fontsize=SMALL_SIZE, edgecolor="none", framealpha=0.8, **options)
        for handle in legend.legend_handles:
            if hasattr(handle, "set_sizes"):  # dots are small and pale in the picture
                handle.set_sizes([_LEGEND_DOT])
                handle.set_alpha(1)
    if panel.colour_bar is not None:
        _draw_colour_bar(ax, panel.colour_bar, panel.colour_bar_label, panel.y.most_ticks)


def _draw_axis(ax: Axes, direction: str, axis: Axis) -> None:
    """Draw limits, ticks, grid and name of an axis."""
    places, labels = axis.ticks()
    slant = {"rotation": 45, "ha": "right"} if axis.is_slanted else {}
    scale = "log" if axis.is_log else "linear"
    set_ticks = getattr(ax, f"set_{direction}ticks")
    ax.set(**{f"{direction}lim": axis.limits()})  # first, or a scale looks for limits of its own
    ax.set(**{f"{direction}label": axis.label, f"{direction}scale": scale})
    set_ticks(places, labels, fontsize=SMALL_SIZE, **slant)
    set_ticks([], minor=True)
    ax.set(**{f"{direction}lim": axis.limits()})
    if axis.has_grid:
        ax.grid(axis=direction, alpha=0.3)


def _draw_colour_bar(ax: Axes, cells: marks.Cells, label: str, most_ticks: int) -> None:
    """Draw the scale of the cells beside the panel."""
    colours = ListedColormap(scale_colours(np.linspace(0, 1, 256), cells.scale))
    scale = ScalarMappable(Normalize(cells.low, cells.high), colours)
    bar = ax.figure.colorbar(scale, ax=ax, label=label, fraction=0.046)
    places, labels = linear_ticks(cells.low, cells.high, most_ticks)
    bar.set_ticks(places, labels=labels, fontsize=SMALL_SIZE)
    bar.outline.set_visible(False)


@singledispatch
def _draw(mark: marks.Mark, ax: Axes) -> None:
    """Draw a mark with matplotlib; each kind of mark registers its own function."""
    raise NotImplementedError(type(mark).__name__)


def _colour(colour: str) -> str:
    return "black" if colour == TEXT else colour


@_draw.register
def _(mark: marks.Line, ax: Axes) -> None:
    ax.plot(
        mark.x,
        mark.y,
        mark.dash,
        color=_colour(mark.colour),
        linewidth=mark.width,
        marker="o" if mark.dots else None,
        markersize=MARKER_DIAMETER,
        label=mark.label or None,
    )


@_draw.register
def _(mark: marks.Rule, ax: Axes) -> None:
    style = {"color": _colour(mark.colour), "linestyle": mark.dash, "linewidth": mark.width}
    ax.axvline(mark.x, label=mark.label or None, **style)


@_draw.register
def _(mark: marks.Bars, ax: Axes) -> None:
    widths = mark.right - mark.left
    style = {"color": mark.colours, "alpha": mark.opacity, "align": "edge"}
    ax.bar(mark.left, mark.tops, widths, label=mark.label or None, **style)


@_draw.register
def _(mark: marks.Points, ax: Axes) -> None:
    style = {"color": _colour(mark.colour), "alpha": mark.opacity, "linewidths": 0}
    ax.scatter(mark.x, mark.y, s=mark.diameter**2, label=mark.label or None, **style)


@_draw.register
def _(mark: marks.Image, ax: Axes) -> None:
    extent = (mark.left, mark.right, mark.bottom, mark.top)
    ax.imshow(mark.colours, extent=extent, interpolation="nearest")


@_draw.register
def _(mark: marks.Cells, ax: Axes) -> None:
    _draw(mark.image(), ax)


@_draw.register
def _(mark: marks.Hatching, ax: Axes) -> None:
    for row, column in mark.cells:
        corner = (column - 0.5, row - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="///", alpha=0.4, linewidth=0))


@_draw.register
def _(mark: marks.Arrow, ax: Axes) -> None:
    head = {"arrowstyle": "-|>", "color": _colour(mark.colour), "linewidth": mark.width}
    ax.annotate("", mark.end, mark.start, arrowprops={**head, "shrinkA": 0, "shrinkB": 0})


@_draw.register
def _(mark: marks.Text, ax: Axes) -> None:
    ax.annotate(
        mark.text,
        (mark.x, mark.y),
        xytext=mark.shift,
        textcoords="offset points",
        color=_colour(mark.colour),
        fontsize=mark.size,
        ha=mark.horizontal,
        va=mark.vertical,
        path_effects=[withStroke(linewidth=3, foreground="white")] if mark.halo else None,
    )
