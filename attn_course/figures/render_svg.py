"""A figure as SVG, one drawing for each panel; its colours follow the theme of the page."""

from functools import singledispatch
from html import escape

import numpy as np

from attn_course.figures import marks
from attn_course.figures.legend import Places, draw_legend
from attn_course.figures.panel import Figure, Panel
from attn_course.figures.panel_layout import Box, Frame, draw_axes
from attn_course.figures.style import DASHES, MARKER_DIAMETER
from attn_course.figures.svg_elements import (
    PIXELS,
    css_colour,
    curve,
    image_tag,
    polyline,
    tag,
    text_tag,
)

_FAR = 1e5  # pixels: beyond, a browser's numbers are not safe
_NARROW = 14  # pixels: a cell of this width is crossed out by one stroke instead of three
_HEAD = 11.0  # pixels, the length of an arrow's head


def render_svg(figure: Figure, boxes: list[Box], alt: str, legends: Places | None = None) -> str:
    """Return the figure as HTML: a row of drawings that wrap where the page is narrow.

    boxes: from `layout`. legends: where each panel's legend was last, kept up to date for the next frame.
    """
    if legends is None:
        legends = {}
    drawings = ""
    for number, (panel, box) in enumerate(zip(figure.panels, boxes, strict=True)):
        drawings += tag(
            "svg",
            _draw_panel(panel, box, number, legends),
            viewBox=f"0 0 {box.width:.0f} {box.height:.0f}",
            style=f"--width:{box.width:.0f}px",
            aria_hidden="true",
        )
    return tag("div", drawings, class_="attn-frame", role="img", aria_label=escape(alt))


def _draw_panel(panel: Panel, box: Box, number: int, legends: Places) -> str:
    """Return one panel as SVG: axes, shapes, text on top of them, legend."""
    frame = Frame(panel, box)
    shapes = ""
    texts = ""
    for mark in panel.marks:
        drawn = _draw(mark, frame)
        if isinstance(mark, marks.Text):
            texts += drawn
        else:
            shapes += drawn

    clipped = tag(
        "svg",
        shapes,
        x=frame.left,
        y=frame.top,
        width=frame.width,
        height=frame.height,
        viewBox=f"{frame.left:.1f} {frame.top:.1f} {frame.width:.1f} {frame.height:.1f}",
    )
    legend = ""
    if panel.has_legend:
        legend = "".join(draw_legend(frame, number, legends))
    return "".join(draw_axes(frame)) + clipped + texts + legend


@singledispatch
def _draw(mark: marks.Mark, frame: Frame) -> str:
    """Return a mark as SVG; each kind of mark registers its own function."""
    raise NotImplementedError(type(mark).__name__)


@_draw.register
def _(mark: marks.Line, frame: Frame) -> str:
    x = frame.x(mark.x)
    y = frame.y(mark.y)
    drawn = _stroke(_path(x, y), mark)
    if mark.dots:
        drawn += _dots(x, y, MARKER_DIAMETER, mark.colour)
    return drawn


@_draw.register
def _(mark: marks.Rule, frame: Frame) -> str:
    x = np.full(2, frame.x(mark.x))
    return _stroke(_path(x, np.array([frame.top, frame.bottom])), mark)


@_draw.register
def _(mark: marks.Bars, frame: Frame) -> str:
    foot = float(frame.y(0.0))
    sides = zip(
        frame.x(mark.left).tolist(),
        frame.x(mark.right).tolist(),
        frame.y(mark.tops).tolist(),
        strict=True,
    )
    boxes = [
        f"M{left:.1f} {foot:.1f}V{top:.1f}H{right:.1f}V{foot:.1f}Z" for left, right, top in sides
    ]
    if len(mark.colours) == 1:
        return _area("".join(boxes), mark.colours[0], mark.opacity)
    pairs = zip(boxes, mark.colours, strict=True)
    return "".join(_area(box, colour, mark.opacity) for box, colour in pairs)


