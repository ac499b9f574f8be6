"""What a submission may do: readable folders, system calls, limits, and the tiers that enforce them.

No tier gives a process a disk or a network.
"""

import contextlib
import functools
import os
import platform
import secrets
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

import attn_course
import attn_utils
from attn_course.course_files import IN_WHEEL
from attn_grader.sandbox import kernel
from attn_grader.sandbox.kernel import (
    ABSENT,
    ALLOWED,
    ANY_BIT,
    ARCHITECTURE,
    EQUAL,
    FIRST_ARGUMENT,
    LOAD,
    MACHINES,
    NO_TERMINAL,
    NUMBER,
    REFUSED,
    RETURN,
    SECOND_ARGUMENT,
    THIRD_ARGUMENT,
)

with contextlib.suppress(ImportError):  # Windows has none, and no sandbox
    import resource

MAX_OPEN_FILES = 128
MAX_THREADS = 64  # of one submission, in both tiers
PLENTY = 1 << 20  # users in a map that has room for one of ours alone
FIRST_PID = 1  # of all children in namespaces
PACKAGES = ("site-packages", "dist-packages")
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
CLONE_THREAD = 0x00010000
# Commands of fcntl that have the kernel send signals to another process.
F_SETOWN = 8
F_SETSIG = 10
F_SETOWN_EX = 15
OWNERS = (F_SETOWN, F_SETSIG, F_SETOWN_EX)
# Requests of ioctl that `isatty` makes. Others may set an owner, to whom the kernel sends signals.
TCGETS = 0x5401
TCGETS2 = 0x802C542A

# What a numerical Python program needs, as name:x86_64:aarch64. Everything else (sockets, exec, new
# processes, tracing, shared memory, mounts, keys, new folders, renaming, removing, rights and dates
# of files, other processes' limits and places ...) answers "Operation not permitted".
CALLS = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 lseek:8:62 open:2:-
openat:257:56 close:3:57 close_range:436:436 stat:4:- fstat:5:80 lstat:6:- newfstatat:262:79
statx:332:291 statfs:137:43 fstatfs:138:44 access:21:- faccessat:269:48 faccessat2:439:439
readlink:89:- readlinkat:267:78 getcwd:79:17 chdir:80:49 getdents64:217:61
dup:32:23 dup2:33:- dup3:292:24 pipe:22:- pipe2:293:59 poll:7:- ppoll:271:73 select:23:- pselect6:270:72
mmap:9:222 munmap:11:215 mprotect:10:226 mremap:25:216 madvise:28:233 brk:12:214 futex:202:98
set_robust_list:273:99 rseq:334:293 set_tid_address:218:96 restart_syscall:219:128 exit:60:93
exit_group:231:94 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139
rt_sigtimedwait:128:137 sigaltstack:131:132 alarm:37:-
pause:34:- setitimer:38:103 getitimer:36:102 getpid:39:172 gettid:186:178 getppid:110:173
getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177 getgroups:115:158
clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115 nanosleep:35:101
gettimeofday:96:169 time:201:- times:100:153 getrusage:98:165 sched_yield:24:124
sched_getaffinity:204:123 getcpu:309:168 getrandom:318:278 uname:63:160
sysinfo:99:179 getrlimit:97:163 arch_prctl:158:-
"""
# The same for calls that are allowed with some arguments.
CONDITIONAL = """
clone:56:220 clone3:435:435 kill:62:129 tgkill:234:131 prlimit64:302:261 fcntl:72:25 ioctl:16:29
"""


def readable_paths() -> list[str]:
    """Return the folders that hold Python, its packages and the course, none below another."""
    ours = [attn_utils.__file__, attn_course.__file__, str(Path(__file__).parent)]
    candidates = {
        *SYSTEM,
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        sysconfig.get_config_var("LIBDIR") or "",
        *(path for path in sys.path if path.endswith(PACKAGES)),
        *(str(Path(path).resolve().parent) for path in ours),
    }
    paths = sorted(path for path in candidates if os.path.isdir(path))
    inside = tuple(f"{path}/" for path in paths)
    return [path for path in paths if not path.startswith(inside)]


def hidden_folders(paths: Sequence[str]) -> list[Path]:
    """Return the folders below readable ones that no submission may read: the solutions in a wheel."""
    folder = IN_WHEEL.resolve() / "solutions"
    above = [path for path in map(Path, paths) if path.resolve() in folder.parents]
    folders = [path / folder.relative_to(path.resolve()) for path in above]
    return [folder for folder in folders if folder.is_dir()]


def rules_for_reading(paths: Sequence[str], hidden: Sequence[Path]) -> dict[str, kernel.Right]:
    """Return {path: right} for Landlock, which has no way to take a right away below a path.

    So a folder with a hidden one somewhere below it may only be listed, and each of the other things in
    it may be read.
    """
    rules = dict.fromkeys(paths, kernel.READ)
    for folder in hidden:
        top = next(path for path in paths if Path(path) in folder.parents)
        way = [above for above in folder.parents if above.is_relative_to(top)]
        for above in way:
            beside = [entry for entry in above.iterdir() if entry not in (*way, folder)]
            rules |= {str(entry): kernel.READ for entry in beside if entry.exists()}
            rules[str(above)] = kernel.Right.READ_DIR
    return rules


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


def limit_memory(memory: int) -> None:
    """Let this process use this many bytes more than it does now; the limit can be changed later."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = address_space() + memory
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


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
    """Return the first word after a name in the text of a process's status."""
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
    """Change from root to one of `users`: limits on threads spare root, and nobody else has that user.

    Python may lie below a folder that is root's alone, so the right to read any file stays; which files
    these are, the namespace or Landlock decides.
    """
    uid = secrets.choice(users)
    kernel.call("prctl", kernel.PR_SET_KEEP_CAPABILITIES, 1, 0, 0, 0)
    with contextlib.suppress(PermissionError):  # a container may have none to leave
        os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def restrict_calls() -> None:
    """Allow only CALLS from now on, and those of CONDITIONAL that touch no other process."""
    kernel.install_filter(program(os.getpid()))


