"""Right and wrong answers to 14.1-14.7, each wrong one with a fragment of the message it must get."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F

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


# 14.2


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


def d_rows(features):
    return torch.ones(features.shape[1], 2)


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
        "closed forms": (flops, num_bytes),
        "loops": (looped_flops, num_bytes),
        "multiply-adds": (multiply_adds, num_bytes),
    },
    "14.3": {
        "repeat_interleave": repeated,
        "an axis more": with_view,
        "head by head": with_loop,
        "torch's own": enable_gqa,
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
    "14.2": {
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
        "no mask": (open_groups, "there is no mask"),
        "scale by group": (group_scale, "the scale is that of a whole group"),
        "no scale": (functools.partial(repeated, scale=1.0), "the scores are not scaled"),
        "broadcasting": (broadcast_only, "your code stopped with RuntimeError"),
        "one head a group": (one_head_a_group, "H heads come out"),
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
    },
    "14.7": {
        "zeros": (lambda features: torch.zeros(len(features), 1), "the zero you should imitate"),
        "ones": (lambda features: torch.ones(len(features), 1), "equal values"),
        "the features": (lambda features: features, "the features themselves"),
        "first singular vector": (first_vector, "a singular value that is not zero"),
        "a unit vector": (unit_vector, "a single value is always seen"),
        "the visible part": (visible_part, "that is what *is* seen"),
        "d rows": (d_rows, "one row for each of the"),
    },
}
