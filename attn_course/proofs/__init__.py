"""Whether one line of a chain follows from the line before it."""
