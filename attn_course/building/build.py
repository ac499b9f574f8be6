"""From solutions/NN_name.py to every file made of it, and the check for drift.

Made are the executed solutions/NN_name.ipynb, the student pair notebooks/NN_name.{py,ipynb}, README's list of
notebooks, and the list of notebooks that import torch, which the package alone could not tell.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.building import headings, published_links
from attn_course.building.cells import (
    id_stem,
    read_source,
    rendered,
    solution_notebook,
    student_notebook,
)
from attn_course.building.output_cache import attach, execute, stored_outputs
from attn_course.errors import UserError
from attn_course.markers import solution_lines

IMPORTS_TORCH = re.compile(r"^(?:import|from) torch\b", re.M)


def root_of_project() -> Path:
    """Return the folder of the course: the nearest one above that has solutions/ and pyproject.toml."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "pyproject.toml").is_file():
            return folder

    raise UserError("this is not the course's folder: solutions/ and pyproject.toml are not here.")


def sources(root: Path, numbers: Sequence[str] = ()) -> list[Path]:
    """Return the source files: all of them, or those with these numbers, "01" or "1"."""
    paths = sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
    if not paths:
        raise UserError(f"there is no solutions/NN_name.py under {root.resolve().name}/.")

    if not numbers:
        return paths

    chosen = {number.zfill(2) for number in numbers}
    existing = {path.name[:2] for path in paths}
    unknown = sorted(chosen - existing)
    if unknown:
        raise UserError(f"there is no notebook {', '.join(unknown)} in solutions/.")
    return [path for path in paths if path.name[:2] in chosen]


def build(
    root: Path, numbers: Sequence[str] = (), force: bool = False
) -> Iterator[tuple[str, bool]]:
    """Make what is missing or changed, and yield (name, True if anything was written)."""
    repository = published_links.repository_of(root)
    _write(torch_notebooks(root))  # first: set-up cells and links differ by it
    for source in sources(root, numbers):
        solution = None if force else stored_solution(source, repository)
        if solution is None:
            try:
                outputs = execute(solution_notebook(source, repository), source.parent)
            except UserError as error:
                raise UserError(f"{source.stem}: {error}") from None
            solution = attach(solution_notebook(source, repository), outputs)
        yield source.stem, _write(_files(solution, source))
    yield "README.md", _write(_front_pages(root))


def stored_solution(source: Path, repository: str) -> Any | None:
    """Return the stored solution, or None if its outputs are missing or belong to other code."""
    notebook = solution_notebook(source, repository)
    outputs = stored_outputs(notebook, source.with_suffix(".ipynb"))
    return None if outputs is None else attach(notebook, outputs)


def _files(solution: Any, source: Path) -> dict[Path, str]:
    """Return {path: text} of every file made from one source. solution: the notebook with its outputs."""
    student = student_notebook(solution)
    if version := published_links.version_of(source.parents[1]):
        student.metadata["attn"] = {"version": version}
    script = source.parents[1] / "notebooks" / source.name
    return {
        source.with_suffix(".ipynb"): rendered(solution, "ipynb"),
        script.with_suffix(".ipynb"): rendered(student, "ipynb"),
        script: rendered(student, "py"),
    }


def _front_pages(root: Path) -> dict[Path, str]:
    """Return README with what is written into it and pyproject.toml with its addresses, where they are."""
    path = root / "README.md"
    if not path.exists():
        return {}

    rows = table_rows(root)
    repository = published_links.repository_of(root)
    text = path.read_text("utf-8")
    for region, lines in {
        "summary": headings.summary(rows),
        "start": published_links.ways_in(repository),
        "notebooks": headings.notebook_list(rows),
    }.items():
        text = headings.fill_region(text, region, lines)
    files = {path: published_links.with_addresses(text, repository)}
    project = root / "pyproject.toml"
    if project.exists():
        declared = project.read_text("utf-8")
        files[project] = published_links.write_project_urls(declared, repository)
    return files


def torch_notebooks(root: Path) -> dict[Path, str]:
    """Return the list of the notebooks whose sources import torch, in a folder that has the package."""
    package = root / "attn_course"
    if not package.is_dir():
        return {}
    names = [path.stem for path in sources(root) if IMPORTS_TORCH.search(path.read_text("utf-8"))]
    return {package / register.TORCH_NOTEBOOKS.name: "".join(f"{name}\n" for name in names)}


