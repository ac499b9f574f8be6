"""Knows how Linux shuts a process in: namespaces, Landlock, seccomp, limits; knows no submission."""

import contextlib
import ctypes
import functools
import os
import platform
import secrets
import struct
import sys
import sysconfig
from pathlib import Path

NEW_USER, NEW_MOUNT, NEW_PID = 0x10000000, 0x00020000, 0x20000000
NEW_NET, NEW_IPC, NEW_UTS = 0x40000000, 0x08000000, 0x04000000
REC_PRIVATE, NOSUID_NODEV, DETACH = 0x4000 | 0x40000, 0x2 | 0x4, 0x2
HERE, RECURSIVE, EMPTY_PATH = -100, 0x8000, 0x1000  # AT_FDCWD, AT_RECURSIVE, AT_EMPTY_PATH
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
CLONE_TREE, FROM_EMPTY_PATH, RDONLY, NOSUID, NODEV = 0x1 | 0x80000, 0x4, 0x1, 0x2, 0x4
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
SET_SECCOMP, SET_NO_NEW_PRIVS = 22, 38
EPERM, ENOSYS = 1, 38
SCRATCH = "/scratch"  # a child's own folder; not /tmp, below which Python itself may be installed

# What a numerical Python program needs, as name:x86_64:aarch64. Everything else (sockets, exec, new
# processes, tracing, shared memory, mounts, keys ...) answers "Operation not permitted".
ALLOWED = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 lseek:8:62 open:2:-
openat:257:56 close:3:57 close_range:436:436 stat:4:- fstat:5:80 lstat:6:- newfstatat:262:79
statx:332:291 statfs:137:43 fstatfs:138:44 access:21:- faccessat:269:48 faccessat2:439:439
readlink:89:- readlinkat:267:78 getcwd:79:17 chdir:80:49 getdents64:217:61 mkdir:83:- mkdirat:258:34
unlink:87:- unlinkat:263:35 rename:82:- renameat:264:38 renameat2:316:276 rmdir:84:-
ftruncate:77:46 truncate:76:45 fsync:74:82 fdatasync:75:83 flock:73:32 umask:95:166 chmod:90:-
fchmod:91:52 fchmodat:268:53 utimensat:280:88 dup:32:23 dup2:33:- dup3:292:24 fcntl:72:25
ioctl:16:29 pipe:22:- pipe2:293:59 poll:7:- ppoll:271:73 select:23:- pselect6:270:72
mmap:9:222 munmap:11:215 mprotect:10:226 mremap:25:216 madvise:28:233 brk:12:214 futex:202:98
set_robust_list:273:99 rseq:334:293 set_tid_address:218:96 restart_syscall:219:128 exit:60:93
exit_group:231:94 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139
rt_sigtimedwait:128:137 sigaltstack:131:132 kill:62:129 tkill:200:130 tgkill:234:131 alarm:37:-
pause:34:- setitimer:38:103 getitimer:36:102 getpid:39:172 gettid:186:178 getppid:110:173
getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177 getgroups:115:158
clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115 nanosleep:35:101
gettimeofday:96:169 time:201:- times:100:153 getrusage:98:165 sched_yield:24:124
sched_getaffinity:204:123 sched_setaffinity:203:122 getcpu:309:168 getrandom:318:278 uname:63:160
sysinfo:99:179 prlimit64:302:261 getrlimit:97:163 setrlimit:160:164 arch_prctl:158:-
"""
# machine: (audit architecture, column of ALLOWED, clone, clone3)
MACHINES = {"x86_64": (0xC000003E, 1, 56, 435), "aarch64": (0xC00000B7, 2, 220, 435)}


@functools.cache
def _library():
    return ctypes.CDLL(None, use_errno=True)


def _libc(name, *args):
    """Call a C function that answers -1 and sets errno when it fails."""
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    wide = [os.fsencode(arg) if isinstance(arg, str) else arg for arg in wide]
    result = getattr(_library(), name)(*wide)
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def enter_namespaces():
    """Go on as process 1 of new namespaces, without a network; the caller waits outside."""
    uid, gid = os.geteuid(), os.getegid()
    flags = NEW_MOUNT | NEW_PID | NEW_NET | NEW_IPC | NEW_UTS
    _libc("unshare", flags if uid == 0 else flags | NEW_USER)
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    if inner := os.fork():
        _, status = os.waitpid(inner, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def readable_paths():
    """Return the folders a student's code may read: Python, installed packages, the course's two."""
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    python.append(sysconfig.get_config_var("LIBDIR") or "")
    root = Path(__file__).resolve().parents[2]
    ours = [str(root / name) for name in ("attn_utils", "attn_course")]
    system = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"]
    paths = sorted({path for path in [*system, *python, *installed, *ours] if os.path.isdir(path)})
    return [path for path in paths if not any(path.startswith(f"{other}/") for other in paths)]


def build_root(paths):
    """Make a root that holds read-only views of `paths` and three devices, and nothing else."""
    _libc("mount", None, "/", None, REC_PRIVATE, None)
    devices = ["/dev/null", "/dev/zero", "/dev/urandom"]
    trees = {path: _read_only_tree(path) for path in [*paths, *devices]}
    _libc("mount", "tmpfs", "/tmp", "tmpfs", NOSUID_NODEV, "mode=755,size=1m")
    for path, tree in trees.items():
        target = Path("/tmp" + path)
        (target.parent if path in devices else target).mkdir(parents=True, exist_ok=True)
        if path in devices:
            target.touch()
        _libc("syscall", MOVE_MOUNT, tree, b"", HERE, str(target), FROM_EMPTY_PATH)
        os.close(tree)
    os.mkdir("/tmp" + SCRATCH)
    os.chdir("/tmp")
    _libc("pivot_root", ".", ".")
    _libc("umount2", ".", DETACH)
    _set_mount(HERE, "/", 0, RDONLY | NOSUID | NODEV)
    os.chdir("/")


def _read_only_tree(path):
    """Return a handle on a detached, read-only copy of the mounts at and below `path`."""
    tree = _libc("syscall", OPEN_TREE, HERE, path, CLONE_TREE | RECURSIVE)
    nodev = 0 if path.startswith("/dev/") else NODEV
    _set_mount(tree, b"", EMPTY_PATH | RECURSIVE, RDONLY | NOSUID | nodev)
    return tree


def _set_mount(folder, path, flags, attributes):
    packed = struct.pack("<QQQQ", attributes, 0, 0, 0)
    _libc("syscall", MOUNT_SETATTR, folder, path, flags, packed, len(packed))


def fork_alone():
    """Fork; the child is process 1 of a pid namespace of its own, which ends with it."""
    own = os.pidfd_open(os.getpid())
    _libc("unshare", NEW_PID)
    pid = os.fork()
    if pid:
        _libc("setns", own, NEW_PID)
    os.close(own)
    return pid


def lock_in(*, base, memory, seconds, disk):
    """Shut this process in for good; sizes in bytes, `base` the address space it has already.

    Without any `disk` it can write nowhere.
    """
    _libc("unshare", NEW_MOUNT)
    uid = secrets.randbelow(1 << 28) + (1 << 30) if os.geteuid() == 0 else None
    if disk:
        options = f"mode=1777,size={disk},nr_inodes=1000"
        _libc("mount", "tmpfs", SCRATCH, "tmpfs", NOSUID_NODEV, options)
    limit(base=base, memory=memory, seconds=seconds, disk=disk)
    if uid is not None:  # RLIMIT_NPROC spares root; a uid of its own shares it with nobody
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    _libc("capset", struct.pack("<Ii", 0x20080522, 0), bytes(24))
    _libc("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    own = {SCRATCH: ~0} if disk else {}
    restrict_files({"/": 0b1100, "/dev": 0b110} | own)
    restrict_calls()
    os.chdir(SCRATCH)


def limit(*, base, memory, seconds, disk):
    """Set the resource limits, which every Unix has."""
    import resource

    limits = {"AS": base + memory, "CPU": seconds, "FSIZE": disk, "NOFILE": 128, "NPROC": 16}
    limits |= {"CORE": 0, "MEMLOCK": 0}
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def address_space():
    """Return the bytes of address space in use, on which a memory limit is put."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as pages:
        return int(pages.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    return 1 << 34


def restrict_files(rules):
    """Landlock: below each path only these rights, lowest bit first: execute, write, read, list."""
    version = _libc("syscall", LANDLOCK_CREATE, None, 0, 1)
    num_rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    every = (1 << num_rights) - 1
    size = 8 if version < 4 else 16 if version < 6 else 24
    handled = struct.pack("<QQQ", every, 0b11, 0b11)[:size]  # files, TCP, signals and sockets
    ruleset = _libc("syscall", LANDLOCK_CREATE, handled, len(handled), 0)
    for path, rights in rules.items():
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _libc("syscall", LANDLOCK_ADD, ruleset, 1, struct.pack("<Qi", rights & every, folder), 0)
        os.close(folder)
    _libc("syscall", LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def restrict_calls():
    """Seccomp: only the calls of ALLOWED, and `clone` only for a thread of this process."""
    architecture, column, clone, clone3 = MACHINES[platform.machine()]
    numbers = [entry.split(":")[column] for entry in ALLOWED.split()]
    numbers = [int(number) for number in numbers if number != "-"]
    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06
    deny, absent, allow = 0x50000 | EPERM, 0x50000 | ENOSYS, 0x7FFF0000
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, deny), (load, 0, 0, 0)]
    # glibc falls back from clone3, whose flags a filter cannot see, to clone.
    program += [(equal, 0, 1, clone3), (give, 0, 0, absent), (equal, 0, 4, clone)]
    program += [(load, 0, 0, 16), (any_bit, 1, 0, 0x10000), (give, 0, 0, deny), (give, 0, 0, allow)]
    for i, number in enumerate(numbers):
        program.append((equal, len(numbers) - i, 0, number))
    program += [(give, 0, 0, deny), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))
    _libc("prctl", SET_SECCOMP, 2, header, 0, 0)


def missing_mechanisms():
    """Return the names of what this machine lacks for the sandbox; an empty list when it can."""
    if sys.platform != "linux":
        return [f"Linux (this is {sys.platform})"]
    probes = {
        "user, mount, pid, network and ipc namespaces": enter_namespaces,
        "mounting a root of its own (Linux 5.12)": _probe_root,
        "Landlock (Linux 5.13)": lambda: _libc("syscall", LANDLOCK_CREATE, None, 0, 1),
        f"a seccomp filter for {platform.machine()}": _probe_calls,
    }
    return [name for name, probe in probes.items() if not _works(probe)]


def _probe_root():
    enter_namespaces()
    build_root(readable_paths())


def _probe_calls():
    _libc("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restrict_calls()


def _works(probe):
    if pid := os.fork():
        return os.waitpid(pid, 0)[1] == 0
    status = 1
    with contextlib.suppress(Exception):
        probe()
        status = 0
    os._exit(status)
