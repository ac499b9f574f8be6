"""Pages of the site: the student's text, the solution's pictures, and nothing that answers a question."""

import json
from importlib import import_module

import nbformat
import pytest
from check_site import Page, content_problems, link_problems
from course import ROOT, WRITTEN

from attn_course import register
from attn_course.building import (
    interactive,
    pages,
    reference,
    site,
)
from attn_course.errors import UserError
from attn_course.markers import solution_lines

FIGURE = '<div class="attn-figure attn-moving" data-frames="..."></div>'
CELLS = {
    "given": "import numpy as np\nstart = np.arange(3)",
    "answer": "def double(x):\n    # BEGIN SOLUTION\n    return np.add(x, x)\n    # END SOLUTION",
    "used": "twice = double(start)\nprint(twice)",
    "far": "print(twice.sum())",
    "free": "print(start)",
    "drawn": "plots.bars(twice)",
}


def stored(name):
    return nbformat.read(ROOT / "solutions" / f"{name}.ipynb", as_version=4)


def code_cell(name, outputs=()):
    cell = nbformat.v4.new_code_cell(CELLS[name], id=name, outputs=list(outputs))
    if name == "answer":
        cell.metadata["answer"] = "1.4"
    return cell


def printed(text):
    return nbformat.v4.new_output("stream", text=text)


def picture(alt, plain="a picture"):
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
    data = {"image/png": png, "text/plain": plain}
    return nbformat.v4.new_output("display_data", data=data, metadata={"image/png": {"alt": alt}})


def packed_figures(notebook):
    """A stand-in for each figure with sliders."""
    found = {}
    for cell in notebook.cells:
        count = sum(pages.has_sliders(output) for output in cell.get("outputs", []))
        found[cell.id] = [FIGURE] * count
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every notebook of the course: (its solution, its page)."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in WRITTEN:
        solution = stored(name)
        found[name] = solution, pages.page_of(solution, packed_figures(solution), folder)
    return found


def everything_in(page):
    """Text of a page, sources and outputs alike."""
    shown = [cell.source for cell in page.cells]
    shown += [json.dumps(cell.get("outputs", []), ensure_ascii=False) for cell in page.cells]
    return "\n".join(shown)


@pytest.mark.parametrize("name", WRITTEN)
def test_no_page_shows_an_answer_a_rubric_or_a_reference(made, name):
    solution, page = made[name]
    text = everything_in(page)
    for cell in solution.cells:
        for line in solution_lines(cell.source):
            assert line not in text, line
        if {"rubric", "only", "written"} & set(cell.metadata):
            assert cell.source not in text


@pytest.mark.parametrize("name", WRITTEN)
def test_no_page_says_what_a_check_of_the_solution_said(made, name):
    _, page = made[name]
    for cell in page.cells:
        if {"answer", "check"} & set(cell.metadata):
            assert cell.outputs == []


