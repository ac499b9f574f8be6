"""Cells as students write them, run for real: what they define, what fails, what is told of it."""

import numpy as np
import pytest
import sandbox_sessions as sessions
from sandbox_sessions import SMALL, ask, value, warm_process

from attn_course import derivation, magics
from attn_course.answers import NotAttempted, NotYet
from attn_grader.sandbox import Limits
from attn_grader.sandbox.session import Session

submit, tier, warm = sessions.submit, sessions.tier, sessions.warm  # fixtures


def test_answers_are_called_with_data_and_return_data(submit):
    session = submit(
        """
        import numpy as np
        def scaled(x, *, factor=1.0):
            return {"sum": (factor * x).sum(), "all": [factor * x, (x.shape, None)]}
        shapes = {"q": (2, 3)}
        """
    )
    found = ask(session, "scaled", np.ones((2, 2)), factor=3.0)
    assert found["sum"] == 12.0 and found["all"][1] == ((2, 2), None)
    assert np.array_equal(found["all"][0], np.full((2, 2), 3.0))
    assert value(session, "shapes") == {"q": (2, 3)}


def test_a_derivation_arrives_as_strings_through_a_driver(submit):
    session = submit(
        """
        import sympy as sp
        from attn_course import derive
        x = sp.Symbol("x", positive=True)
        chain = derive((x + x, "definition"), (2 * x, "collect"))
        """
    )
    (chain,) = session.answers(["chain"], 5)
    tokens = ["Rational 2/1", "Symbol x", "Mul 2"]
    assert chain.run_driver(derivation.as_data)[-1] == ["=", "collect", tokens]


def test_tensors_arrive_as_tensors_and_return_as_arrays(tier):
    import torch

    cell = """
import matplotlib.pyplot as plt
import torch
def gradient(x):
    leaf = x.clone().requires_grad_()
    torch.nn.functional.softmax(leaf @ leaf.T, dim=-1)[0, 0].backward()
    return leaf.grad, type(x).__name__
@torch.compile
def compiled(x):
    return 2 * x
plt.plot([1, 2])
"""
    x = torch.eye(2, 3, dtype=torch.float64)
    with (
        warm_process("numpy", "matplotlib.pyplot", "torch", tier=tier) as warm,
        Session(warm, {1: cell}) as session,
    ):
        gradient, kind = ask(session, "gradient", x)
        assert session.errors == {} and kind == "Tensor"
        assert ask(session, "compiled", x).sum() == 4
    assert gradient.shape == (2, 3) and gradient.any()


def test_a_cell_that_fails_does_not_stop_the_next(submit):
    session = submit("before = 1", "x = 1\n\ny = x / 0", "def broken(:", "after = before + 1")
    assert session.errors == {
        2: "your code stopped with ZeroDivisionError: division by zero (line 3 of your cell).",
        3: "SyntaxError: invalid syntax (line 1 of your cell).",
    }
    assert value(session, "after") == 2


def test_each_kind_of_failure_of_a_call_has_its_exception_and_sentence(submit):
    session = submit(
        'def stub(x):\n    raise NotImplementedError("your answer here")',
        "def fails(x):\n    y = x\n    return y / 0",
        "def objects(x):\n    return object()",
        "x = 1 / 0\ndef unborn(x):\n    return x",
    )
    with pytest.raises(NotAttempted):
        ask(session, "stub", 1)
    with pytest.raises(NotAttempted):
        ask(session, "absent", 1)
    sentences = {
        "fails": "your code stopped with ZeroDivisionError: division by zero (line 3 of your cell).",
        "objects": "a object came back, where numbers are expected.",
        "unborn": "the cell of unborn did not run: your code stopped with ZeroDivisionError: "
        "division by zero (line 1 of your cell).",
    }
    for name, sentence in sentences.items():
        with pytest.raises(NotYet) as caught:
            ask(session, name, 1)
        assert str(caught.value) == sentence


def test_warnings_of_the_last_call_are_reported(submit):
    session = submit("import numpy as np\ndef f(x):\n    return np.exp(x)")
    (f,) = session.answers(["f"], 5)
    assert f(np.array([1e4]))[0] == np.inf and "overflow" in f.warned[0]
    assert f(np.array([0.0]))[0] == 1.0 and f.warned == []


def test_an_answer_that_changes_from_call_to_call_is_not_steady(submit):
    session = submit("import itertools\nc = itertools.count()\ndef f():\n    return next(c)")
    unsteady, steady = session.answers(["f", "fine"], 5)
    unsteady(), steady(1)
    assert (unsteady.is_steady(), steady.is_steady()) == (False, True)


