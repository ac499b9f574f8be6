"""Pages of the site: the student's text, the solution's pictures, and nothing that answers a question."""

import json
import os
import re
import runpy
import tomllib
from unittest import mock

import nbformat
import pytest
from check_site import Page, content_problems, link_problems
from course import ROOT, WRITTEN

from attn_course import register
from attn_course.building import (
    headings,
    output_cache,
    pages,
    site,
)
from attn_course.errors import UserError
from attn_course.markers import solution_lines

FIGURE = '<div class="attn-figure attn-plane" data-setting="..."></div>'
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


def page_figures(notebook):
    """A stand-in for each figure."""
    found = {}
    for cell in notebook.cells:
        pictures = [out for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]
        found[cell.id] = [FIGURE] * len(pictures)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every notebook of the course: (its solution, its page)."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in WRITTEN:
        solution = stored(name)
        found[name] = solution, pages.page_of(solution, page_figures(solution), folder)
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
def test_a_page_shows_the_verdict_of_one_right_code_answer_and_of_no_derivation(made, name):
    _, page = made[name]
    checks = [cell for cell in page.cells if {"answer", "check"} & set(cell.metadata)]
    shown = [cell for cell in checks if cell.outputs]
    assert len(shown) == 1
    place = shown[0].metadata["check"]
    assert "code" in register.find(place.split()[0]).kind and "derive" not in place
    told, verdict = shown[0].outputs
    assert told.data["text/markdown"] == pages.VERDICT and "correct" in str(verdict)


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


def test_a_figure_stands_after_its_still_picture(tmp_path):
    (shown,) = pages.for_page([picture("bars")], [FIGURE], tmp_path)
    assert shown.data["text/html"].startswith("<img ")
    assert shown.data["text/html"].endswith(FIGURE)


