"""Pictures in written answers: those of Jupyter and Colab are shown, and nothing but pictures."""

import base64
import json
import os

import pytest
from classroom import cell, notebook, parts_of, png, save
from sandbox_sessions import needs_sandbox

from attn_course import register
from attn_grader import notebook as notebooks
from attn_grader.grade import Settings
from attn_grader.notebook import LONGEST_ANSWER, as_answer, images_of, parse_submission
from attn_grader.render import as_html
from attn_grader.sandbox import Limits
from attn_grader.sandbox.policy import best_tier
from attn_grader.submissions import File
from attn_grader.workers import Worker, grade_file

NAME = "01_copying"


def text(data):
    return base64.b64encode(data).decode()


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab"


def data_uri(data, kind="png"):
    return f"data:image/{kind};base64,{text(data)}"


@pytest.mark.parametrize(("data", "kind"), [(png(2, 3), "png"), (JPEG, "jpeg")])
def test_two_kinds_of_pictures_are_shown_by_their_first_bytes(data, kind):
    cells = written("![a](attachment:a)", {"a": {"image/x": text(data)}})
    assert images_of(cells) == {"attachment:a": data_uri(data, kind)}


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<html><script>alert(1)</script>",
        b"%PDF-1.4",
        b"GIF89a",
        png(noise=b"x" * notebooks.MAX_IMAGE),
        b"",
    ],
)
def test_what_is_no_picture_or_too_large_is_not_shown(data):
    assert images_of(written("![a](attachment:a)", {"a": {"image/png": text(data)}})) == {}


def written(source, attachments=None):
    """The cells of a notebook with this written answer, as they are read."""
    found = notebook(NAME)
    cell(found, "q1-7-written").update(source=source, attachments=attachments or {})
    cells = parse_submission(json.dumps(found).encode(), ".ipynb").cells
    return [cell for cell in cells if cell.id == "q1-7-written"]


def page(cells):
    """The answer in these cells as a page shows it."""
    return as_html(as_answer(cells[0].source), images_of(cells))


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
    assert len(images_of(written("many", pasted))) == notebooks.MAX_IMAGES


def test_as_many_photos_of_a_phone_as_an_answer_may_have_are_shown():
    names = [f"{number}.jpg" for number in range(notebooks.MAX_IMAGES)]
    photos = {name: JPEG + name.encode() + b"\xd8" * 4_500_000 for name in names}
    pasted = {name: {"image/jpeg": text(photo)} for name, photo in photos.items()}
    expected = {f"attachment:{name}": data_uri(photo, "jpeg") for name, photo in photos.items()}
    assert images_of(written("many", pasted)) == expected


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
    worker = Worker(Settings(Limits(), (name,), best_tier()))
    record = grade_file(file, worker, 1)
    worker.close()
    os.remove(file.path)  # what is shown is what was judged
    shown = {part.question: part.images for part in record.parts if part.kind == "written"}
    assert shown == {
        question: {"attachment:image.png": data_uri(data)} for question, data in pictures.items()
    }


def written_questions(name):
    return [question for question, part in parts_of(name) if part.kind == "written"]
