"""Knows how a judge talks to a submission: starts, replays, times and ends it, and trusts no reply."""

import contextlib
import functools
import json
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from attn_course.grading import channel
from attn_course.verdict import NotAttempted, NotYet

PRELOAD = ("numpy", "matplotlib.pyplot", "sympy")
GRACE = 1.0  # seconds from the interrupt inside the child to its end from outside
SERVER_SECONDS = 300.0  # for a fork server to start, or to end a child, on a busy machine
MAX_CHILDREN = 6  # how often a submission may stop its process before nothing more is asked


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of wall clock, bytes of the rest."""

    cell: float = 20.0
    total: float = 120.0
    memory: int = 2 << 30
    disk: int = 64 << 20
    output: int = 1 << 20


class Zygote:
    """A fork server as a context manager; it serves one session at a time.

    role: the module whose `prepare` it runs once, and whose `serve` runs in each child.
    """

    def __init__(self, preload=PRELOAD, *, tier="namespaces", role="attn_course.grading.child"):
        options = {"preload": list(preload), "tier": tier, "role": role}
        self.options = json.dumps(options)

    def __enter__(self):
        self.control, theirs = socket.socketpair()
        self.control.settimeout(SERVER_SECONDS)
        with theirs:
            self.process = self._start(theirs.fileno())
        return self

    def _start(self, fd):
        command = [sys.executable, "-P", "-m", "attn_course.grading.zygote", str(fd), self.options]
        nothing = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            pass_fds=[fd],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            cwd="/",  # a folder of its own would be left behind by a kill
            env=_environment(),
            start_new_session=True,  # a key pressed in the terminal is not for it
        )

    def __exit__(self, *exc_info):
        self.control.close()
        self.process.wait()

    def stop(self):
        """End it from another thread, also while it starts."""
        with contextlib.suppress(OSError):  # it is closed already
            self.control.shutdown(socket.SHUT_RDWR)
        self.process.kill()

    @functools.cached_property
    def ready(self):
        """True once it has imported all it needs; RuntimeError with its reason if it could not."""
        greeting = json.loads(self.control.recv(4096) or b'{"failed": "it ended at once"}')
        if "failed" in greeting:
            raise RuntimeError(f"the fork server did not start: {greeting['failed']}")
        return True

    def spawn(self, limits):
        """Return our end of the line to a new child."""
        ours, theirs = socket.socketpair()
        self.fork(limits, [theirs])
        return channel.Line(ours.detach())

    def fork(self, limits, ends):
        """Start a child that holds these `ends` of sockets and no other; they are closed here."""
        assert self.ready
        request = {"memory": limits.memory, "disk": limits.disk, "output": limits.output}
        request["seconds"] = int(limits.total) + 2
        socket.send_fds(self.control, [json.dumps(request).encode()], [e.fileno() for e in ends])
        for end in ends:
            end.close()

    def end(self):
        """End the child with everything it started; return its exit code and CPU seconds."""
        self.control.sendall(b"k")
        report = json.loads(self.control.recv(4096) or b"{}")
        if not report:
            raise RuntimeError("the fork server is gone")
        return report["exit"], report["cpu"]


def _environment():
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}
    kept = {
        name: os.environ[name] for name in ("HOME", "TMPDIR", "MPLCONFIGDIR") if name in os.environ
    }
    fixed = {"MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PATH": os.defpath}
    fixed["TORCHDYNAMO_DISABLE"] = "1"  # torch.compile would start a compiler
    return {**kept, **threads, **fixed, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}


class Missing(NotYet):
    """The notebook has nothing of this name."""


class Late(NotYet):
    """The student's code was interrupted when its time was over; the child lives on."""


class Stopped(NotYet):
    """The child is gone: it ended itself, or was ended for its time or for what it sent."""


OUTCOMES = {"NotYet": NotYet, "NotAttempted": NotAttempted, "Missing": Missing, "OutOfTime": Late}


