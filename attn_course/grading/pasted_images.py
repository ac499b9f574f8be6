"""Pictures that students paste into written answers, made fit to be shown: PNG, JPEG, GIF and WebP only."""

import base64
import binascii
import hashlib
import re
import struct
from collections.abc import Iterable, Iterator

from attn_course.grading.read_submission import Cell
from attn_course.grading.untrusted_text import PASTED, short_address

MAX_IMAGE = 1 << 20  # bytes
MAX_IMAGES = 4  # in one answer
MAX_SIDE = 10_000  # pixels
MAX_PIXELS = 40_000_000


def images_of(cells: Iterable[Cell]) -> dict[str, bytes]:
    """Return {address in the answer: picture} of the cells of a written answer.

    Jupyter keeps pictures beside the text of a cell, Colab inside it. What is no picture is left out.
    """
    found: dict[str, bytes] = {}
    for cell in cells:
        for address, text in _pasted(cell):
            data = _decoded(text)
            if data_uri(data) and len(found) < MAX_IMAGES:
                found.setdefault(address, data)
    return found


def _pasted(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield (address, base64 text) of what a cell holds besides its words."""
    for match in PASTED.finditer(cell.source):
        yield short_address(match), match[0].partition(",")[2]
    for name, kinds in cell.attachments.items():
        for text in kinds.values() if isinstance(kinds, dict) else ():
            if isinstance(text, str):
                yield f"attachment:{name}", text


def _decoded(text):
    if len(text) > 2 * MAX_IMAGE:
        return b""
    try:
        return base64.b64decode(re.sub(r"\s", "", text), validate=True)
    except (binascii.Error, ValueError):
        return b""


def data_uri(data: bytes) -> str:
    """Return a picture as an address of its own kind, "" where it is none that we show."""
    kind, width, height = measured(data)
    is_sane = 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS
    if not kind or not is_sane or len(data) > MAX_IMAGE:
        return ""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def digests_of(images: dict[str, str]) -> list[str]:
    """Return short names of pictures, others as soon as one is another."""
    return [hashlib.sha256(uri.encode()).hexdigest()[:16] for _, uri in sorted(images.items())]


def measured(data):
    """(kind, width, height) by the first bytes of a picture, whatever it is called; ("", 0, 0) if none."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return "png", *struct.unpack(">II", data[16:24])
        if data.startswith((b"GIF87a", b"GIF89a")):
            return "gif", *struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8\xff"):
            return "jpeg", *_jpeg_size(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return "webp", *_webp_size(data)
    except (struct.error, IndexError):
        pass
    return "", 0, 0


def _jpeg_size(data):
    """Width and height in the first frame of a JPEG."""
    place = 2
    while place < len(data):
        if data[place] != 0xFF:
            break
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    return 0, 0


def _webp_size(data):
    """Width and height in the head of each of the three kinds of WebP."""
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF
