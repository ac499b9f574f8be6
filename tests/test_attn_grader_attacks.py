"""Notebooks that want points they have not earned, graded in one class beside honest ones.

Each is right but for one answer; it loses the points of that one, is told why, and costs nobody else any.
A chain that is false, or that a person must decide on, loses its share of the part.
"""

import json
from textwrap import indent

import pytest
from classroom import all_right, cell, cell_id, filled, notebook, parts_of, save
from course import all_parts, machine_points
from sandbox_sessions import LIKE, TIERS, on_a_machine_like, rows, said_of

NAME = "01_copying"
NAMES = (NAME, "02_average_of_two", "04_two_heads", "05_keys_queries_values")
HONEST = ("aaron", "zoe")  # before and after all the others
FULL = machine_points(NAME)
ALL = len(all_parts(NAME))
NO_PROOF = "In a class, a person will look at it."


def bound(sentence, source):
    """An attack on 1.2: `middle` stands for the lines between the given one and the bound."""
    lines = """
divided = 1 / (1 + R * sp.exp(-s))
least = 1 / (1 + (n - 1) * sp.exp(-gap))
"""
    last = """
at_least = derive((weight, "so"), *((*step, "so") for step in middle), (">=", least, "so"), where=rivals)
"""
    return "q1-2-derive", sentence, lines + source + last


def ratio(sentence, source):
    """An attack on 4.5: `middle` stands for the line between the given one and the last."""
    last = """
once = n_ / (8 * (n_ - 1)) * (1 - sp.erf(1 / sp.sqrt(2 * beta)) ** 2)
value = {P: (1 + sp.erf(1 / sp.sqrt(2 * beta))) / 2}
ratio = derive((start, "so"), (middle, "so"), (once, "so"), where=value)
"""
    return "q4-5-derive", sentence, "\nstart = two_heads / one_head" + source + last


def tampered(sentence, middle, body):
    """An attack on 1.2: a chain that was `made` well is changed by `body`."""
    source = f"""
middle = {middle}
true_derive = derive
def derive(*steps, where):
    made = true_derive(*steps, where=where)
{indent(body.strip(), "    ")}
    return made
"""
    return bound(sentence, source)


def two_tied(sentence, middle):
    """An attack on 2.3: another line between the first and the last."""
    source = f"""
index = sp.Dummy("n", integer=True, positive=True)
lines = two_tied.steps
two_tied = derive(
    (lines[0].expression, "so"), ({middle}, "so"), (lines[-1].expression, "so"), where=tie
)
"""
    return "q2-3-derive", sentence, source


def weights(sentence, body):
    """An attack on 1.1: another body of the function."""
    head = "\ntrue_weights = attention_weights\ndef attention_weights(query, keys, scale=1.0):\n"
    return "q1-1-code", sentence, head + indent(body, "    ")


