"""Attacks on the sandbox and the judge, run for real."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sandbox_sessions as sessions
import sympy as sp
from course import ROOT
from sandbox_sessions import (
    FINE,
    SMALL,
    ask,
    descendants,
    needs_sandbox,
    still_fine,
    value,
    warm_process,
)

from attn_course import derivation, judge_derivation, register
from attn_course.answers import NotYet
from attn_course.checking import OutOfTime, run_judge
from attn_course.proofs import compare_lines, domains
from attn_grader import notebook
from attn_grader.sandbox import Limits, kernel, policy
from attn_grader.sandbox.session import MAX_CHILDREN, Session

submit, tier, warm = sessions.submit, sessions.tier, sessions.warm  # fixtures
SHORT = Limits(cell=1.0, total=30.0)


@needs_sandbox
@pytest.mark.parametrize("everything", [False, True])
def test_the_cells_of_a_notebook_import_no_judge_in_a_child(everything):
    source = ROOT / "solutions" / "01_copying.ipynb"
    cells = notebook.parse_submission(source.read_bytes(), ".ipynb").cells
    needed = notebook.cells_to_run(cells, register.questions_of("01_copying"), everything)
    last = max(needed) + 1
    before = "import sys\nMODULES = set(sys.modules)"
    after = "print('new:', *sorted(set(sys.modules) - MODULES))"
    program = f"""