@functools.cache
def program(pid: int) -> bytes:
    """Return the filter for a process, packed; lines on allowed calls jump to the last, which allows."""
    architecture, _ = MACHINES[platform.machine()]
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        REFUSED,
        (LOAD, 0, 0, NUMBER),
    ]
    conditional = kernel.numbers_of(CONDITIONAL)
    for name, verdict in _conditions(pid).items():
        lines.append((EQUAL, 0, len(verdict), conditional[name]))
        lines += verdict
    lines += [*_jumps(kernel.numbers_of(CALLS).values()), REFUSED, ALLOWED]
    return kernel.packed(lines)


def _jumps(values):
    """Return lines that jump to the second line behind them if the loaded number is one of these values."""
    return [(EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]


def _conditions(pid):
    """Return {call: lines of the filter that end in a verdict on it}."""
    first = (LOAD, 0, 0, FIRST_ARGUMENT)
    second = (LOAD, 0, 0, SECOND_ARGUMENT)
    is_thread = (ANY_BIT, 0, 1, CLONE_THREAD)
    is_own = (EQUAL, 0, 1, pid)
    low, high = ((LOAD, 0, 0, word) for word in THIRD_ARGUMENT)
    # Of the process itself, and without a new limit: a limit that it lowers looks like a kill.
    only_asks = [
        first,
        (EQUAL, 0, 5, 0),
        low,
        (EQUAL, 0, 3, 0),
        high,
        (EQUAL, 0, 1, 0),
    ]
    return {
        "clone3": [(RETURN, 0, 0, ABSENT)],  # glibc then uses clone, whose flags a filter can see
        "clone": [first, is_thread, ALLOWED, REFUSED],
        "kill": [first, is_own, ALLOWED, REFUSED],
        "tgkill": [first, is_own, ALLOWED, REFUSED],
        "prlimit64": [*only_asks, ALLOWED, REFUSED],
        "fcntl": [second, *_jumps(OWNERS), ALLOWED, REFUSED],
        "ioctl": [
            second,
            *_jumps([TCGETS, TCGETS2]),
            (RETURN, 0, 0, NO_TERMINAL),
            ALLOWED,
        ],
    }


class Namespaces:
    """A root, a network and processes of its own, and everything of the tier below."""

    name = "namespaces"
    users: Sequence[int] = ()
    threads = MAX_THREADS

    def enter(self) -> None:
        """Leave the namespaces of the grader, before anything is imported."""
        if os.geteuid() == 0:
            self.users = unused_users()
            if not self.users:
                self.threads = _threads_allowed()
        kernel.enter_namespaces()

    def prepare(self) -> None:
        """Keep only what children may read, once everything is imported."""
        paths = readable_paths()
        kernel.build_root(paths, hidden_folders(paths))
        program(FIRST_PID)

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        return kernel.fork_alone()

    def restrict(self, **allowed: int) -> None:
        """Restrict this child for good."""
        limit(threads=self.threads, **allowed)
        if self.users:
            switch_to_unused_user(self.users)
        kernel.keep_capabilities()
        _restrict({"/": kernel.READ, "/dev": kernel.USE_DEVICE})


class Landlock:
    """Files by Landlock, calls by seccomp, and limits: for machines that refuse namespaces."""

    name = "landlock"
    users: Sequence[int] = ()
    kept = 0  # capabilities
    rules: dict[str, kernel.Right]
    threads = MAX_THREADS

    def enter(self) -> None:
        """Refuse a version that leaves too much open."""
        if kernel.landlock_version() < kernel.OLDEST_LANDLOCK:
            version = kernel.landlock_version()
            raise OSError(f"Landlock is of version {version}, below {kernel.OLDEST_LANDLOCK}")

    def prepare(self) -> None:
        """Note what children may read, and whether they may have a user of their own."""
        paths = readable_paths()
        self.rules = rules_for_reading(paths, hidden_folders(paths))
        self.rules |= dict.fromkeys(kernel.DEVICES, kernel.USE_DEVICE)
        if os.geteuid() == 0:
            status = Path("/proc/self/status").read_text()
            self.kept = int(_field(status, "CapPrm"), 16) & kernel.READ_ANY_FILE
            if self.kept or all(map(_is_open_to_all, paths)):
                with contextlib.suppress(OSError):  # a container may not let us
                    self.users = unused_users()

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        if not self.users:
            self.threads = _threads_allowed()
        return kernel.fork()

    def restrict(self, **allowed: int) -> None:
        """Restrict this child for good."""
        limit(threads=self.threads, **allowed)
        if self.users:
            switch_to_unused_user(self.users)
        kernel.keep_capabilities(self.kept if self.users else 0)
        _restrict(self.rules)


class NoSandbox:
    """No sandbox, where the grader asks for that: limits alone."""

    name = "none"
    threads = MAX_THREADS

    def enter(self) -> None:
        """There is nothing to leave."""

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def fork(self) -> int:
        """Return the pid of a new child, 0 in the child."""
        self.threads = _threads_allowed()
        return kernel.fork()

    def restrict(self, **allowed: int) -> None:
        """Set the limits of this child."""
        limit(threads=self.threads, **allowed)


Tier = Namespaces | Landlock | NoSandbox
SANDBOXES: tuple[type[Tier], ...] = (Namespaces, Landlock)
TIERS = {tier.name: tier for tier in (*SANDBOXES, NoSandbox)}


def _threads_allowed():
    """Return how many threads all processes of this user may have, with one more child."""
    return MAX_THREADS + threads_of_user(os.getuid())


def _restrict(rules):
    os.environ.update(HOME="/", TMPDIR="/")
    tempfile.tempdir = "/"  # where nothing can be written; libraries ask for its name
    kernel.give_up_new_privileges()
    kernel.restrict_files(rules)
    restrict_calls()


def _is_open_to_all(path):
    """Return True if any user may go into a folder, that is, into all those above it too."""
    folders = (Path(path), *Path(path).parents)
    return all(folder.stat().st_mode & 1 for folder in folders)


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
    if platform.machine() not in MACHINES:
        return [f"a seccomp filter for {platform.machine()}"]
    return ["user namespaces, and Landlock of version 3 (Linux 6.2)"]


def works(tier: type[Tier]) -> bool:
    """Return True if a process can be sandboxed in that way: one is, and tries to look out and to write."""
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
    tier.prepare()
    if pid := tier.fork():
        _, ended = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(ended)
    os.chdir("/")
    tier.restrict(base=address_space(), memory=1 << 28, seconds=10)
    for attempt in (lambda: os.listdir("/etc"), lambda: os.open("attn-probe", os.O_CREAT)):
        with contextlib.suppress(OSError):
            attempt()
            os._exit(1)
    os._exit(0)
