"""`check` in a notebook: before its answer cell, and after a cell that did not compile."""

import subprocess
import sys
import textwrap

import pytest

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in sys.stdin.read().split("\\n----\\n"):
    result = shell.run_cell(cell, store_history=True)
"""
IMPORTS = "import numpy as np\nfrom attn_course import check, progress, solution, hint"
RIGHT = "def copy_query(keys, j):\n    return 30 * np.linalg.pinv(keys)[:, j]"
CHECK = 'print(check("1.4", copy_query))'


def run_cells(tmp_path, *cells, **environment):
    """What a notebook with these cells prints, run in IPython in a folder of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SHELL],
        input="\n----\n".join(map(textwrap.dedent, cells)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_check_before_its_answer_cell_says_so_and_is_no_error(tmp_path):
    printed = run_cells(tmp_path, IMPORTS, CHECK, "print('goes on')")
    assert "1.4 not attempted" in printed and "NameError" not in printed
    assert "copy_query` is not defined yet; run the cell with your answer first" in printed
    assert printed.rstrip().endswith("goes on")


def test_an_answer_cell_that_does_not_compile_is_named_with_its_line(tmp_path):
    printed = run_cells(tmp_path, IMPORTS, "def copy_query(keys, j):\n    return (", CHECK)
    assert "the cell that defines `copy_query` did not run (SyntaxError in line 2)" in printed


def test_a_verdict_on_the_function_from_before_says_that_it_is(tmp_path):
    broken = "def copy_query(keys, j):\n    return ("
    printed = run_cells(tmp_path, IMPORTS, RIGHT, CHECK, "print('now')", broken, CHECK)
    before, after = printed.split("now")
    assert "did not run" not in before
    assert "1.4 correct" in after
    assert "The cell that defines copy_query did not run (SyntaxError in line 2)" in after
    printed = run_cells(tmp_path, IMPORTS, RIGHT, broken, RIGHT, CHECK)
    assert "did not run" not in printed


def test_other_names_and_builtins_are_handed_over_as_they_are(tmp_path):
    printed = run_cells(
        tmp_path, IMPORTS, 'print(check("0.1", sum))', 'check("0.1", nothing.there)'
    )
    assert "0.1 not yet" in printed
    assert "NameError" in printed


@pytest.mark.parametrize("environment", [{}, {"CI": "1"}])
def test_after_a_correct_verdict_a_student_is_told_of_the_solution(tmp_path, environment):
    printed = run_cells(tmp_path, IMPORTS, RIGHT, CHECK, **environment)
    assert ('solution("1.4") shows the reference' in printed) is not bool(environment)


def test_solution_shows_the_cell_that_was_run_beside_the_reference(tmp_path):
    printed = run_cells(
        tmp_path, IMPORTS, RIGHT, CHECK, 'print(solution("1.4")._repr_html_())', "progress()"
    )
    assert "your answer" in printed and "30 * np.linalg.pinv(keys)[:, j]" in printed
    assert "01_copying" in printed and "1 of 6" in printed
