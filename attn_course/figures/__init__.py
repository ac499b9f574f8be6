"""The figures of the course, `plots` in its notebooks."""

from attn_course.figures.canvas import panels, same_scale
from attn_course.figures.charts import (
    arrows,
    attention_map,
    bars,
    curves,
    head_maps,
    histogram,
    intervals,
    matrix,
    scatter,
)
from attn_course.figures.display import (
    add_alt_texts,
    register,
)
from attn_course.figures.plane import query_plane
from attn_course.figures.sliders import explore, packed
from attn_course.figures.style import COLOURS, apply_style

__all__ = [
    "COLOURS",
    "add_alt_texts",
    "arrows",
    "attention_map",
    "bars",
    "curves",
    "explore",
    "head_maps",
    "histogram",
    "intervals",
    "matrix",
    "packed",
    "panels",
    "query_plane",
    "same_scale",
    "scatter",
]

apply_style()
register()
