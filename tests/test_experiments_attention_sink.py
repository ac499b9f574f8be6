"""The experiment of notebook 15 on windows: what is right, and what was recorded."""

import pytest
import torch

from attn_course.experiments import attention_sink
from attn_course.experiments.attention_sink import NumberedTexts, right_answers, texts, window_of


def test_what_is_right_is_the_mean_number_of_the_partners_in_sight():
    letters = torch.tensor([[16, 0, 2, 0, 1, 1]])
    numbers = torch.tensor([[0.0, 1.0, 1.5, 2.0, 1.2, 1.4]])
    right, has_partner = right_answers(NumberedTexts(letters, numbers), window_of(6, 6, 0))
    assert right[0].tolist() == pytest.approx([0, 0, 0, 0, 1.5, 1.5])
    assert has_partner[0].tolist() == [False, False, False, False, True, True]
    right, _ = right_answers(NumberedTexts(letters, numbers), window_of(6, 3, 0))
    assert right[0, 5].item() == pytest.approx(2.0)


def test_the_start_token_comes_first_and_carries_nothing():
    text = texts(4, 10, 0)
    assert text.letters[:, 0].eq(16).all() and text.letters[:, 1:].lt(16).all()
    assert text.numbers[:, 0].eq(0).all() and text.numbers[:, 1:].ge(1).all()


def test_in_every_recorded_seed_the_window_loses_the_sink_and_one_kept_token_mends_it():
    found = attention_sink.recorded()
    assert len(found["seeds"]) >= 10
    for run in found["errors"]:
        assert run["window"]["none"] > 1.4
        assert run["window and start token"]["none"] < 0.01
        assert max(run[name]["a partner in sight"] for name in run) < 0.01
