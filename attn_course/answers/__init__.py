"""A student's answer as judges see it: call it, get plain data, read numbers and arrays out of that data.

A judge never touches the student's object. It calls an `Answer`, which hands over copies, runs the
code, and turns whatever comes back into arrays, numbers and strings; `number`, `vector` and the other
readers refuse in one sentence what is nan, infinite, text or of another shape. The grader has a
`RemoteAnswer` with the same methods for an answer in another process.
"""

import copy
import itertools
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, ValuesView
from numbers import Number
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from attn_course.calls import ArgumentChanged, call_unchanged
from attn_course.markers import STUB

LONGEST_ITERABLE = 1_000_000
CHANGED = "an argument is changed in place"
STOPPED = "your code stopped with"  # how a sentence on an exception begins
LARGEST_ARRAY = 20_000_000  # numbers
_KINDS = {"c": "complex numbers", "U": "text", "S": "text", "O": "text"}
Row = TypeVar("Row")


class NotYet(Exception):
    """Raised by a judge: the answer is wrong, and this sentence says what was measured.

    share: of the points that the answer earns all the same, between 0 and 1. mistake: the sentence of
    the known mistake that explains the answer. needs_person: True if the judge could not decide.
    """

    def __init__(
        self,
        message: str = "",
        share: float = 0.0,
        *,
        mistake: str = "",
        needs_person: bool = False,
    ) -> None:
        super().__init__(message)
        self.share = share
        self.mistake = mistake
        self.needs_person = needs_person


class NotAttempted(Exception):
    """Raised when the answer is still the empty stub."""


