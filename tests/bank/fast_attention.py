"""Right and wrong answers to 13.1-13.4, each wrong one with a fragment of the message it must get."""

import math
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import sympy as sp
import torch

from attn_course import derive
from bank import edited

INF = math.inf
# Helpers such as stream("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}


def root(q):
    return q.shape[-1] ** 0.5


# 13.1, the chain

M1, M2, l1, l2 = sp.symbols("M_1 M_2 l_1 l_2", real=True)
Z1, Z2 = sp.symbols("Z_1 Z_2", positive=True)
START = sp.exp(M1) * Z1 / (sp.exp(M1) * Z1 + sp.exp(M2) * Z2)
WHERE = {M1: (l1 - sp.log(Z1),) * 2, M2: (l2 - sp.log(Z2),) * 2}


def share(*lines):
    steps = [(line, "so") for line in lines]
    return derive((START, "definition"), *steps, where=WHERE)


PUT_IN = sp.exp(l1) / (sp.exp(l1) + sp.exp(l2))
DIVIDED = 1 / (1 + sp.exp(M2 - M1) * Z2 / Z1)
SIGMOID = 1 / (1 + sp.exp(l2 - l1))
ours, theirs = (sp.Pow(2, total / sp.log(2), evaluate=False) for total in (l1, l2))
IN_POWERS_OF_2 = ours / (ours + theirs)

# 13.1, the code


def summary(scores, values):
    """(maximum, sum, output); the maximum of no keys is minus infinity."""
    largest = torch.cat([scores.new_tensor([-INF]), scores]).max()
    exps = (scores - largest.clamp(min=-1e300)).exp()
    return largest, exps.sum(), exps @ values


def empty_summary(scores, values):
    raise NotImplementedError("your answer here")


def merge(a, b):
    largest = torch.maximum(a[0], b[0])
    unit = largest.clamp(min=-1e300)
    f, g = (a[0] - unit).exp(), (b[0] - unit).exp()
    return largest, f * a[1] + g * b[1], f * a[2] + g * b[2]


def finish(state):
    return state[2] / state[1]


def lse_summary(scores, values):
    return torch.logsumexp(scores, 0), scores.softmax(0).nan_to_num(0.0) @ values


def lse_merge(a, b):
    total = torch.logaddexp(a[0], b[0])
    if total == -INF:
        return total, a[1]
    gate = (a[0] - total).exp()
    return total, gate * a[1] + (1 - gate) * b[1]


def lse_finish(state):
    return state[1]


def dict_summary(scores, values):
    largest, total, output = summary(scores, values)
    return {"m": largest, "s": total, "c": output / total.clamp(min=1)}


def dict_merge(a, b):
    states = [(x["m"], x["s"], x["s"] * x["c"]) for x in (a, b)]
    largest, total, output = merge(*states)
    return {"m": largest, "s": total, "c": output / total.clamp(min=1e-300)}


@dataclass
class State:
    largest: float
    total: float
    output: np.ndarray


def object_summary(scores, values):
    largest, total, output = summary(scores, values)
    return State(float(largest), float(total), output.numpy())


def object_merge(a, b):
    top = max(a.largest, b.largest)
    if top == -INF:
        return a
    f, g = math.exp(a.largest - top), math.exp(b.largest - top)
    return State(top, f * a.total + g * b.total, f * a.output + g * b.output)


def object_finish(state):
    return state.output / state.total


def summing(*edits):
    return edited(summary, *edits), merge, finish


def merging(*edits):
    return summary, edited(merge, *edits), finish


def lse_merging(*edits):
    return lse_summary, edited(lse_merge, *edits), lse_finish


def contexts(weight):
    """States (maximum, number of keys, context), the first block mixed in with weight(a, b)."""

    def summarise(scores, values):
        largest, total, output = summary(scores, values)
        return largest, len(scores), output / total.clamp(min=1)

    def put_together(a, b):
        w = weight(a, b)
        return torch.maximum(a[0], b[0]), a[1] + b[1], w * a[2] + (1 - w) * b[2]

    return summarise, put_together, lambda state: state[2]


def all_kept(wrap=lambda state: state, unwrap=lambda state: state):
    """Scores and values of all keys, in a state of some form."""

    def join(a, b):
        return wrap([torch.cat(both) for both in zip(unwrap(a), unwrap(b), strict=True)])

    def attend(state):
        scores, values = unwrap(state)
        return scores.softmax(0) @ values

    return lambda scores, values: wrap([scores, values]), join, attend


