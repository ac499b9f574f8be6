"""The site: the sources of its pages, and Jupyter Book's run over them.

Every page is made from what the project has: notebooks from the executed solutions, the rest from README and
docstrings. Jupyter Book lives in an environment of its own, for its pins are not ours.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from attn_course.building import (
    badges,
    build,
    cards,
)
from attn_course.building.cells import rendered, solution_notebook
from attn_course.building.interactive import moving_figures
from attn_course.building.outputs import (
    attach,
    stored_outputs,
)
from attn_course.building.pages import FIGURE, page_of
from attn_course.building.reference import reference_page
from attn_course.errors import UserError
from attn_course.figures.display import asset

FIRST = "00_start_here"  # its first figure opens the site
# Scripts for cells that a server runs; there is none, and Jupyter Book loads them twice.
THEBE = re.compile(r"^ *<(?:link|script)\b[^>]*sphinx-thebe.*\n|^ *<script>const THEBE_.*\n", re.M)
PARTS = {  # of the course: number of its first notebook -> name
    0: "What attention can do",
    6: "Attention in a transformer",
    9: "Translation",
    11: "Beyond",
}


def make_site(root: Path, out: Path, book: Path) -> None:
    """Write the site into `out`. book: the command jupyter-book; its warnings are errors."""
    work = out.parent
    sources = work / "pages"
    shutil.rmtree(sources, ignore_errors=True)
    write_sources(root, sources, work / "frames")
    _run_book(book, sources, work / "book")
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(work / "book" / "_build" / "html", out)
    drop_unused(out)
    (out / ".nojekyll").touch()  # or GitHub leaves out folders that begin with _


def write_sources(root: Path, folder: Path, frames: Path) -> None:
    """Everything Jupyter Book reads. frames: where packed figures are kept from one run to the next."""
    static = folder / "_static"
    static.mkdir(parents=True)
    downloads = folder / "downloads"
    downloads.mkdir()

    pages = {}
    for source in build.sources(root):
        solution = _solution(source, root)
        moving = moving_figures(solution, source.stem, frames)
        page = page_of(solution, moving, folder)
        _offer_download(page, source.stem)
        pages[source.stem] = page
        (folder / f"{source.stem}.ipynb").write_text(rendered(page, "ipynb"), "utf-8")
        shutil.copy(root / "notebooks" / f"{source.stem}.ipynb", downloads)

    texts = {
        "index.md": _landing_page(root, pages[FIRST]),
        "graders.md": _graders_page(root),
        "reference.md": reference_page(),
        "_toc.yml": contents({name: _title(page) for name, page in pages.items()}),
        "_config.yml": _template("_config.yml"),
        "_static/course.css": _template("course.css"),
        "_static/favicon.svg": _template("favicon.svg"),
        "_static/figures.css": asset("figure.css"),
        "_static/figures.js": _script(),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")


def _solution(source: Path, root: Path) -> Any:
    """The executed solution as it is stored, without the cell that brings the course elsewhere."""
    notebook = solution_notebook(source, badges.repository_of(root))
    notebook.cells = [cell for cell in notebook.cells if cell.id != badges.SETUP_ID]
    outputs = stored_outputs(notebook, root / "solutions" / f"{source.stem}.ipynb")
    if outputs is None:
        raise UserError(
            f"the outputs of {source.stem} are not those of its source; run attn build."
        )
    return attach(notebook, outputs)


def _template(name: str) -> str:
    """The text of a file in site/."""
    return (resources.files("attn_course.building") / "site" / name).read_text("utf-8")


def _script() -> str:
    """What moves the figures of every page."""
    parts = [asset(name) for name in ("shared.js", "frames.js", "plane.js")]
    text = "\n".join(parts)
    return f"(() => {{\n{text}\n}})();\n"


def _offer_download(page: Any, name: str) -> None:
    """Put a link to the student's notebook below the head line of its page."""
    first = page.cells[0]
    link = f"Download {{download}}`{name}.ipynb <downloads/{name}.ipynb>`"
    first.source = cards.add_below_head(first.source, link)


def _landing_page(root: Path, first: Any) -> str:
    """The first page: a figure that moves, the notebooks, how to begin."""
    table = cards.notebook_list(build.table_rows(root))
    linked = re.sub(r"^\| `(\w+)` \|", r"| [`\1`](\1.ipynb) |", table, flags=re.M)
    page = Template(_template("index.md"))
    return page.substitute(
        plane="\n".join(_first_figure(first)),
        notebooks=linked,
        start="\n\n".join(readme_sections(root, "Two commands", "Where it runs")),
    )


def _first_figure(page: Any) -> Iterator[str]:
    """The still picture and the moving figure of the first cell that has one."""
    for cell in page.cells:
        outputs = cell.get("outputs", [])
        shown = [output.get("data", {}).get("text/html", "") for output in outputs]
        if any(map(FIGURE.search, shown)):
            yield from shown
            return


def _graders_page(root: Path) -> str:
    page = Template(_template("graders.md"))
    _, text = readme_sections(root, "For graders")[0].split("\n", 1)
    return page.substitute(grading=text.replace("```csv", "```text"))  # a language Pygments lacks


def readme_sections(root: Path, *titles: str) -> list[str]:
    """Sections of README, each with its heading."""
    text = (root / "README.md").read_text("utf-8")
    found = []
    for title in titles:
        heading = re.escape(title)
        section = re.search(rf"(?ms)^## {heading}\n.*?(?=^## |\Z)", text)
        if section is None:
            raise UserError(f'README.md has no section "{title}".')
        found.append(section[0].rstrip())
    return found


def _title(page: Any) -> str:
    """The title of a notebook, from its first cell."""
    found = cards.TITLE.search(page.cells[0].source)
    return found["title"] if found else ""


def contents(titles: dict[str, str]) -> str:
    """The table of contents as Jupyter Book reads it. titles: of the notebooks, in their order."""
    text = "format: jb-book\nroot: index\nparts:\n"
    opened = None
    for name, title in titles.items():
        number = name[:2]
        part = _part_of(int(number))
        if part != opened:
            text += _opening(part)
            opened = part
        text += f"      - file: {name}\n"
        text += f'        title: "{number} {title}"\n'
    text += _opening("More")
    text += "      - file: graders\n"
    text += "      - file: reference\n"
    return text


def _part_of(number: int) -> str:
    """The part of the course that a notebook belongs to."""
    first = max(start for start in PARTS if start <= number)
    return PARTS[first]


def _opening(caption: str) -> str:
    return f"  - caption: {caption}\n    chapters:\n"


def _run_book(book: Path, sources: Path, out: Path) -> None:
    """Jupyter Book over the sources; its last words where it fails."""
    shutil.rmtree(out, ignore_errors=True)
    given = [str(book), "build", str(sources), "--path-output", str(out)]
    command = [*given, "-W", "--keep-going", "-q"]
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    try:
        ran = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UserError(f"Jupyter Book could not be started: {error}") from None
    if ran.returncode:
        raise UserError(f"Jupyter Book refuses the pages:\n{ran.stdout}\n{ran.stderr}")


def drop_unused(site: Path) -> None:
    """Take out what no page needs: other outputs of MathJax, maps of scripts, a server's scripts."""
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
        path.write_text(THEBE.sub("", text), "utf-8")
