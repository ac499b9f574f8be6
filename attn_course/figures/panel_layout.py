"""Where the parts of a panel are in its drawing, in pixels; and its axes as SVG."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures.axis import Axis, linear_ticks
from attn_course.figures.marks import Cells
from attn_course.figures.panel import Figure, Panel
from attn_course.figures.style import LABEL_SIZE, SMALL_SIZE, TITLE_SIZE, scale_colours
from attn_course.figures.svg_elements import image_tag, polyline, tag, text_tag, text_width

TICK = 4  # pixels
LINE_HEIGHT = 14
LABEL_SPACE = 22  # for the name of an axis
BAR_GAP = 10  # between a panel and its colour bar
BAR_WIDTH = 12
LEGEND_ROW = 17
LEGEND_INDENT = 30  # where the text of a legend begins
_TITLE_SPACE = 28
_EDGE = 10  # where there is nothing to write
_SCALE_STEPS = 64
_SLANT = 45  # degrees


@dataclass
class Box:
    """A panel's drawing, `width` x `height`, and the edges of its axes in it."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float


def layout(figure: Figure) -> list[Box]:
    """Return a box for each panel; axes in one row are equally high, in one column equally wide."""
    width, height = figure.panel_size()
    columns = figure.columns
    boxes = [_box(panel, width, height) for panel in figure.panels]
    for number, box in enumerate(boxes):
        row = number // columns * columns
        in_row = boxes[row : row + columns]
        in_column = boxes[number % columns :: columns]
        box.top = max(other.top for other in in_row)
        box.bottom = min(other.bottom for other in in_row)
        box.left = max(other.left for other in in_column)
        box.right = min(other.right for other in in_column)

    for panel, box in zip(figure.panels, boxes, strict=True):
        if panel.is_equal:
            _make_equal(panel, box)
    return boxes


def label_depth(axis: Axis) -> float:
    """Return how far the labels of the ticks of x reach below their ticks."""
    _, labels = axis.ticks()
    if axis.is_slanted:
        return max((0.6 * text_width(label, SMALL_SIZE) for label in labels), default=0) + 10
    lines = max((label.count("\n") + 1 for label in labels), default=0)
    return LINE_HEIGHT * lines


def label_width(axis: Axis) -> float:
    """Return the width of the widest label of the ticks of y."""
    _, labels = axis.ticks()
    return max((text_width(label, SMALL_SIZE) for label in labels), default=0)


def legend_size(panel: Panel) -> tuple[float, float]:
    """Return (width, height) of the legend of a panel."""
    labels = [mark.label for mark in panel.marks if mark.label]
    widest = max((text_width(label, SMALL_SIZE) for label in labels), default=0)
    return LEGEND_INDENT + widest + 6, LEGEND_ROW * len(labels)


def _box(panel: Panel, width: float, height: float) -> Box:
    """Return the box of a panel by itself."""
    left = label_width(panel.y) + TICK + 5
    if panel.y.label:
        left += LABEL_SPACE
    bottom = label_depth(panel.x) + TICK + 3
    if panel.x.label:
        bottom += LABEL_SPACE
    right: float = _EDGE
    if panel.colour_bar is not None:
        right = BAR_GAP + BAR_WIDTH + 40
        if panel.colour_bar_label:
            right += LABEL_SPACE
    if panel.legend_is_outside:
        right += legend_size(panel)[0]
    return Box(
        width=width,
        height=height,
        left=left,
        right=width - right,
        top=_TITLE_SPACE if panel.title else _EDGE,
        bottom=height - bottom,
    )


def _make_equal(panel: Panel, box: Box) -> None:
    """Shrink the axes in one direction until a unit of x is as long as a unit of y."""
    first, last = panel.x.limits()
    low, high = panel.y.limits()
    shape = abs((last - first) / (high - low))  # width over height
    width = box.right - box.left
    height = box.bottom - box.top
    if width > height * shape:
        narrower = width - height * shape
        box.right -= narrower
        box.width -= narrower
    else:
        lower = height - width / shape
        box.top += lower / 2
        box.bottom -= lower / 2


