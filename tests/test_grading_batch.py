"""What a batch does when grading itself fails, hangs or is given a damaged file of results."""

import json
import queue
import sys
import threading
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from attn_course.errors import UserError
from attn_course.grading import digests
from attn_course.grading import grade_many as batch
from attn_course.grading import results as results_module
from attn_course.grading.grade_one import Job, Settings, ungraded
from attn_course.grading.record import Record
from attn_course.grading.results import Results
from attn_course.grading.sandbox import judge
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.supervisor import NotGraded
from attn_course.grading.submissions import File

SETTINGS = Settings(1, Limits(total=1.0), ("01_copying",), "none")


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


class Supervisor:
    """Stands in for a supervisor: one student's judge gives no grade, one breaks, some are graded."""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass

    def judge(self, message):
        student = message["data"].tobytes()
        if student == b"lost":
            raise NotGraded("grading it ended its process.")
        if student == b"breaks":
            raise RuntimeError("the disk is full")
        return {"problem": "it is graded.", "remarks": [], "parts": []}, 0.0


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_file_that_breaks_its_grader_costs_only_itself(monkeypatch, handed_in, jobs):
    monkeypatch.setattr(Settings, "supervisor", lambda settings: Supervisor())
    found = handed_in("a", "lost", "b", "breaks", "c", "d")
    records = {r.student: r for r in batch.grade_many([*found, *files("gone")], SETTINGS, jobs)}
    assert {student: record.problem for student, record in records.items()} == {
        **dict.fromkeys("abcd", "it is graded."),
        "lost": "grading it ended its process.",
        "breaks": "grading it failed (the disk is full).",
        "gone": "it cannot be opened (No such file or directory).",
    }
    is_final = {student: bool(record.stamp) for student, record in records.items()}
    assert is_final == {**dict.fromkeys([*"abcd", "gone"], True), "lost": False, "breaks": False}


def test_a_batch_that_is_given_up_ends_what_is_in_hand(monkeypatch, handed_in):
    stopped = threading.Event()

    class Endless(Supervisor):
        def judge(self, message):
            if message["data"].tobytes() == b"endless":
                stopped.wait()
            return super().judge(message)

        def stop(self):
            stopped.set()

    monkeypatch.setattr(Settings, "supervisor", lambda settings: Endless())
    others = threading.active_count()
    records = batch.grade_many(handed_in("a", "endless", "b"), SETTINGS, 1)
    assert next(records).student == "a"
    records.close()
    assert stopped.is_set() and threading.active_count() == others


def test_a_file_replaced_while_it_is_graded_has_the_stamp_of_what_was_judged(
    monkeypatch, handed_in
):
    (file,) = handed_in("a")
    judged = file.stamp

    class Slow(Supervisor):
        def judge(self, message):
            file.path.write_text("another")
            return super().judge(message)

    monkeypatch.setattr(Settings, "supervisor", lambda settings: Slow())
    (record,) = batch.grade_many([file], SETTINGS, 1)
    assert record.stamp == judged != file.stamp


def test_inputs_are_those_of_the_bytes_not_of_the_name(handed_in):
    one, twin, other = handed_in("one", "twin", "other")
    twin.path.write_bytes(one.read())
    secrets = [Job.of(file, SETTINGS).message["secret"] for file in (one, twin, other)]
    assert secrets[0] == secrets[1] != secrets[2]
    again = Job.of(one, replace(SETTINGS, seed=2)).message["secret"]
    one.path.write_bytes(one.read() + b" ")
    assert len({*secrets, again, Job.of(one, SETTINGS).message["secret"]}) == 4
    assert Job.of(one, replace(SETTINGS, seed=None)).message["secret"] is None


