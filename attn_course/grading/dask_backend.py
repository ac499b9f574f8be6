"""Grades many files on the workers of a Dask cluster. The workers learn no name and no seed."""

import contextlib
import math
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from typing import Any

from attn_course.command_line import missing_package
from attn_course.errors import UserError
from attn_course.grading.digests import judge_digest
from attn_course.grading.grade_one import Job, Settings, record_of, ungraded
from attn_course.grading.read_submission import UnreadableFile
from attn_course.grading.record import Record
from attn_course.grading.sandbox.supervisor import NotGraded
from attn_course.grading.sandbox.tiers import NoSandbox, best_tier
from attn_course.grading.submissions import File

AHEAD = 4  # files sent to each worker before it asks
PATIENCE = "30s"  # for the scheduler to answer
LOOK = 2.0  # seconds without a result after which somebody looks whether there are workers
ALONE = 60.0  # seconds without a worker after which nobody waits for one any longer
GOES_ON = "What was graded is kept; the same command goes on from there."


def grade_on_dask(
    files: list[File], settings: Settings, address: str, jobs: int
) -> Iterator[Record]:
    """Yield a record for each file, in the order they finish.

    address: of a scheduler, or "" for `jobs` workers on this machine. A file whose worker ends is
    given to another one.
    """
    waiting = iter(files)
    tier = settings.tier if settings.tier == NoSandbox.name else ""  # each worker takes its best
    unnamed = replace(settings, seed=None, tier=tier)
    with _client(address, jobs) as client:
        in_hand: dict[Any, Job] = {}
        while True:
            room = AHEAD * max(1, _num_workers(client))
            while len(in_hand) < room and (file := next(waiting, None)):
                try:
                    job = Job.of(file, settings)
                except UnreadableFile as error:
                    yield ungraded(file, error)
                    continue
                future = client.submit(judge_here, job.message, unnamed, pure=False)
                in_hand[future] = job
            if not in_hand:
                return
            for future, record in finished(client, in_hand).items():
                del in_hand[future]
                yield record


def finished(client: Any, in_hand: Mapping[Any, Job]) -> dict[Any, Record]:
    """Return the records of what is done, one at least; refuse to wait where nobody is left to do it."""
    deadline = math.inf  # for a worker to come
    while not (records := _fetched(in_hand)):
        now = time.monotonic()
        deadline = math.inf if _num_workers(client) else min(deadline, now + ALONE)
        if now >= deadline:
            raise UserError(f"no Dask worker is left, and none came in {ALONE:.0f} s. {GOES_ON}")
    return records


def _fetched(in_hand):
    """The records that are there, or come soon."""
    from distributed import wait

    records = {}
    try:
        done = wait(list(in_hand), timeout=LOOK, return_when="FIRST_COMPLETED").done
        for future in done:
            with contextlib.suppress(TimeoutError):  # its worker took it along: it is judged again
                records[future] = record_from(in_hand[future], future)
    except CancelledError:  # all of them are, when the scheduler ends
        raise UserError(f"the Dask scheduler is gone. {GOES_ON}") from None
    except TimeoutError:
        return {}
    return records


def _num_workers(client):
    try:
        return len(client.nthreads())
    except OSError:
        raise UserError(f"the Dask scheduler is gone. {GOES_ON}") from None


def _client(address, jobs):
    try:
        from distributed import Client
    except ImportError:
        raise UserError(missing_package("Dask", "dask")) from None
    if not address:
        return Client(
            n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        )
    try:
        return Client(address, timeout=PATIENCE)
    except (OSError, ValueError):
        raise UserError(f"no Dask scheduler answers at {address}.") from None


def record_from(job: Job, future: Any) -> Record:
    """Return the record of a file that a worker has judged, or on which workers ended."""
    try:
        found = future.result(timeout=LOOK)
    except (TimeoutError, CancelledError):
        raise
    except Exception as error:  # of Dask's making: its worker was ended again and again
        return ungraded(job.file, NotGraded(f"grading it failed ({type(error).__name__})."))
    if found.judge != judge_digest(job.file.notebook):
        raise UserError("a worker has another version of the course; install the same one there.")
    if not found.tier:
        raise UserError("a worker has no sandbox; to run there all the same: --no-sandbox.")
    try:
        if found.problem:
            raise NotGraded(found.problem)
        return record_of(job, found.reply, cpu=found.cpu, tier=found.tier)
    except NotGraded as error:
        return ungraded(job.file, error)


@dataclass(frozen=True)
class Found:
    """What a worker sends back: the judge's report, or a sentence on why there is none."""

    judge: str  # digest of the code that judged
    tier: str  # "" where there is no sandbox
    reply: dict = field(default_factory=dict)
    cpu: float = 0.0
    problem: str = ""


_own = threading.local()  # the supervisor of each thread of a worker


def judge_here(message: dict[str, Any], settings: Settings) -> Found:
    """Have one file judged on this machine, by a supervisor that is kept for the next one."""
    tier = settings.tier or best_tier()
    version = judge_digest(message["notebook"])
    if not tier:
        return Found(version, tier)
    wanted = settings, tier
    if getattr(_own, "wanted", None) != wanted:
        if hasattr(_own, "supervisor"):
            _own.supervisor.__exit__()
        _own.supervisor = settings.supervisor(tier)
        _own.wanted = wanted
    try:
        reply, cpu = _own.supervisor.judge(message)
    except NotGraded as error:
        return Found(version, tier, problem=str(error))
    return Found(version, tier, reply, cpu)
