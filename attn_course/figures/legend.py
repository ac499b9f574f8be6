"""The legend of a panel as SVG: what it says, and where it hides the least."""

from collections.abc import Iterator

import numpy as np

from attn_course.figures import marks
from attn_course.figures.panel_layout import LEGEND_INDENT, LEGEND_ROW, Frame, legend_size
from attn_course.figures.style import DASHES, SMALL_SIZE
from attn_course.figures.svg_elements import css_colour, polyline, tag, text_tag

Places = dict[int, int]  # number of a panel -> number of its legend's place
_SAMPLE = 20  # pixels, the width of a sample
_GAP = 6
# Where it may be, the most wanted first: shares of the free width and height.
_PLACES = np.array(
    [(1, 0), (0, 0), (1, 1), (0, 1), (0.5, 0), (0.5, 1), (1, 0.5), (0, 0.5), (0.5, 0.5)]
)


def draw_legend(frame: Frame, number: int, places: Places) -> Iterator[str]:
    """Return the legend; it stays in its place of `places` unless another place covers fewer marks."""
    named = [mark for mark in frame.panel.marks if mark.label]
    if not named:
        return
    size = np.array(legend_size(frame.panel))
    if frame.panel.legend_is_outside:
        left, top = frame.right + _GAP, frame.top
    else:
        left, top = _find_place(frame, number, places, size)
    width, height = size
    yield tag("rect", class_="background", x=left, y=top, width=width, height=height)
    middle = top + LEGEND_ROW / 2
    for mark in named:
        yield _sample(mark, left + 4, middle)
        yield text_tag(mark.label, left + LEGEND_INDENT, middle, SMALL_SIZE, vertical="center")
        middle += LEGEND_ROW


def _find_place(frame: Frame, number: int, places: Places, size: np.ndarray) -> np.ndarray:
    """Return the top left corner of a legend of this size, (2,): where it covers the fewest points.

    Of places that are equally good, the one in `places`, which is kept up to date, or else the first.
    """
    free = np.array([frame.width, frame.height]) - size - 2 * _GAP
    corners = np.array([frame.left, frame.top]) + _GAP + _PLACES * free
    points = _obstacles(frame)
    covered = []
    for corner in corners:
        is_inside = (points > corner) & (points < corner + size)
        covered.append(int(is_inside.all(1).sum()))
    chosen = places.get(number, 0)
    if covered[chosen] > min(covered):
        chosen = covered.index(min(covered))
    places[number] = chosen
    return corners[chosen]


def _obstacles(frame: Frame) -> np.ndarray:
    """Return points on everything that a legend should not cover, (n, 2) in pixels."""
    obstacles = [np.empty((0, 2))]
    for mark in frame.panel.marks:
        match mark:
            case marks.Line() | marks.Points():
                obstacles.append(np.column_stack([frame.x(mark.x), frame.y(mark.y)]))
            case marks.Text():
                obstacles.append(np.array([[frame.x(mark.x), frame.y(mark.y) - 6]]))
            case marks.Bars():
                for across in (0.1, 0.5, 0.9):
                    x = frame.x(mark.left + across * (mark.right - mark.left))
                    for up in (0.05, 0.25, 0.5, 0.75, 1.0):
                        points = np.column_stack([x, frame.y(up * mark.tops)])
                        obstacles.append(points[mark.tops != 0])
    return np.concatenate(obstacles)


def _sample(mark: marks.Mark, left: float, middle: float) -> str:
    """Return a piece of the mark, large and strong enough to be seen."""
    match mark:
        case marks.Bars():
            return tag(
                "rect",
                x=left,
                y=middle - 5,
                width=_SAMPLE,
                height=10,
                fill=css_colour(mark.colours[0]),
                opacity=f"{mark.opacity:g}",
            )
        case marks.Points():
            colour = css_colour(mark.colour)
            return tag("circle", cx=left + _SAMPLE / 2, cy=middle, r=4.5, fill=colour)
        case marks.Line() | marks.Rule():
            return tag(
                "path",
                d=polyline([(left, middle), (left + _SAMPLE, middle)]),
                stroke=css_colour(mark.colour),
                stroke_width=min(1.4 * mark.width, 5),
                stroke_dasharray=DASHES[mark.dash] or None,
            )
    raise NotImplementedError(type(mark).__name__)
