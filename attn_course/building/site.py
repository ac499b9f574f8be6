"""The site: the sources of its pages, and Sphinx's run over them.

Pages are made from what the project has: notebooks from the executed solutions, the rest from docs/ and the
docstrings of `attn_utils`. docs/conf.py has Sphinx's settings. Sphinx has an environment of its own.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import Any

from attn_course import register
from attn_course.building import build, headings, published_links
from attn_course.building.cells import rendered
from attn_course.building.pages import FIGURE, page_figures, page_of
from attn_course.building.playground import write_playground
from attn_course.errors import UserError
from attn_course.figures.display import asset, style_sheet

FIRST = register.NOTEBOOKS[0]  # its query plane opens the site
PICTURE = re.compile(r'<img class="attn-picture" alt="(?P<alt>[^"]*)" src="(?P<source>[^"]+)"')
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
WHEEL = re.compile(r"`dist/(attention_course-[\w.-]+\.whl)`")
PLAYGROUND = "playground/index.html"
WITH_PLAYGROUND = ("00", "06", "10", "11")  # the notebooks whose pages link to it
# The pages of docs/ in the groups of the navigation; a page that is not named here is about contributing.
LEARN = ("install", "faq", "translator", "notation")
TEACH = ("instructors", "grading")
CONTRIBUTE = ("contributing-a-question", "architecture", "reference", "benchmarks", "LICENSE")
# Which picture of a notebook stands on its card, counted from 0, where it is not the first.
CARD_PICTURES = {
    "01_copying": 2,
    "02_average_of_two": 1,
    "04_two_heads": 3,
    "05_keys_queries_values": 1,
    "06_transformer_attention": 3,
    "08_pretrained_knowledge": 1,
    "10_translation": 5,
    "11_bleu_comparison": 3,
    "12_position": 4,
    "13_fast_attention": 1,
    "15_decoding": 1,
}


def make_site(root: Path, out: Path, python: Path) -> None:
    """Write the site into `out`. python: the interpreter that has Sphinx, whose warnings are errors."""
    work = out.parent
    sources = work / "pages"
    shutil.rmtree(sources, ignore_errors=True)
    write_sources(root, sources, work / "figures")
    write_wheel(root, sources / "downloads")
    run_sphinx(python, sources, work / "html", root)
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(work / "html", out)
    write_playground((out / PLAYGROUND).parent)
    (out / ".nojekyll").touch()  # or GitHub leaves out folders that begin with _


def write_sources(root: Path, folder: Path, figures: Path) -> None:
    """Write all that Sphinx reads: docs/ and the notebooks. figures: a folder that keeps figures."""
    shutil.copytree(root / "docs", folder)
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

    docs = {path.stem: path.read_text("utf-8") for path in folder.glob("*.md")}
    script = "\n".join(asset(name) for name in ("shared.js", "frames.js", "plane.js"))
    texts = {f"{name}.md": site_text(text, set(docs), repository) for name, text in docs.items()}
    texts |= {
        "index.md": landing_page(build.table_rows(root), pages, set(docs), repository),
        "_static/figures.css": style_sheet(),
        "_static/figures.js": f"(() => {{\n{script}\n}})();\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")


def write_wheel(root: Path, folder: Path) -> None:
    """Write the wheel that the page on installing offers: a reader of the site may have nothing else."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise UserError(f"the wheel could not be made:\n{ran.stdout}\n{ran.stderr}")


def _solution(source: Path, repository: str) -> Any:
    """Return the executed solution as it is stored, without the cells that matter to students alone."""
    solution = build.stored_solution(source, repository)
    if solution is None:
        raise UserError(
            f"the outputs of {source.stem} are not those of its source; run attn build."
        )
    generated = published_links.MADE_BY_BUILD
    solution.cells = [cell for cell in solution.cells if cell.id not in generated]
    return solution


def landing_page(
    rows: list[headings.Row], pages: dict[str, Any], docs: set[str], repository: str
) -> str:
    """Return the first page: the query plane, ways in, the notebooks, and the contents for the navigation.

    docs: the names of the pages of docs/.
    """
    plane = next(html for html in figures_of(pages[FIRST]) if "attn-plane" in html)
    contact = "CONTRIBUTING.md of the course says how to mend it or to add one."
    if repository:
        issues = f"[open an issue]({repository}/issues)"
        contact = f"Please {issues}, or see in the [repository]({repository}) how to add one."
    text = (resources.files("attn_course.building") / "site" / "index.md").read_text("utf-8")
    return Template(text).substitute(
        meta=_meta(plane, repository),
        plane=plane,
        launch=published_links.links(repository, FIRST),
        notebooks="\n\n".join(_cards(rows, pages)),
        contact=contact,
        summary=headings.summary(rows),
        contents=contents(rows, docs),
    )


