"""A stand-in for matplotlib's Axes that only writes down what is drawn."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib import colors, rcParams
from numpy.typing import ArrayLike

from attn_course.figures import marks
from attn_course.figures.style import COLOURS, DASHES
from attn_course.figures.ticks import Axis, NotInScene

_MOST_CELLS = 400
_ACROSS = {"left": "start", "center": "middle", "right": "end"}
_ALONG = {"top": "top", "center": "middle", "bottom": "bottom", "baseline": "bottom"}


@dataclass
class Box:
    """Where a panel's axes are on the page, in pixels from the top left; `pane` is what it may use."""

    left: float
    top: float
    width: float
    height: float
    pane: int


@dataclass
class Layout:
    """The frozen layout of a figure: one box for each Axes, one (left, right, top, bottom) for each pane."""

    boxes: list[Box]
    panes: list[tuple[float, float, float, float]]
    legends: dict[int, int] = field(default_factory=dict)  # where each panel's legend was last


class Scene:
    """The figure: hands out Axes in the order in which matplotlib did when the layout was frozen."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.axes: list[SceneAxes] = []

    def __getattr__(self, name: str) -> Any:
        raise NotInScene(f"Figure.{name}")

    def new_axes(self) -> "SceneAxes":
        """The next panel."""
        number = len(self.axes)
        if number >= len(self.layout.boxes):
            raise NotInScene("more panels than the first picture had")
        axes = SceneAxes(self, number, self.layout.boxes[number])
        self.axes.append(axes)
        return axes

    def colorbar(
        self, image: marks.Cells, *, ax: "SceneAxes", label: str = "", **_: Any
    ) -> "SceneAxes":
        """The scale of `image`, beside it; the layout knows where."""
        bar = self.new_axes()
        bar.scale = image
        bar.y.manual = (image.low, image.high)
        bar.ylabel = label
        return bar


class SceneAxes:
    """One panel. Any method it does not have raises NotInScene, and matplotlib draws the figure."""

    def __init__(self, figure: Scene, number: int, box: Box):
        self.figure = figure
        self.number = number
        self.box = box
        points = 72 / rcParams["figure.dpi"]
        self.x = Axis("x", box.width * points)
        self.y = Axis("y", box.height * points)
        self.marks: list[Any] = []
        self.title = ""
        self.xlabel = ""
        self.ylabel = ""
        self.grids = {"x": rcParams["axes.grid"], "y": rcParams["axes.grid"]}
        self.slant = 0.0
        self.has_legend = False
        self.scale: marks.Cells | None = None
        self._turn = {"line": 0, "fill": 0}

    def __getattr__(self, name: str) -> Any:
        raise NotInScene(f"Axes.{name}")

    # Lines and areas

    def plot(self, x: ArrayLike, y: ArrayLike, style: str = "-", **options: Any) -> None:
        """A line, or one marker ("o")."""
        marker = style == "o"
        dash = options.pop("linestyle", "-" if marker else style)
        _known(dash, DASHES)
        width = options.pop("linewidth", rcParams["lines.linewidth"])
        line = marks.Line(
            x=np.atleast_1d(np.asarray(x, float)),
            y=np.atleast_1d(np.asarray(y, float)),
            colour=self._colour(options, "line"),
            width=0 if marker else width,
            dash=dash,
            marker=marker,
            alpha=_alpha(options),
            label=_label(options),
        )
        _no_more(options)
        self.x.include(line.x)
        self.y.include(line.y)
        self.marks.append(line)

    def fill_between(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, **options: Any) -> None:
        """The area between two curves."""
        options.pop("linewidth", None)
        x = np.asarray(x, float)
        low = np.broadcast_to(np.asarray(low, float), x.shape)
        high = np.broadcast_to(np.asarray(high, float), x.shape)
        band = marks.Band(
            x=x,
            low=low,
            high=high,
            colour=self._colour(options, "fill"),
            alpha=_alpha(options),
            label=_label(options),
        )
        _no_more(options)
        self.x.include(x)
        self.y.include(low)
        self.y.include(high)
        self.marks.append(band)

    def axvline(self, place: float, **options: Any) -> None:
        """A vertical line through the whole panel; the axis makes room for it."""
        dash = options.pop("linestyle", "-")
        _known(dash, DASHES)
        rule = marks.Rule(
            place=float(place),
            width=options.pop("linewidth", rcParams["lines.linewidth"]),
            dash=dash,
            colour=self._colour(options, "line"),
            label=_label(options),
        )
        _no_more(options)
        self.x.include(place)
        self.marks.append(rule)

    # Bars, points, cells

    def bar(
        self, x: ArrayLike, height: ArrayLike, width: float = 0.8, **options: Any
    ) -> marks.Bars:
        """Upright bars around the places x, (n,), standing on zero."""
        options.pop("zorder", None)
        middle = np.asarray(x, float)
        height = np.asarray(height, float)
        height = np.broadcast_to(height, middle.shape)
        left = middle - width / 2
        right = middle + width / 2
        return self._boxes(left, right, height, options)

    def hist(
        self, values: ArrayLike, bins: Any, range: Any = None, density: bool = False, **options: Any
    ) -> tuple[np.ndarray, np.ndarray, marks.Bars]:
        """A histogram; returns the heights, the edges and the bars, as matplotlib does."""
        options["colour kind"] = "line"
        numbers = np.asarray(values, float)
        heights, edges = np.histogram(numbers, bins, range, density=density)
        left = edges[:-1]
        right = edges[1:]
        drawn = self._boxes(left, right, heights, options)
        return heights, edges, drawn

    def _boxes(self, left, right, height, options):
        """Bars from zero to `height`; left, right, height: (n,)."""
        colours = self._colours(options)
        bars = marks.Bars(
            left=left,
            right=right,
            foot=np.minimum(height, 0),
            top=np.maximum(height, 0),
            colours=colours,
            alpha=_alpha(options),
            label=_label(options),
        )
        _no_more(options)
        self.x.include([left.min(), right.max()])
        self.y.include([bars.foot.min(), bars.top.max()])
        self.y.sticky.append(0.0)
        self.marks.append(bars)
        return bars

    def bar_label(self, bars: marks.Bars, *, fmt: str, fontsize: float, padding: float) -> None:
        """The height of each bar, written beyond its end."""
        places = (bars.left + bars.right) / 2
        for place, foot, top in zip(places, bars.foot, bars.top, strict=True):
            upward = top > 0 or foot == 0
            value = top if upward else foot
            word = marks.Word(
                x=place,
                y=value,
                text=fmt % value,
                colour="ink",
                size=fontsize,
                across="middle",
                along="bottom" if upward else "top",
                shift=(0.0, padding if upward else -padding),
            )
            self.marks.append(word)

    def scatter(self, x: ArrayLike, y: ArrayLike, *, s: float, **options: Any) -> None:
        """Dots of area `s` square points."""
        options.pop("linewidths", None)
        options.pop("zorder", None)
        points = marks.Points(
            x=np.atleast_1d(np.asarray(x, float)),
            y=np.atleast_1d(np.asarray(y, float)),
            diameter=float(np.sqrt(s)),
            colour=self._colour(options, "fill"),
            alpha=_alpha(options),
            label=_label(options),
        )
        _no_more(options)
        self.x.include(points.x)
        self.y.include(points.y)
        self.marks.append(points)

    def imshow(
        self,
        values: ArrayLike,
        *,
        vmin: float,
        vmax: float,
        cmap: str | None = None,
        aspect: str = "auto",
    ) -> marks.Cells:
        """A matrix as cells, row 0 on top. values: (rows, columns)."""
        values = np.asarray(values, float)
        if values.ndim != 2:
            raise NotInScene("a picture of colours")
        if values.size > _MOST_CELLS:
            raise NotInScene("a picture of this size")
        scale = cmap or rcParams["image.cmap"]
        cells = marks.Cells(values, vmin, vmax, scale)
        rows, columns = values.shape
        self.x.manual = (-0.5, columns - 0.5)
        self.y.manual = (rows - 0.5, -0.5)
        self.marks.append(cells)
        return cells

    def add_patch(self, patch: Any) -> None:
        """A hatched rectangle; no other patch."""
        if not (hasattr(patch, "get_width") and patch.get_hatch()):
            raise NotInScene(type(patch).__name__)
        left, low = patch.get_xy()
        self.marks.append(marks.Hatch(left, low, patch.get_width(), patch.get_height()))

    # Words and arrows

    def text(self, x: float, y: float, text: str, **options: Any) -> None:
        """Words at a place."""
        options.pop("zorder", None)
        word = marks.Word(
            x=float(x),
            y=float(y),
            text=str(text),
            colour=_written_colour(options),
            size=options.pop("fontsize", rcParams["font.size"]),
            across=_ACROSS[options.pop("ha", "left")],
            along=_ALONG[options.pop("va", "baseline")],
        )
        _no_more(options)
        self.marks.append(word)

    def annotate(
        self,
        text: str,
        xy: Any,
        xytext: Any = None,
        textcoords: str = "data",
        arrowprops: dict | None = None,
        **options: Any,
    ) -> None:
        """An arrow without words, or words moved from their place by a few points."""
        if arrowprops is not None and not text:
            colour = _code(arrowprops["color"])
            arrow = marks.Arrow(tuple(xytext), tuple(xy), colour, arrowprops["linewidth"])
            self.marks.append(arrow)
            return
        if arrowprops is not None or textcoords != "offset points":
            raise NotInScene("an annotation of this kind")
        x, y = xy
        self.text(x, y, text, **options)
        self.marks[-1].shift = tuple(xytext)

    # Axes

    def set(self, **options: Any) -> None:
        """Several properties at once, as matplotlib's Axes.set."""
        for name, value in options.items():
            setter = getattr(self, f"set_{name}")
            if name in ("xlim", "ylim"):
                setter(*value)
            else:
                setter(value)

    def set_title(self, title: str, loc: str = "left") -> None:
        """The title, always at the left."""
        self.title = str(title)

    def set_xlabel(self, label: str) -> None:
        """What x holds."""
        self.xlabel = str(label)

    def set_ylabel(self, label: str) -> None:
        """What y holds."""
        self.ylabel = str(label)

    def set_aspect(self, aspect: Any) -> None:
        """Nothing: the frozen layout has the shape of the panel."""

    def get_xlim(self) -> tuple[float, float]:
        """The limits of x."""
        return self.x.limits()

    def get_ylim(self) -> tuple[float, float]:
        """The limits of y."""
        return self.y.limits()

    def set_xlim(self, left: Any = None, right: Any = None) -> None:
        """The limits of x; what is not given stays."""
        self.x.manual = _ends(self.x, left, right)

    def set_ylim(self, bottom: Any = None, top: Any = None) -> None:
        """The limits of y; what is not given stays."""
        self.y.manual = _ends(self.y, bottom, top)

    def invert_yaxis(self) -> None:
        """Turn y upside down."""
        if self.y.manual is not None:
            self.y.manual = self.y.manual[::-1]
        self.y.inverted = not self.y.inverted

    def set_xticks(
        self,
        places: Iterable,
        labels: Iterable | None = None,
        *,
        rotation: float = 0,
        ha: str = "center",
    ) -> None:
        """Ticks of x, and what they say."""
        self.slant = rotation
        _fix_ticks(self.x, places, labels)

    def set_yticks(self, places: Iterable, labels: Iterable | None = None) -> None:
        """Ticks of y, and what they say."""
        _fix_ticks(self.y, places, labels)

    def set_xscale(self, scale: str) -> None:
        """A linear or a logarithmic scale."""
        self.x.is_log = _is_log(scale)

    def set_yscale(self, scale: str) -> None:
        """A linear or a logarithmic scale."""
        self.y.is_log = _is_log(scale)

    def grid(self, *, axis: str = "both", visible: bool = True) -> None:
        """Show or hide the grid lines."""
        for name in self.grids:
            if axis in (name, "both"):
                self.grids[name] = visible

    def legend(self, **options: Any) -> SimpleNamespace:
        """A legend of all labels; the picture finds a free place for it."""
        self.has_legend = True
        return SimpleNamespace(legend_handles=[])

    # Colours

    def _colour(self, options, kind):
        """The colour that was asked for, or the next one of its kind."""
        given = options.pop("color", None)
        if given is not None:
            return _code(given)
        self._turn[kind] += 1
        return COLOURS[(self._turn[kind] - 1) % len(COLOURS)]

    def _colours(self, options):
        """One colour for all bars, or one for each."""
        kind = options.pop("colour kind", "fill")
        given = options.get("color")
        if given is not None and not isinstance(given, str):
            options.pop("color")
            return [_code(colour) for colour in given]
        return [self._colour(options, kind)]


