"""The options of `attn grade`."""

import argparse
from collections.abc import Callable
from pathlib import Path

EXPORTS = ("canvas", "moodle", "gradescope")


def grade_options(argv: list[str], description: str | None) -> argparse.Namespace:
    """Return the options; argparse ends the program where they make no sense."""
    parser = argparse.ArgumentParser(prog="attn grade", description=description)
    add = parser.add_argument
    add("submissions", type=Path, help="holds <student>/NN_name.ipynb, or nbgrader's submitted/")
    add("--out", type=Path, required=True, help="folder for gradebook, feedback and pages")
    add(
        "--notebooks",
        nargs="+",
        metavar="NN",
        default=[],
        help="these; else all handed in by anyone",
    )
    add(
        "--written",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="CSV",
        help="points given by a person: one file or several",
    )
    add("--roster", type=Path, help="names, ids, due dates, penalties; all in it get a row (CSV)")
    add("--export", action="append", default=[], choices=EXPORTS, help="write OUT/<name>.csv too")
    add("--anonymous", action="store_true", help="no names on the pages of written answers")
    add("--regrade", nargs="*", metavar="QUESTION", help="run again: the files of these, or all")
    add("--jobs", type=_positive(int), default=2, help="how many at once (2)")
    add(
        "--dask",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="on the workers of this Dask scheduler, or of one started here with --jobs workers",
    )
    add("--timeout", type=_positive(float), default=120.0, help="seconds a submission has (120)")
    add("--memory", type=_positive(int), default=2048, help="megabytes a submission has (2048)")
    add("--all-cells", action="store_true", help="run figures and training too")
    add("--no-sandbox", action="store_true", help="run submissions unprotected, and say so")
    add("--seed", type=_positive(int, 1 << 128), help="repeat a batch; by default fresh and secret")
    return parser.parse_args(argv)


def _positive(kind: Callable[[str], float], most: int = 1 << 32) -> Callable[[str], float]:
    def number(text: str) -> float:
        found = kind(text)
        if not 0 < found < most:
            raise argparse.ArgumentTypeError(f"{text} is not above 0 and below {most:g}")
        return found

    return number
