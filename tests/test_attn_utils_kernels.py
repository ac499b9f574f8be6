"""Holds the attention kernels to an oracle (torch), a slow twin (a loop) and what must never change."""

import ast
import cmath
import doctest
import importlib
import inspect
import itertools
import math
import subprocess
import sys
import tracemalloc
from functools import partial, reduce

import numpy as np
import pytest
import torch
from fake_device import FAR, watched
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_utils import (
    attend,
    causal_mask,
    finish,
    kernels,
    merge,
    padding_mask,
    rotate,
    softmax,
    summary,
)

LIBRARIES = pytest.mark.parametrize("wrap", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])


def sample(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def inputs(T, S, d=4, dv=3, batch=(), seed=0):
    shapes = [(*batch, T, d), (*batch, S, d), (*batch, S, dv)]
    return [sample(*shape, seed=seed + i) for i, shape in enumerate(shapes)]


def looped(q, k, v, look, scale):
    """The slow twin: one query and one key at a time, for two-axis inputs."""
    weights = np.zeros((len(q), len(k)))
    for t in range(len(q)):
        keys = [s for s in range(len(k)) if look[t, s]]
        exps = {s: math.exp(scale * sum(q[t] * k[s])) for s in keys}
        for s in keys:
            weights[t, s] = exps[s] / sum(exps.values())
    context = [[sum(weights[t] * v[:, j]) for j in range(v.shape[1])] for t in range(len(q))]
    return np.array(context).reshape(len(q), v.shape[1]), weights


def assert_gives(call, context, weights):
    """`call` gives this context and these weights, and the same context where no weights are needed."""
    alone, nothing = call(need_weights=False)
    for found, expected in zip((*call(), alone), (context, weights, context), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert nothing is None


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Work on a few queries at a time, so that small inputs take many blocks."""
    monkeypatch.setattr(kernels, "BLOCK", 8)
    monkeypatch.setattr(kernels, "MIN_ROWS", 2)


@st.composite
def problems(draw):
    """Inputs (T, S >= 1), a mask in which any row may be closed, causal or not, a scale or none."""
    T, S = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rows = st.lists(st.booleans(), min_size=S, max_size=S)
    mask = np.array(draw(st.lists(rows, min_size=T, max_size=T)))
    scale = draw(st.sampled_from([None, 1.0, 0.3]))
    return inputs(T, S, seed=draw(st.integers(0, 99))), mask, draw(st.booleans()), scale


@LIBRARIES
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_attend_equals_the_loop(wrap, problem):
    (q, k, v), mask, causal, scale = problem
    look = mask & causal_mask(len(q), len(k)) if causal else mask
    expected = looped(q, k, v, look, 0.5 if scale is None else scale)
    options = {"mask": wrap(mask), "causal": causal, "scale": scale}
    assert_gives(partial(attend, wrap(q), wrap(k), wrap(v), **options), *expected)


@LIBRARIES
@pytest.mark.parametrize("dtype, atol", [(np.float32, 1e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_long_inputs_equal_torch(wrap, dtype, atol, causal, need_weights):
    q, k, v = (x.astype(dtype) for x in inputs(600, 600, d=32, dv=32, batch=(2, 2)))
    context, _ = attend(wrap(q), wrap(k), wrap(v), causal=causal, need_weights=need_weights)
    tensors = map(torch.as_tensor, (q, k, v))
    oracle = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)
    np.testing.assert_allclose(context, oracle, atol=atol)


@LIBRARIES
@pytest.mark.parametrize("T, S", [(1, 1), (1, 9), (9, 1), (5, 9), (9, 5), (9, 9), (0, 3), (3, 0)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.usefixtures("tiny_blocks")
def test_blocks_change_nothing(wrap, T, S, causal, masked):
    q, k, v = inputs(T, S, batch=(2,))
    mask = sample(2, T, S, seed=7) > 0 if masked else np.ones((1, S), bool)
    look = np.broadcast_to(mask & causal_mask(T, S) if causal else mask, (2, T, S))
    twins = [looped(q[b], k[b], v[b], look[b], 0.5) for b in range(2)]
    given = wrap(mask) if masked else None
    call = partial(attend, wrap(q), wrap(k), wrap(v), mask=given, causal=causal)
    assert_gives(call, *zip(*twins, strict=True))


@LIBRARIES
@pytest.mark.parametrize("mask_shape", [None, (), (7,), (5, 1), (2, 5, 7), (4, 1, 1, 1, 7)])
@pytest.mark.usefixtures("tiny_blocks")
def test_leading_axes_broadcast(wrap, mask_shape):
    q, k, v = sample(3, 1, 5, 4), sample(2, 7, 4), sample(7, 3)
    mask = None if mask_shape is None else sample(*mask_shape, seed=3) > -0.5
    call = partial(attend, *map(wrap, (q, k, v)), mask=None if mask is None else wrap(mask))
    batch = (4, 3, 2) if mask_shape == (4, 1, 1, 1, 7) else (3, 2)
    look = np.broadcast_to(True if mask is None else mask, (*batch, 5, 7))
    q, k = np.broadcast_to(q, (*batch, 5, 4)), np.broadcast_to(k, (*batch, 7, 4))
    twins = [looped(q[i], k[i], v, look[i], 0.5) for i in np.ndindex(batch)]
    contexts, weights = (np.reshape(x, (*batch, 5, -1)) for x in zip(*twins, strict=True))
    assert_gives(call, contexts, weights)


@LIBRARIES
@pytest.mark.parametrize("causal", [False, True])
def test_a_single_query_is_a_row_of_many(wrap, causal):
    q, k, v = map(wrap, inputs(1, 6))
    mask = wrap(np.arange(6) != 2)
    context, weights = attend(q[0], k, v, mask=mask, causal=causal)
    contexts, rows = attend(q, k, v, mask=mask, causal=causal)
    assert (context == contexts[0]).all() and (weights == rows[0]).all()
    assert attend(q[0], k, v, need_weights=False)[0].shape == (3,)


@LIBRARIES
def test_weights_of_each_row_sum_to_one_and_masked_weight_is_exactly_zero(wrap):
    q, k, v = map(wrap, inputs(6, 8, batch=(3,)))
    mask = sample(3, 6, 8, seed=5) > -0.3
    weights = np.asarray(attend(q, k, v, mask=wrap(mask), causal=True)[1])
    look = mask & causal_mask(6, 8)
    np.testing.assert_allclose(weights.sum(-1), look.any(-1), atol=1e-12)
    assert (weights[~look] == 0).all() and (weights[look] > 0).all()


@LIBRARIES
def test_permuting_keys_with_their_values_changes_nothing(wrap):
    q, k, v = inputs(4, 9)
    order = np.random.default_rng(0).permutation(9)
    context, weights = attend(*map(wrap, (q, k, v)))
    other_context, other_weights = attend(*map(wrap, (q, k[order], v[order])))
    np.testing.assert_allclose(other_context, context, atol=1e-12)
    np.testing.assert_allclose(other_weights, weights[:, order], atol=1e-12)


@LIBRARIES
def test_permuting_queries_permutes_the_outputs(wrap):
    q, k, v = inputs(7, 5)
    order = np.random.default_rng(0).permutation(7)
    for one, other in zip(
        attend(*map(wrap, (q, k, v))), attend(*map(wrap, (q[order], k, v))), strict=True
    ):
        np.testing.assert_allclose(other, one[order], atol=1e-12)


@LIBRARIES
def test_shifting_the_scores_changes_nothing(wrap):
    scores = sample(3, 5)
    np.testing.assert_allclose(softmax(wrap(scores + 1e4)), softmax(wrap(scores)), atol=1e-11)
    q, k, v = inputs(4, 6)
    far = attend(*map(wrap, (q, k + 100 * sample(4, seed=2), v)))[1]
    np.testing.assert_allclose(far, attend(*map(wrap, (q, k, v)))[1], atol=1e-12)


@LIBRARIES
@pytest.mark.filterwarnings("error")
def test_softmax_is_a_distribution_for_huge_scores_and_zero_for_closed_rows(wrap):
    weights = softmax(wrap(np.array([[1e4, -1e4, 1e4], [-np.inf] * 3, [0.0, -np.inf, 0.0]])))
    np.testing.assert_allclose(weights, [[0.5, 0, 0.5], [0, 0, 0], [0.5, 0, 0.5]])
    np.testing.assert_allclose(softmax(wrap(sample(4, 3)), axis=0).sum(0), np.ones(3))


def test_softmax_leaves_its_input_alone_and_accepts_integers():
    scores = sample(5)
    before = scores.copy()
    softmax(scores)
    assert (scores == before).all()
    np.testing.assert_allclose(softmax([0, 0]), [0.5, 0.5])
    np.testing.assert_allclose(softmax(torch.tensor([0, 0])), [0.5, 0.5])


@LIBRARIES
@pytest.mark.filterwarnings("error")
def test_attend_leaves_its_inputs_alone(wrap):
    q, k, v = inputs(4, 4)
    mask = np.eye(4, dtype=bool)
    before = [x.copy() for x in (q, k, v, mask)]
    attend(wrap(q), wrap(k), wrap(v), mask=wrap(mask), causal=True)
    assert all((x == y).all() for x, y in zip((q, k, v, mask), before, strict=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_types_are_kept(dtype):
    arrays = [x.astype(dtype) for x in inputs(3, 5, dv=4)]
    exact = attend(*(x.astype(float) for x in arrays))
    for wrap in (np.asarray, torch.as_tensor):
        wrapped = [wrap(x) for x in arrays]
        results = [*attend(*wrapped), attend(*wrapped, need_weights=False)[0]]
        assert all(x.dtype == wrapped[0].dtype for x in results)
        for result, expected in zip(results, [*exact, exact[0]], strict=True):
            np.testing.assert_allclose(result, expected, atol=8 * np.finfo(dtype).eps)


@LIBRARIES
def test_integers_become_floats_and_a_scale_of_any_type_widens_nothing(wrap):
    keys = wrap(np.eye(3, dtype=int))
    weights = attend(keys, keys, keys, scale=1.0)[1]
    np.testing.assert_allclose(np.diag(weights), [math.e / (math.e + 2)] * 3, rtol=1e-6)
    q = wrap(sample(2, 3).astype(np.float32))
    assert attend(q, q, q, scale=np.float64(0.5))[1].dtype == q.dtype


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("T, S", [(3, 4), (5, 3)])
@pytest.mark.usefixtures("tiny_blocks")
def test_gradients_are_those_of_finite_differences(causal, T, S):
    q, k, v = (torch.as_tensor(x).requires_grad_() for x in inputs(T, S, d=2, dv=2))
    mask = torch.as_tensor(sample(T, S, seed=4) > -0.5)
    mask[1] = False
    for look in (None, mask):
        both = partial(attend, mask=look, causal=causal)
        assert torch.autograd.gradcheck(both, (q, k, v))
        alone = partial(both, need_weights=False)
        assert torch.autograd.gradcheck(lambda *x, alone=alone: alone(*x)[0], (q, k, v))


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_fully_masked_row_is_zero_with_finite_gradients(need_weights):
    q, k, v = (torch.as_tensor(x).requires_grad_() for x in inputs(3, 4))
    mask = torch.ones(3, 4, dtype=torch.bool)
    mask[1] = False
    context, weights = attend(q, k, v, mask=mask, need_weights=need_weights)
    assert (context[1] == 0).all() and (weights is None or (weights[1] == 0).all())
    context.square().sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert (q.grad[1] == 0).all() and (q.grad[0] != 0).any()


def test_causal_is_aligned_bottom_right():
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True] * 4]
    assert causal_mask(3, 2).tolist() == [[False, False], [True, False], [True, True]]
    assert (causal_mask(4) == np.tri(4, dtype=bool)).all()


@LIBRARIES
def test_queries_before_the_first_key_see_nothing(wrap):
    context, weights = attend(*map(wrap, inputs(5, 2)), causal=True)
    assert (context[:3] == 0).all() and (weights[:3] == 0).all()
    np.testing.assert_allclose(weights[3], [1, 0])


def test_masks_are_of_the_library_of_what_they_are_made_from():
    mask = causal_mask(3, like=torch.zeros(1))
    assert mask.dtype == torch.bool and mask.tolist() == causal_mask(3).tolist()
    assert isinstance(causal_mask(3, like=np.zeros(1)), np.ndarray)
    lengths = [[0, 2], [3, 1]]
    expected = [[[j < n for j in range(3)] for n in row] for row in lengths]
    assert padding_mask(lengths, 3).tolist() == expected
    assert padding_mask(torch.tensor(lengths), 3).tolist() == expected
    assert padding_mask(torch.tensor(lengths), 3).dtype == torch.bool


def test_padded_keys_never_change_the_context():
    q, k, v = inputs(4, 6, batch=(2,))
    lengths = [6, 3]
    context, _ = attend(q, k, v, mask=padding_mask(lengths, 6)[:, None])
    for b, n in enumerate(lengths):
        np.testing.assert_allclose(context[b], attend(q[b], k[b, :n], v[b, :n])[0], atol=1e-12)


@LIBRARIES
@pytest.mark.parametrize(
    "q, k, v, mask, first, second",
    [
        ((3, 4), (5, 6), (5, 2), None, "(3, 4)", "(5, 6)"),
        ((3, 4), (5, 4), (6, 2), None, "(5, 4)", "(6, 2)"),
        ((3, 4), (4,), (5, 2), None, "(3, 4)", "(4,)"),
        ((), (5, 4), (5, 2), None, "()", "(5, 4)"),
        ((3, 4), (5, 4), (5,), None, "(5, 4)", "(5,)"),
        ((2, 3, 4), (7, 5, 4), (5, 2), None, "(2, 3, 4)", "(7, 5, 4)"),
        ((2, 3, 4), (5, 4), (7, 5, 2), None, "(2, 3, 5)", "(7, 5, 2)"),
        ((3, 4), (5, 4), (5, 2), (5, 3), "(5, 3)", "(3, 5)"),
        ((1, 4), (5, 4), (5, 2), (3, 5), "(3, 5)", "(1, 5)"),
    ],
)
def test_shapes_that_do_not_fit_are_both_named(wrap, q, k, v, mask, first, second):
    arrays = [wrap(np.zeros(shape)) for shape in (q, k, v)]
    with pytest.raises(ValueError) as error:
        attend(*arrays, mask=None if mask is None else wrap(np.ones(mask, bool)))
    assert first in str(error.value) and second in str(error.value)


@LIBRARIES
def test_what_is_no_mask_and_no_number_is_refused(wrap):
    q, k, v = map(wrap, inputs(2, 3))
    with pytest.raises(TypeError, match="mask must be boolean"):
        attend(q, k, v, mask=wrap(np.ones((2, 3), int)))
    with pytest.raises(TypeError, match="real numbers"):
        attend(q * 1j, k, v)


@pytest.mark.parametrize("lengths", [[4], [-1], [[0, 3], [5, 1]]])
def test_lengths_beyond_the_keys_are_refused(lengths):
    with pytest.raises(ValueError, match="between 0 and the 3 keys"):
        padding_mask(lengths, 3)
    assert padding_mask([0, 3], 3).tolist() == [[False] * 3, [True] * 3]


def turned(x, positions, base):
    """The slow twin of rotate: each pair of features as one complex number."""
    out = np.array(x)
    d = x.shape[-1]
    for index in np.ndindex(x.shape[:-1]):
        for i in range(d // 2):
            angle = positions[index[-1]] * base ** (-2 * i / d)
            pair = complex(*x[index][2 * i : 2 * i + 2]) * cmath.exp(1j * angle)
            out[index][2 * i : 2 * i + 2] = pair.real, pair.imag
    return out


@LIBRARIES
@pytest.mark.parametrize("d, base", [(8, 10_000.0), (6, 100.0), (2, 10_000.0)])
def test_rotate_equals_multiplication_by_complex_numbers(wrap, d, base):
    x = sample(3, 4, 5, d)
    positions = [0, 1, 7, 2, 30]
    result = rotate(wrap(x), wrap(np.array(positions)), base)
    np.testing.assert_allclose(result, turned(x, positions, base), atol=1e-12)
    np.testing.assert_allclose(rotate(wrap(x), positions, base), result, atol=0)


@LIBRARIES
def test_scores_of_rotated_queries_and_keys_depend_on_the_distance_alone(wrap):
    q, k = wrap(sample(8)), wrap(sample(8, seed=1))
    near = rotate(q, 12) @ rotate(k, 9)
    np.testing.assert_allclose(rotate(q, 1012) @ rotate(k, 1009), near, atol=1e-10)
    assert abs(rotate(q, 12) @ rotate(k, 8) - near) > 1e-3
    np.testing.assert_allclose(rotate(rotate(q, 3), 4), rotate(q, 7), atol=1e-12)
    assert (rotate(q, 0) == q).all()


@LIBRARIES
def test_each_sequence_of_a_batch_may_have_its_own_positions(wrap):
    x = wrap(sample(2, 3, 4, 6))
    positions = np.array([[0, 1, 2, 3], [5, 6, 7, 8]])
    result = rotate(x, wrap(positions[:, None]))
    for b in range(2):
        np.testing.assert_allclose(result[b], rotate(x[b], wrap(positions[b])), atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_half_precision_is_kept_but_still_tells_far_positions_apart(dtype):
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=dtype)
    result = rotate(x, torch.tensor([4096, 4097]))
    assert result.dtype == dtype
    expected = torch.tensor([[math.cos(p), math.sin(p)] for p in (4096, 4097)])
    torch.testing.assert_close(result.float(), expected, atol=1e-2, rtol=0)


def test_an_odd_number_of_features_cannot_be_rotated():
    with pytest.raises(ValueError, match=r"x \(4, 3\) has 3"):
        rotate(np.zeros((4, 3)), range(4))


def blocks_of(wrap, scores, values, cuts):
    """A summary of each stretch of keys between the cuts."""
    edges = [0, *sorted(cuts), scores.shape[-1]]
    return [
        summary(wrap(scores[..., a:b]), wrap(values[..., a:b, :]))
        for a, b in itertools.pairwise(edges)
    ]


@LIBRARIES
@given(
    S=st.integers(1, 9),
    cuts=st.lists(st.integers(0, 9), max_size=4),
    scale=st.sampled_from([1.0, 30.0, 1e4]),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_merged_blocks_equal_one_softmax_whatever_the_cuts_and_their_order(
    wrap, S, cuts, scale, seed
):
    scores, values = scale * sample(2, 3, S, seed=seed), sample(2, S, 4, seed=seed)
    hidden = sample(2, 3, S, seed=seed + 1) > 1
    scores = np.where(hidden, -np.inf, scores)
    parts = blocks_of(wrap, scores, values, [min(cut, S) for cut in cuts])
    expected = softmax(scores) @ values
    for order in (parts, parts[::-1], parts[1:] + parts[:1]):
        np.testing.assert_allclose(finish(reduce(merge, order)), expected, atol=1e-12)


@LIBRARIES
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", [0.0, 1e5, -1e5])
def test_scores_far_from_zero_and_blocks_without_a_key_change_nothing(wrap, level):
    values = sample(3, 2)
    scores = level + np.array([0.0, 1.0, 2.0])
    alone = summary(wrap(scores), wrap(values))
    expected = softmax(np.arange(3.0)) @ values
    np.testing.assert_allclose(finish(alone), expected, atol=1e-10)
    for nothing in (np.zeros(0), np.full(2, -np.inf)):
        empty = summary(wrap(nothing), wrap(np.ones((len(nothing), 2))))
        assert (finish(empty) == 0).all() and (finish(merge(empty, empty)) == 0).all()
        for both in (merge(empty, alone), merge(alone, empty)):
            assert all((x == y).all() for x, y in zip(both, alone, strict=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_summaries_are_kept_in_single_precision_or_better(dtype):
    scores, values = np.zeros(4096, dtype), np.ones((4096, 1), dtype)
    for wrap in (np.asarray, torch.as_tensor):
        state = reduce(merge, blocks_of(wrap, scores, values, range(16, 4096, 16)))
        assert float(state.total) == 4096 and float(finish(state)[0]) == 1
        wide = np.promote_types(dtype, np.float32).name
        assert all(str(x.dtype).removeprefix("torch.") == wide for x in state)


def test_gradients_flow_through_a_merge_past_hidden_keys():
    scores = torch.as_tensor(sample(2, 5))
    scores[0, :3] = -math.inf
    scores[1] = -math.inf
    values = torch.as_tensor(sample(5, 2)).requires_grad_()

    def merged(scores, values):
        return finish(merge(*blocks_of(lambda x: x, scores, values, [3])))

    def whole(scores, values):
        return softmax(scores) @ values

    scores.requires_grad_()
    results = [
        torch.autograd.grad(f(scores, values).sin().sum(), (scores, values))
        for f in (merged, whole)
    ]
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)
    free = torch.as_tensor(sample(2, 5, seed=9)).requires_grad_()
    assert torch.autograd.gradcheck(merged, (free, values))


@pytest.mark.parametrize("need_weights", [False, True])
def test_queries_that_share_keys_are_one_more_leading_axis(need_weights):
    q, k, v = (torch.as_tensor(sample(2, n, 5, 4, seed=i)) for i, n in enumerate((6, 2, 2)))
    groups = q.unflatten(1, (2, 3))  # (B, G, H / G, T, d)
    context, _ = attend(
        groups, k[:, :, None], v[:, :, None], causal=True, need_weights=need_weights
    )
    oracle = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=True, enable_gqa=True
    )
    torch.testing.assert_close(context.flatten(1, 2), oracle)


def problem_on_a_device():
    """q (B, H, T, d), keys (B, H, S, d), mask (B, 1, 1, S), lengths (B,) on the current device."""
    mask = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    return torch.rand(2, 3, 5, 4), torch.rand(2, 3, 7, 4), mask, torch.ones(2, dtype=torch.long)


def merged_scores(q, k, mask, lengths):
    first, second = ((q @ part.mT, part) for part in k.split(4, dim=-2))
    return finish(merge(summary(*first), summary(*second)))


ON_A_DEVICE = {
    f"attend {'masked' if masked else ''} {'causal' if causal else ''} {'with' if need else 'without'}": (
        lambda q, k, mask, lengths, masked=masked, causal=causal, need=need: attend(
            q, k, k, mask=mask if masked else None, causal=causal, need_weights=need
        )
    )
    for masked in (False, True)
    for causal in (False, True)
    for need in (False, True)
} | {
    "attend to fewer keys": lambda q, k, mask, lengths: attend(k, q, q, causal=True),
    "softmax": lambda q, k, mask, lengths: softmax(q),
    "rotate": lambda q, k, mask, lengths: rotate(q, lengths[:, None, None]),
    "merge": merged_scores,
    "causal_mask": lambda q, k, mask, lengths: causal_mask(5, 7, like=q),
    "padding_mask": lambda q, k, mask, lengths: padding_mask(lengths, 7),
}


@pytest.mark.parametrize("name", ON_A_DEVICE)
@pytest.mark.usefixtures("tiny_blocks")
def test_no_kernel_waits_for_the_device_or_leaves_it(name):
    assert watched(problem_on_a_device, ON_A_DEVICE[name]) == ([], {FAR.type})


MODULES = pytest.mark.parametrize("name", ["arrays", "kernels", "layers", "masks"])


@MODULES
def test_the_calls_shown_in_docstrings_give_what_they_show(name):
    module = importlib.import_module(f"attn_utils.{name}")
    results = doctest.testmod(module)
    assert results.attempted > 0 and results.failed == 0


@MODULES
def test_public_functions_are_typed_and_say_what_they_do(name):
    source = inspect.getsource(importlib.import_module(f"attn_utils.{name}"))
    functions = [x for x in ast.walk(ast.parse(source)) if isinstance(x, ast.FunctionDef)]
    public = [x for x in functions if not x.name.startswith("_")]
    assert public
    for function in public:
        assert function.returns is not None, function.name
        arguments = [x for x in ast.walk(function.args) if isinstance(x, ast.arg)]
        assert all(x.annotation for x in arguments if x.arg != "self"), function.name
        assert ast.get_docstring(function), function.name


def peak_bytes(L, batch=(), **options):
    q, k, v = (x.astype(np.float32) for x in inputs(L, L, d=16, dv=16, batch=batch))
    tracemalloc.start()
    attend(q, k, v, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_without_weights_grows_no_faster_than_length(monkeypatch):
    monkeypatch.setattr(kernels, "BLOCK", 2**12)  # so that a small length is already long
    short, long = (peak_bytes(L, need_weights=False) for L in (1024, 4096))
    assert long < 4.2 * short
    assert peak_bytes(4096) > 10 * long


def test_scores_in_memory_at_once_are_those_of_all_heads_together():
    bytes_of_block = 4 * kernels.BLOCK
    assert peak_bytes(512, batch=(4, 4), need_weights=False) < 4 * bytes_of_block


def test_importing_the_package_imports_neither_torch_nor_matplotlib_nor_sympy():
    code = "import sys, attn_utils; print(*{'torch', 'matplotlib', 'sympy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""
