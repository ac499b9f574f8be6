"""Judges of 15.4, a window that moves with the newest token, as a mask and as keys that are kept.

Contexts decide; what a ring holds is measured besides, in the same run.
"""

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
from attn_course.answers.mistakes import Seen, Trials
from attn_course.answers.tensors import close, distance, tensor_trials
from attn_course.drivers import step_rings
from attn_course.questions.attention_mistakes import wrong_contexts
from attn_course.questions.caching import refuse_types, settle_apart
from attn_utils.kernels import attend

FIRST = (9, 3, 2)  # T, window, sinks
SIZES = ((7, 1, 0), (6, 10, 1), (9, 4, 0), (5, 2, 5), (1, 1, 1), (12, 5, 1))
BATCH = 2
WIDTH = 4
VALUE = 3


def window_moves(rng: Generator, window_mask: Caller, ring_class: Caller) -> str:
    """15.4: who sees whom, then the same contexts from a ring that holds no more than it shows."""
    return judge_separately(
        {
            "window_mask": partial(_judge_mask, rng, window_mask),
            "Ring": partial(_judge_ring, rng, ring_class),
        }
    )


def _judge_mask(rng, window_mask):
    """Return a sentence on the sizes in which the mask is right."""
    trials = Trials(_wrong_masks)
    drawn = tuple(rng.integers((6, 2, 0), (15, 6, 4)).tolist())
    for sizes, answer in answers_to(rng, window_mask, [FIRST, *SIZES, drawn]):
        mask = _mask(answer, sizes)
        right = _look(*sizes)
        differs = mask != right
        fact = f"window_mask{sizes}"
        if differs.any():
            t, j = np.argwhere(differs)[0]
            fact += f" lets token {t} {'see' if mask[t, j] else 'miss'} token {j}"
        trials.add(mask, right, fact, *sizes)
    trials.settle()
    return f"The mask is right in {len(trials)} sizes."


def _look(T, window, sinks):
    """Return the mask (T, T): True where a token is at most window - 1 back, or one of the first."""
    t, back = _places(T)
    return (back >= 0) & ((t < sinks) | (back < window))


def _places(T):
    """Return all places (T,), and how far back from each place each other one is (T, T)."""
    places = np.arange(T)
    return places, places[:, None] - places


def _mask(value, sizes):
    """Return a boolean mask (T, T); zeros and ones count."""
    name = f"window_mask{sizes}"
    kind = "it is a mask of True and False, not one of weights, or of numbers that are added to scores."
    try:
        mask = array(value, name)
    except NotYet as error:
        if "infinity" not in str(error):
            raise
        raise NotYet(f"{name} holds an infinity: {kind}") from None
    T = sizes[0]
    if mask.shape != (T, T):
        raise NotYet(f"{name} has shape {mask.shape}, expected {(T, T)}.")
    if not np.isin(mask, (0, 1)).all():
        raise NotYet(f"{name} holds other numbers than True and False: {kind}")
    return mask.astype(bool)


