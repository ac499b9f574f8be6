"""The site: the sources of its pages, and Jupyter Book's run over them.

Every page is made from what the project has: notebooks from the executed solutions, the rest from docs/ and
the docstrings of `attn_utils`. Jupyter Book has an environment of its own, since its pins are not ours.
"""

import os
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from attn_course import register
from attn_course.building import build, headings, published_links
from attn_course.building.cells import rendered
from attn_course.building.pages import FIGURE, page_figures, page_of
from attn_course.building.playground import write_playground
from attn_course.errors import UserError
from attn_course.figures.display import asset

FIRST = register.NOTEBOOKS[0]  # its query plane opens the site
PICTURE = re.compile(r'<img class="attn-picture" alt="(?P<alt>[^"]*)" src="(?P<source>[^"]+)"')
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
PLAYGROUND = "playground/index.html"
WITH_PLAYGROUND = ("00", "06", "09", "10")  # the notebooks whose pages link to it
# Scripts for cells that a server runs; there is none, and Jupyter Book loads them twice.
THEBE = re.compile(r"^ *<(?:link|script)\b[^>]*sphinx-thebe.*\n|^ *<script>const THEBE_.*\n", re.M)
# What a screen reader would say instead of the text of the theme's search button, or beside the name of
# the button for dark pages.
OTHER_NAMES = re.compile(
    r'(?P<kept>class="btn search-button-field [^"]*"|data-mode="\w+")'
    r' +title="[^"]*"(?: aria-label="[^"]*")?'
)


def make_site(root: Path, out: Path, book: Path) -> None:
    """Write the site into `out`. book: the command jupyter-book; its warnings are errors."""
    work = out.parent
    sources = work / "pages"
    shutil.rmtree(sources, ignore_errors=True)
    write_sources(root, sources, work / "figures")
    run_book(book, sources, work / "book", root)
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(work / "book" / "_build" / "html", out)
    drop_unused(out)
    write_playground((out / PLAYGROUND).parent)
    (out / ".nojekyll").touch()  # or GitHub leaves out folders that begin with _


def write_sources(root: Path, folder: Path, figures: Path) -> None:
    """Everything Jupyter Book reads. figures: where these are kept from one run to the next."""
    (folder / "_static").mkdir(parents=True)
    downloads = folder / "downloads"
    downloads.mkdir()
    repository = published_links.repository_of(root)

    pages = {}
    for source in build.sources(root):
        name = source.stem
        solution = _solution(source, repository)
        drawn = page_figures(solution, name, root / "solutions", figures)
        page = page_of(solution, drawn, folder)
        first = page.cells[0]
        links = f"Download {{download}}`{name}.ipynb <downloads/{name}.ipynb>`"
        if not register.needs_torch(name):
            address = f"browser/index.html?notebook={name}"
            links += f' · <a href="{address}">Run it in your browser</a>'
        if name[:2] in WITH_PLAYGROUND:
            links += f' · <a href="{PLAYGROUND}">Break a trained model in the playground</a>'
        first.source = headings.add_below_head(first.source, links)
        pages[name] = page
        (folder / f"{name}.ipynb").write_text(rendered(page, "ipynb"), "utf-8")
        shutil.copy(root / "notebooks" / f"{name}.ipynb", downloads)

    found = sorted((root / "docs").glob("*.md"), key=lambda path: path.name.lower())
    docs = {path.name: path.read_text("utf-8") for path in found}
    (folder / "images").mkdir()
    for path in (root / "docs" / "images").glob("*"):
        shutil.copy(path, folder / "images")
    texts = {name: site_text(text, set(docs), repository) for name, text in docs.items()}
    script = "\n".join(asset(name) for name in ("shared.js", "frames.js", "plane.js"))
    titles = {name: _title(page.cells[0].source) for name, page in pages.items()}
    texts |= {
        "index.md": landing_page(build.table_rows(root), pages, repository),
        "reference.md": template("reference.md"),
        "docstrings.py": template("docstrings.py"),
        "_toc.yml": contents(titles, {name: _title(text) for name, text in docs.items()}),
        "_config.yml": configuration(repository),
        "_static/course.css": template("course.css"),
        "_static/favicon.svg": template("favicon.svg"),
        "_static/figures.css": asset("figure.css"),
        "_static/figures.js": f"(() => {{\n{script}\n}})();\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")


def _solution(source: Path, repository: str) -> Any:
    """The executed solution as it is stored, without the cell that fetches the course elsewhere."""
    solution = build.stored_solution(source, repository)
    if solution is None:
        raise UserError(
            f"the outputs of {source.stem} are not those of its source; run attn build."
        )
    solution.cells = [cell for cell in solution.cells if cell.id != published_links.SETUP_ID]
    return solution


def template(name: str) -> str:
    """The text of a file in site/."""
    return (resources.files("attn_course.building") / "site" / name).read_text("utf-8")


def _title(text: str) -> str:
    """The title of a page, from its text."""
    found = headings.TITLE.search(text)
    return found["title"] if found else ""


def configuration(repository: str) -> str:
    """Jupyter Book's settings, with launch buttons and links where the course is published."""
    footer = "Code under the MIT licence, text and figures under CC BY 4.0."
    if repository:
        footer += f' <a href="{repository}">Repository</a>'
        footer += f' · <a href="{repository}/issues">Report a mistake</a>'
    page = Template(template("_config.yml"))
    text = page.substitute(repository=repository, branch=published_links.BRANCH, footer=footer)
    if repository:
        return text
    text = re.sub(r"^launch_buttons:\n(?:  .*\n)+", "", text, flags=re.M)
    return re.sub(r"(use_(?:repository|issues)_button): true", r"\1: false", text)


