"""What a batch does when a worker fails, hangs or is killed, and when results.jsonl is damaged."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sandbox_sessions as sessions
from classroom import all_right, cell, full_record, save
from course import machine_points
from sandbox_sessions import descendants, needs_sandbox

from attn_course.cell_variables import names_of
from attn_course.verdict import State
from attn_grader import record as records
from attn_grader import workers
from attn_grader.grade import Job, Settings, random_numbers, secret_of
from attn_grader.record import Record, Results
from attn_grader.sandbox import Limits
from attn_grader.submissions import File
from attn_grader.workers import NotGraded, Worker, grade_file, grade_many, ungraded

NAME = "01_copying"
SETTINGS = Settings(Limits(total=60.0), (NAME,), "none")
tier = sessions.tier  # a fixture


def files(*names):
    return [File(name, "01_copying", Path(name), "01_copying.ipynb") for name in names]


@pytest.fixture
def handed_in(tmp_path):
    """Files whose bytes are their students' names."""

    def hand_in(*names):
        for name in names:
            (tmp_path / name).write_text(name)
        return [File(name, "01_copying", tmp_path / name, "01_copying.ipynb") for name in names]

    return hand_in


class Stand(Worker):
    """Stands in for a worker: one file ends it, one breaks it, the others are graded."""

    def grade(self, job):
        if job.data == b"lost":
            raise NotGraded("grading it ended its process.")
        if job.data == b"breaks":
            raise RuntimeError("the disk is full")
        return Record("", job.notebook, "", job.stamp, problem="it is graded.")


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_file_that_breaks_its_grader_costs_only_itself(monkeypatch, handed_in, jobs):
    monkeypatch.setattr(workers, "Worker", Stand)
    found = handed_in("a", "lost", "b", "breaks", "c", "d")
    graded = grade_many([*found, *files("gone")], SETTINGS, 1, jobs)
    by_student = {record.student: record for record in graded}
    assert {student: record.problem for student, record in by_student.items()} == {
        **dict.fromkeys("abcd", "it is graded."),
        "lost": "grading it ended its process.",
        "breaks": "grading it failed (the disk is full).",
        "gone": "it cannot be opened (No such file or directory).",
    }
    is_final = {student: bool(record.stamp) for student, record in by_student.items()}
    assert is_final == {**dict.fromkeys([*"abcd", "gone"], True), "lost": False, "breaks": False}


def test_a_batch_that_is_given_up_ends_what_is_in_hand(monkeypatch, handed_in):
    stopped = threading.Event()

    class Endless(Stand):
        def grade(self, job):
            if job.data == b"endless":
                stopped.wait()
            return super().grade(job)

        def stop(self):
            stopped.set()

    monkeypatch.setattr(workers, "Worker", Endless)
    others = threading.active_count()
    graded = grade_many(handed_in("a", "endless", "b"), SETTINGS, 1, 1)
    assert next(graded).student == "a"
    graded.close()
    assert stopped.is_set() and threading.active_count() == others


def test_a_file_replaced_while_it_is_graded_has_the_stamp_of_what_was_judged(
    monkeypatch, handed_in
):
    (file,) = handed_in("a")
    judged = file.stamp

    class Slow(Stand):
        def grade(self, job):
            file.path.write_text("another")
            return super().grade(job)

    monkeypatch.setattr(workers, "Worker", Slow)
    (record,) = grade_many([file], SETTINGS, 1, 1)
    assert record.stamp == judged != file.stamp


def test_inputs_are_those_of_the_bytes_not_of_the_name(handed_in):
    one, twin, other = handed_in("one", "twin", "other")
    twin.path.write_bytes(one.read())
    secrets = [Job.of(file, 1).secret for file in (one, twin, other)]
    assert secrets[0] == secrets[1] != secrets[2]
    again = Job.of(one, 2).secret
    one.path.write_bytes(one.read() + b" ")
    assert len({*secrets, again, Job.of(one, 1).secret}) == 4
    assert Job.of(one, None).secret is None


def test_what_a_worker_is_told_of_a_file_has_no_name_and_no_seed(handed_in):
    (file,) = handed_in("ann-lovelace")
    file.path.write_text("{}")
    seed = 0xFEDCBA9876543210
    told = repr((Job.of(file, seed), SETTINGS))
    assert "ann" not in told and f"{seed:x}" not in told and str(seed) not in told


