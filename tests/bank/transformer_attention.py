"""Right and wrong answers to 6.1-6.7, each wrong one with a fragment of the message it must get."""

import math
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from bank import edited

INF = float("inf")


def swap(x):
    return x.transpose(-2, -1)


def loop_scores(q, k):
    B, T, d = q.shape
    rows = [[[q[b, t] @ k[b, s] for s in range(T)] for t in range(T)] for b in range(B)]
    return torch.stack([torch.stack([torch.stack(r) for r in b]) for b in rows]) / d**0.5


def scaled_in_place(q, k):
    return q.div_(root(q)) @ k.mT


def root(q):
    return math.sqrt(q.shape[-1])


def fill_attend(q, k, v, mask):
    scores = (q @ swap(k) / root(q)).masked_fill(~mask, -INF)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights @ v, weights


attend_with = partial(edited, fill_attend)


class WithLastMask:
    """Keeps a mask for as long as its shape stays the same."""

    kept = None

    def __call__(self, q, k, v, mask):
        if self.kept is None or self.kept.shape != mask.shape:
            self.kept = mask
        return fill_attend(q, k, v, self.kept)


def sdpa_attend(q, k, v, mask):
    def look(values):
        return F.scaled_dot_product_attention(q, k, values, attn_mask=mask)

    identity = torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-2], -1, -1)
    return look(v), look(identity)


def renormalised_attend(q, k, v, mask):
    weights = (q @ swap(k) / root(q)).softmax(-1) * mask
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ v, weights


def einsum_attend(q, k, v, mask):
    scores = torch.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5
    scores = torch.where(mask, scores, torch.full_like(scores, -1e10))
    weights = F.softmax(scores, dim=-1) * mask.any(-1, keepdim=True)
    return torch.einsum("...ts,...se->...te", weights, v), weights


def exponential_attend(q, k, v, mask):
    scores = (q @ swap(k) / root(q)).masked_fill(~mask, torch.finfo(q.dtype).min)
    e = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    total = e.sum(-1, keepdim=True)
    weights = e / torch.where(total == 0, torch.ones_like(total), total)
    return weights @ v, weights


def smallest_attend(q, k, v, mask):
    scores = torch.where(mask, q.matmul(k.mT).div(root(q)), torch.finfo(q.dtype).min)
    seeing = mask.any(dim=-1, keepdim=True)
    weights = torch.where(seeing, torch.softmax(scores, dim=-1), 0.0)
    return [weights.matmul(v), weights]


def logsumexp_attend(q, k, v, mask):
    seeing = mask.any(-1, keepdim=True)
    scores = (q @ swap(k) / root(q)).masked_fill(~(mask | ~seeing), -INF)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp() * seeing
    return weights @ v, weights


def nan_gradient(q, k, v, mask):
    bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -INF)
    weights = (q @ swap(k) / root(q) + bias).softmax(-1).nan_to_num(0.0)
    return weights @ v, weights


def cut(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def glue(x):
    return x.transpose(1, 2).flatten(2)


def index_split(x, num_heads):
    d = x.shape[-1] // num_heads
    return torch.stack([x[..., i * d : (i + 1) * d] for i in range(num_heads)], 1)


def view_heads(x, num_heads):
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def view_tokens(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


def interleave(x):
    return x.permute(0, 2, 3, 1).flatten(2)


def glue_reversed(x):
    return glue(x.flip(1))


class Layer(nn.Module):
    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(D, D) for _ in range(4))
        self.attention_dropout = nn.Dropout(attention_dropout)
        self.residual_dropout = nn.Dropout(residual_dropout)

    def project(self, x):
        return self.query(x), self.key(x), self.value(x)

    def split(self, x):
        return (cut(part, self.num_heads) for part in self.project(x))

    def finish(self, context):
        return self.residual_dropout(self.out(context))

    def forward(self, x):
        q, k, v = self.split(x)
        look = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = q @ swap(k) / root(q)
        weights = scores.masked_fill(~look, -INF).softmax(-1)
        return self.finish(glue(self.attention_dropout(weights) @ v))


layer_with = partial(edited, Layer)
weights_with = partial(layer_with, "scores.masked_fill(~look, -INF).softmax(-1)")
thin_with = partial(layer_with, "self.attention_dropout(weights)")
finish_with = partial(layer_with, "self.residual_dropout(self.out(context))")


class WithSDPA(Layer):
    def forward(self, x):
        q, k, v = self.split(x)
        p = self.attention_dropout.p if self.training else 0.0
        return self.finish(
            glue(F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p))
        )


class WithTorchModule(nn.Module):
    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.inner = nn.MultiheadAttention(D, num_heads, attention_dropout, batch_first=True)
        self.residual_dropout = nn.Dropout(residual_dropout)

    def forward(self, x):
        blocked = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.residual_dropout(self.inner(x, x, x, attn_mask=blocked)[0])


