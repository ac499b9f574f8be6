"""Reasons in JupyterLab, with its own renderer: whatever a student writes, the chain is shown."""

import base64
import os
from pathlib import Path

import nbformat
import pytest
import sympy as sp
from browser import Browser, needs_browser
from test_figures_lab import PATIENCE, served

from attn_course import derive

pytestmark = needs_browser
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


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """For each reason the text and the errors that JupyterLab shows for a chain with it."""
    x = sp.Symbol("x", positive=True)
    cells = []
    for reason in REASONS:
        chain = derive((x + x**2, "given"), (x * (1 + x), reason))
        data = {"text/markdown": chain._repr_markdown_(), "text/plain": repr(chain)}
        output = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("", outputs=[output]))
    folder = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "try.ipynb")
    browser = Browser(tmp_path_factory.mktemp("browser"))
    try:
        with served(folder) as lab:
            browser.ask(
                "Emulation.setDeviceMetricsOverride",
                width=1200,
                height=3600,
                deviceScaleFactor=1,
                mobile=False,
            )
            browser.ask("Page.navigate", url=f"{lab}/lab/tree/try.ipynb")
            outputs = "[...document.querySelectorAll('.jp-OutputArea-output')]"
            wanted = f"{outputs}.filter((o) => o.querySelector('mjx-container')).length"
            browser.wait(f"{wanted} === {len(REASONS)}", PATIENCE)
            found = browser.run(
                f"{outputs}.map((o) => [o.querySelectorAll('mjx-merror, [data-mjx-error]').length, "
                "o.querySelectorAll('mjx-container').length, "
                "[...o.querySelectorAll('mjx-assistive-mml')].map((m) => m.textContent).join(' ')])"
            )
            if os.environ.get("ATTN_SCREENSHOTS"):
                picture = browser.ask("Page.captureScreenshot", format="png")["data"]
                path = Path(os.environ["ATTN_SCREENSHOTS"]) / "reasons.png"
                path.write_bytes(base64.b64decode(picture))
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
