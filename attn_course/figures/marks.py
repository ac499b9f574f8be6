"""What a scene holds: lines, bars, points, cells, words, all in data coordinates."""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from numpy.typing import ArrayLike


@dataclass
class Line:
    """A line through points; a marker alone where `width` is 0. x, y: (n,)."""

    x: np.ndarray
    y: np.ndarray
    colour: str
    width: float
    dash: str = "-"
    marker: bool = False
    alpha: float = 1.0
    label: str = ""


@dataclass
class Rule:
    """A straight line across the whole panel, at one place of x."""

    place: float
    colour: str
    width: float
    dash: str = "-"
    label: str = ""


@dataclass
class Band:
    """The area between two curves. x, low, high: (n,)."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    colour: str
    alpha: float
    label: str = ""


@dataclass
class Bars:
    """Upright boxes. left, right, foot, top: (n,); colours: one for all or one for each."""

    left: np.ndarray
    right: np.ndarray
    foot: np.ndarray
    top: np.ndarray
    colours: list[str]
    alpha: float = 1.0
    label: str = ""


@dataclass
class Points:
    """Dots. x, y: (n,); diameter in points."""

    x: np.ndarray
    y: np.ndarray
    diameter: float
    colour: str
    alpha: float
    label: str = ""


@dataclass
class Cells:
    """A matrix as coloured cells. values: (rows, columns); low, high: the ends of the scale."""

    values: np.ndarray
    low: float
    high: float
    cmap: str
    label: str = ""

    def colours(self) -> np.ndarray:
        """The colour of each cell as "#rrggbb", (rows, columns)."""
        return scale_colours(self.values, self.low, self.high, self.cmap)


@dataclass
class Hatch:
    """A cell crossed out: left, low, width, height."""

    left: float
    low: float
    width: float
    height: float
    label: str = ""


@dataclass
class Word:
    """Text at a place, moved by `shift` points. across: start, middle, end; along: top, middle, bottom."""

    x: float
    y: float
    text: str
    colour: str
    size: float
    across: str = "start"
    along: str = "bottom"
    shift: tuple[float, float] = (0.0, 0.0)
    label: str = ""


@dataclass
class Arrow:
    """An arrow from `start` to `end`, each (2,)."""

    start: tuple[float, float]
    end: tuple[float, float]
    colour: str
    width: float
    label: str = ""


def scale_colours(values: ArrayLike, low: float, high: float, cmap: str) -> np.ndarray:
    """Colours "#rrggbb" of numbers on the scale `cmap` from low to high; same shape as `values`."""
    numbers = np.asarray(values, float)
    share = (numbers - low) / (high - low)
    scale = colormaps[cmap]
    rgba = scale(share.ravel())  # (n, 4)
    written = np.array([to_hex(colour) for colour in rgba])
    return written.reshape(share.shape)