def test_no_secret_of_a_file_tells_the_seed():
    seed = 0xFEDCBA9876543210
    secrets = {secret_of(seed, stamp) for stamp in "ab"} | {secret_of(seed + 1, "a")}
    assert len(secrets) == 3 and not any(f"{seed:x}" in secret for secret in secrets)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A right notebook whose answer to 1.4 takes a while to be defined."""
    path = tmp_path_factory.mktemp("slow") / f"{NAME}.ipynb"
    found = all_right(NAME)
    answer = cell(found, "q1-4-code")
    answer["source"] = f"import time\ntime.sleep(2)\n{answer['source']}"
    save(path, found)
    return File("ann", NAME, path, path.name)


@pytest.fixture
def worker(tier):
    worker = Worker(Settings(Limits(total=60.0), (NAME,), tier))
    yield worker
    worker.close()


def points(record):
    return sum(part.points for part in record.parts)


def family(worker):
    """Return the ids of a worker's processes: its own, then down to the child, if there is one."""
    process = worker.process
    return [process.pid, *descendants(process.pid)] if process else []


def is_asleep(pid):
    """Return True if a process waits in `sleep`, as the slow answer does."""
    try:
        return "nanosleep" in Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return False


def kill_when_a_submission_runs(worker, victim, times, over=None):
    """Return a thread that kills this process as soon as a child is there, so many times.

    over: an event after which it kills no more.
    """
    extra = worker.settings.tier == "namespaces"  # a process that waits outside
    seen = set()

    def kill():
        while len(seen) < times and not (over and over.is_set()):
            pids = family(worker)
            if len(pids) == 3 + extra and pids[-1] not in seen and is_asleep(pids[-1]):
                seen.add(pids[-1])
                place = {"worker": 0, "warm process": 1 + extra, "child": 2 + extra}[victim]
                os.kill(pids[place], signal.SIGKILL)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@needs_sandbox
@pytest.mark.parametrize("victim", ["worker", "warm process", "child"])
def test_what_others_kill_once_is_graded_once_more(slow, worker, victim):
    killer = kill_when_a_submission_runs(worker, victim, 1)
    record = grade_file(slow, worker, 1)
    killer.join()
    assert points(record) == machine_points(NAME) and record.stamp and not record.problem


@needs_sandbox
@pytest.mark.parametrize("victim", ["worker", "warm process"])
def test_a_file_on_which_two_workers_end_awaits_a_person_and_the_next_one_is_graded(
    slow, worker, victim
):
    killer = kill_when_a_submission_runs(worker, victim, 2)
    record = grade_file(slow, worker, 1)
    killer.join()
    assert record.problem == "grading it ended its process."
    assert record.stamp == "" and record.parts == ()
    assert points(grade_file(slow, worker, 1)) == machine_points(NAME)


@needs_sandbox
def test_a_second_kill_from_outside_costs_the_running_part_only_and_calls_a_person(slow, worker):
    # Every child is killed: where the machine is so busy that another worker begins anew, its children too.
    over = threading.Event()
    killer = kill_when_a_submission_runs(worker, "child", 10, over)
    record = grade_file(slow, worker, 1)
    over.set()
    killer.join()
    waiting = [part for part in record.parts if part.status == State.WAITING]
    assert [part.question for part in waiting if part.kind != "written"] == ["1.4"]
    (lost,) = [part for part in waiting if part.question == "1.4"]
    assert "ended from outside" in lost.message and record.stamp
    assert points(record) == machine_points(NAME) - lost.out_of


def test_a_worker_that_hangs_is_ended_and_its_file_awaits_a_person(slow, monkeypatch):
    monkeypatch.setattr(workers, "MARGIN", 0.1 - 120.0)
    worker = Worker(Settings(Limits(total=60.0), (NAME,), "none"))
    record = grade_file(slow, worker, 1)
    assert record.problem == "grading it took too long and was stopped." and record.stamp == ""
    assert worker.process is None


def test_a_worker_that_cannot_start_says_why(slow):
    worker = Worker(Settings(Limits(), (NAME,), "nonsense"))
    record = grade_file(slow, worker, 1)
    worker.close()
    assert (
        record.problem
        == (
            "grading it failed (RuntimeError: the warm process did not start: KeyError: 'nonsense')."
        )
        and record.stamp == ""
    )


