"""Runs a student's cells and calls their functions, inside the sandbox; judges nothing."""

import __future__

import ast
import collections
import contextlib
import functools
import importlib
import inspect
import io
import linecache
import os
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import attn_course
from attn_course import checking, derivation, drivers, numpy_symbols
from attn_course.answers import Answer, describe
from attn_course.derivation import Derivation
from attn_course.grading.magics import FLAGS, python_source
from attn_course.grading.sandbox import channel
from attn_course.verdict import NotAttempted, NotYet

# What defines nothing: where it fails, the rest of its cell still runs. A module that the student
# has and this machine has not, or a look at a model that was not trained here, costs no answer.
DEFINES_NOTHING = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assert)


# What a judge knows of the answers; below the package of the course.
HIDDEN = (
    "questions",
    "__pycache__",
    "explaining.py",
    "judge_derivation.py",
    "layer_mistakes.py",
    "random_keys.py",
    "tensors.py",
    "values.py",
)


class OutOfTime(BaseException):
    """Raised in the student's code when its time is over; no `except Exception` holds it up."""


class Missing(Exception):
    """The notebook has nothing of the name that a question asks for."""


class Output(io.RawIOBase):
    """Keeps the first `room` bytes of what is printed and lets the rest go."""

    def __init__(self, room):
        self.room, self.kept = room, bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.kept += bytes(data[: self.room - len(self.kept)])
        return len(data)


def printed(output):
    """Return what was printed since the last time."""
    with contextlib.suppress(ValueError):  # the student may have closed it
        output.flush()
    text = output.buffer.kept.decode("utf-8", "replace")
    output.buffer.room -= len(output.buffer.kept)
    output.buffer.kept.clear()
    return text