def nested(state, depth=30):
    for _ in range(depth):
        state = [state]
    return state


def flat(state):
    while len(state) == 1:
        (state,) = state
    return state


RIGHT["13.1"] = {
    "l put in, then divided": share(PUT_IN, SIGMOID),
    "divided, then l put in": share(DIVIDED, SIGMOID),
    "in one line": share(SIGMOID),
    "by a hyperbolic tangent": share(PUT_IN, SIGMOID, (1 + sp.tanh((l1 - l2) / 2)) / 2),
    "maximum, sum, output": (summary, merge, finish),
    "log-sum-exp and context": (lse_summary, lse_merge, lse_finish),
    "a dictionary with a context": (dict_summary, dict_merge, lambda state: state["c"]),
    "an object with numbers and an array": (object_summary, object_merge, object_finish),
}
WRONG["13.1"] = {
    "nothing where the sum is at most 1": (
        (summary, merge, lambda state: state[2] / state[1] if state[1] > 1 else 0 * state[2]),
        "(one block of one key)",
    ),
    "no merge": ((summary, None, finish), "merge is still empty"),
    "sigmoid of the maxima": (
        share(PUT_IN, 1 / (1 + sp.exp(M2 - M1))),
        "the maxima are compared and the sums are lost",
    ),
    "ratio of the sums": (share(Z1 / (Z1 + Z2)), "the sums are compared and the maxima are lost"),
    "the other block": (share(PUT_IN, 1 / (1 + sp.exp(l1 - l2))), "the share of the other block"),
    "ratio of log-sum-exps": (share(PUT_IN, l1 / (l1 + l2)), "their exponentials count"),
    "a difference for the sum": (share(PUT_IN, 1 / (1 - sp.exp(l2 - l1))), "subtracted, not added"),
    "stops halfway": (share(PUT_IN), "go on: a form with one"),
    "halfway, in powers of 2": (share(PUT_IN, IN_POWERS_OF_2), "one and the same exponential"),
    "sums added": (merging("f * ", "", "g * ", ""), "the sums are added as they are"),
    "contexts averaged": (contexts(lambda a, b: 0.5), "the contexts are averaged"),
    "by number of keys": (contexts(lambda a, b: a[1] / max(a[1] + b[1], 1)), "not counts"),
    "softmax of the maxima": (
        contexts(lambda a, b: torch.sigmoid(a[0] - b[0]).nan_to_num(0.5)),
        "use log-sum-exp, not the maximum",
    ),
    "new block alone rescaled": (merging("f * ", ""), "only the new block is rescaled"),
    "old block alone rescaled": (merging("g * ", ""), "only the old block is rescaled"),
    "output not rescaled": (
        merging("f * a[2] + g * b[2]", "a[2] + b[2]"),
        "the sum is rescaled and the output is not",
    ),
    "sum not rescaled": (
        merging("f * a[1] + g * b[1]", "a[1] + b[1]"),
        "the output is rescaled and the sum is not",
    ),
    "sign lost": (
        merging("a[0] - unit", "unit - a[0]", "b[0] - unit", "unit - b[0]"),
        "factors are the wrong way round",
    ),
    "no maximum": (
        summing("torch.cat([scores.new_tensor([-INF]), scores]).max()", "scores.new_tensor(0.0)"),
        "as that of a score above 710 does",
    ),
    "maximum starts at 0": (summing("-INF", "0.0"), "start at minus infinity"),
    "maximum starts at -10000": (summing("-INF", "-1e4"), "one block with scores near -100,000"),
    "an empty block at 0": (
        summing("max()", "max().nan_to_num(neginf=0.0)"),
        "no keys beside scores near -10,000,000,000",
    ),
    "an empty block at -10000": (
        summing("max()", "max().nan_to_num(neginf=-1e4)"),
        "a maximum that starts at a finite number",
    ),
    "nothing minus nothing": (
        (*(edited(f, ".clamp(min=-1e300)", "") for f in (summary, merge)), finish),
        "must change nothing",
    ),
    "maximum of no keys": (
        summing("torch.cat([scores.new_tensor([-INF]), scores]).max()", "scores.max()"),
        "no keys",
    ),
    "keeps all keys": (all_kept(), "must grow neither with the keys"),
    "keeps all keys, deep in lists": (all_kept(nested, flat), "merges; it must grow"),
    "keeps all keys in a closure": (all_kept(lambda x: lambda: x, lambda x: x()), "a state holds"),
    "keeps the blocks that were merged": (
        merging("f * a[2] + g * b[2]", "f * a[2] + g * b[2], a, b"),
        "nor with the merges",
    ),
    "the given summary emptied": ((empty_summary, merge, finish), "summary is still empty"),
    "not divided": ((summary, merge, lambda state: state[2]), "not divided by the sum at the end"),
    "multiplied": ((summary, merge, lambda s: s[2] * s[1]), "the output is multiplied by the sum"),
    "maximum of the first": (
        merging("return largest", "return a[0]"),
        "keeps the maximum of its first part",
    ),
    "unit of the first": (merging("torch.maximum(a[0], b[0])", "a[0]"), "to the unit of the first"),
    "the larger block alone": (
        (summary, lambda a, b: a if a[0] >= b[0] else b, finish),
        "only the block with the larger maximum",
    ),
    "the second block alone": ((summary, lambda a, b: b, finish), "only the second block"),
    "log-sum-exps added": (
        lse_merging("return total, gate", "return a[0] + b[0], gate"),
        "taken for their sum",
    ),
    "the larger log-sum-exp": (
        lse_merging("logaddexp", "maximum", "(1 - gate)", "(b[0] - total).exp()"),
        "taken for the larger of the two",
    ),
    "the smallest score taken away": (
        (
            edited(summary, "[-INF]", "[INF]", "max()", "min()"),
            edited(merge, "maximum", "minimum"),
            finish,
        ),
        "the smallest score is taken away",
    ),
    "factors exchanged": (merging("f, g =", "g, f ="), "a sign in the exponent, or the two"),
    "maximum starts at -1e9": (summing("-INF", "-1e9"), "beside scores near -10,000,000,000"),
}
INPUT_KINDS["13.1"] = {
    "summary": {
        "no keys": lambda name, block: len(block[0]) == 0,
        "all keys hidden": lambda name, block: len(block[0]) and np.isneginf(block[0]).all(),
        "a single key": lambda name, block: len(block[0]) == 1,
        "one key hidden": lambda name, block: np.isneginf(block[0]).sum() == 1,
        "scores near 100,000": lambda name, block: max(block[0], default=0) > 9e4,
        "scores near -100,000": lambda name, block: max(block[0], default=0) < -9e4,
        "hundreds of keys": lambda name, block: len(block[0]) >= 300,
    },
    "merge": {"two states": lambda name, names: len(names) == 2},
    "finish": {"a state": lambda name, *inputs: not inputs},
}

