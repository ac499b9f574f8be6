"""Right and wrong answers to 7.1 and 7.2, each wrong one with a fragment of the message it must get."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bank import edited
from bank.transformer_attention import HEADS, INF, cut, glue, of_layer, view_heads, view_tokens  # noqa: F401


class Synthesizer(nn.Module):
    def __init__(self, D, num_heads, max_length, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.A, self.value, self.out = (nn.Linear(D, D) for _ in range(3))
        self.B = nn.Parameter(torch.randn(num_heads, D // num_heads, max_length))
        self.b2 = nn.Parameter(torch.zeros(max_length))
        self.attention_dropout = nn.Dropout(attention_dropout)
        self.residual_dropout = nn.Dropout(residual_dropout)

    def finish(self, context):
        return self.residual_dropout(self.out(context))

    def forward(self, x):
        T = x.shape[1]
        hidden = cut(self.A(x).relu(), self.num_heads)
        scores = hidden @ self.B[..., :T] + self.b2[:T]
        look = torch.ones(T, T, dtype=torch.bool).tril()
        weights = scores.masked_fill(~look, -INF).softmax(-1)
        values = cut(self.value(x), self.num_heads)
        return self.finish(glue(self.attention_dropout(weights) @ values))


layer_with = partial(edited, Synthesizer)
scores_with = partial(layer_with, "hidden @ self.B[..., :T] + self.b2[:T]")
weights_with = partial(layer_with, "scores.masked_fill(~look, -INF).softmax(-1)")


class WithEinsum(Synthesizer):
    def forward(self, x):
        T, H = x.shape[1], self.num_heads
        hidden = F.relu(self.A(x)).unflatten(-1, (H, -1))  # (B, T, H, d)
        scores = torch.einsum("bthi,his->bhts", hidden, self.B)[..., :T] + self.b2[:T]
        weights = (scores + torch.full((T, T), -1e10, dtype=x.dtype).triu(1)).softmax(-1)
        value = self.value(x).unflatten(-1, (H, -1))
        context = torch.einsum("bhts,bshi->bthi", self.attention_dropout(weights), value)
        return self.finish(context.flatten(2))


class WithHeadLoop(Synthesizer):
    def forward(self, x):
        heads, T = [], x.shape[1]
        hidden, values = (
            p.chunk(self.num_heads, -1) for p in (self.A(x).clamp(min=0), self.value(x))
        )
        for h, v, B in zip(hidden, values, self.B, strict=True):
            scores = (h @ B + self.b2)[..., :T]
            later = torch.full_like(scores, -INF).triu(1)
            heads.append(self.attention_dropout((scores + later).softmax(-1)) @ v)
        return self.finish(torch.cat(heads, -1))


class WithRowLoop(Synthesizer):
    def forward(self, x):
        hidden, v = cut(self.A(x).relu(), self.num_heads), cut(self.value(x), self.num_heads)
        rows = []
        for t in range(x.shape[1]):
            scores = hidden[:, :, t, None] @ self.B[..., : t + 1] + self.b2[: t + 1]
            rows.append(self.attention_dropout(scores.softmax(-1)) @ v[:, :, : t + 1])
        return self.finish(glue(torch.cat(rows, 2)))


class WithAllColumns(Synthesizer):
    """All max_length columns, those beyond the sequence hidden like the future; values padded."""

    def forward(self, x):
        T, longest = x.shape[1], self.b2.shape[0]
        future = torch.ones(T, longest, dtype=torch.bool).triu(1)
        scores = torch.matmul(cut(F.relu(self.A(x)), self.num_heads), self.B).add(self.b2)
        weights = F.softmax(torch.where(future, torch.tensor(-INF), scores), dim=-1)
        values = F.pad(cut(self.value(x), self.num_heads), (0, 0, 0, longest - T))
        return self.finish(glue(self.attention_dropout(weights) @ values))


class WithKeptWeights(Synthesizer):
    """The weights of the first call of a length, averaged over the batch, are used ever after."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.kept = {}

    def forward(self, x):
        T = x.shape[1]
        hidden = cut(self.A(x).relu(), self.num_heads)
        scores = hidden @ self.B[..., :T] + self.b2[:T]
        look = torch.ones(T, T, dtype=torch.bool).tril()
        weights = scores.masked_fill(~look, -INF).softmax(-1)
        weights = self.kept.setdefault(x.shape, weights)
        values = cut(self.value(x), self.num_heads)
        return self.finish(glue(self.attention_dropout(weights) @ values))


