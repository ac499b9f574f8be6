"""What the kernel offers against a process: Landlock, seccomp, namespaces, and calls that Python lacks.

Landlock guards which files are opened, listed, made or changed; `stat` of a path that is known, and
`readlink`, cannot be guarded. A seccomp filter says which system calls may be made.
"""

import contextlib
import ctypes
import enum
import errno
import functools
import os
import platform
import signal
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# Numbers that x86_64 and aarch64 share.
OPEN_TREE = 428
MOVE_MOUNT = 429
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

CAPABILITY_VERSION = 0x20080522
READ_ANY_FILE = 1 << 2  # CAP_DAC_READ_SEARCH
PR_SET_PDEATHSIG = 1
PR_SET_KEEP_CAPABILITIES = 8
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38


@functools.cache
def _library():
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: Any) -> int:
    """Call a C function that answers -1 and sets errno when it fails."""
    wide: list[Any] = []
    for arg in args:
        if isinstance(arg, int):
            wide.append(ctypes.c_long(arg))  # a whole number fills a register
        else:
            wide.append(os.fsencode(arg) if isinstance(arg, str) else arg)
    result = getattr(_library(), name)(*wide)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def fork() -> int:
    """Fork as C does. What Python adds serves other threads, of which this process has none."""
    holding_on = ctypes.PyDLL(None)  # to Python's lock, on both sides
    return holding_on.fork()


def syscall(number: int, *args: Any) -> int:
    """Make a system call that has no function of its own."""
    return call("syscall", number, *args)


def keep_capabilities(kept: int = 0) -> None:
    """Give up every right of root but those in the bit mask `kept`, for good."""
    header = struct.pack("<Ii", CAPABILITY_VERSION, 0)
    call("capset", header, struct.pack("<6I", kept, kept, 0, 0, 0, 0))


def end_with_parent() -> None:
    """Have the kernel end this process when the thread that started it ends."""
    with contextlib.suppress(AttributeError):  # Linux alone can
        call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def give_up_new_privileges() -> None:
    """Give up for good every way by which this process could get more rights than it has."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


# Landlock: which files a process may reach, for good and without privilege.
QUERY_VERSION = 1
RULE_BELOW_PATH = 1
OLDEST_LANDLOCK = 3  # the first version that guards against cutting files short


class Right(enum.IntFlag):
    """What may be done below a path."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Right.READ_FILE | Right.READ_DIR
USE_DEVICE = Right.READ_FILE | Right.WRITE_FILE
ON_FILES = Right.EXECUTE | USE_DEVICE | Right.TRUNCATE | Right.IOCTL_DEV
# Version in which each group of rights came, and how many there were then.
NUM_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
NETWORK_SINCE = 4
SCOPES_SINCE = 6
BIND_AND_CONNECT = 0b11  # TCP
SOCKETS_AND_SIGNALS = 0b11


@functools.cache
def landlock_version() -> int:
    """Return which version of Landlock the kernel has; OSError where there is none."""
    return syscall(LANDLOCK_CREATE_RULESET, None, 0, QUERY_VERSION)


def restrict_files(rules: Mapping[str, Right]) -> None:
    """Allow from now on only these rights below these paths: {path: rights}."""
    num_rights = NUM_RIGHTS.get(landlock_version(), len(Right))
    handled = Right((1 << num_rights) - 1)
    fields: list[int] = [handled]
    if landlock_version() >= NETWORK_SINCE:
        fields.append(BIND_AND_CONNECT)
    if landlock_version() >= SCOPES_SINCE:
        fields.append(SOCKETS_AND_SIGNALS)
    packed = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = syscall(LANDLOCK_CREATE_RULESET, packed, len(packed), 0)
    for path, rights in rules.items():
        allowed = rights & handled
        if not Path(path).is_dir():
            allowed &= ON_FILES
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("<Qi", allowed, handle)
        syscall(LANDLOCK_ADD_RULE, ruleset, RULE_BELOW_PATH, rule, 0)
        os.close(handle)
    syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


# Namespaces: a process with a root, a network and a table of processes of its own.
AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
ROOT = "/tmp"  # where the new root is put together


class New(enum.IntFlag):
    """Which namespaces to leave."""

    MOUNT = 0x00020000
    UTS = 0x04000000
    IPC = 0x08000000
    USER = 0x10000000
    PID = 0x20000000
    NET = 0x40000000


class Mount(enum.IntFlag):
    """How `mount` mounts; `mount_setattr` has the same numbers for the first three."""

    RDONLY = 0x1
    NOSUID = 0x2
    NODEV = 0x4
    BIND = 0x1000
    REC = 0x4000
    PRIVATE = 0x40000


OPEN_TREE_CLONE = 0x1
OPEN_TREE_CLOEXEC = 0x80000
MOVE_MOUNT_FROM_EMPTY_PATH = 0x4
UMOUNT_DETACH = 0x2
SAFE = Mount.NOSUID | Mount.NODEV


