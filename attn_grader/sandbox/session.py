"""One submission's code as a judge sees it: started, replayed, timed, ended."""

import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from attn_course.answers import NotAttempted, NotYet, is_repeated
from attn_course.cell_variables import names_of
from attn_grader.notebook import one_line
from attn_grader.sandbox import Limits, pipe
from attn_grader.sandbox.warm import WarmProcess

GRACE = 1.0  # seconds from the interrupt inside the child to its end from outside
KILLED = "its process was ended from outside, as when memory runs out; a person looks at this."
MAX_CHILDREN = 6  # how often a submission may stop its process before nothing more is asked


class AnswerMissing(NotYet):
    """The notebook has nothing of this name."""


class Late(NotYet):
    """The student's code was interrupted when its time was over; the child lives on."""


class ProcessEnded(NotYet):
    """The child is gone: it ended itself, or was ended for its time or for what it sent.

    If somebody else ended it, a person must look.
    """


OUTCOMES: dict[str, type[Exception]] = {
    "NotYet": NotYet,
    "NotAttempted": NotAttempted,
    "NameNotDefined": AnswerMissing,
    "TimeIsUp": Late,
}


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
        while self.channel is None and self._may_spawn():
            self._spawn()
            self._run_all(self.cells, again=False)
            self._run_all(self.errors, again=True)
        return self.errors

    def _may_spawn(self):
        is_given_up = self.num_kills > 0 and not self.goes_on_after_kill
        return self.num_children < MAX_CHILDREN and self._left() > 0 and not is_given_up

    def _run_all(self, numbers, again):
        for number in list(numbers):
            if self.channel is not None and number not in self.fatal:
                self._run_cell(number, again)

    def answers(self, names: Iterable[str], seconds: float) -> list["RemoteAnswer"]:
        """Return a RemoteAnswer for each name; together they have `seconds` from now."""
        self.run()
        return [RemoteAnswer(self, name, seconds) for name in names]

    def _run_cell(self, number, again):
        room = self._left() - self.limits.total / 4  # the last quarter is for the questions
        seconds = min(self.limits.cell, room)
        late = None
        if seconds == room:
            late = f"the cells used up their share of {self.limits.total:g} seconds."
        what = number, self.cells[number], again, self.names
        self.errors.pop(number, None)
        try:
            found = self.request("run", *what, seconds=seconds, late=late)
        except (NotYet, NotAttempted) as error:
            self.errors[number] = str(error) or "it did not run."
            if isinstance(error, (Late, ProcessEnded)):
                self.fatal.add(number)
            if isinstance(error, ProcessEnded) and error.needs_person:
                self.undecided.add(number)
        else:
            output = self.output + found["output"]
            self.output = output[: self.limits.output]

    def _left(self):
        return self.deadline - time.monotonic()

    def _spawn(self):
        self.channel = self.warm.spawn(self.limits)
        self.num_children += 1
        try:
            self.channel.receive(time.monotonic() + 60, 64)
        except (EOFError, OSError, pipe.PipeError) as error:
            self._end(self.channel)
            raise RuntimeError("the sandbox could not be set up for a submission") from error

    def _end(self, connection, *, is_gone=False):
        """End the child at the other end of `connection`, if it is still ours; return why it is gone."""
        if connection is None or connection is not self.channel:
            return ProcessEnded("it stopped the process (it had been ended).")
        self.channel = None
        ended = self.warm.end(is_gone=is_gone)
        self.cpu += ended.cpu
        is_ours = ended.killed or ended.cpu >= self.limits.cpu_seconds
        if ended.exit == -signal.SIGKILL and not is_ours:
            self.num_kills += 1
            return ProcessEnded(KILLED, needs_person=True)
        how = f"signal {-ended.exit}" if ended.exit < 0 else f"exit status {ended.exit}"
        return ProcessEnded(f"it stopped the process ({how}).")

    def request(
        self, do: str, *what: Any, seconds: float, late: str | None = None
    ) -> dict[str, Any]:
        """Have the child `do` something; return its reply, or raise what became of it.

        late: what to say when it is not done in `seconds`.
        """
        connection = self.channel
        left = self._left()
        if connection is None and left > 0:
            raise ProcessEnded(f"the notebook had stopped its process {self.num_children} times.")
        late = late or f"it did not finish within {seconds:g} seconds."
        if seconds > left:
            seconds = left
            late = f"the notebook used up its {self.limits.total:g} seconds."
        if seconds <= 0:
            raise Late(late)
        self.num_requests += 1
        message = {"id": self.num_requests, "do": do, "with": what, "seconds": seconds}
        deadline = time.monotonic() + seconds + GRACE
        try:
            found = self._exchange(connection, message, deadline)
        except TimeoutError:
            self._end(connection)
            raise ProcessEnded(late) from None
        except (EOFError, ConnectionError):
            raise self._end(connection, is_gone=True) from None
        except pipe.PipeError as error:
            self._end(connection)
            raise ProcessEnded(f"what came back cannot be judged: {error}.") from None
        except BaseException:
            self._end(connection)  # a reply left half read would be taken for the next one
            raise
        if "error" in found:
            raise _outcome(found["error"], late)
        return found

    def _exchange(self, connection, message, deadline):
        connection.send(message, deadline)
        while True:
            found = _checked(connection.receive(deadline))
            if found["id"] == message["id"]:
                return _rows(found) if message["do"] == "each" else found

    def why_missing(self, name: str) -> NotYet | NotAttempted:
        """Return the exception for a name that is not there: empty, or its cell did not run."""
        failed = [number for number in self.errors if name in names_of(self.cells[number]).given]
        if not failed:
            return NotAttempted(f"nothing in the notebook is called {name}.")
        sentence = f"the cell of {name} did not run: {self.errors[failed[-1]]}"
        return NotYet(sentence, needs_person=not self.undecided.isdisjoint(failed))


