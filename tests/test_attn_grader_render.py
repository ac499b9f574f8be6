"""Written answers as HTML and MathML: formulas are set, and nothing of a stranger's becomes markup."""

import time
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from attn_course import register
from attn_grader import render
from attn_grader.pages import rubric_items
from attn_grader.references import references
from attn_grader.render import as_html, as_mathml

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![a](http://x.org/a.png)",
    "[a](javascript:alert(1))",
    "[a](http://x.org)",
    "<http://x.org>",
    "[a]\n\n[a]: javascript:alert(1)",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\text{<script>alert(1)</script>}$",
    r"$\text{&lt;script&gt;alert(1)&lt;/script&gt;}$",
    r"$\mathrm{<img src=x onerror=alert(1)>}$",
    r"$\style{background:url(http://x.org)}{x}$",
    r"$\color{red;background:url(http://x.org)}{x}$",
    r"$$\class{x}{y} \cssId{a}{b} \unicode{x3c}script\unicode{x3e}$$",
    '```html"onload=alert(1)\n<b>\n```',
]
TAGS = {
    *"p em strong code pre ul ol li hr br blockquote table thead tbody tr th td".split(),
    *render.TAGS,
}
NAMES = {"class", "start", *render.ATTRIBUTES}


class Seen(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.names = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.names |= {name for name, _ in attributes}


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_foreign_becomes_a_tag_a_link_or_an_address(text):
    seen = Seen(as_html(text))
    assert seen.tags <= TAGS and seen.names <= NAMES, as_html(text)


def test_markdown_and_formulas_are_rendered():
    made = as_html("A *clear* lead:\n\n- $\\alpha_j \\to 1$\n\n$$\\frac{1}{2} < x$$")
    assert "<em>clear</em>" in made and "<li>" in made
    assert "<msub><mi>α</mi><mi>j</mi></msub>" in made and "<mi>to" not in made
    assert 'display="block"' in made and "<mfrac>" in made and "&lt;" in made


@pytest.mark.parametrize("formula", [r"A^\top A", r"A^{\top}A", r"A^ \top A"])
def test_a_transpose_is_a_small_letter_and_another_top_stays(formula):
    assert "<msup><mi>A</mi><mrow><mtext>T</mtext></mrow></msup>" in as_mathml(formula, "inline")
    assert "⊤" in as_mathml(r"p \to \top", "inline")


def test_a_formula_that_cannot_be_set_is_shown_as_it_was_written():
    for formula in (r"\frac{1", r"\left(", "{" * 300, "x" * 5_000, r"\begin{matrix}"):
        made = as_mathml(formula, "inline")
        assert made.startswith(("<code>", "<math")), made
    assert as_mathml("x" * 5_000, "inline") == f"<code>{'x' * 5_000}</code>"


@pytest.mark.parametrize("piece", ["$x$ ", "[", "*a_", "> ", "$", "`", "|a|\n|-|\n", "$$\n", "- "])
def test_the_longest_answer_is_rendered_in_moments(piece):
    start = time.process_time()
    as_html(piece * (20_000 // len(piece)))
    assert time.process_time() - start < 10


def test_a_displayed_formula_may_stand_inside_a_sentence():
    made = as_html("Look at $$a_j = \\frac{1}{2}$$ and let $x$ go.")
    assert made.count("<math") == 2 and "$" not in made and "and let" in made


@pytest.mark.parametrize(
    "name", ["align", "align*", "aligned", "alignat", "eqnarray", "gather", "equation"]
)
def test_an_environment_is_set_with_and_without_dollars(name):
    argument = "{2}" if name == "alignat" else ""
    inside = r"a &= b \label{x} \\ c &= \frac{1}{2} \nonumber"
    formula = rf"\begin{{{name}}}{argument} {inside} \end{{{name}}}"
    formula = formula.replace("&", "") if name in ("gather", "equation") else formula
    texts = [f"$${formula}$$"]
    if name != "aligned":  # it stands inside a formula only
        texts.append(f"So we have\n{formula}\nwhich is all.")
    for text in texts:
        made = as_html(text)
        assert (
            "<mfrac>" in made
            and "begin" not in made
            and "&amp;" not in made
            and "label" not in made
        )
        assert ("<mtable" in made) == (name != "equation")


WRITTEN_PARTS = [
    (question.id, part.points)
    for name in register.NOTEBOOKS
    for question in register.questions_of(name)
    for part in question.parts
    if part.kind == "written" and part.points
]


def test_the_items_of_every_rubric_add_up_to_what_its_part_is_worth():
    found = references(register.NOTEBOOKS)
    for question_id, points in WRITTEN_PARTS:
        items = rubric_items(found[question_id].rubric, points)
        assert sum(Fraction(given) for given, _ in items) == points, question_id
