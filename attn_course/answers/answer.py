"""A student's answer as judges see it: call it, get plain data.

A judge never touches the student's object. It calls an `Answer`, which hands over copies, runs the
code, and turns whatever comes back into arrays, numbers and strings. The grader has a twin with the
same three methods that does the same across a process boundary.
"""

import contextlib
import contextvars
import copy
import ctypes
import io
import itertools
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from attn_course.answers.verdict import (
    NotAttempted,
    NotYet,
)

LONGEST_ITERABLE = 1_000_000
STOPPED = "your code stopped with"  # how a sentence on an exception begins
LARGEST_ARRAY = 20_000_000  # numbers
PATIENCE = 4  # how many times its seconds an answer may take where others use the processor
Row = TypeVar("Row")


class Caller(Protocol):
    """All that a judge may do with an answer, whichever process it lives in."""

    warned: list[str]  # by the last call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer and get plain data."""

    def each(self, rows: Sequence[tuple]) -> list:
        """Call the answer on one row of arguments after another, and get all that it gives."""

    def via(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a driver on the answer and get plain data."""

    def value(self) -> Any:
        """The answer itself, where it is no function."""

    def steady(self) -> bool:
        """Whether the last call, repeated, gives the same result."""


class Answer:
    """One answer, in this process. `caught` is the list `listening` fills with warnings.

    copies: whether it is given copies of the arguments, so that it cannot change them.
    """

    def __init__(
        self,
        thing: Any,
        caught: Sequence[warnings.WarningMessage] = (),
        copies: bool = True,
    ) -> None:
        self._thing = thing
        self._caught = caught
        self._copies = copies
        self._last: tuple | None = None
        self.warned: list[str] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer with copies of the arguments and return plain data."""
        if self._thing is None or self._thing is ...:
            raise NotAttempted
        if not callable(self._thing):
            raise NotYet(f"a function is expected here, but this is of type {_kind(self._thing)}.")
        return self.via(_call, *args, **kwargs)

    def each(self, rows: Sequence[tuple]) -> list:
        """Call the answer on one row of arguments after another."""
        return [self(*row) for row in rows]

    def via(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run `driver(thing, ...)`, a function of the course, and return plain data."""
        given, options = args, kwargs
        if self._copies:
            given, options = copy.deepcopy((args, kwargs))
        before = len(self._caught)
        try:
            returned = driver(self._thing, *given, **options)
            result = plain(returned)
            self._last = driver, args, kwargs, result
            return result
        except (NotYet, NotAttempted, OutOfTime):
            raise
        except NotImplementedError:
            raise NotAttempted from None
        except (Exception, SystemExit) as error:
            raise NotYet(describe(error)) from None
        finally:
            self.warned = [str(warning.message) for warning in self._caught[before:]]

    def steady(self) -> bool:
        """Whether the last call, repeated, gives the same result."""
        if self._last is None:
            return True
        driver, args, kwargs, before = self._last
        again = self.via(driver, *args, **kwargs)
        return repr(again) == repr(before)

    def value(self) -> Any:
        """The answer itself, for answers that are not functions."""
        if self._thing is None or self._thing is ...:
            raise NotAttempted
        return self.via(lambda thing: thing)


def shuffled(rng: Generator, rows: Sequence[Row]) -> list[Row]:
    """The rows in a random order."""
    order = rng.permutation(len(rows))
    return [rows[k] for k in order]


class Named:
    """An answer that says at which arguments it stopped: at an overflow, most often.

    call: the arguments -> how the call is written.
    """

    def __init__(self, answer: Caller, call: Callable[..., str]) -> None:
        self._answer = answer
        self._call = call

    def __call__(self, *args: Any) -> Any:
        try:
            return self._answer(*args)
        except NotYet as error:
            message = str(error).replace(STOPPED, f"{self._call(*args)}: {STOPPED}", 1)
            raise NotYet(message) from None

    def each(self, rows: Sequence[tuple]) -> list:
        """All at once; if it stops, one by one, to find where."""
        try:
            return self._answer.each(rows)
        except NotYet as error:
            if STOPPED not in str(error):
                raise
            return [self(*row) for row in rows]


def asked(
    rng: Generator, answer: Caller | Named, settings: Iterable[tuple]
) -> list[tuple[tuple, Any]]:
    """[(setting, what `answer(*setting)` gives), ...], in this order but asked in a random one."""
    settings = list(settings)
    order = rng.permutation(len(settings))
    rows = [settings[k] for k in order]
    answers = _each(answer, rows)
    in_place = [answers[k] for k in np.argsort(order)]
    return list(zip(settings, in_place, strict=True))


def _each(answer, rows):
    """What the answer gives for each row, also where a judge has wrapped it in a function."""
    if not hasattr(answer, "each"):
        return [answer(*row) for row in rows]
    if not isinstance(answer, Named):
        answer = Named(answer, _called_with)
    return answer.each(rows)


def _called_with(*args):
    """Arguments in a few words: the shapes of arrays, the rest as it is."""
    told = " and ".join(map(_in_short, args))
    return f"called with {told}"


def _in_short(value):
    if hasattr(value, "shape") and len(value.shape):
        shape = tuple(value.shape)
        return f"an array of shape {shape}"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = repr(value)
    return text if len(text) < 60 else f"a {_kind(value)}"


def _call(thing, *args, **kwargs):
    return thing(*args, **kwargs)


def _kind(value):
    return type(value).__name__


def describe(error: BaseException) -> str:
    """One line for an exception, with the line of the student's cell where it left their code."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "ipykernel_" in frame.filename or frame.filename.startswith("<cell")
    ]
    where = f" (line {frames[-1].lineno} of your cell)" if frames else ""
    words = str(error).split()
    text = " ".join(words)[:200].rstrip(".")
    said = f": {text}" if text else ""
    return f"{STOPPED} {_kind(error)}{said}{where}."


def plain(value: Any) -> Any:
    """Arrays, numbers, strings and containers of them; anything else is refused in a sentence."""
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        items = map(plain, value)
        return type(value)(items)
    if isinstance(value, list | tuple):
        return list(value)

    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    if hasattr(value, "__array__"):
        _limit_size(value)
        return np.array(value)
    if getattr(value, "is_number", False):  # a SymPy number
        return float(value)

    if hasattr(value, "__next__"):
        first = itertools.islice(value, LONGEST_ITERABLE)
        return list(map(plain, first))
    raise NotYet(f"a {_kind(value)} came back, where numbers are expected.")


def _limit_size(array):
    """NotYet where a copy would fill the memory, as one of a view that repeats a number may."""
    size = getattr(array, "size", 0)
    if isinstance(size, int) and size > LARGEST_ARRAY:
        raise NotYet(f"an array of {size:,} numbers came back, far more than were asked for.")


class OutOfTime(BaseException):
    """Thrown into a student's code that has run out of time."""


class StoppableThread(threading.Thread):
    """A thread that ends without a word when `OutOfTime` comes once more, on its way out."""

    def run(self) -> None:
        """Do the work."""
        with contextlib.suppress(OutOfTime):
            super().run()


@contextlib.contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Keep what an answer prints off the page, and collect its warnings in the list given."""
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        yield caught


def within(seconds: float, work: Callable[[], str]) -> str:
    """`work()` in a thread of its own, or NotYet when it has not finished in time.

    On a busy machine it waits until the work has had that many seconds of a processor, within PATIENCE.
    Where no thread can start it runs here, for as long as it takes.
    """
    outcome: dict[str, Any] = {}
    used = time.process_time()

    def run() -> None:
        try:
            outcome["result"] = work()
        except BaseException as error:
            outcome["error"] = error

    inside = contextvars.copy_context()
    thread = StoppableThread(target=inside.run, args=(run,), daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return work()  # Python in a browser has no threads, and no way to stop what runs too long

    thread.join(seconds)
    patience_ends = time.monotonic() + (PATIENCE - 1) * seconds
    while thread.is_alive() and time.monotonic() < patience_ends:
        if time.process_time() - used >= seconds:
            break
        thread.join(seconds / 20)

    if thread.is_alive():
        _stop(thread)
        raise NotYet(f"it did not finish within {seconds:g} seconds.")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def _stop(thread):
    """Throw `OutOfTime` into the thread a few times; one that swallows them is left behind."""
    throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for _ in range(5):
        throw(ctypes.c_ulong(thread.ident), ctypes.py_object(OutOfTime))
        thread.join(0.1)
        if not thread.is_alive():
            return
