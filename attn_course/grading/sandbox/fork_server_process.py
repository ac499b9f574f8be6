"""A fork server: imports once, then forks a locked child per request."""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from attn_course.grading.sandbox import huge_pages, limits
from attn_course.grading.sandbox.tiers import TIERS, Tier

FIRST = 3  # the number of a child's first line; the others follow
MAX_LINES = 16
SELDOM = 20_000  # new objects between looks for garbage: children live for a moment
WATCH_SECONDS = 0.2  # between looks at what a child writes


def main(servers: Sequence[Sequence[Any]]) -> None:
    """Import what all `servers` need, [(number of a socket, options), ...], then become each of them."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when memory runs out, a child is ended, not the supervisor
    first, *others = [options["preload"] for _, options in servers]
    shared = [name for name in first if all(name in names for names in others)]
    with contextlib.suppress(Exception):  # each server meets it again, and says so
        import_all(shared)
    places = range(len(servers))
    children = [become(servers, place) for place in places]
    for number, _ in servers:
        os.close(number)
    for pid in children:
        os.waitpid(pid, 0)


def become(servers: Sequence[Sequence[Any]], place: int) -> int:
    """Fork the server at this place, which holds no socket but its own; return its pid."""
    pid = os.fork()
    if pid:
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
    """Import the rest, shut the doors, then fork a child for each request on the socket `control`."""
    walls = TIERS[tier]()
    try:
        walls.enter()
        import_all([role, *preload])
        module = sys.modules[role]
        module.prepare(preload)
        base = limits.address_space()
        gc.collect()
        gc.freeze()
        gc.set_threshold(SELDOM)
        huge_pages.gather()
        walls.shut(module.HIDDEN)
    except Exception as error:
        tell(control, {"failed": f"{type(error).__name__}: {error}"})
        return
    tell(control, {"ready": True})
    try:
        os.chdir("/")
        while serve_one(control, module, base, walls):
            pass
    finally:
        walls.leave()


def tell(control: socket.socket, message: dict[str, Any]) -> None:
    """Send the supervisor a message."""
    text = json.dumps(message)
    control.sendall(text.encode())


def serve_one(control: socket.socket, module: ModuleType, base: int, tier: Tier) -> bool:
    """Fork a child, end it when told to, and say how it ended; False when the supervisor is gone."""
    request, lines, _, _ = socket.recv_fds(control, 4096, MAX_LINES)
    if not request:
        return False
    allowed = json.loads(request)
    pid = spawn(lines, module, base, tier, **allowed)
    for line in lines:
        os.close(line)
    while not _heard(control):
        if tier.overfull(allowed["disk"]):
            os.kill(pid, signal.SIGKILL)
            break
    told = control.recv(1)
    os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    tier.clean()
    if told:
        code = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        tell(control, {"exit": code, "cpu": cpu})
    return bool(told)


def _heard(control):
    """Wait a little for the supervisor to say something; return whether it did."""
    readable, _, _ = select.select([control], [], [], WATCH_SECONDS)
    return bool(readable)


def spawn(
    lines: Sequence[int],
    module: ModuleType,
    base: int,
    tier: Tier,
    *,
    output: int,
    **allowed: int,
) -> int:
    """Fork a child that holds these `lines` and has no other way out; return its pid."""
    pid = tier.fork()
    if pid:
        return pid
    try:
        os.setsid()  # alone in its group, it can end no other process by that
        numbers = keep_only(lines)
        tier.lock(base=base, **allowed)
        module.serve(numbers, output=output)
    finally:
        os._exit(1)


def keep_only(lines: Sequence[int]) -> list[int]:
    """Number the `lines` from FIRST on and close every other file; return the numbers."""
    free = FIRST + MAX_LINES
    above = [fcntl.fcntl(line, fcntl.F_DUPFD, free) for line in lines]
    numbers = []
    for number, line in enumerate(above, FIRST):
        os.dup2(line, number)
        numbers.append(number)
    os.closerange(FIRST + len(numbers), 1 << 16)
    return numbers


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
