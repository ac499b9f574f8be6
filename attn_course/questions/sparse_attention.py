"""Judges of 16.3 and 16.4, attention over a few keys: the context, its error, and what a block may hold."""

import math

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, judge_separately, shuffled
from attn_course.answers.mistakes import AnyOf, Seen, Trials
from attn_course.answers.tensors import distance, only_tensors, tensor_trials
from attn_course.drivers import run_tensors
from attn_course.questions.attention_mistakes import NOT_HERE
from attn_utils.kernels import softmax

# 16.3


def few_keys_are_read(rng: Generator, sparse_attend: Caller, error_of_dropping: Caller) -> str:
    """16.3: the context of the kept keys alone, then the error to six digits, however small it is."""
    return judge_separately(
        {
            "sparse_attend": lambda: _judge_sparse_attend(rng, sparse_attend),
            "error_of_dropping": lambda: _judge_error(rng, error_of_dropping),
        }
    )


# T, S, d, dv, K; in the first one every key is kept by some query, so that mistakes give numbers.
ALL_KEPT = (4, 4, 4, 4, 2)
SPARSE = ((5, 9, 3, 4, 3), (1, 6, 2, 2, 1), (3, 8, 4, 2, 8), (5, 9, 3, 4, 3))
LONG = (6, 50, 8, 5, 4)
LARGE = 3000.0  # what queries are multiplied by in the long one


def _judge_sparse_attend(rng, sparse_attend):
    trials = tensor_trials(_wrong_sparse)
    for sizes in [ALL_KEPT, *shuffled(rng, SPARSE), LONG]:
        T, S, d, dv, K = sizes
        q, k, v = (rng.normal(size=shape) for shape in ((T, d), (S, d), (S, dv)))
        if sizes == LONG:
            q *= LARGE
        kept = np.array([rng.permutation(S)[:K] for _ in range(T)])
        if sizes == ALL_KEPT:
            kept[:] = (kept[0] + np.arange(0, T)[:, None]) % S
            kept[0] = kept[0][::-1]
        unread = ~np.isin(np.arange(S), kept)
        k[unread] = np.nan
        v[unread] = np.nan
        setting = f"{T} queries that keep {K} of {S} keys"
        if unread.any():
            setting += ", the rows that no query keeps are nan"
        result = sparse_attend.run_driver(run_tensors, [q, k, v, kept])
        (output,) = only_tensors(result, "sparse_attend", 1)
        right = _sparse(q, k[kept], v[kept])
        fact = distance(output, right, setting)
        if output.shape != right.shape:
            raise NotYet(f"{fact}.")
        trials.require(output, right, fact, q, k, v, kept, output)
    return f"The contexts are right in {len(trials)} cases, and no other key is read."


