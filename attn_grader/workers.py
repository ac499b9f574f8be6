"""Grades many files side by side, in processes of this machine or of a Dask cluster; none stops the rest."""

import contextlib
import math
import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.command_line import missing_package
from attn_course.errors import UserError
from attn_grader.grade import Job, Settings, grade
from attn_grader.notebook import (
    UnreadableFile,
    forget_texts,
    handed_out_cells,
    one_line,
)
from attn_grader.record import Record, judge_digest
from attn_grader.sandbox import kernel, policy
from attn_grader.sandbox.session import WarmProcess
from attn_grader.submissions import File

LARGE = 200_000  # bytes of a file
ENDING_SECONDS = 30.0  # for a worker that has nothing left to do
MARGIN = 120.0  # seconds a worker may need beyond those of its submission
# Every submission has these at hand; the last ones are what the first sums and chains import.
EVERYWHERE = (
    "numpy",
    "numpy.random",
    "sympy",
    "sympy.tensor.tensor",
    "sympy.sets.setexpr",
    "sympy.assumptions.wrapper",
    "attn_course.proofs.compare_lines",
    "attn_course.proofs.relations",
    "matplotlib.pyplot",
)
IMPORT = re.compile(r"^(?:from|import) (attn_\w+(?:\.\w+)*)", re.M)
ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")
KEPT = ("HOME", "TMPDIR", "MPLCONFIGDIR")  # of the environment

AHEAD = 4  # files sent to each Dask worker before it asks
PATIENCE = "30s"  # for the scheduler to answer
LOOK = 2.0  # seconds without a result after which somebody looks whether there are workers
ALONE = 60.0  # seconds without a worker after which nobody waits for one any longer
GOES_ON = "What was graded is kept; the same command goes on from there."


class NotGraded(Exception):
    """A file has no grade; the text is one sentence."""


class Worker:
    """A process that grades one file at a time; it is started when needed, and replaced if it fails."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        self.is_stopped = False

    def grade(self, job: Job) -> Record:
        """Return the record of a file; raise NotGraded where a second worker fails on it, too."""
        problem = ""
        for _ in range(2):
            try:
                self._start()
                self.connection.send(job)
                if not self.connection.poll(2 * self.settings.limits.total + MARGIN):
                    raise TimeoutError
                return self.connection.recv()
            except TimeoutError:
                problem = "grading it took too long and was stopped."
            except (EOFError, OSError):
                problem = "grading it ended its process."
            if self.process is not None:
                self.process.kill()  # its children end with it
            self.close()
            if self.is_stopped:
                break
        raise NotGraded(problem)

    def _start(self):
        if self.process is not None:
            return
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=clean_environment(),
                start_new_session=True,  # a key pressed in the terminal is not for it
            )
        self.connection = Connection(ours.detach())
        if self.is_stopped:
            self.stop()
        self.connection.send(self.settings)

    def close(self) -> None:
        """Have the process end, which waits for its children; the next file gets a new one."""
        if self.process is None:
            return
        self.connection.close()
        try:
            self.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def stop(self) -> None:
        """End it from another thread, for good; who waits for it gets no record."""
        self.is_stopped = True
        if process := self.process:
            process.kill()


def clean_environment():
    """Return an environment without anything of the grader's but where its folders are."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    threads = {f"{name}_NUM_THREADS": "1" for name in ONE_THREAD}
    fixed = {
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "TORCHDYNAMO_DISABLE": "1",  # torch.compile would start a compiler
    }
    return {**kept, **threads, **fixed}


def work(connection: Connection) -> None:
    """Grade one file after another, as long as the command is there."""
    settings: Settings = connection.recv()
    try:
        process = start(settings)
    except Exception as error:
        problem = one_line(f"grading it failed ({type(error).__name__}: {error}).")
        while True:
            connection.send(Record("", connection.recv().notebook, "", "", problem=problem))
    try:
        while True:
            job = connection.recv()
            connection.send(grade_or_say_why(job, process, settings))
    finally:
        process.close()


def start(settings: Settings) -> WarmProcess:
    """Import what submissions need, fork the warm process, then import the judges."""
    from attn_grader.sandbox import child  # only now: no command and no judge needs it

    modules = [*EVERYWHERE]
    if any(map(register.needs_torch, settings.notebooks)):
        modules += ["torch", "torch._dynamo"]  # drivers that watch operations load the second
    for name in settings.notebooks:
        for cell in handed_out_cells(name):
            if cell.kind == "code":
                modules += IMPORT.findall(cell.source)
    child.import_all(modules)
    process = WarmProcess.forked(settings.tier)
    for name in settings.notebooks:
        register.questions_of(name)
    policy.limit_memory(settings.limits.memory)
    return process


