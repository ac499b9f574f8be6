"""A scene as SVG text, one drawing for each pane. Knows pixels, not what is drawn or why."""

from functools import cache
from html import escape

import numpy as np
from matplotlib import rcParams

from attn_course.figures import marks
from attn_course.figures.legend import draw_legend
from attn_course.figures.scene import Scene, SceneAxes
from attn_course.figures.style import DASHES, DPI, colour_code

_PIXELS = DPI / 72  # in a point
_LIFT = {"top": 0.8, "middle": 0.35, "bottom": 0.0}  # of the letters' height below the place
_TICK = 4  # pixels
_SCALE_STEPS = 32


def to_svg(scene: Scene, alt: str) -> str:
    """The scene as HTML: a row of SVG drawings that wrap where the page is narrow."""
    drawn = [[] for _ in scene.layout.panes]
    for axes in scene.axes:
        drawn[axes.box.pane].append(_panel(axes))
    panes = []
    for place, parts in zip(scene.layout.panes, drawn, strict=True):
        panes.append(_pane(place, "".join(parts)))
    return f'<div class="attn-frame" role="img" aria-label="{escape(alt)}">{"".join(panes)}</div>'


def _pane(place, content):
    left, right, top, bottom = place
    width = right - left
    box = f"{left:.0f} {top:.0f} {width:.0f} {bottom - top:.0f}"
    opening = f'<svg viewBox="{box}" style="width:{width:.0f}px" aria-hidden="true">'
    return f"{opening}{content}</svg>"


class Frame:
    """From data coordinates of a panel to pixels."""

    def __init__(self, axes: SceneAxes):
        self.axes = axes
        self.box = axes.box
        self.x_limits = axes.get_xlim()
        self.y_limits = axes.get_ylim()

    def x(self, values):
        """Pixels from the left; numbers or (n,)."""
        low, high = self.x_limits
        return self.box.left + self.box.width * (np.asarray(values, float) - low) / (high - low)

    def y(self, values):
        """Pixels from the top; numbers or (n,)."""
        low, high = self.y_limits
        share = (np.asarray(values, float) - low) / (high - low)
        return self.box.top + self.box.height * (1 - share)

    @property
    def right(self) -> float:
        return self.box.left + self.box.width

    @property
    def bottom(self) -> float:
        return self.box.top + self.box.height


def _panel(axes):
    frame = Frame(axes)
    if axes.scale is not None:
        return _scale(axes, frame)
    clipped = []
    words = []
    for mark in axes.marks:
        target = words if isinstance(mark, marks.Word) else clipped
        target.append(_DRAWN[type(mark)](mark, frame))
    parts = [_ticks(axes, frame), _clip(frame, clipped), *words]
    if axes.has_legend:
        parts.append(draw_legend(axes, frame))
    return "".join(parts)


def _clip(frame, parts):
    """The marks inside the panel; what sticks out is cut."""
    box = frame.box
    place = f"{box.left:.1f} {box.top:.1f} {box.width:.1f} {box.height:.1f}"
    x, y, width, height = place.split()
    opening = f'<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{place}">'
    return f"{opening}{''.join(parts)}</svg>"


def _ticks(axes, frame):
    """Grid, spines, ticks, their labels, the names of the axes and the title."""
    box = frame.box
    parts = [
        f'<path class="axis" d="M{box.left:.1f} {box.top:.1f}V{frame.bottom:.1f}H{frame.right:.1f}"/>'
    ]
    places, labels = axes.x.ticks()
    depth = 0.0
    for place, label in zip(frame.x(places), labels, strict=True):
        parts.append(_grid_line(axes.grids["x"], f"M{place:.1f} {box.top:.1f}V{frame.bottom:.1f}"))
        parts.append(f'<path class="axis" d="M{place:.1f} {frame.bottom:.1f}v{_TICK}"/>')
        parts.append(_tick_label_x(label, place, frame.bottom + _TICK, axes.slant))
        reach = 0.5 * _width(label, 9) if axes.slant else 0.0
        depth = max(depth, reach, (label.count("\n") + 1) * 14.0)
    places, labels = axes.y.ticks()
    widest = 0.0
    for place, label in zip(frame.y(places), labels, strict=True):
        parts.append(_grid_line(axes.grids["y"], f"M{box.left:.1f} {place:.1f}H{frame.right:.1f}"))
        parts.append(f'<path class="axis" d="M{box.left:.1f} {place:.1f}h-{_TICK}"/>')
        parts.append(_words(label, box.left - _TICK - 3, place, 9, across="end", along="middle"))
        widest = max(widest, _width(label, 9))
    middle = box.left + box.width / 2
    parts.append(
        _words(axes.xlabel, middle, frame.bottom + _TICK + depth + 16, 10, across="middle")
    )
    parts.append(_upright(axes.ylabel, box.left - widest - 18, box.top + box.height / 2))
    parts.append(_words(axes.title, box.left, box.top - 8, rcParams["axes.titlesize"]))
    return "".join(parts)


