"""Whatever a student hands to `check`, a verdict comes back: never an exception, never a crash."""

import contextlib
import dataclasses
import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from attn_course import Verdict, check, checking, hint, register
from attn_course.answers import Answer, NotAttempted, NotYet, is_repeated, judge_separately
from attn_course.answers.wording import agree, counted
from attn_course.calls import ArgumentChanged, call_unchanged


def mutates(keys, j):
    query = np.linalg.pinv(keys)[:, j] * 20
    keys[:] = 0
    return query


def raises_in_line_two(keys, j):
    return keys[len(keys)]


def raises_a_whole_sentence(keys, j):
    raise ValueError("The keys are odd.")


def exits(keys, j):
    raise SystemExit("bye")


def prints_a_lot(keys, j):
    print("x" * 100_000)
    return keys[j]


class Hostile:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array for you")


ODD = {
    "nothing": lambda keys, j: None,
    "nan": lambda keys, j: keys[j] * np.nan,
    "infinity": lambda keys, j: keys[j] * np.inf,
    "a scalar": lambda keys, j: 3.0,
    "a matrix": lambda keys, j: keys,
    "text": lambda keys, j: "k_j",
    "a set": lambda keys, j: {1, 2},
    "an object": lambda keys, j: object(),
    "ragged lists": lambda keys, j: [[1.0], [2.0, 3.0]],
    "complex": lambda keys, j: keys[j] + 1j,
    "empty": lambda keys, j: np.zeros(0),
    "hostile array": lambda keys, j: Hostile(),
    "an endless generator": lambda keys, j: itertools.count(),
    "an exception": raises_in_line_two,
    "a sentence of its own": raises_a_whole_sentence,
    "exit": exits,
    "too few arguments": lambda: 1,
    "deep recursion": lambda keys, j: ODD["deep recursion"](keys, j),
    "not a function": 7,
    "a class": Hostile,
    "prints": prints_a_lot,
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD.keys())
def test_odd_answers_get_one_sentence(answer, capsys):
    verdict = check("1.4", answer)
    assert verdict.status == "not yet"
    assert "\n" not in verdict.message and len(verdict.message) < 400
    assert "could not read" not in verdict.message and ".." not in verdict.message
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("answer", [None, ...])
def test_an_empty_answer_is_not_attempted(answer):
    assert check("1.4", answer).status == "not attempted"


RIGHT = {
    "list": lambda keys, j: list(np.linalg.pinv(keys)[:, j] * 20),
    "column": lambda keys, j: np.linalg.pinv(keys)[:, [j]] * 20,
    "row": lambda keys, j: np.linalg.pinv(keys)[:, [j]].T * 20,
    "generator": lambda keys, j: (x for x in np.linalg.pinv(keys)[:, j] * 20),
    "half precision": lambda keys, j: (np.linalg.pinv(keys)[:, j] * 20).astype(np.float32),
}


@pytest.mark.parametrize("answer", RIGHT.values(), ids=RIGHT.keys())
def test_right_answers_pass_in_any_container(answer):
    assert check("1.4", answer).status == "correct"


def test_a_torch_tensor_is_read_like_an_array():
    torch = pytest.importorskip("torch")
    answer = lambda keys, j: torch.linalg.pinv(torch.tensor(keys))[:, j] * 20  # noqa: E731
    assert check("1.4", answer)


@pytest.fixture
def short_deadline(monkeypatch):
    question = dataclasses.replace(register.find("1.4"), seconds=0.2)
    monkeypatch.setattr(register, "find", lambda _: question)


def test_an_answer_that_never_ends_is_stopped(short_deadline):
    def endless(keys, j):
        while True:
            pass

    begin = time.monotonic()
    verdict = check("1.4", endless)
    assert verdict.status == "not yet" and "did not finish" in verdict.message
    assert time.monotonic() - begin < 3


def test_an_answer_that_swallows_its_interruption_does_not_hold_the_notebook(
    short_deadline, capsys
):
    stop = []

    def stubborn(keys, j):
        while not stop:
            with contextlib.suppress(BaseException):
                time.sleep(0.01)

    assert "did not finish" in check("1.4", stubborn).message
    stop.append(True)
    print("still here")
    assert capsys.readouterr().out == "still here\n"


def no_thread(self):
    raise RuntimeError("can't start new thread")


