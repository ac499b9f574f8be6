"""Judges of 15.6 and 15.7, attention without a softmax and what its state cannot hold.

They measure contexts and states, and know nothing of the way.
"""

from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, shuffled
from attn_course.answers.mistakes import Seen, same
from attn_course.answers.tensors import close, distance, only_tensors, tensor_trials
from attn_course.drivers import run_tensors, run_with_features
from attn_utils.kernels import attend, softmax

# 15.6

MAPS = (("elu", 0.0), ("exp", 0.0), ("relu", 0.1))  # what a feature map is, and what is added
FIRST_CASE = (8, "elu", 0.0)
CASES = [(T, *features) for T in (1, 2, 8) for features in MAPS]


def linear_attention_is_causal(rng: Generator, linear_attention: Caller) -> str:
    """15.6: causal weights proportional to products of features, for three maps and three lengths."""
    trials = tensor_trials(_wrong_contexts)
    for T, kind, shift in [FIRST_CASE, *shuffled(rng, CASES)]:
        q, k = rng.normal(size=(2, T, 3))
        v = rng.normal(size=(T, 5))
        result = linear_attention.run_driver(run_with_features, [q, k, v], kind, shift)
        (output,) = only_tensors(result, "linear_attention", 1)

        phi = partial(_features, kind, shift)
        right = _attend_linearly(np.tril(phi(q) @ phi(k).T), v)
        fact = distance(output, right, f"{T} tokens, features {kind}")
        if output.shape != right.shape:
            raise NotYet(f"{fact}.")
        trials.require(output, right, fact, q, k, v, kind, shift, output)

    return f"weights are products of features, past only, in {len(trials)} cases with three maps."


def _features(kind, shift, x):
    """Return the map of the driver, in NumPy."""
    if kind == "exp":
        return np.exp(x) + shift
    if kind == "elu":
        return np.where(x > 0, x + 1, np.exp(x)) + shift
    return np.maximum(x, 0) + shift


def _attend_linearly(products, v):
    """Return the contexts (T, dv) whose weights are proportional to these products (T, T)."""
    weights = products / products.sum(-1, keepdims=True)
    return weights @ v


def _wrong_contexts(q, k, v, kind, shift, output):
    phi = partial(_features, kind, shift)
    fq, fk = phi(q), phi(k)
    products = fq @ fk.T
    past = np.tril(products)
    seen = np.where(np.tri(len(products), dtype=bool), products, -np.inf)
    root = q.shape[-1] ** 0.5
    states = np.cumsum(fk[:, :, None] * v[:, None], 0)  # (T, d, dv)
    divided = states / np.cumsum(fk, 0)[..., None]
    not_itself = _attend_linearly(np.tril(products, -1), v)

    def causal(weights):
        return _attend_linearly(np.tril(weights), v)

    return {
        "there is no normaliser: weights add up to one": past @ v,
        "the normaliser runs over all keys, so it sees the future": (
            past / products.sum(-1, keepdims=True) @ v
        ),
        "the result is multiplied by the normaliser, not divided": (
            past.sum(-1, keepdims=True) * (past @ v)
        ),
        "the weights of a key add up to one; those of a query should": (
            past / past.sum(0)[:, None] @ v
        ),
        "there is no mask: a token sees later ones": _attend_linearly(products, v),
        "the mask is transposed: a token sees itself and later ones": (
            _attend_linearly(np.triu(products), v)
        ),
        "it reads before it writes, where a token sees itself": (
            Seen(close(output[1:], not_itself[1:]))
        ),
        "this is softmax attention; the weights asked for are products of features": (
            attend(q, k, v, causal=True)[0]
        ),
        "this is softmax attention without the root; the weights asked for are products of features": (
            attend(q, k, v, causal=True, scale=1.0)[0]
        ),
        "a softmax is taken of the products of features; dividing by their sum is enough": (
            softmax(seen) @ v
        ),
        "a softmax is taken of the products of features, with the root; dividing by their sum is enough": (
            softmax(seen / root) @ v
        ),
        "the features are taken of the keys alone": causal(q @ fk.T),
        "the features are taken of the queries alone": causal(fq @ k.T),
        "the features are taken of the values too": _attend_linearly(past, phi(v)),
        "no features are taken": causal(q @ k.T),
        "the map is taken of the scores, not of queries and keys": causal(phi(q @ k.T)),
        "`phi` is not used: your features are always elu(x) + 1": (
            causal(_features("elu", 0, q) @ _features("elu", 0, k).T)
        ),
        "`phi` is not used: your features are always exp(x)": (
            causal(_features("exp", 0, q) @ _features("exp", 0, k).T)
        ),
        "queries and keys have changed places": causal(products.T),
        "queries are divided by the root of d; features are taken of them as they are": (
            causal(phi(q / root) @ fk.T)
        ),
        "each token gets its own value back: the running sum has to go over tokens, not features": v,
        "the state is divided by the sum of keys before the query reads it; read both, then divide": (
            np.einsum("td,tde->te", fq, divided)
        ),
    }


# 15.7

SIZES = ((5, 3), (9, 8), (4, 1), (12, 4), (5, 3))  # n keys, d features
SMALL = 1e-12  # below it a value counts as zero
TRACE = 1e-7  # of the largest value, by which a state may differ from zero for each key


def values_are_invisible(rng: Generator, invisible: Caller) -> str:
    """15.7: values, not all zero, that leave the state where zeros would leave it."""
    for n, d in shuffled(rng, SIZES):
        features = np.exp(rng.normal(size=(n, d)))
        result = invisible.run_driver(run_tensors, [features])
        (value,) = only_tensors(result, "invisible", 1)
        V = array(value, "invisible(features)")
        if V.ndim == 1:
            V = V[:, None]
        if V.ndim != 2 or len(V) != n:
            also = " (that is one row for each feature)" if len(V) == d else ""
            raise NotYet(
                f"one row for each of the {n} keys is expected; the shape is {V.shape}{also}."
            )

        largest = np.abs(V).max(initial=0)
        if not largest > SMALL:
            raise NotYet("all values are zero; find others whose state is zero, too.")

        state = np.abs(features.T @ V).max()
        if not state <= TRACE * n * largest:
            why = _why_seen(features, V)
            message = f"{why}with {n} keys and {d} features the state holds {state:.2g}, not 0."
            raise NotYet(message, mistake=why.removesuffix(": "))

    return "values that leave no trace in the state, in five cases of up to 12 keys."


def _why_seen(features, V):
    """Return the known mistake that values (n, any) which are seen come from and a colon, or nothing."""
    tiny = 1e-9 * np.abs(V).max()
    reached, _, _ = np.linalg.svd(features, full_matrices=False)  # left singular vectors
    cosines = reached.T @ V / np.linalg.norm(V)
    mistakes = {
        "these are the features themselves: ": same(V, features) or same(V, -features),
        "equal values add up to a sum of features, which is not zero: ": np.ptp(V) <= tiny,
        "a single value is always seen: its key's features are not zero: ": V.any(1).sum() == 1,
        "these values add up to zero, which hides them only from equal features: ": (
            np.abs(V.sum(0)).max() <= tiny
        ),
        "that is what *is* seen: the projection onto the features: ": (
            same(V, features @ np.linalg.pinv(features))
        ),
        "a singular vector with a singular value that is not zero is seen: ": (
            V.shape[1] == 1 and np.abs(cosines).max() > 1 - 1e-9
        ),
    }
    return next((sentence for sentence, fits in mistakes.items() if fits), "")
