"""Namespaces: a process with a root, a network and a table of processes of its own."""

import enum
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from attn_course.grading.sandbox import libc

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


def enter() -> None:
    """Go on as process 1 of new namespaces, without a network; the caller waits outside."""
    uid = os.geteuid()
    gid = os.getegid()
    flags = New.MOUNT | New.PID | New.NET | New.IPC | New.UTS
    if uid != 0:
        flags |= New.USER
    libc.call("unshare", flags)
    if uid != 0:
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{uid} {uid} 1")
        (own / "gid_map").write_text(f"{gid} {gid} 1")
    if inner := os.fork():
        _, status = os.waitpid(inner, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code & 0xFF)


def build_root(paths: Sequence[str], hidden: Sequence[str]) -> None:
    """Make a root that holds read-only views of `paths` and some devices.

    hidden: folders and files below `paths` that are empty there.
    """
    libc.call("mount", None, "/", None, Mount.REC | Mount.PRIVATE, None)
    trees = {path: read_only_tree(path) for path in [*paths, *DEVICES]}
    _mount_memory(ROOT, SAFE, "mode=755,size=1m")
    for path, tree in trees.items():
        put_tree(tree, Path(ROOT + path), is_file=path in DEVICES)
    for path in hidden:
        covered = ROOT + path
        if os.path.isdir(covered):
            _mount_memory(covered, SAFE | Mount.RDONLY, "mode=755,size=4k")
        else:
            libc.call("mount", "/dev/null", covered, None, Mount.BIND, None)
    os.chdir(ROOT)
    libc.call("pivot_root", ".", ".")
    libc.call("umount2", ".", UMOUNT_DETACH)
    _set_mount(AT_FDCWD, "/", 0, SAFE | Mount.RDONLY)
    os.chdir("/")


def _mount_memory(path, flags, options):
    libc.call("mount", "tmpfs", path, "tmpfs", flags, options)


def put_tree(tree: int, target: Path, *, is_file: bool) -> None:
    """Mount a detached tree at a place that is made for it."""
    folder = target.parent if is_file else target
    folder.mkdir(parents=True, exist_ok=True)
    if is_file:
        target.touch()
    flags = MOVE_MOUNT_FROM_EMPTY_PATH
    libc.syscall(libc.MOVE_MOUNT, tree, b"", AT_FDCWD, str(target), flags)
    os.close(tree)


def read_only_tree(path: str) -> int:
    """Return a handle on a detached, read-only copy of the mounts at and below `path`."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    tree = libc.syscall(libc.OPEN_TREE, AT_FDCWD, path, flags)
    attributes = Mount.RDONLY | Mount.NOSUID
    if path not in DEVICES:
        attributes |= Mount.NODEV
    _set_mount(tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, attributes)
    return tree


def _set_mount(folder, path, flags, attributes):
    packed = struct.pack("<QQQQ", attributes, 0, 0, 0)
    libc.syscall(libc.MOUNT_SETATTR, folder, path, flags, packed, len(packed))


def fork_alone() -> int:
    """Fork; the child is process 1 of a pid namespace of its own, which ends with it."""
    own = os.pidfd_open(os.getpid())
    libc.call("unshare", New.PID)
    if pid := libc.fork():
        libc.call("setns", own, New.PID)
    os.close(own)
    return pid
