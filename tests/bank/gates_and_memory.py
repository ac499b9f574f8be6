"""Right and wrong answers to 16.1-16.5, each wrong one with a fragment of the message it must get."""

import math
from functools import partial

import numpy as np
import sympy as sp
import torch
import torch.nn.functional as F
from mpmath import mp

import attn_utils
from attn_course import derive
from attn_course.markers import STUB
from bank import edited
from bank.fast_attention import root

INF = math.inf
# Helpers such as sink("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}


def chain(start, where, *lines):
    """A chain; a line is an expression, or a relation and an expression."""
    steps = [(*line, "so") if isinstance(line, tuple) else (line, "so") for line in lines]
    return derive((start, "given"), *steps, where=where)


# 16.1, the chains

C, c, lse, s_0, g = sp.symbols("C c l s_0 g", real=True)
Z, alpha = sp.symbols("Z alpha", positive=True)
SINK = sp.exp(s_0)
gate = partial(chain, C / (Z + SINK), {C: c * Z, Z: sp.exp(lse)})
sink_pull = partial(
    chain,
    -g * C * SINK / (Z + SINK) ** 2,
    {C: c * Z, s_0: sp.log(Z * (1 - alpha) / alpha), alpha: (0, 1)},
)
CONTEXT_IN = c * Z / (Z + SINK)
GATE = c / (1 + sp.exp(s_0 - lse))
PULL = -g * alpha * (1 - alpha) * c
TWO_SHARES = -g * c * (Z / (Z + SINK)) * (SINK / (Z + SINK))
GATED = gate(CONTEXT_IN, GATE)
PULLED = sink_pull(TWO_SHARES, PULL)

# 16.1, the code


def with_column(q, k, v, sink, mask):
    scores = q @ k.mT / root(q)
    scores = scores.masked_fill(~mask, -INF)
    column = sink[:, None, None].expand(-1, q.shape[1], 1)
    weights = torch.cat([scores, column], -1).softmax(-1)
    return weights[..., :-1] @ v


def with_gate(q, k, v, sink, mask):
    scores = (q @ k.mT / root(q)).masked_fill(~mask, -INF)
    lse = scores.logsumexp(-1, keepdim=True)
    context = scores.softmax(-1).nan_to_num(0.0) @ v
    return torch.sigmoid(lse - sink[:, None, None]) * context


def with_logaddexp(q, k, v, sink, mask):
    scores = (q @ k.mT / root(q)).masked_fill(~mask, -INF)
    total = torch.logaddexp(scores.logsumexp(-1), sink[:, None])
    return (scores - total[..., None]).exp() @ v


def with_key_of_zeros(q, k, v, sink, mask):
    """Torch's own attention over one key more, whose score is the bias."""
    H, T, _ = q.shape
    keys, values = F.pad(k, (0, 0, 1, 0)), F.pad(v, (0, 0, 1, 0))
    bias = torch.zeros_like(q @ k.mT).masked_fill(~mask, -INF)
    bias = torch.cat([sink[:, None, None].expand(H, T, 1), bias], -1)
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=bias)


def with_states(q, k, v, sink, mask):
    """The `merge` of 13.1 with a block whose maximum is the sink, sum 1 and output 0."""
    scores = (q @ k.mT / root(q)).masked_fill(~mask, -INF)
    other = sink[:, None, None]
    top = torch.maximum(scores.amax(-1, keepdim=True), other)
    exps = (scores - top).exp()
    return exps @ v / (exps.sum(-1, keepdim=True) + (other - top).exp())


def with_loops(q, k, v, sink, mask):
    heads = []
    for h in range(len(q)):
        rows = []
        for t in range(q.shape[1]):
            seen = mask[t].nonzero()[:, 0]
            scores = torch.cat([k[h, seen] @ q[h, t] / root(q), sink[h : h + 1]])
            rows.append(scores.softmax(0)[:-1] @ v[h, seen])
        heads.append(torch.stack(rows))
    return torch.stack(heads)


sink = partial(edited, with_column)
gated = partial(edited, with_gate)


def with_raw_exponentials(q, k, v, sink, mask):
    exps = (q @ k.mT / root(q)).exp() * mask
    return exps @ v / (exps.sum(-1, keepdim=True) + sink[:, None, None].exp())


raw = partial(edited, with_raw_exponentials)

