"""A student's answer: how it is called, read, compared with known mistakes, and judged."""