class WithEinsum(Layer):
    def forward(self, x):
        q, k, v = (p.unflatten(-1, (self.num_heads, -1)) for p in self.project(x))  # (B, T, H, d)
        scores = torch.einsum("bthi,bshi->bhts", q, k) / root(q)
        T = x.shape[1]
        scores = scores + torch.full((T, T), -1e10, dtype=x.dtype).triu(1)
        weights = self.attention_dropout(scores.softmax(-1))
        return self.finish(torch.einsum("bhts,bshi->bthi", weights, v).flatten(2))


class WithLoops(Layer):
    def forward(self, x):
        q, k, v = self.split(x)
        rows = []
        for t in range(x.shape[1]):  # one query at a time, over what is written so far
            scores = (q[:, :, t, None] * k[:, :, : t + 1]).sum(-1) / root(q)
            weights = self.attention_dropout(scores.softmax(-1))
            rows.append((weights[..., None] * v[:, :, : t + 1]).sum(2))
        return self.finish(glue(torch.stack(rows, 2)))


class WithHeadLoop(Layer):
    def forward(self, x):
        heads = []
        for q, k, v in zip(*(p.chunk(self.num_heads, -1) for p in self.project(x)), strict=True):
            scores = q.bmm(k.mT).div(root(q))
            later = torch.full_like(scores, -INF).triu(1)
            heads.append(self.attention_dropout((scores + later).softmax(-1)) @ v)
        return self.finish(torch.cat(heads, -1))


class WithFunction(Layer):
    def forward(self, x):
        T, (q, k, v) = x.shape[1], (part.transpose(0, 1) for part in (x, x, x))
        context, _ = F.multi_head_attention_forward(
            *(q, k, v, x.shape[2], self.num_heads, None),
            torch.cat([self.query.bias, self.key.bias, self.value.bias]),
            *(None, None, False, self.attention_dropout.p, self.out.weight, self.out.bias),
            training=self.training,
            attn_mask=torch.full((T, T), -INF, dtype=x.dtype).triu(1),
            use_separate_proj_weight=True,
            q_proj_weight=self.query.weight,
            k_proj_weight=self.key.weight,
            v_proj_weight=self.value.weight,
        )
        return self.residual_dropout(context.transpose(0, 1))


class WithBuffer(weights_with("(scores + self.future[: len(look), : len(look)]).softmax(-1)")):
    """A mask that is stored once, as an additive one, and cut to length."""

    def __init__(self, D, num_heads, **options):
        super().__init__(D, num_heads, **options)
        self.register_buffer("future", torch.full((1024, 1024), -INF).triu(1))


class WithCut(Layer):
    """The mask of the first call, made larger when a longer input comes."""

    look = None

    def forward(self, x):
        T = x.shape[1]
        if self.look is None or len(self.look) < T:
            self.look = torch.ones(T, T, dtype=torch.bool).tril()
        q, k, v = self.split(x)
        scores = (q @ swap(k) / root(q)).masked_fill(~self.look[:T, :T], -INF)
        return self.finish(glue(self.attention_dropout(scores.softmax(-1)) @ v))


class WithFirstMask(Layer):
    """The mask is made at the first call, for its length alone."""

    look = None

    def forward(self, x):
        if self.look is None:
            self.look = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        q, k, v = self.split(x)
        scores = (q @ swap(k) / root(q)).masked_fill(~self.look, -INF)
        return self.finish(glue(self.attention_dropout(scores.softmax(-1)) @ v))


class WithFirstKeys(Layer):
    """The keys of the first call of a shape are used ever after."""

    def __init__(self, D, num_heads, **options):
        super().__init__(D, num_heads, **options)
        self.kept = {}

    def project(self, x):
        query, key, value = super().project(x)
        return query, self.kept.setdefault(x.shape, key), value


class WithEveryThird(Layer):
    """Every third call gives half of the output."""

    count = 0

    def forward(self, x):
        self.count += 1
        return super().forward(x) / (1 if self.count % 3 else 2)


class WithCache(Layer):
    """The keys and values of earlier calls stay in front, as in a decoder."""

    past = None

    def forward(self, x):
        q, k, v = self.split(x)
        if self.past is not None and len(self.past[0]) == len(x):
            k, v = (torch.cat(pair, 2) for pair in zip(self.past, (k, v), strict=True))
        self.past = k, v
        T, S = q.shape[2], k.shape[2]
        look = torch.ones(T, S, dtype=torch.bool).tril(S - T)
        scores = (q @ swap(k) / root(q)).masked_fill(~look, -INF)
        return self.finish(glue(self.attention_dropout(scores.softmax(-1)) @ v))


class WithTimeFirst(nn.Module):
    """torch's module as it comes, time before batch, and its path without weights."""

    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.inner = nn.MultiheadAttention(D, num_heads, dropout=attention_dropout)
        self.residual_dropout = residual_dropout

    def forward(self, x):
        z, hidden = x.transpose(0, 1), nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        y, _ = self.inner(z, z, z, need_weights=False, attn_mask=hidden.to(x), is_causal=True)
        return F.dropout(y.transpose(0, 1), self.residual_dropout, self.training)


class OtherNames(nn.Module):
    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(D, D) for _ in range(4))

    def forward(self, x):
        return x


class Packed(nn.Module):
    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.out = nn.Linear(D, D)


