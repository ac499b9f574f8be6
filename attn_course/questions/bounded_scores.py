"""Judge of the code of 16.2: scores of directions, capped scores, and the bound that a weight needs."""

import math

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, answers_to, judge_separately, number, shuffled
from attn_course.answers.mistakes import AnyOf, Seen, Trials, distinct_texts
from attn_course.answers.tensors import (
    close,
    distance,
    judge_gradients,
    leaves_of,
    only_tensors,
    tensor_trials,
)
from attn_course.drivers import run_function, run_with_cap
from attn_course.questions.attention_mistakes import INVERTED, NOT_HERE
from attn_utils.kernels import softmax


def bounds_hold(
    rng: Generator, normed_scores: Caller, capped_weights: Caller, needed_bound: Caller
) -> str:
    """16.2: the three functions, each worth a third."""
    return judge_separately(
        {
            "normed_scores": lambda: _judge_normed_scores(rng, normed_scores),
            "capped_weights": lambda: _judge_capped_weights(rng, capped_weights),
            "needed_bound": lambda: _judge_needed_bound(rng, needed_bound),
        }
    )


# normed_scores

# Leading axes, T, S, d.
SHAPES = (((), 4, 4, 4), ((2,), 3, 5, 4), ((2, 3), 2, 4, 3), ((), 3, 2, 1), ((2,), 3, 5, 4))


def _judge_normed_scores(rng, normed_scores):
    trials = tensor_trials(_wrong_scores)
    for lead, T, S, d in [SHAPES[0], *shuffled(rng, SHAPES[1:])]:
        q, k = (rng.normal(size=(*lead, rows, d)) for rows in (T, S))
        q *= np.exp(rng.uniform(-6, 6, (*q.shape[:-1], 1)))
        k *= np.exp(rng.uniform(-6, 6, (*k.shape[:-1], 1)))
        t = float(rng.choice([0.7, 3.0, 11.0]))
        setting = f"normed_scores for q {q.shape}, k {k.shape}, t = {t:g}"
        result = normed_scores.run_driver(run_function, [q, k], t)
        (output,) = only_tensors(result, "normed_scores", 1)
        leaves = leaves_of({"q": q, "k": k})
        right = t * _unit(leaves["q"]) @ _unit(leaves["k"]).mT
        trials.require(output, right.detach().numpy(), distance(output, right, setting), q, k, t)
        if d > 1:  # the direction of one number does not change with it
            judge_gradients(result["gradients"], right, leaves, setting)
    return f"The scores are right in {len(trials)} settings."


def _unit(x):
    """Return the rows of an array or tensor scaled to length one."""
    return x / ((x * x).sum(-1)[..., None]) ** 0.5


def _wrong_scores(q, k, t):
    d = q.shape[-1]
    units = _unit(q) @ _unit(k).mT
    lengths_of_q = np.linalg.norm(q, axis=-1)[..., None]
    lengths_of_k = np.linalg.norm(k, axis=-1)[..., None, :]
    columns = [x / np.linalg.norm(x, axis=-2, keepdims=True) for x in (q, k)]
    sums = [x / np.abs(x).sum(-1, keepdims=True) for x in (q, k)]
    plain_sums = [x / x.sum(-1, keepdims=True) for x in (q, k)]
    squares = units / (lengths_of_q * lengths_of_k)
    whole = (q / np.linalg.norm(q)) @ (k / np.linalg.norm(k)).mT
    return {
        "only the queries have length one; the keys need it too": t * units * lengths_of_k,
        "only the keys have length one; the queries need it too": t * units * lengths_of_q,
        "neither queries nor keys have length one": AnyOf((t * q @ k.mT, q @ k.mT)),
        "neither queries nor keys have length one (and the root of d is there)": (
            AnyOf((t * q @ k.mT / d**0.5, q @ k.mT / d**0.5))
        ),
        "each column is scaled to length one, not each query and each key": (
            t * columns[0] @ columns[1].mT
        ),
        "rows lie along the last axis; `normalize` takes axis 1 unless `dim` says otherwise": (
            t
            * (q / np.linalg.norm(q, axis=1, keepdims=True))
            @ (k / np.linalg.norm(k, axis=1, keepdims=True)).mT
        ),
        "all queries together, and all keys, are scaled to length one; each of them needs it": t
        * whole,
        "each is divided by the sum of its sizes; its length is the root of the sum of squares": (
            t * sums[0] @ sums[1].mT
        ),
        "each is divided by the sum of its entries; its length is the root of the sum of squares": (
            t * plain_sums[0] @ plain_sums[1].mT
        ),
        "each is divided by the square of its length": t * squares,
        "queries and keys have length sqrt(d), not one: divide by the root of the sum of squares, not of "
        "their mean": t * units * d,
        "queries and keys have length sqrt(d), not one, and the root of d is there besides": (
            t * units * d**0.5
        ),
        "the scores are divided by the root of d as well; t takes its place": t * units / d**0.5,
        "t is multiplied in twice": t * t * units,
        "t is missing": units,
        "t divides; the scores are multiplied by it": units / t,
        "rows and columns are exchanged; row i belongs to query i": (
            t * units.mT if q.shape == k.shape else NOT_HERE
        ),
        "these are weights; the scores are asked for": softmax(t * units),
        "the scores are capped besides; a cosine needs no cap": t * np.tanh(units),
        "sizes are returned: the sign of the cosine is lost": t * np.abs(units),
    }


