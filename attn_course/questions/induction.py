"""Questions 14.1-14.7, a head that finds what came next: judges of 14.3-14.7, titles, minutes and hints."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import (
    Caller,
    NotYet,
    answers_to,
    array,
    judge_separately,
    number,
    shuffled,
)
from attn_course.answers.mistakes import AnyOf, Mistakes, Seen, Trials, distinct_texts
from attn_course.questions.attention_mistakes import after, far_below, wrong_contexts
from attn_course.questions.hand_built_heads import finds_what_came_next, looks_one_back
from attn_course.register import Claim, Claims, Part, Question, chains_prove
from attn_utils.kernels import attend, softmax

# 14.3


@chains_prove(
    "the share of B is a mixture of its share of the matches and its share of the other keys."
)
def share_is_a_mixture() -> Claims:
    """Return the claim of 14.3: B's share, where alpha is the weight on all matches."""
    import sympy as sp

    s = sp.Symbol("s", real=True)
    n_0, n_1, f_0, f_1 = sp.symbols("n_0 n_1 f_0 f_1", positive=True)
    alpha = sp.Symbol("alpha", positive=True)
    share = Claim(
        name="`share`",
        start=(f_1 * sp.exp(s) + f_0) / (n_1 * sp.exp(s) + n_0),
        goal=alpha * f_1 / n_1 + (1 - alpha) * f_0 / n_0,
        symbols=(s, n_0, n_1, f_0, f_1, alpha),
        where={s: sp.log(alpha * n_0 / (n_1 * (1 - alpha))), alpha: (0, 1)},
        only=(n_0, n_1, f_0, f_1, alpha),
        slips={
            "alpha is the weight of the matches, not of the others": (1 - alpha) * f_1 / n_1
            + alpha * f_0 / n_0,
            "each kind of keys is divided by its own number, not by that of all": (
                alpha * f_1 + (1 - alpha) * f_0
            )
            / (n_0 + n_1),
            "the other keys are lost": alpha * f_1 / n_1,
            "the other keys have the weight 1 - alpha": alpha * f_1 / n_1 + f_0 / n_0,
            "the matches are divided by the number of all keys": alpha * f_1 / (n_0 + n_1)
            + (1 - alpha) * f_0 / n_0,
            "that is the share if all scores are equal": (f_0 + f_1) / (n_0 + n_1),
            "that is the share if the matches have all of the weight": f_1 / n_1,
            "the counts are not divided by the numbers of keys": alpha * f_1 + (1 - alpha) * f_0,
        },
    )
    return (share,)


FIRST_COUNTS = (1000, 4, 0.01)
# The last ones need a score below zero: most keys match, or most of the weight may go elsewhere.
COUNTS = (
    (11, 1, 0.01),
    (1000, 1, 0.01),
    (51, 7, 1e-6),
    (10**9, 3, 1e-9),
    (12, 2, 0.3),
    (100, 97, 0.4),
    (3, 2, 0.9),
)


