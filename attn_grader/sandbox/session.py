"""The worker's end: a warm process, and one submission's code as a judge sees it, timed and ended."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from attn_course.answers import NotAttempted, NotYet, is_repeated
from attn_course.answers.wording import counted
from attn_course.cell_variables import names_of
from attn_grader.notebook import one_line
from attn_grader.sandbox import END, WAIT, Limits, pipe

GRACE = 1.0  # seconds from the interrupt inside the child to its end from outside
WARM_SECONDS = 300.0  # for a warm process to start, or to end a child, on a busy machine
READY_SECONDS = 60.0  # for a child to be restricted
KILLED = "its process was ended from outside, as when memory runs out; a person looks at this."
MAX_CHILDREN = 6  # how often a submission may stop its process before nothing more is asked
MAX_WARNINGS = 20


class AnswerMissing(NotYet):
    """The notebook has nothing of this name."""


class Late(NotYet):
    """The student's code was interrupted, or its child ended, when its time was over."""


class ProcessEnded(NotYet):
    """The child is gone: it ended itself, or was ended for what it sent.

    If somebody else ended it, a person must look.
    """


class SystemRefused(NotYet):
    """The student's code asked for what a sandbox has not: a disk, a network, a process, more memory."""


OUTCOMES: dict[str, type[Exception]] = {
    "NotYet": NotYet,
    "NotAttempted": NotAttempted,
    "NameNotDefined": AnswerMissing,
    "TimeIsUp": Late,
    "SystemRefused": SystemRefused,
}


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (a signal is negative), CPU seconds, whether we killed it."""

    exit: int
    cpu: float
    killed: bool


class WarmProcess:
    """The worker's end of a warm process, which starts and ends one child at a time."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self.control = control
        self.pid = pid
        control.settimeout(WARM_SECONDS)
        text = control.recv(4096)
        greeting = json.loads(text) if text else {"failed": "it ended at once"}
        if "failed" in greeting:
            raise RuntimeError(f"the warm process did not start: {greeting['failed']}")

    @classmethod
    def forked(cls, tier: str) -> Self:
        """Fork it from this process, which has imported what submissions need and no more."""
        from attn_grader.sandbox import child

        ours, theirs = socket.socketpair()
        if pid := os.fork():
            theirs.close()
            return cls(ours, pid)
        try:
            child.serve(theirs, tier)
        finally:
            os._exit(0)

    def close(self) -> None:
        """End it and its child, and wait for both: what they took is then counted as ours."""
        self.control.close()
        os.waitpid(self.pid, 0)

    def start_child(self, limits: Limits) -> pipe.Connection:
        """Return the connection to a new child."""
        ours, theirs = socket.socketpair()
        allowed = {"memory": limits.memory, "output": limits.output, "seconds": limits.cpu_seconds}
        with theirs:
            socket.send_fds(self.control, [json.dumps(allowed).encode()], [theirs.fileno()])
        return pipe.Connection(ours)

    def end_child(self, *, is_gone: bool = False) -> Ended:
        """End the child with all its threads; is_gone: its socket is closed, it may end by itself."""
        self.control.sendall(WAIT if is_gone else END)
        text = self.control.recv(4096)
        if not text:
            raise RuntimeError("the warm process is gone")
        return Ended(**json.loads(text))