class TurnedLinear(nn.Linear):
    def forward(self, x):
        return x @ self.weight + self.bias


class NotAModule:
    def __init__(self, D, num_heads, **options):
        self.query = nn.Linear(D, D)


def num_parameters(D, H):
    return 4 * (D * D + D)


def num_flops(T, D, H):
    return 8 * T * D * D + 4 * T * T * D


def parameters_with(*edits):
    return edited(num_parameters, *edits), num_flops


def flops_with(*edits):
    return num_parameters, edited(num_flops, *edits)


def counted_by_torch(T, D, H):
    layer, x = nn.MultiheadAttention(D, H), torch.zeros(T, 1, D)
    with FlopCounterMode(display=False) as counter:
        layer(x, x, x)
    return counter.get_total_flops()


def one_addition_fewer(T, D, H):
    return 4 * T * D * (2 * D - 1) + H * T * T * (2 * D // H - 1) + T * D * (2 * T - 1)


SHAPES = {
    "q": (2, 5, 12),
    "scores": (2, 5, 5),
    "context": (2, 5, 12),
    "q_heads": (2, 3, 5, 4),
    "scores_heads": (2, 3, 5, 5),
    "context_heads": (2, 3, 5, 4),
    "y": (2, 5, 12),
}


def with_shape(name, shape):
    return (SHAPES | {name: shape},)


def seen_and_hidden(arrays):
    """The scores of 6.3 that may be seen and those that may not."""
    q, k, _, mask = arrays
    scores = q @ np.swapaxes(k, -2, -1) / q.shape[-1] ** 0.5
    look = np.broadcast_to(mask, scores.shape)
    return scores[look], scores[~look]


def is_low(arrays, depth):
    seen, hidden = seen_and_hidden(arrays)
    return hidden.size and seen.max() < -depth < hidden.min()


HEADS = {
    "all axes different": lambda B, T, D, H: len({B, T, D, H}) == 4,
    "one token": lambda B, T, D, H: T == 1,
    "one head": lambda B, T, D, H: H == 1,
    "heads of width one": lambda B, T, D, H: H == D,
    "one sequence": lambda B, T, D, H: B == 1,
}


def of_split(belongs):
    return lambda arrays, H: belongs(*arrays[0].shape, H)


def of_merge(belongs):
    def of_arrays(arrays):
        B, H, T, d = arrays[0].shape
        return belongs(B, T, H * d, H)

    return of_arrays


def of_layer(belongs):
    return lambda sizes, parameters, x: belongs(*x.shape, sizes[1])


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["6.1"] = {
    "tuples": (SHAPES,),
    "lists": ({name: list(shape) for name, shape in SHAPES.items()},),
    "torch sizes": ({name: torch.zeros(shape).shape for name, shape in SHAPES.items()},),
}
WRONG["6.1"] = {
    "no batch axis": (with_shape("scores", (5, 5)), "batch axis is missing"),
    "scores like the input (004-8)": (with_shape("scores", (2, 5, 12)), "pair of tokens"),
    "heads after tokens": (with_shape("q_heads", (2, 5, 3, 4)), "their order is not"),
    "the heads not merged": (with_shape("y", (2, 3, 5, 4)), "the heads are still apart"),
    "d/h heads (004-10)": (with_shape("q_heads", (2, 4, 5, 3)), "not 4 heads of width 3"),
    "full width per head": (with_shape("q_heads", (2, 3, 5, 12)), "its share of the width"),
    "one context for all heads": (
        with_shape("context_heads", (2, 5, 4)),
        "4 axes and 120 numbers, not 3 and 40",
    ),
    "half a feature": (with_shape("q_heads", (2, 3, 5, 4.5)), "not 4 and 135"),
    "one left out": (with_shape("y", None), "no prediction for y"),
    "not a dictionary": (((2, 5, 12),), "a dictionary is expected"),
}

RIGHT["6.2"] = {
    "mT": (lambda q, k: q @ k.mT / q.shape[-1] ** 0.5,),
    "bmm": (lambda q, k: torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(2)),),
    "einsum": (lambda q, k: torch.einsum("bti,bsi->bts", q, k) * q.shape[2] ** -0.5,),
    "scaled before": (lambda q, k: (q * q.shape[-1] ** -0.25) @ (k * q.shape[-1] ** -0.25).mT,),
    "broadcast": (lambda q, k: (q[:, :, None] * k[:, None]).sum(-1) / root(q),),
    "loops": (loop_scores,),
    "baddbmm": (
        lambda q, k: torch.baddbmm(
            q.new_zeros(1), q, k.permute(0, 2, 1), beta=0, alpha=q.size(-1) ** -0.5
        ),
    ),
    "one sequence at a time": (
        lambda q, k: torch.stack([a.mm(b.t()) / root(a) for a, b in zip(q, k, strict=True)]),
    ),
}
WRONG["6.2"] = {
    "a tuple": (lambda q, k: (q @ k.mT / root(q),), "return the one tensor in it"),
    "q scaled in place": (scaled_in_place, "scaled_in_place changes an argument in place"),
    "the numbers of q scaled in place": (
        edited(scaled_in_place, "q.div_", "q.data.div_"),
        "changes its argument q in place",
    ),
    "`.T`": (lambda q, k: q @ k.T / root(q), "only the last two may swap: it"),
    "`.T`, unscaled": (
        lambda q, k: q @ k.T,
        "`.T` turns all three axes round, the batch included; only the last two may swap (nor",
    ),
    "no scale": (lambda q, k: q @ k.mT, "the scores are not divided by"),
    "scale by d": (lambda q, k: q @ k.mT / q.shape[-1], "divided by d"),
    "multiplied": (lambda q, k: q @ k.mT * root(q), "multiplied by sqrt(d)"),
    "length for width": (lambda q, k: q @ k.mT / q.shape[1] ** 0.5, "root of the length"),
    "keys down": (lambda q, k: k @ q.mT / root(q), "rows and columns of the scores are swapped"),
    "softmax too early": (lambda q, k: (q @ k.mT / root(q)).softmax(-1), "already a softmax"),
    "clipped (004-9)": (lambda q, k: (q @ k.mT).clip(-1, 1), "scores are clipped, so"),
    "clipped at 5 after scaling": (
        lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).clamp(-5, 5),
        "(2, 7, 6), large scores",
    ),
    "clipped after scaling": (
        lambda q, k: (q @ k.mT / root(q)).clamp(max=0.5),
        "clipped after scaling",
    ),
    "view for transpose": (
        lambda q, k: q @ k.reshape(len(k), k.shape[2], k.shape[1]) / root(q),
        "`transpose` is needed: it",
    ),
    "view for transpose, unscaled": (
        lambda q, k: q @ k.reshape(len(k), k.shape[2], k.shape[1]),
        "`transpose` is needed (nor are",
    ),
    "something else": (lambda q, k: torch.zeros(*q.shape[:2], k.shape[1]), "off by up to"),
    "a hundredth too much": (lambda q, k: q @ k.mT / root(q) + 0.01, "up to 0.01 ("),
    "NumPy": (lambda q, k: (q @ k.mT).detach().numpy(), "returned ndarray"),
    "out of the graph": (lambda q, k: (q @ k.mT / root(q)).detach(), "no gradient flows"),
    "no return": (lambda q, k: None, "is a `return` missing"),
}
INPUT_KINDS["6.2"] = {
    "scores": {
        "three equal axes": lambda arrays: len(set(arrays[0].shape)) == 1,
        "three different axes": lambda arrays: len(set(arrays[0].shape)) == 3,
        "one token": lambda arrays: arrays[0].shape[1] == 1,
        "one sequence": lambda arrays: len(arrays[0]) == 1,
    },
}

