"""A contributor's hour: a new question and a new notebook, filled in, built, judged and graded."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from course import ROOT

from attn_course import register
from attn_course.building import build, scaffold
from attn_course.errors import UserError

# What the build, the judges and the grader read.
PROJECT = (
    *("attn_course", "attn_utils", "docs", "notebooks", "requirements", "solutions", "tests"),
    *("CHANGELOG.md", "README.md", "pyproject.toml"),
)
NUMBER = len(register.NOTEBOOKS)
NOTEBOOK = f"{NUMBER:02}_made_by_a_test"
QUESTION = f"1.{len(register.questions_of('01_copying')) + 1}"
CHAIN = f"0.{len(register.questions_of('00_start_here')) + 1}"
FIRST = f"{NUMBER}.1"


@pytest.fixture
def project(tmp_path):
    """A copy of the project, without its history and environments."""
    left_out = shutil.ignore_patterns(
        "__pycache__", "*.pt", "translation_*.json", "embedded_*.json"
    )
    for name in PROJECT:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, tmp_path / name, ignore=left_out)
        else:
            shutil.copy(place, tmp_path)
    return tmp_path


def run(project, *words):
    """What a command prints, run by the copy's own code."""
    environment = {**os.environ, "PYTHONPATH": str(project)}
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def attn(project, *words):
    return run(project, "-m", "attn_course.cli", *words)


def fill(path, pairs):
    """Replace each placeholder of a file, which must be there once."""
    text = path.read_text("utf-8")
    for old, new in pairs:
        assert text.count(old) == 1, f"{path.name} holds {old!r} {text.count(old)} times"
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def name_of(question):
    return f"answer_{question.replace('.', '_')}"


def fill_in(project, module, source, question):
    """A small question: twice a number. Judge, title, hints, right and wrong answers, solution."""
    name = name_of(question)
    fill(
        project / "attn_course" / "questions" / f"{module}.py",
        [
            (
                f'    raise NotYet(\n        "the judge of {question} is not written yet; "\n'
                f'        "write it in attn_course/questions/{module}.py."\n    )\n',
                "    from attn_course.answers import number\n\n"
                "    for x in rng.normal(size=5):\n"
                f'        found = number({name}(x), "the result")\n'
                "        if not abs(found - 2 * x) <= 1e-9:\n"
                '            said = "you squared it" if abs(found - x * x) <= 1e-9 else "it is off"\n'
                '            said = "you gave it back" if found == x else said\n'
                '            raise NotYet(f"{said}: for {x:.3g} it gave {found:.3g}.")\n'
                '    return "it doubles five numbers."\n',
            ),
            ("A title to write", "Twice"),
            ("A first hint to write: a question that points the way.", "What is twice one?"),
            (
                "A second hint to write: one step further, and still not the answer.",
                "Add the number to itself.",
            ),
        ],
    )
    fill(
        project / "tests" / "bank" / f"{module}.py",
        [
            (
                f'RIGHT["{question}"] = {{}}\n',
                f'RIGHT["{question}"] = {{\n'
                '    "sum": (lambda x: x + x,),\n    "product": (lambda x: x * 2,),\n'
                '    "loop": (lambda x: sum([x, x]),),\n}\n',
            ),
            (
                f'WRONG["{question}"] = {{}}\n',
                f'WRONG["{question}"] = {{\n'
                '    "square": (lambda x: x * x, "you squared it"),\n'
                '    "itself": (lambda x: x, "you gave it back"),\n'
                '    "zero": (lambda x: 0 * x, "it is off"),\n}\n',
            ),
        ],
    )
    answer = ("    return x\n    # END SOLUTION", "    return 2 * x\n    # END SOLUTION")
    fill(project / "solutions" / f"{source}.py", [answer])


def test_a_new_question_and_a_new_notebook_are_green_once_they_are_filled_in(project):
    for words in (("question", QUESTION), ("notebook", NOTEBOOK)):
        status, said = attn(project, "new", *words)
        assert status == 0 and "docs/contributing-a-question.md" in said, said
    script = f"from attn_course import check; print(check('{QUESTION}', abs))"
    status, said = run(project, "-c", script)
    assert "is not written yet; write it in attn_course/questions/copying.py" in said

    fill_in(project, "copying", "01_copying", QUESTION)
    fill_in(project, NOTEBOOK[3:], NOTEBOOK, FIRST)
    status, said = attn(project, "build", "01", f"{NUMBER:02}")
    assert status == 0, said
    status, said = attn(project, "build", "--check", "01", f"{NUMBER:02}")
    assert status == 0, said

    tests = [
        "tests/test_questions.py",
        "tests/test_questions_input_kinds.py",
        "tests/test_project.py",
    ]
    pytest_quietly = "-m pytest -q -p no:nbval -p no:cacheprovider -k".split()
    chosen = f"{QUESTION} or {FIRST} or minutes or points or hints"
    status, said = run(project, *pytest_quietly, chosen, *tests)
    assert status == 0, said[-3000:]

    for name in ("01_copying", NOTEBOOK):
        (project / "class" / "ann").mkdir(parents=True, exist_ok=True)
        shutil.copy(project / "solutions" / f"{name}.ipynb", project / "class" / "ann")
    status, said = attn(project, "grade", "class", "--out", "graded", "--no-sandbox")
    assert status == 0, said
    book = (project / "graded" / "gradebook.csv").read_text("utf-8").splitlines()
    row = dict(zip(book[0].split(","), book[-1].split(","), strict=True))
    assert float(row[QUESTION]) == scaffold.POINTS and float(row[FIRST]) == scaffold.POINTS


