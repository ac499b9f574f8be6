"""The relation of a line to the line above it, and the relation that several lines prove together.

A relation is "=", "<=", ">=", "<" or ">".
"""

import re

from attn_course.proofs.trees import Unreadable

EQUAL = "="
RELATIONS = (EQUAL, "<=", ">=", "<", ">")
_OTHER_SIGNS = str.maketrans({"≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "→": "->"})
_LONGEST = 60


def read_relation(text: object) -> str:
    """Return the relation that `text` means; Unreadable where it means none."""
    start = str(text)[: _LONGEST + 1]
    sign = start.strip().translate(_OTHER_SIGNS)
    if sign in ("==", ""):
        return EQUAL
    if sign in RELATIONS:
        return sign
    if "->" in sign:
        raise Unreadable("it takes a limit, and a chain says what always holds")
    shown = sign if re.fullmatch(r"[\w=<>!:+ -]{1,12}", sign) else "this"
    raise Unreadable(f'"{shown}" is not a relation; use =, <=, >=, < or >')


def compose(first: str, second: str) -> str | None:
    """Return the relation of a and c in `a first b second c`, or None if the direction turns round."""
    if EQUAL in (first, second):
        return second if first == EQUAL else first
    if first[0] != second[0]:
        return None
    return min(first, second, key=len)  # strict if one of them is


def implies(proved: str, asked: str) -> bool:
    """Return True if `a proved b` implies `a asked b`: < implies <=, > implies >=, = implies <= and >=."""
    return asked in (proved, f"{proved[0]}=") or (proved == EQUAL and "=" in asked)
