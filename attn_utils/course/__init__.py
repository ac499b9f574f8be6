"""The machinery of the course: questions, their judges, hints, checked derivations."""

from .checking import check, hint
from .derivation import derive
from .verdict import Verdict

__all__ = ["Verdict", "check", "derive", "hint"]
