"""Right and wrong answers to 13.1-13.7, each wrong one with a fragment of the message it must get."""

import math

import numpy as np
import sympy as sp
import torch

from attn_course import derive
from attn_utils import softmax

# The stream: token, before, after (num_letters each), place (length)


def places(V, P):
    token, before, after = (slice(k * V, (k + 1) * V) for k in range(3))
    return token, before, after, slice(3 * V, 3 * V + P)


def empty(V, P):
    D = 3 * V + P
    return np.zeros((D, D)), np.zeros((D, D))


# 13.1


def looks(block, *, copy=None):
    """block: P -> scores of query places with key places; copy: (ov, V, P) -> None fills W_OV."""

    def previous_token_head(V, P):
        qk, ov = empty(V, P)
        token, before, _, place = places(V, P)
        qk[place, place] = block(P)
        if copy is None:
            ov[token, before] = np.eye(V)
        else:
            copy(ov, V, P)
        return qk, ov

    return previous_token_head


def one_back(P):
    return 50 * np.eye(P, k=-1)


def parabola(P):
    t = np.arange(P)
    return -20.0 * (t[:, None] - t - 1) ** 2


def latest_but_itself(P):
    return 30.0 * np.arange(P)[None] - 1000 * np.eye(P)


def by_factors(P):
    basis, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(P + 1, P + 1)))
    return 80 * basis[:P] @ basis[1:].T


def by_letter(V, P):
    qk, ov = empty(V, P)
    token, before, _, _ = places(V, P)
    qk[token, token] = 50 * np.eye(V)
    ov[token, before] = np.eye(V)
    return qk, ov


def copy_all(ov, V, P):
    np.fill_diagonal(ov, 1.0)
    token, before, _, _ = places(V, P)
    ov[token, before] += np.eye(V)


def copy_to_after(ov, V, P):
    token, _, after, _ = places(V, P)
    ov[token, after] = np.eye(V)


def copy_transposed(ov, V, P):
    token, before, _, _ = places(V, P)
    ov[before, token] = np.eye(V)


def copy_twice(ov, V, P):
    token, before, _, _ = places(V, P)
    ov[token, before] = 2 * np.eye(V)


def place_alone(V, P):
    return one_back(P), np.eye(P)


def with_infinity(V, P):
    qk, ov = looks(one_back)(V, P)
    qk[qk == 0] = -np.inf
    return qk, ov


# 13.2


def finds(
    *,
    size=50.0,
    guard=-100.0,
    guarded=1,
    asks="token",
    answers="before",
    reads="token",
    writes="after",
    factor=1.0,
    slope=0.0,
):
    """The second head, in parts that a mistake may replace."""

    def induction_head(V, P):
        qk, ov = empty(V, P)
        parts = dict(zip(("token", "before", "after", "place"), places(V, P), strict=True))
        qk[parts[asks], parts[answers]] = size * np.eye(V)
        place = parts["place"]
        qk[parts["token"], place.start : place.start + guarded] = guard
        qk[parts["token"], place] += slope * np.arange(P)
        ov[parts[reads], parts[writes]] = factor * np.eye(V)
        return qk, ov

    return induction_head


def guarded_by_place(V, P):
    qk, ov = finds(guard=0.0)(V, P)
    place = places(V, P)[3]
    qk[place, place.start] = -100
    return qk, ov


def mismatch_penalised(V, P):
    qk, ov = finds()(V, P)
    token, before, _, _ = places(V, P)
    qk[token, before] = -60 * (1 - np.eye(V))
    return qk, ov


def others_lifted(V, P):
    qk, ov = finds(guard=0.0)(V, P)
    token, _, _, place = places(V, P)
    qk[token, place.start + 1 : place.stop] = 200
    return qk, ov


def by_rotation(V, P):
    qk, ov = finds()(V, P)
    token, before, _, _ = places(V, P)
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(V, V)))
    qk[token, before] = 60 * turn @ turn.T
    return qk, ov


