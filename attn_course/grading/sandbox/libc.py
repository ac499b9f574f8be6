"""Calls into the C library that Python has no name for. Knows nothing of what they are for."""

import ctypes
import functools
import os

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


def call(name, *args):
    """Call a C function that answers -1 and sets errno when it fails."""
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    wide = [os.fsencode(arg) if isinstance(arg, str) else arg for arg in wide]
    result = getattr(_library(), name)(*wide)
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def syscall(number, *args):
    return call("syscall", number, *args)


def give_up_new_privileges():
    """From here on no program and no call makes this process more than it is."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
