"""Pictures in written answers: those of Jupyter and Colab are shown, and nothing but pictures."""

import base64
import json
import struct

import pytest
from classroom import cell, notebook, png

from attn_course.grading import pasted_images
from attn_course.grading.markdown_html import as_html
from attn_course.grading.pasted_images import data_uri, images_of
from attn_course.grading.untrusted_text import LONGEST_ANSWER, as_answer

NAME = "01_copying"


def text(data):
    return base64.b64encode(data).decode()


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01"
GIF = b"GIF89a" + struct.pack("<HH", 5, 6)
WEBP = {
    "VP8X": b"RIFF\0\0\0\0WEBPVP8X"
    + b"\0" * 8
    + (9).to_bytes(3, "little")
    + (19).to_bytes(3, "little"),
    "VP8L": b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + struct.pack("<I", 9 | 19 << 14),
    "VP8 ": b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 10, 20),
}


@pytest.mark.parametrize(
    ("data", "kind"),
    [(png(), "png"), (JPEG, "jpeg"), (GIF, "gif"), *((data, "webp") for data in WEBP.values())],
)
def test_four_kinds_of_pictures_are_shown_by_what_they_are(data, kind):
    assert data_uri(text(data)) == f"data:image/{kind};base64,{text(data)}"


def test_the_sizes_of_pictures_are_read():
    assert pasted_images.measured(JPEG) == ("jpeg", 32, 16)
    assert {pasted_images.measured(data) for data in WEBP.values()} == {("webp", 10, 20)}


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<html><script>alert(1)</script>",
        b"%PDF-1.4",
        png(100_000, 100_000),
        png(9_000, 9_000),
        png(0, 5),
        png(noise=b"x" * pasted_images.MAX_IMAGE),
        JPEG[:9],
        b"\x89PNG\r\n\x1a\n",
        b"",
    ],
)
def test_what_is_no_picture_or_too_large_is_not_shown(data):
    assert data_uri(text(data)) == ""


def handed_in(tmp_path, source, attachments=None):
    """A notebook with this written answer; return (its path, the answer as the grader keeps it)."""
    found = notebook(NAME)
    answer = cell(found, "q1-7-written")
    answer["source"] = source
    if attachments:
        answer["attachments"] = attachments
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(found), "utf-8")
    return path, as_answer(source)


def test_a_picture_pasted_in_jupyter_is_shown(tmp_path):
    source = "See ![image.png](attachment:my%20image.png)."
    path, answer = handed_in(tmp_path, source, {"my image.png": {"image/png": text(png())}})
    page = as_html(answer, images_of(path, answer))
    assert f'See <img alt="image.png" src="{data_uri(text(png()))}">.' in page


def test_a_picture_pasted_in_colab_is_shown_and_costs_no_word_after_it(tmp_path):
    large = png(noise=b"\xfb" * 200_000)
    source = f"See ![image.png](data:image/png;base64,{text(large)}) and these words."
    path, answer = handed_in(tmp_path, source)
    assert len(answer) < 100 < LONGEST_ANSWER < len(source) and answer.endswith("these words.")
    assert f'src="{data_uri(text(large))}"' in as_html(answer, images_of(path, answer))


def test_a_picture_that_cannot_be_shown_is_named(tmp_path):
    svg = text(b"<svg onload='alert(1)'/>")
    path, answer = handed_in(tmp_path, "![a](attachment:a.png)", {"a.png": {"image/png": svg}})
    assert images_of(path, answer) == {}
    assert "[a picture that is not shown: a]" in as_html(answer, {})
    assert "<img" not in as_html("![a](http://x.org/a.png) ![b](data:image/png;base64,AA==)", {})


def test_a_picture_of_another_cell_is_not_taken(tmp_path):
    found = notebook(NAME)
    cell(found, "q1-7-written")["source"] = "![a](attachment:a.png)"
    other = {"cell_type": "markdown", "metadata": {}, "source": "![a](attachment:a.png) too"}
    found["cells"].insert(0, {**other, "attachments": {"a.png": {"image/png": text(png())}}})
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(found), "utf-8")
    assert images_of(path, "![a](attachment:a.png)") == {}


@pytest.mark.parametrize(
    "data", ["", "[]", '{"cells": 5}', '{"cells": [5, {"source": 5}]}', "[" * 9999]
)
def test_an_odd_file_has_no_pictures(tmp_path, data):
    path = tmp_path / "x.ipynb"
    path.write_text(data)
    assert images_of(path, "![a](attachment:a.png)") == {}
