"""Judge of 13.5, two scores that find heads by their weights."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, array, asked
from attn_course.answers.mistakes import AnyOf, Seen, Trials
from attn_utils.kernels import softmax

LENGTHS = (7, 2, 20)
FIRST_ROW = (0, 1, 2, 0, 1, 0, 3, 3, 0, 2)
ROWS = ((4, 2, 4, 4, 1, 2, 4), (1, 2, 3, 4, 1, 2, 3, 4))
NUM_HEADS = (1, 2, 3, 4)  # of the weights, one number for each sequence


def heads_are_found(rng: Generator, previous: Caller, induction: Caller) -> str:
    """13.5: the mean weight on the place before, and on all places after earlier occurrences."""
    trials = Trials(_wrong_previous)
    settings = [(_causal(rng, H, T),) for H, T in zip(NUM_HEADS[1:], LENGTHS, strict=True)]
    for (weights,), answer in asked(rng, previous, settings):
        H, T, _ = weights.shape
        name = f"previous_token_score for {H} heads and {T} tokens"
        _judge(trials, answer, _previous(weights), name, weights)
    trials.settle()

    drawn = rng.integers(4, size=int(rng.integers(9, 16)))
    rows = [np.array(row) for row in (FIRST_ROW, *ROWS, (*drawn, drawn[0]))]
    trials = Trials(_wrong_induction)
    cases = [(_causal(rng, H, len(row)), row) for H, row in zip(NUM_HEADS, rows, strict=True)]
    for (weights, tokens), answer in asked(rng, induction, cases):
        name = f"induction_score for tokens {' '.join(map(str, tokens))}"
        _judge(trials, answer, _followed(weights, _hits(tokens)), name, weights, tokens)
    trials.settle()
    return f"both scores are right for up to four heads, on {len(LENGTHS)} and {len(trials)} sequences."


def _causal(rng, H, T):
    """Random causal weights (H, T, T)."""
    scores = 2 * rng.normal(size=(H, T, T))
    hidden = np.where(np.tri(T, dtype=bool), scores, -np.inf)
    return softmax(hidden)


def _judge(trials, answer, right, name, *inputs):
    found = array(answer, name)
    if found.shape != right.shape:
        fact = f"{name} has shape {found.shape}, where one number for each head is expected"
    else:
        fact = f"{name} is off by up to {np.abs(found - right).max():.2g}"
    trials.add(found, right, fact, *inputs)


def _previous(weights):
    return np.diagonal(weights, -1, -2, -1).mean(-1)


def _wrong_previous(weights):
    """{sentence: the scores (H,) that this mistake gives}."""
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
    """Which places (T, T) follow an earlier occurrence of a token; `before`: what stood before a place."""
    if before is None:
        before = np.concatenate([[-1], tokens[:-1]])
    return (before[None] == tokens[:, None]) & np.tri(len(tokens), dtype=bool)


def _followed(weights, hits, rows=None):
    """The mean over rows of the weight on the hits; rows: those with a hit."""
    if rows is None:
        rows = hits.any(-1)
    return (weights * hits).sum(-1)[:, rows].mean(-1)


def _wrong_induction(weights, tokens):
    """{sentence: the scores (H,) that this mistake gives}."""
    T = len(tokens)
    hits = _hits(tokens)
    rows = hits.any(-1)
    found = (weights * hits).sum(-1)
    earlier = np.tri(T, k=-1, dtype=bool) & (tokens[None] == tokens[:, None])
    one_before = np.zeros((T, T), bool)
    one_before[:, :-1] = earlier[:, 1:]
    latest = np.zeros((T, T), bool)
    earliest = np.zeros((T, T), bool)
    for t in np.flatnonzero(rows):
        places = np.flatnonzero(hits[t])
        latest[t, places[-1]] = True
        earliest[t, places[0]] = True
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
            found.sum(-1) / hits.sum()
        ),
        "all rows but the first are in the mean, but a place whose letter is new cannot be right": (
            found[:, 1:].mean(-1)
        ),
        "that is the median of the rows; the mean is asked for": np.median(found[:, rows], -1),
        "all rows are in the mean, but a place whose letter is new cannot be right": found.mean(-1),
        "the weight is averaged over the matches of a row; their total is asked for": (
            (found[:, rows] / hits.sum(-1)[rows]).mean(-1)
        ),
        "queries and keys are exchanged; rows of `weights` are queries": (
            _followed(weights.mT, hits, rows)
        ),
        "that is the largest row; the mean is asked for": found[:, rows].max(-1),
        "that is the sum over rows; the mean is asked for": found.sum(-1),
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
