"""What the judges of 12 say besides right and wrong, and the hints for what is written."""

import pytest
from bank.position import halves, other_ladder

from attn_course import check, register

BONUS = [question for name in sorted(register.BONUS) for question in register.questions_of(name)]
WITH_WORDS = [q for q in BONUS if {"written", "code"} <= {part.kind for part in q.parts}]


@pytest.mark.parametrize("question", WITH_WORDS, ids=lambda question: question.id)
def test_what_is_written_beside_code_has_a_hint_of_its_own(question):
    assert [text for text in question.hints if text.startswith("In words: ")]


def test_a_ladder_that_ends_at_the_base_is_right_and_told_so():
    verdict = check("12.3", other_ladder)
    assert verdict.status == "correct"
    assert "Your last wavelength is exactly 2π times the base" in verdict.message


@pytest.mark.parametrize(("start", "told"), [(0, False), (1, True), (7, True)])
def test_hands_that_start_elsewhere_are_right_and_told_so(start, told):
    verdict = check("12.3", lambda positions, d, base: halves(positions + start, d, base))
    assert verdict.status == "correct"
    assert ("start elsewhere" in verdict.message) == told
