"""The proof engine: decide whether one line of a chain follows from the line before it."""