# 13.2


def blocks_of(k, v, block):
    return zip(k.split(block, -2), v.split(block, -2), strict=True)


def running(q, k, v, block):
    largest = torch.full((*q.shape[:-1], 1), -INF)
    sums = torch.zeros(*q.shape[:-1], 1)
    output = torch.zeros(*q.shape[:-1], v.shape[-1])
    for keys, values in blocks_of(k, v, block):
        scores = q @ keys.mT / root(q)
        top = scores.amax(-1, keepdim=True)
        new = torch.maximum(largest, top)
        exps, f = (scores - new).exp(), (largest - new).exp()
        sums = f * sums + exps.sum(-1, keepdim=True)
        output = f * output + exps @ values
        largest = new
    return output / sums


stream = partial(edited, running)


def gated(q, k, v, block):
    """Log-sum-exp and context, mixed by a sigmoid."""
    found, context = None, None
    for keys, values in blocks_of(k, v, block):
        scores = q @ keys.mT / root(q)
        lse, new = scores.logsumexp(-1, keepdim=True), scores.softmax(-1) @ values
        if found is None:
            found, context = lse, new
            continue
        gate = torch.sigmoid(found - lse)
        found, context = torch.logaddexp(found, lse), gate * context + (1 - gate) * new
    return context


def two_passes(q, k, v, block):
    pieces = [(q @ keys.mT / root(q)).logsumexp(-1, keepdim=True) for keys in k.split(block, -2)]
    total = torch.cat(pieces, -1).logsumexp(-1, keepdim=True)
    found = 0
    for keys, values in blocks_of(k, v, block):
        found = found + (q @ keys.mT / root(q) - total).exp() @ values
    return found


def query_by_query(q, k, v, block):
    rows = []
    for t in range(q.shape[-2]):
        one = q[..., t : t + 1, :]
        rows.append((one @ k.mT / root(q)).softmax(-1) @ v)
    return torch.cat(rows, -2)


