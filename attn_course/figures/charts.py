"""The charts of the course in one style.

Each function takes `ax=None`, sets its own labels and returns the panel. An object keeps its colour: key i
has colour i as an arrow and as a bar.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures.arrow_labels import shifts_of_names
from attn_course.figures.marks import (
    Arrow,
    Bars,
    Cells,
    Hatching,
    Line,
    Points,
    Rule,
    Text,
)
from attn_course.figures.panel import Panel, panel_or_new, panels
from attn_course.figures.style import COLOURS, INK, LABEL_SIZE, MARKER_DIAMETER, SMALL_SIZE
from attn_course.figures.svg_elements import text_width

_SHORT = 3  # letters: longer names of columns are slanted
_STRONG = 3.5  # points: the line that is the reader's own
_NESTED = (7.0, 1.8)  # points: the first and the last of nested lines
_SAME_DIRECTION = 0.998  # cosine of about 4 degrees: arrows at a smaller angle cover one another
_ASIDE = 0.045  # of the limit: how far such arrows are moved aside
_CLOUD = 20  # more points than these are drawn pale, so that their density is seen
_BOX = (1.7, 0.62)  # width and height of a box of a diagram
_MOST_NUMBERS = 36  # a matrix with more cells has no numbers in them, unless they are asked for


def bars(
    heights: ArrayLike | Mapping[str, ArrayLike],
    labels: Sequence | None = None,
    *,
    ylabel: str = "weight",
    xlabel: str = "key",
    title: str = "",
    top: float | None = 1.0,
    colours: Sequence[int] | None = None,
    ax: Panel | None = None,
) -> Panel:
    """Draw a bar for each item, with its number on it. heights: (n,) or {name: (n,)} for groups.

    colours: the number of each item's colour. Bars over keys take the keys' own, as in `arrows`;
    groups have one colour each.
    """
    ax = panel_or_new(ax)
    grouped = isinstance(heights, Mapping)
    groups: Mapping[Any, Any] = heights if isinstance(heights, Mapping) else {"": heights}
    first, *_ = groups.values()
    size = len(first)
    if colours is None and not grouped and xlabel == "key" and size < INK:
        colours = range(size)
    width = 0.8 / len(groups)
    slot = 0.8 * ax.figure.panel_size()[0] / size  # pixels for a bar or a group, about
    digits = 2 if text_width("0.00", SMALL_SIZE) <= 1.25 * slot * width else 1
    middle = (len(groups) - 1) / 2
    for k, (name, values) in enumerate(groups.items()):
        numbers = np.asarray(values, float)
        drawn = np.where(np.isfinite(numbers), numbers, np.nan)
        tops = np.nan_to_num(drawn)
        left = np.arange(size) + (k - middle - 0.5) * width
        codes = [ax.next_colour()] if colours is None else [COLOURS[i] for i in colours]
        ax.add(Bars(left, left + width, drawn, codes, label=str(name)))
        for x, top_of_bar, number in zip(left + width / 2, tops, numbers, strict=True):
            word = Text(x, top_of_bar, f"{number:.{digits}f}", vertical="bottom", shift=(0, 2))
            if number < 0:
                word.vertical = "top"
                word.shift = (0, -2)
            ax.add(word)

    named = [str(label) for label in (range(size) if labels is None else labels)]
    ax.x.set_ticks(range(size), named)
    ax.x.is_slanted = max(text_width(label, SMALL_SIZE) for label in named) > slot
    ax.x.has_grid = False
    if top:
        tops_of_all = [mark.tops for mark in ax.marks if isinstance(mark, Bars)]
        lowest = min(0.0, float(np.min(tops_of_all)))
        room = 0.12 * (top - lowest) if lowest < 0 else 0.0  # for the number below a bar
        ax.limits(y=(lowest - room, 1.12 * top))
    ax.has_legend = grouped
    return _name(ax, xlabel, ylabel, title)


def curves(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    log: str = "",
    marks: Mapping[str, float] | None = None,
    strong: str | None = None,
    colours: Mapping[str, int] | None = None,
    dots: bool = False,
    nested: bool = False,
    ax: Panel | None = None,
) -> Panel:
    """Draw lines over `x`. series: {label: (len(x),)}; log: "", "x", "y", "xy".

    marks: {label: x position} for vertical lines. A label that starts with "-" is drawn dashed, one
    that starts with "_" is not in the legend. strong: the label of the reader's own curve, drawn thick and
    dark; the others keep their colours beside it.
    colours: {label: number} for curves that belong together. dots: mark each point, which few points need.
    nested: each line thinner than the one before, so that lines which coincide can be told apart.
    """
    ax = panel_or_new(ax)
    x = np.asarray(x, float)
    widths = np.linspace(*_NESTED, len(series))
    for width, (label, y) in zip(widths, series.items(), strict=True):
        line = Line(x, np.asarray(y, float), "", dots=dots, label=label.lstrip("-"))
        if label.startswith("_"):
            line.label = ""
        if label.startswith("-"):
            line.dash = "--"
        if nested:
            line.width = width
        elif label == strong:
            line.width = _STRONG
        if colours and label in colours:
            line.colour = COLOURS[colours[label]]
        elif label == strong:
            line.colour = COLOURS[INK]
        else:
            line.colour = ax.next_colour()
        ax.add(line)

    for label, position in (marks or {}).items():
        ax.add(Rule(position, COLOURS[INK], label=label))
    ax.x.is_log |= "x" in log
    ax.y.is_log |= "y" in log
    ax.has_legend = True
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
    ax: Panel | None = None,
) -> Panel:
    """Draw a cloud of points. points: (n, 2); size: of a dot, in square points; names: a word beside each."""
    ax = panel_or_new(ax)
    x, y = np.asarray(points, float).T
    code = COLOURS[colour]
    opacity = 0.4 if len(x) > _CLOUD else 1.0
    ax.add(Points(x, y, code, float(np.sqrt(size)), opacity, label=label or ""))
    for place_x, place_y, name in zip(x, y, names or [], strict=False):
        ax.add(Text(place_x, place_y, name, code, LABEL_SIZE, "left", "bottom", (5, 5)))
    if label:
        ax.has_legend = True
    return _name(ax, xlabel, ylabel, title)


def histogram(
    samples: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    title: str = "",
    bins: int = 50,
    limits: tuple[float, float] | None = None,
    curve: tuple[ArrayLike, ArrayLike] | None = None,
    ax: Panel | None = None,
) -> Panel:
    """Draw densities. samples: {label: (n,)}; curve: (x, density) of the exact law drawn on top.

    Samples that are nan or infinite, or lie outside the limits, are left out.
    """
    ax = panel_or_new(ax)
    for label, values in samples.items():
        numbers = np.asarray(values, float)
        counts, edges = np.histogram(numbers[np.isfinite(numbers)], bins, limits)
        heights = counts / np.diff(edges) / max(counts.sum(), 1)
        ax.add(Bars(edges[:-1], edges[1:], heights, [ax.next_colour()], 0.45, label=label))
    if curve is not None:
        x, density = np.asarray(curve, float)
        ax.add(Line(x, density, COLOURS[INK], label="exact density"))
    ax.has_legend = True
    return _name(ax, xlabel, "density", title)


def intervals(
    rows: Mapping[str, tuple[float, float, float]],
    *,
    xlabel: str,
    title: str = "",
    marks: Mapping[str, float] | None = None,
    ax: Panel | None = None,
) -> Panel:
    """Draw a dot with its interval in each row, from the top down. rows: {label: (value, low, high)}.

    marks: {label: x position} for vertical lines.
    """
    ax = panel_or_new(ax)
    for k, (label, mark) in enumerate((marks or {}).items()):
        ax.add(Rule(mark, COLOURS[INK], dash=(":", "--")[k % 2], label=label))

    for row, (value, low, high) in enumerate(rows.values()):
        ax.add(Line(np.array([low, high]), np.array([row, row]), COLOURS[0]))
        ax.add(Points(np.array([value]), np.array([row]), COLOURS[0], MARKER_DIAMETER))

    ax.y.set_ticks(range(len(rows)), list(rows))
    low, high = ax.y.limits()
    ax.limits(y=(high, low))
    if marks:
        ax.has_legend = True
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
    ax: Panel | None = None,
) -> Panel:
    """Draw a map of weights: queries down, keys across, colours fixed to 0..1, masked cells hatched.

    weights: (T, S). queries, keys: labels. mask: boolean (T, S), True = may look. xlabel, ylabel: what
    the two sides hold, such as German and English. numbers: write each weight into its cell (by default
    where there are few), but no zero over a hatched one; a weight there is a leak, and is written.
    """
    ax = panel_or_new(ax)
    cells = Cells(np.asarray(weights, float), 0, 1, "blues")
    words = _numbers_in(cells, numbers, "%.2f", mask)
    _add_cells(ax, cells, words, mask, queries, keys)
    if colour_bar:
        ax.colour_bar = cells
        ax.colour_bar_label = "weight"
    return _name(ax, xlabel, ylabel, title)


def head_maps(weights: ArrayLike, **options: Any) -> None:
    """Make a figure with an attention map for each head, two beside each other. weights: (H, T, S).

    options: those of `attention_map`.
    """
    of_heads = np.asarray(weights, float)
    axes = panels(len(of_heads), height=3.0, columns=2)
    for head, ax in enumerate(axes):
        attention_map(of_heads[head], title=f"head {head}", ax=ax, **options)


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
    ax: Panel | None = None,
) -> Panel:
    """Draw a matrix as a heat map: purple positive, orange negative, white at zero.

    Without negative numbers the scale starts at zero. top: the end of the scale, by default the largest
    size; signed: whether it has a negative half, by default if there are such numbers. Give panels that
    are compared the same. Whole numbers are written without a point. words: what stands in each cell
    instead of its number. mask: boolean, False where a cell is hidden: hatched, without a number unless
    it is not 0.
    """
    ax = panel_or_new(ax)
    values = np.asarray(values, float)
    finite = values[np.isfinite(values)]
    size = top or max(np.abs(finite).max(initial=0), 1e-12)
    if signed is None:
        signed = bool((finite < 0).any())
    low = -size if signed else 0
    cells = Cells(values, low, size, "orange to purple" if signed else "purples")
    if words is None:
        whole = finite.size == values.size and np.array_equal(values, values.round())
        words = _numbers_in(cells, numbers, "%d" if whole else "%.2f", mask)
    _add_cells(ax, cells, words, mask, rows, columns)
    if colour_bar:
        ax.colour_bar = cells
    return _name(ax, xlabel, ylabel, title)


def arrows(
    vectors: Mapping[str, ArrayLike],
    *,
    title: str = "",
    limit: float | None = None,
    colours: Mapping[str, int] | None = None,
    dashed: Sequence[tuple[ArrayLike, ArrayLike]] = (),
    xlabel: str = "first coordinate",
    ylabel: str = "second coordinate",
    ax: Panel | None = None,
) -> Panel:
    """Draw vectors in the plane from the origin. vectors: {label: (2,)}.

    colours: {label: number}; without one, an arrow has the colour of its place in the dictionary, and
    one whose label begins with "query" is dark, so that key i has colour i. dashed: pairs of points, (2,)
    each, that a thin line joins. Arrows along one line are drawn beside each other.
    """
    ax = panel_or_new(ax)
    colours_by_name = colours or {}
    ends = np.array([np.asarray(vector, float) for vector in vectors.values()])  # (n, 2)
    ends[~np.isfinite(ends)] = 0
    if limit is None:
        limit = 1.25 * np.abs(ends).max() or 1.0
    for start, end in dashed:
        x, y = np.array([start, end], float).T
        ax.add(Line(x, y, COLOURS[INK], 1.0, "--"))
    asides = _ASIDE * limit * places_beside(ends)
    shifts = shifts_of_names(list(vectors), ends + asides, limit)
    for k, label in enumerate(vectors):
        usual = INK if label.startswith("query") else k % INK
        colour = COLOURS[colours_by_name.get(label, usual)]
        add_arrow(ax, ends[k], label, shifts[k], colour, aside=asides[k])

    ax.limits(x=(-limit, limit), y=(-limit, limit)).equal()
    return _name(ax, xlabel, ylabel, title)


def places_beside(ends: np.ndarray) -> np.ndarray:
    """Return unit steps, (n, 2), by which arrows to `ends`, (n, 2), move aside so that none lies on another.

    Arrows of one direction stand beside each other, the longest where it belongs.
    """
    steps = np.zeros_like(ends)
    taken: list[np.ndarray] = []  # directions of the arrows that have their place
    for k in np.argsort(-np.linalg.norm(ends, axis=1), kind="stable"):
        length = np.linalg.norm(ends[k])
        if not length > 0:
            continue
        direction = ends[k] / length
        x, y = direction
        same = sum(float(direction @ other) > _SAME_DIRECTION for other in taken)
        side = (same + 1) // 2 * (-1) ** same  # 0, then -1, 1, -2, 2: to the right and to the left
        steps[k] = -side * np.array([-y, x])
        taken.append(direction)
    return steps


def add_arrow(
    ax: Panel,
    end: ArrayLike,
    name: str,
    shift: ArrayLike,
    colour: str,
    *,
    aside: ArrayLike = (0.0, 0.0),
    halo: bool = False,
) -> None:
    """Draw an arrow from the origin to `end`, (2,), moved by `aside`; its name is `shift` from the tip."""
    start = np.asarray(aside, float)
    x, y = tip = np.asarray(end, float) + start
    right, up = np.asarray(shift, float)
    ax.add(Arrow(start, tip, colour, name))
    ax.add(Text(x, y, name, colour, shift=(right, up), halo=halo))


def _name(ax: Panel, xlabel: str, ylabel: str, title: str) -> Panel:
    """Set the names of the axes and the title, and return the panel."""
    ax.x.label = xlabel
    ax.y.label = ylabel
    if title:
        ax.title = title
    return ax


def _numbers_in(
    cells: Cells, is_wanted: bool | None, form: str, mask: ArrayLike | None
) -> np.ndarray:
    """Return the number of each cell as text, "" for none.

    By default there are numbers where there are few cells. A zero that the mask hides is never written.
    """
    values = cells.values
    words = np.full(values.shape, "", object)
    if is_wanted or (is_wanted is None and values.size <= _MOST_NUMBERS):
        for index, value in np.ndenumerate(values):
            words[index] = form % value
        if mask is not None:
            words[~np.asarray(mask) & (values == 0)] = ""
    return words


def _add_cells(
    ax: Panel,
    cells: Cells,
    words: ArrayLike,
    mask: ArrayLike | None,
    rows: Sequence | None,
    columns: Sequence | None,
) -> None:
    """Fill the panel with cells, row 0 on top, and words in them; hatch cells where the mask is False.

    rows, columns: names, by default numbers; long names of columns are slanted.
    """
    num_rows, num_columns = cells.values.shape
    ax.add(cells)
    if mask is not None:
        ax.add(Hatching(np.argwhere(~np.asarray(mask))))
    for (row, column), word in np.ndenumerate(np.asarray(words, object)):
        is_dark = abs(cells.values[row, column]) > 0.6 * cells.high
        if word:
            ax.add(Text(column, row, str(word), "white" if is_dark else "black"))

    ax.limits(x=(-0.5, num_columns - 0.5), y=(num_rows - 0.5, -0.5))
    ax.x.is_slanted = columns is not None and max(len(str(name)) for name in columns) > _SHORT
    for axis, count, names in ((ax.x, num_columns, columns), (ax.y, num_rows, rows)):
        named = range(count) if names is None else names
        axis.set_ticks(range(len(named)), list(named))
        axis.has_grid = False


def diagram(
    boxes: Mapping[str, tuple[float, float]],
    arrows: Sequence[tuple[str, str]],
    *,
    strong: Sequence[str] = (),
    ax: Panel | None = None,
) -> Panel:
    """Draw boxes with a text each, and arrows between them. boxes: {text: (x, y) of its middle}.

    arrows: pairs of texts. strong: the texts of boxes that are drawn in colour.
    """
    ax = panel_or_new(ax)
    half = np.array(_BOX) / 2
    for text, (x, y) in boxes.items():
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) * half + (x, y)
        colour = COLOURS[1] if text in strong else COLOURS[INK]
        width = 2.6 if text in strong else 1.2
        ax.add(Line(corners[:, 0], corners[:, 1], colour, width))
        lines = text.split("\n")
        for k, line in enumerate(lines):
            up = ((len(lines) - 1) / 2 - k) * 1.3 * SMALL_SIZE
            ax.add(Text(x, y, line, shift=(0, up)))
    for start, end in arrows:
        one = np.array(boxes[start], float)
        other = np.array(boxes[end], float)
        way = other - one
        out = (half / np.maximum(np.abs(way), 1e-9)).min()  # where the way leaves a box
        ax.add(Arrow(one + out * way, other - out * way, COLOURS[INK], f"{start} to {end}", 1.2))

    for axis in (ax.x, ax.y):
        axis.set_ticks([])
        axis.has_grid = False
    return ax
