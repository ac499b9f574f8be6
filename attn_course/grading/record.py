"""What is known of one file, from its reading to its page: one record, one set of states."""

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any

from attn_course.checking import CORRECT, NOT_ATTEMPTED, NOT_YET
from attn_course.grading.submissions import File


class State(enum.StrEnum):
    """How a part of a question stands."""

    CORRECT = CORRECT
    NOT_YET = NOT_YET
    NOT_ATTEMPTED = NOT_ATTEMPTED
    WAITING = "awaits a person"
    READ = "read by a person"
    ABSENT = "not handed in"
    FAILED = "not graded"


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


@dataclass(frozen=True)
class Record:
    """One file. `problem` is a sentence if it has no grade; without a `stamp` it is graded again."""

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
    def of(cls, file: File, **known: Any) -> "Record":
        """Return the record of a file, of which nothing else need be known yet."""
        return cls(
            student=file.student,
            notebook=file.notebook,
            file=file.name,
            stamp=file.stamp,
            **known,
        )

    @classmethod
    def failed(cls, file: File, problem: str) -> "Record":
        """Return the record of a file that we could not grade; it will be tried again."""
        record = cls.of(file)
        return dataclasses.replace(record, stamp="", problem=problem)

    def as_data(self) -> dict:
        """Return it as plain data, as a line of results.jsonl holds it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_data(cls, data: dict) -> "Record":
        """Return what `as_data` was given; what a line holds beside it is left out."""
        known = {}
        for field in dataclasses.fields(cls):
            if field.name in data:
                known[field.name] = data[field.name]
        remarks = data.get("remarks", ())
        parts = data.get("parts", ())
        known["remarks"] = tuple(remarks)
        known["parts"] = tuple(map(_part_of, parts))
        return cls(**known)


def _part_of(data):
    status = State(data["status"])
    known = {**data, "status": status}
    return PartRecord(**known)