RIGHT["16.1"] = {
    "as on the card": (GATED, PULLED),
    "in one line each": (gate(GATE), sink_pull(PULL)),
    "divided by Z first": (gate(c / (1 + SINK / Z), GATE), PULLED),
    "by a hyperbolic tangent": (gate(CONTEXT_IN, c * (1 + sp.tanh((lse - s_0) / 2)) / 2), PULLED),
    "the exponential of l": (
        gate(c * sp.exp(lse) / (sp.exp(lse) + SINK), GATE),
        sink_pull(-g * c * alpha * (1 - SINK / (Z + SINK)) * (1 - alpha) / alpha, PULL),
    ),
    "multiplied out": (GATED, sink_pull(TWO_SHARES, g * c * alpha**2 - g * c * alpha)),
    "alpha first": (GATED, sink_pull(-g * c * alpha * SINK / (Z + SINK), PULL)),
    "one minus": (gate(CONTEXT_IN, c * (1 - 1 / (1 + sp.exp(lse - s_0))), GATE), PULLED),
    "a column behind": with_column,
    "a column in front": sink(
        "[scores, column]", "[column, scores]", "weights[..., :-1]", "weights[..., 1:]"
    ),
    "a gate": with_gate,
    "logaddexp": with_logaddexp,
    "a softmax in float32": sink(
        "torch.cat([scores, column], -1).softmax(-1)",
        "torch.cat([scores, column], -1).float().softmax(-1).to(v.dtype)",
    ),
    "a key of zeros with a bias": with_key_of_zeros,
    "merged states": with_states,
    "loops": with_loops,
    "a value of zeros": sink(
        "weights[..., :-1] @ v", "weights @ torch.cat([v, torch.zeros_like(v[:, :1])], 1)"
    ),
}
WRONG["16.1"] = {
    "sigmoid turned round": (
        (gate(CONTEXT_IN, c / (1 + sp.exp(lse - s_0))), PULLED),
        "a high sink closes the gate; at",
    ),
    "s_0 for its exponential": ((gate(c * Z / (Z + s_0)), PULLED), "the sink stands for"),
    "Z forgotten": ((gate(c / (Z + SINK), GATE), PULLED), "Z is lost above"),
    "Z left": ((gate(CONTEXT_IN, c / (1 + SINK / Z)), PULLED), "still contains Z"),
    "two exponentials": (
        (gate(CONTEXT_IN, c * sp.exp(lse) / (sp.exp(lse) + SINK)), PULLED),
        "one and the same exponential",
    ),
    "ratio of scores": (
        (gate(CONTEXT_IN, c * lse / (lse + s_0)), PULLED),
        "where their exponentials",
    ),
    "the limit": ((gate(CONTEXT_IN, c), PULLED), "the limit of a very low sink"),
    "another sign": ((GATED, sink_pull(TWO_SHARES, -PULL)), "the sign is lost"),
    "a factor lost": (
        (GATED, sink_pull(TWO_SHARES, -g * alpha * c)),
        "the weight of the sink is lost",
    ),
    "a factor squared": (
        (GATED, sink_pull(TWO_SHARES, -g * alpha * (1 - alpha) ** 2 * c)),
        "one of the fractions is squared",
    ),
    "g lost": ((GATED, sink_pull(TWO_SHARES, PULL / g)), "g is lost"),
    "C for c": ((GATED, sink_pull(-g * C * alpha * (1 - alpha))), "before: C is c times Z"),
    "stops halfway": ((GATED, sink_pull(TWO_SHARES)), "until nothing but alpha, c and g is left"),
    "ignored": (
        lambda q, k, v, sink, mask: attn_utils.attend(q, k, v, mask=mask)[0],
        "has no effect",
    ),
    "in another unit": (
        edited(
            with_states,
            "top = torch.maximum(scores.amax(-1, keepdim=True), other)",
            "top = scores.amax(-1, keepdim=True).clamp(min=-1e300)",
            "(other - top).exp()",
            "other.exp()",
        ),
        "in another unit",
    ),
    "turned round": (
        gated("lse - sink[:, None, None]", "sink[:, None, None] - lse"),
        "turned round",
    ),
    "largest score": (
        gated("logsumexp(-1, keepdim=True)", "amax(-1, keepdim=True)"),
        "compared with the largest score",
    ),
    "mean score": (
        gated(
            "scores.logsumexp(-1, keepdim=True)",
            "((q @ k.mT / root(q)) * mask).sum(-1, keepdim=True) / mask.sum(-1)[:, None]",
        ),
        "compared with the mean score",
    ),
    "before the root": (
        gated("scores.logsumexp", "(scores * root(q)).logsumexp"),
        "before the root of d",
    ),
    "the sink in the sum": (
        raw("sink[:, None, None].exp()", "sink[:, None, None]"),
        "its exponential belongs there",
    ),
    "sink by the root": (
        sink("sink[:, None, None]", "(sink / root(q))[:, None, None]"),
        "it is a score already",
    ),
    "always 0": (sink("sink[:, None, None]", "(0 * sink)[:, None, None]"), "is always 0"),
    "another sign of the sink": (sink("sink[:,", "-sink[:,"), "the sign of the sink"),
    "sink of head 0": (
        sink("sink[:, None, None].expand(-1,", "sink[0].expand(len(q),"),
        "the sink of head 0",
    ),
    "along the queries": (
        sink(
            "sink[:, None, None].expand(-1, q.shape[1], 1)",
            "sink[None, :, None].expand(len(q), -1, 1)",
        ),
        "lie along the queries",
    ),
    "along the keys": (
        lambda q, k, v, sink, mask: (
            (q @ k.mT / root(q) + sink).masked_fill(~mask, -INF).softmax(-1) @ v
        ),
        "lie along the keys",
    ),
    "mask after softmax": (
        sink(
            "scores = scores.masked_fill(~mask, -INF)",
            "",
            "weights[..., :-1]",
            "(weights[..., :-1] * mask)",
        ),
        "the mask comes after the softmax",
    ),
    "no mask": (sink("scores = scores.masked_fill(~mask, -INF)", ""), "no key is hidden"),
    "inverted mask": (sink("~mask", "mask"), "the wrong way round (True means may look)"),
    "hidden by zero": (sink("-INF", "0.0"), "exp(0) = 1 is still a weight"),
    "a low number hides": (sink("-INF", "-1e4"), "a low number such as -20"),
    "first value": (
        sink("weights[..., :-1] @ v", "weights @ torch.cat([v, v[:, :1]], 1)"),
        "the sink returns the first value",
    ),
    "mean value": (
        sink("weights[..., :-1] @ v", "weights @ torch.cat([v, v.mean(1, keepdim=True)], 1)"),
        "the mean of the values",
    ),
    "value of ones": (
        sink("weights[..., :-1] @ v", "weights @ F.pad(v, (0, 0, 0, 1), value=1.0)"),
        "returns one in each coordinate",
    ),
    "gate twice": (
        sink("weights[..., :-1] @ v", "(1 - weights[..., -1:]) * (weights[..., :-1] @ v)"),
        "the gate is applied twice",
    ),
    "divided out again": (
        sink("weights[..., :-1] @ v", "weights[..., :-1] / (1 - weights[..., -1:]) @ v"),
        "its weight is divided out again",
    ),
    "no root": (sink(" / root(q)", ""), "not divided by the root of d"),
    "divided by d": (sink("root(q)", "q.shape[-1]"), "divided by d, not by its root"),
    "softmax over queries": (sink("softmax(-1)", "softmax(-2)"), "over the queries"),
    "0 times nan": (gated(".nan_to_num(0.0)", ""), "0 times nan"),
    "infinity minus infinity": (
        edited(
            with_states,
            "torch.maximum(scores.amax(-1, keepdim=True), other)",
            "scores.amax(-1, keepdim=True)",
        ),
        "infinity minus infinity",
    ),
    "raw exponentials": (with_raw_exponentials, "subtract the largest of all scores"),
    "exponential of the sink": (
        sink("sink[:,", "sink.exp()[:,"),
        "the softmax takes its exponential",
    ),
    "mean of the sinks": (
        sink("sink[:, None, None]", "sink.mean().expand(len(q))[:, None, None]"),
        "the mean of the sinks",
    ),
    "another slice": (sink(":-1]", "1:]"), "the first key is cut off"),
    "transposed mask": (
        sink("~mask", "~(mask.T if len(mask) == len(mask.T) else mask)"),
        "the mask is transposed",
    ),
    "detached": (sink("sink[:,", "sink.detach()[:,"), "no gradient reaches the sink"),
    "a number": (
        sink("sink[:, None, None]", "torch.tensor([x.item() for x in sink])[:, None, None]"),
        "no gradient reaches the sink: keep it",
    ),
    "weights returned": (sink("weights[..., :-1] @ v", "weights"), "these are weights"),
    "weights of the keys returned": (
        sink("weights[..., :-1] @ v", "weights[..., :-1]"),
        "weights times values, is asked for",
    ),
    "nothing comes back": (sink("return ", ""), "is a `return` missing?"),
}


def at_size(low, high):
    """Whether the largest visible score of a call is between these."""

    def belongs(given):
        q, k, *_, mask = given
        scores = (q @ k.mT / root(q))[:, mask]
        return scores.size > 0 and low <= np.abs(scores).max() <= high

    return belongs


INPUT_KINDS["16.1"] = {
    "attend_with_sink": {
        "a query that sees no key": lambda given: not given[4].any(1).all(),
        "scores in the hundreds": at_size(300, 1e4),
        "scores below -10,000": at_size(4e4, INF),
        "moderate scores": at_size(0, 30),
        "a very low and a very high sink": lambda given: np.ptp(given[3]) > 1e4,
        "one key": lambda given: given[1].shape[1] == 1,
        "more keys than queries": lambda given: given[1].shape[1] > given[0].shape[1],
    }
}

# 16.2, the chain

A, R, t = sp.symbols("A R t", positive=True)
n = sp.Symbol("n", integer=True, positive=True)
HIGH, LOW = sp.exp(t), sp.exp(-t)
at_most = partial(chain, A / (A + R), {A: (LOW, HIGH), R: ((n - 1) * LOW, (n - 1) * HIGH)})
BOUND = 1 / (1 + (n - 1) * sp.exp(-2 * t))
A_RAISED = ("<=", HIGH / (HIGH + R))
BOTH_ENDS = ("<=", HIGH / (HIGH + (n - 1) * LOW))

# 16.2, the code


def normed_scores(q, k, t):
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return t * q @ k.mT


def capped_weights(scores, t, mask):
    capped = t * torch.tanh(scores / t)
    return capped.masked_fill(~mask, -INF).softmax(-1)


