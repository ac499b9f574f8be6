"""Grades one file: from its bytes to its record. A worker does it, which knows no name and no seed."""

import hashlib
import hmac
import signal
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from attn_course import register
from attn_course.answers import NotYet
from attn_course.checking import OutOfTime, run_judge
from attn_course.register import Part, Question
from attn_course.verdict import State
from attn_grader import notebook
from attn_grader.copies import BORROWED, borrowed
from attn_grader.notebook import Cell, UnreadableFile, one_line
from attn_grader.record import PartRecord, Record
from attn_grader.sandbox import Limits
from attn_grader.sandbox.session import Session, WarmProcess
from attn_grader.submissions import File

PATIENCE = 3  # times the seconds that `check` allows: a busy machine must cost nobody a point
MAX_REMARKS = 100
AGAIN_SECONDS = 0.1  # until work that has swallowed the end of its time is ended once more
REFUSED = (
    "It asked for a file, a process or memory that it does not have here; a person looks at this."
)
NEAR_WORDS = "its cell is empty; a person looks whether this text is the answer."
OTHER = "its name is that of this notebook, its cells are those of {}; a person looks at it."
NEAR_CODE = "A person will look at what is not run as an answer: cell"
# Of two verdicts on a part, the one that is further on counts.
RANK = (State.NOT_ATTEMPTED, State.NOT_YET, State.WAITING, State.CORRECT)


@dataclass(frozen=True)
class Settings:
    """How a batch is graded; the same for every file in it, and all that a worker knows of the batch."""

    limits: Limits
    notebooks: tuple[str, ...]
    tier: str
    everything: bool = False


@dataclass(frozen=True)
class Job:
    """One file to be graded, and all that a worker is told of it."""

    notebook: str
    suffix: str
    data: bytes
    stamp: str  # SHA-256 of the bytes
    secret: str | None  # what the inputs are drawn from; None draws those that `check` draws

    @classmethod
    def of(cls, file: File, seed: int | None) -> "Job":
        """Read a file, once; raise UnreadableFile."""
        data = file.read()
        stamp = hashlib.sha256(data).hexdigest()
        return cls(file.notebook, file.path.suffix, data, stamp, secret_of(seed, stamp))


def secret_of(seed: int | None, stamp: str) -> str | None:
    """Return what the inputs of one file are drawn from; it tells nothing of the seed.

    A file that was changed gets other inputs, so that handing in again tells nothing of the next ones.
    """
    if seed is None:
        return None
    return hmac.new(f"{seed:x}".encode(), stamp.encode(), hashlib.sha256).hexdigest()


def grade(job: Job, warm: WarmProcess, settings: Settings) -> Record:
    """Return the record of one file, whatever it does; whose file it is, the caller knows."""
    record = Record("", job.notebook, "", job.stamp, tier=settings.tier)
    try:
        submission = notebook.parse_submission(job.data, job.suffix)
    except UnreadableFile as error:
        return replace(record, problem=str(error), tier="")
    except MemoryError:
        return replace(record, problem="it takes too much memory to read.", tier="")

    cells = submission.cells
    questions = register.questions_of(job.notebook)
    parts = [(question, part) for question in questions for part in question.parts]
    if not any(notebook.cells_of(cells, question, part) for question, part in parts):
        other = notebook.notebook_by_cells(cells)
        if other not in ("", job.notebook):
            return replace(record, problem=OTHER.format(other), tier="")
    judged = [(question, part) for question, part in parts if part.judge]
    needed = notebook.cells_to_run(cells, questions, settings.everything)
    began = time.monotonic()
    best, errors, cpu = verdicts(job, warm, cells, needed, judged, settings.limits)

    # What is not correct is judged once more with all that the student wrote, for a cell may set something
    # up in a way that its text does not tell; and as it stood at its own cell, where a cell below it gave
    # another meaning to a name that it uses. The better verdict counts.
    wrong = [(question, part) for question, part in judged if not best[question.id, part.kind]]
    handed_out = notebook.handed_out(job.notebook)
    attempts = []
    if others := notebook.left_out(cells, needed, handed_out):
        attempts.append((notebook.cells_to_run(cells, questions, also=others), wrong))
    for question, part in wrong:
        if sources := notebook.as_it_stood(cells, question, part):
            attempts.append((sources, [(question, part)]))
    for sources, tried in attempts:
        tried = [(question, part) for question, part in tried if not best[question.id, part.kind]]
        left = settings.limits.total - (time.monotonic() - began)
        if tried and left > 1:
            limits = replace(settings.limits, total=left)
            again, more_errors, more_cpu = verdicts(job, warm, cells, sources, tried, limits)
            errors = {**more_errors, **errors}
            cpu += more_cpu
            for key, verdict in again.items():
                best[key] = max(best[key], verdict, key=_how_good)

    origins = borrowed(cells, handed_out)
    records = []
    for question, part in parts:
        if part.judge:
            verdict = seen_by_a_person(best[question.id, part.kind], cells, question, part)
            taken = [origins[name] for name in part.answers if verdict and name in origins]
            records.append(replace(verdict, borrowed=" and ".join(taken)))
        else:
            records.append(written(cells, question, part))
    remarks = [
        *submission.remarks,
        *(
            f"{part.question}: {BORROWED.format(part.borrowed)}"
            for part in records
            if part.borrowed
        ),
        *(f"cell {number}: {text}" for number, text in sorted(errors.items())),
    ]
    remarks = [one_line(text) for text in remarks[:MAX_REMARKS]]
    return replace(record, parts=tuple(records), remarks=tuple(remarks), cpu=round(cpu, 3))


