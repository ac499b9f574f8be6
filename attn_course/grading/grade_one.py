"""Grades one file, outside the sandbox: from its bytes to its record. Reads nothing of what it says."""

import hashlib
import hmac
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attn_course import register
from attn_course.grading.pasted_images import MAX_IMAGES, data_uri
from attn_course.grading.read_submission import UnreadableFile
from attn_course.grading.record import PartRecord, Record, State
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.supervisor import NotGraded, Supervisor
from attn_course.grading.submissions import File
from attn_course.grading.untrusted_text import as_answer, one_line

MAX_REMARKS = 100
JUDGED = (State.CORRECT, State.NOT_YET, State.NOT_ATTEMPTED, State.WAITING)
WRITTEN = (State.WAITING, State.NOT_ATTEMPTED)


@dataclass(frozen=True)
class Settings:
    """How a batch is graded; the same for every file in it."""

    seed: int | None  # secret of the batch; None draws the inputs that `check` draws
    limits: Limits
    notebooks: tuple[str, ...]
    tier: str
    everything: bool = False

    def supervisor(self, tier: str = "") -> Supervisor:
        """Return a supervisor that has files of these notebooks judged; tier: instead of its own."""
        torch = any(map(register.needs_torch, self.notebooks))
        return Supervisor(self.notebooks, self.limits, tier or self.tier, torch=torch)


@dataclass(frozen=True)
class Job:
    """One file to be judged, and all that its judge is told: not whose it is, and no seed but its own."""

    file: File
    stamp: str  # SHA-256 of the bytes that are judged
    message: dict[str, Any]

    @classmethod
    def of(cls, file: File, settings: Settings) -> "Job":
        """Read a file, once; raise UnreadableFile."""
        data = file.read()
        stamp = hashlib.sha256(data).hexdigest()
        message = {
            "suffix": file.path.suffix,
            "notebook": file.notebook,
            "data": np.frombuffer(data, np.uint8),
            "secret": secret_of(settings.seed, stamp),
            "limits": asdict(settings.limits),
            "everything": settings.everything,
        }
        return cls(file, stamp, message)


def secret_of(seed: int | None, stamp: str) -> str | None:
    """Return what the inputs of one file are drawn from; it tells nothing of the seed.

    A file that was changed gets other inputs, so that handing in again tells nothing of the next ones.
    """
    if seed is None:
        return None
    return hmac.new(f"{seed:x}".encode(), stamp.encode(), hashlib.sha256).hexdigest()


def grade_one(file: File, supervisor: Supervisor, settings: Settings) -> Record:
    """Return the record of one file, whatever it does."""
    try:
        job = Job.of(file, settings)
        reply, cpu = supervisor.judge(job.message)
        return record_of(job, reply, cpu=cpu, tier=settings.tier)
    except Exception as error:
        return ungraded(file, error)


def ungraded(file: File, error: Exception) -> Record:
    """Return the record of a file that has no grade: a person must look at it.

    Unless its bytes are at fault, it has no stamp and is graded again the next time.
    """
    if isinstance(error, UnreadableFile):
        return Record.of(file, file.stamp, problem=str(error), remarks=file.remarks)
    problem = str(error) if isinstance(error, NotGraded) else f"grading it failed ({error})."
    return Record.of(file, "", problem=one_line(problem), remarks=file.remarks)


def record_of(job: Job, reply: dict, *, cpu: float, tier: str) -> Record:
    """Return the record of a file on which a judge has reported; raise NotGraded if it cannot be read."""
    problem, remarks, verdicts = checked(reply)
    file = job.file
    parts = () if problem else part_records(verdicts, file.notebook, reply.get("images"))
    return Record.of(
        file,
        job.stamp,
        problem=problem,
        remarks=(*file.remarks, *remarks),
        tier=tier,
        cpu=round(cpu, 3),
        parts=parts,
    )


def checked(reply: dict) -> tuple[str, list[str], list]:
    """Return (problem, remarks, verdicts) of a reply, its texts cut to size; raise NotGraded."""
    match reply:
        case {"problem": str(problem), "remarks": list(remarks), "parts": list(verdicts)}:
            texts = [one_line(text) for text in remarks if isinstance(text, str)]
            return one_line(problem), texts[:MAX_REMARKS], verdicts
    raise NotGraded("what its judge said cannot be read: it is not a report.")


def part_records(verdicts: list, notebook: str, images: Any = None) -> tuple[PartRecord, ...]:
    """Return a record a part. Which parts there are and what each is worth is not the judge's to say.

    images: {question: {address: bytes of a picture}}, as the judge says.
    """
    asked: list[tuple[register.Question, register.Part]] = []
    for question in register.questions_of(notebook):
        asked += [(question, part) for part in question.parts]
    if len(verdicts) != len(asked):
        raise NotGraded("what its judge said cannot be read: it is not one verdict a part.")
    records = []
    for (question, part), said in zip(asked, verdicts, strict=True):
        known = JUDGED if part.judge else WRITTEN
        match said:
            case (str(status), str(message), str(answer), float(share)) if (
                status in known and 0 <= share <= 1
            ):
                some = share if part.judge else 0.0  # of the chains: those that hold
                earned = {State.CORRECT: 1.0, State.NOT_YET: some, State.WAITING: some}
                record = PartRecord(
                    question=question.id,
                    kind=part.kind,
                    status=State(status),
                    points=part.points * earned.get(State(status), 0.0),
                    out_of=part.points,
                    message=one_line(message),
                    answer=as_answer(answer),
                    images={} if part.judge else shown_images(images, question.id),
                )
                records.append(record)
            case _:
                raise NotGraded(f"what its judge said of {question.id} cannot be read.")
    return tuple(records)


def shown_images(images: Any, question_id: str) -> dict[str, str]:
    """Return {address: data} of the pictures that a judge found in a written answer, if they are pictures."""
    found: dict[str, str] = {}
    known = images.get(question_id) if isinstance(images, dict) else None
    for address, data in known.items() if isinstance(known, dict) else ():
        uri = data_uri(data.tobytes()) if isinstance(data, np.ndarray) else ""
        if uri and len(found) < MAX_IMAGES:
            found[address] = uri
    return found
