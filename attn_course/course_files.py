"""Find the course's own files, in a clone or an installed wheel: notebooks and sources of solutions."""

import re
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).parent
IN_WHEEL = PACKAGE / "course"
MARKER = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?P<marks>.*)$")
MARK = re.compile(r'(\w+)="([^"]*)"')


def clone() -> Path | None:
    """Return the folder of the clone or unpacked release that this package runs from, if any."""
    folder = PACKAGE.parent
    return folder if (folder / "notebooks").is_dir() else None


def version() -> str:
    """Return the version of the course: of its own folder, which may be newer than what pip has noted."""
    project = PACKAGE.parent / "pyproject.toml"
    text = project.read_text("utf-8") if clone() and project.is_file() else ""
    written = re.search(r'^version = "(.+)"$', text, re.M)
    return written[1] if written else metadata.version("attention-course")


def course_folder(name: str) -> Path | None:
    """Return the folder "notebooks" or "solutions"; None where it is not on this machine."""
    for above in (IN_WHEEL, PACKAGE.parent):
        if (above / name).is_dir():
            return above / name
    return None


def released_notebooks() -> dict[str, Path]:
    """Return {name: file} of the released notebooks of this edition, in order."""
    folder = course_folder("notebooks")
    paths = sorted(folder.glob("[0-9][0-9]_*.ipynb")) if folder else []
    return {path.stem: path for path in paths}


def solution_source(notebook: str) -> Path | None:
    """Return the source of a notebook's solution; None in an edition that has no solutions."""
    folder = course_folder("solutions")
    path = folder / f"{notebook}.py" if folder else None
    return path if path and path.is_file() else None


@dataclass
class SourceCell:
    """A cell of a solution's source. marks: for example {"answer": "1.4"}."""

    is_markdown: bool
    marks: dict[str, str] = field(default_factory=dict)
    text: str = ""


def source_cells(path: Path) -> list[SourceCell]:
    """Return the cells of a source in jupytext's percent format."""
    cells: list[SourceCell] = []
    for line in path.read_text("utf-8").splitlines():
        marker = MARKER.match(line)
        if marker:
            cells.append(SourceCell(bool(marker["markdown"]), dict(MARK.findall(marker["marks"]))))
        elif cells:
            text = re.sub(r"^# ?", "", line) if cells[-1].is_markdown else line
            cells[-1].text += f"{text}\n"
    for cell in cells:
        cell.text = cell.text.strip("\n")
    return cells
