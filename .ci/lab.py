"""Open JupyterLab on one notebook: as root, in a container and without a screen as well."""

import os
import sys

command = [sys.executable, "-m", "jupyterlab", sys.argv[1], "--ServerApp.root_dir=."]
if hasattr(os, "geteuid") and os.geteuid() == 0:
    command.append("--allow-root")
if sys.platform.startswith("linux") and not (
    os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
):
    command.append("--no-browser")  # the address to open is printed instead
os.execv(sys.executable, command)
