"""Judges of 6.2-6.5, the steps of attention in torch."""

from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, judge_separately, shuffled
from attn_course.answers.mistakes import Seen
from attn_course.answers.tensors import (
    close,
    distance,
    judge_gradients,
    leaves_of,
    only_tensors,
    tensor_trials,
)
from attn_course.drivers import as_leaf, run_function
from attn_course.questions.attention_mistakes import (
    CAUSAL_MASKS,
    FINITE,
    LOW_FILL,
    MERGES,
    SCORES,
    SPLITS,
    TOO_LATE,
    WEIGHTS,
    after,
    masked_softmax,
    merge_heads,
    scaled_products,
    split_heads,
)
from attn_utils.kernels import attend as reference_attend
from attn_utils.kernels import softmax
from attn_utils.masks import causal_mask as reference_mask


def scores_are_scaled_products(rng: Generator, scores: Caller) -> str:
    """6.2: q k^T / sqrt(d) for every sequence of the batch, with gradients, on odd sizes."""
    trials = tensor_trials(_wrong_scores)
    side = int(rng.integers(4, 6))
    length = int(rng.integers(6, 9))
    cube = (side, side, side)  # on which `.T` goes wrong without an error
    large = (2, 7, 6)  # far above where anyone would clip
    others = [(2, 5, 3), (1, 1, 4), (3, length, 8)]
    for size in [cube, *shuffled(rng, others), large]:
        q, k = rng.normal(size=(2, *size))
        setting = f"(B, T, d) = {size}"
        if size == large:
            q = 30 * q
            setting += ", large scores"
        _judge_output(trials, scores, "scores", scaled_products, {"q": q, "k": k}, setting=setting)

    return "equal to the scaled products on five shapes, gradients included."


def _judge_output(trials, answer, name, compute, arrays, *others, setting):
    """Raise NotYet unless the answer equals `compute` of the arrays as tensors, gradients included."""
    result = answer.run_driver(run_function, list(arrays.values()), *others)
    (found,) = only_tensors(result, name, 1)
    leaves = leaves_of(arrays)
    right = compute(*leaves.values(), *others)
    fact = distance(found, right, setting)
    trials.require(found, right, fact, found, *leaves.values(), *others)
    judge_gradients(result["gradients"], right, leaves, setting)


def _wrong_scores(found, q, k):
    """Return {sentence: scores (B, T, T)}; clipped ones are clipped where those of the answer end."""
    wrong = {sentence: score(q, k) for sentence, score in SCORES.items()}
    scaled = scaled_products(q, k)
    wrong["this is already a softmax; the scores themselves are asked for"] = softmax(scaled)
    low = found.min(initial=0)
    high = found.max(initial=0)
    unscaled = scaled_products(q, k, power=0.0)
    wrong["the scores are clipped, so that some that differ become equal"] = (
        unscaled.clip(low, high) if _reach_beyond(unscaled, low, high) else Seen(False)
    )
    wrong["the scores are clipped after scaling, so that some that differ become equal"] = (
        scaled.clip(low, high) if _reach_beyond(scaled, low, high) else None
    )
    return wrong


def _reach_beyond(scores, low, high):
    """Return True if clipping to two different ends changes some of the scores."""
    return bool(low < high and (scores.min() < low or scores.max() > high))


def attend_is_masked_softmax(rng: Generator, attend: Caller) -> str:
    """6.3: context and weights under any boolean mask, rows without a key zero, gradients finite.

    Scores may be large; in float32, hidden ones may lie so far above the others that a softmax over
    all keys leaves nothing to renormalise.
    """
    trials = tensor_trials(_wrong_weights)
    for arrays, mask, what in _attend_cases(rng):
        q, k, v = arrays.values()
        setting = f"q {q.shape}, k {k.shape}{what}"
        result = attend.run_driver(run_function, [q, k, v, mask])
        context, weights = only_tensors(result, "attend", 2)

        leaves = leaves_of({name: values.astype(float) for name, values in arrays.items()})
        right, right_weights = reference_attend(**leaves, mask=mask)
        if weights.shape == right.shape and context.shape == right_weights.shape:
            raise NotYet("context and weights have changed places; the context comes first.")

        fact = distance(weights, right_weights, f"weights, {setting}")
        trials.require(weights, right_weights, fact, leaves, mask, weights)
        leak = np.where(mask, 0, np.abs(weights)).max()
        if not leak <= 0:
            raise NotYet(
                f"a hidden key still has a weight of {leak:.2g}, not exactly 0 ({setting})."
            )
        if not close(context, right):
            raise NotYet(f"{distance(context, right, f'context, {setting}')}.")
        judge_gradients(result["gradients"], right, leaves, setting)

    return f"weights, context and gradients agree in {len(trials)} cases, one with a row without any key."


LEADS = (((2,), 3, 5), ((1,), 1, 1), ((2, 3), 4, 6), ((2, 3), 4, 4))  # (leading axes, T, S)


