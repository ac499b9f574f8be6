"""The table of mistakes that the judges of attention share."""

from itertools import combinations

import numpy as np
import pytest

from attn_course.answers.mistakes import AnyOf, Seen, same
from attn_course.questions.attention_mistakes import LOW_FILL, far_below, wrong_contexts
from attn_utils import attend

LOOK = np.tri(5, dtype=bool)


def drawn(seed, heads=()):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(2, *heads, 5, d)) for d in (4, 4, 3)]


def given(table):
    """{sentence: the context it gives}, without those that cannot be made here."""
    found = {}
    for sentence, context in table.items():
        value = context.values[0] if isinstance(context, AnyOf) else context
        if not isinstance(value, Seen):
            found[sentence] = np.nan_to_num(np.asarray(value))
    return found


@pytest.mark.parametrize("heads", [(), (3,)])
def test_no_two_sentences_stand_for_the_same_numbers(heads):
    q, k, v = drawn(0, heads)
    contexts = given(wrong_contexts(q, k, v, LOOK))
    for one, other in combinations(contexts, 2):
        assert not same(contexts[one], contexts[other], 1e-4, 1e-4), (one, other)


def test_every_sentence_stands_for_a_mistake_but_low_numbers_harm_low_scores_alone():
    q, k, v = drawn(1)
    right, _ = attend(q, k, v, mask=LOOK)
    contexts = given(wrong_contexts(q, k, v, LOOK))
    assert {s for s in contexts if same(contexts[s], right, 1e-5, 1e-5)} == {LOW_FILL}

    q, k = far_below(np.random.default_rng(2), q, k)
    right, _ = attend(q, k, v, mask=LOOK)
    assert not same(given(wrong_contexts(q, k, v, LOOK))[LOW_FILL], right, 1e-5, 1e-5)
