"""Look into a causal layer with several heads, whoever wrote it."""

import copy
from collections.abc import Iterable

import torch
from torch import nn

from attn_course.drivers import parameters_by_name
from attn_utils.layers import CausalSelfAttention


def twin(layer: nn.Module, num_heads: int) -> CausalSelfAttention:
    """Return the course's layer with the parameters of `layer`: the same outputs, and it shows its weights.

    layer: one that 6.6 accepts, with projections `query`, `key`, `value`, `out`, or torch's own inside.
    """
    own = parameters_by_name(layer)
    D = own["out.bias"].shape[0]
    copied = CausalSelfAttention(D, num_heads).to(own["out.bias"])
    names = copied.state_dict()
    copied.load_state_dict({name: own[name].detach() for name in names})
    return copied


def start_from(source: CausalSelfAttention, layer: nn.Module) -> nn.Module:
    """Copy the parameters of `source` into `layer`, and return `layer`.

    layer: one that 6.6 accepts, of the same width and number of heads.
    """
    own = parameters_by_name(layer)
    for name, values in source.state_dict().items():
        own[name].data.copy_(values)
    return layer


def in_torch(layer: CausalSelfAttention) -> nn.MultiheadAttention:
    """Return torch's own module with the parameters of `layer`. Its mask says True = hidden."""
    bias = layer.out.bias
    D = bias.shape[0]
    module = nn.MultiheadAttention(D, layer.num_heads, batch_first=True)
    module.to(bias)
    parts = (layer.query, layer.key, layer.value)  # stacked in this order
    weights = [part.weight for part in parts]
    biases = [part.bias for part in parts]
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat(weights))
        module.in_proj_bias.copy_(torch.cat(biases))
    module.out_proj.load_state_dict(layer.out.state_dict())
    return module


def switch_off(layer: CausalSelfAttention, heads: Iterable[int]) -> CausalSelfAttention:
    """Return a copy in which these heads add nothing: their columns (D, d) of the last projection are 0."""
    silent = copy.deepcopy(layer)
    D = silent.out.bias.shape[0]
    d = D // silent.num_heads
    with torch.no_grad():
        for head in heads:
            start = head * d
            silent.out.weight[:, start : start + d] = 0
    return silent
