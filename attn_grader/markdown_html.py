"""Markdown and formulas made into HTML and MathML on our side. No foreign tag or address survives."""

import contextlib
import html
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from urllib.parse import unquote
from xml.etree import ElementTree

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


# Environments for formulas that our library does not know, by the one that it shows alike.
ALIKE = {
    **dict.fromkeys(("aligned", "alignat", "alignedat", "flalign", "eqnarray", "align"), "align*"),
    **dict.fromkeys(("gather", "gathered", "multline"), "matrix"),
}
ENVIRONMENT = re.compile(r"\\(begin|end)\{([a-zA-Z]{1,20})\*?\}(?:\{\d\})?")
NUMBERING = re.compile(r"\\(?:label\{[^{}]*\}|nonumber\b|notag\b)")


def as_html(text: str, images: Mapping[str, str] | None = None) -> str:
    """Return Markdown as HTML; what is not understood is shown as it was written.

    images: {address: data}, the pictures that may be shown, each once; of others the description is.
    """
    return _as_html(text) if not images else _rendered(text, images)


@lru_cache(maxsize=1_000)  # an answer stands on two pages
def _as_html(text):
    return _rendered(text, {})


def _rendered(text, images):
    try:
        return _parser().render(text, {"images": dict(images)})
    except Exception:  # of the library's making, on a text of a stranger's
        return f"<pre>{html.escape(text)}</pre>"


def inline_html(text: str) -> str:
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
    """A picture that the page may show, or else what it is called."""
    token = tokens[index]
    label = html.escape(token.content)
    address = unquote(str(token.attrs.get("src", "")))
    data = env["images"].pop(address, None)  # once: a page must not grow with every mention
    if data is None:
        return f"<em>[a picture that is not shown: {label}]</em>"
    return f'<img alt="{label}" src="{html.escape(data)}">'


def _formula(parser, tokens, index, options, env):
    display = "inline" if tokens[index].type == "math_inline" else "block"
    return as_mathml(tokens[index].content, display)


@lru_cache(maxsize=4_000)  # many students write the same formula
def as_mathml(formula: str, display: str) -> str:
    """Return LaTeX as MathML, or as the code it is where that fails; display: "inline" or "block"."""
    from latex2mathml.converter import convert_to_element

    if len(formula) <= LONGEST_FORMULA:
        # The library meets whatever a student typed; it may fail in any way it likes.
        with contextlib.suppress(Exception):
            made = convert_to_element(_known(formula), display=display)
            return ElementTree.tostring(_clean(made), encoding="unicode")
    return f"<code>{html.escape(formula)}</code>"


def _known(formula):
    """A formula in the environments that the library knows, without numbers of equations."""

    def known(found: re.Match[str]) -> str:
        side, name = found.groups()
        if name == "equation":
            return ""
        return f"\\{side}{{{ALIKE[name]}}}" if name in ALIKE else found[0]

    return ENVIRONMENT.sub(known, NUMBERING.sub("", formula))


def _clean(element, depth=0):
    """The element with known tags and attributes alone; its texts are text."""
    if depth > MAX_DEPTH:
        raise ValueError("too deep")
    tag = element.tag if element.tag in TAGS else "mrow"
    known = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
    made = ElementTree.Element(tag, known)
    made.text = html.unescape(element.text or "")
    made.extend(_clean(child, depth + 1) for child in element)
    return made
