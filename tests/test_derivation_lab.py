"""Reasons in JupyterLab and on the site: whatever a student writes, the chain is shown."""

import os
import shutil
from pathlib import Path

import nbformat
import pytest
import sympy as sp
from chromium import Browser, needs_browser
from course import ROOT
from test_figures_lab import served

from attn_course import derive
from attn_course.building import site

pytestmark = needs_browser
PYTHON = ROOT / ".venv-site" / "bin" / "python"  # `make site` installs it
REASONS = (
    "divide by e^s, then x^2^3 and a trailing ^",
    "snake_case_name and x_",
    "costs $5, and $6 more, and a lone $",
    r"a \backslash, \frac, \undefined{x and \\",
    "100 % sure # not a comment & no column",
    "open { and close } and }{",
    "a ~ b, a < b > c, <b>bold</b> <script>alert(1)</script>",
    "🙂 👩‍🔬 größer als Maß, Übung für ß",
    "`code` and *stars* and _under_ and [link](x) and @@0@@",
    "divide by $e^s$ and by $\\frac{1}{1 + x_1}$",
    "not typeset: $x^2^3$, $\\foo$, $\\frac{1}$, ${$",
    "],) \"quoted\" 'single' | pipes || \u202e turned \u0007 bell",
)


def show_in_lab(browser, path):
    with served(path.parent) as lab:
        browser.ask("Page.navigate", url=f"{lab}/lab/tree/{path.name}")
        yield "[...document.querySelectorAll('.jp-OutputArea-output')]"


def show_on_the_site(browser, path):
    """The page as Sphinx makes it with the settings of the course."""
    for name in ("conf.py", "_static", "_templates"):
        source = ROOT / "docs" / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, path.parent / name)
    (path.parent / "index.md").write_text(f"# Index\n\n```{{toctree}}\n{path.stem}\n```\n", "utf-8")
    for name in ("figures.css", "figures.js"):
        (path.parent / "_static" / name).touch()
    site.run_sphinx(PYTHON, path.parent, path.parent.with_name("html"), ROOT)
    browser.visit((path.parent.with_name("html") / f"{path.stem}.html").as_uri())
    yield "[...document.querySelectorAll('.cell_output')]"


@pytest.fixture(
    scope="module",
    params=[
        show_in_lab,
        pytest.param(
            show_on_the_site,
            marks=pytest.mark.skipif(not PYTHON.exists(), reason="`make site` has not run here"),
        ),
    ],
    ids=["JupyterLab", "site"],
)
def shown(request, tmp_path_factory):
    """For each reason what is shown for a chain with it: number of errors, of formulas, and the text."""
    x = sp.Symbol("x", positive=True)
    cells = [nbformat.v4.new_markdown_cell("# Reasons for $x$")]
    for reason in REASONS:
        chain = derive((x + x**2, "given"), (x * (1 + x), reason))
        data = {"text/markdown": chain._repr_markdown_(), "text/plain": repr(chain)}
        output = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("chain", outputs=[output]))
    path = tmp_path_factory.mktemp("shown") / "try.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    browser = Browser(tmp_path_factory.mktemp("browser"))
    size = {"width": 1200, "height": 3600, "deviceScaleFactor": 1, "mobile": False}
    try:
        browser.ask("Emulation.setDeviceMetricsOverride", **size)
        for outputs in request.param(browser, path):
            typeset = f"{outputs}.filter((o) => o.querySelector('mjx-container')).length"
            browser.wait(f"{typeset} === {len(REASONS)}")
            found = browser.run(
                f"{outputs}.map((o) => [o.querySelectorAll('mjx-merror, [data-mjx-error]').length, "
                "o.querySelectorAll('mjx-container').length, "
                "[...o.querySelectorAll('mjx-assistive-mml')].map((m) => m.textContent).join(' ')])"
            )
            if "ATTN_SCREENSHOTS" in os.environ:
                folder = Path(os.environ["ATTN_SCREENSHOTS"])
                browser.picture(folder / f"reasons_{request.param.__name__}.png")
            yield dict(zip(REASONS, found, strict=True))
    finally:
        browser.close()


@pytest.mark.parametrize("reason", REASONS)
def test_no_reason_breaks_the_display(shown, reason):
    errors, formulas, _ = shown[reason]
    assert errors == 0 and formulas >= 1


def test_prices_are_no_formula_and_formulas_are_typeset(shown):
    assert "costs $5, and $6 more, and a lone $" in shown[REASONS[2]][2].replace("\xa0", " ")
    assert "$" not in shown["divide by $e^s$ and by $\\frac{1}{1 + x_1}$"][2]