def _attend_cases(rng):
    """Return ({name: array}, mask, what is special): a usual one, others in any order, sizes of scores last.

    The last four are in the order in which they tell mistakes apart: each mistake breaks first at its own.
    """
    cases = []
    for lead, T, S in LEADS:
        some = rng.random((*lead, T, S)) < 0.5
        some[..., 0] = True
        causal = np.tri(T, S, dtype=bool)
        every = np.ones((T, S), bool)
        for mask in (some, causal, every):
            cases.append((_drawn(rng, lead, T, S), mask, ""))

    cases.append((_drawn(rng, (2,), 5, 5), np.tri(5, dtype=bool), ""))
    closed = some.copy()
    closed[0, 1, 2] = False  # in one head alone
    cases.append((_drawn(rng, lead, T, S), closed, ", a row without any key"))

    usual, *others = cases
    _, mask, _ = usual
    another = ~mask | np.eye(*mask.shape[-2:]).astype(bool)
    of_same_shape = (_drawn(rng, *LEADS[0]), another, "")
    cases = [usual, of_same_shape, *shuffled(rng, others)]
    large = _drawn(rng, (2, 3), 4, 4)
    large["q"] *= 1000
    cases.append((large, np.ones((4, 4), bool), ", scores in the thousands"))

    arrays, mask = _one_hidden(rng, 12, 0, 10 * 3**0.5)
    single = {name: values.astype(np.float32) for name, values in arrays.items()}
    cases.append((single, mask, ", float32, a hidden score 120 above the others"))
    for depth in (150, 25_000):
        arrays, mask = _one_hidden(rng, 10, -depth * 3**0.5 / 10, 0)
        cases.append((arrays, mask, f", scores that may be seen near {-depth}"))
    return cases


def _drawn(rng, lead, T, S):
    """Draw q (..., T, 3), k (..., S, 3) and v (..., S, 7), by name."""
    return {
        "q": 2 * rng.normal(size=(*lead, T, 3)),
        "k": rng.normal(size=(*lead, S, 3)),
        "v": rng.normal(size=(*lead, S, 7)),
    }


def _one_hidden(rng, query, seen, hidden):
    """Draw arrays and a mask that hides one of five keys; their first features outweigh all others."""
    arrays = _drawn(rng, (2,), 3, 5)
    arrays["q"][..., 0] = query
    arrays["k"][..., 0] = seen
    arrays["k"][:, 3, 0] = hidden
    mask = np.ones((3, 5), bool)
    mask[:, 3] = False
    return arrays, mask


def _wrong_weights(leaves, mask, found):
    q = leaves["q"]
    k = leaves["k"]
    scores = scaled_products(q, k)
    look = q.new_tensor(mask).bool()
    wrong = {}
    for sentence, score in SCORES.items():
        wrong[sentence] = after(score(q, k), lambda scores: masked_softmax(scores, look))
    for sentence, weigh in WEIGHTS.items():
        wrong[sentence] = weigh(scores, look)

    hidden = scores.where(look, -np.inf)
    if np.isnan(found).any():
        is_closed = not look.any(-1).all()
        wrong["a row that may look at nothing comes out as nan; it should be zero"] = (
            hidden.softmax(-1) if is_closed else None
        )
    else:
        wrong["a row that may look at nothing shares its weight out equally; it should be zero"] = (
            masked_softmax(scores, look, fill=FINITE)
        )
    is_broken = Seen(not close(found, masked_softmax(scores, look)))
    is_large = scores.where(look, 0).abs().max() > 700
    highest = hidden.amax(-1)  # of the scores that a row may see
    is_low = not look.all() and highest[highest.isfinite()].min() < -100
    is_far_above = scores.max() > 100 + hidden.max()
    return wrong | {
        "exponentials of large scores are infinite, and far below the largest they are all zero; a softmax "
        "first takes away the largest score of each row": is_broken if is_large else None,
        LOW_FILL: is_broken if is_low else None,
        TOO_LATE: is_broken if is_far_above else None,
    }


LOOK = "True = may look"


def mask_is_causal(rng: Generator, causal_mask: Caller) -> str:
    """6.4: under one convention, the weights are those of a query that sees itself and its past."""
    fits: set[str] = set()  # the readings that made sense at every length so far
    odd = 1 + 2 * int(rng.integers(32, 50))  # beyond a table of 64
    usual = int(rng.integers(5, 9))
    for T in [usual, *shuffled(rng, [1, 2, odd, odd + 3])]:
        result = causal_mask.run_driver(run_function, [], T)
        (found,) = only_tensors(result, "causal_mask", 1)
        shape = (T, T)
        if found.squeeze().shape != np.zeros(shape).squeeze().shape:
            raise NotYet(f"causal_mask({T}) has shape {found.shape}, expected {shape}.")
        mask = found.reshape(shape)
        _judge_kind(mask, T)

        scores = rng.normal(size=(T, T))
        right = _masked_softmax(scores, reference_mask(T))
        readings = _mask_readings(mask, scores)
        now = {name for name, weights in readings.items() if close(weights, right)}
        if not now:
            message, mistake = _why_not_causal(readings, scores, T)
            raise NotYet(message, mistake=mistake)
        _judge_low_scores(mask, now, T)
        fits = fits & now if fits else now
        if not fits:
            raise NotYet(f"what True and False mean is not the same at every length ({T}).")

    (meaning,) = fits
    note = "" if meaning == LOOK else " Mind that `attend` expects True = may look."
    return f"no query sees a later key, on five lengths (yours is read as: {meaning}).{note}"


