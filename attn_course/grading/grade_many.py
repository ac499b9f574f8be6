"""Grades many files side by side, so that none of them stops the rest."""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Iterator

from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.record import Record
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
    """Grades waiting files with a supervisor of its own, and puts their records in `done`.

    It waits for other processes most of the time: one thread each is enough.
    """

    def __init__(self, waiting: deque, done: queue.SimpleQueue, settings: Settings):
        super().__init__(daemon=True)
        self.waiting = waiting
        self.done = done
        self.settings = settings
        self.supervisor = settings.supervisor()
        self.start()

    def run(self) -> None:
        """Grade until nothing waits any more."""
        with self.supervisor, contextlib.suppress(IndexError):
            while True:
                file = self.waiting.popleft()
                self.done.put(grade_one(file, self.supervisor, self.settings))

    def stop(self) -> None:
        """End what it has in hand; nobody takes the record of that file any more."""
        self.supervisor.stop()
