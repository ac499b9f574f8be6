"""Right and wrong answers to 7.1 and 7.2, each wrong one with a fragment of the message it must get."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .transformer_attention import (
    HEADS,
    INF,
    cut,
    glue,
    low_fill,
    of_layer,
    one_ahead,
    tril_and_renormalise,
)


class Layer(nn.Module):
    """The layer in steps, any of which a mistake may replace."""

    def __init__(self, D, num_heads, max_length, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.A, self.value, self.out = (nn.Linear(D, D) for _ in range(3))
        self.B = nn.Parameter(torch.randn(num_heads, D // num_heads, max_length))
        self.b2 = nn.Parameter(torch.zeros(max_length))
        self.attention_dropout = nn.Dropout(attention_dropout)
        self.residual_dropout = nn.Dropout(residual_dropout)

    def scores(self, x, T):
        return cut(self.A(x).relu(), self.num_heads) @ self.B[..., :T] + self.b2[:T]

    def weigh(self, scores, look):
        return scores.masked_fill(~look, -INF).softmax(-1)

    def thin(self, weights):
        return self.attention_dropout(weights)

    split_values = staticmethod(cut)

    def merge(self, context):
        return glue(context)

    def finish(self, context):
        return self.residual_dropout(self.out(context))

    def forward(self, x):
        T = x.shape[1]
        look = torch.ones(T, T, dtype=torch.bool).tril()
        weights = self.thin(self.weigh(self.scores(x, T), look))
        values = type(self).split_values(self.value(x), self.num_heads)
        return self.finish(self.merge(weights @ values))


def but(**steps):
    """The layer with some steps replaced."""
    return type("SynthesizerAttention", (Layer,), steps)


class WithEinsum(Layer):
    def forward(self, x):
        T, H = x.shape[1], self.num_heads
        hidden = F.relu(self.A(x)).unflatten(-1, (H, -1))  # (B, T, H, d)
        scores = torch.einsum("bthi,his->bhts", hidden, self.B)[..., :T] + self.b2[:T]
        weights = (scores + torch.full((T, T), -1e10, dtype=x.dtype).triu(1)).softmax(-1)
        value = self.value(x).unflatten(-1, (H, -1))
        context = torch.einsum("bhts,bshi->bthi", self.attention_dropout(weights), value)
        return self.finish(context.flatten(2))


class WithHeadLoop(Layer):
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


class WithRowLoop(Layer):
    def forward(self, x):
        hidden, v = cut(self.A(x).relu(), self.num_heads), cut(self.value(x), self.num_heads)
        rows = []
        for t in range(x.shape[1]):
            scores = hidden[:, :, t, None] @ self.B[..., : t + 1] + self.b2[: t + 1]
            rows.append(self.attention_dropout(scores.softmax(-1)) @ v[:, :, : t + 1])
        return self.finish(glue(torch.cat(rows, 2)))


class WithAllColumns(Layer):
    """All max_length columns, those beyond the sequence hidden like the future; values padded."""

    def forward(self, x):
        T, longest = x.shape[1], self.b2.shape[0]
        future = torch.ones(T, longest, dtype=torch.bool).triu(1)
        scores = torch.matmul(cut(F.relu(self.A(x)), self.num_heads), self.B).add(self.b2)
        weights = F.softmax(torch.where(future, torch.tensor(-INF), scores), dim=-1)
        values = F.pad(cut(self.value(x), self.num_heads), (0, 0, 0, longest - T))
        return self.finish(glue(self.attention_dropout(weights) @ values))


class WithResidual(Layer):
    def forward(self, x):
        return x + super().forward(x)


def view_heads(x, num_heads):
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def linear_A(self, x):
    return cut(self.A(x), self.num_heads)


def hidden(self, x):
    return cut(self.A(x).relu(), self.num_heads)


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


RIGHT = {
    "7.1": {
        "in steps": (Layer,),
        "einsum and -1e10": (WithEinsum,),
        "a loop over the heads": (WithHeadLoop,),
        "a loop over the queries": (WithRowLoop,),
        "all columns, hidden beyond the sequence": (WithAllColumns,),
    },
    "7.2": {
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
    },
}

WRONG = {
    "7.1": {
        "no ReLU": (
            (but(scores=lambda s, x, T: linear_A(s, x) @ s.B[..., :T] + s.b2[:T]),),
            "the ReLU is missing",
        ),
        "ReLU on the scores": (
            (but(scores=lambda s, x, T: (linear_A(s, x) @ s.B[..., :T] + s.b2[:T]).relu()),),
            "ReLU comes after B",
        ),
        "no b1": (
            (
                but(
                    scores=lambda s, x, T: (
                        cut((x @ s.A.weight.mT).relu(), s.num_heads) @ s.B[..., :T] + s.b2[:T]
                    )
                ),
            ),
            "b1, the bias of A",
        ),
        "no b2": (
            (but(scores=lambda s, x, T: hidden(s, x) @ s.B[..., :T]),),
            "b2 is missing, or is",
        ),
        "b2 along the queries": (
            (but(scores=lambda s, x, T: hidden(s, x) @ s.B[..., :T] + s.b2[:T, None]),),
            "added along the queries",
        ),
        "shared B": (
            (but(scores=lambda s, x, T: hidden(s, x) @ s.B[0, :, :T] + s.b2[:T]),),
            "B of the first head",
        ),
        "last columns": (
            (but(scores=lambda s, x, T: hidden(s, x) @ s.B[..., -T:] + s.b2[-T:]),),
            "the last T columns",
        ),
        "b2 from the end": (
            (but(scores=lambda s, x, T: hidden(s, x) @ s.B[..., :T] + s.b2[-T:]),),
            "b2 are taken from the end",
        ),
        "scaled": (
            (
                but(
                    scores=lambda s, x, T: (
                        (hidden(s, x) @ s.B[..., :T] + s.b2[:T]) / s.B.shape[1] ** 0.5
                    )
                ),
            ),
            "divided by sqrt(d)",
        ),
        "softmax over queries": (
            (but(weigh=lambda s_, s, look: s.masked_fill(~look, -INF).softmax(-2)),),
            "columns sum to one",
        ),
        "mask after softmax": (
            (but(weigh=lambda s_, s, look: s.softmax(-1) * look),),
            "comes after the softmax",
        ),
        "no mask": ((but(weigh=lambda s_, s, look: s.softmax(-1)),), "no key is hidden"),
        "strict mask": (
            (
                but(
                    weigh=lambda s_, s, look: (
                        s.masked_fill(~look.tril(-1), -INF).softmax(-1).nan_to_num(0)
                    )
                ),
            ),
            "cannot see itself, because the diagonal",
        ),
        "merge without transpose": (
            (but(merge=lambda s, x: x.reshape(x.shape[0], x.shape[2], -1)),),
            "merged by `view`",
        ),
        "one ahead, filled with -1e9": (
            (but(weigh=lambda s_, s, look: s.masked_fill(~one_ahead(look), -1e9).softmax(-1)),),
            "shifted by one",
        ),
        "transposed mask": (
            (but(weigh=lambda s_, s, look: s.masked_fill(~look.mT, -INF).softmax(-1)),),
            "mask is transposed",
        ),
        "polarity": (
            (but(weigh=lambda s_, s, look: s.masked_fill(look, -INF).softmax(-1)),),
            "the wrong way round",
        ),
        "softmax over the heads": (
            (but(weigh=lambda s_, s, look: s.masked_fill(~look, -1e9).softmax(1)),),
            "over the heads",
        ),
        "mask by zero": ((but(weigh=lambda s_, s, look: (s * look).softmax(-1)),), "exp(0) = 1"),
        "hidden scores at -20": (
            (but(weigh=lambda s_, s, look: s.masked_fill(~look, -20.0).softmax(-1)),),
            "a low number such as -20",
        ),
        "hidden scores at -50, then zeroed": (
            (but(weigh=lambda s_, s, look: low_fill(-50.0)(s, look)),),
            "output 0 is wrong",
        ),
        "tril and renormalise": ((but(weigh=tril_and_renormalise),), "hide it before the softmax"),
        "view for heads, in the hidden features": (
            (
                but(
                    scores=lambda s, x, T: (
                        view_heads(s.A(x).relu(), s.num_heads) @ s.B[..., :T] + s.b2[:T]
                    )
                ),
            ),
            "in the hidden features, the heads are split by `view`",
        ),
        "view for heads, in the values": (
            (but(split_values=view_heads),),
            "in the values, the heads are split by `view`",
        ),
        "view for heads, in both": (
            (
                but(
                    split_values=view_heads,
                    scores=lambda s, x, T: (
                        view_heads(s.A(x).relu(), s.num_heads) @ s.B[..., :T] + s.b2[:T]
                    ),
                ),
            ),
            "mixes several tokens: it",
        ),
        "residual connection inside": ((WithResidual,), "the input is added"),
        "no output projection": (
            (but(finish=lambda s, c: s.residual_dropout(c)),),
            "`out`, is missing",
        ),
        "dropout in eval": (
            (but(thin=lambda s, w: F.dropout(w, s.attention_dropout.p)),),
            "left on in eval",
        ),
        "no residual dropout": ((but(finish=lambda s, c: s.out(c)),), "drop output features"),
        "still keys and queries": (
            (but(scores=lambda s, x, T: hidden(s, x) @ hidden(s, x).mT),),
            "off by up to",
        ),
    },
    "7.2": {
        "differ at t": ((differ_at(lambda t: t),), "at position t itself, by 1 ("),
        "the same": ((differ_at(lambda t: 0, 0.0),), "are the same"),
        "differ after t": (
            (lambda T, D, t: differ_at(lambda t: slice(t + 1, None))(T, D, t),),
            "only after t",
        ),
        "differ by a hair": ((differ_at(lambda t: 0, 1e-9),), "changes by only"),
        "too large for any layer": (
            (lambda T, D, t: (np.full((T, D), 1e308), np.full((T, D), 1e308)),),
            "overflow in a layer",
        ),
        "too large in the past": ((differ_at(lambda t: 0, 1e308),), "numbers of this size"),
        "drawn, and different at t": (
            (lambda T, D, t: (np.random.randn(T, D), np.random.randn(T, D)),),
            "position t itself, by",
        ),
        "one input": ((lambda T, D, t: np.ones((T, D)),), "two arrays"),
        "wrong shape": ((lambda T, D, t: (np.ones(D), np.ones(D)),), "the shape of"),
    },
}


REGIMES = {
    "7.1": {
        "SynthesizerAttention": {
            **{name: of_layer(belongs) for name, belongs in HEADS.items()},
            "shorter than the longest": lambda sizes, parameters, x: x.shape[1] < sizes[2],
            "as long as the longest": lambda sizes, parameters, x: x.shape[1] == sizes[2],
            "later scores far above all others": lambda sizes, parameters, x: (
                parameters["b2"].min() < -1e4
            ),
        },
    },
    "7.2": {
        "two_inputs": {
            "the last position": lambda rows: any(t == T - 1 for T, D, t in rows),
            "tokens after t": lambda rows: any(t < T - 1 for T, D, t in rows),
            "one token before t": lambda rows: any(t == 1 for T, D, t in rows),
            "fewer features than tokens": lambda rows: any(D < T for T, D, t in rows),
        },
    },
}