# 13.3

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


def odds(epsilon):
    return math.log((1 - epsilon) / epsilon)


def two_logs(n, m, e):
    return math.log((n - m) / m) + odds(e)


def bisected(n, m, e):
    low, high = -50.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        kept = 1 / (1 + (n - m) / m * math.exp(-middle))
        low, high = (middle, high) if kept < 1 - e else (low, middle)
    return high


# 13.5


def by_diagonal(weights):
    return np.diagonal(weights, -1, 1, 2).mean(-1)


def by_index(weights):
    t = np.arange(1, weights.shape[-1])
    return weights[:, t, t - 1].mean(1)


def by_loop(weights):
    H, T, _ = weights.shape
    return [sum(weights[h, t, t - 1] for t in range(1, T)) / (T - 1) for h in range(H)]


def by_trace(weights):
    return np.trace(weights, -1, 1, 2) / (weights.shape[-1] - 1)


def by_torch(weights):
    return torch.as_tensor(weights).diagonal(-1, 1, 2).mean(-1)


def hits_of(tokens, before=None):
    tokens = np.asarray(tokens)
    before = np.r_[-1, tokens[:-1]] if before is None else before
    return (before[None] == tokens[:, None]) & np.tri(len(tokens), dtype=bool)


def by_mask(weights, tokens):
    hit = hits_of(tokens)
    return (weights * hit).sum(-1)[:, hit.any(-1)].mean(-1)


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
    tokens = np.asarray(tokens)
    same = np.tril(tokens[:, None] == tokens[None], -1)
    shifted = np.zeros_like(same)
    shifted[:, 1:] = same[:, :-1]
    return (weights * shifted).sum(-1)[:, same.any(-1)].mean(-1)


def previous_but(change):
    return change, by_mask


def induction_but(change):
    """change(weights, hits, tokens) -> scores."""
    return by_diagonal, lambda weights, tokens: change(weights, hits_of(tokens), np.asarray(tokens))


def mean_over(weights, mask, rows):
    return (weights * mask).sum(-1)[:, rows].mean(-1)


def same_letter(tokens):
    return (tokens[:, None] == tokens[None]) & np.tri(len(tokens), k=-1, dtype=bool)


def place_before(weights, hits, tokens):
    earlier = same_letter(tokens)
    mask = np.zeros_like(earlier)
    mask[:, :-1] = earlier[:, 1:]
    return mean_over(weights, mask, hits.any(-1))


def latest_only(weights, hits, tokens):
    rows = np.flatnonzero(hits.any(-1))
    last = [np.flatnonzero(hits[t])[-1] for t in rows]
    return weights[:, rows, last].mean(-1)


