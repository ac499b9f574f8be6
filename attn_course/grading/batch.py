"""Knows how to grade many files side by side, and that none of them may stop the rest."""

import contextlib
import importlib
import multiprocessing
import signal
import sys
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing import connection

from attn_course import register
from attn_course.grading import marking, sandbox, session

TORCH_FROM = 6  # the first notebook that uses torch
MARGIN = 120.0  # seconds a worker may need beyond its submission's, to start and to judge


@dataclass(frozen=True)
class Settings:
    """How a batch is graded; the same for every file in it."""

    seed: int | None
    limits: session.Limits
    preload: tuple[str, ...]
    sandboxed: bool = True
    everything: bool = False


def modules_for(notebooks):
    """Return what to import once for these notebooks, before any submission runs."""
    questions = [f"attn_course.questions.{name[3:]}" for name in notebooks]
    known = [name for name, book in zip(questions, notebooks, strict=True) if asked(book)]
    torch = any(int(name[:2]) >= TORCH_FROM for name in notebooks)
    return (*session.PRELOAD, *(["torch"] if torch else []), *known)


def asked(notebook):
    return bool(register.questions_of(notebook))


def work(line, others, settings):
    """Grade what comes down the `line` until it closes: the whole life of a worker process."""
    for other in others:
        other.close()  # or this process would keep a line open that the parent's death should close
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told too, and ends this process
    warm_up(settings.preload)
    with contextlib.suppress(EOFError, ConnectionError):  # the parent is gone
        while _serve(line, settings):
            pass


def warm_up(modules):
    """Import for the judges now what would take them much of their few seconds later."""
    for name in {"sympy", "torch"} & set(modules):
        importlib.import_module(name)
    if "torch" in modules:
        sys.modules["torch"].set_num_threads(1)
    importlib.import_module("attn_course.judge_derivation")


def _serve(line, settings):
    """Grade until something of ours fails; say so of the file in hand, and start afresh."""
    options = {"limits": settings.limits, "everything": settings.everything}
    file = None
    try:
        with (
            session.Zygote(settings.preload, sandboxed=settings.sandboxed) as zygote,
            sandbox.at_most(settings.limits.memory),  # whatever an answer returns
        ):
            while True:
                file = line.recv()
                line.send(marking.mark(file, seed=settings.seed, zygote=zygote, **options))
                file = None
    except EOFError:
        return False
    except Exception as error:
        line.send(failed(file or line.recv(), f"grading it failed ({error})."))
        return True


class Worker:
    """One worker process and the file it has in hand."""

    def __init__(self, settings, others):
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.line, theirs = context.Pipe()
        self.file, self.deadline = None, 0.0
        arguments = (theirs, [*others, self.line], settings)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def give(self, file, seconds):
        self.file, self.deadline = file, time.monotonic() + seconds
        with contextlib.suppress(ConnectionError):  # it is gone, as `take` will find
            self.line.send(file)

    def take(self):
        """Return the record of the file in hand; raise EOFError if the process is gone."""
        record, self.file = self.line.recv(), None
        return record

    def stop(self):
        """Let an idle worker leave in peace, and end one that is not."""
        self.line.close()
        self.process.join(0 if self.file else 10)
        self.process.kill()
        self.process.join()


def grade(files, settings, jobs):
    """Yield a record for each file, in the order they finish."""
    waiting, workers = deque(files), []
    try:
        while waiting or any(worker.file for worker in workers):
            while waiting and len(workers) < jobs:
                workers.append(Worker(settings, [worker.line for worker in workers]))
                _next(workers[-1], waiting, settings)
            yield from _finished(workers, waiting, settings)
    finally:
        for worker in workers:
            worker.stop()


def _next(worker, waiting, settings):
    if waiting:
        worker.give(waiting.popleft(), settings.limits.total + MARGIN)


def _finished(workers, waiting, settings):
    """Yield what has come in, and hand out the next files; a worker that is lost is let go."""
    busy = {worker.line: worker for worker in workers if worker.file}
    for line in connection.wait(busy, timeout=1.0):
        worker = busy[line]
        try:
            yield worker.take()
            _next(worker, waiting, settings)
        except (EOFError, ConnectionError):
            yield _lost(worker, workers, "grading it ended its process.")
    for worker in [worker for worker in workers if time.monotonic() > worker.deadline]:
        if worker.file:
            yield _lost(worker, workers, "grading it took too long and was stopped.")


def _lost(worker, workers, problem):
    workers.remove(worker)
    worker.stop()
    return failed(worker.file, problem)


def failed(file, problem):
    """Return the record of a file that could not be graded; without a stamp it is tried again."""
    return {**marking.blank(file), "stamp": "", "problem": problem, "remarks": []}
