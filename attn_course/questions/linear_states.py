"""Judges of 14.6 and 14.7, attention without a softmax and what its state cannot hold.

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

# 14.6

MAPS = (("elu", 0.0), ("exp", 0.0), ("relu", 0.1))  # what a feature map is, and what is added
FIRST_CASE = (8, "elu", 0.0)
CASES = [(T, *features) for T in (1, 2, 8) for features in MAPS]


def linear_attention_is_causal(rng: Generator, linear_attention: Caller) -> str:
    """14.6: causal weights proportional to products of features, for three maps and three lengths."""
    trials = tensor_trials(_wrong_contexts)
    others = shuffled(rng, CASES)
    for T, kind, shift in [FIRST_CASE, *others]:
        q, k = rng.normal(size=(2, T, 3))
        v = rng.normal(size=(T, 5))
        inputs = [q, k, v]

        result = linear_attention.via(run_with_features, inputs, kind, shift)
        (found,) = only_tensors(result, "linear_attention", 1)

        phi = partial(_features, kind, shift)
        right = _attend_linearly(np.tril(phi(q) @ phi(k).T), v)
        fact = distance(found, right, f"{T} tokens, features {kind}")
        if found.shape != right.shape:
            raise NotYet(f"{fact}.")
        trials.judge(found, right, fact, *inputs, kind, shift, found)

    return f"weights are products of features, past only, in {len(trials)} cases with three maps."


def _features(kind, shift, x):
    """The map of the driver, in NumPy."""
    if kind == "exp":
        return np.exp(x) + shift
    if kind == "elu":
        below = np.exp(np.minimum(x, 0))
        return np.where(x > 0, x + 1, below) + shift
    return np.maximum(x, 0) + shift


def _attend_linearly(products, v):
    """The contexts (T, dv) whose weights are proportional to these products (T, T)."""
    weights = products / products.sum(-1, keepdims=True)
    return weights @ v


def _wrong_contexts(q, k, v, kind, shift, found):
    """{sentence: contexts (T, dv) of this mistake}."""
    phi = partial(_features, kind, shift)
    fq, fk = phi(q), phi(k)
    products = fq @ fk.T
    own_maps = {
        f"`phi` is not used: your features are always {name}": np.tril(
            _features(own, 0, q) @ _features(own, 0, k).T
        )
        for own, name in (("elu", "elu(x) + 1"), ("exp", "exp(x)"))
    }
    root = q.shape[-1] ** 0.5
    return {
        **{sentence: _attend_linearly(past, v) for sentence, past in own_maps.items()},
        "the features are taken of the values too": _attend_linearly(np.tril(products), phi(v)),
        "queries and keys have changed places": _attend_linearly(np.tril(products.T), v),
        "queries are divided by the root of d; features are taken of them as they are": (
            _attend_linearly(np.tril(phi(q / root) @ fk.T), v)
        ),
        **_wrong_normalisers(products, v),
        **_softmaxes(q, k, v, products),
        **_read_too_early(products, v, found),
        **_without_features(q, k, v, fq, fk),
        "the map is taken of the scores, not of queries and keys": (
            _attend_linearly(np.tril(phi(q @ k.T)), v)
        ),
        **_wrong_states(fq, fk, v),
    }


def _wrong_normalisers(products, v):
    """Where the products (T, T) of all features are right."""
    past = np.tril(products)
    sums = past.sum(-1, keepdims=True)
    all_sums = products.sum(-1, keepdims=True)
    return {
        "there is no normaliser: weights add up to one": past @ v,
        "the normaliser runs over all keys, so it sees the future": past / all_sums @ v,
        "there is no mask: a token sees later ones": _attend_linearly(products, v),
        "the mask is transposed: a token sees itself and later ones": _attend_linearly(
            np.triu(products), v
        ),
        "the weights of a key add up to one; those of a query should": past
        / past.sum(0)[:, None]
        @ v,
        "the result is multiplied by the normaliser, not divided": sums * (past @ v),
    }


def _softmaxes(q, k, v, products):
    """Where the weights are those of a softmax, of inner products or of products (T, T) of features."""
    seen = np.where(np.tri(len(products), dtype=bool), products, -np.inf)
    scaled, _ = attend(q, k, v, causal=True)
    unscaled, _ = attend(q, k, v, causal=True, scale=1.0)
    return {
        "this is softmax attention; the weights asked for are products of features": scaled,
        "this is softmax attention without the root; the weights asked for are products of features": (
            unscaled
        ),
        "a softmax is taken of the products of features; dividing by their sum is enough": (
            softmax(seen) @ v
        ),
        "a softmax is taken of the products of features, with the root; dividing by their sum is enough": (
            softmax(seen / q.shape[-1] ** 0.5) @ v
        ),
    }


def _read_too_early(products, v, found):
    """Where a token does not see itself; the first one has nothing to read."""
    before = np.tril(products, -1)
    later = _attend_linearly(before, v)[1:]
    reads_first = close(found[1:], later)
    return {"it reads before it writes, where a token sees itself": Seen(reads_first)}


def _without_features(q, k, v, fq, fk):
    """Where queries or keys stay as they are."""
    return {
        "the features are taken of the keys alone": _attend_linearly(np.tril(q @ fk.T), v),
        "the features are taken of the queries alone": _attend_linearly(np.tril(fq @ k.T), v),
        "no features are taken": _attend_linearly(np.tril(q @ k.T), v),
    }


def _wrong_states(fq, fk, v):
    """Where the running sum goes wrong."""
    written = fk[:, :, None] * v[:, None]
    states = np.cumsum(written, 0)  # (T, d, dv)
    key_sums = np.cumsum(fk, 0)  # (T, d)
    divided = states / key_sums[..., None]
    return {
        "each token gets its own value back: the running sum has to go over tokens, not features": v,
        "the state is divided by the sum of keys before the query reads it; read both, then divide": (
            np.einsum("td,tde->te", fq, divided)
        ),
    }


# 14.7

SIZES = ((5, 3), (9, 8), (4, 1), (12, 4))  # n keys, d features
SMALL = 1e-12  # below it a value counts as zero
TRACE = 1e-7  # of the largest value, by which a state may differ from zero for each key


def values_are_invisible(rng: Generator, invisible: Caller) -> str:
    """14.7: values, not all zero, that leave the state where zeros would leave it."""
    for n, d in shuffled(rng, SIZES):
        features = np.exp(rng.normal(size=(n, d)))
        result = invisible.via(run_tensors, [features])
        (value,) = only_tensors(result, "invisible", 1)
        V = _one_row_a_key(value, features)

        largest = np.abs(V).max(initial=0)
        if not largest > SMALL:
            raise NotYet(
                "all values are zero: that is the zero you should imitate, not what is asked for."
            )

        state = np.abs(features.T @ V).max()
        if not state <= TRACE * n * largest:
            why = _why_seen(features, V)
            raise NotYet(f"{why}with {n} keys and {d} features the state holds {state:.2g}, not 0.")

    return "values that leave no trace in the state, in four cases of up to 12 keys."


def _one_row_a_key(value, features):
    """Values (n, any); a vector is one column."""
    n, d = features.shape
    V = array(value, "invisible(features)")
    if V.ndim == 1:
        V = V[:, None]
    if V.ndim != 2 or len(V) != n:
        also = " (that is one row for each feature)" if len(V) == d else ""
        raise NotYet(f"one row for each of the {n} keys is expected; the shape is {V.shape}{also}.")
    return V


def _why_seen(features, V):
    """The known mistake that values (n, any) which are seen come from and a colon, or nothing."""
    seen = features @ np.linalg.pinv(features)
    spread = np.ptp(V)
    used = np.abs(V).sum(1) > 0
    if same(V, features) or same(V, -features):
        return "these are the features themselves: "
    if spread <= 1e-9 * np.abs(V).max():
        return "equal values add up to a sum of features, which is not zero: "
    if used.sum() == 1:
        return "a single value is always seen: its key's features are not zero: "
    if np.abs(V.sum(0)).max() <= 1e-9 * np.abs(V).max():
        return "these values add up to zero, which hides them only from equal features: "
    if same(V, seen):
        return "that is what *is* seen: the projection onto the features: "
    if V.shape[1] == 1 and _is_singular_vector(V[:, 0], features):
        return "a singular vector with a singular value that is not zero is seen: "
    return ""


def _is_singular_vector(v, features):
    """Whether v (n,) lies along a left singular vector of the features (n, d) that they do reach."""
    reached, _, _ = np.linalg.svd(features, full_matrices=False)
    length = np.linalg.norm(v)
    cosines = reached.T @ v / length

    largest = np.abs(cosines).max()
    return largest > 1 - 1e-9
