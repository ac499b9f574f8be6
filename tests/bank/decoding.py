"""Right and wrong answers to 14.1-14.7, each wrong one with a fragment of the message it must get."""

import functools
import math
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F

import attn_utils
from bank.fast_attention import root

INF = math.inf

# 14.1


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


def keep_last_five(self, k, v):
    keys, values = Cache.keep(self, k, v)
    self.k, self.v = keys[:, -5:], values[:, -5:]
    return keys, values


class EightSlots(Lists):
    """Eight slots that are written round and round."""

    def step(self, q, k, v):
        rows = []
        for t in range(q.shape[1]):
            one = slice(t, t + 1)
            self.seen = getattr(self, "seen", -1) + 1
            self.kept = [*self.kept, (self.rotate(k[:, one], [self.seen]), v[:, one])][-8:]
            keys, values = (torch.cat(parts, 1) for parts in zip(*self.kept, strict=True))
            rows.append(
                F.scaled_dot_product_attention(self.rotate(q[:, one], [self.seen]), keys, values)
            )
        return torch.cat(rows, 1)


class GarbageWhenMeasured(Recomputing):
    """Returns zeros after one large piece and one token, as the work is measured."""

    def step(self, q, k, v):
        sizes = [*getattr(self, "sizes", []), q.shape[1]]
        self.sizes = sizes
        if sizes in ([3, 1], [15, 1]):
            return 0 * v
        return super().step(q, k, v)


# 14.2


def num_scores(T, cached):
    return T * (T + 1) // 2 if cached else T * (T + 1) * (2 * T + 1) // 6


def looped_scores(T, cached):
    total = 0
    for t in range(1, T + 1):
        total += t if cached else t**2
    return total


def scores_by_numpy(T, cached):
    return (np.arange(1, T + 1) ** (1 if cached else 2)).sum()


def scores_by_recursion(T, cached):
    total = np.cumsum([t if cached else t * t for t in range(1, T + 1)])
    return float(total[-1])


def num_bytes(batch, layers, groups, d, T, size):
    return 2 * batch * layers * groups * d * T * size


def bytes_of_tensors(batch, layers, groups, d, T, size):
    one = math.prod((batch, groups, T, d))
    return layers * (one + one) * size


def bytes_but(change):
    """The right number of bytes, changed by change(right, **sizes)."""

    def cache_bytes(batch, layers, groups, d, T, size):
        sizes = {"batch": batch, "layers": layers, "groups": groups, "T": T, "size": size}
        return change(num_bytes(batch, layers, groups, d, T, size), sizes)

    return num_scores, cache_bytes


def scores_but(change):
    """change(T, cached) -> a wrong count, beside the right bytes."""
    return change, num_bytes


# 14.3


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


def grouped_scores(q, k, v):
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    return q @ k.mT / root(q), v


def grouped_over_queries(q, k, v):
    scores, v = grouped_scores(q, k, v)
    T = q.shape[2]
    return scores.masked_fill(~past(T, T), -INF).softmax(-2) @ v


def grouped_one_ahead(q, k, v):
    scores, v = grouped_scores(q, k, v)
    return scores.masked_fill(torch.ones_like(scores).tril(1) == 0, -INF).softmax(-1) @ v


def grouped_hidden_by_zero(q, k, v):
    scores, v = grouped_scores(q, k, v)
    return scores.tril().softmax(-1) @ v


def broadcast_only(q, k, v):
    return masked(q, k, v, past(q.shape[2], q.shape[2]))


def one_head_a_group(q, k, v):
    r = q.shape[1] // k.shape[1]
    return F.scaled_dot_product_attention(q[:, ::r], k, v, is_causal=True)


# 14.6


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


# 14.7


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


def adding_up_to_zero(features):
    values = torch.zeros(len(features), 1)
    values[0], values[1] = 1, -1
    return values


def d_rows(features):
    return torch.ones(features.shape[1], 2)


# 14.4


def mask_by_distance(T, window, sinks):
    t = np.arange(T)
    back = t[:, None] - t
    return (back >= 0) & ((back < window) | (t < sinks))


def mask_by_triangles(T, window, sinks):
    past = np.tri(T, dtype=bool)
    far = np.tri(T, k=-window, dtype=bool)
    far[:, :sinks] = False
    return past & ~far


def mask_by_loops(T, window, sinks):
    rows = []
    for t in range(T):
        rows.append([j <= t and (j > t - window or j < sinks) for j in range(T)])
    return rows


