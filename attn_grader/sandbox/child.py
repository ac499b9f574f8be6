"""The far end: a warm process forks a restricted child for each submission, which runs the student's cells.

The warm process has imported what submissions need, and no judge.
"""

import __future__

import ast
import collections
import contextlib
import functools
import gc
import importlib
import inspect
import io
import json
import linecache
import os
import signal
import socket
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attn_course
from attn_course import checking, derivation, drivers, numpy_symbols
from attn_course.answers import Answer, NotAttempted, NotYet, describe
from attn_course.derivation import Derivation
from attn_course.magics import FLAGS, read_python
from attn_grader.sandbox import WAIT, pipe, policy

# What defines nothing: where it fails, the rest of its cell still runs. A module that the student
# has and this machine has not, or a look at a model that was not trained here, costs no answer.
DEFINES_NOTHING = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assert)

Namespace = dict[str, Any]
Caught = Sequence[warnings.WarningMessage]
Outcome = tuple[Any, list[str]]  # what came back, and the warnings on the way
CHILD_FD = 3  # the number of a child's socket, its only file but /dev/null
SELDOM = 20_000  # new objects between looks for garbage: children live for a moment
DYING_SECONDS = 5.0  # between the closing of a process's socket and its end


REFUSALS = (OSError, MemoryError)  # what may be there in Jupyter, and is not in a sandbox


class TimeIsUp(BaseException):
    """Raised in the student's code when its time is over; no `except Exception` holds it up."""


class NameNotDefined(Exception):
    """The notebook has nothing of the name that a question asks for."""


def import_all(names: Sequence[str]) -> None:
    """Import on one thread: a pool of threads does not survive a fork."""
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # some leave a folder behind there
        try:
            for name in names:
                importlib.import_module(name)
        finally:
            tempfile.tempdir = None
    if "torch" in names:
        sys.modules["torch"].set_num_threads(1)


def serve(control: socket.socket, tier: str) -> None:
    """Fork a restricted child for each request on the socket `control`, which is its only file."""
    try:
        sandbox = policy.TIERS[tier]()
        control = socket.socket(fileno=keep_only(control.detach()))
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # when memory runs out, a child is ended, not the worker
        sandbox.enter()
        prepare()
        base = policy.address_space()
        gc.collect()
        gc.freeze()
        gc.set_threshold(SELDOM)
        sandbox.prepare()
    except Exception as error:
        tell(control, failed=f"{type(error).__name__}: {error}")
        return
    tell(control, ready=True)
    os.chdir("/")
    while serve_one(control, sandbox, base):
        pass


def tell(control: socket.socket, **message: object) -> None:
    """Send the worker a message."""
    control.sendall(json.dumps(message).encode())


def serve_one(control: socket.socket, tier: policy.Tier, base: int) -> bool:
    """Fork a child, end it when told to, and say how it ended; False when the worker is gone."""
    request, sockets, _, _ = socket.recv_fds(control, 4096, 1)
    if not request:
        return False
    pid = tier.fork()
    if not pid:
        run_child(sockets[0], tier, base=base, **json.loads(request))
    os.close(sockets[0])
    order = control.recv(1)
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    deadline = time.monotonic() + DYING_SECONDS
    while order == WAIT and not ended and time.monotonic() < deadline:
        time.sleep(0.001)
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    is_killed = not ended
    if is_killed:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    if order:
        cpu = usage.ru_utime + usage.ru_stime
        tell(control, exit=os.waitstatus_to_exitcode(status), cpu=cpu, killed=is_killed)
    return bool(order)


def run_child(fd: int, tier: policy.Tier, *, output: int, **allowed: int) -> None:
    """Restrict this process, which holds its socket and /dev/null and no other file, and never return."""
    try:
        os.setsid()  # alone in its group, it can end no other process by that
        keep_only(fd)
        tier.restrict(**allowed)
        answer_requests(CHILD_FD, output=output)
    finally:
        os._exit(1)


def keep_only(fd: int) -> int:
    """Give `fd` the number CHILD_FD, open /dev/null anew below it, and close every other file.

    What a child does to the flags of these files is therefore gone with the child.
    """
    os.dup2(fd, CHILD_FD)
    for number in range(CHILD_FD):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, number)
        if null > CHILD_FD:
            os.close(null)
    os.closerange(CHILD_FD + 1, 1 << 16)
    return CHILD_FD