# student: (the cell, what its author is told, what follows the honest answer in it)
ATTACKS = {
    "a sign that turns in a narrow place": bound(
        NO_PROOF,
        """
narrow = (gap - 8) * (gap - sp.Rational(80001, 10000))
turning = sp.sqrt(sp.expand(narrow**2)) / narrow
middle = [(sp.Mul(divided, turning, evaluate=False),), (divided,)]
""",
    ),
    "false near one gap alone": bound(
        NO_PROOF,
        """
half = sp.Rational(1, 2) + 5 * sp.exp(-100 * (gap - 8) ** 2)
middle = [(divided,), (">=", least + (divided - least) * half)]
""",
    ),
    "up to a million and back": bound("turns round", "middle = [('<=', 10**6)]"),
    "a symbol whose name is code": bound(
        "Integral is not something",
        """
code = sp.Symbol("y=open('{out}.pwned', 'w')", positive=True)
middle = [(weight * sp.Integral(sp.gamma(code), (code, 1, 2)),), (divided,)]
""",
    ),
    "a chain that hides its fault": tampered(
        "step 1 of `at_least` does not follow",
        "[(2,)]",
        """
class Faultless(type(made)):
    fault = property(lambda self: None, lambda self, value: None)
made = Faultless(made.steps, made.where)
""",
    ),
    "steps that change between reads": tampered(
        "still contains",
        "[(divided,)]",
        """
class Steps(list):
    reads = 0
    def __iter__(self):
        Steps.reads += 1
        return iter(self[:2] if Steps.reads % 2 else self[:])
made.steps = Steps(made.steps)
""",
    ),
    "a fault that calls for a person": tampered(
        "step 1 is hard.",
        "[(2,)]",
        """
made.readable = False
made.fault = "step 1 is hard. In a class, a person will look at it."
""",
    ),
    "a cube root that is one": ratio(
        NO_PROOF,
        """
one = (beta**3 + 3 * beta**2 + 3 * beta + 1) ** sp.Rational(1, 3) / (1 + beta)
middle = sp.Mul(n_ / (2 * (n_ - 1)) * P * (1 - P), one, evaluate=False)
""",
    ),
    "a number of a million digits": ratio(
        "too long to check", "\nmiddle = start * sp.Integer(7) ** (10**6)"
    ),
    "a decimal longer than a float": ratio(
        "cannot be read exactly",
        """
longer = sp.Float("1." + "0" * 25 + "1", 60)
middle = sp.Mul(n_ / (2 * (n_ - 1)) * P * (1 - P), longer, evaluate=False)
""",
    ),
    "two symbols of one name": two_tied(
        "step 1 of `two_tied` does not follow",
        "sp.exp(t) / (2 * sp.exp(t) + sp.Sum(n - index + 1, (index, 1, n - 2)))",
    ),
    "a sum that runs backwards": two_tied(
        "it has no finite real value", "sp.exp(t) / (2 * sp.exp(t) - sp.Sum(1, (i, n - 1, 0)))"
    ),
    "an answer that spoils what it was given": weights(
        "changes its argument",
        "keys[...] = 0\nreturn np.full(len(keys), 1 / len(keys))",
    ),
    "an array of which all is masked": weights(
        "sum to", "return np.ma.array(np.ones(len(keys)), mask=True)"
    ),
    "numbers with an imaginary part": weights(
        "complex numbers came back", "return true_weights(query, keys, scale) + 0.1j"
    ),
    "one number that claims to be a billion": weights(
        "1,000,000,000", "return np.broadcast_to(1 / len(keys), (10**9,))"
    ),
    "the results of everybody": weights(
        "Error", "with open('{out}/results.jsonl', 'w') as file:\n    file.write('')"
    ),
    "a judge in the rubbish": (
        "q1-5-code",
        "IndexError",
        """
del copy_error_bound
import gc, types
found = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
judges = [one for one in found if "attn_course.questions" in str(one.__module__)]
copy_error_bound = judges[0]
""",
    ),
    "an error that writes to a terminal": (
        "q1-6-code",
        "your code stopped with ValueError",
        """
def written_to_a_terminal(*args, **options):
    raise ValueError("\\x1b[2K\\rcorrect\\x07 <script>alert(1)</script>")
copy_sharpness = written_to_a_terminal
""",
    ),
    "the sign of a root": (
        "q5-4-derive",
        NO_PROOF,
        """
narrow = (rho - sp.Rational(81, 10)) * (rho - sp.Rational(811, 100))
turning = sp.sqrt(sp.expand(narrow**2)) / narrow
given, added, last = (step.expression for step in error_1.steps)
error_1 = derive((given, "so"), (sp.Mul(added, turning, evaluate=False), "so"), (last, "so"))
""",
    ),
    "a length of nan": (
        "q1-4-code",
        "would return nan",
        """
def copy_query(keys, j):
    longest = np.abs(keys).sum(1).argmax()
    return 1.7e308 * np.sign(keys[longest])
""",
    ),
    "an answer that counts its calls": (
        "q1-3-code",
        "and you said",
        """
calls = []
def copies(scores, j):
    calls.append(j)
    return len(calls) in (1, 3, 4, 8, 9, 11, 13, 15, 17)
""",
    ),
    "a judge under a joined name": (
        "q1-5-code",
        "the cell of copy_error_bound did not run",
        """
del copy_error_bound
import importlib
judge = importlib.import_module(".".join(["attn_course", "questions", "copying"]))
copy_error_bound = judge._largest_distance
""",
    ),
}


def answered(source, cell_id="q1-4-code"):
    """The notebook with another answer in one cell."""
    found = all_right(NAME)
    cell(found, cell_id)["source"] = source
    return found