# capped_weights

SIZES = (5.0, 1.0, 10.0, 1e3, 1e6)  # of scores; the first ones lie below and above the cap
CAPS = (2.0, 0.5, 50.0)


def _judge_capped_weights(rng, capped_weights):
    trials = tensor_trials(_wrong_weights)
    gradients = []
    others = [(size, t) for size in SIZES for t in CAPS][1:]
    for size, t in [(SIZES[0], CAPS[0]), *shuffled(rng, others)]:
        T, S = (4, 4) if size == SIZES[0] else (5, 7)
        scores = size * rng.normal(size=(T, S))
        mask = rng.random((T, S)) < 0.6
        mask[range(T), rng.integers(S, size=T)] = True
        mask[1] = scores[1] == scores[1].min()  # sees one key, the lowest
        setting = f"capped_weights for scores of size {size:g}, t = {t:g}"
        result = capped_weights.run_driver(run_with_cap, scores, t, mask)
        (output,) = only_tensors(result, "capped_weights", 1)
        leaves = leaves_of({"scores": scores, "mask": mask})
        right = _capped(leaves["scores"], leaves["mask"], t)
        fact = distance(output, right, setting)
        if output.shape != scores.shape:
            raise NotYet(f"{fact}.")
        trials.require(output, right.detach().numpy(), fact, scores, mask, t, output)
        gradients.append((result["gradients"], right, {"scores": leaves["scores"]}, setting))
    for gradient in gradients:
        judge_gradients(*gradient)
    return f"The weights are right in {len(trials)} settings."


def _capped(scores, mask, t):
    """Return the right weights of tensors."""
    import torch

    return (t * torch.tanh(scores / t)).masked_fill(~mask, -torch.inf).softmax(-1)


def _wrong_weights(scores, mask, t, output):
    tanh = np.tanh
    capped = t * tanh(scores / t)
    overflows = np.abs(scores).max() > 300 * t

    def hidden(values, low=-np.inf, axis=-1):
        """Return the softmax of values (T, S), with a number in place of the hidden ones."""
        return softmax(np.where(mask, values, low), axis)

    plain = hidden(scores)
    return {
        "a hidden key comes back: tanh of minus infinity is -1, and its score -t. Cap first, then hide": (
            hidden(capped, -t)
        ),
        "the scores are cut off at t and -t; a soft cap bends them, and keeps a gradient": (
            hidden(np.clip(scores, -t, t))
        ),
        "s is not divided by t before tanh": hidden(t * tanh(scores)),
        "tanh(s / t) is not multiplied by t": hidden(tanh(scores / t)),
        "s is multiplied by t before tanh, not divided": hidden(t * tanh(scores * t)),
        "s is multiplied by t before tanh, and tanh is divided by t: they have changed places": (
            hidden(tanh(scores * t) / t)
        ),
        "tanh is taken without t: divide by t before, multiply by t after": hidden(tanh(scores)),
        "s / t is a smaller score, not a capped one": hidden(scores / t),
        "the scores are not capped": plain,
        "the weights are capped; the scores should be": AnyOf((t * tanh(plain / t), tanh(plain))),
        "the weights are capped, and a second softmax is taken": hidden(t * tanh(plain / t)),
        "the mask is missing or not used": softmax(capped),
        "the mask comes after the softmax, so that hidden keys still count": softmax(capped) * mask,
        INVERTED: softmax(np.where(mask, -np.inf, capped)),
        "hidden scores are set to 0, but exp(0) = 1 is still a weight": hidden(capped, 0.0),
        "the softmax runs over the queries, not over the keys": hidden(capped, axis=-2),
        "capped scores are returned; their softmax is asked for": (
            Seen(close(np.where(mask, output, 0.0), np.where(mask, capped, 0.0)))
        ),
        "s / (1 + |s| / t) is bounded by t too, but the soft cap asked for is t tanh(s / t)": (
            hidden(scores / (1 + np.abs(scores) / t))
        ),
        "a low number such as -10 stands for a hidden score, and with a large t scores that may be seen lie "
        "below it; minus infinity does not": (
            AnyOf(tuple(hidden(capped, x) for x in (-10.0, -20.0)))
            if np.isfinite(output).all()
            else NOT_HERE
        ),
        "an exponential is infinite: exp(2 s / t) of a large score; torch.tanh has no such limit": (
            Seen(not np.isfinite(output).all()) if overflows else None
        ),
    }


