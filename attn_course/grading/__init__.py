"""Knows submissions, the sandbox they run in and the reports on them; judges live in `course`."""