class Caller(Protocol):
    """What a judge may do with an answer. The answer may run in this process or in a sandboxed one."""

    warned: list[str]  # by the last call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer and return plain data."""

    def call_all(self, rows: Sequence[tuple]) -> list:
        """Call the answer on each row of arguments and return all results."""

    def run_driver(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a driver on the answer and return plain data."""

    def value(self) -> Any:
        """Return the answer itself if it is not a function."""

    def is_steady(self) -> bool:
        """Return True if the last call, repeated, gives the same result."""


class Answer:
    """A `Caller` in this process. `caught` is the list that `listening` fills with warnings.

    A function that changes its arguments in place is refused. Only None, `...` and the course's own stub
    count as empty; any other NotImplementedError is an error like all others.
    """

    def __init__(
        self,
        thing: Any,
        caught: Sequence[warnings.WarningMessage] = (),
    ) -> None:
        self._thing = thing
        self._caught = caught
        self._last: tuple | None = None
        self.warned: list[str] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not callable(self._thing) and not self._is_empty():
            raise NotYet(f"a function is expected here, but this is of type {_kind(self._thing)}.")
        return self.run_driver(call_unchanged, *args, **kwargs)

    def call_all(self, rows: Sequence[tuple]) -> list:
        return [self(*row) for row in rows]

    def run_driver(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._is_empty():
            raise NotAttempted
        copied_args, copied_kwargs = copy.deepcopy((args, kwargs))
        before = len(self._caught)
        try:
            result = plain(driver(self._thing, *copied_args, **copied_kwargs))
        except (NotYet, NotAttempted):
            raise
        except ArgumentChanged as error:
            raise NotYet(f"{error}", mistake=CHANGED) from None
        except (Exception, SystemExit) as error:
            if isinstance(error, NotImplementedError) and error.args == (STUB,):
                raise NotAttempted from None
            raise NotYet(describe(error)) from None
        finally:
            self.warned = [str(warning.message) for warning in self._caught[before:]]
        self._last = driver, args, kwargs, result
        return result

    def is_steady(self) -> bool:
        if self._last is None:
            return True
        driver, args, kwargs, before = self._last
        return is_repeated(before, self.run_driver(driver, *args, **kwargs))

    def value(self) -> Any:
        return self.run_driver(lambda thing: thing)

    def _is_empty(self):
        return self._thing is None or self._thing is ...


def is_repeated(before: Any, again: Any) -> bool:
    """Return True if two results of equal calls are equal up to rounding; nan equals nan."""
    if isinstance(before, str):
        return isinstance(again, str) and before == again
    if isinstance(before, dict):
        return (
            isinstance(again, dict)
            and before.keys() == again.keys()
            and all(is_repeated(before[key], again[key]) for key in before)
        )
    if isinstance(before, list | tuple):
        return (
            type(before) is type(again)
            and len(before) == len(again)
            and all(map(is_repeated, before, again))
        )
    one, other = np.asarray(before), np.asarray(again)
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    if one.dtype.kind in "fc":
        return bool(np.allclose(one, other, rtol=1e-5, atol=1e-9, equal_nan=True))
    return bool(np.array_equal(one, other))


def judge_separately(
    judgements: Mapping[str, Callable[[], str]], given: Collection[str] = ()
) -> str:
    """Run the judgement of each function, {its name: judgement}, and return their sentences as one.

    Raises NotYet with the share of the functions that are right, or NotAttempted if all are empty.
    given: the functions that the notebook gives; they are judged too, and earn nothing.
    """
    passed: dict[str, str] = {}
    faults: list[NotYet] = []
    messages: list[str] = []  # each names its function
    num_own = len(judgements) - len(given)
    num_empty = 0
    for name, judgement in judgements.items():
        try:
            passed[name] = judgement()
        except NotAttempted:
            num_empty += 1
            messages.append(f"{name} is still empty.")
        except NotYet as error:
            if name in given:
                raise
            if not str(error).startswith(name):
                error.args = (f"{name}: {error}",)
            faults.append(error)
            messages.append(f"{error}" if f"{error}".startswith(name) else f"{name}: {error}")
    if num_empty == num_own:
        raise NotAttempted
    if not messages:
        return " ".join(passed.values())
    right = [name for name in passed if name not in given]
    raise NotYet(
        " ".join([*(f"{name} is right." for name in right), *messages]),
        share=len(right) / num_own,
        mistake=next((fault.mistake for fault in faults if fault.mistake), ""),
        needs_person=any(fault.needs_person for fault in faults),
    )


def shuffled(rng: Generator, rows: Sequence[Row]) -> list[Row]:
    """Return the rows in a random order."""
    return [rows[k] for k in rng.permutation(len(rows))]


def answers_to(
    rng: Generator,
    answer: Caller,
    settings: Iterable[tuple],
    call: Callable[..., str] | None = None,
) -> list[tuple[tuple, Any]]:
    """Return [(setting, answer(*setting)), ...] in this order; the calls are made in a random order.

    call: setting -> how the call is written, for the message if the answer stops there.
    """
    settings = list(settings)
    order = rng.permutation(len(settings))
    rows = [settings[k] for k in order]
    try:
        answers = answer.call_all(rows)
    except NotYet as error:
        if not str(error).startswith(STOPPED):  # its cell may not have run
            raise
        answers = [_named(answer, row, call or _called_with) for row in rows]
    in_given_order = [answers[k] for k in np.argsort(order)]
    return list(zip(settings, in_given_order, strict=True))


def _named(answer, row, call):
    """Return answer(*row); if the answer stops, at an overflow for example, the error names the call."""
    try:
        return answer(*row)
    except NotYet as error:
        message = str(error).replace(STOPPED, f"{call(*row)}: {STOPPED}", 1)
        raise NotYet(message) from None


def _called_with(*args):
    return f"called with {' and '.join(map(_in_short, args))}"


def _in_short(value):
    if hasattr(value, "shape") and len(value.shape):
        return f"an array of shape {tuple(value.shape)}"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = repr(value)
    if len(text) < 60:
        return text
    return f"a list of {len(value)}" if isinstance(value, list) else f"a {_kind(value)}"


def _kind(value):
    return type(value).__name__


def describe(error: BaseException) -> str:
    """Return one line on an exception, with the line of the student's cell that raised it."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "ipykernel_" in frame.filename or frame.filename.startswith("<cell")
    ]
    where = f" (line {frames[-1].lineno} of your cell)" if frames else ""
    text = " ".join(str(error).split())[:200].rstrip(".")
    detail = f": {text}" if text else ""
    return f"{STOPPED} {_kind(error)}{detail}{where}."


