"""A panel's frame: where its numbers are on the page, and the axes around them. Knows no mark."""

from functools import cache

import numpy as np
from matplotlib import rcParams

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
        self.x_limits = axes.get_xlim()
        self.y_limits = axes.get_ylim()

    def x(self, values):
        """Pixels from the left; a number or (n,)."""
        share = _share(values, *self.x_limits)
        return self.left + self.width * share

    def y(self, values):
        """Pixels from the top; a number or (n,)."""
        share = _share(values, *self.y_limits)
        return self.bottom - self.height * share


def _share(values, low, high):
    return (np.asarray(values, float) - low) / (high - low)


def draw_axes(frame: Frame) -> str:
    """Grid, ticks, their labels, the names of the axes and the title."""
    foot = (frame.left, frame.bottom)
    parts = [
        _x_axis(frame),
        _y_axis(frame),
        _stroke("axis", (frame.left, frame.top), foot),
        _stroke("axis", foot, (frame.right, frame.bottom)),
        words(frame.axes.title, frame.left, frame.top - 8, rcParams["axes.titlesize"]),
    ]
    return "".join(parts)


def _x_axis(frame):
    axes = frame.axes
    places, labels = axes.x.ticks()
    parts = []
    depth = 0.0
    for x, label in zip(frame.x(places), labels, strict=True):
        if axes.grids["x"]:
            parts.append(_stroke("grid", (x, frame.top), (x, frame.bottom)))
        parts.append(_stroke("axis", (x, frame.bottom), (x, frame.bottom + _TICK)))
        parts.append(_label_below(label, x, frame.bottom + _TICK, axes.slant))
        depth = max(depth, _depth(label, axes.slant))
    parts.append(
        words(
            axes.xlabel,
            frame.left + frame.width / 2,
            frame.bottom + _TICK + depth + 16,
            _NAME,
            across="middle",
        )
    )
    return "".join(parts)


def _y_axis(frame):
    axes = frame.axes
    places, labels = axes.y.ticks()
    parts = []
    widest = 0.0
    for y, label in zip(frame.y(places), labels, strict=True):
        if axes.grids["y"]:
            parts.append(_stroke("grid", (frame.left, y), (frame.right, y)))
        parts.append(_stroke("axis", (frame.left - _TICK, y), (frame.left, y)))
        end = frame.left - _TICK - 3
        parts.append(words(label, end, y, _SMALL, across="end", along="middle"))
        widest = max(widest, width_of(label, _SMALL))
    parts.append(_upright(axes.ylabel, frame.left - widest - 18, frame.middle))
    return "".join(parts)


def draw_scale(frame: Frame) -> str:
    """A colour bar with its ticks at the right."""
    axes = frame.axes
    height = frame.height / _SCALE_STEPS
    parts = []
    for row, colour in enumerate(_colours_of_scale(axes.scale.cmap), 1):
        step = tag(
            "rect",
            x=frame.left,
            y=frame.bottom - row * height,
            width=frame.width,
            height=height + 0.5,
            fill=colour,
        )
        parts.append(step)
    places, labels = axes.y.ticks()
    widest = 0.0
    for y, label in zip(frame.y(places), labels, strict=True):
        parts.append(_stroke("axis", (frame.right, y), (frame.right + _TICK, y)))
        parts.append(words(label, frame.right + _TICK + 3, y, _SMALL, along="middle"))
        widest = max(widest, width_of(label, _SMALL))
    parts.append(_upright(axes.ylabel, frame.right + widest + 20, frame.middle))
    return "".join(parts)


@cache
def _colours_of_scale(cmap):
    steps = np.linspace(0, 1, _SCALE_STEPS)
    return scale_colours(steps, 0, 1, cmap).tolist()


def _stroke(kind, start, end):
    return tag("path", class_=kind, d=polyline([start, end]))


def _upright(text, x, y):
    return words(text, x, y, _NAME, across="middle", turned=90)


def _label_below(label, x, top, slant):
    if slant:
        return words(label, x, top + 8, _SMALL, across="end", along="middle", turned=slant)
    parts = []
    for row, line in enumerate(label.split("\n")):
        y = top + 3 + _LINE * row
        parts.append(words(line, x, y, _SMALL, across="middle", along="top"))
    return "".join(parts)


def _depth(label, slant):
    """How far a tick's label reaches below its tick."""
    if slant:
        return 0.5 * width_of(label, _SMALL)
    return _LINE * (label.count("\n") + 1)