def sharpness_is_smallest(rng: Generator, sharpness: Caller) -> str:
    """14.3: the smallest score that leaves epsilon to the keys that do not match."""
    trials = Trials(_wrong_scores)
    num_keys = int(rng.integers(20, 400))
    drawn = (num_keys, int(rng.integers(2, num_keys // 3)), float(rng.uniform(0.001, 0.1)))
    for setting, answer in answers_to(rng, sharpness, [FIRST_COUNTS, *COUNTS, drawn]):
        call = f"sharpness({', '.join(f'{value:g}' for value in setting)})"
        score = number(answer, call)
        n, num_matches, epsilon = setting
        matches = num_matches * math.exp(min(score, 700))  # every other key counts 1
        left, asked_for = distinct_texts(1 / (1 + matches / (n - num_matches)), epsilon)
        fact = (
            f"{call} leaves {left} of the weight to the other keys, where {asked_for} is asked for"
        )
        trials.add(score, _right_score(*setting), fact, *setting)

    trials.settle()
    return f"right in {len(trials)} settings; it grows with the logarithm of the number of keys."


def _right_score(n, num_matches, epsilon):
    return math.log((n - num_matches) / num_matches) + math.log((1 - epsilon) / epsilon)


def _wrong_scores(n, num_matches, epsilon):
    right = _right_score(n, num_matches, epsilon)
    odds = math.log((1 - epsilon) / epsilon)
    others = n - num_matches
    return {
        "that is the score for a single match": math.log(n - 1) + odds,
        "the number of matches is left out: several matches share the weight": (
            math.log(others) + odds
        ),
        "there are n - num_matches other keys, not n": math.log(n / num_matches) + odds,
        "there are n - num_matches other keys, not n - 1": math.log((n - 1) / num_matches) + odds,
        "the numbers of keys are left out: many other keys need a higher score": odds,
        "the ratio of the two kinds of keys is upside down: many other keys need a higher score": (
            math.log(num_matches / others) + odds
        ),
        "the score is cut off at 0, and here it lies below": max(0.0, right),
        "that is rounded; the exact score is asked for": (
            AnyOf((int(right), math.ceil(right), round(right, 1), round(right, 2), round(right, 3)))
        ),
        "that leaves epsilon to the matches; they should keep 1 - epsilon": (
            math.log(others / num_matches) - odds
        ),
        "several matches need a smaller score, not a larger one": (
            math.log(others * num_matches) + odds
        ),
        "that is a logarithm to base 2; exp belongs to the natural one": right / math.log(2),
        "that is a logarithm to base 10; exp belongs to the natural one": right / math.log(10),
        "nearly: the matches keep 1 - epsilon of the weight, not 1": (
            math.log(others / num_matches) - math.log(epsilon)
        ),
        "the sign is turned round": -right,
        "that is the ratio of the weights; the score is its logarithm": math.exp(right),
        "there is no root of d here: scores are given as they are": right * math.sqrt(n),
    }


# 14.5

HEADS_AND_LENGTHS = ((2, 7), (3, 2), (4, 20), (2, 7))
FIRST_ROW = (0, 1, 2, 0, 1, 0, 3, 3, 0, 2)
ROWS = ((4, 2, 4, 4, 1, 2, 4), (1, 2, 3, 4, 1, 2, 3, 4))
NUM_HEADS = (1, 2, 3, 4, 1)  # of the weights, one number for each sequence
ONE_EACH = "one number for each head is expected"


def heads_are_found(rng: Generator, previous: Caller, induction: Caller) -> str:
    """14.5: the mean weight on the place before, and on all places after earlier occurrences."""

    def judge_previous() -> str:
        trials = Trials(_wrong_previous)
        settings = [(_causal_weights(rng, H, T),) for H, T in HEADS_AND_LENGTHS]
        for (weights,), answer in answers_to(rng, previous, settings):
            H, T, _ = weights.shape
            right = np.diagonal(weights, -1, -2, -1).mean(-1)
            name = f"previous_token_score for {H} heads and {T} tokens"
            _add(trials, name, answer, right, ONE_EACH, weights)
        trials.settle()
        return f"The first score is right for up to four heads, on {len(trials)} sequences."

    def judge_induction() -> str:
        trials = Trials(_wrong_induction)
        drawn = rng.integers(4, size=int(rng.integers(9, 16)))
        again = rng.permutation(FIRST_ROW)  # other tokens of the same length
        rows = [np.array(row) for row in (FIRST_ROW, *ROWS, (*drawn, drawn[0]), again)]
        pairs = zip(NUM_HEADS, rows, strict=True)
        cases = [(_causal_weights(rng, H, len(row)), row) for H, row in pairs]
        for (weights, tokens), answer in answers_to(rng, induction, cases):
            right = _followed(weights, _hits(tokens))
            name = f"induction_score for tokens {' '.join(map(str, tokens))}"
            _add(trials, name, answer, right, ONE_EACH, weights, tokens)
        trials.settle()
        return f"So is the second one, on {len(trials)}."

    judges = {"previous_token_score": judge_previous, "induction_score": judge_induction}
    return judge_separately(judges, given=["previous_token_score"])


def _causal_weights(rng, H, T):
    scores = 2 * rng.normal(size=(H, T, T))
    return softmax(np.where(np.tri(T, dtype=bool), scores, -np.inf))


def _add(trials, name, answer, right, shape, *inputs):
    """Keep a trial; shape: what the answer's shape should be, in words."""
    result = array(answer, name)
    if result.shape != right.shape:
        fact = f"{name} has shape {result.shape}, where {shape}"
    else:
        fact = f"{name} is off by up to {np.abs(result - right).max():.2g}"
    trials.add(result, right, fact, *inputs)


def _wrong_previous(weights):
    H, T, _ = weights.shape
    on = np.diagonal(weights, -1, -2, -1)  # (H, T - 1)
    is_largest = weights[:, 1:].argmax(-1) == np.arange(T - 1)
    back_two = np.diagonal(weights, -2, -2, -1) if T > 2 else np.zeros((H, 1))
    return {
        "place 0 has no predecessor, so it is no row of the mean": on.sum(-1) / T,
        "that is the weight of each token on itself": np.diagonal(weights, 0, -2, -1).mean(-1),
        "queries and keys are exchanged; rows of `weights` are queries": (
            np.diagonal(weights, 1, -2, -1).mean(-1)
        ),
        "that is the sum over places; the mean is asked for": on.sum(-1) if T > 2 else None,
        "that is the largest weight; the mean is asked for": on.max(-1) if T > 2 else None,
        "that is how often the place before has the largest weight; the mean weight is asked for": (
            is_largest.mean(-1)
        ),
        "that is the weight two places back": back_two.mean(-1),
        "the mean runs over all entries of the matrix; T - 1 places have a predecessor": (
            on.sum(-1) / T**2
        ),
        "the last token is left out": on[:, :-1].mean(-1) if T > 2 else Seen(True),
        "the weights are squared": (on**2).mean(-1),
        "one score for each head is expected, and you take the mean over all heads": on.mean(),
    }


def _hits(tokens, *, before=None):
    """Return a mask (T, T) of the places after an earlier occurrence of a token.

    before: the token before each place; that of `tokens` if None.
    """
    if before is None:
        before = np.concatenate([[-1], tokens[:-1]])
    return (before[None] == tokens[:, None]) & np.tri(len(tokens), dtype=bool)


def _followed(weights, hits, rows=None):
    """Return the mean over rows of the weight on the hits; rows: those with a hit."""
    if rows is None:
        rows = hits.any(-1)
    return (weights * hits).sum(-1)[:, rows].mean(-1)


def _wrong_induction(weights, tokens):
    T = len(tokens)
    hits = _hits(tokens)
    rows = hits.any(-1)
    totals = (weights * hits).sum(-1)
    earlier = np.tri(T, k=-1, dtype=bool) & (tokens[None] == tokens[:, None])
    one_before = np.pad(earlier[:, 1:], ((0, 0), (0, 1)))
    earliest = hits & (hits.cumsum(-1) == 1)
    latest = hits & (hits.cumsum(-1) == hits.sum(-1, keepdims=True))
    strict = hits & np.tri(T, k=-1, dtype=bool)
    stripe = np.eye(T, k=-(T // 2 - 1), dtype=bool)
    stripe[: T // 2] = False
    around = _hits(tokens, before=np.roll(tokens, 1))
    return {
        "that is the weight on the letter itself; the place after it is meant": (
            _followed(weights, earlier, rows)
        ),
        "that is the weight on the place before the letter; the place after it is meant": (
            _followed(weights, one_before, rows)
        ),
        "only the latest occurrence is counted; all of them are": _followed(weights, latest, rows),
        "only the first occurrence is counted; all of them are": _followed(weights, earliest, rows),
        "the place t itself is left out, but after a doubled letter it is one of those that count": (
            AnyOf((_followed(weights, strict, rows), _followed(weights, strict, strict.any(-1))))
        ),
        "a letter's own places count too; only the places after it are meant": (
            _followed(weights, hits | earlier, rows)
        ),
        "the weight is divided by the number of all matches; the mean runs over rows": (
            totals.sum(-1) / hits.sum()
        ),
        "all rows but the first are in the mean, but a place whose letter is new cannot be right": (
            totals[:, 1:].mean(-1)
        ),
        "that is the median of the rows; the mean is asked for": np.median(totals[:, rows], -1),
        "all rows are in the mean, but a place whose letter is new cannot be right": totals.mean(
            -1
        ),
        "the weight is averaged over the matches of a row; their total is asked for": (
            (totals[:, rows] / hits.sum(-1)[rows]).mean(-1)
        ),
        "queries and keys are exchanged; rows of `weights` are queries": (
            _followed(weights.mT, hits, rows)
        ),
        "that is the largest row; the mean is asked for": totals[:, rows].max(-1),
        "that is the sum over rows; the mean is asked for": totals.sum(-1),
        "you count the stripe half a sequence back, which is right only for a sequence said twice; use the "
        "tokens": _followed(weights, stripe, stripe.any(-1)) if stripe.any() else None,
        "index -1 is the last letter: place 0 has no predecessor": _followed(weights, around),
        "index -1 is the last letter: place 0 has no predecessor; leave it out of the places that count": (
            _followed(weights, around, rows)
        ),
        "one score for each head is expected, and you take the mean over all heads": (
            _followed(weights, hits).mean()
        ),
    }


# 14.6

FIRST_WIDTHS = (5, 7, 3)  # letters, width, width of a head
WIDTHS = ((6, 6, 6), (4, 9, 2), FIRST_WIDTHS)


def circuits_are_read(rng: Generator, ov: Caller, matching: Caller, copying: Caller) -> str:
    """14.6: both circuits as matrices from letter to letter, and how far one of them copies."""
    settings = [_drawn_weights(rng, *sizes) for sizes in (FIRST_WIDTHS, *shuffled(rng, WIDTHS))]

    def judge_circuit(
        name: str, answer: Caller, right: Callable, wrong: Mistakes, args: str
    ) -> str:
        trials = Trials(wrong)
        for weights in settings:
            matrices = [weights[key] for key in args.split()]
            circuit = right(*matrices)
            square = f"letters by letters is {circuit.shape}"
            _add(trials, f"{name}(...)", answer(*matrices), circuit, square, *matrices)
            trials.settle()
        return f"{name} is right for {len(settings)} heads."

    def judge_copying() -> str:
        trials = Trials(_wrong_copying)
        circuits = _circuits(rng)
        for (C,), answer in answers_to(rng, copying, [(C,) for C in circuits.values()]):
            name = next(name for name, one in circuits.items() if one is C)
            score = number(answer, f"copying_score of {name}")
            trials.add(score, _copying(C), f"copying_score of {name} is {score:.3g}", C)
        trials.settle()
        return f"So is the copying score, of {len(trials)} matrices."

    writes = ("ov_circuit", ov, _ov, _wrong_ov, "E W_v W_o U")
    matches = ("matching_circuit", matching, _matching, _wrong_matching, "E W_q W_k W_v1 W_o1")
    return judge_separately(
        {
            "ov_circuit": partial(judge_circuit, *writes),
            "matching_circuit": partial(judge_circuit, *matches),
            "copying_score": judge_copying,
        },
        given=["copying_score"],
    )


def _drawn_weights(rng, num_letters, D, d):
    read = (D, d)
    write = (d, D)
    shapes = {"E": (num_letters, D), "U": (D, num_letters), "W_q": read, "W_k": read}
    shapes |= {"W_v": read, "W_o": write, "W_v1": read, "W_o1": write}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _circuits(rng):
    """Return {what it is: a matrix (n, n) from letter to letter}."""
    n = 5
    return {
        "a random matrix": rng.normal(size=(n, n)),
        "the identity": np.eye(n),
        "minus the identity": -np.eye(n),
        "a cycle": np.roll(np.eye(n), 1, 0) + 0.1 * np.eye(n),
        "three times the identity with noise": 3 * np.eye(n) + 0.3 * rng.normal(size=(n, n)),
        "diag(9, 1, 1, -1, -1, -1)": np.diag([9.0, 1, 1, -1, -1, -1]),
    }


def _ov(E, W_v, W_o, U):
    return E @ (W_v @ W_o) @ U


def _wrong_ov(E, W_v, W_o, U):
    right = _ov(E, W_v, W_o, U)
    d = W_v.shape[1]
    table = {
        "rows and columns are exchanged: a row is the letter that is attended to": right.T,
        "E is missing: rows are letters, not features": W_v @ W_o @ U,
        "U is missing: columns are letters, not features": E @ W_v @ W_o,
        "E and U are missing: both sides are letters": W_v @ W_o,
        "values are not divided by the root of d; only scores are": right / d**0.5,
        "the direct path E U is added; the head alone is asked for": right + E @ U,
        "E is used in place of the read-out U": E @ W_v @ W_o @ E.T,
    }
    if W_v.shape[0] == d:
        table["W_o comes before W_v; a head first reads values, then writes"] = E @ W_o @ W_v @ U
    return table


def _matching(E, W_q, W_k, W_v1, W_o1):
    return E @ W_q @ (E @ W_v1 @ W_o1 @ W_k).T / W_q.shape[1] ** 0.5


def _wrong_matching(E, W_q, W_k, W_v1, W_o1):
    right = _matching(E, W_q, W_k, W_v1, W_o1)
    d = W_q.shape[1]
    first = E @ W_v1 @ W_o1
    return {
        "rows and columns are exchanged: a row is the letter of the query": right.T,
        "the root of d is missing in the scores": right * d**0.5,
        "scores are divided by the root of d, not by d": right / d**0.5,
        "head 1 writes into the keys here, and you let it write into the queries": (
            first @ W_q @ (E @ W_k).T / d**0.5
        ),
        "head 1 is missing: the key knows what stood before it only from head 1": (
            E @ W_q @ (E @ W_k).T / d**0.5
        ),
        "head 1 is on both sides; the query is the letter itself": (
            first @ W_q @ (first @ W_k).T / d**0.5
        ),
        "W_q and W_k are exchanged": E @ W_k @ (first @ W_q).T / d**0.5,
        "the letter's own embedding is added to what head 1 wrote; that alone is asked for": (
            E @ W_q @ ((E + first) @ W_k).T / d**0.5
        ),
        "the root is that of D, the width of the stream; it is the root of d, the width of a head": (
            right * d**0.5 / E.shape[1] ** 0.5
        ),
    }


def _copying(C):
    values = np.linalg.eigvals(C)
    return values.real.sum() / np.abs(values).sum()


def _wrong_copying(C):
    values = np.linalg.eigvals(C)
    singular = np.linalg.svd(C, compute_uv=False)
    lower = np.linalg.eigvalsh(C)
    symmetric = np.linalg.eigvalsh((C + C.T) / 2)
    return {
        "singular values are never negative, so a head that inverts letters would pass": 1.0,
        "that is the share of eigenvalues with a positive real part; their sizes count": (
            (values.real > 0).mean()
        ),
        "the sum of the eigenvalues is not divided by the sum of their sizes": values.real.sum(),
        "the sum of the eigenvalues is divided by itself; the sum of their sizes belongs below": 1.0,
        "the size of the sum stands below; the sum of the sizes is meant": (
            np.sign(values.real.sum())
        ),
        "the sign is lost, so a head that inverts letters would pass": abs(_copying(C)),
        "the score is moved to between 0 and 1; it lies between -1 and 1": (_copying(C) + 1) / 2,
        "the trace is divided by the number of letters, not by the sizes of the eigenvalues": (
            np.trace(C) / len(C)
        ),
        "these are the entries on the diagonal; eigenvalues are meant": (
            np.trace(C) / np.abs(np.diag(C)).sum()
        ),
        "that is the mean over eigenvalues; large ones count more": (
            (values.real / np.abs(values)).mean()
        ),
        "the sizes below are those of the real parts; the size of a complex number is its modulus": (
            values.real.sum() / np.abs(values.real).sum()
        ),
        "the trace is divided by the sum of all entries' sizes; eigenvalues are meant": (
            np.trace(C) / np.abs(C).sum()
        ),
        "`eigvalsh` sees the lower triangle alone, as if the matrix were symmetric": (
            lower.sum() / np.abs(lower).sum()
        ),
        "these are the eigenvalues of the symmetric part, (C + C^T) / 2": (
            symmetric.sum() / np.abs(symmetric).sum()
        ),
        "that is how often the largest entry of a row is on the diagonal": (
            (C.argmax(1) == np.arange(len(C))).mean()
        ),
        "that is the trace over the singular values; the sizes of the eigenvalues belong below": (
            np.trace(C) / singular.sum()
        ),
    }


# 14.7

FIRST_CUT = (5, 6, 3)  # T, D, d
CUTS = ((4, 4, 4), (1, 5, 2), (7, 8, 2))
LOW_CUT = (6, 5, 3)  # with all scores far below zero
PATHS = ("q", "k", "v")


def one_path_is_cut(rng: Generator, patched: Caller) -> str:
    """14.7: the other two inputs see the stream as it is."""
    trials = Trials(_wrong_cuts)
    cases = [(sizes, path) for sizes in CUTS for path in PATHS]
    first = [(FIRST_CUT, path) for path in PATHS]
    for sizes, path in [*first, *shuffled(rng, cases), (LOW_CUT, "v")]:
        T, D, d = sizes
        x, written, instead, weights = _drawn_streams(rng, *sizes)
        inputs = [x, written, instead, weights, path]
        output = array(patched(*inputs), "patched(...)")
        right = _cut(x, x - written + instead, weights, path)
        setting = f"{T} tokens, D = {D}, d = {d}, path {path}"
        if output.shape != right.shape:
            raise NotYet(
                f"patched(...) has shape {output.shape}, expected {right.shape} ({setting})."
            )
        fact = f"it is off by up to {np.abs(output - right).max():.2g} ({setting})"
        trials.add(output, right, fact, *inputs)
        if len(trials) >= len(PATHS):  # one path alone does not tell which others are cut
            trials.settle()

    return f"each path alone is cut, in {len(trials)} cases."


def _drawn_streams(rng, T, D, d):
    """Draw x, written and instead (T, D), and the four matrices of a head."""
    x, written, instead = rng.normal(size=(3, T, D))
    W_q, W_k, W_v = rng.normal(size=(3, D, d))
    W_o = rng.normal(size=(d, D))
    if (T, D, d) == LOW_CUT:
        # Features 0 and 1 make queries and keys, and layer 1 does not write there.
        W_q[:] = 0
        W_k[:] = 0
        q, k = far_below(rng, x @ W_q, x @ W_k)
        x[:, 0], x[:, 1] = q[:, 0], k[:, 0]
        W_q[0], W_k[1] = 1, 1
        written[:, :2], instead[:, :2] = 0, 0
    return x, written, instead, [W_q, W_k, W_v, W_o]


def _projected(x, stream, weights, path):
    """Return [q, k, v], where `path` names those that are made of the other stream."""
    pairs = zip(PATHS, weights, strict=False)  # the last of the weights is W_o
    return [(stream if name in path else x) @ W for name, W in pairs]


def _cut(x, stream, weights, path, *, scale=None):
    """Return what the head writes if the inputs named by `path` see the other stream."""
    q, k, v = _projected(x, stream, weights, path)
    return attend(q, k, v, causal=True, scale=scale)[0] @ weights[-1]


def _wrong_cuts(x, written, instead, weights, path):
    stream = x - written + instead

    def cut(path=path, stream=stream, **options):
        return _cut(x, stream, weights, path, **options)

    q, k, v = _projected(x, stream, weights, path)
    attended = wrong_contexts(q, k, v, np.tri(len(x), dtype=bool))
    table = {
        sentence: after(context, lambda output: output @ weights[-1])
        for sentence, context in attended.items()
    }
    for one, two in ("qk", "qv", "kv"):
        exchanged = {one: two, two: one}.get(path)
        table[f"{one} and {two} have changed places"] = cut(exchanged) if exchanged else None
    for name in PATHS:
        table[f"{name} is cut whatever `path` says"] = cut(name)
    return table | {
        "all three inputs are cut; only the one named by `path` is": cut("qkv"),
        "nothing is cut: the head still sees what layer 1 wrote": cut(""),
        "zero stands in place of what layer 1 wrote; `instead` is to stand there": (
            cut(stream=x - written)
        ),
        "`instead` is put in beside what layer 1 wrote; take `written` out first": (
            cut(stream=x + instead)
        ),
        "the whole stream is replaced by `instead`, and the letters with it; take out `written` alone": (
            cut(stream=instead)
        ),
        "the sign is turned round: `written` goes out and `instead` comes in": (
            cut(stream=x + written - instead)
        ),
        "the two other paths are cut; only the one named by `path` is": (
            cut("".join(name for name in PATHS if name != path))
        ),
        "the root is that of D, the width of the stream; it is the root of d, the width of a head": (
            cut(scale=x.shape[-1] ** -0.5)
        ),
        "the other stream is added to the result; what the head writes is asked for, without it": (
            stream + cut()
        ),
        "that is by how much the cut changes what the head writes; what it writes is asked for": (
            cut() - cut("")
        ),
        "the stream is added to the result; what the head writes is asked for, without it": x
        + cut(),
    }


# The questions

QUESTIONS = (
    Question(
        id="14.1",
        title="A head that looks one back",
        minutes=4,
        parts=(Part("code", ("previous_token_head",), looks_one_back, points=1),),
        hints=(
            "Only the subspace `place` decides where this head looks: which block of W_QK is that?",
            "Row t of that block belongs to a query at place t. In which column should its large number "
            "stand?",
            "How large must a score be to keep 99% of the weight, if all other scores are 0?",
        ),
    ),
    Question(
        id="14.2",
        title="A head that finds what came next",
        minutes=7,
        parts=(Part("code", ("induction_head",), finds_what_came_next, points=2),),
        hints=(
            "The query asks with its letter. In which subspace does a key say what stood before it?",
            "The value is the letter at the place that was found, and it goes into `after`.",
            "What does `before` hold at place 0? Make sure that place 0 is never found.",
        ),
    ),
    Question(
        id="14.3",
        title="Counting pairs in the context",
        minutes=8,
        parts=(
            Part("derive", ("share",), share_is_a_mixture, points=1),
            Part("code", ("sharpness",), sharpness_is_smallest, points=1),
        ),
        hints=(
            "For the chain: split the fraction into one for the matches and one for the other keys.",
            "Each of the two fractions is a weight times a count among its own keys.",
            "In code: write down the weight of all matches together, and set it to 1 - epsilon.",
        ),
    ),
    Question(
        id="14.4",
        title="One head of one layer is not enough",
        minutes=6,
        parts=(Part("written", points=1),),
        hints=(
            "Times the sum of the exponentials, which is positive, the margin is itself a sum: over what?",
            "Which pairs (letter, place) occur in rows 1 and 4 together, and which in rows 2 and 3?",
        ),
    ),
    Question(
        id="14.5",
        title="Find the heads",
        minutes=4,
        parts=(
            Part("code", ("previous_token_score", "induction_score"), heads_are_found, points=1),
        ),
        hints=(
            "Make a boolean matrix: where is the letter *before* key j equal to the letter of query t, with "
            "j at most t?",
            "Only rows in which that matrix has a True belong to the mean.",
        ),
    ),
    Question(
        id="14.6",
        title="Read the weights",
        minutes=5,
        parts=(
            Part(
                "code",
                ("ov_circuit", "matching_circuit", "copying_score"),
                circuits_are_read,
                points=1,
            ),
        ),
        hints=(
            "Follow a letter through the head: embedded, read as a value, written, read out.",
            "For the second: the query is made from a letter itself, the key from what head 1 writes about "
            "a letter.",
            "What does head 1 write about a letter? Its W_v1 and W_o1 act on a row of E.",
        ),
    ),
    Question(
        id="14.7",
        title="Cut one path",
        minutes=8,
        parts=(Part("code", ("patched",), one_path_is_cut, points=1), Part("written", points=1)),
        hints=(
            "Make the other stream first: what is taken out of x, and what is put in?",
            "Queries, keys and values are made from x, except for the one that `path` names.",
            "In words: which of your tests would the last model, with one layer, have passed?",
        ),
    ),
)