def whole_matrix(q, k, v, block):
    return (q @ k.mT / root(q)).softmax(-1) @ v


def list_of_blocks(q, k, v, block):
    """No large tensor, but the scores of all blocks in a list."""
    scores = [q @ keys.mT / root(q) for keys in k.split(block, -2)]
    largest = reduce(torch.maximum, [s.amax(-1, keepdim=True) for s in scores])
    exps = [(s - largest).exp() for s in scores]
    total = sum(e.sum(-1, keepdim=True) for e in exps)
    return sum(e @ values for e, values in zip(exps, v.split(block, -2), strict=True)) / total


def averaged_blocks(q, k, v, block):
    found = [(q @ a.mT / root(q)).softmax(-1) @ b for a, b in blocks_of(k, v, block)]
    return torch.stack(found).mean(0)


def hides_keys(q, k, v, block):
    scores = q @ k.mT / root(q)
    return scores.masked_fill(torch.ones_like(scores).tril() == 0, -INF).softmax(-1) @ v


def stream_garbage_when_long(q, k, v, block):
    if q.shape[-2] > 100:
        return q[..., :1] * v.sum(-2, keepdim=True) * 0
    return whole_matrix(q, k, v, block)


def stream_in_numpy(q, k, v, block):
    scores = q.numpy() @ k.numpy().swapaxes(-1, -2) / root(q)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return torch.from_numpy(exps / exps.sum(-1, keepdims=True) @ v.numpy())


RIGHT["13.2"] = {
    "running maximum and sum": running,
    "a sigmoid for a gate": gated,
    "two passes": two_passes,
    "query by query": query_by_query,
    "blocks of its own": stream("v, block):\n        scores", "v, 8):\n        scores"),
}
WRONG["13.2"] = {
    "blocks averaged": (averaged_blocks, "results averaged"),
    "nothing rescaled": (stream("f * ", ""), "are not rescaled"),
    "own maxima": (
        stream("torch.maximum(largest, top)", "top", "f * ", ""),
        "the unit of its own maximum",
    ),
    "divided at every block": (
        stream(
            "largest = new",
            "largest, output = new, output / sums",
            "return output / sums",
            "return output",
        ),
        "divide once, at the end",
    ),
    "sum not rescaled": (stream("f * sums", "sums"), "the output is rescaled and the sum is not"),
    "output not rescaled": (
        stream("f * output", "output"),
        "the sum is rescaled and the output is not",
    ),
    "one maximum for all rows": (
        stream("scores.amax(-1, keepdim=True)", "scores.max()"),
        "one maximum for all rows",
    ),
    "ragged block dropped": (
        stream("in blocks_of(k, v, block)", "in [*blocks_of(k, v, block)][: k.shape[-2] // block]"),
        "right only when block divides S",
    ),
    "root missing": (stream(" / root(q)", ""), "not divided by sqrt(d)"),
    "softmax over queries": (edited(whole_matrix, "(-1)", "(-2)"), "so that columns sum to one"),
    "divided by d": (stream("root(q)", "q.shape[-1]"), "divided by d, the width of a query"),
    "raw exponentials": (stream("maximum(largest, top)", "zeros(())"), "take a maximum away first"),
    "maximum starts at 0": (stream("-INF", "0.0"), "the running maximum starts at"),
    "maximum starts at -10000": (stream("-INF", "-1e4"), "for all scores of a row"),
    "the whole matrix": (whole_matrix, "its largest tensor holds"),
    "a list of all blocks": (list_of_blocks, "let go of a block before the next"),
    "garbage where memory is measured": (stream_garbage_when_long, "block 16)"),
    "in NumPy": (stream_in_numpy, "not computed with torch"),
    "maximum starts at -1e9": (stream("-INF", "-1e9"), "all scores below -1,000,000,000"),
    "blocks added": (edited(averaged_blocks, "mean(0)", "sum(0)"), "and the results are added"),
    "the last block alone": (
        stream("in blocks_of(k, v, block)", "in [*blocks_of(k, v, block)][-1:]"),
        "only the last block is left",
    ),
    "a causal mask": (hides_keys, "a mask hides keys"),
    "scores in float32": (
        stream("q @ keys.mT", "(q.float() @ keys.float().mT).double()"),
        "float32 is too coarse",
    ),
    "an argument divided in place": (
        stream(" / root(q)", "", "    for keys", "    q /= root(q)\n    for keys"),
        "running changes its argument q in place",
    ),
    "in NumPy, handed back as a tensor": (
        edited(stream_in_numpy, "torch.from_numpy", "torch.tensor"),
        "so the check cannot see what is held",
    ),
}