def half_back(weights, hits, tokens):
    T = len(tokens)
    rows = np.arange(T // 2, T)
    return weights[:, rows, rows - T // 2 + 1].mean(-1)


def rolled(weights, hits, tokens):
    around = hits_of(tokens, np.roll(tokens, 1))
    return mean_over(weights, around, around.any(-1))


# 13.6


def ov(E, W_v, W_o, U):
    return E @ W_v @ W_o @ U


def matching(E, W_q, W_k, W_v1, W_o1):
    return E @ W_q @ (E @ W_v1 @ W_o1 @ W_k).T / W_q.shape[1] ** 0.5


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


def ov_but(change):
    return change, matching, copying


def matching_but(change):
    return ov, change, copying


def copying_but(change):
    return ov, matching, change


def first_head(E, W_v1, W_o1):
    return E @ W_v1 @ W_o1


# 13.7


def head_of(q_in, k_in, v_in, weights, *, causal=True, root=True):
    W_q, W_k, W_v, W_o = weights
    scores = (q_in @ W_q) @ (k_in @ W_k).T
    if root:
        scores = scores / W_q.shape[1] ** 0.5
    if causal:
        scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ (v_in @ W_v) @ W_o


def three_streams(x, written, instead, weights, path):
    other = x - written + instead
    streams = [other if name == path else x for name in "qkv"]
    return head_of(*streams, weights)


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
    q_in, k_in, v_in = (other if name == path else x for name in "qkv")
    rows = []
    for t in range(len(x)):
        last = np.r_[[q_in[t]] * (t + 1)]
        rows.append(head_of(last, k_in[: t + 1], v_in[: t + 1], weights)[-1])
    return rows


def with_torch(x, written, instead, weights, path):
    x, written, instead = map(torch.as_tensor, (x, written, instead))
    W = dict(zip("qkvo", map(torch.as_tensor, weights), strict=True))
    q, k, v = ((x - written + instead if name == path else x) @ W[name] for name in "qkv")
    full = torch.nn.functional.scaled_dot_product_attention
    return full(q[None], k[None], v[None], is_causal=True)[0] @ W["o"]


def patched_but(*, other=None, cut=None, add=False, **options):
    """other(x, written, instead) -> the stream put in; cut(path) -> which inputs see it."""

    def patched(x, written, instead, weights, path):
        stream = x - written + instead if other is None else other(x, written, instead)
        names = path if cut is None else cut(path)
        streams = [stream if name in names else x for name in "qkv"]
        found = head_of(*streams, weights, **options)
        return x + found if add else found

    return patched


def in_place(x, written, instead, weights, path):
    before = x.copy()
    x -= written
    x += instead
    streams = [x if name == path else before for name in "qkv"]
    return head_of(*streams, weights)


def last_forgotten(P):
    block = one_back(P)
    block[-1] = 0
    return block


def guard_at_place_1(V, P):
    qk, ov = finds(guard=0.0)(V, P)
    qk[places(V, P)[0], 3 * V + 1] = -100
    return qk, ov


def finds_itself_too(V, P):
    qk, ov = finds()(V, P)
    token = places(V, P)[0]
    qk[token, token] = 50 * np.eye(V)
    return qk, ov


def not_at_its_own_place(V, P):
    qk, ov = finds()(V, P)
    place = places(V, P)[3]
    qk[place, place] = -500 * np.eye(P)
    return qk, ov


def first_only(weights, hits, tokens):
    rows = np.flatnonzero(hits.any(-1))
    first = [np.flatnonzero(hits[t])[0] for t in rows]
    return weights[:, rows, first].mean(-1)


def before_t_alone(weights, hits, tokens):
    return mean_over(weights, hits & np.tri(len(tokens), k=-1, dtype=bool), hits.any(-1))


def weighed(weigh):
    """The cut head with weigh(open scores, what may be seen) for its weights."""

    def patched(x, written, instead, weights, path):
        *projections, W_o = weights
        other = x - written + instead
        q, k, v = (
            (other if name == path else x) @ W for name, W in zip("qkv", projections, strict=True)
        )
        scores = q @ k.T / q.shape[1] ** 0.5
        return weigh(scores, np.tri(len(x), dtype=bool)) @ v @ W_o

    return patched


def low_fill(scores, look):
    return softmax(np.where(look, scores, -20.0))


def over_queries(scores, look):
    return softmax(np.where(look, scores, -np.inf), 0)


RIGHT = {
    "13.1": {
        "a diagonal": looks(one_back),
        "wrapped around": looks(lambda P: 50 * np.roll(np.eye(P), -1, 1)),
        "a penalty": looks(lambda P: -40 * (1 - np.eye(P, k=-1))),
        "a parabola": looks(parabola),
        "latest but itself": looks(latest_but_itself),
        "by factors": looks(by_factors),
        "very sharp": looks(lambda P: 1e6 * np.eye(P, k=-1)),
        "one array of two": lambda V, P: np.array(looks(one_back)(V, P)),
    },
    "13.2": {
        "letter against predecessor": finds(),
        "guarded by place": guarded_by_place,
        "mismatch penalised": mismatch_penalised,
        "others lifted": others_lifted,
        "very sharp": finds(size=5e4, guard=-1e5),
        "by a rotation": by_rotation,
        "one array of two": lambda V, P: np.array(finds()(V, P)),
    },
    "13.3": {
        "split, then alpha": share(SPLIT, MIXTURE),
        "expanded": share(SPLIT, MIXTURE, alpha * f_1 / n_1 + f_0 / n_0 - alpha * f_0 / n_0),
        "factors first": share(FACTORS, MIXTURE),
        "over the exponential": share(OVER, SPLIT, MIXTURE),
        "two logarithms": two_logs,
        "one logarithm": lambda n, m, e: math.log((n - m) * (1 - e) / (m * e)),
        "log1p": lambda n, m, e: math.log(n / m - 1) + math.log1p(-e) - math.log(e),
        "bisection": bisected,
    },
    "13.5": {
        "diagonal, mask": (by_diagonal, by_mask),
        "indices, loop": (by_index, induction_by_loop),
        "loop, list": (by_loop, induction_by_list),
        "trace, shift": (by_trace, by_shift),
        "torch": (by_torch, by_mask),
    },
    "13.6": {
        "products": (ov, matching, copying),
        "einsum": (ov_einsum, matching_by_qk, copying_by_trace),
        "by rows": (ov_by_rows, matching_by_lists, copying_by_torch),
        "other brackets": (
            lambda E, W_v, W_o, U: E @ (W_v @ (W_o @ U)),
            matching,
            lambda C: copying(C.T),
        ),
    },
    "13.7": {
        "three streams": three_streams,
        "linear in the products": linear_in_products,
        "row by row": row_by_row,
        "torch": with_torch,
    },
}

WRONG = {
    "13.1": {
        "one ahead": (looks(lambda P: 50 * np.eye(P, k=1)), "the place after its own"),
        "itself": (looks(lambda P: 50 * np.eye(P)), "looks at itself"),
        "two back": (looks(lambda P: 50 * np.eye(P, k=-2)), "two places back"),
        "soft": (looks(lambda P: 2 * np.eye(P, k=-1)), "make the scores larger"),
        "by letter": (by_letter, "depends on the letters"),
        "zero": (looks(lambda P: np.zeros((P, P))), "All places get the same weight"),
        "copies all": (looks(one_back, copy=copy_all), "also writes into `token`"),
        "into after": (looks(one_back, copy=copy_to_after), "nothing arrives in `before`."),
        "transposed": (looks(one_back, copy=copy_transposed), "rows of W_OV read"),
        "doubled": (looks(one_back, copy=copy_twice), "2 times instead of once"),
        "place alone": (place_alone, "the whole stream, not one subspace"),
        "infinity": (with_infinity, "0 times infinity is not a number"),
        "exchanged": (lambda V, P: looks(one_back)(V, P)[::-1], "in the wrong order"),
        "sign": (looks(lambda P: -one_back(P)), "has the lowest score of all"),
        "last place forgotten": (looks(last_forgotten), "The token at place"),
    },
    "13.2": {
        "token against token": (finds(answers="token"), "says it again"),
        "transposed": (finds(asks="before", answers="token", guard=0.0), "the letter before yours"),
        "before against before": (finds(asks="before", guard=0.0), "what stood before the key;"),
        "no guard": (finds(guard=0.0), "weight goes to place 0"),
        "guard's sign": (finds(guard=100.0), "everything goes to place 0"),
        "two guards": (finds(guarded=2), "what stood at place 1 is never found"),
        "reads before": (finds(reads="before"), "W_OV reads `before`"),
        "soft": (finds(size=2.0, guard=-4.0), "too soft"),
        "slope": (finds(slope=10.0, size=500.0, guard=-1000.0), "the latest occurrence gets all"),
        "zero": (finds(size=0.0, guard=0.0), "no score depends on the letters"),
        "other subspace": (finds(writes="before"), "nothing arrives in `after`."),
        "W_OV transposed": (finds(reads="after", writes="token"), "rows of W_OV read"),
        "doubled": (finds(factor=2.0), "add up to 2"),
        "exchanged": (lambda V, P: finds()(V, P)[::-1], "in the wrong order"),
        "guard at place 1": (guard_at_place_1, "place 1 is hidden in place of place 0"),
        "sign of the scores": (finds(size=-50.0, guard=-200.0), "a place that matches is avoided"),
        "itself too": (finds_itself_too, "it finds the letter itself too"),
        "never its own place": (not_at_its_own_place, "in a doubled letter"),
        "one back": (looks(one_back, copy=copy_to_after), "that is the head of 13.1"),
    },
    "13.3": {
        "at once": (share(MIXTURE), "`share`"),
        "exchanged": (
            share(SPLIT, (1 - alpha) * f_1 / n_1 + alpha * f_0 / n_0),
            "step 2 of `share` does not follow",
        ),
        "of all keys": (
            share(SPLIT, alpha * f_1 / (n_0 + n_1) + (1 - alpha) * f_0 / n_0),
            "step 2 of",
        ),
        "limit": (share(SPLIT, f_1 / n_1), "does not follow"),
        "second term dropped": (share(SPLIT, alpha * f_1 / n_1), "of `share` does"),
        "average": (share((f_0 + f_1) / (n_0 + n_1)), "step 1 of `share`"),
        "score left": (share(SPLIT, FACTORS), "still contains"),
        "as if once": (
            lambda n, m, e: math.log(n - 1) + odds(e),
            "for a single match",
        ),
        "matches left out": (
            lambda n, m, e: math.log(n - m) + odds(e),
            "the number of matches is left out",
        ),
        "n for n - m": (lambda n, m, e: math.log(n / m) + odds(e), "n - num_matches other keys"),
        "epsilon turned round": (
            lambda n, m, e: math.log((n - m) / m) - odds(e),
            "leaves epsilon to",
        ),
        "m upside down": (lambda n, m, e: math.log((n - m) * m) + odds(e), "a smaller score, not"),
        "base 2": (lambda n, m, e: two_logs(n, m, e) / math.log(2), "base 2"),
        "base 10": (lambda n, m, e: two_logs(n, m, e) / math.log(10), "base 10"),
        "all of the weight": (lambda n, m, e: math.log((n - m) / m / e), "not 1"),
        "sign": (lambda n, m, e: -two_logs(n, m, e), "the sign is turned round"),
        "no logarithm": (lambda n, m, e: math.exp(two_logs(n, m, e)), "the score is its logarithm"),
        "a constant": (lambda n, m, e: 9.0, "sharpness(1000, 4, 0.01) leaves"),
        "n - 1 others": (lambda n, m, e: math.log((n - 1) / m) + odds(e), "not n - 1"),
        "counts left out": (lambda n, m, e: odds(e), "the numbers of keys are left out"),
        "upside down": (lambda n, m, e: math.log(m / (n - m)) + odds(e), "is upside down"),
        "rounded": (lambda n, m, e: round(two_logs(n, m, e), 2), "that is rounded"),
    },
    "13.5": {
        "from place 0": (
            previous_but(lambda w: by_diagonal(w) * (1 - 1 / w.shape[-1])),
            "no row of the mean",
        ),
        "itself": (previous_but(lambda w: np.diagonal(w, 0, 1, 2).mean(-1)), "on itself"),
        "transposed": (
            previous_but(lambda w: np.diagonal(w, 1, 1, 2).mean(-1)),
            "are queries: previous",
        ),
        "sum": (previous_but(lambda w: np.diagonal(w, -1, 1, 2).sum(-1)), "the sum over places"),
        "largest": (previous_but(lambda w: np.diagonal(w, -1, 1, 2).max(-1)), "the largest weight"),
        "how often": (
            previous_but(lambda w: (w[:, 1:].argmax(-1) == np.arange(w.shape[-1] - 1)).mean(-1)),
            "how often",
        ),
        "squares": (
            previous_but(lambda w: (np.diagonal(w, -1, 1, 2) ** 2).mean(-1)),
            "are squared",
        ),
        "one number": (previous_but(lambda w: by_diagonal(w).mean()), "over all heads: previous"),
        "the letter itself": (
            induction_but(lambda w, hits, x: mean_over(w, same_letter(x), hits.any(-1))),
            "on the letter itself",
        ),
        "the place before": (induction_but(place_before), "the place before the letter"),
        "latest only": (induction_but(latest_only), "only the latest occurrence"),
        "all rows": (
            induction_but(lambda w, hits, x: (w * hits).sum(-1).mean(-1)),
            "whose letter is new",
        ),
        "averaged over matches": (
            induction_but(
                lambda w, hits, x: (
                    (w * hits).sum(-1)[:, hits.any(-1)] / hits.sum(-1)[hits.any(-1)]
                ).mean(-1)
            ),
            "averaged over the matches",
        ),
        "induction transposed": (
            induction_but(lambda w, hits, x: mean_over(w.mT, hits, hits.any(-1))),
            "are queries: induction",
        ),
        "largest row": (
            induction_but(lambda w, hits, x: (w * hits).sum(-1)[:, hits.any(-1)].max(-1)),
            "the largest row",
        ),
        "sum over rows": (
            induction_but(lambda w, hits, x: (w * hits).sum((1, 2))),
            "the sum over rows",
        ),
        "stripe": (induction_but(half_back), "for a sequence said twice"),
        "rolled": (induction_but(rolled), "index -1 is the last letter"),
        "one number for all": (
            induction_but(lambda w, hits, x: by_mask(w, x).mean()),
            "over all heads: induction",
        ),
        "mean of the matrix": (
            previous_but(lambda w: (w * np.eye(w.shape[1], k=-1)).mean((1, 2))),
            "over all entries of the matrix",
        ),
        "first only": (induction_but(first_only), "only the first occurrence"),
        "never its own place": (induction_but(before_t_alone), "after a doubled letter"),
        "by matches": (
            induction_but(lambda w, hits, tokens: (w * hits).sum((1, 2)) / hits.sum()),
            "divided by the number of all matches",
        ),
        "all rows but the first": (
            induction_but(lambda w, hits, tokens: (w * hits).sum(-1)[:, 1:].mean(-1)),
            "all rows but the first",
        ),
    },
    "13.6": {
        "OV transposed": (ov_but(lambda E, W_v, W_o, U: ov(E, W_v, W_o, U).T), "attended to"),
        "E missing": (ov_but(lambda E, W_v, W_o, U: W_v @ W_o @ U), "E is missing"),
        "U missing": (ov_but(lambda E, W_v, W_o, U: E @ W_v @ W_o), "U is missing"),
        "both missing": (ov_but(lambda E, W_v, W_o, U: W_v @ W_o), "E and U are missing"),
        "root in OV": (
            ov_but(lambda E, W_v, W_o, U: ov(E, W_v, W_o, U) / W_v.shape[1] ** 0.5),
            "values are not divided",
        ),
        "direct path": (
            ov_but(lambda E, W_v, W_o, U: ov(E, W_v, W_o, U) + E @ U),
            "the direct path",
        ),
        "E for U": (ov_but(lambda E, W_v, W_o, U: E @ W_v @ W_o @ E.T), "in place of the read-out"),
        "matching transposed": (
            matching_but(lambda *given: matching(*given).T),
            "letter of the query",
        ),
        "no root": (
            matching_but(lambda E, q, k, v, o: matching(E, q, k, v, o) * q.shape[1] ** 0.5),
            "the root of d is missing",
        ),
        "divided by d": (
            matching_but(lambda E, q, k, v, o: matching(E, q, k, v, o) / q.shape[1] ** 0.5),
            "not by d",
        ),
        "Q-composition": (
            matching_but(
                lambda E, q, k, v, o: first_head(E, v, o) @ q @ (E @ k).T / q.shape[1] ** 0.5
            ),
            "you let it write into the queries",
        ),
        "without head 1": (
            matching_but(lambda E, q, k, v, o: E @ q @ (E @ k).T / q.shape[1] ** 0.5),
            "head 1 is missing",
        ),
        "head 1 twice": (
            matching_but(
                lambda E, q, k, v, o: (
                    first_head(E, v, o) @ q @ (first_head(E, v, o) @ k).T / q.shape[1] ** 0.5
                )
            ),
            "head 1 is on both sides",
        ),
        "q and k exchanged": (
            matching_but(lambda E, q, k, v, o: matching(E, k, q, v, o)),
            "W_q and W_k are exchanged",
        ),
        "singular values": (copying_but(lambda C: 1.0), "would pass"),
        "share of positive": (
            copying_but(lambda C: (np.linalg.eigvals(C).real > 0).mean()),
            "their sizes count",
        ),
        "not divided": (
            copying_but(lambda C: np.linalg.eigvals(C).real.sum()),
            "is not divided by",
        ),
        "real parts below": (
            copying_but(lambda C: np.trace(C) / np.abs(np.linalg.eigvals(C).real).sum()),
            "its modulus",
        ),
        "entries": (copying_but(lambda C: np.trace(C) / np.abs(C).sum()), "all entries' sizes"),
        "lower triangle": (
            copying_but(
                lambda C: np.linalg.eigvalsh(C).sum() / np.abs(np.linalg.eigvalsh(C)).sum()
            ),
            "the lower triangle alone",
        ),
        "symmetric part": (
            copying_but(lambda C: np.trace(C) / np.abs(np.linalg.eigvalsh((C + C.T) / 2)).sum()),
            "of the symmetric part",
        ),
        "largest on the diagonal": (
            copying_but(lambda C: (C.argmax(1) == np.arange(len(C))).mean()),
            "on the diagonal",
        ),
        "complex": (
            copying_but(lambda C: np.linalg.eigvals(C).astype(complex).sum()),
            "complex numbers",
        ),
        "embedding added": (
            matching_but(
                lambda E, W_q, W_k, W_v1, W_o1: (
                    E @ W_q @ ((E + first_head(E, W_v1, W_o1)) @ W_k).T / W_q.shape[1] ** 0.5
                )
            ),
            "the letter's own embedding is added",
        ),
        "root of D": (
            matching_but(
                lambda E, W_q, W_k, W_v1, W_o1: (
                    E @ W_q @ (first_head(E, W_v1, W_o1) @ W_k).T / E.shape[1] ** 0.5
                )
            ),
            "the root is that of D",
        ),
        "divided by itself": (
            copying_but(
                lambda C: np.linalg.eigvals(C).real.sum() / np.linalg.eigvals(C).sum().real
            ),
            "or the sum of the eigenvalues is divided by itself",
        ),
        "size of the sum": (
            copying_but(lambda C: np.trace(C) / abs(np.linalg.eigvals(C).sum())),
            "the size of the sum stands below",
        ),
        "no sign": (copying_but(lambda C: abs(copying(C))), "the sign is lost"),
        "from 0 to 1": (copying_but(lambda C: (copying(C) + 1) / 2), "moved to between 0 and 1"),
        "trace over n": (copying_but(lambda C: np.trace(C) / len(C)), "the number of letters"),
        "diagonal": (
            copying_but(lambda C: np.trace(C) / np.abs(np.diag(C)).sum()),
            "the entries on the diagonal",
        ),
        "mean of ratios": (
            copying_but(lambda C: (np.linalg.eigvals(C).real / abs(np.linalg.eigvals(C))).mean()),
            "the mean over eigenvalues",
        ),
    },
    "13.7": {
        "all paths": (patched_but(cut=lambda path: "qkv"), "all three inputs are cut"),
        "no path": (patched_but(cut=lambda path: ""), "nothing is cut"),
        "zero instead": (patched_but(other=lambda x, w, i: x - w), "zero stands in place"),
        "put in beside": (patched_but(other=lambda x, w, i: x + i), "beside what layer 1 wrote"),
        "the whole stream": (patched_but(other=lambda x, w, i: i), "the letters with it"),
        "sign": (patched_but(other=lambda x, w, i: x + w - i), "the sign is turned round"),
        "q and k exchanged": (
            patched_but(cut=lambda path: {"q": "k", "k": "q"}.get(path, path)),
            "q and k have changed places",
        ),
        "the other two": (
            patched_but(cut=lambda path: "qkv".replace(path, "")),
            "the two other paths are cut",
        ),
        "no mask": (patched_but(causal=False), "the mask is missing or not used"),
        "no root": (patched_but(root=False), "not divided by sqrt(d)"),
        "stream added": (patched_but(add=True), "the stream is added"),
        "in place": (in_place, "changed in place"),
        "k whatever is asked": (patched_but(cut=lambda path: "k"), "k is cut whatever `path` says"),
        "k and v exchanged": (
            patched_but(cut=lambda path: {"k": "v", "v": "k"}.get(path, path)),
            "k and v have changed places",
        ),
        "a low number hides": (weighed(low_fill), "a low number such as -20"),
        "softmax over queries": (weighed(over_queries), "so that columns sum to one"),
        "a difference": (
            lambda *given: three_streams(*given) - patched_but(cut=lambda path: "")(*given),
            "by how much the cut changes",
        ),
    },
}


# What the judges must draw: {question: {answer: {name: whether a call belongs to it}}}
REGIMES = {
    "13.1": {
        "previous_token_head": {
            "two letters": lambda V, P: V == 2,
            "more places than letters": lambda V, P: P > V,
            "twelve places": lambda V, P: P == 12,
        }
    },
    "13.2": {"induction_head": {"six letters or more": lambda V, P: V >= 6 and P >= 14}},
    "13.3": {
        "sharpness": {
            "one match": lambda n, m, e: m == 1,
            "several matches": lambda n, m, e: m > 3,
            "very many keys": lambda n, m, e: n >= 1e9,
            "a tiny epsilon": lambda n, m, e: e < 1e-8,
            "a large epsilon": lambda n, m, e: e >= 0.3,
        }
    },
    "13.5": {
        "previous_token_score": {
            "two tokens": lambda w: w.shape[-1] == 2,
            "twenty tokens": lambda w: w.shape[-1] == 20,
        },
        "induction_score": {
            "a sequence said twice": lambda w, x: list(x[: len(x) // 2]) == list(x[len(x) // 2 :]),
            "the first letter returns": lambda w, x: x[0] in x[1:],
            "a doubled letter": lambda w, x: any(x[1:] == x[:-1]),
            "a letter that is never repeated": lambda w, x: (
                1 in np.unique(x, return_counts=True)[1]
            ),
        },
    },
    "13.6": {
        "ov_circuit": {
            "heads as wide as the stream": lambda E, W_v, W_o, U: W_v.shape[0] == W_v.shape[1],
            "narrow heads": lambda E, W_v, W_o, U: W_v.shape[0] > 2 * W_v.shape[1],
        },
        "matching_circuit": {
            "narrow heads": lambda E, W_q, *others: W_q.shape[0] > 2 * W_q.shape[1]
        },
        "copying_score": {
            "complex eigenvalues": lambda C: abs(np.linalg.eigvals(C).imag).max() > 0.5,
            "an inverting head": lambda C: np.trace(C) < -4,
            "eigenvalues of several sizes": lambda C: abs(np.linalg.eigvals(C)).max() > 8,
        },
    },
    "13.7": {
        "patched": {
            "q": lambda given: given[-1] == "q",
            "k": lambda given: given[-1] == "k",
            "v": lambda given: given[-1] == "v",
            "one token": lambda given: len(given[0]) == 1,
            "heads as wide as the stream": lambda given: given[3][0].shape == given[3][3].shape,
        }
    },
}