class Quiet:
    """Stands in for the notebook's front end: any attribute, any call, no effect."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    __getitem__ = __add__ = __radd__ = __call__  # points of a verdict may be added up


def prepare() -> None:
    """Prepare the warm process once: the course shows and checks nothing in it, and compiles nothing."""
    quiet = Quiet()
    figures = importlib.import_module("attn_course.figures")
    vars(figures).update(explore=quiet, query_plane=quiet)
    shows = dict.fromkeys(("check", "hint", "progress", "solution"), quiet)
    vars(attn_course).update(shows, plots=figures)
    vars(checking).update(check=quiet, hint=quiet)
    vars(derivation).update(look_at=lambda chain: None)
    numpy_symbols.let_numpy_take_symbols()
    if torch := sys.modules.get("torch"):
        vars(torch).update(compile=uncompiled)  # a compiler needs a disk


def uncompiled(model: Any = None, **options: Any) -> Any:
    """Return a model as it is, as `torch.compile(model)` and `@torch.compile(...)` are used."""
    return uncompiled if model is None else model


class Output(io.RawIOBase):
    """Keeps the first `room` bytes of what is printed and lets the rest go."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Keep what there is room for, and say that all of it was written."""
        room = self.room - len(self.kept)
        self.kept += bytes(data[:room])
        return len(data)


def printed(output: io.TextIOWrapper) -> str:
    """Return what was printed since the last time."""
    with contextlib.suppress(ValueError):  # the student may have closed it
        output.flush()
    raw: Any = output.buffer  # an Output
    text = raw.kept.decode("utf-8", "replace")
    raw.room -= len(raw.kept)
    raw.kept.clear()
    return text


def answer_requests(fd: int, *, output: int) -> None:
    """Answer requests on the socket until it closes; keep `output` bytes of what is printed."""
    write = functools.partial(os.write, fd)
    raw: Any = Output(output)  # it has all of a file that is asked for, but no name
    printing = io.TextIOWrapper(raw, "utf-8", "replace")
    sys.stdout = printing
    sys.stderr = printing
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = vars(main)
    namespace |= {"display": Quiet(), "get_ipython": Quiet()}
    namespace["input"] = lambda *prompt: ""  # nobody is there to type
    signal.signal(signal.SIGALRM, _out_of_time)
    inbox = pipe.Inbox(functools.partial(os.read, fd))
    pipe.send(write, pipe.encode("ready"))
    while True:
        request = pipe.decode(inbox.receive(), tensors=True)
        try:
            body = reply(request, namespace, printing)
        except BaseException as error:
            body = pipe.encode({"id": request["id"], "error": explain(error)})
        pipe.send(write, body)


def _out_of_time(signum, frame):
    raise TimeIsUp


def reply(request: dict[str, Any], namespace: Namespace, output: io.TextIOWrapper) -> bytes:
    """Do what `request` asks within its seconds, and return the encoded reply."""
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            action = ACTIONS[request["do"]]
            value, warned = action(namespace, caught, *request["with"])
        told = {"value": value, "output": printed(output), "warned": noted(warned)}
        return pipe.encode({"id": request["id"], **told})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_cell(
    namespace: Namespace,
    caught: Caught,
    number: int,
    source: str,
    again: bool,
    answers: Sequence[str],
) -> Outcome:
    """Run a cell; one that failed and is run `again`, after the others, takes no name from them.

    answers: the names that questions ask for.
    """
    name = f"<cell {number}>"
    source, tree = read_python(source, name)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    codes = compiled(tree.body, name)  # if a line of it is not Python, none of it runs
    theirs = dict(namespace) if again else {}
    try:
        run_statements(tree.body, codes, namespace)
    finally:
        namespace.update(theirs)
        keep_answers(namespace, answers)
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")
    return None, []


def compiled(statements: Iterable[ast.stmt], name: str) -> list[types.CodeType]:
    """Return the code of each statement of a cell."""
    flags = FLAGS
    codes = []
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        module = ast.Module([statement], [])
        codes.append(compile(module, name, "exec", flags, True))
    return codes


def run_statements(
    statements: Iterable[ast.stmt], codes: Iterable[types.CodeType], namespace: Namespace
) -> None:
    """Run them one by one; raise the first error at once, or in the end where it defines nothing."""
    errors = []
    for statement, code in zip(statements, codes, strict=True):
        try:
            awaited = eval(code, namespace)
            if code.co_flags & inspect.CO_COROUTINE:
                run_to_end(awaited)
        except Exception as error:
            if not isinstance(statement, DEFINES_NOTHING):
                raise
            errors.append(error)
    if errors:
        raise errors[0]


