"""From one source, solutions/NN_name.py, the three files made of it; knows no question's content.

Made are the executed solutions/NN_name.ipynb and notebooks/NN_name.{ipynb,py} for students. A cell
says what it is in its marker: `answer="1.4"` (solution regions are cut for students), `check="1.4"`,
`written="1.7"` (a reference answer, replaced by an empty one), `rubric="1.7"` and `only="solution"`
(dropped for students). A question marked in two parts names the part: `answer="3.5 derive"`.
"""

import hashlib
import json
import os
import re
from pathlib import Path

from attn_course import register

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
ROLES = ("answer", "check", "written", "rubric", "only")
BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
BANNER = '<!-- Made by "attn build" from solutions/{}.py. Instructors edit that file. -->\n'
EMPTY = "*Your answer to {}: replace this line.*"
MARKS = f"{','.join(ROLES)},tags,-all"  # what a cell's marker in a script shows of its metadata
PAIRED = "ipynb,py:percent"  # a solution and its text, live: the text is the source
ALONE = "ipynb"  # a student's notebook is the truth, whatever jupytext is told elsewhere


class BuildError(Exception):
    """One sentence on why a notebook cannot be built."""


def sources(root, numbers=()):
    """The source files, all of them or those whose number is given as "01" or "1"."""
    found = sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
    if not found:
        raise BuildError(f"there is no solutions/NN_name.py under {root.resolve().name}/.")
    wanted = [number.zfill(2) for number in numbers]
    unknown = set(wanted) - {path.name[:2] for path in found}
    if unknown:
        raise BuildError(f"there is no notebook {', '.join(sorted(unknown))} in solutions/.")
    return [path for path in found if not wanted or path.name[:2] in wanted]


def solution_notebook(source):
    """The source as a notebook: our ids and metadata, no outputs yet."""
    import jupytext

    notebook = jupytext.read(source, fmt="py:percent")
    for cell in notebook.cells:
        cell.source = cell.source.strip("\n")
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    first = notebook.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        raise BuildError(f"{source.name} must open with a markdown cell that holds the title.")
    first.source = BANNER.format(source.stem) + first.source
    return _finish(notebook)


def student_notebook(solution):
    """The same notebook for students: answers cut, rubrics dropped, nothing executed."""
    import nbformat

    notebook = nbformat.from_dict(json.loads(json.dumps(solution)))
    kept = [c for c in notebook.cells if not {"rubric", "only"} & set(c.metadata)]
    for cell in kept:
        if "written" in cell.metadata:
            cell.source = EMPTY.format(cell.metadata["written"])
        elif cell.cell_type == "code":
            cell.source = cut_solutions(cell.source)
            cell.outputs, cell.execution_count = [], None
    notebook.cells = kept
    notebook.metadata.pop("attn", None)
    notebook.metadata["jupytext"] = {"formats": ALONE}
    return notebook


def cut_solutions(source):
    """`source` with each solution region replaced by a line that says it is the student's turn."""
    kept, inside = [], False
    for line in source.splitlines():
        if line.strip() == BEGIN:
            if inside:
                raise BuildError("a solution region begins inside another.")
            inside, indent = True, line[: len(line) - len(line.lstrip())]
        elif line.strip() == END:
            kept.append(indent + _stub("\n".join(kept), indent))
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise BuildError(f'"{BEGIN}" is never closed.')
    return "\n".join(kept)


def _stub(before, indent):
    """What stands in for a region: an exception in a function body, a remark anywhere else."""
    try:
        compile(f"{before}\n{indent}raise NotImplementedError", "stub", "exec")
    except SyntaxError:
        return "# your steps here"
    return 'raise NotImplementedError("your answer here")' if indent else "# your answer here"


def solution_lines(source):
    """The lines inside solution regions that are long enough to give something away."""
    lines, inside = set(), False
    for line in map(str.strip, source.splitlines()):
        inside = (inside or line == BEGIN) and line != END
        if inside and line != BEGIN and not line.startswith("#") and len(line) >= 15:
            lines.add(line)
    return lines


