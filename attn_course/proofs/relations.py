"""What ties a line to the line above it, and what several lines prove together.

A relation is "=", "<=", ">=", "<", ">" or a limit such as "t -> oo".
"""

import re
from fractions import Fraction

from attn_course.proofs.trees import Unreadable

EQUAL = "="
INEQUALITIES = ("<=", ">=", "<", ">")
_OTHER_SIGNS = str.maketrans(
    {
        "≤": "<=",
        "≥": ">=",
        "⩽": "<=",
        "⩾": ">=",
        "→": "->",
        "∞": "oo",
    }
)
_OTHER_EQUALS = ("==", "")
_LIMIT = re.compile(r"([^\W\d]\w{0,39}) ?-> ?([+-]?oo|[+-]?[0-9]{1,9}(?:/[1-9][0-9]{0,8})?)")
_LONGEST = 60


def read_relation(text: object) -> str:
    """The relation that `text` means; Unreadable where it means none."""
    start = str(text)[: _LONGEST + 1]
    found = start.strip().translate(_OTHER_SIGNS)
    if found in _OTHER_EQUALS:
        return EQUAL
    if found == EQUAL or found in INEQUALITIES:
        return found
    limit = _LIMIT.fullmatch(found)
    if limit:
        return f"{limit[1]} -> {limit[2].lstrip('+')}"
    shown = found if re.fullmatch(r"[\w=<>!:+ -]{1,12}", found) else "this"
    raise Unreadable(f'"{shown}" is not a relation; use =, <=, >=, <, > or "t -> oo"')


def compose(first: str, second: str) -> str | None:
    """What `a first b second c` says of a and c; None where the direction turns round."""
    if EQUAL in (first, second):
        return second if first == EQUAL else first
    if first[0] != second[0]:
        return None
    return min(first, second, key=len)  # strict if one of them is


def implies(proved: str, asked: str) -> bool:
    """Whether `a proved b` says that `a asked b`: a strict relation says the one that allows equality."""
    return asked in (proved, weakened(proved)) or (proved == EQUAL and "=" in asked)


def weakened(relation: str) -> str:
    """What is left of it in a limit: strictness is lost."""
    return relation if relation == EQUAL else f"{relation[0]}="


def is_limit(relation: str) -> bool:
    return "->" in relation


def limit_of(relation: str) -> tuple[str, Fraction | float]:
    """The variable of a limit and where it goes."""
    name, _, target = relation.partition(" -> ")
    if target.endswith("oo"):
        return name, float(target.replace("oo", "inf"))
    return name, Fraction(target)
