import pytest
import torch
from torch import nn

from attn_course.experiments import heads
from attn_utils.layers import CausalSelfAttention


class Fused(nn.Module):
    """A causal layer around torch's own module, which 6.6 accepts as well."""

    def __init__(self, D, num_heads):
        super().__init__()
        self.inside = nn.MultiheadAttention(D, num_heads, batch_first=True)

    def forward(self, x):
        T = x.shape[1]
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        return self.inside(x, x, x, attn_mask=later)[0]


@pytest.mark.parametrize("layer_class", [CausalSelfAttention, Fused])
def test_the_twin_of_a_layer_has_its_outputs_and_shows_its_weights(layer_class):
    torch.manual_seed(0)
    layer = layer_class(12, 3).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    twin = heads.twin(layer, 3)
    assert torch.allclose(twin(x), layer(x))
    assert twin.weights(x).shape == (2, 3, 5, 5)


@pytest.mark.parametrize("layer_class", [CausalSelfAttention, Fused])
def test_a_layer_that_starts_from_another_has_its_outputs_and_learns_by_itself(layer_class):
    torch.manual_seed(0)
    source = CausalSelfAttention(12, 3).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    layer = heads.start_from(source, layer_class(12, 3).double())
    expected = source(x)
    assert isinstance(layer, layer_class)
    assert torch.allclose(layer(x), expected)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    assert torch.equal(source(x), expected)


def test_what_the_heads_hand_on_adds_up_and_without_any_only_the_bias_is_left():
    torch.manual_seed(0)
    layer = CausalSelfAttention(12, 3).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    bias = layer.out.bias
    alone = [heads.switch_off(layer, {0, 1, 2} - {head})(x) - bias for head in range(3)]
    assert torch.allclose(sum(alone) + bias, layer(x))
    assert torch.allclose(heads.switch_off(layer, range(3))(x), bias.expand(2, 5, 12))


def test_torchs_own_module_takes_the_parameters_of_a_layer_over():
    torch.manual_seed(0)
    layer = CausalSelfAttention(12, 3).double()
    x = torch.randn(2, 5, 12, dtype=torch.float64, requires_grad=True)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    ours = layer(x)
    theirs, _ = heads.in_torch(layer)(x, x, x, attn_mask=later)
    assert torch.allclose(ours, theirs)
    slopes = [torch.autograd.grad(y.square().sum(), x)[0] for y in (ours, theirs)]
    assert torch.allclose(*slopes)