@pytest.mark.parametrize("name", WRITTEN)
def test_every_picture_of_every_notebook_has_words_and_is_on_its_page(made, name):
    solution, page = made[name]
    outputs = [
        output
        for cell in solution.cells
        if not {"only", "rubric", "check", "answer"} & set(cell.metadata)
        if pages.SPOILER not in cell.metadata.get("tags", ())
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    shown = json.dumps([cell.get("outputs", []) for cell in page.cells])
    assert len(outputs) >= 2
    assert all(pages.alt_of(output) for output in outputs)
    assert shown.count("<img ") == len(outputs) and 'alt=\\"\\"' not in shown


def test_no_page_draws_what_an_answer_returns(made):
    _, page = made["05_keys_queries_values"]
    text = everything_in(page)
    assert text.count(pages.HELD_BACK) == 2  # the bars of 5.1, the three matrices of 5.3
    assert "share in c₂ over" not in text and "Map “K”" not in text


def test_what_follows_from_an_answer_is_found_through_other_cells():
    notebook = nbformat.v4.new_notebook(cells=[code_cell(name) for name in CELLS])
    assert pages.cells_that_use_answers(notebook) == {"answer", "used", "far", "drawn"}


@pytest.mark.parametrize(
    ("source", "taken", "given"),
    [
        ("y = f(x)", "f x", "y"),
        ("x = 1\nprint(x)", "print", "x"),
        ("x = x + 1", "x", "x"),
        ("x += 1", "x", "x"),
        ("for x in rows:\n    print(x)", "rows print", "x"),
        ("for x in g(x):\n    pass", "g x", "x"),
        ("[w for w in rows]", "rows", ""),
        ("def f(a):\n    b = a + c\n    return b", "c", "f"),
        ("if ready:\n    x = 1\nprint(x)", "ready print x", "x"),
        ("rows.append(x)", "rows x", "rows"),
        ("table[k] = x", "table k x", "table"),
        ("x, y = y, x", "x y", "x y"),
    ],
)
def test_what_a_cell_takes_and_gives_is_read_off_its_text(source, taken, given):
    assert pages.names_in(source) == (set(taken.split()), set(given.split()))


def test_a_cell_that_uses_an_answer_shows_pictures_alone(tmp_path):
    outputs = {
        "used": [printed("[0 2 4]")],
        "free": [printed("[0 1 2]")],
        "drawn": [printed("secret"), picture("bars")],
    }
    cells = [code_cell(name, outputs.get(name, ())) for name in CELLS]
    page = pages.page_of(nbformat.v4.new_notebook(cells=cells), {}, tmp_path)
    shown = {cell.id: cell.outputs for cell in page.cells}
    assert shown["used"][0].data["text/markdown"] == pages.DEPENDS
    assert shown["free"][0].text == "[0 1 2]"
    (kept,) = shown["drawn"]
    assert 'alt="bars"' in kept.data["text/html"]
    assert [path.suffix for path in (tmp_path / pages.PICTURES).iterdir()] == [".png"]


def test_a_figure_with_sliders_stands_after_its_still_picture(tmp_path):
    still = picture("bars", "bars. With sliders: t = 1.")
    first, second = pages.for_page([still], [f"{FIGURE}<style></style>"], tmp_path)
    assert "<img " in first.data["text/html"]
    assert second.data["text/html"] == FIGURE


def test_figures_with_sliders_are_packed_once_and_kept(tmp_path):
    draw = "def draw(t):\n    plots.bars([t, 1 - t])\n"
    sources = ["from attn_course import plots", "1 / 0", f"{draw}plots.explore(draw, t=(0, 1, 1))"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[1].metadata["check"] = "1.4"  # left out
    cells[2].outputs = [picture("bars", "bars. With sliders: t = 1.")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    found = interactive.moving_figures(notebook, "trial", tmp_path)
    (figure,) = found[cells[2].id]
    assert pages.FIGURE.fullmatch(figure) and "attn-moving" in figure

    (kept,) = tmp_path.iterdir()
    kept.write_text('{"as": ["kept"]}', "utf-8")
    assert interactive.moving_figures(notebook, "trial", tmp_path) == {"as": ["kept"]}


def test_the_reference_has_every_public_name_of_attn_utils():
    text = reference.reference_page()
    for name in import_module("attn_utils").__all__:
        module = getattr(import_module("attn_utils"), name).__module__
        assert f"{{py:function}} {module}.{name}(" in text
    for name in ("CausalSelfAttention", "SynthesizerAttention", "Cache"):
        assert f"{{py:class}} attn_utils.layers.{name}(" in text
    assert ">>> causal_mask(2, 3).astype(int)" in text
    assert "- `mask`: boolean" in text


def test_the_contents_name_every_notebook_once():
    text = site.contents({name: name.title() for name in register.NOTEBOOKS})
    assert '        title: "00 00_Start_Here"\n' in text
    for name in (*register.NOTEBOOKS, "graders", "reference"):
        assert text.count(f"- file: {name}\n") == 1


def test_a_section_that_readme_lacks_stops_the_site(tmp_path):
    (tmp_path / "README.md").write_text("# Course\n\n## One\n\ntext\n\n## Two\n", "utf-8")
    assert site.readme_sections(tmp_path, "One") == ["## One\n\ntext"]
    with pytest.raises(UserError, match="Three"):
        site.readme_sections(tmp_path, "Three")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('<a href="nowhere.html">x</a>', "nowhere.html, which is not there"),
        ('<a href="page.html#far">x</a>', "#far, which has no such place"),
        ('<img src="page.html">', "picture without words"),
        ('<script src="https://example.org/a.js"></script>', "fetches https://example.org/a.js"),
    ],
)
def test_a_fault_of_a_page_is_found(tmp_path, body, sentence):
    path = tmp_path / "page.html"
    path.write_text(f'<h1 id="here">x</h1><a href="#here">y</a>{body}', "utf-8")
    page = Page(path)
    problems = [*link_problems({path: page}), *content_problems({path: page})]
    assert len(problems) == 1 and sentence in problems[0]
