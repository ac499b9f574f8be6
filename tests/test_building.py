"""The build: one source, three files, and every drift is found without executing anything."""

import json
import re
import shutil

import pytest
from course import ROOT, SOURCES

from attn_course import register
from attn_course.building import (
    build,
    headings,
    output_cache,
)
from attn_course.building.cells import solution_notebook
from attn_course.errors import UserError
from attn_course.markers import BEGIN, cut_solutions
from attn_grader import release_archive

PROSE = "How a notebook of this course works"  # stands in the source and in all three files
HEAD_LINE = re.search(r"^# \*(\d+ min), needs nothing\*$", SOURCES[0].read_text("utf-8"), re.M)

README = """# Copy

<!-- summary: written by attn build -->
<!-- end of summary -->

<!-- start: written by attn build -->
<!-- end of start -->

<!-- notebooks: written by attn build -->
<!-- end of notebooks -->
"""


@pytest.fixture
def project(tmp_path):
    """A copy of the course with one small notebook in it."""
    for folder in ("solutions", "notebooks"):
        (tmp_path / folder).mkdir()
        for path in (ROOT / folder).glob("00_*"):
            shutil.copy(path, tmp_path / folder)
    readme = tmp_path / "README.md"
    readme.write_text(README, "utf-8")
    list(build.build(tmp_path))
    return tmp_path


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_building_again_changes_nothing(project):
    assert build.problems(project) == []
    assert list(build.build(project)) == [("00_start_here", False), ("README.md", False)]


SOURCE = "solutions/00_start_here.py"
SOLUTION = "solutions/00_start_here.ipynb"
LINE = "- [00 Start here](notebooks/00_start_here.ipynb): "  # of README's list


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        (SOURCE, PROSE, f"{PROSE} well", "notebooks/00_start_here.py is not what attn build makes"),
        (SOLUTION, PROSE, f"{PROSE[:-1]}S", f"{SOLUTION} is not what attn build makes"),
        ("notebooks/00_start_here.ipynb", PROSE, f"{PROSE[:-1]}S", "is not what attn build makes"),
        ("notebooks/00_start_here.py", PROSE, f"{PROSE[:-1]}S", "is not what attn build makes"),
        (SOLUTION, "it gave 8.676", "it gave 8.677", "outputs are not those of the source"),
        (SOLUTION, '"image/png": "iVBOR', '"image/png": "jVBOR', "outputs are not those of the"),
        (SOLUTION, '{\n "cells"', '{\n "cells": [', "outputs are not those of the source"),
        ("README.md", LINE, f"{LINE}Not ", "README.md: what attn build writes there is not what"),
    ],
)
def test_one_change_of_a_file_is_found(project, name, old, new, sentence):
    edit(project / name, old, new)
    found = build.problems(project)
    assert any(sentence in problem for problem in found), found


def test_a_missing_file_and_a_stray_one_are_found(project):
    (project / "notebooks" / "00_start_here.ipynb").unlink()
    shutil.copy(project / SOLUTION, project / "notebooks" / "99_stray.ipynb")
    assert len(build.problems(project)) == 2


def test_an_unknown_number_is_one_sentence(project):
    with pytest.raises(UserError, match="no notebook 42"):
        build.sources(project, ["42"])


def test_stubs_keep_signature_docstring_and_step_comments():
    source = 'def f(x):\n    """Doc."""\n    # step\n    # BEGIN SOLUTION\n    return 2\n    # END SOLUTION'
    kept = source.split("# BEGIN")[0]
    assert cut_solutions(source) == f'{kept}raise NotImplementedError("your answer here")'


def test_every_notebook_carries_the_version_of_the_course(project):
    text = '[project]\nname = "x"\nversion = "3.1.4"\n'
    (project / "pyproject.toml").write_text(text, "utf-8")
    assert any("00_start_here.ipynb" in problem for problem in build.problems(project))
    list(build.build(project))
    notebook = json.loads((project / "notebooks" / "00_start_here.ipynb").read_text("utf-8"))
    assert notebook["metadata"]["attn"] == {"version": "3.1.4"}
    assert build.problems(project) == []


def test_a_region_inside_a_call_becomes_a_comment():
    source = "f(\n    1,\n    # BEGIN SOLUTION\n    2,\n    # END SOLUTION\n)"
    assert cut_solutions(source) == "f(\n    1,\n    # your steps here\n)"


@pytest.mark.parametrize(
    "source", ["# BEGIN SOLUTION\nx = 1", "# BEGIN SOLUTION\n# BEGIN SOLUTION\n# END SOLUTION"]
)
def test_unbalanced_regions_are_refused(source):
    with pytest.raises(UserError):
        cut_solutions(source)


