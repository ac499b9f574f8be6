"""What the reader of submissions makes of good, odd and bad files."""

import contextlib
import json
import os
import time

import pytest

from attn_grader import notebook as reading
from attn_grader.notebook import UnreadableFile, read_submission


def code(source, **extra):
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], **extra}


def notebook(*cells, **extra):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells), **extra}


@pytest.fixture
def read(tmp_path):
    def read(content, name="01_copying.ipynb"):
        path = tmp_path / name
        if isinstance(content, dict):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_submission(path)

    return read


def test_a_notebook_is_read_cell_by_cell_with_ids_and_marks(read):
    nbgrader = {"nbgrader": {"grade_id": "q1-1-code"}, "answer": "1.1"}
    cells = read(
        notebook(
            {"cell_type": "markdown", "metadata": {}, "source": ["# One\n", "two"], "id": "top"},
            code("x = 1", metadata=nbgrader, id="other"),
        )
    ).cells
    assert [(c.number, c.kind, c.source, c.id) for c in cells] == [
        (1, "markdown", "# One\ntwo", "top"),
        (2, "code", "x = 1", "q1-1-code"),
    ]
    assert cells[1].marks == {"answer": "1.1"}


def test_a_version_3_notebook_is_read_like_version_4(read):
    cells = [
        {"cell_type": "heading", "level": 1, "source": "Title"},
        {"cell_type": "code", "input": ["x = 1\n", "y = 2"], "outputs": []},
    ]
    found = read({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}).cells
    assert [(cell.kind, cell.source, cell.id, cell.marks) for cell in found] == [
        ("markdown", "Title", "", {}),
        ("code", "x = 1\ny = 2", "", {}),
    ]


def test_a_byte_order_mark_is_read_over_and_remarked_on(read):
    found = read(b"\xef\xbb\xbf" + json.dumps(notebook(code("x = 'é'"))).encode())
    assert found.cells[0].source == "x = 'é'"
    assert found.remarks == ("it starts with a byte-order mark.",)


def test_duplicate_ids_are_kept_and_remarked_on(read):
    found = read(notebook(code("x = 1", id="q1"), code("x = 2", id="q1")))
    assert [cell.source for cell in found.cells] == ["x = 1", "x = 2"]
    assert found.remarks == ("the cell id 'q1' occurs 2 times.",)


def test_another_kernel_is_remarked_on_and_an_unknown_python_kernel_is_not(read):
    kernels = [{"name": "ir", "language": "R"}, {"name": "my-env", "display_name": "Mine"}]
    remarks = [read(notebook(metadata={"kernelspec": kernel})).remarks for kernel in kernels]
    assert remarks == [("its kernel is for 'R'; it was run as Python.",), ()]


def test_a_lone_surrogate_cannot_reach_a_report(read):
    (cell,) = read(b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "\\ud800"}]}').cells
    assert cell.source.encode() == b"?"


SCRIPT = """# ---
# jupyter: python
# ---

# %% [markdown] written="1.7"
# My answer,
#
# in two lines.

# %% answer="1.1" nbgrader={"grade_id": "q1-1-code", "points": 1}
def f(x):
    return x  # %% not a marker

# %%
y = 1
"""


def test_a_percent_script_is_split_at_its_markers(read):
    words, answer, rest = read(SCRIPT, "01_copying.py").cells
    assert (words.kind, words.source) == ("markdown", "My answer,\n\nin two lines.")
    assert words.marks == {"written": "1.7"}
    assert answer.source == "def f(x):\n    return x  # %% not a marker"
    assert (answer.id, answer.marks) == ("q1-1-code", {"answer": "1.1"})
    assert rest.source == "y = 1"


def test_a_script_without_markers_is_one_code_cell(read):
    (cell,) = read("def f(x):\r\n    return x\r\n", "a.py").cells
    assert (cell.kind, cell.source) == ("code", "def f(x):\n    return x\n")


def test_code_before_the_first_marker_is_not_taken_for_a_header(read):
    cells = read("x = 1\n# %%\ny = 2\n", "a.py").cells
    assert [cell.source for cell in cells] == ["x = 1\n", "y = 2"]


