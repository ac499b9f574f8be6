"""The ways to shut a process in, best first, and which of them this machine allows."""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attn_course.grading.sandbox import (
    landlock,
    libc,
    limits,
    namespaces,
    readable_paths,
    seccomp,
)

FIRST_PID = 1  # of all children in namespaces
MAX_FILES = 1_000  # in the folder of one child


class Namespaces:
    """A root, a network and processes of its own, and everything of the tier below."""

    name = "namespaces"
    scratch = "/scratch"  # not /tmp, below which Python itself may be installed
    users: Sequence[int] = ()

    def enter(self) -> None:
        """Before anything is imported: leave the namespaces of the grader."""
        namespaces.enter()

    def shut(self, hidden: Sequence[str]) -> None:
        """Once everything is imported: keep only what children may read."""
        if os.geteuid() == 0:
            self.users = limits.spare_users()
        paths = readable_paths.readable_paths()
        empty = readable_paths.hidden_paths(hidden)
        namespaces.build_root(paths, empty, self.scratch)
        seccomp.program(FIRST_PID)
        _live_in(self.scratch)

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        return namespaces.fork_alone()

    def lock(self, *, disk: int, **more: int) -> None:
        """Shut this child in for good; without any `disk` it can write nowhere."""
        rules = {"/": landlock.READ, "/dev": landlock.USE_DEVICE}
        if disk:
            namespaces.mount_memory(self.scratch, disk, MAX_FILES)
            rules[self.scratch] = landlock.EVERYTHING
        limits.limit(disk=disk, **more)
        if self.users:
            limits.become_nobody_else(self.users)
        _restrict(rules)
        os.chdir(self.scratch)

    def overfull(self, disk: int) -> bool:
        """Whether a child has written too much; here its folder has a size of its own."""
        return False

    def clean(self) -> None:
        """Remove what a child has left."""

    def leave(self) -> None:
        """Remove what was made for all children."""