def figures_of(page: Any) -> list[str]:
    """Return the HTML of each figure of a page, in order."""
    figures = []
    for cell in page.cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if FIGURE.search(html) or PICTURE.search(html):
                figures.append(html)
    return figures


def _meta(plane: str, repository: str) -> str:
    """Return what other sites show of a link to this one; its picture needs a full address."""
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
    """Return the notebooks in their parts, a card with a picture for each."""
    parts = []
    for part, names in register.PARTS.items():
        listed = [row for row in rows if row.name in names and row.name in pages]
        if listed:
            inside = "\n".join(_card(row, pages[row.name]) for row in listed)
            parts.append(f"## {part}\n\n::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{inside}\n::::")
    return parts


def _card(row: headings.Row, page: Any) -> str:
    """Return a card of Sphinx Design that leads to a notebook."""
    number = row.name[:2]
    lines = [f":::{{grid-item-card}} {number} {row.title}", f":link: {row.name}", ":link-type: doc"]
    pictures = [picture for picture in map(PICTURE.search, figures_of(page)) if picture]
    if pictures:
        picture = pictures[min(CARD_PICTURES.get(row.name, 0), len(pictures) - 1)]
        lines += [f":img-top: {picture['source']}", f":img-alt: A figure of notebook {number}"]
    return "\n".join([*lines, "", row.asks, "", row.card(), ":::"])


def site_text(text: str, pages: set[str], repository: str) -> str:
    """Return a page of docs/ for the site: its links lead to pages, or else to the repository.

    A link that is called after its file takes the title of the page. The wheel can be downloaded.
    """

    def linked(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        is_page = target.removesuffix(".md") in pages
        if is_page and match["text"] == target:
            return f"[](<{match['target']}>)"
        if "://" in target or not target or is_page or target.startswith("images/"):
            return match[0]
        notebook = re.fullmatch(r"(?:\.\./)?notebooks/(\w+)\.ipynb", target)
        if notebook:
            return f"[{match['text']}]({notebook[1]}.ipynb)"
        if not repository:
            return match["text"]
        path = target.removeprefix("../") if target.startswith("../") else f"docs/{target}"
        fragment = f"#{anchor}" if anchor else ""
        return f"[{match['text']}]({repository}/blob/{published_links.BRANCH}/{path}{fragment})"

    text = WHEEL.sub(r"{download}`\1 <downloads/\1>`", LINK.sub(linked, text))
    return text.replace("\n```csv\n", "\n```text\n")  # a language that Pygments lacks


def contents(rows: list[headings.Row], docs: set[str]) -> str:
    """Return the tables of contents that the navigation shows: to learn, to teach, to contribute."""
    others = sorted(docs - {*LEARN, *TEACH, *CONTRIBUTE})
    titled = [f"{row.name[:2]} {row.title} <{row.name}>" for row in rows]
    groups = {
        # The template writes the caption of the first group, Learn.
        "": [*titled, *(name for name in LEARN if name in docs)],
        "Teach": [name for name in TEACH if name in docs],
        "Contribute": [*(name for name in CONTRIBUTE if name in docs), *others],
    }
    tables = []
    for caption, names in groups.items():
        lines = "\n".join(names)
        options = f":hidden:\n:caption: {caption}" if caption else ":hidden:"
        tables.append(f"```{{toctree}}\n{options}\n\n{lines}\n```")
    return "\n\n".join(tables)


def run_sphinx(python: Path, sources: Path, out: Path, root: Path) -> None:
    """Run Sphinx over the sources; raise UserError with what it printed if it fails.

    root: the folder of attn_utils, whose docstrings are read.
    """
    shutil.rmtree(out, ignore_errors=True)
    doctrees = out.with_name("doctrees")
    shutil.rmtree(doctrees, ignore_errors=True)
    options = ["-W", "--keep-going", "-q", "-d", str(doctrees)]
    command = [str(python), "-m", "sphinx", *options, str(sources), str(out)]
    repository = published_links.repository_of(root)
    settings = {
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": str(root),
        "ATTN_REPOSITORY": repository,
        "ATTN_VERSION": metadata.version("attention-course"),
    }
    try:
        ran = subprocess.run(
            command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise UserError(f"Sphinx could not be started: {error}") from None
    if ran.returncode:
        raise UserError(f"Sphinx refuses the pages:\n{ran.stdout}\n{ran.stderr}")