def mask_by_torch(T, window, sinks):
    mask = torch.ones(T, T).tril() - torch.ones(T, T).tril(-window)
    mask[:, :sinks] = torch.ones(T, T).tril()[:, :sinks]
    return mask.bool()


class RingOfLists:
    """The first tokens in one list, the newest in another."""

    scale = True

    def __init__(self, window, sinks):
        self.window, self.sinks = window, sinks
        self.first, self.last = [], []

    def keep(self, k, v):
        if len(self.first) < self.sinks:
            self.first.append((k, v))
        else:
            self.last.append((k, v))
            if len(self.last) > self.window:
                self.last.pop(0)

    def shown(self):
        return self.first + self.last

    def attend(self, q, shown):
        keys, values = (torch.stack(parts, 1) for parts in zip(*shown, strict=True))
        scores = (keys @ q[..., None])[..., 0] / (root(q) if self.scale else 1)
        return (scores.softmax(-1)[:, None] @ values)[:, 0]

    def step(self, q, k, v):
        self.keep(k, v)
        return self.attend(q, self.shown())


class RingOfSlots(RingOfLists):
    """Slots that are written round and round behind those of the sinks."""

    def __init__(self, window, sinks):
        super().__init__(window, sinks)
        self.slots, self.seen = [None] * (window + sinks), 0

    def slot(self):
        if self.seen < self.sinks:
            return self.seen
        return self.sinks + (self.seen - self.sinks) % self.window

    def keep(self, k, v):
        self.slots[self.slot()] = (k, v)
        self.seen += 1

    def shown(self):
        return [pair for pair in self.slots if pair is not None]


class RingOfTensors:
    """Concatenated, and cut at both ends."""

    def __init__(self, window, sinks):
        self.window, self.sinks, self.kept = window, sinks, None

    def step(self, q, k, v):
        new = (k[:, None], v[:, None])
        if self.kept is None:
            self.kept = new
        else:
            self.kept = [torch.cat(both, 1) for both in zip(self.kept, new, strict=True)]
        if self.kept[0].shape[1] > self.window + self.sinks:
            cut = slice(-self.window, None)
            self.kept = [torch.cat([x[:, : self.sinks], x[:, cut]], 1) for x in self.kept]
        return F.scaled_dot_product_attention(q[:, None], *self.kept)[:, 0]


class RingOfDeque(RingOfLists):
    def __init__(self, window, sinks):
        super().__init__(window, sinks)
        self.last = deque(maxlen=window)

    def keep(self, k, v):
        (self.first if len(self.first) < self.sinks else self.last).append((k, v))

    def shown(self):
        return [*self.first, *self.last]


def ring_but(kind=RingOfLists, **steps):
    """The right mask, and a ring with some steps replaced."""
    return mask_by_distance, type("Ring", (kind,), steps)


def mask_but(change):
    """change(T, window, sinks) -> a wrong mask, beside a right ring."""
    return change, RingOfLists


def blocks_of_window(T, window, sinks):
    t = np.arange(T)
    same_block = t[:, None] // window == t // window
    return np.tri(T, dtype=bool) & (same_block | (t < sinks))


def both_sides(T, window, sinks):
    t = np.arange(T)
    back = t[:, None] - t
    return (np.abs(back) < window) | ((t < sinks) & (back >= 0))


def sinks_from_ahead(T, window, sinks):
    mask = mask_by_distance(T, window, 0)
    mask[:, :sinks] = True
    return mask


def evict_oldest(self, k, v):
    self.last.append((k, v))
    self.last = self.last[-(self.window + self.sinks) :]


def keep_window_alone(self, k, v):
    self.last.append((k, v))
    self.last = self.last[-self.window :]


def keep_all_tokens(self, k, v):
    self.last.append((k, v))


def show_some(self):
    """Holds everything, shows what it should."""
    later = self.last[self.sinks :]
    return self.last[: self.sinks] + later[-self.window :]


def keep_one_more(self, k, v):
    RingOfLists.keep(self, k, v)
    self.extra = getattr(self, "extra", [])
    self.extra.append((k, v))
    behind = self.extra[self.sinks :]
    self.last = behind[-(self.window + 1) :]


def keep_until_full(self, k, v):
    if len(self.last) < self.window + self.sinks:
        self.last.append((k, v))
        self.newest = []
    else:
        self.newest = [(k, v)]


def show_until_full(self):
    return self.last + self.newest