RIGHT["6.3"] = {
    "masked_fill": (fill_attend,),
    "torch's fused kernel, with identity values for the weights": (sdpa_attend,),
    "einsum and -1e10": (einsum_attend,),
    "exponentials below the largest score that is seen": (exponential_attend,),
    "the smallest number, rows closed by where": (smallest_attend,),
    "a logarithm of sums, keyword by keyword": (logsumexp_attend,),
}
WRONG["6.3"] = {
    "the mask turned round in place": (
        attend_with("~mask", "mask.logical_not_()"),
        "changes its argument mask in place",
    ),
    "rows without a key looked for in all heads": (
        attend_with(".nan_to_num(0.0)", ".masked_fill(~mask.any(1, keepdim=True), 0)"),
        "comes out as nan; it should be zero",
    ),
    "columns (004-8)": (attend_with("softmax(-1)", "softmax(-2)"), "runs over the queries"),
    "batch": (attend_with("softmax(-1)", "softmax(0)"), "runs over the batch"),
    "no scale": (attend_with(" / root(q)", ""), "are not divided by sqrt(d)"),
    "scale by d": (attend_with("root(q)", "q.shape[-1]"), "divided by d"),
    "mask after softmax": (
        attend_with(".masked_fill(~mask, -INF)", "", ".nan_to_num(0.0)", " * mask"),
        "comes after the softmax",
    ),
    "polarity": (attend_with("~mask", "mask"), "wrong way round (True means may look): it is off"),
    "polarity, nan where all was open": (
        attend_with("~mask", "mask", ".nan_to_num(0.0)", ""),
        "wrong way round (True means may look): the result contains nan",
    ),
    "mask by zero": (attend_with(".masked_fill(~mask, -INF)", " * mask"), "exp(0) = 1"),
    "no mask": (attend_with(".masked_fill(~mask, -INF)", ""), "no key is hidden"),
    "closed row uniform": (attend_with("-INF", "-1e9"), "shares its weight out equally"),
    "closed row nan": (attend_with(".nan_to_num(0.0)", ""), "comes out as nan"),
    "exponentials of large scores": (
        edited(renormalised_attend, "softmax(-1)", "exp()"),
        "exponentials of large scores are infinite",
    ),
    "the largest of all scores": (
        edited(exponential_attend, "amax(-1, keepdim=True)", "max()"),
        "takes away the largest score of each row",
    ),
    "softmax, mask, renormalise": (renormalised_attend, "nothing is left to share out"),
    "a gradient cut off": (attend_with("(q @", "(q.detach() @"), "gradient of q is off"),
    "hidden scores only low": (
        attend_with("-INF", "-20.0", ".nan_to_num(0.0)", " * mask.any(-1, keepdim=True)"),
        "not exactly 0",
    ),
    "hidden scores at -20, then zeroed": (
        attend_with("-INF", "-20.0", ".nan_to_num(0.0)", " * mask"),
        "may be seen near -150)",
    ),
    "hidden scores at -50, then zeroed": (
        attend_with("-INF", "-50.0", ".nan_to_num(0.0)", " * mask"),
        "a low number such as -20 or -10000 stands for a hidden score",
    ),
    "hidden scores at -100, then zeroed": (
        attend_with("-INF", "-100.0", ".nan_to_num(0.0)", " * mask"),
        "minus infinity does not: it is off",
    ),
    "hidden scores at -10000, then zeroed": (
        attend_with("-INF", "-1e4", ".nan_to_num(0.0)", " * mask"),
        "may be seen near -25000)",
    ),
    "view for transpose": (
        attend_with("swap(k)", "k.reshape(swap(k).shape)"),
        "`view` or `reshape` only renames the axes of k",
    ),
    "nan gradient": (nan_gradient, "contains nan"),
    "the mask of the last call of this shape": (WithLastMask(), "off by up to"),
    "places changed": (
        attend_with("weights @ v, weights", "weights, weights @ v"),
        "changed places",
    ),
    "context alone": (attend_with("@ v, weights", "@ v"), "1 tensor, where 2 are"),
}
INPUT_KINDS["6.3"] = {
    "attend": {
        "a row without any key": lambda arrays: not arrays[3].any(-1).all(),
        "nothing hidden": lambda arrays: arrays[3].all(),
        "one key": lambda arrays: arrays[1].shape[-2] == 1,
        "more keys than queries": lambda arrays: arrays[1].shape[-2] > arrays[0].shape[-2],
        "heads": lambda arrays: arrays[0].ndim == 4,
        "one mask for all sequences": lambda arrays: arrays[3].ndim == 2,
        "scores in the thousands": lambda arrays: np.abs(seen_and_hidden(arrays)[0]).max() > 1000,
        "scores that may be seen below -100, hidden ones above": lambda a: is_low(a, 100),
        "scores that may be seen below -10000, hidden ones above": lambda a: is_low(a, 10_000),
        "float32": lambda arrays: arrays[0].dtype == np.float32,
    },
}

