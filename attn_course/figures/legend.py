"""The legend of a scene's panel: what it says and where it hides the least."""

from collections.abc import Iterator

import numpy as np

from attn_course.figures import marks
from attn_course.figures.frame import Frame
from attn_course.figures.markup import polyline, tag, width_of, words
from attn_course.figures.style import DASHES, colour_code

_ROW = 17  # pixels
_SAMPLE = 20  # pixels, the width of a sample
_INDENT = 30  # pixels, where the words begin
_GAP = 6
_SIZE = 9  # points
# Where it may be, the most wanted first: shares of the free width and height.
_PLACES = np.array(
    [(1, 0), (0, 0), (1, 1), (0, 1), (0.5, 0), (0.5, 1), (1, 0.5), (0, 0.5), (0.5, 0.5)]
)


def draw_legend(frame: Frame) -> Iterator[str]:
    """The legend as SVG; it stays where it was last unless something is in the way there."""
    named = [mark for mark in frame.axes.marks if mark.label]
    if not named:
        return
    widest = max(width_of(mark.label, _SIZE) for mark in named)
    width = _INDENT + widest + _GAP
    height = _ROW * len(named)
    left, top = _find_place(frame, width, height)
    yield tag(
        "rect",
        class_="ground",
        x=left,
        y=top,
        width=width,
        height=height,
    )
    middle = top + _ROW / 2
    for mark in named:
        yield _sample(mark, left + 4, middle)
        yield words(mark.label, left + _INDENT, middle, _SIZE, along="middle")
        middle += _ROW


def _find_place(frame, width, height):
    """The top left corner of the legend, remembered for the next frame."""
    size = np.array([width, height])
    corners = _corners(frame, size)
    obstacles = _obstacles(frame)
    places = frame.axes.figure.layout.legends
    number = frame.axes.number
    last = places.get(number, 0)
    chosen = _freest(corners, size, obstacles, last)
    places[number] = chosen
    return corners[chosen]


def _corners(frame, size):
    """The top left corner of the legend in each of its places, (places, 2)."""
    panel = np.array([frame.width, frame.height])
    start = np.array([frame.left, frame.top])
    free = panel - size - 2 * _GAP
    return start + _GAP + _PLACES * free


def _freest(corners, size, points, last):
    """The number of the place that covers the fewest points, (n, 2); the last one wins a tie."""
    covered = []
    for corner in corners:
        is_inside = (points > corner) & (points < corner + size)
        is_covered = is_inside.all(1)
        covered.append(int(is_covered.sum()))

    best = min(covered)
    if covered[last] == best:
        return last
    return covered.index(best)


def _obstacles(frame):
    """Points on everything that a legend should not cover, (n, 2) in pixels."""
    found = [np.empty((0, 2))]
    for mark in frame.axes.marks:
        found += _points_on(mark, frame)
    return np.concatenate(found)


def _points_on(mark, frame):
    """Points on one mark, as arrays (n, 2)."""
    if isinstance(mark, marks.Bars):
        yield from _points_on_bars(mark, frame)
    elif isinstance(mark, (marks.Line, marks.Points, marks.Word)):
        x = frame.x(mark.x)
        y = frame.y(mark.y)
        if isinstance(mark, marks.Word):
            y = y - 6
        yield np.column_stack([x, y])


def _points_on_bars(mark, frame):
    """Points in three columns of each bar, those of no height left out."""
    tall = mark.top > mark.foot
    width = mark.right - mark.left
    height = mark.top - mark.foot
    for across in (0.1, 0.5, 0.9):
        column = mark.left + across * width
        x = frame.x(column)[tall]
        for up in (0.25, 0.5, 0.75, 1.0):
            level = mark.foot + up * height
            y = frame.y(level)[tall]
            yield np.column_stack([x, y])


def _sample(mark, left, middle):
    """A piece of the mark, large and strong enough to be seen."""
    if isinstance(mark, marks.Bars):
        return _patch(left, middle, mark.colours[0], mark.alpha)
    if isinstance(mark, marks.Band):
        return _patch(left, middle, mark.colour, max(mark.alpha, 0.3))
    colour = colour_code(mark.colour)
    if isinstance(mark, marks.Points):
        return tag("circle", cx=left + _SAMPLE / 2, cy=middle, r=4.5, fill=colour)
    return tag(
        "path",
        d=polyline([(left, middle), (left + _SAMPLE, middle)]),
        stroke=colour,
        stroke_width=min(1.4 * mark.width, 5),
        stroke_dasharray=DASHES[mark.dash] or None,
    )


def _patch(left, middle, colour, alpha):
    """A small box of one colour."""
    return tag(
        "rect",
        x=left,
        y=middle - 5,
        width=_SAMPLE,
        height=10,
        fill=colour_code(colour),
        opacity=f"{alpha:g}",
    )
