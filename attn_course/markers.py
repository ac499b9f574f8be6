"""The marks in a source that say what is whose: solution regions, empty answers."""

import re

from attn_course.errors import UserError

BEGIN = "# BEGIN SOLUTION"
END = "# END SOLUTION"
STUB = "your answer here"  # the message of the exception in an empty function
EMPTY = "*Your answer to {}: replace this line.*"
KEPT_AS_GIVEN = re.compile(r"self\.(\w+) = \1")  # tells nothing that the signature has not told
SHORTEST = 15  # letters that a line of a solution has before it gives something away


def cut_solutions(source: str) -> str:
    """Return `source` with an empty answer in place of each solution region."""
    kept: list[str] = []
    indent: str | None = None  # of the open region; None outside of any
    for line in source.splitlines():
        mark = line.strip()
        if mark == BEGIN:
            if indent is not None:
                raise UserError("a solution region begins inside another.")
            indent = line[: len(line) - len(line.lstrip())]
        elif mark == END:
            if indent is None:
                raise UserError(f'"{END}" closes no region.')
            kept.append(indent + _stub("\n".join(kept), indent))
            indent = None
        elif indent is None:
            kept.append(line)
    if indent is not None:
        raise UserError(f'"{BEGIN}" is never closed.')
    return "\n".join(kept)


def _stub(before: str, indent: str) -> str:
    """Return the text in place of a region: an exception in a function body, a remark anywhere else."""
    try:
        compile(f"{before}\n{indent}raise NotImplementedError", "stub", "exec")
    except SyntaxError:
        return "# your steps here"
    if not indent:
        return "# your answer here"
    return f'raise NotImplementedError("{STUB}")'


def solution_lines(source: str) -> set[str]:
    """Return the lines inside solution regions that are long enough to give something away."""
    lines = set()
    inside = False
    for line in map(str.strip, source.splitlines()):
        if line == BEGIN:
            inside = True
        elif line == END:
            inside = False
        elif inside and len(line) >= SHORTEST:
            lines.add(line)
    return {line for line in lines if line[0] != "#" and not KEPT_AS_GIVEN.fullmatch(line)}
