"""No order of programs and dates costs a student an answer: JupyterLab itself opens and saves the files.

The server runs over the course and over the unpacked release, in the top folder and in notebooks/: a student
who opens these without `attn lab`, which works on copies, loses nothing either.
"""

import json
import os
import shutil
import zipfile

import nbformat
import pytest
from chromium import Browser, needs_browser
from course import ROOT
from jupyter import Jupyter, wait_for
from nbclient import NotebookClient

from attn_grader import release_archive

NAME = "00_start_here"
HANDED_OUT = {f"{NAME}.ipynb", f"{NAME}.py", "jupytext.toml"}
PLACES = {
    "the course": ("course", ""),
    "the course's notebooks": ("course", "notebooks"),
    "the release": (release_archive.FOLDER, ""),
    "the release's notebooks": (release_archive.FOLDER, "notebooks"),
}
ON_TOP = ("-m", "jupyterlab", "--no-browser", "--allow-root")
INSIDE = ("-m", "jupyterlab", "--no-browser", "--allow-root", f"{NAME}.ipynb")
LONG_AGO = 946_684_800  # the date of everything in a release
LATELY = 1_700_000_000
DATES = {
    "the text is newer": (LONG_AGO, LATELY),
    "the notebook is newer": (LATELY, LONG_AGO),
    "one date": (LONG_AGO, LONG_AGO),
}
STRANGE = "# %% [markdown]\n# # Start here\n\n# %%\nsomebody = 'else'\n"
FOCUSED = "document.activeElement.closest('.jp-Notebook .jp-Cell, .jp-Notebook') !== null"
FIRST_CELL = "document.querySelector('.jp-Notebook .jp-Cell').textContent"
TYPING = "document.activeElement.closest('.jp-Notebook .cm-content') !== null"
REVERT = "[...document.querySelectorAll('.jp-Dialog button')].find(b => b.innerText == 'Revert')"


def answered(path):
    """The notebook at `path` with an answer of one's own in every answer cell."""
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = f"# What I answer in {cell.id}"
    return notebook


def answers_in(notebook):
    lines = [line for cell in notebook["cells"] for line in _source(cell).splitlines()]
    return [line for line in lines if line.startswith("# What I answer")]


def _source(cell):
    return "".join(cell["source"])


def by_jupyter(notebook, executed):
    return nbformat.writes(notebook)


def by_nbclient(notebook, executed):
    return executed


def by_colab(notebook, executed):
    """Format 4.0 without ids, sources as lines, the metadata of Colab alone."""
    found = json.loads(nbformat.writes(notebook))
    for number, cell in enumerate(found["cells"]):
        del cell["id"]
        cell["metadata"] = {"id": f"Xy{number}"}
        cell["source"] = _source(cell).splitlines(keepends=True)
    kernel = {"name": "python3", "display_name": "Python 3"}
    found["metadata"] = {"colab": {"provenance": []}, "kernelspec": kernel}
    found["nbformat_minor"] = 0
    return json.dumps(found)


def by_vs_code(notebook, executed):
    """New ids, the language in each cell, the kernel of its own environment."""
    found = json.loads(nbformat.writes(notebook))
    for number, cell in enumerate(found["cells"]):
        cell["id"] = f"{number:08x}"
        cell["metadata"]["vscode"] = {"languageId": "python"}
    found["metadata"]["kernelspec"]["display_name"] = ".venv"
    found["metadata"]["language_info"] = {"name": "python", "version": "3.13.1"}
    return json.dumps(found, indent=4)


PROGRAMS = [by_jupyter, by_nbclient, by_colab, by_vs_code]


