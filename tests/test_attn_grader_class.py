"""A class with right, odd, dishonest and unreadable submissions, graded by the command itself."""

import csv
import fcntl
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from classroom import all_right, cell, classroom, filled, notebook, parts_of, save, wrong
from course import all_parts, machine_points
from sandbox_sessions import ATTN, MISSING, needs_sandbox, on_a_machine_like

from attn_course import cli, register
from attn_grader import grade_class

NAME = "01_copying"
FULL = machine_points(NAME)  # what the machine gives for it all
WRITTEN = sum(part.judge is None for part in all_parts(NAME))  # the answers a person reads
JUDGED = len(all_parts(NAME)) - WRITTEN
SCRIPT = "<script>document.title = 'pwned'</script><img src=x onerror=\"document.title='pwned'\">"
attn = functools.partial(on_a_machine_like, "")


def all_wrong():
    return filled(NAME, {(q.id, p.kind): wrong(p) for q, p in parts_of(NAME) if p.judge})


def checks(found):
    return [c for c in found["cells"] if "check" in c["metadata"]]


def skip_tags(found):
    for one in checks(found):
        one["metadata"] |= {"tags": ["skip-execution"], "nbgrader": {"points": 100, "grade": True}}


def forged_outputs(found):
    text = {"output_type": "stream", "name": "stdout", "text": "✔ 1.1 correct · 1 of 1 points"}
    for one in checks(found):
        one |= {"outputs": [text], "execution_count": 1}


def new_cell(found, place, source, kind="code"):
    name = f"new-{len(found['cells'])}"
    more = {"cell_type": kind, "metadata": {}, "source": source, "id": name}
    found["cells"].insert(place, more)


def check_of_their_own(found):
    lies = "import attn_course as c\nc.check = check = lambda *a: True"
    for one in checks(found):
        one["source"] = lies
    cell(found, "q1-1-code")["source"] = f"{lies}\nattention_weights = check"


def answers_called_checks(found):
    for one in found["cells"]:
        if "answer" in one["metadata"]:
            one["metadata"] = {"check": one["metadata"]["answer"]}


def no_metadata(found):
    for one in found["cells"]:
        one["metadata"] = {}
        one.pop("id")
    found["metadata"] = {}


def random_ids(found):
    """What jupytext makes of a notebook: new ids, our marks kept."""
    for number, one in enumerate(found["cells"]):
        one["id"] = f"cell-{number}"
        one["metadata"].pop("nbgrader", None)


def duplicated(found):
    answer = cell(found, "q1-6-code")
    found["cells"].insert(found["cells"].index(answer), dict(answer))


def reordered(found):
    answers = [c for c in found["cells"] if c["id"] in ("q1-1-code", "q1-3-code", "q1-6-code")]
    for one in answers:
        found["cells"].remove(one)
    found["cells"] += answers[::-1]


def deleted(found):
    found["cells"].remove(cell(found, "q1-4-code"))


def retyped(found):
    cell(found, "q1-4-code")["cell_type"] = "markdown"


def written_as_code(found):
    cell(found, "q1-7-written")["cell_type"] = "code"


