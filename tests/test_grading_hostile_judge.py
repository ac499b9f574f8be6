"""What a judge that was taken over can do to anybody else: nothing. Each attack runs for real."""

import contextlib
import os
import signal
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
import sandbox_sessions as sessions
from course import ROOT, all_parts, machine_points
from hostile_judge import ASKS
from sandbox_sessions import descendants

from attn_course import register
from attn_course.answers import NotYet
from attn_course.checking import OutOfTime
from attn_course.grading import grade_one as grading
from attn_course.grading.grade_one import Settings, grade_one, secret_of
from attn_course.grading.record import Record, State
from attn_course.grading.sandbox import judge
from attn_course.grading.sandbox import supervisor as supervising
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.session import MAX_CHILDREN
from attn_course.grading.sandbox.supervisor import Supervisor
from attn_course.grading.submissions import File

NAME = "01_copying"
SOLUTION = ROOT / "solutions" / f"{NAME}.ipynb"
FULL = machine_points(NAME)
SEED = 0xFEDCBA9876543210
LIMITS = Limits(total=60.0)
tier = sessions.tier  # a fixture


@pytest.fixture(scope="module")
def supervisor(tier):
    with Supervisor([NAME], LIMITS, tier, judge="tests.hostile_judge") as supervisor:
        yield supervisor


def graded(student, path, supervisor):
    settings = Settings(SEED, LIMITS, (path.stem,), supervisor.students.options["tier"])
    return grade_one(File(student, path.stem, path, path.name), supervisor, settings)


@pytest.fixture
def attack(supervisor, tmp_path):
    """A function that has a submission take its judge over, and returns its record."""

    def attack(code):
        path = tmp_path / f"{NAME}.py"
        path.write_bytes(ASKS + textwrap.dedent(code).encode())
        return graded("mallory66", path, supervisor)

    return attack


def a_classmate_gets_full_points(supervisor):
    record = graded("swanson77", SOLUTION, supervisor)
    return sum(part.points for part in record.parts) == FULL and record.problem == ""


REACHES_OUT = {
    "the solutions": f"return open({str(ROOT / 'solutions' / '01_copying.py')!r}).read()",
    "this test": f"return open({str(Path(__file__))!r}).read()",
    "the system": "return open('/etc/passwd').read()",
    "the processes": "return os.listdir('/proc')",
    "a file of its own": "return open('mine', 'w')",
    "a file in its folder": "return open(os.path.join(os.environ['HOME'], 'mine'), 'w')",
    "a file in the course": f"return open({str(ROOT / 'attn_utils' / 'cli.py')!r}, 'a')",
    "a socket": "import socket; return socket.socket()",
    "a pair of sockets": "import socket; return socket.socketpair()",
    "another process": "return os.fork()",
    "a program": "return os.execv('/bin/sh', ['sh'])",
    "process 1": "os.kill(1, 9); os.kill(2, 9)",
    "every process": "return os.kill(-1, 9)",
    "a user": "return os.setuid(0)",
    "a mount": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        found = libc.mount(b'none', b'/', b'tmpfs', 0, None)
        raise OSError(ctypes.get_errno(), 'mount') if found else ValueError""",
    "the memory of another": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        found = libc.ptrace(16, 1, 0, 0)
        raise OSError(ctypes.get_errno(), 'ptrace') if found else ValueError""",
}


@pytest.mark.parametrize("name", REACHES_OUT)
def test_a_judge_that_was_taken_over_reaches_nothing(attack, supervisor, name):
    body = textwrap.indent(textwrap.dedent(REACHES_OUT[name]).strip(), "    ")
    said = attack(f"def attack():\n{body}").parts[0].message
    refused = ("FileNotFoundError", "PermissionError", "OSError", "ProcessLookupError")
    assert said.startswith(refused), said
    assert a_classmate_gets_full_points(supervisor)


def test_a_judge_holds_no_seed_no_name_and_nothing_of_the_submission_before(supervisor, attack):
    assert a_classmate_gets_full_points(supervisor)
    found = attack(
        """
        def attack():
            import gc, sys
            held = [t for t in gc.get_objects() if isinstance(t, (str, bytes, dict, list, tuple))]
            held += [sys.argv, dict(os.environ)] + [f.f_locals for f in sys._current_frames().values()]
            text = repr(held)
            backwards = ["0123456789abcdef", "02746039444585746381", "66yrollam", "77nosnaws"]
            found = [word for word in [*backwards, "ssenprahs_ypoc fed"] if word[::-1] in text]
            return honest(" ".join(found) or f"{len(text) > 9_999}")
        """
    )
    assert found.parts[0].message == "True"