def with_cells(*texts, deleted=""):
    """The notebook with texts of one's own at the end, and perhaps without a cell."""
    found = all_right(NAME)
    found["cells"] = [cell for cell in found["cells"] if cell["id"] != deleted]
    found["cells"] += [{"cell_type": "markdown", "metadata": {}, "source": text} for text in texts]
    return found


def long_lines():
    long = ["#" * 10**6, "# " * 10**5, "a" * 10**6, "a:" + "b" * 10**6, "## " + " " * 10**6]
    found = with_cells(*long)
    comment = "# " + "1." * 50_000
    found["cells"].append({"cell_type": "code", "metadata": {}, "source": comment})
    return found


def cells_twice():
    """Two lists of cells under one key, as JSON allows: readers may differ in which they take."""
    empty = json.dumps(notebook(NAME)["cells"])
    return json.dumps(all_right(NAME)).replace('"cells": [', f'"cells": {empty}, "cells": [', 1)


def a_check_in_disguise():
    """The answer's cell claims another id and every mark there is."""
    found = all_right(NAME)
    one = cell(found, "q1-4-code")
    one["id"] = "q1-4-check"
    one["metadata"] = dict.fromkeys(("answer", "check", "written", "rubric"), "1.4")
    return found


def half_a_letter():
    found = answered("\ud800 because", "q1-7-written")
    found["cells"].append({"cell_type": "code", "metadata": {}, "source": "x = '\udfff'"})
    return found


def nested_deeply():
    deep = "[" * 10**5 + "]" * 10**5
    found = json.dumps(all_right(NAME))
    return found.replace('"metadata": {', f'"metadata": {{"deep": {deep},', 1)


KILLS_ITSELF = """
import os, signal
def copy_query(keys, j):
    os.kill(os.getpid(), signal.SIGKILL)
"""
CLOSES_ITS_SOCKET = """
import os, time
def copy_query(keys, j):
    os.close(3)
    time.sleep(99)
"""
LIAR = """
class Liar:
    __module__ = property(lambda self: 1 / 0)
    __class__ = property(lambda self: 1 / 0)
    __call__ = lambda self, keys, j: keys[j]
copy_query = Liar()
"""
LONG_NUMBER = json.dumps(all_right(NAME)).replace('"nbformat": 4', f'"nbformat": {"4" * 10**6}')
PYTHON = "copy_query = 1\n" + "x = (1, [2], {3: 4})\n" * 1_000_000
DEFINITIONS = [f"copy_query = {k}\n" + "x" * 5_000 for k in range(1_900)]
# student: (the notebook or its text, points of the machine, answers that await a person, what is wrong)
ODD_FILES = {
    "kills itself": (answered(KILLS_ITSELF), FULL - 1, 1, ""),
    "closes its socket": (answered(CLOSES_ITS_SOCKET), FULL - 1, 1, ""),
    "an object that hides": (answered(LIAR), FULL - 1, 1, ""),
    "python in a text": (with_cells(PYTHON, deleted="q1-4-code"), FULL - 1, 2, ""),
    "definitions": (with_cells(*DEFINITIONS, deleted="q1-4-code"), FULL - 1, 2, ""),
    "long lines": (long_lines(), FULL, 1, ""),
    "cells twice": (cells_twice(), FULL, 1, ""),
    "a check in disguise": (a_check_in_disguise(), FULL - 1, 2, ""),
    "half a letter": (half_a_letter(), FULL, 1, ""),
    "zoe\u200b": (filled(NAME, {}), 0, 0, ""),
    "deep": (nested_deeply(), None, ALL, "its JSON is nested too deeply to be a notebook."),
    "a long number": (LONG_NUMBER, None, ALL, "a number has thousands of digits"),
    ".bob": (all_right(NAME), None, 0, "begins with a dot"),
}


def points_of(name):
    """{question: points of the machine} where everything is right."""
    points = {question.id: 0 for question, _ in parts_of(name)}
    for question, part in parts_of(name):
        if part.judge:
            points[question.id] += part.points
    return points


