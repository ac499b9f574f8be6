"""`attn lab`: JupyterLab on one notebook, also as root and without a screen."""

import importlib.util
import os
import sys
from pathlib import Path

import click

from attn_course.command_line import SETTINGS, Command, missing_package
from attn_course.errors import UserError

FIRST = "notebooks/00_start_here.ipynb"


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("notebook", default=FIRST, type=click.Path())
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def lab(notebook: str, no_browser: bool) -> None:
    """Open JupyterLab on the first notebook.

    NOTEBOOK is another one to open. The address that is printed leads to the notebook, too.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise UserError(missing_package("JupyterLab", "lab"))
    if not Path(notebook).is_file():
        raise UserError(f"there is no notebook {notebook} in this folder.")
    os.execv(sys.executable, jupyter_command(notebook, no_browser=no_browser))


def jupyter_command(notebook: str, *, no_browser: bool = False) -> list[str]:
    """The command that starts JupyterLab from this folder."""
    found = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--ServerApp.root_dir=.",
        f"--LabApp.default_url=/lab/tree/{notebook}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found.append("--allow-root")
    if no_browser or not has_screen():
        found.append("--no-browser")  # the address to open is printed instead
    return found


def has_screen() -> bool:
    """Whether a browser could open a window here."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
