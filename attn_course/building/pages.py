"""A notebook as a page of the site: the student's text with the pictures of the solution.

What a cell shows stays if a student's empty notebook would show the same; where an answer is used, pictures
alone stay, and none of a cell with the tag "spoiler", whose picture is the answer. So no answer, rubric or
reference can be read off a page.
"""

import base64
import functools
import hashlib
import json
import re
import struct
import sys
from collections.abc import Sequence
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.building.cells import copy_of, student_notebook
from attn_course.building.output_cache import digest, execute, seal_of
from attn_course.cell_variables import names_by_statement, names_of
from attn_course.figures.display import fill_template

PICTURES = "_static/figures"  # of the site
DEPENDS = "*What this prints depends on your answers.*"
SPOILER = "spoiler"
VERDICT = "*What a right answer is told:*"
HELD_BACK = "*In your notebook, your own answer is drawn here once it is right.*"
FIGURE = re.compile(r'<div class="attn-figure [^>]*></div>')
Names = set[str]
Figures = dict[str, list[str]]  # id of a cell -> its figures, as HTML
ANSWERS = {"answer", "check", "written"}


def page_of(solution: Any, figures: Figures, folder: Path) -> Any:
    """Return the page of an executed solution, and write its pictures below `folder`, the site's sources."""
    page = student_notebook(solution)
    outputs = {cell.id: cell.get("outputs", []) for cell in solution.cells}
    depending = cells_that_use_answers(solution)
    example = example_check(solution)

    for cell in page.cells:
        if cell.cell_type != "code":
            continue
        kept_outputs = []
        if not ANSWERS & set(cell.metadata):
            kept_outputs = outputs[cell.id]
        if cell.id == example:
            kept_outputs = [_output({"text/markdown": VERDICT}), *outputs[cell.id]]
        elif SPOILER in cell.metadata.get("tags", ()):
            kept_outputs = [_output({"text/markdown": HELD_BACK})]
        elif cell.id in depending:
            kept_outputs = pictures_alone(kept_outputs)
        cell.outputs = for_page(kept_outputs, figures.get(cell.id, ()), folder)
        cell.metadata.pop("nbgrader", None)

    return page


def example_check(notebook: Any) -> str:
    """Return the id of the first check of a code answer, whose verdict a page shows; "" if there is none.

    What a right answer is told gives nothing away there; in a derivation it would say where the chain ends.
    """
    for cell in notebook.cells:
        marker = cell.metadata.get("check", "")
        number, _, part = marker.partition(" ")
        if number and part != "derive" and "code" in register.find(number).kind:
            return cell.id
    return ""


def cells_that_use_answers(notebook: Any) -> Names:
    """Return the ids of the code cells whose results depend on an answer, directly or through other cells."""
    from_answers: Names = set()
    imported: Names = set()  # a call of a module's function changes nothing
    cell_ids = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        used, changed = names_in(cell.source)
        imported |= names_of(cell.source).imported
        is_answer = "answer" in cell.metadata
        if is_answer or used & from_answers:
            cell_ids.add(cell.id)
            from_answers |= changed - imported
    return cell_ids


def names_in(source: str) -> tuple[Names, Names]:
    """Return (names that a cell uses from cells before it, names that it assigns or changes)."""
    used: Names = set()
    changed: Names = set()
    own: Names = set()  # has a value in this cell, whatever came before
    for names in names_by_statement(source):
        used |= (names.used | names.used_later) - own
        changed |= names.defined | names.called
        own |= names.assigned
    return used, changed


def pictures_alone(outputs: Sequence[Any]) -> list[Any]:
    """Return the outputs that are figures, or a sentence if there are outputs and no figure."""
    kept = []
    for output in outputs:
        data = output.get("data", {})
        if "image/png" in data or FIGURE.search("".join(data.get("text/html", ""))):
            kept.append(output)
    if outputs and not kept:
        return [_output({"text/markdown": DEPENDS})]
    return kept


def for_page(outputs: Sequence[Any], figures: Sequence[str], folder: Path) -> list[Any]:
    """Return outputs as a page has them: each picture as a file with its alt text, followed by its figure."""
    drawn = iter(figures)
    kept = []
    for output in outputs:
        data = output.get("data", {})
        html = "".join(data.get("text/html", ""))
        if "image/png" in data:
            kept.append(_output({"text/html": _picture(output, folder) + next(drawn, "")}))
        elif FIGURE.search(html) is None:  # a plane's script is among `figures`
            kept.append(output)
    return kept


def page_figures(solution: Any, name: str, folder: Path, cache: Path) -> Figures:
    """Return the figures of an executed solution as the site shows them: they work without a kernel.

    The solution is run once more in `folder`, with figures made for pages. They are kept in `cache`, under
    a name made of everything they follow from: the code of the notebook, and `digest_of_packages`.
    """
    path = cache / f"{name}-{digest([seal_of(solution), digest_of_packages()])}.json"
    if path.exists():
        return json.loads(path.read_text("utf-8"))

    figures = _draw_figures(solution, folder)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{name}-*.json"):
        old.unlink()
    path.write_text(json.dumps(figures), "utf-8")
    return figures


@functools.cache
def digest_of_packages(folder: Path = Path(__file__).parents[2]) -> str:
    """Return a digest of the course's files below `folder` and of the versions of Python and all packages.

    The templates of the site are left out: no figure follows from them.
    """
    versions = {f"{package.name} {package.version}" for package in metadata.distributions()}
    whole = hashlib.sha256(json.dumps([sys.version, *sorted(versions)]).encode())
    templates = folder / "attn_course" / "building" / "site"
    for name in ("attn_utils", "attn_course"):
        for path in sorted((folder / name).rglob("*")):
            if path.is_file() and path.suffix != ".pyc" and templates not in path.parents:
                whole.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return whole.hexdigest()


def _draw_figures(solution: Any, folder: Path) -> Figures:
    """Run the cells up to the last one with a picture, and collect the figures."""
    trial = copy_of(solution)
    while trial.cells and not _has_picture(trial.cells[-1]):
        trial.cells.pop()
    code = [cell for cell in trial.cells if cell.cell_type == "code"]
    figures_of: Figures = {}
    for cell, outputs in zip(code, execute(trial, folder, figures="page"), strict=True):
        html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
        if figures := FIGURE.findall(html):
            figures_of[cell.id] = figures
    return figures_of


def _has_picture(cell: Any) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


def alt_of(output: Any) -> str:
    """Return the alt text of a stored picture."""
    kept = output["metadata"].get("image/png", {})
    return kept.get("alt", "")


def _picture(output: Any, folder: Path) -> str:
    """Write a stored picture as a file of the site, named by its content, and return its <img>."""
    text = "".join(output["data"]["image/png"])
    png = base64.b64decode(text)
    name = hashlib.sha256(png).hexdigest()[:16] + ".png"
    path = folder / PICTURES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png)

    width, height = struct.unpack(">II", png[16:24])  # a PNG says its size here
    return fill_template(
        "linked_picture.html",
        alt=escape(alt_of(output)),
        source=f"{PICTURES}/{name}",
        width=str(width),
        height=str(height),
    )


def _output(data: dict[str, str]) -> Any:
    import nbformat

    return nbformat.v4.new_output("display_data", data=data)
