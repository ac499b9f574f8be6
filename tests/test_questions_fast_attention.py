"""What the judges of 12 compare with: operations as torch counts them, mistakes with their numbers."""

import numpy as np
import pytest
import torch
from course import ROOT
from torch.utils.flop_counter import FlopCounterMode

from attn_course.questions.caching import MANY, NUM_TOKENS
from attn_course.questions.decoding_costs import count_operations
from attn_course.questions.merging import wrong_merges

PAIR = [(np.zeros(2), np.eye(2)), (np.ones(1), np.full((1, 2), 5.0))]
GIVES = {
    "the sums are added": 2.000,
    "the contexts are averaged": 2.750,
    "by their number of keys": 2.000,
    "by a softmax of their maxima": 3.790,
    "only the new block": 2.000,
    "the sum is rescaled and the output is not": 3.457,
    "the sign in the exponent": 1.199,
}


@pytest.mark.parametrize("fragment", GIVES)
def test_a_mistake_in_merging_gives_its_number_on_the_pair_of_blocks(fragment):
    table = wrong_merges(PAIR, (0, 1), np.full(2, 3.093))
    (found,) = [gives for sentence, gives in table.items() if fragment in sentence]
    assert found == pytest.approx(np.full(2, GIVES[fragment]), abs=5e-4)


@pytest.mark.parametrize(("cached", "counted"), [(True, 24_000), (False, 137_280)])
def test_torch_counts_as_many_operations_as_the_judge(cached, counted):
    T = 10
    D = 16
    query, key, value, out = torch.randn(4, D, D)
    x = torch.randn(T, D)
    with FlopCounterMode(display=False) as counter:
        keys = x[:0]
        values = x[:0]
        for t in range(T):
            new = x[t : t + 1] if cached else x[: t + 1]
            keys = torch.cat([keys, new @ key]) if cached else new @ key
            values = torch.cat([values, new @ value]) if cached else new @ value
            weights = (new @ query @ keys.mT).softmax(-1)
            weights @ values @ out
    assert counter.get_total_flops() == count_operations(T, D, cached) == counted


def test_the_card_of_the_cache_says_how_many_tokens_may_come():
    text = (ROOT / "notebooks" / "12_fast_attention.py").read_text("utf-8")
    words = text.replace("\n# ", " ")
    assert f"up to {max(MANY, NUM_TOKENS)} tokens in all" in words
