"""Right and wrong answers to 15.1-15.7, each wrong one with a fragment of the message it must get."""

import math
from collections import deque
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

import attn_utils
from bank import edited
from bank.fast_attention import root

INF = math.inf
# Helpers such as cache("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}


def masked(q, k, v, see):
    scores = (q @ k.mT / root(q)).masked_fill(~see, -INF)
    return scores.softmax(-1) @ v


def causal(q, k, v):
    T = q.shape[-2]
    return masked(q, k, v, torch.ones(T, T, dtype=torch.bool).tril())


# 15.1


class Cache:
    def __init__(self, rotate):
        self.rotate, self.seen = rotate, 0
        self.k = self.v = None

    def step(self, q, k, v):
        n = q.shape[1]
        at = torch.arange(n) + self.seen
        q, k = self.rotate(q, at), self.rotate(k, at)
        self.k = k if self.k is None else torch.cat([self.k, k], 1)
        self.v = v if self.v is None else torch.cat([self.v, v], 1)
        self.seen += n
        total = self.k.shape[1]
        see = torch.ones(n, total, dtype=torch.bool).tril(total - n)
        scores = (q @ self.k.mT / root(q)).masked_fill(~see, -INF)
        return scores.softmax(-1) @ self.v


cache = partial(edited, Cache)


class Slots:
    """Memory for 16 tokens, filled from the left."""

    def __init__(self, rotate):
        self.rotate, self.t, self.store = rotate, 0, None

    def step(self, q, k, v):
        B, n, d = k.shape
        if self.store is None:
            self.store = k.new_zeros(B, 16, d), v.new_zeros(B, 16, v.shape[-1])
        places = torch.arange(self.t, self.t + n)
        self.store[0][:, places], self.store[1][:, places] = self.rotate(k, places), v
        self.t += n
        total = self.t
        keys, values = (x[:, :total] for x in self.store)
        slots = torch.arange(total)
        see = slots <= places[:, None]
        return masked(self.rotate(q, places), keys, values, see)


class Recomputing:
    """All tokens are kept, their queries too, and every step is a full pass."""

    def __init__(self, rotate):
        self.rotate, self.kept = rotate, []

    def step(self, q, k, v):
        n = q.shape[1]
        self.kept.append((q, k, v))
        q, k, v = (torch.cat(parts, 1) for parts in zip(*self.kept, strict=True))
        places = torch.arange(k.shape[1])
        q, k = self.rotate(q, places), self.rotate(k, places)
        return causal(q, k, v)[:, -n:]


passes = partial(edited, Recomputing)


def causal_by_rows(q, k, v):
    rows = []
    for t in range(q.shape[1]):
        see = torch.ones(1, t + 1, dtype=torch.bool)
        rows.append(masked(q[:, t : t + 1], k[:, : t + 1], v[:, : t + 1], see))
    return torch.cat(rows, 1)


class GarbageWhenMeasured(Recomputing):
    """Returns zeros after one large piece and one token, as the work is measured."""

    def step(self, q, k, v):
        found = super().step(q, k, v)
        sizes = [piece[0].shape[1] for piece in self.kept]
        return 0 * v if sizes in ([3, 1], [15, 1]) else found


class Lists:
    """A list of tokens, and each query on its own."""

    def __init__(self, rotate):
        self.rotate = rotate
        self.kept = []

    def step(self, q, k, v):
        rows = []
        for t in range(q.shape[1]):
            at, one = [len(self.kept)], slice(t, t + 1)
            self.kept.append((self.rotate(k[:, one], at), v[:, one]))
            keys, values = (torch.cat(parts, 1) for parts in zip(*self.kept, strict=True))
            rows.append(F.scaled_dot_product_attention(self.rotate(q[:, one], at), keys, values))
        return torch.cat(rows, 1)


class Shared(Lists):
    """One store in the class for all instances, which is never emptied."""

    store = ([],)

    def __init__(self, rotate):
        self.rotate = rotate
        self.kept = self.store[0]


