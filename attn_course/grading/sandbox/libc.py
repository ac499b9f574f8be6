"""Calls into the C library that Python has no name for."""

import ctypes
import functools
import os
from typing import Any

# Numbers that x86_64 and aarch64 share.
OPEN_TREE = 428
MOVE_MOUNT = 429
MOUNT_SETATTR = 442
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38


@functools.cache
def _library():
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: Any) -> int:
    """Call a C function that answers -1 and sets errno when it fails."""
    function = getattr(_library(), name)
    result = function(*map(_wide, args))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _wide(arg):
    """An argument as C takes it: whole numbers fill a register, texts are bytes."""
    if isinstance(arg, int):
        return ctypes.c_long(arg)
    return os.fsencode(arg) if isinstance(arg, str) else arg


def fork() -> int:
    """Fork as C does. What Python adds serves other threads, of which this process has none."""
    holding_on = ctypes.PyDLL(None)  # to Python's lock, on both sides
    return holding_on.fork()


def syscall(number: int, *args: Any) -> int:
    """Make a system call that has no function of its own."""
    return call("syscall", number, *args)


def give_up_new_privileges() -> None:
    """From here on no program and no call makes this process more than it is."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