def _grid_line(shown, path):
    return f'<path class="grid" d="{path}"/>' if shown else ""


def _tick_label_x(label, place, top, slant):
    if slant:
        turn = f' transform="rotate(-{slant:g} {place:.1f} {top + 8:.1f})"'
        return _words(label, place, top + 8, 9, across="end", along="middle", extra=turn)
    lines = label.split("\n")
    written = [
        _words(line, place, top + 3 + 14 * row, 9, across="middle", along="top")
        for row, line in enumerate(lines)
    ]
    return "".join(written)


def _upright(text, x, y):
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"'
    return _words(text, x, y, 10, across="middle", extra=turn)


def _words(text, x, y, points, *, across="start", along="bottom", colour="", extra=""):
    """One line of text; points: its size."""
    if not text:
        return ""
    size = points * _PIXELS
    y = y + _LIFT[along] * size
    fill = f' fill="{colour}"' if colour else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}"'
    return f'<text {place} text-anchor="{across}"{fill}{extra}>{escape(text)}</text>'


def _width(text, points):
    """About how many pixels a text takes."""
    longest = max(map(len, str(text).split("\n")), default=0)
    return 0.62 * points * _PIXELS * longest


def _scale(axes, frame):
    """A colour bar with its ticks at the right."""
    box = frame.box
    height = box.height / _SCALE_STEPS
    parts = []
    for row, colour in enumerate(_scale_colours(axes.scale.cmap)):
        top = frame.bottom - (row + 1) * height
        size = f'width="{box.width:.1f}" height="{height + 0.5:.1f}"'
        parts.append(f'<rect x="{box.left:.1f}" y="{top:.1f}" {size} fill="{colour}"/>')
    places, labels = axes.y.ticks()
    widest = 0.0
    for place, label in zip(frame.y(places), labels, strict=True):
        parts.append(f'<path class="axis" d="M{frame.right:.1f} {place:.1f}h{_TICK}"/>')
        parts.append(_words(label, frame.right + _TICK + 3, place, 9, along="middle"))
        widest = max(widest, _width(label, 9))
    parts.append(_upright(axes.ylabel, frame.right + widest + 20, box.top + box.height / 2))
    return "".join(parts)


@cache
def _scale_colours(cmap):
    return marks.scale_colours(np.linspace(0, 1, _SCALE_STEPS), 0, 1, cmap).tolist()


def _line(mark, frame):
    x = frame.x(mark.x)
    y = frame.y(mark.y)
    colour = colour_code(mark.colour)
    if mark.marker:
        return _dots(x, y, 6 * _PIXELS, colour, mark.alpha)
    style = f'fill="none" stroke="{colour}" stroke-width="{mark.width * _PIXELS:.1f}"'
    return f'<path d="{_path(x, y)}" {style}{_dash(mark.dash)}{_opacity(mark.alpha)}/>'


def _path(x, y):
    """A path through the points; what is not a number leaves a gap."""
    pieces = []
    pen = "M"
    far = 1e5
    for across, down in zip(
        np.clip(x, -far, far).tolist(), np.clip(y, -far, far).tolist(), strict=True
    ):
        if across != across or down != down:
            pen = "M"
            continue
        pieces.append(f"{pen}{across:.1f} {down:.1f}")
        pen = "L"
    return "".join(pieces)


def _rule(mark, frame):
    box = frame.box
    if mark.direction == "x":
        path = f"M{frame.x(mark.place):.1f} {box.top:.1f}v{box.height:.1f}"
    else:
        path = f"M{box.left:.1f} {frame.y(mark.place):.1f}h{box.width:.1f}"
    style = f'stroke="{colour_code(mark.colour)}" stroke-width="{mark.width * _PIXELS:.1f}"'
    return f'<path d="{path}" {style}{_dash(mark.dash)}/>'