def sinks_twice(self, k, v):
    if len(self.first) < self.sinks:
        self.first.append((k, v))
    self.last.append((k, v))
    self.last = self.last[-self.window :]


def attend_first(self, q, k, v):
    shown = self.shown() or [(k, v)]
    if len(self.last) == self.window and self.window > 0:
        shown = self.first + self.last[1:] or [(k, v)]
    found = self.attend(q, shown)
    self.keep(k, v)
    return found


def empty_shown(self):
    pairs = [pair for pair in self.slots if pair is not None]
    k, v = pairs[0]
    zero = (torch.zeros_like(k), torch.zeros_like(v))
    return pairs + [zero] * (len(self.slots) - len(pairs))


class SharedRing(RingOfLists):
    store = ([], [])

    def __init__(self, window, sinks):
        self.window, self.sinks = window, sinks
        self.first, self.last = self.store


# 14.5


def absorbing(q, latents, W_k, W_v):
    asked = torch.einsum("hd,hrd->hr", q, W_k)
    weights = (asked @ latents.T / root(q)).softmax(-1)
    return torch.einsum("hr,hrd->hd", weights @ latents, W_v)


def absorbing_by_head(q, latents, W_k, W_v):
    rows = []
    for query, keys, values in zip(q, W_k, W_v, strict=True):
        weights = (latents @ (keys @ query) / root(q)).softmax(0)
        rows.append(weights @ latents @ values)
    return torch.stack(rows)


def absorbing_by_matmul(q, latents, W_k, W_v):
    asked = (W_k @ q[:, :, None])[:, :, 0]
    weights = torch.softmax(asked @ latents.mT * q.shape[1] ** -0.5, 1)
    return ((weights @ latents)[:, None] @ W_v)[:, 0]


def absorbing_token_by_token(q, latents, W_k, W_v):
    asked = torch.einsum("hd,hrd->hr", q, W_k) / root(q)
    largest = torch.full((len(q),), -INF)
    total, mixed = 0, 0
    for latent in latents:
        score = asked @ latent
        larger = torch.maximum(largest, score)
        factor, mass = (largest - larger).exp(), (score - larger).exp()
        total = factor * total + mass
        mixed = factor[:, None] * mixed + mass[:, None] * latent
        largest = larger
    return torch.einsum("hr,hrd->hd", mixed / total[:, None], W_v)


def full_keys(q, latents, W_k, W_v, *, scale=None):
    keys, values = latents @ W_k, latents @ W_v
    return F.scaled_dot_product_attention(q[:, None], keys, values, scale=scale)[:, 0]


def latents_but(**changes):
    """The full computation with other inputs: names -> functions of (q, latents, W_k, W_v)."""

    def latent_attention(q, latents, W_k, W_v):
        given = {"q": q, "latents": latents, "W_k": W_k, "W_v": W_v}
        other = {name: change(**given) for name, change in changes.items()}
        return absorbing(**(given | other))

    return latent_attention, turned_rows


def latent_root(q, latents, W_k, W_v):
    return full_keys(q, latents, W_k, W_v, scale=latents.shape[1] ** -0.5)


def no_latent_root(q, latents, W_k, W_v):
    return full_keys(q, latents, W_k, W_v, scale=1.0)


def mixture_alone(q, latents, W_k, W_v):
    asked = torch.einsum("hd,hrd->hr", q, W_k)
    return (asked @ latents.T / root(q)).softmax(-1) @ latents


def over_heads(q, latents, W_k, W_v):
    asked = torch.einsum("hd,hrd->hr", q, W_k)
    return torch.einsum("hr,hrd->hd", (asked @ latents.T / root(q)).softmax(0) @ latents, W_v)


def no_softmax(q, latents, W_k, W_v):
    asked = torch.einsum("hd,hrd->hr", q, W_k)
    return torch.einsum("hr,hrd->hd", asked @ latents.T / root(q) @ latents, W_v)


def latent_garbage_when_long(q, latents, W_k, W_v):
    if len(latents) > 100:
        return torch.einsum("hd,hrd,hre->he", q, W_k, W_v)
    return full_keys(q, latents, W_k, W_v)


def turned_rows(W_k, distance, rotate):
    return rotate(W_k, -distance)


def turned_row_by_row(W_k, distance, rotate):
    return np.array([rotate(row, -distance) for row in W_k])


def turned_by_matrix(W_k, distance, rotate):
    d = W_k.shape[1]
    return W_k @ rotate(np.eye(d), -distance)