def needed_bound(n, epsilon):
    lead = math.log((n - 1) * (1 - epsilon) / epsilon)
    return 0.5 * lead


def norm(*edits):
    return edited(normed_scores, *edits), capped_weights, needed_bound


def cap(*edits):
    return normed_scores, edited(capped_weights, *edits), needed_bound


def bound(*edits):
    return normed_scores, capped_weights, edited(needed_bound, *edits)


def others(*, scores=normed_scores, weights=capped_weights, bound=needed_bound):
    return scores, weights, bound


def tanh_by_exponentials_below_one(scores, t, mask):
    small = (-2 * scores.abs() / t).exp()
    capped = t * scores.sign() * (1 - small) / (1 + small)
    return torch.where(mask, capped, -INF).softmax(-1)


def by_hand(scores, t, mask):
    exps = (t * (2 * torch.sigmoid(2 * scores / t) - 1)).exp() * mask
    return exps / exps.sum(-1, keepdim=True)


def by_bisection(n, epsilon):
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        rest = (n - 1) * math.exp(-2 * middle)
        low, high = (middle, high) if rest / (1 + rest) > epsilon else (low, middle)
    return high


def by_newton(n, epsilon):
    t = math.log(n)
    for _ in range(60):
        t -= (math.log(n - 1) - 2 * t - math.log(epsilon / (1 - epsilon))) / -2
    return t


def root_mean_square(x):
    return x / (x.square().mean(-1, keepdim=True)).sqrt()


