"""A scene as SVG text, one drawing for each pane."""

from html import escape

import numpy as np

from attn_course.figures import marks
from attn_course.figures.frame import Frame, draw_axes, draw_scale
from attn_course.figures.legend import draw_legend
from attn_course.figures.markup import PIXELS, curve, polygon, polyline, tag, words
from attn_course.figures.scene import Scene
from attn_course.figures.style import DASHES, colour_code

_FAR = 1e5  # pixels: beyond, a browser's numbers are not safe
_HEAD = 11.0  # pixels, the length of an arrow's head
# The strokes of a crossed-out cell, in shares of its width and height.
_HATCH = (
    ((0, 0.5), (0.5, 1)),
    ((0, 0), (1, 1)),
    ((0.5, 0), (1, 0.5)),
)
_DOT = 6  # points, the diameter of a marker


def to_svg(scene: Scene, alt: str) -> str:
    """The scene as HTML: a row of SVG drawings that wrap where the page is narrow."""
    contents = [""] * len(scene.layout.panes)
    for axes in scene.axes:
        panel = "".join(_panel(axes))
        contents[axes.box.pane] += panel

    panes = ""
    for place, content in zip(scene.layout.panes, contents, strict=True):
        panes += _pane(place, content)
    return tag(
        "div",
        panes,
        class_="attn-frame",
        role="img",
        aria_label=escape(alt),
    )


def _pane(place, content):
    """One drawing. place: (left, right, top, bottom) in pixels."""
    left, right, top, bottom = place
    width = right - left
    height = bottom - top
    return tag(
        "svg",
        content,
        viewBox=f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}",
        style=f"width:{width:.0f}px",
        aria_hidden="true",
    )


def _panel(axes):
    """Everything of one panel: axes, shapes, words on top of them, legend."""
    frame = Frame(axes)
    if axes.scale is not None:
        yield from draw_scale(frame)
        return
    yield from draw_axes(frame)
    shapes = ""
    texts = ""
    for mark in axes.marks:
        drawn = _DRAWN[type(mark)](mark, frame)
        if isinstance(mark, marks.Word):
            texts += drawn
        else:
            shapes += drawn

    yield _clip(frame, shapes)
    yield texts
    if axes.has_legend:
        yield from draw_legend(frame)


def _clip(frame, shapes):
    """The shapes inside the panel; what sticks out is cut."""
    return tag(
        "svg",
        shapes,
        x=frame.left,
        y=frame.top,
        width=frame.width,
        height=frame.height,
        viewBox=f"{frame.left:.1f} {frame.top:.1f} {frame.width:.1f} {frame.height:.1f}",
    )


def _line(mark, frame):
    """A line, or its marker."""
    x = frame.x(mark.x)
    y = frame.y(mark.y)
    if mark.marker:
        return _dots(x, y, _DOT, mark)
    return _stroke(_path(x, y), mark, alpha=mark.alpha)


def _stroke(path, mark, alpha=1.0):
    """A path in the colour, width and dashes of its mark."""
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
    points = np.stack([x, y], axis=1)  # (n, 2)
    points = points.clip(-_FAR, _FAR)
    known = np.isfinite(points).all(1)
    gaps = np.flatnonzero(~known)
    path = ""
    for piece in np.split(points, gaps):
        seen = piece[np.isfinite(piece).all(1)]
        if len(seen):
            path += curve(seen)

    return path


def _rule(mark, frame):
    """A line from the top of the panel to its bottom."""
    x = float(frame.x(mark.place))
    ends = [(x, frame.top), (x, frame.bottom)]
    return _stroke(polyline(ends), mark)


def _band(mark, frame):
    """The way along the upper curve and back along the lower one."""
    back = mark.x[::-1]
    below = mark.low[::-1]
    x = np.concatenate([mark.x, back])
    y = np.concatenate([mark.high, below])
    path = _path(frame.x(x), frame.y(y))
    return _area(path, mark.colour, mark.alpha)


def _area(path, colour, alpha):
    """A filled path."""
    return tag("path", d=path, fill=colour_code(colour), opacity=_opacity(alpha))


def _bars(mark, frame):
    """One path where all bars have one colour, else one for each."""
    sides = np.array(
        [
            frame.x(mark.left),
            frame.x(mark.right),
            frame.y(mark.foot),
            frame.y(mark.top),
        ]
    )
    boxes = [_box(*bar) for bar in sides.T.tolist()]
    if len(mark.colours) == 1:
        path = "".join(boxes)
        return _area(path, mark.colours[0], mark.alpha)
    drawn = ""
    for box, colour in zip(boxes, mark.colours, strict=True):
        drawn += _area(box, colour, mark.alpha)
    return drawn


def _box(left, right, foot, top):
    """The outline of a bar."""
    return f"M{left:.1f} {foot:.1f}V{top:.1f}H{right:.1f}V{foot:.1f}Z"


def _points(mark, frame):
    """Dots of one size."""
    x = frame.x(mark.x)
    y = frame.y(mark.y)
    return _dots(x, y, mark.diameter, mark)


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
    """A coloured box for each number."""
    rows, columns = mark.values.shape
    x = frame.x(np.arange(columns) - 0.5)
    y = frame.y(np.arange(rows) - 0.5)
    width = frame.width / columns
    height = frame.height / rows
    drawn = ""
    for (row, column), colour in np.ndenumerate(mark.colours()):
        drawn += tag(
            "rect",
            x=x[column],
            y=y[row],
            width=width,
            height=height,
            fill=str(colour),
        )

    return tag("g", drawn, shape_rendering="crispEdges")


def _hatch(mark, frame):
    """Slanted lines through a cell."""
    path = ""
    for ends in _HATCH:
        points = []
        for across, up in ends:
            x = mark.left + across * mark.width
            y = mark.low + up * mark.height
            points.append(_pixels((x, y), frame))

        path += polyline(points)

    return tag("path", class_="hatch", d=path)


def _arrow(mark, frame):
    """A shaft and a head of fixed size."""
    start = _pixels(mark.start, frame)
    end = _pixels(mark.end, frame)
    way = end - start
    length = float(np.hypot(*way))
    if not length > 0.1:
        return ""
    along = way / length
    x, y = along
    aside = 4 * np.array([-y, x])
    neck = end - along * min(_HEAD, length)
    shaft = tag(
        "path",
        d=polyline([start, neck]),
        stroke=colour_code(mark.colour),
        stroke_width=mark.width * PIXELS,
    )
    head = polygon([end, neck + aside, neck - aside])
    return shaft + _area(head, mark.colour, 1.0)


def _pixels(place, frame):
    """A point of the panel on the page, (2,)."""
    x, y = place
    return np.array([frame.x(x), frame.y(y)])


def _word(mark, frame):
    """Words, moved from their place by a few points."""
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
    """Written only where something shines through."""
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