def _how_good(verdict):
    return verdict.points, RANK.index(verdict.status)


def verdicts(
    job: Job,
    warm: WarmProcess,
    cells: Sequence[Cell],
    sources: dict[int, str],
    parts: Sequence[tuple[Question, Part]],
    limits: Limits,
) -> tuple[dict[tuple[str, str], PartRecord], dict[int, str], float]:
    """Run these cells in a child and judge the parts.

    Returns ({(question, kind): verdict}, {number of a cell: why it did not run}, CPU seconds). Where
    somebody else ended the child, as when memory runs out, all is done once more; if that happens
    again, it costs only the part in hand, which a person looks at.
    """
    names = [*chain.from_iterable(part.answers for _, part in parts)]
    cpu = 0.0
    for is_second in (False, True):
        verdicts = {}
        with Session(warm, sources, limits, names, goes_on_after_kill=is_second) as session:
            for question, part in parts:
                verdicts[question.id, part.kind] = verdict_of(job, session, cells, question, part)
        cpu += session.cpu
        if not session.num_kills:
            break
    return verdicts, session.errors, cpu


def verdict_of(
    job: Job, session: Session, cells: Sequence[Cell], question: Question, part: Part
) -> PartRecord:
    """Judge one part by the code that runs in a session."""
    own = notebook.cells_of(cells, question, part)
    patient = replace(question, seconds=PATIENCE * question.seconds)
    rng = random_numbers(job.secret, question.id, part.kind)
    answers = session.answers(part.answers, patient.seconds)
    verdict = run_judge(patient, part, rng, answers, limit=within_cpu)
    status, message = verdict.status, one_line(verdict.message)
    if status == State.NOT_ATTEMPTED and not own:
        message = "its cell is gone, and nothing has the name that the question asks for."
    if verdict.needs_person:
        status = State.WAITING
    elif status == State.NOT_YET:
        is_refused = any(answer.is_refused for answer in answers)
        sentence = REFUSED if is_refused else why_not_here(session, cells, question, part)
        if sentence:
            status = State.WAITING
            message = f"{message} {sentence}"
    return PartRecord(
        question.id,
        status,
        one_line(message),
        float(verdict.points),
        part.points,
        part.kind,
        mistake=verdict.mistake,
        needs_person=verdict.needs_person,
        answer=notebook.text_of(own, question),
    )


def why_not_here(session: Session, cells: Sequence[Cell], question: Question, part: Part) -> str:
    """Return a sentence on what the cells of an answer need and this machine has not; "" for nothing."""
    sources = notebook.cells_to_run(cells, [replace(question, parts=(part,))])
    if packages := notebook.missing_packages(sources.values()):
        return f"It needs {' and '.join(packages)}, not installed here; a person looks at this."
    if magics := notebook.magics_behind(cells, sources.values()):
        return f"It needs {' and '.join(magics)}, not run here; a person looks at this."
    refused = session.refused
    # A name that no cell gives may come from a file which any cell would have run.
    if not notebook.unknown_names(cells, sources.values()):
        refused = refused.intersection(sources)
    if refused:
        return (
            f"It needs cell {min(refused)}, which asked for a file, a process, memory or time that it "
            "does not have here; a person looks at this."
        )
    return ""


def within_cpu(seconds: float, work: Callable[[], str]) -> str:
    """Return `work()`, or raise NotYet when this process has used so many seconds of a processor.

    Time that the submission takes is limited where it is asked.
    """
    signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
    try:
        return work()
    except OutOfTime:
        raise NotYet(f"it did not finish within {seconds:g} seconds.") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _out_of_time(signum: int, frame: object) -> None:
    raise OutOfTime


def random_numbers(secret: str | None, question_id: str, kind: str) -> np.random.Generator:
    """Return the generator for one verdict: its own, so that no order of work changes it."""
    if secret is None:
        return np.random.default_rng(zlib.crc32(question_id.encode()))
    digest = hashlib.sha256(f"{secret}/{question_id}/{kind}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))


def seen_by_a_person(
    verdict: PartRecord, cells: Sequence[Cell], question: Question, part: Part
) -> PartRecord:
    """Return a verdict; it awaits a person where something that never runs may be the answer."""
    if verdict.status in (State.CORRECT, State.WAITING):
        return verdict
    near = notebook.near_code(cells, question, part, notebook.handed_out(question.notebook))
    if not near:
        return verdict
    numbers = ", ".join(str(cell.number) for cell in near[:5])
    own = notebook.cells_of(cells, question, part)
    both = [cell for cell in cells if cell in own or cell in near]
    return replace(
        verdict,
        status=State.WAITING,
        message=one_line(f"{verdict.message} {NEAR_CODE} {numbers}."),
        answer=notebook.text_of(both, question),
    )


def written(cells: Sequence[Cell], question: Question, part: Part) -> PartRecord:
    """Return the record of a part that a person reads."""
    own = notebook.cells_of(cells, question, part)
    record = PartRecord(
        question.id,
        State.WAITING,
        "a person reads this.",
        0.0,
        part.points,
        part.kind,
        answer=notebook.text_of(own, question),
        images=notebook.images_of(own),
    )
    if record.answer:
        return record
    near = notebook.near_words(cells, question, notebook.handed_out(question.notebook))
    if near:
        text = notebook.text_of(near, question)
        return replace(record, message=NEAR_WORDS, answer=text, images=notebook.images_of(near))
    return replace(
        record, status=State.NOT_ATTEMPTED, message="the answer is still empty.", images={}
    )