PARTS = ("derive", "code", "written")


def test_a_new_question_has_a_part_of_each_kind_and_fails_politely_until_it_is_filled_in(project):
    options = [word for kind in PARTS for word in ("--kind", kind)]
    status, said = attn(project, "new", "question", CHAIN, *options)
    assert status == 0, said
    status, said = attn(project, "build", "00")
    assert status == 0, said
    notebook = (project / "solutions" / "00_start_here.ipynb").read_text("utf-8")
    for kind in PARTS:
        assert f'"id": "q{CHAIN.replace(".", "-")}-{kind}"' in notebook
    script = f"""
import sympy as sp
from attn_course import check, derive
x = sp.Symbol("x", positive=True)
print(check("{CHAIN}", derive((x, "given"))))
print(check("{CHAIN}", lambda x: x))
"""
    status, said = run(project, "-c", script)
    assert "not attempted" in said, said
    assert "is not written yet; write it in attn_course/questions/start_here.py" in said
    registered = (project / scaffold.REGISTER).read_text("utf-8")
    assert f'    "{CHAIN}": {{"derive": 0, "code": 0, "written": 0}},' in registered


@pytest.mark.parametrize("name", register.NOTEBOOKS)
def test_a_new_question_stands_between_the_last_one_and_the_next_section(tmp_path, name):
    source = f"solutions/{name}.py"
    changed = [source, f"attn_course/questions/{name[3:]}.py", f"tests/bank/{name[3:]}.py"]
    for file in (*changed, scaffold.REGISTER, "CHANGELOG.md"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    question = f"{int(name[:2])}.{len(register.questions_of(name)) + 1}"
    scaffold.new_question(tmp_path, question)
    text = (tmp_path / source).read_text("utf-8")
    before, after = text.split(f"# ### {question}\n")
    assert not re.search("^# ## ", before[before.rindex("# ### ") :], re.M)
    following = after[after.index("check(") :].split("\n\n", 1)[1]
    assert re.match(r"# %% \[markdown\].*\n# ## ", following), following[:200]


@pytest.mark.parametrize(
    ("make", "words", "sentence"),
    [
        (scaffold.new_question, ["1.99"], f"the next question of 01_copying is {QUESTION}"),
        (scaffold.new_question, ["99.1"], "there is no notebook 99; attn new notebook makes one"),
        (scaffold.new_question, ["one"], '"one" is no question; write its number as 1.8'),
        (scaffold.new_question, [QUESTION, ("code", "code")], "each kind; code was given twice"),
        (scaffold.new_question, [QUESTION], "run attn new in the folder of the project"),
        (scaffold.new_notebook, ["99_far"], f"the next notebook is {NUMBER:02}_far"),
        (scaffold.new_notebook, ["Far Out"], '"Far Out" is no name of a notebook; write it as 15_'),
    ],
)
def test_what_cannot_be_is_answered_with_what_can_and_nothing_is_written(
    tmp_path, make, words, sentence
):
    with pytest.raises(UserError, match=re.escape(sentence)):
        make(tmp_path, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_needs_torch_once_its_source_imports_it(tmp_path):
    for folder in ("attn_course", "solutions"):
        (tmp_path / folder).mkdir()
    name = "00_start_here"
    source = tmp_path / "solutions" / f"{name}.py"
    text = (ROOT / "solutions" / source.name).read_text("utf-8")
    record = tmp_path / "attn_course" / register.TORCH_NOTEBOOKS.name
    for imported, names in (("import torchless", ""), ("import torch", f"{name}\n")):
        source.write_text(text.replace("import numpy as np\n", f"{imported}\n", 1), "utf-8")
        record.write_text("08_of_old\n", "utf-8")
        assert any(said.startswith(f"{record.name}: ") for said in build.problems(tmp_path))
        (written,) = build.torch_notebooks(tmp_path).values()
        assert written == names


def test_the_package_knows_which_notebooks_import_torch():
    (written,) = build.torch_notebooks(ROOT).values()
    assert [name for name in register.NOTEBOOKS if register.needs_torch(name)] == written.split()