def test_magics_are_dropped_and_python_is_left_as_it_is():
    cases = {
        "%matplotlib inline\nx = 1": "pass\nx = 1",
        "if True:\n    !ls\nx = !ls\n%time y = 2": "if True:\n    pass\nx = None\ny = 2",
        "%%time\nx = 1": "pass\nx = 1",
        "%%bash\nrm -rf ~": "",
        "%%capture\n!pip install x\nx = 1": "pass\npass\nx = 1",
        "%%capture\n%%time\nx = 1": "pass\npass\nx = 1",
        "!pip install \\\n  x\ny = (7\n  % 4)": "pass\n\ny = (7\n  % 4)",
        "np.exp?": "pass",
        "x = (7\n  % 4)": "x = (7\n  % 4)",
        's = """\n!important\n"""': 's = """\n!important\n"""',
    }
    found = {}
    for source in cases:
        found[source], _ = magics.read_python(source)
    assert found == cases


def test_display_get_ipython_check_and_hint_are_there_and_do_nothing(submit):
    session = submit(
        """
        from attn_course import check, hint
        display(1); get_ipython().run_line_magic("matplotlib", "inline")
        check("1.1", print); hint("1.1")
        """
    )
    assert session.errors == {} and session.output == ""


@pytest.mark.parametrize("source", ["\n" * 100_000 + "(", "(\n" + " " * 100_000 + "x"])
def test_a_cell_that_is_not_python_is_read_quickly_whatever_is_in_it(source):
    with pytest.raises(SyntaxError):
        magics.read_python(source)


LOST = {
    "a module that is not installed": "import nonsense as no\nfrom nonsense import more",
    "a look at what is not there": "print(model)",
    "a test of what is not there": "assert model.trained",
    "a call on what is not there": "no.set_theme()",
}


@pytest.mark.parametrize("name", LOST)
def test_what_fails_without_defining_anything_costs_no_definition_below_it(submit, name):
    session = submit(f"{LOST[name]}\ndef f(x):\n    return x + 1")
    assert list(session.errors) == [1] and ask(session, "f", 1) == 2


def test_a_value_does_not_take_the_place_of_the_function_that_made_it(submit):
    session = submit("def f(x):\n    return x + 1", "f = f(1)\ng = f + 1", "del f", names=["f"])
    assert ask(session, "f", 1) == 2 and value(session, "g") == 3


def test_an_answer_still_calls_the_function_whose_name_went_to_a_value(submit):
    session = submit(
        "def f(x):\n    return x + 1\ndef g(x):\n    return f(x) + size",
        "from os.path import getsize as size",
        "f, size = f(1), 5",
        names=["f", "g"],
    )
    assert ask(session, "g", 1) == 7 and value(session, "f") == 2


def test_a_name_that_no_question_asks_for_keeps_its_last_value(submit):
    session = submit(
        "def big():\n    return 3\nbig = big()\ndef f(x):\n    return big * x", names=["f"]
    )
    assert ask(session, "f", 2) == 6


def test_the_last_of_several_functions_of_one_name_counts(submit):
    session = submit("def f(x):\n    return 1", "def f(x):\n    return 2")
    assert ask(session, "f", 0) == 2


def test_a_cell_above_what_it_uses_is_run_again_and_takes_no_name_from_the_others(submit):
    session = submit("y = x + 1\ndef f():\n    return 'old'", "x = 1", "def f():\n    return 'new'")
    assert session.errors == {} and value(session, "y") == 2
    assert ask(session, "f") == "new"


def test_await_input_and_features_of_the_future_work_as_in_a_notebook(submit):
    session = submit(
        "async def one():\n    return 1\nx = await one()",
        "said = input('ready? ')",
        "from __future__ import annotations\ndef f(x: Unknown) -> Unknown:\n    return x",
    )
    assert session.errors == {} and ask(session, "f", 7) == 7
    assert [value(session, name) for name in ("x", "said")] == [1, ""]


def test_cells_that_take_all_the_time_leave_some_for_the_questions(submit):
    limits = Limits(cell=2.0, total=5.0, memory=SMALL.memory)
    session = submit(
        "def f(x):\n    return x + 1", *["import time; time.sleep(60)"] * 3, limits=limits
    )
    assert ask(session, "f", 1) == 2
    assert session.errors[2] == "it did not finish within 2 seconds."
    assert session.errors[4] == "the cells used up their share of 5 seconds."
