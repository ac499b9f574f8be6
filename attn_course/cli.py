"""The `attn` command: names the tools of the course and hands over to the room that has them."""

import sys

COMMANDS = {
    "build": ("attn_course.building.command:build", "make the notebooks from solutions/NN_name.py"),
    "check": ("attn_course.grading.command:check", "judge every answer of a notebook at once"),
    "grade": ("attn_course.grading.command:grade", "grade a folder of submissions"),
    "diff": ("attn_course.grading.command:diff", "show answers beside the solution's"),
    "release": ("attn_course.grading.command:release", "pack the student edition"),
    "translate": ("attn_course.translation.command:main", "train, score or use a translator"),
}


def main(argv=None):
    """Run `attn COMMAND ...` and return its exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: attn COMMAND ...\n")
        for name, (_, text) in COMMANDS.items():
            print(f"  {name:10} {text}")
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        print(f"attn: there is no command {argv[0]!r}; see attn --help.", file=sys.stderr)
        return 2
    try:
        return _load(COMMANDS[argv[0]][0])(argv[1:])
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return 130


def _load(where):
    from importlib import import_module

    module, _, function = where.partition(":")
    return getattr(import_module(module), function)