def _sparse(q, keys, values, scale=None):
    """Return the context (T, dv) of each query over keys (T, K, d) and values (T, K, dv) of its own."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    weights = softmax(scale * np.einsum("td,tkd->tk", q, keys))
    return np.einsum("tk,tkv->tv", weights, values)


def _wrong_sparse(q, k, v, kept, output):
    T, K = kept.shape
    S, d = k.shape
    keys, values = k[kept], v[kept]
    scores = np.einsum("td,tkd->tk", q, keys) / d**0.5
    all_scores = q @ k.T / d**0.5
    in_full = np.take_along_axis(softmax(all_scores), kept, 1)  # weights of full attention
    others = np.array([np.setdiff1d(np.arange(S), row) for row in kept])
    best = scores.argmax(1)
    unread = np.isnan(k).any()
    over_queries = np.einsum("tk,tkv->tv", softmax(scores, 0), values)
    return {
        "the weights of full attention are used; after dropping they must add up to one again": (
            np.einsum("tk,tkv->tv", in_full, values)
        ),
        "a mask still reads every key: its row holds nan, and 0 times nan is nan. Pick out the kept rows "
        "first": Seen(bool(np.isnan(output).any())) if unread else None,
        "every query reads all keys, or all that some query keeps; it reads those of its own row of `kept`": (
            softmax(all_scores) @ v
        ),
        "all queries read the keys that query 0 keeps; each has a row of its own": (
            _sparse(q, k[kept[[0] * T]], v[kept[[0] * T]])
        ),
        "the keys are picked out and the values are not: the first K values are used": (
            _sparse(q, keys, v[None, :K].repeat(T, 0))
        ),
        "the values are picked out and the keys are not: the first K keys are used": (
            _sparse(q, k[None, :K].repeat(T, 0), values)
        ),
        "the values are sorted and the keys are not, so that they no longer belong together": (
            _sparse(q, keys, v[np.sort(kept, 1)])
        ),
        "the keys are sorted and the values are not, so that they no longer belong together": (
            _sparse(q, k[np.sort(kept, 1)], values)
        ),
        "all kept keys have the same weight: the query plays no part": values.mean(1),
        "only the best of the kept keys is read": values[np.arange(T), best],
        "`kept` lists the keys that are read; here they are dropped": (
            _sparse(q, k[others], v[others]) if others.shape[1] else NOT_HERE
        ),
        "the scores are not divided by the root of d, the width of a query": _sparse(
            q, keys, values, 1.0
        ),
        "the root is that of K; it is the root of d, the width of a query": (
            _sparse(q, keys, values, K**-0.5)
        ),
        "the root is that of S; it is the root of d, the width of a query": (
            _sparse(q, keys, values, S**-0.5)
        ),
        "the scores are divided by d, not by its root": _sparse(q, keys, values, 1 / d),
        "the softmax runs over the queries, not over the kept keys": over_queries,
        "there is no softmax: scores are used as weights": np.einsum("tk,tkv->tv", scores, values),
        "the weights do not add up to one: exponentials are not divided by their sum": (
            np.einsum("tk,tkv->tv", np.exp(np.minimum(scores, 700)), values)
        ),
        "the exponential of a large score is infinite or zero; take the largest of its row away first": (
            Seen(not np.isfinite(output).all()) if np.abs(scores).max() > 700 else None
        ),
    }


ERRORS = (  # what is kept, what queries are multiplied by
    ("any", 1.0),
    ("highest", 1.0),
    ("lowest", 1.0),
    ("any", 6.0),
    ("highest", 8.0),
    ("highest", 40.0),
    ("lowest", 40.0),
)


def _judge_error(rng, error_of_dropping):
    trials = Trials(_wrong_errors, absolute=1e-300)
    for which, factor in [ERRORS[0], *shuffled(rng, ERRORS[1:])]:
        T, S, d, dv, K = 4, int(rng.integers(7, 12)), 3, 5, 3
        q, k, v = (rng.normal(size=shape) for shape in ((T, d), (S, d), (S, dv)))
        q *= factor
        order = np.argsort(q @ k.T, 1)
        if which == "any":
            order = rng.permuted(order, axis=1)
        part = order[:, -K:] if which == "highest" else order[:, :K]
        kept = rng.permuted(part, axis=1)
        setting = f"{which} keys kept, queries times {factor:g}"
        result = error_of_dropping.run_driver(run_tensors, [q, k, v, kept])
        outputs = only_tensors(result, "error_of_dropping", 2)
        right = _error(q, k, v, kept)
        shapes = [x.shape for x in outputs]
        if shapes == [(T, dv), (T,)]:
            sentence = "the two results have changed places: first epsilon, then the error"
            raise NotYet(f"{sentence}.", mistake=sentence)
        if shapes != [(T,), (T, dv)]:
            raise NotYet(
                f"the shapes are {shapes[0]} and {shapes[1]}, expected {(T,)} and {(T, dv)}."
            )
        trials.require(outputs, right, _gap(outputs, right, setting), q, k, v, kept, outputs)
    return f"The errors of {len(trials)} cases are right to six digits."


def _halves(q, k, v, kept, *, scale=None):
    """Return (l_1, l_0, c_1, c_0): log-sum-exps (T,) and contexts (T, dv) of kept and of dropped keys."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * q @ k.T
    is_kept = np.zeros(scores.shape, bool)
    np.put_along_axis(is_kept, kept, True, 1)
    halves = []
    for mask in (is_kept, ~is_kept):
        seen = np.where(mask, scores, -np.inf)
        top = seen.max(1)
        halves.append((top + np.log(np.exp(seen - top[:, None]).sum(1)), softmax(seen) @ v))
    (l_1, c_1), (l_0, c_0) = halves
    return l_1, l_0, c_1, c_0


def _error(q, k, v, kept, **options):
    """Return [epsilon (T,), error (T, dv)] by the formula of the chain."""
    l_1, l_0, c_1, c_0 = _halves(q, k, v, kept, **options)
    epsilon = 1 / (1 + np.exp(l_1 - l_0))
    return [epsilon, epsilon[:, None] * (c_1 - c_0)]