def fork_servers():
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_worker_stopped_while_its_fork_servers_start_leaves_no_process(handed_in):
    before = fork_servers()
    worker = batch.Worker(deque(handed_in("a")), queue.SimpleQueue(), SETTINGS)
    while not fork_servers() - before:
        worker.join(0.01)
    assert len(fork_servers() - before) == 1
    worker.stop()
    worker.join()
    assert fork_servers() == before


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
        assert found.seed == 5 and len(found.where) == whole
        found.add(record("c"))
        assert found.get(files("c")[0].key) == record("c")
        found.file.close()
        lines = (tmp_path / "r").read_bytes().splitlines()
        assert len(lines) == whole + 2 and all(map(json.loads, lines))


def test_a_newer_record_of_the_same_file_wins(tmp_path):
    results = Results(tmp_path / "r")
    for problem in ("old", "new"):
        results.add(replace(record("a"), problem=problem))
    assert results.get(files("a")[0].key).problem == "new"


def test_seeds_are_secret_and_different(tmp_path):
    seeds = {Results(tmp_path / name).seed for name in "ab"}
    assert len(seeds) == 2 and min(seeds) > 1 << 64


def test_results_of_another_seed_or_changed_by_hand_are_refused(tmp_path):
    Results(tmp_path / "r", seed=5).file.close()
    with pytest.raises(UserError, match="another seed"):
        Results(tmp_path / "r", seed=6)
    results = Results(tmp_path / "r")
    results.add(record("a"))
    results.file.close()
    sound = (tmp_path / "r").read_text()
    edited = ["seed: 5\n", "5\n", "[]\n", "{}\n", '{"seed": 5}\n', "[" * 9_999 + "\n", "\0\xff\n"]
    for text in [*edited, sound.replace('"problem": ""', '"problem": "x"')]:
        (tmp_path / "r").write_text(text)
        with pytest.raises(UserError, match="changed by hand"):
            Results(tmp_path / "r")


def test_a_file_that_the_grader_itself_could_not_grade_is_tried_again(tmp_path):
    results, (file,) = Results(tmp_path / "r"), files("a")
    results.add(record("a"))
    assert results.has(file)
    results.add(ungraded(file, NotGraded("grading it took too long and was stopped.")))
    assert not results.has(file) and "too long" in results.get(file.key).problem


def test_inputs_depend_on_secret_and_question_and_on_nothing_else():
    def draw(*key):
        return judge.random_numbers(*key).random()

    keys = [
        ("a", "1.1", "code"),
        ("b", "1.1", "code"),
        ("a", "1.2", "code"),
        ("a", "1.1", "derive"),
    ]
    assert len({draw(*key) for key in keys}) == 4
    assert draw(*keys[0]) == draw(*keys[0])
    assert draw(None, "1.1", "code") == draw(None, "1.1", "derive")


@pytest.mark.parametrize(
    ("names", "wanted"),
    [(("01_copying",), False), (("06_transformer_attention", "01_copying"), True)],
)
def test_torch_is_imported_only_for_notebooks_that_use_it(names, wanted):
    supervisor = replace(SETTINGS, notebooks=names).supervisor()
    assert [
        ("torch" in z.options["preload"]) for z in (supervisor.students, supervisor.judges)
    ] == [wanted] * 2


def test_no_judge_is_imported_where_submissions_run():
    preload = SETTINGS.supervisor().students.options["preload"]
    assert not any("questions" in name for name in preload)


def test_results_of_another_format_are_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(results_module, "VERSION", 99)
    Results(tmp_path / "r").file.close()
    monkeypatch.undo()
    with pytest.raises(
        UserError, match=r"another version of attn grade \(format 99; this one reads 3"
    ):
        Results(tmp_path / "r")


def test_a_file_is_graded_again_once_its_judge_has_changed(tmp_path, monkeypatch):
    (file,) = files("a")
    results = Results(tmp_path / "r")
    results.add(record("a"))
    assert results.has(file)
    monkeypatch.setattr(results_module, "judge_digest", lambda notebook: "another")
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
        monkeypatch.setattr(digests, "ROOT", package.parent)
        digests.judge_digest.cache_clear()
        found.add(digests.judge_digest("01_copying"))
    digests.judge_digest.cache_clear()
    assert len(found) == 3
