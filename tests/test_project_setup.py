"""scripts/setup.sh makes an environment, or says in one sentence why it cannot."""

import os
import shutil
import subprocess
import sys

import pytest
from course import ROOT

# Stand-ins for Python: too old, too new for wheels, without the right to write here, without a network.
TOO_OLD = 'case "$*" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac'
TOO_NEW = TOO_OLD.replace("3.9.2", "3.15.0")
READ_ONLY = 'case "$*" in "-m venv "*) echo "Errno 30: .venv" >&2; exit 1 ;; esac'
NO_NETWORK = """case "$*" in
  "-m venv "*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  *" pip install "*) echo "WARNING: Retrying after connection broken"; exit 1 ;;
esac"""


def run_setup_script(folder, *words, **environment):
    """The script in a folder; `environment` takes the place of this one's, if it is given."""
    command = [shutil.which("sh"), ROOT / "scripts/setup.sh", *words]
    return subprocess.run(
        command, cwd=folder, env=environment or None, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        (None, "Python is not installed; the course needs Python 3.11, 3.12, 3.13 or 3.14."),
        (TOO_OLD, "Python 3.9.2 does not fit; the course needs Python 3.11, 3.12, 3.13 or 3.14."),
        (TOO_NEW, "Python 3.15.0 does not fit; the course needs Python 3.11, 3.12, 3.13 or 3.14."),
        (READ_ONLY, "the folder .venv could not be created (is this folder read-only, or the disk full?)."),
        (NO_NETWORK, "packages could not be downloaded; check the network and run it again "
         "(details in .venv/install.log)."),
    ],
    ids=["no Python", "an old Python", "a new Python", "a read-only folder", "no network"],
)  # fmt: skip
def test_a_set_up_that_cannot_be_done_is_one_sentence(tmp_path, python, sentence):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("rm", "cp", "mkdir", "grep", "tail", "uname"):
        (programs / name).symlink_to(shutil.which(name))
    if python:
        (programs / "python3").write_text(f"#!{shutil.which('sh')}\n{python}\n", "utf-8")
        (programs / "python3").chmod(0o755)
    done = run_setup_script(tmp_path, ".venv", "dev", PATH=str(programs))
    assert done.returncode == 1
    assert done.stderr == f"Set-up stopped: {sentence}\n"


@pytest.mark.parametrize(
    "words", [(), ("", "dev"), (".venv",), (".venv", "dev", "lock.txt", "more")]
)
def test_a_set_up_that_is_not_told_where_does_nothing_and_says_how_to_call_it(tmp_path, words):
    done = run_setup_script(tmp_path, *words)
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    assert done.stderr.startswith("Usage: sh scripts/setup.sh FOLDER EXTRAS")
    assert done.stderr.count("\n") == 1


def test_a_set_up_deletes_no_folder_but_an_environment(tmp_path):
    kept = tmp_path / "home" / "thesis.txt"
    kept.parent.mkdir()
    kept.touch()
    done = run_setup_script(tmp_path, "home", "dev", **os.environ, PYTHON=sys.executable)
    assert kept.exists()
    assert done.stderr == (
        "Set-up stopped: home is there and is no environment of Python; "
        "remove it or name another folder.\n"
    )
