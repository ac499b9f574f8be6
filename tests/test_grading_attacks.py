"""Notebooks that want points they have not earned, graded in one class beside honest ones.

Each is right but for one answer; it loses the points of that one, is told why, and costs nobody else any.
A chain that is false, or that a person must decide on, loses its share of the part.
"""

import csv
import json
from dataclasses import dataclass

import pytest
from classroom import cell, cell_id, filled, parts_of, right, save
from sandbox_sessions import HERE, needs_sandbox, on_a_machine_like

COPYING, AVERAGE, TWO_HEADS, ERRORS = NAMES = (
    "01_copying",
    "02_average_of_two",
    "04_two_heads",
    "05_keys_queries_values",
)
NO_PROOF = "which is no proof. Show a smaller step in between. A person will look at it."


@dataclass(frozen=True)
class Attack:
    """What follows the honest answer in its cell, and what its author is told."""

    notebook: str
    cell: str
    source: str
    sentence: str


def bound(sentence, source):
    """An attack on 1.2: `middle` stands for the lines between the given one and the bound."""
    lines = """
divided = 1 / (1 + R * sp.exp(-s))
least = 1 / (1 + (n - 1) * sp.exp(-gap))
"""
    last = """
at_least = derive((weight, "so"), *((*step, "so") for step in middle), (">=", least, "so"), where=rivals)
"""
    return Attack(COPYING, "q1-2-derive", lines + source + last, sentence)