def test_no_secret_of_a_file_tells_the_seed():
    secrets = {secret_of(SEED, stamp) for stamp in "ab"} | {secret_of(SEED + 1, "a")}
    assert len(secrets) == 3 and not any(f"{SEED:x}" in secret for secret in secrets)


FORGED = {
    "more points": "honest() | {'points': 100, 'total': 100, 'out_of': 1}",
    "another student": "honest() | {'student': 'alice', 'file': 'x', 'stamp': '', 'notebook': 'x'}",
    "a problem of another form": "honest() | {'cpu': 'x', 'checksum': 1, 'seed': 'ff'}",
}


@pytest.mark.parametrize("name", FORGED)
def test_what_a_judge_has_no_say_in_it_cannot_set(attack, supervisor, name, tmp_path):
    found = attack(f"def attack(): return {FORGED[name]}")
    path = tmp_path / f"{NAME}.py"
    file = File("mallory66", NAME, path, path.name)
    expected = Record.of(file, file.stamp)
    assert replace(found, parts=(), tier="", cpu=0.0) == expected
    assert [part.points for part in found.parts] == [0] * len(all_parts(NAME))
    assert sum(part.out_of for part in found.parts) == register.points_of(NAME)


def test_at_worst_a_judge_gives_its_own_submission_the_points_of_the_register(attack, supervisor):
    right, waiting = ("correct", "", "", 1.0), ("awaits a person", "", "", 1.0)
    parts = [right if part.judge else waiting for part in all_parts(NAME)]
    found = attack(f"def attack(): return honest() | {{'parts': {parts!r}}}")
    assert sum(part.points for part in found.parts) == FULL
    assert a_classmate_gets_full_points(supervisor)