class Landlock:
    """Files by Landlock, calls by seccomp, and limits: for machines that refuse namespaces."""

    name = "landlock"

    def __init__(self) -> None:
        self.users: Sequence[int] = ()
        self.rules: dict[str, landlock.Right] = {}
        self.folder = ""
        self.scratch = ""
        self.threads = limits.MAX_THREADS

    def enter(self) -> None:
        """Refuse a version that leaves too much open."""
        if landlock.version() < landlock.OLDEST:
            raise OSError(f"Landlock is of version {landlock.version()}, below {landlock.OLDEST}")

    def shut(self, hidden: Sequence[str]) -> None:
        """Note what children may read, and make the folder in which they write."""
        readable = readable_paths.readable_paths()
        paths = readable_paths.without(readable, readable_paths.hidden_paths(hidden))
        devices = dict.fromkeys(namespaces.DEVICES, landlock.USE_DEVICE)
        self.rules = dict.fromkeys(paths, landlock.READ)
        self.rules |= devices
        self.folder = tempfile.mkdtemp(prefix="attn-grade-")
        os.chmod(self.folder, 0o711)
        self.scratch = os.path.join(self.folder, "scratch")
        needed = [*paths, self.folder]
        if os.geteuid() == 0 and all(map(_open_to_all, needed)):
            with contextlib.suppress(OSError):  # a container may not let us
                self.users = limits.spare_users()
        _live_in(self.scratch)

    def fork(self) -> int:
        """Make the folder of a new child, and return its pid, 0 in the child."""
        os.mkdir(self.scratch)
        os.chmod(self.scratch, 0o777)
        self.threads = _threads_allowed()
        return libc.fork()

    def lock(self, *, disk: int, **more: int) -> None:
        """Shut this child in for good; without any `disk` it can write nowhere."""
        rights = landlock.EVERYTHING if disk else landlock.READ
        rules = self.rules | {self.scratch: rights}
        os.chdir(self.scratch)
        if self.users:
            self.threads = limits.MAX_THREADS
        limits.limit(disk=disk, threads=self.threads, **more)
        if self.users:
            limits.become_nobody_else(self.users)
        _restrict(rules)

    def overfull(self, disk: int) -> bool:
        """Whether a child has written too much."""
        found: list[Path] = []
        for above, _, names in os.walk(self.scratch):
            found += [Path(above, name) for name in names]
        if len(found) > MAX_FILES:
            return True
        sizes = 0
        for path in found:
            with contextlib.suppress(OSError):  # it is gone already
                sizes += path.lstat().st_size
        return sizes > disk

    def clean(self) -> None:
        """Remove what a child has left."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def leave(self) -> None:
        """Remove what was made for all children."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Nothing:
    """No sandbox, where the grader asks for that: limits alone."""

    name = "none"

    def enter(self) -> None:
        """There is nothing to leave."""

    def shut(self, hidden: Sequence[str]) -> None:
        """Make the folder in which children work; nothing is hidden."""
        self.folder = tempfile.mkdtemp(prefix="attn-grade-")
        self.scratch = os.path.join(self.folder, "scratch")
        self.threads = limits.MAX_THREADS

    def fork(self) -> int:
        """Make the folder of a new child, and return its pid, 0 in the child."""
        os.mkdir(self.scratch)
        self.threads = _threads_allowed()
        return libc.fork()

    def lock(self, *, disk: int, **more: int) -> None:
        """Set the limits of this child."""
        limits.limit(disk=disk or MAX_FILES, threads=self.threads, **more)
        os.chdir(self.scratch)

    def overfull(self, disk: int) -> bool:
        """Whether a child has written too much; nobody looks."""
        return False

    def clean(self) -> None:
        """Remove what a child has left."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def leave(self) -> None:
        """Remove what was made for all children."""
        shutil.rmtree(self.folder, ignore_errors=True)


Tier = Namespaces | Landlock | Nothing
TIERS: dict[str, type[Tier]] = {
    Namespaces.name: Namespaces,
    Landlock.name: Landlock,
    Nothing.name: Nothing,
}
LOCKED: tuple[type[Tier], ...] = (Namespaces, Landlock)


def _threads_allowed():
    """How many threads all processes of this user may have, with one more child."""
    uid = os.getuid()
    return limits.MAX_THREADS + limits.threads_of_user(uid)


def _restrict(rules):
    limits.drop_capabilities()
    libc.give_up_new_privileges()
    landlock.restrict_files(rules)
    seccomp.restrict_calls()


def _live_in(folder):
    os.environ.update(HOME=folder, TMPDIR=folder)
    tempfile.tempdir = None  # or the folder that was found for this process is used by its children


def _open_to_all(path):
    """Whether any user may go into a folder, that is, into all those above it too."""
    place = Path(path)
    folders = [place, *place.parents]
    return all(folder.stat().st_mode & 1 for folder in folders)


def best_tier() -> str:
    """Return the name of the best tier that works on this machine; "" if there is none."""
    for tier in LOCKED:
        if works(tier):
            return tier.name
    return ""


def missing_mechanisms() -> list[str]:
    """Return the names of what this machine lacks for any sandbox; an empty list when it can."""
    if best_tier():
        return []
    if sys.platform != "linux":
        return [f"Linux (this is {sys.platform})"]
    if platform.machine() not in seccomp.MACHINES:
        return [f"a seccomp filter for {platform.machine()}"]
    return ["user namespaces, and Landlock of version 3 (Linux 6.2)"]


def works(tier: type[Tier]) -> bool:
    """Whether a process can really be shut in that way: one is, and tries to look out."""
    if sys.platform != "linux":
        return False
    if pid := os.fork():
        _, ended = os.waitpid(pid, 0)
        return ended == 0
    status = 1
    with contextlib.suppress(BaseException):
        status = _try(tier())
    os._exit(status)


def _try(tier):
    tier.enter()
    tier.shut(())
    try:
        if pid := tier.fork():
            _, ended = os.waitpid(pid, 0)
            return os.waitstatus_to_exitcode(ended)
        base = limits.address_space()
        tier.lock(base=base, memory=1 << 28, seconds=10, disk=1 << 20)
        Path("mine").write_text("x")
        os._exit(0 if _shut_in() else 1)
    finally:
        tier.clean()
        tier.leave()


def _shut_in():
    try:
        os.listdir("/etc")
    except OSError:
        return True
    return False
