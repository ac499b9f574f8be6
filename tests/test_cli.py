"""The command attn: whatever is typed, and whoever stops reading, there is no traceback."""

import subprocess
import sys

import pytest

from attn_course import (
    cli,
    lab,
)

ATTN = [sys.executable, "-m", "attn_course.cli"]


@pytest.mark.parametrize("arguments", [["--help"], ["translate", "--help"], ["grade", "--help"]])
def test_a_reader_that_goes_away_is_no_error(arguments):
    process = subprocess.Popen(
        [*ATTN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.wait() in (0, cli.NOBODY_READS)
    assert process.stderr.read() == ""


def test_an_unknown_command_is_one_sentence(capsys):
    assert cli.main(["nonsense"]) == 2
    assert capsys.readouterr().err == "attn: there is no command 'nonsense'; see attn --help.\n"


def test_a_command_without_arguments_lists_what_there_is(capsys):
    assert cli.main([]) == 2
    listed = capsys.readouterr().out
    assert all(name in listed for name in cli.COMMANDS)


def test_the_address_of_a_lab_without_a_screen_leads_to_the_notebook(monkeypatch):
    monkeypatch.setattr(lab, "has_screen", lambda: False)
    command = lab.command("notebooks/00_start_here.ipynb")
    assert "--no-browser" in command
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in command


def test_a_notebook_that_is_not_there_is_one_sentence(capsys):
    assert cli.main(["lab", "nowhere.ipynb"]) == 2
    assert capsys.readouterr().err == "attn lab: there is no nowhere.ipynb in this folder.\n"


def test_a_lab_that_is_not_installed_is_one_sentence(capsys, monkeypatch):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["lab"]) == 2
    assert "JupyterLab is not installed here" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_one_sentence(capsys, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(f"No module named 'nbdime' ({module})", name="nbdime")

    monkeypatch.setattr(cli, "import_module", missing)
    assert cli.main(["diff", "a.ipynb"]) == 2
    assert capsys.readouterr().err == "attn diff: nbdime is not installed here.\n"


@pytest.mark.parametrize("name", cli.FORKING)
def test_where_no_process_can_be_forked_it_is_one_sentence(capsys, monkeypatch, name):
    monkeypatch.delattr(cli.os, "fork")
    assert cli.main([name]) == 2
    assert f"attn {name}: this needs Linux or macOS" in capsys.readouterr().err