class Session:
    """One submission's code: `run` its cells, then ask for `answers` by name.

    A cell or call that stops the process costs only itself: the next question is put to a new
    child, which has run the other cells again. `cells` is {number: source}, in order.
    """

    def __init__(
        self,
        warm: WarmProcess,
        cells: Mapping[int, str],
        limits: Limits | None = None,
        names: Collection[str] = (),
        *,
        goes_on_after_kill: bool = True,
    ) -> None:
        """names: of all answers that may be asked for, in case a cell uses one for something else.

        goes_on_after_kill: whether a new child is started after somebody else has ended one.
        """
        self.warm = warm
        self.cells = dict(cells)
        self.names = list(names)
        self.limits = limits or Limits()
        self.goes_on_after_kill = goes_on_after_kill
        self.errors: dict[int, str] = {}  # number of a cell: why it did not run
        self.fatal: set[int] = set()  # cells that stopped their process, and are not run again
        self.undecided: set[int] = set()  # of these, those during which somebody else stopped it
        self.refused: set[int] = (
            set()
        )  # cells that asked for more than a sandbox gives, or for more time
        self.output = ""
        self.cpu = 0.0
        self.channel: pipe.Connection | None = None
        self.num_children = 0
        self.num_kills = 0  # by somebody else, as when the machine's memory runs out
        self.num_requests = 0
        self.deadline = time.monotonic() + self.limits.total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._end(self.channel)

    def run(self) -> dict[int, str]:
        """Run the cells unless a child has; return {number: sentence} of those that failed.

        Those are tried again after the last one, for what they use may be defined below them.
        """
        while self.channel is None and self.num_children < MAX_CHILDREN and self._left() > 0:
            if self.num_kills and not self.goes_on_after_kill:
                break
            self.channel = self.warm.start_child(self.limits)
            self.num_children += 1
            try:
                self.channel.receive(time.monotonic() + READY_SECONDS, 64)
            except (EOFError, OSError, pipe.PipeError) as error:
                self._end(self.channel)
                raise RuntimeError("the sandbox could not be set up for a submission") from error
            for again in (False, True):
                for number in list(self.errors if again else self.cells):
                    if self.channel is not None and number not in self.fatal:
                        self._run_cell(number, again)
        return self.errors

    def _run_cell(self, number, again):
        room = self._left() - self.limits.total / 4  # the last quarter is for the questions
        seconds = min(self.limits.cell, room)
        late = None
        if seconds == room:
            late = f"the cells used up their share of {self.limits.total:g} seconds."
        task = number, self.cells[number], again, self.names
        self.errors.pop(number, None)
        self.refused.discard(number)
        try:
            reply = self.request("run", *task, seconds=seconds, late=late)
        except (NotYet, NotAttempted) as error:
            self.errors[number] = str(error) or "it did not run."
            if isinstance(error, (Late, ProcessEnded)):
                self.fatal.add(number)
            if isinstance(error, (Late, SystemRefused)):
                self.refused.add(number)
            if isinstance(error, ProcessEnded) and error.needs_person:
                self.undecided.add(number)
        else:
            output = self.output + reply["output"]
            self.output = output[: self.limits.output]

    def answers(self, names: Iterable[str], seconds: float) -> list["RemoteAnswer"]:
        """Return a RemoteAnswer for each name; together they have `seconds` from now."""
        self.run()
        return [RemoteAnswer(self, name, seconds) for name in names]

    def request(
        self, do: str, *what: Any, seconds: float, late: str | None = None
    ) -> dict[str, Any]:
        """Have the child `do` something; return its reply, or raise what became of it.

        late: the sentence for what is not done in `seconds`.
        """
        connection = self.channel
        left = self._left()
        if connection is None and left > 0:
            times = counted(self.num_children, "time")
            raise ProcessEnded(f"the notebook had stopped its process {times}.")
        late = late or f"it did not finish within {seconds:g} seconds."
        if seconds > left:
            seconds = left
            late = f"the notebook used up its {self.limits.total:g} seconds."
        if connection is None or seconds <= 0:
            raise Late(late)
        self.num_requests += 1
        number = self.num_requests
        deadline = time.monotonic() + seconds + GRACE
        try:
            message = {"id": number, "do": do, "with": what, "seconds": seconds}
            connection.send(message, deadline)
            reply = _checked(connection.receive(deadline))
            while reply["id"] != number:  # an answer to a question that nobody waited for
                reply = _checked(connection.receive(deadline))
            if do == "each" and "error" not in reply:
                reply["value"] = _checked_rows(reply["value"])
        except TimeoutError:
            self._end(connection)
            raise Late(late) from None
        except (EOFError, ConnectionError):
            raise self._end(connection, is_gone=True) from None
        except pipe.PipeError as error:
            self._end(connection)
            raise ProcessEnded(f"what came back cannot be judged: {error}.") from None
        except BaseException:
            self._end(connection)  # a reply left half read would be taken for the next one
            raise
        if "error" in reply:
            raise _outcome(reply["error"], late)
        return reply

    def why_missing(self, name: str) -> NotYet | NotAttempted:
        """Return the exception for a name that is not there: empty, or its cell did not run."""
        failed = [number for number in self.errors if name in names_of(self.cells[number]).given]
        if not failed:
            return NotAttempted(f"nothing in the notebook is called {name}.")
        sentence = f"the cell of {name} did not run: {self.errors[failed[-1]]}"
        return NotYet(sentence, needs_person=not self.undecided.isdisjoint(failed))

    def _end(self, connection: pipe.Connection | None, *, is_gone: bool = False) -> ProcessEnded:
        """End the child at the other end of `connection`, if it is still ours; return why it is gone."""
        if connection is None or connection is not self.channel:
            return ProcessEnded("it stopped the process (it had been ended).")
        self.channel = None
        ended = self.warm.end_child(is_gone=is_gone)
        connection.close()
        self.cpu += ended.cpu
        is_ours = ended.killed or ended.cpu >= self.limits.cpu_seconds
        if ended.exit == -signal.SIGKILL and not is_ours:
            self.num_kills += 1
            return ProcessEnded(KILLED, needs_person=True)
        how = f"signal {-ended.exit}" if ended.exit < 0 else f"exit status {ended.exit}"
        return ProcessEnded(f"it stopped the process ({how}).")

    def _left(self):
        return self.deadline - time.monotonic()