def test_where_no_thread_can_start_an_answer_is_judged_all_the_same(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert check("0.1", np.mean).status == "correct"
    assert "their sum" in check("0.1", sum).message
    assert check("1.4", None).status == "not attempted"
    assert "ZeroDivisionError" in check("0.1", lambda values: 1 / 0).message


def test_an_answer_that_changes_each_time_is_told_so():
    calls = itertools.count()
    assert "different results" in check("1.5", lambda gap, n, D: next(calls)).message


def test_an_exception_names_its_line_in_the_cell():
    space = {}
    exec(compile("def f(keys, j):\n    x = 1\n    return x / 0\n", "<cell 3>", "exec"), space)
    message = check("1.4", space["f"]).message
    assert "ZeroDivisionError: division by zero (line 3 of your cell)" in message


def test_an_unknown_question_is_one_sentence():
    assert "there is no question 9.99" in check("9.99", 1).message
    assert repr(hint("nonsense")).startswith("there is no question")
    assert "Hints" not in hint("nonsense")._repr_html_()


def test_a_check_that_needs_what_is_not_installed_names_it(monkeypatch):
    def judge(rng, answer):
        import a_package_that_nobody_has  # noqa: F401

    part = register.Part("code", ("mean",), judge, points=1)
    question = dataclasses.replace(register.find("0.1"), parts=(part,))
    monkeypatch.setattr(register, "find", lambda name: question)
    message = check("0.1", len).message
    assert message == "this check needs a_package_that_nobody_has, which is not installed here."


def test_a_forgotten_argument_is_one_sentence():
    assert 'check("1.2", at_least, at_most)' in check("1.2", 1).message


def test_a_written_question_says_who_reads_it():
    assert "read by a person" in check("1.7").message


def test_hints_and_verdicts_show_code_and_stress_as_a_notebook_does():
    shown = hint("0.1")
    shown = hint("0.1")
    assert "<code>len(values)</code>" in shown._repr_html_()
    assert "`len(values)`" in repr(shown)
    verdict = Verdict("1.1", "not yet", "a weight *above* w, not `a * b` or 2*3*4", 0, 1)
    html = verdict._repr_html_()
    assert "<em>above</em>" in html and "<code>a * b</code>" in html and "2*3*4" in html


def test_inside_nbgrader_a_wrong_answer_raises(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(AssertionError, match="not yet"):
        check("0.1", sum)
    assert check("0.1", np.mean).points == 0


def test_a_verdict_shows_itself_as_text_and_as_escaped_html():
    verdict = Verdict("1.1", "not yet", "a <b> & c", 0, 1)
    assert "not yet" in repr(verdict) and not verdict
    assert "a &lt;b&gt; &amp; c" in verdict._repr_html_()


def test_a_busy_machine_costs_nobody_a_verdict(monkeypatch):
    """Half of the processor goes to others: the work takes twice its time, and is done."""
    monkeypatch.setattr(checking.time, "process_time", lambda: time.monotonic() / 2)

    def busy(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        return "done"

    assert checking.within(1.0, lambda: busy(1.5)) == "done"
    with pytest.raises(NotYet, match=r"within 0\.1 seconds"):
        checking.within(0.1, lambda: busy(5))


def modules_loaded_by(script, *words):
    command = [sys.executable, "-c", f"{script}\nprint(*sys.modules)", *words]
    return subprocess.check_output(command, text=True).split()


CHECKED = """
import sys
import numpy as np
from attn_course import check
assert check("1.4", lambda keys, j: 20 * np.linalg.pinv(keys)[:, j])
"""


def test_a_numerical_check_loads_few_modules_and_no_proof_engine_figures_grader_or_torch():
    loaded = modules_loaded_by(CHECKED)
    ours = [name for name in loaded if name.partition(".")[0] in ("attn_course", "attn_utils")]
    assert len(ours) <= 19, ours
    packages = {name.split(".")[1] for name in ours if name.startswith("attn_course.")}
    assert not packages & {"proofs", "derivation", "judge_derivation", "figures"}
    assert not {"torch", "sympy", "matplotlib", "attn_grader"} & set(loaded)


QUESTIONS_OF = """
import sys
from attn_course import register
for name in sys.argv[1:]:
    register.questions_of(name)
"""


def test_the_judges_of_numpy_notebooks_load_no_code_that_is_for_tensors_alone():
    names = [name for name in register.NOTEBOOKS if not register.needs_torch(name)]
    loaded = set(modules_loaded_by(QUESTIONS_OF, *names))
    assert "attn_course.questions.two_heads" in loaded
    assert not loaded & {"torch", "attn_course.answers.tensors", "attn_course.drivers"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((0, "tensor"), "0 tensors"),
        ((1, "tensor"), "1 tensor"),
        ((1200, "tensor"), "1,200 tensors"),
        ((2, "query", "queries"), "2 queries"),
    ],
)
def test_a_noun_agrees_with_its_number(words, text):
    assert counted(*words) == text


@pytest.mark.parametrize(
    ("subject", "verb"),
    [
        ("the weights", "have"),
        ("the weights of head 1", "have"),
        ("the scores for n = 3", "have"),
        ("the output", "has"),
        ("the bias", "has"),
        ("the loss", "has"),
        ("the gradient of the weights", "has"),
    ],
)
def test_a_verb_agrees_with_its_subject(subject, verb):
    assert agree(subject, "has", "have") == f"{subject} {verb}"


def test_an_answer_that_changes_an_argument_is_refused_and_told_which():
    verdict = check("1.4", mutates)
    assert not verdict and "mutates changes its argument keys in place" in verdict.message
    assert verdict.mistake == "an argument is changed in place"


@pytest.mark.parametrize(
    ("change", "is_noticed"),
    [
        (lambda x: x.__setitem__(0, 1.0), True),
        (lambda x: x * 2, False),
        (lambda x: x.sort(), True),
    ],
)
def test_any_change_in_place_is_noticed_and_nothing_else(change, is_noticed):
    for argument in (np.array([3.0, np.nan, 2.0]), [3.0, 2.0]):
        with pytest.raises(ArgumentChanged) if is_noticed else contextlib.nullcontext():
            call_unchanged(lambda x: (change(x), 0)[1], argument)


def test_a_tensor_changed_in_place_is_noticed():
    torch = pytest.importorskip("torch")
    with pytest.raises(ArgumentChanged, match="argument mask"):
        call_unchanged(lambda mask: mask.logical_not_(), torch.ones(3, dtype=torch.bool))


def test_a_right_answer_that_is_random_is_refused():
    scales = itertools.count(20)
    verdict = check("1.4", lambda keys, j: np.linalg.pinv(keys)[:, j] * next(scales))
    assert not verdict and "must not be random" in verdict.message


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no threads to be counted")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="torch has one core anyway")
def test_an_answer_uses_as_many_cores_in_torch_as_the_notebook_allows():
    pytest.importorskip("torch")
    program = """
import os, torch
from attn_course.checking import within

def new_threads():
    before = set(os.listdir("/proc/self/task"))
    torch.ones(1000, dtype=torch.float64).exp()
    return len(set(os.listdir("/proc/self/task")) - before)

torch.set_num_threads(1)
print(new_threads(), within(60, new_threads))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "0"], done.stderr


def test_results_are_compared_by_value_however_long_they_are():
    long = np.arange(5000.0)
    changed = long.copy()
    changed[2500] += 1
    assert repr(long) == repr(changed)
    assert is_repeated([long, np.nan], [long.copy(), np.nan])
    assert not is_repeated([long], [changed])
    assert is_repeated([1, "a", True], [1, "a", True]) and not is_repeated([1], [2])
    assert not is_repeated(["a"], ["b"]) and not is_repeated([1], [1.0])


def test_a_long_answer_that_is_random_in_its_middle_is_not_steady():
    numbers = itertools.count()
    answer = Answer(lambda: np.arange(5000.0) + next(numbers) * (np.arange(5000) == 2500))
    answer()
    assert not answer.is_steady()


def test_only_the_stub_of_the_course_is_empty():
    def stub(keys, j):
        raise NotImplementedError("your answer here")

    def torch_refuses(keys, j):
        raise NotImplementedError("\"softmax\" not implemented for 'Long'")

    assert check("1.4", stub).status == "not attempted"
    verdict = check("1.4", torch_refuses)
    assert verdict.status == "not yet" and "not implemented for" in verdict.message


def test_functions_that_are_judged_separately_earn_their_own_share():
    def empty():
        raise NotAttempted

    assert judge_separately({"f": lambda: "one.", "g": lambda: "two."}) == "one. two."
    with pytest.raises(NotYet) as caught:
        judge_separately({"f": lambda: "one.", "g": empty})
    assert (str(caught.value), caught.value.share) == ("f is right. g is still empty.", 0.5)
    with pytest.raises(NotAttempted):
        judge_separately({"f": empty, "g": empty})


def test_a_fault_of_several_functions_names_its_function_once():
    def refused(message):
        raise NotYet(message)

    with pytest.raises(NotYet, match=r"^f is right. g: that is twice too much.$"):
        judge_separately({"f": lambda: "", "g": lambda: refused("that is twice too much.")})
    with pytest.raises(NotYet, match=r"^f is right. g\(1\) is 2.$"):
        judge_separately({"f": lambda: "", "g": lambda: refused("g(1) is 2.")})
