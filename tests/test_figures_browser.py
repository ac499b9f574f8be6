"""Moving figures in a real browser, without a kernel: they move by key and mouse, and ask no one."""

import nbformat
import numpy as np
import pytest
from chromium import Browser, needs_browser

from attn_course import plots
from attn_course.figures import display

pytestmark = needs_browser
KEYS = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
PAGE = """<!doctype html><html {theme}><meta charset="utf-8"><title>figures</title>
<body style="background: Canvas">{cells}</body></html>"""
STILL = '<div class="output"><img alt="still"></div>'
CELL = f'<div class="cell_output">{STILL}<div class="output">{{}}</div></div>'
# What nbconvert's own template asks for: MathJax, the loader of scripts, the viewer of widgets.
OF_NBCONVERT = {
    "https://cdnjs.cloudflare.com/ajax/libs/mathjax/2.7.7/latest.js?config=TeX-AMS_CHTML-full,Safe",
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/2.1.10/require.min.js",
    "https://unpkg.com/@jupyter-widgets/html-manager@*/dist/embed-amd.js",
}
LOADED = 'performance.getEntriesByType("resource")'
FOREIGN = f'{LOADED}.filter((entry) => !entry.name.startsWith("data:")).length'


def draw(angle, length):
    turned = length * np.array([np.cos(angle), np.sin(angle)])
    left, right = plots.panels(2)
    plots.arrows({"key 0": (1, 0), "query": turned}, limit=3, ax=left)
    plots.bars([0.5 + turned[0] / 6, 0.5 - turned[0] / 6], title=f"angle {angle:.2f}", ax=right)


def draw_switched(head_0, head_1):
    (ax,) = plots.panels(1)
    plots.bars([head_0, head_1], title=f"on: {head_0:g}, {head_1:g}", ax=ax)


def draw_wide(shift):
    (ax,) = plots.panels(1, width=9)
    plots.bars([shift, 1 - shift], ax=ax)


