"""Which files are whose, which cells answer what, and which cells an answer needs."""

import os
import sys
from types import SimpleNamespace

import pytest

from attn_course import register
from attn_course.errors import UserError
from attn_course.grading import find_cells, report, submissions
from attn_course.grading.read_submission import Cell
from attn_course.grading.submissions import find

NAMES = ["01_copying", "02_average_of_two"]
PART = SimpleNamespace(kind="code", answers=("answer",), judge=True)
QUESTION = SimpleNamespace(id="1.1", parts=[PART])


def code(*sources):
    return [Cell(number, "code", source) for number, source in enumerate(sources, 1)]


def needed(*sources):
    return list(find_cells.cells_to_run(code(*sources), [QUESTION]))


def put(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


def found(folder, names=NAMES):
    students, files = find(folder, names)
    return students, [(file.student, file.notebook, file.name) for file in files]


def test_each_folder_is_a_student_and_nbgraders_layout_is_read(tmp_path):
    put(tmp_path, "ann/01_copying.ipynb", "bob/01_copying/work.ipynb", "bob/notes.txt", ".git/x")
    assert found(tmp_path) == (
        ["ann", "bob"],
        [("ann", NAMES[0], "01_copying.ipynb"), ("bob", NAMES[0], "01_copying/work.ipynb")],
    )


def test_the_notebook_is_preferred_to_its_script_and_to_copies(tmp_path):
    put(tmp_path, *(f"ann/01_copying{end}" for end in (" (1).ipynb", ".ipynb", ".py")))
    _, (file,) = find(tmp_path, NAMES)
    assert file.name == "01_copying.ipynb"
    assert file.remarks == ("01_copying (1).ipynb was handed in too, and not graded.",)


def test_checkpoints_and_notebooks_not_asked_for_are_left_alone(tmp_path):
    put(tmp_path, "ann/.ipynb_checkpoints/01_copying.ipynb", "ann/05_keys_queries_values.ipynb")
    assert found(tmp_path) == (["ann"], [])


def test_a_name_of_any_bytes_is_told_apart_and_steers_nothing(tmp_path):
    names = [
        b"a\xff",
        b"a\xfe",
        rb"a\xff",
        b"a\r\nb",
        b"a\x1b[2J",
        "a\u202eb".encode(),
        "a\u200b".encode(),
    ]
    for name in names:
        os.makedirs(os.path.join(os.fsencode(tmp_path), name))
    students = found(tmp_path)[0]
    assert {r"a\xfe", r"a\xff", r"a\\xff", r"a\r\nb", r"a\x1b[2J", r"a\u202eb", r"a\u200b"} == set(
        students
    )


def problems(folder):
    return {file.name: file.problem for file in find(folder, NAMES)[1] if file.problem}


def test_a_folder_of_thousands_of_files_is_read_up_to_a_limit_and_said_so(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_FILES", 5)
    put(tmp_path, *(f"ann/{number:04}.ipynb" for number in range(9)))
    assert len(found(tmp_path)[1]) == 5 + 1
    assert problems(tmp_path)["ann"] == "it holds over 5 files; the others were not looked at."


def test_a_notebook_under_a_name_that_is_not_quite_right_is_read_or_gets_a_sentence(tmp_path):
    put(tmp_path, "ann/01_Copying.IPYNB", "bob/01_copying.ipynb.txt", "carl.ipynb", "dora.ZIP")
    assert ("ann", NAMES[0], "01_Copying.IPYNB") in found(tmp_path)[1]
    assert problems(tmp_path) == {
        "01_copying.ipynb.txt": "its name does not end in .ipynb.",
        "carl.ipynb": "it lies outside any student's folder.",
        "dora.ZIP": "it lies outside any student's folder.",
    }


def test_a_folder_that_may_not_be_read_gets_a_sentence(tmp_path, monkeypatch):
    put(tmp_path, "ann/01_copying.ipynb", "ann/closed/02_average_of_two.ipynb")
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert problems(tmp_path) == {"closed": "it cannot be opened (Permission denied)."}


def test_a_file_whose_rights_change_is_read_again(tmp_path):
    put(tmp_path, "ann/01_copying.ipynb")
    (file,) = find(tmp_path, NAMES)[1]
    before = file.stamp
    file.path.chmod(0o400)
    assert file.stamp != before


def test_a_folder_without_students_is_refused(tmp_path):
    put(tmp_path, "01_copying.ipynb")
    with pytest.raises(UserError, match="holds no folder"):
        find(tmp_path, NAMES)


def test_file_names_of_reports_are_safe_short_and_different():
    names = ["Zoë O'Neil", "a:b", "a_b", "x" * 300, "x" * 301, "..", 'a"b']
    made = [report.file_name(name) for name in names]
    assert made[0] == names[0] and len(set(made)) == len(made)
    twins = report.file_names(["Ann", "ann", "ANN", "Bob"])
    assert len({name.casefold() for name in twins.values()}) == 4 and twins["Bob"] == "Bob"
    assert all(len(name.encode()) < 150 and not set(name) & set('/\\:"<>|?*') for name in made)


def test_figures_and_training_are_left_out():
    assert needed("import numpy as np", "def answer(x):\n    return np.sum(x)", "plot(answer)") == [
        1,
        2,
    ]


def test_what_an_answer_uses_is_run_through_any_number_of_cells():
    sources = ["a = 1", "b = a + 1", "def helper():\n    return b", "answer = lambda: helper()"]
    assert needed(*sources, "c = b") == [1, 2, 3, 4]


def test_a_function_may_use_what_is_defined_below_it_and_a_line_only_if_nothing_above_is():
    assert needed("def answer():\n    return below", "below = 1") == [1, 2]
    assert needed("answer = below", "below = 1") == [1, 2]
    assert needed("above = 1", "answer = above", "above = 2") == [1, 2]


def test_a_local_name_needs_no_cell():
    assert needed(
        "model = train()", "def answer(model):\n    loss = [m for m in model]\n    return loss"
    ) == [2]


def test_a_cell_that_changes_a_thing_in_place_takes_part_in_it():
    assert needed("t = {}", "t['a'] = 1", "t.x.y = 2", "answer = t") == [1, 2, 3, 4]


def test_a_method_called_on_a_thing_takes_part_in_it_and_one_on_a_module_does_not():
    sources = [
        "import math",
        "t = []",
        "t.append(1)",
        "math.sqrt(2)",
        "answer = lambda: math.pi + t[0]",
    ]
    assert needed(*sources) == [1, 2, 3, 5]


def test_names_from_a_star_or_a_global_statement_are_found():
    answer = "def answer():\n    return sqrt(2)"
    assert needed("from math import *", answer, "plot()") == [1, 2]
    assert needed("def f():\n    global sqrt\n    sqrt = max\nf()", answer) == [1, 2]


@pytest.mark.parametrize(
    "cell",
    [
        "other, answer = 1, max",
        "if True:\n    def answer():\n        return 1",
        "from math import sqrt as answer",
        "%matplotlib inline\nwith a as answer: pass",
    ],
)
def test_an_answer_without_an_id_is_found_however_it_is_defined(cell):
    assert needed("x = 1", cell) == [2]


def test_a_cell_that_redefines_the_answer_is_run():
    assert needed("def answer():\n    return 1", "answer = wrap(answer)") == [1, 2]


def test_cells_that_are_not_python_are_no_obstacle():
    assert needed("%matplotlib inline\nimport numpy as np", "def (:", "answer = np.sum") == [1, 3]
    assert needed("(" * 10_000, "\0", "answer = 1") == [3]


def test_check_cells_are_never_run():
    cells = [*code("answer = 1"), Cell(2, "code", "answer = 2", "q1-1-check")]
    cells.append(Cell(3, "code", "answer = 3", "x", {"check": "1.1"}))
    for everything in (False, True):
        assert list(find_cells.cells_to_run(cells, [QUESTION], everything)) == [1]


def test_all_cells_are_run_when_asked_for():
    assert list(find_cells.cells_to_run(code("answer = 1", "plot()"), [QUESTION], True)) == [1, 2]


def test_written_answers_are_found_under_their_heading_when_marks_are_gone():
    question = register.find("1.7")
    part = question.part("written")
    texts = ["### 1.7 In your own words\n\ncard", "Because.", "And so.", "## Summary"]
    cells = [Cell(number, "markdown", text) for number, text in enumerate(texts, 1)]
    assert (
        find_cells.text_of(find_cells.cells_of(cells, question, part), question)
        == "Because.\n\nAnd so."
    )


def written(*cells):
    question = register.find("1.7")
    return find_cells.text_of(
        find_cells.cells_of(cells, question, question.part("written")), question
    )


def test_a_written_answer_in_a_new_cell_below_the_empty_one_is_found_and_our_own_text_is_not():
    empty = Cell(1, "markdown", "*Your answer to 1.7: replace this line.*", "q1-7-written")
    ours = Cell(3, "markdown", "**The code part** follows.", "markdown-0123abcd")
    assert (
        written(empty, Cell(2, "markdown", "**Because** so.", "0123abcd"), ours)
        == "**Because** so."
    )
    assert written(empty, ours) == "" and written(empty, Cell(2, "markdown", "# Next")) == ""


def test_a_written_answer_below_code_is_found_under_its_heading():
    texts = ["### 1.7 In your own words", "x = 1", "Because.", "## Summary", "not this"]
    kinds = ["markdown", "code", "markdown", "markdown", "markdown"]
    cells = [
        Cell(n, kind, text) for n, (kind, text) in enumerate(zip(kinds, texts, strict=True), 1)
    ]
    assert written(*cells) == "Because."
    cells[2] = Cell(3, "markdown", "## A heading in between")
    assert (
        written(*cells, Cell(6, "markdown", "### 1.8 Next"), Cell(7, "markdown", "nor this"))
        == "not this"
    )


def test_no_text_that_a_person_reads_steers_a_terminal_or_runs_backwards():
    assert (
        written(Cell(1, "markdown", "a\x1b[2J\u202eb\tc\n", "q1-7-written"))
        == "a\ufffd[2J\ufffdb\tc"
    )


def test_an_untouched_written_cell_is_empty():
    question = register.find("1.7")
    cells = [Cell(1, "markdown", "*Your answer to 1.7: replace this line.*", "q1-7-written")]
    assert (
        find_cells.text_of(find_cells.cells_of(cells, question, question.part("written")), question)
        == ""
    )


CHAINS = {
    "downwards": lambda n: [*(f"a{k} = a{k + 1}" for k in range(n)), "answer = a0"],
    "upwards": lambda n: ["answer = lambda: a0", *(f"a{k} = lambda: a{k + 1}" for k in range(n))],
    "in a crowd": lambda n: [
        *(f"a{k} = {[f'c{j}' for j in range(9)]}, a{k + 1}".replace("'", "") for k in range(n)),
        "answer = a0",
    ],
}


def lines_run(sources):
    """How many lines of Python run to find what an answer needs, once its cells are read."""
    assert len(needed(*sources)) > 1
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        needed(*sources)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", CHAINS)
def test_four_times_the_cells_that_use_each_other_cost_far_less_than_sixteen_times(name):
    chain = CHAINS[name]
    assert lines_run(chain(1_998)) < 5 * lines_run(chain(498))