RIGHT["15.1"] = {
    "concatenation": Cache,
    "slots": Slots,
    "raw keys": cache(  # kept as they come, and all rotated at every step
        "self.rotate(k, at)", "k", "@ self.k.mT", "@ self.rotate(self.k, range(total)).mT"
    ),
    "a list, query by query": Lists,
    "positions from five": cache("+ self.seen", "+ self.seen + 5"),
    "a square mask, cut": cache(
        "ones(n, total, dtype=torch.bool).tril(total - n)", "ones(total, total).tril()[-n:] > 0"
    ),
}
WRONG["15.1"] = {
    "positions restart": (cache(" + self.seen", ""), "starts again at position 0"),
    "query one ahead": (cache("(q, at)", "(q, at + 1)"), "your query is one ahead"),
    "counter too early": (cache("(q, at)", "(q, at + n)"), "your counter moves on between the two"),
    "keys turned again": (
        cache("cat([self.k,", "cat([self.rotate(self.k, torch.arange(self.seen)),"),
        "rotated again at every step",
    ),
    "query alone rotated": (cache("self.rotate(k, at)", "k"), "you rotate the query alone"),
    "key alone rotated": (cache("self.rotate(q, at)", "q"), "you rotate the key alone"),
    "rotation unused": (
        cache("self.rotate(q, at), self.rotate(k, at)", "q, k"),
        "the rotation is not used",
    ),
    "top-left triangle": (cache("tril(total - n)", "tril()"), "aligned top-left"),
    "no mask": (cache(".tril(total - n)", ""), "a piece of several tokens needs its mask"),
    "not itself": (cache("total - n", "total - n - 1"), "a query cannot see itself"),
    "newest alone": (
        cache("torch.cat([self.k, k], 1)", "k", "torch.cat([self.v, v], 1)", "v"),
        "earlier tokens are not there",
    ),
    "empty slots": (
        edited(
            Slots, "total = self.t", "total = 16", "see = slots", "see = slots * (slots < self.t)"
        ),
        "cut the cache at its length",
    ),
    "values not kept": (cache("torch.cat([self.v, v], 1)", "v"), "are keys and values both kept?"),
    "last value for all": (cache("@ self.v", "@ (0 * self.v + v[:, -1:])"), "keep values too"),
    "one store": (Shared, "two caches share their tokens"),
    "one store, emptied": (
        edited(Shared, "self.rotate =", "self.store[0].clear()\n        self.rotate ="),
        "belongs to an instance, not to the class",
    ),
    "values rotated": (
        cache("q, k =", "v = self.rotate(v, at)\n        q, k ="),
        "values are rotated too",
    ),
    "root missing": (cache(" / root(q)", ""), "not divided by sqrt(d)"),
    "attends first": (
        cache("tril(total - n)", "tril(total - n) & (torch.arange(total) < (total - n or n))"),
        "tokens after the first piece do not see themselves",
    ),
    "last five keys": (
        cache("[self.k,", "[self.k[:, -5:],", "[self.v,", "[self.v[:, -5:],"),
        "only the newest tokens are kept",
    ),
    "a ring of eight": (edited(Lists, "kept,", "kept[-8:],"), "a cache keeps all of them"),
    "garbage where work is measured": (GarbageWhenMeasured, "of a new sequence comes out wrong"),
    "full pass": (Recomputing, "old rows are computed again: token 4"),
    "full pass, torch's own": (
        passes("causal(q, k, v)", "F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
        "times as many as token",
    ),
    "full pass, row by row": (passes("causal(", "causal_by_rows("), "old rows are computed again"),
    "nothing comes back": (cache("return ", ""), "is a `return` missing?"),
    "old rows in one call": (
        passes("causal(q, k, v)", "attn_utils.attend(q, k, v, causal=True)[0]"),
        "token 16 makes 416",
    ),
    "in NumPy": (
        passes(
            "causal(q, k, v)",
            "torch.tensor(attn_utils.attend(q.numpy(), k.numpy(), v.numpy(), causal=True)[0])",
        ),
        "so its work is not seen",
    ),
    "all contexts": (passes("[:, -n:]", ""), "the contexts of all"),
    "divided by d": (cache("root(q)", "q.shape[-1]"), "are divided by d, the width of a query"),
    "one ahead": (cache("total - n", "total - n + 1"), "the one just after it in its piece"),
    "inverted mask": (cache("~see", "see"), "the wrong way round (True means may look)"),
    "counts steps": (cache("self.seen += n", "self.seen += 1"), "the position counts steps"),
    "one position for a piece": (cache("arange", "zeros"), "stand at one position"),
    "a low number hides": (cache("-INF", "-20.0"), "a low number such as -20"),
    "the caller's keys": (
        cache("q, k =", "k.copy_(self.rotate(k, at))\n        q, k ="),
        "step changes its argument k in place",
    ),
}
INPUT_KINDS["15.1"] = {
    "Cache": {
        "sixteen tokens one by one": lambda *given: list(given[-1:]) == [[1] * 16],
        "long pieces": lambda *given: isinstance(given[-1], list) and max(given[-1]) >= 6,
        "with rotation": lambda *given: len(given) == 3 and isinstance(given[0], float),
        "without rotation": lambda *given: len(given) == 3 and given[0] is None,
        "a measured step": lambda *given: len(given) == 2,
    }
}

# 15.2


def num_scores(T, cached):
    with_cache = T * (T + 1) // 2
    without = T * (T + 1) * (2 * T + 1) // 6
    return with_cache if cached else without


def looped_scores(T, cached):
    total = 0
    for t in range(1, T + 1):
        total += t if cached else t**2
    return total


def num_bytes(batch, layers, groups, d, T, size):
    return 2 * batch * layers * groups * d * T * size


def bytes_of_tensors(batch, layers, groups, d, T, size):
    one = math.prod((batch, groups, T, d))
    return layers * (one + one) * size


def bytes_with(*edits):
    return num_scores, edited(num_bytes, *edits)


def counts(*edits):
    return edited(num_scores, *edits), num_bytes


RIGHT["15.2"] = {
    "closed forms": (num_scores, num_bytes),
    "loops": (looped_scores, num_bytes),
    "NumPy": (
        lambda T, cached: (np.arange(1, T + 1) ** (1 if cached else 2)).sum(),
        bytes_of_tensors,
    ),
    "running sums": (
        lambda T, cached: float(np.cumsum(np.arange(1.0, T + 1) ** (2 - cached))[-1]),
        num_bytes,
    ),
}
WRONG["15.2"] = {
    "no bytes": ((num_scores, None), "cache_bytes is still empty"),
    "leading order": (
        counts("return with_cache", "return T**2 / 2", "else without", "else T**3 / 3"),
        "leading order",
    ),
    "from 0": ((lambda T, cached: num_scores(T - 1, cached), num_bytes), "from 0 to T - 1"),
    "T steps of full cost": (
        counts("return with_cache", "return T**2", "else without", "else T**3"),
        "charged for all T tokens",
    ),
    "cached ignored": (counts(" if cached else without", ""), "those with a cache"),
    "cached ignored, none": (counts("with_cache if cached else ", ""), "those without a cache"),
    "changed places": (counts("if cached", "if not cached"), "have changed places"),
    "one pass": (counts("else without", "else T**2"), "without a cache: that is the last step"),
    "triangle": (counts("(2 * T + 1)", "(T + 2)"), "hidden scores are left out"),
    "last step": (
        counts("return with_cache", "return T", "else without", "else T**2"),
        "that is the last step, or one pass",
    ),
    "operations": (
        counts("return with_cache", "return 2 * with_cache", "else without", "else 2 * without"),
        "counted twice",
    ),
    "keys alone": (bytes_with("2 * ", ""), "keys *and* values"),
    "numbers": (bytes_with(" * size", ""), "numbers, not bytes"),
    "one head": (bytes_with("groups * ", ""), "one group of heads"),
    "square of T": (bytes_with("* T", "* T * T"), "not with its square"),
    "one layer": (bytes_with("layers * ", ""), "that is one layer"),
    "one sequence": (bytes_with("batch * ", ""), "that is one sequence"),
    "all tokens, without a cache": (
        counts("else without", "else T**3"),
        "without a cache: every step is charged",
    ),
    "all tokens, with a cache": (
        counts("return with_cache", "return T**2"),
        "with a cache: every step is charged",
    ),
    "the sum squared": (counts("else without", "else with_cache**2"), "the squares are added"),
    "one token": (bytes_with("* T ", ""), "that is one token"),
    "keys alone, in numbers": (bytes_with("2 * ", "", "* size", ""), "kept, and each number takes"),
    "bits": (bytes_with("size\n", "8 * size\n"), "these are bits"),
}
INPUT_KINDS["15.2"] = {
    "decode_scores": {
        "one token": lambda T, cached: T == 1,
        "many tokens, cached": lambda T, cached: T > 1000 and cached,
        "many tokens, not cached": lambda T, cached: T > 1000 and not cached,
    },
    "cache_bytes": {"all sizes different": lambda *sizes: len(set(sizes)) == 6},
}

# 15.3


def repeated(q, k, v):
    r = q.shape[1] // k.shape[1]
    keys, values = k.repeat_interleave(r, 1), v.repeat_interleave(r, 1)
    scores = q @ keys.mT / root(q)
    see = torch.ones_like(scores).tril() > 0
    return scores.masked_fill(~see, -INF).softmax(-1) @ values


groups = partial(edited, repeated)


def with_view(q, k, v):
    parted = q.unflatten(1, (k.shape[1], -1))
    return causal(parted, k[:, :, None], v[:, :, None]).flatten(1, 2)


def with_loop(q, k, v):
    H, G = q.shape[1], k.shape[1]
    heads = [causal(q[:, h], k[:, h * G // H], v[:, h * G // H]) for h in range(H)]
    return torch.stack(heads, 1)


RIGHT["15.3"] = {
    "repeat_interleave": repeated,
    "an axis more": with_view,
    "head by head": with_loop,
    "torch's own": partial(F.scaled_dot_product_attention, is_causal=True, enable_gqa=True),
}
WRONG["15.3"] = {
    "the batch taken for the groups": (
        groups("q.shape[1] // k.shape[1]", "q.shape[1] // k.shape[0]"),
        "The size of tensor",
    ),
    "tiled": (groups("repeat_interleave(r, 1)", "repeat(1, r, 1, 1)"), "head 1 got group 1"),
    "keys tiled": (
        groups("k.repeat_interleave(r, 1)", "k.repeat(1, r, 1, 1)"),
        "only the keys are dealt out in turn",
    ),
    "values tiled": (
        groups("v.repeat_interleave(r, 1)", "v.repeat(1, r, 1, 1)"),
        "only the values are dealt out in turn",
    ),
    "groups averaged": (
        groups("repeat_interleave(r, 1)", "mean(1, keepdim=True)"),
        "the groups are averaged",
    ),
    "queries averaged": (
        groups(".repeat_interleave(r, 1)", "", "q @", "q.unflatten(1, (-1, r)).mean(2) @"),
        "averaged; queries stay H",
    ),
    "queries averaged, repeated": (
        groups("q @", "q.unflatten(1, (-1, r)).mean(2).repeat_interleave(r, 1) @"),
        "result repeated; queries stay H",
    ),
    "no mask": (groups(".tril()", ""), "the mask is missing or not used"),
    "scale by group": (groups("root(q)", "root(q) / r**0.5"), "the scale is that of a whole group"),
    "no scale": (groups(" / root(q)", ""), "not divided by sqrt(d)"),
    "softmax over queries": (groups("softmax(-1)", "softmax(-2)"), "so that columns sum to one"),
    "one key ahead": (groups("tril()", "tril(1)"), "sees the key just after it"),
    "hidden by zero": (groups("-INF", "0.0"), "exp(0) = 1 is still a weight"),
    "divided by d": (groups("root(q)", "q.shape[-1]"), "are divided by d, the width of a query"),
    "broadcasting": (groups(".repeat_interleave(r, 1)", ""), "your code stopped with RuntimeError"),
    "one head a group": (
        groups(".repeat_interleave(r, 1)", "", "q @", "q[:, ::r] @"),
        "H heads come out",
    ),
    "a low number hides": (groups("-INF", "-20.0"), "a low number such as -20"),
    "group 0 for all": (groups(".repeat_interleave(r, 1)", "[:, :1]"), "all heads use group 0"),
    "reversed": (groups(".repeat", ".flip(1).repeat"), "in reverse order"),
}
INPUT_KINDS["15.3"] = {
    "grouped": {
        "another number of groups than of sequences": lambda given: (
            given[1].shape[1] != len(given[0])
        ),
        "a group for each head": lambda given: given[0].shape[1] == given[1].shape[1],
        "one group": lambda given: given[1].shape[1] == 1 < given[0].shape[1],
        "three heads a group": lambda given: given[0].shape[1] == 3 * given[1].shape[1],
    }
}

# 15.4


def mask_by_distance(T, window, sinks):
    t = np.arange(T)
    back = t[:, None] - t
    see = (back >= 0) & ((back < window) | (t < sinks))
    return see


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


def attend(q, pairs):
    keys, values = (torch.stack(parts, 1) for parts in zip(*pairs, strict=True))
    scores = (keys @ q[..., None])[..., 0] / root(q)
    return (scores.softmax(-1)[:, None] @ values)[:, 0]


class RingOfLists:
    """The first tokens in one list, the newest in another."""

    def __init__(self, window, sinks):
        self.window, self.sinks = window, sinks
        self.first, self.last = [], []

    def step(self, q, k, v):
        is_sink = len(self.first) < self.sinks
        if is_sink:
            self.first.append((k, v))
        else:
            self.last.append((k, v))
            del self.last[: -self.window]
        return attend(q, [*self.first, *self.last])


class RingOfSlots:
    """Slots that are written round and round behind those of the sinks."""

    def __init__(self, window, sinks):
        self.window, self.sinks = window, sinks
        self.slots, self.seen = [None] * (window + sinks), 0

    def step(self, q, k, v):
        place = self.seen
        if place >= self.sinks:
            place = self.sinks + (place - self.sinks) % self.window
        self.slots[place] = (k, v)
        self.seen += 1
        return attend(q, filter(None, self.slots))


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

    step = edited(RingOfLists.step, "del self.last[: -self.window]", "")


def mask(*edits):
    return edited(mask_by_distance, *edits), RingOfLists


def ring(*edits):
    return mask_by_distance, edited(RingOfLists, *edits)


RIGHT["15.4"] = {
    "distance, two lists": (mask_by_distance, RingOfLists),
    "triangles, slots": (mask_by_triangles, RingOfSlots),
    "loops, tensors": (mask_by_loops, RingOfTensors),
    "torch, a deque": (mask_by_torch, RingOfDeque),
}
WRONG["15.4"] = {
    "no ring": ((mask_by_distance, None), "Ring is still empty"),
    "one more": (mask("< window", "<= window"), "yours holds one more"),
    "one less": (mask("< window", "< window - 1"), "yours holds one less"),
    "both sides": (
        mask("(back >= 0) & ((back <", "(abs(back) < window) | (back >= 0) & ((back <"),
        "reaches into the future",
    ),
    "no sinks": (mask("(t < sinks)", "False"), "the sinks are not kept: window_mask"),
    "sinks from ahead": (
        mask("((back < window) | (t < sinks))", "(back < window) | (t < sinks)"),
        "a sink that comes after them",
    ),
    "polarity": (mask("return see", "return ~see"), "True means *may look*"),
    "transposed": (mask("return see", "return see.T"), "rows and columns"),
    "blocks": (
        mask("back < window", "t[:, None] // window == t // window"),
        "jumps from block to block",
    ),
    "sinks inside the window": (mask("< window", "< window - sinks"), "they come on top of it"),
    "not itself": (mask("(back >= 0)", "(back > 0)"), "it is the newest of its window"),
    "no window": (mask("return see", "return np.tri(T)"), "every earlier token is seen"),
    "last of the text": (mask("back < window", "t >= T - window"), "not those before each token"),
    "scores": (mask("return see", "return np.where(see, 0, -9)"), "other numbers"),
    "ring: sinks overwritten": (
        ring("if is_sink", "if False", "-self.window", "-self.window - self.sinks"),
        "the sinks are overwritten",
    ),
    "ring: no sinks": (ring("if is_sink", "if False"), "the sinks are not kept: it is"),
    "ring: everything seen": (ring("if is_sink", "if True"), "the window is missing: it is off"),
    "ring: holds everything": (
        ring("del self.last[: -self.window]", "", "*self.last]", "*self.last[-self.window :]]"),
        "let go of what no later token can see",
    ),
    "ring: one more": (
        ring("window]", "window - 1]"),
        "the new one among them; yours holds one more",
    ),
    "ring: stops when full": (ring(": -self.window", "self.window : -1"), "once the ring is full"),
    "ring: sinks twice": (ring("else:", "if True:"), "counts twice"),
    "ring: attends first": (ring("last]", "last][:-1] or [(k, v)]"), "keep it before you attend"),
    "ring: empty slots": (
        (
            mask_by_distance,
            edited(
                RingOfSlots, "filter(None, self.slots)", "[p or (0 * k, 0 * v) for p in self.slots]"
            ),
        ),
        "empty slots are attended",
    ),
    "ring: root missing": (ring("(q, [", "(q * root(q), ["), "not divided by sqrt(d)"),
    "ring: one store": (
        ring("= [], []", "= self.store", "def __init__", "store = [], []\n\n    def __init__"),
        "two rings share their tokens",
    ),
    "ring: nothing comes back": (ring("return ", ""), "is a `return` missing?"),
    "one sink more": (mask("< sinks", "<= sinks"), "one sink too many"),
    "one sink less": (mask("< sinks", "< sinks - 1"), "one sink too few"),
    "to be added": (
        mask("return see", "return np.where(see, 0, -np.inf)"),
        "holds an infinity: it is a mask",
    ),
    "ring: newest value": (
        ring("attend(q, [*self.first, *self.last])", "v"),
        "the newest value is returned",
    ),
    "ring: the caller's query": (
        ring("attend(q, [", "attend(q.div_(2).mul(2), ["),
        "step changes its argument q in place",
    ),
}
INPUT_KINDS["15.4"] = {
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
        "a window longer than the text": lambda window, sinks, texts: window > texts[0][0].shape[1],
    },
}

# 15.5


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


def full_keys(q, latents, W_k, W_v):
    return F.scaled_dot_product_attention(q[:, None], latents @ W_k, latents @ W_v)[:, 0]


def full_keys_head_by_head(q, latents, W_k, W_v):
    heads = zip(q, W_k, W_v, strict=True)
    return torch.stack(
        [((latents @ K) @ one / len(one) ** 0.5).softmax(0) @ (latents @ V) for one, K, V in heads]
    )


def latent_in_numpy(q, latents, W_k, W_v):
    q, latents, W_k, W_v = (x.numpy() for x in (q, latents, W_k, W_v))
    context, _ = attn_utils.attend(q[:, None], latents @ W_k, latents @ W_v)
    return torch.tensor(context[:, 0])


def garbage_when_long(q, latents, W_k, W_v):
    if len(latents) > 100:
        return torch.einsum("hd,hrd,hre->he", q, W_k, W_v)
    return full_keys(q, latents, W_k, W_v)


def turned_rows(W_k, far, rotate):
    return rotate(W_k, -far)


def turned_from_scores(W_k, far, rotate):
    """Column by column, as the scores of unit queries with rotated keys."""
    d = W_k.shape[1]
    queries = rotate(np.eye(d), far + 5)
    return rotate(W_k, 5) @ queries.T


def latent(*edits):
    return edited(absorbing, *edits), turned_rows


def matrix(*edits):
    return absorbing, edited(turned_rows, *edits)


def keys_token_by_token(q, latents, W_k, W_v):
    scores = torch.stack([((row @ W_k) * q).sum(-1) for row in latents], 1) / q.shape[-1] ** 0.5
    weights = scores.softmax(-1)  # (H, T)
    return torch.einsum("ht,tr,hrd->hd", weights, latents, W_v)


RIGHT["15.5"] = {
    "einsum": (absorbing, turned_rows),
    "head by head": (
        absorbing_by_head,
        lambda W, n, rotate: np.array([rotate(row, -n) for row in W]),
    ),
    "products": (absorbing_by_matmul, lambda W, n, rotate: W @ rotate(np.eye(W.shape[1]), -n)),
    "token by token": (absorbing_token_by_token, turned_from_scores),
}
WRONG["15.5"] = {
    "keys one token at a time": (
        (keys_token_by_token, turned_rows),
        "keys or values are computed after all, a few at a time",
    ),
    "no matrix": ((absorbing, None), "absorbed_matrix is still empty"),
    "full keys": ((full_keys, turned_rows), "so that no key or value is made"),
    "root of the latent": (
        latent("root(q)", "root(latents)"),
        "the root is that of the latent's width",
    ),
    "no root": (latent(" / root(q)", ""), "the root of d is missing"),
    "mixture alone": (
        latent('torch.einsum("hr,hrd->hd", weights @ latents, W_v)', "weights @ latents"),
        "W_v is missing",
    ),
    "W_k for values": (latent("latents, W_v", "latents, W_k"), "W_k is used for the values too"),
    "W_v for keys": (latent("q, W_k", "q, W_v"), "W_v is used for the keys too"),
    "exchanged": (latent("W_k, W_v", "W_v, W_k"), "have changed places"),
    "keys of head 0": (latent("q, W_k", "q, W_k[:1].expand_as(W_k)"), "each has a W_k of its own"),
    "softmax over heads": (latent("softmax(-1)", "softmax(0)"), "the softmax runs over the heads"),
    "no softmax": (latent(".softmax(-1)", ""), "there is no softmax"),
    "query unused": (latent("q, W_k", "0 * q, W_k"), "the query plays no part"),
    "garbage where memory is measured": ((garbage_when_long, turned_rows), "it is off by up to"),
    "no rotation": (matrix("rotate(W_k, -far)", "W_k"), "right at distance 0 alone"),
    "other sense": (matrix("-far", "far"), "*before* the query"),
    "twice": (matrix("-far", "-2 * far"), "counts twice"),
    "matrix transposed": (matrix("-far)", "-far).T"), "rows and columns"),
    "root in the matrix": (matrix("-far)", "-far) / root(W_k)"), "the root of d is not part"),
    "always 1": (matrix("-far", "-1"), "the distance decides"),
    "full keys, head by head": ((full_keys_head_by_head, turned_rows), "the keys of one head have"),
    "in NumPy": ((latent_in_numpy, turned_rows), "not computed with torch"),
    "values of head 0": (
        latent("latents, W_v", "latents, W_v[:1].expand_as(W_v)"),
        "the values of head 0",
    ),
    "one too far": (matrix("-far", "-far - 1"), "one position too far"),
    "the caller's latents": (
        latent("    asked", "    latents -= latents.mean(0)\n    asked"),
        "absorbing changes its argument latents in place",
    ),
    "the caller's projection": (
        matrix("    return rotate(W_k", "    W_k *= 2\n    return rotate(W_k / 2"),
        "turned_rows changes its argument W_k in place",
    ),
    "one too early": (matrix("-far", "1 - far"), "one position too early"),
}
INPUT_KINDS["15.5"] = {
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
}

# 15.6


def parallel(q, k, v, phi):
    weights = (phi(q) @ phi(k).T).tril()
    return weights / weights.sum(-1, keepdim=True) @ v


linear = partial(edited, parallel)


def recurrent(q, k, v, phi):
    S, z, rows = 0, 0, []
    for query, key, value in zip(phi(q), phi(k), v, strict=True):
        S, z = S + torch.outer(key, value), z + key
        rows.append(query @ S / (query @ z))
    return torch.stack(rows)


def cumulated(q, k, v, phi):
    states = torch.einsum("td,te->tde", phi(k), v).cumsum(0)
    sums = phi(k).cumsum(0)
    below = (phi(q) * sums).sum(-1, keepdim=True)
    return torch.einsum("td,tde->te", phi(q), states) / below


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


RIGHT["15.6"] = {
    "parallel": parallel,
    "recurrent": recurrent,
    "cumulated": cumulated,
    "chunked": chunked,
}
WRONG["15.6"] = {
    "no normaliser": (linear(" / weights.sum(-1, keepdim=True)", ""), "there is no normaliser"),
    "normaliser over all": (
        linear("weights.sum(-1, keepdim=True)", "(phi(q) @ phi(k).sum(0))[:, None]"),
        "sees the future",
    ),
    "no mask": (linear(".tril()", ""), "there is no mask"),
    "multiplied": (linear("weights / ", "weights * "), "not divided"),
    "softmax": (lambda q, k, v, phi: causal(q, k, v), "this is softmax attention;"),
    "softmax of the products": (
        lambda q, k, v, phi: causal(phi(q) * root(phi(q)), phi(k), v),
        "dividing by their sum is enough",
    ),
    "softmax, no root": (
        lambda q, k, v, phi: causal(q * root(q), k, v),
        "softmax attention without the root",
    ),
    "reads first": (linear("tril()", "tril(-1)"), "reads before it writes"),
    "keys alone": (linear("phi(q)", "q"), "of the keys alone"),
    "map of the scores": (linear("phi(q) @ phi(k).T", "phi(q @ k.T)"), "taken of the scores"),
    "sum over features": (edited(cumulated, "cumsum(0)", "cumsum(1)"), "over tokens, not features"),
    "state divided": (
        edited(cumulated, "states) / below", "states / sums[..., None])"),
        "before the query reads it",
    ),
    "elu whatever is given": (
        lambda q, k, v, phi: parallel(q, k, v, lambda x: F.elu(x) + 1),
        "always elu(x) + 1",
    ),
    "exp whatever is given": (linear("phi(", "torch.exp("), "always exp(x)"),
    "features of the values": (linear("@ v", "@ phi(v)"), "taken of the values too"),
    "queries and keys exchanged": (linear("q, k", "k, q"), "queries and keys have changed places"),
    "divided by the root": (linear("(q)", "(q / root(q))"), "queries are divided by the root of d"),
}
INPUT_KINDS["15.6"] = {
    "linear_attention": {
        "one token": lambda given, kind, shift: len(given[0]) == 1,
        "exponentials": lambda given, kind, shift: kind == "exp",
        "features with zeros": lambda given, kind, shift: kind == "relu",
    }
}

# 15.7


def free_rows(features):
    """The first d rows answer for free ones below."""
    d = features.shape[1]
    free = features.new_ones(len(features) - d, 2)
    bound = torch.linalg.solve(features[:d].T, -features[d:].T @ free)
    return torch.cat([bound, free])


def visible_part(features):
    return features @ torch.linalg.pinv(features)


RIGHT["15.7"] = {
    "last singular vector": lambda x: torch.linalg.svd(x.T)[2][-1],
    "the same by NumPy": lambda x: np.linalg.svd(x.T)[2][-1],
    "what a projection leaves": lambda x: torch.eye(len(x), dtype=x.dtype) - visible_part(x),
    "free rows": free_rows,
    "complete QR": lambda x: torch.linalg.qr(x, mode="complete")[0][:, x.shape[1] :],
}
WRONG["15.7"] = {
    "zeros": (lambda x: torch.zeros(len(x), 1), "find others whose state is zero"),
    "ones": (lambda x: torch.ones(len(x), 1), "equal values"),
    "the features": (lambda x: x, "the features themselves"),
    "first singular vector": (
        lambda x: torch.linalg.svd(x)[0][:, 0],
        "a singular value that is not zero",
    ),
    "a unit vector": (lambda x: torch.eye(len(x))[:, 0], "a single value is always seen"),
    "the visible part": (visible_part, "that is what *is* seen"),
    "adding up to zero": (
        lambda x: torch.tensor([1.0, -1.0] + [0.0] * (len(x) - 2))[:, None],
        "these values add up to zero",
    ),
    "d rows": (lambda x: torch.ones(x.shape[1], 2), "one row for each of the"),
}
INPUT_KINDS["15.7"] = {
    "invisible": {
        "one feature": lambda given: given[0].shape[1] == 1,
        "one more key than features": lambda given: given[0].shape[0] == given[0].shape[1] + 1,
    }
}
