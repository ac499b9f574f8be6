"""The build: one source, three files, and every drift is found without executing anything."""

import json
import re
import shutil

import pytest
from course import ROOT, SOURCES

from attn_course import register
from attn_course.building import (
    build,
    cards,
    outputs,
)
from attn_course.building.cells import solution_notebook
from attn_course.errors import UserError
from attn_course.markers import BEGIN, cut_solutions

PROSE = "How a notebook of this course works"  # stands in the source and in all three files
HEAD_LINE = re.search(r"^# \*(\d+ min), needs nothing\*$", SOURCES[0].read_text("utf-8"), re.M)

README = """# Copy

<!-- badges: written by attn build -->
<!-- end of badges -->

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


def test_the_committed_files_are_as_built(project):
    assert build.problems(project) == []


def test_building_again_changes_nothing(project):
    assert list(build.build(project)) == [("00_start_here", False), ("README.md", False)]


GENERATED = [
    "solutions/00_start_here.ipynb",
    "notebooks/00_start_here.ipynb",
    "notebooks/00_start_here.py",
]


@pytest.mark.parametrize("name", GENERATED)
def test_one_changed_character_of_a_generated_file_is_found(project, name):
    edit(project / name, PROSE, f"{PROSE[:-1]}S")
    assert build.problems(project)


def test_one_changed_character_of_a_stored_output_is_found(project):
    edit(project / GENERATED[0], "it gave 8.676", "it gave 8.677")
    assert "outputs are not those of the source" in build.problems(project)[0]


def test_one_changed_character_of_a_stored_picture_is_found(project):
    path = project / GENERATED[0]
    text = path.read_text("utf-8")
    place = text.index('"image/png": "') + 200
    path.write_text(
        text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :], "utf-8"
    )
    assert build.problems(project)


def test_a_changed_source_is_found(project):
    edit(project / "solutions/00_start_here.py", PROSE, f"{PROSE} well")
    assert build.problems(project)


def test_a_missing_file_and_a_stray_one_are_found(project):
    (project / GENERATED[1]).unlink()
    shutil.copy(project / GENERATED[0], project / "notebooks" / "99_stray.ipynb")
    assert len(build.problems(project)) == 2


def test_a_damaged_notebook_is_found(project):
    (project / GENERATED[0]).write_text('{"cells": [', encoding="utf-8")
    assert "run attn build" in build.problems(project)[0]


def test_an_unknown_number_is_one_sentence(project):
    with pytest.raises(UserError, match="no notebook 42"):
        build.sources(project, ["42"])


def test_stubs_keep_signature_docstring_and_step_comments():
    source = 'def f(x):\n    """Doc."""\n    # step\n    # BEGIN SOLUTION\n    return 2\n    # END SOLUTION'
    stub = cut_solutions(source)
    assert (
        stub == source.split("    # BEGIN")[0] + '    raise NotImplementedError("your answer here")'
    )


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


def test_a_solution_line_shown_elsewhere_is_found(tmp_path):
    found = content_problems(
        tmp_path, "# ## Handing in", "# ## Handing in\n#\n# return sum(values) / len(values)"
    )
    assert any("is shown to students" in problem for problem in found)


def test_a_stub_that_does_not_compile_is_found(tmp_path):
    found = content_problems(
        tmp_path, "# BEGIN SOLUTION\n    return", "if True:\n    # BEGIN SOLUTION\n    return"
    )
    assert any("does not compile" in problem for problem in found)


def test_headings_cards_and_the_head_line_come_from_the_register(tmp_path):
    source = tmp_path / "00_start_here.py"
    source.write_text(SOURCES[0].read_text("utf-8"), encoding="utf-8")
    edit(source, "# ### 0.1", "# ### 0.1 Another title\n#\n# *derive · 9 points · 99 min*")
    text = "\n".join(cell.source for cell in solution_notebook(source).cells)
    assert "Another title" not in text and "99 min" not in text
    assert cards.heading(register.find("0.1")) in text
    number = len(register.questions_of("00_start_here"))
    assert f"*{HEAD_LINE[1]}, {number} questions, 0 points, needs nothing*" in text


def test_a_question_without_a_heading_is_found(tmp_path):
    found = content_problems(tmp_path, "# ### 0.1", "# ### First")
    assert any("question 0.1 has no heading" in problem for problem in found)


def test_a_notebook_without_its_head_line_is_refused(tmp_path):
    with pytest.raises(UserError, match="head line"):
        content_problems(tmp_path, HEAD_LINE[0], "# *needs nothing*")


def test_the_list_of_notebooks_in_readme_is_written_and_held(project):
    readme = project / "README.md"
    line = "- [00 Start here](notebooks/00_start_here.ipynb): "
    assert line in readme.read_text("utf-8")
    edit(readme, line, f"{line}Not ")
    assert build.problems(project) == [
        "README.md: what attn build writes there is not what stands there; run attn build."
    ]


def test_changed_prose_needs_no_new_run_and_changed_code_does(project):
    source = project / "solutions/00_start_here.py"
    target = project / GENERATED[0]
    edit(source, PROSE, f"{PROSE} well")
    assert outputs.stored_outputs(solution_notebook(source), target) is not None
    edit(source, "import numpy as np", "import numpy as np  # the only one")
    assert outputs.stored_outputs(solution_notebook(source), target) is None


def test_a_missing_answer_cell_is_found(tmp_path):
    found = content_problems(tmp_path, '# %% answer="0.1"', "# %%")
    assert any("no answer cell q0-1-code" in problem for problem in found)


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
    kept = outputs.lasting([bar, sliders, printed])
    assert kept == [sliders, printed]
    assert set(sliders["data"]) == {"text/plain", "image/png"}
