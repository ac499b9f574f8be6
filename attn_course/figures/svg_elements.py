"""Pieces of SVG: elements, paths, text, and images of one pixel a cell."""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from attn_course.figures.style import COLOURS, DPI, TEXT

PIXELS = DPI / 72  # in a point
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_BASELINE = {"top": 0.8, "center": 0.35, "bottom": 0.0}  # below the place, as a share of the size
_LETTER = 0.62  # width of a letter, as a share of the size


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """Return an element. Attributes that are None are left out; `stroke_width` is written stroke-width."""
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


def polyline(points: Iterable[Sequence[float] | np.ndarray]) -> str:
    """Return the path through points (x, y)."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def curve(points: np.ndarray) -> str:
    """Return the path through many points, (n, 2), to a tenth of a pixel; steps are shorter than places."""
    tenths = np.rint(10 * points)
    steps = np.diff(tenths, axis=0, prepend=0) / 10
    numbers = tuple(steps.ravel().tolist())
    return ("M%g %gl" + "%g %g " * (len(points) - 1)).rstrip("l ") % numbers


def text_tag(
    text: str,
    x: float,
    y: float,
    points: float,
    *,
    horizontal: str = "left",
    vertical: str = "bottom",
    colour: str = TEXT,
    angle: float = 0,
    halo: bool = False,
) -> str:
    """Return one line of text of a size in points, turned to the left by `angle` degrees around its place."""
    if not text:
        return ""
    size = points * PIXELS
    return tag(
        "text",
        escape(text),
        x=x,
        y=y + _BASELINE[vertical] * size,
        font_size=size,
        text_anchor=_ANCHORS[horizontal],
        fill=None if colour == TEXT else css_colour(colour),
        transform=f"rotate(-{angle:g} {x:.1f} {y:.1f})" if angle else None,
        class_="halo" if halo else None,
    )


def text_width(text: str, points: float) -> float:
    """Return about how many pixels a text takes."""
    lines = str(text).split("\n")
    longest = max(len(line) for line in lines)
    return _LETTER * points * PIXELS * longest


def css_colour(colour: str) -> str:
    """Return a colour for CSS; one of the palette as a variable, which is brighter on a dark page."""
    if colour in COLOURS:
        return f"var(--c{COLOURS.index(colour)})"
    return "currentColor" if colour == TEXT else colour


def image_tag(colours: np.ndarray, left: float, top: float, width: float, height: float) -> str:
    """Return coloured cells as an image. colours: (rows, columns, 3), from 0 to 1; the rest in pixels."""
    png = base64.b64encode(encode_png(colours)).decode()
    return tag(
        "image",
        x=left,
        y=top,
        width=width,
        height=height,
        preserveAspectRatio="none",
        style="image-rendering:pixelated",
        href=f"data:image/png;base64,{png}",
    )


def encode_png(colours: np.ndarray) -> bytes:
    """Return an image file. colours: (rows, columns, 3), from 0 to 1."""
    pixels = np.round(255 * np.nan_to_num(colours, nan=1.0)).astype(np.uint8)
    rows, columns, _ = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)  # 8 bits a channel, RGB
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: a line without a filter
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
