"""Which files are whose, which cells answer what, and which cells an answer needs."""

import hashlib
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from attn_course import register
from attn_course.errors import UserError
from attn_grader import notebook as notebooks
from attn_grader import pages, roster, submissions, written_marks
from attn_grader.notebook import Cell
from attn_grader.submissions import find

NAMES = ["01_copying", "02_average_of_two"]
PART = SimpleNamespace(kind="code", answers=("answer",), judge=True)
QUESTION = SimpleNamespace(id="1.1", parts=[PART])


def code(*sources):
    return [Cell(number, "code", source) for number, source in enumerate(sources, 1)]


def needed(*sources):
    return list(notebooks.cells_to_run(code(*sources), [QUESTION]))


def put(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


def found(folder, names=NAMES):
    students, files = find(folder, names)
    return students, [(file.student, file.notebook, file.name) for file in files]


def test_each_folder_is_a_student_and_nbgraders_layout_is_read(tmp_path):
    put(tmp_path, "ann/01_copying.ipynb", "bob/01_copying/work.ipynb", "bob/notes.txt", ".git/x")
    put(tmp_path, "bob/01_copying/timestamp.txt")  # nbgrader's own
    assert found(tmp_path) == (
        ["ann", "bob"],
        [
            ("ann", NAMES[0], "01_copying.ipynb"),
            ("bob", NAMES[0], "01_copying/work.ipynb"),
            ("bob", "", "notes.txt"),
        ],
    )


def test_the_notebook_is_preferred_to_its_script_and_to_copies(tmp_path):
    put(tmp_path, *(f"ann/01_copying{end}" for end in (" (1).ipynb", ".ipynb", ".py")))
    for path in tmp_path.rglob("*.ipynb"):
        path.write_text('{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x = 1"}]}')
    _, (file,) = find(tmp_path, NAMES)
    assert file.name == "01_copying.ipynb" and file.copies == ()
    assert file.remarks == ("01_copying (1).ipynb was handed in too, and not graded.",)


def test_checkpoints_and_notebooks_not_asked_for_are_left_alone(tmp_path):
    put(tmp_path, "ann/.ipynb_checkpoints/01_copying.ipynb", "ann/05_keys_queries_values.ipynb")
    assert found(tmp_path) == (["ann"], [])


def test_a_name_of_any_bytes_is_told_apart_and_steers_nothing(tmp_path):
    names = {
        b"a\xff": r"a\xff",
        b"a\xfe": r"a\xfe",
        rb"a\xff": r"a\\xff",
        b"a\r\nb": r"a\r\nb",
        b"a\x1b[2J": r"a\x1b[2J",
        "a\u202eb".encode(): r"a\u202eb",
        "a\u200b".encode(): r"a\u200b",
    }
    for name in names:
        os.makedirs(os.path.join(os.fsencode(tmp_path), name))
    assert set(found(tmp_path)[0]) == set(names.values())


def problems(folder):
    return {file.name: file.problem for file in find(folder, NAMES)[1] if file.problem}


def test_a_folder_of_thousands_of_files_is_read_up_to_a_limit_and_said_so(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_FILES", 5)
    put(tmp_path, *(f"ann/{number:04}.ipynb" for number in range(9)))
    assert problems(tmp_path)["ann"] == "it holds over 5 files; the others were not looked at."
    monkeypatch.undo()
    said = problems(tmp_path)
    assert len(said) == 5 and said["..."] == "5 more files were passed over."


def test_copies_of_a_notebook_are_named_up_to_five(tmp_path):
    put(tmp_path, *(f"ann/{number}/01_copying.ipynb" for number in range(9)))
    _, (file,) = find(tmp_path, NAMES)
    assert file.name == "0/01_copying.ipynb" and len(file.remarks) == 6
    assert file.remarks[0] == "1/01_copying.ipynb was handed in too, and not graded."
    assert file.remarks[-1] == "3 more copies were not graded."


SAME = [("zoe", "zoe "), ("Zoë", "Zoe\u0308"), ("Ann", "ANN"), ("straße", "STRASSE")]


@pytest.mark.parametrize("names", SAME)
def test_two_folders_of_one_name_are_refused(tmp_path, names):
    put(tmp_path, *(f"{name}/01_copying.ipynb" for name in names))
    with pytest.raises(UserError, match="are the same name"):
        find(tmp_path, NAMES)


@pytest.mark.parametrize("names", SAME)
def test_a_roster_and_marks_may_spell_a_name_in_another_way(tmp_path, names):
    folder, other = names
    (tmp_path / "r.csv").write_text(f"student,id\n{other},7\n", "utf-8")
    people = roster.load(tmp_path / "r.csv", [folder]).people
    assert list(people) == [folder] and people[folder].id == "7"
    (tmp_path / "w.csv").write_text(f"student,question,points\n{other},1.7,0.5\n", "utf-8")
    assert list(written_marks.load(tmp_path / "w.csv", [folder])) == [(folder, "1.7", "written")]
    (tmp_path / "r.csv").write_text(f"student\n{folder}\n{other}\n", "utf-8")
    with pytest.raises(UserError, match="in the roster already"):
        roster.load(tmp_path / "r.csv")


def test_a_folder_that_is_passed_over_is_named(tmp_path):
    for place in ("ann", ".dot", "ann/.work", "ann/a/b/c/d/e"):
        put(tmp_path, f"{place}/01_copying.ipynb")
    put(tmp_path, "ann/.ipynb_checkpoints/x", ".git/x")
    assert problems(tmp_path) == {
        ".dot": "its name begins with a dot, so it was passed over.",
        ".work": "its name begins with a dot, so it was passed over.",
        "a/b/c/d/e": "it lies too deep, and was passed over.",
    }


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


def test_a_stamp_is_that_of_the_bytes_and_of_nothing_else(tmp_path):
    put(tmp_path, "ann/01_copying.ipynb")
    (file,) = find(tmp_path, NAMES)[1]
    before = file.stamp
    os.utime(file.path, (0, 0))
    file.path.chmod(0o400)
    assert file.stamp == before == hashlib.sha256(b"ann/01_copying.ipynb").hexdigest()
    file.path.unlink()
    assert file.stamp.startswith("unreadable: it cannot be opened")


def test_a_folder_without_students_is_refused(tmp_path):
    put(tmp_path, "01_copying.ipynb")
    with pytest.raises(UserError, match="holds no folder"):
        find(tmp_path, NAMES)
    with pytest.raises(UserError, match="there is no folder"):
        find(tmp_path / "nowhere", NAMES)


def test_file_names_of_reports_are_safe_short_and_different():
    names = ["Zoë O'Neil", "a:b", "a_b", "x" * 300, "x" * 301, "..", 'a"b', "a.", "a", "-a", ""]
    names += [pages.file_name("a:b"), pages.file_name("a:b").replace("~", "-")]
    made = [pages.file_name(name) for name in names]
    assert len(set(made)) == len(made) and all(name.isascii() for name in made)
    assert [pages.file_name(name) for name in ("a_b", "Ann Lee-1")] == ["a_b", "Ann Lee-1"]
    assert all(len(name.encode()) < 150 and not set(name) & set('/\\:"<>|?*') for name in made)


def test_figures_and_training_are_left_out():
    answer = "def answer(x):\n    return np.sum(x)"
    assert needed("import numpy as np", answer, "plot(answer)") == [1, 2]


def test_what_an_answer_uses_is_run_through_any_number_of_cells():
    sources = ["a = 1", "b = a + 1", "def helper():\n    return b", "answer = lambda: helper()"]
    assert needed(*sources, "c = b") == [1, 2, 3, 4]


def test_a_function_may_use_what_is_defined_below_it_and_a_line_only_if_nothing_above_is():
    assert needed("def answer():\n    return below", "below = 1") == [1, 2]
    assert needed("answer = below", "below = 1") == [1, 2]
    assert needed("above = 1", "answer = above", "above = 2") == [1, 2]


def test_a_local_name_needs_no_cell():
    answer = "def answer(model):\n    loss = [m for m in model]\n    return loss"
    assert needed("model = train()", answer) == [2]


def test_a_cell_that_changes_a_thing_in_place_takes_part_in_it():
    assert needed("t = {}", "t['a'] = 1", "t.x.y = 2", "answer = t") == [1, 2, 3, 4]


def test_a_method_called_on_a_thing_takes_part_in_it_and_one_on_a_module_does_not():
    calls = ["t.append(1)", "math.sqrt(2)"]
    assert needed("import math", "t = []", *calls, "answer = lambda: math.pi + t[0]") == [
        1,
        2,
        3,
        5,
    ]


def test_names_from_a_star_or_a_global_statement_are_found():
    answer = "def answer():\n    return sqrt(2)"
    assert needed("from math import *", answer, "plot()") == [1, 2]
    assert needed("def f():\n    global sqrt\n    sqrt = max\nf()", answer) == [1, 2]


def test_an_answer_without_an_id_is_found_however_it_is_defined():
    for cell in (
        "other, answer = 1, max",
        "if True:\n    def answer():\n        return 1",
        "from math import sqrt as answer",
        "%matplotlib inline\nwith a as answer: pass",
    ):
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
        assert list(notebooks.cells_to_run(cells, [QUESTION], everything)) == [1]


def test_all_cells_are_run_when_asked_for():
    assert list(notebooks.cells_to_run(code("answer = 1", "plot()"), [QUESTION], True)) == [1, 2]


def written(*cells, handed_out=()):
    question = register.find("1.7")
    found = notebooks.cells_of(cells, question, question.part("written"))
    if not notebooks.text_of(found, question):
        found = notebooks.near_words(cells, question, handed_out)
    return notebooks.text_of(found, question)


EMPTY = Cell(2, "markdown", "*Your answer to 1.7: replace this line.*", "q1-7-written")
CARD = Cell(1, "markdown", "### 1.7 In your own words\n\nSay why.", "1-7-in-your-own-words")
NEXT = Cell(3, "markdown", "## Summary\n\nThree lines.", "summary")
CODE = Cell(4, "code", "def f(x):\n    # step 1\n    ...", "q1-6-code", {"answer": "1.6"})
OURS = [cell.source.strip() for cell in (EMPTY, CARD, NEXT, CODE)]


def added(text, kind="markdown", number=9):
    return Cell(number, kind, text, "0123abcd")


PLACES = {
    "below": lambda text: [CODE, CARD, EMPTY, text, NEXT],
    "below an empty cell": lambda text: [CODE, CARD, EMPTY, added("", number=8), text, NEXT],
    "above": lambda text: [CODE, CARD, text, EMPTY, NEXT],
    "at the end": lambda text: [CODE, CARD, EMPTY, NEXT, text],
    "at the beginning": lambda text: [text, CODE, CARD, EMPTY, NEXT],
    "without the cell for it": lambda text: [CODE, CARD, text, NEXT],
    "below code": lambda text: [CARD, EMPTY, CODE, text, NEXT],
}
WORDS = {
    "plain": added("Because."),
    "with a heading": added("## My answer\n\nBecause."),
    "raw": added("Because.", "raw"),
    "as a comment": added("# Because.", "code"),
    "as a string": added("'Because.'", "code"),
    "as no Python": added("Because it is so.", "code"),
    "as a comment on its question": added("x = 1  # see below\n# 1.7: Because.", "code"),
}


@pytest.mark.parametrize("known", ["as handed out", "by its ids"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", WORDS)
def test_words_of_the_students_own_are_never_taken_for_an_empty_answer(place, how, known):
    handed_out = OURS if known == "as handed out" else ()
    assert "Because" in written(*PLACES[place](WORDS[how]), handed_out=handed_out)


def test_words_in_a_cell_of_ours_are_found():
    assert "Because." in written(CARD, EMPTY, replace(NEXT, source="Because."), handed_out=OURS)
    card = replace(CARD, source=CARD.source + "\n\nBecause.")
    assert "Because." in written(card, EMPTY, NEXT, handed_out=OURS)


def test_a_notebook_without_words_of_the_students_has_no_written_answer():
    filled = replace(CODE, source="def f(x):\n    # my own step\n    return x")
    for handed_out in (OURS, ()):
        assert written(filled, CARD, EMPTY, NEXT, handed_out=handed_out) == ""


def test_words_under_another_written_question_belong_to_it(monkeypatch):
    other = replace(register.find("1.7"), id="1.8")
    known = (*register.questions_of("01_copying"), other)
    monkeypatch.setattr(notebooks, "questions_of", lambda notebook: known)
    card = Cell(5, "markdown", "### 1.8 Another")
    assert written(CARD, EMPTY, card, added("Because."), handed_out=[*OURS, card.source]) == ""


def near(*cells, handed_out=()):
    found = notebooks.near_code(cells, QUESTION, PART, handed_out)
    return [cell.number for cell in found]


def test_an_answer_where_nothing_runs_is_near():
    stub = Cell(1, "code", "def answer():\n    ...", "q1-1-code")
    check = Cell(2, "code", 'check("1.1", answer)', "q1-1-check", {"check": "1.1"})
    ours = [stub.source, check.source]
    assert near(stub, check, handed_out=ours) == near(stub, check) == []
    assert near(stub, added("def answer():\n    return 1"), handed_out=ours) == [9]
    assert near(stub, added("answer = 1", "raw"), handed_out=ours) == [9]
    assert near(replace(stub, kind="markdown", source="x"), handed_out=ours) == [1]
    assert near(replace(stub, source="def Answer():\n    return 1"), handed_out=ours) == [1]


def test_cells_that_the_student_changed_are_left_out_unless_they_run_or_do_nothing():
    answer = Cell(1, "code", "def answer():\n    return helper()", "q1-1-code")
    helper = Cell(2, "code", "def helper():\n    return 1", "x", {"check": "1.1"})
    ours = Cell(3, "code", "check('1.1', answer)", "q1-1-check", {"check": "1.1"})
    more = [Cell(4, "code", "table()"), Cell(5, "code", "# why"), Cell(6, "markdown", "x = 1")]
    cells = [answer, helper, ours, *more]
    run = notebooks.cells_to_run(cells, [QUESTION])
    left = notebooks.left_out(cells, run, [ours.source])
    assert list(run) == [1] and [cell.number for cell in left] == [2, 4]
    assert list(notebooks.cells_to_run(cells, [QUESTION], also=left)) == [1, 2, 4]


def test_no_text_that_a_person_reads_steers_a_terminal_or_runs_backwards():
    cell = Cell(1, "markdown", "a\x1b[2J\u202eb\tc\n", "q1-7-written")
    assert written(cell) == "a\ufffd[2J\ufffdb\tc"


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
