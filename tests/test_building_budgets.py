"""Notebooks 00-06 stay within their budget: words of a text, lines of code, code cells in a row.

The number of cells is no test: a valid new question adds some.
"""

import re

import pytest
from course import SOURCES

from attn_course.building.cells import solution_notebook

MOST_WORDS = 120  # of a markdown cell; a table is no prose
MOST_LINES = 25  # of a code cell
MOST_IN_A_ROW = 3


def words_of(text):
    """The number of words of a markdown cell; a formula is one word, tables and comments are none."""
    text = re.sub(r"<!--.*?-->", "", text)
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    prose = re.sub(r"\$\$.*?\$\$|\$.*?\$", " x ", "\n".join(lines), flags=re.S)
    return len(re.findall(r"\w+", prose))


def lines_of(code):
    """The number of lines that are neither empty nor a comment."""
    lines = [line.strip() for line in code.splitlines()]
    return len([line for line in lines if line and not line.startswith("#")])


def longest_run_of_code(cells):
    """How many code cells follow each other without a word between them."""
    run = longest = 0
    for cell in cells:
        run = run + 1 if cell.cell_type == "code" else 0
        longest = max(longest, run)
    return longest


def excess(cells):
    """What is over the budget, a sentence each."""
    found = []
    for cell in cells:
        opening = cell.source[:40]
        if cell.cell_type == "markdown" and words_of(cell.source) > MOST_WORDS:
            found.append(f"{words_of(cell.source)} words: {opening!r}")
        if cell.cell_type == "code" and lines_of(cell.source) > MOST_LINES:
            found.append(f"{lines_of(cell.source)} lines: {opening!r}")
    if longest_run_of_code(cells) > MOST_IN_A_ROW:
        found.append(f"{longest_run_of_code(cells)} code cells in a row")
    return found


def test_a_formula_is_one_word_and_a_table_none():
    assert words_of("two words $x + y$\n\n| a | table |\n<!-- a remark -->") == 3


@pytest.mark.parametrize(
    "source", [path for path in SOURCES if path.name < "07"], ids=lambda path: path.stem
)
def test_a_notebook_stays_within_its_budget(source):
    assert excess(solution_notebook(source).cells) == []