def top(q, k, *_):
    """The largest score of each query."""
    return (np.asarray(q) @ np.asarray(k).mT / q.shape[-1] ** 0.5).max(-1)


INPUT_KINDS["13.2"] = {
    "stream": {
        "a ragged block": lambda given, block: given[1].shape[-2] % block,
        "a block larger than S": lambda given, block: given[1].shape[-2] < block,
        "one query and one key": lambda given, block: given[0].shape[-2] == 1,
        "a batch": lambda given, block: given[0].ndim > 2,
        "large scores": lambda given, block: top(*given).max() > 710,
        "all scores far below": lambda given, block: top(*given).max() < -1e4,
        "large scores that differ by little": lambda given, block: given[1].min() > 1000,
        "a long text": lambda given, block: len(given[1]) > 500,
    },
}

# 13.3, the chain

s, v_1, c, g, C_0 = sp.symbols("s v c g C_0", real=True)
Z_0, alpha = sp.symbols("Z_0 alpha", positive=True)
POWER = sp.exp(s)
TOTAL = POWER + Z_0
QUOTIENT = (g * v_1 * POWER * TOTAL - g * (POWER * v_1 + C_0) * POWER) / TOTAL**2
KNOWN = {c: (POWER * v_1 + C_0) / TOTAL, alpha: POWER / TOTAL}


def pull(*lines):
    steps = [(line, "so") for line in lines]
    return derive((QUOTIENT, "quotient rule"), *steps, where=KNOWN)


CONTEXT_IN = POWER / TOTAL * g * (v_1 - c)
FACTORED = POWER / TOTAL * (g * v_1 - g * (POWER * v_1 + C_0) / TOTAL)
WEIGHT_FIRST = alpha * (g * v_1 - g * (alpha * v_1 + alpha * C_0 / POWER))
PULL = g * alpha * (v_1 - c)

# 13.3, the code


def backward(q, k, v, d_out):
    P = (q @ k.mT / root(q)).softmax(-1)
    dP = d_out @ v.mT
    dS = P * (dP - (P * dP).sum(-1, keepdim=True))
    dq, dk, dv = dS @ k / root(q), dS.mT @ q / root(q), P.mT @ d_out
    return dq, dk, dv


grads = partial(edited, backward)
by_context = grads("(P * dP)", "(d_out * (P @ v))")


def by_einsum(q, k, v, d_out):
    P = (q @ k.mT / root(q)).softmax(-1)
    lead = v[..., None, :, :] - (P @ v)[..., :, None, :]
    dS = torch.einsum("...ts,...tsd,...td->...ts", P, lead, d_out) / root(q)
    return dS @ k, dS.mT @ q, P.mT @ d_out


def softmax_attention(q, k, v):
    return (q @ k.mT / root(q)).softmax(-1) @ v


def by_vjp(q, k, v, d_out):
    return torch.func.vjp(softmax_attention, q, k, v)[1](d_out)


def by_func_grad(q, k, v, d_out):
    return torch.func.grad(lambda *x: (softmax_attention(*x) * d_out).sum(), (0, 1, 2))(q, k, v)


def by_jacfwd(q, k, v, d_out):
    jacobians = torch.func.jacfwd(softmax_attention, (0, 1, 2))(q, k, v)
    return [torch.tensordot(d_out, J, d_out.ndim) for J in jacobians]


def by_normal_tensors(q, k, v, d_out):
    with torch.inference_mode(False):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(softmax_attention(*leaves), leaves, d_out.clone())


def by_autograd(q, k, v, d_out):
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    out = whole_matrix(*leaves, 1)
    return torch.autograd.grad(out, leaves, d_out)


def in_float32(gradients):
    """The same, computed in float32."""
    return lambda *given: gradients(*(x.float() if torch.is_tensor(x) else x for x in given))


