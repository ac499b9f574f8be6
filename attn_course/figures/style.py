"""Colours and sizes of every figure."""

# Safe for the colour-blind (Okabe and Ito), used in this order; the last is for marks and queries.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
INK = len(COLOURS) - 1
TEXT = "text"  # the colour of text, which follows the theme of the page

DPI = 100
WIDEST = 9.0  # inches: what a notebook's column shows without shrinking the text
SIZE = (6.4, 3.6)  # inches, of a figure with one panel

TITLE_SIZE = 11.0  # points
LABEL_SIZE = 10.0
SMALL_SIZE = 9.0  # of ticks, legends and numbers in cells
LINE_WIDTH = 2.0  # points
MARKER_DIAMETER = 6.0  # points
DASHES = {"-": "", "--": "7 4", ":": "2 3"}  # a line's style -> SVG's stroke-dasharray
