"""Fills in the templates of pages and scripts. Pages have one style and one script, and work offline."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from attn_course.verdict import inline_html
from attn_grader.spreadsheet import two_decimals

# What a reader is told of each tier.
SANDBOXES = {
    "namespaces": "a root, a network and processes of its own; files, calls and resources limited",
    "landlock": "files, calls and resources limited",
}
TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, title: str = "", **known: object) -> str:
    """Return a template filled in. What is not made here by `prose` is escaped.

    The policy in the head lets this script run and no other, and nothing be fetched.
    """
    return _environment().get_template(template).render(title=title, **known)


@cache
def _environment():
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from attn_grader.markdown_html import as_html, as_mathml
    from attn_grader.markdown_html import inline_html as inline_markdown

    style = (TEMPLATES / "style.css").read_text("utf-8")
    script = (TEMPLATES / "script.js").read_text("utf-8")
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["style"] = Markup(style)
    made.globals["script"] = Markup(script)
    made.globals["policy"] = _policy(script)
    made.globals["sandboxes"] = SANDBOXES
    made.filters["points"] = two_decimals
    made.filters["inline"] = lambda text: Markup(inline_html(text))
    made.filters["prose"] = lambda text, images=None: Markup(as_html(text, images))
    made.filters["prose_line"] = lambda text: Markup(inline_markdown(text))
    made.filters["fraction"] = lambda text: Markup(as_mathml(_fraction(text), "inline"))
    return made


def _fraction(text):
    """Return an amount such as 1/3 as LaTeX."""
    top, slash, bottom = text.partition("/")
    return rf"\frac{{{top}}}{{{bottom}}}" if slash else top


def _policy(script):
    digest = hashlib.sha256(script.encode()).digest()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; "
        f"script-src 'sha256-{base64.b64encode(digest).decode()}'; "
        "base-uri 'none'; form-action 'none'"
    )