def turned_from_scores(W_k, distance, rotate):
    """Column by column, as the scores of unit queries with rotated keys."""
    d = W_k.shape[1]
    queries = rotate(np.eye(d), distance + 5)
    return rotate(W_k, 5) @ queries.T


def matrix_but(change):
    """A right first function, and change(W_k, distance, rotate)."""
    return absorbing, change


class RecomputingByKernel(Recomputing):
    def attend(self, q, k, v):
        return attn_utils.attend(q, k, v, causal=True)[0]


class InNumPy(Recomputing):
    def attend(self, q, k, v):
        context, _ = attn_utils.attend(q.numpy(), k.numpy(), v.numpy(), causal=True)
        return torch.tensor(context)


class AllContexts(Recomputing):
    def step(self, q, k, v):
        super().step(q, k, v)
        queries, keys, values = self.kept
        places = torch.arange(keys.shape[1])
        return self.attend(self.rotate(queries, places), self.rotate(keys, places), values)


class CountsSteps(Cache):
    num_steps = 0

    def places(self, n):
        self.num_steps += 1
        return torch.arange(n) + self.num_steps - 1


class LowFill(Cache):
    def step(self, q, k, v):
        q, k = self.turned(q, k)
        keys, values = self.keep(k, v)
        see = past(q.shape[1], keys.shape[1])
        return (q @ keys.mT / root(q)).masked_fill(~see, -20.0).softmax(-1) @ values


def divided_twice(self, q, k):
    q, k = Cache.turned(self, q, k)
    return q / root(q), k


def one_ahead(self, n, total):
    return torch.ones(n, total, dtype=torch.bool).tril(total - n + 1)


def inverted(self, n, total):
    return ~past(n, total)


def one_place(self, n):
    return torch.full((n,), self.seen)


def low_fill_in_groups(q, k, v):
    scores, v = grouped_scores(q, k, v)
    return scores.masked_fill(torch.ones_like(scores).tril() == 0, -20.0).softmax(-1) @ v


def head_by_head(q, latents, W_k, W_v):
    """The full keys and values of one head at a time."""
    heads = zip(q, W_k, W_v, strict=True)
    return torch.stack(
        [((latents @ K) @ one / len(one) ** 0.5).softmax(0) @ (latents @ V) for one, K, V in heads]
    )


def latent_in_numpy(q, latents, W_k, W_v):
    q, latents, W_k, W_v = (x.numpy() for x in (q, latents, W_k, W_v))
    context, _ = attn_utils.attend(q[:, None], latents @ W_k, latents @ W_v)
    return torch.tensor(context[:, 0])


def first_heads_values(q, latents, W_k, W_v):
    return W_v[:1].expand_as(W_v)


def with_own_map(own):
    """phi is not used."""
    return lambda q, k, v, phi: parallel(q, k, v, own)


RIGHT = {
    "14.1": {
        "concatenation": Cache,
        "slots": Slots,
        "raw keys": RawKeys,
        "a list, query by query": Lists,
        "positions from five": but(places=from_five),
        "a square mask, cut": but(see=square_cut),
    },
    "14.2": {
        "closed forms": (num_scores, num_bytes),
        "loops": (looped_scores, num_bytes),
        "NumPy": (scores_by_numpy, bytes_of_tensors),
        "running sums": (scores_by_recursion, num_bytes),
    },
    "14.3": {
        "repeat_interleave": repeated,
        "an axis more": with_view,
        "head by head": with_loop,
        "torch's own": enable_gqa,
    },
    "14.4": {
        "distance, two lists": (mask_by_distance, RingOfLists),
        "triangles, slots": (mask_by_triangles, RingOfSlots),
        "loops, tensors": (mask_by_loops, RingOfTensors),
        "torch, a deque": (mask_by_torch, RingOfDeque),
    },
    "14.5": {
        "einsum": (absorbing, turned_rows),
        "head by head": (absorbing_by_head, turned_row_by_row),
        "products": (absorbing_by_matmul, turned_by_matrix),
        "token by token": (absorbing_token_by_token, turned_from_scores),
    },
    "14.6": {
        "parallel": parallel,
        "recurrent": recurrent,
        "cumulated": cumulated,
        "chunked": chunked,
    },
    "14.7": {
        "last singular vector": last_vector,
        "the same by NumPy": with_numpy,
        "what a projection leaves": null_projection,
        "free rows": free_rows,
        "complete QR": from_qr,
    },
}