def version_3(found):
    for one in found["cells"]:
        one["input"] = one["source"]
    cells = found.pop("cells")
    found |= {"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]}


def leaves(found):
    cell(found, "q1-1-code")["source"] = "import os\ndef attention_weights(*a, **k): os._exit(0)"


def magics_and_modules(found):
    """What many a notebook starts with; this machine has no such module."""
    one = next(one for one in found["cells"] if one["cell_type"] == "code")
    more = "%%capture\n!pip install \\\n  nonsense\nimport nonsense\nnonsense.set_theme()\n"
    one["source"] = more + "".join(one["source"])


def names_used_again(found):
    use = "copies = copies(np.zeros(2), 0)\ncopy_sharpness = copy_sharpness(9, 4, 0.1)"
    new_cell(found, len(found["cells"]), use)


def help_from_elsewhere(found):
    """A star, a list filled by a cell of its own, a derivation above its symbols."""
    for source in ("factors.append(1.0)", "factors = []", "from numpy import *"):
        new_cell(found, 1, source)
    body = "return factors[0] * sqrt(d) * log((n - 1) * (1 - epsilon) / epsilon)"
    cell(found, "q1-6-code")["source"] = f"def copy_sharpness(n, d, epsilon):\n    {body}"
    chain = cell(found, "q1-2-derive")
    found["cells"].remove(chain)
    found["cells"].insert(1, chain)


def words(text, kind):
    """Words in a new cell below the empty one that is meant for them."""

    def write(found):
        empty = cell(found, "q1-7-written")
        empty["source"] = "*Your answer to 1.7: replace this line.*"
        new_cell(found, found["cells"].index(empty) + 1, text, kind)

    return write


def answer_in_its_check(found):
    answer, test = cell(found, "q1-4-code"), cell(found, "q1-4-check")
    test["source"] = "".join(answer["source"]) + "\n\n" + "".join(test["source"])
    found["cells"].remove(answer)


def out_of_a_judge(found):
    source = "from attn_course.questions.copying import _largest_distance as copy_error_bound"
    cell(found, "q1-5-code")["source"] = source


def keeps_the_judge_busy(found):
    answer = cell(found, "q1-2-derive")
    source = "".join(answer["source"])
    slow = '(weight + sp.exp(sp.exp(10**10 * s)), "so")'
    answer["source"] = source.replace('(weight, "definition"),', f'(weight, "definition"), {slow},')


def script_in_words(found):
    cell(found, "q1-7-written")["source"] = SCRIPT


# student: (what they did, points of the machine, written answers)
DISHONEST = {
    "tags on checks": (skip_tags, 0, 0),
    "forged outputs": (forged_outputs, 0, 0),
    "a check of their own": (check_of_their_own, 0, 0),
}
ODD = {
    "right": (None, FULL, WRITTEN),
    "no metadata": (no_metadata, FULL, WRITTEN),
    "random ids": (random_ids, FULL, WRITTEN),
    "a duplicated cell": (duplicated, FULL, WRITTEN),
    "reordered cells": (reordered, FULL, WRITTEN),
    "words in a code cell": (written_as_code, FULL, WRITTEN),
    "format 3": (version_3, FULL, WRITTEN),
    "a deleted cell": (deleted, FULL - 1, WRITTEN),
    "a retyped cell": (retyped, FULL - 1, WRITTEN + 1),
    "leaves its process": (leaves, FULL - 1, WRITTEN),
    "answers called checks": (answers_called_checks, FULL, WRITTEN),
    "magics and modules": (magics_and_modules, FULL, WRITTEN),
    "names used again": (names_used_again, FULL, WRITTEN),
    "help from elsewhere": (help_from_elsewhere, FULL, WRITTEN),
    "words in a new cell": (words("Because.", "markdown"), FULL, WRITTEN),
    "words as a comment": (words("# Because.", "code"), FULL, WRITTEN),
    "out of a judge": (out_of_a_judge, FULL - 1, WRITTEN),
    "keeps the judge busy": (keeps_the_judge_busy, FULL - 1, WRITTEN + 1),
    "an answer in its check cell": (answer_in_its_check, FULL, WRITTEN),
    "<img src=x onerror=document.title=1>": (script_in_words, FULL, WRITTEN),
    "it's \"Zoë\" O'Neil; rm -rf *": (None, FULL, WRITTEN),
    "=HYPERLINK(1)": (None, FULL, WRITTEN),
    "long " + "x" * 230: (None, FULL, WRITTEN),
}
UNREADABLE = {
    "cut short": "its JSON breaks off",
    "empty file": "it is empty.",
    "another encoding": "it is not UTF-8 text",
    "a link": "it is a link, not a file.",
    "a linked folder": "it is a link, not a folder.",
    "an archive": "it is an archive; unpack it first.",
    "another name": "neither its name nor its cells",
    "an empty folder": "nothing was handed in.",
    "a pipe": "it is not a regular file.",
}


def write_class(folder):
    for who, (change, _, _) in (DISHONEST | ODD).items():
        found = all_wrong() if who in DISHONEST else all_right(NAME)
        if change:
            change(found)
        save(folder / who / f"{NAME}.ipynb", found)
    save(folder / "nbgrader's layout" / NAME / f"{NAME}.ipynb", all_right(NAME))
    save(folder / "untouched" / f"{NAME}.ipynb", notebook(NAME))
    write_unreadable(folder)


def write_unreadable(folder):
    for who in UNREADABLE.keys() - {"a linked folder"}:
        (folder / who).mkdir(parents=True)
    text = json.dumps(all_right(NAME))
    (folder / "cut short" / f"{NAME}.ipynb").write_text(text[:5_000])
    (folder / "empty file" / f"{NAME}.ipynb").touch()
    (folder / "another encoding" / f"{NAME}.ipynb").write_bytes(b'{"nbformat": "\xe9"}')
    (folder / "a link" / f"{NAME}.ipynb").symlink_to(folder / "right" / f"{NAME}.ipynb")
    (folder / "a linked folder").symlink_to(folder / "right", target_is_directory=True)
    (folder / "an archive" / f"{NAME}.ipynb.zip").write_bytes(b"PK")
    other = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "another name" / "homework.ipynb").write_text(json.dumps(other))
    os.mkfifo(folder / "a pipe" / f"{NAME}.ipynb")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class after one run: (submissions, out, what was printed, {student: row}).

    pytest's workers share it: the first to come grades, the others wait.
    """
    if MISSING:
        pytest.skip(f"this machine lacks {', '.join(MISSING)}")
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, out, said = base / "class", base / "graded", base / "said.json"
    with open(base / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            write_class(folder)
            done = attn("grade", folder, "--out", out, "--notebooks", "1", "--seed", "7")
            said.write_text(json.dumps([done.returncode, done.stdout, done.stderr]))
    return folder, out, json.loads(said.read_text()), rows(out)


def rows(out):
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {row["student"].removeprefix("'"): row for row in csv.DictReader(file)}


def results(out, who):
    name = next(p for p in (out / "students").glob("*.json") if p.stem[:30] == who[:30])
    return json.loads(name.read_text("utf-8"))


@pytest.mark.parametrize("who", DISHONEST)
def test_no_trick_with_check_cells_earns_a_point(graded, who):
    assert float(graded[-1][who]["total"]) == 0 and graded[-1][who]["problems"] == ""


@pytest.mark.parametrize("who", ODD)
def test_an_odd_notebook_is_graded_for_what_its_answers_do(graded, who):
    _, points, waiting = ODD[who]
    row = graded[-1][who]
    assert (float(row["total"]), int(row["awaiting"])) == (points, waiting)
    assert row["problems"] == ""


@pytest.mark.parametrize("who", UNREADABLE)
def test_an_unreadable_submission_gets_a_sentence_and_no_point(graded, who):
    row = graded[-1][who]
    assert UNREADABLE[who] in row["problems"]
    assert float(row["total"] or 0) == 0 and row["problems"].endswith(".")


def test_the_last_line_and_the_exit_status_say_what_could_not_be_graded(graded):
    _, _, (status, said, progress), found = graded
    bad = len(UNREADABLE) - 1  # an empty folder holds no file
    good = len(found) - len(UNREADABLE)
    assert status == 1
    assert said.splitlines()[-1].startswith(
        f"{good} notebooks of {len(found)} students graded, {bad} could"
    )
    waiting = sum(int(row["awaiting"]) for row in found.values())
    assert waiting > len(ODD) and f"{waiting} answers await a person." in said
    assert f"{good + bad}/{good + bad}" in progress and "notebooks/s" in progress


def test_columns_are_questions_subtotal_total_and_what_awaits(graded):
    row = graded[-1]["right"]
    assert list(row) == [
        *("student", *(question.id for question in register.questions_of(NAME)), NAME),
        *("total", "awaiting", "problems"),
    ]
    assert row[NAME] == row["total"] == f"{FULL:g}" and row["1.3"] == "0.5"
    assert "\n'=HYPERLINK(1)," in (graded[1] / "gradebook.csv").read_text("utf-8")
    assert graded[-1]["untouched"]["total"] == "0"
    assert graded[-1]["nbgrader's layout"]["total"] == f"{FULL:g}"


def test_results_follow_the_schema_of_gradescope(graded):
    found = results(graded[1], "right")
    assert found["score"] == FULL and len(found["tests"]) == len(all_parts(NAME))
    for test in found["tests"]:
        assert set(test) == {
            *("name", "number", "score", "max_score", "status", "output", "visibility")
        }
        assert test["status"] == ("passed" if test["score"] else "failed")
        assert 0 <= test["score"] <= test["max_score"] and test["visibility"] == "visible"


@pytest.mark.parametrize(
    ("who", "question", "sentence"),
    [
        ("a deleted cell", "1.4", "its cell is gone, and nothing has the name"),
        ("a retyped cell", "1.4", "A person will look at what is not run as an answer: cell"),
        ("leaves its process", "1.1", "it stopped the process (exit status 0)."),
        ("untouched", "1.1", "the answer is still empty."),
        ("a check of their own", "1.1", "one number came back"),
        ("keeps the judge busy", "1.2", "could not be decided"),
    ],
)
def test_a_lost_point_has_its_reason(graded, who, question, sentence):
    tests = results(graded[1], who)["tests"]
    found = [test for test in tests if test["number"] == question and sentence in test["output"]]
    assert found and found[0]["score"] == 0, tests


def test_nothing_a_student_wrote_is_markup_on_any_page(graded):
    pages = list(graded[1].rglob("*.html"))
    code = [page.stem for page in pages if page.stem.endswith(("-code", "-derive"))]
    assert len(pages) == len(graded[-1]) + 2 + len(code) and sorted(code) == [
        "1.2-derive",
        "1.4-code",
    ]
    for page in pages:
        text = page.read_text("utf-8")
        assert text.count("<script") == 1 and "<img" not in text, page.name


def test_points_of_a_person_are_merged_and_kept(graded, tmp_path):
    folder, out, _, _ = graded
    kept = tmp_path / "out"
    shutil.copytree(out, kept)
    given = tmp_path / "given.csv"
    grade = ["grade", folder, "--out", kept, "--notebooks", "1"]
    given.write_text("nobody,1.7,written,0.5,\n")
    refused = attn(*grade, "--written", given)
    assert refused.returncode == 2 and "line 1: there is no student 'nobody'." in refused.stderr
    assert not (kept / "written.csv").exists()
    given.write_text(
        "right,1.7,written,0.25,neat\n'=HYPERLINK(1),1.7,written,0.5,\ncut short,1.1,code,1,lifted"
    )
    attn(*grade, "--written", given)
    again = attn(*grade)
    found = rows(kept)
    assert (found["right"]["total"], found["right"]["awaiting"]) == (f"{FULL + 0.25:g}", "0")
    assert found["=HYPERLINK(1)"]["1.7"] == "0.5" and found["cut short"]["total"] == "1"
    waiting = sum(int(row["awaiting"]) for row in found.values())
    assert f"{waiting} answers await" in again.stdout
    assert "neat" in (kept / "students" / "right.html").read_text("utf-8")


@needs_sandbox
def test_only_what_anyone_handed_in_counts_and_all_in_the_roster_appear(tmp_path):
    save(tmp_path / "class" / "ann" / f"{NAME}.ipynb", all_right(NAME))
    (tmp_path / "roster.csv").write_text("student,name,id\nann,Ann Lee,17\nbob,Bob,18\n")
    arguments = ["grade", tmp_path / "class", "--out", tmp_path / "out", "--seed", "7"]
    known = ["--roster", tmp_path / "roster.csv", "--export", "canvas"]
    done = attn(*arguments, *known)
    assert done.returncode == 1 and "canvas.csv: 1 notebook is left blank" in done.stderr
    assert "Ann Lee,,17,,,\n" in (tmp_path / "out" / "canvas.csv").read_text("utf-8")
    assert attn(*arguments, *known, "--final").returncode == 0
    found = rows(tmp_path / "out")
    assert {"1.1", NAME} < found["ann"].keys() and "2.1" not in found["ann"]
    assert found["bob"]["total"] == "" and found["bob"]["problems"] == "nothing was handed in."
    canvas = (tmp_path / "out" / "canvas.csv").read_text().splitlines()
    assert canvas[2:] == [f"Ann Lee,,17,,,{FULL:g}", "Bob,,18,,,"]
    refused = attn(*arguments, "--export", "moodle")
    assert refused.returncode == 2 and "--export needs a --roster" in refused.stderr


@needs_sandbox
def test_a_changed_answer_loses_its_mark_and_regrade_runs_what_it_names(tmp_path):
    notebook_path = tmp_path / "class" / "ann" / f"{NAME}.ipynb"
    save(notebook_path, all_right(NAME))
    arguments = ["grade", tmp_path / "class", "--out", tmp_path / "out"]
    (tmp_path / "w.csv").write_text("student,question,points,grader\nann,1.7,1/3,Eve\n")
    attn(*arguments, "--written", tmp_path / "w.csv")
    assert float(rows(tmp_path / "out")["ann"]["1.7"]) == pytest.approx(1 / 3, abs=1e-5)
    for question, runs in (("2.1", False), ("1.4", True)):
        done = attn(*arguments, "--regrade", question)
        assert ("1/1" in done.stderr) == runs and "0 answers await" in done.stdout
    done = attn(*arguments, "--regrade", "7.7.7")
    assert done.returncode == 2 and "--regrade: there is no question 7.7.7" in done.stderr
    changed = all_right(NAME)
    cell(changed, "q1-7-written")["source"] = "On second thoughts: the keys are orthogonal."
    save(notebook_path, changed)
    said = "1 notebook of 1 student graded, 0 could not be, 1 answer awaits a person."
    assert said in attn(*arguments).stdout
    page = (tmp_path / "out" / "questions" / "1.7.html").read_text("utf-8")
    assert "has changed since 0.33 points were" in page and "by Eve" in page


@needs_sandbox
def test_points_of_a_student_who_left_are_kept_and_stop_nobody(tmp_path):
    for who in ("ann", "bob"):
        save(tmp_path / "class" / who / f"{NAME}.ipynb", notebook(NAME))
    arguments = ["grade", tmp_path / "class", "--out", tmp_path / "out", "--notebooks", "1"]
    (tmp_path / "w.csv").write_text("student,question,points\nann,1.7,0.5\nbob,1.7,0.5\n")
    attn(*arguments, "--written", tmp_path / "w.csv")
    shutil.move(tmp_path / "class" / "bob", tmp_path / "bob")
    assert attn(*arguments).returncode == 0 and list(rows(tmp_path / "out")) == ["ann"]
    shutil.move(tmp_path / "bob", tmp_path / "class" / "bob")
    assert attn(*arguments).returncode == 0 and rows(tmp_path / "out")["bob"]["1.7"] == "0.5"


@needs_sandbox
def test_a_batch_stopped_from_the_keyboard_says_so_in_a_word(tmp_path):
    # The key is pressed when Ann is graded; each of Bob's cells would take its twenty seconds.
    slow = dict.fromkeys(
        [(f"1.{i}", "code") for i in (1, 3, 4, 5, 6)], "import time\ntime.sleep(60)"
    )
    save(tmp_path / "class" / "ann" / f"{NAME}.ipynb", notebook(NAME))
    save(tmp_path / "class" / "bob" / f"{NAME}.ipynb", filled(NAME, slow))
    command = [*ATTN, "grade", str(tmp_path / "class"), "--out", str(tmp_path / "out")]
    pipe, temporary = subprocess.PIPE, tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    options = {"stderr": pipe, "text": True, "start_new_session": True, "env": environment}
    with subprocess.Popen(command, preexec_fn=listen_to_the_keyboard, **options) as process:
        while process.poll() is None and num_lines(tmp_path / "out") < 2:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert said.endswith("\nstopped.\n"), said
    assert process.returncode == 130
    assert "Process" not in said
    deadline = time.monotonic() + 120  # what a library has started may take a moment to end
    while list(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(temporary.iterdir()) == []


@needs_sandbox
def test_a_batch_killed_again_and_again_ends_in_the_same_gradebook(tmp_path):
    expected = classroom(tmp_path / "class", ["01_copying"], 8)
    arguments = ["grade", tmp_path / "class", "--notebooks", "1", "--seed", "3", "--out"]
    attn(*arguments, tmp_path / "whole")
    command = [*ATTN, *map(str, arguments), str(tmp_path / "torn")]
    for wanted in (3, 6):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and num_lines(tmp_path / "torn") < wanted:
            time.sleep(0.02)
        process.kill()
        process.wait()
    attn(*arguments, tmp_path / "torn")
    texts = [(tmp_path / name / "gradebook.csv").read_bytes() for name in ("whole", "torn")]
    assert texts[0] == texts[1]
    found = {
        who: (float(row["total"]), int(row["awaiting"]))
        for who, row in rows(tmp_path / "torn").items()
    }
    assert found == {who: tuple(points) for who, points in expected.items()}


def listen_to_the_keyboard():
    """Let Ctrl-C through again: a shell has it ignored by whatever it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def num_lines(out):
    found = out / "results.jsonl"
    return found.read_bytes().count(b"\n") if found.exists() else 0


