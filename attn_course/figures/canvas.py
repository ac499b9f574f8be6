"""Who draws now: matplotlib, or the scene of a figure with sliders."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from attn_course.figures.scene import Scene
from attn_course.figures.style import WIDEST

_scenes: list[Scene] = []


@contextmanager
def drawing_on(scene: Scene) -> Iterator[Scene]:
    """Within this block new panels belong to `scene`."""
    _scenes.append(scene)
    try:
        yield scene
    finally:
        _scenes.pop()


def new_axes(ax: Axes | None = None) -> Axes:
    """`ax`, or the only panel of a new figure."""
    if ax is not None:
        return ax
    if _scenes:
        return _scenes[-1].new_axes()
    return plt.subplots()[1]


def panels(
    count: int,
    *,
    height: float = 3.4,
    width: float | None = None,
    columns: int | None = None,
) -> list[Axes]:
    """`count` Axes side by side, in rows of `columns`; `height` is that of a row, both in inches."""
    if _scenes:
        return [_scenes[-1].new_axes() for _ in range(count)]
    if columns is None:
        columns = count
    if width is None:
        width = 3.9 * columns
    rows = math.ceil(count / columns)
    size = (min(width, WIDEST), rows * height)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        figure.delaxes(spare)
    return axes[:count]


def same_scale(axes: list[Axes], directions: str = "xy") -> None:
    """Give panels that are compared the same limits, wide enough for all. directions: "x", "y", "xy"."""
    for direction in directions:
        ends = []
        for ax in axes:
            get_limits = getattr(ax, f"get_{direction}lim")
            ends += get_limits()

        for ax in axes:
            set_limits = getattr(ax, f"set_{direction}lim")
            set_limits(min(ends), max(ends))
