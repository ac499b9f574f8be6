"""Odd notebooks of honest students, and notebooks of the other kind, in one class, in each tier.

Whatever is right in Jupyter is run, or a person is called: no honest work is silently zero. What only looks
like it earns nothing, and never has the machine say that a person must look.
"""

import copy
import json

import pytest
from classroom import all_right, cell, notebook, right, save
from course import machine_points
from sandbox_sessions import LIKE, TIERS, needs_sandbox, on_a_machine_like, rows, said_of

from attn_course import register
from attn_grader import copies

NAME = "01_copying"
FULL = machine_points(NAME)
WRITTEN = 1  # answers in words
ALL = sum(len(question.parts) for question in register.questions_of(NAME))
pytestmark = needs_sandbox


def source_of(question_id):
    question = register.find(question_id)
    return right(NAME, question, question.part("code"))


def new_cell(source, kind="code", **more):
    extra = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": "mine", "metadata": {}, "source": source, **extra, **more}


def with_cells(*cells, first=True, **answers):
    """All right, with these cells on top or below, and these sources of answers ("q1_4": source)."""
    found = all_right(NAME)
    for name, source in answers.items():
        cell(found, f"{name.replace('_', '-')}-code")["source"] = source
    place = 1 if first else len(found["cells"])
    found["cells"][place:place] = cells
    return found


def helped(setup, answer, **more):
    """1.6 needs what a cell on top sets up in a way that its text does not tell."""
    return with_cells(new_cell(setup), q1_6=answer, **more)


FORMULA = "np.sqrt(d) * np.log((n - 1) * (1 - epsilon) / epsilon)"
ANSWER = "def copy_sharpness(n, d, epsilon):\n    "
LOOKED_UP = f"{ANSWER}return helpers['sharpness'](n, d, epsilon)"
SHARPNESS = f"lambda n, d, epsilon: {FORMULA}"


def in_a_copied_check_cell():
    found = helped(f"def sharpness(n, d, epsilon):\n    return {FORMULA}", "")
    cell(found, "mine")["metadata"] = {"check": "1.6"}
    cell(found, "q1-6-code")["source"] = f"{ANSWER}return sharpness(n, d, epsilon)"
    return found


def magic(name):
    return with_cells(q1_6=f"{name}\n{source_of('1.6')}")