def test_attn_grader_without_a_sandbox_is_refused_unless_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grade_class, "missing_mechanisms", lambda: ["Landlock"])
    (tmp_path / "class" / "someone").mkdir(parents=True)
    arguments = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out")]
    assert cli.main(arguments) == 2 and not (tmp_path / "out").exists()
    assert "this machine lacks Landlock" in capsys.readouterr().err
    assert cli.main([*arguments, "--no-sandbox"]) == 0
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["grade", "nowhere", "--out", "out"], "there is no folder 'nowhere'."),
        (["grade", "class/ann", "--out", "out"], "holds no folder; each student has one"),
        (["grade", "..", "--out", "out"], "out lies among the submissions"),
        (["grade", ".", "--out", "out", "--notebooks", "77"], "there is no notebook 77"),
        (["grade", ".", "--out", "out", "--notebooks", "x"], "there is no notebook x;"),
        (["grade", "class", "--out", "file"], "file is a file; --out is a folder."),
        (["grade", "file"], "file is no notebook: its name ends neither in .ipynb nor in .py."),
        (["grade", "class"], "--out is missing: the folder for gradebook, feedback and pages."),
        (["diff", "01_copying.ipynb"], "there is no file 01_copying.ipynb."),
        (["release", "--out", "nowhere/a.zip"], "there is no folder nowhere for a.zip."),
        (["release", "--out", "x"], "--out must end in .zip, such as x.zip."),
        (["gradescope", "--notebooks", "1", "--out", "x"], "--out must end in .zip,"),
        (["grade", "class", "--out", "file/out", "--no-sandbox"], "file/out: not a directory."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "class" / "ann").mkdir(parents=True)
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@needs_sandbox
def test_grade_of_one_file_prints_its_verdicts_and_a_total_and_writes_nothing(tmp_path):
    save(tmp_path / "any name.ipynb", all_right(NAME))
    done = attn("grade", tmp_path / "any name.ipynb")
    assert done.returncode == 0 and "✔ 1.4 correct · 1 of 1 points" in done.stdout, done.stderr
    assert done.stdout.endswith(f"{FULL:g} of 6 points, 1 answer awaits a person.\n")
    assert list(tmp_path.iterdir()) == [tmp_path / "any name.ipynb"]


