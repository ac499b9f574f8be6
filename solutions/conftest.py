"""Stored notebooks are compared as they were built: with still pictures."""

import os

os.environ["ATTN_FIGURES"] = "still"
