"""Hostile but well-typed answers are put to every judged question: none is ever correct.

Each one is the reference answer, spoilt: what it returns is replaced by huge, tiny, nan-making, empty
or constant values of the same type and shape, or it is right only for some calls, sizes or orders.
"""

import inspect

import numpy as np
import pytest
import sympy as sp
from course import JUDGED, answers_in

from attn_course import derive
from attn_course.answers import Answer
from attn_course.checking import listening, run_judge

HUGE = 1.7e308
TINY = 5e-324
SEED = 11


def reference(question, part):
    space = answers_in("solutions", question.notebook)
    return {name: space[name] for name in part.answers}


def is_tensor(value):
    return hasattr(value, "detach")


def each(change, value):
    """The same nesting with `change` made to everything in it."""
    if isinstance(value, dict):
        return {name: each(change, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(each(change, item) for item in value)
    return change(value)


def with_numbers(change, value):
    """A number, array or tensor changed and of its old type again; text as it is."""
    if value is None or isinstance(value, str):
        return value
    if is_tensor(value):
        import torch

        changed = change(value.detach().double().numpy())
        return torch.as_tensor(changed).to(value.dtype)
    changed = np.asarray(change(np.asarray(value, dtype=float)))
    if np.ndim(value) or changed.size != 1:
        return changed
    return changed.item()


def turned(value):
    """A number, truth or text turned round: of the same type, and wrong."""
    if isinstance(value, str):
        return value[::-1] + "?"
    if value is None:
        return None
    if is_tensor(value):
        return ~value if str(value.dtype) == "torch.bool" else -1 - value
    if isinstance(value, bool | np.bool_):
        return not value
    return -1 - np.asarray(value, dtype=float) if np.ndim(value) else -1 - value


def spoilt(value):
    """A wrong answer of the same type; of two arrays that may be anything the second is the first."""
    if isinstance(value, tuple) and {np.shape(item) for item in value} == {np.shape(value[0])}:
        value = (value[0],) * len(value)
    return each(turned, value)


VALUES = {  # what becomes of every number of the right answer
    "1.7e308 with the right signs": lambda x: np.where(x < 0, -HUGE, HUGE),
    "1.7e308 with other signs": lambda x: HUGE * np.cos(np.arange(x.size)).reshape(x.shape),
    "5e-324": lambda x: np.full(x.shape, TINY),
    "nan": lambda x: np.full(x.shape, np.nan),
    "nan in one place": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, np.nan, x),
    "infinity": lambda x: np.full(x.shape, np.inf),
    "infinities of both signs": lambda x: np.where(x < 0, -np.inf, np.inf),
    "zero": lambda x: 0 * x,
    "one": lambda x: 0 * x + 1,
    "nothing, an array of size zero": lambda x: np.zeros((0,) * max(x.ndim, 1)),
    "an axis of size zero": lambda x: x[..., None][..., :0],
    "an axis more": lambda x: np.stack([x, x]),
}


def with_values(change):
    def spoil(right):
        def hostile(*args, **kwargs):
            return each(lambda item: with_numbers(change, item), right(*args, **kwargs))

        return hostile

    return spoil


def as_text(right):
    """The right numbers, but as text."""

    def hostile(*args, **kwargs):
        found = right(*args, **kwargs)
        if is_tensor(found) or isinstance(found, tuple | list | dict) or not np.ndim(found):
            return repr(found)
        return np.array([repr(x) for x in found.flat], dtype=object).reshape(found.shape)

    return hostile


def first_answer_for_ever(right):
    kept = []

    def hostile(*args, **kwargs):
        kept.append(right(*args, **kwargs))
        return kept[0]

    return hostile


def right_only_if(holds):
    """Right where `holds(number of the call, arguments)`, spoilt elsewhere."""

    def spoil(right):
        calls = []

        def hostile(*args, **kwargs):
            calls.append(args)
            found = right(*args, **kwargs)
            return found if holds(len(calls), args) else spoilt(found)

        return hostile

    return spoil


HOSTILE = {name: with_values(change) for name, change in VALUES.items()} | {
    "the right numbers as text": as_text,
    "the first answer for ever": first_answer_for_ever,
    "right at every other call": right_only_if(lambda call, args: call % 2 == 0),
    "right at the other calls": right_only_if(lambda call, args: call % 2 == 1),
    "right at the first call": right_only_if(lambda call, args: call == 1),
    "right but at the first call": right_only_if(lambda call, args: call > 1),
}
NO_VALUES = {
    "1.7e308": HUGE,
    "nan": np.nan,
    "text": "nan",
    "a whole number as text": "2",
    "an empty array": np.zeros(0),
    "an empty list": [],
    "an empty dictionary": {},
    "a dictionary of nan": {"q": np.nan, "y": np.nan},
    "a dictionary of empty tuples": {"q": (), "y": ()},
}
x = sp.Symbol("x", positive=True)
CHAINS = {
    "nan": [(sp.nan, "given"), (sp.nan, "same"), (sp.nan, "same")],
    "infinities": [(sp.oo, "given"), (sp.oo, "same"), (sp.oo, "same")],
    "huge numbers": [(HUGE, "given"), (HUGE * x, "so"), (HUGE, "so")],
    "tiny numbers": [(sp.Float(TINY), "given"), (0, "so"), (sp.Float(TINY), "so")],
    "nothing": [],
}


def hostile_answer(right, spoil):
    """The answer spoilt; of a class it is what its objects return, with one count for all of them."""
    if not inspect.isclass(right):
        return spoil(right)
    state = {}
    state["hostile"] = spoil(lambda *args: state["forward"](*args))

    class Hostile(right):
        def forward(self, *args):
            state["forward"] = super().forward
            return state["hostile"](*args)

    return Hostile


def judged(question, part, **changed):
    """The verdict on the reference answers, some of them replaced."""
    answers = reference(question, part) | changed
    with listening() as caught:
        callers = [Answer(answer, caught) for answer in answers.values()]
        return run_judge(question, part, np.random.default_rng(SEED), callers)


def functions_of(question, part):
    answers = reference(question, part)
    return {name: answer for name, answer in answers.items() if callable(answer)}


def of_kind(kind):
    return [
        pytest.param(question, part, id=question.id)
        for question, part in JUDGED
        if part.kind == kind
    ]


def changes_something(right, spoil):
    """The spoilt answer, and a list that says of each call whether it was anything but right."""
    changed = []

    def watched(answer):
        given = []

        def keeping(*args, **kwargs):
            given.append(answer(*args, **kwargs))
            return given[-1]

        hostile = spoil(keeping)

        def watching(*args, **kwargs):
            found = hostile(*args, **kwargs)
            changed.append(repr(found) != repr(given[-1]))
            return found

        return watching

    return hostile_answer(right, watched), changed


@pytest.mark.parametrize(("question", "part"), of_kind("code"))
def test_no_hostile_value_and_no_counter_of_calls_is_correct(question, part):
    for name, right in functions_of(question, part).items():
        for how, spoil in HOSTILE.items():
            hostile, changed = changes_something(right, spoil)
            verdict = judged(question, part, **{name: hostile})
            assert not verdict or not any(changed), f"{name}: {how}"
            assert "could not read" not in verdict.message, f"{name}: {how}"


def size_of(name, args):
    """A size an answer can see: the length of what it is given, else a whole number."""
    sized = [
        len(arg) for arg in args if hasattr(arg, "__len__") and getattr(arg, "shape", None) != ()
    ]
    whole = [arg for arg in args if type(arg) is int]
    size = max(sized or whole or [0])
    return size // 2 if name in PAIRED else size


def sizes_shown(question, part, name, right):
    """The sizes the judge shows to this answer."""
    sizes = set()

    def spy(answer):
        def watching(*args, **kwargs):
            sizes.add(size_of(name, args))
            return answer(*args, **kwargs)

        return watching

    verdict = judged(question, part, **{name: hostile_answer(right, spy)})
    assert verdict, "the reference itself must pass"
    return sizes


SIZELESS = (  # what the judge shows to these has no size of its own
    "merge",  # states that the answer itself made
    "finish",
    "Cache",
    "Ring",
    "train",  # batches are handed on as they are
)
PAIRED = (
    "look_back",
    "interpolated",
    "ntk_aware",
)  # their size, a width, is even: half of it counts


@pytest.mark.parametrize(("question", "part"), of_kind("code"))
def test_no_answer_that_is_right_for_some_sizes_only_is_correct(question, part):
    for name, right in functions_of(question, part).items():
        if name in SIZELESS:
            continue
        sizes = sizes_shown(question, part, name, right)
        if sizes == {0}:  # it is given fractions alone
            continue
        middle = np.median(list(sizes))
        for how, fits in {
            "right for even sizes": lambda size: size % 2 == 0,
            "right for odd sizes": lambda size: size % 2 == 1,
            "right for the smaller sizes": lambda size, middle=middle: size < middle,
            "right for the larger sizes": lambda size, middle=middle: size > middle,
        }.items():
            spoil = right_only_if(
                lambda call, args, name=name, fits=fits: fits(size_of(name, args))
            )
            verdict = judged(question, part, **{name: hostile_answer(right, spoil)})
            assert not verdict, f"{name}: {how}, {sorted(sizes)}"


@pytest.mark.parametrize(("question", "part"), of_kind("code") + of_kind("derive"))
def test_what_is_no_answer_at_all_is_never_correct(question, part):
    for name in part.answers:
        for how, value in NO_VALUES.items():
            assert not judged(question, part, **{name: value}), f"{name}: {how}"


@pytest.mark.parametrize(("question", "part"), of_kind("derive"))
def test_no_hostile_chain_is_correct(question, part):
    for name in part.answers:
        for how, steps in CHAINS.items():
            assert not judged(question, part, **{name: derive(*steps)}), f"{name}: {how}"
