"""Judge of the code of 16.1, attention with a learned sink for each head.

It compares contexts and gradients, and knows nothing of the way.
"""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, shuffled
from attn_course.answers.mistakes import AnyOf, Seen
from attn_course.answers.tensors import (
    close,
    distance,
    judge_gradients,
    leaves_of,
    only_tensors,
    tensor_trials,
)
from attn_course.drivers import run_function
from attn_course.questions.attention_mistakes import INVERTED, LOW_FILL, NOT_HERE, far_below
from attn_utils.kernels import softmax

NAMES = ("q", "k", "v", "sink")
SQUARE = (4, 4, 4, 4, 4)  # H, T, S, d, dv: mistakes in axes give numbers here
WIDE = (3, 5, 7, 4, 6)
ONE_OF_EACH = (1, 1, 1, 2, 3)
BLIND = "one query sees no key"
NO_GRADIENT = (
    "the numbers are right, but no gradient reaches the sink: keep it a tensor all the way"
)


def sink_takes_weight(rng: Generator, attend_with_sink: Caller) -> str:
    """16.1: contexts under masks, at any size of the scores, and the gradient of the sink."""
    trials = tensor_trials(_wrong_contexts)
    for setting, inputs in _cases(rng):
        result = attend_with_sink.run_driver(run_function, inputs)
        (output,) = only_tensors(result, "attend_with_sink", 1)
        _refuse_weights(output, inputs)
        leaves = leaves_of(dict(zip((*NAMES, "mask"), inputs, strict=True)))
        right = _context(*leaves.values())
        fact = distance(output, right, setting)
        if output.shape != tuple(right.shape):
            raise NotYet(f"{fact}.")
        trials.require(output, right.detach().numpy(), fact, *inputs, output)
        if "gradient" in setting:
            _judge_gradient_of_sink(result["gradients"], right, leaves, setting)

    return (
        f"right in {len(trials)} cases: masks, a query that sees no key, scores of any size; a gradient "
        "reaches the sink."
    )


def _cases(rng):
    """Return [(setting, [q, k, v, sink, mask]), ...]; the first one tells most."""
    causal = np.tri(4, dtype=bool)
    first = ("4 heads, causal; its gradient too", [*_drawn(rng, SQUARE), causal])
    some = rng.random((5, 7)) < 0.6
    some[range(5), rng.integers(7, size=5)] = True
    blind = some.copy()
    blind[2] = False
    window = np.tri(6, dtype=bool) & ~np.tri(6, k=-3, dtype=bool)
    everything = np.ones((1, 1), bool)

    q, k, v, _ = _drawn(rng, WIDE)
    scores = 300 * _scores(q, k)
    at_best = [300 * q, k, v, scores[:, 0].max(-1, where=some[0], initial=-np.inf), some]
    q_low, k_low = far_below(rng, q, k)
    low = [q_low, k_low, v, _scores(q_low, k_low)[:, 0].max(-1) + np.arange(-1, 2), some]
    apart = [q, k, v, rng.permutation([-1e4, 0.3, 1e4]), some]
    others = [
        ("a random mask; its gradient too", [*_drawn(rng, WIDE), some]),
        (BLIND, [*_drawn(rng, WIDE), blind]),
        ("4 heads, a random mask", [*_drawn(rng, SQUARE), some[1:, 3:] | np.eye(4, dtype=bool)]),
        ("one head, one query, one key", [*_drawn(rng, ONE_OF_EACH), everything]),
        ("a window of 3", [*_drawn(rng, (2, 6, 6, 3, 4)), window]),
        ("scores in the hundreds, the sink as high as the best key", at_best),
        ("all scores and sinks below -10,000", low),
        ("sinks of -10,000, 0.3 and 10,000", apart),
    ]
    return [first, *shuffled(rng, others)]


def _drawn(rng, sizes):
    """Return [q (H, T, d), k (H, S, d), v (H, S, dv), sink (H,)]."""
    H, T, S, d, dv = sizes
    shapes = ((H, T, d), (H, S, d), (H, S, dv), (H,))
    return [rng.normal(size=shape) for shape in shapes]


def _scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


def _context(q, k, v, sink, mask):
    """Return the right context of tensors, (H, T, dv)."""
    import torch

    scores = _scores(q, k).masked_fill(~mask, -torch.inf)
    sinks = sink[:, None, None].expand(-1, scores.shape[1], 1)
    weights = torch.cat([sinks, scores], -1).softmax(-1)
    return weights[..., 1:] @ v


def _refuse_weights(output, inputs):
    """Raise NotYet if the weights came back, with the sink's or without."""
    q, _, v, *_ = inputs
    H, T, _ = q.shape
    _, S, dv = v.shape
    is_other_shape = output.shape in {(H, T, S), (H, T, S + 1)} - {(H, T, dv)}
    is_share = (output >= 0).all() and (output.sum(-1) <= 1).all()
    if is_other_shape or (is_share and S > 1):
        sentence = "these are weights; the context, weights times values, is asked for"
        raise NotYet(f"{sentence}.", mistake=sentence)


def _judge_gradient_of_sink(gradients, right, leaves, setting):
    by_name = None if gradients is None else dict(zip(NAMES, gradients, strict=True))
    if by_name is None or not by_name["sink"].any():
        raise NotYet(f"{NO_GRADIENT}.", mistake=NO_GRADIENT)
    floats = {name: leaves[name] for name in NAMES}
    judge_gradients(by_name, right, floats, setting)


