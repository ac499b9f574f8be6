"""The figures with sliders of a notebook, packed for pages. Runs the cells they need, without a kernel.

Their frames are kept in a folder, under a name made of everything they follow from.
"""

import builtins
import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attn_course.building.outputs import seal_of
from attn_course.building.pages import figure_of, has_sliders
from attn_course.figures.sliders import Drawing, Ends

Moving = dict[str, list[str]]  # id of a cell -> its figures, as HTML


def moving_figures(solution: Any, name: str, cache: Path) -> Moving:
    """The packed figures of an executed solution; run only if what they follow from has changed."""
    if not _last_with_sliders(solution):
        return {}

    path = cache / f"{name}-{_key(solution)}.json"
    if path.exists():
        return json.loads(path.read_text("utf-8"))

    found = _run(solution)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{name}-*.json"):
        old.unlink()
    path.write_text(json.dumps(found), "utf-8")
    return found


def _last_with_sliders(solution: Any) -> str:
    """The id of the last cell that has a figure with sliders, or nothing."""
    last = ""
    for cell in solution.cells:
        outputs = cell.get("outputs", [])
        if any(has_sliders(output) for output in outputs):
            last = cell.id
    return last


def _key(solution: Any) -> str:
    """A digest of the notebook, its outputs and the code that draws."""
    digest = hashlib.sha256(json.dumps(seal_of(solution)).encode())
    drawing = Path(__file__).parents[1] / "figures"
    for path in sorted(drawing.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(solution: Any) -> Moving:
    """Run the cells up to the last one with sliders, checks left out, and catch the figures."""
    import matplotlib.pyplot as plt

    last = _last_with_sliders(solution)
    found: Moving = {}
    scope: dict[str, Any] = {"__name__": "__main__"}
    with _caught(found) as at_cell, contextlib.redirect_stdout(io.StringIO()):
        for cell in solution.cells:
            if cell.cell_type == "code" and "check" not in cell.metadata:
                at_cell(cell.id)
                code = compile(cell.source, cell.id, "exec")
                exec(code, scope)
                plt.close("all")
            if cell.id == last:
                break
    return found


@contextlib.contextmanager
def _caught(found: Moving) -> Iterator[Callable[[str], None]]:
    """While it lasts, `explore` adds its figure to `found`, and nothing is displayed."""
    from attn_course import figures

    here = ""

    def at_cell(name: str) -> None:
        nonlocal here
        here = name

    def catch(draw: Drawing, **sliders: Ends) -> None:
        page = figures.packed(draw, **sliders)
        found.setdefault(here, []).append(figure_of(page))

    def nothing(*shown: object, **options: object) -> None:
        pass

    kept = figures.explore, figures.query_plane
    vars(figures).update(explore=catch, query_plane=nothing)
    vars(builtins)["display"] = nothing
    try:
        yield at_cell
    finally:
        vars(figures).update(explore=kept[0], query_plane=kept[1])
        del vars(builtins)["display"]
