"""A source as a notebook, for instructors and for students.

A cell says what it is in its marker: `answer="1.4"` (solution regions are cut for students), `check="1.4"`,
`written="1.7"` (a reference answer, replaced by an empty one), `rubric="1.7"` and `only="solution"`
(dropped for students). A question marked in two parts names the part: `answer="3.5 derive"`.
"""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.building import headings, notation, published_links
from attn_course.errors import UserError
from attn_course.markers import EMPTY, cut_solutions

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
ROLES = ("answer", "check", "written", "rubric", "only")
HIDDEN = {"rubric", "only"}  # from students
BANNER = '<!-- Made by "attn build" from solutions/{}.py. Instructors edit that file. -->\n'
PAIRED = {
    "cell_metadata_filter": f"{','.join(ROLES)},tags,-all",
    "formats": "ipynb,py:percent",
    "notebook_metadata_filter": "-all",
}
UNPAIRED = {"formats": "ipynb"}  # a student's .ipynb is the truth: no text overwrites it


def read_source(source: Path) -> Any:
    """Return the cells of a source as they stand there."""
    import jupytext

    notebook = jupytext.read(source, fmt="py:percent")
    for cell in notebook.cells:
        cell.source = cell.source.strip("\n")

    first = notebook.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        raise UserError(f"{source.name} must open with a markdown cell that holds the title.")
    return notebook


def solution_notebook(source: Path, repository: str = "") -> Any:
    """Return the source as a notebook without outputs, with headings and notation, our ids and metadata.

    repository: where the course is published; if it is, a set-up cell and links are put in.
    """
    notebook = read_source(source)
    symbols = source.parents[1] / "docs" / "notation.md"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
        else:
            cell.source = headings.write_headings(cell.source)
            cell.source = notation.write_tables(cell.source, source.stem, symbols)

    first = notebook.cells[0]
    head = headings.write_head(first.source, source.stem)
    first.source = BANNER.format(source.stem) + head
    finished = _finish(notebook)
    _open_to_all(finished, source.stem, repository)
    return finished


def _open_to_all(notebook: Any, name: str, repository: str) -> None:
    """Add links that open the notebook elsewhere, the cell that fetches the course, and `progress()`."""
    import nbformat

    first = notebook.cells[0]
    links = published_links.links(repository, name)
    if links:
        first.source = headings.add_below_head(first.source, links)

    text = published_links.setup_cell(repository, name)
    setup = nbformat.v4.new_code_cell(text, id=published_links.SETUP_ID)
    notebook.cells.insert(1, setup)
    end = nbformat.v4.new_code_cell(published_links.PROGRESS, id=published_links.PROGRESS_ID)
    end.metadata["tags"] = ["nbval-ignore-output"]  # it differs from student to student
    notebook.cells.append(end)


def student_notebook(solution: Any) -> Any:
    """Return the same notebook for students: answers cut, rubrics dropped, nothing executed, not paired."""
    notebook = copy_of(solution)
    notebook.cells = [cell for cell in notebook.cells if not HIDDEN & set(cell.metadata)]
    for cell in notebook.cells:
        if "written" in cell.metadata:
            cell.source = EMPTY.format(cell.metadata["written"])
        elif cell.cell_type == "code":
            cell.source = cut_solutions(cell.source)
            cell.outputs = []
            cell.execution_count = None

    notebook.metadata.pop("attn", None)
    notebook.metadata["jupytext"] = dict(UNPAIRED)
    return notebook


def copy_of(notebook: Any) -> Any:
    """Return a deep copy that shares nothing with `notebook`."""
    import nbformat

    return nbformat.from_dict(json.loads(json.dumps(notebook)))


def rendered(notebook: Any, kind: str) -> str:
    """Return the text of a file: a notebook as JSON ("ipynb"), or as a percent script ("py")."""
    import jupytext

    if kind == "ipynb":
        return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    script = copy_of(notebook)
    script.metadata["jupytext"] = dict(PAIRED)
    return jupytext.writes(script, fmt="py:percent")


def _finish(notebook: Any) -> Any:
    """Give the notebook deterministic ids, nbgrader's metadata and a fixed kernel, and return it."""
    taken: Counter[str] = Counter()
    for cell in notebook.cells:
        role = next((role for role in ROLES if role in cell.metadata), "")
        question, _, part = cell.metadata.get(role, "").partition(" ")
        cell.id = _cell_id(cell, role, question, part)
        taken[cell.id] += 1
        if taken[cell.id] > 1:
            cell.id = f"{cell.id}-{taken[cell.id]}"
        if role:
            cell.metadata["nbgrader"] = _nbgrader(cell, role, question, part)

    notebook.nbformat = 4
    notebook.nbformat_minor = 5
    notebook.metadata = {
        "jupytext": dict(PAIRED),
        "kernelspec": KERNEL,
        "language_info": {"name": "python"},
    }
    return notebook


def id_stem(question: str) -> str:
    """Return how the ids of all cells of one question begin."""
    return f"q{question.replace('.', '-')}"


def _cell_id(cell: Any, role: str, question: str, part: str) -> str:
    """Return an id that says what the cell is: its question, else its heading, else a digest."""
    if role == "answer":
        return f"{id_stem(question)}-{part or _only_part(question)}"
    if role and role != "only":
        return f"{id_stem(question)}-{part}-{role}" if part else f"{id_stem(question)}-{role}"

    heading = re.search(r"^#+ +(.+)", cell.source, re.M)
    if heading and cell.cell_type == "markdown":
        title = heading[1].lower()
        words = re.sub(r"[^a-z0-9]+", "-", title)
        return words.strip("-")[:40] or "heading"
    source = cell.source.encode()
    digest = hashlib.sha256(source).hexdigest()
    return f"{cell.cell_type}-{digest[:8]}"


def _only_part(question: str) -> str:
    """Return the kind of the one part that a judge marks."""
    return next(part.kind for part in register.find(question).parts if part.judge)


def _nbgrader(cell: Any, role: str, question: str, part: str) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell. A cell for instructors alone is a solution, which is blanked."""
    is_marked = role in ("check", "written")
    mark: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": cell.id,
        "task": False,
        "locked": role == "check",
        "solution": role != "check",
        "grade": is_marked or cell.cell_type == "markdown",
    }

    if is_marked:
        kind = "written" if role == "written" else part or _only_part(question)
        mark["points"] = register.find(question).part(kind).points
    elif mark["grade"]:  # nbgrader insists that a markdown solution be worth something
        mark["points"] = 0
    return mark
