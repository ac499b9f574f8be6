"""What depends on what: the sizes of gradients against plain differences and against torch."""

import pytest
import torch

from attn_course.experiments import dependence
from attn_utils.layers import CausalSelfAttention, SynthesizerAttention

T, D = 5, 8


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(T, D, dtype=torch.float64)


def test_the_reach_of_a_shift_is_one_place_beside_the_diagonal(x):
    found = dependence.reach(lambda z: 3 * z.roll(1, 0), x)
    expected = 3 * D**0.5 * torch.eye(T, dtype=torch.float64).roll(1, 0)
    assert torch.allclose(found, expected)


def test_the_weights_of_a_synthesizer_listen_to_their_own_token_alone(x):
    torch.manual_seed(0)
    found = dependence.reach_of_weights(SynthesizerAttention(D, 2, T).double(), x)
    own = found.diagonal()
    assert torch.equal(found, torch.diag(own))
    assert own[0] == 0  # a single weight is always one
    assert (own[1:] > 0).all()


def test_the_weights_of_keys_and_queries_listen_to_every_token_so_far(x):
    torch.manual_seed(0)
    found = dependence.reach_of_weights(CausalSelfAttention(D, 2).double(), x)
    assert (found.triu(1) == 0).all()
    assert (found.tril()[1:, 0] > 0).all()


def test_the_slope_of_a_softmax_is_the_norm_of_its_jacobian(x):
    for scores in x:
        jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
        assert torch.allclose(dependence.softmax_slope(scores), jacobian.norm())


def test_the_slope_of_a_saturated_softmax_is_zero_and_not_nan():
    scores = torch.tensor([0.0, 900.0, 3.0])
    assert dependence.softmax_slope(scores) == 0
