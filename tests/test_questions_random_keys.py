"""What the judges of 02-05 rely on: orthonormal keys, weights that survive any size, and noisy keys."""

import numpy as np
import pytest

from attn_course.questions import random_keys
from attn_utils import softmax


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_keys_are_orthonormal_and_come_with_two_different_keys(rng):
    for keys, a, b in random_keys.keys_and_pairs(rng):
        assert np.allclose(keys @ keys.T, np.eye(len(keys)))
        assert a != b and max(a, b) < len(keys)


def test_both_orders_of_the_two_indices_occur(rng):
    assert {a < b for _, a, b in random_keys.keys_and_pairs(rng)} == {True, False}


def test_weights_are_the_softmax_of_the_scores_at_ordinary_sizes(rng):
    keys, query = rng.normal(size=(4, 7, 5)), rng.normal(size=5)
    assert np.allclose(random_keys.weights_of(keys, query), softmax(keys @ query), atol=1e-12)


@pytest.mark.parametrize("height", [1e3, 1e15, 1e100, 1e307])
def test_a_tie_stays_a_tie_at_any_height(rng, height):
    for keys, a, b in random_keys.keys_and_pairs(rng):
        weights = random_keys.weights_of(keys, height * (keys[a] + keys[b]))
        assert random_keys.error_of_average(weights, a, b) < 1e-9


def test_a_gap_is_not_taken_for_a_tie(rng):
    keys, a, b = next(random_keys.keys_and_pairs(rng))
    weights = random_keys.weights_of(keys, 1e6 * keys[a] + (1e6 + 5) * keys[b])
    assert weights[b] > 0.99


def test_the_zero_query_looks_everywhere_alike(rng):
    keys, _, _ = next(random_keys.keys_and_pairs(rng))
    assert np.allclose(random_keys.weights_of(keys, np.zeros(keys.shape[1])), 1 / len(keys))


def test_error_is_the_worst_distance_from_the_average(rng):
    weights = np.array([0.5, 0.2, 0.3])
    assert random_keys.error_of_average(weights, 0, 2) == pytest.approx(0.4)


def test_factor_needed_is_the_smallest_that_is_enough():
    assert random_keys.factor_needed(lambda c: 10 / c, 2.0) == pytest.approx(5, rel=1e-6)
    assert random_keys.factor_needed(lambda c: 1.0, 0.5) is None
    assert random_keys.factor_needed(lambda c: np.nan, 0.5) is None


def test_noise_moves_a_score_by_a_thousandth_whatever_the_query(rng):
    for size in (2.0, 50.0, 1e6):
        query = size * random_keys.orthonormal_rows(rng, 1, 6)[0]
        keys = random_keys.noisy_keys(rng, np.zeros((3, 6)), 4000, random_keys.noise_for(query))
        assert np.std(keys @ query) == pytest.approx(1e-3, rel=0.05)
    assert random_keys.noise_for(np.array([1e12])) == 0


def test_keys_have_the_lengths_they_are_given_and_a_little_noise(rng):
    means = random_keys.orthonormal_rows(rng, 4, 6)
    lengths = np.ones((20_000, 4))
    lengths[:, 2] = random_keys.spread_lengths(20_000, 1, variance=0.5)[:, 0]
    keys = random_keys.keys_of_lengths(rng, means, lengths, 1e-6)
    found = np.einsum("bnd,nd->bn", keys, means)
    assert found.mean(0) == pytest.approx(np.ones(4), abs=0.02)
    assert found.var(0) == pytest.approx([1e-6, 1e-6, 0.5, 1e-6], rel=0.06)


def test_spread_lengths_are_normal_and_those_of_two_keys_independent():
    lengths = random_keys.spread_lengths(20_000, 3, variance=0.25)
    assert lengths.mean(0) == pytest.approx(np.ones(3), abs=1e-9)
    assert lengths.var(0) == pytest.approx([0.25] * 3, rel=0.01)
    assert np.mean(lengths < 0) == pytest.approx(0.02275, abs=1e-4)
    assert np.abs(np.corrcoef(lengths.T) - np.eye(3)).max() < 0.05


def test_spread_lengths_are_the_same_at_every_call():
    assert np.array_equal(
        random_keys.spread_lengths(50, 4, 0.5), random_keys.spread_lengths(50, 4, 0.5)
    )


def test_what_is_left_beside_the_leaders_is_measured_at_any_height():
    assert random_keys.leftover(np.log(9), 10) == pytest.approx(0.5)
    assert random_keys.leftover(np.log(4), 10, leaders=2) == pytest.approx(0.5)
    assert random_keys.leftover(1.7e308, 10) == 0
    assert random_keys.leftover(-1.7e308, 10) == 1
