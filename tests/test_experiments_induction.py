"""The experiment of notebook 14: songs, the models that learn them, and what was recorded."""

import numpy as np
import pytest
import torch

from attn_course.experiments import induction

SHORT = induction.Setting(steps=3)


def test_a_song_has_different_letters_and_is_asked_for_only_where_it_goes_on():
    batch = induction.songs(50, 0)
    for letters, asked in zip(batch.letters.tolist(), batch.asked.tolist(), strict=True):
        length = len(set(letters))
        song = letters[:length]
        assert 4 <= length <= 24
        for t in np.flatnonzero(asked):
            assert t >= length
            assert letters[t + 1] == song[song.index(letters[t]) + 1]


def test_letters_said_twice_are_asked_for_the_second_time():
    batch = induction.said_twice(5, 0, 8)
    assert torch.equal(batch.letters[:, :8], batch.letters[:, 8:])
    assert batch.asked[0].nonzero().flatten().tolist() == list(range(8, 15))


def test_heads_made_by_hand_have_the_scores_that_are_measured():
    batch = induction.said_twice(4, 0, 5)
    one_back = torch.eye(10).roll(-1, 1).tril()
    one_back[0, 0] = 1
    found = torch.eye(10)
    for t in range(5, 10):
        found[t] = torch.eye(10)[t - 4]
    trace = induction.Trace(
        [], [], [w.expand(4, 1, 10, 10) for w in (one_back, found)], torch.zeros(1)
    )
    previous, following = induction.head_scores(trace, batch)
    assert previous[0].item() == pytest.approx(1)
    assert following[1].item() == pytest.approx(1)


def test_a_changed_head_changes_what_is_added_to_the_stream():
    model = induction.train(SHORT).model
    batch = induction.said_twice(3, 0)
    plain = model.trace(batch.letters)
    silent = model.trace(batch.letters, lambda layer, written: 0 * written)
    assert torch.equal(silent.streams[0], silent.streams[-1])
    added = plain.streams[0] + plain.written[0].sum(1)
    assert torch.allclose(added, plain.streams[1])


def test_training_is_the_same_for_the_same_seed():
    one, other = (induction.train(SHORT, seed=5).losses for _ in range(2))
    assert one == other


@pytest.mark.parametrize("seed", range(3))
def test_one_head_never_gets_all_four_rows_right_and_three_heads_do(seed):
    assert induction.rows_right(1, starts=20, seed=seed).max() <= 3
    assert (induction.rows_right(3, starts=20, seed=seed) == 4).all()


def test_every_recorded_seed_has_the_same_verdict():
    found = induction.recorded()
    assert len(found["seeds"]) >= 10
    for run in found["runs"]["2 layers x 2 heads"]:
        assert run["songs"] > 0.98 and run["ten twice"] > 0.99
        assert max(run["previous"][0]) > 0.8 and max(run["induction"][1]) > 0.95
    for name in ("1 layer x 1 head", "1 layer x 2 heads", "1 layer x 4 heads"):
        assert max(run["songs"] for run in found["runs"][name]) < 0.2
    for run in found["runs"]["1 layer, trained on ten letters twice"]:
        assert run["ten twice"] > 0.99 and run["eight twice"] < 0.1
    assert set(found["four rows right, of 60 starts"]["1"]) == {0}
