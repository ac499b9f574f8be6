"""Submissions, the sandbox they run in, and the reports on them. Holds no judge of a question."""