RIGHT["6.4"] = {
    "boolean, True = may look": (lambda n: torch.ones(n, n, dtype=torch.bool).tril(),),
    "boolean, True = hidden": (lambda n: torch.ones(n, n, dtype=torch.bool).triu(1),),
    "added": (lambda n: torch.full((n, n), -INF).triu(1),),
    "added, -1e10, more axes": (lambda n: torch.full((1, 1, n, n), -1e10).triu(1),),
    "compared positions": (lambda n: torch.arange(n)[:, None] >= torch.arange(n),),
    "torch's own": (lambda n: nn.Transformer.generate_square_subsequent_mask(n),),
    "the smallest half": (
        lambda n: torch.full((n, n), torch.finfo(torch.float16).min, dtype=torch.half).triu(1),
    ),
}
WRONG["6.4"] = {
    "polarity by parity": (
        lambda n: (torch.arange(n)[:, None] >= torch.arange(n)) ^ bool(n % 2),
        "is not the same at every length",
    ),
    "zeros and ones": (lambda n: torch.tril(torch.ones(n, n)), "hide nothing"),
    "zeros and ones, whole": (
        lambda n: torch.tril(torch.ones(n, n, dtype=torch.long)),
        "no True and False",
    ),
    "strictly past": (lambda n: torch.ones(n, n).tril(-1).bool(), "cannot see itself"),
    "future": (lambda n: torch.ones(n, n).triu().bool(), "the mask is transposed"),
    "nothing hidden": (lambda n: torch.ones(n, n).bool(), "no key is hidden"),
    "one too far": (lambda n: torch.ones(n, n).tril(1).bool(), "just after it"),
    "nan": (lambda n: torch.ones(n, n).triu(1) * -INF, "0 times infinity"),
    "plus infinity": (lambda n: torch.full((n, n), INF).triu(1), "it gives nan (length"),
    "a nudge": (lambda n: torch.full((n, n), -1.0).triu(1) * 2, "of its weight on later keys"),
    "added, only -20": (lambda n: torch.full((n, n), -20.0).triu(1), "a low number such as -20"),
    "added, only -10000": (
        lambda n: torch.full((n, n), -1e4).triu(1),
        "minus infinity does not: a later key",
    ),
    "transposed, added": (lambda n: torch.full((n, n), -INF).tril(-1), "not the past (length"),
    "itself alone": (lambda n: torch.eye(n).bool(), "earlier ones are hidden too"),
    "one row": (lambda n: torch.ones(n, dtype=torch.bool), "has shape"),
    "lists": (lambda n: [[s <= t for s in range(n)] for t in range(n)], "returned list,"),
    "a table of 64 tokens": (
        lambda n: torch.ones(64, 64).bool().tril()[:n, :n],
        "(64, 64), expected (",
    ),
}
INPUT_KINDS["6.4"] = {
    "causal_mask": {
        "length 1": lambda arrays, T: T == 1,
        "length 2": lambda arrays, T: T == 2,
        "an odd length": lambda arrays, T: T > 2 and T % 2,
        "an even length": lambda arrays, T: T > 2 and not T % 2,
    },
}

