"""Pictures in written answers: those of Jupyter and Colab are shown, and nothing but pictures."""

import base64
import json
import os
import struct

import numpy as np
import pytest
from classroom import cell, notebook, parts_of, png, save
from sandbox_sessions import needs_sandbox

from attn_course import register
from attn_course.grading import pasted_images
from attn_course.grading.grade_one import Settings, grade_one, shown_images
from attn_course.grading.markdown_html import as_html
from attn_course.grading.pasted_images import data_uri, images_of
from attn_course.grading.read_submission import parse_submission
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.tiers import best_tier
from attn_course.grading.submissions import File
from attn_course.grading.untrusted_text import LONGEST_ANSWER, as_answer

NAME = "01_copying"


def text(data):
    return base64.b64encode(data).decode()


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01"
GIF = b"GIF89a" + struct.pack("<HH", 5, 6)
WEBP = {
    "VP8X": b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x09\0\0\x13\0\0",
    "VP8L": b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + struct.pack("<I", 9 | 19 << 14),
    "VP8 ": b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 10, 20),
}


SHOWN = [
    (png(2, 3), ("png", 2, 3)),
    (JPEG, ("jpeg", 32, 16)),
    (GIF, ("gif", 5, 6)),
    *((data, ("webp", 10, 20)) for data in WEBP.values()),
]


@pytest.mark.parametrize(("data", "measures"), SHOWN)
def test_four_kinds_of_pictures_are_shown_by_what_they_are(data, measures):
    assert pasted_images.measured(data) == measures
    assert data_uri(data) == f"data:image/{measures[0]};base64,{text(data)}"


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
    assert data_uri(data) == ""


def written(source, attachments=None):
    """The cells of a notebook with this written answer, as they are read."""
    found = notebook(NAME)
    cell(found, "q1-7-written").update(source=source, attachments=attachments or {})
    cells = parse_submission(json.dumps(found).encode(), ".ipynb").cells
    return [cell for cell in cells if cell.id == "q1-7-written"]


def page(cells):
    """The answer in these cells as a page shows it."""
    uris = {address: data_uri(data) for address, data in images_of(cells).items()}
    return as_html(as_answer(cells[0].source), uris)


def test_a_picture_pasted_in_jupyter_is_shown():
    source = "See ![image.png](attachment:my%20image.png)."
    cells = written(source, {"my image.png": {"image/png": text(png())}})
    assert f'See <img alt="image.png" src="{data_uri(png())}">.' in page(cells)


def test_a_picture_pasted_in_colab_is_shown_and_costs_no_word_after_it():
    large = png(noise=b"\xfb" * 200_000)
    source = f"See ![image.png](data:image/png;base64,{text(large)}) and these words."
    answer = as_answer(source)
    assert len(answer) < 100 < LONGEST_ANSWER < len(source) and answer.endswith("these words.")
    assert f'src="{data_uri(large)}"' in page(written(source))


def test_a_picture_that_cannot_be_shown_is_named():
    svg = text(b"<svg onload='alert(1)'/>")
    cells = written("![a](attachment:a.png)", {"a.png": {"image/png": svg}})
    assert images_of(cells) == {}
    assert "[a picture that is not shown: a]" in page(cells)
    assert "<img" not in as_html("![a](http://x.org/a.png) ![b](data:image/png;base64,AA==)", {})


def test_a_picture_is_shown_once_however_often_it_is_named():
    cells = written("![a](attachment:a.png)" * 900, {"a.png": {"image/png": text(png())}})
    assert page(cells).count("<img") == 1


@pytest.mark.parametrize(
    "attachments",
    [
        {"a.png": 5},
        {"a.png": {"image/png": 5}},
        {"a.png": {"image/png": "=" * 9}},
        {"a.png": {"image/png": text(png()) * 99_999}},
        5,
    ],
)
def test_odd_attachments_are_no_pictures(attachments):
    assert images_of(written("![a](attachment:a.png)", attachments)) == {}


def test_an_answer_has_a_few_pictures():
    names = [f"{number}.png" for number in range(9)]
    pasted = {name: {"image/png": text(png(noise=name.encode()))} for name in names}
    assert len(images_of(written("many", pasted))) == pasted_images.MAX_IMAGES


@needs_sandbox
def test_two_answers_that_are_pictures_of_one_name_keep_each_its_own(tmp_path):
    name = next(name for name in register.NOTEBOOKS if len(written_questions(name)) > 1)
    found = notebook(name)
    pictures = {}
    for question in written_questions(name):
        pictures[question.id] = png(noise=question.id.encode())
        pasted = {"image.png": {"image/png": text(pictures[question.id])}}
        source = "![image.png](attachment:image.png)"
        place = f"q{question.id.replace('.', '-')}-written"
        cell(found, place).update(source=source, attachments=pasted)
    save(tmp_path / f"{name}.ipynb", found)
    file = File("ann", name, tmp_path / f"{name}.ipynb", f"{name}.ipynb")
    settings = Settings(1, Limits(), (name,), best_tier())
    with settings.supervisor() as supervisor:
        record = grade_one(file, supervisor, settings)
    os.remove(file.path)  # what is shown is what was judged
    shown = {part.question: part.images for part in record.parts if part.kind == "written"}
    assert shown == {
        question: {"attachment:image.png": data_uri(data)} for question, data in pictures.items()
    }


def written_questions(name):
    return [question for question, part in parts_of(name) if part.kind == "written"]


def test_what_a_judge_calls_a_picture_is_looked_at_again():
    said = {"1.7": {"attachment:a": np.frombuffer(b"<svg>", np.uint8), "attachment:b": "no"}}
    assert shown_images(said, "1.7") == {} == shown_images([said], "1.7")
