"""Judge of 14.3, heads that share keys and values."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, shuffled
from attn_course.answers.tensors import distance, only_tensors, tensor_trials
from attn_course.drivers import run_tensors
from attn_course.questions.attention_mistakes import far_below, wrong_contexts
from attn_utils.kernels import attend

SIZES = ((2, 6, 2), (3, 4, 4), (1, 4, 1), (3, 6, 3))  # B, H, G; the first one tells most
LOW = (2, 4, 2)  # with all scores far below zero
WIDTH = 5  # so that no two wrong scales agree


def heads_share_groups(rng: Generator, grouped: Caller) -> str:
    """14.3: causal attention in which neighbouring heads share the keys and values of a group."""
    trials = tensor_trials(_wrong_groups)
    others = shuffled(rng, SIZES[1:])
    for B, H, G in [SIZES[0], *others, LOW]:
        T = int(rng.integers(6, 9))
        inputs = [rng.normal(size=(B, heads, T, WIDTH)) for heads in (H, G, G)]
        setting = f"{H} heads, {G} groups, {T} tokens"
        if (B, H, G) == LOW:
            inputs[:2] = far_below(rng, *inputs[:2])
            setting += ", all scores far below zero"

        result = grouped.via(run_tensors, inputs)
        (found,) = only_tensors(result, "grouped", 1)
        right = _grouped(*inputs)
        fact = distance(found, right, setting)
        trials.judge(found, right, fact, *inputs)

    return "equal to attention with repeated keys and values for (H, G) = (6, 2), (4, 4), (4, 1), (6, 3)."


def _grouped(q, k, v, *, keys=None, values=None, scale=None):
    """Attention (B, H, T, d) in which head h uses keys[h] and values[h], numbers of groups."""
    H = q.shape[1]
    G = k.shape[1]
    own = np.arange(H) * G // H
    if keys is None:
        keys = own
    if values is None:
        values = own
    context, _ = attend(q, k[:, keys], v[:, values], causal=True, scale=scale)
    return context


def _wrong_groups(*inputs):
    """{sentence: contexts (B, H, T, d)}, for q, k and v."""
    return {
        **_wrong_groups_of_heads(*inputs),
        **_averaged(*inputs),
        **_wrong_scores(*inputs),
        **_any_attention(*inputs),
    }


def _any_attention(q, k, v):
    """What may go wrong in any attention, with the groups as they should be."""
    H, T = q.shape[1:3]
    own = np.arange(H) * k.shape[1] // H
    return wrong_contexts(q, k[:, own], v[:, own], np.tri(T, dtype=bool))


def _wrong_groups_of_heads(q, k, v):
    """Where a head has keys or values of another group."""
    H = q.shape[1]
    G = k.shape[1]
    in_turn = np.arange(H) % G
    first = np.zeros(H, int)
    return {
        "all heads use group 0; the group of head h is h * G // H": (
            _grouped(q, k, v, keys=first, values=first)
        ),
        "the groups are dealt out in reverse order": (_grouped(q, k[:, ::-1], v[:, ::-1])),
        "the last group serves all heads from number G on; neighbours share a group": (
            _grouped(
                q,
                k,
                v,
                keys=np.minimum(np.arange(H), G - 1),
                values=np.minimum(np.arange(H), G - 1),
            )
        ),
        "head 1 got group 1: neighbours share a group, and `repeat` or `%` deals groups out in turn": (
            _grouped(q, k, v, keys=in_turn, values=in_turn)
        ),
        "keys and values of a head come from different groups; only the keys are dealt out in turn": (
            _grouped(q, k, v, keys=in_turn)
        ),
        "keys and values of a head come from different groups; only the values are dealt out in turn": (
            _grouped(q, k, v, values=in_turn)
        ),
    }


def _averaged(q, k, v):
    """Where groups, or the queries of a group, become one."""
    B, H, T, d = q.shape
    G = k.shape[1]
    k_mean = k.mean(1, keepdims=True)
    v_mean = v.mean(1, keepdims=True)
    by_groups, _ = attend(q, k_mean, v_mean, causal=True)
    q_mean = q.reshape(B, G, H // G, T, d).mean(2)
    by_queries, _ = attend(q_mean, k, v, causal=True)
    return {
        "the groups are averaged; each head has its own group": by_groups,
        "the queries of a group are averaged; queries stay H": by_queries,
        "the queries of a group are averaged and their result repeated; queries stay H": (
            np.repeat(by_queries, H // G, 1)
        ),
    }


def _wrong_scores(q, k, v):
    """Where the scale is that of several heads, or heads are missing."""
    H = q.shape[1]
    G = k.shape[1]
    d = q.shape[-1]
    one_each, _ = attend(q[:, :: H // G], k, v, causal=True)
    return {
        "the scale is that of a whole group; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * H / G) ** -0.5)
        ),
        "the scale is that of all heads together; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * H) ** -0.5)
        ),
        "the scale has the number of groups in it; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * G) ** -0.5)
        ),
        "H heads come out, and you return one for each group": one_each,
    }