def test_figures_are_made_for_pages_once_and_kept(tmp_path, monkeypatch):
    draw = "def draw(t):\n    plots.bars([t, 1 - t])\n"
    sources = ["from attn_course import plots", "plots.bars([1.0])"]
    sources += [f"{draw}plots.explore(draw, t=(0, 1, 1))", "1 / 0"]  # the last is never run
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    for cell in cells[1:3]:
        cell.outputs = [picture("bars")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    cache = tmp_path / "kept"
    found = pages.page_figures(notebook, "trial", tmp_path, cache)
    assert list(found) == [cells[1].id, cells[2].id]
    for (figure,) in found.values():
        assert pages.FIGURE.fullmatch(figure) and "attn-frames" in figure

    (kept,) = cache.iterdir()
    kept.write_text('{"as": ["kept"]}', "utf-8")
    assert pages.page_figures(notebook, "trial", tmp_path, cache) == {"as": ["kept"]}
    monkeypatch.setattr(pages, "digest_of_packages", lambda: "another course")
    assert pages.page_figures(notebook, "trial", tmp_path, cache) == found


def test_kept_figures_are_drawn_anew_when_anything_that_they_follow_from_changes(tmp_path):
    folder = tmp_path / "building" / "checkout"  # whatever the folders above are called
    names = ["attn_utils/kernels.py", "attn_course/questions/x.py", "attn_course/figures/x.css"]
    names += ["attn_course/runs/x.json", "attn_course/building/pages.py"]
    template = "attn_course/building/site/index.md"
    for name in [*names, template]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("before")

    def digest():
        pages.digest_of_packages.cache_clear()
        return pages.digest_of_packages(folder)

    digests = {digest()}
    for count, name in enumerate(names, 2):
        (folder / name).write_text("after")
        digests.add(digest())
        assert len(digests) == count, name
    (folder / names[0]).rename(folder / "attn_utils" / "masks.py")
    digests.add(digest())
    with mock.patch.object(pages.metadata, "distributions", lambda: []):
        digests.add(digest())
    assert len(digests) == len(names) + 3
    before = digest()
    (folder / template).write_text("after")
    assert digest() == before


def test_a_cell_that_fails_stops_the_page_in_one_sentence(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(UserError, match="a cell fails"):
        output_cache.execute(notebook, tmp_path, figures="page")


def test_the_reference_lists_arguments_and_keeps_examples():
    settings = sphinx_settings()
    text = "Attention.\n\nq: (T, d) queries,\nfloats kept. k, v: keys.\nmask: boolean\n\n"
    lines = f"{text}needed: no name\n\n>>> f(1)\n2".split("\n")
    settings["list_arguments"](None, "function", "f", lambda q, k, v, mask: None, None, lines)
    assert lines == [
        *("Attention.", "", "", "- `q`: (T, d) queries,", "  floats kept. k, v: keys."),
        *("", "- `mask`: boolean", "", "needed: no name", "", ">>> f(1)", "2"),
    ]


def rows():
    return [headings.Row(name, name.title(), "What?", 10) for name in WRITTEN]


def test_the_contents_name_every_notebook_and_every_page_of_docs_once():
    docs = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"later"}
    text = site.contents(rows(), docs)
    assert "00 00_Start_Here <00_start_here>\n" in text
    entries = [line for line in text.split("\n") if line and line[0] not in "`:"]
    assert len(entries) == len(WRITTEN) + len(docs)
    assert {entry.rpartition("<")[2].rstrip(">") for entry in entries} == {*WRITTEN, *docs}
    menu = (ROOT / "docs" / "_templates" / "course-navigation.html").read_text("utf-8")
    assert re.findall('caption-text">([^<]+)', menu) == ["Learn"]
    assert re.findall(":caption: (.+)", text) == ["Teach", "Contribute"]


def test_usual_words_lead_to_their_notebooks_and_no_words_to_none():
    synonyms = sphinx_settings()["SYNONYMS"]
    assert set(synonyms) <= set(register.NOTEBOOKS)
    for word, name in {"rotary": "12", "KV cache": "15", "Bahdanau": "09"}.items():
        assert next(number for number in synonyms if word in synonyms[number])[:2] == name


PUBLISHED = "https://github.com/owner/course"


@pytest.mark.parametrize(
    ("link", "unpublished", "published"),
    [
        ("[a](install.md#b)", "[a](install.md#b)", "[a](install.md#b)"),
        ("[install.md](install.md)", "[](<install.md>)", "[](<install.md>)"),
        ("[a](../notebooks/01_copying.ipynb)", "[a](01_copying.ipynb)", "[a](01_copying.ipynb)"),
        ("[a](../Makefile)", "a", f"[a]({PUBLISHED}/blob/main/Makefile)"),
        ("[a](other.txt)", "a", f"[a]({PUBLISHED}/blob/main/docs/other.txt)"),
        ("[a](https://x.org/y)", "[a](https://x.org/y)", "[a](https://x.org/y)"),
        ("![a](images/x.png)", "![a](images/x.png)", "![a](images/x.png)"),
    ],
)
def test_links_of_docs_lead_to_pages_of_the_site_or_to_the_repository(link, unpublished, published):
    assert site.site_text(link, {"install"}, "") == unpublished
    assert site.site_text(link, {"install"}, PUBLISHED) == published


def test_the_wheel_can_be_downloaded_from_the_page_on_installing():
    text = site.site_text((ROOT / "docs" / "install.md").read_text("utf-8"), {"install"}, "")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    wheel = f"attention_course-{version}-py3-none-any.whl"
    assert f"{{download}}`{wheel} <downloads/{wheel}>`" in text


def sphinx_settings(repository=""):
    """What docs/conf.py sets for a course that is published there."""
    with mock.patch.dict(os.environ, ATTN_REPOSITORY=repository):
        return runpy.run_path(str(ROOT / "docs" / "conf.py"))


def test_launch_buttons_and_links_to_the_repository_need_a_repository():
    unpublished = sphinx_settings()["html_theme_options"]
    published = sphinx_settings(PUBLISHED)["html_theme_options"]
    assert "launch_buttons" not in unpublished and "repository_url" not in unpublished
    assert "CC BY 4.0" in unpublished["extra_footer"]
    assert "Repository" not in unpublished["extra_footer"]
    assert published["launch_buttons"]["colab_url"] and published["repository_url"] == PUBLISHED
    assert f"{PUBLISHED}/issues" in published["extra_footer"] and published["use_issues_button"]


def test_the_landing_page_opens_with_the_plane_and_has_a_card_for_every_notebook(made):
    shown = {name: page for name, (_, page) in made.items()}
    text = site.landing_page(rows(), shown, {"install"}, PUBLISHED)
    assert text.index("attn-plane") < text.index("grid-item-card")
    for name in WRITTEN:
        assert f":link: {name}\n" in text
    pictures = re.findall(":img-top: (_static/figures/.+)", text)
    assert len(pictures) == len(set(pictures)) == len(WRITTEN)
    assert "og:image" in text and "https://owner.github.io/course/_static/figures/" in text
    assert "og:image" not in site.landing_page(rows(), shown, {"install"}, "")


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