WHOLE = json.dumps(notebook(code("x = 1"), code("y = 'two'")))
BAD = {
    "empty": (b"", "it is empty."),
    "blank": (b" \n\n", "it is empty."),
    "cut in the middle": (WHOLE[:60], "its JSON breaks off (line 1, column 61)."),
    "cut inside a string": (WHOLE[: WHOLE.index("two") + 1], "its JSON breaks off"),
    "not JSON": ("<html></html>", "it is not valid JSON (line 1, column 1)."),
    "Latin-1": (b'{"x":\n "\xe9"}', "it is not UTF-8 text (byte 0xe9 in line 2)."),
    "UTF-16": ("{}".encode("utf-16"), "it is UTF-16 text; save it as UTF-8."),
    "version 5": ({"nbformat": 5, "cells": []}, "its format, version 5, is newer than"),
    "version 2": ({"nbformat": 2, "cells": []}, "its format, version 2, is older than"),
    "version is text": ({"nbformat": "4", "cells": []}, "it is JSON, but not a notebook."),
    "a list": ("[1, 2]", "it is JSON, but not a notebook."),
    "no cells": ({"nbformat": 4}, "it has no list of cells."),
    "cells are a dictionary": ({"nbformat": 4, "cells": {}}, "it has no list of cells."),
    "version 3 without sheets": ({"nbformat": 3, "worksheets": 1}, "it has no list of worksheets."),
    "a cell is a number": (notebook(7), "its cell 1 has no readable text or type."),
    "an unknown cell type": (notebook(code("", cell_type="x")), "its cell 1 has no readable"),
    "a source of numbers": (notebook(code([1])), "its cell 1 has no readable"),
    "a cell type of lists": (notebook(code("", cell_type=[])), "its cell 1 has no readable"),
    "deep nesting": ("[" * 200_000, "its JSON is nested too deeply to be a notebook."),
    "a huge number": ('{"nbformat": ' + "9" * 5_000 + "}", "it is not valid JSON (a number has"),
    "too many cells": (notebook(*[code("")] * 2_001), "it has 2,001 cells;"),
    "too much code": (
        notebook(*[code("#" * (reading.MAX_CODE // 2))] * 3),
        "it has over 300,000 letters",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_clear_sentence(read, name):
    content, sentence = BAD[name]
    with pytest.raises(UnreadableFile) as caught:
        read(content)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_a_file_over_the_size_limit_is_refused_unread(read, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 1 << 20)
    with pytest.raises(UnreadableFile, match=r"it is larger than 1 MB\."):
        read(b" " * (2 << 20))


def test_links_folders_pipes_and_absent_files_are_refused(tmp_path):
    (tmp_path / "secret.ipynb").write_text(WHOLE)
    (tmp_path / "link.ipynb").symlink_to("secret.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    reasons = {
        "link": "it is a link, not a file.",
        "folder": "it is not a regular file.",
        "pipe": "it is not a regular file.",
        "absent": "it cannot be opened (No such file or directory).",
    }
    for name, sentence in reasons.items():
        with pytest.raises(UnreadableFile) as caught:
            read_submission(tmp_path / f"{name}.ipynb")
        assert str(caught.value) == sentence


def test_file_names_may_have_spaces_quotes_and_any_letters(read):
    assert read(WHOLE, 'it\'s "ünï" 01 copy (2).ipynb').cells[0].source == "x = 1"


LINES = 1_990
SLOW = {
    "long words": "# %% " + "a" * 1_990,
    "keys without end": "# %% " + "answer=[" * 240,
    "lists in lists": "# %% " + 'a=["a=[",' * 200,
    "blanks": "# %% x\n#" + " " * 1_990,
}


@pytest.mark.parametrize("name", SLOW)
def test_no_marker_of_a_script_keeps_its_reader_busy(read, name):
    start = time.process_time()
    with contextlib.suppress(UnreadableFile):
        read(f"{SLOW[name]}\n" * LINES, "01_copying.py")
    assert time.process_time() - start < 1.5


def test_metadata_of_any_depth_is_read_over(read):
    deep = json.loads("[" * 900 + "]" * 900)
    cell = code("x = 1", metadata={"answer": deep, "nbgrader": deep}, id=deep)
    found = read(notebook(cell, metadata={"kernelspec": {"language": deep}}))
    assert found.remarks == () and found.cells[0].marks == {}
    with pytest.raises(UnreadableFile, match="cell 1 has no readable"):
        read(notebook(code("", cell_type=deep)))


def test_remarks_on_a_file_are_few(read):
    found = read(notebook(*[code("", id=f"{number // 2}") for number in range(2_000)]))
    assert len(found.remarks) == reading.MAX_REMARKS
