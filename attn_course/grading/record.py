"""What is known of one file, from its reading to its page: one record, one set of states."""

import enum
from dataclasses import dataclass, field, fields
from typing import Any

from attn_course.checking import CORRECT, NOT_ATTEMPTED, NOT_YET
from attn_course.grading.submissions import File


class State(enum.StrEnum):
    """How a part of a question stands. WAITING is the one state in which a person must look."""

    CORRECT = CORRECT
    NOT_YET = NOT_YET
    NOT_ATTEMPTED = NOT_ATTEMPTED
    WAITING = "awaits a person"
    READ = "read by a person"
    ABSENT = "not handed in"


@dataclass(frozen=True)
class PartRecord:
    """One part of a question: its verdict, what was told of it, and the text of the answer."""

    question: str
    kind: str
    status: State
    points: float
    out_of: float
    message: str
    answer: str
    images: dict[str, str] = field(default_factory=dict)  # address in the answer: data of a picture


@dataclass(frozen=True)
class Record:
    """One file. `problem` is a sentence if it has no grade: then all its parts await a person.

    `stamp` is the SHA-256 of the bytes that were judged; without one it is graded again.
    """

    student: str
    notebook: str
    file: str
    stamp: str
    problem: str = ""
    remarks: tuple[str, ...] = ()
    tier: str = ""
    cpu: float = 0.0
    parts: tuple[PartRecord, ...] = ()

    @classmethod
    def of(cls, file: File, stamp: str, **known: Any) -> "Record":
        """Return the record of a file, of which nothing else need be known yet."""
        return cls(*file.key, stamp, **known)

    @classmethod
    def from_data(cls, data: dict) -> "Record":
        """Return the record in a line of results.jsonl; what a line holds beside it is left out."""
        known = {each.name: data[each.name] for each in fields(cls)}
        known["remarks"] = tuple(data["remarks"])
        known["parts"] = tuple(
            PartRecord(**{**part, "status": State(part["status"])}) for part in data["parts"]
        )
        return cls(**known)
