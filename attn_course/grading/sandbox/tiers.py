"""The sandboxes, best first, and which of them this machine allows. None of them gives a process a disk."""

import contextlib
import functools
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attn_course.grading.sandbox import landlock, libc, limits, namespaces, seccomp
from attn_course.grading.sandbox.readable_paths import hidden_paths, readable_paths, without

FIRST_PID = 1  # of all children in namespaces


class Namespaces:
    """A root, a network and processes of its own, and everything of the tier below."""

    name = "namespaces"
    users: Sequence[int] = ()

    def enter(self) -> None:
        """Before anything is imported: leave the namespaces of the grader."""
        namespaces.enter()

    def prepare(self, hidden: Sequence[str]) -> None:
        """Once everything is imported: keep only what children may read."""
        if os.geteuid() == 0:
            self.users = limits.unused_users()
        namespaces.build_root(readable_paths(), hidden_paths(hidden))
        seccomp.program(FIRST_PID)

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        return namespaces.fork_alone()

    def restrict(self, **allowed: int) -> None:
        """Restrict this child for good."""
        limits.limit(**allowed)
        if self.users:
            limits.switch_to_unused_user(self.users)
        _restrict({"/": landlock.READ, "/dev": landlock.USE_DEVICE})


class Landlock:
    """Files by Landlock, calls by seccomp, and limits: for machines that refuse namespaces."""

    name = "landlock"
    users: Sequence[int] = ()
    rules: dict[str, landlock.Right]
    threads = limits.MAX_THREADS

    def enter(self) -> None:
        """Refuse a version that leaves too much open."""
        if landlock.version() < landlock.OLDEST:
            raise OSError(f"Landlock is of version {landlock.version()}, below {landlock.OLDEST}")

    def prepare(self, hidden: Sequence[str]) -> None:
        """Note what children may read."""
        paths = without(readable_paths(), hidden_paths(hidden))
        self.rules = dict.fromkeys(paths, landlock.READ)
        self.rules |= dict.fromkeys(namespaces.DEVICES, landlock.USE_DEVICE)
        if os.geteuid() == 0 and all(map(_is_open_to_all, paths)):
            with contextlib.suppress(OSError):  # a container may not let us
                self.users = limits.unused_users()

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        if not self.users:
            self.threads = _threads_allowed()
        return libc.fork()

    def restrict(self, **allowed: int) -> None:
        """Restrict this child for good."""
        limits.limit(threads=self.threads, **allowed)
        if self.users:
            limits.switch_to_unused_user(self.users)
        _restrict(self.rules)


class NoSandbox:
    """No sandbox, where the grader asks for that: limits alone."""

    name = "none"
    threads = limits.MAX_THREADS

    def enter(self) -> None:
        """There is nothing to leave."""

    def prepare(self, hidden: Sequence[str]) -> None:
        """Nothing is hidden."""

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        self.threads = _threads_allowed()
        return libc.fork()

    def restrict(self, **allowed: int) -> None:
        """Set the limits of this child."""
        limits.limit(threads=self.threads, **allowed)


Tier = Namespaces | Landlock | NoSandbox
SANDBOXES: tuple[type[Tier], ...] = (Namespaces, Landlock)
TIERS = {tier.name: tier for tier in (*SANDBOXES, NoSandbox)}


def _threads_allowed():
    """How many threads all processes of this user may have, with one more child."""
    return limits.MAX_THREADS + limits.threads_of_user(os.getuid())


def _restrict(rules):
    os.environ.update(HOME="/", TMPDIR="/")
    tempfile.tempdir = "/"  # where nothing can be written; libraries ask for its name
    limits.drop_capabilities()
    libc.give_up_new_privileges()
    landlock.restrict_files(rules)
    seccomp.restrict_calls()


def _is_open_to_all(path):
    """Whether any user may go into a folder, that is, into all those above it too."""
    place = Path(path)
    return all(folder.stat().st_mode & 1 for folder in (place, *place.parents))


@functools.cache
def best_tier() -> str:
    """Return the name of the best sandbox that works on this machine; "" if there is none."""
    return next((tier.name for tier in SANDBOXES if works(tier)), "")


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
    """Whether a process can really be sandboxed in that way: one is, and tries to look out and to write."""
    if sys.platform != "linux":
        return False
    # Ctrl-C reaches every process of the terminal; it waits until this one is back in its own code.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        if pid := os.fork():
            _, ended = os.waitpid(pid, 0)
            return ended == 0
        status = 1
        with contextlib.suppress(BaseException):
            status = _try(tier())
        os._exit(status)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _try(tier):
    tier.enter()
    tier.prepare(())
    if pid := tier.fork():
        _, ended = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(ended)
    os.chdir("/")
    tier.restrict(base=limits.address_space(), memory=1 << 28, seconds=10)
    for attempt in (lambda: os.listdir("/etc"), lambda: os.open("attn-probe", os.O_CREAT)):
        with contextlib.suppress(OSError):
            attempt()
            os._exit(1)
    os._exit(0)
