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
from attn_course.grading.grade_one import Settings
from attn_course.grading.record import Record
from attn_course.grading.results import Results
from attn_course.grading.sandbox import judge
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.supervisor import Lost
from attn_course.grading.submissions import File

SETTINGS = Settings(1, Limits(total=1.0), ("01_copying",), "none")


def files(*names):
    return [File(name, "01_copying", Path(name), "01_copying.ipynb") for name in names]


class Bench:
    """Stands in for a bench: one student's judge is lost, one breaks the bench, some are graded."""

    opened = 0

    def __enter__(self):
        type(self).opened += 1
        return self

    def __exit__(self, *exc_info):
        pass

    def grade(self, file):
        if file.student == "lost":
            raise Lost("grading it ended its process.")
        if file.student == "breaks":
            raise RuntimeError("the fork server is gone")
        return Record.of(file)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_file_that_breaks_its_grader_costs_only_itself(monkeypatch, jobs):
    monkeypatch.setattr(Settings, "bench", lambda settings: Bench())
    monkeypatch.setattr(batch, "grade_one", lambda file, bench, settings: bench.grade(file))
    monkeypatch.setattr(Bench, "opened", 0)
    students = ["a", "lost", "b", "breaks", "c", "d"]
    found = {r.student: r.problem for r in batch.grade_many(files(*students), SETTINGS, jobs)}
    assert found == {
        **dict.fromkeys("abcd", ""),
        "lost": "grading it ended its process.",
        "breaks": "grading it failed (the fork server is gone).",
    }
    assert Bench.opened >= min(jobs, 2)


def test_a_batch_that_is_given_up_ends_what_is_in_hand(monkeypatch):
    stopped = threading.Event()

    class Endless(Bench):
        def grade(self, file):
            if file.student == "endless":
                stopped.wait()
            return super().grade(file)

        def stop(self):
            stopped.set()

    monkeypatch.setattr(Settings, "bench", lambda settings: Endless())
    monkeypatch.setattr(batch, "grade_one", lambda file, bench, settings: bench.grade(file))
    records = batch.grade_many(files("a", "endless", "b"), SETTINGS, 1)
    assert next(records).student == "a"
    records.close()
    assert stopped.is_set() and threading.active_count() == 1


def fork_servers():
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_worker_stopped_while_its_fork_servers_start_leaves_no_process():
    before = fork_servers()
    worker = batch.Worker(deque(files("a")), queue.SimpleQueue(), SETTINGS)
    while worker.bench is None:
        worker.join(0.01)
    assert len(fork_servers() - before) == 1
    worker.stop()
    worker.join()
    assert fork_servers() == before


def record(student):
    return Record.of(files(student)[0])


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
    results.add(Record.failed(file, "grading it took too long and was stopped."))
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
    ("names", "wanted"), [(("01_copying",), False), (("06_x", "01_copying"), True)]
)
def test_torch_is_imported_only_for_notebooks_that_use_it(names, wanted):
    bench = replace(SETTINGS, notebooks=names).bench()
    assert [("torch" in z.options["preload"]) for z in (bench.students, bench.judges)] == [
        wanted
    ] * 2


def test_no_judge_is_imported_where_submissions_run():
    preload = SETTINGS.bench().students.options["preload"]
    assert not any("questions" in name for name in preload)


def test_results_of_another_format_are_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(results_module, "VERSION", 99)
    Results(tmp_path / "r").file.close()
    monkeypatch.undo()
    with pytest.raises(
        UserError, match=r"another version of attn grade \(format 99; this one reads 2"
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
