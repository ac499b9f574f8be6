"""A scene as SVG text, one drawing for each pane. Knows how a mark looks, not what it means."""

from html import escape

import numpy as np

from attn_course.figures import marks
from attn_course.figures.frame import Frame, draw_axes, draw_scale
from attn_course.figures.legend import draw_legend
from attn_course.figures.markup import PIXELS, polygon, polyline, tag, words
from attn_course.figures.scene import Scene
from attn_course.figures.style import DASHES, colour_code

_FAR = 1e5  # pixels: beyond, a browser's numbers are not safe
_HEAD = 11.0  # pixels, the length of an arrow's head
_DOT = 6  # points, the diameter of a marker


def to_svg(scene: Scene, alt: str) -> str:
    """The scene as HTML: a row of SVG drawings that wrap where the page is narrow."""
    drawn = [[] for _ in scene.layout.panes]
    for axes in scene.axes:
        drawn[axes.box.pane].append(_panel(axes))
    panes = []
    for place, parts in zip(scene.layout.panes, drawn, strict=True):
        panes.append(_pane(place, "".join(parts)))
    return tag("div", "".join(panes), class_="attn-frame", role="img", aria_label=escape(alt))


def _pane(place, content):
    left, right, top, bottom = place
    width = right - left
    return tag(
        "svg",
        content,
        viewBox=f"{left:.0f} {top:.0f} {width:.0f} {bottom - top:.0f}",
        style=f"width:{width:.0f}px",
        aria_hidden="true",
    )


def _panel(axes):
    frame = Frame(axes)
    if axes.scale is not None:
        return draw_scale(frame)
    shapes = []
    texts = []
    for mark in axes.marks:
        drawn = _DRAWN[type(mark)](mark, frame)
        if isinstance(mark, marks.Word):
            texts.append(drawn)
        else:
            shapes.append(drawn)
    legend = draw_legend(frame) if axes.has_legend else ""
    return draw_axes(frame) + _clip(frame, shapes) + "".join(texts) + legend


def _clip(frame, parts):
    """The shapes inside the panel; what sticks out is cut."""
    return tag(
        "svg",
        "".join(parts),
        x=frame.left,
        y=frame.top,
        width=frame.width,
        height=frame.height,
        viewBox=f"{frame.left:.1f} {frame.top:.1f} {frame.width:.1f} {frame.height:.1f}",
    )


def _line(mark, frame):
    x = frame.x(mark.x)
    y = frame.y(mark.y)
    if mark.marker:
        return _dots(x, y, _DOT, mark)
    return _stroke(_path(x, y), mark, alpha=mark.alpha)


def _stroke(path, mark, alpha=1.0):
    return tag(
        "path",
        d=path,
        fill="none",
        stroke=colour_code(mark.colour),
        stroke_width=mark.width * PIXELS,
        stroke_dasharray=DASHES[mark.dash] or None,
        opacity=_opacity(alpha),
    )


def _path(x, y):
    """A path through the points; what is not a number leaves a gap."""
    across = np.clip(x, -_FAR, _FAR)
    down = np.clip(y, -_FAR, _FAR)
    known = np.isfinite(across) & np.isfinite(down)
    gaps = np.flatnonzero(~known)
    pieces = []
    for piece in np.split(np.c_[across, down], gaps):
        points = piece[np.isfinite(piece).all(1)]
        if len(points):
            pieces.append(polyline(points.tolist()))
    return "".join(pieces)


def _rule(mark, frame):
    if mark.direction == "x":
        x = float(frame.x(mark.place))
        ends = [(x, frame.top), (x, frame.bottom)]
    else:
        y = float(frame.y(mark.place))
        ends = [(frame.left, y), (frame.right, y)]
    return _stroke(polyline(ends), mark)


def _band(mark, frame):
    x = frame.x(np.r_[mark.x, mark.x[::-1]])
    y = frame.y(np.r_[mark.high, mark.low[::-1]])
    return _area(_path(x, y), mark.colour, mark.alpha)


def _area(path, colour, alpha):
    return tag("path", d=path, fill=colour_code(colour), opacity=_opacity(alpha))