# What becomes of the text beside the notebook.
TEXTS = {
    "kept": lambda twin: None,
    "deleted": lambda twin: twin.unlink(),
    "replaced": lambda twin: twin.write_text(STRANGE, "utf-8"),
    "broken off": lambda twin: twin.write_bytes(b"# %% [markdown\n\xff\n"),
}
# Every program with every change of the text; each of both meets all dates.
CHANGES = [
    (program, list(DATES)[(row + column) % len(DATES)], text)
    for row, program in enumerate(PROGRAMS)
    for column, text in enumerate(TEXTS)
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The course with one notebook, and the release as a student unpacks it."""
    above = tmp_path_factory.mktemp("places")
    for part in ("notebooks", "solutions"):
        (above / "course" / part).mkdir(parents=True)
        for path in (ROOT / part).glob(f"{NAME}.*"):
            shutil.copy(path, above / "course" / part)
    shutil.copy(ROOT / "pyproject.toml", above / "course")
    shutil.copytree(ROOT / ".ci", above / "course" / ".ci")
    release_archive.pack(ROOT, above / "release_archive.zip")
    with zipfile.ZipFile(above / "release_archive.zip") as archive:
        archive.extractall(above)
    return above


@pytest.fixture(scope="module")
def executed():
    """The answered notebook after nbclient has run it."""
    notebook = answered(ROOT / "notebooks" / f"{NAME}.ipynb")
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)
    return nbformat.writes(notebook)


@pytest.fixture(scope="module")
def served(folders, tmp_path_factory):
    """A function that gives JupyterLab in one of the places, started once."""
    started = {}

    def start(place):
        if place not in started:
            folder, inside = PLACES[place]
            command = INSIDE if inside else ON_TOP
            home = tmp_path_factory.mktemp("home")
            started[place] = Jupyter(command, folders / folder / inside, home)
        return started[place]

    yield start
    for server in started.values():
        server.close()


# Of the module: all tests of one place follow each other.
@pytest.fixture(scope="module", params=PLACES)
def jupyter(request, served):
    return served(request.param)


@pytest.fixture
def handed_out(jupyter):
    """A fresh copy of the notebook and its text: (the file, its path in JupyterLab)."""
    folder = jupyter.folder
    if folder.name != "notebooks":
        folder = folder / "notebooks"
    path = hand_out(folder)
    return path, str(path.relative_to(jupyter.folder))


def hand_out(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in HANDED_OUT:
        shutil.copy(ROOT / "notebooks" / name, folder)
    return folder / f"{NAME}.ipynb"


def change_outside(path, program, executed, dates, text="kept"):
    """Write the answered notebook as `program` does; return the answers in it."""
    notebook = answered(path)
    path.write_text(program(notebook, executed), "utf-8")
    twin = path.with_suffix(".py")
    TEXTS[text](twin)
    for file, date in zip((path, twin), dates, strict=True):
        if file.exists():
            os.utime(file, (date, date))
    answers = answers_in(notebook)
    assert len(answers) >= 3
    return answers


def on_disk(path):
    return answers_in(json.loads(path.read_text("utf-8")))


def text_beside(path):
    twin = path.with_suffix(".py")
    return twin.read_bytes() if twin.exists() else None


@pytest.mark.parametrize(("program", "when", "text"), CHANGES)
def test_a_notebook_changed_outside_keeps_its_answers_when_it_is_edited_and_saved(
    jupyter, handed_out, executed, program, when, text
):
    path, place = handed_out
    answers = change_outside(path, program, executed, DATES[when], text)
    before = text_beside(path)
    shown = jupyter.open(place)
    assert answers_in(shown) == answers
    shown["cells"][-1]["source"] = "# What I answer at last"
    answers = [*answers, "# What I answer at last"]
    jupyter.save(place, shown)
    assert on_disk(path) == answers == answers_in(jupyter.open(place))
    assert text_beside(path) == before


@pytest.mark.parametrize("dates", DATES.values(), ids=DATES)
def test_an_autosave_after_a_change_outside_keeps_the_text_and_the_answers(
    jupyter, handed_out, executed, dates
):
    path, place = handed_out
    jupyter.save(place, jupyter.open(place))
    answers = change_outside(path, by_nbclient, executed, dates)
    before = text_beside(path)
    for _ in range(3):
        jupyter.autosave(place, jupyter.open(place))
    assert on_disk(path) == answers
    assert text_beside(path) == before


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_renamed_notebook_takes_its_answers_along_and_leaves_the_text(
    jupyter, handed_out, executed, program
):
    path, place = handed_out
    answers = change_outside(path, program, executed, (LONG_AGO, LATELY))
    new = place.replace(NAME, "mine")
    jupyter.rename(place, new)
    assert not path.exists()
    assert path.with_suffix(".py").exists()
    path.with_name("mine.py").write_text(STRANGE, "utf-8")
    jupyter.save(new, jupyter.open(new))
    assert on_disk(path.with_name("mine.ipynb")) == answers
    jupyter.rename(new, place)
    assert answers_in(jupyter.open(place)) == answers


@pytest.mark.parametrize("dates", DATES.values(), ids=DATES)
def test_a_checkpoint_brings_the_answers_back(jupyter, handed_out, executed, dates):
    path, place = handed_out
    answers = change_outside(path, by_vs_code, executed, dates)
    checkpoint = jupyter.save(place, jupyter.open(place))
    emptied = jupyter.open(place)
    for cell in emptied["cells"]:
        cell["source"] = ""
    jupyter.autosave(place, emptied)
    assert on_disk(path) == []
    jupyter.restore(place, checkpoint)
    assert on_disk(path) == answers == answers_in(jupyter.open(place))


def test_a_text_opened_as_a_notebook_and_saved_leaves_the_answers(jupyter, handed_out, executed):
    path, place = handed_out
    answers = change_outside(path, by_jupyter, executed, (LONG_AGO, LATELY))
    text = place.replace(".ipynb", ".py")
    jupyter.save(text, jupyter.open(text))
    assert on_disk(path) == answers == answers_in(jupyter.open(place))


def test_a_save_adds_nothing_to_the_folder_and_jupytext_has_no_complaint(jupyter, handed_out):
    path, place = handed_out
    said_before = len(jupyter.log())
    jupyter.save(place, jupyter.open(place))
    visible = {found.name for found in path.parent.iterdir() if not found.name.startswith(".")}
    assert visible == HANDED_OUT
    for complaint in ("expected formats", "Stripping metadata", "Reading SOURCE", "more recent"):
        assert complaint not in jupyter.log()[said_before:]


def test_whoever_pairs_all_notebooks_in_their_settings_keeps_the_answers_too(executed, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "jupytext.toml").write_text('formats = "ipynb,py:percent"\n', "utf-8")
    path = hand_out(tmp_path / "notebooks")
    answers = change_outside(path, by_vs_code, executed, (LONG_AGO, LATELY))
    (path.parent / "jupytext.toml").unlink()  # which would be read in place of theirs
    jupyter = Jupyter(INSIDE, path.parent, home)
    try:
        jupyter.save(path.name, jupyter.open(path.name))
        assert "Loaded Jupytext configuration file" in jupyter.log()
    finally:
        jupyter.close()
    assert on_disk(path) == answers


@pytest.fixture
def lab(served):
    """JupyterLab over the course, as `make lab` starts it."""
    return served("the course")


@pytest.mark.parametrize("suffix", [".ipynb", ".py"])
def test_a_solution_is_paired_live_and_saving_it_unedited_leaves_the_source(lab, suffix):
    source = lab.folder / "solutions" / f"{NAME}.py"
    shutil.copy(ROOT / "solutions" / source.name, source)
    place = f"solutions/{NAME}{suffix}"
    text = source.read_text("utf-8")
    lab.save(place, lab.open(place))
    assert source.read_text("utf-8") == text
    source.write_text(text.replace("# # Start here", "# # Begin here"), "utf-8")
    shown = lab.open(place)
    assert "# Begin here" in _source(shown["cells"][0])
    shown["cells"][0]["source"] = "# Set out here"
    lab.save(place, shown)
    assert source.read_text("utf-8").startswith("# %% [markdown]\n# # Set out here\n")
    stored = json.loads(source.with_suffix(".ipynb").read_text("utf-8"))
    assert _source(stored["cells"][0]) == "# Set out here"


@pytest.fixture
def browser(tmp_path):
    """A new one each time: JupyterLab does not let go of a page with unsaved changes."""
    found = Browser(tmp_path)
    yield found
    found.close()


def open_in(browser, lab):
    browser.visit(f"{lab.address}/lab/tree/notebooks/{NAME}.ipynb?reset&token={lab.token}")
    wait_for(lambda: browser.run(FOCUSED), "the notebook in JupyterLab")


def add_a_cell(browser):
    """Put a cell below the first one, by the keys that a student presses."""
    browser.press("b", 66)
    browser.press("Enter", 13)
    wait_for(lambda: browser.run(TYPING), "the cursor in the new cell")


def type_and_save(browser, text):
    browser.type(text)
    browser.press("s", 83, control=True)


def is_saved(path, answer):
    try:
        return answer in on_disk(path)
    except ValueError:
        return False  # half written


@needs_browser
@pytest.mark.parametrize("dates", [(LONG_AGO, LATELY), (LATELY, LONG_AGO)], ids=list(DATES)[:2])
def test_an_answered_notebook_opened_and_saved_in_a_browser_keeps_its_answers(
    lab, browser, executed, dates
):
    path = hand_out(lab.folder / "notebooks")
    answers = change_outside(path, by_nbclient, executed, dates)
    before = text_beside(path)
    open_in(browser, lab)
    new = "# What I answer in the browser"
    add_a_cell(browser)
    type_and_save(browser, new)
    wait_for(lambda: is_saved(path, new), "the saved notebook")
    assert on_disk(path) == [new, *answers]
    assert text_beside(path) == before


@needs_browser
def test_answers_that_arrive_while_the_notebook_is_open_in_a_browser_are_not_overwritten(
    lab, browser
):
    path = hand_out(lab.folder / "notebooks")
    open_in(browser, lab)
    notebook = answered(path)
    notebook.cells[0].source = "# Changed outside"
    path.write_text(nbformat.writes(notebook), "utf-8")
    answers = answers_in(notebook)
    add_a_cell(browser)
    type_and_save(browser, "# What I answer too early")
    wait_for(lambda: browser.run(f"{REVERT} !== undefined"), "JupyterLab's question what to keep")
    assert on_disk(path) == answers
    browser.run(f"{REVERT}.click()")
    wait_for(lambda: "Changed outside" in browser.run(FIRST_CELL), "the notebook as it is on disk")
    assert on_disk(path) == answers