RIGHT["16.2"] = {
    "in one line": at_most(("<=", BOUND)),
    "A first, then R": at_most(A_RAISED, BOTH_ENDS, BOUND),
    "R first, then A": at_most(("<=", A / (A + (n - 1) * LOW)), BOTH_ENDS, BOUND),
    "both in one line": at_most(BOTH_ENDS, BOUND),
    "divided by A": at_most(1 / (1 + R / A), ("<=", 1 / (1 + R / HIGH)), ("<=", BOUND)),
    "in powers of e^2t": at_most(A_RAISED, BOTH_ENDS, sp.exp(2 * t) / (sp.exp(2 * t) + n - 1)),
    "one minus the rest": at_most(
        1 - R / (A + R),
        ("<=", 1 - R / (HIGH + R)),
        ("<=", 1 - (n - 1) * LOW / (HIGH + (n - 1) * LOW)),
        BOUND,
    ),
    "normalize, tanh, logarithm": others(),
    "cosine similarity": others(
        scores=lambda q, k, t: (
            t * F.cosine_similarity(q[..., :, None, :], k[..., None, :, :], dim=-1)
        )
    ),
    "root mean square over d": others(
        scores=lambda q, k, t: t * root_mean_square(q) @ root_mean_square(k).mT / q.shape[-1]
    ),
    "products over lengths": others(
        scores=lambda q, k, t: (
            t * (q @ k.mT) / (q.norm(dim=-1)[..., :, None] * k.norm(dim=-1)[..., None, :])
        )
    ),
    "einsum": others(
        scores=lambda q, k, t: (
            t
            * torch.einsum(
                "...td,...sd->...ts", *(x / x.norm(dim=-1, keepdim=True) for x in (q, k))
            )
        )
    ),
    "rows times the inverse root": others(
        scores=lambda q, k, t: (
            t
            * (q * q.square().sum(-1, keepdim=True).rsqrt())
            @ (k * k.square().sum(-1, keepdim=True).rsqrt()).mT
        )
    ),
    "t on the keys": others(
        scores=lambda q, k, t: F.normalize(q, dim=-1) @ (t * F.normalize(k, dim=-1)).mT
    ),
    "exponentials below one": others(weights=tanh_by_exponentials_below_one),
    "a log-softmax": others(
        weights=lambda scores, t, mask: (
            torch.where(mask, t * torch.tanh(scores / t), -INF).log_softmax(-1).exp()
        )
    ),
    "minus the logarithm of the odds": others(
        bound=lambda n, epsilon: -math.log(epsilon / ((n - 1) * (1 - epsilon))) / 2
    ),
    "a sigmoid": others(weights=by_hand),
    "a bias of minus infinity": others(
        weights=lambda scores, t, mask: (
            t * (scores / t).tanh() + torch.zeros_like(scores).masked_fill(~mask, -INF)
        ).softmax(-1)
    ),
    "a large negative number": others(
        weights=lambda scores, t, mask: (
            (t * (scores / t).tanh()).masked_fill(~mask, -1e9).softmax(-1)
        )
    ),
    "bisection": others(bound=by_bisection),
    "Newton's method": others(bound=by_newton),
    "the logarithm of a root": others(
        bound=lambda n, epsilon: math.log(math.sqrt((n - 1) * (1 / epsilon - 1)))
    ),
    "logarithms apart": others(
        bound=lambda n, epsilon: (np.log(n - 1) + np.log1p(-epsilon) - np.log(epsilon)) / 2
    ),
    "an inverse hyperbolic tangent": others(
        bound=lambda n, epsilon: math.atanh(1 - 2 * epsilon) + math.log(n - 1) / 2
    ),
}
WRONG["16.2"] = {
    "a lead of t": (at_most(A_RAISED, ("<=", 1 / (1 + (n - 1) * LOW))), "the lead is 2 t: the key"),
    "one rival": (at_most(A_RAISED, ("<=", HIGH / (HIGH + LOW))), "that is one rival"),
    "at most one": (at_most(A_RAISED, BOTH_ENDS, ("<=", n / n)), "not the best bound"),
    "n rivals": (at_most(A_RAISED, ("<=", HIGH / (HIGH + n * LOW))), "before: there are n - 1"),
    "the least weight": (at_most((">=", LOW / (LOW + (n - 1) * HIGH))), "asked for"),
    "an equality": (at_most(("=", HIGH / (HIGH + R)), BOTH_ENDS, BOUND), "step 1"),
    "R left": (at_most(A_RAISED), "still contains R"),
    "wrong direction": (at_most((">=", HIGH / (HIGH + R))), "step 1 of"),
    "queries alone": (norm("F.normalize(k, dim=-1)", "k"), "only the queries have length one"),
    "keys alone": (norm("F.normalize(q, dim=-1)", "q"), "only the keys have length one"),
    "none": (
        norm("F.normalize(q, dim=-1), F.normalize(k, dim=-1)", "q, k"),
        "neither queries nor keys have length one: ",
    ),
    "none, with the root": (
        norm("F.normalize(q, dim=-1), F.normalize(k, dim=-1)", "q / q.shape[-1] ** 0.5, k"),
        "and the root of d is there",
    ),
    "columns": (
        norm(
            "F.normalize(q, dim=-1), F.normalize(k, dim=-1)",
            "F.normalize(q, dim=-2), F.normalize(k, dim=-2)",
        ),
        "each column is scaled",
    ),
    "the default axis": (norm(", dim=-1", ""), "takes axis 1 unless"),
    "all together": (
        norm("F.normalize(q, dim=-1), F.normalize(k, dim=-1)", "q / q.norm(), k / k.norm()"),
        "all queries together",
    ),
    "sum of sizes": (norm("dim=-1)", "dim=-1, p=1)"), "the sum of its sizes"),
    "squares of lengths": (
        norm(
            "F.normalize(q, dim=-1), F.normalize(k, dim=-1)",
            "(x / x.square().sum(-1, keepdim=True) for x in (q, k))",
        ),
        "the square of its length",
    ),
    "root mean square": (
        norm(
            "F.normalize(q, dim=-1), F.normalize(k, dim=-1)",
            "root_mean_square(q), root_mean_square(k)",
        ),
        "divide by the root of the sum of squares",
    ),
    "root mean square and the root": (
        norm(
            "F.normalize(q, dim=-1), F.normalize(k, dim=-1)",
            "root_mean_square(q) / q.shape[-1] ** 0.5, root_mean_square(k)",
        ),
        "the root of d is there besides",
    ),
    "also the root": (norm("k.mT", "k.mT / q.shape[-1] ** 0.5"), "t takes its place"),
    "t twice": (norm("t * q", "t * t * q"), "t is multiplied in twice"),
    "no t": (norm("t * ", ""), "t is missing"),
    "t divides": (norm("t * q @ k.mT", "q @ k.mT / t"), "t divides"),
    "exchanged": (norm("q @ k.mT", "k @ q.mT"), "row i belongs to query i"),
    "softmax of the scores": (
        norm("t * q @ k.mT", "(t * q @ k.mT).softmax(-1)"),
        "the scores are asked",
    ),
    "mask, then cap": (
        cap(
            "scores / t",
            "scores.masked_fill(~mask, -INF) / t",
            "capped.masked_fill(~mask, -INF)",
            "capped",
        ),
        "a hidden key comes back",
    ),
    "clamp": (cap("t * torch.tanh(scores / t)", "scores.clamp(-t, t)"), "cut off at t and -t"),
    "not divided before tanh": (cap("scores / t", "scores"), "not divided by t before tanh"),
    "not multiplied after": (cap("t * torch", "torch"), "is not multiplied by t"),
    "multiplied before": (
        cap("scores / t", "scores * t"),
        "multiplied by t before tanh, not divided",
    ),
    "changed places": (
        cap("t * torch.tanh(scores / t)", "torch.tanh(scores * t) / t"),
        "they have changed places",
    ),
    "no t at all": (
        cap("t * torch.tanh(scores / t)", "torch.tanh(scores)"),
        "tanh is taken without t",
    ),
    "smaller": (cap("t * torch.tanh(scores / t)", "scores / t"), "a smaller score, not a capped"),
    "no cap": (cap("t * torch.tanh(scores / t)", "scores"), "the scores are not capped"),
    "weights capped": (
        cap(
            "t * torch.tanh(scores / t)",
            "scores",
            "return capped.masked_fill(~mask, -INF).softmax(-1)",
            "return t * torch.tanh(capped.masked_fill(~mask, -INF).softmax(-1) / t)",
        ),
        "the weights are capped; the",
    ),
    "own tanh": (
        cap(
            "torch.tanh(scores / t)", "((2 * scores / t).exp() - 1) / ((2 * scores / t).exp() + 1)"
        ),
        "an exponential is infinite",
    ),
    "no mask": (cap(".masked_fill(~mask, -INF)", ""), "the mask is missing"),
    "mask after softmax": (
        cap("capped.masked_fill(~mask, -INF).softmax(-1)", "capped.softmax(-1) * mask"),
        "the mask comes after the softmax",
    ),
    "inverted mask": (cap("~mask", "mask"), "the wrong way round (True means may look)"),
    "hidden by zero": (cap("-INF", "0.0"), "exp(0) = 1 is still a weight"),
    "hidden by -20": (cap("-INF", "-20.0"), "a low number such as -10"),
    "softmax over queries": (
        cap("softmax(-1)", "softmax(-2)"),
        "over the queries, not over the keys",
    ),
    "no softmax": (cap(".softmax(-1)", ""), "their softmax is asked for"),
    "softsign": (
        cap("t * torch.tanh(scores / t)", "scores / (1 + scores.abs() / t)"),
        "the soft cap asked for is t tanh(s / t)",
    ),
    "gradient lost": (cap("scores / t", "scores.detach() / t"), "no gradient flows back"),
    "1.6 again": (bound("0.5 * ", ""), "half of it is enough"),
    "doubled": (bound("0.5 * ", "2 * "), "*half* of the lead"),
    "halved again": (bound("0.5 * ", "0.25 * "), "not a quarter"),
    "n rivals in the bound": (bound("(n - 1)", "n"), "n - 1 rivals, not n"),
    "one over epsilon": (bound("* (1 - epsilon)", ""), "the key keeps 1 - epsilon, not 1"),
    "epsilon turned round": (
        bound("(1 - epsilon) / epsilon", "epsilon / (1 - epsilon)"),
        "leaves epsilon to the key",
    ),
    "no n": (bound("(n - 1) * ", ""), "enough against one rival"),
    "no epsilon": (bound(" * (1 - epsilon) / epsilon", ""), "epsilon is left out"),
    "base 2": (bound("math.log", "math.log2"), "a logarithm to base 2"),
    "base 10": (bound("math.log", "math.log10"), "a logarithm to base 10"),
    "another sign of the bound": (bound("0.5 *", "-0.5 *"), "the sign is turned round"),
    "rounded": (bound("0.5 * lead", "round(0.5 * lead, 2)"), "that is rounded"),
    "half inside": (bound("0.5 * ", "", "/ epsilon", "/ epsilon / 2"), "not inside"),
    "no logarithm": (bound("math.log", "float"), "the logarithm is missing"),
    "a root for the half": (
        bound("0.5 * lead", "math.exp(lead / 2)"),
        "the exponential of the bound",
    ),
}
INPUT_KINDS["16.2"] = {
    "normed_scores": {
        "one coordinate": lambda given, t: given[0].shape[-1] == 1,
        "leading axes": lambda given, t: given[0].ndim > 2,
        "long and short queries": lambda given, t: (
            np.ptp(np.log(np.linalg.norm(given[0], axis=-1))) > 3
        ),
        "more keys than queries": lambda given, t: given[1].shape[-2] > given[0].shape[-2],
    },
    "capped_weights": {
        "scores far above the cap": lambda scores, t, mask: np.abs(scores).max() > 1000 * t,
        "scores far below the cap": lambda scores, t, mask: np.abs(scores).max() < t / 5,
        "a row that sees one key": lambda scores, t, mask: (mask.sum(1) == 1).any(),
        "as many keys as queries": lambda scores, t, mask: len(set(scores.shape)) == 1,
    },
    "needed_bound": {
        "two keys": lambda n, epsilon: n == 2,
        "very many keys": lambda n, epsilon: n > 1e6,
        "a large share": lambda n, epsilon: epsilon > 0.2,
        "a tiny share": lambda n, epsilon: epsilon < 1e-5,
    },
}

# 16.3, the chain

C_1, C_0, c_1, c_0 = sp.symbols("C_1 C_0 c_1 c_0", real=True)
Z_1, Z_0, epsilon = sp.symbols("Z_1 Z_0 epsilon", positive=True)
error = partial(
    chain,
    C_1 / Z_1 - (C_1 + C_0) / (Z_1 + Z_0),
    {
        C_1: c_1 * Z_1,
        C_0: c_0 * Z_0,
        Z_0: Z_1 * epsilon / (1 - epsilon),
        epsilon: (0, 1),
    },
)
CONTEXTS_IN = c_1 - (c_1 * Z_1 + c_0 * Z_0) / (Z_1 + Z_0)
ONE_FRACTION = Z_0 * (c_1 - c_0) / (Z_1 + Z_0)
ERROR = epsilon * (c_1 - c_0)

# 16.3, the code


