"""Experiments of 06, 07 and 12-15 that measure or train something in a few seconds."""
