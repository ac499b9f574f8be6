"""How pictures reach a reader: with alt text, in kernels, stored notebooks and pages.

ATTN_FIGURES says for whom: "still" (notebooks that are stored and compared: PNG and text alone), "page"
(the site: figures that move without a kernel), or nothing, a reader with a kernel.
"""

import base64
import io
import os
import sys
from dataclasses import dataclass
from html import escape
from importlib import resources
from string import Template

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attn_course.figures.alt_text import describe_figure

STILL = "still"
PAGE = "page"


@dataclass
class Picture:
    """A still picture: PNG in base64, and the words that stand for it."""

    png: str
    alt: str


def audience() -> str:
    """ "still", "page" or "" (a reader with a kernel)."""
    return os.environ.get("ATTN_FIGURES", "")


def asset(name: str) -> str:
    """The text of a file in assets/."""
    return (resources.files("attn_course.figures") / "assets" / name).read_text("utf-8")


def filled(name: str, **parts: str) -> str:
    """The template assets/`name` with its $parts; the caller escapes what is not markup."""
    return Template(asset(name)).substitute(parts)


def photograph(figure: Figure, alt: str = "") -> Picture:
    """The figure as a still picture. alt: its words, by default made from titles and axes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    png = base64.b64encode(buffer.getvalue()).decode()
    return Picture(png, alt or describe_figure(figure))


def as_html(picture: Picture) -> str:
    """The picture as an <img> with its alt text."""
    return filled(
        "picture.html",
        alt=escape(picture.alt),
        png=picture.png,
    )


def bundle(picture: Picture) -> tuple[dict, dict]:
    """(data, metadata) of a picture. JupyterLab and its export read an alt text only from HTML."""
    data = {"image/png": picture.png, "text/plain": picture.alt}
    if audience() != STILL:
        data["text/html"] = as_html(picture)
    metadata = {"image/png": {"alt": picture.alt}}
    return data, metadata


def add_alt_texts(notebook: dict) -> int:
    """Give each stored picture an <img> with its alt text, for pages; returns how many pictures there are."""
    count = 0
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" not in data:
                continue
            kept = output["metadata"].get("image/png", {})
            alt = kept.get("alt") or "".join(data["text/plain"])
            png = data["image/png"].replace("\n", "")
            data["text/html"] = as_html(Picture(png, alt))
            count += 1

    return count


def show(data: dict, metadata: dict | None = None) -> None:
    """Display a mime bundle, where there is a page to display it on."""
    try:
        from IPython.display import display
    except ModuleNotFoundError:  # a plain Python, as a script has it
        return

    display(data, metadata=metadata, raw=True)


def show_moving(picture: Picture, page: str, words: str) -> None:
    """The still picture, and after it HTML that takes its place wherever scripts run."""
    show(*bundle(picture))
    show({"text/html": page, "text/plain": words})


def in_kernel() -> bool:
    """Whether what is shown can be stored in a notebook."""
    return _shell() is not None


def _shell():
    """IPython's running shell, or None in a plain Python."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def register() -> None:
    """In a kernel: figures are shown with their alt text, and an Axes at the end of a cell is not printed."""
    shell = _shell()
    if shell is None:
        return
    plt.get_backend()  # the inline backend registers its own formatter once it is loaded; ours comes after
    formatter = shell.display_formatter
    formatter.ipython_display_formatter.for_type(plt.Axes, lambda ax: None)
    formatter.formatters["image/png"].pop(Figure, None)
    formatter.mimebundle_formatter.for_type(Figure, _figure_bundle)


def _figure_bundle(figure, include=None, exclude=None):
    return bundle(photograph(figure))
