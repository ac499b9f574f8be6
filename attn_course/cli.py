"""The `attn` command: names the tools and hands over to the room that has them."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {  # name: (where it is, what it does)
    "lab": ("attn_course.lab:main", "open JupyterLab on the first notebook"),
    "check": ("attn_course.grading.self_check:check", "judge a notebook, or all of this folder"),
    "build": ("attn_course.building.command:build", "make the notebooks from solutions/NN_name.py"),
    "grade": ("attn_course.grading.command:grade", "grade a folder of submissions"),
    "diff": ("attn_course.grading.command:diff", "show answers beside the solution's"),
    "gradescope": ("attn_course.grading.command:gradescope", "pack an autograder for Gradescope"),
    "release": ("attn_course.grading.command:release", "pack the student edition"),
    "site": ("attn_course.building.command:site", "make the pages of the site"),
    "translate": ("attn_course.translation.command:main", "train, score or use a translator"),
}
FORKING = ("check", "grade")  # commands that start processes as Windows cannot
STOPPED = 130  # exit status after Ctrl-C, as a shell has it
NOBODY_READS = 141  # and after a reader such as head has gone away


def main(argv: Sequence[str] | None = None) -> int:
    """Run `attn COMMAND ...` and return its exit status."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _run(given)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # or Python complains once more as it ends
        return NOBODY_READS
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return STOPPED


def _run(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        _help()
        return 0 if argv else 2
    name, *rest = argv
    if name not in COMMANDS:
        print(f"attn: there is no command {name!r}; see attn --help.", file=sys.stderr)
        return 2
    where, _ = COMMANDS[name]
    module, _, function = where.partition(":")
    if name in FORKING and not hasattr(os, "fork"):
        print(
            f"attn {name}: this needs Linux or macOS; in a notebook, run all cells instead.",
            file=sys.stderr,
        )
        return 2
    try:
        room = import_module(module)
    except ModuleNotFoundError as error:
        print(f"attn {name}: {error.name} is not installed here.", file=sys.stderr)
        return 2
    return getattr(room, function)(rest)


def _help() -> None:
    print("usage: attn COMMAND ...\n")
    for name, (_, text) in COMMANDS.items():
        print(f"  {name:10} {text}")


if __name__ == "__main__":
    sys.exit(main())
