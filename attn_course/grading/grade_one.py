"""Grades one file, outside the sandbox: from its bytes to its record. Reads nothing of what it says."""

import hashlib
import hmac
from dataclasses import asdict, dataclass

import numpy as np

from attn_course import register
from attn_course.grading.read_submission import UnreadableFile, read_bytes
from attn_course.grading.record import PartRecord, Record, State
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.supervisor import (
    Bench,
    Lost,
)
from attn_course.grading.submissions import File
from attn_course.grading.untrusted_text import (
    as_answer,
    one_line,
)

MAX_REMARKS = 100
JUDGED = (State.CORRECT, State.NOT_YET, State.NOT_ATTEMPTED)
WRITTEN = (State.WAITING, State.NOT_ATTEMPTED)


@dataclass(frozen=True)
class Settings:
    """How a batch is graded; the same for every file in it."""

    seed: int | None  # secret of the batch; None draws the inputs that `check` draws
    limits: Limits
    notebooks: tuple[str, ...]
    tier: str
    everything: bool = False

    def bench(self, tier: str = "") -> Bench:
        """Return a bench at which files of these notebooks can be graded; tier: instead of its own."""
        needs_torch = any(map(register.needs_torch, self.notebooks))
        return Bench(
            self.notebooks,
            self.limits,
            tier or self.tier,
            torch=needs_torch,
        )


def grade_one(file: File, bench: Bench, settings: Settings) -> Record:
    """Return the record of one file; raise Lost where its judge gave no grade."""
    try:
        data = file_bytes(file)
    except UnreadableFile as error:
        return unread(file, error)
    job = job_of(file, data, settings)
    reply, cpu = bench.judge(job)
    return record_of(file, reply, cpu=cpu, tier=settings.tier)


def unread(file: File, error: UnreadableFile) -> Record:
    """Return the record of a file that was never run."""
    return Record.of(file, problem=str(error), remarks=file.remarks)


def record_of(file: File, reply: dict, *, cpu: float, tier: str) -> Record:
    """Return the record of a file on which a judge has reported; raise Lost if it cannot be read."""
    problem, remarks, verdicts = checked(reply)
    parts = () if problem else part_records(verdicts, file.notebook)
    return Record.of(
        file,
        problem=problem,
        remarks=(*file.remarks, *remarks),
        tier=tier,
        cpu=round(cpu, 3),
        parts=parts,
    )


def file_bytes(file: File) -> bytes:
    """Return what is in a file, unless it is clear already that it is no submission."""
    if file.problem:
        raise UnreadableFile(file.problem)
    return read_bytes(file.path)


def job_of(file: File, data: bytes, settings: Settings) -> dict:
    """Return all that the judge of a file is told: not whose it is, and no seed but its own."""
    return {
        "suffix": file.path.suffix,
        "notebook": file.notebook,
        "data": np.frombuffer(data, np.uint8),
        "secret": secret_of(settings.seed, file),
        "limits": asdict(settings.limits),
        "everything": settings.everything,
    }


def secret_of(seed: int | None, file: File) -> str | None:
    """Return what the inputs of one file are drawn from; it tells nothing of the seed."""
    if seed is None:
        return None
    key = f"{seed:x}"
    about = f"{file.student}/{file.notebook}"
    code = hmac.new(key.encode(), about.encode(), hashlib.sha256)
    return code.hexdigest()


def checked(reply: dict) -> tuple[str, list[str], list]:
    """Return (problem, remarks, verdicts) of a reply, its texts cut to size; raise Lost."""
    match reply:
        case {"problem": str(problem), "remarks": list(remarks), "parts": list(verdicts)}:
            texts = []
            for text in remarks:
                if isinstance(text, str):
                    texts.append(one_line(text))
            return one_line(problem), texts[:MAX_REMARKS], verdicts
    raise Lost("what its judge said cannot be read: it is not a report.")


def part_records(verdicts: list, notebook: str) -> tuple[PartRecord, ...]:
    """Return a record a part. Which parts there are and what each is worth is not the judge's to say."""
    asked: list[tuple[register.Question, register.Part]] = []
    for question in register.questions_of(notebook):
        asked += [(question, part) for part in question.parts]
    if len(verdicts) != len(asked):
        raise Lost("what its judge said cannot be read: it is not one verdict a part.")
    records = []
    for (question, part), said in zip(asked, verdicts, strict=True):
        records.append(_part(question, part, said))
    return tuple(records)


def _part(question, part, said):
    known = JUDGED if part.judge else WRITTEN
    match said:
        case (str(status), str(message), str(answer), float(share)) if (
            status in known and 0 <= share <= 1
        ):
            earned = {
                State.CORRECT: 1.0,
                State.NOT_YET: share,
            }  # the chains of a derivation that hold
            return PartRecord(
                question=question.id,
                kind=part.kind,
                status=State(status),
                points=part.points * earned.get(State(status), 0.0),
                out_of=part.points,
                message=one_line(message),
                answer=as_answer(answer),
            )
    raise Lost(f"what its judge said of {question.id} cannot be read.")