def _gap(outputs, right, setting):
    """Return a clause on the number that differs most, as a share of the right one."""
    for name, one, other in zip(("epsilon", "the error"), outputs, right, strict=True):
        if not np.isfinite(one).all():
            return f"{name} contains nan or an infinity ({setting})"
        shares = np.abs(one - other) / np.abs(other)
        if not shares.max() <= 1e-6:
            worst = np.unravel_index(shares.argmax(), shares.shape)
            return f"{name} is {one[worst]:.6g} where {other[worst]:.6g} is right ({setting})"
    return setting


def _wrong_errors(q, k, v, kept, outputs):
    l_1, l_0, c_1, c_0 = _halves(q, k, v, kept)
    T, K = kept.shape
    S = len(k)
    right_epsilon, right_error = _error(q, k, v, kept)
    epsilon = right_epsilon[:, None]
    apart = c_1 - c_0
    full = (1 - epsilon) * c_1 + epsilon * c_0
    scores = q @ k.T / q.shape[-1] ** 0.5
    dropped_mass = np.exp(l_0)
    dropped_below_top = np.exp(l_0 - scores.max(1))
    share = np.full(T, (S - K) / S)
    is_dropped = np.ones(scores.shape, bool)
    np.put_along_axis(is_dropped, kept, False, 1)
    mean_dropped = is_dropped @ v / (S - K)
    mean_kept = v[kept].mean(1)
    cancelled = all(
        np.allclose(one, other, rtol=1e-6, atol=1e-12 * max(1, np.abs(v).max()))
        for one, other in zip(outputs, (right_epsilon, right_error), strict=True)
    )

    def times(factor):
        return [factor, factor[:, None] * apart]

    return {
        "the numbers are those of float32, too coarse for six digits; keep the type of the inputs": (
            Seen(all(np.array_equal(x, np.float32(x)) for x in outputs))
        ),
        "two nearly equal numbers are subtracted, and their digits cancel: use epsilon and the two halves": (
            Seen(cancelled)
        ),
        "the sign is turned round: the error is sparse minus full": [right_epsilon, -right_error],
        "the error is not multiplied by epsilon": [right_epsilon, apart],
        "the error is multiplied by epsilon twice": [right_epsilon, epsilon * right_error],
        "the error is multiplied by epsilon and by what is kept": [
            right_epsilon,
            (1 - epsilon) * right_error,
        ],
        "the dropped values are summed with their weights in full attention; as a half of their own their "
        "weights add up to one": [right_epsilon, epsilon * (c_1 - epsilon * c_0)],
        "both halves are summed with their weights in full attention; as halves of their own their weights "
        "add up to one": [right_epsilon, epsilon * ((1 - epsilon) * c_1 - epsilon * c_0)],
        "the plain mean of the dropped values is used; their weights differ": [
            right_epsilon,
            epsilon * (c_1 - mean_dropped),
        ],
        "plain means of kept and dropped values are used; their weights differ": [
            right_epsilon,
            epsilon * (mean_kept - mean_dropped),
        ],
        "epsilon multiplies the distance from the full context; it belongs to the distance from the "
        "dropped half": [right_epsilon, epsilon * (c_1 - full)],
        "the kept half is not renormalised; its weights add up to one again": [
            right_epsilon,
            -epsilon * c_0,
        ],
        "that is the share of the keys that are dropped; epsilon is their share of the weight": times(
            share
        ),
        "these exponentials are not divided by the sum of all: epsilon is a share": AnyOf(
            (times(dropped_mass), times(dropped_below_top))
        ),
        "that is the weight of the kept keys; epsilon is that of the dropped ones": (
            AnyOf((times(1 - right_epsilon), [1 - right_epsilon, right_error]))
        ),
        "these are the odds, dropped over kept; epsilon is dropped over all": AnyOf(
            (times(np.exp(l_0 - l_1)), [np.exp(l_0 - l_1), right_error])
        ),
        "the dropped half is lost: the error is not epsilon times the kept context": [
            right_epsilon,
            epsilon * c_1,
        ],
        "the scores are not divided by the root of d, the width of a query": _error(
            q, k, v, kept, scale=1.0
        ),
    }


# 16.4

# T, N, d, keys in a block; the first root of d is not a whole number, so that no two mistakes agree.
BLOCKS = ((4, 4, 5, 3), (3, 5, 4, 16), (2, 3, 1, 1), (1, 6, 8, 64), (4, 4, 5, 7))