# Each a notebook, the points of the machine, and how many answers await a person.
HONEST = {
    "np.seterr in a cell of its own": (
        helped(
            "np.seterr(all='raise')",
            f"{ANSWER}assert np.geterr()['over'] == 'raise'\n    return {FORMULA}",
        ),
        FULL,
        WRITTEN,
    ),
    "a function fills a table": (
        helped(
            "helpers = {}\ndef fill(table):\n    table['sharpness'] = "
            + SHARPNESS
            + "\nfill(helpers)",
            LOOKED_UP,
        ),
        FULL,
        WRITTEN,
    ),
    "a table is filled in a cell below": (
        with_cells(
            new_cell("helpers = {}\ndef fill(table):\n    table['sharpness'] = " + SHARPNESS),
            new_cell("fill(helpers)"),
            q1_6=LOOKED_UP,
        ),
        FULL,
        WRITTEN,
    ),
    "a loop that calls": (
        with_cells(
            new_cell(f"helpers = {{}}\ndef add(name):\n    helpers[name] = {SHARPNESS}"),
            new_cell("for name in ['sharpness']:\n    add(name)"),
            q1_6=LOOKED_UP,
        ),
        FULL,
        WRITTEN,
    ),
    "setattr on a class": (
        with_cells(
            new_cell("class Mine:\n    pass"),
            new_cell(f"setattr(Mine, 'sharpness', staticmethod({SHARPNESS}))"),
            q1_6=f"{ANSWER}return Mine.sharpness(n, d, epsilon)",
        ),
        FULL,
        WRITTEN,
    ),
    "a name by globals": (
        helped(f"globals()['sharpness'] = {SHARPNESS}", f"{ANSWER}return sharpness(n, d, epsilon)"),
        FULL,
        WRITTEN,
    ),
    "a name by exec": (
        helped(f"exec('sharpness = {SHARPNESS}')", f"{ANSWER}return sharpness(n, d, epsilon)"),
        FULL,
        WRITTEN,
    ),
    "an answer by exec": (
        with_cells(new_cell(f"exec({source_of('1.6')!r})"), q1_6="# above"),
        FULL,
        WRITTEN,
    ),
    "a deeper recursion": (
        helped(
            "import sys\nsys.setrecursionlimit(9_000)",
            f"def down(k):\n    return 0 if k == 0 else down(k - 1)\n{ANSWER}return down(2_500) + {FORMULA}",
        ),
        FULL,
        WRITTEN,
    ),
    "a helper in a copied check cell": (in_a_copied_check_cell(), FULL, WRITTEN),
    "an unknown cell magic": (magic("%%mypy --strict"), FULL, WRITTEN),
    "a cell magic with options": (magic("%%time_it_twice -n 3"), FULL, WRITTEN),
    "a cell in another language": (
        with_cells(new_cell("%%bash\nls -la | grep x\nfor f in *; do echo $f; done")),
        FULL,
        WRITTEN,
    ),
    "%run of a file that was not handed in": (
        helped("%run helpers.py", f"{ANSWER}return sharpness(n, d, epsilon)"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "%run, and nothing of it is used": (
        helped("%run helpers.py", f"{ANSWER}return 1.0"),
        FULL - 0.5,
        WRITTEN,
    ),
    "names of %pylab": (
        helped("%pylab inline", f"{ANSWER}return {FORMULA.replace('np.', '')}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a function in Cython": (
        helped(
            "%%cython\ncpdef double sharpness(double n, double d, double epsilon):\n    return n",
            f"{ANSWER}return sharpness(n, d, epsilon)",
        ),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a package that is not here": (
        helped("import nonesuch", f"{ANSWER}return nonesuch.log(n) + {FORMULA}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a package that is not here, in the answer": (
        with_cells(q1_6=f"{ANSWER}from nonesuch import log\n    return {FORMULA}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a package that is not here, and not used": (
        helped("import nonesuch", source_of("1.6")),
        FULL,
        WRITTEN,
    ),
    "a pool of 32 threads": (
        with_cells(
            q1_6="import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
            f"{ANSWER}together = threading.Barrier(32)\n"
            "    with ThreadPoolExecutor(32) as pool:\n"
            f"        return list(pool.map(lambda _: together.wait() * 0 + {FORMULA}, range(32)))[0]"
        ),
        FULL,
        WRITTEN,
    ),
    "a cell that stops": (
        with_cells(q1_6=f"x = {{}}['key']\n{ANSWER}return {FORMULA}"),
        FULL - 0.5,
        WRITTEN,
    ),
    "a file that an earlier cell wrote": (
        helped(
            "import tempfile\npath = tempfile.mkdtemp() + '/x.npy'\nnp.save(path, 1.0)",
            f"factor = np.load(path)\n{ANSWER}return factor * {FORMULA}",
        ),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a file of data": (
        with_cells(q1_6=f"factor = np.loadtxt('factor.csv')\n{ANSWER}return factor * {FORMULA}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "another program": (
        helped(
            "import subprocess\nfactor = float(subprocess.check_output(['echo', '1']))",
            f"{ANSWER}return factor * {FORMULA}",
        ),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a file that no answer needs": (
        helped("np.save('x.npy', 1.0)", f"{ANSWER}return 1.0"),
        FULL - 0.5,
        WRITTEN,
    ),
    "figures of one's own that fail": (
        with_cells(new_cell("plt.plot([1, 2], [1, 2, 3])"), q1_6=f"{ANSWER}return 1.0"),
        FULL - 0.5,
        WRITTEN,
    ),
    "an answer under another name": (
        with_cells(q1_6=source_of("1.6").replace("def copy_sharpness", "def sharpness")),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a helper of the same name below": (
        with_cells(
            new_cell("def sharpness(x):\n    return x + 1"),
            first=False,
            q1_6=f"def sharpness(n, d, epsilon):\n    return {FORMULA}\n"
            f"{ANSWER}return sharpness(n, d, epsilon)",
        ),
        FULL,
        WRITTEN,
    ),
    "a constant that a cell below changes": (
        with_cells(
            new_cell("factor = 3.0"),
            first=False,
            q1_6=f"factor = 1.0\n{ANSWER}return factor * {FORMULA}",
        ),
        FULL,
        WRITTEN,
    ),
    "a name of Python's that a cell below takes": (
        with_cells(new_cell("max = 3"), first=False, q1_6=f"{ANSWER}return max({FORMULA}, 0.0)"),
        FULL,
        WRITTEN,
    ),
    "a worse version of the answer below": (
        with_cells(new_cell(f"{ANSWER}return np.log(n)"), first=False),
        FULL,
        WRITTEN,
    ),
    "a worse version of the answer above": (
        with_cells(new_cell(f"{ANSWER}return np.log(n)")),
        FULL,
        WRITTEN,
    ),
    "a pool of processes": (
        with_cells(
            q1_6=f"from concurrent.futures import ProcessPoolExecutor\n{ANSWER}"
            f"with ProcessPoolExecutor(2) as pool:\n        return list(pool.map(float, [{FORMULA}]))[0]"
        ),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a file that the answer itself reads": (
        with_cells(q1_6=f"{ANSWER}return np.loadtxt('factor.csv') * {FORMULA}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a file that the answer itself writes": (
        with_cells(q1_6=f"{ANSWER}np.save('cache.npy', n)\n    return {FORMULA}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a file of code that was not handed in": (
        helped("exec(open('helpers.py').read())", f"{ANSWER}return sharpness(n, d, epsilon)"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "more memory than there is here": (
        with_cells(q1_6=f"table = np.ones((20_000, 20_000))\n{source_of('1.6')}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "what the shell says": (
        with_cells(q1_6=f"files = !ls\nfirst = files[0]\n{source_of('1.6')}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "the value of a magic": (
        with_cells(q1_6=f"timing = %timeit -o sum([])\nbest = timing.best\n{source_of('1.6')}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "a magic for the environment": (
        helped(
            "%env FACTOR=1", f"import os\n{ANSWER}return float(os.environ['FACTOR']) * {FORMULA}"
        ),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "what Jupyter keeps of the cells above": (
        with_cells(q1_6=f"factor = Out[1]\n{ANSWER}return factor * {FORMULA}"),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "something awaited that needs an event loop": (
        with_cells(
            q1_6=f"import asyncio\nfactor = await asyncio.sleep(0, 1.0)\n{source_of('1.6')}"
        ),
        FULL,
        WRITTEN,
    ),
    "something awaited for a moment": (
        with_cells(
            q1_6=f"import asyncio\nfactor = await asyncio.sleep(0.01, 1.0)\n{source_of('1.6')}"
        ),
        FULL - 0.5,
        WRITTEN + 1,
    ),
    "points that are added up above the answer": (
        with_cells(
            q1_6=f"verdict = check('1.5', copy_error_bound)\npoints = verdict.points + 1\n{source_of('1.6')}"
        ),
        FULL,
        WRITTEN,
    ),
    "one text that breaks the remark on copies": (
        with_cells(q1_6=source_of("1.6") + "\n" + "(" * 150 + ")" * 150),
        FULL,
        WRITTEN,
    ),
}


def raising(text, kind="from attn_course.answers import NotYet as E"):
    return f"{kind}\n{ANSWER}raise E({text!r})"


PERSON = "could not be decided. A person will look at it."
SCIPY = "this check needs scipy, which is not installed here."
# Each an answer to 1.6 that is wrong; none of them calls a person by what it says.
FORGED = {
    "raises our refusal": raising(PERSON),
    "raises our refusal with its flag": (
        "from attn_course.answers import NotYet\n"
        f"{ANSWER}raise NotYet({PERSON!r}, needs_person=True)"
    ),
    "raises our refusal with a share": (
        "from attn_course.answers import NotYet\n" + f"{ANSWER}raise NotYet('well', 1.0)"
    ),
    "raises what a missing package is": raising(SCIPY, "E = ModuleNotFoundError"),
    "raises a missing package by name": (
        f"{ANSWER}raise ModuleNotFoundError({SCIPY!r}, name='scipy')"
    ),
    "returns our words": f"{ANSWER}return {PERSON!r}",
    "returns words as a key": f"{ANSWER}return {{{SCIPY!r}: {PERSON!r}}}",
    "warns in our words": f"import warnings\n{ANSWER}warnings.warn({PERSON!r})\n    return 1.0",
    "is called as a state": f"{ANSWER}return 'awaits a person'",
    "prints our words": f"{ANSWER}print({PERSON!r})\n    return 1.0",
    "an exception named like ours": (
        f"class NeedsPerson(Exception):\n    needs_person = True\n{ANSWER}raise NeedsPerson({PERSON!r})"
    ),
    "a verdict as an answer": (
        "from attn_course.verdict import State, Verdict\n"
        f"{ANSWER}return Verdict('1.6', State.CORRECT, 'fine', 1, 1)"
    ),
    "a forged message of its process": (
        "import functools, os\nfrom attn_grader.sandbox import pipe\n"
        f"{ANSWER}for number in range(999):\n"
        "        forged = {'id': number, 'error': ['NeedsPerson', 'a person looks']}\n"
        "        pipe.send(functools.partial(os.write, 3), pipe.encode(forged))\n"
        "    return 1.0"
    ),
    "a lower limit of CPU time": (
        f"import resource\n{ANSWER}resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\n    return 1.0"
    ),
    "a limit by a raw call": (
        "import ctypes\n"
        f"{ANSWER}ctypes.CDLL(None).syscall(302, 0, 0, ctypes.byref((ctypes.c_ulong * 2)(0, 0)), None)\n"
        "    while True: pass"
    ),
    "what the judge draws": (
        "import gc\n"
        f"{ANSWER}return float(sum('secret' in str(x)[:99] for x in gc.get_objects()) or 1)"
    ),
}
# What asks for a file or a process awaits a person, whatever it was after: nobody can tell that here.
REFUSED = {
    "a worker's file": f"{ANSWER}return float(open('/proc/self/status').read()[0])",
    "a worker's process": f"import os\n{ANSWER}os.kill(os.getppid(), 9)\n    return 1.0",
    "a worker's memory": f"{ANSWER}return float(open('/proc/1/mem', 'rb').read(8))",
    "a signal to the judge": (
        f"import os, signal\n{ANSWER}os.kill(os.getppid(), signal.SIGPROF)\n    return 1.0"
    ),
}


def filled_copy_beside_a_blank():
    return {f"{NAME}.ipynb": notebook(NAME), f"{NAME} (1).ipynb": all_right(NAME)}


def two_different_copies():
    wrong = with_cells(q1_6=f"{ANSWER}return 1.0")
    return {f"{NAME}.ipynb": wrong, f"{NAME} (1).ipynb": all_right(NAME)}


def two_equal_copies():
    again = copy.deepcopy(all_right(NAME))
    again["metadata"]["saved"] = "again"
    return {f"{NAME}.ipynb": all_right(NAME), f"{NAME} (1).ipynb": again}


# Files of a student, the points of the machine, how many await a person, and what is said.
FILES = {
    "a filled copy beside a blank": (filled_copy_beside_a_blank(), FULL, WRITTEN, ""),
    "two different copies": (
        two_different_copies(),
        FULL - 0.5,
        WRITTEN + 1,
        "01_copying (1).ipynb was handed in too; a person looks at it.",
    ),
    "two equal copies": (two_equal_copies(), FULL, WRITTEN, ""),
    "a damaged copy and a good one": (
        {f"{NAME}.ipynb": "{", f"{NAME} (1).ipynb": all_right(NAME)},
        FULL,
        WRITTEN,
        "",
    ),
    "only a PDF": ({f"{NAME}.pdf": "%PDF-1.4"}, None, ALL, "a file of type PDF was handed in"),
    "only a PDF of another name": ({"homework.pdf": "%PDF-1.4"}, None, ALL, "a file of type PDF"),
    "only a web page": ({f"{NAME}.html": "<p>"}, None, ALL, "a file of type HTML was handed in"),
    "a PDF beside the notebook": (
        {f"{NAME}.ipynb": all_right(NAME), f"{NAME}.pdf": "%PDF-1.4"},
        FULL,
        WRITTEN,
        "",
    ),
}


@pytest.fixture(scope="module", params=TIERS)
def out(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("honest")
    for who, (found, _, _) in HONEST.items():
        save(folder / "class" / who / f"{NAME}.ipynb", found)
    for who, answer in (FORGED | REFUSED).items():
        save(folder / "class" / who / f"{NAME}.ipynb", with_cells(q1_6=answer))
    for who, (files, *_) in FILES.items():
        for name, content in files.items():
            save(folder / "class" / who / name, content)
    options = ["--out", folder / "out", "--seed", "3", "--notebooks", "1"]
    done = on_a_machine_like(LIKE[request.param], "grade", folder / "class", *options)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    return folder / "out"


def totals(out, who):
    row = rows(out)[who]
    return float(row["total"]) if row["total"] else None, int(row["awaiting"])


@pytest.mark.parametrize("who", HONEST)
def test_honest_work_is_run_or_awaits_a_person(out, who):
    _, points, awaiting = HONEST[who]
    assert totals(out, who) == (points, awaiting), said_of(out, who, "1.6")


def test_a_cell_that_did_not_run_is_not_said_to_have_been_called(out):
    told = said_of(out, "a cell that stops", "1.6")
    assert "the cell of copy_sharpness did not run: your code stopped with KeyError" in told


@pytest.mark.parametrize("who", FORGED)
def test_no_words_of_an_answer_call_a_person_or_earn_a_point(out, who):
    assert totals(out, who) == (FULL - 0.5, WRITTEN), said_of(out, who, "1.6")


@pytest.mark.parametrize("who", REFUSED)
def test_whoever_asks_for_what_is_not_here_gets_a_person_and_no_point(out, who):
    assert totals(out, who) == (FULL - 0.5, WRITTEN + 1), said_of(out, who, "1.6")


@pytest.mark.parametrize("who", FILES)
def test_of_several_files_or_none_that_can_be_run_nothing_is_silently_zero(out, who):
    _, points, awaiting, sentence = FILES[who]
    assert totals(out, who) == (points, awaiting)
    text = (out / "students" / f"{who}.html").read_text("utf-8") + rows(out)[who]["problems"]
    assert sentence in text and "nothing was handed in" not in text


def test_a_copy_that_is_taken_away_has_its_notebook_graded_again(tmp_path):
    for name, content in two_different_copies().items():
        save(tmp_path / "class" / "ann" / name, content)

    def grade():
        done = on_a_machine_like(
            "", "grade", tmp_path / "class", "--out", tmp_path / "out", "--notebooks", "1"
        )
        assert done.returncode == 0, done.stderr
        return totals(tmp_path / "out", "ann")

    assert grade() == (FULL - 0.5, WRITTEN + 1)
    (tmp_path / "class" / "ann" / f"{NAME}.ipynb").unlink()
    assert grade() == (FULL, WRITTEN)


def graded(tmp_path, name, found, *options):
    save(tmp_path / "class" / "ann" / f"{name}.ipynb", found)
    command = ["grade", tmp_path / "class", "--out", tmp_path / "out", *options]
    on_a_machine_like("", *command)
    return rows(tmp_path / "out")["ann"], totals(tmp_path / "out", "ann")


def test_a_notebook_under_the_name_of_another_awaits_a_person(tmp_path):
    other = "02_average_of_two"
    row, found = graded(tmp_path, other, all_right(NAME), "--notebooks", "1", "2")
    assert found == (None, sum(len(question.parts) for question in register.questions_of(other)))
    assert f"its cells are those of {NAME}; a person looks at it." in row["problems"]


def test_an_answer_whose_cell_needs_more_time_than_there_is_awaits_a_person(tmp_path):
    slow = with_cells(q1_6=f"import time\ntime.sleep(99)\n{source_of('1.6')}")
    _, found = graded(tmp_path, NAME, slow, "--timeout", "8")
    assert found == (FULL - 0.5, WRITTEN + 1)


def test_results_keep_the_named_mistake_and_what_a_person_must_see(out):
    lines = (out / "results.jsonl").read_text().splitlines()
    parts = [part for line in lines for part in json.loads(line).get("parts", [])]
    assert {"mistake", "needs_person"} <= set(parts[0])


@pytest.mark.parametrize("error", [SystemError, MemoryError, RecursionError])
def test_a_text_on_which_the_tokenizer_fails_costs_the_remark_on_it_only(monkeypatch, error):
    real = copies.tokenize.generate_tokens

    def fails_on_one(readline):
        if "odd" in (line := readline()):
            raise error
        yield from real(iter([line, ""]).__next__)

    monkeypatch.setattr(copies.tokenize, "generate_tokens", fails_on_one)
    line = "; ".join(f"x{k} = {k} + y[{k} * 2]" for k in range(40))
    code = {"1.6": {"ann": line, "bob": line, "eve": f"odd = {line}"}}
    pairs = [(likeness.one, likeness.other) for likeness in copies.alike_pairs(code)]
    assert pairs == [("ann", "bob")]
