"""Grades many files side by side, so that none of them stops the rest."""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Iterator

from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.record import Record
from attn_course.grading.sandbox.supervisor import (
    NotGraded,
    Supervisor,
)
from attn_course.grading.submissions import File


def grade_many(files: list[File], settings: Settings, jobs: int) -> Iterator[Record]:
    """Yield a record for each file, in the order they finish."""
    waiting = deque(files)
    done: queue.SimpleQueue[Record] = queue.SimpleQueue()
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


class Worker(threading.Thread):
    """Grades waiting files at a supervisor of its own, one after another, and puts their records in `done`.

    It waits for other processes most of the time: one thread each is enough.
    """

    def __init__(self, waiting: deque, done: queue.SimpleQueue, settings: Settings):
        super().__init__(daemon=True)
        self.waiting = waiting
        self.done = done
        self.settings = settings
        self.supervisor: Supervisor | None = None
        self.given_up = threading.Event()
        self.start()

    def run(self) -> None:
        """Grade until nothing waits any more."""
        while file := self._next():
            try:
                with self.settings.supervisor() as self.supervisor:
                    while file and not self.given_up.is_set():
                        self.done.put(self._graded(file))
                        file = self._next()
            except Exception as error:  # of our own making: go on at a new supervisor
                self.done.put(Record.failed(file, f"grading it failed ({error})."))

    def _next(self):
        with contextlib.suppress(IndexError):
            return self.waiting.popleft()

    def _graded(self, file):
        assert self.supervisor, "it has no supervisor yet"
        try:
            return grade_one(file, self.supervisor, self.settings)
        except NotGraded as error:
            return Record.failed(file, str(error))

    def stop(self) -> None:
        """End what it has in hand; the record of that file is lost."""
        self.given_up.set()
        if self.supervisor:
            self.supervisor.stop()
