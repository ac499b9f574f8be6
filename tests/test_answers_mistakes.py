"""Comparing answers with what is right and with known mistakes: one policy for all judges."""

import numpy as np
import pytest

from attn_course.answers import NotYet
from attn_course.answers.mistakes import AnyOf, Seen, Trials, resembles, round_up, same, seen


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (1.0, 1.0 + 1e-8),
        (True, np.True_),
        (np.array([[1.0]]), np.array([[1.0]])),
        ("A", "A"),
        ((1.0, np.zeros(2)), [1.0, np.zeros(2)]),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}),
    ],
)
def test_equal_answers_are_the_same_in_any_container(found, wanted):
    assert same(found, wanted)
    assert resembles(found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (np.nan, np.nan),
        (np.nan, 1.0),
        (np.inf, 1.0),
        (np.inf, np.inf),
        (np.array([1.0, np.nan]), np.array([1.0, np.nan])),
        (np.zeros(0), np.zeros(3)),
        (np.zeros(1), np.zeros(3)),
        (np.zeros((3, 1)), np.zeros(3)),
        (1.0, 1.0 + 1e-5),
        (0.0, 1e-9),
        ("1", 1),
        (True, False),
        ((1.0,), (1.0, 1.0)),
        ({"x": 1}, {"y": 1}),
    ],
)
def test_nan_other_shapes_and_other_numbers_are_never_the_same(found, wanted):
    assert not same(found, wanted)


def test_a_mistake_may_show_as_nan_but_not_everywhere():
    assert resembles(np.array([np.nan, 2.0]), np.array([0.0, 2.0]))
    assert not resembles(np.array([np.nan, 2.0]), np.array([0.0, 3.0]))
    assert not resembles(np.nan, 1.0)


def test_a_torch_tensor_is_compared_like_an_array():
    torch = pytest.importorskip("torch")
    assert same(torch.ones(2, requires_grad=True), np.ones(2))


def slips(x):
    return {"that is twice as much": 2 * x, "that is the square": x**2}


def told(table, *answers):
    """What is said of answers (x, found), where x itself is right."""
    trials = Trials(table)
    with pytest.raises(NotYet) as error:
        for x, found in answers:
            trials.require(found, x, f"at {x:g} it is {found:g}", x)
    return str(error.value)


def test_nothing_is_said_about_right_answers():
    trials = Trials(slips)
    for x in (1.0, 2.0, 3.0):
        trials.require(x, x, "never shown", x)
    assert len(trials) == 3


def test_a_trial_that_holds_is_compared_once():
    class Counted:
        reads = 0

        def __array__(self, dtype=None, copy=None):
            self.reads += 1
            return np.array(1.0, dtype)

    first = Counted()
    trials = Trials()
    for answer in (first, 1.0, 1.0):
        trials.require(answer, 1.0, "never shown")
    assert first.reads == 1


def test_a_known_mistake_is_named_with_the_first_fact_that_is_wrong():
    assert told(slips, (1.0, 1.0), (3.0, 9.0)) == "that is the square: at 3 it is 9."


def test_a_mistake_that_does_not_fit_an_earlier_trial_is_not_named():
    assert told(slips, (5.0, 5.0), (3.0, 9.0)) == "at 3 it is 9."


def test_two_mistakes_that_agree_so_far_are_told_apart_when_all_trials_are_in():
    trials = Trials(slips)
    trials.add(4.0, 2.0, "at 2 it is 4", 2.0)
    trials.add(9.0, 3.0, "at 3 it is 9", 3.0)
    with pytest.raises(NotYet, match=r"^that is the square: at 2 it is 4\.$"):
        trials.settle()


def test_a_mistake_that_does_no_harm_somewhere_needs_the_right_answer_there():
    def table(x):
        return {"large numbers are forgotten": 0.0 if x > 10 else None}

    trials = Trials(table)
    trials.add(2.0, 2.0, "at 2", 2.0)
    trials.add(0.0, 20.0, "at 20", 20.0)
    with pytest.raises(NotYet, match="forgotten: at 20"):
        trials.settle()
    trials.add(7.0, 3.0, "at 3", 3.0)
    with pytest.raises(NotYet, match=r"^at 20\.$"):
        trials.settle()


def test_what_a_judge_has_seen_for_itself_explains_too():
    def table(found, x):
        return {"it is negative": Seen(found < 0)}

    trials = Trials(table)
    with pytest.raises(NotYet, match="it is negative: at 1"):
        trials.require(-1.0, 1.0, "at 1", -1.0, 1.0)

    @seen
    def conditions(found, x):
        return {"it is positive": found > 0, "it is negative": found < 0}

    assert conditions(-1.0, 1.0) == {"it is positive": Seen(False), "it is negative": Seen(True)}


def test_nan_is_wrong_and_is_told_as_a_fact():
    assert told(slips, (1.0, np.nan)) == "at 1 it is nan."


def test_a_fact_may_be_made_of_the_inputs_once_it_is_needed():
    made = []

    def fact(x):
        made.append(x)
        return f"at {x:g} it is off"

    trials = Trials(slips)
    trials.require(1.0, 1.0, fact, 1.0)
    assert not made
    with pytest.raises(NotYet, match=r"^at 7 it is off\.$"):
        trials.require(0.5, 7.0, fact, 7.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.14, "1.2"), (5.0, "5"), (1.0000001, "1.1"), (123.0, "130"), (0.0101, "0.011")],
)
def test_advice_is_rounded_up_and_therefore_enough(value, text):
    assert round_up(value) == text
    assert float(text) >= value


def test_two_mistakes_that_give_the_same_numbers_are_both_named_and_three_not_at_all():
    def two_twins(x):
        return {"that is doubled": 2 * x, "that is added to itself": x + x}

    both = "either that is doubled, or that is added to itself"
    assert told(two_twins, (3.0, 6.0)) == f"{both}: at 3 it is 6."
    assert told(lambda x: {**two_twins(x), "that is 6": 6.0}, (3.0, 6.0)) == "at 3 it is 6."


def test_one_mistake_may_give_several_values():
    table = {"the sign or the size is off": AnyOf((-3.0, 6.0))}
    assert told(lambda x: table, (3.0, -3.0)) == "the sign or the size is off: at 3 it is -3."
