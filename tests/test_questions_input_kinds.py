"""What each judge draws: every kind of input that its bank lists under INPUT_KINDS, under every seed.

INPUT_KINDS[question][answer][name of the kind] is a function of the arguments of one call, true where
the call is of that kind. An input that is never drawn is an input on which a wrong answer passes.
"""

import numpy as np
import pytest
from course import JUDGED, answers_in, bank

from attn_course.answers import Answer
from attn_course.checking import listening

SEEDS = (0, 1, 2)
VALUES = ("6.1", "12.2")  # ask for values: there is nothing to call
LATE = "14"  # from this notebook on, answers that keep results by the shape of an input are refused
PARTS = [
    pytest.param(question, part, id=question.id)
    for question, part in JUDGED
    if part.kind == "code" and question.id not in VALUES
]


class Recorder(Answer):
    """Keeps the arguments of all calls."""

    def __init__(self, thing, caught):
        super().__init__(thing, caught)
        self.calls = []

    def run_driver(self, driver, *args, **kwargs):
        self.calls.append(args)
        return super().run_driver(driver, *args, **kwargs)


def calls_of(question, part, seed):
    """{name of an answer: the arguments of each of its calls}, where a judge calls it at all."""
    space = answers_in("solutions", question.notebook)
    with listening() as caught:
        answers = {name: Recorder(space[name], caught) for name in part.answers}
        part.judge(np.random.default_rng(seed), *answers.values())
    return {
        name: [args for args in answer.calls if args]
        for name, answer in answers.items()
        if any(answer.calls)
    }


@pytest.mark.parametrize(("question", "part"), PARTS)
def test_the_draws_of_a_judge_cover_every_kind_of_input(question, part):
    kinds = bank(question, "INPUT_KINDS")
    for seed in SEEDS:
        calls = calls_of(question, part, seed)
        assert set(kinds) == set(calls), "every function that is called has its kinds of input"
        for name, covered in kinds.items():
            assert covered, name
            for kind, belongs in covered.items():
                drawn = any(belongs(*args) for args in calls[name])
                assert drawn, f"{question.id} with seed {seed} never asks {name} for {kind}"


def shapes_in(value):
    """What is left of the arguments of a call if only shapes are looked at; () where there is no array."""
    if isinstance(value, np.ndarray):
        return (value.shape,)
    if isinstance(value, list | tuple):
        return tuple(shape for item in value for shape in shapes_in(item))
    return ()


def differ(one, other):
    """Return True if two calls with arrays of the same shapes have no array in common."""
    if isinstance(one, np.ndarray):
        return one.size < 2 or not np.array_equal(one, other, equal_nan=True)
    if isinstance(one, list | tuple):
        return all(map(differ, one, other))
    return True


@pytest.mark.parametrize(
    ("question", "part"), [pair for pair in PARTS if pair.values[0].notebook >= LATE]
)
def test_a_judge_calls_an_answer_again_with_other_arrays_of_the_same_shapes(question, part):
    for name, calls in calls_of(question, part, 0).items():
        by_shapes = {}
        for args in calls:
            by_shapes.setdefault(shapes_in(args), []).append(args)
        by_shapes.pop((), None)  # numbers alone
        assert not by_shapes or any(
            differ(one, other)
            for same in by_shapes.values()
            for k, one in enumerate(same)
            for other in same[:k]
        ), f"{question.id} never asks {name} twice for arrays of the same shapes"