def run_to_end(awaited: Any) -> None:
    """Run what a cell awaits; OSError where that needs an event loop, which has sockets."""
    try:
        collections.deque(awaited.__await__(), 0)
    except RuntimeError as error:
        raise OSError(str(error)) from error


kept: Namespace = {}  # the last function, class or chain that each name of an answer stood for


def keep_answers(namespace: Namespace, answers: Iterable[str]) -> None:
    """Remember answers, whose names a later cell may give to mere values."""
    for name in answers:
        thing = namespace.get(name)
        if callable(thing) or issubclass(type(thing), Derivation):  # `__class__` may do anything
            kept[name] = thing


@contextlib.contextmanager
def as_defined(namespace: Namespace) -> Iterator[None]:
    """Have the names of answers stand for the functions and classes that the notebook made.

    One answer may call another whose name a cell below gave to a value.
    """
    later = {}
    for name, thing in kept.items():
        is_plain = issubclass(type(thing), (types.FunctionType, type))
        if name in namespace and is_plain and thing.__module__ == "__main__":
            later[name] = namespace[name]
            namespace[name] = thing
    try:
        yield
    finally:
        namespace.update(later)


def call(namespace: Namespace, caught: Caught, name: str, args: tuple, kwargs: dict) -> Outcome:
    """Call an answer."""
    answer = find(namespace, caught, name)
    with as_defined(namespace):
        return answer(*args, **kwargs), answer.warned


def each(namespace: Namespace, caught: Caught, name: str, rows: Iterable[tuple]) -> Outcome:
    """Call an answer on one row after another, until one fails or enough has come together.

    Returns the values, the warnings on the way to each, and the error that ended it, if there was one.
    """
    answer = find(namespace, caught, name)
    values: list[pipe.Packed] = []
    warned: list[list[str]] = []
    size = 0
    for args in rows:
        try:
            with as_defined(namespace):
                value = answer(*args)
            packed = pipe.Packed(value)  # as it is now: the next call may change it
            texts = noted(answer.warned)
        except TimeIsUp:
            raise
        except BaseException as error:
            return (values, warned, explain(error)), []
        values.append(packed)
        warned.append(texts)
        size += packed.size
        if size > pipe.ENOUGH:
            break
    return (values, warned, None), []


def noted(warned: Sequence[Any]) -> list[str]:
    """Return the beginnings of the first warnings, as a reply has them."""
    return [str(text)[:300] for text in warned[:20]]


def drive(
    namespace: Namespace, caught: Caught, name: str, driver: str, args: tuple, kwargs: dict
) -> Outcome:
    """Have a driver of the course run on an answer."""
    answer = find(namespace, caught, name)
    with as_defined(namespace):
        return answer.run_driver(DRIVERS[driver], *args, **kwargs), answer.warned


def value(namespace: Namespace, caught: Caught, name: str) -> Outcome:
    """Return an answer that is no function."""
    if name not in namespace:
        raise NameNotDefined
    return Answer(namespace[name], caught).value(), []


def find(namespace: Namespace, caught: Caught, name: str) -> Answer:
    """Return the answer of this name; NameNotDefined if there is none."""
    names = namespace | kept
    if name not in names:
        raise NameNotDefined
    return Answer(names[name], caught)


DRIVERS: dict[str, Callable[..., Any]] = {"as_data": derivation.as_data} | {
    name: thing for name, thing in vars(drivers).items() if inspect.isfunction(thing)
}
ACTIONS: dict[str, Callable[..., Outcome]] = {
    "run": run_cell,
    "call": call,
    "each": each,
    "drive": drive,
    "value": value,
}


def explain(error: BaseException) -> list[str]:
    """Return what an exception means for the answer, and a sentence on it."""
    if isinstance(error, (NotAttempted, NameNotDefined, TimeIsUp)):
        return [type(error).__name__, ""]
    if isinstance(error, pipe.PipeError):
        return ["NotYet", f"what came back cannot be judged: {error}."]
    with contextlib.suppress(BaseException):
        if isinstance(error, SyntaxError) and str(error.filename).startswith("<cell"):
            text = f"{type(error).__name__}: {error.msg} (line {error.lineno} of your cell)."
        else:
            text = str(error) if isinstance(error, NotYet) else describe(error)
        cause = (
            error.__context__ if isinstance(error, NotYet) else error
        )  # `Answer` has described it
        return ["SystemRefused" if isinstance(cause, REFUSALS) else "NotYet", text]
    return ["NotYet", "your code stopped with an exception that cannot be shown."]
