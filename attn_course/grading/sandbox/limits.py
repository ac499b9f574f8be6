"""What a process may use, and whose it is: limits, a user of its own, no capability."""

import contextlib
import os
import secrets
import struct
from collections.abc import Sequence
from pathlib import Path

from attn_course.grading.sandbox import libc

with contextlib.suppress(ImportError):  # here, before any child: Windows has none
    import resource

CAPABILITY_VERSION = 0x20080522
MAX_OPEN_FILES = 128
MAX_THREADS = 16
PLENTY = 1 << 20  # users in a map that has room for one of ours alone


def limit(*, base: int, memory: int, seconds: int, threads: int = MAX_THREADS) -> None:
    """Set the resource limits, which every Unix has; sizes in bytes.

    base: the address space in use already. threads: how many all processes of this user may have.
    """
    limits = {
        resource.RLIMIT_AS: base + memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_NPROC: threads,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


def address_space() -> int:
    """Return the bytes of address space in use, on which a memory limit is put."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    return 1 << 34


def threads_of_user(uid: int) -> int:
    """Return how many threads the processes of a user have now."""
    count = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, LookupError, ValueError):  # it has ended meanwhile
            text = status.read_text()
            if int(_field(text, "Uid")) == uid:
                count += int(_field(text, "Threads"))
    return count


def _field(text, name):
    """The first word after a name in the text of a process's status."""
    _, _, rest = text.partition(f"\n{name}:\t")
    return rest.split(None, 1)[0]


def unused_users() -> range:
    """Return the range of user ids that are mapped here and that hardly anybody has."""
    ranges = []
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        ranges.append(range(first, first + count))
    widest = max(ranges, key=len)
    size = len(widest)
    if size > PLENTY:
        return widest[size // 4 : size // 2]
    return widest[1:]  # the first is that of root


def switch_to_unused_user(users: Sequence[int]) -> None:
    """Leave root for one of `users`: limits on threads spare root, and a new user shares them with nobody."""
    uid = secrets.choice(users)
    with contextlib.suppress(PermissionError):  # a container may have none to leave
        os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    """Give up every right of root, for good."""
    header = struct.pack("<Ii", CAPABILITY_VERSION, 0)
    libc.call("capset", header, bytes(24))  # none