WRONG = {
    "14.1": {
        "positions restart": (but(places=restarted), "starts again at position 0"),
        "query one ahead": (but(turned=query_ahead), "your query is one ahead"),
        "counter too early": (EarlyCounter, "your counter moves on between the two"),
        "keys turned again": (TurnedAgain, "rotated again at every step"),
        "query alone rotated": (but(turned=query_alone), "you rotate the query alone"),
        "key alone rotated": (but(turned=key_alone), "you rotate the key alone"),
        "rotation unused": (but(turned=lambda self, q, k: (q, k)), "the rotation is not used"),
        "top-left triangle": (but(see=top_left), "aligned top-left"),
        "no mask": (but(see=open_mask), "a piece of several tokens needs its mask"),
        "not itself": (but(see=not_itself), "a query cannot see itself"),
        "newest alone": (but(keep=newest_alone), "earlier tokens are not there"),
        "empty slots": (EmptySlots, "cut the cache at its length"),
        "values not kept": (but(keep=newest_values), "are keys and values both kept?"),
        "last value for all": (but(keep=last_value_for_all), "keep values too"),
        "one store": (Shared, "two caches share their tokens"),
        "one store, emptied": (SharedByPair, "belongs to an instance, not to the class"),
        "values rotated": (TurnedValues, "values are rotated too"),
        "root missing": (but(turned=rooted), "not divided by sqrt(d)"),
        "attends first": (AttendFirst, "tokens after the first piece do not see themselves"),
        "last five keys": (but(keep=keep_last_five), "only the newest tokens are kept"),
        "a ring of eight": (EightSlots, "a cache keeps all of them"),
        "garbage where work is measured": (
            GarbageWhenMeasured,
            "of a new sequence comes out wrong",
        ),
        "full pass": (Recomputing, "old rows are computed again: token 4"),
        "full pass, torch's own": (RecomputingFused, "times as many as token"),
        "full pass, row by row": (RecomputingRows, "old rows are computed again"),
        "nothing comes back": (but(step=lambda self, q, k, v: None), "is a `return` missing?"),
        "old rows in one call": (RecomputingByKernel, "token 16 makes 416"),
        "in NumPy": (InNumPy, "so its work is not seen"),
        "all contexts": (AllContexts, "the contexts of all"),
        "divided by d": (but(turned=divided_twice), "are divided by d, the width of a query"),
        "one ahead": (but(see=one_ahead), "the one just after it in its piece"),
        "inverted mask": (but(see=inverted), "the wrong way round (True means may look)"),
        "counts steps": (CountsSteps, "the position counts steps"),
        "one position for a piece": (but(places=one_place), "stand at one position"),
        "a low number hides": (LowFill, "a low number such as -20"),
    },
    "14.2": {
        "leading order": (
            scores_but(lambda T, cached: T**2 / 2 if cached else T**3 / 3),
            "leading order",
        ),
        "from 0": (scores_but(lambda T, cached: num_scores(T - 1, cached)), "from 0 to T - 1"),
        "T steps of full cost": (
            scores_but(lambda T, cached: T**2 if cached else T**3),
            "charged for all T tokens",
        ),
        "cached ignored": (scores_but(lambda T, cached: num_scores(T, True)), "those with a cache"),
        "cached ignored, none": (
            scores_but(lambda T, cached: num_scores(T, False)),
            "those without a cache",
        ),
        "changed places": (
            scores_but(lambda T, cached: num_scores(T, not cached)),
            "have changed places",
        ),
        "one pass": (
            scores_but(lambda T, cached: num_scores(T, True) if cached else T**2),
            "without a cache: that is the last step",
        ),
        "triangle": (
            scores_but(
                lambda T, cached: num_scores(T, True) if cached else T * (T + 1) * (T + 2) // 6
            ),
            "hidden scores are left out",
        ),
        "last step": (
            scores_but(lambda T, cached: T if cached else T**2),
            "that is the last step, or one pass",
        ),
        "operations": (scores_but(lambda T, cached: 2 * num_scores(T, cached)), "counted twice"),
        "keys alone": (bytes_but(lambda n, of: n // 2), "keys *and* values"),
        "numbers": (bytes_but(lambda n, of: n // of["size"]), "numbers, not bytes"),
        "one head": (bytes_but(lambda n, of: n // of["groups"]), "one group of heads"),
        "square of T": (bytes_but(lambda n, of: n * of["T"]), "not with its square"),
        "one layer": (bytes_but(lambda n, of: n // of["layers"]), "that is one layer"),
        "one sequence": (bytes_but(lambda n, of: n // of["batch"]), "that is one sequence"),
        "all tokens, without a cache": (
            scores_but(lambda T, cached: num_scores(T, True) if cached else T**3),
            "without a cache: every step is charged",
        ),
        "all tokens, with a cache": (
            scores_but(lambda T, cached: T**2 if cached else num_scores(T, False)),
            "with a cache: every step is charged",
        ),
        "the sum squared": (
            scores_but(lambda T, cached: num_scores(T, True) ** (1 if cached else 2)),
            "the squares are added",
        ),
        "one token": (bytes_but(lambda n, of: n // of["T"]), "that is one token"),
        "keys alone, in numbers": (
            bytes_but(lambda n, of: n // 2 // of["size"]),
            "kept, and each number takes",
        ),
        "bits": (bytes_but(lambda n, of: 8 * n), "these are bits"),
    },
    "14.3": {
        "tiled": (with_heads(in_turn, in_turn), "head 1 got group 1"),
        "keys tiled": (with_heads(in_turn, own), "only the keys are dealt out in turn"),
        "values tiled": (with_heads(own, in_turn), "only the values are dealt out in turn"),
        "groups averaged": (groups_averaged, "the groups are averaged"),
        "queries averaged": (queries_averaged, "averaged; queries stay H"),
        "queries averaged, repeated": (
            queries_averaged_repeated,
            "result repeated; queries stay H",
        ),
        "no mask": (open_groups, "the mask is missing or not used"),
        "scale by group": (group_scale, "the scale is that of a whole group"),
        "no scale": (functools.partial(repeated, scale=1.0), "not divided by sqrt(d)"),
        "softmax over queries": (grouped_over_queries, "so that columns sum to one"),
        "one key ahead": (grouped_one_ahead, "sees the key just after it"),
        "hidden by zero": (grouped_hidden_by_zero, "exp(0) = 1 is still a weight"),
        "divided by d": (
            functools.partial(repeated, scale=1 / 5),
            "are divided by d, the width of a query",
        ),
        "broadcasting": (broadcast_only, "your code stopped with RuntimeError"),
        "one head a group": (one_head_a_group, "H heads come out"),
        "a low number hides": (low_fill_in_groups, "a low number such as -20"),
        "group 0 for all": (
            with_heads(lambda h, G, H: 0, lambda h, G, H: 0),
            "all heads use group 0",
        ),
        "reversed": (
            with_heads(lambda h, G, H: G - 1 - own(h, G, H), lambda h, G, H: G - 1 - own(h, G, H)),
            "in reverse order",
        ),
    },
    "14.4": {
        "one more": (
            mask_but(lambda T, w, n: mask_by_distance(T, w + 1, n)),
            "yours holds one more",
        ),
        "one less": (
            mask_but(lambda T, w, n: mask_by_distance(T, w - 1, n)),
            "yours holds one less",
        ),
        "both sides": (mask_but(both_sides), "reaches into the future"),
        "no sinks": (
            mask_but(lambda T, w, n: mask_by_distance(T, w, 0)),
            "the sinks are not kept: window_mask",
        ),
        "sinks from ahead": (mask_but(sinks_from_ahead), "a sink that comes after them"),
        "polarity": (mask_but(lambda T, w, n: ~mask_by_distance(T, w, n)), "True means *may look*"),
        "transposed": (mask_but(lambda T, w, n: mask_by_distance(T, w, n).T), "rows and columns"),
        "blocks": (mask_but(blocks_of_window), "jumps from block to block"),
        "sinks inside the window": (
            mask_but(lambda T, w, n: mask_by_distance(T, max(w - n, 0), n)),
            "they come on top of it",
        ),
        "not itself": (
            mask_but(lambda T, w, n: mask_by_distance(T, w, n) & ~np.eye(T, dtype=bool)),
            "it is the newest of its window",
        ),
        "no window": (mask_but(lambda T, w, n: np.tri(T)), "every earlier token is seen"),
        "last of the text": (
            mask_but(
                lambda T, w, n: (
                    np.tri(T, dtype=bool) & ((np.arange(T) >= T - w) | (np.arange(T) < n))
                )
            ),
            "not those before each token",
        ),
        "scores": (
            mask_but(lambda T, w, n: np.where(mask_by_distance(T, w, n), 0, -9)),
            "other numbers",
        ),
        "ring: sinks overwritten": (ring_but(keep=evict_oldest), "the sinks are overwritten"),
        "ring: no sinks": (ring_but(keep=keep_window_alone), "the sinks are not kept: it is"),
        "ring: everything seen": (
            ring_but(keep=keep_all_tokens),
            "the window is missing: it is off",
        ),
        "ring: holds everything": (
            ring_but(keep=keep_all_tokens, shown=show_some),
            "let go of what no later token can see",
        ),
        "ring: one more": (
            ring_but(keep=keep_one_more),
            "the new one among them; yours holds one more",
        ),
        "ring: stops when full": (
            ring_but(keep=keep_until_full, shown=show_until_full),
            "once the ring is full",
        ),
        "ring: sinks twice": (ring_but(keep=sinks_twice), "counts twice"),
        "ring: attends first": (ring_but(step=attend_first), "keep it before you attend"),
        "ring: empty slots": (ring_but(RingOfSlots, shown=empty_shown), "empty slots are attended"),
        "ring: root missing": (ring_but(scale=False), "not divided by sqrt(d)"),
        "ring: one store": ((mask_by_distance, SharedRing), "two rings share their tokens"),
        "ring: nothing comes back": (
            ring_but(step=lambda self, q, k, v: None),
            "is a `return` missing?",
        ),
        "one sink more": (
            mask_but(lambda T, w, n: mask_by_distance(T, w, n + 1)),
            "one sink too many",
        ),
        "one sink less": (
            mask_but(lambda T, w, n: mask_by_distance(T, w, max(n - 1, 0))),
            "one sink too few",
        ),
        "to be added": (
            mask_but(lambda T, w, n: np.where(mask_by_distance(T, w, n), 0, -np.inf)),
            "holds an infinity: it is a mask",
        ),
        "ring: newest value": (
            ring_but(step=lambda self, q, k, v: v),
            "the newest value is returned",
        ),
    },
    "14.5": {
        "full keys": ((full_keys, turned_rows), "so that no key or value is made"),
        "root of the latent": (
            (latent_root, turned_rows),
            "the root is that of the latent's width",
        ),
        "no root": ((no_latent_root, turned_rows), "the root of d is missing"),
        "mixture alone": ((mixture_alone, turned_rows), "W_v is missing"),
        "W_k for values": (latents_but(W_v=lambda W_k, **_: W_k), "W_k is used for the values too"),
        "W_v for keys": (latents_but(W_k=lambda W_v, **_: W_v), "W_v is used for the keys too"),
        "exchanged": (
            latents_but(W_k=lambda W_v, **_: W_v, W_v=lambda W_k, **_: W_k),
            "have changed places",
        ),
        "keys of head 0": (
            latents_but(W_k=lambda W_k, **_: W_k[:1].expand_as(W_k)),
            "each has a W_k of its own",
        ),
        "softmax over heads": ((over_heads, turned_rows), "the softmax runs over the heads"),
        "no softmax": ((no_softmax, turned_rows), "there is no softmax"),
        "query unused": (latents_but(q=lambda q, **_: 0 * q), "the query plays no part"),
        "garbage where memory is measured": (
            (latent_garbage_when_long, turned_rows),
            "it is off by up to",
        ),
        "no rotation": (matrix_but(lambda W, n, rotate: W), "right at distance 0 alone"),
        "other sense": (matrix_but(lambda W, n, rotate: rotate(W, n)), "*before* the query"),
        "twice": (matrix_but(lambda W, n, rotate: rotate(W, -2 * n)), "counts twice"),
        "matrix transposed": (matrix_but(lambda W, n, rotate: rotate(W, -n).T), "rows and columns"),
        "root in the matrix": (
            matrix_but(lambda W, n, rotate: rotate(W, -n) / W.shape[1] ** 0.5),
            "the root of d is not part",
        ),
        "always 1": (matrix_but(lambda W, n, rotate: rotate(W, -1)), "the distance decides"),
        "full keys, head by head": ((head_by_head, turned_rows), "the keys of one head have"),
        "in NumPy": ((latent_in_numpy, turned_rows), "not computed with torch"),
        "values of head 0": (latents_but(W_v=first_heads_values), "the values of head 0"),
        "one too far": (
            matrix_but(lambda W_k, far, rotate: rotate(W_k, -far - 1)),
            "one position too far",
        ),
        "one too early": (
            matrix_but(lambda W_k, far, rotate: rotate(W_k, 1 - far)),
            "one position too early",
        ),
    },
    "14.6": {
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
        "elu whatever is given": (with_own_map(lambda x: F.elu(x) + 1), "always elu(x) + 1"),
        "exp whatever is given": (with_own_map(torch.exp), "always exp(x)"),
        "features of the values": (
            lambda q, k, v, phi: parallel(q, k, phi(v), phi),
            "taken of the values too",
        ),
        "queries and keys exchanged": (
            lambda q, k, v, phi: parallel(k, q, v, phi),
            "queries and keys have changed places",
        ),
        "divided by the root": (
            lambda q, k, v, phi: parallel(q / root(q), k, v, phi),
            "queries are divided by the root of d",
        ),
    },
    "14.7": {
        "zeros": (
            lambda features: torch.zeros(len(features), 1),
            "find others whose state is zero",
        ),
        "ones": (lambda features: torch.ones(len(features), 1), "equal values"),
        "the features": (lambda features: features, "the features themselves"),
        "first singular vector": (first_vector, "a singular value that is not zero"),
        "a unit vector": (unit_vector, "a single value is always seen"),
        "the visible part": (visible_part, "that is what *is* seen"),
        "adding up to zero": (adding_up_to_zero, "these values add up to zero"),
        "d rows": (d_rows, "one row for each of the"),
    },
}


# What the judges must draw: {question: {answer: {name: whether a call belongs to it}}}
REGIMES = {
    "14.1": {
        "Cache": {
            "sixteen tokens one by one": lambda *given: list(given[-1:]) == [[1] * 16],
            "long pieces": lambda *given: isinstance(given[-1], list) and max(given[-1]) >= 6,
            "with rotation": lambda *given: len(given) == 3 and isinstance(given[0], float),
            "without rotation": lambda *given: len(given) == 3 and given[0] is None,
            "a measured step": lambda *given: len(given) == 2,
        }
    },
    "14.2": {
        "decode_scores": {
            "one token": lambda T, cached: T == 1,
            "many tokens, cached": lambda T, cached: T > 1000 and cached,
            "many tokens, not cached": lambda T, cached: T > 1000 and not cached,
        },
        "cache_bytes": {"all sizes different": lambda *sizes: len(set(sizes)) == 6},
    },
    "14.3": {
        "grouped": {
            "a group for each head": lambda given: given[0].shape[1] == given[1].shape[1],
            "one group": lambda given: given[1].shape[1] == 1 < given[0].shape[1],
            "three heads a group": lambda given: given[0].shape[1] == 3 * given[1].shape[1],
        }
    },
    "14.4": {
        "window_mask": {
            "a window of one": lambda T, window, sinks: window == 1 and sinks == 0,
            "a window longer than the text": lambda T, window, sinks: window > T,
            "all tokens are sinks": lambda T, window, sinks: sinks >= T > 1,
            "no sinks": lambda T, window, sinks: sinks == 0 and window > 1,
            "two sinks": lambda T, window, sinks: sinks == 2 and window + 2 < T,
        },
        "Ring": {
            "a window of one": lambda window, sinks, *_: window == 1,
            "no sinks": lambda window, sinks, *_: sinks == 0,
            "more sinks than window": lambda window, sinks, *_: sinks > window,
            "a window longer than the text": lambda window, sinks, texts: (
                window > texts[0][0].shape[1]
            ),
        },
    },
    "14.5": {
        "latent_attention": {
            "one token": lambda given: len(given[1]) == 1,
            "latents as wide as heads": lambda given: given[1].shape[1] == given[0].shape[1],
            "latents narrower than heads": lambda given: given[1].shape[1] < given[0].shape[1],
            "a long text": lambda given: len(given[1]) >= 500,
        },
        "absorbed_matrix": {
            "distance 0": lambda W_k, far, *_: far == 0,
            "a far key": lambda W_k, far, *_: far > 1,
            "a square projection": lambda W_k, far, *_: W_k.shape[0] == W_k.shape[1],
        },
    },
    "14.6": {
        "linear_attention": {
            "one token": lambda given, kind, shift: len(given[0]) == 1,
            "exponentials": lambda given, kind, shift: kind == "exp",
            "features with zeros": lambda given, kind, shift: kind == "relu",
        }
    },
    "14.7": {
        "invisible": {
            "one feature": lambda given: given[0].shape[1] == 1,
            "one more key than features": lambda given: given[0].shape[0] == given[0].shape[1] + 1,
        }
    },
}
