"""`attn build` and `attn site`: their options."""

from pathlib import Path

import click

from attn_course.command_line import ATTENTION, DONE, SETTINGS, Command, log


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("numbers", nargs=-1, metavar="[NN]...")
@click.option("--check", is_flag=True, help="Execute nothing; exit 1 if a file is not as built.")
@click.option("--force", is_flag=True, help="Execute again what did not change.")
def build(numbers: tuple[str, ...], check: bool, force: bool) -> int:
    """Make the notebooks from solutions/NN_name.py.

    NN are the notebooks to build, such as 01; without one all are built.
    """
    from attn_course.building import build as building

    root = building.root_of_project()
    if not check:
        for name, is_written in building.build(root, numbers, force):
            log.info(f"{name:28} {'written' if is_written else 'unchanged'}")
        return DONE
    found = building.problems(root, numbers)
    for problem in found:
        click.echo(f"attn build --check: {problem}", err=True)
    if found:
        return ATTENTION
    count = len(building.sources(root, numbers))
    log.info(f"attn build --check: {count} notebooks are as built.")
    return DONE


@click.command(cls=Command, context_settings=SETTINGS)
@click.option("--book", required=True, metavar="FILE", help="The command jupyter-book, version 1.")
@click.option("--out", default="build/site", show_default=True, help="Folder of the site.")
def site(book: str, out: str) -> None:
    """Make the pages of the site from the stored solutions."""
    from attn_course.building.build import root_of_project
    from attn_course.building.site import make_site

    folder = Path(out).absolute()
    make_site(root_of_project(), folder, Path(book).absolute())
    log.info(f"attn site: {len(list(folder.glob('*.html')))} pages in {out}.")
