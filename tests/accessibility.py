"""axe-core over every page of a folder, light and dark: what breaks WCAG 2.2 AA.

    python tests/accessibility.py build/site [FOLDER ...]    # needs Chromium and npm; never part of make test

axe-core comes from npm into a cache outside the project. Exit status 1 if anything is found.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from browser import Browser

VERSION = "4.14.0"
CACHE = Path.home() / ".cache" / "attention-course" / f"axe-core-{VERSION}.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """
window.found = null;
axe.run(document, {runOnly: {type: "tag", values: %s}, resultTypes: ["violations"]}).then(all => {
  const first = v => v.nodes[0].html.slice(0, 160);
  window.found = all.violations.map(v => [v.id, v.help, v.nodes.length, first(v)]);
}); 1"""


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


def violations(browser, script, path, theme):
    """What axe finds on a page in one theme."""
    media = [{"name": "prefers-color-scheme", "value": theme}]
    browser.ask("Emulation.setEmulatedMedia", features=media)
    browser.open(path)
    browser.run(f"document.documentElement.dataset.theme = {theme!r}; 1")
    browser.run(script + "; 1")
    browser.run(RUN % json.dumps(TAGS))
    return json.loads(browser.wait("window.found && JSON.stringify(window.found)", 60))


def pages_of(folder):
    """Every page below a folder but JupyterLite's own and the parts of the theme that nobody opens."""
    for path in sorted(folder.rglob("*.html")):
        if not {"lite", "_static"} & set(path.relative_to(folder).parts):
            yield path


def main(folders):
    script = axe()
    paths = [path for folder in folders for path in pages_of(Path(folder).absolute())]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder))
        for path in paths:
            for theme in ("light", "dark"):
                for rule, text, number, first in violations(browser, script, path, theme):
                    count += number
                    print(
                        f"{path.name} ({theme}): {rule}: {text}, {number} times, first in {first}"
                    )
        browser.close()
    print(
        f"axe-core {VERSION}: {len(paths)} pages, light and dark, {count} violations of WCAG 2.2 AA."
    )
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
