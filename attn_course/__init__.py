"""The machinery of the course: questions, their judges, hints, checked derivations."""

from attn_course.checking import check, hint
from attn_course.derivation import derive
from attn_course.verdict import Verdict

__all__ = ["Verdict", "check", "derive", "hint"]
