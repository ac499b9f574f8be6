"""The notation tables of the notebooks, made from the one table in docs/notation.md.

New letters stand first; those that an earlier notebook has explained are folded below them.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from attn_course.errors import UserError

HEADER = "| symbol | meaning | shape | in code |"
RULE = "|---|---|---|---|"
MARK = (
    "<!-- notation -->"  # in a source; the tables are written below it, over those that stand there
)
SUMMARY = "<details><summary>Known from earlier notebooks</summary>"
TABLE = r"(?:^\|[^\n]*\n)+"
# A table by hand may stand above the mark, with letters that the notebook explains in its own words.
PLACE = re.compile(
    rf"(?P<own>{TABLE}\n)?^{MARK}(?:\n\|[^\n]*)*(?:\n\n{SUMMARY}.*?</details>)?", re.M | re.S
)
LETTER = re.compile(r"\\?[A-Za-z]+")


@dataclass(frozen=True)
class Symbol:
    """One row of the course's table."""

    symbol: str  # as it is typeset, "$a$, $b$"
    meaning: str
    shape: str
    in_code: str
    notebooks: tuple[str, ...]  # their numbers, "01"


def read_symbols(path: Path) -> list[Symbol]:
    """Return the rows of the table in docs/notation.md."""
    symbols = []
    for cells in rows_below(path.read_text("utf-8"), f"{HEADER} notebooks |"):
        symbol, meaning, shape, in_code, notebooks = cells
        symbols.append(Symbol(symbol, meaning, shape, in_code, tuple(notebooks.split(", "))))
    if not symbols:
        raise UserError(f"{path} has no table of symbols.")
    return symbols


def rows_below(text: str, header: str) -> list[list[str]]:
    """Return the cells of each row of all Markdown tables with this header."""
    rows = []
    for below in text.split(f"{header}\n")[1:]:
        for line in below.splitlines()[1:]:  # the first one is the rule
            if not line.startswith("|"):
                break
            rows.append(_cells(line))
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def letters_in(cell: str) -> list[str]:
    """Return the letters that a cell of symbols introduces: a, b of "$a$, $b_i = ...$"; no indices."""
    letters = []
    for formula in re.findall(r"\$([^$]+)\$", cell):
        for symbol in formula.partition("=")[0].split(","):
            match = LETTER.search(symbol)
            if match:
                letters.append(match[0] if match[0].startswith("\\") else match[0][0])
    return list(dict.fromkeys(letters))


def tables_of(symbols: list[Symbol], notebook: str, explained: set[str]) -> str:
    """Return the table of new letters of a notebook ("01_copying") and below it that of known ones, folded.

    explained: the letters that the notebook explains itself.
    """
    number = notebook[:2]
    used = [row for row in symbols if number in row.notebooks]
    used = [row for row in used if not set(letters_in(row.symbol)) <= explained]
    new = [row for row in used if min(row.notebooks) == number]
    known = [row for row in used if min(row.notebooks) < number]
    text = f"\n{_table(new)}" if new else ""
    if known:
        text += f"\n\n{SUMMARY}\n\n{_table(known)}\n\n</details>"
    return text


def _table(symbols: list[Symbol]) -> str:
    lines = [HEADER, RULE]
    for row in symbols:
        lines.append(f"| {row.symbol} | {row.meaning} | {row.shape} | {row.in_code} |")
    return "\n".join(lines)


def write_tables(text: str, notebook: str, path: Path) -> str:
    """Return `text` with the tables of `notebook`, made from the file at `path`, if it has their mark."""
    if MARK not in text:
        return text
    symbols = read_symbols(path)

    def with_tables(match: re.Match[str]) -> str:
        own = match["own"] or ""
        explained = {letter for line in own.splitlines() for letter in letters_in(_cells(line)[0])}
        return f"{own}{MARK}{tables_of(symbols, notebook, explained)}"

    return PLACE.sub(with_tables, text)
