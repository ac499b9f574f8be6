"""The marks that a panel holds, in the coordinates of its axes. Renderers draw them; marks draw nothing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attn_course.figures.style import LINE_WIDTH, SMALL_SIZE, TEXT, scale_colours

Extent = tuple[ArrayLike, ArrayLike]  # numbers of x and of y that the axes have to include


@dataclass(kw_only=True)
class Mark:
    """What all marks have: a name in the legend, or "" for none."""

    label: str = ""

    def extent(self) -> Extent:
        """Return what the axes have to include; nothing for marks that other marks carry."""
        return (), ()


@dataclass
class Line(Mark):
    """A line through points; dots: a marker at each. x, y: (n,), nan leaves a gap."""

    x: np.ndarray
    y: np.ndarray
    colour: str
    width: float = LINE_WIDTH
    dash: str = "-"
    dots: bool = False

    def extent(self) -> Extent:
        return self.x, self.y


@dataclass
class Rule(Mark):
    """A vertical line through the whole panel at `x`."""

    x: float
    colour: str
    width: float = 1.5
    dash: str = ":"

    def extent(self) -> Extent:
        return [self.x], ()


@dataclass
class Bars(Mark):
    """Bars that stand on zero.

    left, right, height: (n,), nan for no bar. colours: one for all, or one for each.
    """

    left: np.ndarray
    right: np.ndarray
    height: np.ndarray
    colours: list[str]
    opacity: float = 1.0

    def extent(self) -> Extent:
        return np.concatenate([self.left, self.right]), np.append(self.height, 0.0)

    @property
    def tops(self) -> np.ndarray:
        """Return where each bar ends, 0 if there is no bar."""
        return np.nan_to_num(self.height)


@dataclass
class Points(Mark):
    """Dots. x, y: (n,); diameter in points."""

    x: np.ndarray
    y: np.ndarray
    colour: str
    diameter: float
    opacity: float = 1.0

    def extent(self) -> Extent:
        return self.x, self.y


@dataclass
class Image(Mark):
    """Coloured cells. colours: (rows, columns, 3), from 0 to 1, row 0 on top; places of the four edges."""

    colours: np.ndarray
    left: float
    right: float
    bottom: float
    top: float


@dataclass
class Cells(Mark):
    """A matrix as coloured cells, one unit each. values: (rows, columns); low, high: ends of the scale."""

    values: np.ndarray
    low: float
    high: float
    scale: str

    def image(self) -> Image:
        """Return the cells with their colours."""
        rows, columns = self.values.shape
        shares = (self.values - self.low) / (self.high - self.low)
        colours = scale_colours(shares, self.scale)
        return Image(colours, -0.5, columns - 0.5, rows - 0.5, -0.5)


@dataclass
class Hatching(Mark):
    """Cells that are crossed out. cells: (n, 2), their row and column."""

    cells: np.ndarray


@dataclass
class Arrow(Mark):
    """An arrow from `start` to `end`, (2,) each; its name is for the alt text, a `Text` shows it."""

    start: np.ndarray
    end: np.ndarray
    colour: str
    name: str = ""
    width: float = LINE_WIDTH


@dataclass
class Text(Mark):
    """Text at a place, shifted by points to the right and up; halo: outlined in the background's colour."""

    x: float
    y: float
    text: str
    colour: str = TEXT
    size: float = SMALL_SIZE
    horizontal: str = "center"  # or left, right: the side of the text that is at the place
    vertical: str = "center"  # or top, bottom
    shift: tuple[float, float] = (0.0, 0.0)
    halo: bool = False
