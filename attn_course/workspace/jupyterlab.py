"""How `attn lab` starts JupyterLab on one notebook, also as root, without a screen, and on Windows."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote


def jupyter_command(folder: Path, notebook: str, *, no_browser: bool = False) -> list[str]:
    """Return the command that starts JupyterLab in a folder and opens a notebook there."""
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{quote(notebook)}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    if no_browser or not has_screen():
        command.append("--no-browser")  # the address to open is printed instead
    return command


def has_screen() -> bool:
    """Return True if a browser could open a window here."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def start(command: list[str], folder: Path) -> int:
    """Run JupyterLab until it is ended; Ctrl-C is JupyterLab's, which asks whether to stop."""
    if os.name == "posix":
        os.chdir(folder)
        os.execv(command[0], command)
    with subprocess.Popen(command, cwd=folder) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
