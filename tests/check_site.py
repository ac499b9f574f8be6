"""Checks the finished site, a folder of pages, and has a sentence for each fault; `make site` runs it.

Links and anchors lead somewhere, pictures have words, nothing is asked of another host, figures move, and no
page is wider than a telephone. Without a Chromium the last three are left out, unless ATTN_REQUIRE_BROWSER=1.
"""

import json
import statistics
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from chromium import CHROMIUM, REQUIRED, Browser, serve_files
from course import ROOT

from attn_course.building.pages import SPOILER

LARGEST = 3_000_000  # bytes of a page with all its pictures
SLOWEST = 30  # milliseconds from a slider to its picture, in the median; a warning
FETCHING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
LOOKS = {"light": 1280, "dark": 390}  # theme: width of the window
READY = """(() => {
  const figures = [...document.querySelectorAll(".attn-figure")];
  const formulas = document.querySelectorAll(".math").length;
  const isMoving = figures.every((figure) => figure.querySelector("svg"));
  return isMoving && document.querySelectorAll("mjx-container").length >= formulas;
})()"""
STATE = """({
  width: document.documentElement.scrollWidth,
  theme: document.documentElement.dataset.theme,
  silent: [...document.images].filter((image) => !image.alt && image.checkVisibility()).length,
  broken: [...document.querySelectorAll("mjx-merror")].map((found) => found.textContent),
  cut: [...document.querySelectorAll("div.math")].filter((place) => {
    const formula = place.querySelector("mjx-math");
    return formula && formula.getBoundingClientRect().left < place.getBoundingClientRect().left - 1;
  }).length,
  wide: [...document.querySelectorAll(".bd-article table")].filter(
    (table) => table.scrollWidth > table.parentElement.clientWidth + 1
  ).length,
  stills: [...document.querySelectorAll(".attn-figure")].filter((figure) => {
    const output = figure.closest(".output, section, .attn-figure");
    const before = output.previousElementSibling;
    return before?.querySelector("img")?.checkVisibility();
  }).length,
})"""
FAULTS = {
    "silent": "shows a picture without words.",
    "stills": "shows a still picture beside the one that moves.",
    "cut": "has a formula whose beginning nobody can scroll to.",
    "wide": "has a table with columns that are seen only when it is scrolled.",
}
# Each slider goes from end to end; the milliseconds until its picture is laid out.
SLIDE = """[...document.querySelectorAll(".attn-frames input")].flatMap((input) => {
  const figure = input.closest(".attn-frames");
  const spent = [];
  for (let place = 0; place <= Number(input.max); place++) {
    const start = performance.now();
    input.value = place;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    figure.getBoundingClientRect();
    spent.push(performance.now() - start);
  }
  return spent;
})"""
TIP = "document.querySelector('.tip').getAttribute('aria-valuetext')"
FRAME = "document.querySelector('.attn-frames:has(input) .attn-frame').outerHTML"