def table_rows(root: Path) -> list[headings.Row]:
    """Return a row for every notebook, from the first cell of its source."""
    rows = []
    for source in sources(root):
        first = read_source(source).cells[0]
        rows.append(headings.row_of(source.stem, first.source))
    return rows


def _differs(path: Path, text: str) -> bool:
    """Return True if the file is missing or holds something else."""
    return not path.exists() or path.read_text("utf-8") != text


def _write(files: dict[Path, str]) -> bool:
    """Write the files that differ, and return True if there were any."""
    changed = [path for path, text in files.items() if _differs(path, text)]

    for path in changed:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return bool(changed)


def problems(root: Path, numbers: Sequence[str] = ()) -> list[str]:
    """Return a sentence on each thing that `build` would change, without executing anything."""
    sentences = []
    for source in sources(root, numbers):
        try:
            sentences += [f"{source.stem}: {problem}" for problem in _problems(source, root)]
        except UserError as error:
            sentences.append(f"{source.stem}: {error}")

    sentences += _strays(root)
    for path, text in (torch_notebooks(root) | _front_pages(root)).items():
        if _differs(path, text):
            sentences.append(
                f"{path.name}: what attn build writes there is not what stands there; run attn build."
            )
    return sentences


def _strays(root: Path) -> list[str]:
    """Return a sentence for every notebook that no source makes."""
    stems = {path.stem for path in sources(root)}

    sentences = []
    for folder in ("notebooks", "solutions"):
        for path in sorted((root / folder).glob("*.ipynb")):
            if path.stem not in stems:
                sentences.append(f"{folder}/{path.name} has no source.")
    return sentences


def _problems(source: Path, root: Path) -> Iterator[str]:
    """Return a sentence on each fault of the files made from one source and of their content."""
    solution = stored_solution(source, published_links.repository_of(root))
    if solution is None:
        name = f"{source.stem}.ipynb"
        yield f"{name} is missing, or its outputs are not those of the source; run attn build."
        return

    for path, text in _files(solution, source).items():
        if _differs(path, text):
            yield f"{path.parent.name}/{path.name} is not what attn build makes."
    yield from content_problems(solution, source.stem)


def content_problems(solution: Any, name: str) -> Iterator[str]:
    """Return a sentence on each fault of the notebook itself: ids, leaks, stubs, missing cells."""
    student = student_notebook(solution)
    yield from _doubled_ids(solution)
    yield from _leaks(solution, student)
    yield from _broken_stubs(student)
    yield from _missing_cells(solution, name)


def _doubled_ids(solution: Any) -> Iterator[str]:
    """Return a sentence on each id that several cells share."""
    counts = Counter(cell.id for cell in solution.cells)
    for name, count in sorted(counts.items()):
        if count > 1:
            yield f"the id {name} occurs twice."


def _leaks(solution: Any, student: Any) -> Iterator[str]:
    """Return a sentence on each line of a solution that stands in the student's notebook."""
    secret: set[str] = set()
    for cell in solution.cells:
        secret |= solution_lines(cell.source)

    student_text = "\n".join(cell.source for cell in student.cells)
    for line in sorted(secret):
        if line in student_text:
            yield f"the solution line `{line}` is shown to students."


def _broken_stubs(student: Any) -> Iterator[str]:
    """Return a sentence on each cell that cannot be run once its solution is cut."""
    for cell in student.cells:
        if cell.cell_type != "code":
            continue
        try:
            compile(cell.source, cell.id, "exec")
        except SyntaxError as error:
            yield f"the student's cell {cell.id} does not compile (line {error.lineno})."


def _missing_cells(solution: Any, name: str) -> Iterator[str]:
    """Return a sentence on each question that the notebook does not ask or has no answer cell for."""
    ids = {cell.id for cell in solution.cells}
    prose = [cell.source for cell in solution.cells if cell.cell_type == "markdown"]
    text = "\n".join(prose)

    for question in register.questions_of(name):
        for part in question.parts:
            cell_id = f"{id_stem(question.id)}-{part.kind}"
            if cell_id not in ids:
                yield f"there is no answer cell {cell_id}."

        if headings.heading(question) not in text:
            yield f'question {question.id} has no heading, "### {question.id}".'