UNREADABLE = {
    "a status of its own": ("return every('perfect', '', '', 1.0)", "1.1 cannot"),
    "a mark for words": ("return every('correct', '', '', 1.0)", "1.7 cannot"),
    "more than all points": ("return every('not yet', '', '', 7.0)", "1.1 cannot"),
    "no number for a share": ("return every('not yet', '', '', float('nan'))", "1.1 cannot"),
    "numbers for texts": ("return every(1, 2, 3)", "1.1 cannot"),
    "parts too many": (
        "return honest() | {'parts': honest()['parts'] * 2}",
        "not one verdict a part",
    ),
    "no parts": ("return honest() | {'parts': []}", "not one verdict a part"),
    "no report": ("return {'do': 'report'}", "it is not a report"),
    "a wish of its own": ("return {'do': 'write', 'id': 1}", "nothing that a judge may ask"),
    "a list": ("return [1, 2]", "nothing that a judge may ask"),
    "a large report": ("return honest('x' * (21 << 20))", "it is larger than 20 MB"),
    "a report without an end": (
        "os.write(3, (1 << 60).to_bytes(8, 'little'))",
        "larger than 20 MB",
    ),
    "noise": ("os.write(3, bytes([8] + [0] * 7) + b'noise...')", "no readable header"),
    "many items": ("return honest() | {'more': [0] * 30_000}", "items or"),
    "nothing at all": ("os._exit(0)", "grading it ended its process."),
    "an end of its parent": ("os.kill(os.getppid(), 9)", "PermissionError"),
    "an end of its group": ("os.killpg(0, 9)", "PermissionError"),
    "a crash": ("import ctypes; ctypes.string_at(0)", "grading it ended its process."),
    "an end before any start": (
        "return {'do': 'end', 'id': 1, 'is_gone': False}",
        "where that is not possible",
    ),
    "a figure that is none": (
        "return {'do': 'spawn', 'id': 1, 'figures': 'x'}",
        "nothing that a judge may ask",
    ),
    "children without number": (
        f"[ask(w) for _ in range({MAX_CHILDREN + 1}) for w in ('spawn', 'end')]",
        "asks to spawn a child where",
    ),
    "two children": ("[ask('spawn') for _ in 'ab']", "asks to spawn a child"),
    "all memory": ("x = []\n    while True: x.append(bytearray(1 << 26))", "MemoryError"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_report_of_another_form_costs_its_own_submission_and_no_other(attack, supervisor, name):
    body, sentence = UNREADABLE[name]
    found = attack(f"def attack():\n    {body}")
    assert sentence in (found.problem or found.parts[0].message)
    assert bool(found.stamp) == bool(found.parts) and a_classmate_gets_full_points(supervisor)


def test_a_judge_that_never_ends_is_ended(attack, supervisor, monkeypatch):
    monkeypatch.setattr(supervising, "MARGIN", 1.0 - LIMITS.total)
    found = attack("def attack():\n    while True: pass")
    assert found.problem == "grading it took too long and was stopped."
    monkeypatch.undo()
    assert a_classmate_gets_full_points(supervisor)


def test_work_of_a_judge_ends_with_its_seconds_of_a_processor_even_if_it_swallows_the_end():
    def endless():
        with contextlib.suppress(OutOfTime):
            while True:
                pass
        while True:
            pass

    before = signal.signal(signal.SIGPROF, judge.out_of_time)
    with pytest.raises(NotYet, match="did not finish within"):
        judge.within_cpu(0.01, endless)
    assert judge.within_cpu(0.01, lambda: "in time") == "in time"
    signal.signal(signal.SIGPROF, before)


def test_texts_of_a_judge_are_cut_and_steer_nothing(attack):
    found = attack(
        r"""
        def attack():
            parts = [
                ("not yet", "\x1b[2J\n" * 9_999, "\x1b[2J" + "x" * 99_999, 0.0)
                if part[0] == "not yet"
                else part
                for part in honest()["parts"]
            ]
            return honest() | {"parts": parts, "remarks": ["a\rb" * 999, 7] * 400}
        """
    )
    assert all(len(part.message) <= 500 for part in found.parts)
    assert all(len(part.answer) <= 20_000 for part in found.parts)
    assert len(found.remarks) == grading.MAX_REMARKS
    texts = [text for part in found.parts for text in (part.message, part.answer)]
    assert not any("\x1b" in text or "\r" in text for text in [*texts, *found.remarks])


def test_a_child_that_its_judge_left_behind_is_ended_with_it(attack, supervisor):
    found = attack(
        "def attack():\n    say({'do': 'spawn', 'id': 0, 'figures': False}); os._exit(0)"
    )
    assert found.problem == "grading it ended its process."
    assert a_classmate_gets_full_points(supervisor)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("victim", ["submission", "judge", "fork server"])
def test_what_others_kill_is_tried_once_more_and_then_is_a_persons(
    supervisor, monkeypatch, victim, times
):
    assert a_classmate_gets_full_points(supervisor)
    server = supervisor.judges if victim == "judge" else supervisor.students
    fork = server.fork
    killed = []

    def below():
        return set(descendants(supervisor.processes[0].pid))  # another one after it was killed

    def fork_and_kill(*arguments):
        before = below()
        fork(*arguments)
        if len(killed) < times:
            while (found := below()) <= before:
                pass
            top = supervisor.processes[0].pid
            pids = {top, *found} if victim == "fork server" else found - before
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # it ended with the first of them
                    os.kill(pid, signal.SIGKILL)
            killed.append(pids)

    monkeypatch.setattr(server, "fork", fork_and_kill)
    found = graded("swanson77", SOLUTION, supervisor)
    assert len(killed) == times
    if times == 1:
        assert found.problem == "" and found.stamp
    else:
        assert found.problem and found.stamp == "" and found.parts == ()
    monkeypatch.undo()
    assert a_classmate_gets_full_points(supervisor)


def test_a_judge_whose_submission_was_killed_says_so_and_gives_no_grade(attack):
    found = attack("def attack(): return honest() | {'killed': True}")
    assert "ended from outside" in found.problem and found.stamp == ""


def test_a_step_that_could_not_be_decided_awaits_a_person(tier, tmp_path):
    name = "00_start_here"
    text = (ROOT / "solutions" / f"{name}.py").read_text("utf-8")
    line = '    (total + sp.exp(sp.exp(10**10 * x)), "so"),\n'
    path = tmp_path / f"{name}.py"
    path.write_text(text.replace("    # BEGIN SOLUTION\n    ((", line + "    ((", 1), "utf-8")
    with Supervisor([name], LIMITS, tier) as supervisor:
        record = graded("swanson77", path, supervisor)
    (found,) = [part for part in record.parts if part.question == "0.2"]
    assert found.status == State.WAITING and "could not be decided" in found.message
