"""One table of symbols for the whole course: a letter has one meaning, in every notebook's table too."""

import re
from collections import Counter
from pathlib import Path

import pytest
from course import ROOT, SOURCES

from attn_course.building import notation
from attn_course.building.cells import solution_notebook
from attn_course.errors import UserError

PAGE = ROOT / "docs" / "notation.md"
SYMBOLS = notation.read_symbols(PAGE)
OTHER = notation.rows_below(PAGE.read_text("utf-8"), "| symbol | meaning there | notebook |")
LETTER = re.compile(r"\\?[A-Za-z]+")


def letters_in(cell):
    """The letters that a cell of symbols introduces: a, b of "$a$, $b_i = ...$"; no indices."""
    found = []
    for formula in re.findall(r"\$([^$]+)\$", cell):
        for symbol in formula.partition("=")[0].split(","):
            first = LETTER.search(symbol)[0]
            found.append(first if first.startswith("\\") else first[0])
    return list(dict.fromkeys(found))


def test_the_letter_of_a_symbol_is_found_behind_indices_and_definitions():
    assert letters_in(r"$s_i = k_i^\top q$, $\alpha_i$") == ["s", r"\alpha"]
    assert letters_in("$A_i, b_1$") == ["A", "b"]
    assert letters_in("$e(p)$") == ["e"]


def meanings():
    """[(letter, meaning)] of the whole course."""
    return [(letter, row.meaning) for row in SYMBOLS for letter in letters_in(row.symbol)]


def test_no_letter_has_two_meanings():
    counts = Counter(letter for letter, _ in meanings())
    assert [letter for letter, count in counts.items() if count > 1] == []


def test_every_symbol_of_every_notebook_is_in_the_table_of_the_course():
    known = {}
    for row in SYMBOLS:
        for number in row.notebooks:
            known.setdefault(number, set()).update(letters_in(row.symbol))
    for symbol, _, number in OTHER:
        known.setdefault(number, set()).update(letters_in(symbol))
    for source in SOURCES:
        number = source.name[:2]
        text = "\n".join(cell.source for cell in solution_notebook(source).cells)
        for header in (notation.HEADER, "| letter | meaning | here |"):
            for cells in notation.rows_below(text, header):
                missing = set(letters_in(cells[0])) - known.get(number, set())
                assert not missing, f"{source.name}: docs/notation.md does not list {missing}"


def test_the_numpy_notebooks_use_no_letter_in_another_way():
    assert not [row for row in OTHER if row[2] < "06"]


@pytest.mark.parametrize("source", [path for path in SOURCES if "01" <= path.name[:2] <= "05"])
def test_the_table_of_a_notebook_is_made_from_that_of_the_course(source):
    cells = [cell.source for cell in solution_notebook(source).cells]
    (cell,) = [cell for cell in cells if notation.MARK in cell]
    assert notation.table_of(SYMBOLS, source.stem) in cell


def test_a_table_is_written_over_the_one_that_stands_there():
    text = f"## Notation\n\n{notation.MARK}\n| old | table |\n|---|---|\n\nAfter."
    once = notation.write_table(text, "01_copying", PAGE)
    assert "old" not in once and once.endswith("|\n\nAfter.")
    assert notation.write_table(once, "01_copying", PAGE) == once


def test_a_text_without_the_mark_stays_as_it_is_and_needs_no_page():
    assert notation.write_table("| a |\n", "01_copying", Path("nowhere.md")) == "| a |\n"


def test_a_page_without_a_table_is_told_in_a_sentence(tmp_path):
    page = tmp_path / "notation.md"
    page.write_text("nothing")
    with pytest.raises(UserError, match="has no table of symbols"):
        notation.write_table(notation.MARK, "01_copying", page)