def bound_is_smallest(rng: Generator, block_bound: Caller) -> str:
    """16.4: the smallest number that the log-sum-exp of any keys in a box never exceeds."""
    trials = tensor_trials(_wrong_bounds)
    for T, N, d, size in [BLOCKS[0], *shuffled(rng, BLOCKS[1:])]:
        q = rng.normal(size=(T, d))
        q[0] = -np.abs(q[0])
        low = rng.normal(size=(N, d))
        high = low + np.abs(rng.normal(size=(N, d)))
        setting = f"{N} blocks of {size}, d = {d}"
        result = block_bound.run_driver(run_tensors, [q, low, high], size)
        (output,) = only_tensors(result, "block_bound", 1)
        right = _bound(q, low, high, size)
        if output.shape != right.shape:
            raise NotYet(f"{distance(output, right, setting)}.")
        trials.require(output, right, _exceeded(output, right, setting), q, low, high, size)
    return f"the smallest bound in {len(trials)} settings; keys in a corner of the box reach it."


def _bound(q, low, high, size):
    largest = np.maximum(q[:, None] * low, q[:, None] * high).sum(-1)
    return largest / math.sqrt(q.shape[-1]) + math.log(size)


def _exceeded(output, right, setting):
    """Return a clause: keys in a box exceed the bound, or it is valid and not the smallest."""
    if not np.isfinite(output).all():
        return f"the bound contains nan or an infinity ({setting})"
    t, n = np.unravel_index((output - right).argmin(), right.shape)
    if output[t, n] < right[t, n] - 1e-5:
        return (
            f"keys in the box of block {n} reach a log-sum-exp of {right[t, n]:.4g} for query {t}, and your "
            f"bound is {output[t, n]:.4g} ({setting})"
        )
    t, n = np.unravel_index((output - right).argmax(), right.shape)
    return (
        f"valid, but not the smallest: {output[t, n]:.4g} for block {n} and query {t}, where "
        f"{right[t, n]:.4g} is never exceeded ({setting})"
    )


def _wrong_bounds(q, low, high, size):
    T, d = q.shape
    N = len(low)
    root = d**0.5
    log_size = math.log(size)
    with_high, with_low = q @ high.T, q @ low.T
    products = np.stack([q[:, None] * low, q[:, None] * high])  # (2, T, N, d)
    best = products.max(0).sum(-1)
    worst = products.min(0).sum(-1)
    largest = np.maximum(np.abs(low), np.abs(high))
    lengths = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(largest, axis=1)
    top, bottom = best / root, worst / root
    one_worst = top + np.log(size - 1 + np.exp(bottom - top))
    return {
        "only `high` is used; a negative entry of the query is largest with the *least* entry of a key": (
            with_high / root + log_size
        ),
        "only `low` is used; a positive entry of the query is largest with the *greatest* entry of a key": (
            with_low / root + log_size
        ),
        "negative entries of the query are left out; they meet `low`": (
            np.maximum(q, 0) @ high.T / root + log_size
        ),
        "`low` or `high` is chosen once for the whole key; each entry chooses for itself": (
            np.maximum(with_low, with_high) / root + log_size
        ),
        "the middle of the box is used; its corners have higher scores": (
            (with_low + with_high) / 2 / root + log_size
        ),
        "that is the least score of the box: a positive entry of the query meets `low`, a negative one "
        "`high`, the other way round than asked": worst / root + log_size,
        "the sizes of the entries are used; signs matter": AnyOf(
            (np.abs(q) @ largest.T / root + log_size, np.abs(q) @ np.abs(high).T / root + log_size)
        ),
        "the product of lengths is a bound too, but the box allows no such key": (
            lengths / root + log_size
        ),
        "the scores are not divided by the root of d": best + log_size,
        "the scores are divided by d, not by its root": best / d + log_size,
        "log(size) is missing: all keys of the block add to the log-sum-exp": top,
        "log(size) is divided by the root of d as well; it is added to scaled scores": (
            (best + log_size) / root
        ),
        "size is added; its logarithm belongs there": top + size,
        "the bound is multiplied by size, or its logarithm; log(size) is added": AnyOf(
            (top * size, top * log_size)
        ),
        "log(size) is halved": top + log_size / 2,
        "that is a logarithm to base 2; exp belongs to the natural one": top + math.log2(size),
        "log(size) is subtracted; it is added": top - log_size,
        "both ends are added; a key has one of them in each entry": (
            (with_low + with_high) / root + log_size
        ),
        "one key is put into the worst corner: low and high need not be attained": one_worst,
        "rows and columns are exchanged; row t belongs to query t": (
            (top + log_size).T if T == N else NOT_HERE
        ),
        "these are exponentials; the log-sum-exp is asked for": size * np.exp(top),
    }