import json
from attn_grader import workers
from attn_grader.grade import Settings
from attn_grader.sandbox import Limits, policy
from attn_grader.sandbox.session import Session
warm = workers.start(Settings(Limits(), ("01_copying",), policy.best_tier()))
with Session(warm, { ({-1: before} | needed | {last: after})!r}) as session:
    print(json.dumps([session.run(), session.output]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    errors, output = json.loads(done.stdout.splitlines()[-1])
    assert not errors
    imported = output.splitlines()[-1].split()[1:]
    assert not [name for name in imported if everything is False or ".questions" in name]


ENDS_ITSELF = {
    "import os; os._exit(0)": "it stopped the process (exit status 0).",
    "import ctypes; ctypes.string_at(0)": "it stopped the process (signal 11).",
    "import os; os.close(3)": "it stopped the process (",
    "import sys; sys.exit()": "your code stopped with SystemExit",
    "class Mine(SystemExit): pass\nraise Mine('bye')": "your code stopped with Mine: bye",
    "class Mine(BaseException): pass\nraise Mine": "your code stopped with Mine",
    "from attn_course.answers import NotAttempted as E\nraise E": "it did not run.",
    "raise KeyboardInterrupt": "your code stopped with KeyboardInterrupt",
    "def f(): f()\nf()": "your code stopped with RecursionError",
}
BOMBS = {
    "import os\nwhile True: os.fork()": "PermissionError",
    "import subprocess\nsubprocess.run(['ls'])": "PermissionError",
    "import multiprocessing as m\nm.Process(target=print).start()": "PermissionError",
    "import os\nos.execv('/usr/bin/env', ['env'])": "PermissionError",
    "x = bytearray(1 << 40)": "MemoryError",
    "x = []\nwhile True: x.append(bytearray(1 << 24))": "MemoryError",
    "import mmap\nx = mmap.mmap(-1, 1 << 32)": "Cannot allocate memory",
    "import os\nos.memfd_create('x')": "PermissionError",
    "import numpy as np\nx = np.ones((1 << 20, 1 << 20))": "MemoryError",
    "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()": (
        "RuntimeError: can't start new thread"
    ),
    "import resource as r\nr.setrlimit(r.RLIMIT_AS, (-1, -1))": "ValueError",
}
REACHES_OUT = {
    "import socket\nsocket.socket().connect(('127.0.0.1', 80))": "PermissionError",
    "import socket\nsocket.socket(socket.AF_UNIX)": "PermissionError",
    "import socket\nsocket.socketpair()": "PermissionError",
    "import urllib.request as u\nu.urlopen('http://example.org', timeout=1)": "URLError",
    "open('/etc/passwd')": "[Errno ",
    "open('/proc/self/environ')": "[Errno ",
    "open('/proc/1/mem')": "[Errno ",
    f"open({str(Path(__file__))!r})": "[Errno ",
    "import os\nos.listdir('/')[99]": ("PermissionError", "IndexError"),
    f"open({str(Path(derivation.__file__))!r}, 'a')": "[Errno ",
    "open('/dev/sda')": "[Errno ",
    "open('/dev/tty')": "[Errno ",
    "import os\nos.mkdir('/new')": "[Errno ",
    "import os\nos.setuid(0)": "PermissionError",
    "import os\nos.chroot('.')": "PermissionError",
    "import os\nos.kill(2, 9)": "PermissionError",
    "import os\nos.kill(os.getppid(), 9)": "PermissionError",
    "import os\nos.kill(-1, 9)": "PermissionError",
    "import os\nos.killpg(0, 9)": "PermissionError",
    "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(1), 9)": "PermissionError",
    "import os\nos.sched_setaffinity(os.getppid(), {0})": "PermissionError",
    "import os\nos.chmod('.', 0o777)": "PermissionError",
    "import os\nos.utime('.')": "PermissionError",
    "import os\nos.setpriority(os.PRIO_PROCESS, 0, 19)": "PermissionError",
    "import resource as r, os\nr.prlimit(os.getppid() or 1, r.RLIMIT_CPU)": "PermissionError",
    "import fcntl\nfcntl.fcntl(3, fcntl.F_SETOWN, 1)": "PermissionError",
    "import fcntl\nfcntl.fcntl(3, fcntl.F_SETSIG, 9)": "PermissionError",
    "import fcntl\nfcntl.fcntl(3, 15, bytes(8))": "PermissionError",
    "import os\nos.symlink('/etc', 'etc')": "PermissionError",
    "import os\nos.link('/etc/passwd', 'passwd')": "PermissionError",
    "import os\nos.truncate(os.__file__, 0)": "[Errno ",
    "import fcntl, struct\nfcntl.ioctl(3, 0x8901, struct.pack('i', 1))": "Inappropriate ioctl",
    "import fcntl, struct\nfcntl.ioctl(3, 0x5452, struct.pack('i', 1))": "Inappropriate ioctl",
    "import fcntl, struct\nfcntl.ioctl(3, 0x8902, struct.pack('i', 1))": "Inappropriate ioctl",
    "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n"
    "c.ioctl(3, ctypes.c_ulong(0x8901 | 1 << 32), ctypes.byref(ctypes.c_int(1)))\n"
    "raise OSError(os.strerror(ctypes.get_errno()))": "Inappropriate ioctl",
}
NO_DISK = [
    "open('mine', 'w')",
    "os.mkdir('mine')",
    "os.mkdir('/tmp/mine', 0o000)",  # which nobody could remove
    "os.makedirs('/'.join(['a' * 200] * 30))",
    "tempfile.TemporaryFile()",
    "open(os.path.dirname(os.__file__) + '/mine.py', 'w')",
    "os.rename(os.__file__, 'mine')",
    "os.remove(os.__file__)",
    "os.mkfifo('mine')",
    "open('/dev/shm/mine', 'w')",
    "os.open('/tmp', os.O_TMPFILE | os.O_RDWR)",
]
ATTACKS = ENDS_ITSELF | BOMBS | REACHES_OUT
ATTACKS |= {f"import os, tempfile\n{attack}": "Error" for attack in NO_DISK}


@pytest.mark.parametrize("cell", ATTACKS)
def test_an_attack_costs_its_own_cell_and_nothing_else(submit, cell):
    session = submit(cell)
    expected = ATTACKS[cell]
    expected = (expected,) if isinstance(expected, str) else expected
    said = session.errors.get(1, "no error")
    assert any(text in said for text in expected) and "\n" not in said, said
    assert still_fine(session)


LOOPS = {
    "a busy loop": "while True: pass",
    "a sleep": "import time; time.sleep(600)",
    "a long call in C": "sum(range(10**12))",
    "every signal ignored": """
        import signal, time
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True: time.sleep(1)
        """,
    "the interrupt swallowed": """
        while True:
            try:
                while True: pass
            except BaseException: pass
        """,
    "a lock never released": "import threading; l = threading.Lock(); l.acquire(); l.acquire()",
}


@pytest.mark.parametrize("name", LOOPS)
def test_an_endless_cell_is_stopped_and_the_others_still_count(submit, name):
    session = submit(LOOPS[name], limits=SHORT)
    assert session.errors == {1: "it did not finish within 1 seconds."} and still_fine(session)


def test_an_endless_call_is_stopped_and_the_next_question_is_asked(submit):
    session = submit(
        "def endless(x):\n    while True: pass", "import os\ndef leave(x): os._exit(3)"
    )
    with pytest.raises(NotYet, match=r"it did not finish within 1 seconds\."):
        session.answers(["endless"], 1)[0](1)
    with pytest.raises(NotYet, match=r"it stopped the process \(exit status 3\)"):
        ask(session, "leave", 1)
    assert still_fine(session)


def test_a_judge_stopped_while_it_waits_leaves_nothing_for_the_next_question(submit):
    def stop(signum, frame):
        raise OutOfTime

    session = submit("def stubborn(x):\n    return sum(range(10**12))")
    (stubborn,) = session.answers(["stubborn"], 30)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(OutOfTime):
        stubborn(1)
    signal.signal(signal.SIGALRM, before)
    assert still_fine(session)


def test_a_submission_that_keeps_stopping_its_process_is_given_up(submit):
    session = submit("import os\ndef leave(): os._exit(0)")
    sentences = set()
    for _ in range(MAX_CHILDREN + 1):
        with pytest.raises(NotYet) as caught:
            ask(session, "leave")
        sentences.add(str(caught.value))
    assert f"the notebook had stopped its process {MAX_CHILDREN} times." in sentences


def test_the_total_time_of_a_submission_is_bounded(submit):
    limits = Limits(cell=5.0, total=1.5)
    start = time.monotonic()
    session = submit(*["import time; time.sleep(1)"] * 50, limits=limits)
    assert time.monotonic() - start < 25
    with pytest.raises(NotYet, match=r"the cells used up their share of 1\.5 seconds\."):
        ask(session, "fine", 1)


@pytest.mark.parametrize(
    "cell", ["print('x' * (200 << 20))", "for _ in range(10**6): print('a line')"]
)
def test_output_is_cut_at_one_megabyte(submit, cell):
    session = submit(cell, limits=Limits(cell=10.0, total=30.0))
    assert session.errors == {} and len(session.output) == 1 << 20 and still_fine(session)


def test_a_reply_to_an_earlier_question_is_not_taken_for_this_one(submit):
    session = submit(
        """
        import functools, os
        from attn_grader.sandbox import pipe
        def hurried():
            stale = {"id": 0, "value": "stale", "warned": [], "output": ""}
            pipe.send(functools.partial(os.write, 3), pipe.encode(stale))
            return "fresh"
        """
    )
    assert ask(session, "hurried") == "fresh" and still_fine(session)


FORGERIES = {
    "noise": "os.write(3, b'\\xff' * 100)",
    "an endless message": "os.write(3, (1 << 60).to_bytes(8, 'little'))",
    "a flood": "[os.write(3, bytes(1 << 16)) for _ in range(10**6)]",
    "a message that never ends": "os.write(3, (1 << 20).to_bytes(8, 'little')); time.sleep(600)",
    "a pickle": "b = pickle.dumps(print); os.write(3, len(b).to_bytes(8, 'little') + b)",
}
HOSTILE = {
    "an array that lies about its class": """
        class Liar:
            __class__ = property(lambda self: __import__("numpy").ndarray)
            __array__ = lambda self, *a, **k: 1 / 0
        """,
    "an array that never ends": """
        class Liar:
            def __array__(self, *a, **k):
                while True: pass
        """,
    "a number with an endless __float__": """
        class Liar(float):
            def __float__(self):
                while True: pass
        """,
    "a pickle that runs code": """
        class Liar:
            def __reduce__(self):
                return (__import__("os").system, ("touch pwned",))
        """,
    "an iterator without an end": """
        class Liar:
            __next__ = lambda self: 1
            __iter__ = lambda self: self
        """,
    "a dictionary with hostile keys": """
        class Liar(dict):
            def items(self): return [(self, self)]
            def __str__(self): raise SystemExit
        """,
    "an exception that cannot be shown": """
        class Liar(Exception):
            def __init__(self): raise self
            def __str__(self): raise self
        """,
}


@pytest.mark.parametrize("name", FORGERIES | HOSTILE)
def test_forged_bytes_and_hostile_objects_are_refused_in_a_sentence(submit, name):
    line = FORGERIES.get(name, "return Liar()")
    session = submit("import os, pickle, time", HOSTILE.get(name, ""), f"def answer():\n    {line}")
    with pytest.raises(NotYet) as caught:
        session.answers(["answer"], 1)[0]()
    said = str(caught.value)
    assert said.endswith(".") and "\n" not in said and still_fine(session)
    assert name in HOSTILE or "cannot be judged" in said or "did not finish" in said


PATCHES = {
    "nothing": "",
    "numpy's comparisons": "import numpy as np\nnp.allclose = np.isclose = lambda *a, **k: True",
    "builtins": "import builtins\nbuiltins.abs = builtins.float = lambda *a: 0",
    "the verdicts": "import attn_course.answers as v\nv.NotYet.__init__ = lambda *a: None",
    "the answers": "import attn_course.answers as a\na.plain = lambda value: value * 0",
    "the judges": "import attn_course.checking as c\nc.judge = lambda *a: 'correct'",
    "the modules": "import sys\nfor name in list(sys.modules): sys.modules[name] = None",
    "the wire": "import json\njson.dumps = lambda *a, **k: '\"correct\"'",
    "the standard output": "import sys\nsys.stdout.close()",
}
PATCHED = [(name, "sum(values) + 1", "not yet") for name in PATCHES]
PATCHED += [
    (name, "sum(values) / len(values)", "correct")
    for name in ("nothing", "numpy's comparisons", "the standard output")
]


@pytest.mark.parametrize(("name", "mean", "status"), PATCHED)
def test_no_patch_in_the_child_changes_a_verdict(submit, name, mean, status):
    session = submit(f"def mean(values):\n    return {mean}", PATCHES[name])
    assert judged(session, "0.1", "code").status == status


@pytest.mark.parametrize("target", ["__import__('os').system('touch pwned')", "exit()", "9" * 99])
def test_a_forged_chain_cannot_run_code_in_the_judge(submit, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    (name,) = register.find("0.2").part("derive").answers
    session = submit(
        f"""
        import sympy as sp
        from attn_course.proofs import trees
        from attn_grader.sandbox import child
        child.DRIVERS["as_data"] = lambda chain: [
            ["=", "", trees.write(chain)], [{target!r}, "", ["Rational 1"]]
        ]
        x = sp.Symbol("x")
        {name} = 1 / (1 + x) + 1 / (1 - x)
        """
    )
    assert "is not a relation" in judged(session, "0.2", "derive").message
    assert not list(tmp_path.iterdir())


def judged(session, question_id, kind):
    question = register.find(question_id)
    part = question.part(kind)
    callers = session.answers(part.answers, question.seconds)
    return run_judge(question, part, np.random.default_rng(), callers)


def test_the_stack_memory_and_environment_of_a_child_hold_no_secret_of_the_judge(monkeypatch, tier):
    seed = os.urandom(8).hex()
    monkeypatch.setenv("SEED", seed)
    cell = """
import gc, inspect, os, sys
def look():
    frames = [repr(frame.frame.f_locals) for frame in inspect.stack()]
    held = [text for text in gc.get_objects() if isinstance(text, (str, dict, list))]
    return repr([frames, held, dict(os.environ), sys.argv]), os.getppid()
"""
    with warm_process("numpy", tier=tier) as warm, Session(warm, {1: cell}) as session:
        text, parent = ask(session, "look")
    assert "OMP_NUM_THREADS" in text and seed not in text
    assert (parent == 0) == (tier == "namespaces")


def test_whether_something_is_a_terminal_may_be_asked(submit):
    session = submit("import os, sys\nfound = [os.isatty(n) for n in (0, 1, 2, 3)]")
    assert session.errors == {} and value(session, "found") == [False] * 4


def test_who_ended_a_process_is_known(submit, warm):
    leave = "import os\ndef leave(): os._exit(0)"
    close = "import os, time\ndef close(): os.close(3); time.sleep(99)"
    with Session(warm, {1: leave, 2: close}, SMALL) as session:
        for name in ("leave", "close"):
            with pytest.raises(NotYet, match="it stopped the process"):
                ask(session, name)
            assert not session.num_kills, name
    before = descendants(warm.pid)
    session = submit("x = 1")
    (victim,) = set(descendants(warm.pid)) - set(before)
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(NotYet, match="ended from outside") as caught:
        ask(session, "fine", 1)
    assert session.num_kills == 1 and caught.value.needs_person


def test_folders_outside_python_and_the_course_cannot_be_looked_into(submit, tmp_path):
    (tmp_path / "results.jsonl").write_text("{}")
    wanted = [tmp_path, *(ROOT / name for name in ("solutions", "tests", ".git")), "/etc", "/proc"]
    session = submit(
        """
        import os
        def listed(path):
            try:
                return os.listdir(path)
            except OSError as error:
                return type(error).__name__
        """
    )
    found = [ask(session, "listed", str(path)) for path in wanted]
    assert set(found) <= {"FileNotFoundError", "NotADirectoryError", "PermissionError"}


def test_only_drivers_of_the_course_run_beside_an_answer(submit):
    session = submit("x = 1")
    (answer,) = session.answers(["x"], 5)
    with pytest.raises(NotYet, match="KeyError"):
        answer.run_driver(os.system, "true")


SYSTEM_CALLS = {"ptrace": 101, "bpf": 321, "io_uring_setup": 425, "shmget": 29, "keyctl": 250}
SYSTEM_CALLS |= {"mount": 165, "unshare": 272, "setns": 308, "process_vm_readv": 310, "vfork": 58}
SYSTEM_CALLS |= {"x32 getpid": 0x40000000 + 39, "memfd_secret": 447, "clone": 56, "socket": 41}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
def test_system_calls_that_no_answer_needs_are_refused(submit):
    session = submit(
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def errno(number):
            return libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0) or 0, ctypes.get_errno()
        """
    )
    found = {name: ask(session, "errno", number) for name, number in SYSTEM_CALLS.items()}
    assert found == dict.fromkeys(SYSTEM_CALLS, (-1, 1))


def test_a_submission_has_few_threads_to_keep_the_others_waiting_with(submit, tier):
    session = submit(
        """
        import threading, time
        def start():
            threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
            return start()
        start()
        """,
        "count = threading.active_count()",
        limits=Limits(cell=10.0, total=30.0),
    )
    assert 4 < value(session, "count") <= policy.MAX_THREADS


def test_a_right_pool_of_32_threads_runs(submit):
    session = submit(
        """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        def doubled(n):
            together = threading.Barrier(32)  # each waits until all are there
            with ThreadPoolExecutor(32) as pool:
                return list(pool.map(lambda k: together.wait() * 0 + 2 * k, range(n)))
        """,
        limits=Limits(cell=10.0, total=30.0),
    )
    assert ask(session, "doubled", 32) == list(range(0, 64, 2))


def test_a_limit_cannot_be_changed_and_one_that_is_asked_for_is_told(submit):
    session = submit(
        """
        import resource
        def change(name, value):
            resource.setrlimit(getattr(resource, name), (value, value))
        def hard(name):
            return resource.getrlimit(getattr(resource, name))[1]
        """
    )
    for name in ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_NOFILE", "RLIMIT_NPROC"):
        before = ask(session, "hard", name)
        with pytest.raises(NotYet, match="ValueError"):
            ask(session, "change", name, 1)
        assert ask(session, "hard", name) == before and before > 1
    assert session.num_kills == 0


def test_flags_of_its_descriptors_are_gone_with_a_child(warm):
    cell = """
import fcntl, os
def flags():
    return [fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND) for fd in (0, 1, 2)]
def change():
    for fd in (0, 1, 2):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_APPEND)
    return flags()
"""
    with Session(warm, {1: cell}, SMALL) as session:
        assert all(ask(session, "change"))
    with Session(warm, {1: cell}, SMALL) as session:
        assert ask(session, "flags") == [0, 0, 0]


FLOOD = """
from attn_grader.sandbox import pipe
import functools, inspect, os
number = next(f.frame.f_locals["request"]["id"] for f in inspect.stack() if "request" in f.frame.f_locals)
forged = {"id": number, "value": None, "warned": [], "output": "x" * (6 << 20)}
pipe.send(functools.partial(os.write, 3), pipe.encode(forged))
"""


def test_what_forged_replies_say_was_printed_does_not_fill_the_judge(submit):
    session = submit(*[FLOOD] * 3, limits=Limits(cell=10.0, total=30.0))
    assert session.errors == {} and len(session.output) == 1 << 20


TOWER = ["Rational 10000000000", "Symbol x", "Mul 2", "exp 1", "exp 1"]
ENDLESS = {
    "a power of two": ["Rational 2", "Rational 10000000000", "Pow 2"],
    "a power of a hundred": ["Rational 100", "Rational " + "9" * 39, "Pow 2"],
    "a number of many digits": ["Rational " + "9" * 99],
    "a tower": TOWER,
    "a tower in a sum": [*TOWER, "Rational 1", "Symbol n", "Sum i"],
    "a tower of a decimal": ["Decimal 3000000000.0", "exp 1", "exp 1"],
    "a power in a sine": ["Symbol x", "Rational 10000000000", "Pow 2", "sin 1"],
    "an exponent with an exponent": ["Symbol x", *TOWER[:3], "exp 1", "Pow 2"],
    "a long product": ["Symbol i", "Rational 1", "Rational 10000000000", "Product i"],
    "sums in sums": ["Symbol i", *["Rational 1", "Rational 900", "Sum i"] * 8],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_number_that_takes_hours_to_work_out_is_refused_by_the_judge(name):
    symbols = [sp.Symbol("x", positive=True), sp.Symbol("n", integer=True, positive=True)]
    domain = domains.domain_of(symbols, {})
    forged = [["=", "", ["Symbol x"]], ["=", "", ["Symbol x", *ENDLESS[name], "Add 2"]]]
    began = time.process_time()
    try:
        before, line = judge_derivation.from_data(forged)
        found = compare_lines.Comparer(domain).compare(before.tree, "=", line.tree).state
    except NotYet:
        found = "refused"
    assert found in ("refused", compare_lines.FAILS, compare_lines.OPEN)
    assert time.process_time() - began < 2


def test_threads_and_daemons_end_with_the_session(warm):
    before = descendants(warm.pid)
    cell = """
import threading, time
def burn():
    while True: time.sleep(0.01)
for daemon in (True, False):
    threading.Thread(target=burn, daemon=daemon).start()
"""
    with Session(warm, {1: cell, 2: FINE}, SMALL) as session:
        assert session.run() == {} and still_fine(session)
        assert len(descendants(warm.pid)) == len(before) + 1
    assert descendants(warm.pid) == before


def test_when_memory_runs_out_the_warm_process_and_its_children_are_ended_first(warm):
    family = [warm.pid, *descendants(warm.pid)]
    assert {Path(f"/proc/{pid}/oom_score_adj").read_text() for pid in family} == {"1000\n"}


@needs_sandbox
@pytest.mark.parametrize("tier", [*sessions.HERE, "none"])
def test_killing_the_worker_ends_the_warm_process_and_the_child(tmp_path, tier):
    program = """
import os, sys
from attn_grader.sandbox import child
from attn_grader.sandbox.session import Session, WarmProcess
process = WarmProcess.forked(sys.argv[1])
session = Session(process, {1: "x = 1"})
assert session.run() == {}
print(process.pid, flush=True)
session.request("run", 2, "while True: pass", seconds=60)
"""
    command, environment = [sys.executable, "-c", program, tier], os.environ
    environment = {**environment, "TMPDIR": str(tmp_path), "HOME": os.devnull}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as judge:
        pid = int(judge.stdout.readline())
        below = [pid, *descendants(pid)]
        judge.send_signal(signal.SIGKILL)
    assert len(below) == 2 + (tier == "namespaces")
    deadline = time.monotonic() + 10
    while any(map(_alive, below)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(_alive, below)) and list(tmp_path.iterdir()) == []


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_sandbox
@pytest.mark.parametrize("tier", [*sessions.HERE, "none"])
def test_the_cpu_seconds_of_children_are_counted_once_a_warm_process_is_closed(tier):
    program = """
import resource, sys
from attn_grader.sandbox import child
from attn_grader.sandbox.session import Session, WarmProcess
process = WarmProcess.forked(sys.argv[1])
busy = "import time\\nwhile time.process_time() < 0.5: pass"
with Session(process, {1: busy}) as session:
    assert session.run() == {}
process.close()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime >= session.cpu > 0.4)
"""
    command = [sys.executable, "-c", program, tier]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def become_anyone():
    """Drop root, in a view of the files where Python is not below a folder that is root's alone."""
    kernel.call("unshare", kernel.New.MOUNT)
    kernel.call("mount", None, "/", None, kernel.Mount.REC | kernel.Mount.PRIVATE, None)
    for path in {sys.base_prefix, sys.prefix}:
        closed = [above for above in Path(path).parents if not above.stat().st_mode & 1]
        if closed:
            tree = kernel.read_only_tree(path)
            kernel.call("mount", "tmpfs", str(closed[-1]), "tmpfs", 0, "mode=755")
            kernel.put_tree(tree, Path(path), is_file=False)
    os.setgroups([])
    os.setresgid(54321, 54321, 54321)
    os.setresuid(54321, 54321, 54321)


