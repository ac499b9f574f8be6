"""The figures of a notebook as the site shows them: drawings and sliders that work without a kernel.

The solution is run once more, with figures made for pages. They are kept in a folder, under a name made of
everything they follow from.
"""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

from attn_course.building.outputs import execute, seal_of
from attn_course.building.pages import FIGURE

Figures = dict[str, list[str]]  # id of a cell -> its figures, as HTML


def page_figures(solution: Any, name: str, folder: Path, cache: Path) -> Figures:
    """The figures of an executed solution; run only if what they follow from has changed.

    folder: where the solution is run.
    """
    path = cache / f"{name}-{_key(solution)}.json"
    if path.exists():
        return json.loads(path.read_text("utf-8"))

    found = _run(solution, folder)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{name}-*.json"):
        old.unlink()
    path.write_text(json.dumps(found), "utf-8")
    return found


def _key(solution: Any) -> str:
    """A digest of the notebook, its outputs and the code that draws."""
    digest = hashlib.sha256(json.dumps(seal_of(solution)).encode())
    drawing = Path(__file__).parents[1] / "figures"
    for path in sorted(drawing.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(solution: Any, folder: Path) -> Figures:
    """Run the cells up to the last one with a picture, and collect the figures."""
    trial = copy.deepcopy(solution)
    while trial.cells and not _has_picture(trial.cells[-1]):
        trial.cells.pop()
    code = [cell for cell in trial.cells if cell.cell_type == "code"]
    found: Figures = {}
    for cell, outputs in zip(code, execute(trial, folder, figures="page"), strict=True):
        html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
        if figures := FIGURE.findall(html):
            found[cell.id] = figures
    return found


def _has_picture(cell: Any) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))