class Frame:
    """From the numbers of a panel to pixels of its drawing."""

    def __init__(self, panel: Panel, box: Box):
        self.panel = panel
        self.left = box.left
        self.right = box.right
        self.top = box.top
        self.bottom = box.bottom
        self.width = box.right - box.left
        self.height = box.bottom - box.top
        self.middle = (box.top + box.bottom) / 2

    def x(self, values: ArrayLike) -> np.ndarray:
        """Return pixels from the left; a number or (n,)."""
        return self.left + self.width * self.panel.x.shares(values)

    def y(self, values: ArrayLike) -> np.ndarray:
        """Return pixels from the top; a number or (n,)."""
        return self.bottom - self.height * self.panel.y.shares(values)


def draw_axes(frame: Frame) -> Iterator[str]:
    """Return the grid, ticks with labels, names of the axes, title and colour bar as SVG."""
    yield _lines(frame)
    yield from _x_labels(frame)
    yield from _y_labels(frame)
    yield text_tag(frame.panel.title, frame.left, frame.top - 8, TITLE_SIZE)
    if frame.panel.colour_bar is not None:
        yield from _colour_bar(frame, frame.panel.colour_bar)


def _lines(frame: Frame) -> str:
    """Return grid, ticks and the two axes, as two paths."""
    grid = ""
    corner = (frame.left, frame.bottom)
    axes = polyline([(frame.left, frame.top), corner, (frame.right, frame.bottom)])
    for x in frame.x(frame.panel.x.ticks()[0]):
        axes += f"M{x:.1f} {frame.bottom:.1f}v{TICK}"
        if frame.panel.x.has_grid:
            grid += f"M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}"
    for y in frame.y(frame.panel.y.ticks()[0]):
        axes += f"M{frame.left:.1f} {y:.1f}h-{TICK}"
        if frame.panel.y.has_grid:
            grid += f"M{frame.left:.1f} {y:.1f}H{frame.right:.1f}"
    drawn = tag("path", class_="axis", d=axes)
    return tag("path", class_="grid", d=grid) + drawn if grid else drawn


def _x_labels(frame: Frame) -> Iterator[str]:
    """Return the labels of the ticks of x, and the name of x below these."""
    axis = frame.panel.x
    places, labels = axis.ticks()
    below = frame.bottom + TICK
    for x, label in zip(frame.x(places), labels, strict=True):
        if axis.is_slanted:
            yield text_tag(
                label,
                x + 3,
                below + 8,
                SMALL_SIZE,
                horizontal="right",
                vertical="center",
                angle=_SLANT,
            )
            continue
        for number, line in enumerate(label.split("\n")):
            y = below + 3 + number * LINE_HEIGHT
            yield text_tag(line, x, y, SMALL_SIZE, horizontal="center", vertical="top")

    middle = (frame.left + frame.right) / 2
    y = below + label_depth(axis) + 16
    yield text_tag(axis.label, middle, y, LABEL_SIZE, horizontal="center")


def _y_labels(frame: Frame) -> Iterator[str]:
    """Return the labels of the ticks of y, and the name of y beside the widest of them."""
    axis = frame.panel.y
    places, labels = axis.ticks()
    for y, label in zip(frame.y(places), labels, strict=True):
        x = frame.left - TICK - 3
        yield text_tag(label, x, y, SMALL_SIZE, horizontal="right", vertical="center")

    x = frame.left - label_width(axis) - 14
    yield _upright(axis.label, x, frame.middle)


def _colour_bar(frame: Frame, cells: Cells) -> Iterator[str]:
    """Return the scale of the cells, right of the panel."""
    left = frame.right + BAR_GAP
    right = left + BAR_WIDTH
    shares = np.linspace(1, 0, _SCALE_STEPS)
    colours = scale_colours(shares, cells.scale)[:, None]  # (steps, 1, 3)
    yield image_tag(colours, left, frame.top, BAR_WIDTH, frame.height)
    places, labels = linear_ticks(cells.low, cells.high, frame.panel.y.most_ticks)
    for place, label in zip(places, labels, strict=True):
        y = frame.bottom - frame.height * (place - cells.low) / (cells.high - cells.low)
        yield tag("path", class_="axis", d=f"M{right:.1f} {y:.1f}h{TICK}")
        yield text_tag(label, right + TICK + 3, y, SMALL_SIZE, vertical="center")

    widest = max(text_width(label, SMALL_SIZE) for label in labels)
    yield _upright(frame.panel.colour_bar_label, right + widest + 20, frame.middle)


def _upright(text: str, x: float, y: float) -> str:
    """Return the name of an axis, read from below."""
    return text_tag(text, x, y, LABEL_SIZE, horizontal="center", angle=90)
