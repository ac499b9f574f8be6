"""The axes of a panel as SVG: grid, ticks, labels, title, colour bar."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures.colour_scales import scale_colours
from attn_course.figures.image import image_tag
from attn_course.figures.layout import (
    BAR_GAP,
    BAR_WIDTH,
    LINE_HEIGHT,
    TICK,
    Box,
    label_depth,
    label_width,
)
from attn_course.figures.marks import Cells
from attn_course.figures.markup import polyline, tag, text_tag, text_width
from attn_course.figures.panel import Panel
from attn_course.figures.style import LABEL_SIZE, SMALL_SIZE, TITLE_SIZE
from attn_course.figures.ticks import linear_ticks

_SCALE_STEPS = 64
_SLANT = 45  # degrees


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
        """Pixels from the left; a number or (n,)."""
        return self.left + self.width * self.panel.x.shares(values)

    def y(self, values: ArrayLike) -> np.ndarray:
        """Pixels from the top; a number or (n,)."""
        return self.bottom - self.height * self.panel.y.shares(values)


def draw_axes(frame: Frame) -> Iterator[str]:
    """Grid, ticks with their labels, names of the axes, title, colour bar."""
    yield _lines(frame)
    yield from _x_labels(frame)
    yield from _y_labels(frame)
    yield text_tag(frame.panel.title, frame.left, frame.top - 8, TITLE_SIZE)
    if frame.panel.colour_bar is not None:
        yield from _colour_bar(frame, frame.panel.colour_bar)


def _lines(frame: Frame) -> str:
    """Grid, ticks and the two axes, as two paths."""
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
    """The labels of the ticks of x, and the name of x below these."""
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
    """The labels of the ticks of y, and the name of y beside the widest of them."""
    axis = frame.panel.y
    places, labels = axis.ticks()
    for y, label in zip(frame.y(places), labels, strict=True):
        x = frame.left - TICK - 3
        yield text_tag(label, x, y, SMALL_SIZE, horizontal="right", vertical="center")

    x = frame.left - label_width(axis) - 14
    yield _upright(axis.label, x, frame.middle)


def _colour_bar(frame: Frame, cells: Cells) -> Iterator[str]:
    """The scale of the cells, right of the panel."""
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
    """The name of an axis, read from below."""
    return text_tag(text, x, y, LABEL_SIZE, horizontal="center", angle=90)
