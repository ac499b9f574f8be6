"""Colours, sizes and fonts of every figure."""

import matplotlib.pyplot as plt

# Safe for the colour-blind (Okabe and Ito), handed out in this order; the last is ink for marks and queries.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
INK = len(COLOURS) - 1
DPI = 100
WIDEST = 9.0  # inches: what a notebook's column shows without shrinking the text
DASHES = {"-": "", "--": "7 4", ":": "2 3", "-.": "7 3 2 3"}  # of matplotlib, in SVG
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": plt.cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.dpi": DPI,
    "figure.figsize": (6.4, 3.6),
    "font.size": 10,
    "grid.alpha": 0.3,
    "image.cmap": "Blues",
    "legend.edgecolor": "none",
    "legend.fontsize": 9,
    "legend.framealpha": 0.8,
    "lines.linewidth": 2,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


def apply_style() -> None:
    """Make matplotlib draw in the course's style from now on."""
    plt.rcParams.update(STYLE)


def colour_code(colour: str) -> str:
    """How a style sheet knows a colour: by number if it is ours, so that a dark page can brighten it."""
    if colour in COLOURS:
        return f"var(--c{COLOURS.index(colour)})"
    return "currentColor" if colour == "ink" else colour
