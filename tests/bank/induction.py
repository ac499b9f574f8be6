"""Right and wrong answers to 14.1-14.7, each wrong one with a fragment of the message it must get."""

import math
from functools import partial

import numpy as np
import sympy as sp
import torch

from attn_course import derive
from attn_utils import softmax
from bank import edited

# Helpers such as finds("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# The stream: token, before, after (num_letters each), place (length)


def places(V, P):
    token, before, after = (slice(k * V, (k + 1) * V) for k in range(3))
    return token, before, after, slice(3 * V, 3 * V + P)


def empty(V, P):
    D = 3 * V + P
    return np.zeros((D, D)), np.zeros((D, D))


def rotation(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


# 14.1


def previous_token_head(V, P):
    qk, ov = empty(V, P)
    token, before, _after, place = places(V, P)
    qk[place, place] = 50 * np.eye(P, k=-1)
    ov[token, before] = np.eye(V)
    return qk, ov


previous = partial(edited, previous_token_head)
looks = partial(previous, "50 * np.eye(P, k=-1)")


RIGHT["14.1"] = {
    "a diagonal": previous_token_head,
    "wrapped around": looks("50 * np.roll(np.eye(P), -1, 1)"),
    "a penalty": looks("-40 * (1 - np.eye(P, k=-1))"),
    "a parabola": looks("-20 * (np.arange(P)[:, None] - np.arange(P) - 1) ** 2"),
    "latest but itself": looks("30 * np.arange(P) - 1000 * np.eye(P)"),
    "by factors": looks("8 * (P + 1) ** 2 * rotation(P + 1, 0)[:P] @ rotation(P + 1, 0)[1:].T"),
    "very sharp": looks("1e6 * np.eye(P, k=-1)"),
    "one array of two": lambda V, P: np.array(previous_token_head(V, P)),
}
WRONG["14.1"] = {
    "one ahead": (looks("50 * np.eye(P, k=1)"), "the place after its own"),
    "itself": (looks("50 * np.eye(P)"), "looks at itself"),
    "two back": (looks("50 * np.eye(P, k=-2)"), "two places back"),
    "soft": (looks("2 * np.eye(P, k=-1)"), "make the scores larger"),
    "by letter": (
        previous("qk[place, place] = 50 * np.eye(P, k=-1)", "qk[token, token] = 50 * np.eye(V)"),
        "depends on the letters",
    ),
    "zero": (looks("0"), "All places get the same weight"),
    "copies all": (
        previous("return", "np.fill_diagonal(ov, 1.0)\n    return"),
        "also writes into `token`",
    ),
    "into after": (previous("token, before]", "token, _after]"), "nothing arrives in `before`."),
    "transposed": (previous("token, before]", "before, token]"), "rows of W_OV read"),
    "doubled": (previous("= np.eye(V)", "= 2 * np.eye(V)"), "2 times instead of once"),
    "place alone": (
        previous("return qk, ov", "return qk[place, place], np.eye(P)"),
        "the whole stream, not one subspace",
    ),
    "infinity": (
        previous("return", "qk[qk == 0] = -np.inf\n    return"),
        "0 times infinity is not a number",
    ),
    "exchanged": (previous("return qk, ov", "return ov, qk"), "in the wrong order"),
    "sign": (looks("-50 * np.eye(P, k=-1)"), "has the lowest score of all"),
    "last place forgotten": (previous("return", "qk[-1] = 0\n    return"), "The token at place"),
    "twenty places, as in the notebook": (
        previous("return", "qk[:, place.start + 20 :] = 0\n    return"),
        "(length 24)",
    ),
}
INPUT_KINDS["14.1"] = {
    "previous_token_head": {
        "two letters": lambda V, P: V == 2,
        "more places than letters": lambda V, P: P > V,
        "twelve places": lambda V, P: P == 12,
        "more places than in the notebook": lambda V, P: P > 20,
    }
}

# 14.2


def induction_head(V, P):
    qk, ov = empty(V, P)
    token, before, after, place = places(V, P)
    qk[token, before] = 50 * np.eye(V)
    qk[token, place.start] = -100
    ov[token, after] = np.eye(V)
    return qk, ov


finds = partial(edited, induction_head)

RIGHT["14.2"] = {
    "letter against predecessor": induction_head,
    "guarded by place": finds("token, place.start", "place, place.start"),
    "mismatch penalised": finds("50 * np.eye(V)", "-60 * (1 - np.eye(V))"),
    "others lifted": finds("place.start] = -100", "place.start + 1 : place.stop] = 200"),
    "very sharp": finds("50", "5e4", "-100", "-1e5"),
    "by a rotation": finds("50 * np.eye(V)", "60 * rotation(V, 1) @ rotation(V, 1).T"),
    "one array of two": lambda V, P: np.array(induction_head(V, P)),
}
WRONG["14.2"] = {
    "token against token": (finds("token, before]", "token, token]"), "says it again"),
    "transposed": (
        finds("token, before]", "before, token]", "-100", "0"),
        "the letter before yours",
    ),
    "before against before": (
        finds("token, before]", "before, before]", "-100", "0"),
        "what stood before the key;",
    ),
    "no guard": (finds("-100", "0"), "weight goes to place 0"),
    "guard's sign": (finds("-100", "100"), "everything goes to place 0"),
    "two guards": (finds("place.start]", "place][:, :2]"), "what stood at place 1 is never found"),
    "reads before": (finds("ov[token", "ov[before"), "W_OV reads `before`"),
    "soft": (finds("50", "2", "-100", "-4"), "too soft"),
    "slope": (
        finds("50", "500", "-100", "-1000\n    qk[token, place] += 10 * np.arange(P)"),
        "the latest occurrence gets all",
    ),
    "zero": (finds("50", "0", "-100", "0"), "no score depends on the letters"),
    "other subspace": (finds("token, after]", "token, before]"), "nothing arrives in `after`."),
    "W_OV transposed": (finds("token, after]", "after, token]"), "rows of W_OV read"),
    "doubled": (finds("= np.eye(V)", "= 2 * np.eye(V)"), "add up to 2"),
    "exchanged": (finds("return qk, ov", "return ov, qk"), "in the wrong order"),
    "guard at place 1": (finds("start]", "start + 1]"), "place 1 is hidden in place of place 0"),
    "sign of the scores": (finds("50", "-50", "-100", "-200"), "a place that matches is avoided"),
    "itself too": (
        finds("-100", "-100\n    qk[token, token] = 50 * np.eye(V)"),
        "it finds the letter itself too",
    ),
    "never its own place": (
        finds("-100", "-100\n    qk[place, place] = -500 * np.eye(P)"),
        "in a doubled letter",
    ),
    "one back": (previous("token, before]", "token, _after]"), "that is the head of 14.1"),
}
INPUT_KINDS["14.2"] = {"induction_head": {"six letters or more": lambda V, P: V >= 6 and P >= 14}}

# 14.3

s = sp.Symbol("s", real=True)
n_0, n_1, f_0, f_1 = sp.symbols("n_0 n_1 f_0 f_1", positive=True)
alpha = sp.Symbol("alpha", positive=True)
START = (f_1 * sp.exp(s) + f_0) / (n_1 * sp.exp(s) + n_0)
SCORE = sp.log(alpha * n_0 / (n_1 * (1 - alpha)))
KNOWN = {s: SCORE, alpha: (0, 1)}


def share(*lines):
    return derive((START, "given"), *((line, "so") for line in lines), where=KNOWN)


TOTAL = n_1 * sp.exp(s) + n_0
SPLIT = f_1 * sp.exp(s) / TOTAL + f_0 / TOTAL
MIXTURE = alpha * f_1 / n_1 + (1 - alpha) * f_0 / n_0
FACTORS = n_1 * sp.exp(s) / TOTAL * f_1 / n_1 + n_0 / TOTAL * f_0 / n_0
OVER = (f_1 + f_0 * sp.exp(-s)) / (n_1 + n_0 * sp.exp(-s))


def two_logs(n, m, e):
    return math.log((n - m) / m) + math.log((1 - e) / e)


logs = partial(edited, two_logs)


def bisected(n, m, e):
    low, high = -50.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        kept = 1 / (1 + (n - m) / m * math.exp(-middle))
        low, high = (middle, high) if kept < 1 - e else (low, middle)
    return high


RIGHT["14.3"] = {
    "split, then alpha": share(SPLIT, MIXTURE),
    "expanded": share(SPLIT, MIXTURE, alpha * f_1 / n_1 + f_0 / n_0 - alpha * f_0 / n_0),
    "factors first": share(FACTORS, MIXTURE),
    "over the exponential": share(OVER, SPLIT, MIXTURE),
    "two logarithms": two_logs,
    "one logarithm": lambda n, m, e: math.log((n - m) * (1 - e) / (m * e)),
    "log1p": lambda n, m, e: math.log(n / m - 1) + math.log1p(-e) - math.log(e),
    "bisection": bisected,
}
WRONG["14.3"] = {
    "exchanged": (
        share(SPLIT, (1 - alpha) * f_1 / n_1 + alpha * f_0 / n_0),
        "alpha is the weight of the matches",
    ),
    "of all keys": (
        share(SPLIT, alpha * f_1 / (n_0 + n_1) + (1 - alpha) * f_0 / n_0),
        "by the number of all keys",
    ),
    "limit": (share(SPLIT, f_1 / n_1), "all of the weight; at"),
    "second term dropped": (share(SPLIT, alpha * f_1 / n_1), "the other keys are lost"),
    "average": (share((f_0 + f_1) / (n_0 + n_1)), "if all scores are equal"),
    "score left": (share(SPLIT, FACTORS), "still contains"),
    "as if once": (logs("(n - m) / m", "n - 1"), "for a single match"),
    "matches left out": (logs("(n - m) / m", "n - m"), "the number of matches is left out"),
    "n for n - m": (logs("(n - m)", "n"), "n - num_matches other keys"),
    "never below zero": (
        lambda n, m, e: max(0.0, two_logs(n, m, e)),
        "the score is cut off at 0",
    ),
    "epsilon turned round": (logs("(1 - e) / e", "e / (1 - e)"), "leaves epsilon to"),
    "m upside down": (logs("/ m)", "* m)"), "a smaller score, not"),
    "base 2": (logs("math.log", "math.log2"), "base 2"),
    "base 10": (logs("math.log", "math.log10"), "base 10"),
    "all of the weight": (logs("(1 - e)", "1"), "not 1"),
    "sign": (lambda n, m, e: -two_logs(n, m, e), "the sign is turned round"),
    "no logarithm": (lambda n, m, e: math.exp(two_logs(n, m, e)), "the score is its logarithm"),
    "a constant": (lambda n, m, e: 9.0, "sharpness(1000, 4, 0.01) leaves"),
    "n - 1 others": (logs("(n - m)", "(n - 1)"), "not n - 1"),
    "counts left out": (logs("math.log((n - m) / m) + ", ""), "the numbers of keys are left out"),
    "upside down": (logs("(n - m) / m", "m / (n - m)"), "is upside down"),
    "rounded": (lambda n, m, e: round(two_logs(n, m, e), 2), "that is rounded"),
}
INPUT_KINDS["14.3"] = {
    "sharpness": {
        "one match": lambda n, m, e: m == 1,
        "several matches": lambda n, m, e: m > 3,
        "very many keys": lambda n, m, e: n >= 1e9,
        "a tiny epsilon": lambda n, m, e: e < 1e-8,
        "a large epsilon": lambda n, m, e: e >= 0.3,
        "a score below zero": lambda n, m, e: two_logs(n, m, e) < 0,
    }
}

# 14.5


def by_diagonal(weights):
    return np.diagonal(weights, -1, 1, 2).mean(-1)


def by_index(weights):
    t = np.arange(1, weights.shape[-1])
    return weights[:, t, t - 1].mean(1)


def by_loop(weights):
    H, T, _ = weights.shape
    return [sum(weights[h, t, t - 1] for t in range(1, T)) / (T - 1) for h in range(H)]


def by_mask(weights, tokens):
    before = np.r_[-1, tokens[:-1]]
    hits = np.tril(before == tokens[:, None])
    rows = hits.any(-1)
    return (weights * hits).sum(-1)[:, rows].mean(-1)


def induction_by_loop(weights, tokens):
    totals = []
    for t, token in enumerate(tokens):
        found = [s for s in range(1, t + 1) if tokens[s - 1] == token]
        if found:
            totals.append(weights[:, t, found].sum(-1))
    return np.mean(totals, 0)


def induction_by_list(weights, tokens):
    tokens = list(tokens)
    rows = [t for t in range(len(tokens)) if tokens[t] in tokens[:t]]
    return [
        np.mean([sum(w[t, s] for s in range(1, t + 1) if tokens[s - 1] == tokens[t]) for t in rows])
        for w in weights
    ]


def by_shift(weights, tokens):
    same = np.tril(tokens[:, None] == tokens[None], -1)
    shifted = np.zeros_like(same)
    shifted[:, 1:] = same[:, :-1]
    return (weights * shifted).sum(-1)[:, same.any(-1)].mean(-1)


def half_back(weights, tokens):
    T = len(tokens)
    rows = np.arange(T // 2, T)
    return weights[:, rows, rows - T // 2 + 1].mean(-1)


def diagonal_with(*edits):
    return edited(by_diagonal, *edits), by_mask


def mask_with(*edits):
    return by_diagonal, edited(by_mask, *edits)


RIGHT["14.5"] = {
    "diagonal, mask": (by_diagonal, by_mask),
    "indices, loop": (by_index, induction_by_loop),
    "loop, list": (by_loop, induction_by_list),
    "trace, shift": (lambda w: np.trace(w, -1, 1, 2) / (w.shape[-1] - 1), by_shift),
    "torch": (lambda w: torch.as_tensor(w).diagonal(-1, 1, 2).mean(-1), by_mask),
}
WRONG["14.5"] = {
    "from place 0": (diagonal_with("mean(-1)", "sum(-1) / len(weights[0])"), "no row of the mean"),
    "itself": (diagonal_with("-1, 1, 2", "0, 1, 2"), "on itself"),
    "transposed": (diagonal_with("-1, 1, 2", "1, 1, 2"), "are queries: previous"),
    "sum": (diagonal_with("mean", "sum"), "the sum over places"),
    "largest": (diagonal_with("mean", "max"), "the largest weight"),
    "how often": (
        (lambda w: (w[:, 1:].argmax(-1) == np.arange(w.shape[-1] - 1)).mean(-1), by_mask),
        "how often",
    ),
    "squares": (diagonal_with("(weights,", "(weights**2,"), "are squared"),
    "one number": (diagonal_with("mean(-1)", "mean()"), "over all heads: previous"),
    "the letter itself": (
        mask_with("* hits", "* np.tril(tokens == tokens[:, None], -1)"),
        "on the letter itself",
    ),
    "the place before": (
        mask_with("* hits", "* np.tril(np.r_[tokens[1:], -1] == tokens[:, None], -2)"),
        "the place before the letter",
    ),
    "latest only": (
        mask_with(
            "(weights * hits).sum(-1)[:, rows]",
            "weights[:, rows, len(tokens) - 1 - hits[rows, ::-1].argmax(-1)]",
        ),
        "only the latest occurrence",
    ),
    "all rows": (mask_with("[:, rows]", ""), "whose letter is new"),
    "averaged over matches": (
        mask_with("* hits", "* hits / hits.sum(-1, keepdims=True).clip(1)"),
        "averaged over the matches",
    ),
    "induction transposed": (mask_with("weights *", "weights.mT *"), "are queries: induction"),
    "largest row": (mask_with("mean", "max"), "the largest row"),
    "sum over rows": (mask_with("mean", "sum"), "the sum over rows"),
    "stripe": ((by_diagonal, half_back), "for a sequence said twice"),
    "rolled": (
        mask_with("np.r_[-1, tokens[:-1]]", "np.roll(tokens, 1)"),
        "index -1 is the last letter",
    ),
    "one number for all": (mask_with("mean(-1)", "mean()"), "over all heads: induction"),
    "mean of the matrix": (
        diagonal_with("mean(-1)", "sum(-1) / weights[0].size"),
        "over all entries of the matrix",
    ),
    "first only": (
        mask_with("(weights * hits).sum(-1)[:, rows]", "weights[:, rows, hits[rows].argmax(-1)]"),
        "only the first occurrence",
    ),
    "never its own place": (mask_with("* hits", "* np.tril(hits, -1)"), "after a doubled letter"),
    "by matches": (
        mask_with("[:, rows].mean(-1)", ".sum(-1) / hits.sum()"),
        "divided by the number of all matches",
    ),
    "all rows but the first": (mask_with("[:, rows]", "[:, 1:]"), "all rows but the first"),
}
INPUT_KINDS["14.5"] = {
    "previous_token_score": {
        "two tokens": lambda w: w.shape[-1] == 2,
        "twenty tokens": lambda w: w.shape[-1] == 20,
    },
    "induction_score": {
        "a sequence said twice": lambda w, x: list(x[: len(x) // 2]) == list(x[len(x) // 2 :]),
        "the first letter returns": lambda w, x: x[0] in x[1:],
        "a doubled letter": lambda w, x: any(x[1:] == x[:-1]),
        "a letter that is never repeated": lambda w, x: 1 in np.unique(x, return_counts=True)[1],
    },
}

# 14.6


def ov(E, W_v, W_o, U):
    return E @ W_v @ W_o @ U


def matching(E, W_q, W_k, W_v1, W_o1):
    written = E @ W_v1 @ W_o1
    return E @ W_q @ (written @ W_k).T / W_q.shape[1] ** 0.5


def copying(C):
    values = np.linalg.eigvals(C)
    return values.real.sum() / abs(values).sum()


def ov_einsum(E, W_v, W_o, U):
    return np.einsum("ad,de,ef,fb->ab", E, W_v, W_o, U)


def ov_by_rows(E, W_v, W_o, U):
    return [(row @ W_v) @ (W_o @ U) for row in E]


def matching_by_qk(E, W_q, W_k, W_v1, W_o1):
    W_qk = W_q @ W_k.T / math.sqrt(W_q.shape[1])
    return E @ W_qk @ (E @ W_v1 @ W_o1).T


def matching_by_lists(E, W_q, W_k, W_v1, W_o1):
    keys = [row @ W_v1 @ W_o1 @ W_k for row in E]
    return [[(a @ W_q) @ key / W_q.shape[1] ** 0.5 for key in keys] for a in E]


def copying_by_trace(C):
    return np.trace(C) / np.abs(np.linalg.eigvals(C)).sum()


def copying_by_torch(C):
    values = torch.linalg.eigvals(torch.as_tensor(C).T)
    return (values.real.sum() / values.abs().sum()).item()


def ov_with(*edits):
    return edited(ov, *edits), matching, copying


def matching_with(*edits):
    return ov, edited(matching, *edits), copying


def copies(*edits):
    return ov, matching, edited(copying, *edits)


RIGHT["14.6"] = {
    "products": (ov, matching, copying),
    "einsum": (ov_einsum, matching_by_qk, copying_by_trace),
    "by rows": (ov_by_rows, matching_by_lists, copying_by_torch),
    "other brackets": (
        edited(ov, "W_v @ W_o @ U", "(W_v @ (W_o @ U))"),
        matching,
        edited(copying, "eigvals(C)", "eigvals(C.T)"),
    ),
}
WRONG["14.6"] = {
    "one of two": (
        (ov, None, copying),
        "matching_circuit is still empty",
    ),
    "OV transposed": (ov_with("E @ W_v @ W_o @ U", "(E @ W_v @ W_o @ U).T"), "attended to"),
    "E missing": (ov_with("E @ ", ""), "E is missing"),
    "U missing": (ov_with(" @ U", ""), "U is missing"),
    "both missing": (ov_with("E @ ", "", " @ U", ""), "E and U are missing"),
    "root in OV": (ov_with("@ U", "@ U / W_v.shape[1] ** 0.5"), "values are not divided"),
    "direct path": (ov_with("@ U", "@ U + E @ U"), "the direct path"),
    "E for U": (ov_with("@ U", "@ E.T"), "in place of the read-out"),
    "matching transposed": (
        matching_with("E @ W_q @ (written @ W_k).T", "written @ W_k @ (E @ W_q).T"),
        "letter of the query",
    ),
    "no root": (matching_with(" / W_q.shape[1] ** 0.5", ""), "the root of d is missing"),
    "divided by d": (matching_with(" ** 0.5", ""), "not by d"),
    "Q-composition": (
        matching_with("E @ W_q @ (written @", "written @ W_q @ (E @"),
        "you let it write into the queries",
    ),
    "without head 1": (matching_with("(written @", "(E @"), "head 1 is missing"),
    "head 1 twice": (matching_with("E @ W_q", "written @ W_q"), "head 1 is on both sides"),
    "q and k exchanged": (matching_with("W_q, W_k", "W_k, W_q"), "W_q and W_k are exchanged"),
    "singular values": ((ov, matching, lambda C: 1.0), "would pass"),
    "share of positive": (
        copies("values.real.sum() / abs(values).sum()", "(values.real > 0).mean()"),
        "their sizes count",
    ),
    "not divided": (copies(" / abs(values).sum()", ""), "is not divided by"),
    "real parts below": (copies("abs(values)", "abs(values.real)"), "its modulus"),
    "entries": (copies("abs(values)", "abs(C)"), "all entries' sizes"),
    "lower triangle": (copies("eigvals", "eigvalsh"), "the lower triangle alone"),
    "symmetric part": (copies("eigvals(C)", "eigvalsh((C + C.T) / 2)"), "of the symmetric part"),
    "largest on the diagonal": (
        (ov, matching, lambda C: (C.argmax(1) == np.arange(len(C))).mean()),
        "on the diagonal",
    ),
    "complex": (
        copies("values.real.sum() / abs(values).sum()", "values.astype(complex).sum()"),
        "complex numbers",
    ),
    "embedding added": (
        matching_with("(written @", "((E + written) @"),
        "the letter's own embedding is added",
    ),
    "root of D": (matching_with("W_q.shape", "E.shape"), "the root is that of D"),
    "divided by itself": (
        copies("abs(values).sum()", "values.sum().real"),
        "or the sum of the eigenvalues is divided by itself",
    ),
    "size of the sum": (copies(").sum()", ".sum())"), "the size of the sum stands below"),
    "no sign": (copies("values.real.sum()", "abs(values.real.sum())"), "the sign is lost"),
    "from 0 to 1": (copies("return ", "return 0.5 + 0.5 * "), "moved to between 0 and 1"),
    "trace over n": (copies("abs(values).sum()", "len(C)"), "the number of letters"),
    "diagonal": (copies("abs(values)", "abs(np.diag(C))"), "the entries on the diagonal"),
    "mean of ratios": (
        copies("values.real.sum() / abs(values).sum()", "(values.real / abs(values)).mean()"),
        "the mean over eigenvalues",
    ),
}
INPUT_KINDS["14.6"] = {
    "ov_circuit": {
        "heads as wide as the stream": lambda E, W_v, W_o, U: W_v.shape[0] == W_v.shape[1],
        "narrow heads": lambda E, W_v, W_o, U: W_v.shape[0] > 2 * W_v.shape[1],
    },
    "matching_circuit": {"narrow heads": lambda E, W_q, *others: W_q.shape[0] > 2 * W_q.shape[1]},
    "copying_score": {
        "complex eigenvalues": lambda C: abs(np.linalg.eigvals(C).imag).max() > 0.5,
        "an inverting head": lambda C: np.trace(C) < -4,
        "eigenvalues of several sizes": lambda C: abs(np.linalg.eigvals(C)).max() > 8,
    },
}

# 14.7


def three_streams(x, written, instead, weights, path):
    *projections, W_o = weights
    other = x - written + instead
    streams = [other if name == path else x for name in "qkv"]
    q, k, v = (stream @ W for stream, W in zip(streams, projections, strict=True))
    scores = q @ k.T / q.shape[1] ** 0.5
    look = np.tri(len(x), dtype=bool)
    return softmax(np.where(look, scores, -np.inf)) @ v @ W_o


patched = partial(edited, three_streams)


def linear_in_products(x, written, instead, weights, path):
    products = {name: x @ W for name, W in zip("qkv", weights[:3], strict=True)}
    W = weights["qkv".index(path)]
    products[path] = products[path] + (instead - written) @ W
    q, k, v = products.values()
    scores = np.where(np.tri(len(q), dtype=bool), q @ k.T / q.shape[1] ** 0.5, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v @ weights[3]


def row_by_row(x, written, instead, weights, path):
    other = x - written + instead
    rows = []
    for t in range(len(x)):
        last, earlier = (x[t], other[t]), (x[: t + 1], other[: t + 1])
        q, k, v = (
            streams[name == path] @ W
            for name, streams, W in zip("qkv", (last, earlier, earlier), weights[:3], strict=True)
        )
        rows.append(softmax(k @ q / len(q) ** 0.5) @ v @ weights[3])
    return rows


def with_torch(x, written, instead, weights, path):
    x, written, instead = map(torch.as_tensor, (x, written, instead))
    W = dict(zip("qkvo", map(torch.as_tensor, weights), strict=True))
    q, k, v = ((x - written + instead if name == path else x) @ W[name] for name in "qkv")
    full = torch.nn.functional.scaled_dot_product_attention
    return full(q[None], k[None], v[None], is_causal=True)[0] @ W["o"]


uncut = patched("name == path", "False")

RIGHT["14.7"] = {
    "three streams": three_streams,
    "linear in the products": linear_in_products,
    "row by row": row_by_row,
    "torch": with_torch,
}
WRONG["14.7"] = {
    "all paths": (patched("name == path", "True"), "all three inputs are cut"),
    "no path": (uncut, "nothing is cut"),
    "zero instead": (patched(" + instead", ""), "zero stands in place"),
    "put in beside": (patched(" - written", ""), "beside what layer 1 wrote"),
    "the whole stream": (patched("x - written + ", ""), "the letters with it"),
    "sign": (patched("- written + ", "+ written - "), "the sign is turned round"),
    "q and k exchanged": (
        patched("== path", '== {"q": "k", "k": "q"}.get(path, path)'),
        "q and k have changed places",
    ),
    "the other two": (patched("== path", "!= path"), "the two other paths are cut"),
    "no mask": (patched("look, scores", "True, scores"), "the mask is missing or not used"),
    "no root": (patched(" / q.shape[1] ** 0.5", ""), "not divided by sqrt(d)"),
    "stream added": (patched("return ", "return x + "), "the stream is added"),
    "in place": (
        patched(
            "other = x - written + instead",
            "other, x = x, x.copy()\n    other += instead - written",
        ),
        "changes its argument x in place",
    ),
    "k whatever is asked": (patched("== path", '== "k"'), "k is cut whatever `path` says"),
    "k and v exchanged": (
        patched("== path", '== {"k": "v", "v": "k"}.get(path, path)'),
        "k and v have changed places",
    ),
    "a low number hides": (patched("-np.inf", "-20.0"), "a low number such as -20"),
    "softmax over queries": (patched("inf))", "inf), 0)"), "so that columns sum to one"),
    "a difference": (lambda *x: three_streams(*x) - uncut(*x), "by how much the cut changes"),
}
INPUT_KINDS["14.7"] = {
    "patched": {
        "q": lambda *given: given[-1] == "q",
        "k": lambda *given: given[-1] == "k",
        "v": lambda *given: given[-1] == "v",
        "one token": lambda *given: len(given[0]) == 1,
        "heads as wide as the stream": lambda *given: given[3][0].shape == given[3][3].shape,
    }
}