def _finish(notebook):
    """Deterministic ids, nbgrader's metadata, a fixed kernel, no trace of versions."""
    taken = {}
    for cell in notebook.cells:
        role, name = next(
            ((r, cell.metadata[r]) for r in ROLES if r in cell.metadata), (None, None)
        )
        wanted = _cell_id(cell, role, name)
        taken[wanted] = taken.get(wanted, 0) + 1
        cell.id = wanted if taken[wanted] == 1 else f"{wanted}-{taken[wanted]}"
        if role:
            cell.metadata["nbgrader"] = _nbgrader(cell, role, name)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = {
        "jupytext": {"cell_metadata_filter": MARKS, "formats": PAIRED},
        "kernelspec": KERNEL,
        "language_info": {"name": "python"},
    }
    return notebook


def _cell_id(cell, role, name):
    if role in ("answer", "check", "written", "rubric"):
        question, _, kind = name.partition(" ")
        part = kind or (_only_part(question) if role == "answer" else "")
        suffix = {"answer": part, "check": f"{kind}-check".strip("-")}.get(role, role)
        return f"q{question.replace('.', '-')}-{suffix}"
    heading = re.search(r"^#+ +(.+)", cell.source, re.M) if cell.cell_type == "markdown" else None
    if heading:
        return re.sub(r"[^a-z0-9]+", "-", heading[1].lower()).strip("-")[:40] or "heading"
    return f"{cell.cell_type}-{_digest(cell.source)[:8]}"


def _only_part(question):
    return next(part.kind for part in register.find(question).parts if part.judge)