def changed_first(T, D, t):
    x = np.random.default_rng(1).normal(size=(T, D))
    other = x.copy()
    other[0] += 3
    return x, other


def swapped_or_scaled(T, D, t):
    x = torch.randn(T, D, generator=torch.Generator().manual_seed(2))
    other = torch.cat([-2 * x[:t], x[t:]])
    return x, other


def unit_vectors(T, D, t):
    x, other = np.ones((T, D)), np.ones((T, D))
    other[:t] = 2 * np.eye(D)[0]
    return [x.tolist(), other.tolist()]


def differ_at(where, by=1.0):
    def two_inputs(T, D, t):
        x = np.random.default_rng(3).normal(size=(T, D))
        other = x.copy()
        other[where(t)] += by
        return x, other

    return two_inputs


def zero_at_t(T, D, t):
    x, other = changed_first(T, D, t)
    x[t] = other[t] = 0
    return x, other


def drawn(T, D, t):
    x = torch.randn(T, D)
    other = torch.randn(T, D)
    other[t] = x[t]
    return x, other


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["7.1"] = {
    "in steps": (Synthesizer,),
    "einsum and -1e10": (WithEinsum,),
    "a loop over the heads": (WithHeadLoop,),
    "a loop over the queries": (WithRowLoop,),
    "all columns, hidden beyond the sequence": (WithAllColumns,),
}
WRONG["7.1"] = {
    "forward still empty": (
        layer_with("T = x.shape[1]", 'raise NotImplementedError("your answer here")'),
        "`forward` is still empty",
    ),
    "the input doubled in place": (
        layer_with("T = x.shape[1]", "x.data.mul_(2)\n        T = x.shape[1]"),
        "forward changes its argument x in place",
    ),
    "weights kept by shape": (WithKeptWeights, "weights or a mask of an earlier call again"),
    "a mask for 8 tokens": (
        layer_with(
            "torch.ones(T, T, dtype=torch.bool)", "torch.ones(8, 8, dtype=torch.bool)[:T, :T]"
        ),
        "the mask has a fixed length",
    ),
    "no ReLU": (layer_with(".relu()", ""), "the ReLU is missing"),
    "ReLU on the scores": (
        layer_with(".relu()", "", "weights = scores", "weights = scores.relu()"),
        "ReLU comes after B",
    ),
    "no b1": (layer_with("self.A(x)", "(x @ self.A.weight.mT)"), "b1, the bias of A"),
    "no b2": (layer_with(" + self.b2[:T]", ""), "b2 is missing, or is"),
    "b2 along the queries": (
        layer_with("self.b2[:T]", "self.b2[:T, None]"),
        "added along the queries",
    ),
    "shared B": (layer_with("self.B[..., :T]", "self.B[0, :, :T]"), "B of the first head"),
    "last columns": (scores_with("hidden @ self.B[..., -T:] + self.b2[-T:]"), "the last T columns"),
    "b2 from the end": (layer_with("self.b2[:T]", "self.b2[-T:]"), "b2 are taken from the end"),
    "scaled": (
        layer_with("scores.masked", "(scores / hidden.shape[-1] ** 0.5).masked"),
        "divided by sqrt(d)",
    ),
    "softmax over queries": (layer_with("softmax(-1)", "softmax(-2)"), "columns sum to one"),
    "mask after softmax": (weights_with("scores.softmax(-1) * look"), "comes after the softmax"),
    "no mask": (weights_with("scores.softmax(-1)"), "no key is hidden"),
    "strict mask": (
        layer_with("tril()", "tril(-1)", "softmax(-1)", "softmax(-1).nan_to_num(0)"),
        "cannot see itself, because the diagonal",
    ),
    "merge without transpose": (layer_with("glue(", "view_tokens("), "merged by `view`"),
    "one ahead, filled with -1e9": (
        layer_with("tril()", "tril(1)", "-INF", "-1e9"),
        "shifted by one",
    ),
    "transposed mask": (layer_with("~look", "~look.mT"), "mask is transposed"),
    "polarity": (layer_with("~look", "look"), "the wrong way round"),
    "softmax over the heads": (
        layer_with("-INF", "-1e9", "softmax(-1)", "softmax(1)"),
        "over the heads",
    ),
    "mask by zero": (weights_with("(scores * look).softmax(-1)"), "exp(0) = 1"),
    "hidden scores at -20": (layer_with("-INF", "-20.0"), "a low number such as -20"),
    "hidden scores at -50, then zeroed": (
        layer_with("-INF", "-50.0", "softmax(-1)", "softmax(-1) * look"),
        "output 0 is wrong",
    ),
    "tril and renormalise": (
        weights_with("scores.softmax(-1).tril()", "@ v", "/ weights.sum(-1, keepdim=True) @ v"),
        "hide it before the softmax",
    ),
    "view for heads, in the hidden features": (
        layer_with("cut(self.A", "view_heads(self.A"),
        "in the hidden features, the heads are split by `view`",
    ),
    "view for heads, in the values": (
        layer_with("cut(self.value", "view_heads(self.value"),
        "in the values, the heads are split by `view`",
    ),
    "view for heads, in both": (layer_with("cut(", "view_heads("), "mixes several tokens: it"),
    "residual connection inside": (
        layer_with("return self.finish", "return x + self.finish"),
        "the input is added",
    ),
    "no output projection": (layer_with("self.out(context)", "context"), "`out`, is missing"),
    "dropout in eval": (
        layer_with(
            "self.attention_dropout(weights)", "F.dropout(weights, self.attention_dropout.p)"
        ),
        "left on in eval",
    ),
    "no residual dropout": (
        layer_with("self.residual_dropout(self.out(context))", "self.out(context)"),
        "drop output features",
    ),
    "still keys and queries": (scores_with("hidden @ hidden.mT"), "off by up to"),
}
INPUT_KINDS["7.1"] = {
    "SynthesizerAttention": {
        **{name: of_layer(belongs) for name, belongs in HEADS.items()},
        "shorter than the longest": lambda sizes, parameters, x: x.shape[1] < sizes[2],
        "as long as the longest": lambda sizes, parameters, x: x.shape[1] == sizes[2],
        "later scores far above all others": lambda sizes, parameters, x: (
            parameters["b2"].min() < -1e4
        ),
    },
}