@_draw.register
def _(mark: marks.Points, frame: Frame) -> str:
    x = frame.x(mark.x)
    y = frame.y(mark.y)
    return _dots(x, y, mark.diameter, mark.colour, mark.opacity)


@_draw.register
def _(mark: marks.Image, frame: Frame) -> str:
    left = float(frame.x(mark.left))
    top = float(frame.y(mark.top))
    width = float(frame.x(mark.right)) - left
    height = float(frame.y(mark.bottom)) - top
    return image_tag(mark.colours, left, top, width, height)


@_draw.register
def _(mark: marks.Cells, frame: Frame) -> str:
    return _draw(mark.image(), frame)


@_draw.register
def _(mark: marks.Hatching, frame: Frame) -> str:
    path = ""
    for row, column in mark.cells:
        left, middle, right = frame.x([column - 0.5, column, column + 0.5])
        top, centre, bottom = frame.y([row - 0.5, row, row + 0.5])
        path += polyline([(left, bottom), (right, top)])
        if right - left > _NARROW:
            path += polyline([(left, centre), (middle, top)])
            path += polyline([(middle, bottom), (right, centre)])
    return tag("path", class_="hatching", d=path)


@_draw.register
def _(mark: marks.Arrow, frame: Frame) -> str:
    x, y = np.stack([mark.start, mark.end], axis=1)
    start, end = np.stack([frame.x(x), frame.y(y)], axis=1)  # (2,) each
    way = end - start
    length = float(np.hypot(*way))
    if not length > 0.1:
        return ""
    x, y = along = way / length
    aside = 4 * np.array([-y, x])
    neck = end - along * min(_HEAD, length)
    shaft = tag(
        "path",
        d=polyline([start, neck]),
        stroke=css_colour(mark.colour),
        stroke_width=mark.width * PIXELS,
    )
    head = polyline([end, neck + aside, neck - aside])
    return shaft + _area(f"{head}Z", mark.colour, 1.0)


@_draw.register
def _(mark: marks.Text, frame: Frame) -> str:
    right, up = mark.shift
    return text_tag(
        mark.text,
        float(frame.x(mark.x)) + right * PIXELS,
        float(frame.y(mark.y)) - up * PIXELS,
        mark.size,
        horizontal=mark.horizontal,
        vertical=mark.vertical,
        colour=mark.colour,
        halo=mark.halo,
    )


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """Return a path through points, (n,) each; what is not a number leaves a gap."""
    points = np.stack([x, y], axis=1).clip(-_FAR, _FAR)  # (n, 2)
    is_finite = np.isfinite(points).all(1)
    if is_finite.all():
        return curve(points)
    path = ""
    for piece in np.split(points, np.flatnonzero(~is_finite)):
        drawn = piece[np.isfinite(piece).all(1)]
        if len(drawn):
            path += curve(drawn)
    return path


def _stroke(path: str, mark: marks.Line | marks.Rule) -> str:
    """Return a path in the colour, width and dashes of its mark."""
    return tag(
        "path",
        d=path,
        fill="none",
        stroke=css_colour(mark.colour),
        stroke_width=mark.width * PIXELS,
        stroke_dasharray=DASHES[mark.dash] or None,
    )


def _area(path: str, colour: str, opacity: float) -> str:
    """Return a filled path."""
    return tag("path", d=path, fill=css_colour(colour), opacity=_opacity(opacity))


def _dots(x: np.ndarray, y: np.ndarray, diameter: float, colour: str, opacity: float = 1) -> str:
    """Return dots as strokes without length, the shortest way to write many."""
    points = np.stack([x, y], axis=1)
    points = points[np.isfinite(points).all(1)]
    numbers = tuple(points.ravel().tolist())
    return tag(
        "path",
        d="M%.1f %.1fh0" * len(points) % numbers,
        stroke=css_colour(colour),
        stroke_width=diameter * PIXELS,
        stroke_linecap="round",
        opacity=_opacity(opacity),
    )


def _opacity(opacity: float) -> str | None:
    """Return the opacity as SVG writes it, None for an opaque mark."""
    return f"{opacity:g}" if opacity < 1 else None
