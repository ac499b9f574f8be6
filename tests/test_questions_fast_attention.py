"""What the judges of 13 and 15 compare with: counts and gradients of torch, mistakes with their numbers."""

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from course import ROOT

from attn_course.drivers import count_numbers
from attn_course.questions.attention_gradient import exact_gradients
from attn_course.questions.caching import NUM_TOKENS
from attn_course.questions.decoding import count_scores
from attn_course.questions.online_softmax import wrong_merges

PAIR = [(np.zeros(2), np.eye(2)), (np.ones(1), np.full((1, 2), 5.0))]
GIVES = {
    "the sums are added": 2.000,
    "the contexts are averaged": 2.750,
    "by their number of keys": 2.000,
    "by a softmax of their maxima": 3.790,
    "only the new block": 2.000,
    "the sum is rescaled and the output is not": 3.457,
    "the factors are the wrong way round": 1.199,
}


@pytest.mark.parametrize("fragment", GIVES)
def test_a_mistake_in_merging_gives_its_number_on_the_pair_of_blocks(fragment):
    table = wrong_merges(PAIR, (0, 1), np.full(2, 3.093))
    (found,) = [gives for sentence, gives in table.items() if fragment in sentence]
    assert found == pytest.approx(np.full(2, GIVES[fragment]), abs=5e-4)


@pytest.mark.parametrize(("cached", "counted"), [(True, 55), (False, 385)])
def test_torch_makes_as_many_scores_as_the_judge_counts(cached, counted):
    made = 0
    for t in range(1, 11):
        queries = torch.randn(1 if cached else t, 4)
        made += (queries @ torch.randn(t, 4).mT).numel()
    assert made == count_scores(10, cached) == counted


def test_the_card_of_the_cache_says_how_many_tokens_may_come():
    text = (ROOT / "solutions" / "15_decoding.py").read_text("utf-8")
    words = text.replace("\n# ", " ")
    assert f"up to {NUM_TOKENS} tokens in all" in words


@pytest.mark.parametrize("factor", [1.0, 300.0])
def test_the_gradients_of_the_judge_are_those_of_torch(factor):
    rng = np.random.default_rng(0)
    q, k, v, g = (
        torch.tensor(rng.normal(size=shape)) for shape in ((3, 4), (7, 4), (7, 5), (3, 5))
    )
    leaves = [x.requires_grad_() for x in (factor * q, k, v)]
    out = torch.nn.functional.scaled_dot_product_attention(*leaves)
    wanted = torch.autograd.grad(out, leaves, g)
    found = exact_gradients(*(x.detach().numpy() for x in leaves), g.numpy())
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("hidden", ["nested lists", "a closure", "a deque", "an object"])
def test_numbers_are_counted_wherever_they_are_kept(hidden):
    kept = torch.zeros(400)
    deep = kept
    for _ in range(50):
        deep = [deep]
    keeper = SimpleNamespace(inside={"a": kept})
    things = {
        "nested lists": deep,
        "a closure": lambda: kept,
        "a deque": deque([kept]),
        "an object": keeper,
    }
    assert 400 <= count_numbers(things[hidden]) <= 410


def test_a_container_that_holds_itself_is_counted_once():
    one = [1.5]
    one.append(one)
    assert count_numbers(one) == 1
