"""Pictures of every kind of page of the built site, and of a student's session in the browser edition.

    python tests/screenshots.py build/site FOLDER    # needs Chromium; the site made with PYODIDE=folder

Each page is taken light, dark and as wide as a phone; the session is taken step by step, as often. The
pictures are for people to look at: nothing is compared, and none is part of the project.
"""

import sys
import tempfile
from pathlib import Path

from browser import Browser, serve_files
from test_building_browser import PANEL, READY, RIGHT, Reader

LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "phone": ("dark", 390)}
# A page of the site: what is brought to the top of the window before a picture is taken.
PAGES = {
    "index.html": ["h1", ".sd-card", "footer"],
    "01_copying.html": ["h1", ".attn-plane", ".attn-frames", "[style*=border-left]", "table"],
    "05_keys_queries_values.html": [".attn-frames", "footer"],
    "11_position.html": ["h1", ".attn-frames:has(input)"],
    "14_decoding.html": ["h1", ".attn-frames"],
    "architecture.html": ["h1", "img[src*=flow-grade]"],
    "grading.html": ["h1"],
    "reference.html": ["h1", "dt.sig"],
    "playground/index.html": ["h1", "#output", "#heads", "#places"],
}
WRONG = "def copy_query(keys, j):\n    return keys[j]"
FIGURES_DRAWN = """[...document.querySelectorAll(".attn-figure")].every((one) => one.querySelector("svg"))
&& document.querySelectorAll("mjx-container").length >= document.querySelectorAll(".math").length
&& !document.querySelector("[aria-busy=true]")"""


def take_pages(browser, address, look, folder):
    """Pictures of the pages of the site."""
    for page, places in PAGES.items():
        browser.visit(address + page)
        browser.wait(FIGURES_DRAWN)
        for number, place in enumerate(places, 1):
            browser.wait(f"!!document.querySelector({place!r})")
            browser.run(f"document.querySelector({place!r}).scrollIntoView(); 1")
            name = page.replace("/index", "").removesuffix(".html").replace("/", "-")
            browser.picture(folder / f"page-{name}-{number}-{look}.png")


def take_session(reader, look, folder):
    """Pictures of a student who answers, errs, asks for a hint, comes back, and starts again."""
    browser = reader.browser
    taken = []

    def take(name, cell=None):
        if cell:
            found = f"{PANEL}.content.widgets.findIndex(w => w.model.id === {cell!r})"
            top = f"{PANEL}.content.widgets[{found}].node.getBoundingClientRect().top"
            scroll = f"{PANEL}.content.scrollToItem({found}, 'start')"
            browser.wait(
                f"{scroll}, {top} > -50 && {top} < 300"
            )  # again, as cells above take shape
        taken.append(name)
        browser.picture(folder / f"session-{len(taken)}-{name}-{look}.png")

    browser.visit(reader.address)
    browser.wait("document.getElementById('status').textContent.startsWith('Loading Python')", 60)
    take("loading")
    browser.wait(READY, 150)
    take("ready")
    reader.run_all()
    take("figure", "q1-4-code")
    reader.run_cell("q1-4-code", WRONG)
    reader.run_cell("q1-4-check")
    take("wrong-answer", "q1-4-code")
    reader.run_cell("q1-4-check", 'hint("1.4")')
    take("hint", "q1-4-code")
    reader.run_cell("q1-4-code", RIGHT)
    reader.run_cell("q1-4-check", 'check("1.4", copy_query)')
    take("right-answer", "q1-4-code")
    browser.wait(f"!{PANEL}.context.model.dirty", 60)
    browser.run("document.getElementById('download').click(); 1")
    take("downloaded")
    reader.visit()
    take("after-reload", "q1-4-code")
    browser.run("localStorage.setItem('attention-course:edition:01_copying', 'an older one')")
    reader.visit()
    take("newer-edition")
    reader.reset()
    take("after-reset", "q1-4-code")


def main(site, out):
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with serve_files(Path(site).absolute()) as address:
        for look, (theme, width) in LOOKS.items():
            with tempfile.TemporaryDirectory() as scratch:
                browser = Browser(Path(scratch))
                browser.look(theme, width)
                take_pages(browser, address, look, folder)
                reader = Reader(browser, f"{address}browser/index.html?notebook=01_copying")
                take_session(reader, look, folder)
                browser.close()
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
