"""The charts of the course in one style.

Each function takes `ax=None`, sets its own labels and returns the Axes. An object keeps its colour: key i
has colour i as an arrow and as a bar.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from attn_course.figures.arrow_labels import shifts_of_names
from attn_course.figures.canvas import new_axes, panels
from attn_course.figures.style import COLOURS, INK

_LEGEND_DOT = 40  # square points: large enough to see its colour
_SHORT = 3  # letters: longer names of columns are slanted
_STRONG = 3.5  # points: the line that is the reader's own
_NESTED = (7.0, 1.8)  # points: the first and the last of nested lines


def bars(
    heights: ArrayLike | Mapping[str, ArrayLike],
    labels: Sequence | None = None,
    *,
    ylabel: str = "weight",
    xlabel: str = "key",
    title: str = "",
    top: float | None = 1.0,
    colours: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A bar per item, its number written on it. heights: (n,) or {name: (n,)} for groups.

    colours: the number of each item's colour. Bars over keys take the keys' own, as in `arrows`;
    groups have one colour each.
    """
    ax = new_axes(ax)
    grouped = isinstance(heights, Mapping)
    groups: Mapping[Any, Any] = heights if isinstance(heights, Mapping) else {None: heights}
    first, *_ = groups.values()
    size = len(first)
    if colours is None and not grouped and xlabel == "key" and size < INK:
        colours = range(size)
    options = {}
    if colours is not None:
        options["color"] = [COLOURS[number] for number in colours]
    width = 0.8 / len(groups)
    middle = (len(groups) - 1) / 2
    for k, (name, values) in enumerate(groups.items()):
        places = np.arange(size) + (k - middle) * width
        drawn = ax.bar(places, values, width, label=name, **options)
        ax.bar_label(drawn, fmt="%.2f", fontsize=9, padding=2)

    if labels is None:
        labels = range(size)
    ax.set_xticks(range(size), labels)
    if top:
        lowest = min(np.min(values) for values in groups.values())
        ax.set_ylim(min(0, lowest), 1.12 * top)
    ax.grid(axis="x", visible=False)
    if grouped:
        _show_legend(ax)
    return _name(ax, xlabel, ylabel, title)