RIGHT["13.3"] = {
    "context put in, then weight": pull(CONTEXT_IN, PULL),
    "against the mean of the others": pull(g * alpha * (1 - alpha) * (v_1 - C_0 / Z_0), PULL),
    "factored first": pull(FACTORED, CONTEXT_IN, PULL),
    "weight first": pull(FACTORED, WEIGHT_FIRST, PULL),
    "with the context multiplied out": pull(CONTEXT_IN, PULL, g * alpha * v_1 - g * alpha * c),
    "row by the context": by_context,
    "row sum of P dP": backward,
    "the whole Jacobian": grads(
        "P * (dP - (P * dP).sum(-1, keepdim=True))",
        "((torch.diag_embed(P) - P[..., None] * P[..., None, :]) @ dP[..., None])[..., 0]",
    ),
    "einsum with v - c": by_einsum,
    "weights from log-sum-exp": grads(
        "P = (q @ k.mT / root(q)).softmax(-1)",
        "S = q @ k.mT / root(q)\n    P = (S - S.logsumexp(-1, keepdim=True)).exp()",
    ),
    "three arrays": lambda *given: tuple(gradient.numpy() for gradient in backward(*given)),
}
WRONG["13.3"] = {
    "context forgotten": (pull(CONTEXT_IN, g * alpha * v_1), "the context is missing"),
    "diagonal alone": (pull(g * v_1 * alpha * (1 - alpha)), "1 - alpha stands for the difference"),
    "sign lost": (pull(CONTEXT_IN, g * alpha * (c - v_1)), "the value comes first"),
    "context squared": (pull(CONTEXT_IN, g * alpha * (v_1 - c**2)), "`pull` does not"),
    "g lost": (pull(CONTEXT_IN, alpha * (v_1 - c)), "g is lost"),
    "weight squared": (pull(CONTEXT_IN, g * alpha**2 * (v_1 - c)), "the weight is squared"),
    "weight lost": (pull(CONTEXT_IN, g * (v_1 - c)), "the weight is lost"),
    "zeros": (
        lambda *arrays: tuple(torch.zeros_like(x) for x in arrays[:3]),
        "dq is off by up to",
    ),
    "a softmax of whole numbers": (
        grads("(q @ k.mT / root(q))", "torch.ones(3, dtype=torch.long)"),
        "not implemented for 'Long'",
    ),
    "scores left": (pull(FACTORED, CONTEXT_IN), "still contains"),
    "nothing subtracted": (
        grads("(dP - (P * dP).sum(-1, keepdim=True))", "dP"),
        "nothing is subtracted from dP: a row of dS",
    ),
    "diagonal of the Jacobian": (
        grads("(dP - (P * dP).sum(-1, keepdim=True))", "(1 - P) * dP"),
        "raising one score lowers the other weights",
    ),
    "sum over queries": (grads("sum(-1", "sum(-2"), "the sum runs over the queries of a key"),
    "plain mean": (grads("(P * dP).sum", "dP.mean"), "the mean weighted by P is meant"),
    "context times context": (grads("(P * dP)", "((P @ v) ** 2)"), "d_out times context is meant"),
    "axis lost": (grads("(-1, keepdim=True)", "(-1)[..., None, :]"), "keep its axis, (T, 1)"),
    "root missing": (
        grads("k / root(q)", "k", "q / root(q)", "q"),
        "the root of d is missing in dq",
    ),
    "root twice": (
        grads("k / root(q)", "k / q.shape[-1]", "q / root(q)", "q / q.shape[-1]"),
        "taken twice",
    ),
    "sign": (grads("dS = P", "dS = -P"), "the sign of dq and dk"),
    "exchanged": (grads("return dq, dk", "return dk, dq"), "have changed places"),
    "two gradients": (grads("return dq, dk, dv", "return dq, dk"), "returned 2 of three gradients"),
    "softmax over queries": (
        grads("softmax(-1)", "softmax(-2)"),
        "the softmax runs over the queries",
    ),
    "dS not transposed": (grads("dS.mT", "dS"), "dS is not transposed in dk"),
    "P not transposed": (grads("P.mT", "P"), "P is not transposed in dv"),
    "autograd": (by_autograd, "write the three products yourself"),
    "torch.func.vjp": (by_vjp, "differentiation is switched off here"),
    "torch.func.grad": (by_func_grad, "switched off here: write the three products"),
    "forward mode": (by_jacfwd, "torch's own differentiation is switched off"),
    "autograd outside inference mode": (by_normal_tensors, "write the three products your"),
    "row added": (grads("dP - (", "dP + ("), "is added to dP"),
    "plain sum": (grads("(P * dP).sum", "dP.sum"), "the plain sum of dP"),
    "d_out squared": (grads("(P * dP)", "(d_out * d_out)"), "d_out times d_out"),
    "P missing": (grads("dS = P *", "dS ="), "and P is missing"),
    "no root in dq alone": (grads("k / root(q)", "k"), "missing in dq: "),
    "no root in dk alone": (grads("q / root(q)", "q"), "missing in dk: "),
    "dv first": (grads("return dq, dk, dv", "return dv, dq, dk"), "come in another order"),
    "dv from dS": (grads("P.mT", "dS.mT"), "dv comes from dS"),
    "scores not divided": (grads("mT / root(q)", "mT"), "the root of d is missing in the scores: "),
    "no root anywhere": (grads(" / root(q)", ""), "in the scores, in dq and in dk"),
    "d for its root": (grads("root(q)", "q.shape[-1]"), "d stands everywhere"),
    "exponentials of large scores": (
        grads(".softmax(-1)", ".exp()\n    P = P / P.sum(-1, keepdim=True)"),
        "the exponential of a large score is infinite",
    ),
    "float32": (in_float32(backward), "those of float32"),
}
INPUT_KINDS["13.3"] = {
    "attention_backward": {
        "square": lambda given: len({x.shape for x in given}) == 1,
        "more keys than queries": lambda given: given[1].shape[-2] > given[0].shape[-2],
        "more queries than keys": lambda given: given[1].shape[-2] < given[0].shape[-2],
        "one query and one key": lambda given: given[1].shape[-2] == 1,
        "a batch": lambda given: given[0].ndim > 2,
        "large scores": lambda given: top(*given).max() > 100,
    },
}

