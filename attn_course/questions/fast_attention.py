"""Questions 12.1-12.7, attention made fast; none is written yet."""

QUESTIONS = ()
