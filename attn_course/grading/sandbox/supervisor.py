"""Has one file after another judged: starts a judge for each, and does what it may ask for."""

import contextlib
import re
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

from attn_course.grading.read_submission import UnreadableFile, read_submission
from attn_course.grading.sandbox import channel
from attn_course.grading.sandbox.fork_server import ForkServer, Limits, start_together
from attn_course.grading.sandbox.session import MAX_CHILDREN

JUDGE = "attn_course.grading.sandbox.judge"
# The last ones are what the first sum of two symbols imports.
EVERYWHERE = ("numpy", "numpy.random", "sympy", "sympy.tensor.tensor", "sympy.sets.setexpr")
FIGURES = "matplotlib.pyplot"
NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"  # as handed out
IMPORT = re.compile(r"^(?:from|import) (attn_\w+(?:\.\w+)*)", re.M)
MARGIN = 120.0  # seconds a judge may need beyond its submission's
MAX_REPLY = 20 << 20  # pictures are most of it


class NotGraded(Exception):
    """The judge of a file gave no grade; the text is one sentence."""


class Supervisor:
    """Fork servers, one for submissions and one for their judges; it has one file judged at a time."""

    def __init__(
        self,
        notebooks: Iterable[str],
        limits: Limits,
        tier: str,
        *,
        torch: bool = False,
        judge: str = JUDGE,
    ) -> None:
        both = [*EVERYWHERE, "torch"] if torch else [*EVERYWHERE]
        questions = [f"attn_course.questions.{name[3:]}" for name in notebooks]
        used = imported_by(notebooks)
        self.limits = limits
        self.students = ForkServer([*both, *used], tier=tier)
        self.judges = ForkServer(both + questions, tier=tier, role=judge)
        self.plotting = ForkServer([*both, *used, FIGURES], tier=tier)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for server in (self.students, self.judges, self.plotting):
            server.close()
        for process in self.processes:
            process.wait()
        self.processes.clear()

    def _start(self, *servers):
        self.processes.append(start_together(*servers))
        if self.stopped:
            self.stop()

    def stop(self) -> None:
        """End all from another thread; whatever waits for them fails at once."""
        self.stopped = True
        for server in (self.students, self.judges, self.plotting):
            server.stop()

    def server(self, figures: bool) -> ForkServer:
        """Return the fork server for a submission; one that draws needs a server that can, which is rare."""
        if not figures:
            return self.students
        if self.plotting.control is None:
            self._start(self.plotting)
        return self.plotting

    def judge(self, job: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Return the report of a new judge on this job, and the CPU seconds of the submission.

        Where a process was ended by somebody else, as when the machine runs out of memory, the job is
        done once more; raise NotGraded where that helps nothing.
        """
        try:
            return self._judge(job)
        except Interrupted:
            return self._judge(job)

    def _judge(self, job):
        try:
            if self.students.control is None:
                self._start(self.students, self.judges)
            with JudgeProcess(self, job) as process:
                report = process.report()
        except NotGraded:
            raise
        except Exception as error:  # of our own making, or a fork server was killed
            if not self.stopped:
                self.__exit__()  # the next one gets new servers
            raise Interrupted(f"grading it failed ({error}).") from None
        if report.get("killed") is True:
            raise Interrupted("its process was ended from outside, as when memory runs out.")
        return report, process.cpu


def imported_by(notebooks: Iterable[str]) -> list[str]:
    """Return the modules of the course that the notebooks import, so that no child has to import them."""
    found = set()
    for name in notebooks:
        with contextlib.suppress(UnreadableFile):  # the package may be alone
            for cell in read_submission(NOTEBOOKS / f"{name}.ipynb").cells:
                if cell.kind == "code":
                    found.update(IMPORT.findall(cell.source))
    return sorted(found)


class Interrupted(NotGraded):
    """It is not the fault of the file: another attempt may help."""


class JudgeProcess:
    """One judge at work: it may have a few children started and ended, and then reports."""

    def __init__(self, supervisor: Supervisor, job: dict[str, Any]) -> None:
        self.supervisor = supervisor
        self.job = job
        self.limits = supervisor.limits
        self.total = self.limits.total + MARGIN
        self.deadline = time.monotonic() + self.total
        self.server: ForkServer | None = None  # of the child that lives now
        self.waiting: list[socket.socket] = []  # each for a child
        self.cpu = 0.0

    def __enter__(self) -> Self:
        ours, theirs = socket.socketpair()
        self.connection = channel.Connection(ours.detach())
        for_judge = [theirs]
        for _ in range(MAX_CHILDREN):
            for_child, other = socket.socketpair()
            self.waiting.append(for_child)
            for_judge.append(other)
        self.supervisor.judges.fork(replace(self.limits, total=self.total), for_judge)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for end in self.waiting:
            end.close()
        if self.server:
            self._end(self.server)
        self.supervisor.judges.end()

    def report(self) -> dict[str, Any]:
        """Return what the judge reports in the end, whatever it may be."""
        try:
            self.connection.send(self.job, self.deadline)
            found = self._next()
            while found["do"] != "report":
                answer = self._do(found)
                self.connection.send({**answer, "id": found["id"]}, self.deadline)
                found = self._next()
        except TimeoutError:
            raise NotGraded("grading it took too long and was stopped.") from None
        except (EOFError, ConnectionError):
            raise Interrupted("grading it ended its process.") from None
        except channel.ChannelError as error:
            raise NotGraded(f"what its judge said cannot be read: {error}.") from None
        return found

    def _next(self):
        match found := self.connection.receive(self.deadline, MAX_REPLY):
            case {"do": "report"} | {"do": "end", "id": int(), "is_gone": bool()}:
                return found
            case {"do": "spawn", "id": int(), "figures": bool()}:
                return found
        raise channel.ChannelError("it is nothing that a judge may ask for")

    def _do(self, found):
        what = found["do"]
        if what == "spawn" and self.waiting and not self.server:
            self.server = self.supervisor.server(found["figures"])
            self.server.fork(self.limits, [self.waiting.pop(0)])
            return {}
        if what == "end" and self.server:
            return asdict(self._end(self.server, found["is_gone"]))
        raise channel.ChannelError(f"it asks to {what} a child where that is not possible")

    def _end(self, server, is_gone=False):
        self.server = None  # even if ending it fails
        ended = server.end(is_gone=is_gone)
        self.cpu += ended.cpu
        return ended