def _masked_softmax(scores, look):
    """Return the weights (T, T) of scores (T, T) where only True may be looked at."""
    return softmax(np.where(look, scores, -np.inf))


def _judge_kind(mask, T):
    """Raise NotYet for nan, and for numbers that look like a boolean mask."""
    if np.isnan(mask).any():
        raise NotYet("the mask contains nan: 0 times infinity is not 0.")
    if mask.dtype.kind != "b" and T > 1 and set(np.unique(mask)) <= {0, 1}:
        raise NotYet(
            "the mask holds the numbers 0 and 1: added to the scores they hide nothing, and they are no "
            "True and False. Make it boolean."
        )


def _mask_readings(mask, scores):
    """Return {what True or 0 means: weights} for each convention that the mask could follow."""
    if mask.dtype.kind != "b":
        return {"added to the scores": softmax(scores + mask)}
    return {
        LOOK: _masked_softmax(scores, mask),
        "True = hidden": _masked_softmax(scores, ~mask),
    }


def _judge_low_scores(mask, now, T):
    """Raise NotYet if a later key keeps weight because all scores that may be seen are very low.

    now: the readings under which the mask is causal.
    """
    look = reference_mask(T)
    scores = np.where(look, -25_000.0, 1000.0)
    for name, weights in _mask_readings(mask, scores).items():
        leak = np.where(look, 0, weights).max()
        if name in now and not leak <= 0:
            message = f"{LOW_FILL}: a later key gets the weight {leak:.2g} (length {T})."
            raise NotYet(message, mistake=LOW_FILL)


def _why_not_causal(readings, scores, T):
    """Return a sentence on what a mask of this length shows or hides wrongly, and the known mistake."""
    look = reference_mask(T)
    tensor = as_leaf(look)
    masks = {sentence: np.asarray(change(tensor)) for sentence, change in CAUSAL_MASKS.items()}
    masks["no key is hidden"] = np.ones((T, T), bool)
    for name, weights in readings.items():
        for sentence, seen in masks.items():
            if close(weights, _masked_softmax(scores, seen)):
                return f"{sentence} (length {T}, read as: {name}).", sentence

    if np.isnan(list(readings.values())).any():
        return f"read as a mask that is added to the scores, it gives nan (length {T}).", ""
    leaks = [np.where(look, 0, weights).sum(-1).max() for weights in readings.values()]
    if min(leaks) <= 1e-5:
        return f"no later key is seen, but some earlier ones are hidden too (length {T}).", ""
    return f"a query puts {leaks[0]:.2g} of its weight on later keys (length {T}).", ""


def heads_split_and_merge(rng: Generator, split: Caller, merge: Caller) -> str:
    """6.5: head i owns a block of neighbouring features of every token, and merging undoes it."""
    different = (2, int(rng.integers(5, 9)), 12, 3)  # all axes
    others = [(1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8), (2, 3, 8, 2)]
    shapes = [different, *shuffled(rng, others)]

    def judge_split() -> str:
        trials = tensor_trials(partial(_moved, WRONG_SPLITS))
        for B, T, D, H in shapes:
            x = {"x": rng.normal(size=(B, T, D))}
            setting = f"(B, T, D, H) = {(B, T, D, H)}"
            _judge_output(trials, split, "split_heads", split_heads, x, H, setting=setting)
        return f"Head and feature are where they belong on {len(trials)} shapes."

    def judge_merge() -> str:
        trials = tensor_trials(partial(_moved, WRONG_MERGES))
        for B, T, D, H in shapes:
            heads = {"x": rng.normal(size=(B, H, T, D // H))}
            setting = f"(B, T, D, H) = {(B, T, D, H)}"
            _judge_output(trials, merge, "merge_heads", merge_heads, heads, setting=setting)
        return "Merging puts them back."

    return judge_separately({"split_heads": judge_split, "merge_heads": judge_merge})


def _moved(moves, found, *inputs):
    """Return {sentence: what this move makes of the inputs}."""
    return {sentence: move(*inputs) for sentence, move in moves.items()}


WRONG_SPLITS = SPLITS | {
    "the heads stand after the tokens, (B, T, H, d); matmul needs them before": lambda x, num_heads: (
        x.unflatten(-1, (num_heads, -1))
    ),
    "the heads come in reverse order": lambda x, num_heads: split_heads(x, num_heads).flip(1),
    "width and number of heads have changed places": lambda x, num_heads: x.unflatten(
        -1, (-1, num_heads)
    ).transpose(1, 2),
}
WRONG_MERGES = MERGES | {
    "the heads are averaged, where they stand side by side": lambda x: x.mean(1),
    "the heads are summed, where they stand side by side": lambda x: x.sum(1),
}