RIGHT["6.5"] = {
    "view": (
        lambda x, h: x.view(*x.shape[:2], h, x.shape[2] // h).transpose(1, 2),
        lambda x: x.transpose(1, 2).contiguous().view(len(x), x.shape[2], -1),
    ),
    "chunks": (
        lambda x, h: torch.stack(x.chunk(h, -1), 1),
        lambda x: torch.cat(list(x.unbind(1)), -1),
    ),
    "slices": (
        index_split,
        lambda x: x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
    ),
    "unflatten": (cut, glue),
}
WRONG["6.5"] = {
    "view without transpose": ((view_heads, glue), "split by `view`"),
    "no transpose": ((lambda x, h: x.unflatten(-1, (h, -1)), glue), "after the tokens"),
    "interleaved": (
        (lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2), glue),
        "every H-th feature",
    ),
    "reversed": ((lambda x, h: cut(x, h).flip(1), glue), "come in reverse order"),
    "H for d (004-10)": (
        (lambda x, h: x.unflatten(-1, (-1, h)).transpose(1, 2), glue),
        "width and number of heads",
    ),
    "merge without transpose": ((cut, view_tokens), "merged by `view`"),
    "merge interleaves": ((cut, interleave), "are interleaved"),
    "merge reversed": ((cut, glue_reversed), "the last comes first"),
    "merge averages": ((cut, lambda x: x.mean(1)), "averaged, where they stand side by side"),
    "no merge": ((cut, None), "merge_heads is still empty"),
    "no split": ((None, glue), "split_heads is still empty"),
    "merge sums": ((cut, lambda x: x.sum(1)), "summed, where they stand side by side"),
    "no gradient through one of two": (
        (lambda x, h: cut(x.detach(), h), glue),
        "merge_heads is right. split_heads: the numbers are right, but no gradient",
    ),
    "a list of heads": ((lambda x, h: x.chunk(h, -1), glue), "tensors, where 1 is expected"),
    "view of swapped memory": (
        (cut, lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1)),
        "stopped with RuntimeError",
    ),
}
INPUT_KINDS["6.5"] = {
    "split_heads": {name: of_split(belongs) for name, belongs in HEADS.items()},
    "merge_heads": {name: of_merge(belongs) for name, belongs in HEADS.items()},
}

