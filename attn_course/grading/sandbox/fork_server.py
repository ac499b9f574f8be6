"""Our side of a fork server: start it, have it fork and end children."""

import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attn_course.grading.sandbox import channel

# What the supervisor says of a child: end it, or see how it ends, for its socket is closed.
END = b"e"
WAIT = b"w"

CHILD = "attn_course.grading.sandbox.child"
PROCESS = "attn_course.grading.sandbox.fork_server_process"
ROOT = Path(__file__).resolve().parents[3]
SERVER_SECONDS = 300.0  # to start, or to end a child, on a busy machine
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")
# Memory that was given back is taken again without a new page: one heap, which does not shrink.
ONE_HEAP = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TOP_PAD_": "1048576",
    "MALLOC_TRIM_THRESHOLD_": "268435456",
}
KEPT = ("HOME", "TMPDIR", "MPLCONFIGDIR")


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of wall clock, bytes of the rest."""

    cell: float = 20.0
    total: float = 120.0
    memory: int = 2 << 30
    output: int = 1 << 20

    @property
    def cpu_seconds(self) -> int:
        """After which the kernel ends a process, where a clock on the wall has not."""
        return int(self.total) + 2


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (a signal is negative), CPU seconds, whether we killed it."""

    exit: int
    cpu: float
    killed: bool


class ForkServer:
    """A fork server as a context manager; it serves one session at a time.

    role: the module whose `prepare` it runs once, and whose `serve` runs in each child.
    """

    def __init__(self, preload: Iterable[str] = (), *, tier: str, role: str = CHILD):
        self.options = {"preload": list(preload), "tier": tier, "role": role}
        self.control: socket.socket | None = None

    def __enter__(self):
        self.process = start_together(self)
        return self

    def __exit__(self, *exc_info):
        self.close()
        self.process.wait()

    def close(self) -> None:
        """Let it end, if it has started; it may be started again."""
        if self.control:
            self.control.close()
        self.control = None
        vars(self).pop("ready", None)

    def stop(self) -> None:
        """End it from another thread, also while it starts."""
        if control := self.control:
            with contextlib.suppress(OSError):  # it is closed already
                control.shutdown(socket.SHUT_RDWR)

    @property
    def _control(self):
        assert self.control, "it has not started"
        return self.control

    @functools.cached_property
    def ready(self) -> bool:
        """True once it has imported all it needs; RuntimeError with its reason if it could not."""
        said = self._control.recv(4096)
        greeting = json.loads(said) if said else {"failed": "it ended at once"}
        if "failed" in greeting:
            raise RuntimeError(f"the fork server did not start: {greeting['failed']}")
        return True

    def spawn(self, limits: Limits) -> channel.Connection:
        """Return the connection to a new child."""
        ours, theirs = socket.socketpair()
        self.fork(limits, [theirs])
        return channel.Connection(ours.detach())

    def fork(self, limits: Limits, ends: Iterable[socket.socket]) -> None:
        """Start a child that holds these `ends` of sockets and no other; they are closed here."""
        assert self.ready
        ends = list(ends)
        request = {"memory": limits.memory, "output": limits.output, "seconds": limits.cpu_seconds}
        numbers = [end.fileno() for end in ends]
        socket.send_fds(self._control, [json.dumps(request).encode()], numbers)
        for end in ends:
            end.close()

    def end(self, *, is_gone: bool = False) -> Ended:
        """End the child with everything it started; is_gone: its socket is closed, it may end by itself."""
        self._control.sendall(WAIT if is_gone else END)
        said = self._control.recv(4096)
        if not said:
            raise RuntimeError("the fork server is gone")
        return Ended(**json.loads(said))


def start_together(*servers: ForkServer) -> subprocess.Popen:
    """Start one process that imports what all of these need, then becomes them; return it."""
    ends = []
    for server in servers:
        server.control, theirs = socket.socketpair()
        server.control.settimeout(SERVER_SECONDS)
        ends.append(theirs)
    numbers = [end.fileno() for end in ends]
    options = [server.options for server in servers]
    arguments = json.dumps(list(zip(numbers, options, strict=True)))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", PROCESS, arguments],
        pass_fds=numbers,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",  # a folder of its own would be left behind by a kill
        env=_environment(),
        start_new_session=True,  # a key pressed in the terminal is not for it
    )
    for end in ends:
        end.close()
    return process


def _environment():
    """Return an environment without anything of the grader's but where its folders are."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    threads = {f"{name}_NUM_THREADS": "1" for name in ONE_THREAD}
    fixed = {
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "TORCHDYNAMO_DISABLE": "1",  # torch.compile would start a compiler
    }
    return {**kept, **threads, **ONE_HEAP, **fixed}
