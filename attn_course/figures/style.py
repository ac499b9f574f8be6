"""Colours, colour scales and sizes of every figure."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

# Safe for the colour-blind (Okabe and Ito), used in this order; the last is for marks and queries.
# Style sheets are made of this palette. Tests compare verdicts, stored pictures and the colours that a
# notebook's text names with it.
PALETTE = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "yellow": "#e69f00",
    "light blue": "#56b4e9",
    "grey": "#4d4d4d",
}
DARK_PALETTE = {  # the same colours, light enough for a dark page
    "blue": "#4aa8e8",
    "orange": "#ff8a3d",
    "green": "#2fc79a",
    "pink": "#e59cc6",
    "yellow": "#f5bb3c",
    "light blue": "#a5dcff",
    "grey": "#c8c8c8",
}
COLOURS = tuple(PALETTE.values())
INK = len(COLOURS) - 1
TEXT = "text"  # the colour of text, which follows the theme of the page

DPI = 100
WIDEST = 9.0  # inches: what a notebook's column shows without shrinking the text
SIZE = (6.4, 3.6)  # inches, of a figure with one panel

TITLE_SIZE = 11.0  # points
LABEL_SIZE = 10.0
SMALL_SIZE = 9.0  # of ticks, legends and numbers in cells
LINE_WIDTH = 2.0  # points
MARKER_DIAMETER = 6.0  # points
DASHES = {"-": "", "--": "7 4", ":": "2 3"}  # a line's style -> SVG's stroke-dasharray

# ColorBrewer's Blues, Purples and PuOr, for maps.
_SCALES = {
    "blues": "f7fbff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b",
    "purples": "fcfbfd efedf5 dadaeb bcbddc 9e9ac8 807dba 6a51a3 54278f 3f007d",
    "orange to purple": "7f3b08 b35806 e08214 fdb863 fee0b6 f7f7f7 d8daeb b2abd2 8073ac 542788 2d004b",
}


def rgb(codes: Iterable[str]) -> np.ndarray:
    """Return colours "#rrggbb" or "rrggbb" as (n, 3), from 0 to 1."""
    numbers = [list(bytes.fromhex(code.removeprefix("#"))) for code in codes]
    return np.array(numbers) / 255


_STOPS = {name: rgb(codes.split()) for name, codes in _SCALES.items()}


def scale_colours(shares: ArrayLike, scale: str) -> np.ndarray:
    """Return colours (..., 3), from 0 to 1, of places on a scale. shares: (...), 0 and 1 are its ends."""
    stops = _STOPS[scale]
    places = np.clip(np.asarray(shares, float), 0, 1) * (len(stops) - 1)
    numbers = range(len(stops))
    channels = [np.interp(places, numbers, channel) for channel in stops.T]
    return np.stack(channels, axis=-1)
