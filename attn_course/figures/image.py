"""Coloured cells as an <image> of SVG that holds a PNG of one pixel a cell."""

import base64
import struct
import zlib

import numpy as np

from attn_course.figures.markup import tag


def image_tag(colours: np.ndarray, left: float, top: float, width: float, height: float) -> str:
    """colours: (rows, columns, 3), from 0 to 1; the rest in pixels."""
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
    """colours: (rows, columns, 3), from 0 to 1 -> an image file."""
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
    """A chunk of a PNG: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