def sparse_attend(q, k, v, kept):
    keys, values = k[kept], v[kept]
    scores = torch.einsum("td,tkd->tk", q, keys) / root(q)
    weights = scores.softmax(-1)
    return torch.einsum("tk,tkv->tv", weights, values)


def error_of_dropping(q, k, v, kept):
    scores = q @ k.T / root(q)
    is_kept = torch.zeros_like(scores).scatter(1, kept, 1.0) > 0
    ours, others = scores.masked_fill(~is_kept, -INF), scores.masked_fill(is_kept, -INF)
    gap = others.logsumexp(-1) - ours.logsumexp(-1)
    share = gap.sigmoid()
    apart = ours.softmax(-1) @ v - others.softmax(-1) @ v
    return share, share[:, None] * apart


def sparse(*edits):
    return edited(sparse_attend, *edits), error_of_dropping


def dropping(*edits):
    return sparse_attend, edited(error_of_dropping, *edits)


def by_index_select(q, k, v, kept):
    T, K = kept.shape
    keys = k.index_select(0, kept.flatten()).view(T, K, -1)
    values = v.index_select(0, kept.flatten()).view(T, K, -1)
    return F.scaled_dot_product_attention(q[:, None], keys, values)[:, 0]


def by_rows(q, k, v, kept):
    return torch.stack(
        [(k[row] @ x / root(q)).softmax(0) @ v[row] for x, row in zip(q, kept, strict=True)]
    )


def by_exponentials(q, k, v, kept):
    scores = (q[:, None] @ k[kept].mT)[:, 0] / root(q)
    exps = (scores - scores.amax(-1, keepdim=True)).exp()
    return (exps[..., None] * v[kept]).sum(1) / exps.sum(-1, keepdim=True)


def by_a_mask_over_read_rows(q, k, v, kept):
    is_read = torch.zeros(len(k), dtype=torch.bool)
    is_read[kept.flatten()] = True
    k, v = (x.masked_fill(~is_read[:, None], 0.0) for x in (k, v))
    mask = torch.zeros(len(q), len(k), dtype=torch.bool).scatter(1, kept, True)
    return (q @ k.T / root(q)).masked_fill(~mask, -INF).softmax(-1) @ v


def by_a_mask(q, k, v, kept):
    mask = torch.zeros(len(q), len(k), dtype=torch.bool).scatter(1, kept, True)
    return (q @ k.T / root(q)).masked_fill(~mask, -INF).softmax(-1) @ v


def by_halves(q, k, v, kept):
    shares, errors = [], []
    for x, row in zip(q, kept.tolist(), strict=True):
        rest = [j for j in range(len(k)) if j not in row]
        (l_1, c_1), (l_0, c_0) = (
            ((k[half] @ x / root(q)).logsumexp(0), (k[half] @ x / root(q)).softmax(0) @ v[half])
            for half in (row, rest)
        )
        shares.append(1 / (1 + (l_1 - l_0).exp()))
        errors.append(shares[-1] * (c_1 - c_0))
    return torch.stack(shares), torch.stack(errors)


def by_log_weights(q, k, v, kept):
    log_weights = (q @ k.T / root(q)).log_softmax(-1)
    is_dropped = torch.ones_like(log_weights).scatter(1, kept, 0.0) > 0
    share = log_weights.masked_fill(~is_dropped, -INF).logsumexp(-1)
    dropped = (log_weights.masked_fill(~is_dropped, -INF) - share[:, None]).exp() @ v
    kept_half = log_weights.masked_fill(is_dropped, -INF).softmax(-1) @ v
    return share.exp(), share.exp()[:, None] * (kept_half - dropped)


def in_numpy(q, k, v, kept):
    q, k, v, kept = (x.numpy() for x in (q, k, v, kept))
    scores = q @ k.T / q.shape[1] ** 0.5
    exps = np.exp(scores - scores.max(1, keepdims=True))
    ours = np.zeros_like(exps)
    np.put_along_axis(ours, kept, np.take_along_axis(exps, kept, 1), 1)
    others = exps.copy()
    np.put_along_axis(others, kept, 0.0, 1)
    share = others.sum(1) / exps.sum(1)
    c_1, c_0 = (x @ v / x.sum(1, keepdims=True) for x in (ours, others))
    return share, share[:, None] * (c_1 - c_0)


def by_pairs_of_values(q, k, v, kept):
    """Each kept value minus each dropped one, times the weight of the dropped one."""
    weights = (q @ k.T / root(q)).softmax(-1)
    dropped = weights.scatter(1, kept, 0.0)
    ours = weights - dropped
    ours = ours / ours.sum(-1, keepdim=True)
    pairs = (v[:, None] - v).expand(len(q), -1, -1, -1)  # (T, S, S, dv)
    return dropped.sum(-1), torch.einsum("ti,tj,tijv->tv", ours, dropped, pairs)


def in_400_digits(q, k, v, kept):
    """Sparse minus full as it stands; enough digits are left."""
    shares, errors = [], []
    with mp.workdps(400):
        for x, row in zip(q.tolist(), kept.tolist(), strict=True):
            scores = [mp.fdot(x, key) / mp.sqrt(len(x)) for key in k.tolist()]
            exps = [mp.exp(score) for score in scores]
            ours = [e if j in row else mp.zero for j, e in enumerate(exps)]
            shares.append(float(1 - sum(ours) / sum(exps)))
            errors.append(
                [
                    float(mp.fdot(ours, column) / sum(ours) - mp.fdot(exps, column) / sum(exps))
                    for column in v.T.tolist()
                ]
            )
    return torch.tensor(shares, dtype=q.dtype), torch.tensor(errors, dtype=q.dtype)


def by_subtraction(q, k, v, kept):
    weights = (q @ k.T / root(q)).softmax(-1)
    share = weights.scatter(1, kept, 0.0).sum(-1)
    return share, by_rows(q, k, v, kept) - weights @ v


def share_by_subtraction(q, k, v, kept):
    _, right = error_of_dropping(q, k, v, kept)
    weights = (q @ k.T / root(q)).softmax(-1)
    return 1 - weights.gather(1, kept).sum(-1), right


def full_weights_of_dropped(q, k, v, kept):
    share, _ = error_of_dropping(q, k, v, kept)
    weights = (q @ k.T / root(q)).softmax(-1).scatter(1, kept, 0.0)
    return share, share[:, None] * (by_rows(q, k, v, kept) - weights @ v)