# needed_bound

FIRST_BOUND = (1000, 0.01)
BOUNDS = ((10, 0.01), (51, 1e-6), (10**9, 1e-9), (2, 0.3), (13, 0.25))


def _judge_needed_bound(rng, needed_bound):
    trials = Trials(_wrong_bounds)
    drawn = (int(rng.integers(20, 5000)), float(rng.uniform(0.001, 0.1)))
    for setting, answer in answers_to(rng, needed_bound, [FIRST_BOUND, *BOUNDS, drawn]):
        n, epsilon = setting
        call = f"needed_bound({n}, {epsilon:g})"
        bound = number(answer, call)
        rest = (n - 1) * math.exp(-2 * max(-300, min(bound, 300)))
        left, limit = distinct_texts(rest / (1 + rest), epsilon)
        fact = (
            f"{call} = {bound:.4g} leaves at least {left} to the others, where {limit} is asked for"
        )
        trials.add(bound, _needed(n, epsilon), fact, n, epsilon)
    trials.settle()
    return f"The bound is the smallest in {len(trials)} settings."


def _needed(n, epsilon):
    return (math.log(n - 1) + math.log1p(-epsilon) - math.log(epsilon)) / 2


def _wrong_bounds(n, epsilon):
    right = _needed(n, epsilon)
    odds = math.log((1 - epsilon) / epsilon)
    return {
        "that is the lead of 1.2; half of it is enough: rivals may score -t, so that the lead is 2 t": (
            2 * right
        ),
        "that is four times the bound: the lead is 2 t, so t is *half* of the lead": 4 * right,
        "that is half of the bound: the lead is 2 t, so t is half of the lead, and not a quarter": (
            right / 2
        ),
        "there are n - 1 rivals, not n": 0.5 * (math.log(n) + odds),
        "nearly: the key keeps 1 - epsilon, not 1": 0.5 * math.log((n - 1) / epsilon),
        "that leaves epsilon to the key; it should keep 1 - epsilon": (
            0.5 * (math.log(n - 1) - odds)
        ),
        "this is enough against one rival; there are n - 1": 0.5 * odds,
        "epsilon is left out: at this bound the key and all rivals share the weight": (
            0.5 * math.log(n - 1)
        ),
        "that is a logarithm to base 2; exp belongs to the natural one": right / math.log(2),
        "that is a logarithm to base 10; exp belongs to the natural one": right / math.log(10),
        "the sign is turned round": -right,
        "that is rounded; the exact bound is asked for": AnyOf(
            (math.ceil(right), round(right), round(right, 1), round(right, 2), round(right, 3))
        ),
        "the half stands before the logarithm, not inside": math.log(
            (n - 1) * (1 - epsilon) / epsilon / 2
        ),
        "the logarithm is missing": AnyOf(
            (math.exp(min(2 * right, 700)), 0.5 * math.exp(min(2 * right, 700)))
        ),
        "the root stands in place of the half: that is the exponential of the bound": math.exp(
            right
        ),
    }
