"""Knows how to import once and fork a sandboxed child per submission; holds no expected value."""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile

from attn_utils import course
from attn_utils.course import derivation, numpy_symbols
from attn_utils.grading import child, sandbox


def main(control, *, preload, sandboxed):
    """Import, shut the doors, then fork a child for each request on the socket `control`."""
    try:
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # when memory runs out, a submission is ended, not its judge
        if sandboxed:
            sandbox.enter_namespaces()
        warm_up(preload)
        base = sandbox.address_space()
        if sandboxed:
            sandbox.build_root(sandbox.readable_paths())
            os.environ.update(HOME=sandbox.SCRATCH, TMPDIR=sandbox.SCRATCH)
    except Exception as error:
        tell(control, {"failed": f"{type(error).__name__}: {error}"})
        return
    gc.collect()
    gc.freeze()
    tell(control, {"ready": True})
    with contextlib.nullcontext() if sandboxed else tempfile.TemporaryDirectory() as folder:
        os.chdir(folder or "/")
        while serve_one(control, base, sandboxed):
            pass


def tell(control, message):
    control.sendall(json.dumps(message).encode())


def serve_one(control, base, sandboxed):
    """Fork a child, end it when told to, and say how it ended; False when the judge is gone."""
    request, channels, _, _ = socket.recv_fds(control, 4096, 1)
    if not request:
        return False
    pid = spawn(channels[0], base, sandboxed, **json.loads(request))
    os.close(channels[0])
    told = control.recv(1)
    os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    if told:
        code = os.waitstatus_to_exitcode(status)
        tell(control, {"exit": code, "cpu": usage.ru_utime + usage.ru_stime})
    return bool(told)


def warm_up(preload):
    """Import `preload` on one thread, since a pool of threads does not survive a fork."""
    with tempfile.TemporaryDirectory() as tempfile.tempdir:  # some leave a folder behind there
        for name in ("attn_course.figures", *preload):
            importlib.import_module(name)
    tempfile.tempdir = None
    if "torch" in preload:
        sys.modules["torch"].set_num_threads(1)
    if "matplotlib.pyplot" in preload:
        pyplot = sys.modules["matplotlib.pyplot"]
        pyplot.subplots()
        pyplot.close("all")
    hush()


def hush():
    """Have the course's machinery show and check nothing in a child: the judge does, outside."""
    course.check = course.hint = child.Quiet()
    figures = sys.modules["attn_course.figures"]
    figures.explore = figures.query_plane = child.Quiet()
    derivation.look_at = lambda chain: None
    numpy_symbols.let_numpy_take_symbols()


def spawn(fd, base, sandboxed, *, output_bytes, **limits):
    """Fork a child that serves the channel `fd` and has no other way out; return its pid."""
    pid = sandbox.fork_alone() if sandboxed else os.fork()
    if pid:
        return pid
    try:
        os.dup2(fd, 3)
        os.closerange(4, 1 << 16)
        (sandbox.lock_in if sandboxed else sandbox.limit)(base=base, **limits)
        child.serve(3, output_bytes=output_bytes)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), **json.loads(sys.argv[2]))
