"""Questions 11.1-11.6, position; none is written yet."""

QUESTIONS = ()