def ratio(sentence, source):
    """An attack on 4.5: `middle` stands for the line between the given one and the last."""
    last = """
once = n_ / (8 * (n_ - 1)) * (1 - sp.erf(1 / sp.sqrt(2 * beta)) ** 2)
value = {P: (1 + sp.erf(1 / sp.sqrt(2 * beta))) / 2}
ratio = derive((start, "so"), (middle, "so"), (once, "so"), where=value)
"""
    return Attack(
        TWO_HEADS, "q4-5-derive", "\nstart = two_heads / one_head" + source + last, sentence
    )


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
    "a chain that hides its fault": bound(
        "step 1 of `at_least` does not follow",
        """
middle = [(2,)]
true_derive = derive
def derive(*steps, where):
    made = true_derive(*steps, where=where)
    class Faultless(type(made)):
        fault = property(lambda self: None, lambda self, value: None)
    return Faultless(made.steps, made.where)
""",
    ),
    "steps that change between reads": bound(
        "show at least one line between",
        """
middle = [(divided,)]
true_derive = derive
def derive(*steps, where):
    made = true_derive(*steps, where=where)
    class Steps(list):
        reads = 0
        def __iter__(self):
            Steps.reads += 1
            return iter([self[0], self[-1]] if Steps.reads % 2 else self[:])
    made.steps = Steps(made.steps)
    return made
""",
    ),
    "a fault that calls for a person": bound(
        "step 1 is hard.",
        """
middle = [(2,)]
true_derive = derive
def derive(*steps, where):
    made = true_derive(*steps, where=where)
    made.readable = False
    made.fault = "step 1 is hard. A person will look at it."
    return made
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
    "two symbols of one name": Attack(
        AVERAGE,
        "q2-3-derive",
        """
index = sp.Dummy("n", integer=True, positive=True)
wrong = sp.exp(t) / (2 * sp.exp(t) + sp.Sum(n - index + 1, (index, 1, n - 2)))
lines = two_tied.steps
two_tied = derive((lines[0].expression, "so"), (wrong, "so"), (lines[-1].expression, "so"), where=tie)
""",
        "step 1 of `two_tied` does not follow",
    ),
    "an answer that spoils what it was given": Attack(
        COPYING,
        "q1-1-code",
        """
def attention_weights(query, keys, scale=1.0):
    keys[...] = 0
    return np.full(len(keys), 1 / len(keys))
""",
        "every key gets the same weight",
    ),
    "an array of which all is masked": Attack(
        COPYING,
        "q1-1-code",
        """
def attention_weights(query, keys, scale=1.0):
    return np.ma.array(np.ones(len(keys)), mask=True)
""",
        "sum to",
    ),
    "numbers with an imaginary part": Attack(
        COPYING,
        "q1-1-code",
        """
true_weights = attention_weights
def attention_weights(query, keys, scale=1.0):
    return true_weights(query, keys, scale) + 0.1j
""",
        "complex numbers came back",
    ),
    "one number that claims to be a billion": Attack(
        COPYING,
        "q1-1-code",
        """
def attention_weights(query, keys, scale=1.0):
    return np.broadcast_to(1 / len(keys), (10**9,))
""",
        "1,000,000,000",
    ),
    "a judge in the rubbish": Attack(
        COPYING,
        "q1-5-code",
        """
del copy_error_bound
import gc, types
found = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
judges = [one for one in found if "attn_course.questions" in str(one.__module__)]
copy_error_bound = judges[0]
""",
        "IndexError",
    ),
    "an error that writes to a terminal": Attack(
        COPYING,
        "q1-6-code",
        """
def written_to_a_terminal(*args, **options):
    raise ValueError("\\x1b[2K\\rcorrect\\x07 <script>alert(1)</script>")
copy_sharpness = written_to_a_terminal
""",
        "your code stopped with ValueError",
    ),
    "a sum that runs backwards": Attack(
        AVERAGE,
        "q2-3-derive",
        """
backwards = sp.exp(t) / (2 * sp.exp(t) - sp.Sum(1, (i, n - 1, 0)))
lines = two_tied.steps
two_tied = derive(
    (lines[0].expression, "so"), (backwards, "so"), (lines[-1].expression, "so"), where=tie
)
""",
        "it has no finite real value",
    ),
    "the sign of a root": Attack(
        ERRORS,
        "q5-4-derive",
        """
narrow = (rho - sp.Rational(81, 10)) * (rho - sp.Rational(811, 100))
turning = sp.sqrt(sp.expand(narrow**2)) / narrow
given, added, last = (step.expression for step in error_1.steps)
error_1 = derive((given, "so"), (sp.Mul(added, turning, evaluate=False), "so"), (last, "so"))
""",
        NO_PROOF,
    ),
    "a length of nan": Attack(
        COPYING,
        "q1-4-code",
        """
def copy_query(keys, j):
    longest = np.abs(keys).sum(1).argmax()
    return 1.7e308 * np.sign(keys[longest])
""",
        "would return nan",
    ),
    "an answer that counts its calls": Attack(
        COPYING,
        "q1-3-code",
        """
calls = []
def copies(scores, j):
    calls.append(j)
    return len(calls) in (1, 3, 4, 8, 9, 11, 13, 15, 17)
""",
        "and you said",
    ),
    "a judge under a joined name": Attack(
        COPYING,
        "q1-5-code",
        """
del copy_error_bound
import importlib
judge = importlib.import_module(".".join(["attn_course", "questions", "copying"]))
copy_error_bound = judge._largest_distance
""",
        "the cell of copy_error_bound did not run",
    ),
    "the results of everybody": Attack(
        COPYING,
        "q1-1-code",
        """
def attention_weights(query, keys, scale=1.0):
    with open("{out}/results.jsonl", "w") as file:
        file.write("")
""",
        "Error",
    ),
}


def all_right(name):
    return filled(name, {(q.id, part.kind): right(name, q, part) for q, part in parts_of(name)})


def points_of(name):
    """{question: points of the machine} where everything is right."""
    points = {question.id: 0 for question, _ in parts_of(name)}
    for question, part in parts_of(name):
        if part.judge:
            points[question.id] += part.points
    return points


def hand_in(folder, out):
    for name in NAMES:
        for who in ("aaron", "zoe"):  # before and after all the others
            save(folder / who / f"{name}.ipynb", all_right(name))
    for who, attack in ATTACKS.items():
        found = all_right(attack.notebook)
        one = cell(found, attack.cell)
        one["source"] = "".join(one["source"]) + attack.source.replace("{out}", str(out))
        save(folder / who / f"{attack.notebook}.ipynb", found)
    hand_in_odd_files(folder)


def hand_in_odd_files(folder):
    """Attacks on what reads a file."""
    found = all_right(COPYING)
    cell(found, "q1-7-written")["source"] = "\ud800 because"
    found["cells"].append({"cell_type": "code", "metadata": {}, "source": "x = '\udfff'"})
    save(folder / "half a letter" / f"{COPYING}.ipynb", found)
    save(folder / "zoe\u200b" / f"{COPYING}.ipynb", filled(COPYING, {}))
    text = json.dumps(all_right(COPYING))
    deep = text.replace(
        '"metadata": {', '"metadata": {"deep": ' + "[" * 10**5 + "]" * 10**5 + ",", 1
    )
    digits = text.replace('"nbformat": 4', '"nbformat": ' + "4" * 10**6)
    for who, changed in {"deep": deep, "a long number": digits}.items():
        assert changed != text
        (folder / who).mkdir()
        (folder / who / f"{COPYING}.ipynb").write_text(changed, "utf-8")


@pytest.fixture(scope="module", params=HERE)
def out(request, tmp_path_factory):
    """Where one run of the command left what it found, in each tier that works on this machine."""
    folder = tmp_path_factory.mktemp("attacks")
    hand_in(folder / "class", folder / "out")
    machine = {"namespaces": "", "landlock": "docker"}[request.param]
    arguments = ["grade", folder / "class", "--out", folder / "out", "--seed", "7"]
    done = on_a_machine_like(machine, *arguments)
    assert request.param in done.stdout + (folder / "out" / "results.jsonl").read_text("utf-8")
    assert "\x1b[2K" not in done.stdout + done.stderr
    return folder / "out"


def row_of(out, who):
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["student"] == who)


def said_of(out, who, question):
    """What the student is told on a question."""
    found = json.loads((out / "students" / f"{who}.json").read_text("utf-8"))
    return " ".join(test["output"] for test in found["tests"] if test["number"] == question)


@needs_sandbox
@pytest.mark.parametrize("who", ATTACKS)
def test_an_attack_costs_its_own_question_and_no_other(out, who):
    attack = ATTACKS[who]
    expected = points_of(attack.notebook)
    question = attack.cell[1:].rpartition("-")[0].replace("-", ".")
    part = next(p for q, p in parts_of(attack.notebook) if cell_id(q, p) == attack.cell)
    expected[question] -= part.points / (len(part.answers) if part.kind == "derive" else 1)
    row = row_of(out, who)
    assert part.points > 0 and row["problems"] == ""
    assert {name: float(row[name]) for name in expected} == pytest.approx(expected, abs=1e-5)
    assert attack.sentence in said_of(out, who, question)


@needs_sandbox
@pytest.mark.parametrize("who", ["aaron", "zoe"])
def test_whoever_is_honest_has_every_point_beside_attackers(out, who):
    expected = {}
    for name in NAMES:
        expected |= points_of(name)
    row = row_of(out, who)
    assert {name: float(row[name]) for name in expected} == expected


@needs_sandbox
def test_no_attack_leaves_a_file_or_calls_for_a_person_by_itself(out):
    assert not list(out.parent.rglob("*.pwned"))
    assert not [page for page in out.rglob("*.*") if b"\x1b" in page.read_bytes()]
    assert not [page for page in out.rglob("*.html") if b"<script>alert" in page.read_bytes()]
    assert "A person" not in said_of(out, "a fault that calls for a person", "1.2")


@needs_sandbox
@pytest.mark.parametrize(
    ("who", "sentence"),
    [
        ("deep", "its JSON is nested too deeply to be a notebook."),
        ("a long number", "a number has thousands of digits"),
    ],
)
def test_a_file_made_to_break_its_reader_gets_a_sentence_and_no_point(out, who, sentence):
    row = row_of(out, who)
    assert row["total"] == "0" and sentence in row["problems"]


@needs_sandbox
def test_half_a_letter_and_an_invisible_one_are_shown_and_deceive_nobody(out):
    assert float(row_of(out, "half a letter")["total"]) == sum(points_of(COPYING).values())
    assert "? because" in (out / "students" / "half a letter.html").read_text("utf-8")
    assert row_of(out, r"zoe\u200b")["total"] == "0"
