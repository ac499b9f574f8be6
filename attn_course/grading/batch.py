"""Grades many files side by side, so that none of them stops the rest; the only one who collects records."""

import contextlib
import queue
import threading
from collections import deque

from attn_course.grading import supervising
from attn_course.grading.supervising import Settings


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
