"""Which sandbox a machine gets, on machines that refuse one thing or another."""

import json
import subprocess
import sys

import pytest
import sandbox_sessions as sessions
from classroom import classroom
from sandbox_sessions import on_a_machine_like

from attn_grader.sandbox import kernel, policy

pytestmark = pytest.mark.skipif(
    len(sessions.HERE) < 2, reason="this machine lacks one of the tiers"
)


def tiers_named_in(out):
    lines = (out / "results.jsonl").read_text().splitlines()
    return {json.loads(line).get("tier") for line in lines[1:]}


@pytest.fixture(scope="module")
def graded_here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiers")
    classroom(folder / "class", ["01_copying"], 4)
    done = on_a_machine_like("", *grading(folder, "here"))
    assert done.returncode == 0, done.stderr
    return folder


def grading(folder, out):
    return ["grade", folder / "class", "--out", folder / out, "--notebooks", "1", "--seed", "3"]


@pytest.mark.parametrize("machine", ["docker", "ubuntu"])
def test_where_namespaces_are_refused_a_class_gets_the_same_grades_and_says_how(
    graded_here, machine
):
    done = on_a_machine_like(machine, *grading(graded_here, machine))
    assert done.returncode == 0, done.stderr
    books = [(graded_here / out / "gradebook.csv").read_bytes() for out in ("here", machine)]
    assert books[0] == books[1]
    assert tiers_named_in(graded_here / "here") == {"namespaces"}
    assert tiers_named_in(graded_here / machine) == {"landlock"}


def test_where_there_is_no_sandbox_grading_is_refused(graded_here):
    done = on_a_machine_like("old", *grading(graded_here, "old"))
    assert done.returncode == 2 and "--no-sandbox" in done.stderr
    assert not (graded_here / "old").exists()


@pytest.mark.parametrize(
    ("machine", "expected"), [("docker", "landlock"), ("ubuntu", "landlock"), ("old", "")]
)
def test_the_probe_really_sandboxes_a_process(machine, expected):
    program = "from attn_grader.sandbox import policy; print(policy.best_tier())"
    done = on_a_machine_like(machine, command=[sys.executable, "-c", program])
    assert done.stdout == f"{expected}\n", done.stderr


def test_a_landlock_that_cannot_guard_against_cutting_files_short_is_not_enough(monkeypatch):
    monkeypatch.setattr(kernel, "landlock_version", lambda: 2)
    assert not policy.works(policy.Landlock)


def test_a_sandbox_that_lets_a_look_outside_pass_does_not_count(monkeypatch):
    monkeypatch.setattr(kernel, "restrict_files", lambda rules: None)
    assert not policy.works(policy.Landlock)


@pytest.mark.parametrize(
    ("table", "inside"),
    [
        ("0 0 4294967295", range(1 << 29, 1 << 31)),
        ("0 1000 1\n1 100000 65536", range(1, 65_537)),
        ("0 1000 1", range(0)),
    ],
)
def test_the_user_of_a_child_is_one_that_is_mapped(monkeypatch, table, inside):
    monkeypatch.setattr(policy.Path, "read_text", lambda path: table)
    users = policy.unused_users()
    assert 0 not in users and all(users[k] in inside for k in (0, -1)) if inside else not users


def test_what_only_linux_has_is_not_imported_by_the_command():
    program = """
import sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None  # as on Windows
import attn_grader.command
"""
    subprocess.run([sys.executable, "-c", program], check=True)