def _outcome(error, late):
    """The exception for an error in a reply; late: what to say when its time was over."""
    kind, text = error
    outcome = OUTCOMES[kind]
    return outcome(late if outcome is Late else text)


def _rows(found):
    """Return a reply on many rows, (values, warnings, error), if it is one; something must be in it."""
    match found:
        case {"error": _}:
            return found
        case {"value": (list(values), list(warned), None)} if values:
            return {**found, "value": (values, _texts_of(values, warned), None)}
        case {"value": (list(values), list(warned), [str(kind), str(text)])} if kind in OUTCOMES:
            error = kind, one_line(text)
            return {**found, "value": (values, _texts_of(values, warned), error)}
    raise pipe.PipeError("the reply is not one on many rows")


def _texts_of(values, warned):
    if len(values) != len(warned) or not all(isinstance(texts, list) for texts in warned):
        raise pipe.PipeError("the reply has no warnings to each row")
    return list(map(_sentences, warned))


def _sentences(warned):
    """Warnings cut to size."""
    return [one_line(str(text)) for text in warned[:20]]


def _checked(found):
    """Return a reply that has the parts a reply has, with its texts cut to size."""
    match found:
        case {"id": int(number), "error": [str(kind), str(text)]} if kind in OUTCOMES:
            return {"id": number, "error": (kind, one_line(text))}
        case {"id": int(), "value": _, "warned": list(warned), "output": str()}:
            return {**found, "warned": _sentences(warned)}
    raise pipe.PipeError("the reply is not a reply")


class RemoteAnswer:
    """One answer of a submission, as a judge calls it: the far twin of `answers.Answer`."""

    def __init__(self, session: Session, name: str, seconds: float) -> None:
        self._session = session
        self._name = name
        self._late = f"it did not finish within {seconds:g} seconds."
        self._deadline = time.monotonic() + seconds
        self._last: tuple | None = None
        self.warned: list[str] = []

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
            values, warned, error = self._found("each", sent)["value"]
            for row, value, texts in zip(left, values, warned, strict=False):
                self.warned = texts
                self._last = ("call", row, {}), value
            if error:
                raise _outcome(error, self._late)
            done += values[: len(sent)]
        return done

    def run_driver(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Have the child run `driver`, one of `course.drivers`, on the student's object."""
        return self._ask("drive", driver.__name__, args, kwargs)

    def value(self) -> Any:
        """The answer itself, where it is no function."""
        return self._ask("value")

    def is_steady(self) -> bool:
        """Return True if the last call, repeated, gives the same result."""
        if self._last is None:
            return True
        asked, before = self._last
        return is_repeated(before, self._ask(*asked))

    def _ask(self, do, *what):
        found = self._found(do, *what)
        self.warned = found["warned"]
        self._last = (do, *what), found["value"]
        return found["value"]

    def _found(self, do, *what):
        left = self._deadline - time.monotonic()
        try:
            return self._session.request(do, self._name, *what, seconds=left, late=self._late)
        except AnswerMissing:
            raise self._session.why_missing(self._name) from None