RIGHT["16.3"] = {
    "in one line": error(ERROR),
    "one fraction": error(CONTEXTS_IN, ONE_FRACTION, ERROR),
    "epsilon first": error(CONTEXTS_IN, c_1 - ((1 - epsilon) * c_1 + epsilon * c_0), ERROR),
    "multiplied out": error(CONTEXTS_IN, ONE_FRACTION, epsilon * c_1 - epsilon * c_0),
    "two fractions": error(
        c_1 - c_1 * Z_1 / (Z_1 + Z_0) - c_0 * Z_0 / (Z_1 + Z_0),
        c_1 * Z_0 / (Z_1 + Z_0) - c_0 * Z_0 / (Z_1 + Z_0),
        ERROR,
    ),
    "indexing": (sparse_attend, error_of_dropping),
    "index_select, torch's own": (by_index_select, by_halves),
    "row by row": (by_rows, by_log_weights),
    "exponentials, NumPy": (by_exponentials, in_numpy),
    "a mask, unread rows emptied": (by_a_mask_over_read_rows, error_of_dropping),
    "the course's own, 400 digits": (
        lambda q, k, v, kept: attn_utils.attend(q[:, None], k[kept], v[kept])[0][:, 0],
        in_400_digits,
    ),
    "pairs of values": (sparse_attend, by_pairs_of_values),
}
WRONG["16.3"] = {
    "another sign": (error(CONTEXTS_IN, -ONE_FRACTION), "that is full minus sparse"),
    "kept share": (
        error(CONTEXTS_IN, (1 - epsilon) * (c_1 - c_0)),
        "the weight of the kept keys; at",
    ),
    "both shares": (
        error(CONTEXTS_IN, ONE_FRACTION, epsilon * (1 - epsilon) * (c_1 - c_0)),
        "one factor too many",
    ),
    "odds": (
        error(CONTEXTS_IN, ONE_FRACTION, epsilon / (1 - epsilon) * (c_1 - c_0)),
        "over the sum of both Z",
    ),
    "c_0 lost": (error(CONTEXTS_IN, epsilon * c_1), "the dropped context is lost"),
    "Z left": (error(CONTEXTS_IN, ONE_FRACTION), "still contains Z_0"),
    "not renormalised, a chain": (
        error(C_1 / (Z_1 + Z_0) - (C_1 + C_0) / (Z_1 + Z_0)),
        "Z_1 alone is below it",
    ),
    "not renormalised": (
        sparse("softmax(-1)", "exp() / (q @ k.T / root(q)).exp().sum(-1, keepdim=True)"),
        "after dropping they must add up to one again",
    ),
    "a mask reads all": ((by_a_mask, error_of_dropping), "0 times nan is nan"),
    "full attention": (
        (lambda q, k, v, kept: (q @ k.T / root(q)).softmax(-1) @ v, error_of_dropping),
        "every query reads all keys",
    ),
    "kept of query 0": (
        sparse("k[kept], v[kept]", "k[kept[[0] * len(q)]], v[kept[[0] * len(q)]]"),
        "query 0 keeps",
    ),
    "first values": (
        sparse("v[kept]", "v[:kept.shape[1]].expand(len(q), -1, -1)"),
        "the values are not: the",
    ),
    "first keys": (
        sparse("k[kept]", "k[:kept.shape[1]].expand(len(q), -1, -1)"),
        "the keys are not: the",
    ),
    "values sorted": (sparse("v[kept]", "v[kept.sort(1).values]"), "the values are sorted"),
    "keys sorted": (sparse("k[kept]", "k[kept.sort(1).values]"), "the keys are sorted"),
    "plain mean": (
        sparse("scores.softmax(-1)", "(0 * scores).softmax(-1)"),
        "the query plays no part",
    ),
    "best alone": (
        sparse("scores.softmax(-1)", "F.one_hot(scores.argmax(-1), kept.shape[1]).to(q)"),
        "only the best",
    ),
    "read as dropped": (
        sparse(
            "keys, values",
            "rest = [[j for j in range(len(k)) if j not in row] for row in kept.tolist()]\n"
            "    kept = torch.tensor(rest)\n    keys, values",
        ),
        "here they are dropped",
    ),
    "no root": (sparse(" / root(q)", ""), "the scores are not divided by the root of d, the"),
    "root of K": (sparse("root(q)", "kept.shape[1] ** 0.5"), "the root is that of K"),
    "divided by d": (sparse("root(q)", "q.shape[-1]"), "divided by d, not by its root"),
    "over queries": (sparse("softmax(-1)", "softmax(0)"), "over the queries, not over the kept"),
    "no softmax": (sparse("scores.softmax(-1)", "scores"), "scores are used as weights"),
    "exponentials alone": (sparse("softmax(-1)", "exp()"), "are not divided by their sum"),
    "raw exponentials": (
        sparse("scores.softmax(-1)", "scores.exp() / scores.exp().sum(-1, keepdim=True)"),
        "take the largest of its row away first",
    ),
    "subtraction": ((sparse_attend, by_subtraction), "their digits cancel"),
    "epsilon by subtraction": ((sparse_attend, share_by_subtraction), "two nearly equal numbers"),
    "full minus sparse": (dropping("* apart", "* -apart"), "the error is sparse minus full"),
    "exchanged": (
        dropping("share, share[:, None] * apart", "share[:, None] * apart, share"),
        "the two results have changed places",
    ),
    "no epsilon": (dropping("share[:, None] * apart", "apart"), "is not multiplied by epsilon"),
    "epsilon twice": (
        dropping("share[:, None] * apart", "share[:, None] ** 2 * apart"),
        "by epsilon twice",
    ),
    "and what is kept": (
        dropping("share[:, None] * apart", "(share * (1 - share))[:, None] * apart"),
        "by epsilon and by what is kept",
    ),
    "full weights": ((sparse_attend, full_weights_of_dropped), "as a half of their own"),
    "plain mean of the dropped": (
        dropping(
            "others.softmax(-1) @ v", "(0 * scores).masked_fill(is_kept, -INF).softmax(-1) @ v"
        ),
        "the plain mean of the dropped values",
    ),
    "against the full context": (
        dropping("others.softmax(-1) @ v", "scores.softmax(-1) @ v"),
        "the distance from the full context",
    ),
    "the error is not renormalised": (
        dropping("ours.softmax(-1) @ v - others", "-others"),
        "the kept half is not renormalised",
    ),
    "share of keys": (
        dropping("gap.sigmoid()", "gap * 0 + 1 - kept.shape[1] / len(k)"),
        "the share of the keys that are dropped",
    ),
    "mass not divided": (
        dropping("gap.sigmoid()", "others.logsumexp(-1).exp()"),
        "epsilon is a share",
    ),
    "kept weight": (dropping("gap.sigmoid()", "(-gap).sigmoid()"), "the weight of the kept keys"),
    "odds in code": (dropping("gap.sigmoid()", "gap.exp()"), "these are the odds"),
    "float32": (
        dropping(
            "scores = q @ k.T", "q, k, v = q.float(), k.float(), v.float()\n    scores = q @ k.T"
        ),
        "those of float32",
    ),
    "no root in the error": (
        dropping(" / root(q)", ""),
        "not divided by the root of d, the width of a query: e",
    ),
    "one result": (
        dropping("share, share[:, None] * apart", "share[:, None] * apart"),
        "returned 1 tensor",
    ),
}
INPUT_KINDS["16.3"] = {
    "sparse_attend": {
        "rows that hold nan": lambda given: (
            np.isnan(given[0 + 1]).any() and np.isnan(given[2]).any()
        ),
        "every key kept by somebody": lambda given: set(given[3].flat) == set(range(len(given[1]))),
        "one key kept": lambda given: given[3].shape[1] == 1,
        "all keys kept": lambda given: given[3].shape[1] == len(given[1]),
        "large scores": lambda given: np.abs(given[0]).max() > 300,
    },
    "error_of_dropping": {
        "a tiny epsilon": lambda given: (
            error_of_dropping(*map(torch.tensor, given))[0].min() < 1e-9
        ),
        "an epsilon near one": lambda given: (
            error_of_dropping(*map(torch.tensor, given))[0].max() > 0.9
        ),
    },
}

# 16.4


def block_bound(q, low, high, size):
    best = q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T
    return best / root(q) + math.log(size)


def by_larger_product(q, low, high, size):
    products = torch.maximum(q[:, None] * low, q[:, None] * high)  # (T, N, d)
    return products.sum(-1) / root(q) + math.log(size)


def by_middle(q, low, high, size):
    middle, half = (low + high) / 2, (high - low) / 2
    return (q @ middle.T + q.abs() @ half.T) / root(q) + math.log(size)