class Quiet:
    """Stands in for the notebook's front end: any attribute, any call, no effect."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self


class Figures:
    """Stands for the room of the figures, which takes long to import, until one is drawn."""

    def __getattr__(self, name):
        return getattr(still_figures(), name)


def still_figures() -> Any:
    """Import the room of the figures, where nothing moves here."""
    room: Any = importlib.import_module("attn_course.figures")
    room.explore = room.query_plane = Quiet()
    return room


def prepare(preload: Iterable[str]) -> None:
    """Once, before any child: what they would all do first; the course shows and checks nothing here."""
    attn_course.check = attn_course.hint = Quiet()
    checking.check = checking.hint = Quiet()
    vars(attn_course)["plots"] = Figures()
    derivation.look_at = lambda chain: None
    if "matplotlib.pyplot" in preload:
        attn_course.plots = still_figures()
        pyplot = sys.modules["matplotlib.pyplot"]
        pyplot.subplots()
        pyplot.close("all")
    if "sympy" in preload:
        numpy_symbols.let_numpy_take_symbols()
        rehearse_chains(sys.modules["sympy"])


def rehearse_chains(sympy: Any) -> None:
    """Write down lines that nobody asks for: the first ones of a kind take SymPy ten times as long."""
    x, y = sympy.symbols("x y", real=True)
    a = sympy.Symbol("a", positive=True)
    k, n = sympy.symbols("k n", integer=True, positive=True)
    total = sympy.Sum(a * sympy.IndexedBase("s")[k], (k, 1, n))
    ratio = (sympy.exp(x) + 1) / (y - sympy.exp(-a) + 2)
    where = {a: (total, total), x: (y - a, (n - 1) * sympy.exp(y))}
    chain = derivation.derive((total / n, ""), ("<=", ratio, ""), (1, ""), where=where)
    derivation.as_data(chain)
    root = sympy.log(a) / sympy.sqrt(a + sympy.exp(x))
    sympy.diff(root, a)


def serve(lines: Iterable[int], *, output: int) -> None:
    """Answer requests on the one line until it closes; keep `output` bytes of what is printed."""
    (fd,) = lines
    read, write = functools.partial(os.read, fd), functools.partial(os.write, fd)
    kept_output: Any = Output(output)
    printer = io.TextIOWrapper(kept_output, "utf-8", "replace")
    sys.stdout = sys.stderr = printer
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    space = vars(main)
    space["display"] = Quiet()
    space["get_ipython"] = Quiet()
    space["input"] = lambda *prompt: ""  # nobody is there to type
    signal.signal(signal.SIGALRM, _out_of_time)
    channel.send(write, channel.encode("ready"))
    while True:
        request = channel.decode(channel.receive(read), tensors=True)
        try:
            body = reply(request, space, printer)
        except BaseException as error:
            body = channel.encode({"id": request["id"], "error": explain(error)})
        channel.send(write, body)


def _out_of_time(signum, frame):
    raise OutOfTime


def reply(request: dict, namespace: dict, output: io.TextIOWrapper) -> bytes:
    """Do what `request` asks within its seconds, and return the encoded reply."""
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value, warned = ACTIONS[request["do"]](namespace, caught, *request["with"])
        found = {"id": request["id"], "value": value, "output": printed(output)}
        return channel.encode({**found, **noted(warned)})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_cell(namespace, caught, number, source, again=False):
    """Run a cell; one that failed and is run `again`, after the others, takes no name from them."""
    name = f"<cell {number}>"
    source = python_source(source)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    compile(source, name, "exec", FLAGS, True)  # if a line of it is not Python, none of it runs
    theirs = dict(namespace) if again else {}
    try:
        run_statements(ast.parse(source).body, name, namespace)
    finally:
        namespace.update(theirs)
        keep_answers(namespace)
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")
    return None, []


def run_statements(statements, name, namespace):
    """Run them one by one; raise the first error at once, or in the end where it defines nothing."""
    flags, errors = FLAGS, []
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            features = (getattr(__future__, alias.name) for alias in statement.names)
            flags = functools.reduce(int.__or__, (f.compiler_flag for f in features), flags)
        code = compile(ast.Module([statement], []), name, "exec", flags, True)
        try:
            awaited = eval(code, namespace)
            if code.co_flags & inspect.CO_COROUTINE:
                collections.deque(awaited.__await__(), 0)
        except Exception as error:
            if not isinstance(statement, DEFINES_NOTHING):
                raise
            errors.append(error)
    if errors:
        raise errors[0]


kept: dict[
    str, Any
] = {}  # what each name stands for, or last stood for, if that could be an answer
made: dict[str, Any] = {}  # those of them that the notebook itself has made


def keep_answers(namespace):
    """Remember a function, class or chain whose name a later cell gives to a mere value."""

    def could_be(thing):
        return callable(thing) or isinstance(thing, Derivation)

    for name, thing in namespace.items():
        if could_be(thing) or not could_be(kept.get(name)):
            kept[name] = thing
    made.clear()
    made.update((n, t) for n, t in kept.items() if getattr(t, "__module__", "") == "__main__")


@contextlib.contextmanager
def as_defined(namespace):
    """Have names stand for the functions and classes of the notebook that they last stood for.

    One answer may call another whose name a cell below gave to a value.
    """
    later = {name: namespace[name] for name in made.keys() & namespace.keys()}
    namespace.update(made)
    try:
        yield
    finally:
        namespace.update(later)


def call(namespace, caught, name, args, kwargs):
    answer = find(kept, caught, name)
    with as_defined(namespace):
        return answer(*args, **kwargs), answer.warned


def each(namespace, caught, name, rows):
    """Call an answer on one encoded row after another, until one fails or enough has come together."""
    answer = find(kept, caught, name)
    replies = []
    size = 0
    failed = False
    for row in rows:
        args = channel.decode(row.tobytes(), tensors=True)
        try:
            with as_defined(namespace):
                value = answer(*args)
            body = channel.encode({"id": 0, "value": value, "output": "", **noted(answer.warned)})
        except OutOfTime:
            raise
        except BaseException as error:
            body = channel.encode({"id": 0, "error": explain(error)})
            failed = True
        replies.append(np.frombuffer(body, np.uint8))
        size += len(body)
        if failed or size > channel.ENOUGH:
            break
    return replies, []


def noted(warned):
    """What a reply says of warnings."""
    return {"warned": [str(text)[:300] for text in warned[:20]]}


def drive(namespace, caught, name, driver, args, kwargs):
    answer = find(kept, caught, name)
    with as_defined(namespace):
        return answer.via(DRIVERS[driver], *args, **kwargs), answer.warned


def value(namespace, caught, name):
    return find(namespace, caught, name).value(), []


def find(namespace, caught, name):
    if name not in namespace:
        raise Missing
    return Answer(namespace[name], caught)


DRIVERS = {"as_data": derivation.as_data} | {
    name: thing for name, thing in vars(drivers).items() if inspect.isfunction(thing)
}
ACTIONS: dict[str, Callable[..., tuple[Any, list]]] = {
    "run": run_cell,
    "call": call,
    "each": each,
    "drive": drive,
    "value": value,
}


def explain(error):
    """Return what an exception means for the answer, and a sentence on it."""
    if isinstance(error, (NotAttempted, Missing, OutOfTime)):
        return [type(error).__name__, ""]
    if isinstance(error, channel.ChannelError):
        return ["NotYet", f"what came back cannot be judged: {error}."]
    with contextlib.suppress(BaseException):
        if isinstance(error, SyntaxError) and str(error.filename).startswith("<cell"):
            return [
                "NotYet",
                f"{type(error).__name__}: {error.msg} (line {error.lineno} of your cell).",
            ]
        return ["NotYet", str(error) if isinstance(error, NotYet) else describe(error)]
    return ["NotYet", "your code stopped with an exception that cannot be shown."]
