"""Outputs of a solution: made once, stored, and sealed to the code that made them."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from attn_course.building.published_links import MADE_BY_BUILD
from attn_course.errors import UserError

WIDGET = "application/vnd.jupyter.widget-view+json"
Outputs = list[Any]  # of one cell, or of each
SECONDS = 600  # that one cell may take


def digest(value: Any) -> str:
    """Return sixteen hexadecimal digits that stand for a value, which JSON can hold."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _code_cells(notebook: Any) -> list[Any]:
    """Return the code cells without those that the build adds, on which no output depends."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [cell for cell in cells if cell.get("id") not in MADE_BY_BUILD]


def seal_of(notebook: Any) -> dict[str, str]:
    """Return digests of code and outputs: prose may change without a new run, code may not."""
    cells = _code_cells(notebook)
    texts = ["".join(cell["source"]) for cell in cells]
    outputs = [cell["outputs"] for cell in cells]
    return {"code": digest(texts), "outputs": digest(outputs)}


def stored_outputs(notebook: Any, path: Path) -> Outputs | None:
    """Return the outputs in the file at `path`, if they are those of this notebook's code; else None."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        seal = stored["metadata"]["attn"]
        outputs = [cell["outputs"] for cell in _code_cells(stored)]
    except (OSError, ValueError, KeyError, TypeError):
        return None

    expected = {"code": seal_of(notebook)["code"], "outputs": digest(outputs)}
    return outputs if seal == expected else None


def attach(notebook: Any, outputs: Outputs) -> Any:
    """Put `outputs` into the notebook and seal it against later changes."""
    import nbformat

    pairs = zip(_code_cells(notebook), outputs, strict=True)
    for count, (cell, given) in enumerate(pairs, 1):
        cell.execution_count = count
        cell.outputs = [nbformat.from_dict(output) for output in given]
        for output in cell.outputs:
            if "execution_count" in output:
                output["execution_count"] = count

    notebook.metadata["attn"] = seal_of(notebook)
    return notebook


def execute(notebook: Any, folder: Path, figures: str = "still") -> Outputs:
    """Return the outputs of every code cell, run from top to bottom in a fresh kernel.

    figures: for whom they are drawn, "still" for a stored notebook, "page" for the site.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    started: list[str] = []  # the first line of each cell

    def remember(cell: Any, cell_index: int) -> None:
        started.append(cell["source"].partition("\n")[0])

    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        on_cell_start=remember,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # or it warns of its own socket
    )
    try:
        client.execute(env={**os.environ, "ATTN_FIGURES": figures})
    except CellExecutionError as error:
        raise UserError(f"a cell fails:\n{error}") from None
    except DeadKernelError:
        raise UserError(
            f"the kernel died in the cell that begins with `{started[-1]}`; "
            "too little memory is the usual reason."
        ) from None
    except CellTimeoutError:
        raise UserError(
            f"the cell that begins with `{started[-1]}` takes longer than {SECONDS} seconds."
        ) from None
    return [without_widgets(cell.outputs) for cell in _code_cells(notebook)]


def without_widgets(outputs: Outputs) -> Outputs:
    """Return outputs without what needs a kernel: widgets, and what widgets alone would show."""
    kept = []
    for output in outputs:
        if output.get("output_type") in ("display_data", "execute_result"):
            data = output["data"]
            picture = output["metadata"].get("image/png", {})
            output["metadata"] = {"image/png": picture} if "alt" in picture else {}
            is_widget = data.pop(WIDGET, None) is not None
            if not data or (is_widget and set(data) <= {"text/plain"}):
                continue  # a progress bar: without its kernel only the first line of it is left
        kept.append(output)
    return kept
