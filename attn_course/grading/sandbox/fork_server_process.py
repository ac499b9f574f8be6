"""A fork server: imports once, then forks a sandboxed child per request."""

import contextlib
import fcntl
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
from pathlib import Path
from types import ModuleType
from typing import Any

from attn_course.grading.sandbox import libc, limits
from attn_course.grading.sandbox.fork_server import WAIT
from attn_course.grading.sandbox.tiers import TIERS, Tier

FIRST = 3  # the number of a child's first socket; the others follow
MAX_SOCKETS = 16
SELDOM = 20_000  # new objects between looks for garbage: children live for a moment
DYING_SECONDS = 5.0  # between the closing of a process's sockets and its end
HUGE_PAGE = 2 << 20  # bytes
MADV_COLLAPSE = 25  # Linux 6.1


def main(servers: Sequence[Sequence[Any]]) -> None:
    """Import what all `servers` need, [(number of a socket, options), ...], then become each of them."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when memory runs out, a child is ended, not the supervisor
    first, *others = [options["preload"] for _, options in servers]
    shared = [name for name in first if all(name in names for names in others)]
    with contextlib.suppress(Exception):  # each server meets it again, and says so
        import_all(shared)
    children = [become(servers, place) for place in range(len(servers))]
    for number, _ in servers:
        os.close(number)
    for pid in children:
        os.waitpid(pid, 0)


def become(servers: Sequence[Sequence[Any]], place: int) -> int:
    """Fork the server at this place, which holds no socket but its own; return its pid."""
    if pid := os.fork():
        return pid
    for other, (number, _) in enumerate(servers):
        if other != place:
            os.close(number)
    number, options = servers[place]
    try:
        serve(socket.socket(fileno=number), **options)
    finally:
        os._exit(0)


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


def serve(control: socket.socket, *, role: str, preload: list[str], tier: str) -> None:
    """Import the rest, then fork a sandboxed child for each request on the socket `control`."""
    sandbox = TIERS[tier]()
    try:
        sandbox.enter()
        import_all([role, *preload])
        module = sys.modules[role]
        module.prepare(preload)
        base = limits.address_space()
        gc.collect()
        gc.freeze()
        gc.set_threshold(SELDOM)
        use_huge_pages()
        sandbox.prepare(module.HIDDEN)
    except Exception as error:
        tell(control, {"failed": f"{type(error).__name__}: {error}"})
        return
    tell(control, {"ready": True})
    os.chdir("/")
    while serve_one(control, module, base, sandbox):
        pass


def use_huge_pages() -> None:
    """Put what only this process writes to into huge pages, so that forks copy and drop few entries.

    Where the kernel has none, everything stays as it was.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            addresses, rights, _, _, inode, *_ = line.split()
            first, last = (int(address, 16) for address in addresses.split("-"))
            first = -(-first // HUGE_PAGE) * HUGE_PAGE
            last = last // HUGE_PAGE * HUGE_PAGE
            if rights == "rw-p" and inode == "0" and first < last:
                with contextlib.suppress(OSError):  # a range that another process shares
                    libc.call("madvise", first, last - first, MADV_COLLAPSE)


def tell(control: socket.socket, message: dict[str, Any]) -> None:
    """Send the supervisor a message."""
    control.sendall(json.dumps(message).encode())


def serve_one(control: socket.socket, module: ModuleType, base: int, tier: Tier) -> bool:
    """Fork a child, end it when told to, and say how it ended; False when the supervisor is gone."""
    request, sockets, _, _ = socket.recv_fds(control, 4096, MAX_SOCKETS)
    if not request:
        return False
    pid = spawn(sockets, module, tier, base=base, **json.loads(request))
    for number in sockets:
        os.close(number)
    told = control.recv(1)
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    deadline = time.monotonic() + DYING_SECONDS
    while told == WAIT and not ended and time.monotonic() < deadline:
        time.sleep(0.001)
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    is_killed = not ended
    if is_killed:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    if told:
        code = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        tell(control, {"exit": code, "cpu": cpu, "killed": is_killed})
    return bool(told)


def spawn(
    sockets: Sequence[int], module: ModuleType, tier: Tier, *, output: int, **allowed: int
) -> int:
    """Fork a child that holds these `sockets` and no other file; return its pid."""
    if pid := tier.fork():
        return pid
    try:
        os.setsid()  # alone in its group, it can end no other process by that
        numbers = keep_only(sockets)
        tier.restrict(**allowed)
        module.serve(numbers, output=output)
    finally:
        os._exit(1)


def keep_only(sockets: Sequence[int]) -> list[int]:
    """Number the `sockets` from FIRST on and close every other file; return the numbers."""
    free = FIRST + MAX_SOCKETS
    above = [fcntl.fcntl(number, fcntl.F_DUPFD, free) for number in sockets]
    numbers = [os.dup2(old, number) for number, old in enumerate(above, FIRST)]
    os.closerange(FIRST + len(numbers), 1 << 16)
    return numbers


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