def content_problems(tmp_path, old, new):
    source = tmp_path / "00_start_here.py"
    source.write_text(SOURCES[0].read_text("utf-8"), encoding="utf-8")
    edit(source, old, new)
    return list(build.content_problems(solution_notebook(source), source.stem))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "# ## Handing in",
            "# ## Handing in\n#\n# return sum(values) / len(values)",
            "is shown to students",
        ),
        (
            "# BEGIN SOLUTION\n    return",
            "if True:\n    # BEGIN SOLUTION\n    return",
            "does not compile",
        ),
        ("# ### 0.1", "# ### First", "question 0.1 has no heading"),
        ('# %% answer="0.1"', "# %%", "no answer cell q0-1-code"),
    ],
)
def test_a_fault_of_a_source_is_found(tmp_path, old, new, sentence):
    found = content_problems(tmp_path, old, new)
    assert any(sentence in problem for problem in found), found


def test_headings_cards_and_the_head_line_come_from_the_register(tmp_path):
    source = tmp_path / "00_start_here.py"
    source.write_text(SOURCES[0].read_text("utf-8"), encoding="utf-8")
    edit(source, "# ### 0.1", "# ### 0.1 Another title\n#\n# *derive · 9 points · 99 min*")
    text = "\n".join(cell.source for cell in solution_notebook(source).cells)
    assert "Another title" not in text and "99 min" not in text
    assert headings.heading(register.find("0.1")) in text
    number = len(register.questions_of("00_start_here"))
    assert f"*{HEAD_LINE[1]}, {number} questions, 0 points, needs nothing*" in text


def test_a_notebook_without_its_head_line_is_refused(tmp_path):
    with pytest.raises(UserError, match="head line"):
        content_problems(tmp_path, HEAD_LINE[0], "# *needs nothing*")


def test_changed_prose_needs_no_new_run_and_changed_code_does(project):
    source = project / SOURCE
    target = project / SOLUTION
    edit(source, PROSE, f"{PROSE} well")
    assert output_cache.stored_outputs(solution_notebook(source), target) is not None
    edit(source, "import numpy as np", "import numpy as np  # the only one")
    assert output_cache.stored_outputs(solution_notebook(source), target) is None


@pytest.mark.parametrize(
    ("line", "seconds", "sentence"),
    [
        ("import os; os._exit(1)", 600, "the kernel died in the cell that begins with `{}`; "),
        ("while True: pass", 1, "the cell that begins with `{}` takes longer than 1 seconds."),
    ],
)
def test_a_kernel_that_dies_or_never_ends_is_one_sentence_with_the_cell(
    project, monkeypatch, line, seconds, sentence
):
    monkeypatch.setattr(output_cache, "SECONDS", seconds)
    edit(project / SOURCE, "import numpy as np", line)
    expected = re.escape(f"00_start_here: {sentence.format(line)}")
    with pytest.raises(UserError, match=expected):
        list(build.build(project))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_student_editions_hold_no_reference_rubric_or_output(source):
    student = json.loads((ROOT / "notebooks" / f"{source.stem}.ipynb").read_text("utf-8"))
    text = json.dumps(student)
    assert "Rubric" not in text and BEGIN not in text
    assert not any(cell.get("outputs") for cell in student["cells"])
    assert "Made by" in "".join(student["cells"][0]["source"])


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_answer_and_check_cells_carry_nbgrader_metadata(source):
    cells = json.loads((ROOT / "notebooks" / f"{source.stem}.ipynb").read_text("utf-8"))["cells"]
    marked = [c["metadata"]["nbgrader"] for c in cells if "nbgrader" in c["metadata"]]
    assert all(mark["schema_version"] == 3 for mark in marked)
    assert len({mark["grade_id"] for mark in marked}) == len(marked)
    assert any(mark["grade"] and mark["locked"] and not mark["solution"] for mark in marked)


def test_a_progress_bar_leaves_no_output_and_sliders_keep_their_picture():
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
    bar = {"output_type": "display_data", "data": {**view, "text/plain": "0%|"}, "metadata": {}}
    picture = {**view, "text/plain": "sliders", "image/png": "AA=="}
    sliders = {"output_type": "display_data", "data": picture, "metadata": {}}
    printed = {"output_type": "stream", "name": "stdout", "text": "loss"}
    kept = output_cache.without_widgets([bar, sliders, printed])
    assert kept == [sliders, printed]
    assert set(sliders["data"]) == {"text/plain", "image/png"}


def test_cards_and_the_release_say_that_points_are_a_bonus(monkeypatch):
    proper, extra = "01_copying", "02_average_of_two"
    monkeypatch.setattr(register, "BONUS", frozenset({extra}))
    question = register.questions_of(extra)[1]
    assert f"\n\n*code · {question.points:g} bonus points · " in headings.heading(question)
    readme = release_archive.files_of(ROOT)["README.md"].decode()
    assert f"| `{extra}` | {register.points_of(extra):g} (bonus) |" in readme
    assert f"| `{proper}` | {register.points_of(proper):g} |" in readme