def hand_in(folder, out):
    for name in NAMES:
        for who in HONEST:
            save(folder / who / f"{name}.ipynb", all_right(name))
    for who, (place, _, source) in ATTACKS.items():
        name = attacked(place)[0].notebook
        found = all_right(name)
        one = cell(found, place)
        one["source"] = "".join(one["source"]) + source.replace("{out}", str(out))
        save(folder / who / f"{name}.ipynb", found)
    for who, (found, *_) in ODD_FILES.items():
        save(folder / who / f"{NAME}.ipynb", found)
    save(folder / "backup" / "00_backup" / f"{NAME}.ipynb", notebook(NAME))
    save(folder / "backup" / f"{NAME} (final).ipynb", all_right(NAME))
    save(folder / "flood" / f"{NAME}.ipynb", all_right(NAME))
    for number in range(500):
        (folder / "flood" / f"{number:04}.zip").touch()


def attacked(place):
    """(question, part) of an answer's cell."""
    for name in NAMES:
        for question, part in parts_of(name):
            if cell_id(question, part) == place:
                return question, part


@pytest.fixture(scope="module", params=TIERS)
def out(request, tmp_path_factory):
    """Where one run of the command left what it found, in each tier that works on this machine."""
    folder = tmp_path_factory.mktemp("attacks")
    hand_in(folder / "class", folder / "out")
    arguments = ["grade", folder / "class", "--out", folder / "out", "--seed", "7"]
    done = on_a_machine_like(LIKE[request.param], *arguments)
    assert request.param in done.stdout + (folder / "out" / "results.jsonl").read_text("utf-8")
    assert "\x1b[2K" not in done.stdout + done.stderr
    return folder / "out"


@pytest.mark.parametrize("who", ATTACKS)
def test_an_attack_costs_its_own_question_and_no_other(out, who):
    place, sentence, _ = ATTACKS[who]
    question, part = attacked(place)
    expected = points_of(question.notebook)
    expected[question.id] -= part.points / (len(part.answers) if part.kind == "derive" else 1)
    row = rows(out)[who]
    assert part.points > 0 and row["problems"] == ""
    assert {name: float(row[name]) for name in expected} == pytest.approx(expected, abs=1e-5)
    assert sentence in said_of(out, who, question.id)


@pytest.mark.parametrize("who", HONEST)
def test_whoever_is_honest_has_every_point_beside_attackers(out, who):
    expected = {}
    for name in NAMES:
        expected |= points_of(name)
    row = rows(out)[who]
    assert {name: float(row[name]) for name in expected} == expected


def test_no_attack_leaves_a_file_or_calls_for_a_person_by_itself(out):
    assert not list(out.parent.rglob("*.pwned"))
    pages = {path: path.read_bytes() for path in out.rglob("*.*")}
    assert not [path for path, text in pages.items() if b"\x1b" in text]
    pages = {path: text for path, text in pages.items() if path.suffix == ".html"}
    assert not [path for path, text in pages.items() if b"<script>alert" in text]
    assert max(map(len, pages.values())) < 1 << 20
    assert (out / "results.jsonl").stat().st_size < 1 << 20
    assert "A person" not in said_of(out, "a fault that calls for a person", "1.2")


@pytest.mark.parametrize("who", ODD_FILES)
def test_a_file_of_another_kind_costs_its_own_points_and_gets_a_sentence(out, who, request):
    _, points, awaiting, problem = ODD_FILES[who]
    if who == "kills itself" and request.node.callspec.params["out"] == "landlock":
        awaiting += 1  # as if somebody else had killed it
    row = rows(out)[who.replace("\u200b", r"\u200b")]
    total = float(row["total"]) if row["total"] else None
    assert (total, int(row["awaiting"])) == (points, awaiting)
    assert problem in row["problems"]
    if who == "half a letter":
        assert "? because" in (out / "students" / f"{who}.html").read_text("utf-8")


def test_a_backup_does_not_stand_in_for_the_notebook(out):
    assert float(rows(out)["backup"]["total"]) == FULL
    page = (out / "students" / "backup.html").read_text("utf-8")
    assert f"00_backup/{NAME}.ipynb was handed in too" in page


def test_a_flood_of_stray_files_is_counted(out):
    row = rows(out)["flood"]
    assert float(row["total"]) == FULL and len(row["problems"]) < 1_000
    assert "496 more files were passed over." in row["problems"]
