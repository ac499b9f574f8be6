"""The layout that matplotlib found for a figure, frozen for the scenes that follow."""

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from attn_course.figures.scene import Box, Layout
from attn_course.figures.style import DPI

_MARGIN = 4  # pixels around a pane


def freeze(figure: Figure) -> Layout:
    """Where the Axes of a drawn figure are. An Axes that is a colour bar shares its owner's pane."""
    members: dict = {}
    for ax in figure.axes:
        members.setdefault(_owner(ax), []).append(ax)
    owners = list(members)
    boxes = []
    for ax in figure.axes:
        number = owners.index(_owner(ax))
        boxes.append(_box(ax, number))

    panes = [_pane(figure, axes) for axes in members.values()]
    return Layout(boxes, _level(panes))


def _box(ax, pane):
    """The place of an Axes in pixels."""
    width = ax.figure.get_figwidth() * DPI
    height = ax.figure.get_figheight() * DPI
    place = ax.get_position()
    return Box(
        left=width * place.x0,
        top=height * (1 - place.y1),
        width=width * place.width,
        height=height * place.height,
        pane=pane,
    )


def _owner(ax):
    """The Axes itself, or for a colour bar the Axes whose image it explains."""
    bar = getattr(ax, "_colorbar", None)
    return ax if bar is None else bar.mappable.axes


def _pane(figure, axes):
    """(left, right, top, bottom) in pixels of all that belongs to these Axes."""
    height = figure.get_figheight() * DPI
    zoom = DPI / figure.dpi
    box = Bbox.union([ax.get_tightbbox() for ax in axes])
    return (
        zoom * box.x0 - _MARGIN,
        zoom * box.x1 + _MARGIN,
        height - zoom * box.y1 - _MARGIN,
        height - zoom * box.y0 + _MARGIN,
    )


def _level(panes):
    """Panes of one row made equally high, so that their titles and axes stay in line."""
    found = []
    for left, right, top, bottom in panes:
        highest = top
        lowest = bottom
        for _, _, other_top, other_bottom in panes:
            if other_top < bottom and other_bottom > top:
                highest = min(highest, other_top)
                lowest = max(lowest, other_bottom)

        found.append((left, right, highest, lowest))

    return found
