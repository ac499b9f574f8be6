"""The notation tables of the notebooks, made from the one table in docs/notation.md."""

import re
from dataclasses import dataclass
from pathlib import Path

from attn_course.errors import UserError

HEADER = "| symbol | meaning | shape | in code |"
RULE = "|---|---|---|---|"
MARK = "<!-- notation -->"  # in a source; the table is written below it, over the one that stands there
PLACE = re.compile(rf"^{MARK}(?:\n\|.*)*$", re.M)


@dataclass(frozen=True)
class Symbol:
    """One row of the course's table."""

    symbol: str  # as it is typeset, "$a$, $b$"
    meaning: str
    shape: str
    in_code: str
    notebooks: tuple[str, ...]  # their numbers, "01"


def read_symbols(path: Path) -> list[Symbol]:
    """The rows of the table in docs/notation.md."""
    symbols = []
    for cells in rows_below(path.read_text("utf-8"), f"{HEADER} notebooks |"):
        symbol, meaning, shape, in_code, notebooks = cells
        symbols.append(Symbol(symbol, meaning, shape, in_code, tuple(notebooks.split(", "))))
    if not symbols:
        raise UserError(f"{path} has no table of symbols.")
    return symbols


def rows_below(text: str, header: str) -> list[list[str]]:
    """The cells of each row of the Markdown table with this header."""
    _, _, below = text.partition(f"{header}\n")
    rows = []
    for line in below.splitlines()[1:]:  # the first one is the rule
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
    return rows


def table_of(symbols: list[Symbol], notebook: str) -> str:
    """The table of one notebook, as "01_copying"."""
    number = notebook[:2]
    lines = [HEADER, RULE]
    for row in symbols:
        if number in row.notebooks:
            lines.append(f"| {row.symbol} | {row.meaning} | {row.shape} | {row.in_code} |")
    return "\n".join(lines)


def write_table(text: str, notebook: str, path: Path) -> str:
    """`text` with the table of `notebook` below the mark, made from the file at `path`; or as it is."""
    if MARK not in text:
        return text
    table = table_of(read_symbols(path), notebook)
    return PLACE.sub(lambda _: f"{MARK}\n{table}", text)