RIGHT["6.6"] = {
    "in steps": (Layer,),
    "torch's fused kernel": (WithSDPA,),
    "torch's own module inside": (WithTorchModule,),
    "torch's own function": (WithFunction,),
    "einsum and -1e10": (WithEinsum,),
    "a loop over the queries": (WithLoops,),
    "a loop over the heads": (WithHeadLoop,),
    "an additive mask in a buffer": (WithBuffer,),
    "a softmax in float32": (
        layer_with("softmax(-1)", "softmax(-1, dtype=torch.float32).type_as(scores)"),
    ),
    "torch's own module, time first, without weights": (WithTimeFirst,),
    "a mask that grows with the longest input": (WithCut,),
}
WRONG["6.6"] = {
    "forward still empty": (
        layer_with("q, k, v = self.split(x)", 'raise NotImplementedError("your answer here")'),
        "`forward` is still empty",
    ),
    "forward misspelt": (layer_with("def forward", "def foward"), 'the required "forward"'),
    "a softmax of whole numbers": (
        weights_with("look.long().softmax(-1)"),
        "not implemented for 'Long'",
    ),
    "the input doubled in place": (
        layer_with("q, k, v = self.split(x)", "x.data.mul_(2)\n        q, k, v = self.split(x)"),
        "forward changes its argument x in place",
    ),
    "hidden scores at -10": (layer_with("-INF", "-10.0"), "minus infinity does not: it is off"),
    "the mask of the first call": (WithFirstMask, "the mask has a fixed length"),
    "a mask of 8 tokens, cut to length": (
        edited(WithBuffer, "(1024, 1024)", "(8, 8)"),
        "stopped with RuntimeError",
    ),
    "keys of the first call of a shape": (WithFirstKeys, "of an earlier call again"),
    "every third call differs": (WithEveryThird, "weights or a mask of an earlier call"),
    "a cache of earlier calls": (
        WithCache,
        "keys, weights or a mask of an earlier call again; the",
    ),
    "softmax over queries (004-8)": (
        layer_with("softmax(-1)", "softmax(-2)"),
        "columns sum to one",
    ),
    "softmax over heads": (layer_with("softmax(-1)", "softmax(1).nan_to_num(0)"), "over the heads"),
    "no scale": (layer_with(" / root(q)", ""), "are not divided by sqrt(d)"),
    "scale by d": (layer_with("root(q)", "q.shape[-1]"), "divided by d,"),
    "scale by sqrt(D)": (layer_with("root(q)", "root(x)"), "divided by sqrt(D)"),
    "mask after softmax": (weights_with("scores.softmax(-1) * look"), "comes after the softmax"),
    "polarity": (
        layer_with("~look", "look", "softmax(-1)", "softmax(-1).nan_to_num(0)"),
        "and may look in this course and in scaled_dot_product_attention: it is off",
    ),
    "transposed mask": (layer_with("~look", "~look.mT"), "mask is transposed"),
    "strict mask": (
        layer_with("tril()", "tril(-1)", "softmax(-1)", "softmax(-1).nan_to_num(0)"),
        "a query cannot see itself, because the diagonal is hidden too: it is",
    ),
    "strict mask, nan for the first token": (
        layer_with("tril()", "tril(-1)"),
        "the diagonal is hidden too: the result contains nan",
    ),
    "strict mask, filled with -1e9": (
        layer_with("tril()", "tril(-1)", "-INF", "-1e9"),
        "because the diagonal",
    ),
    "one ahead": (layer_with("tril()", "tril(1)"), "shifted by one"),
    "one ahead, filled with -1e9": (
        layer_with("tril()", "tril(1)", "-INF", "-1e9"),
        "also sees the key just after it",
    ),
    "polarity, filled with -1e9": (
        layer_with("~look", "look", "-INF", "-1e9"),
        "the mask is the wrong way round",
    ),
    "hidden scores at -20": (
        layer_with("-INF", "-20.0"),
        "stands for a hidden score, and where the scores that may be seen are lower still",
    ),
    "hidden scores at -20, then zeroed": (
        layer_with("-INF", "-20.0", "softmax(-1)", "softmax(-1) * look"),
        "output 0 is wrong",
    ),
    "hidden scores at -10000": (layer_with("-INF", "-1e4"), "and not exactly 0, where"),
    "tril and renormalise": (
        weights_with("scores.softmax(-1).tril()", "@ v", "/ weights.sum(-1, keepdim=True) @ v"),
        "hide it before the softmax",
    ),
    "view for transpose": (
        layer_with("swap(k)", "k.reshape(swap(k).shape)"),
        "only renames the axes of k",
    ),
    "softmax over the batch": (
        layer_with("softmax(-1)", "softmax(0).nan_to_num(0)"),
        "over the batch",
    ),
    "the kernel's mask in torch's module (004-14)": (
        edited(WithTorchModule, "triu(1)", "tril()"),
        "wrong way round: True means hidden in nn.MultiheadAttention",
    ),
    "torch's module, batch_first forgotten (004-14)": (
        edited(WithTorchModule, ", batch_first=True", "", "x.shape[1]", "len(x)"),
        "batch and time have changed places",
    ),
    "torch's module without biases": (
        edited(WithTorchModule, "batch_first=True", "bias=False, batch_first=True"),
        "there is no parameter `query.bias`;",
    ),
    "values without a projection": (layer_with("self.value(x)", "x"), "`value` is missing"),
    "a layer, not its class": (Layer(12, 3), "the class itself"),
    "not a module": (NotAModule, "an nn.Module is expected"),
    "bfloat16": (finish_with("self.out(context).bfloat16()"), "it is off by up to"),
    "mask by zero": (weights_with("(scores * look).softmax(-1)"), "exp(0) = 1"),
    "no mask": (weights_with("scores.softmax(-1)"), "no key is hidden"),
    "view without transpose": (layer_with("cut(", "view_heads("), "split by `view`"),
    "merge without transpose": (layer_with("glue(", "view_tokens("), "merged by `view`"),
    "both without transpose": (
        layer_with("cut(", "view_heads(", "glue(", "view_tokens("),
        "split and merged by `view`",
    ),
    "heads interleaved": (layer_with("glue(", "interleave("), "features are interleaved"),
    "heads reversed": (layer_with("glue(", "glue_reversed("), "the last comes first"),
    "projection order (k, q, v)": (
        layer_with("self.query(x), self.key(x)", "self.key(x), self.query(x)"),
        "key, query, value for",
    ),
    "projection order (q, v, k)": (
        layer_with("self.key(x), self.value(x)", "self.value(x), self.key(x)"),
        "query, value, key for",
    ),
    "transposed projections": (layer_with("nn.Linear", "TurnedLinear"), "multiply by W"),
    "no output projection": (layer_with("self.out(context)", "context"), "`out`, is missing"),
    "detached": (thin_with("weights.detach()"), "gradient of x is off"),
    "dropout in eval": (
        thin_with("F.dropout(weights, self.attention_dropout.p)"),
        "attention_dropout is left on in eval",
    ),
    "residual dropout in eval": (
        finish_with("F.dropout(self.out(context), self.residual_dropout.p)"),
        "residual_dropout is left on in eval",
    ),
    "no attention dropout": (thin_with("weights"), "drop weights after"),
    "no residual dropout": (finish_with("self.out(context)"), "drop output features"),
    "dropouts swapped": (
        thin_with(
            "self.residual_dropout(weights)", "residual_dropout(self", "attention_dropout(self"
        ),
        "changed places",
    ),
    "dropout on the context": (
        layer_with("dropout(weights) @ v", "dropout(weights @ v)"),
        "whole weights",
    ),
    "dropout on whole value tokens": (
        thin_with(
            "weights", "@ v", "@ (v * self.attention_dropout(torch.ones_like(v[:, :1, :, :1])))"
        ),
        "independently: neighbouring queries",
    ),
    "one coin for all heads": (
        thin_with("weights * self.attention_dropout(torch.ones_like(weights[:, :1]))"),
        "independently: neighbouring heads",
    ),
    "one coin for a feature of all tokens": (
        finish_with("self.out(context) * self.residual_dropout(torch.ones_like(context[:, :1]))"),
        "independently: neighbouring tokens",
    ),
    "dropout that is not scaled up": (
        thin_with("weights * (self.attention_dropout(torch.ones_like(weights)) > 0)"),
        "does not drop whole weights: it acts somewhere",
    ),
    "residual dropout too early": (
        finish_with("self.out(self.residual_dropout(context))"),
        "too early",
    ),
    "dropout of the kernel in eval": (
        edited(WithSDPA, "if self.training else 0.0", ""),
        "moves by up to",
    ),
    "dropout on the scores": (
        thin_with("weights", "scores.masked", "self.attention_dropout(scores).masked"),
        "attention_dropout changes nothing",
    ),
    "residual connection inside": (
        layer_with("return self.finish", "return x + self.finish"),
        "the input is added",
    ),
    "returns a pair": (layer_with("@ v))", "@ v)), None"), "returned a tuple"),
    "names of its own": (OtherNames, "(there is wq.weight, wq.bias, wk.weight"),
    "projections packed into one": (Packed, "named and shaped query.weight (12, 12)"),
    "chunked heads (004-11)": (
        layer_with("D, D) for _ in range(4)", "D, d) for d in (D // num_heads, D, D, D)"),
        "`query.weight` has shape (4, 12)",
    ),
}
INPUT_KINDS["6.6"] = {
    "CausalSelfAttention": {
        **{name: of_layer(belongs) for name, belongs in HEADS.items()},
        "later scores far above all others": lambda sizes, parameters, x: x[..., 0].min() < -1e4,
        "equal scores": lambda sizes, parameters, x: not parameters["key.weight"].any(),
    },
}