def _bars(mark, frame):
    left = frame.x(mark.left).tolist()
    right = frame.x(mark.right).tolist()
    foot = frame.y(mark.foot).tolist()
    top = frame.y(mark.top).tolist()
    boxes = [_box(*sides) for sides in zip(left, right, foot, top, strict=True)]
    if len(mark.colours) == 1:
        return _area("".join(boxes), mark.colours[0], mark.alpha)
    parts = []
    for box, colour in zip(boxes, mark.colours, strict=True):
        parts.append(_area(box, colour, mark.alpha))
    return "".join(parts)


def _box(left, right, foot, top):
    return f"M{left:.1f} {foot:.1f}V{top:.1f}H{right:.1f}V{foot:.1f}Z"


def _points(mark, frame):
    return _dots(frame.x(mark.x), frame.y(mark.y), mark.diameter, mark)


def _dots(x, y, diameter, mark):
    """Dots as strokes without length, the shortest way to write many."""
    places = zip(x.tolist(), y.tolist(), strict=True)
    return tag(
        "path",
        d="".join(f"M{across:.1f} {down:.1f}h0" for across, down in places),
        stroke=colour_code(mark.colour),
        stroke_width=diameter * PIXELS,
        stroke_linecap="round",
        opacity=_opacity(mark.alpha),
    )


def _cells(mark, frame):
    rows, columns = mark.values.shape
    x = frame.x(np.arange(columns + 1) - 0.5).tolist()
    y = frame.y(np.arange(rows + 1) - 0.5).tolist()
    parts = []
    for (row, column), colour in np.ndenumerate(mark.colours()):
        cell = tag(
            "rect",
            x=x[column],
            y=y[row],
            width=x[column + 1] - x[column],
            height=y[row + 1] - y[row],
            fill=str(colour),
        )
        parts.append(cell)
    return tag("g", "".join(parts), shape_rendering="crispEdges")


def _hatch(mark, frame):
    """Slanted lines through a cell."""
    sides = frame.x([mark.left, mark.left + mark.width])
    ends = frame.y([mark.low, mark.low + mark.height])
    left = sides.min()
    top = ends.min()
    right = sides.max()
    bottom = ends.max()
    strokes = []
    for share in (1 / 3, 2 / 3, 1):
        x = left + share * (right - left)
        y = top + share * (bottom - top)
        upper = [(left, y), (x, top)]
        lower = [(x, bottom), (right, y)]
        strokes += [polyline(upper), polyline(lower)]
    return tag("path", class_="hatch", d="".join(strokes))


def _arrow(mark, frame):
    """A shaft and a head of fixed size."""
    start = np.array([frame.x(mark.start[0]), frame.y(mark.start[1])])
    end = np.array([frame.x(mark.end[0]), frame.y(mark.end[1])])
    length = float(np.hypot(*(end - start)))
    if not length > 0.1:
        return ""
    along = (end - start) / length
    aside = 4 * np.array([-along[1], along[0]])
    neck = end - along * min(_HEAD, length)
    shaft = tag(
        "path",
        d=polyline([start, neck]),
        stroke=colour_code(mark.colour),
        stroke_width=mark.width * PIXELS,
    )
    head = polygon([end, neck + aside, neck - aside])
    return shaft + _area(head, mark.colour, 1.0)


def _word(mark, frame):
    right, up = mark.shift
    return words(
        mark.text,
        float(frame.x(mark.x)) + right * PIXELS,
        float(frame.y(mark.y)) - up * PIXELS,
        mark.size,
        across=mark.across,
        along=mark.along,
        colour=None if mark.colour == "ink" else colour_code(mark.colour),
    )


def _opacity(alpha):
    return f"{alpha:g}" if alpha < 1 else None


_DRAWN = {
    marks.Line: _line,
    marks.Rule: _rule,
    marks.Band: _band,
    marks.Bars: _bars,
    marks.Points: _points,
    marks.Cells: _cells,
    marks.Hatch: _hatch,
    marks.Arrow: _arrow,
    marks.Word: _word,
}
