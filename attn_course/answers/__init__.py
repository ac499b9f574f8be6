"""A student's answer as judges see it: call it, get plain data, read numbers and arrays out of that data.

A judge never touches the student's object. It calls an `Answer`, which hands over copies, runs the
code, and turns whatever comes back into arrays, numbers and strings; `number`, `vector` and the other
readers refuse in one sentence what is nan, infinite, text or of another shape. The grader has a
`FarAnswer` with the same methods, which does the same across a process boundary.
"""

import copy
import itertools
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from numbers import Number
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

LONGEST_ITERABLE = 1_000_000
STOPPED = "your code stopped with"  # how a sentence on an exception begins
LARGEST_ARRAY = 20_000_000  # numbers
_KINDS = {"c": "complex numbers", "U": "text", "S": "text", "O": "text"}
Row = TypeVar("Row")


class NotYet(Exception):
    """Raised by a judge: the answer is wrong, and this sentence says what was measured.

    share: of the points that the answer earns all the same, between 0 and 1.
    """

    def __init__(self, message: str = "", share: float = 0.0) -> None:
        super().__init__(message)
        self.share = share


class NotAttempted(Exception):
    """Raised when the answer is still the empty stub."""


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
    """A `Caller` in this process. `caught` is the list `listening` fills with warnings.

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
        if self._thing is None or self._thing is ...:
            raise NotAttempted
        if not callable(self._thing):
            raise NotYet(f"a function is expected here, but this is of type {_kind(self._thing)}.")
        return self.via(_call, *args, **kwargs)

    def each(self, rows: Sequence[tuple]) -> list:
        return [self(*row) for row in rows]

    def via(self, driver: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        given, options = args, kwargs
        if self._copies:
            given, options = copy.deepcopy((args, kwargs))
        before = len(self._caught)
        try:
            result = plain(driver(self._thing, *given, **options))
            self._last = driver, args, kwargs, result
            return result
        except (NotYet, NotAttempted):
            raise
        except NotImplementedError:
            raise NotAttempted from None
        except (Exception, SystemExit) as error:
            raise NotYet(describe(error)) from None
        finally:
            self.warned = [str(warning.message) for warning in self._caught[before:]]

    def steady(self) -> bool:
        if self._last is None:
            return True
        driver, args, kwargs, before = self._last
        return repr(self.via(driver, *args, **kwargs)) == repr(before)

    def value(self) -> Any:
        if self._thing is None or self._thing is ...:
            raise NotAttempted
        return self.via(lambda thing: thing)


def shuffled(rng: Generator, rows: Sequence[Row]) -> list[Row]:
    """The rows in a random order."""
    return [rows[k] for k in rng.permutation(len(rows))]


def asked(
    rng: Generator,
    answer: Caller,
    settings: Iterable[tuple],
    call: Callable[..., str] | None = None,
) -> list[tuple[tuple, Any]]:
    """[(setting, what `answer(*setting)` gives), ...], in this order but asked in a random one.

    call: the setting -> how the call is written, for an answer that stops at it.
    """
    settings = list(settings)
    order = rng.permutation(len(settings))
    rows = [settings[k] for k in order]
    try:
        answers = answer.each(rows)
    except NotYet as error:
        if STOPPED not in str(error):
            raise
        answers = [_named(answer, row, call or _called_with) for row in rows]
    in_place = [answers[k] for k in np.argsort(order)]
    return list(zip(settings, in_place, strict=True))


def _named(answer, row, call):
    """What an answer gives for this row; if it stops, at an overflow most often, the call is named."""
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
    text = " ".join(str(error).split())[:200].rstrip(".")
    said = f": {text}" if text else ""
    return f"{STOPPED} {_kind(error)}{said}{where}."


def plain(value: Any) -> Any:
    """Arrays, numbers, strings and containers of them; anything else is refused in a sentence."""
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

    if hasattr(value, "__next__"):
        return list(map(plain, itertools.islice(value, LONGEST_ITERABLE)))
    raise NotYet(f"a {_kind(value)} came back, where numbers are expected.")


def array(value: Any, name: str = "the answer") -> np.ndarray:
    """`value` as a finite float array."""
    if value is None:
        raise NotYet(f"None came back for {name}: is a `return` missing?")

    try:
        found = np.asarray(value)
        kind = found.dtype.kind
        is_text = kind == "O" and any(isinstance(entry, str | bytes) for entry in found.flat)
        if kind in "biufO" and not is_text:  # `float` would read text as a number
            found = found.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise NotYet(f"no array of numbers can be made of {name}.") from None

    if found.dtype.kind != "f":
        what = _KINDS.get(found.dtype.kind, str(found.dtype))
        raise NotYet(f"{what} came back for {name}, where real numbers are expected.")

    if np.isnan(found).any():
        told = f"there is a nan in {name}" if found.ndim else f"{name} is nan"
        raise NotYet(f"{told} (not a number).")
    if np.isinf(found).any():
        told = f"there is an infinity in {name}" if found.ndim else f"{name} is infinite"
        raise NotYet(f"{told}.")
    return found


def vector(value: Any, size: int, name: str = "the answer") -> np.ndarray:
    """`value` as a vector (size,); a single row or column counts as a vector."""
    found = array(value, name)
    if found.ndim == 0:
        raise NotYet(f"one number came back for {name}, where {size} are expected.")
    long_axes = [axis for axis in found.shape if axis > 1]
    if found.size != size or len(long_axes) > 1:
        raise NotYet(f"the shape of {name} is {found.shape}, expected {(size,)}.")
    return found.reshape(size)


def matrix(value: Any, shape: tuple[int, ...], name: str = "the answer") -> np.ndarray:
    """`value` as an array of exactly this shape."""
    found = array(value, name)
    if found.shape != tuple(shape):
        raise NotYet(f"the shape of {name} is {found.shape}, expected {tuple(shape)}.")
    return found


def number(value: Any, name: str = "the answer") -> float:
    """`value` as one float; an array with one entry counts."""
    found = array(value, name)
    if found.size != 1:
        raise NotYet(f"the shape of {name} is {found.shape}, where one number is expected.")
    return float(found.reshape(()))


def largest_gap(one: np.ndarray, other: np.ndarray) -> float:
    """By how much two arrays of one shape differ where they differ most; nan if either holds one."""
    return np.abs(one - other).max(initial=0)


def two(value: Any, sentence: str) -> tuple[Any, Any]:
    """`value` as two things, an array of two among them; the sentence tells what they should be."""
    is_several = isinstance(value, list | tuple) or np.ndim(value) > 0
    if not is_several or len(value) != 2:
        raise NotYet(sentence)
    return value[0], value[1]


def truth(value: Any, name: str = "the answer") -> bool:
    """`value` as True or False; 0 and 1 count."""
    expected = "where True or False is expected"
    if isinstance(value, str):
        raise NotYet(f"{name} is the text {value[:20]!r}, {expected}.")
    found = number(value, name)
    if found not in (0.0, 1.0):
        raise NotYet(f"{name} is {found:g}, {expected}.")
    return bool(found)
