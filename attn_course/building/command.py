"""`attn build` on the command line; knows how to report, not how to build."""

import argparse
import sys

from attn_course.building import build as building


def build(argv):
    """Make the notebooks, or with --check say what is not as it should be."""
    parser = argparse.ArgumentParser(prog="attn build", description=build.__doc__)
    parser.add_argument("numbers", nargs="*", metavar="NN", help="notebooks to build; all if none")
    parser.add_argument("--check", action="store_true", help="execute nothing, fail on any drift")
    parser.add_argument("--force", action="store_true", help="execute again what did not change")
    options = parser.parse_args(argv)
    try:
        root = building.root_of_project()
        if options.check:
            return _check(root, options.numbers)
        for name, written in building.build(root, options.numbers, options.force):
            print(f"{name:28} {'written' if written else 'unchanged'}", flush=True)
    except building.BuildError as error:
        print(f"attn build: {error}", file=sys.stderr)
        return 1
    return 0


def _check(root, numbers):
    found = building.problems(root, numbers)
    for problem in found:
        print(f"attn build --check: {problem}", file=sys.stderr)
    if not found:
        print(f"attn build --check: {len(building.sources(root, numbers))} notebooks are as built.")
    return 1 if found else 0