def test_diff_shows_the_answers_and_nothing_else(tmp_path, capsys):
    found = all_right(NAME)
    source = "def copy_query(keys, j):\n    return '<b>mine</b>'"
    cell(found, "q1-4-code")["source"] = f"{source}\n# \x1b[2J clears the screen"
    save(tmp_path / f"{NAME}.ipynb", found)
    assert cli.main(["diff", str(tmp_path / f"{NAME}.ipynb")]) == 0
    said = capsys.readouterr().out
    assert (
        "+      return '<b>mine</b>'" in said
        and "1.4 A query" in said
        and "import numpy" not in said
    )
    assert "SOLUTION" not in said and "1.6" not in said and "\x1b" not in said
    page = tmp_path / "diff.html"
    assert cli.main(["diff", str(tmp_path / f"{NAME}.ipynb"), "--html", str(page)]) == 0
    assert '<td class="gone">    return &#39;&lt;b&gt;mine' in page.read_text("utf-8")


def test_the_autograder_grades_in_an_empty_folder_and_holds_no_solution(tmp_path):
    target = tmp_path / "autograder.zip"
    assert cli.main(["gradescope", "--notebooks", "1", "--out", str(target)]) == 0
    source = tmp_path / "autograder" / "source"
    with zipfile.ZipFile(target) as archive:
        archive.extractall(source)
        mode = archive.getinfo("run_autograder").external_attr >> 16
    assert mode == 0o755
    held = {path.name for path in source.rglob("*")}
    assert {"setup.sh", "run_autograder", "copying.py"} <= held
    assert "solutions" not in held and f"{NAME}.ipynb" not in held
    save(tmp_path / "autograder" / "submission" / f"{NAME}.ipynb", all_right(NAME))
    known = {"AUTOGRADER": str(tmp_path / "autograder"), "PYTHON": sys.executable}
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    subprocess.run(["sh", source / "run_autograder"], env={**environment, **known}, check=True)
    found = json.loads((tmp_path / "autograder" / "results" / "results.json").read_text("utf-8"))
    assert found["score"] == FULL and len(found["tests"]) == len(all_parts(NAME))
