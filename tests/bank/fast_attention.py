"""Right and wrong answers to 12.1-12.4, each wrong one with a fragment of the message it must get."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import sympy as sp
import torch

from attn_course import derive

INF = math.inf


def root(q):
    return q.shape[-1] ** 0.5


# 12.1, the chain

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

# 12.1, the code


def summary(scores, values):
    """(maximum, sum, output); the maximum of no keys is minus infinity."""
    if len(scores) == 0:
        return scores.new_tensor(-INF), scores.new_tensor(0.0), values.sum(0)
    largest = scores.max()
    exps = (scores - largest.clamp(min=-1e300)).exp()
    return largest, exps.sum(), exps @ values


def factors(a, b):
    largest = torch.maximum(a[0], b[0])
    unit = largest.clamp(min=-1e300)
    return largest, (a[0] - unit).exp(), (b[0] - unit).exp()


def merge(a, b):
    largest, f, g = factors(a, b)
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
    largest, f, g = factors((a["m"],), (b["m"],))
    total = f * a["s"] + g * b["s"]
    context = (f * a["s"] * a["c"] + g * b["s"] * b["c"]) / total.clamp(min=1e-300)
    return {"m": largest, "s": total, "c": context}


def dict_finish(state):
    return state["c"]


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


def merged(way):
    """The three functions, the middle one replaced."""
    return summary, way, finish


def contexts(weight):
    """States (maximum, number of keys, context), the first block mixed in with weight(a, b)."""

    def summarise(scores, values):
        largest, total, output = summary(scores, values)
        return largest, len(scores), output / total.clamp(min=1)

    def put_together(a, b):
        w = weight(a, b)
        return torch.maximum(a[0], b[0]), a[1] + b[1], w * a[2] + (1 - w) * b[2]

    return summarise, put_together, lambda state: state[2]


def unscaled(a, b):
    return torch.maximum(a[0], b[0]), a[1] + b[1], a[2] + b[2]


def new_alone(a, b):
    largest, _, g = factors(a, b)
    return largest, a[1] + g * b[1], a[2] + g * b[2]


def old_alone(a, b):
    largest, f, _ = factors(a, b)
    return largest, f * a[1] + b[1], f * a[2] + b[2]


def output_forgotten(a, b):
    largest, f, g = factors(a, b)
    return largest, f * a[1] + g * b[1], a[2] + b[2]


def sum_forgotten(a, b):
    largest, f, g = factors(a, b)
    return largest, a[1] + b[1], f * a[2] + g * b[2]


def sign_lost(a, b):
    largest, f, g = factors(a, b)
    return largest, a[1] / f + b[1] / g, a[2] / f + b[2] / g


def raw_summary(scores, values):
    return scores.exp().sum(), scores.exp() @ values


def raw_merge(a, b):
    return a[0] + b[0], a[1] + b[1]


def raw_finish(state):
    return state[1] / state[0]


def starting_at(start):
    """A maximum that begins at a finite number."""

    def summarise(scores, values):
        largest = torch.cat([scores.new_tensor([start]), scores]).max()
        exps = (scores - largest).exp()
        return largest, exps.sum(), exps @ values

    return summarise, merge, finish


def empty_at(largest):
    """A block without keys that has a finite maximum."""

    def summarise(scores, values):
        if len(scores) == 0 or scores.max() == -INF:
            return scores.new_tensor(largest), scores.new_tensor(0.0), values.sum(0) * 0
        return summary(scores, values)

    return summarise, merge, finish


def nan_summary(scores, values):
    largest = torch.cat([scores.new_tensor([-INF]), scores]).max()
    exps = (scores - largest).exp()
    return largest, exps.sum(), exps @ values


def nan_merge(a, b):
    largest = torch.maximum(a[0], b[0])
    f, g = (a[0] - largest).exp(), (b[0] - largest).exp()
    return largest, f * a[1] + g * b[1], f * a[2] + g * b[2]


def no_empty_summary(scores, values):
    largest = scores.max()
    exps = (scores - largest.clamp(min=-1e300)).exp()
    return largest, exps.sum(), exps @ values


def keep_all(scores, values):
    return scores, values


def join_all(a, b):
    return torch.cat([a[0], b[0]]), torch.cat([a[1], b[1]])


def finish_all(state):
    return state[0].softmax(0) @ state[1]


# 12.2


def blocks_of(k, v, block):
    return zip(k.split(block, -2), v.split(block, -2), strict=True)


def running(*, old=True, total=True, rows=True, start=-INF):
    """The loop with running maximum, sum and output; flags switch single steps off."""

    def stream(q, k, v, block):
        largest = torch.full((*q.shape[:-1], 1), start)
        sums = torch.zeros(*q.shape[:-1], 1)
        output = torch.zeros(*q.shape[:-1], v.shape[-1])
        for keys, values in blocks_of(k, v, block):
            scores = q @ keys.mT / root(q)
            top = scores.amax(-1, keepdim=True) if rows else scores.max().expand_as(largest)
            new = torch.maximum(largest, top)
            exps = (scores - new).exp()
            factor = (largest - new).exp()
            sums = (factor if total else 1) * sums + exps.sum(-1, keepdim=True)
            output = (factor if old else 1) * output + exps @ values
            largest = new
        return output / sums

    return stream


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


def own_blocks(q, k, v, block):
    """In blocks of 8 keys, whatever is asked for: what is measured is memory."""
    return running()(q, k, v, 8)


def list_of_blocks(q, k, v, block):
    """No large tensor, but the scores of all blocks in a list."""
    scores = [q @ keys.mT / root(q) for keys in k.split(block, -2)]
    largest = functools.reduce(torch.maximum, [s.amax(-1, keepdim=True) for s in scores])
    exps = [(s - largest).exp() for s in scores]
    total = sum(e.sum(-1, keepdim=True) for e in exps)
    return sum(e @ values for e, values in zip(exps, v.split(block, -2), strict=True)) / total


def averaged_blocks(q, k, v, block):
    found = [(q @ a.mT / root(q)).softmax(-1) @ b for a, b in blocks_of(k, v, block)]
    return torch.stack(found).mean(0)


def ragged_dropped(q, k, v, block):
    S = k.shape[-2] // block * block
    return running()(q, k[..., :S, :], v[..., :S, :], block)


def own_maxima(q, k, v, block):
    """Every block in the unit of its own maximum."""
    sums, output = 0, 0
    for keys, values in blocks_of(k, v, block):
        scores = q @ keys.mT / root(q)
        exps = (scores - scores.amax(-1, keepdim=True)).exp()
        sums, output = sums + exps.sum(-1, keepdim=True), output + exps @ values
    return output / sums


def divided_early(q, k, v, block):
    largest, sums, output = -INF, 0, 0
    for keys, values in blocks_of(k, v, block):
        scores = q @ keys.mT / root(q)
        new = scores.amax(-1, keepdim=True).clamp(min=largest)
        exps, factor = (scores - new).exp(), (largest - new).exp()
        sums = factor * sums + exps.sum(-1, keepdim=True)
        output, largest = (factor * output + exps @ values) / sums, new
    return output


def no_root(q, k, v, block):
    return running()(q * root(q), k, v, block)


def stream_over_queries(q, k, v, block):
    return (q @ k.mT / root(q)).softmax(-2) @ v


def stream_divided_by_d(q, k, v, block):
    return running()(q / root(q), k, v, block)


def raw_stream(q, k, v, block):
    sums, output = 0, 0
    for keys, values in blocks_of(k, v, block):
        exps = (q @ keys.mT / root(q)).exp()
        sums, output = sums + exps.sum(-1, keepdim=True), output + exps @ values
    return output / sums


# 12.3, the chain

s, v_1, c, g, C_0 = sp.symbols("s v c g C_0", real=True)
Z_0, alpha = sp.symbols("Z_0 alpha", positive=True)
POWER = sp.exp(s)
TOTAL = POWER + Z_0
QUOTIENT = (g * v_1 * POWER * TOTAL - g * (POWER * v_1 + C_0) * POWER) / TOTAL**2
KNOWN = {C_0: c * TOTAL - v_1 * POWER, Z_0: POWER / alpha - POWER, alpha: (0, 1)}


def pull(*lines):
    steps = [(line, "so") for line in lines]
    return derive((QUOTIENT, "quotient rule"), *steps, where=KNOWN)


CONTEXT_IN = POWER / TOTAL * g * (v_1 - c)
FACTORED = POWER / TOTAL * (g * v_1 - g * (POWER * v_1 + C_0) / TOTAL)
WEIGHT_FIRST = alpha * (g * v_1 - g * (alpha * v_1 + alpha * C_0 / POWER))
PULL = g * alpha * (v_1 - c)

# 12.3, the code


def parts_of(q, k, v, d_out):
    P = (q @ k.mT / root(q)).softmax(-1)
    return P, d_out @ v.mT, P @ v


def finished(q, k, P, dS, d_out):
    return dS @ k / root(q), dS.mT @ q / root(q), P.mT @ d_out


def by_context(q, k, v, d_out):
    P, dP, context = parts_of(q, k, v, d_out)
    return finished(q, k, P, P * (dP - (d_out * context).sum(-1, keepdim=True)), d_out)


def by_row_sum(q, k, v, d_out):
    P, dP, _ = parts_of(q, k, v, d_out)
    return finished(q, k, P, P * (dP - (P * dP).sum(-1, keepdim=True)), d_out)


def by_jacobian(q, k, v, d_out):
    P, dP, _ = parts_of(q, k, v, d_out)
    jacobian = torch.diag_embed(P) - P[..., :, None] * P[..., None, :]
    return finished(q, k, P, (jacobian @ dP[..., None])[..., 0], d_out)


def by_einsum(q, k, v, d_out):
    P, _, context = parts_of(q, k, v, d_out)
    lead = v[..., None, :, :] - context[..., :, None, :]
    dS = torch.einsum("...ts,...tsd,...td->...ts", P, lead, d_out)
    return finished(q, k, P, dS, d_out)


def by_lse(q, k, v, d_out):
    scores = q @ k.mT / root(q)
    P = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    dP = d_out @ v.mT
    return finished(q, k, P, P * (dP - (P * dP).sum(-1, keepdim=True)), d_out)


def slipped(change):
    """change(P, dP, context, d_out) -> dS."""

    def attention_backward(q, k, v, d_out):
        P, dP, context = parts_of(q, k, v, d_out)
        return finished(q, k, P, change(P, dP, context, d_out), d_out)

    return attention_backward


def changed(change):
    """change(dq, dk, dv, root of d) -> what is returned."""

    def attention_backward(q, k, v, d_out):
        return change(*by_context(q, k, v, d_out), root(q))

    return attention_backward


def over_queries(q, k, v, d_out):
    P = (q @ k.mT / root(q)).softmax(-2)
    dP = d_out @ v.mT
    return finished(q, k, P, P * (dP - (P * dP).sum(-1, keepdim=True)), d_out)


def dk_straight(q, k, v, d_out):
    P, dP, _ = parts_of(q, k, v, d_out)
    dS = P * (dP - (P * dP).sum(-1, keepdim=True))
    return dS @ k / root(q), dS @ q / root(q), P.mT @ d_out


def dv_straight(q, k, v, d_out):
    P, _, _ = parts_of(q, k, v, d_out)
    dq, dk, _ = by_context(q, k, v, d_out)
    return dq, dk, P @ d_out


def by_autograd(q, k, v, d_out):
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    out = whole_matrix(*leaves, 1)
    return torch.autograd.grad(out, leaves, d_out)


# 12.4


def key_blocks(
    *, lse_of=None, row=True, last=False, drop=False, root_in=True, root_out=True, raw=False
):
    """The loop over key blocks; options switch single steps off."""

    def stream_backward(q, k, v, out, lse, d_out, block):
        D = (d_out * out).sum(-1, keepdim=True) if row is not None else 0
        scale = root(q) ** -1 if root_in else 1.0
        outer = root(q) ** -1 if root_out else 1.0
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        S = len(k) // block * block if drop else len(k)
        for start in range(0, S, block):
            part = slice(start, min(start + block, S))
            scores = scale * q @ k[part].mT
            if raw:
                P = scores.exp() / lse.exp()[:, None]
            elif lse_of is None:
                P = (scores - lse[:, None]).exp()
            else:
                P = (scores - lse_of(scores, q, k)[:, None]).exp()
            dP = d_out @ v[part].mT
            minus = D if row is not False else (P * dP).sum(-1, keepdim=True)
            dS = P * (dP - minus)
            dq = outer * dS @ k[part] if last else dq + outer * dS @ k[part]
            dk[part] = outer * dS.mT @ q
            dv[part] = P.mT @ d_out
        return dq, dk, dv

    return stream_backward


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


def all_at_once(q, k, v, out, lse, d_out, block):
    return by_context(q, k, v, d_out)


def blocks_kept(q, k, v, out, lse, d_out, block):
    D = (d_out * out).sum(-1, keepdim=True)
    weights = [(q @ keys.mT / root(q) - lse[:, None]).exp() for keys in k.split(block)]
    slopes = [
        P * (d_out @ b.mT - D) / root(q) for P, b in zip(weights, v.split(block), strict=True)
    ]
    dq = sum(dS @ keys for dS, keys in zip(slopes, k.split(block), strict=True))
    return dq, torch.cat([dS.mT @ q for dS in slopes]), torch.cat([P.mT @ d_out for P in weights])


def stream_by_autograd(q, k, v, out, lse, d_out, block):
    return by_autograd(q, k, v, d_out)


def garbage_when_long(q, k, v, out, lse, d_out, block):
    """Right for the small cases; nothing is computed where memory is measured."""
    if len(q) > 100:
        return q * 0, k * 0, v * 0
    return by_context(q, k, v, d_out)


def stream_garbage_when_long(q, k, v, block):
    if q.shape[-2] > 100:
        return q[..., :1] * v.sum(-2, keepdim=True) * 0
    return whole_matrix(q, k, v, block)


def stream_in_numpy(q, k, v, block):
    scores = q.numpy() @ k.numpy().swapaxes(-1, -2) / root(q)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return torch.from_numpy(exps / exps.sum(-1, keepdims=True) @ v.numpy())


def nested(state, depth=30):
    for _ in range(depth):
        state = [state]
    return state


def nested_summary(scores, values):
    return nested((scores, values))


def flat(state):
    while isinstance(state, list):
        (state,) = state
    return state


def nested_merge(a, b):
    return nested(join_all(flat(a), flat(b)))


def nested_finish(state):
    return finish_all(flat(state))


def closed_summary(scores, values):
    return lambda: (scores, values)


def closed_merge(a, b):
    joined = join_all(a(), b())
    return lambda: joined


def closed_finish(state):
    return finish_all(state())


def unit_of_first(a, b):
    factor = (b[0] - a[0]).exp()
    return a[0], a[1] + factor * b[1], a[2] + factor * b[2]


def larger_lse(a, b):
    larger = torch.maximum(a[0], b[0])
    f, g = ((x[0] - larger).exp().nan_to_num(0.0) for x in (a, b))
    return larger, f * a[1] + g * b[1]


def smallest_away(scores, values):
    if len(scores) == 0:
        return summary(scores, values)
    exps = (scores - scores.min()).exp()
    return scores.min(), exps.sum(), exps @ values


def unit_of_the_smaller(a, b):
    smaller = torch.minimum(a[0], b[0])
    f, g = ((x[0] - smaller).exp() for x in (a, b))
    return smaller, f * a[1] + g * b[1], f * a[2] + g * b[2]


def exchanged_factors(a, b):
    largest, f, g = factors(a, b)
    return largest, g * a[1] + f * b[1], g * a[2] + f * b[2]


def blocks_added(q, k, v, block):
    return sum((q @ a.mT / root(q)).softmax(-1) @ b for a, b in blocks_of(k, v, block))


def last_block_alone(q, k, v, block):
    keys, values = list(blocks_of(k, v, block))[-1]
    return whole_matrix(q, keys, values, block)


def hides_keys(q, k, v, block):
    scores = q @ k.mT / root(q)
    return scores.masked_fill(torch.ones_like(scores).tril() == 0, -INF).softmax(-1) @ v


def divided_in_place(q, k, v, block):
    q /= root(q)
    return running()(q * root(q), k, v, block)


def stream_in_numpy_as_tensor(q, k, v, block):
    found = stream_in_numpy(q, k, v, block)
    return torch.tensor(found.numpy())


def three_arrays(q, k, v, d_out):
    return tuple(gradient.numpy() for gradient in by_context(q, k, v, d_out))


def with_scale(inside, outside):
    """Scores times inside(d), dq and dk times outside(d)."""

    def attention_backward(q, k, v, d_out):
        d = q.shape[-1]
        P = (q @ k.mT * inside(d)).softmax(-1)
        dP = d_out @ v.mT
        dS = P * (dP - (P * dP).sum(-1, keepdim=True))
        return outside(d) * dS @ k, outside(d) * dS.mT @ q, P.mT @ d_out

    return attention_backward


def raw_weights(q, k, v, d_out):
    powers = (q @ k.mT / root(q)).exp()
    P = powers / powers.sum(-1, keepdim=True)
    dP = d_out @ v.mT
    return finished(q, k, P, P * (dP - (P * dP).sum(-1, keepdim=True)), d_out)


def dv_from_slopes(q, k, v, d_out):
    P, dP, _ = parts_of(q, k, v, d_out)
    dS = P * (dP - (P * dP).sum(-1, keepdim=True))
    return finished(q, k, dS, dS, d_out)


def in_float32(backward):
    """The same, computed in float32."""

    def in_single(*given):
        return backward(*(x.float() if torch.is_tensor(x) else x for x in given))

    return in_single


def rows_in_a_first_pass(q, k, v, out, lse, d_out, block):
    """What is subtracted is collected block by block; `out` is not used."""
    found = 0
    for keys, values in blocks_of(k, v, block):
        P = (q @ keys.mT / root(q) - lse[:, None]).exp()
        found = found + P @ values
    return key_blocks()(q, k, v, found, lse, d_out, block)


def gradients_in_numpy(q, k, v, out, lse, d_out, block):
    q, k, v, d_out = (x.numpy() for x in (q, k, v, d_out))
    P = np.exp(q @ k.T / root(q) - lse.numpy()[:, None])
    dP = d_out @ v.T
    dS = P * (dP - (P * dP).sum(-1, keepdims=True)) / root(q)
    return tuple(map(torch.tensor, (dS @ k, dS.T @ q, P.T @ d_out)))


def maximum_of_the_block(scores, q, k):
    return scores.amax(-1)


def stream_changed(change):
    """change(dq, dk, dv, root of d) -> what is returned."""

    def stream_backward(q, *given):
        return change(*key_blocks()(q, *given), root(q))

    return stream_backward


RIGHT = {
    "12.1": {
        "l put in, then divided": share(PUT_IN, SIGMOID),
        "divided, then l put in": share(DIVIDED, SIGMOID),
        "by a hyperbolic tangent": share(PUT_IN, SIGMOID, (1 + sp.tanh((l1 - l2) / 2)) / 2),
        "maximum, sum, output": (summary, merge, finish),
        "log-sum-exp and context": (lse_summary, lse_merge, lse_finish),
        "a dictionary with a context": (dict_summary, dict_merge, dict_finish),
        "an object with numbers and an array": (object_summary, object_merge, object_finish),
    },
    "12.2": {
        "running maximum and sum": running(),
        "a sigmoid for a gate": gated,
        "two passes": two_passes,
        "query by query": query_by_query,
        "blocks of its own": own_blocks,
    },
    "12.3": {
        "context put in, then weight": pull(CONTEXT_IN, PULL),
        "factored first": pull(FACTORED, CONTEXT_IN, PULL),
        "weight first": pull(FACTORED, WEIGHT_FIRST, PULL),
        "with the context multiplied out": pull(CONTEXT_IN, PULL, g * alpha * v_1 - g * alpha * c),
        "row by the context": by_context,
        "row sum of P dP": by_row_sum,
        "the whole Jacobian": by_jacobian,
        "einsum with v - c": by_einsum,
        "weights from log-sum-exp": by_lse,
        "three arrays": three_arrays,
    },
    "12.4": {
        "key blocks": key_blocks(),
        "query blocks": query_blocks,
        "tiles": tiles,
        "key by key": key_by_key,
        "parts joined": joined_parts,
        "rows collected in a first pass": rows_in_a_first_pass,
    },
}

WRONG = {
    "12.1": {
        "sigmoid of the maxima": (share(PUT_IN, 1 / (1 + sp.exp(M2 - M1))), "step 2 of `share`"),
        "ratio of the sums": (share(Z1 / (Z1 + Z2)), "step 1 of `share`"),
        "the other block": (share(PUT_IN, 1 / (1 + sp.exp(l1 - l2))), "does not follow"),
        "ratio of log-sum-exps": (share(PUT_IN, l1 / (l1 + l2)), "at l_1"),
        "at once": (share(SIGMOID), "show at least one line between"),
        "stops halfway": (share(PUT_IN), "go on: a form with one"),
        "halfway, in powers of 2": (
            share(PUT_IN, IN_POWERS_OF_2),
            "one and the same exponential",
        ),
        "sums added": (merged(unscaled), "the sums are added as they are"),
        "contexts averaged": (contexts(lambda a, b: 0.5), "the contexts are averaged"),
        "by number of keys": (contexts(lambda a, b: a[1] / max(a[1] + b[1], 1)), "not counts"),
        "softmax of the maxima": (
            contexts(lambda a, b: torch.sigmoid(a[0] - b[0]).nan_to_num(0.5)),
            "use log-sum-exp, not the maximum",
        ),
        "new block alone rescaled": (merged(new_alone), "only the new block is rescaled"),
        "old block alone rescaled": (merged(old_alone), "only the old block is rescaled"),
        "output not rescaled": (
            merged(output_forgotten),
            "the sum is rescaled and the output is not",
        ),
        "sum not rescaled": (merged(sum_forgotten), "the output is rescaled and the sum is not"),
        "sign lost": (merged(sign_lost), "factors are the wrong way round"),
        "no maximum": ((raw_summary, raw_merge, raw_finish), "as that of a score above 710 does"),
        "maximum starts at 0": (starting_at(0.0), "start at minus infinity"),
        "maximum starts at -10000": (starting_at(-1e4), "one block with scores near -100,000"),
        "an empty block at 0": (empty_at(0.0), "no keys beside scores near -10,000,000,000"),
        "an empty block at -10000": (empty_at(-1e4), "a maximum that starts at a finite number"),
        "nothing minus nothing": ((nan_summary, nan_merge, finish), "must change nothing"),
        "maximum of no keys": ((no_empty_summary, merge, finish), "no keys"),
        "keeps all keys": ((keep_all, join_all, finish_all), "must not grow with the keys"),
        "keeps all keys, deep in lists": (
            (nested_summary, nested_merge, nested_finish),
            "numbers; the state must not grow",
        ),
        "keeps all keys in a closure": (
            (closed_summary, closed_merge, closed_finish),
            "keys holds",
        ),
        "not divided": (
            (summary, merge, lambda state: state[2]),
            "not divided by the sum at the end",
        ),
        "multiplied": (
            (summary, merge, lambda state: state[2] * state[1]),
            "the output is multiplied by the sum",
        ),
        "maximum of the first": (
            (summary, lambda a, b: (a[0], *merge(a, b)[1:]), finish),
            "keeps the maximum of its first part",
        ),
        "unit of the first": ((summary, unit_of_first, finish), "to the unit of the first"),
        "the larger block alone": (
            (summary, lambda a, b: a if a[0] >= b[0] else b, finish),
            "only the block with the larger maximum",
        ),
        "the second block alone": ((summary, lambda a, b: b, finish), "only the second block"),
        "log-sum-exps added": (
            (lse_summary, lambda a, b: (a[0] + b[0], lse_merge(a, b)[1]), lse_finish),
            "taken for their sum",
        ),
        "the larger log-sum-exp": (
            (lse_summary, larger_lse, lse_finish),
            "taken for the larger of the two",
        ),
        "the smallest score taken away": (
            (smallest_away, unit_of_the_smaller, finish),
            "neither none nor another",
        ),
        "factors exchanged": (merged(exchanged_factors), "a sign in the exponent, or the two"),
        "maximum starts at -1e9": (starting_at(-1e9), "beside scores near -10,000,000,000"),
    },
    "12.2": {
        "blocks averaged": (averaged_blocks, "results averaged"),
        "nothing rescaled": (running(old=False, total=False), "are not rescaled"),
        "own maxima": (own_maxima, "the unit of its own maximum"),
        "divided at every block": (divided_early, "divide once, at the end"),
        "sum not rescaled": (running(total=False), "the output is rescaled and the sum is not"),
        "output not rescaled": (running(old=False), "the sum is rescaled and the output is not"),
        "one maximum for all rows": (running(rows=False), "one maximum for all rows"),
        "ragged block dropped": (ragged_dropped, "right only when block divides S"),
        "root missing": (no_root, "not divided by sqrt(d)"),
        "softmax over queries": (stream_over_queries, "so that columns sum to one"),
        "divided by d": (stream_divided_by_d, "divided by d, the width of a query"),
        "raw exponentials": (raw_stream, "take a maximum away first"),
        "maximum starts at 0": (running(start=0.0), "the running maximum starts at"),
        "maximum starts at -10000": (running(start=-1e4), "for all scores of a row"),
        "the whole matrix": (whole_matrix, "its largest tensor holds"),
        "a list of all blocks": (list_of_blocks, "let go of a block before the next"),
        "garbage where memory is measured": (stream_garbage_when_long, "block 16)"),
        "in NumPy": (stream_in_numpy, "not computed with torch"),
        "maximum starts at -1e9": (running(start=-1e9), "all scores below -1,000,000,000"),
        "blocks added": (blocks_added, "and the results are added"),
        "the last block alone": (last_block_alone, "only the last block is left"),
        "a causal mask": (hides_keys, "a mask hides keys"),
        "an argument divided in place": (divided_in_place, "changes its arguments in place"),
        "in NumPy, handed back as a tensor": (
            stream_in_numpy_as_tensor,
            "so the check cannot see what is held",
        ),
    },
    "12.3": {
        "at once": (pull(PULL), "`pull`"),
        "context forgotten": (pull(CONTEXT_IN, g * alpha * v_1), "step 2 of `pull`"),
        "diagonal alone": (pull(g * v_1 * alpha * (1 - alpha)), "step 1 of `pull`"),
        "sign lost": (pull(CONTEXT_IN, g * alpha * (c - v_1)), "does not follow"),
        "context squared": (pull(CONTEXT_IN, g * alpha * (v_1 - c**2)), "`pull` does not"),
        "g lost": (pull(CONTEXT_IN, alpha * (v_1 - c)), "at "),
        "weight squared": (pull(CONTEXT_IN, g * alpha**2 * (v_1 - c)), "step 2"),
        "scores left": (pull(FACTORED, CONTEXT_IN), "still contains"),
        "nothing subtracted": (
            slipped(lambda P, dP, c, g: P * dP),
            "nothing is subtracted from dP: a row of dS",
        ),
        "diagonal of the Jacobian": (
            slipped(lambda P, dP, c, g: P * (1 - P) * dP),
            "raising one score lowers the other weights",
        ),
        "sum over queries": (
            slipped(lambda P, dP, c, g: P * (dP - (P * dP).sum(-2, keepdim=True))),
            "the sum runs over the queries of a key",
        ),
        "plain mean": (
            slipped(lambda P, dP, c, g: P * (dP - dP.mean(-1, keepdim=True))),
            "the mean weighted by P is meant",
        ),
        "context times context": (
            slipped(lambda P, dP, c, g: P * (dP - (c * c).sum(-1, keepdim=True))),
            "d_out times context is meant",
        ),
        "axis lost": (
            slipped(lambda P, dP, c, g: P * (dP - (P * dP).sum(-1)[..., None, :])),
            "keep its axis, (T, 1)",
        ),
        "root missing": (
            changed(lambda dq, dk, dv, r: (dq * r, dk * r, dv)),
            "the root of d is missing in dq",
        ),
        "root twice": (changed(lambda dq, dk, dv, r: (dq / r, dk / r, dv)), "taken twice"),
        "sign": (changed(lambda dq, dk, dv, r: (-dq, -dk, dv)), "the sign of dq and dk"),
        "exchanged": (changed(lambda dq, dk, dv, r: (dk, dq, dv)), "have changed places"),
        "two gradients": (changed(lambda dq, dk, dv, r: (dq, dk)), "returned 2 of three gradients"),
        "softmax over queries": (over_queries, "the softmax runs over the queries"),
        "dS not transposed": (dk_straight, "dS is not transposed in dk"),
        "P not transposed": (dv_straight, "P is not transposed in dv"),
        "autograd": (by_autograd, "write the three products yourself"),
        "row added": (
            slipped(lambda P, dP, c, g: P * (dP + (g * c).sum(-1, keepdim=True))),
            "is added to dP",
        ),
        "plain sum": (
            slipped(lambda P, dP, c, g: P * (dP - dP.sum(-1, keepdim=True))),
            "the plain sum of dP",
        ),
        "d_out squared": (
            slipped(lambda P, dP, c, g: P * (dP - (g * g).sum(-1, keepdim=True))),
            "d_out times d_out",
        ),
        "P missing": (
            slipped(lambda P, dP, c, g: dP - (g * c).sum(-1, keepdim=True)),
            "and P is missing",
        ),
        "no root in dq alone": (changed(lambda dq, dk, dv, r: (dq * r, dk, dv)), "missing in dq: "),
        "no root in dk alone": (changed(lambda dq, dk, dv, r: (dq, dk * r, dv)), "missing in dk: "),
        "dv first": (changed(lambda dq, dk, dv, r: (dv, dq, dk)), "come in another order"),
        "dv from dS": (dv_from_slopes, "dv comes from dS"),
        "scores not divided": (
            with_scale(lambda d: 1.0, lambda d: d**-0.5),
            "the root of d is missing in the scores: ",
        ),
        "no root anywhere": (
            with_scale(lambda d: 1.0, lambda d: 1.0),
            "in the scores, in dq and in dk",
        ),
        "d for its root": (with_scale(lambda d: 1 / d, lambda d: 1 / d), "d stands everywhere"),
        "exponentials of large scores": (
            raw_weights,
            "the exponential of a large score is infinite",
        ),
        "float32": (in_float32(by_context), "those of float32"),
    },
    "12.4": {
        "softmax within the block": (
            key_blocks(lse_of=lambda scores, q, k: scores.logsumexp(-1)),
            "the softmax is taken within the block",
        ),
        "maximum for log-sum-exp": (
            key_blocks(lse_of=lambda scores, q, k: (q @ k.mT / root(q)).amax(-1)),
            "the maximum is subtracted",
        ),
        "row of one block": (key_blocks(row=False), "it belongs to the whole row"),
        "no row": (key_blocks(row=None), "nothing is subtracted from dP"),
        "dq overwritten": (key_blocks(last=True), "dq keeps the last block alone"),
        "ragged block dropped": (key_blocks(drop=True), "right only when block divides S"),
        "root missing in the scores": (key_blocks(root_in=False), "`lse` was taken of the scaled"),
        "root missing in the gradients": (key_blocks(root_out=False), "missing in dq and dk"),
        "exponentials divided": (key_blocks(raw=True), "subtract before you exponentiate"),
        "all at once": (all_at_once, "its largest tensor holds"),
        "all blocks kept": (blocks_kept, "let go of a block"),
        "autograd": (stream_by_autograd, "write the three products yourself"),
        "garbage where memory is measured": (garbage_when_long, "dq is off by"),
        "maximum of the block": (
            key_blocks(lse_of=maximum_of_the_block),
            "the maximum of the block",
        ),
        "no log-sum-exp": (
            key_blocks(lse_of=lambda scores, q, k: torch.zeros(len(q))),
            "the log-sum-exp is not used",
        ),
        "no root in dq alone": (
            stream_changed(lambda dq, dk, dv, r: (dq * r, dk, dv)),
            "missing in dq: ",
        ),
        "no root in dk alone": (
            stream_changed(lambda dq, dk, dv, r: (dq, dk * r, dv)),
            "missing in dk: ",
        ),
        "exchanged": (stream_changed(lambda dq, dk, dv, r: (dk, dq, dv)), "dq and dk have changed"),
        "sign": (stream_changed(lambda dq, dk, dv, r: (-dq, -dk, -dv)), "the sign is turned round"),
        "in NumPy": (gradients_in_numpy, "not computed with torch"),
        "float32": (in_float32(key_blocks()), "those of float32"),
    },
}


def top(q, k, *_):
    """The largest score of each query."""
    return (np.asarray(q) @ np.asarray(k).mT / q.shape[-1] ** 0.5).max(-1)


# What the judges must draw: {question: {answer: {name: whether a call belongs to it}}}
REGIMES = {
    "12.1": {
        "summary": {
            "no keys": lambda name, block: len(block[0]) == 0,
            "all keys hidden": lambda name, block: len(block[0]) and np.isneginf(block[0]).all(),
            "one key hidden": lambda name, block: np.isneginf(block[0]).sum() == 1,
            "scores near 100,000": lambda name, block: max(block[0], default=0) > 9e4,
            "scores near -100,000": lambda name, block: max(block[0], default=0) < -9e4,
            "hundreds of keys": lambda name, block: len(block[0]) >= 300,
        },
        "merge": {"two states": lambda name, names: len(names) == 2},
        "finish": {"a state": lambda name: True},
    },
    "12.2": {
        "stream": {
            "a ragged block": lambda given, block: given[1].shape[-2] % block,
            "a block larger than S": lambda given, block: given[1].shape[-2] < block,
            "one query and one key": lambda given, block: given[0].shape[-2] == 1,
            "a batch": lambda given, block: given[0].ndim > 2,
            "large scores": lambda given, block: top(*given).max() > 710,
            "all scores far below": lambda given, block: top(*given).max() < -1e4,
            "a long text": lambda given, block: len(given[1]) > 500,
        },
    },
    "12.3": {
        "attention_backward": {
            "square": lambda given: len({x.shape for x in given}) == 1,
            "more keys than queries": lambda given: given[1].shape[-2] > given[0].shape[-2],
            "more queries than keys": lambda given: given[1].shape[-2] < given[0].shape[-2],
            "one query and one key": lambda given: given[1].shape[-2] == 1,
            "a batch": lambda given: given[0].ndim > 2,
            "large scores": lambda given: top(*given).max() > 100,
        },
    },
    "12.4": {
        "stream_backward": {
            "a ragged block": lambda given, block: len(given[1]) % block,
            "a block larger than S": lambda given, block: len(given[1]) < block,
            "blocks of one key": lambda given, block: block == 1,
            "scores that overflow": lambda given, block: given[4].max() > 710,
            "a long text": lambda given, block: len(given[1]) > 500,
        },
    },
}
