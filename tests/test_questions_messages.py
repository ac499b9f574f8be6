"""What a judge says about a wrong answer is true: advice that is followed helps, a diagnosis fits."""

import re

import numpy as np
import pytest
from bank.average_of_two import both, by_cases
from bank.copying import dual, margin
from bank.seq2seq import WRONG as SEQ2SEQ
from bank.transformer_attention import WRONG as TRANSFORMER
from bank.two_heads import one_each, scaled
from course import ROOT

from attn_course import check, register
from attn_course.answers import Answer
from attn_course.checking import run_judge
from attn_course.questions import copying

ENOUGH = re.compile(r"multiply (?:the query|both queries) by at least ([0-9.e+]*[0-9])")


def longer(answer, factor):
    """The same answer with every query this many times as long."""

    def queries(*given):
        found = answer(*given)
        if isinstance(found, tuple):
            return tuple(factor * query for query in found)
        return factor * found

    return queries


SHORT = {
    "1.4": dual,
    "2.2": both,
    "3.1": both,
    "4.1": one_each,
    "4.4": lambda size: scaled(one_each(size)),
}


@pytest.mark.parametrize("size", [0.3, 1.0, 3.1, 4.9])
@pytest.mark.parametrize("question", SHORT)
def test_a_query_made_longer_as_told_is_right_in_every_case(question, size):
    answer = SHORT[question](size)
    verdict = check(question, answer)
    assert not verdict
    factor = float(ENOUGH.search(verdict.message)[1])
    assert check(question, longer(answer, factor)), verdict


def test_the_advice_of_a_copy_follows_from_its_one_threshold(monkeypatch):
    monkeypatch.setattr(copying, "COPY", 0.995)
    monkeypatch.setattr(copying, "COPIED", 0.995)
    answer = dual(1.0)
    factor = float(ENOUGH.search(check("1.4", answer).message)[1])
    assert check("1.4", longer(answer, factor))


def test_the_card_of_a_copy_says_its_threshold():
    text = (ROOT / "solutions" / "01_copying.py").read_text("utf-8")
    assert f"at least {100 * copying.COPY:g}% of the weight on key $j$" in text


@pytest.mark.parametrize("question", ["2.2", "3.1", "4.1"])
def test_no_length_is_recommended_where_another_case_needs_another_direction(question):
    def astray(keys, a, b):
        is_large = len(keys) >= 50
        return SHORT[question](3.1)(keys, a, (b + 1) % len(keys) if is_large else b)

    verdict = check(question, astray)
    assert not verdict
    assert "multiply" not in verdict.message


@pytest.mark.parametrize("lead", np.linspace(0.5, 20, 40))
def test_no_margin_decides_without_the_number_of_rivals(lead):
    verdict = check("1.3", lambda scores, j: margin(scores, j) > lead)
    assert not verdict
    assert "overflow" not in verdict.message


def test_a_margin_is_named_whatever_its_height():
    for lead in (5.5, 7.0, 9.9, 10.0):
        message = check("1.3", lambda scores, j, m=lead: margin(scores, j) >= m).message
        assert message.startswith("it asks for one margin, no matter how many rivals"), message


def test_a_slip_at_one_extreme_setting_is_told_as_a_fact_and_not_as_a_mistake_made_everywhere():
    message = check("2.4", lambda t, n: 0.0 if t < -700 else by_cases(t, n)).message
    assert message.startswith("average_weight(-1000, 2) is 0"), message


@pytest.mark.parametrize("length", [4, 5, 6])
def test_who_made_up_for_the_root_of_d_is_not_told_to_do_so(length):
    message = check("4.4", scaled(one_each(length))).message
    assert message.startswith("right directions, but too short"), message


def test_no_one_is_told_that_one_per_cent_is_too_much():
    for length in np.linspace(7.2, 7.6, 9):
        message = check("4.4", scaled(one_each(length))).message
        left = re.search(r"([0-9.]+)% of the weight is left", message)
        assert left is None or float(left[1]) > 1, message


def test_a_repair_is_recommended_only_if_it_helps_in_every_space():
    def routing(u_a, u_c, u_d, basis, share):
        size = u_a @ u_a
        K = (np.outer(u_d, u_d) + np.outer(u_c, u_c)) / size
        Q = (np.outer(u_d, u_a) + np.outer(u_c, u_d)) / size
        return K, Q, share * basis @ basis.T

    advice = "V hands over half of what it should"
    everywhere = check("5.5", lambda *given: routing(*given, share=0.5))
    one_space = check(
        "5.5", lambda *given: routing(*given, share=0.5 if len(given[0]) > 5 else 0.3)
    )
    assert advice in everywhere.message
    assert not one_space
    assert advice not in one_space.message


def test_a_slot_that_draws_its_parameters_is_not_said_to_waver():
    slots, _ = SEQ2SEQ["9.3"]["projections"]
    said = check("9.3", *slots).message
    assert "no projections" in said and "different results" not in said


STOPS = {
    "1.4": (lambda keys, j: keys[j] / np.log(len(keys)) / [1][len(keys) == 1], "(1, "),
    "1.6": (lambda n, d, epsilon: 1 / [][n], "called with "),
    "2.2": (lambda keys, a, b: keys[[a, b, len(keys)]].sum(0), "an array of shape ("),
}


@pytest.mark.parametrize("question", STOPS)
def test_an_answer_that_stops_is_told_what_it_was_called_with(question):
    answer, fragment = STOPS[question]
    message = check(question, answer).message
    assert "called with" in message
    assert fragment in message
    assert "your code stopped with IndexError" in message


def test_an_overflow_is_called_one_under_every_seed():
    question = register.find("6.3")
    attend, fragment = TRANSFORMER["6.3"]["exponentials of large scores"]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        assert fragment in run_judge(question, question.part("code"), rng, [Answer(attend)]).message