def curves(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    band: tuple[ArrayLike, ArrayLike] | None = None,
    log: str = "",
    marks: Mapping[str, float] | None = None,
    strong: str | None = None,
    colours: Mapping[str, int] | None = None,
    dots: bool = False,
    nested: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Lines over `x`. series: {label: (len(x),)}; band: (low, high) shaded; log: "", "x", "y", "xy".

    marks: {label: x position} for vertical lines. A label that starts with "-" is drawn dashed. strong:
    the label of the reader's own curve, drawn thick in ink; the others keep their colours beside it.
    colours: {label: number} for curves that belong together. dots: mark each point, which few points need.
    nested: each line thinner than the one before, so that lines which coincide can be told apart.
    """
    ax = new_axes(ax)
    widths = np.linspace(*_NESTED, len(series))
    for width, (label, y) in zip(widths, series.items(), strict=True):
        style = "--" if label.startswith("-") else "-"
        own = {"color": COLOURS[INK], "linewidth": _STRONG} if label == strong else {}
        if colours and label in colours:
            own = {"color": COLOURS[colours[label]]}
        if dots:
            own["marker"] = "o"
        if nested:
            own["linewidth"] = width
        ax.plot(x, y, style, label=label.lstrip("-"), **own)

    if band is not None:
        ax.fill_between(x, *band, alpha=0.25, color=COLOURS[INK], linewidth=0)
    for label, place in (marks or {}).items():
        ax.axvline(place, color=COLOURS[INK], linestyle=":", linewidth=1.5, label=label)
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")
    _show_legend(ax)
    return _name(ax, xlabel, ylabel, title)


def scatter(
    points: ArrayLike,
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    colour: int = 0,
    label: str | None = None,
    size: float = 8,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A cloud of points. points: (n, 2); names: a word beside each point."""
    ax = new_axes(ax)
    xs, ys = np.asarray(points, float).T
    alpha = 0.4 if len(xs) > 20 else 1  # a cloud shows its density, a landmark stands out
    code = COLOURS[colour]
    ax.scatter(xs, ys, s=size, alpha=alpha, color=code, label=label, linewidths=0)
    for x, y, name in zip(xs, ys, names or [], strict=False):
        ax.annotate(name, (x, y), xytext=(5, 5), textcoords="offset points", color=code)
    if label:
        _show_legend(ax)
    return _name(ax, xlabel, ylabel, title)


def histogram(
    samples: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str = "density",
    title: str = "",
    bins: int = 50,
    limits: tuple[float, float] | None = None,
    curve: tuple[ArrayLike, ArrayLike] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Densities. samples: {label: (n,)}; curve: (x, density) of the exact law drawn on top."""
    ax = new_axes(ax)
    for label, values in samples.items():
        ax.hist(values, bins, range=limits, density=True, alpha=0.45, label=label)
    if curve is not None:
        ax.plot(*curve, color=COLOURS[INK], label="exact density")
    _show_legend(ax)
    return _name(ax, xlabel, ylabel, title)


def intervals(
    rows: Mapping[str, tuple[float, float, float]],
    *,
    xlabel: str,
    title: str = "",
    marks: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A dot with its interval per row, from the top down. rows: {label: (value, low, high)}.

    marks: {label: x position} for vertical lines.
    """
    ax = new_axes(ax)
    for k, (label, mark) in enumerate((marks or {}).items()):  # first, so that none is at the edge
        style = (":", "--")[k % 2]
        ax.axvline(mark, color=COLOURS[INK], linestyle=style, linewidth=1.5, label=label)

    for place, (value, low, high) in enumerate(rows.values()):
        ax.plot([low, high], [place, place], color=COLOURS[0])
        ax.plot(value, place, "o", color=COLOURS[0])

    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    if marks:
        _show_legend(ax)
    return _name(ax, xlabel, "", title)


def attention_map(
    weights: ArrayLike,
    queries: Sequence | None = None,
    keys: Sequence | None = None,
    *,
    mask: ArrayLike | None = None,
    xlabel: str = "key",
    ylabel: str = "query",
    title: str = "",
    numbers: bool | None = None,
    colour_bar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Queries down, keys across, colour fixed to 0..1, masked cells hatched.

    weights: (T, S). queries, keys: labels. mask: boolean (T, S), True = may look. xlabel, ylabel: what
    the two sides hold, such as German and English. numbers: write each weight into its cell (by default
    where there are few), but no zero over a hatched one; a weight there is a leak, and is written.
    """
    ax = new_axes(ax)
    weights = np.asarray(weights, float)
    _draw_cells(ax, weights, 0, 1, "weight" if colour_bar else None)
    _hatch(ax, mask)
    if numbers or (numbers is None and weights.size <= 36):
        shown = None if mask is None else np.asarray(mask) | (weights != 0)
        _write_numbers(ax, weights, 0.6, "%.2f", shown)
    _label_cells(ax, weights.shape, queries, keys)
    return _name(ax, xlabel, ylabel, title)


def head_maps(
    weights: ArrayLike,
    queries: Sequence | None = None,
    keys: Sequence | None = None,
    *,
    height: float = 3.0,
    width: float | None = None,
    **options: Any,
) -> None:
    """A figure with an attention map for each head, two beside each other. weights: (H, T, S).

    height: of a row of maps, and width: of all, in inches. options: those of `attention_map`.
    """
    of_heads = np.asarray(weights, float)
    axes = panels(len(of_heads), height=height, width=width, columns=2)
    for head, ax in enumerate(axes):
        attention_map(of_heads[head], queries, keys, title=f"head {head}", ax=ax, **options)


def matrix(
    values: ArrayLike,
    *,
    rows: Sequence | None = None,
    columns: Sequence | None = None,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    numbers: bool | None = None,
    words: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    top: float | None = None,
    signed: bool | None = None,
    colour_bar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A matrix as a heat map: purple positive, orange negative, white at zero.

    Without negative numbers the scale starts at zero. top: the end of the scale, by default the largest
    size; signed: whether it has a negative half, by default if there are such numbers. Give panels that
    are compared the same. Whole numbers are written without a point. words: what stands in each cell
    instead of its number. mask: boolean, False where a cell is of no interest: hatched, without a number.
    """
    ax = new_axes(ax)
    values = np.asarray(values, float)
    if mask is not None:
        values = np.where(mask, values, 0.0)
    size = top or max(np.abs(values).max(), 1e-12)
    if signed is None:
        signed = bool(values.min() < 0)
    low = -size if signed else 0
    bar = "" if colour_bar else None
    _draw_cells(ax, values, low, size, bar, cmap="PuOr" if signed else "Purples")
    _hatch(ax, mask)
    if words is not None:
        _write(ax, values, 0.6 * size, words)
    elif numbers or (numbers is None and values.size <= 36):
        whole = np.array_equal(values, values.round())
        _write_numbers(ax, values, 0.6 * size, "%d" if whole else "%.2f", mask)

    _label_cells(ax, values.shape, rows, columns)
    return _name(ax, xlabel, ylabel, title)


def arrows(
    vectors: Mapping[str, ArrayLike],
    *,
    title: str = "",
    limit: float | None = None,
    colours: Mapping[str, int] | None = None,
    xlabel: str = "first coordinate",
    ylabel: str = "second coordinate",
    ax: Axes | None = None,
) -> Axes:
    """Vectors in the plane from the origin. vectors: {label: (2,)}.

    colours: {label: number}; without one, an arrow has the colour of its place in the dictionary, and
    one whose label begins with "query" is ink, so that key i has colour i.
    """
    ax = new_axes(ax)
    given = colours or {}
    ends = np.array([np.asarray(vector, float) for vector in vectors.values()])  # (n, 2)
    if limit is None:
        limit = 1.25 * np.abs(ends).max()
    shifts = shifts_of_names(list(vectors), ends, limit)
    for k, label in enumerate(vectors):
        usual = INK if label.startswith("query") else k % INK
        colour = COLOURS[given.get(label, usual)]
        draw_arrow(ax, ends[k], label, shifts[k], colour)

    span = (-limit, limit)
    ax.set(xlim=span, ylim=span, aspect="equal")
    return _name(ax, xlabel, ylabel, title)


def draw_arrow(
    ax: Axes, end: ArrayLike, name: str, shift: ArrayLike, colour: str, **letters: Any
) -> None:
    """An arrow from the origin to `end`, (2,), its name `shift` points from the tip."""
    head = {
        "arrowstyle": "-|>",
        "color": colour,
        "linewidth": 2,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", end, (0, 0), arrowprops=head)
    ax.annotate(
        name,
        end,
        xytext=shift,
        textcoords="offset points",
        color=colour,
        ha="center",
        va="center",
        **letters,
    )


def _name(ax, xlabel, ylabel, title):
    """Set the names of the axes and the title; returns the Axes."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if title:
        ax.set_title(title, loc="left")
    return ax


def _show_legend(ax):
    """A legend whose marks can be seen, however small and pale they are in the picture."""
    for handle in ax.legend().legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([_LEGEND_DOT])
            handle.set_alpha(1)


def _draw_cells(ax, values, low, high, label, cmap=None):
    """label: the name of the colour bar, None for no bar."""
    image = ax.imshow(values, vmin=low, vmax=high, cmap=cmap, aspect="auto")
    if label is not None:
        ax.figure.colorbar(image, ax=ax, label=label, fraction=0.046)
    ax.grid(visible=False)


def _label_cells(ax, shape, rows, columns):
    """Ticks at the cells' middles; long labels of columns are slanted."""
    height, width = shape
    if rows is None:
        rows = range(height)
    ax.set_yticks(range(height), rows)
    if columns is None:
        ax.set_xticks(range(width), range(width))
        return
    longest = max(len(str(name).strip("$")) for name in columns)
    if longest > _SHORT:
        ax.set_xticks(range(width), columns, rotation=45, ha="right")
    else:
        ax.set_xticks(range(width), columns)


def _hatch(ax, mask):
    """Cross out the cells where the mask is False."""
    if mask is None:
        return
    for row, column in np.argwhere(~np.asarray(mask)):
        corner = (column - 0.5, row - 0.5)
        ax.add_patch(plt.Rectangle(corner, 1, 1, fill=False, hatch="///", alpha=0.4))


def _write_numbers(ax, values, dark_from, form, mask=None):
    """Each number in its cell, but for those that the mask crosses out."""
    words = np.empty(values.shape, object)
    for place, value in np.ndenumerate(values):
        words[place] = form % value
    if mask is not None:
        words[~np.asarray(mask)] = ""
    _write(ax, values, dark_from, words)


def _write(ax, values, dark_from, words):
    """A word in each cell, white where the cell is dark."""
    for (row, column), word in np.ndenumerate(np.asarray(words, object)):
        is_dark = abs(values[row, column]) > dark_from
        if word:
            ax.text(
                column,
                row,
                word,
                ha="center",
                va="center",
                fontsize=9,
                color="white" if is_dark else "black",
            )