class Page(HTMLParser):
    """What a page links to, fetches and shows."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.anchors = {""}
        self.links = []
        self.fetched = []
        self.pictures = []
        self.num_figures = 0
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif given.get(FETCHING.get(tag)):
            self.fetched.append(given[FETCHING[tag]])
        if tag == "img":
            self.pictures.append(given.get("alt", ""))
            self.num_figures += given.get("class") == "attn-picture"


def is_foreign(address):
    return bool(urlsplit(address).netloc)


def link_problems(pages):
    """A sentence for each link inside the site that leads nowhere."""
    for page in pages.values():
        for link in [*page.links, *page.fetched]:
            if is_foreign(link) or urlsplit(link).scheme:
                continue
            file, anchor = urldefrag(link.split("?")[0] if "?" in link else link)
            target = (page.path.parent / unquote(file)).resolve() if file else page.path
            if not target.is_file():
                yield f"{page.path.name} links to {link}, which is not there."
            elif target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{page.path.name} links to {link}, which has no such place."


def content_problems(pages):
    """A sentence for each picture without words, each thing fetched from elsewhere, each page too large."""
    for page in pages.values():
        name = page.path.name
        for alt in page.pictures:
            if not alt.strip():
                yield f"{name} has a picture without words."
        for address in page.fetched:
            if is_foreign(address):
                yield f"{name} fetches {address}."
        if weight(page) > LARGEST:
            yield f"{name} and its pictures weigh {weight(page) / 1e6:.1f} MB."


def weight(page):
    """Bytes of a page and the pictures in it; the theme is shared and not counted."""
    pictures = {link for link in page.fetched if "figures/" in link}
    files = [page.path, *(page.path.parent / link for link in pictures)]
    return sum(path.stat().st_size for path in files)


def count_problems(pages):
    """A sentence for each notebook whose page shows more or fewer figures than its solution has for it."""
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        wanted = stored_pictures(path)
        found = [page for page in pages.values() if page.path.stem == path.stem]
        if not found:
            yield f"{path.stem} has no page."
        elif found[0].num_figures != wanted:
            yield f"{path.stem} shows {found[0].num_figures} figures of {wanted}."


def stored_pictures(path):
    """How many pictures of a solution are neither for instructors alone nor an answer themselves."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    shown = [cell for cell in cells if not {"only", "rubric"} & set(cell["metadata"])]
    shown = [cell for cell in shown if SPOILER not in cell["metadata"].get("tags", ())]
    outputs = [output for cell in shown for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def browser_problems(site, pages, tally):
    """A sentence for each fault that only a browser sees."""
    with tempfile.TemporaryDirectory() as folder, serve_files(site) as address:
        browser = Browser(Path(folder))
        try:
            for domain in ("Network", "Runtime", "Log"):
                browser.ask(f"{domain}.enable")
            for page in pages.values():
                for theme, width in LOOKS.items():
                    where = f"{page.path.name} ({theme}, {width} px)"
                    for problem in seen_problems(browser, address, page, theme, width, tally):
                        yield f"{where} {problem}"
        finally:
            browser.close()


def seen_problems(browser, address, page, theme, width, tally):
    """What is wrong with one page in one window."""
    browser.heard.clear()
    browser.look(theme, width)
    browser.visit(address + page.path.name)
    browser.wait(READY)
    state = browser.run(STATE)
    if state["width"] > width:
        yield f"is {state['width']} pixels wide."
    if state["theme"] != theme:
        yield "does not follow the theme of the system."
    yield from (sentence for name, sentence in FAULTS.items() if state[name])
    for formula in state["broken"]:
        yield f"has a formula that MathJax refuses: {formula}"
    yield from slider_problems(browser, tally)
    yield from heard_problems(browser, address, tally)


def slider_problems(browser, tally):
    """Whether sliders and arrows move their pictures, by keys too, and how fast."""
    if browser.run("document.querySelectorAll('.tip').length"):
        before = browser.run(TIP)
        browser.run("document.querySelector('.tip').focus()")
        browser.press("ArrowUp")
        if browser.run(TIP) == before:
            yield "has a plane whose query no key moves."
    if not browser.run("document.querySelectorAll('.attn-frames input').length"):
        return
    before = browser.run(FRAME)
    browser.run("document.querySelector('.attn-frames input').focus()")
    at_its_start = browser.run("document.activeElement.value === document.activeElement.min")
    for _ in range(2):
        browser.press("ArrowRight" if at_its_start else "ArrowLeft")
    if browser.run(FRAME) == before:
        yield "has a slider that no key moves."
    spent = browser.run(SLIDE)
    tally["slides"] += spent
    if not statistics.median(spent) <= SLOWEST:
        tally["slow"].append(f"{statistics.median(spent):.0f} ms")


def heard_problems(browser, address, tally):
    """Requests to another host, files that are missing, scripts that stopped."""
    for told in browser.heard:
        params = told.get("params", {})
        if told["method"] == "Network.requestWillBeSent":
            url = params["request"]["url"]
            tally["requests"] += 1
            if not url.startswith((address, "data:", "blob:")):
                tally["foreign"] += 1
                yield f"asks {url}."
        elif told["method"] == "Network.responseReceived":
            if params["response"]["status"] >= 400:
                yield f"misses {params['response']['url']}."
        elif told["method"] == "Runtime.exceptionThrown":
            yield f"has a script that stops: {why_stopped(params['exceptionDetails'])}"


def why_stopped(details):
    """The first two lines of an exception: what and where."""
    words = details.get("exception", {}).get("description", details["text"])
    return " ".join(words.split("\n")[:2])


def main():
    """Check the folder named on the command line; 0 if nothing is wrong."""
    site = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(site.glob("*.html"))}
    problems = [*link_problems(pages), *content_problems(pages), *count_problems(pages)]
    tally = {"requests": 0, "foreign": 0, "slides": [], "slow": []}
    if CHROMIUM or REQUIRED:
        problems += browser_problems(site, pages, tally)
    for problem in problems:
        print(f"check_site: {problem}", file=sys.stderr)

    links = sum(len(page.links) for page in pages.values())
    pictures = sum(len(page.pictures) for page in pages.values())
    heaviest = max(pages.values(), key=weight)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    if not problems:
        print(f"{len(pages)} pages, {links} links, {pictures} pictures, all with words")
    name, megabytes = heaviest.path.name, weight(heaviest) / 1e6
    print(f"{size / 1e6:.1f} MB; the heaviest page is {name}, {megabytes:.2f} MB")
    if slides := tally["slides"]:
        print("{requests} requests in Chromium, {foreign} of them to another host".format(**tally))
        middle = statistics.median(slides)
        print(
            f"{len(slides)} frames by sliders: median {middle:.1f} ms, worst {max(slides):.0f} ms"
        )
    if slow := tally["slow"]:
        print(f"check_site: warning: pictures move slowly on this machine ({', '.join(slow)}).")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
