"""Tables that people open in a spreadsheet, safely written and carefully read."""

import csv
import io
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attn_course.errors import UserError

# A spreadsheet would run a cell that begins so; some read the wide forms as the narrow ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


# Where a cell begins, also for a reader who takes semicolons or tabs for what separates cells.
BEGIN = r"(?:\A|(?<=[;\t\r\n]))"
UNGUARDED = re.compile(rf"{BEGIN}(?='*[{re.escape(''.join(FORMULA))}])")
GUARDED = re.compile(rf"{BEGIN}'(?='*[{re.escape(''.join(FORMULA))}])")


def guarded(text: str) -> str:
    """Return `text` so that no spreadsheet takes it for a formula; `unguarded` takes it back.

    Text with quotes in front of a formula is guarded, too, so that no two texts are guarded alike.
    """
    return UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """Return the text from which `guarded` made this one."""
    return GUARDED.sub("", text)


def number(value: float | None) -> str:
    """Return points for a table, exact; blank where there are none, which is not zero."""
    return "" if value is None else f"{value:.12g}"


def two_decimals(value: float | None) -> str:
    """Return points as people read them, with two decimals and no closing zero: 2.5, 1.67, 3, – for none."""
    if value is None:
        return "–"
    return f"{value:.2f}".rstrip("0").rstrip(".")


def csv_text(rows: Sequence[Mapping[str, str]], columns: Iterable[str] = ()) -> str:
    """Return rows by their columns as the text of a CSV file; columns: needed where there may be no row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns or rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_rows(
    path: Path,
    needed: Collection[str],
    columns: Sequence[str] = (),
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (file and line, row) for each line; raise UserError where the file is no such table.

    Cells are separated by commas, semicolons or tabs, whichever the first line has most of.
    columns: those of a file whose first line names none of them.
    """
    text = _text(path)
    first_line, *_ = text.splitlines() or [""]
    separator = max(",;\t", key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        first = next(reader, [])
        names = [cell.strip().lower() for cell in first]
        if columns and not set(names) & set(columns):
            names = list(columns)
            yield f"{path.name}, line 1", _row(names, first)
        elif not set(names).issuperset(needed):
            raise UserError(
                f"{path.name} needs the column{'' if len(needed) == 1 else 's'} {', '.join(needed)}; "
                f"its first line has {', '.join(filter(None, names)) or 'none'}."
            )
        for cells in reader:
            if cells:
                yield f"{path.name}, line {reader.line_num}", _row(names, cells)
    except csv.Error as error:
        raise UserError(f"{path} is not a table of cells and lines ({error}).") from None


def _row(names, cells):
    """Return a row by its columns; cells beyond the last are left out, and missing ones are empty."""
    padded = itertools.chain(cells, itertools.repeat(""))
    return {name: cell.strip() for name, cell in zip(names, padded, strict=False) if name}


def _text(path):
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError:
        raise UserError(f"{path} cannot be read (it is not UTF-8 text).") from None
