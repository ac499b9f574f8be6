"""Grades many files side by side, so that none of them stops the rest; the only one who collects records."""

import contextlib
import queue
import threading
from collections import deque

from attn_course import register
from attn_course.grading import session, supervising
from attn_course.grading.supervising import Settings

TORCH_FROM = 6  # the first notebook that uses torch


def modules_for(notebooks):
    """Return what to import once for these notebooks, before any submission runs."""
    questions = [f"attn_course.questions.{name[3:]}" for name in notebooks]
    known = [name for name, book in zip(questions, notebooks, strict=True) if asked(book)]
    torch = any(int(name[:2]) >= TORCH_FROM for name in notebooks)
    return (*session.PRELOAD, *(["torch"] if torch else []), *known)


def asked(notebook):
    return bool(register.questions_of(notebook))


class Worker(threading.Thread):
    """Grades waiting files at a bench of its own, one after another, and puts their records in `done`.

    It waits for other processes most of the time: one thread each is enough.
    """

    def __init__(self, waiting: deque, done: queue.SimpleQueue, settings: Settings):
        super().__init__(daemon=True)
        self.waiting, self.done, self.settings = waiting, done, settings
        self.bench, self.given_up = None, threading.Event()
        self.start()

    def run(self):
        while file := self._next():
            try:
                with supervising.Bench(self.settings) as self.bench:
                    while file and not self.given_up.is_set():
                        self.done.put(self._graded(file))
                        file = self._next()
            except Exception as error:  # of our own making: go on at a new bench
                self.done.put(supervising.failed(file, f"grading it failed ({error})."))

    def _next(self):
        with contextlib.suppress(IndexError):
            return self.waiting.popleft()

    def _graded(self, file):
        try:
            return self.bench.grade(file)
        except supervising.Lost as error:
            return supervising.failed(file, str(error))

    def stop(self):
        """End what it has in hand; the record of that file is lost."""
        self.given_up.set()
        if self.bench:
            self.bench.stop()


def grade(files, settings, jobs):
    """Yield a record for each file, in the order they finish."""
    waiting, done = deque(files), queue.SimpleQueue()
    workers = [Worker(waiting, done, settings) for _ in range(min(jobs, len(files)))]
    try:
        for _ in files:
            yield done.get()
    except BaseException:
        waiting.clear()
        for worker in workers:
            worker.stop()
        raise
    finally:
        for worker in workers:
            worker.join()
