"""A panel's frame: where its numbers are on the page, and the axes around them."""

from collections.abc import Iterator
from functools import cache

import numpy as np
from matplotlib import rcParams
from numpy.typing import ArrayLike

from attn_course.figures.marks import scale_colours
from attn_course.figures.markup import polyline, tag, width_of, words
from attn_course.figures.scene import SceneAxes

_TICK = 4  # pixels
_LINE = 14  # pixels from one line of text to the next
_SMALL = 9  # points, the size of a tick's label
_NAME = 10  # points, the size of an axis's name
_SCALE_STEPS = 32


class Frame:
    """From the numbers of a panel to pixels."""

    def __init__(self, axes: SceneAxes):
        box = axes.box
        self.axes = axes
        self.left = box.left
        self.top = box.top
        self.width = box.width
        self.height = box.height
        self.right = box.left + box.width
        self.bottom = box.top + box.height
        self.middle = box.top + box.height / 2
        self.x_ends = axes.x.scaled(axes.get_xlim())
        self.y_ends = axes.y.scaled(axes.get_ylim())

    def x(self, values: ArrayLike) -> np.ndarray:
        """Pixels from the left; a number or (n,)."""
        share = _share(self.axes.x.scaled(values), *self.x_ends)
        return self.left + self.width * share

    def y(self, values: ArrayLike) -> np.ndarray:
        """Pixels from the top; a number or (n,)."""
        share = _share(self.axes.y.scaled(values), *self.y_ends)
        return self.bottom - self.height * share


def _share(places, first, second):
    """Where places are between the first end (0) and the second (1)."""
    return (places - first) / (second - first)


def draw_axes(frame: Frame) -> Iterator[str]:
    """Grid, ticks, their labels, the names of the axes and the title."""
    yield from _x_axis(frame)
    yield from _y_axis(frame)
    head = (frame.left, frame.top)
    foot = (frame.left, frame.bottom)
    end = (frame.right, frame.bottom)
    yield _stroke("axis", head, foot)
    yield _stroke("axis", foot, end)
    yield words(
        frame.axes.title,
        frame.left,
        frame.top - 8,
        rcParams["axes.titlesize"],
    )


def _x_axis(frame):
    """Ticks and labels below the panel, and the name of x under the deepest of them."""
    axes = frame.axes
    places, labels = axes.x.ticks()
    top = frame.top
    bottom = frame.bottom
    below = bottom + _TICK
    depth = 0.0
    for x, label in zip(frame.x(places), labels, strict=True):
        if axes.grids["x"]:
            yield _stroke("grid", (x, top), (x, bottom))
        yield _stroke("axis", (x, bottom), (x, below))
        yield from _label_below(label, x, below, axes.slant)
        depth = max(depth, _depth(label, axes.slant))

    yield words(
        axes.xlabel,
        frame.left + frame.width / 2,
        below + depth + 16,
        _NAME,
        across="middle",
    )


def _y_axis(frame):
    """Ticks and labels left of the panel, and the name of y beside the widest of them."""
    axes = frame.axes
    places, labels = axes.y.ticks()
    left = frame.left
    right = frame.right
    outside = left - _TICK
    widest = 0.0
    for y, label in zip(frame.y(places), labels, strict=True):
        if axes.grids["y"]:
            yield _stroke("grid", (left, y), (right, y))
        yield _stroke("axis", (outside, y), (left, y))
        yield words(
            label,
            outside - 3,
            y,
            _SMALL,
            across="end",
            along="middle",
        )
        width = width_of(label, _SMALL)
        widest = max(widest, width)

    yield _upright(axes.ylabel, left - widest - 18, frame.middle)


def draw_scale(frame: Frame) -> Iterator[str]:
    """A colour bar with its ticks at the right."""
    axes = frame.axes
    yield from _scale_steps(frame)
    right = frame.right
    outside = right + _TICK
    places, labels = axes.y.ticks()
    widest = 0.0
    for y, label in zip(frame.y(places), labels, strict=True):
        yield _stroke("axis", (right, y), (outside, y))
        yield words(
            label,
            outside + 3,
            y,
            _SMALL,
            along="middle",
        )
        width = width_of(label, _SMALL)
        widest = max(widest, width)

    yield _upright(axes.ylabel, right + widest + 20, frame.middle)


def _scale_steps(frame):
    """The colours of the bar, from its foot upwards."""
    height = frame.height / _SCALE_STEPS
    colours = _colours_of_scale(frame.axes.scale.cmap)
    for row, colour in enumerate(colours, 1):
        yield tag(
            "rect",
            x=frame.left,
            y=frame.bottom - row * height,
            width=frame.width,
            height=height + 0.5,
            fill=colour,
        )


@cache
def _colours_of_scale(cmap):
    """The colours of the steps, from the foot of the bar upwards."""
    steps = np.linspace(0, 1, _SCALE_STEPS)
    return scale_colours(steps, 0, 1, cmap).tolist()


def _stroke(kind, start, end):
    """A straight line of the class `kind`; start, end: (x, y) in pixels."""
    return tag("path", class_=kind, d=polyline([start, end]))


def _upright(text, x, y):
    """The name of an axis, read from below."""
    return words(text, x, y, _NAME, across="middle", turned=90)


def _label_below(label, x, top, slant):
    """A tick's label, slanted or in lines below each other."""
    if slant:
        yield words(
            label,
            x,
            top + 8,
            _SMALL,
            across="end",
            along="middle",
            turned=slant,
        )
        return

    y = top + 3
    for line in label.split("\n"):
        yield words(line, x, y, _SMALL, across="middle", along="top")
        y += _LINE


def _depth(label, slant):
    """How far a tick's label reaches below its tick."""
    if slant:
        return 0.5 * width_of(label, _SMALL)
    return _LINE * (label.count("\n") + 1)