def enter_namespaces() -> None:
    """Go on as process 1 of new namespaces, without a network; the caller waits outside."""
    uid = os.geteuid()
    gid = os.getegid()
    flags = New.MOUNT | New.PID | New.NET | New.IPC | New.UTS
    if uid != 0:
        flags |= New.USER
    call("unshare", flags)
    if uid != 0:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{uid} {uid} 1")
        (own / "gid_map").write_text(f"{gid} {gid} 1")
    if inner := os.fork():
        _, status = os.waitpid(inner, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code & 0xFF)


def build_root(paths: Sequence[str], hidden: Sequence[Path]) -> None:
    """Make a root that holds read-only views of `paths` and some devices, and nothing else.

    hidden: folders below them that are empty there.
    """
    call("mount", None, "/", None, Mount.REC | Mount.PRIVATE, None)
    trees = {path: read_only_tree(path) for path in [*paths, *DEVICES]}
    call("mount", "tmpfs", ROOT, "tmpfs", SAFE, "mode=755,size=1m")
    for path, tree in trees.items():
        put_tree(tree, Path(ROOT + path), is_file=path in DEVICES)
    for folder in hidden:
        call("mount", "tmpfs", f"{ROOT}{folder}", "tmpfs", SAFE | Mount.RDONLY, "size=4k")
    os.chdir(ROOT)
    call("pivot_root", ".", ".")
    call("umount2", ".", UMOUNT_DETACH)
    _set_mount(AT_FDCWD, "/", 0, SAFE | Mount.RDONLY)
    os.chdir("/")


def put_tree(tree: int, target: Path, *, is_file: bool) -> None:
    """Mount a detached tree at `target`, which is made for it."""
    folder = target.parent if is_file else target
    folder.mkdir(parents=True, exist_ok=True)
    if is_file:
        target.touch()
    flags = MOVE_MOUNT_FROM_EMPTY_PATH
    syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, str(target), flags)
    os.close(tree)


def read_only_tree(path: str) -> int:
    """Return a handle on a detached, read-only copy of the mounts at and below `path`."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    tree = syscall(OPEN_TREE, AT_FDCWD, path, flags)
    attributes = Mount.RDONLY | Mount.NOSUID
    if path not in DEVICES:
        attributes |= Mount.NODEV
    _set_mount(tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, attributes)
    return tree


def _set_mount(folder, path, flags, attributes):
    packed = struct.pack("<QQQQ", attributes, 0, 0, 0)
    syscall(MOUNT_SETATTR, folder, path, flags, packed, len(packed))


def fork_alone() -> int:
    """Fork; the child is process 1 of a pid namespace of its own, which ends with it."""
    own = os.pidfd_open(os.getpid())
    call("unshare", New.PID)
    if pid := fork():
        call("setns", own, New.PID)
    os.close(own)
    return pid


# Seccomp: which system calls a process may make.
MODE_FILTER = 2
LAYOUT = "<HBBI"  # of an instruction
# Words of the filter: load a field, compare, return a verdict.
LOAD = 0x20
EQUAL = 0x15
ANY_BIT = 0x45
RETURN = 0x06
# Fields of what is judged.
NUMBER = 0
ARCHITECTURE = 4
FIRST_ARGUMENT = 16
SECOND_ARGUMENT = 24
THIRD_ARGUMENT = (32, 36)  # low and high word
# Verdicts.
ALLOW = 0x7FFF0000
ERROR = 0x00050000
DENY = ERROR | errno.EPERM
ABSENT = ERROR | errno.ENOSYS
NO_TERMINAL = ERROR | errno.ENOTTY

# machine: (audit architecture, column of the tables)
MACHINES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}

# Word, lines to skip if it holds, lines to skip if not, operand.
Instruction = tuple[int, int, int, int]
ALLOWED: Instruction = (RETURN, 0, 0, ALLOW)
REFUSED: Instruction = (RETURN, 0, 0, DENY)


def numbers_of(table: str) -> dict[str, int]:
    """Return {name: number} of a table, on this machine."""
    _, column = MACHINES[platform.machine()]
    numbers = {}
    for entry in table.split():
        fields = entry.split(":")
        if fields[column] != "-":
            numbers[fields[0]] = int(fields[column])
    return numbers


def packed(lines: Iterable[Instruction]) -> bytes:
    """Return the lines of a filter as the kernel reads them."""
    return b"".join(struct.pack(LAYOUT, *line) for line in lines)


def install_filter(program: bytes) -> None:
    """Have this process and all that it starts judged by a packed filter, for good."""
    code = ctypes.create_string_buffer(program)
    num_lines = len(program) // struct.calcsize(LAYOUT)
    header = struct.pack("@HP", num_lines, ctypes.addressof(code))
    call("prctl", PR_SET_SECCOMP, MODE_FILTER, header, 0, 0)