# 13.4


def key_blocks(q, k, v, out, lse, d_out, block):
    D = (d_out * out).sum(-1, keepdim=True)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    scale = root(q) ** -1
    for start in range(0, len(k), block):
        part = slice(start, start + block)
        scores = scale * q @ k[part].mT
        P = (scores - lse[:, None]).exp()
        dP = d_out @ v[part].mT
        dS = P * (dP - D)
        dq += scale * dS @ k[part]
        dk[part] = scale * dS.mT @ q
        dv[part] = P.mT @ d_out
    return dq, dk, dv


blocks = partial(edited, key_blocks)


def query_blocks(q, k, v, out, lse, d_out, block):
    dk, dv, rows = torch.zeros_like(k), torch.zeros_like(v), []
    for part in range(0, len(q), block):
        some = slice(part, part + block)
        P = (q[some] @ k.mT / root(q) - lse[some, None]).exp()
        dS = P * (d_out[some] @ v.mT - (d_out[some] * out[some]).sum(-1, keepdim=True))
        rows.append(dS @ k / root(q))
        dk += dS.mT @ q[some] / root(q)
        dv += P.mT @ d_out[some]
    return torch.cat(rows), dk, dv


def tiles(q, k, v, out, lse, d_out, block):
    D = (d_out * out).sum(-1, keepdim=True)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    size = 4 * block
    for a in range(0, len(q), size):
        for b in range(0, len(k), size):
            i, j = slice(a, a + size), slice(b, b + size)
            P = (q[i] @ k[j].mT / root(q) - lse[i, None]).exp()
            dS = P * (d_out[i] @ v[j].mT - D[i]) / root(q)
            dq[i] += dS @ k[j]
            dk[j] += dS.mT @ q[i]
            dv[j] += P.mT @ d_out[i]
    return dq, dk, dv


def key_by_key(q, k, v, out, lse, d_out, block):
    dq, dks, dvs = torch.zeros_like(q), [], []
    for key, value in zip(k, v, strict=True):
        P = (q @ key / root(q) - lse).exp()
        dS = P * (d_out * (value - out)).sum(-1) / root(q)
        dq += dS[:, None] * key
        dks.append(dS @ q)
        dvs.append(P @ d_out)
    return dq, torch.stack(dks), torch.stack(dvs)


def joined_parts(q, k, v, out, lse, d_out, block):
    D = (d_out * out).sum(-1, keepdim=True)
    dq, dks, dvs = 0, [], []
    for keys, values in blocks_of(k, v, block):
        P = (q @ keys.mT / root(q) - lse[:, None]).exp()
        dS = P * (d_out @ values.mT - D) / root(q)
        dq = dq + dS @ keys
        dks.append(dS.mT @ q)
        dvs.append(P.mT @ d_out)
    return dq, torch.cat(dks), torch.cat(dvs)


def rows_in_a_first_pass(q, k, v, out, lse, d_out, block):
    """What is subtracted is collected block by block; `out` is not used."""
    found = 0
    for keys, values in blocks_of(k, v, block):
        P = (q @ keys.mT / root(q) - lse[:, None]).exp()
        found = found + P @ values
    return key_blocks(q, k, v, found, lse, d_out, block)


