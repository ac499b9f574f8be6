"""Where the parts of each panel are in its drawing, in pixels."""

from dataclasses import dataclass

from attn_course.figures.markup import text_width
from attn_course.figures.panel import Axis, Figure, Panel
from attn_course.figures.style import SMALL_SIZE

TICK = 4  # pixels
LINE_HEIGHT = 14
LABEL_SPACE = 22  # for the name of an axis
BAR_GAP = 10  # between a panel and its colour bar
BAR_WIDTH = 12
LEGEND_ROW = 17
LEGEND_INDENT = 30  # where the text of a legend begins
_TITLE_SPACE = 28
_EDGE = 10  # where there is nothing to write


@dataclass
class Box:
    """A panel's drawing, `width` x `height`, and the edges of its axes in it."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float


def layout(figure: Figure) -> list[Box]:
    """A box for each panel; the axes of panels in one row are equally high, in one column equally wide."""
    width, height = figure.panel_size()
    columns = figure.columns
    boxes = [_box(panel, width, height) for panel in figure.panels]
    for number, box in enumerate(boxes):
        row = number // columns * columns
        in_row = boxes[row : row + columns]
        in_column = boxes[number % columns :: columns]
        box.top = max(other.top for other in in_row)
        box.bottom = min(other.bottom for other in in_row)
        box.left = max(other.left for other in in_column)
        box.right = min(other.right for other in in_column)

    for panel, box in zip(figure.panels, boxes, strict=True):
        if panel.is_equal:
            _make_equal(panel, box)
    return boxes


def label_depth(axis: Axis) -> float:
    """How far the labels of the ticks of x reach below their ticks."""
    _, labels = axis.ticks()
    if axis.is_slanted:
        return max((0.6 * text_width(label, SMALL_SIZE) for label in labels), default=0) + 10
    lines = max((label.count("\n") + 1 for label in labels), default=0)
    return LINE_HEIGHT * lines


def label_width(axis: Axis) -> float:
    """The width of the widest label of the ticks of y."""
    _, labels = axis.ticks()
    return max((text_width(label, SMALL_SIZE) for label in labels), default=0)


def legend_size(panel: Panel) -> tuple[float, float]:
    """(width, height) of the legend of a panel."""
    labels = [mark.label for mark in panel.marks if mark.label]
    widest = max((text_width(label, SMALL_SIZE) for label in labels), default=0)
    return LEGEND_INDENT + widest + 6, LEGEND_ROW * len(labels)


def _box(panel: Panel, width: float, height: float) -> Box:
    """The box of a panel by itself."""
    left = label_width(panel.y) + TICK + 5
    if panel.y.label:
        left += LABEL_SPACE
    bottom = label_depth(panel.x) + TICK + 3
    if panel.x.label:
        bottom += LABEL_SPACE
    right: float = _EDGE
    if panel.colour_bar is not None:
        right = BAR_GAP + BAR_WIDTH + 40
        if panel.colour_bar_label:
            right += LABEL_SPACE
    if panel.legend_is_outside:
        right += legend_size(panel)[0]
    return Box(
        width=width,
        height=height,
        left=left,
        right=width - right,
        top=_TITLE_SPACE if panel.title else _EDGE,
        bottom=height - bottom,
    )


def _make_equal(panel: Panel, box: Box) -> None:
    """Shrink the axes in one direction until a unit of x is as long as a unit of y."""
    first, last = panel.x.limits()
    low, high = panel.y.limits()
    shape = abs((last - first) / (high - low))  # width over height
    width = box.right - box.left
    height = box.bottom - box.top
    if width > height * shape:
        narrower = width - height * shape
        box.right -= narrower
        box.width -= narrower
    else:
        lower = height - width / shape
        box.top += lower / 2
        box.bottom -= lower / 2