def _code(colour):
    """A colour as "#rrggbb"."""
    return colors.to_hex(colour)


def _written_colour(options):
    """The colour of words; ink where none was asked for."""
    colour = options.pop("color", None)
    return "ink" if colour is None else _code(colour)


def _alpha(options):
    """How opaque a mark is, from 0 to 1."""
    alpha = options.pop("alpha", None)
    return 1.0 if alpha is None else float(alpha)


def _label(options):
    """What the legend says of a mark; nothing for no entry."""
    label = options.pop("label", None)
    return "" if label is None else str(label)


def _ends(axis, first, second):
    """The limits of an axis after one or both were given."""
    low, high = axis.limits()
    return (
        low if first is None else float(first),
        high if second is None else float(second),
    )


def _is_log(scale):
    _known(scale, ("linear", "log"))
    return scale == "log"


def _fix_ticks(axis, places, labels):
    """Ticks at these places, with labels or with their numbers."""
    axis.fixed_ticks = np.asarray(list(places), float)
    axis.fixed_labels = None if labels is None else [str(label) for label in labels]


def _known(value, allowed):
    """Refuse a value that a scene cannot draw."""
    if value not in allowed:
        raise NotInScene(repr(value))


def _no_more(options):
    """Refuse options that nobody has read: none is dropped in silence."""
    if options:
        raise NotInScene(f"the option {next(iter(options))}")