def become_root_of_a_rootless_container():
    """As in rootless Docker or Podman: root, but of a namespace that knows one user."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.call("unshare", kernel.New.USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


is_root = pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run unprivileged already")
has_both = pytest.mark.skipif(len(sessions.HERE) < 2, reason="this machine lacks one of the tiers")
OTHERS = [
    pytest.param(become_anyone, marks=is_root),
    pytest.param(become_root_of_a_rootless_container, marks=has_both),
]


@pytest.mark.parametrize("become", OTHERS)
def test_no_tier_needs_any_privilege(tier, become):
    program = """
import sys
from attn_grader.sandbox import child, policy
from attn_grader.sandbox.session import Session, WarmProcess
cells = {1: "import os; os.fork()", 2: "x = 1", 3: "open('/etc/passwd')"}
works = policy.works(policy.TIERS[sys.argv[1]])
with Session(WarmProcess.forked(sys.argv[1]), cells) as session:
    print(works, list(session.run()), session.answers(["x"], 5)[0].value())
"""
    found = subprocess.run(
        [sys.executable, "-B", "-c", program, tier],
        env={"PYTHONPATH": str(ROOT)},
        preexec_fn=become,
        capture_output=True,
        text=True,
    )
    assert found.stdout == "True [1, 3] 1\n", found.stderr


def test_without_a_sandbox_the_same_session_runs():
    with (
        warm_process("numpy", tier="none") as warm,
        Session(warm, {1: FINE, 2: "while True: pass"}, SHORT) as session,
    ):
        assert session.run() == {2: "it did not finish within 1 seconds."} and still_fine(session)
