"""Seccomp: which system calls a process may make, for good and without privilege."""

import ctypes
import errno
import functools
import os
import platform
import struct
from collections.abc import Iterable

from attn_course.grading.sandbox import libc

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
# Verdicts.
ALLOW = 0x7FFF0000
ERROR = 0x00050000
DENY = ERROR | errno.EPERM
ABSENT = ERROR | errno.ENOSYS
NO_TERMINAL = ERROR | errno.ENOTTY

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
sysinfo:99:179 getrlimit:97:163 setrlimit:160:164 arch_prctl:158:-
"""
# The same for calls that are allowed with some arguments.
CONDITIONAL = """
clone:56:220 clone3:435:435 kill:62:129 tgkill:234:131 prlimit64:302:261 fcntl:72:25 ioctl:16:29
"""
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


def restrict_calls() -> None:
    """From here on only CALLS, and those of CONDITIONAL that touch no other process."""
    install(program(os.getpid()))


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
    conditional = numbers_of(CONDITIONAL)
    for name, verdict in _conditions(pid).items():
        lines.append((EQUAL, 0, len(verdict), conditional[name]))
        lines += verdict
    lines += [*_jumps(numbers_of(CALLS).values()), REFUSED, ALLOWED]
    return packed(lines)


def packed(lines: Iterable[Instruction]) -> bytes:
    """Return the lines of a filter as the kernel reads them."""
    return b"".join(struct.pack(LAYOUT, *line) for line in lines)


def _jumps(values):
    """Lines that go to the second one after them all, if what was loaded is one of these values."""
    return [(EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]


def _conditions(pid):
    """Return {call: lines of the filter that end in a verdict on it}."""
    first = (LOAD, 0, 0, FIRST_ARGUMENT)
    second = (LOAD, 0, 0, SECOND_ARGUMENT)
    is_thread = (ANY_BIT, 0, 1, CLONE_THREAD)
    is_own = (EQUAL, 0, 1, pid)
    is_itself = (EQUAL, 0, 1, 0)
    return {
        "clone3": [(RETURN, 0, 0, ABSENT)],  # glibc then uses clone, whose flags a filter can see
        "clone": [first, is_thread, ALLOWED, REFUSED],
        "kill": [first, is_own, ALLOWED, REFUSED],
        "tgkill": [first, is_own, ALLOWED, REFUSED],
        "prlimit64": [first, is_itself, ALLOWED, REFUSED],
        "fcntl": [second, *_jumps(OWNERS), ALLOWED, REFUSED],
        "ioctl": [second, *_jumps([TCGETS, TCGETS2]), (RETURN, 0, 0, NO_TERMINAL), ALLOWED],
    }


def install(program: bytes) -> None:
    """Have this process and all that it starts judged by a packed filter, for good."""
    code = ctypes.create_string_buffer(program)
    num_lines = len(program) // struct.calcsize(LAYOUT)
    header = struct.pack("@HP", num_lines, ctypes.addressof(code))
    libc.call("prctl", libc.PR_SET_SECCOMP, MODE_FILTER, header, 0, 0)