def by_best_corner(q, low, high, size):
    corners = torch.where(q[:, None] > 0, high, low)
    return torch.einsum("td,tnd->tn", q, corners) / root(q) + math.log(size)


def by_all_corners(q, low, high, size):
    d = q.shape[1]
    bits = (torch.arange(2**d)[:, None] >> torch.arange(d)) & 1 > 0  # (corners, d)
    corners = torch.where(bits[:, None], high, low)  # (corners, N, d)
    return (q @ corners.mT).amax(0) / root(q) + math.log(size)


def by_size_keys(q, low, high, size):
    best = torch.where(q[:, None] > 0, high, low)
    keys = best[:, :, None].expand(-1, -1, size, -1)  # (T, N, size, d)
    scores = torch.einsum("td,tnsd->tns", q, keys) / root(q)
    return scores.logsumexp(-1)


block = partial(edited, block_bound)
RIGHT["16.4"] = {
    "clamps": block_bound,
    "larger product": by_larger_product,
    "middle and half width": by_middle,
    "best corner": by_best_corner,
    "all corners": by_all_corners,
    "size keys": by_size_keys,
}
WRONG["16.4"] = {
    "high alone": (
        block("q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T", "q @ high.T"),
        "only `high`",
    ),
    "low alone": (
        block("q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T", "q @ low.T"),
        "only `low`",
    ),
    "positive entries alone": (
        block(" + q.clamp(max=0) @ low.T", ""),
        "are left out; they meet `low`",
    ),
    "once for all entries": (
        block(
            "q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T",
            "torch.maximum(q @ high.T, q @ low.T)",
        ),
        "each entry chooses for itself",
    ),
    "middle": (edited(by_middle, "q.abs() @ half.T", "0"), "the middle of the box"),
    "least": (
        block("min=0", "min=-INF, max=0", "max=0) @ low", "min=0) @ low"),
        "the other way round than asked",
    ),
    "sizes": (
        block(
            "q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T",
            "q.abs() @ torch.maximum(low.abs(), high.abs()).T",
        ),
        "the sizes of the entries are used",
    ),
    "lengths": (
        block(
            "q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T",
            "q.norm(dim=1)[:, None] * torch.maximum(low.abs(), high.abs()).norm(dim=1)",
        ),
        "the product of lengths",
    ),
    "no root": (block(" / root(q)", ""), "not divided by the root of d"),
    "divided by d": (block("root(q)", "q.shape[-1]"), "divided by d, not by its root"),
    "no log size": (block(" + math.log(size)", ""), "log(size) is missing"),
    "log size divided": (
        block("best / root(q) + math.log(size)", "(best + math.log(size)) / root(q)"),
        "log(size) is divided",
    ),
    "size added": (block("math.log(size)", "size"), "size is added; its logarithm"),
    "size as a factor": (block("+ math.log(size)", "* size"), "the bound is multiplied by size"),
    "log size halved": (block("math.log(size)", "math.log(size) / 2"), "log(size) is halved"),
    "base 2": (block("math.log(", "math.log2("), "a logarithm to base 2"),
    "log size subtracted": (block("+ math.log", "- math.log"), "log(size) is subtracted"),
    "both ends": (
        block("q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T", "q @ (low + high).T"),
        "both ends are added",
    ),
    "one key in the worst corner": (
        block(
            "return best / root(q) + math.log(size)",
            "worst = q.clamp(max=0) @ high.T + q.clamp(min=0) @ low.T\n    return torch.logaddexp("
            "best / root(q) + (math.log(size - 1) if size > 1 else -INF), worst / root(q))",
        ),
        "need not be attained",
    ),
    "exchanged": (
        block("return best", "best = best.T\n    return best"),
        "row t belongs to query t",
    ),
    "exponentials": (
        block("best / root(q) + math.log(size)", "size * (best / root(q)).exp()"),
        "these are exponentials",
    ),
    "loose by one": (block("math.log(size)", "math.log(size) + 1"), "valid, but not the smallest"),
    "too small by one": (block("math.log(size)", "math.log(size) - 1"), "keys in the box of block"),
}
INPUT_KINDS["16.4"] = {
    "block_bound": {
        "a query of negative entries": lambda given, size: (given[0] < 0).all(1).any(),
        "a query of both signs": lambda given, size: (
            (given[0] < 0).any(1) & (given[0] > 0).any(1)
        ).any(),
        "a box of both signs": lambda given, size: ((given[1] < 0) & (given[2] > 0)).any(),
        "a box above zero": lambda given, size: (given[1] > 0).any(),
        "one key": lambda given, size: size == 1,
        "many keys": lambda given, size: size > 50,
        "one entry": lambda given, size: given[0].shape[1] == 1,
    }
}

# 16.5, the chain

F_, k_, q_ = (sp.IndexedBase(name) for name in "Fkq")
i, d = sp.symbols("i d", integer=True, positive=True)
r_q, r_k, s, v, eta = sp.symbols("r_q r_k s v eta", real=True)


def total(term):
    return sp.Sum(term, (i, 1, d))


OF_QUERY, OF_KEY, SCORE = total(q_[i] * F_[i]), total(k_[i] * F_[i]), total(q_[i] * k_[i])
reading = partial(
    chain,
    total(q_[i] * F_[i] + eta * (v - r_k) * q_[i] * k_[i]),
    {r_q: OF_QUERY, r_k: OF_KEY, s: SCORE},
)
SPLIT = OF_QUERY + eta * (v - r_k) * SCORE
READ = r_q + eta * s * (v - r_k)

# 16.5, the code


def delta_step(state, key, value, eta, keep):
    state = keep * state
    old = key @ state
    return state + eta * torch.outer(key, value - old)


def delta_read(state, query):
    return query @ state


def step(*edits):
    return edited(delta_step, *edits), delta_read


def read(*edits):
    return delta_step, edited(delta_read, *edits)


def by_matrix(state, key, value, eta, keep):
    erase = torch.eye(len(key), dtype=key.dtype) - eta * torch.outer(key, key)
    return keep * erase @ state + eta * key[:, None] * value


def by_gradient(state, key, value, eta, keep):
    state = (keep * state).requires_grad_()
    loss = (key @ state - value).square().sum() / 2
    (gradient,) = torch.autograd.grad(loss, state)
    return (state - eta * gradient).detach()


def in_columns(state, key, value, eta, keep):
    rows = state[1] if isinstance(state, tuple) else state.T  # (dv, d)
    rows = keep * rows
    return "transposed", rows + eta * torch.outer(value - rows @ key, key)


def by_einsum(state, key, value, eta, keep):
    state = keep * state
    surprise = value - torch.einsum("d,dv->v", key, state)
    return state + torch.einsum(",d,v->dv", torch.tensor(eta, dtype=key.dtype), key, surprise)


def old_out_new_in(state, key, value, eta, keep):
    state = keep * state
    old = key @ state
    mixed = (1 - eta) * old + eta * value
    return state - torch.outer(key, old) + torch.outer(key, mixed)


def corrected_values(state, key, value, eta, keep):
    """The start, what is left of it, and pairs of a key and a corrected value."""
    start, left, pairs = state if isinstance(state, tuple) else (state, 1.0, [])
    pairs = [(k, keep * u) for k, u in pairs]
    left = keep * left
    old = left * (key @ start) + sum((key @ k) * u for k, u in pairs)
    return start, left, [*pairs, (key, eta * (value - old))]