def _wrong_contexts(q, k, v, sink, mask, output):
    H, T, d = q.shape
    S = k.shape[1]
    raw = _scores(q, k)
    scores = np.where(mask, raw, -np.inf)
    sinks = sink[:, None, None]

    def context(sinks=sinks, scores=scores, values=v):
        column = np.broadcast_to(sinks, (H, T, 1))
        weights = softmax(np.concatenate([scores, column], -1))
        tokens = weights[..., :-1]
        return tokens @ values, weights[..., -1:], weights

    right, rest, _ = context()
    plain, *_ = context(np.full((H, 1, 1), -np.inf))
    top = scores.max(-1, keepdims=True)
    exps = np.exp(scores - top)
    total = exps.sum(-1, keepdims=True)
    lse = top + np.log(total)
    lse_before_root = d**0.5 * top + np.log(np.exp(d**0.5 * (scores - top)).sum(-1, keepdims=True))
    mean = np.where(mask, raw, 0).sum(-1, keepdims=True) / mask.sum(-1)[:, None]
    mean_of_seen = np.where(mask, 1.0, 0.0) @ v / mask.sum(-1)[:, None]
    mean_of_all = v.mean(1, keepdims=True)
    raw_exps = np.exp(scores)
    blind = ~mask.any(-1)
    lost = np.isnan(output)
    all_keys = np.concatenate([raw, np.broadcast_to(sinks, (H, T, 1))], -1)
    below = np.concatenate([scores, np.broadcast_to(sinks, (H, T, 1))], -1)
    over_queries = softmax(below, -2)
    is_extreme = max(np.abs(raw[:, mask]).max(initial=0), np.abs(sink).max()) > 700

    return {
        "the sink has no effect: either its weight is divided out again, or it is added to every score, "
        "which changes nothing": plain,
        "the sink is in another unit: the largest score is subtracted from the scores and not from the "
        "sink": exps @ v / (total + np.exp(sinks)),
        "the gate is turned round: it closes where the log-sum-exp is high": (
            _sigmoid(sinks - lse) * plain
        ),
        "the sink is compared with the largest score; compare it with the log-sum-exp of all of them": (
            _sigmoid(top - sinks) * plain
        ),
        "the sink is compared with the mean score; compare it with the log-sum-exp of all of them": (
            _sigmoid(mean - sinks) * plain
        ),
        "the sink is compared with the log-sum-exp before the root of d; it belongs to the scaled scores": (
            _sigmoid(lse_before_root - sinks) * plain
        ),
        "the sink is added to the sum of exponentials; its exponential belongs there": AnyOf(
            (exps @ v / (total + sinks), raw_exps @ v / (raw_exps.sum(-1, keepdims=True) + sinks))
        ),
        "the sink is divided by the root of d; it is a score already": context(sinks / d**0.5)[0],
        "your sink is always 0; use the one that is given": context(0 * sinks)[0],
        "the sign of the sink is turned round": context(-sinks)[0],
        "the sink is a score already; the softmax takes its exponential": context(np.exp(sinks))[0],
        "all heads use the mean of the sinks; each has one": (
            context(sinks.mean(0, keepdims=True))[0] if H > 1 else NOT_HERE
        ),
        "the first key is cut off in place of the sink": context()[2][..., 1:] @ v,
        "the mask is transposed; its row t belongs to query t": (
            context(scores=np.where(mask.T, raw, -np.inf))[0] if T == S else NOT_HERE
        ),
        "all heads use the sink of head 0; each has one": context(sink[:1, None, None])[0],
        "the sinks lie along the queries; each head has one": (
            context(sink[None, :, None])[0] if H == T and H > 1 else NOT_HERE
        ),
        "the sinks lie along the keys; each head has one score more": (
            context(np.full((H, 1, 1), -np.inf), scores + sink)[0] if H == S > 1 else NOT_HERE
        ),
        "the mask comes after the softmax, so that hidden keys still count beside the sink": (
            (softmax(all_keys)[..., :-1] * mask) @ v
        ),
        "no key is hidden; the mask is missing or not used": context(scores=raw)[0],
        INVERTED: context(scores=np.where(mask, -np.inf, raw))[0],
        "hidden scores are set to 0, but exp(0) = 1 is still a weight": (
            context(scores=np.where(mask, raw, 0))[0]
        ),
        LOW_FILL: NOT_HERE
        if lost.any()
        else AnyOf(tuple(context(scores=np.where(mask, raw, x))[0] for x in (-20.0, -1e4))),
        "the sink returns the first value; its value is zero": right + rest * v[:, :1],
        "the sink returns the last value; its value is zero": right + rest * v[:, -1:],
        "the sink returns the mean of the values; its value is zero": (
            AnyOf((right + rest * mean_of_all, right + rest * mean_of_seen))
        ),
        "the sink returns one in each coordinate; its value is zero": right + rest,
        "the gate is applied twice": (1 - rest) * right,
        "the scores are not divided by the root of d, the width of a query": (
            context(scores=scores * d**0.5)[0]
        ),
        "the scores are divided by d, not by its root": context(scores=scores / d**0.5)[0],
        "the softmax runs over the queries, not over the keys and the sink": over_queries[..., :-1]
        @ v,
        "a query that sees no key has no context of its own, and there 0 times nan, or infinity minus "
        "infinity, is nan; its result is 0": (
            Seen(_only_blind_lost(output, right, blind)) if blind.any() else None
        ),
        "an exponential is infinite or zero: subtract the largest of all scores, the sink among them": (
            Seen(bool(lost.any()) or close(output, right)) if is_extreme else None
        ),
    }


def _only_blind_lost(output, right, blind):
    """True if the output is nan where a query sees no key, and right elsewhere."""
    return bool(np.isnan(output[:, blind]).any()) and close(output[:, ~blind], right[:, ~blind])


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))
