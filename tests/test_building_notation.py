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
HEADERS = (notation.HEADER, "| letter | meaning | here |")  # of the tables in the notebooks
SMALL = set("the and one all for its are how many number each which that with".split())


def test_the_letter_of_a_symbol_is_found_behind_indices_and_definitions():
    assert notation.letters_in(r"$s_i = k_i^\top q$, $\alpha_i$") == ["s", r"\alpha"]
    assert notation.letters_in("$A_i, b_1$") == ["A", "b"]
    assert notation.letters_in("$e(p)$") == ["e"]


def meanings():
    """[(letter, meaning)] of the whole course."""
    return [(letter, row.meaning) for row in SYMBOLS for letter in notation.letters_in(row.symbol)]


def test_no_letter_has_two_meanings():
    counts = Counter(letter for letter, _ in meanings())
    assert [letter for letter, count in counts.items() if count > 1] == []


def words_in(meaning):
    """The stems of the words that carry a meaning: query and queries are one; no formulas, no small words."""
    text = re.sub(r"\$[^$]*\$", " ", meaning.lower())
    words = re.findall(r"[a-z]{3,}", text)
    return {word.removesuffix("s")[:4] for word in words if word.removesuffix("s") not in SMALL}


def tables_of(source):
    """[(symbols, meaning)] of the tables in a notebook, whoever wrote them."""
    text = "\n".join(cell.source for cell in solution_notebook(source).cells)
    rows = []
    for header in HEADERS:
        rows += [(cells[0], cells[1]) for cells in notation.rows_below(text, header)]
    return rows


def letters_with_two_meanings(notebook, rows):
    """The letters of a notebook's rows that the table of the course explains otherwise, or not for it."""
    number = notebook[:2]
    course = {}
    for row in SYMBOLS:
        for letter in notation.letters_in(row.symbol):
            course[letter] = row

    found = []
    for symbols, meaning in rows:
        for letter in notation.letters_in(symbols):
            row = course.get(letter)
            is_listed = row is not None and number in row.notebooks
            if not is_listed or not words_in(meaning) & words_in(row.meaning):
                found.append(letter)
    return found


@pytest.mark.parametrize(
    ("symbols", "meaning", "found"),
    [
        ("$w$", "a value of the weight of $a$", []),
        ("$w$", "the width of a window", ["w"]),
        ("$m$, $n$", "the positions of a query and of a key", ["m"]),  # n shares a word
        ("$B_i$", "the second map of head $i$", ["B"]),
    ],
)
def test_a_letter_with_another_meaning_is_found(symbols, meaning, found):
    assert letters_with_two_meanings("03_one_noisy_head", [(symbols, meaning)]) == found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_letter_of_a_notebook_has_another_meaning_than_in_the_course(source):
    assert letters_with_two_meanings(source.stem, tables_of(source)) == []


def test_the_page_has_no_second_table_for_exceptions():
    assert PAGE.read_text("utf-8").count("\n|---") == 1


def notation_cell(source):
    """The text of the cell with the tables of a notebook, "" if there is none."""
    cells = [cell.source for cell in solution_notebook(source).cells]
    return next((cell for cell in cells if notation.MARK in cell), "")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_new_letters_stand_in_the_open_and_known_ones_are_folded(source):
    made = notation_cell(source).partition(notation.MARK)[2]
    shown, _, folded = made.partition(notation.SUMMARY)
    for symbol in SYMBOLS:
        row = f"| {symbol.symbol} | {symbol.meaning} |"
        assert row not in shown or min(symbol.notebooks) == source.name[:2], symbol
        assert row not in folded or min(symbol.notebooks) < source.name[:2], symbol


@pytest.mark.parametrize("number", "01 02 03 04 05 06 07 09 12 13 14 15 16".split())
def test_the_tables_of_a_notebook_have_every_letter_that_the_page_lists_for_it(number):
    (source,) = [path for path in SOURCES if path.name.startswith(number)]
    letters = {
        letter for symbols, _ in tables_of(source) for letter in notation.letters_in(symbols)
    }
    for row in SYMBOLS:
        if number in row.notebooks:
            assert letters >= set(notation.letters_in(row.symbol)), row


def test_the_notebooks_of_a_letter_are_in_order():
    assert all(list(row.notebooks) == sorted(set(row.notebooks)) for row in SYMBOLS)


def test_a_folded_table_has_blank_lines_around_it_for_markdown():
    (source,) = [path for path in SOURCES if path.name.startswith("04")]
    cell = notation_cell(source)
    assert f"{notation.SUMMARY}\n\n{notation.HEADER}" in cell and "|\n\n</details>" in cell


def test_a_letter_of_a_table_by_hand_is_not_repeated_below_it():
    own = f"{notation.HEADER}\n{notation.RULE}\n| $W_A$ | the first map | | |\n| $L$ | the length | | |\n"
    text = notation.write_tables(f"{own}\n{notation.MARK}\n", "07_synthesizer", PAGE)
    assert text.startswith(own) and text.count("$W") == text.count("$L$") == 1
    shown, _, folded = text.partition(notation.SUMMARY)
    assert "| $X$ |" in shown and "| $T$ |" in folded


@pytest.mark.parametrize("notebook", ["01_copying", "03_one_noisy_head", "04_two_heads"])
def test_tables_are_written_over_those_that_stand_there(notebook):
    text = f"## Notation\n\n{notation.MARK}\n| old | table |\n|---|---|\n\nAfter."
    once = notation.write_tables(text, notebook, PAGE)
    assert "| old" not in once and once.endswith("\n\nAfter.")
    assert notation.write_tables(once, notebook, PAGE) == once


def test_a_text_without_the_mark_stays_as_it_is_and_needs_no_page():
    assert notation.write_tables("| a |\n", "01_copying", Path("nowhere.md")) == "| a |\n"


def test_a_page_without_a_table_is_told_in_a_sentence(tmp_path):
    page = tmp_path / "notation.md"
    page.write_text("nothing")
    with pytest.raises(UserError, match="has no table of symbols"):
        notation.write_tables(notation.MARK, "01_copying", page)
