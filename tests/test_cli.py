"""The command attn: whatever is typed, and whoever stops reading, there is no traceback."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

import click
import pytest
from course import ROOT

from attn_course import cli, command_line
from attn_course.workspace import commands
from attn_grader import grade_class, roster, written_marks

ATTN = [sys.executable, "-m", "attn_course.cli"]


@pytest.mark.parametrize("arguments", [["--help"], ["translate", "--help"], ["grade", "--help"]])
def test_a_reader_that_goes_away_is_no_error(arguments):
    process = subprocess.Popen(
        [*ATTN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.wait() in (0, command_line.READER_GONE)
    assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nonsense", "attn: there is no command 'nonsense'; see attn --help."),
        ("grad", "attn: there is no command 'grad'; did you mean grade?"),
        ("help grad", "attn help: there is no command 'grad'; did you mean grade?"),
        ("check --strickt", "attn check: there is no option --strickt; did you mean --strict?"),
        ("grade", "attn grade: missing argument 'SUBMISSIONS'; see attn grade --help."),
        (
            "collect x",
            "attn collect: missing option '--from', one of canvas, moodle, gradescope; "
            "see attn collect --help.",
        ),
        (
            "check nowhere.ipynb",
            "attn check: there is no notebook nowhere.ipynb; write a number such as 01 or 3.2, or a path.",
        ),
    ],
)
def test_what_is_mistyped_or_missing_is_answered_in_one_sentence(capsys, words, sentence):
    assert cli.main(words.split()) == 2
    assert capsys.readouterr().err == f"{sentence}\n"


def test_the_version_is_that_of_the_package(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"attn {metadata.version('attention-course')}\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_a_command_is_made_from_its_declaration(capsys, name):
    assert cli.main(["help", name]) == 0
    told = capsys.readouterr().out
    assert cli.main([name, "--help"]) == 0
    assert capsys.readouterr().out == told
    command = cli.find(click.Context(cli.attn), name)
    options = [param.opts[-1] for param in command.params if isinstance(param, click.Option)]
    assert all(f"{option} " in told for option in options)


def test_help_lists_every_command_and_the_exit_statuses(capsys):
    for words, done in ((["--help"], 0), (["help"], 0), ([], 2)):
        assert cli.main(words) == done
        told = capsys.readouterr().out
        assert all(f"\n  {name} " in told for name in cli.COMMANDS)
        for status in (0, 1, command_line.UNUSABLE, command_line.STOPPED, command_line.READER_GONE):
            assert f" {status} " in told


def test_a_shell_is_told_how_commands_and_options_go_on():
    environment = {**os.environ, "COMP_WORDS": "attn gra", "COMP_CWORD": "1"}
    environment["_ATTN_COMPLETE"] = "bash_complete"
    done = subprocess.run(ATTN, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["plain,grade", "plain,gradescope"]


# Python with some packages hidden, as if they were not installed.
WITHOUT = """
import sys
hidden = sys.argv.pop(1).split(",")
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from attn_course import cli
sys.exit(cli.main())
"""


def without(packages, *words, folder=None):
    """Run attn on a machine without some packages."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, ",".join(packages), *words],
        capture_output=True,
        text=True,
        cwd=folder,
    )


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("tqdm", ["grade", "class", "--out", "out", "--no-sandbox"], "grade"),
        ("jinja2", ["grade", "class", "--out", "out", "--no-sandbox"], "grade"),
        ("markdown_it", ["grade", "class", "--out", "out", "--no-sandbox"], "grade"),
        ("jinja2", ["gradescope", "--notebooks", "1", "--out", "a.zip"], "grade"),
        ("nbdime", ["diff", "class/ann/01_copying.ipynb"], "grade"),
        ("torch", ["translate", "Hallo"], "torch"),
        ("sacrebleu", ["translate", "score", "--source", "a", "--reference", "a"], "torch"),
        ("jupytext", ["build", "01"], "dev"),
        ("distributed", ["grade", "class", "--out", "o", "--no-sandbox", "--dask"], "dask"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_line_that_brings_it(
    tmp_path, package, words, extra
):
    folder = tmp_path / "class" / "ann"
    folder.mkdir(parents=True)
    (tmp_path / "a").write_text("ein\n")
    shutil.copy(ROOT / "notebooks" / "01_copying.ipynb", folder)
    done = without([package], *words, folder=ROOT if words[0] == "build" else tmp_path)
    assert done.returncode == 2
    *_, said = done.stderr.splitlines()
    assert "is not installed here; in the course's folder, " in said
    assert f'pip install -e ".[{extra}]" brings it.' in said and "Traceback" not in done.stderr


def test_attn_starts_without_any_extra_and_without_numpy():
    extras = "torch jinja2 tqdm sacrebleu nbdime markdown_it numpy matplotlib sympy distributed"
    done = without(extras.split(), "--help")
    assert done.returncode == 0 and "translate" in done.stdout and done.stderr == ""


def test_the_core_does_not_need_click():
    script = "import sys; sys.modules['click'] = None; from attn_course import check, derive, hint, plots"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--jobs", "0"], "--jobs must be a whole number from 1 to 1,024, not '0'."),
        (["--jobs", "two"], "--jobs must be a whole number from 1 to 1,024, not 'two'."),
        (["--jobs=9999999999"], "--jobs must be a whole number from 1 to 1,024,"),
        (["--seed=-5"], "--seed must be a whole number from 1 to 2^128, not '-5'."),
        (["--timeout=nan"], "--timeout must be a number above 0 and up to 86,400, not 'nan'."),
        (["--timeout=inf"], "--timeout must be a number above 0 and up to 86,400, not 'inf'."),
        (["--memory=1e99"], "--memory must be a whole number from 1 to 1,048,576, not '1e99'."),
        (["--memory", "9" * 9999], "--memory must be a whole number from 1 to 1,048,576, not '999"),
    ],
)
def test_a_number_out_of_range_is_told_its_option_and_range(capsys, words, sentence):
    assert cli.main(["grade", "class", "--out", "out", *words]) == 2
    assert capsys.readouterr().err.startswith(f"attn grade: {sentence}")