def _band(mark, frame):
    there = _path(frame.x(mark.x), frame.y(mark.high))
    back = _path(frame.x(mark.x[::-1]), frame.y(mark.low[::-1])).replace("M", "L", 1)
    return f'<path d="{there}{back}Z" fill="{colour_code(mark.colour)}"{_opacity(mark.alpha)}/>'


def _bars(mark, frame):
    left = frame.x(mark.left).tolist()
    right = frame.x(mark.right).tolist()
    foot = frame.y(mark.foot).tolist()
    top = frame.y(mark.top).tolist()
    boxes = []
    for start, end, low, high in zip(left, right, foot, top, strict=True):
        boxes.append(f"M{start:.1f} {low:.1f}V{high:.1f}H{end:.1f}V{low:.1f}Z")
    opacity = _opacity(mark.alpha)
    if len(mark.colours) == 1:
        return f'<path d="{"".join(boxes)}" fill="{colour_code(mark.colours[0])}"{opacity}/>'
    coloured = zip(boxes, mark.colours, strict=True)
    return "".join(f'<path d="{path}" fill="{colour_code(c)}"{opacity}/>' for path, c in coloured)


def _points(mark, frame):
    diameter = mark.diameter * _PIXELS
    return _dots(frame.x(mark.x), frame.y(mark.y), diameter, colour_code(mark.colour), mark.alpha)


def _dots(x, y, diameter, colour, alpha):
    """Dots as strokes without length, the shortest way to write many."""
    path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    style = f'stroke="{colour}" stroke-width="{diameter:.1f}" stroke-linecap="round"'
    return f'<path d="{path}" {style}{_opacity(alpha)}/>'


def _cells(mark, frame):
    rows, columns = mark.values.shape
    x = frame.x(np.arange(columns + 1) - 0.5)
    y = frame.y(np.arange(rows + 1) - 0.5)
    parts = []
    for (row, column), colour in np.ndenumerate(mark.colours()):
        width = x[column + 1] - x[column]
        height = y[row + 1] - y[row]
        place = f'x="{x[column]:.1f}" y="{y[row]:.1f}" width="{width:.1f}" height="{height:.1f}"'
        parts.append(f'<rect {place} fill="{colour}"/>')
    return f'<g shape-rendering="crispEdges">{"".join(parts)}</g>'


def _hatch(mark, frame):
    """Slanted lines through a cell."""
    x = sorted(float(frame.x(place)) for place in (mark.left, mark.left + mark.width))
    y = sorted(float(frame.y(place)) for place in (mark.low, mark.low + mark.height))
    width = x[1] - x[0]
    height = y[1] - y[0]
    strokes = []
    for share in (1 / 3, 2 / 3, 1):
        strokes.append(
            f"M{x[0]:.1f} {y[0] + share * height:.1f}L{x[0] + share * width:.1f} {y[0]:.1f}"
        )
        strokes.append(
            f"M{x[0] + share * width:.1f} {y[1]:.1f}L{x[1]:.1f} {y[0] + share * height:.1f}"
        )
    return f'<path class="hatch" d="{"".join(strokes)}"/>'


def _arrow(mark, frame):
    """A shaft and a head of fixed size."""
    start = np.array([frame.x(mark.start[0]), frame.y(mark.start[1])])
    end = np.array([frame.x(mark.end[0]), frame.y(mark.end[1])])
    length = float(np.hypot(*(end - start)))
    if not length > 0.1:
        return ""
    along = (end - start) / length
    aside = np.array([-along[1], along[0]])
    neck = end - along * min(11.0, length)
    left = neck + 4 * aside
    right = neck - 4 * aside
    colour = colour_code(mark.colour)
    shaft = f"M{start[0]:.1f} {start[1]:.1f}L{neck[0]:.1f} {neck[1]:.1f}"
    head = f"M{end[0]:.1f} {end[1]:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}Z"
    width = mark.width * _PIXELS
    return (
        f'<path d="{shaft}" stroke="{colour}" stroke-width="{width:.1f}"/>'
        f'<path d="{head}" fill="{colour}"/>'
    )


def _word(mark, frame):
    right, up = mark.shift
    x = frame.x(mark.x) + right * _PIXELS
    y = frame.y(mark.y) - up * _PIXELS
    colour = "" if mark.colour == "ink" else colour_code(mark.colour)
    return _words(mark.text, x, y, mark.size, across=mark.across, along=mark.along, colour=colour)


def _dash(style):
    return f' stroke-dasharray="{DASHES[style]}"' if DASHES[style] else ""


def _opacity(alpha):
    return f' opacity="{alpha:g}"' if alpha < 1 else ""


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
