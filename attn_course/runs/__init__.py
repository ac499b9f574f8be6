"""Recorded results, one JSON file each; `python -m attn_course.runs NAME` records one again."""
