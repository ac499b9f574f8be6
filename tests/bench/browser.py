"""The browser edition from the click to the first figure, cold and cached; needs what make browser brings."""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chromium import Browser, serve_files

from attn_course.building.jupyterlite import make_browser_edition

ROOT = Path(__file__).parents[2]
STAGES = {
    "notebook shown": "!!frames[0]?.jupyterapp?.shell?.currentWidget",
    "Python ready": "document.getElementById('status').textContent === 'Ready.'",
    "first figure": "!!frames[0].document.querySelector('.jp-OutputArea-output svg')",
    "all cells": "window.ran",
}
RUN_ALL = "frames[0].jupyterapp.commands.execute('notebook:run-all-cells')"


def visit(browser, address, label, sent):
    """Print when each stage was reached, and what was sent."""
    sent.clear()
    begun = time.perf_counter()
    browser.visit(address)
    row = []
    for stage, reached in STAGES.items():
        browser.wait(reached)
        row.append(f"{stage} {time.perf_counter() - begun:.1f} s")
        if stage == "Python ready":
            browser.run(f"window.ran = 0; {RUN_ALL}.then(() => {{ window.ran = 1 }}); 1")
    print(f"{label:7} {', '.join(row)}; {sum(sent) / 1e6:.1f} MB in {len(sent)} requests")


def main():
    lite, pyodide = os.environ.get("ATTN_LITE"), os.environ.get("ATTN_PYODIDE")
    if not lite or not pyodide:
        print("left out: set ATTN_LITE and ATTN_PYODIDE as make browser does")
        return
    sent = []
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        make_browser_edition(ROOT, site, Path(lite), Path(pyodide))

        with serve_files(site, sent) as served:
            browser = Browser(Path(folder))
            address = f"{served}index.html?notebook=00_start_here"
            visit(browser, address, "cold", sent)
            time.sleep(5)  # the service worker writes its cache
            visit(browser, address, "cached", sent)
            browser.close()


if __name__ == "__main__":
    main()