RIGHT["6.7"] = {
    "factored": (num_parameters, lambda T, D, H: 4 * T * D * (2 * D + T)),
    "sums over the products": (
        lambda D, H: sum([D * D, D] * 4),
        lambda T, D, H: 2 * (4 * T * D * D + 2 * H * T * T * (D // H)),
    ),
    "counted by torch": (
        lambda D, H: sum(p.numel() for p in nn.MultiheadAttention(D, H).parameters()),
        counted_by_torch,
    ),
}
WRONG["6.7"] = {
    "no biases": (parameters_with(" + D", ""), "the biases are missing"),
    "three projections": (parameters_with("4 *", "3 *"), "one projection"),
    "three matrices": (parameters_with("4 *", "3 *", " + D", ""), "and the biases are missing"),
    "times heads": (parameters_with("4 *", "H * 4 *"), "of the full width"),
    "chunked heads (004-11)": (
        parameters_with("D * D", "D * D // H"),
        "chunk of the input; a head",
    ),
    "projections alone": (flops_with(" + 4 * T * T * D", ""), "all pairs of tokens are missing"),
    "pairs alone": (flops_with("8 * T * D * D + ", ""), "the projections are missing"),
    "one product, or half of the pairs": (
        flops_with("4 * T * T", "2 * T * T"),
        "half of the work on pairs of tokens",
    ),
    "pairs that may be seen": (
        flops_with("4 * T * T", "2 * T * (T + 1)"),
        "only pairs that may be seen",
    ),
    "heads at full width": (flops_with("4 *", "4 * H *"), "with the full width"),
    "one addition fewer": ((num_parameters, one_addition_fewer), "k products take k - 1 additions"),
    "T and D changed places": (
        flops_with("8 * T * D * D + 4 * T * T", "8 * T * T * D + 4 * T * D"),
        "0.7451 of what",
    ),
    "multiply-adds": (
        (num_parameters, lambda T, D, H: 4 * T * D * D + 2 * T * T * D),
        "are two operations, and you count one",
    ),
    "only parameters": ((num_parameters, None), "num_flops is still empty"),
    "something else": ((num_parameters, lambda T, D, H: T * D), "0.0004085 of what"),
    "rounded": (
        (num_parameters, lambda T, D, H: round(num_flops(T, D, H), -3)),
        "num_parameters is right. num_flops: 62,669,000 operations at T = 100, D = 256, 8 heads, which is "
        "1.000003 of what",
    ),
}
INPUT_KINDS["6.7"] = {
    "num_parameters": {
        "one head": lambda D, H: H == 1,
        "an odd width": lambda D, H: D % 2,
    },
    "num_flops": {
        "one head": lambda T, D, H: H == 1,
        "fewer tokens than features": lambda T, D, H: T < D,
        "more tokens than features": lambda T, D, H: T > D,
    },
}
