"""The layout that matplotlib found for a figure, frozen for the scenes that follow. Draws nothing."""

from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from attn_course.figures.scene import Box, Layout
from attn_course.figures.style import DPI

_MARGIN = 4  # pixels around a pane


def freeze(figure: Figure) -> Layout:
    """Where the Axes of a drawn figure are. An Axes that is a colour bar shares its owner's pane."""
    height = figure.get_figheight() * DPI
    zoom = DPI / figure.dpi
    owners = [_owner(ax) for ax in figure.axes]
    panes: list[list] = []
    number_of: dict = {}
    for ax, owner in zip(figure.axes, owners, strict=True):
        if owner not in number_of:
            number_of[owner] = len(panes)
            panes.append([])
        panes[number_of[owner]].append(ax)
    boxes = []
    for ax, owner in zip(figure.axes, owners, strict=True):
        place = ax.get_position()
        boxes.append(
            Box(
                left=place.x0 * figure.get_figwidth() * DPI,
                top=height * (1 - place.y1),
                width=place.width * figure.get_figwidth() * DPI,
                height=place.height * height,
                pane=number_of[owner],
            )
        )
    return Layout(boxes, _level([_pane(axes, zoom, height) for axes in panes]))


def _owner(ax):
    """The Axes itself, or for a colour bar the Axes whose image it explains."""
    bar = getattr(ax, "_colorbar", None)
    return ax if bar is None else bar.mappable.axes


def _pane(axes, zoom, height):
    """(left, right, top, bottom) in pixels of all that belongs to these Axes."""
    box = Bbox.union([ax.get_tightbbox() for ax in axes])
    return (
        box.x0 * zoom - _MARGIN,
        box.x1 * zoom + _MARGIN,
        height - box.y1 * zoom - _MARGIN,
        height - box.y0 * zoom + _MARGIN,
    )


def _level(panes):
    """Panes of one row made equally high, so that their titles and axes stay in line."""
    found = []
    for left, right, top, bottom in panes:
        row = [pane for pane in panes if pane[2] < bottom and pane[3] > top]
        found.append((left, right, min(pane[2] for pane in row), max(pane[3] for pane in row)))
    return found
