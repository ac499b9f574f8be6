"""What the judges of 02-05 rely on: frames, weights that survive any size, and noisy keys."""

import numpy as np
import pytest

from attn_course import frames
from attn_utils import softmax


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_frames_are_orthonormal_and_name_two_different_keys(rng):
    for keys, a, b in frames.frames(rng):
        assert np.allclose(keys @ keys.T, np.eye(len(keys)))
        assert a != b and max(a, b) < len(keys)


def test_both_orders_of_the_two_indices_occur(rng):
    assert {a < b for _, a, b in frames.frames(rng)} == {True, False}


def test_weights_are_the_softmax_of_the_scores_at_ordinary_sizes(rng):
    keys, query = rng.normal(size=(4, 7, 5)), rng.normal(size=5)
    assert np.allclose(frames.weights_of(keys, query), softmax(keys @ query), atol=1e-12)


@pytest.mark.parametrize("height", [1e3, 1e15, 1e100, 1e307])
def test_a_tie_stays_a_tie_at_any_height(rng, height):
    for keys, a, b in frames.frames(rng):
        weights = frames.weights_of(keys, height * (keys[a] + keys[b]))
        assert frames.error_of_average(weights, a, b) < 1e-9


def test_a_gap_is_not_taken_for_a_tie(rng):
    keys, a, b = next(frames.frames(rng))
    weights = frames.weights_of(keys, 1e6 * keys[a] + (1e6 + 5) * keys[b])
    assert weights[b] > 0.99


def test_the_zero_query_looks_everywhere_alike(rng):
    keys, _, _ = next(frames.frames(rng))
    assert np.allclose(frames.weights_of(keys, np.zeros(keys.shape[1])), 1 / len(keys))


def test_error_is_the_worst_distance_from_the_average(rng):
    weights = np.array([0.5, 0.2, 0.3])
    assert frames.error_of_average(weights, 0, 2) == pytest.approx(0.4)


def test_factor_needed_is_the_smallest_that_is_enough():
    assert frames.factor_needed(lambda c: 10 / c, 2.0) == pytest.approx(5, rel=1e-6)
    assert frames.factor_needed(lambda c: 1.0, 0.5) is None


def test_noise_moves_a_score_by_a_thousandth_whatever_the_query(rng):
    for size in (2.0, 50.0, 1e6):
        query = size * frames.frame(rng, 1, 6)[0]
        keys = frames.noisy_keys(rng, np.zeros((3, 6)), 4000, frames.noise_for(query))
        assert np.std(keys @ query) == pytest.approx(1e-3, rel=0.05)
    assert frames.noise_for(np.array([1e12])) == 0


def test_only_the_named_key_varies_along_its_mean(rng):
    means = frames.frame(rng, 4, 6)
    keys = frames.keys_of_random_length(rng, means, 2, 20_000, 1e-6)
    lengths = np.einsum("bnd,nd->bn", keys, means)
    assert lengths.mean(0) == pytest.approx(np.ones(4), abs=0.02)
    assert lengths.var(0) == pytest.approx([1e-6, 1e-6, 0.5, 1e-6], rel=0.06)


def test_every_key_varies_when_asked(rng):
    means = frames.frame(rng, 3, 3)
    keys = frames.keys_of_random_length(rng, means, slice(None), 20_000, 0.0, variance=0.25)
    lengths = np.einsum("bnd,nd->bn", keys, means)
    assert lengths.var(0) == pytest.approx([0.25] * 3, rel=0.06)
    assert abs(np.corrcoef(lengths.T)[0, 1]) < 0.05
