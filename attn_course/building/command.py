"""`attn build`, `attn site` and `attn playground`: their options."""

import tempfile
import webbrowser
from pathlib import Path

import click

from attn_course.command_line import ATTENTION, DONE, SETTINGS, Command, log
from attn_course.errors import UserError


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
    problems = building.problems(root, numbers)
    for problem in problems:
        click.echo(f"attn build --check: {problem}", err=True)
    if problems:
        return ATTENTION
    count = len(building.sources(root, numbers))
    log.info(f"attn build --check: {count} notebooks are as built.")
    return DONE


@click.command(cls=Command, context_settings=SETTINGS)
@click.option("--python", required=True, metavar="FILE", help="The Python that has Sphinx.")
@click.option("--out", default="build/site", show_default=True, help="Folder of the site.")
@click.option(
    "--pyodide",
    metavar="FOLDER",
    help="An unpacked release of Pyodide to serve; without one, pages load it from its public address.",
)
def site(python: str, out: str, pyodide: str | None) -> None:
    """Make the site from the stored solutions: its pages, and the notebooks that run in a browser."""
    from attn_course.building.build import root_of_project
    from attn_course.building.jupyterlite import make_browser_edition
    from attn_course.building.site import make_site

    root = root_of_project()
    folder = Path(out).absolute()
    program = Path(python).absolute()
    make_site(root, folder, program)
    lite = program.with_name("jupyter-lite")
    make_browser_edition(root, folder / "browser", lite, Path(pyodide) if pyodide else None)
    log.info(f"attn site: {len(list(folder.glob('*.html')))} pages in {out}.")


@click.command(cls=Command, context_settings=SETTINGS)
@click.option(
    "--out", metavar="FOLDER", help="Where to write the page; a temporary folder if not given."
)
@click.option(
    "--open/--no-open", "is_opened", default=True, help="Whether to open it in a browser."
)
def playground(out: str | None, is_opened: bool) -> None:
    """Open the attention playground: the bundled translator, whose attention can be changed."""
    from attn_course.building.playground import write_playground

    folder = Path(out or tempfile.mkdtemp(prefix="attn-playground-")).absolute()
    try:
        write_playground(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({type(error).__name__}).") from None
    page = folder / "index.html"
    click.echo(f"attn playground: {page}")
    if is_opened:
        webbrowser.open(page.as_uri())
