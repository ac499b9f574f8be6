"""Every figure of the course, in one style. Knows no question."""

from attn_course.figures.charts import *  # noqa: F403
