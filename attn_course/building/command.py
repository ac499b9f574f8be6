"""`attn build` and `attn site` on the command line."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from attn_course.building import build as building
from attn_course.building.site import make_site
from attn_course.errors import UserError


def build(argv: Sequence[str]) -> int:
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
        for name, is_written in building.build(root, options.numbers, options.force):
            what = "written" if is_written else "unchanged"
            print(f"{name:28} {what}", flush=True)
    except UserError as error:
        print(f"attn build: {error}", file=sys.stderr)
        return 1
    return 0


def _check(root: Path, numbers: Sequence[str]) -> int:
    """Print every problem, or that there is none; 0 where there is none."""
    found = building.problems(root, numbers)
    for problem in found:
        print(f"attn build --check: {problem}", file=sys.stderr)

    if found:
        return 1
    count = len(building.sources(root, numbers))
    print(f"attn build --check: {count} notebooks are as built.")
    return 0


def site(argv: Sequence[str]) -> int:
    """Make the pages of the site from the stored solutions."""
    parser = argparse.ArgumentParser(prog="attn site", description=site.__doc__)
    parser.add_argument("--book", required=True, help="the command jupyter-book, version 1")
    parser.add_argument("--out", default="build/site", help="folder of the site, build/site")

    options = parser.parse_args(argv)
    out = Path(options.out).absolute()
    book = Path(options.book).absolute()
    try:
        make_site(building.root_of_project(), out, book)
    except UserError as error:
        print(f"attn site: {error}", file=sys.stderr)
        return 1
    print(f"attn site: {len(list(out.glob('*.html')))} pages in {options.out}.")
    return 0
