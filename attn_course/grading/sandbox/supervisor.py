"""Where one file after another is judged: a judge for each, and what it may ask for."""

import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from attn_course.grading.sandbox import channel
from attn_course.grading.sandbox.fork_server import Limits, Zygote, start_together
from attn_course.grading.sandbox.session import MAX_CHILDREN

CHILD = "attn_course.grading.sandbox.child"
JUDGE = "attn_course.grading.sandbox.judge"
# The last ones are what the first sum of two symbols imports.
EVERYWHERE = ("numpy", "numpy.random", "sympy", "sympy.tensor.tensor", "sympy.sets.setexpr")
FIGURES = "matplotlib.pyplot"
MARGIN = 120.0  # seconds a judge may need beyond its submission's
MAX_REPLY = 4 << 20


class Lost(Exception):
    """The judge of a file gave no grade; the text is one sentence."""


class Bench:
    """Fork servers, one for submissions and one for their judges; it serves a file at a time."""

    def __init__(
        self,
        notebooks: Iterable[str],
        limits: Limits,
        tier: str,
        *,
        torch: bool = False,
        judge: str = JUDGE,
    ) -> None:
        both = [*EVERYWHERE]
        if torch:
            both.append("torch")
        questions = [f"attn_course.questions.{name[3:]}" for name in notebooks]
        self.limits = limits
        self.students = Zygote(both, tier=tier, role=CHILD)
        self.judges = Zygote(both + questions, tier=tier, role=judge)
        self.painters = Zygote([*both, FIGURES], tier=tier, role=CHILD)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.stopped = False

    def __enter__(self) -> Self:
        self._start(self.students, self.judges)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for zygote in (self.students, self.judges, self.painters):
            zygote.close()
        for process in self.processes:
            process.wait()

    def _start(self, *zygotes):
        process = start_together(*zygotes)
        self.processes.append(process)
        if self.stopped:
            self.stop()

    def stop(self) -> None:
        """End all from another thread; whatever waits for them fails at once."""
        self.stopped = True
        for zygote in (self.students, self.judges, self.painters):
            zygote.stop()

    def server(self, figures: bool) -> Zygote:
        """Return the fork server for a submission; one that draws needs a server that can, which is rare."""
        if not figures:
            return self.students
        if self.painters.control is None:
            self._start(self.painters)
        return self.painters

    def judge(self, job: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Return the report of a new judge on this job, and the CPU seconds of the submission."""
        with Conversation(self, job) as talk:
            report = talk.report()
            return report, talk.cpu


class Conversation:
    """One judge at work: it may have a few children started and ended, and then reports."""

    def __init__(self, bench: Bench, job: dict[str, Any]) -> None:
        self.bench = bench
        self.job = job
        self.limits = bench.limits
        self.total = self.limits.total + MARGIN
        self.deadline = time.monotonic() + self.total
        self.server: Zygote | None = None  # of the child that lives now
        self.waiting: list[socket.socket] = []  # ends of lines, each for a child
        self.cpu = 0.0

    def __enter__(self) -> Self:
        ours, theirs = socket.socketpair()
        self.line = channel.Line(ours.detach())
        for_judge = [theirs]
        for _ in range(MAX_CHILDREN):
            for_child, other = socket.socketpair()
            self.waiting.append(for_child)
            for_judge.append(other)
        allowed = replace(self.limits, total=self.total, disk=0)
        self.bench.judges.fork(allowed, for_judge)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for end in self.waiting:
            end.close()
        if self.server:
            self._end(self.server)
        self.bench.judges.end()

    def report(self) -> dict[str, Any]:
        """Return what the judge reports in the end, whatever it may be."""
        try:
            self.line.send(self.job, self.deadline)
            found = self._next()
            while found["do"] != "report":
                answer = self._do(found)
                answer["id"] = found["id"]
                self.line.send(answer, self.deadline)
                found = self._next()
        except TimeoutError:
            raise Lost("grading it took too long and was stopped.") from None
        except (EOFError, ConnectionError):
            raise Lost("grading it ended its process.") from None
        except channel.ChannelError as error:
            raise Lost(f"what its judge said cannot be read: {error}.") from None
        return found

    def _next(self):
        match found := self.line.receive(self.deadline, MAX_REPLY):
            case {"do": "report"} | {"do": "end", "id": int()}:
                return found
            case {"do": "spawn", "id": int(), "figures": bool()}:
                return found
        raise channel.ChannelError("it is nothing that a judge may ask for")

    def _do(self, found):
        what = found["do"]
        if what == "spawn" and self.waiting and not self.server:
            self.server = self.bench.server(found["figures"])
            line = self.waiting.pop(0)
            self.server.fork(self.limits, [line])
            return {}
        if what == "end" and self.server:
            return self._end(self.server)
        raise channel.ChannelError(f"it asks to {what} a child where that is not possible")

    def _end(self, server):
        self.server = None  # even if ending it fails
        code, cpu = server.end()
        self.cpu += cpu
        return {"exit": code, "cpu": cpu}
