"""Grades one file outside the sandbox: hands its bytes to a judge, and believes little of the reply."""

import contextlib
import hashlib
import hmac
import socket
import time
from dataclasses import asdict, dataclass, replace

import numpy as np

from attn_course import register
from attn_course.grading import channel
from attn_course.grading.marking import WAITING
from attn_course.grading.matching import LONGEST, UNSEEN
from attn_course.grading.reading import Unreadable, read_bytes
from attn_course.grading.session import MAX_CHILDREN, PRELOAD, Limits, Zygote, one_line
from attn_course.verdict import CORRECT, NOT_ATTEMPTED, NOT_YET

TORCH_FROM = 6  # the first notebook that uses torch
MARGIN = 120.0  # seconds a judge may need beyond its submission's
MAX_REPLY = 4 << 20
MAX_REMARKS = 100


class Lost(Exception):
    """The judge of a file gave no grade; the text is one sentence."""


@dataclass(frozen=True)
class Settings:
    """How a batch is graded; the same for every file in it."""

    seed: int | None
    limits: Limits
    notebooks: tuple[str, ...]
    tier: str
    everything: bool = False

    @property
    def torch(self):
        return ("torch",) if any(int(name[:2]) >= TORCH_FROM for name in self.notebooks) else ()

    @property
    def questions(self):
        return tuple(f"attn_course.questions.{name[3:]}" for name in self.notebooks)


class Bench:
    """Two fork servers, one for submissions and one for their judges; it grades a file at a time."""

    def __init__(self, settings, judge="attn_course.grading.marking"):
        needed = ("numpy", "sympy", *settings.torch, *settings.questions)
        self.settings = settings
        self.students = Zygote((*PRELOAD, *settings.torch), tier=settings.tier)
        self.judges = Zygote(needed, tier=settings.tier, role=judge)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.students)
            stack.enter_context(self.judges)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *exc_info):
        self.stack.close()

    def stop(self):
        """End both from another thread; whatever waits for them fails at once."""
        self.students.stop()
        self.judges.stop()

    def grade(self, file):
        """Return the record of one file: plain data, with a sentence in `problem` if it has no grade."""
        record = blank(file)
        try:
            if file.problem:
                raise Unreadable(file.problem)
            data = read_bytes(file.path)
        except Unreadable as error:
            return {**record, "problem": str(error), "remarks": list(file.remarks)}
        job = self._job(file, data)
        with Conversation(self, job) as talk:
            reply = checked(talk.reply(), file.notebook)
        remarks = [*file.remarks, *reply.pop("remarks")]
        more = {"remarks": remarks, "tier": self.settings.tier, "cpu": round(talk.cpu, 3)}
        return {**record, **reply, **more}

    def _job(self, file, data):
        return {
            "suffix": file.path.suffix,
            "notebook": file.notebook,
            "data": np.frombuffer(data, np.uint8),
            "secret": secret_of(self.settings.seed, file),
            "limits": asdict(self.settings.limits),
            "everything": self.settings.everything,
        }


def secret_of(seed, file):
    """Return what the inputs of one file are drawn from; it tells nothing of the seed."""
    if seed is None:
        return None
    about = f"{file.student}/{file.notebook}".encode()
    return hmac.new(f"{seed:x}".encode(), about, hashlib.sha256).hexdigest()


class Conversation:
    """One judge at work: it may have a few children started and ended, and then reports."""

    def __init__(self, bench, job):
        self.bench, self.job, self.cpu = bench, job, 0.0
        self.limits = bench.settings.limits
        self.deadline = time.monotonic() + self.limits.total + MARGIN
        self.has_child = False

    def __enter__(self):
        pairs = [socket.socketpair() for _ in range(1 + MAX_CHILDREN)]
        own, *self.waiting = [ours for ours, _ in pairs]
        self.line = channel.Line(own.detach())
        more = replace(self.limits, total=self.limits.total + MARGIN, disk=0)
        self.bench.judges.fork(more, [theirs for _, theirs in pairs])
        return self

    def __exit__(self, *exc_info):
        for end in self.waiting:
            end.close()
        if self.has_child:
            self._end()
        self.bench.judges.end()

    def reply(self):
        """Return what the judge reports in the end, whatever it may be."""
        try:
            self.line.send(self.job, self.deadline)
            while (found := self._next())["do"] != "report":
                self.line.send({**self._do(found["do"]), "id": found["id"]}, self.deadline)
        except TimeoutError:
            raise Lost("grading it took too long and was stopped.") from None
        except (EOFError, ConnectionError):
            raise Lost("grading it ended its process.") from None
        except channel.ChannelError as error:
            raise Lost(f"what its judge said cannot be read: {error}.") from None
        return found

    def _next(self):
        match found := self.line.receive(self.deadline, MAX_REPLY):
            case {"do": "report"} | {"do": "spawn" | "end", "id": int()}:
                return found
        raise channel.ChannelError("it is nothing that a judge may ask for")

    def _do(self, what):
        if what == "spawn" and self.waiting and not self.has_child:
            self.bench.students.fork(self.limits, [self.waiting.pop(0)])
            self.has_child = True
            return {}
        if what == "end" and self.has_child:
            return self._end()
        raise channel.ChannelError(f"it asks to {what} a child where that is not possible")

    def _end(self):
        self.has_child = False
        code, cpu = self.bench.students.end()
        self.cpu += cpu
        return {"exit": code, "cpu": cpu}


def checked(reply, notebook):
    """Return the part of a record that a judge has a say in, of the form it must have.

    Which parts there are, and what each is worth, is not the judge's to say.
    """
    match reply:
        case {"problem": str(problem), "remarks": list(remarks), "parts": list(found)}:
            texts = [one_line(text) for text in remarks if isinstance(text, str)]
        case _:
            raise Lost("what its judge said cannot be read: it is not a report.")
    parts = [] if problem else list(_parts(found, notebook))
    return {"problem": one_line(problem), "remarks": texts[:MAX_REMARKS], "parts": parts}


def _parts(found, notebook):
    asked = [(q, part) for q in register.questions_of(notebook) for part in q.parts]
    if len(found) != len(asked):
        raise Lost("what its judge said cannot be read: it is not one verdict a part.")
    for (question, part), verdict in zip(asked, found, strict=True):
        known = (CORRECT, NOT_YET, NOT_ATTEMPTED) if part.judge else (WAITING, NOT_ATTEMPTED)
        match verdict:
            case (str(status), str(message), str(answer)) if status in known:
                yield {
                    "question": question.id,
                    "kind": part.kind,
                    "status": status,
                    "points": part.points if status == CORRECT else 0,
                    "out_of": part.points,
                    "message": one_line(message),
                    "answer": UNSEEN.sub("\ufffd", answer[:LONGEST]),
                }
            case _:
                raise Lost(f"what its judge said of {question.id} cannot be read.")


def blank(file):
    """Return the record of a file of which nothing is known yet."""
    record = {"student": file.student, "notebook": file.notebook, "file": file.name}
    return {**record, "stamp": file.stamp, "parts": []}


def failed(file, problem):
    """Return the record of a file that could not be graded; without a stamp it is tried again."""
    return {**blank(file), "stamp": "", "problem": problem, "remarks": []}
