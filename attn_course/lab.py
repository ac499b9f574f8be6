"""`attn lab`: JupyterLab on one notebook, also as root and without a screen."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

FIRST = "notebooks/00_start_here.ipynb"


def main(argv: list[str]) -> int:
    """Open JupyterLab; the address it prints leads to the notebook, too."""
    parser = argparse.ArgumentParser(prog="attn lab", description=main.__doc__)
    parser.add_argument("notebook", nargs="?", default=FIRST, help=f"default: {FIRST}")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    options = parser.parse_args(argv)
    problem = _problem(options.notebook)
    if problem:
        print(f"attn lab: {problem}", file=sys.stderr)
        return 2
    os.execv(sys.executable, command(options.notebook, no_browser=options.no_browser))


def _problem(notebook: str) -> str:
    if importlib.util.find_spec("jupyterlab") is None:
        return "JupyterLab is not installed here; pip install jupyterlab brings it."
    if not Path(notebook).is_file():
        return f"there is no {notebook} in this folder."
    return ""


def command(notebook: str, *, no_browser: bool = False) -> list[str]:
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