def test_an_option_takes_all_words_up_to_the_next_option(monkeypatch):
    seen = {}
    monkeypatch.setattr(grade_class, "grade_class", lambda options, out: seen.update(vars(options)))
    words = "grade class --notebooks 1 2 --out out --export canvas moodle --written a.csv b.csv"
    assert cli.main([*words.split(), "--regrade"]) == 0
    assert seen["notebooks"] == ("1", "2") and seen["export"] == ("canvas", "moodle")
    assert [path.name for path in seen["written"]] == ["a.csv", "b.csv"]
    assert seen["regrade"] == ("",) and seen["dask"] is None
    assert cli.main([*words.split(), "--regrade", "1.4", "1.5", "--dask"]) == 0
    assert seen["regrade"] == ("1.4", "1.5") and seen["dask"] == ""


def test_quiet_leaves_the_summary_out_and_verbose_names_every_file(tmp_path, capsys):
    words = ["release", "--out", str(tmp_path / "a.zip")]

    def told(*words):
        assert cli.main(words) == 0
        return capsys.readouterr().out

    assert told(*words, "-q") == told("-q", *words) == ""
    assert "files." in told(*words)
    assert "notebooks/00_start_here.ipynb" in told(*words, "-v")


def test_the_address_of_a_lab_without_a_screen_leads_to_the_notebook(monkeypatch):
    monkeypatch.setattr(commands, "has_screen", lambda: False)
    command = commands.jupyter_command(ROOT, "00_start_here.ipynb")
    assert "--no-browser" in command
    assert "--LabApp.default_url=/lab/tree/00_start_here.ipynb" in command


def test_a_lab_that_is_not_installed_is_one_sentence(capsys, monkeypatch):
    monkeypatch.setattr(commands.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["lab"]) == 2
    assert "JupyterLab is not installed here" in capsys.readouterr().err


def test_where_no_process_can_be_forked_grading_is_one_sentence(capsys, monkeypatch):
    monkeypatch.delattr(os, "fork")
    assert cli.main(["grade", "class", "--out", "out"]) == 2
    assert "attn grade: this needs Linux or macOS" in capsys.readouterr().err


GUIDE = (ROOT / "docs" / "grading.md").read_text("utf-8")


def test_every_command_and_option_that_the_guide_names_is_there():
    known = {"-q", "-v", "--help"}
    for name in cli.COMMANDS:
        command = cli.find(click.Context(cli.attn), name)
        known |= {option for param in command.params for option in param.opts}
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?=[ `])", GUIDE)) - {"-e"} <= known
    assert set(re.findall(r"(?<=`)attn ([a-z]+)", GUIDE)) <= {*cli.COMMANDS, "-v"}


def test_the_tables_of_the_guide_are_read_as_printed(tmp_path):
    people, override = re.findall(r"```csv\n(.*?)```", GUIDE, re.S)
    (tmp_path / "roster.csv").write_text(people)
    found = roster.load(tmp_path / "roster.csv")
    assert set(found.people) == {"ann", "bob"} and found.people["ann"].lms_id == "4101"
    assert found.people["ann"].free_days == 1 and found.people["bob"].penalty == 0.5
    (tmp_path / "override.csv").write_text(override)
    ((key, mark),) = written_marks.load(tmp_path / "override.csv", {"ann"}).items()
    assert key == ("ann", "1.4", "code") and mark.comment == "agreed by mail"


def test_the_pictures_of_the_guides_are_small_and_described():
    for name in ("grading", "instructors"):
        text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
        for words, place in re.findall(r"!\[(.*?)\]\((.*?)\)", text):
            assert len(words) > 20 and (ROOT / "docs" / place).stat().st_size <= 60 * 1024
