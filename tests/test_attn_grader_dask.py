"""Grading on a Dask cluster: the same gradebook, also when a worker is killed on the way."""

import contextlib
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from classroom import classroom
from sandbox_sessions import needs_sandbox

from attn_course import cli
from attn_course.errors import UserError
from attn_grader import workers
from attn_grader.submissions import File

NAMES = ("01_copying", "02_average_of_two")


@pytest.fixture(scope="module")
def students(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    classroom(folder, NAMES, 12)
    return folder


def grade(students, out, *options):
    command = ["grade", str(students), "--out", str(out), "--seed", "7", "--notebooks", "1", "2"]
    return cli.main([*command, *options])


def kill_after(monkeypatch, pid, num_records):
    """Kill a process when this many records have come back; return the files of all that come."""
    seen = []
    real = workers.record_from

    def noted(file, future):
        record = real(file, future)
        seen.append(file)
        if len(seen) == num_records:
            os.kill(pid, signal.SIGKILL)
        return record

    monkeypatch.setattr(workers, "record_from", noted)
    return seen


@needs_sandbox
def test_a_cluster_gives_the_same_gradebook_also_when_a_worker_is_killed(
    students, tmp_path, monkeypatch
):
    distributed = pytest.importorskip("distributed")
    assert grade(students, tmp_path / "here", "--jobs", "1") == 0
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
        far = tmp_path / "far"
        seen = kill_after(monkeypatch, pids[0], 3)
        assert grade(students, far, "--dask", cluster.scheduler_address) == 0
    assert len(seen) == 12
    for name in ("gradebook.csv", "index.html"):
        assert (far / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


@contextlib.contextmanager
def lone_worker(address):
    """A worker that nobody starts again when it ends; gives its process."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, "--no-nanny", "--no-dashboard"], **quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def told(capsys):
    """The last line of what was said."""
    return capsys.readouterr().err.strip().splitlines()[-1]


@needs_sandbox
def test_when_the_last_worker_ends_the_command_says_so_and_goes_on_later(
    students, tmp_path, monkeypatch, capsys
):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "LOOK", 0.1)
    monkeypatch.setattr(workers, "ALONE", 0.5)
    assert grade(students, tmp_path / "here", "--jobs", "1") == 0
    far = tmp_path / "far"
    nobody = {"n_workers": 0, "dashboard_address": None}
    with distributed.LocalCluster(**nobody) as cluster:
        address = cluster.scheduler_address
        with lone_worker(address) as worker, distributed.Client(address) as client:
            client.wait_for_workers(1, timeout=60)
            seen = kill_after(monkeypatch, worker.pid, 3)
            assert grade(students, far, "--dask", address) == 2
            assert 3 <= len(seen) < 12
            assert "no Dask worker is left" in told(capsys)
        with lone_worker(address), distributed.Client(address) as client:
            client.wait_for_workers(1, timeout=60)
            assert grade(students, far, "--dask", address) == 0
    book = (tmp_path / "here" / "gradebook.csv").read_bytes()
    assert (far / "gradebook.csv").read_bytes() == book


def test_a_result_that_went_with_the_last_worker_is_not_waited_for(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "ALONE", 0.05)
    monkeypatch.setattr(
        distributed, "wait", lambda futures, **options: SimpleNamespace(done=futures)
    )

    class Gone:
        def result(self, timeout=None):
            assert timeout, "it would wait for ever"
            raise TimeoutError

    alone = SimpleNamespace(nthreads=dict)
    with pytest.raises(UserError, match="no Dask worker is left"):
        workers.finished(alone, {Gone(): None})


def test_without_dask_there_is_one_sentence(students, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert grade(students, tmp_path / "out", "--dask") == 2
    assert told(capsys).endswith('pip install -e ".[dask]" brings it.')


def test_a_scheduler_that_does_not_answer_is_named(students, tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", "200ms")
    assert grade(students, tmp_path / "out", "--dask", "tcp://127.0.0.1:9") == 2
    assert told(capsys).endswith("no Dask scheduler answers at tcp://127.0.0.1:9.")


@pytest.mark.parametrize(
    ("judge", "sentence"),
    [("another", "another version of the course"), ("", "a worker has no sandbox")],
)
def test_a_worker_that_would_grade_otherwise_stops_the_batch(monkeypatch, judge, sentence):
    monkeypatch.setattr(workers, "judge_digest", lambda notebook: "")
    future = SimpleNamespace(result=lambda timeout: (judge, None))
    file = File("ann", NAMES[0], students, "01_copying.ipynb")
    with pytest.raises(UserError, match=sentence):
        workers.record_from(file, future)
