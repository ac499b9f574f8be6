"""Landlock: which files a process may reach, for good and without privilege.

It guards what is opened, listed, made or changed; `stat` of a path that is known cannot be guarded.
"""

import enum
import functools
import os
import struct
from collections.abc import Mapping
from pathlib import Path

from attn_course.grading.sandbox import libc

QUERY_VERSION = 1
RULE_BELOW_PATH = 1
OLDEST = 3  # the first version that guards against cutting files short


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
def version() -> int:
    """Return which version of Landlock the kernel has; OSError where there is none."""
    return libc.syscall(libc.LANDLOCK_CREATE_RULESET, None, 0, QUERY_VERSION)


def restrict_files(rules: Mapping[str, Right]) -> None:
    """From here on only these rights below these paths: {path: rights}."""
    num_rights = NUM_RIGHTS.get(version(), len(Right))
    handled = Right((1 << num_rights) - 1)
    fields: list[int] = [handled]
    if version() >= NETWORK_SINCE:
        fields.append(BIND_AND_CONNECT)
    if version() >= SCOPES_SINCE:
        fields.append(SOCKETS_AND_SIGNALS)
    packed = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = libc.syscall(libc.LANDLOCK_CREATE_RULESET, packed, len(packed), 0)
    for path, rights in rules.items():
        allowed = rights & handled
        if not Path(path).is_dir():
            allowed &= ON_FILES
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("<Qi", allowed, place)
        libc.syscall(libc.LANDLOCK_ADD_RULE, ruleset, RULE_BELOW_PATH, rule, 0)
        os.close(place)
    libc.syscall(libc.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
