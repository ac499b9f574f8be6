"""The alt text of a figure: its kind, title and axes, and what is seen in it."""

import numpy as np

from attn_course.figures import marks
from attn_course.figures.axis import Axis, number_text
from attn_course.figures.panel import Figure, Panel

_MANY = 12  # bars or rows: of more than these, only the largest is described


def describe(figure: Figure) -> str:
    """Return one sentence for each panel."""
    sentences = [_sentence(panel) for panel in figure.panels]
    if len(sentences) == 1:
        return sentences[0]
    numbered = [f"Panel {number}: {sentence}" for number, sentence in enumerate(sentences, 1)]
    return " ".join(numbered)


def _sentence(panel: Panel) -> str:
    """Return the kind of chart with its title, its axes and each of its series."""
    arrows = [mark.name for mark in panel.marks if isinstance(mark, marks.Arrow)]
    if arrows and not panel.x.ticks()[0]:  # from box to box, whose places mean nothing
        return f"Diagram with arrows from {_one_line('; '.join(arrows))}."
    text = _kind(panel)
    if panel.title:
        text += f" “{_one_line(panel.title)}”"
    x = _one_line(panel.x.label)
    y = _one_line(panel.y.label)
    if x and y:
        text += f"; {y} over {x}"
    elif x or y:
        text += f"; {x or y}"
    seen = [_seen(mark, panel) for mark in panel.marks]
    descriptions = "; ".join(part for part in seen if part)
    return f"{text}: {descriptions}." if descriptions else f"{text}."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _kind(panel: Panel) -> str:
    """Return the kind of chart in one word."""
    kinds = {type(mark) for mark in panel.marks}
    if marks.Cells in kinds:
        return "Map"
    if marks.Arrow in kinds:
        return "Arrows"
    if marks.Bars in kinds:
        return "Histogram" if any(map(_is_histogram, panel.marks)) else "Bars"
    if any(isinstance(mark, marks.Line) and not _is_interval(mark) for mark in panel.marks):
        return "Curves"
    if marks.Line in kinds:
        return "Intervals"
    return "Points" if marks.Points in kinds else "Panel"


def _is_histogram(mark: marks.Mark) -> bool:
    """Return True if the mark is bars that touch one another."""
    if not isinstance(mark, marks.Bars) or len(mark.left) < 2:
        return False
    return bool(np.allclose(mark.left[1:], mark.right[:-1]))


def _is_interval(line: marks.Line) -> bool:
    return len(line.x) == 2 and not line.label


def _seen(mark: marks.Mark, panel: Panel) -> str:
    """Return what can be seen of a mark, and "" for marks that decorate others."""
    name = f"{mark.label} " if mark.label else ""
    match mark:
        case marks.Cells():
            return _strongest_cells(mark.values, panel)
        case marks.Hatching():
            return f"{len(mark.cells)} hidden cells are hatched" if len(mark.cells) else ""
        case marks.Bars() if _is_histogram(mark):
            highest = int(np.argmax(mark.height))
            if not mark.height[highest] > 0:
                return f"{name}without a sample"
            left = _number(mark.left[highest], panel.x)
            right = _number(mark.right[highest], panel.x)
            return f"{name}highest between {left} and {right}"
        case marks.Bars():
            return _bars(mark, panel)
        case marks.Line() if _is_interval(mark):
            return _interval(mark, panel)
        case marks.Line():
            return _curve(mark, panel)
        case marks.Rule():
            return f"{name}at {_number(mark.x, panel.x)}"
        case marks.Points() if mark.label or len(mark.x) > 1:
            return _points(mark, panel)
        case marks.Arrow():
            x, y = mark.end - mark.start
            return f"{mark.name} to ({_number(x, panel.x)}, {_number(y, panel.y)})"
    return ""


def _bars(mark: marks.Bars, panel: Panel) -> str:
    """Return each bar with its height, and of many bars the highest; a bar has the label below it."""
    _, labels = panel.x.ticks()
    pairs = list(zip(labels, mark.height, strict=False))
    if len(pairs) > _MANY:
        highest = int(np.argmax(np.nan_to_num(mark.height, nan=-np.inf)))
        pairs = [pairs[highest]]
    heights = ", ".join(f"{_one_line(label)} {_height(height)}" for label, height in pairs)
    if len(mark.height) > _MANY:
        heights = f"{len(mark.height)} bars, highest {heights}"
    return f"{mark.label}: {heights}" if mark.label else heights


def _height(height: float) -> str:
    return f"{height:.2f}".replace("-", "−") if np.isfinite(height) else "without a finite number"


def _interval(line: marks.Line, panel: Panel) -> str:
    """Return the name of the row of an interval and its two ends."""
    low, high = (_number(end, panel.x) for end in line.x)
    places, labels = panel.y.ticks()
    row = dict(zip(places, labels, strict=True)).get(float(line.y[0]), "")
    return f"{row} from {low} to {high}" if row else ""


def _points(mark: marks.Points, panel: Panel) -> str:
    """Return how many points are drawn and where their middle is; a point with nan is not drawn."""
    is_drawn = np.isfinite(mark.x) & np.isfinite(mark.y)
    name = f"{mark.label}: " if mark.label else ""
    if not is_drawn.any():
        return f"{name}no points"
    x = _number(mark.x[is_drawn].mean(), panel.x)
    y = _number(mark.y[is_drawn].mean(), panel.y)
    return f"{name}{is_drawn.sum()} points around ({x}, {y})"


def _curve(line: marks.Line, panel: Panel) -> str:
    """Return the first and the last y of a curve, and the lowest and highest if it turns on the way."""
    y = line.y[np.isfinite(line.y)]
    name = line.label or "line"
    if not len(y):
        return ""
    first = _number(y[0], panel.y)
    last = _number(y[-1], panel.y)
    low = _number(y.min(), panel.y)
    high = _number(y.max(), panel.y)
    if low == high:
        return f"{name} stays at {first}"
    if (low, high) == (first, last):
        return f"{name} rises from {first} to {last}"
    if (high, low) == (first, last):
        return f"{name} falls from {first} to {last}"
    return f"{name} goes from {first} to {last}, between {low} and {high}"


def _strongest_cells(values: np.ndarray, panel: Panel) -> str:
    """Return the column of the largest number of each row, or of many rows the largest of all."""
    rows = panel.y.ticks()[1]
    columns = panel.x.ticks()[1]
    if values.shape != (len(rows), len(columns)) or not any(rows) or not any(columns):
        return f"{values.shape[0]} by {values.shape[1]} cells"
    sizes = np.abs(values)
    best = sizes.argmax(1)
    descriptions = []
    for row, (column, name) in enumerate(zip(best, rows, strict=True)):
        if sizes[row, column] > 0:
            descriptions.append(f"{name} most at {columns[column]} ({values[row, column]:.2g})")
    if len(descriptions) > _MANY:
        descriptions = [descriptions[int(sizes.max(1).argmax())]]
    return ", ".join(descriptions)


def _number(value: float, axis: Axis) -> str:
    """Return a number, rounded to about a hundredth of its axis: an eye sees no more."""
    if axis.is_log:
        return f"{value:.1g}".replace("-", "−")
    low, high = sorted(axis.limits())
    digits = 2 - int(np.floor(np.log10(high - low)))
    return number_text(round(float(value), digits) + 0.0)
