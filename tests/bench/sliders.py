"""Times one frame of every figure with sliders in notebooks 00-06, and weighs its packed page."""

import contextlib
import io
import os
import runpy
import statistics
import time
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"

import matplotlib.pyplot as plt
import numpy as np

from attn_course import figures
from attn_course.figures.sliders import MovingFigure

ROOT = Path(__file__).parents[2]


def figures_of(notebook):
    """The moving figures of a notebook, caught as it runs."""
    found = []

    def catch(draw, **sliders):
        found.append(MovingFigure(draw, sliders))

    figures.explore = catch
    figures.query_plane = lambda *args, **options: None
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(notebook), {"display": lambda *shown: None})
    plt.close("all")
    return found


def values_for(figure, rng):
    """Random values of the sliders."""
    return {s.name: rng.choice(s.choices(121)).item() for s in figure.sliders}


def main():
    rng = np.random.default_rng(0)
    print(f"{'figure':28} scene  CPU ms a frame: median, worst  page: frames, KB, CPU s")
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
            print(
                f"{name:28} {figure.in_scene!s:5}  {speed}  {len(page) / 1000:6.1f} KB {seconds:5.2f} s"
            )


if __name__ == "__main__":
    main()