@needs_sandbox
def test_a_worker_that_is_done_ends_by_itself_and_leaves_no_process(slow, worker):
    grade_file(slow, worker, 1)
    process, below = worker.process, descendants(worker.process.pid)
    worker.close()
    assert process.returncode == 0 and below and not any(map(is_alive, below))


@needs_sandbox
def test_a_worker_keeps_nothing_of_one_file_for_the_next(worker, tmp_path):
    first = all_right(NAME)
    cell(first, "q1-4-code")["source"] += "\nimport builtins\nbuiltins.left = 'swanson77'"
    second = all_right(NAME)
    look = (
        "try:\n    left\nexcept NameError:\n    pass\nelse:\n    raise SystemExit('it is there')\n"
    )
    answer = cell(second, "q1-4-code")
    answer["source"] = look + answer["source"]
    found = []
    for number, content in enumerate((first, second)):
        path = tmp_path / f"{number}.ipynb"
        save(path, content)
        found.append(grade_file(File(str(number), NAME, path, path.name), worker, 1))
    assert [points(record) for record in found] == [machine_points(NAME)] * 2
    assert [record.remarks for record in found] == [(), ()]


def test_the_texts_of_a_large_file_are_forgotten_and_those_of_others_serve_the_next(monkeypatch):
    monkeypatch.setattr(workers, "grade", lambda job, *_: names_of(job.data.decode()))
    for letters, kept in ((100, 1), (workers.LARGE, 0)):
        names_of.cache_clear()
        workers.grade_or_say_why(
            Job(NAME, ".py", b"x" * letters + b" = 1", "", None), None, SETTINGS
        )
        assert names_of.cache_info().currsize == kept


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_when_the_command_is_killed_its_workers_end(slow):
    program = f"""
import sys
from pathlib import Path
from attn_grader.grade import Settings
from attn_grader.sandbox import Limits
from attn_grader.submissions import File
from attn_grader.workers import Worker, grade_file
worker = Worker(Settings(Limits(), ("{NAME}",), "none"))
grade_file(File("a", "{NAME}", Path({str(slow.path)!r}), "a"), worker, 1)
print(worker.process.pid, flush=True)
grade_file(File("a", "{NAME}", Path({str(slow.path)!r}), "a"), worker, 1)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as command:
        pid = int(command.stdout.readline())
        below = [pid, *descendants(pid)]
        command.kill()
    deadline = time.monotonic() + 30
    while any(map(is_alive, below)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(below) >= 2 and not any(map(is_alive, below))


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def record(student):
    (file,) = files(student)
    return Record.of(file, file.stamp)


def test_results_survive_a_line_cut_short(tmp_path):
    results = Results(tmp_path / "r", seed=5)
    for student in ("a", "b"):
        results.add(record(student))
    results.file.close()
    data = (tmp_path / "r").read_bytes()
    for cut in range(len(data.splitlines(keepends=True)[0]), len(data) + 1, 7):
        (tmp_path / "r").write_bytes(data[:cut])
        found = Results(tmp_path / "r")
        whole = data[:cut].count(b"\n") - 1
        is_whole_without_end = data[cut : cut + 1] == b"\n"
        assert found.seed == 5 and len(found.where) == whole + is_whole_without_end
        found.add(record("c"))
        assert found.get(files("c")[0].key) == record("c")
        found.file.close()
        again = Results(tmp_path / "r")
        assert again.get(files("c")[0].key) == record("c") and again.seed == 5
        again.file.close()


def test_a_newer_record_of_the_same_file_wins(tmp_path):
    results = Results(tmp_path / "r")
    for problem in ("old", "new"):
        results.add(replace(record("a"), problem=problem))
    assert results.get(files("a")[0].key).problem == "new"


def test_seeds_are_secret_and_different(tmp_path):
    seeds = {Results(tmp_path / name).seed for name in "ab"}
    assert len(seeds) == 2 and min(seeds) > 1 << 64


ODD_LINES = [
    "",
    "5",
    "[]",
    "{}",
    '{"student": "a"}',
    "[" * 99_999,
    "\0\xff",
    '{"seed": 5}',
    '{"seed": "5',
]


@pytest.mark.parametrize("odd", ODD_LINES)
def test_an_odd_line_is_skipped_and_said_and_what_is_around_it_stays(tmp_path, caplog, odd):
    results = Results(tmp_path / "r", seed=5)
    for student in ("a", "b"):
        results.add(record(student))
    results.file.close()
    first, second, third = (tmp_path / "r").read_text().splitlines()
    (tmp_path / "r").write_text("\n".join([first, second, odd, third, ""]), encoding="utf-8")
    found = Results(tmp_path / "r")
    assert [found.has(file) for file in files("a", "b")] == [True, True] and found.seed == 5
    assert "skipped what cannot be read (line 3)" in caplog.text
    assert (tmp_path / "r").read_text("utf-8").splitlines()[2] == odd


def test_a_record_that_was_edited_into_something_else_is_graded_again(tmp_path, caplog):
    results = Results(tmp_path / "r", seed=5)
    results.add(full_record(files("a")[0].key))
    results.file.close()
    sound = (tmp_path / "r").read_text()
    edits = [
        ('"points": 0.5', '"points": "0.5"'),
        ('"points": 0.5', '"points": NaN'),
        ('"points": 0.5', '"points": 500'),
        ('"points": 0.5', '"points": -1'),
        ('"status": "correct"', '"status": "perfect"'),
        ('"remarks": []', '"remarks": [5]'),
        ('"needs_person": false', '"needs_person": 0'),
        ('"images": {}', '"images": {"a": 1}'),
    ]
    for old, new in edits:
        assert old in sound
        (tmp_path / "r").write_text(sound.replace(old, new, 1))
        found = Results(tmp_path / "r")
        assert not found.has(files("a")[0]) and not found.where, new
        found.file.close()


def test_with_another_seed_every_file_is_graded_again_and_no_other_folder_is_asked_for(
    tmp_path, caplog
):
    results = Results(tmp_path / "r", seed=5)
    results.add(record("a"))
    results.file.close()
    found = Results(tmp_path / "r", seed=6)
    assert found.seed == 6 and not found.has(files("a")[0])
    assert "was graded with another seed" in caplog.text
    found.file.close()
    assert Results(tmp_path / "r").seed == 6


def test_a_file_that_the_grader_itself_could_not_grade_is_tried_again(tmp_path):
    results, (file,) = Results(tmp_path / "r"), files("a")
    results.add(record("a"))
    assert results.has(file)
    results.add(ungraded(file, NotGraded("grading it took too long and was stopped.")))
    assert not results.has(file) and "too long" in results.get(file.key).problem


def test_inputs_depend_on_secret_and_question_and_on_nothing_else():
    def draw(*key):
        return random_numbers(*key).random()

    keys = [
        ("a", "1.1", "code"),
        ("b", "1.1", "code"),
        ("a", "1.2", "code"),
        ("a", "1.1", "derive"),
    ]
    assert len({draw(*key) for key in keys}) == 4
    assert draw(*keys[0]) == draw(*keys[0])
    assert draw(None, "1.1", "code") == draw(None, "1.1", "derive")


def test_a_file_is_graded_again_once_its_judge_has_changed(tmp_path, monkeypatch):
    (file,) = files("a")
    results = Results(tmp_path / "r")
    results.add(record("a"))
    assert results.has(file)
    monkeypatch.setattr(records, "judge_digest", lambda notebook: "another")
    assert not results.has(file)


def test_the_digest_of_a_judge_covers_what_it_imports(tmp_path, monkeypatch):
    helpers = ("import os", "from attn_course import deep", "from attn_course import deep")
    found = set()
    for number, text in enumerate(helpers):
        package = tmp_path / str(number) / "attn_course"
        judge = package / "questions" / "copying.py"
        for path in (judge, package / "answers" / "mistakes.py"):
            path.parent.mkdir(parents=True)
        judge.write_text("from attn_course.answers.mistakes import same\n")
        (package / "answers" / "mistakes.py").write_text(text)
        (package / "deep.py").write_text(str(number))
        monkeypatch.setattr(records, "ROOT", package.parent)
        records.judge_digest.cache_clear()
        found.add(records.judge_digest("01_copying"))
    records.judge_digest.cache_clear()
    assert len(found) == 3
