"""The experiment of notebook 12: what is measured, the bound, and what was recorded."""

from itertools import product

import numpy as np
import pytest
import torch

from attn_course.experiments import delayed_copy
from attn_course.experiments.delayed_copy import (
    CopySetting,
    OneLayer,
)

SMALL = CopySetting(num_letters=3, width=8, steps=2, batch=4, num_tests=5, test_length=128)


@pytest.mark.parametrize(("num_tokens", "num_letters"), [(1, 8), (2, 8), (3, 8), (5, 3), (6, 2)])
def test_the_bound_is_that_of_counting_every_sequence(num_tokens, num_letters):
    most = [np.bincount(tokens).max() for tokens in product(range(num_letters), repeat=num_tokens)]
    wanted = np.mean(most) / num_tokens
    assert delayed_copy.order_blind_bound(num_tokens, num_letters) == pytest.approx(
        wanted, abs=1e-12
    )


def test_the_sinusoid_has_sines_and_cosines_by_turns():
    positions = torch.tensor([0, 3, 100])
    found = delayed_copy.sinusoid(positions, 6)
    angles = np.outer(positions, 10_000.0 ** (-np.arange(0, 6, 2) / 6))
    assert np.allclose(found[:, 0::2], np.sin(angles), atol=1e-5)
    assert np.allclose(found[:, 1::2], np.cos(angles), atol=1e-5)


def alike(way):
    """Mean scores of an untrained model where every letter is the same."""
    torch.manual_seed(0)
    return OneLayer(way, SMALL).scores(torch.zeros(1, 20, dtype=torch.long))


@pytest.mark.parametrize("way", ["RoPE", "none"])
def test_rotated_scores_depend_on_the_distance_alone(way):
    scores = alike(way)
    assert all(np.ptp(scores.diagonal(-distance).numpy()) < 1e-4 for distance in range(19))


@pytest.mark.parametrize("way", ["learned", "sinusoid"])
def test_scores_of_added_positions_depend_on_more_than_the_distance(way):
    assert np.ptp(alike(way).diagonal(-3).numpy()) > 0.1


class Recites(torch.nn.Module):
    """Says the letter `back` tokens before with certainty."""

    def __init__(self, back):
        super().__init__()
        self.back = back

    def forward(self, letters, positions=None):
        said = letters.roll(self.back, 1)
        return torch.nn.functional.one_hot(said, SMALL.num_letters).float()


def test_accuracy_asks_for_the_token_so_far_back_and_for_none_before_there_is_one():
    found = delayed_copy.accuracy(Recites(3), SMALL)
    assert np.isnan(found[:3]).all() and (found[3:] == 1).all()
    assert np.nanmean(delayed_copy.accuracy(Recites(2), SMALL)) < 0.5
    assert np.nanmin(delayed_copy.accuracy(Recites(6), SMALL, back=6)) == 1


def test_bands_are_means_over_the_positions_of_a_query():
    values = np.arange(128.0)
    assert delayed_copy.by_band(values) == [9, 23.5, 47.5, 95.5]


def test_training_is_the_same_from_the_same_seed_and_another_from_another():
    first, same, other = (delayed_copy.train("RoPE", seed, SMALL).read.weight for seed in (1, 1, 2))
    assert torch.equal(first, same) and not torch.equal(first, other)


def test_an_unknown_way_is_refused_by_name():
    with pytest.raises(ValueError, match="none, learned, sinusoid, RoPE, not 'rope'"):
        OneLayer("rope", SMALL)


def test_the_record_is_of_the_present_setting_and_its_bound_is_computed():
    found = delayed_copy.recorded()
    assert CopySetting(**found["setting"]) == CopySetting()
    assert found["bound"] == pytest.approx(
        delayed_copy.by_band(delayed_copy.bound_by_position()), abs=1e-4
    )
    assert [len(found["accuracy"][way]) for way in delayed_copy.WAYS] == [len(found["seeds"])] * 4


def test_in_the_record_only_none_misses_what_it_was_trained_for_and_it_meets_its_bound():
    found = delayed_copy.recorded()
    for way, runs in found["accuracy"].items():
        trained = [run[0] for run in runs]
        if way == "none":
            noise = 0.02  # two standard deviations of 200 sequences of 13 letters
            assert trained == pytest.approx([found["bound"][0]] * 3, abs=noise)
        else:
            assert min(trained) > 0.99


def test_the_tables_of_the_records_have_a_line_for_each_way():
    _, *lines = delayed_copy.table(delayed_copy.recorded()).splitlines()
    assert [line.split()[0] for line in lines] == [*delayed_copy.WAYS, "bound"]
    lines = delayed_copy.table_of_longer(delayed_copy.recorded("longer")).splitlines()
    ways = ["as", "interpolated", "NTK-aware"]
    assert [line.split()[0] for line in lines] == ["2", *ways, "4", *ways]


def test_remarks_name_the_best_unseen_distance_and_the_means_of_seeds():
    far = [0.0] * 128
    far[3] = 5.0
    far[40] = 4.5
    scores = {"queries 8-15": [0.0, 0.0, 0.0, 6.0], "queries 64-127": far}
    runs = {"learned": [[1.0, 0.5], [1.0, 0.7]]}
    found = {"scores": {"RoPE": scores}, "trained at offsets 0-112": runs}
    first, second = delayed_copy.remarks(found).splitlines()
    assert first.startswith("RoPE: score 3 back 6.0 at 8-15, 5.0 at 64-127")
    assert first.endswith("best distance above 15 is 40, score 4.5")
    assert second == "learned, trained at random offsets, mean of seeds: [1.  0.6]"
