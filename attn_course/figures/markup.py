"""Pieces of SVG text: elements, paths, words."""

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from attn_course.figures.style import DPI

PIXELS = DPI / 72  # in a point
Places = Iterable[tuple[float, float]]  # (x, y)
_LIFT = {"top": 0.8, "middle": 0.35, "bottom": 0.0}  # of the letters' height below the place
_LETTER = 0.62  # width of a letter, as a share of its height


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """An element. Attributes that are None are left out; `stroke_width` is written stroke-width."""
    written = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        if not isinstance(value, str):
            value = f"{value:.1f}"
        key = key.rstrip("_").replace("_", "-")
        written.append(f'{key}="{value}"')

    opening = " ".join(written)
    if content:
        return f"<{opening}>{content}</{name}>"
    return f"<{opening}/>"


def polyline(points: Places) -> str:
    """The path through points (x, y)."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def curve(points: np.ndarray) -> str:
    """The path through many points, (n, 2), written in one stroke."""
    form = "L%.1f %.1f" * len(points)
    numbers = tuple(points.ravel().tolist())
    return "M" + form[1:] % numbers


def polygon(points: Places) -> str:
    """The closed path through points (x, y)."""
    return polyline(points) + "Z"


def words(
    text: str,
    x: float,
    y: float,
    points: float,
    *,
    across: str = "start",
    along: str = "bottom",
    colour: str | None = None,
    turned: float = 0,
) -> str:
    """One line of text of a size in points, turned to the left by so many degrees around its place."""
    if not text:
        return ""
    size = points * PIXELS
    turn = f"rotate(-{turned:g} {x:.1f} {y:.1f})" if turned else None
    return tag(
        "text",
        escape(text),
        x=x,
        y=y + _LIFT[along] * size,
        font_size=size,
        text_anchor=across,
        fill=colour,
        transform=turn,
    )


def width_of(text: str, points: float) -> float:
    """About how many pixels a text takes."""
    lines = str(text).split("\n")
    longest = max(len(line) for line in lines)
    return _LETTER * points * PIXELS * longest
