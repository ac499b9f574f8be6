"""A cell that makes chains and raises becomes a verdict, and the cells after it run."""

import ast

import nbclient
import nbformat
import pytest
import sympy as sp

from attn_course.cell_errors import Guard
from attn_course.derivation import failed_chains

SET_UP = """
import math
import sympy as sp
from attn_course import check, derive
x = sp.Symbol("x", positive=True)
total = 1 / (1 + x) + 1 / (1 - x)
"""
RAISING = """
first = derive((x + x, ""), (2 * x, ""))
one_fraction = derive(
    (total, "given"),
    (math.exp(x), "a line that Python cannot run"),
)
later = derive((x, ""), (x + 0, ""))
one_fraction
"""
CHECK = 'print(check("0.2", one_fraction), first.fault, later.fault)'
SHOWN = 'derive((total, ""), (undefined_name, ""))'


@pytest.fixture(scope="module")
def executed():
    cells = map(nbformat.v4.new_code_cell, (SET_UP, RAISING, CHECK, SHOWN, "print('the end')"))
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    nbclient.NotebookClient(notebook, timeout=120).execute()
    return [cell["outputs"] for cell in notebook.cells]


def test_a_cell_whose_line_raises_shows_the_line_and_what_to_do(executed):
    (shown,) = executed[1]
    text = shown["data"]["text/markdown"]
    assert text.startswith("Line 4 of the cell cannot be evaluated: `TypeError")
    assert "write sp.exp" in text


def test_its_chain_gets_a_verdict_and_those_around_it_are_told_apart(executed):
    text = executed[2][0]["text"]
    assert "0.2 not yet" in text and "line 4 of the cell cannot be evaluated" in text
    assert "None" in text and "line 4 of the cell stopped the cell before this chain" in text


def test_a_chain_that_is_shown_without_a_name_stops_nothing_either(executed):
    assert "NameError" in executed[3][0]["data"]["text/markdown"]
    assert executed[4][0]["text"] == "the end\n"


@pytest.mark.parametrize("line", ["2 / (1 - x^2)", "sp.cos(x^y)", "x * (y^2) ** x"])
def test_a_power_written_with_a_caret_is_told_the_spelling_of_python(line):
    space = {"sp": sp, "x": sp.Symbol("x"), "y": sp.Symbol("y")}
    with pytest.raises((TypeError, AttributeError)) as raised:
        exec(line, space)
    (chain,) = failed_chains(raised.value, {"chain": (1, 99_999)}).values()
    assert "write ** for powers" in str(chain.fault)


@pytest.mark.parametrize("source", ["", "x = 1", "1 / 0", "def derive(): pass", "a = derive"])
def test_a_cell_without_a_chain_is_left_as_it_is(source):
    tree = ast.parse(source)
    assert ast.dump(Guard().visit(ast.parse(source))) == ast.dump(tree)
