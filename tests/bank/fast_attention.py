"""Right and wrong answers to 12.1-12.7, each wrong one with a fragment of the message it must get."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import sympy as sp
import torch
import torch.nn.functional as F

from attn_course import derive

INF = math.inf


def root(q):
    return q.shape[-1] ** 0.5


# 12.1, the chain

m1, m2, l1, l2 = sp.symbols("m_1 m_2 l_1 l_2", real=True)
s1, s2 = sp.symbols("s_1 s_2", positive=True)
START = sp.exp(m1) * s1 / (sp.exp(m1) * s1 + sp.exp(m2) * s2)
WHERE = {m1: (l1 - sp.log(s1),) * 2, m2: (l2 - sp.log(s2),) * 2}


def share(*lines):
    steps = [(line, "so") for line in lines]
    return derive((START, "definition"), *steps, where=WHERE)


PUT_IN = sp.exp(l1) / (sp.exp(l1) + sp.exp(l2))
DIVIDED = 1 / (1 + sp.exp(m2 - m1) * s2 / s1)
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


def raw_stream(q, k, v, block):
    sums, output = 0, 0
    for keys, values in blocks_of(k, v, block):
        exps = (q @ keys.mT / root(q)).exp()
        sums, output = sums + exps.sum(-1, keepdim=True), output + exps @ values
    return output / sums


# 12.3


def past(n, total):
    return torch.ones(n, total, dtype=torch.bool).tril(total - n)


def masked(q, k, v, see):
    scores = (q @ k.mT / root(q)).masked_fill(~see, -INF)
    return scores.softmax(-1) @ v


class Cache:
    """The cache in steps, any of which a mistake may replace."""

    def __init__(self, rotate):
        self.rotate = rotate
        self.k = self.v = None
        self.seen = 0

    def places(self, n):
        return torch.arange(self.seen, self.seen + n)

    def turned(self, q, k):
        places = self.places(q.shape[1])
        return self.rotate(q, places), self.rotate(k, places)

    def keep(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], 1)
        self.v = v if self.v is None else torch.cat([self.v, v], 1)
        self.seen += k.shape[1]
        return self.k, self.v

    def see(self, n, total):
        return past(n, total)

    def step(self, q, k, v):
        q, k = self.turned(q, k)
        keys, values = self.keep(k, v)
        return masked(q, keys, values, self.see(q.shape[1], keys.shape[1]))


def but(**steps):
    """The cache with some steps replaced."""
    return type("Cache", (Cache,), steps)


class Slots:
    """Memory for 16 tokens, filled from the left."""

    cut = True

    def __init__(self, rotate):
        self.rotate, self.t, self.store = rotate, 0, None

    def step(self, q, k, v):
        B, n, d = k.shape
        if self.store is None:
            self.store = k.new_zeros(B, 16, d), v.new_zeros(B, 16, v.shape[-1])
        places = torch.arange(self.t, self.t + n)
        self.store[0][:, places], self.store[1][:, places] = self.rotate(k, places), v
        self.t += n
        total = self.t if self.cut else 16
        keys, values = (x[:, :total] for x in self.store)
        see = torch.arange(total) <= places[:, None]
        if not self.cut:
            see |= torch.arange(total) >= self.t
        return masked(self.rotate(q, places), keys, values, see)


class EmptySlots(Slots):
    cut = False


class RawKeys(Cache):
    """Keys are kept as they come and all are rotated at every step."""

    def step(self, q, k, v):
        n = q.shape[1]
        q = self.rotate(q, self.places(n))
        keys, values = self.keep(k, v)
        keys = self.rotate(keys, torch.arange(keys.shape[1]))
        return masked(q, keys, values, past(n, keys.shape[1]))


class Recomputing:
    """All tokens are kept, their queries too, and every step is a full pass."""

    def __init__(self, rotate):
        self.rotate, self.kept = rotate, None

    def step(self, q, k, v):
        new = (q, k, v)
        if self.kept is None:
            self.kept = new
        else:
            self.kept = [torch.cat(both, 1) for both in zip(self.kept, new, strict=True)]
        queries, keys, values = self.kept
        places = torch.arange(keys.shape[1])
        found = self.attend(self.rotate(queries, places), self.rotate(keys, places), values)
        return found[:, -q.shape[1] :]

    def attend(self, q, k, v):
        return masked(q, k, v, past(q.shape[1], k.shape[1]))


class RecomputingFused(Recomputing):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class RecomputingRows(Recomputing):
    """The full pass, row by row."""

    def attend(self, q, k, v):
        rows = []
        for t in range(q.shape[1]):
            one = q[:, t : t + 1]
            rows.append(masked(one, k[:, : t + 1], v[:, : t + 1], past(1, t + 1)))
        return torch.cat(rows, 1)


class Lists:
    """A list of tokens, and each query on its own."""

    def __init__(self, rotate):
        self.rotate, self.kept = rotate, []

    def step(self, q, k, v):
        rows = []
        for t in range(q.shape[1]):
            at = [len(self.kept)]
            self.kept.append((self.rotate(k[:, t : t + 1], at), v[:, t : t + 1]))
            keys, values = (torch.cat(parts, 1) for parts in zip(*self.kept, strict=True))
            rows.append(
                F.scaled_dot_product_attention(self.rotate(q[:, t : t + 1], at), keys, values)
            )
        return torch.cat(rows, 1)


def from_five(self, n):
    return 5 + torch.arange(self.seen, self.seen + n)


def restarted(self, n):
    return torch.arange(n)


def query_ahead(self, q, k):
    places = self.places(q.shape[1])
    return self.rotate(q, places + 1), self.rotate(k, places)


class EarlyCounter(Cache):
    """The counter moves on between key and query."""

    def step(self, q, k, v):
        n = q.shape[1]
        keys, values = self.keep(self.rotate(k, self.places(n)), v)
        q = self.rotate(q, self.places(n))
        return masked(q, keys, values, past(n, keys.shape[1]))


class TurnedAgain(Cache):
    def step(self, q, k, v):
        n = q.shape[1]
        q = self.rotate(q, self.places(n))
        keys, values = self.keep(k, v)
        self.k = self.rotate(keys, torch.arange(keys.shape[1]))
        return masked(q, self.k, values, past(n, self.k.shape[1]))


def query_alone(self, q, k):
    return self.rotate(q, self.places(q.shape[1])), k


def key_alone(self, q, k):
    return q, self.rotate(k, self.places(q.shape[1]))


def top_left(self, n, total):
    return torch.ones(n, total, dtype=torch.bool).tril()


def square_cut(self, n, total):
    return torch.ones(total, total).tril()[-n:] > 0


def open_mask(self, n, total):
    return torch.ones(n, total, dtype=torch.bool)


def not_itself(self, n, total):
    return torch.ones(n, total, dtype=torch.bool).tril(total - n - 1)


def newest_alone(self, k, v):
    self.seen += k.shape[1]
    return k, v


def newest_values(self, k, v):
    self.k = k if self.k is None else torch.cat([self.k, k], 1)
    self.seen += k.shape[1]
    return self.k, v


def last_value_for_all(self, k, v):
    keys, _ = Cache.keep(self, k, v)
    return keys, v[:, -1:].expand(-1, keys.shape[1], -1)


class Shared(Cache):
    """One store in the class for all instances, which is never emptied."""

    store = ()

    def __init__(self, rotate):
        self.rotate = rotate

    @property
    def seen(self):
        return sum(k.shape[1] for k, _ in self.store)

    def keep(self, k, v):
        type(self).store += ((k, v),)
        return (torch.cat(parts, 1) for parts in zip(*self.store, strict=True))


class SharedByPair(Shared):
    """The same, emptied for every cache that is made."""

    def __init__(self, rotate):
        self.rotate = rotate
        type(self).store = ()


def rooted(self, q, k):
    return Cache.turned(self, q * root(q), k)


class TurnedValues(Cache):
    def step(self, q, k, v):
        return super().step(q, k, self.rotate(v, self.places(v.shape[1])))


class AttendFirst(Cache):
    """The first piece as it should be; later queries see what was there before them."""

    def step(self, q, k, v):
        if self.k is None:
            return super().step(q, k, v)
        q, k = self.turned(q, k)
        found = F.scaled_dot_product_attention(q, self.k, self.v)
        self.keep(k, v)
        return found


# 12.4


def flops(T, D, cached):
    if cached:
        return 8 * T * D**2 + 2 * T * (T + 1) * D
    return 4 * T * (T + 1) * D**2 + 2 * T * (T + 1) * (2 * T + 1) * D // 3


def looped_flops(T, D, cached):
    total = 0
    for t in range(1, T + 1):
        new = 1 if cached else t
        total += 2 * 4 * new * D * D + 2 * 2 * new * t * D
    return total


def from_zero(T, D, cached):
    return sum(8 * D**2 + 4 * t * D if cached else 8 * t * D**2 + 4 * t**2 * D for t in range(T))


def multiply_adds(T, D, cached):
    return flops(T, D, cached) // 2


def leading(T, D, cached):
    return 8 * T * D**2 + 2 * T**2 * D if cached else 4 * T**2 * D**2 + 4 * T**3 * D / 3


def full_steps(T, D, cached):
    new = 1 if cached else T
    return T * (8 * new * D**2 + 4 * new * T * D)


def projected_again(T, D, cached):
    return sum(8 * t * D**2 + 4 * t * D for t in range(1, T + 1)) if cached else flops(T, D, cached)


def swapped(T, D, cached):
    return flops(T, D, not cached)


def scores_alone(T, D, cached):
    ts = range(1, T + 1)
    return sum((8 * D**2 + 2 * t * D) * (1 if cached else t) for t in ts)


def newest_query(T, D, cached):
    ts = range(1, T + 1)
    return flops(T, D, True) if cached else sum(8 * t * D**2 + 4 * t * D for t in ts)


def triangle(T, D, cached):
    ts = range(1, T + 1)
    return flops(T, D, True) if cached else sum(8 * t * D**2 + 2 * t * (t + 1) * D for t in ts)


def num_bytes(batch, layers, groups, d, T, size):
    return 2 * batch * layers * groups * d * T * size


def bytes_but(change):
    """The right number of bytes, changed by change(right, **sizes)."""

    def cache_bytes(batch, layers, groups, d, T, size):
        sizes = {"batch": batch, "layers": layers, "groups": groups, "T": T, "size": size}
        return change(num_bytes(batch, layers, groups, d, T, size), sizes)

    return flops, cache_bytes


# 12.5


def repeated(q, k, v, **options):
    r = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(r, 1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, **options)


def with_view(q, k, v):
    T = q.shape[2]
    parted = q.unflatten(1, (k.shape[1], -1))
    return masked(parted, k[:, :, None], v[:, :, None], past(T, T)).flatten(1, 2)


def with_loop(q, k, v):
    H, G, T = q.shape[1], k.shape[1], q.shape[2]
    heads = [masked(q[:, h], k[:, h * G // H], v[:, h * G // H], past(T, T)) for h in range(H)]
    return torch.stack(heads, 1)


def enable_gqa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def with_heads(keys, values):
    """keys, values: which group each head uses, as functions of (h, G, H)."""

    def grouped(q, k, v):
        H, G, T = q.shape[1], k.shape[1], q.shape[2]
        k = torch.stack([k[:, keys(h, G, H)] for h in range(H)], 1)
        v = torch.stack([v[:, values(h, G, H)] for h in range(H)], 1)
        return masked(q, k, v, past(T, T))

    return grouped


def own(h, G, H):
    return h * G // H


def in_turn(h, G, H):
    return h % G


def groups_averaged(q, k, v):
    return masked(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True), past(q.shape[2], q.shape[2]))


def queries_averaged(q, k, v):
    few = q.unflatten(1, (k.shape[1], -1)).mean(2)
    return F.scaled_dot_product_attention(few, k, v, is_causal=True)


def queries_averaged_repeated(q, k, v):
    return queries_averaged(q, k, v).repeat_interleave(q.shape[1] // k.shape[1], 1)


def open_groups(q, k, v):
    r = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(r, 1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v)


def group_scale(q, k, v):
    return repeated(q, k, v, scale=(q.shape[-1] * q.shape[1] / k.shape[1]) ** -0.5)


def broadcast_only(q, k, v):
    return masked(q, k, v, past(q.shape[2], q.shape[2]))


def one_head_a_group(q, k, v):
    r = q.shape[1] // k.shape[1]
    return F.scaled_dot_product_attention(q[:, ::r], k, v, is_causal=True)


# 12.6


def parallel(q, k, v, phi):
    weights = (phi(q) @ phi(k).T).tril()
    return weights / weights.sum(-1, keepdim=True) @ v


def recurrent(q, k, v, phi):
    S, z, rows = 0, 0, []
    for query, key, value in zip(phi(q), phi(k), v, strict=True):
        S, z = S + torch.outer(key, value), z + key
        rows.append(query @ S / (query @ z))
    return torch.stack(rows)


def cumulated(q, k, v, phi):
    states = torch.einsum("td,te->tde", phi(k), v).cumsum(0)
    sums = phi(k).cumsum(0)
    return torch.einsum("td,tde->te", phi(q), states) / (phi(q) * sums).sum(-1, keepdim=True)


def chunked(q, k, v, phi, size=3):
    S, z, rows = 0, 0, []
    for queries, keys, values in zip(
        phi(q).split(size), phi(k).split(size), v.split(size), strict=True
    ):
        inside = (queries @ keys.T).tril()
        if torch.is_tensor(S):
            above, below = inside @ values + queries @ S, inside.sum(-1) + queries @ z
        else:
            above, below = inside @ values, inside.sum(-1)
        rows.append(above / below[:, None])
        S, z = S + keys.T @ values, z + keys.sum(0)
    return torch.cat(rows)


def no_normaliser(q, k, v, phi):
    return (phi(q) @ phi(k).T).tril() @ v


def normaliser_of_all(q, k, v, phi):
    return no_normaliser(q, k, v, phi) / (phi(q) @ phi(k).sum(0))[:, None]


def map_of_scores(q, k, v, phi):
    weights = phi(q @ k.T).tril()
    return weights / weights.sum(-1, keepdim=True) @ v


def linear_open(q, k, v, phi):
    return phi(q) @ (phi(k).T @ v) / (phi(q) @ phi(k).sum(0))[:, None]


def multiplied(q, k, v, phi):
    return no_normaliser(q, k, v, phi) * (phi(q) * phi(k).cumsum(0)).sum(-1, keepdim=True)


def plain_softmax(q, k, v, phi):
    return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]


def softmax_of_products(q, k, v, phi):
    past = torch.ones(len(q), len(q)).tril().bool()
    return (phi(q) @ phi(k).T).masked_fill(~past, -INF).softmax(-1) @ v


def softmax_without_root(q, k, v, phi):
    return plain_softmax(q * root(q), k, v, phi)


def reads_first(q, k, v, phi):
    weights = (phi(q) @ phi(k).T).tril(-1)
    return weights / weights.sum(-1, keepdim=True) @ v


def keys_alone(q, k, v, phi):
    return parallel(q, phi(k), v, lambda x: x)


def over_features(q, k, v, phi):
    states = torch.einsum("td,te->tde", phi(k), v).cumsum(1)
    sums = phi(k).cumsum(1)
    return torch.einsum("td,tde->te", phi(q), states) / (phi(q) * sums).sum(-1, keepdim=True)


def state_divided(q, k, v, phi):
    states = torch.einsum("td,te->tde", phi(k), v).cumsum(0)
    return torch.einsum("td,tde->te", phi(q), states / phi(k).cumsum(0)[..., None])


# 12.7


def last_vector(features):
    return torch.linalg.svd(features.T)[2][-1]


def null_projection(features):
    return torch.eye(len(features), dtype=features.dtype) - features @ torch.linalg.pinv(features)


def with_numpy(features):
    return np.linalg.svd(features.T)[2][-1]


def free_rows(features):
    """The first d rows answer for free ones below."""
    d = features.shape[1]
    free = features.new_ones(len(features) - d, 2)
    bound = torch.linalg.solve(features[:d].T, -features[d:].T @ free)
    return torch.cat([bound, free])


def from_qr(features):
    return torch.linalg.qr(features, mode="complete")[0][:, features.shape[1] :]


def unit_vector(features):
    return torch.eye(len(features))[:, 0]


def first_vector(features):
    return torch.linalg.svd(features)[0][:, 0]


def visible_part(features):
    return features @ torch.linalg.pinv(features)


def d_rows(features):
    return torch.ones(features.shape[1], 2)


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
        "concatenation": Cache,
        "slots": Slots,
        "raw keys": RawKeys,
        "a list, query by query": Lists,
        "positions from five": but(places=from_five),
        "a square mask, cut": but(see=square_cut),
    },
    "12.4": {
        "closed forms": (flops, num_bytes),
        "loops": (looped_flops, num_bytes),
        "multiply-adds": (multiply_adds, num_bytes),
    },
    "12.5": {
        "repeat_interleave": repeated,
        "an axis more": with_view,
        "head by head": with_loop,
        "torch's own": enable_gqa,
    },
    "12.6": {
        "parallel": parallel,
        "recurrent": recurrent,
        "cumulated": cumulated,
        "chunked": chunked,
    },
    "12.7": {
        "last singular vector": last_vector,
        "the same by NumPy": with_numpy,
        "what a projection leaves": null_projection,
        "free rows": free_rows,
        "complete QR": from_qr,
    },
}

WRONG = {
    "12.1": {
        "sigmoid of the maxima": (share(PUT_IN, 1 / (1 + sp.exp(m2 - m1))), "step 2 of `share`"),
        "ratio of the sums": (share(s1 / (s1 + s2)), "step 1 of `share`"),
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
        "sign lost": (merged(sign_lost), "at most 1"),
        "no maximum": ((raw_summary, raw_merge, raw_finish), "above 710 is infinite"),
        "maximum starts at 0": (starting_at(0.0), "start at minus infinity"),
        "maximum starts at -10000": (starting_at(-1e4), "near -100,000"),
        "an empty block at 0": (empty_at(0.0), "no keys beside scores near -100,000"),
        "an empty block at -10000": (empty_at(-1e4), "a maximum that starts at a finite number"),
        "nothing minus nothing": ((nan_summary, nan_merge, finish), "must change nothing"),
        "maximum of no keys": ((no_empty_summary, merge, finish), "no keys"),
        "keeps all keys": ((keep_all, join_all, finish_all), "must not grow with the keys"),
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
        "root missing": (no_root, "root of d is missing"),
        "raw exponentials": (raw_stream, "take a maximum away first"),
        "maximum starts at 0": (running(start=0.0), "the running maximum starts at"),
        "maximum starts at -10000": (running(start=-1e4), "for all scores of a row"),
        "the whole matrix": (whole_matrix, "holds 262,144 numbers"),
        "a list of all blocks": (list_of_blocks, "let go of a block before the next"),
    },
    "12.3": {
        "positions restart": (but(places=restarted), "starts again at position 0"),
        "query one ahead": (but(turned=query_ahead), "your query is one ahead"),
        "counter too early": (EarlyCounter, "your counter moves on between the two"),
        "keys turned again": (TurnedAgain, "rotated again at every step"),
        "query alone rotated": (but(turned=query_alone), "you rotate the query alone"),
        "key alone rotated": (but(turned=key_alone), "you rotate the key alone"),
        "rotation unused": (but(turned=lambda self, q, k: (q, k)), "the rotation is not used"),
        "top-left triangle": (but(see=top_left), "aligned top-left"),
        "no mask": (but(see=open_mask), "a piece of several tokens needs its mask"),
        "not itself": (but(see=not_itself), "a token does not see itself"),
        "newest alone": (but(keep=newest_alone), "earlier tokens are not there"),
        "empty slots": (EmptySlots, "cut the cache at its length"),
        "values not kept": (but(keep=newest_values), "are keys and values both kept?"),
        "last value for all": (but(keep=last_value_for_all), "it is off"),
        "one store": (Shared, "two caches share their tokens"),
        "one store, emptied": (SharedByPair, "belongs to an instance, not to the class"),
        "values rotated": (TurnedValues, "values are rotated too"),
        "root missing": (but(turned=rooted), "the root of d is missing"),
        "attends first": (AttendFirst, "tokens after the first piece do not see themselves"),
        "full pass": (Recomputing, "again: token 4 makes 96 new"),
        "full pass, torch's own": (RecomputingFused, "again: token 4 makes 48 new"),
        "full pass, row by row": (RecomputingRows, "again: token 4 makes 80 new"),
        "nothing comes back": (but(step=lambda self, q, k, v: None), "is a `return` missing?"),
    },
    "12.4": {
        "leading order": ((leading, num_bytes), "leading order"),
        "from 0": ((from_zero, num_bytes), "counted from 0 to T - 1"),
        "T steps of full cost": ((full_steps, num_bytes), "charged for all T tokens"),
        "projected again": ((projected_again, num_bytes), "which a cache saves"),
        "changed places": ((swapped, num_bytes), "have changed places"),
        "scores alone": ((scores_alone, num_bytes), "two products"),
        "newest query alone": ((newest_query, num_bytes), "only the newest query attends"),
        "triangle": ((triangle, num_bytes), "hidden scores are left out"),
        "keys alone": (bytes_but(lambda n, of: n // 2), "keys *and* values"),
        "numbers": (bytes_but(lambda n, of: n // of["size"]), "numbers, not bytes"),
        "one head": (bytes_but(lambda n, of: n // of["groups"]), "one group of heads"),
        "square of T": (bytes_but(lambda n, of: n * of["T"]), "not with its square"),
        "one layer": (bytes_but(lambda n, of: n // of["layers"]), "that is one layer"),
        "one sequence": (bytes_but(lambda n, of: n // of["batch"]), "that is one sequence"),
    },
    "12.5": {
        "tiled": (with_heads(in_turn, in_turn), "head 1 got group 1"),
        "keys tiled": (with_heads(in_turn, own), "only the keys are dealt out in turn"),
        "values tiled": (with_heads(own, in_turn), "only the values are dealt out in turn"),
        "groups averaged": (groups_averaged, "the groups are averaged"),
        "queries averaged": (queries_averaged, "averaged; queries stay H"),
        "queries averaged, repeated": (
            queries_averaged_repeated,
            "result repeated; queries stay H",
        ),
        "no mask": (open_groups, "there is no mask"),
        "scale by group": (group_scale, "the scale is that of a whole group"),
        "no scale": (functools.partial(repeated, scale=1.0), "the scores are not scaled"),
        "broadcasting": (broadcast_only, "your code stopped with RuntimeError"),
        "one head a group": (one_head_a_group, "H heads come out"),
    },
    "12.6": {
        "no normaliser": (no_normaliser, "there is no normaliser"),
        "normaliser over all": (normaliser_of_all, "sees the future"),
        "no mask": (linear_open, "there is no mask"),
        "multiplied": (multiplied, "not divided"),
        "softmax": (plain_softmax, "this is softmax attention;"),
        "softmax of the products": (softmax_of_products, "dividing by their sum is enough"),
        "softmax, no root": (softmax_without_root, "softmax attention without the root"),
        "reads first": (reads_first, "reads before it writes"),
        "keys alone": (keys_alone, "of the keys alone"),
        "map of the scores": (map_of_scores, "taken of the scores"),
        "sum over features": (over_features, "over tokens, not features"),
        "state divided": (state_divided, "before the query reads it"),
    },
    "12.7": {
        "zeros": (lambda features: torch.zeros(len(features), 1), "the zero you should imitate"),
        "ones": (lambda features: torch.ones(len(features), 1), "equal values"),
        "the features": (lambda features: features, "the features themselves"),
        "first singular vector": (first_vector, "a singular value that is not zero"),
        "a unit vector": (unit_vector, "a single value is always seen"),
        "the visible part": (visible_part, "that is what *is* seen"),
        "d rows": (d_rows, "one row for each of the"),
    },
}