def read_corrected(state, query):
    start, left, pairs = state
    return left * (query @ start) + sum((query @ k) * u for k, u in pairs)


def step_in_numpy(state, key, value, eta, keep):
    state, key, value = (np.asarray(x) for x in (state, key, value))
    state = keep * state
    return state + eta * np.outer(key, value - key @ state)


def step_of_rows(state, key, value, eta, keep):
    rows = [keep * row for row in (state["rows"] if isinstance(state, dict) else state)]
    old = sum(x * row for x, row in zip(key, rows, strict=True))
    return {"rows": [row + eta * x * (value - old) for x, row in zip(key, rows, strict=True)]}


def step_in_place(state, key, value, eta, keep):
    state *= keep
    state += eta * torch.outer(key, value - key @ state)
    return state


def stub(*args):
    raise NotImplementedError(STUB)


RIGHT["16.5"] = {
    "in one line": reading(READ),
    "split, then named": reading(SPLIT, READ),
    "one sum named first": reading(r_q + eta * (v - r_k) * SCORE, READ),
    "multiplied out": reading(SPLIT, r_q + eta * s * v - eta * s * r_k),
    "the query in front": reading(total(q_[i] * (F_[i] + eta * (v - r_k) * k_[i])), READ),
    "two sums": reading(OF_QUERY + total(eta * (v - r_k) * q_[i] * k_[i]), SPLIT, READ),
    "the sum of the key left for a while": reading(
        OF_QUERY + eta * (v - OF_KEY) * SCORE, r_q + eta * (v - OF_KEY) * s, READ
    ),
    "definition": (delta_step, delta_read),
    "a matrix on the left": (by_matrix, lambda state, query: state.T @ query),
    "a step of gradient descent": (by_gradient, delta_read),
    "columns": (in_columns, lambda state, query: state[1] @ query),
    "einsum": (by_einsum, lambda state, query: torch.einsum("d,dv->v", query, state)),
    "old out, new in": (old_out_new_in, delta_read),
    "corrected values": (corrected_values, read_corrected),
    "NumPy": (step_in_numpy, lambda state, query: query.numpy() @ state),
    "a dictionary of rows": (
        step_of_rows,
        lambda state, query: sum(x * row for x, row in zip(query, state["rows"], strict=True)),
    ),
}
WRONG["16.5"] = {
    "r_q for r_k": (reading(SPLIT, r_q + eta * s * (v - r_q)), "not what the query reads"),
    "the score forgotten": (reading(SPLIT, r_q + eta * (v - r_k)), "before: the score of query"),
    "only fading": (reading(SPLIT, (1 - eta) * r_q + eta * v), "only the key itself reads"),
    "the old value stays": (
        reading(OF_QUERY + eta * v * SCORE),
        "the old value is not taken out; at",
    ),
    "another sign": (reading(SPLIT, r_q - eta * s * (v - r_k)), "before: the sign is turned"),
    "eta lost": (reading(SPLIT, r_q + s * (v - r_k)), "eta is lost"),
    "a sum left": (reading(SPLIT), "still contains"),
    "adds": (step(" - old", ""), "as linear attention does"),
    "everything fades": (
        step("state + eta", "(1 - eta) * state + eta", "value - old", "value"),
        "everything fades by 1 - eta",
    ),
    "old value whole": (
        step("eta * torch.outer(key, value - old)", "torch.outer(key, eta * value - old)"),
        "the old value is taken out whole",
    ),
    "new value whole": (
        step("eta * torch.outer(key, value - old)", "torch.outer(key, value - eta * old)"),
        "the new value is written whole",
    ),
    "another sign in code": (step("state + eta", "state - eta"), "moves away from the new value"),
    "old value added": (step("value - old", "value + old"), "it is subtracted"),
    "eta twice": (step("eta *", "eta * eta *"), "eta is multiplied in twice"),
    "eta missing": (step("eta * ", ""), "eta is missing"),
    "fades last": (
        step(
            "state = keep * state",
            "",
            "return state + eta * torch.outer(key, value - old)",
            "return keep * (state + eta * torch.outer(key, value - old))",
        ),
        "the state fades last",
    ),
    "old value of the unfaded state": (
        step(
            "state = keep * state\n    old = key @ state",
            "old = key @ state\n    state = keep * state",
        ),
        "read before the state fades",
    ),
    "taken out of the unfaded state": (
        step("state = keep * state\n    old = key @ state", "old = key @ (keep * state)"),
        "before it fades",
    ),
    "fading twice": (
        step("state + eta *", "(1 - eta) * state + eta *"),
        "what this key holds is to be replaced",
    ),
    "the write fades": (step("eta * torch", "keep * eta * torch"), "the new value too"),
    "keep missing": (step("keep * state", "state"), "the state does not fade"),
    "keep twice": (step("keep * state", "keep * keep * state"), "`keep` is multiplied in twice"),
    "one minus keep": (step("keep * state", "(1 - keep) * state"), "here 1 - keep stays"),
    "thrown away": (step("return state + ", "return "), "the state is thrown away"),
    "no write": (step("return state +", "return state + 0 *"), "the write is missing"),
    "the old value out alone": (step("value - old", "-old"), "the new one is not written"),
    "eta cut off": (step("eta *", "min(eta, 1) *"), "eta is cut off at 1"),
    "mean of the rows": (step("key @ state", "state.mean(0)"), "the mean of all rows"),
    "turned round": (
        step("torch.outer(key, value - old)", "torch.outer(value - old, key)"),
        "the outer product is turned round: ",
    ),
    "turned round, both": (
        step(
            "torch.outer(key, value - old)",
            "torch.outer(value - old, key)",
            "key @ state",
            "state @ key",
        ),
        "and the old value is read from the other side",
    ),
    "old value from the wrong side": (step("key @ state", "state @ key"), "it is `key @ state`"),
    "reading turned round": (
        read("query @ state", "state @ query"),
        "a reading is `query @ state`",
    ),
    "divided by the sum": (
        read("query @ state", "query @ state / query.sum()"),
        "by the sum of the query",
    ),
    "unit query": (read("query @", "query / query.norm() @"), "the query is scaled to length one"),
    "softmax of the query": (
        read("query @", "query.softmax(0) @"),
        "a softmax is taken of the query",
    ),
    "root of d": (read("query @ state", "query @ state / root(query)"), "by the root of d"),
    "in place": ((step_in_place, delta_read), "changes its argument state in place"),
    "no reading yet": ((delta_step, stub), "delta_read is still empty. The two"),
    "no step yet": ((stub, delta_read), "delta_step is still empty. The two"),
    "nothing comes back": (read("return ", ""), "is a `return` missing?"),
}
INPUT_KINDS["16.5"] = {
    "delta_step": {
        "a state that is not empty": lambda name, given: (
            not isinstance(given[0], str) and np.any(given[0])
        ),
        "an empty state": lambda name, given: (
            not isinstance(given[0], str) and not np.any(given[0])
        ),
        "nothing is written": lambda name, given: given[3] == 0,
        "strength above one": lambda name, given: given[3] > 1,
        "full strength": lambda name, given: given[3] == 1,
        "a state that fades": lambda name, given: given[4] < 1,
        "a state that does not fade": lambda name, given: given[4] == 1,
        "one coordinate": lambda name, given: len(given[1]) == 1,
    },
    "delta_read": {
        "queries of any length": lambda name, queries: (
            np.ptp(np.linalg.norm(queries, axis=1)) > 0.1
        ),
        "several coordinates": lambda name, queries: queries.shape[1] == 5,
    },
}
