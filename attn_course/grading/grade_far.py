"""Grades many files on the workers of a Dask cluster. The workers learn no name and no seed."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attn_course.grading.digests import judge_digest
from attn_course.grading.grade_one import Settings, file_bytes, job_of, record_of, unread
from attn_course.grading.read_submission import Unreadable
from attn_course.grading.record import Record
from attn_course.grading.sandbox.bench import Bench, Lost
from attn_course.grading.sandbox.tiers import Nothing, best_tier
from attn_course.grading.submissions import File, Refused

AHEAD = 4  # files sent to each worker before it asks
PATIENCE = "30s"  # for the scheduler to answer
MISSING = "--dask needs Dask; install it with: pip install 'attention-course[dask]'."


def grade_far(files: list[File], settings: Settings, address: str, jobs: int) -> Iterator[Record]:
    """Yield a record for each file, in the order they finish.

    address: of a scheduler, or "" for `jobs` workers on this machine. A file whose worker ends is
    given to another one.
    """
    waiting = iter(files)
    with _client(address, jobs) as client:
        in_hand: dict[Any, File] = {}
        finished = _as_completed()
        room = AHEAD * max(1, len(client.scheduler_info()["workers"]))
        while True:
            while len(in_hand) < room and (file := next(waiting, None)):
                try:
                    job = job_of(file, file_bytes(file), settings)
                except Unreadable as error:
                    yield unread(file, error)
                    continue
                future = client.submit(judge_here, job, _unnamed(settings), pure=False)
                in_hand[future] = file
                finished.add(future)
            if not in_hand:
                return
            future = next(finished)
            file = in_hand.pop(future)
            yield _record(file, future)


def _client(address, jobs):
    try:
        from distributed import Client
    except ImportError:
        raise Refused(MISSING) from None
    if not address:
        return Client(
            n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        )
    try:
        return Client(address, timeout=PATIENCE)
    except (OSError, ValueError):
        raise Refused(f"no Dask scheduler answers at {address}.") from None


def _as_completed():
    from distributed import as_completed

    return as_completed()


def _unnamed(settings):
    """What a worker has to know of the batch, without its seed."""
    return Settings(
        seed=None,
        limits=settings.limits,
        notebooks=settings.notebooks,
        tier=Nothing.name if settings.tier == Nothing.name else "",
        everything=settings.everything,
    )


def _record(file, future):
    try:
        found = future.result()
    except Exception as error:  # of Dask's making: its worker was ended again and again
        return Record.failed(file, f"grading it failed ({type(error).__name__}).")
    if found.judge != judge_digest(file.notebook):
        raise Refused("a worker has another version of the course; install the same one there.")
    if not found.tier:
        raise Refused("a worker has no sandbox; to run there all the same: --no-sandbox.")
    try:
        if found.lost:
            raise Lost(found.lost)
        return record_of(file, found.reply, cpu=found.cpu, tier=found.tier)
    except Lost as error:
        return Record.failed(file, str(error))


@dataclass(frozen=True)
class Found:
    """What a worker sends back: the judge's report, or a sentence on why there is none."""

    judge: str  # digest of the code that judged
    tier: str  # "" where nothing can be shut in
    reply: dict | None = None
    cpu: float = 0.0
    lost: str = ""


_own = threading.local()  # the bench of each thread of a worker


def judge_here(job: dict, settings: Settings) -> Found:
    """Judge one file on this machine, at a bench that is kept for the next one."""
    tier = settings.tier or best_tier()
    version = judge_digest(job["notebook"])
    if not tier:
        return Found(version, tier)
    try:
        reply, cpu = _bench(settings, tier).judge(job)
    except Lost as error:
        return Found(version, tier, lost=str(error))
    except Exception as error:  # of our own making: the next file gets a new bench
        _close()
        return Found(version, tier, lost=f"grading it failed ({error}).")
    return Found(version, tier, reply, cpu)


def _bench(settings: Settings, tier: str) -> Bench:
    wanted = settings, tier
    if getattr(_own, "wanted", None) != wanted:
        _close()
        _own.held = contextlib.ExitStack()
        _own.bench = _own.held.enter_context(settings.bench(tier))
        _own.wanted = wanted
    return _own.bench


def _close():
    if hasattr(_own, "held"):
        _own.held.close()
    _own.wanted = None