def _wrong_masks(T, window, sinks):
    right = _look(T, window, sinks)
    t, back = _places(T)
    in_window = (back >= 0) & (back < window)
    first = t < sinks
    return {
        "the window holds `window` tokens, the token itself among them; yours holds one more": (
            _look(T, window + 1, sinks)
        ),
        "the window holds `window` tokens, the token itself among them; yours holds one less": (
            (back >= 0) & ((back < window - 1) | first)
        ),
        "the token itself is hidden; it is the newest of its window": right & (back > 0),
        "the window reaches into the future as well": (np.abs(back) < window) | first & (back >= 0),
        "the sinks are not kept": in_window,
        "one sink too many is kept": _look(T, window, sinks + 1),
        "one sink too few is kept": _look(T, window, max(sinks - 1, 0)),
        "the first tokens see all that is before them; they are to be seen by all that come after them": (
            in_window | first[:, None] & (back >= 0)
        ),
        "a token must be in the window *and* a sink to be seen; either is enough": (
            in_window & first if sinks else None
        ),
        "tokens see a sink that comes after them; a sink is seen by itself and later tokens alone": (
            in_window | first
        ),
        "True means *may look*, and yours is the other way round": ~right,
        "rows and columns are exchanged: a row is the token that looks": right.T,
        "the window jumps from block to block; it moves with every token": (
            (t[:, None] // window == t // window) & (back >= 0) | first & (back >= 0)
        ),
        "the sinks are taken out of the window; they come on top of it": (
            _look(T, max(window - sinks, 0), sinks)
        ),
        "only the sinks are seen; the window is missing": (back >= 0) & first,
        "the last tokens of the whole text are seen, not those before each token": (
            (back >= 0) & ((t >= T - window) | first)
        ),
        "every earlier token is seen; the window is missing": back >= 0,
    }


def _judge_ring(rng, ring_class):
    """Return a sentence on the texts tried; raise NotYet if contexts differ or the ring grows."""
    trials = tensor_trials(_wrong_rings)
    sizes = [(3, 1), (4, 0), (1, 0), (2, 3), (40, 2), (5, 2)]
    for window, sinks in shuffled(rng, sizes):
        T = int(rng.integers(16, 30))
        sequences = []
        for _ in range(2):
            q, k = rng.normal(size=(2, BATCH, T, WIDTH))
            sequences.append([2 * q, k, rng.normal(size=(BATCH, T, VALUE))])
        setting = f"{T} tokens, window {window}, sinks {sinks}"
        contexts, held = ring_class.run_driver(step_rings, window, sinks, sequences)
        for sequence, steps in zip(sequences, contexts, strict=True):
            refuse_types(steps)
            for step in steps:
                if step.shape != (BATCH, VALUE):
                    expected = f"expected {(BATCH, VALUE)} ({setting})"
                    raise NotYet(f"step returned shape {step.shape}, {expected}.")
            context = np.stack(steps, 1)
            right, _ = attend(*sequence, mask=_look(T, window, sinks))
            fact = distance(context, right, setting)
            trials.add(context, right, fact, *sequence, window, sinks, context)
        short = [[x[:, :2] for x in sequence] for sequence in sequences]
        settle_apart(
            trials, "rings", lambda x: ring_class.run_driver(step_rings, 4, 0, x)[0], short
        )
        most = (window + sinks + 1) * BATCH * (WIDTH + VALUE) + 64
        if number(held) > most and window + sinks + 1 < T:
            raise NotYet(
                f"right, but after {T} tokens a ring with window {window} and sinks {sinks} holds "
                f"{number(held):,.0f} numbers: let go of what no later token can see."
            )
    return f"The ring gives the same contexts in {len(trials)} texts."


def _wrong_rings(q, k, v, window, sinks, output):
    T = q.shape[1]

    def look(mask):
        context, _ = attend(q, k, v, mask=mask)
        return context

    t, back = _places(T)
    right = _look(T, window, sinks)
    size = window + sinks
    stays = (back >= 0) & (t < size)
    twice = (back >= 0) & (back < window) & (t < sinks)
    hidden = right & (back > 0)
    seen = hidden.any(-1)
    return {
        "the sinks are overwritten: the ring goes round through their slots too": (
            look(_look(T, size, 0)) if sinks else None
        ),
        "the sinks are not kept": look(_look(T, window, 0)) if sinks else None,
        "every earlier token is seen; the window is missing": look(back >= 0),
        "the window holds `window` tokens, the new one among them; yours holds one more": (
            look(_look(T, window + 1, sinks))
        ),
        "the window holds `window` tokens, the new one among them; yours holds one less": (
            look(_look(T, window - 1, sinks)) if window > 1 else Seen(True)
        ),
        "the new token does not see itself: keep it before you attend": (
            Seen(close(output[:, seen], look(hidden)[:, seen]))
        ),
        "once the ring is full, new tokens are not kept": look(stays | np.eye(T, dtype=bool)),
        "a sink that is still in the window counts twice; keep it once": (
            _weighted(q, k, v, 1 * right + twice) if sinks else None
        ),
        "empty slots are attended: a zero key has score 0 and weight e^0": (
            _weighted(q, k, v, right, np.maximum(size - right.sum(-1), 0))
        ),
        "the newest value is returned as it is; the token looks at all that are kept": v,
    } | {
        sentence: context
        for sentence, context in wrong_contexts(q, k, v, right).items()
        if "scores are" in sentence
    }


def _weighted(q, k, v, counts, extra=0.0):
    """Return attention in which key j counts counts[t, j] times, with `extra` (T,) zero keys and values."""
    powers = np.exp(q @ k.mT / q.shape[-1] ** 0.5) * counts
    return powers @ v / (powers.sum(-1) + extra)[..., None]
