"""Looks into a causal layer with several heads, whoever wrote it. Judges nothing, trains nothing."""

import copy
from collections.abc import Iterable

import torch
from torch import nn

from attn_course.drivers import parameters_by_name
from attn_utils.layers import CausalSelfAttention


def twin(layer: nn.Module, num_heads: int) -> CausalSelfAttention:
    """The course's layer with the parameters of `layer`: the same outputs, and it shows its weights.

    layer: one that 6.6 accepts, with projections `query`, `key`, `value`, `out`, or torch's own inside.
    """
    own = parameters_by_name(layer)
    D = own["out.bias"].shape[0]
    shown = CausalSelfAttention(D, num_heads).to(own["out.bias"])
    names = shown.state_dict()
    shown.load_state_dict({name: own[name].detach() for name in names})
    return shown


def switch_off(layer: CausalSelfAttention, heads: Iterable[int]) -> CausalSelfAttention:
    """A copy in which these heads hand nothing on: their columns (D, d) of the last projection are 0."""
    silent = copy.deepcopy(layer)
    D = silent.out.bias.shape[0]
    d = D // silent.num_heads
    with torch.no_grad():
        for head in heads:
            silent.out.weight[:, head * d : (head + 1) * d] = 0
    return silent
