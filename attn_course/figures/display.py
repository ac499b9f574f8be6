"""How figures reach a reader: as PNG and as SVG, with alt text, in kernels, stored notebooks and pages.

ATTN_FIGURES says for whom: "still" (notebooks that are stored and compared: PNG and text alone), "page"
(the site: sliders that work without a kernel), or nothing, a reader with a kernel.
"""

import base64
import json
import os
import sys
import zlib
from dataclasses import dataclass
from html import escape
from importlib import resources
from string import Template

from attn_course.figures.alt_text import describe
from attn_course.figures.panel import Figure, open_figures
from attn_course.figures.panel_layout import layout
from attn_course.figures.render_svg import render_svg
from attn_course.figures.style import DARK_PALETTE, PALETTE

STILL = "still"


@dataclass
class Picture:
    """A figure as PNG in base64, "" where none is made, and the text that stands for it."""

    png: str
    alt: str


def audience() -> str:
    """Return "still", "page" or "" (a reader with a kernel)."""
    return os.environ.get("ATTN_FIGURES", "")


def asset(name: str) -> str:
    """Return the text of a file in assets/."""
    return (resources.files("attn_course.figures") / "assets" / name).read_text("utf-8")


def fill_template(name: str, **parts: str) -> str:
    """Return the template assets/`name` with its $parts; the caller escapes what is not markup."""
    return Template(asset(name)).substitute(parts)


def style_sheet() -> str:
    """Return assets/figure.css, with the colours of the palette as --c0, --c1 and so on."""
    return fill_template("figure.css", light=_variables(PALETTE), dark=_variables(DARK_PALETTE))


def _variables(palette):
    return " ".join(f"--c{k}: {code};" for k, code in enumerate(palette.values()))


def picture_of(figure: Figure, alt: str = "") -> Picture:
    """Return the figure as a PNG with its alt text, by default what `describe` says."""
    alt = alt or describe(figure)
    if sys.platform == "emscripten":  # in a browser the SVG is enough; matplotlib is 10 MB to load
        return Picture("", alt)
    from attn_course.figures.render_png import render_png  # matplotlib, which is loaded only here

    return Picture(render_png(figure), alt)


def frames_html(
    frames: list[str], controls: list[dict], template: str = "frames.html", **parts: str
) -> str:
    """Return HTML whose script shows the frame that its controls choose, or the first without controls."""
    text = json.dumps(frames, ensure_ascii=False)
    packed = zlib.compress(text.encode(), 9)
    return fill_template(
        template,
        **parts,
        style=style_sheet(),
        sliders=escape(json.dumps(controls)),
        frames=base64.b64encode(packed).decode(),
        shared=asset("shared.js"),
        script=asset("frames.js"),
    )


def bundle(picture: Picture) -> tuple[dict, dict]:
    """Return (data, metadata) of a picture. JupyterLab and its export read an alt text only from HTML."""
    if not picture.png:
        return {"text/html": "", "text/plain": picture.alt}, {}
    data = {"image/png": picture.png, "text/plain": picture.alt}
    if audience() != STILL:
        alt = escape(picture.alt)
        data["text/html"] = fill_template("picture.html", alt=alt, png=picture.png)
    return data, {"image/png": {"alt": picture.alt}}


def figure_bundle(figure: Figure) -> tuple[dict, dict]:
    """Return (data, metadata) of a figure: PNG, and where scripts run SVG in the colours of the page."""
    picture = picture_of(figure)
    data, metadata = bundle(picture)
    if "text/html" in data:
        drawing = render_svg(figure, layout(figure), picture.alt)
        data["text/html"] += frames_html([drawing], [])
    return data, metadata


def show(data: dict, metadata: dict | None = None) -> None:
    """Display a mime bundle, where there is a page to display it on."""
    try:
        from IPython.display import display
    except ModuleNotFoundError:  # a plain Python, as a script has it
        return

    display(data, metadata=metadata, raw=True)


def show_interactive(picture: Picture, page: str, text: str) -> None:
    """Show the still picture, and after it HTML that takes its place wherever scripts run."""
    show(*bundle(picture))
    show({"text/html": page, "text/plain": text})


def in_kernel() -> bool:
    """Return True if a kernel runs this, whose outputs a notebook can store."""
    return _shell() is not None


def _shell():
    """Return IPython's running shell, or None in a plain Python."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def register() -> None:
    """In a kernel, show the figures of each cell when it has run."""
    shell = _shell()
    if shell is not None:
        shell.events.register("post_execute", show_open_figures)


def show_open_figures() -> None:
    """Show every figure that was made and not yet shown."""
    figures = open_figures.copy()
    open_figures.clear()
    for figure in figures:
        show(*figure_bundle(figure))