def plain(value: Any) -> Any:
    """Return arrays, numbers, strings and containers of them; raise NotYet for anything else."""
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if isinstance(value, list | tuple):
        return list(value)

    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    if hasattr(value, "__array__"):
        size = getattr(value, "size", 0)
        if isinstance(size, int) and size > LARGEST_ARRAY:  # a view that repeats one number may be
            raise NotYet(f"an array of {size:,} numbers came back, far more than were asked for.")
        return np.array(value)
    if isinstance(value, Number) or getattr(value, "is_number", False):  # a fraction, or SymPy's
        return float(value)

    if hasattr(value, "__next__") or isinstance(value, ValuesView | range):
        return list(map(plain, itertools.islice(value, LONGEST_ITERABLE)))
    raise NotYet(f"a {_kind(value)} came back, where numbers are expected.")


def array(value: Any, name: str = "the answer") -> np.ndarray:
    """Return `value` as a finite float array."""
    if value is None:
        raise NotYet(f"None came back for {name}: is a `return` missing?")

    try:
        numbers = np.asarray(value)
        kind = numbers.dtype.kind
        is_text = kind == "O" and any(isinstance(entry, str | bytes) for entry in numbers.flat)
        if kind in "biufO" and not is_text:  # `float` would read text as a number
            numbers = numbers.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise NotYet(f"no array of numbers can be made of {name}.") from None

    if numbers.dtype.kind != "f":
        entries = _KINDS.get(numbers.dtype.kind, str(numbers.dtype))
        raise NotYet(f"{entries} came back for {name}, where real numbers are expected.")

    if np.isnan(numbers).any():
        fault = f"there is a nan in {name}" if numbers.ndim else f"{name} is nan"
        raise NotYet(f"{fault} (not a number).")
    if np.isinf(numbers).any():
        fault = f"there is an infinity in {name}" if numbers.ndim else f"{name} is infinite"
        raise NotYet(f"{fault}.")
    return numbers


def vector(value: Any, size: int, name: str = "the answer") -> np.ndarray:
    """Return `value` as a vector (size,); a single row or column counts as a vector."""
    numbers = array(value, name)
    if numbers.ndim == 0:
        raise NotYet(f"one number came back for {name}, where {size} are expected.")
    long_axes = [axis for axis in numbers.shape if axis > 1]
    if numbers.size != size or len(long_axes) > 1:
        raise NotYet(f"the shape of {name} is {numbers.shape}, expected {(size,)}.")
    return numbers.reshape(size)


def matrix(value: Any, shape: tuple[int, ...], name: str = "the answer") -> np.ndarray:
    """Return `value` as an array of exactly this shape."""
    numbers = array(value, name)
    if numbers.shape != tuple(shape):
        raise NotYet(f"the shape of {name} is {numbers.shape}, expected {tuple(shape)}.")
    return numbers


def number(value: Any, name: str = "the answer") -> float:
    """Return `value` as one float; an array with one entry counts."""
    numbers = array(value, name)
    if numbers.size != 1:
        raise NotYet(f"the shape of {name} is {numbers.shape}, where one number is expected.")
    return float(numbers.reshape(()))


def largest_gap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of two arrays of one shape; nan if either contains nan."""
    return np.abs(one - other).max(initial=0)


def as_pair(value: Any, sentence: str) -> tuple[Any, Any]:
    """Return the two entries of a tuple, list or array; if there are not two, raise NotYet(sentence)."""
    is_several = isinstance(value, list | tuple) or np.ndim(value) > 0
    if not is_several or len(value) != 2:
        raise NotYet(sentence)
    return value[0], value[1]


def as_bool(value: Any, name: str = "the answer") -> bool:
    """Return `value` as True or False; 0 and 1 count."""
    expected = "where True or False is expected"
    if isinstance(value, str):
        raise NotYet(f"{name} is the text {value[:20]!r}, {expected}.")
    numbers = number(value, name)
    if numbers not in (0.0, 1.0):
        raise NotYet(f"{name} is {numbers:g}, {expected}.")
    return bool(numbers)
