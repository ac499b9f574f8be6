"""The browser edition in Chromium: the verdicts of a native run, and a student's hour from answer to grade.

These tests need JupyterLite and a Pyodide; `make browser` brings both and runs them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from chromium import Browser, needs_browser, serve_files
from course import ROOT

from attn_course.building import jupyterlite as edition
from attn_course.errors import UserError

LITE, PYODIDE = os.environ.get("ATTN_LITE", ""), os.environ.get("ATTN_PYODIDE", "")
needs_edition = pytest.mark.skipif(
    not (LITE and Path(PYODIDE, "pyodide.mjs").is_file()),
    reason="make browser brings JupyterLite and Pyodide",
)


def test_the_wheel_is_small_and_holds_all_that_notebooks_without_torch_import(tmp_path):
    wheel = edition.write_wheel(ROOT, ROOT / "notebooks", tmp_path)
    assert wheel.stat().st_size < 1_000_000
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from attn_course import check, derive, hint, plots, register\n"
        "import attn_course, attn_course.translation.sentence_maps\n"
        "from attn_course.workspace import browser_drive\n"
        "for name in sys.argv[2:]: register.questions_of(name)\n"
        "assert 'sum(values)' in repr(attn_course.solution('0.1', give_up=True)), 'solution'\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith(('attn_utils', 'attn_course'))))"
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    command = [sys.executable, "-c", script, str(tmp_path / "site"), *edition.notebooks()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert all(Path(file).is_relative_to(tmp_path) for file in done.stdout.split())


def test_a_folder_that_is_no_pyodide_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"is no release of Pyodide: pyodide\.mjs is missing"):
        edition.make_browser_edition(ROOT, tmp_path / "out", tmp_path / "lite", tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """(address, folder) of the edition, served from this machine."""
    folder = tmp_path_factory.mktemp("edition")
    edition.make_browser_edition(ROOT, folder / "browser", Path(LITE), Path(PYODIDE))
    with serve_files(folder) as address:
        yield f"{address}browser/index.html?notebook=", folder


CELL = "[...frames[0].jupyterapp.shell.currentWidget.content.model.cells].find(c => c.id === {!r})"
PANEL = "frames[0].jupyterapp.shell.currentWidget"
READY = "document.getElementById('status').textContent === 'Ready.'"


class Reader:
    """Someone with a browser of their own and one notebook open in it."""

    def __init__(self, browser, address):
        self.browser = browser
        self.address = address

    def visit(self):
        self.browser.visit(self.address)
        self.browser.wait(READY)
        path = self.browser.run(f"{PANEL}.context.path")
        assert f"notebook={path.removesuffix('.ipynb')}" in self.address

    def run_all(self):
        command = "frames[0].jupyterapp.commands.execute('notebook:run-all-cells')"
        self.browser.run(f"window.ran = 0; {command}.then(() => {{ window.ran = 1 }}); 1")
        self.browser.wait("window.ran")

    def run_cell(self, cell, source=None):
        """What a cell prints or shows as plain text, after it was given a source of its own."""
        if source is not None:
            self.browser.run(f"{CELL.format(cell)}.sharedModel.setSource({json.dumps(source)}); 1")
        notebook = f"{PANEL}.content"
        found = f"{notebook}.widgets.findIndex(w => w.model.id === {cell!r})"
        self.browser.run(f"{notebook}.deselectAll(); {notebook}.activeCellIndex = {found}; 1")
        command = "frames[0].jupyterapp.commands.execute('notebook:run-cell')"
        self.browser.run(f"window.ran = 0; {command}.then(() => {{ window.ran = 1 }}); 1")
        self.browser.wait("window.ran")
        return self.shown(cell)

    def shown(self, cell):
        text = self.browser.run(f"JSON.stringify({CELL.format(cell)}.outputs.toJSON())")
        return "\n".join(map(plain, json.loads(text)))

    def source(self, cell):
        return self.browser.run(f"{CELL.format(cell)}.sharedModel.getSource()")


def plain(output):
    """The text of one output, whatever kind it is."""
    found = output.get("text") or output.get("data", {}).get("text/plain") or ""
    if output["output_type"] == "error":
        found = f"{output['ename']}: {output['evalue']}"
    return "".join(found)


@pytest.fixture
def reader(tmp_path, site):
    """A function that opens a notebook in a fresh browser."""
    opened = []

    def open_notebook(name):
        opened.append(Reader(Browser(tmp_path), site[0] + name))
        opened[-1].visit()
        return opened[-1]

    yield open_notebook
    for each in opened:
        each.browser.close()


def code_cells(folder, name):
    notebook = json.loads((ROOT / folder / f"{name}.ipynb").read_text("utf-8"))
    return {cell["id"]: cell for cell in notebook["cells"] if cell["cell_type"] == "code"}


@needs_browser
@needs_edition
@pytest.mark.parametrize("name", edition.notebooks())
def test_every_solution_has_the_verdicts_of_a_native_run(reader, name):
    someone = reader(name)
    cells = code_cells("solutions", name)
    sources = {cell: "".join(found["source"]) for cell, found in cells.items()}
    answers = {cell: text for cell, text in sources.items() if not cell.endswith("check")}
    someone.browser.run(
        f"""(() => {{ const sources = {json.dumps(answers)};
        for (const cell of {PANEL}.content.model.cells)
            if (sources[cell.id]) cell.sharedModel.setSource(sources[cell.id]); }})(), 1"""
    )
    someone.run_all()
    checks = [cell for cell in cells if cell.endswith("check")]
    assert checks
    for cell in checks:
        native = "\n".join(map(plain, cells[cell]["outputs"]))
        assert someone.shown(cell).startswith(native)  # and says that there is a solution
    every = f"[...{PANEL}.content.model.cells].filter(c => c.type === 'code')"
    outputs = f"{every}.flatMap(c => c.outputs.toJSON())"
    assert not someone.browser.run(f"{outputs}.some(o => o.output_type === 'error')")


@needs_browser
@pytest.mark.skipif(not LITE, reason="make browser brings JupyterLite")
def test_without_a_folder_pyodide_is_asked_of_its_public_address_and_its_absence_is_said(tmp_path):
    edition.make_browser_edition(ROOT, tmp_path / "browser", Path(LITE), None)
    browser = Browser(tmp_path)  # which reaches no other host
    with serve_files(tmp_path / "browser") as address:
        browser.ask("Network.enable")
        browser.visit(address)
        status = "document.getElementById('status').textContent"
        told = browser.wait(f"{status}.startsWith('Python cannot') && {status}")
    browser.close()
    assert told == (
        "Python cannot be loaded from cdn.jsdelivr.net. "
        "Check your connection to the internet, then reload the page."
    )
    (foreign,) = browser.asked_outside()
    assert re.fullmatch(r"https://cdn\.jsdelivr\.net/pyodide/v[\d.]+/full/pyodide\.mjs", foreign)


RIGHT = """import numpy as np
def copy_query(keys, j):
    return 20 * np.linalg.pinv(keys)[:, j]"""


def progress_of_01(someone):
    shown = someone.run_cell("q1-4-check", "from attn_course import progress\nprint(progress())")
    assert "kernel restarts" not in shown
    return re.search(r"^01_copying.*[█░] (.*)$", shown, re.M)[1]


@needs_browser
@needs_edition
def test_a_student_answers_reloads_moves_a_slider_downloads_and_is_graded(reader, site, tmp_path):
    someone = reader("01_copying")
    browser = someone.browser
    someone.run_all()
    assert "not attempted" in someone.shown("q1-4-check")

    # A wrong answer is told what is wrong, a hint helps, and the right one is correct.
    someone.run_cell("q1-4-code", "def copy_query(keys, j):\n    return keys[j]")
    assert "not yet" in someone.run_cell("q1-4-check")
    assert "Hints for 1.4" in someone.run_cell("q1-4-check", 'hint("1.4")')
    someone.run_cell("q1-4-code", RIGHT)
    assert "correct" in someone.run_cell("q1-4-check", 'check("1.4", copy_query)')
    assert "np.linalg" in someone.run_cell("q1-4-check", 'print(solution("1.4"))')

    # A slider draws another picture.
    slider = "frames[0].document.querySelector('.widget-slider [role=slider], .widget-slider .noUi-handle')"
    browser.wait(f"!!{slider}")
    picture = "frames[0].document.querySelector('.widget-vbox svg, .widget-html svg')?.outerHTML"
    before = browser.wait(picture)
    browser.run(f"{slider}.scrollIntoView(); {slider}.focus(); 1")
    browser.run(f"frames[0].focus(); {slider}.focus(); 1")
    browser.press("ArrowRight")
    browser.wait(f"{picture} !== {json.dumps(before)}")

    # The answer is kept in the browser.
    browser.wait(f"!{PANEL}.context.model.dirty")
    someone.visit()
    assert someone.source("q1-4-code") == RIGHT
    assert browser.run("document.getElementById('newer').hidden")

    # So is the progress, with the hint.
    assert progress_of_01(someone) == "1 of 6, 1 hint"

    # What is downloaded is what graders read.
    browser.run("document.getElementById('download').click(); 1")
    file = tmp_path / "01_copying.ipynb"
    while not (file.exists() and file.read_text("utf-8").endswith("}")):
        browser.run("1")
    (tmp_path / "class" / "ann").mkdir(parents=True)
    shutil.copy(file, tmp_path / "class" / "ann")
    grade = [sys.executable, "-m", "attn_course.cli", "grade", str(tmp_path / "class")]
    subprocess.run([*grade, "--out", str(tmp_path / "out")], check=True, capture_output=True)
    kept = json.loads((tmp_path / "out" / "students" / "ann.json").read_text("utf-8"))
    (score,) = [test["score"] for test in kept["tests"] if test["number"].startswith("1.4")]
    assert score > 0

    # A reset brings the released notebook back.
    reset = "document.getElementById('reset').click()"
    browser.run(f"window.confirm = () => true; window.isOld = 1; {reset}; 1")
    browser.wait("!window.isOld")
    browser.wait(READY)
    assert "NotImplementedError" in someone.source("q1-4-code")
    assert progress_of_01(someone) == "0 of 6, 1 hint"


@pytest.fixture(scope="module")
def newer_edition(tmp_path_factory):
    """The folder of an edition in which the course has changed 01: the text of 1.3, the stub of 1.4."""
    root = tmp_path_factory.mktemp("newer")
    for name in ("attn_course", "attn_utils", "solutions"):
        (root / name).symlink_to(ROOT / name)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (root / "pyproject.toml").write_text(
        re.sub(r'(?m)^version = ".*"', 'version = "99.0"', project)
    )
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    path = root / "notebooks" / "01_copying.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and "### 1.3" in "".join(cell["source"]):
            cell["source"] = [*cell["source"], "\n\nA sentence of the newer edition."]
        if cell["id"] == "q1-4-code":
            cell["source"] = ["# A line of the newer edition.\n", *cell["source"]]
    path.write_text(json.dumps(notebook), "utf-8")
    edition.make_browser_edition(root, root / "browser", Path(LITE), Path(PYODIDE))
    return root / "browser"


@needs_browser
@needs_edition
def test_an_update_keeps_an_answer_asks_to_check_it_again_and_downloads_the_notebook_first(
    reader, site, newer_edition, tmp_path
):
    someone = reader("01_copying")
    browser = someone.browser
    someone.run_all()
    someone.run_cell("q1-4-code", RIGHT)
    assert "correct" in someone.run_cell("q1-4-check")
    browser.wait(f"!{PANEL}.context.model.dirty")

    served = site[1] / "browser"
    older = site[1] / "older"
    served.rename(older)
    newer_edition.rename(served)
    try:
        someone.visit()
        if browser.run("document.getElementById('newer').hidden"):
            someone.visit()  # the browser's cache takes over what is served at the next visit
        assert not browser.run("document.getElementById('newer').hidden")
        assert someone.source("q1-4-code") == RIGHT
        assert "newer edition" not in everything(someone)

        browser.run("document.getElementById('update').click(); 1")
        news = "document.getElementById('news').textContent"
        told = browser.wait(f"{news}.startsWith('Updated') && {news}")
        assert told == (
            "Updated: answers kept: 1.4; changed, so check again: 1.4. "
            "Your notebook as it was is in your downloads."
        )
        backup = json.loads((tmp_path / "01_copying.ipynb").read_text("utf-8"))
        assert "newer edition" not in json.dumps(backup)
        assert RIGHT in ["".join(cell["source"]) for cell in backup["cells"]]
        assert someone.source("q1-4-code") == RIGHT
        assert "A sentence of the newer edition." in everything(someone)
        someone.visit()
        assert browser.run("document.getElementById('newer').hidden")
        assert someone.source("q1-4-code") == RIGHT
        assert "A sentence of the newer edition." in everything(someone)
        assert progress_of_01(someone) == "0 of 6"
    finally:
        served.rename(newer_edition)
        older.rename(served)


def everything(someone):
    """The text of all cells."""
    return someone.browser.run(
        f"[...{PANEL}.content.model.cells].map(c => c.sharedModel.getSource()).join('\\n')"
    )
