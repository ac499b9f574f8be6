"""The legend of a scene's panel: what it says and where it hides the least. Knows one panel at a time."""

from html import escape

import numpy as np

from attn_course.figures import marks
from attn_course.figures.style import DASHES, colour_code

_ROW = 17  # pixels
_SAMPLE = 30
_LETTER = 7.6
_GAP = 6
# Where it may be, the most wanted first: shares of the free width and height.
_PLACES = ((1, 0), (0, 0), (1, 1), (0, 1), (0.5, 0), (0.5, 1), (1, 0.5), (0, 0.5), (0.5, 0.5))


def draw_legend(axes, frame) -> str:
    """The legend as SVG; it stays where it was last unless something is in the way there."""
    named = [mark for mark in axes.marks if mark.label]
    if not named:
        return ""
    width = _SAMPLE + _LETTER * max(len(mark.label) for mark in named) + _GAP
    height = _ROW * len(named)
    corners = _corners(frame.box, width, height)
    legends = axes.figure.layout.legends
    chosen = _freest(corners, width, height, _obstacles(axes, frame), legends.get(axes.number, 0))
    legends[axes.number] = chosen
    left, top = corners[chosen]
    box = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    parts = [f'<rect class="ground" {box}/>']
    for row, mark in enumerate(named):
        middle = top + (row + 0.5) * _ROW
        parts.append(_sample(mark, left + 4, middle))
        place = f'x="{left + _SAMPLE:.1f}" y="{middle + 4.4:.1f}" font-size="12.5"'
        parts.append(f"<text {place}>{escape(mark.label)}</text>")
    return "".join(parts)


def _corners(box, width, height):
    """The top left corner of the legend in each of its places."""
    free_width = box.width - width - 2 * _GAP
    free_height = box.height - height - 2 * _GAP
    found = []
    for across, down in _PLACES:
        found.append((box.left + _GAP + across * free_width, box.top + _GAP + down * free_height))
    return found


def _freest(corners, width, height, points, last):
    """The number of the place that covers the fewest points; the last one wins a tie."""
    covered = []
    for left, top in corners:
        inside = (points[0] > left) & (points[0] < left + width)
        inside &= (points[1] > top) & (points[1] < top + height)
        covered.append(int(inside.sum()))
    best = min(covered)
    if covered[last] == best:
        return last
    return covered.index(best)


def _obstacles(axes, frame):
    """Points on everything that a legend should not cover, (2, n) in pixels."""
    found = [np.empty((2, 0))]
    for mark in axes.marks:
        if isinstance(mark, (marks.Line, marks.Points)):
            found.append(np.array([frame.x(mark.x), frame.y(mark.y)]))
        elif isinstance(mark, marks.Bars):
            found += _points_on_bars(mark, frame)
        elif isinstance(mark, marks.Word):
            found.append(np.array([[float(frame.x(mark.x))], [float(frame.y(mark.y)) - 6]]))
    return np.concatenate(found, axis=1)


def _points_on_bars(mark, frame):
    """Points in three columns of each bar, those of no height left out."""
    tall = mark.top > mark.foot
    for across in (0.1, 0.5, 0.9):
        x = frame.x(mark.left + across * (mark.right - mark.left))[tall]
        for up in (0.25, 0.5, 0.75, 1.0):
            y = frame.y(mark.foot + up * (mark.top - mark.foot))[tall]
            yield np.array([x, y])


def _sample(mark, left, middle):
    """A piece of the mark, large and strong enough to be seen."""
    if isinstance(mark, marks.Bars):
        box = f'x="{left:.1f}" y="{middle - 5:.1f}" width="20" height="10"'
        return f'<rect {box} fill="{colour_code(mark.colours[0])}" opacity="{mark.alpha:g}"/>'
    if isinstance(mark, marks.Points):
        return f'<circle cx="{left + 10:.1f}" cy="{middle:.1f}" r="4.5" fill="{colour_code(mark.colour)}"/>'
    if isinstance(mark, marks.Band):
        box = f'x="{left:.1f}" y="{middle - 5:.1f}" width="20" height="10"'
        return f'<rect {box} fill="{colour_code(mark.colour)}" opacity="{max(mark.alpha, 0.3):g}"/>'
    dash = f' stroke-dasharray="{DASHES[mark.dash]}"' if DASHES[mark.dash] else ""
    width = min(1.4 * mark.width, 5)
    style = f'stroke="{colour_code(mark.colour)}" stroke-width="{width:.1f}"{dash}'
    return f'<path d="M{left:.1f} {middle:.1f}h20" {style}/>'
