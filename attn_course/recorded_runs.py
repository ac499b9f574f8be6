"""Read and write recorded results: the files in attn_course/runs, made by `python -m attn_course.runs`."""

import json
from pathlib import Path
from typing import Any

from attn_course.atomic_file import write_atomically
from attn_course.errors import UserError

FOLDER = Path(__file__).parent / "runs"
LONGEST_LINE = 120  # of a list of texts; a list of numbers is always one line


def read(name: str) -> dict[str, Any]:
    """Return the content of attn_course/runs/NAME.json."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise UserError(f"there is no recorded run attn_course/runs/{path.name}.")
    return read_json(path)


def read_json(path: Path) -> Any:
    """Return what `write_json` wrote."""
    return json.loads(path.read_text("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write plain data, one item on each line."""
    write_atomically(path, _indented(value) + "\n")


def _indented(value, margin="\n"):
    """Return JSON with one item on each line; lists of numbers and short lists of texts take one line."""
    inner = margin + " "
    if isinstance(value, dict) and value:
        items = [
            f"{json.dumps(str(k), ensure_ascii=False)}: {_indented(v, inner)}"
            for k, v in value.items()
        ]
        return "{" + inner + ("," + inner).join(items) + margin + "}"
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (list, tuple)) or all(
        isinstance(item, (int, float)) for item in value
    ):
        return line
    if len(line) <= LONGEST_LINE and not any(
        isinstance(item, (dict, list, tuple)) for item in value
    ):
        return line
    items = [_indented(item, inner) for item in value]
    return "[" + inner + ("," + inner).join(items) + margin + "]"
