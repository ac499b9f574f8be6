"""Distances of positions that notebook 12 prints, against the embeddings themselves."""

import numpy as np
import pytest
from bank.position import halves

from attn_course.experiments import sinusoid_distance


@pytest.mark.parametrize(("d", "base"), [(2, 10_000.0), (8, 10_000.0), (6, 100.0)])
def test_the_distance_is_that_of_the_embeddings(d, base):
    embeddings = halves([3, 4, 9, 713], d, base)
    wanted = np.linalg.norm(embeddings - embeddings[0], axis=-1)
    assert sinusoid_distance.distance([0, 1, 6, 710], d, base) == pytest.approx(wanted, abs=1e-12)


def test_a_hand_is_one_pair_of_the_embedding():
    positions = [0, 7, 44]
    embeddings = halves(positions, 8, 10_000.0)
    assert sinusoid_distance.hand(positions, 2, 8) == pytest.approx(embeddings[:, [2, 6]])


@pytest.mark.parametrize(
    ("d", "steps", "apart"), [(2, 710, 6e-5), (4, 1885, 0.044), (8, 6283, 0.19), (64, 1, 1.47)]
)
def test_the_closest_of_ten_thousand_positions(d, steps, apart):
    found = sinusoid_distance.closest(d, 10_000)
    assert found == (steps, pytest.approx(apart, rel=0.03))


def test_returns_of_one_hand_come_at_good_fractions_for_a_turn():
    assert sinusoid_distance.closer_and_closer(10_000) == [1, 6, 19, 25, 44, 333, 710]
    near = sinusoid_distance.distance([333, 710, 103_993, 312_689], 2)
    assert near == pytest.approx([8.8e-3, 6.0e-5, 1.9e-5, 2.9e-6], rel=0.02)
