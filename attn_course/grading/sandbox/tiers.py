"""The ways to shut a process in, best first, and which of them this machine allows. Knows no submission."""

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from attn_course.grading.sandbox import landlock, libc, limits, namespaces, seccomp, visible

MAX_FILES = 1_000  # in the folder of one child


class Namespaces:
    """A root, a network and processes of its own, and everything of the tier below."""

    name = "namespaces"
    scratch = "/scratch"  # not /tmp, below which Python itself may be installed
    users: Sequence[int] = ()

    def enter(self) -> None:
        """Before anything is imported: leave the namespaces of the grader."""
        namespaces.enter()

    def shut(self, hidden: Iterable[str]) -> None:
        """Once everything is imported: keep only what children may read."""
        if os.geteuid() == 0:
            self.users = limits.spare_users()
        paths = visible.readable_paths()
        namespaces.build_root(paths, visible.hidden_paths(hidden), self.scratch)
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

    def __init__(self):
        self.users: Sequence[int] = ()
        self.rules: dict[str, landlock.Right] = {}
        self.scratch = ""
        self.folder = ""
        self.threads = limits.MAX_THREADS

    def enter(self) -> None:
        if landlock.version() < landlock.OLDEST:
            raise OSError(f"Landlock is of version {landlock.version()}, below {landlock.OLDEST}")

    def shut(self, hidden: Iterable[str]) -> None:
        paths = visible.without(visible.readable_paths(), visible.hidden_paths(hidden))
        self.rules = dict.fromkeys(paths, landlock.READ)
        self.rules |= dict.fromkeys(namespaces.DEVICES, landlock.USE_DEVICE)
        self.folder = tempfile.mkdtemp(prefix="attn-grade-")
        os.chmod(self.folder, 0o711)
        self.scratch = os.path.join(self.folder, "scratch")
        if os.geteuid() == 0 and all(map(_open_to_all, [*paths, self.folder])):
            with contextlib.suppress(OSError):  # a container may not let us
                self.users = limits.spare_users()
        _live_in(self.scratch)

    def fork(self) -> int:
        os.mkdir(self.scratch)
        os.chmod(self.scratch, 0o777)
        self.threads = limits.MAX_THREADS + limits.threads_of_user(os.getuid())
        return os.fork()

    def lock(self, *, disk: int, **more: int) -> None:
        rules = self.rules | {self.scratch: landlock.EVERYTHING if disk else landlock.READ}
        os.chdir(self.scratch)
        if self.users:
            self.threads = limits.MAX_THREADS
        limits.limit(disk=disk, threads=self.threads, **more)
        if self.users:
            limits.become_nobody_else(self.users)
        _restrict(rules)

    def overfull(self, disk: int) -> bool:
        found = [Path(above, name) for above, _, names in os.walk(self.scratch) for name in names]
        if len(found) > MAX_FILES:
            return True
        sizes = 0
        for path in found:
            with contextlib.suppress(OSError):  # it is gone already
                sizes += path.lstat().st_size
        return sizes > disk

    def clean(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def leave(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Nothing:
    """No sandbox, where the grader asks for that: limits alone."""

    name = "none"

    def enter(self) -> None:
        pass

    def shut(self, hidden: Iterable[str]) -> None:
        self.folder = tempfile.mkdtemp(prefix="attn-grade-")
        self.scratch = os.path.join(self.folder, "scratch")
        self.threads = limits.MAX_THREADS

    def fork(self) -> int:
        os.mkdir(self.scratch)
        self.threads = limits.MAX_THREADS + limits.threads_of_user(os.getuid())
        return os.fork()

    def lock(self, *, disk: int, **more: int) -> None:
        limits.limit(disk=disk or MAX_FILES, threads=self.threads, **more)
        os.chdir(self.scratch)

    def overfull(self, disk: int) -> bool:
        return False

    def clean(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def leave(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


Tier = Namespaces | Landlock | Nothing
TIERS: dict[str, type[Tier]] = {tier.name: tier for tier in (Namespaces, Landlock, Nothing)}
LOCKED: tuple[type[Tier], ...] = (Namespaces, Landlock)


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
    return all(above.stat().st_mode & 1 for above in [Path(path), *Path(path).parents])


def best_tier() -> str:
    """Return the name of the best tier that works on this machine; "" if there is none."""
    return next((tier.name for tier in LOCKED if works(tier)), "")


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
        return os.waitpid(pid, 0)[1] == 0
    status = 1
    with contextlib.suppress(BaseException):
        status = _try(tier())
    os._exit(status)


def _try(tier):
    tier.enter()
    tier.shut(())
    try:
        if pid := tier.fork():
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        tier.lock(base=limits.address_space(), memory=1 << 28, seconds=10, disk=1 << 20)
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
