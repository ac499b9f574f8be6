"""The figures of the course, `plots` in its notebooks."""

from attn_course.figures.charts import (
    arrows,
    attention_map,
    bars,
    curves,
    diagram,
    head_maps,
    histogram,
    intervals,
    matrix,
    scatter,
)
from attn_course.figures.display import register
from attn_course.figures.panel import panels, same_scale
from attn_course.figures.plane import query_plane
from attn_course.figures.sliders import explore

__all__ = [
    "arrows",
    "attention_map",
    "bars",
    "curves",
    "diagram",
    "explore",
    "head_maps",
    "histogram",
    "intervals",
    "matrix",
    "panels",
    "query_plane",
    "same_scale",
    "scatter",
]

register()
