"""The warm process: it has imported what submissions need, and forks a restricted child for each of them."""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from attn_grader.sandbox import Limits, pipe, policy

# What our side says of a child: end it, or see how it ends, for its socket is closed.
END = b"e"
WAIT = b"w"
CHILD_FD = 3  # the number of a child's socket, its only file but /dev/null
SELDOM = 20_000  # new objects between looks for garbage: children live for a moment
DYING_SECONDS = 5.0  # between the closing of a process's socket and its end
SERVER_SECONDS = 300.0  # to start, or to end a child, on a busy machine


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (a signal is negative), CPU seconds, whether we killed it."""

    exit: int
    cpu: float
    killed: bool


class WarmProcess:
    """Our end of a warm process: it starts and ends one child at a time."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self.control = control
        self.pid = pid
        control.settimeout(SERVER_SECONDS)
        text = control.recv(4096)
        greeting = json.loads(text) if text else {"failed": "it ended at once"}
        if "failed" in greeting:
            raise RuntimeError(f"the warm process did not start: {greeting['failed']}")

    @classmethod
    def forked(cls, tier: str) -> Self:
        """Fork it from this process, which has imported what submissions need and no more."""
        ours, theirs = socket.socketpair()
        if pid := os.fork():
            theirs.close()
            return cls(ours, pid)
        try:
            serve(theirs, tier)
        finally:
            os._exit(0)

    def spawn(self, limits: Limits) -> pipe.Connection:
        """Return the connection to a new child."""
        ours, theirs = socket.socketpair()
        allowed = {"memory": limits.memory, "output": limits.output, "seconds": limits.cpu_seconds}
        with theirs:
            socket.send_fds(self.control, [json.dumps(allowed).encode()], [theirs.fileno()])
        return pipe.Connection(ours.detach())

    def end(self, *, is_gone: bool = False) -> Ended:
        """End the child with all its threads; is_gone: its socket is closed, it may end by itself."""
        self.control.sendall(WAIT if is_gone else END)
        text = self.control.recv(4096)
        if not text:
            raise RuntimeError("the warm process is gone")
        return Ended(**json.loads(text))


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
    from attn_grader.sandbox import child

    try:
        sandbox = policy.TIERS[tier]()
        control = socket.socket(fileno=keep_only(control.detach()))
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # when memory runs out, a child is ended, not the worker
        sandbox.enter()
        child.prepare()
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
    from attn_grader.sandbox import child

    try:
        os.setsid()  # alone in its group, it can end no other process by that
        keep_only(fd)
        tier.restrict(**allowed)
        child.serve(CHILD_FD, output=output)
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
