"""Whether one line of a chain follows from the line before it. Knows no chain, no question, no SymPy."""