def _nbgrader(cell, role, name):
    """nbgrader's mark for a cell. What only instructors see is a solution too: nbgrader blanks it."""
    mark = {"schema_version": 3, "grade_id": cell.id, "task": False}
    mark |= {"locked": role == "check", "solution": role != "check"}
    mark["grade"] = role in ("check", "written") or cell.cell_type == "markdown"
    if role in ("check", "written"):
        question, _, kind = name.partition(" ")
        wanted = kind or ("written" if role == "written" else _only_part(question))
        mark["points"] = register.find(question).part(wanted).points
    elif mark["grade"]:  # nbgrader insists that a markdown solution be worth something
        mark["points"] = 0
    return mark


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _outputs_digest(notebook):
    outputs = [cell.get("outputs") for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return _digest(json.dumps(outputs, sort_keys=True))


def stored_outputs(source, path):
    """The outputs in the executed notebook, if it was made from this very source; else None."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    seal = stored.get("metadata", {}).get("attn", {})
    if seal != {"outputs": _outputs_digest(stored), "source": _digest(source.read_text("utf-8"))}:
        return None
    return [cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == "code"]


def attach(notebook, outputs, source):
    """Put `outputs` into the notebook and seal it against later changes."""
    import nbformat

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, (cell, given) in enumerate(zip(code, outputs, strict=True), 1):
        cell.outputs, cell.execution_count = [nbformat.from_dict(o) for o in given], count
        for output in cell.outputs:
            if "execution_count" in output:
                output["execution_count"] = count
    seal = {"outputs": _outputs_digest(notebook), "source": _digest(source.read_text("utf-8"))}
    notebook.metadata["attn"] = seal
    return notebook


def execute(notebook, folder):
    """The outputs of every code cell, run from top to bottom in a fresh kernel."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    folder = {"metadata": {"path": str(folder)}}
    options = {"resources": folder, "record_timing": False, "coalesce_streams": True}
    options["extra_arguments"] = ["--IPKernelApp.log_level=ERROR"]  # or it warns of its own socket
    client = NotebookClient(notebook, timeout=600, **options)
    try:
        client.execute(env=os.environ | {"ATTN_FIGURES": "still"})
    except CellExecutionError as error:
        raise BuildError(f"a cell fails:\n{error}") from None
    return [_clean(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def _clean(outputs):
    """Outputs without what only lives as long as a kernel does."""
    for output in outputs:
        data = output.get("data", {})
        drawn = data.pop("application/vnd.jupyter.widget-view+json", None)
        if drawn and set(data) <= {"text/plain"}:
            data.clear()  # a progress bar: without its kernel only the first line of it is left
        if output.get("output_type") in ("display_data", "execute_result"):
            kept = output["metadata"].get("image/png", {})
            output["metadata"] = {"image/png": kept} if "alt" in kept else {}
    return [output for output in outputs if output.get("data", True)]


def rendered(notebook, kind):
    """The text of a file: a notebook as JSON, or as a percent script."""
    import jupytext
    import nbformat

    if kind == "ipynb":
        return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    script = nbformat.from_dict(json.loads(json.dumps(notebook)))
    script.metadata["jupytext"] = {
        "cell_metadata_filter": MARKS,
        "notebook_metadata_filter": "-all",
    }
    return jupytext.writes(script, fmt="py:percent")


def outputs_of(source, root):
    """Every file made from `source` as path -> text, executing the notebook only if it changed."""
    target = root / "solutions" / f"{source.stem}.ipynb"
    notebook = solution_notebook(source)
    outputs = stored_outputs(source, target)
    if outputs is None:
        outputs = execute(solution_notebook(source), target.parent)
    return _files(attach(notebook, outputs, source), source, root)


def _files(solution, source, root):
    student = student_notebook(solution)
    return {
        root / "solutions" / f"{source.stem}.ipynb": rendered(solution, "ipynb"),
        root / "notebooks" / f"{source.stem}.ipynb": rendered(student, "ipynb"),
        root / "notebooks" / f"{source.stem}.py": rendered(student, "py"),
    }


def build(root, numbers=(), force=False):
    """Make what is missing or changed; yields (name, whether anything was written)."""
    for source in sources(root, numbers):
        if force:
            (root / "solutions" / f"{source.stem}.ipynb").unlink(missing_ok=True)
        files = outputs_of(source, root)
        changed = {
            p: text for p, text in files.items() if not p.exists() or p.read_text("utf-8") != text
        }
        for path, text in changed.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield source.stem, bool(changed)


def problems(root, numbers=()):
    """Sentences on everything that is not as `build` would make it; executes nothing."""
    found = []
    for source in sources(root, numbers):
        try:
            found += [f"{source.stem}: {problem}" for problem in _problems(source, root)]
        except BuildError as error:
            found.append(f"{source.stem}: {error}")
    known = {path.stem for path in sources(root)}
    strays = [p for d in ("notebooks", "solutions") for p in (root / d).glob("*.ipynb")]
    found += [f"{p.parent.name}/{p.name} has no source." for p in strays if p.stem not in known]
    return found


def _problems(source, root):
    target = root / "solutions" / f"{source.stem}.ipynb"
    outputs = stored_outputs(source, target)
    if outputs is None:
        yield f"{target.name} is missing, or its outputs are not those of the source; run attn build."
        return
    solution = attach(solution_notebook(source), outputs, source)
    for path, text in _files(solution, source, root).items():
        if not path.exists() or path.read_text("utf-8") != text:
            yield f"{path.parent.name}/{path.name} is not what attn build makes."
    yield from content_problems(solution, source)


def content_problems(solution, source):
    """What is wrong with the notebook itself: ids, leaks, stubs, cards, missing cells."""
    ids = [cell.id for cell in solution.cells]
    yield from (f"the id {i} occurs twice." for i in sorted({i for i in ids if ids.count(i) > 1}))
    student = student_notebook(solution)
    text = "\n".join(cell.source for cell in student.cells)
    secret = set().union(*(solution_lines(c.source) for c in solution.cells))
    yield from (
        f"the solution line `{line}` is shown to students."
        for line in sorted(secret)
        if line in text
    )
    for cell in student.cells:
        if cell.cell_type == "code":
            try:
                compile(cell.source, cell.id, "exec")
            except SyntaxError as error:
                yield f"the student's cell {cell.id} does not compile (line {error.lineno})."
    yield from _register_problems(solution, source.stem)


def _register_problems(solution, name):
    ids = {cell.id for cell in solution.cells}
    text = "\n".join(cell.source for cell in solution.cells if cell.cell_type == "markdown")
    for question in register.questions_of(name):
        stem = f"q{question.id.replace('.', '-')}"
        for part in question.parts:
            if f"{stem}-{part.kind}" not in ids:
                yield f"there is no answer cell {stem}-{part.kind}."
        if card(question) not in text:
            yield f"question {question.id} lacks its card line: {card(question)}"


def card(question):
    """The line under a question's heading, as the register has it."""
    extra = "bonus " if question.is_bonus else ""
    plural = "" if question.points == 1 else "s"
    points = f"{question.points:g} {extra}point{plural}"
    return f"*{question.kind} · {points} · {question.minutes} min*"


def root_of_project():
    """The folder this course lives in: the nearest one above that has solutions/ or notebooks/."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    raise BuildError("this is not the course's folder: solutions/ and pyproject.toml are not here.")