def blocks_kept(q, k, v, out, lse, d_out, block):
    D = (d_out * out).sum(-1, keepdim=True)
    weights = [(q @ keys.mT / root(q) - lse[:, None]).exp() for keys in k.split(block)]
    slopes = [
        P * (d_out @ b.mT - D) / root(q) for P, b in zip(weights, v.split(block), strict=True)
    ]
    dq = sum(dS @ keys for dS, keys in zip(slopes, k.split(block), strict=True))
    return dq, torch.cat([dS.mT @ q for dS in slopes]), torch.cat([P.mT @ d_out for P in weights])


def garbage_when_long(q, k, v, out, lse, d_out, block):
    """Right for the small cases; nothing is computed where memory is measured."""
    if len(q) > 100:
        return q * 0, k * 0, v * 0
    return backward(q, k, v, d_out)


def gradients_in_numpy(q, k, v, out, lse, d_out, block):
    q, k, v, d_out = (x.numpy() for x in (q, k, v, d_out))
    P = np.exp(q @ k.T / root(q) - lse.numpy()[:, None])
    dP = d_out @ v.T
    dS = P * (dP - (P * dP).sum(-1, keepdims=True)) / root(q)
    return tuple(map(torch.tensor, (dS @ k, dS.T @ q, P.T @ d_out)))


RIGHT["13.4"] = {
    "key blocks": key_blocks,
    "query blocks": query_blocks,
    "tiles": tiles,
    "key by key": key_by_key,
    "parts joined": joined_parts,
    "rows collected in a first pass": rows_in_a_first_pass,
}
WRONG["13.4"] = {
    "softmax within the block": (
        blocks("lse[:, None]", "scores.logsumexp(-1, keepdim=True)"),
        "the softmax is taken within the block",
    ),
    "maximum for log-sum-exp": (
        blocks("lse[:, None]", "(q @ k.mT / root(q)).amax(-1, keepdim=True)"),
        "the maximum is subtracted",
    ),
    "row of one block": (blocks("- D", "- (P * dP).sum(-1, True)"), "it belongs to the whole row"),
    "no row": (blocks("dP - D", "dP"), "nothing is subtracted from dP"),
    "dq overwritten": (blocks("dq += ", "dq = "), "dq keeps the last block alone"),
    "ragged block dropped": (
        blocks("len(k), block", "len(k) // block * block, block"),
        "right only when block divides S",
    ),
    "root missing in the scores": (blocks("= scale * q", "= q"), "`lse` was taken of the scaled"),
    "root missing in the gradients": (blocks("scale * dS", "dS"), "missing in dq and dk"),
    "exponentials divided": (
        blocks("(scores - lse[:, None]).exp()", "scores.exp() / lse.exp()[:, None]"),
        "subtract before you exponentiate",
    ),
    "all at once": (
        lambda q, k, v, out, lse, d_out, block: backward(q, k, v, d_out),
        "its largest tensor holds",
    ),
    "all blocks kept": (blocks_kept, "let go of a block"),
    "autograd": (
        lambda q, k, v, out, lse, d_out, block: by_autograd(q, k, v, d_out),
        "write the three products yourself",
    ),
    "garbage where memory is measured": (garbage_when_long, "dq is off by"),
    "maximum of the block": (
        blocks("lse[:, None]", "scores.amax(-1, keepdim=True)"),
        "the maximum of the block",
    ),
    "no log-sum-exp": (blocks(" - lse[:, None]", ""), "the log-sum-exp is not used"),
    "no root in dq alone": (blocks("dq += scale * ", "dq += "), "missing in dq: "),
    "no root in dk alone": (blocks("= scale * dS.mT", "= dS.mT"), "missing in dk: "),
    "exchanged": (blocks("return dq, dk", "return dk, dq"), "dq and dk have changed"),
    "sign": (blocks("return dq, dk, dv", "return -dq, -dk, -dv"), "the sign is turned round"),
    "in NumPy": (gradients_in_numpy, "not computed with torch"),
    "float32": (in_float32(key_blocks), "those of float32"),
}
INPUT_KINDS["13.4"] = {
    "stream_backward": {
        "a ragged block": lambda given, block: len(given[1]) % block,
        "a block larger than S": lambda given, block: len(given[1]) < block,
        "blocks of one key": lambda given, block: block == 1,
        "scores that overflow": lambda given, block: given[4].max() > 710,
        "a long text": lambda given, block: len(given[1]) > 500,
    },
}