def landing_page(rows: list[headings.Row], pages: dict[str, Any], repository: str) -> str:
    """The first page: the query plane, where to start, the notebooks, an invitation."""
    plane = next(html for html in figures_of(pages[FIRST]) if "attn-plane" in html)
    contact = "CONTRIBUTING.md of the course says how to mend it or to add one."
    if repository:
        issues = f"[open an issue]({repository}/issues)"
        contact = f"Please {issues}, or see in the [repository]({repository}) how to add one."
    return Template(template("index.md")).substitute(
        meta=_meta(plane, repository),
        plane=plane,
        launch=published_links.links(repository, FIRST),
        notebooks="\n\n".join(_cards(rows, pages)),
        contact=contact,
    )


def figures_of(page: Any) -> list[str]:
    """The HTML of each figure of a page, in order."""
    found = []
    for cell in page.cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if FIGURE.search(html) or PICTURE.search(html):
                found.append(html)
    return found


def _meta(plane: str, repository: str) -> str:
    """What other sites show of a link to this one; its picture needs a full address."""
    facts = {
        "og:title": "The attention course",
        "og:type": "website",
        "og:description": "Hands-on notebooks on attention: figures to drag, answers checked at once.",
    }
    picture = PICTURE.search(plane)
    if repository.startswith(published_links.GITHUB) and picture:
        facts["og:image"] = f"{published_links.site_address(repository)}/{picture['source']}"
    return "\n".join(f'    "property={name}": "{fact}"' for name, fact in facts.items())


def _cards(rows: list[headings.Row], pages: dict[str, Any]) -> list[str]:
    """The notebooks in their parts, a card with a picture for each."""
    found = []
    for part, names in register.PARTS.items():
        listed = [row for row in rows if row.name in names and row.name in pages]
        if listed:
            inside = "\n".join(_card(row, pages[row.name]) for row in listed)
            found.append(f"## {part}\n\n::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{inside}\n::::")
    return found


def _card(row: headings.Row, page: Any) -> str:
    """A card of Sphinx Design that leads to a notebook."""
    number = row.name[:2]
    lines = [f":::{{grid-item-card}} {number} {row.title}", f":link: {row.name}", ":link-type: doc"]
    pictures = [PICTURE.search(html) for html in figures_of(page)]
    shown = next((picture for picture in pictures if picture), None)
    if shown:
        lines += [f":img-top: {shown['source']}", f":img-alt: A figure of notebook {number}"]
    return "\n".join([*lines, "", row.asks, "", row.card(), ":::"])


def site_text(text: str, pages: set[str], repository: str) -> str:
    """A page of docs/ for the site: its links lead to pages, or to the repository where there is none."""

    def linked(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if "://" in target or not target or target in pages or target.startswith("images/"):
            return found[0]
        notebook = re.fullmatch(r"(?:\.\./)?notebooks/(\w+)\.ipynb", target)
        if notebook:
            return f"[{found['text']}]({notebook[1]}.ipynb)"
        if not repository:
            return found["text"]
        path = target.removeprefix("../") if target.startswith("../") else f"docs/{target}"
        place = f"#{anchor}" if anchor else ""
        return f"[{found['text']}]({repository}/blob/{published_links.BRANCH}/{path}{place})"

    text = LINK.sub(linked, text)
    return text.replace("\n```csv\n", "\n```text\n")  # a language that Pygments lacks


def contents(notebooks: dict[str, str], docs: dict[str, str]) -> str:
    """The table of contents as Jupyter Book reads it; both: {name of the page: title}."""
    text = "format: jb-book\nroot: index\nparts:\n"
    for part, names in register.PARTS.items():
        listed = [name for name in names if name in notebooks]
        if listed:
            text += f"  - caption: {part}\n    chapters:\n"
        for name in listed:
            text += f'      - file: {name}\n        title: "{name[:2]} {notebooks[name]}"\n'
    text += "  - caption: More\n    chapters:\n"
    for name, title in docs.items():
        text += f'      - file: {name.removesuffix(".md")}\n        title: "{title}"\n'
    text += "      - file: reference\n"
    return text


def run_book(book: Path, sources: Path, out: Path, root: Path) -> None:
    """Jupyter Book over the sources; what it printed where it fails. root: where attn_utils is."""
    shutil.rmtree(out, ignore_errors=True)
    given = [str(book), "build", str(sources), "--path-output", str(out)]
    command = [*given, "-W", "--keep-going", "-q"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(root)}
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UserError(f"Jupyter Book could not be started: {error}") from None
    if ran.returncode:
        raise UserError(f"Jupyter Book refuses the pages:\n{ran.stdout}\n{ran.stderr}")


def drop_unused(site: Path) -> None:
    """Take out what no page needs: outputs of MathJax, maps, scripts for a server, names beside names."""
    mathjax = site / "_static" / "mathjax"
    for path in mathjax.rglob("*"):
        inside = path.relative_to(mathjax)
        is_font = inside.match("output/chtml/fonts/woff-v2/*.woff")
        if path.is_file() and not is_font and inside != Path("tex-chtml.js"):
            path.unlink()
    for path in [*site.rglob("*.map"), site / ".buildinfo", site / "objects.inv"]:
        path.unlink(missing_ok=True)
    for path in site.glob("*.html"):
        text = path.read_text("utf-8")
        path.write_text(OTHER_NAMES.sub(r"\g<kept>", THEBE.sub("", text)), "utf-8")
