"""Submissions, the sandbox they run in, and the reports on them."""
