"""axe-core over every page that the project makes, light, dark and on a phone: what breaks WCAG 2.2 AA.

    python tests/accessibility.py build/site    # needs Chromium and npm; never part of make test

Looked at are the pages of the site, the playground and the browser edition, and those of `attn grade`,
`attn diff` and `attn translate`, which are made here from a small class. Left out is what others make:
JupyterLite's own pages, one of which the browser edition shows in a frame. axe-core comes from npm into a
cache outside the project. Exit status 1 if anything is found.
"""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from chromium import Browser, serve_files
from course import ROOT

from attn_course.cli import main as attn

VERSION = "4.14.0"
CACHE = Path.home() / ".cache" / "attention-course" / f"axe-core-{VERSION}.js"
LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "phone": ("dark", 390)}
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What a reader may open is opened, and a recipe of the playground is tried.
OPEN = """for (const part of document.querySelectorAll("details")) part.open = true;
for (const part of document.querySelectorAll("p[hidden]")) part.hidden = false;
document.querySelector("#recipes button")?.click(); 1"""
SETTLED = """!document.querySelector("[aria-busy=true]")
&& document.getElementById("status")?.textContent !== "Loading the page …" """
RUN = """{
window.found = null;
const options = {iframes: false, runOnly: {type: "tag", values: %s}, resultTypes: ["violations"]};
axe.run(document, options).then(all => {
  const first = v => v.nodes[0].html.slice(0, 160);
  window.found = all.violations.map(v => [v.id, v.help, v.nodes.length, first(v)]);
}); }1"""


def axe():
    """The script of axe-core, from the cache or from npm."""
    if not CACHE.exists():
        with tempfile.TemporaryDirectory() as folder:
            command = ["npm", "pack", "--silent", f"axe-core@{VERSION}"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
                script = archive.extractfile("package/axe.min.js")
                CACHE.parent.mkdir(parents=True, exist_ok=True)
                CACHE.write_bytes(script.read())
    return CACHE.read_text("utf-8")


def make_pages(folder):
    """Pages of the commands: a class of three (solved, unsolved, not a notebook), a diff, a translation."""
    students = folder / "class"
    for student, source in {"ann": "solutions", "ben": "notebooks"}.items():
        (students / student).mkdir(parents=True)
        for path in (ROOT / source).glob("0[1-8]*.ipynb"):
            shutil.copy(path, students / student)
    (students / "cem").mkdir()
    (students / "cem" / "01_copying.ipynb").write_text("no notebook")
    pages = folder / "pages"
    attn(["grade", str(students), "--out", str(pages), "--quiet"])
    submission = str(students / "ben" / "01_copying.ipynb")
    attn(["diff", submission, "--html", str(pages / "diff.html"), "--quiet"])
    attn(["translate", "Ein Hund rennt.", "--html", str(pages / "translation.html"), "--quiet"])
    return pages


def violations(browser, script, address, look):
    """What axe finds on a page in one of the looks."""
    browser.look(*LOOKS[look])
    browser.visit(address)
    browser.wait(SETTLED)
    browser.run(OPEN)
    browser.wait(SETTLED)
    browser.run(script + "; 1")
    browser.run(RUN % json.dumps(TAGS))
    return json.loads(browser.wait("window.found && JSON.stringify(window.found)"))


def pages_of(folder):
    """Every page below a folder but JupyterLite's own and the parts of the theme that nobody opens."""
    for path in sorted(folder.rglob("*.html")):
        inside = path.relative_to(folder)
        if not {"lite", "_static"} & set(inside.parts):
            yield inside.as_posix()


def main(site):
    script = axe()
    num_pages = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        browser = Browser(Path(scratch))
        for folder in (Path(site).absolute(), make_pages(Path(scratch))):
            with serve_files(folder) as address:
                for page in pages_of(folder):
                    num_pages += 1
                    for look in LOOKS:
                        found = violations(browser, script, address + page, look)
                        for rule, text, number, first in found:
                            count += number
                            print(f"{page} ({look}): {rule}: {text}, {number} times: {first}")
        browser.close()
    print(
        f"axe-core {VERSION}: {num_pages} pages, {', '.join(LOOKS)}, {count} violations of WCAG 2.2 AA."
    )
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
