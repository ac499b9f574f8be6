"""Fills in the templates of pages and scripts, and turns Markdown and formulas into HTML and MathML.

Pages have one style and one script, and work offline. No tag or address that a student typed survives.
"""

import base64
import contextlib
import hashlib
import html
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from attn_course.verdict import inline_html
from attn_grader.spreadsheet import two_decimals

# What a reader is told of each tier.
SANDBOXES = {
    "namespaces": "a root, a network and processes of its own; files, calls and resources limited",
    "landlock": "files, calls and resources limited",
}
TEMPLATES = Path(__file__).parent / "templates"
LONGEST_FORMULA = 2_000
MAX_DEPTH = 60  # of elements inside each other
TAGS = frozenset(
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover "
    "mtable mtr mtd mstyle mpadded mphantom menclose".split()
)
ATTRIBUTES = frozenset(
    "display displaystyle scriptlevel mathvariant stretchy fence form separator accent accentunder "
    "lspace rspace minsize maxsize linethickness columnalign rowspacing columnspacing columnlines "
    "rowlines width height depth notation".split()
)
UNUSED = ["link", "autolink", "reference", "html_block", "html_inline", "entity"]
# Environments that our library does not know, each with the known one that looks alike; "" for none.
ENVIRONMENTS = {
    **dict.fromkeys(("aligned", "alignat", "alignedat", "flalign", "eqnarray", "align"), "align*"),
    **dict.fromkeys(("gather", "gathered", "multline"), "matrix"),
    "equation": "",
}
ENVIRONMENT = re.compile(r"\\(begin|end)\{([a-zA-Z]{1,20})\*?\}(?:\{\d\})?")
# Written as T: the sign of \top hangs above its line in most fonts.
TRANSPOSE = re.compile(r"\^ ?(?:\{ ?\\top ?\}|\\top(?![a-zA-Z]))")
NUMBERING = re.compile(r"\\(?:label\{[^{}]*\}|nonumber\b|notag\b)")


def render(template: str, title: str = "", **values: object) -> str:
    """Return a template filled in. Everything is escaped, except what the filters below return.

    The policy in the head lets this script run and no other, and nothing be fetched.
    """
    return _environment().get_template(template).render(title=title, **values)


@cache
def _environment():
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    style = (TEMPLATES / "style.css").read_text("utf-8")
    script = (TEMPLATES / "script.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = Markup(style)
    environment.globals["script"] = Markup(script)
    environment.globals["policy"] = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    environment.globals["sandboxes"] = SANDBOXES
    environment.filters["points"] = two_decimals
    environment.filters["inline"] = lambda text: Markup(inline_html(text))
    environment.filters["prose"] = lambda text, images=None: Markup(as_html(text, images))
    environment.filters["prose_line"] = lambda text: Markup(line_as_html(text))
    environment.filters["fraction"] = lambda text: Markup(as_mathml(_fraction(text), "inline"))
    return environment


def _fraction(text):
    """Return an amount such as 1/3 as LaTeX."""
    top, slash, bottom = text.partition("/")
    return rf"\frac{{{top}}}{{{bottom}}}" if slash else top


def as_html(text: str, images: Mapping[str, str] | None = None) -> str:
    """Return Markdown as HTML. Markup that is not understood is shown as it was written.

    images: {address: data or path} of the pictures that may be shown, each once. Of any other picture
    the description is shown.
    """
    return _rendered(text, images) if images else _without_images(text)


@lru_cache(maxsize=1_000)  # an answer stands on two pages
def _without_images(text):
    return _rendered(text, {})


def _rendered(text, images):
    try:
        return _parser().render(text, {"images": dict(images)})
    except Exception:  # of the library's making, on a text of a stranger's
        return f"<pre>{html.escape(text)}</pre>"


def line_as_html(text: str) -> str:
    """Return a line of Markdown as HTML that may stand inside a button."""
    try:
        return _parser().renderInline(text, {"images": {}})
    except Exception:
        return html.escape(text)


@cache
def _parser():
    from markdown_it import MarkdownIt
    from mdit_py_plugins.amsmath import amsmath_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.disable(UNUSED)
    parser.use(dollarmath_plugin, allow_digits=False, double_inline=True)
    parser.use(amsmath_plugin)
    parser.add_render_rule("image", _image)
    for name in ("math_inline", "math_inline_double", "math_block", "amsmath"):
        parser.add_render_rule(name, _formula)
    return parser


def _image(parser, tokens, index, options, env):
    """Return a picture if the page may show it, else its description."""
    token = tokens[index]
    label = html.escape(token.content)
    address = unquote(str(token.attrs.get("src", "")))
    source = env["images"].pop(address, None)  # once: a page must not grow with every mention
    if source is None:
        return f"<em>[a picture that is not shown: {label}]</em>"
    return f'<img alt="{label}" src="{html.escape(source)}">'


def _formula(parser, tokens, index, options, env):
    display = "inline" if tokens[index].type == "math_inline" else "block"
    return as_mathml(tokens[index].content, display)


@lru_cache(maxsize=4_000)  # many students write the same formula
def as_mathml(formula: str, display: str) -> str:
    """Return LaTeX as MathML, or as code where that fails. display: "inline" or "block"."""
    from latex2mathml.converter import convert_to_element

    if len(formula) <= LONGEST_FORMULA:
        # The library meets whatever a student typed; it may fail in any way it likes.
        with contextlib.suppress(Exception):
            known = TRANSPOSE.sub(r"^{\\text{T}}", _in_known_environments(formula))
            element = convert_to_element(known, display=display)
            return ElementTree.tostring(_clean(element), encoding="unicode")
    return f"<code>{html.escape(formula)}</code>"


def _in_known_environments(formula):
    """Return a formula in the environments that the library knows, without numbers of equations."""

    def replaced(match: re.Match[str]) -> str:
        side, name = match.groups()
        if name not in ENVIRONMENTS:
            return match[0]
        return f"\\{side}{{{ENVIRONMENTS[name]}}}" if ENVIRONMENTS[name] else ""

    return ENVIRONMENT.sub(replaced, NUMBERING.sub("", formula))


def _clean(element, depth=0):
    """Return a copy of the element that has only the tags and attributes allowed, and plain text in them."""
    if depth > MAX_DEPTH:
        raise ValueError("too deep")
    tag = element.tag if element.tag in TAGS else "mrow"
    attributes = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
    clean = ElementTree.Element(tag, attributes)
    clean.text = html.unescape(element.text or "")
    clean.extend(_clean(child, depth + 1) for child in element)
    return clean