class Session:
    """One submission's code: `run` its cells, then ask for `answers` by name.

    A cell or call that stops the process costs only itself: the next question is put to a new
    child, which has run the other cells again. `cells` is {number: source}, in order.
    """

    def __init__(self, zygote, cells, limits=None):
        self.zygote, self.cells, self.limits = zygote, dict(cells), limits or Limits()
        self.errors, self.fatal, self.output, self.cpu = {}, set(), "", 0.0
        self.channel, self.busy, self.num_children, self.num_requests = None, None, 0, 0
        self.deadline = time.monotonic() + self.limits.total

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._end(self.channel)

    def run(self):
        """Run the cells unless a child has; return {number: sentence} of those that failed.

        Those are tried again after the last one, for what they use may be defined below them.
        """
        while self.channel is None and self.num_children < MAX_CHILDREN and self._left() > 0:
            self._spawn()
            for again, numbers in enumerate((self.cells, self.errors)):
                for number in list(numbers):
                    if self.channel is not None and number not in self.fatal:
                        self._run_cell(number, bool(again))
        return self.errors

    def answers(self, names, seconds):
        """Return an Answer for each name; together they have `seconds` from now."""
        self._end(self.busy)  # of a question that a judge, stopped from outside, has left open
        self.run()
        return [Answer(self, name, seconds) for name in names]

    def _run_cell(self, number, again):
        room = self._left() - self.limits.total / 4  # the last quarter is for the questions
        seconds = min(self.limits.cell, room)
        late = f"the cells used up their share of {self.limits.total:g} seconds."
        what = number, self.cells[number], again
        self.errors.pop(number, None)
        try:
            found = self.request(
                "run", *what, seconds=seconds, late=late if seconds == room else None
            )
        except (NotYet, NotAttempted) as error:
            self.errors[number] = str(error) or "it did not run."
            if isinstance(error, (Late, Stopped)):
                self.fatal.add(number)
        else:
            self.output = (self.output + found["output"])[: self.limits.output]

    def _left(self):
        return self.deadline - time.monotonic()

    def _spawn(self):
        self.channel = self.zygote.spawn(self.limits)
        self.num_children += 1
        try:
            self.channel.receive(time.monotonic() + 60, 64)
        except (EOFError, OSError, channel.ChannelError) as error:
            self._end(self.channel)
            raise RuntimeError("the sandbox could not be set up for a submission") from error

    def _end(self, line):
        """End the child at the other end of `line`, if it is still ours; return how it ended."""
        if line is None or line is not self.channel:
            return "it had been ended"
        self.channel = None
        code, cpu = self.zygote.end()  # wakes a thread that waits on the line
        self.cpu += cpu
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def request(self, do, *what, seconds, late=None):
        """Have the child `do` something; return its reply, or raise what became of it.

        late: what to say when it is not done in `seconds`.
        """
        if self.channel is None and self._left() > 0:
            raise Stopped(f"the notebook had stopped its process {self.num_children} times.")
        late = late or f"it did not finish within {seconds:g} seconds."
        if seconds > self._left():
            seconds, late = self._left(), f"the notebook used up its {self.limits.total:g} seconds."
        if seconds <= 0:
            raise Late(late)
        self.num_requests += 1
        message = {"id": self.num_requests, "do": do, "with": what, "seconds": seconds}
        with self._guarding(self.channel, late):
            found = self._exchange(message, time.monotonic() + seconds + GRACE)
        if "error" in found:
            outcome, text = OUTCOMES[found["error"][0]], found["error"][1]
            raise outcome(late if outcome is Late else text)
        return found

    @contextlib.contextmanager
    def _guarding(self, line, late):
        """Turn whatever goes wrong on the way into one sentence and an ended child."""
        self.busy = line
        try:
            yield
        except TimeoutError:
            self._end(line)
            raise Stopped(late) from None
        except (EOFError, ConnectionError):
            raise Stopped(f"it stopped the process ({self._end(line)}).") from None
        except channel.ChannelError as error:
            self._end(line)
            raise Stopped(f"what came back cannot be judged: {error}.") from None
        except BaseException:
            self._end(line)  # a reply left half read would be taken for the next one
            raise
        finally:
            self.busy = None if self.busy is line else self.busy

    def _exchange(self, message, deadline):
        line = self.channel
        line.send(message, deadline)
        while True:
            found = _checked(line.receive(deadline))
            if found["id"] == message["id"]:
                return found

    def why_missing(self, name):
        """Return the exception for a name that is not there: empty, or its cell did not run."""
        defines = re.compile(rf"^[ \t]*(def|class) +{name}\b|^[ \t]*{name} *[:=]", re.M)
        failed = [
            self.errors[number] for number in self.errors if defines.search(self.cells[number])
        ]
        if not failed:
            return NotAttempted(f"nothing in the notebook is called {name}.")
        return NotYet(f"the cell of {name} did not run: {failed[-1]}")


def _checked(found):
    """Return a reply that has the parts a reply has, with its texts cut to size."""
    match found:
        case {"id": int(), "error": [str(kind), str(text)]} if kind in OUTCOMES:
            return {"id": found["id"], "error": (kind, one_line(text))}
        case {"id": int(), "value": _, "warned": list(warned), "output": str()}:
            return {**found, "warned": [one_line(str(text)) for text in warned[:20]]}
    raise channel.ChannelError("the reply is not a reply")


def one_line(text, longest=500):
    """Return foreign text as one line, cut to size, without what would steer a terminal."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * longest])
    return " ".join(shown.split())[:longest]


class Answer:
    """One answer of a submission, as a judge calls it: the far twin of `course.answers.Answer`."""

    def __init__(self, session, name, seconds):
        self._session, self._name, self._seconds = session, name, seconds
        self._deadline = time.monotonic() + seconds
        self.warned, self._last = [], None

    def __call__(self, *args, **kwargs):
        return self._ask("call", args, kwargs)

    def via(self, driver, *args, **kwargs):
        """Have the child run `driver`, one of `course.drivers`, on the student's object."""
        return self._ask("drive", driver.__name__, args, kwargs)

    def value(self):
        return self._ask("value")

    def steady(self):
        """Whether the last call, repeated, gives the same result."""
        if self._last is None:
            return True
        asked, before = self._last
        return repr(self._ask(*asked)) == repr(before)

    def _ask(self, do, *what):
        left = self._deadline - time.monotonic()
        late = f"it did not finish within {self._seconds:g} seconds."
        try:
            found = self._session.request(do, self._name, *what, seconds=left, late=late)
        except Missing:
            raise self._session.why_missing(self._name) from None
        self.warned, self._last = found["warned"], ((do, *what), found["value"])
        return found["value"]