def _checked(reply):
    """Return a reply that has the parts a reply has, with its texts cut to size."""
    match reply:
        case {"id": int(number), "error": [str(kind), str(text)]} if kind in OUTCOMES:
            return {"id": number, "error": (kind, one_line(text))}
        case {"id": int(), "value": _, "warned": list(warned), "output": str()}:
            return {**reply, "warned": _sentences(warned)}
    raise pipe.PipeError("the reply is not a reply")


def _checked_rows(value):
    """Return the values of many calls, the warnings of each, and the error that ended them, or None."""
    match value:
        case (list(values), list(warned), None) if values:
            error = None
        case (list(values), list(warned), [str(kind), str(text)]) if kind in OUTCOMES:
            error = kind, one_line(text)
        case _:
            raise pipe.PipeError("the reply is not one on many rows")
    if len(values) != len(warned) or not all(isinstance(texts, list) for texts in warned):
        raise pipe.PipeError("the reply has no warnings to each row")
    return values, list(map(_sentences, warned)), error


def _sentences(warned):
    """Return warnings cut to size."""
    return [one_line(str(text)) for text in warned[:MAX_WARNINGS]]


def _outcome(error, late):
    """Return the exception for an error in a reply; late: the sentence for one whose time was over."""
    kind, text = error
    outcome = OUTCOMES[kind]
    return outcome(late if outcome is Late else text)


class RemoteAnswer:
    """One answer of a submission, as a judge calls it: the far twin of `answers.Answer`."""

    def __init__(self, session: Session, name: str, seconds: float) -> None:
        self._session = session
        self._name = name
        self._late = f"it did not finish within {seconds:g} seconds."
        self._deadline = time.monotonic() + seconds
        self._last: tuple | None = None
        self.warned: list[str] = []
        self.is_refused = False  # True once it asked for what a sandbox has not

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("call", args, kwargs)

    def call_all(self, rows: Sequence[tuple]) -> list:
        """Call the answer on one row of arguments after another, with few messages."""
        done: list = []
        while left := rows[len(done) :]:
            sent: list[pipe.Packed] = []
            room = pipe.ENOUGH
            for row in left:
                packed = pipe.Packed(row)
                room -= packed.size
                if sent and room < 0:
                    break
                sent.append(packed)
            values, warned, error = self._request("each", sent)["value"]
            for row, value, texts in zip(left, values, warned, strict=False):
                self.warned = texts
                self._last = ("call", row, {}), value
            if error:
                raise self._noted(_outcome(error, self._late))
            done += values[: len(sent)]
        return done

    def run_driver(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Have the child run `driver`, one of `attn_course.drivers`, on the student's object."""
        return self._ask("drive", driver.__name__, args, kwargs)

    def value(self) -> Any:
        """Return the answer itself, where it is no function."""
        return self._ask("value")

    def is_steady(self) -> bool:
        """Return True if the last call, repeated, gives the same result."""
        if self._last is None:
            return True
        task, before = self._last
        return is_repeated(before, self._ask(*task))

    def _ask(self, do, *what):
        reply = self._request(do, *what)
        self.warned = reply["warned"]
        self._last = (do, *what), reply["value"]
        return reply["value"]

    def _request(self, do, *what):
        left = self._deadline - time.monotonic()
        try:
            return self._session.request(do, self._name, *what, seconds=left, late=self._late)
        except AnswerMissing:
            raise self._session.why_missing(self._name) from None
        except SystemRefused as error:
            raise self._noted(error) from None

    def _noted(self, error):
        """Return an error, once it is noted whether the system refused something."""
        self.is_refused |= isinstance(error, SystemRefused)
        return error
