"""The packages that a notebook needs are installed where they are missing, and no others."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError

from packaging.requirements import Requirement

from attn_course import missing_packages


class Machine:
    """A machine with these versions installed; notes what pip was asked for."""

    def __init__(self, monkeypatch, *, pip_works=True, **versions):
        self.versions = versions
        self.asked = []
        wanted = [Requirement("numpy>=2.0"), Requirement('torch>=2.5; extra == "torch"')]
        monkeypatch.setattr(missing_packages, "version", self.version)
        monkeypatch.setattr(missing_packages, "needed_packages", lambda extra: wanted)
        monkeypatch.setattr(subprocess, "run", self.run)
        self.pip_works = pip_works

    def version(self, name):
        if name not in self.versions:
            raise PackageNotFoundError(name)
        return self.versions[name]

    def run(self, command, **options):
        self.asked += command[command.index("--disable-pip-version-check") + 1 :]
        return subprocess.CompletedProcess(command, returncode=not self.pip_works)


def test_what_is_here_and_within_its_range_is_never_replaced(monkeypatch, capsys):
    machine = Machine(monkeypatch, numpy="2.0.2")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    missing_packages.install_missing("torch")
    assert machine.asked == ["torch>=2.5", "numpy==2.0.2"]
    assert capsys.readouterr().out == ""


def test_what_is_older_than_its_range_is_replaced_and_a_restart_asked_for(monkeypatch, capsys):
    machine = Machine(monkeypatch, numpy="1.26.4", torch="2.6.0+cu124")
    missing_packages.install_missing("torch")
    assert machine.asked == ["numpy>=2.0", "torch==2.6.0+cu124"]
    assert capsys.readouterr().out == "Now restart the kernel: it still holds an older numpy.\n"


def test_a_failing_pip_is_one_sentence(monkeypatch, capsys):
    Machine(monkeypatch, numpy="2.0.2", pip_works=False)
    missing_packages.install_missing("torch")
    shown = capsys.readouterr().out
    assert shown.count("\n") == 1 and shown.endswith(": torch\n")


def test_the_packages_asked_for_are_those_of_the_core_and_of_the_extra():
    core = {package.name for package in missing_packages.needed_packages()}
    more = {package.name for package in missing_packages.needed_packages("torch")}
    assert core == {"click", "numpy", "matplotlib", "sympy"}
    assert {"torch", "sacrebleu"} < more - core
    assert "jupyterlab" not in more