@pytest.fixture(scope="module")
def outputs():
    """Two mime bundles each, the still picture and what moves: two planes, sliders, switches."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_FIGURES", "page")
        patch.setattr(display, "show", lambda data, metadata=None: found.append(data))
        plots.query_plane(KEYS, [1, 2, 3, 4], query=(3, 1), limit=4)
        heads = [(2, 0), (0, 2)]
        plots.query_plane(KEYS[1:], [1, 2, 3], query=heads, noise=0.3, land=True, hull=True)
        plots.explore(draw, angle=(0.0, 3.0, 1.0), length=(0.0, 3.0, 2.0))
        plots.explore(draw_switched, head_0=True, head_1=False)
        plots.explore(draw_wide, shift=(0, 1, 1))
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture
def opened(browser, outputs, tmp_path):
    """A page with all figures; a theme can be asked for."""

    def open_page(theme=""):
        cells = "".join(CELL.format(data["text/html"]) for data in outputs[1::2])
        page = tmp_path / "page.html"
        page.write_text(PAGE.format(theme=theme, cells=cells), "utf-8")
        browser.open(page)
        browser.wait("document.querySelectorAll('.attn-frames svg').length")
        return browser

    return open_page


def text_of_tip(browser, number):
    tip = f"document.querySelectorAll('.tip')[{number}]"
    return browser.run(f"{tip}.getAttribute('aria-valuetext')")


def test_what_moves_takes_the_place_of_the_still_picture(opened):
    browser = opened()
    hidden = "[...document.querySelectorAll('img')].map((i) => i.checkVisibility())"
    assert browser.run(hidden) == [False] * 5
    assert browser.run(FOREIGN) == 0


def test_the_query_comes_first_and_is_moved_by_the_arrow_keys(opened):
    browser = opened()
    browser.press("Tab")
    name = "document.activeElement.getAttribute('aria-label')"
    assert browser.run(name) == "query, moved by the arrow keys"
    assert text_of_tip(browser, 0).startswith("at 3.00, 1.00; weights key 0 0.47, key 1 0.47")
    for _ in range(10):
        browser.press("ArrowLeft")
    browser.press("ArrowUp", shift=True)  # a large step
    x, y = 3 - 10 * 0.08, 1 + 0.4
    powers = np.exp(KEYS @ [x, y])
    weights = powers / powers.sum()
    shown = ", ".join(f"key {i} {weight:.2f}" for i, weight in enumerate(weights))
    wanted = f"at {x:.2f}, {y:.2f}; weights {shown}; output {weights @ [1, 2, 3, 4]:.2f}"
    assert text_of_tip(browser, 0) == wanted
    browser.press("Tab")
    assert browser.run(name).startswith("key 0")


def test_a_key_is_dragged_and_the_map_is_painted_anew(opened):
    browser = opened()
    middle = "(b => [b.x + b.width / 2, b.y + b.height / 2])"
    place = browser.run(f"{middle}(document.querySelectorAll('.tip')[1].getBoundingClientRect())")
    before = browser.run("document.querySelector('canvas').toDataURL()")
    browser.drag(place, [place[0] + 42, place[1] - 84])  # 42 pixels are one unit of this map
    assert text_of_tip(browser, 1).startswith("at 2.00, 2.00;")
    assert browser.run("document.querySelector('canvas').toDataURL()") != before


def test_a_click_on_the_map_calls_the_query(opened):
    browser = opened()
    x, y = browser.run("(b => [b.x, b.y])(document.querySelector('.map').getBoundingClientRect())")
    place = [x + 46 + 336 / 4, y + 22 + 336 / 4]  # a quarter of the map from its left and top
    browser.drag(place, place)
    assert text_of_tip(browser, 0).startswith("at -2.00, 2.00;")


def test_names_never_cover_one_another(opened):
    browser = opened()
    overlaps = """(() => {
      const boxes = [...document.querySelectorAll('.map')[0].querySelectorAll('g[aria-hidden] text')]
        .map((text) => text.getBBox());
      const hit = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width
        && a.y + 2 < b.y + b.height - 2 && b.y + 2 < a.y + a.height - 2;
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => hit(a, b))).length;
    })()"""
    browser.run("document.querySelector('.tip').focus()")
    for key in ["ArrowLeft"] * 30 + ["ArrowDown"] * 12:
        browser.press(key)
        assert browser.run(overlaps) == 0


def test_noise_moves_the_borders_and_leaves_their_ghosts(opened):
    browser = opened()
    borders = "document.querySelectorAll('.border')[1].getAttribute('d')"
    before = browser.run(borders)
    browser.run("document.querySelector('.attn-plane button').click()")
    assert browser.run(borders) != before
    assert browser.run("document.querySelectorAll('.ghost')[1].getAttribute('d')") == before
    browser.run("""(input => { input.value = 0; input.dispatchEvent(new Event('input')); })
        (document.querySelector('.attn-plane input'))""")
    assert "key 2" in browser.run("document.querySelectorAll('.attn-plane')[1].textContent")


def test_a_slider_of_a_page_shows_its_frame_by_the_arrow_keys(opened):
    browser = opened()
    browser.run("document.querySelector('.attn-frames input').focus()")
    title = "document.querySelector('.attn-frames .attn-frame').getAttribute('aria-label')"
    seen = {browser.run(title)}
    for _ in range(5):
        browser.press("ArrowRight")
        seen.add(browser.run(title))
    assert len(seen) == 6
    assert browser.run(FOREIGN) == 0


def test_a_switch_of_a_page_shows_its_frame_when_it_is_clicked(opened):
    browser = opened()
    browser.wait("document.querySelectorAll('.attn-frames svg').length >= 2")
    frame = "document.querySelectorAll('.attn-frames .attn-frame')[1]"
    title = f"{frame}.getAttribute('aria-label')"
    assert "on: 1, 0" in browser.run(title)
    browser.run("document.querySelectorAll('input[type=checkbox]')[1].click()")
    assert "on: 1, 1" in browser.run(title)
    browser.run("document.querySelectorAll('input[type=checkbox]')[0].click()")
    assert "on: 0, 1" in browser.run(title)


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_is_wider_than_the_page_and_text_stays_readable(opened, width):
    browser = opened()
    browser.look("light", width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    sizes = """[...document.querySelectorAll('svg text')].filter((t) => t.textContent).map((t) =>
      parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a / t.ownerSVGElement.currentScale)"""
    upright = [size for size in browser.run(sizes) if size > 1]
    assert min(upright) >= (11 if width == 1200 else 9)  # a wide figure is scrolled
    browser.ask("Emulation.clearDeviceMetricsOverride")


def test_a_figure_that_is_wider_than_a_phone_is_scrolled_by_keys_too(browser, opened):
    browser.look("light", 390)
    opened()
    frames = "[...document.querySelectorAll('.attn-frame')]"
    wide = f"{frames}.filter((frame) => frame.scrollWidth > frame.clientWidth)"
    assert set(browser.wait(f"{wide}.length && {wide}.map((f) => f.tabIndex)")) == {0}
    browser.ask("Emulation.clearDeviceMetricsOverride")


def test_a_dark_page_has_lighter_colours(opened):
    style = "getComputedStyle(document.querySelector('.attn-plane'))"
    colour = f"{style}.getPropertyValue('--c0').trim()"
    assert opened().run(colour) == "#0072b2"
    assert opened('data-theme="dark"').run(colour) == "#4aa8e8"


def exported(cells, path, widgets=None):
    """A notebook as `jupyter nbconvert --to html` writes it. cells: lists of mime bundles."""
    exporters = pytest.importorskip("nbconvert.exporters")
    shown = [[nbformat.v4.new_output("display_data", data=data) for data in cell] for cell in cells]
    made = [nbformat.v4.new_code_cell("plots.show()", outputs=outputs) for outputs in shown]
    notebook = nbformat.v4.new_notebook(cells=made)
    if widgets:
        notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": widgets}
    text, _ = exporters.HTMLExporter().from_notebook_node(notebook)
    path.write_text(text, "utf-8")


def test_an_exported_notebook_moves_and_describes_every_picture(browser, outputs, tmp_path):
    page = tmp_path / "exported.html"
    exported([outputs[k : k + 2] for k in range(0, len(outputs), 2)], page)
    browser.open(page)
    browser.wait("document.querySelectorAll('.attn-frames svg').length")
    pictures = "[...document.querySelectorAll('img')].map((i) => [i.alt.slice(0, 13), i.checkVisibility()])"
    planes = [["Query plane “", False]] * 2
    others = [["Panel 1: Arro", False], ["Bars “on: 1, ", False], ["Bars; weight ", False]]
    assert browser.run(pictures) == planes + others


@pytest.mark.parametrize("with_state", [False, True], ids=["saved in the lab", "run by nbconvert"])
def test_sliders_of_a_kernel_move_when_the_notebook_is_exported_without_it(
    browser, monkeypatch, tmp_path, with_state
):
    ipywidgets = pytest.importorskip("ipywidgets")
    shown = []
    monkeypatch.delenv("ATTN_FIGURES", raising=False)
    monkeypatch.setattr(display, "in_kernel", lambda: True)
    monkeypatch.setattr(display, "show", lambda data, metadata=None: shown.append(data))
    plots.explore(draw, angle=(0.0, 3.0, 1.0), length=(0.0, 3.0, 2.0))
    state = ipywidgets.Widget.get_manager_state() if with_state else None
    page = tmp_path / "exported.html"
    exported([shown], page, state)
    browser.ask("Network.enable")
    browser.heard.clear()
    browser.open(page)
    browser.wait("document.querySelectorAll('.attn-frames svg').length")
    live, moves = "document.querySelectorAll('.jp-OutputArea-child')", "checkVisibility()"
    assert browser.run(f"[...{live}].map((part) => part.{moves})") == [False, True]

    title = "document.querySelector('.attn-frames .attn-frame').getAttribute('aria-label')"
    before = browser.run(title)
    box = "document.querySelector('.attn-frames input').getBoundingClientRect()"
    browser.run("document.querySelector('.attn-frames').scrollIntoView()")
    x, y, width = browser.run(f"(b => [b.x, b.y + b.height / 2, b.width])({box})")
    browser.drag([x + width / 3, y], [x + width - 10, y])
    assert browser.run(title) != before
    assert browser.asked_outside() <= OF_NBCONVERT