def grade_or_say_why(job: Job, process: WarmProcess, settings: Settings) -> Record:
    """Return the record of a file; one without a stamp, which is graded again, if grading it failed."""
    try:
        return grade(job, process, settings)
    except (OSError, RuntimeError):
        raise  # of the warm process: another worker may do better
    except Exception as error:
        problem = one_line(f"grading it failed ({type(error).__name__}: {error}).")
        return Record("", job.notebook, "", "", problem=problem)
    finally:
        if len(job.data) > LARGE:  # its texts would take memory from the files after it
            forget_texts()


def ungraded(file: File, error: Exception) -> Record:
    """Return the record of a file that has no grade: a person must look at it.

    Unless its bytes are at fault, it has no stamp and is graded again the next time.
    """
    if isinstance(error, UnreadableFile):
        return Record.of(file, file.stamp, problem=str(error), remarks=file.remarks)
    problem = str(error) if isinstance(error, NotGraded) else f"grading it failed ({error})."
    return Record.of(file, "", problem=one_line(problem), remarks=file.remarks)


def grade_file(file: File, worker: Worker, seed: int | None) -> Record:
    """Return the record of one file, whatever it does."""
    try:
        return worker.grade(Job.of(file, seed)).for_file(file)
    except Exception as error:
        return ungraded(file, error)


def grade_many(
    files: list[File], settings: Settings, seed: int | None, jobs: int
) -> Iterator[Record]:
    """Yield a record for each file, in the order they finish."""
    waiting = deque(files)
    done: queue.SimpleQueue[Record] = queue.SimpleQueue()
    workers = [Worker(settings) for _ in range(min(jobs, len(files)))]

    def grade_all(worker: Worker) -> None:
        with contextlib.suppress(IndexError):
            while True:
                done.put(grade_file(waiting.popleft(), worker, seed))
        worker.close()

    threads = [threading.Thread(target=grade_all, args=[w], daemon=True) for w in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in files:
            yield done.get()
    except BaseException:
        waiting.clear()
        for worker in workers:
            worker.stop()
        raise
    finally:
        for thread in threads:
            thread.join()


def grade_on_dask(
    files: list[File], settings: Settings, seed: int, address: str, jobs: int
) -> Iterator[Record]:
    """Yield a record for each file, in the order they finish.

    address: of a scheduler, or "" for `jobs` workers on this machine. A file whose worker ends is
    given to another one.
    """
    waiting = iter(files)
    tier = settings.tier if settings.tier == policy.NoSandbox.name else ""  # each takes its best
    anywhere = replace(settings, tier=tier)
    with _client(address, jobs) as client:
        in_hand: dict[Any, File] = {}
        while True:
            room = AHEAD * max(1, _num_workers(client))
            while len(in_hand) < room and (file := next(waiting, None)):
                try:
                    job = Job.of(file, seed)
                except UnreadableFile as error:
                    yield ungraded(file, error)
                    continue
                in_hand[client.submit(grade_here, job, anywhere, pure=False)] = file
            if not in_hand:
                return
            for future, record in finished(client, in_hand).items():
                del in_hand[future]
                yield record


def finished(client: Any, in_hand: Mapping[Any, File]) -> dict[Any, Record]:
    """Return the records of what is done, one at least; refuse to wait where nobody is left to do it."""
    deadline = math.inf  # for a worker to come
    while not (records := _fetched(in_hand)):
        now = time.monotonic()
        deadline = math.inf if _num_workers(client) else min(deadline, now + ALONE)
        if now >= deadline:
            raise UserError(f"no Dask worker is left, and none came in {ALONE:.0f} s. {GOES_ON}")
    return records


def _fetched(in_hand):
    """Return the records that are there, or come soon."""
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


def record_from(file: File, future: Any) -> Record:
    """Return the record of a file that a worker has graded, or on which workers ended."""
    try:
        judge, record = future.result(timeout=LOOK)
    except (TimeoutError, CancelledError):
        raise
    except Exception as error:  # of Dask's making, most often: its worker was ended again and again
        problem = error if isinstance(error, NotGraded) else type(error).__name__
        return ungraded(file, NotGraded(f"grading it failed ({problem})."))
    if judge != judge_digest(file.notebook):
        raise UserError("a worker has another version of the course; install the same one there.")
    if record is None:
        raise UserError("a worker has no sandbox; to run there all the same: --no-sandbox.")
    return record.for_file(file)


_own = threading.local()  # the worker of each thread of a Dask worker


def grade_here(job: Job, settings: Settings) -> tuple[str, Record | None]:
    """Return (digest of the judge here, record) of a file; None where this machine has no sandbox."""
    version = judge_digest(job.notebook)
    tier = settings.tier or policy.best_tier()
    if not tier:
        return version, None
    settings = replace(settings, tier=tier)
    worker: Worker | None = getattr(_own, "worker", None)
    if worker is None or worker.settings != settings:
        if worker:
            worker.close()
        worker = _own.worker = Worker(settings)
    return version, worker.grade(job)


if __name__ == "__main__":
    kernel.end_with_parent()
    with contextlib.suppress(EOFError, ConnectionError):  # the command is done
        work(Connection(int(sys.argv[1])))
