"""Times one frame of every figure with sliders in notebooks 00-06, and weighs its packed page.

Where there is a Chromium, each is moved in JupyterLab too, and timed from a key press to its picture.
"""

import contextlib
import io
import runpy
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from attn_course import figures
from attn_course.figures.sliders import SliderFigure

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from chromium import CHROMIUM, Browser  # noqa: E402
from test_figures_lab import READY, STOPWATCH, served  # noqa: E402

KEYS = 20  # pressed for each figure
FIGURES = (  # those that have a slider; others have switches
    "[...document.querySelectorAll('.widget-html.attn-figure')]"
    ".filter((f) => f.closest('.jp-OutputArea-output').querySelector('.noUi-handle'))"
)


def figures_of(notebook):
    """The figures with sliders of a notebook, kept as it runs."""
    found = []

    def keep(draw, **sliders):
        found.append(SliderFigure(draw, sliders))

    figures.explore = keep
    figures.query_plane = lambda *args, **options: None
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(notebook), {"display": lambda *shown: None})
    return found


def values_for(figure, rng):
    """Random values of the sliders."""
    return {s.name: rng.choice(s.choices(121)).item() for s in figure.sliders}


def in_the_lab():
    """Print, figure by figure, the milliseconds from a key press to the picture in JupyterLab."""
    print("\nkey press to picture in JupyterLab, ms: median, 95th percentile")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        names = [path.stem for path in sorted((ROOT / "solutions").glob("0[1-6]_*.ipynb"))]
        for name in names:
            shutil.copy(ROOT / "solutions" / f"{name}.ipynb", folder)
        with served(folder) as lab:
            for name in names:
                time_notebook(f"{lab}/lab/tree/{name}.ipynb?reset", name, folder / f"home-{name}")


def time_notebook(address, name, home):
    """Run a notebook in a browser of its own and press keys at the first slider of each figure."""
    home.mkdir()
    browser = Browser(home)
    try:
        browser.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        browser.ask("Page.navigate", url=address)
        browser.wait(READY)
        browser.run(
            "void window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => "
            "{ window.isDone = true })"
        )
        browser.wait("window.isDone")
        count = browser.wait(f"{FIGURES}.length")
        for number in range(count):
            spent = time_figure(browser, number)
            median = statistics.median(spent)
            slow = statistics.quantiles(spent, n=20)[-1]
            figure = f"{name} {number + 1}"
            print(f"{figure:28} {median:6.0f} {slow:6.0f}", flush=True)
    finally:
        browser.close()


def time_figure(browser, number):
    """Milliseconds from key to picture, key by key."""
    browser.run(f"window.figure = {FIGURES}[{number}]; figure.scrollIntoView()")
    stopwatch = STOPWATCH.replace('document.querySelector(".widget-html.attn-figure")', "figure")
    browser.run(f"(() => {{ {stopwatch} }})()")
    browser.run("figure.closest('.jp-OutputArea-output').querySelector('.noUi-handle').focus()")
    for step in range(1, KEYS + 1):
        browser.press("ArrowRight" if step % 2 else "ArrowLeft")
        browser.wait(f"window.spent.length >= {step}")
    return browser.run("window.spent")


def main():
    rng = np.random.default_rng(0)
    print(f"{'figure':28} CPU ms a frame: median, worst  page: KB, CPU s")
    for notebook in sorted((ROOT / "solutions").glob("0[0-6]_*.py")):
        for number, figure in enumerate(figures_of(notebook), 1):
            figure.frame(figure.start)
            spent = []
            for _ in range(30):
                values = values_for(figure, rng)
                before = time.process_time()
                figure.frame(values)
                spent.append(1000 * (time.process_time() - before))
            before = time.process_time()
            page = figure.page()
            seconds = time.process_time() - before
            name = f"{notebook.stem} {number}"
            speed = f"{statistics.median(spent):6.1f} {max(spent):6.1f}"
            print(f"{name:28} {speed}  {len(page) / 1000:6.1f} KB {seconds:5.2f} s")
    if CHROMIUM:
        in_the_lab()


if __name__ == "__main__":
    main()
