"""Figures in JupyterLab with its kernel: sliders move the picture while keys are pressed."""

import contextlib
import re
import tempfile
from pathlib import Path

import nbformat
import pytest
from chromium import Browser, needs_browser
from jupyter import Jupyter

pytestmark = needs_browser
LAB = (
    *("-m", "jupyterlab", "--no-browser", "--allow-root", "--LabApp.news_url=None"),
    *("--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"),
    "--LabApp.expose_app_in_browser=True",
)
CELLS = [
    "from attn_course import plots\nplots.query_plane([[1, 0], [0, 1]], [1, 3], query=(2, 1), limit=4)",
    'plots.bars([0.2, 0.8], title="two bars")',
    'def draw(t):\n    plots.bars([t, 1 - t], title=f"t = {t:g}")',
    "plots.explore(draw, t=(0.0, 1.0, 0.5))",
]
# Whether the notebook is open and can be run; it is brought to the front first.
READY = """(() => {
  const app = window.jupyterapp;
  const notebook = app && [...app.shell.widgets("main")].find((widget) => widget.sessionContext);
  if (!notebook?.sessionContext.isReady) return false;
  app.shell.activateById(notebook.id);
  return app.commands.isEnabled("notebook:run-all-cells");
})()"""
CHANGE_THEME = "void window.jupyterapp.commands.execute('apputils:change-theme', {{theme: '{}'}})"
# The time from a key press to the next change of the picture, when it is on the screen; tests/bench reads it.
STOPWATCH = """
window.spent = [];
let pressed = null;
document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
new MutationObserver(() => {
  if (pressed === null) return;
  const start = pressed;
  pressed = null;
  requestAnimationFrame(() => setTimeout(() => window.spent.push(performance.now() - start)));
}).observe(document.querySelector(".widget-html.attn-figure"), { childList: true, subtree: true });
"""


@contextlib.contextmanager
def served(folder):
    """JupyterLab over a folder, with settings of its own; gives its address."""
    with tempfile.TemporaryDirectory() as home:
        server = Jupyter(LAB, folder, Path(home))
        try:
            yield server.address
        finally:
            server.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """JupyterLab on a notebook of four cells."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "try.ipynb")
    with served(folder) as lab:
        yield f"{lab}/lab/tree/try.ipynb"


@pytest.fixture(scope="module")
def lab(address, tmp_path_factory):
    """The notebook in a browser, all its cells run."""
    browser = Browser(tmp_path_factory.mktemp("browser"))
    try:
        browser.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        browser.ask("Page.navigate", url=address)
        browser.wait(READY)
        browser.run("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        browser.wait("!!document.querySelector('.widget-html .attn-frame')")
        yield browser
    finally:
        browser.close()


def test_drawings_take_the_place_of_pictures_in_the_lab_and_say_what_is_seen(lab):
    pictures = "[...document.querySelectorAll('.jp-OutputArea img')].map((i) => [i.alt, i.checkVisibility()])"
    lab.wait(f"!{pictures}.some(([alt, isVisible]) => isVisible)")
    plane, bars = lab.run(pictures)
    assert plane[0].startswith("Query plane")
    assert bars[0] == "Bars “two bars”; weight over key: 0 0.20, 1 0.80."
    drawn = "[...document.querySelectorAll('.attn-frames:not([hidden]) .attn-frame')]"
    assert lab.run(f"{drawn}.map((f) => f.getAttribute('aria-label'))") == [bars[0]]


def test_still_figures_follow_the_theme_of_the_lab(lab):
    colour = "getComputedStyle(document.querySelector('.attn-frames .attn-frame path[fill]')).fill"
    text = "getComputedStyle(document.querySelector('.attn-frames .attn-frame text')).fill"
    light = lab.run(f"[{colour}, {text}]")
    lab.run(CHANGE_THEME.format("JupyterLab Dark"))
    lab.wait(f"document.body.dataset.jpThemeLight === 'false' && {colour} !== '{light[0]}'")
    assert light[0] == "rgb(0, 114, 178)" and lab.run(colour) == "rgb(74, 168, 232)"
    brightness = [sum(map(int, re.findall(r"\d+", code)[:3])) for code in (light[1], lab.run(text))]
    assert brightness[0] < 200 < 600 < brightness[1]
    lab.run(CHANGE_THEME.format("JupyterLab Light"))
    lab.wait(f"document.body.dataset.jpThemeLight === 'true' && {colour} === '{light[0]}'")


def test_arrow_keys_move_the_plane_and_not_the_cells(lab):
    lab.run("document.querySelector('.tip').focus()")
    for _ in range(5):
        lab.press("ArrowDown")
    text = lab.run("document.querySelector('.tip').getAttribute('aria-valuetext')")
    assert text.startswith("at 2.00, 0.60;")
    assert lab.run("document.activeElement.classList.contains('tip')")


def test_the_frames_for_later_are_not_seen_beside_sliders_that_a_kernel_moves(lab):
    lab.wait("document.querySelector('[data-widget] svg') !== null")
    lab.run("document.querySelector('[data-widget]').hidden = false")  # as when it has waited
    assert not lab.run("document.querySelector('[data-widget]').checkVisibility()")


def test_a_slider_moves_its_picture_at_every_key_press(lab):
    lab.run(STOPWATCH)
    handle = "document.querySelector('.noUi-handle')"
    label = "document.querySelector('.widget-html .attn-frame').getAttribute('aria-label')"
    for step in range(1, 11):
        lab.wait(f"({handle}.focus(), document.activeElement === {handle})")
        lab.press("ArrowRight")
        lab.wait(f"window.spent.length >= {step} && {label}.includes('t = {0.5 + step / 100:g}”')")
    assert lab.run("document.querySelector('.noUi-base').getBoundingClientRect().width") > 300