RIGHT["7.2"] = {
    "the first token moved": (changed_first,),
    "the past scaled, torch tensors": (swapped_or_scaled,),
    "by hand, as lists": (unit_vectors,),
    "zero at t": (zero_at_t,),
    "zeros but for the first token": (
        lambda T, D, t: (np.zeros((T, D)), np.eye(T, 1) * np.ones(D)),
    ),
    "drawn anew at each call": (drawn,),
    "a small step": (differ_at(lambda t: 0, 1e-2),),
    "past and future": (
        lambda T, D, t: (
            np.eye(T, D) + 1,
            np.where(np.arange(T)[:, None] == t, 1, -1) * (np.eye(T, D) + 1),
        ),
    ),
}
WRONG["7.2"] = {
    "differ at t": (differ_at(lambda t: t), "at position t itself, by 1 ("),
    "the same": (differ_at(lambda t: 0, 0.0), "are the same"),
    "differ after t": (
        lambda T, D, t: differ_at(lambda t: slice(t + 1, None))(T, D, t),
        "only after t",
    ),
    "differ by a hair": (differ_at(lambda t: 0, 1e-9), "changes by only"),
    "so large that one key takes all": (
        lambda T, D, t: tuple(1e6 * x for x in changed_first(T, D, t)),
        "are so large that one key takes all the weight",
    ),
    "too large for any layer": (
        lambda T, D, t: (np.full((T, D), 1e308), np.full((T, D), 1e308)),
        "overflow in a layer",
    ),
    "too large in the past": (differ_at(lambda t: 0, 1e308), "numbers of this size"),
    "drawn, and different at t": (
        lambda T, D, t: (np.random.randn(T, D), np.random.randn(T, D)),
        "position t itself, by",
    ),
    "one input": (lambda T, D, t: np.ones((T, D)), "two arrays"),
    "wrong shape": (lambda T, D, t: (np.ones(D), np.ones(D)), "the shape of"),
}
INPUT_KINDS["7.2"] = {
    "two_inputs": {
        "the last position": lambda rows: any(t == T - 1 for T, D, t in rows),
        "tokens after t": lambda rows: any(t < T - 1 for T, D, t in rows),
        "one token before t": lambda rows: any(t == 1 for T, D, t in rows),
        "fewer features than tokens": lambda rows: any(D < T for T, D, t in rows),
    },
}
