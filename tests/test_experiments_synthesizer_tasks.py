"""OR and recall: what they ask, and that a synthesizer stops where the notebook says it must."""

import pytest
import torch

from attn_course.experiments import synthesizer_tasks
from attn_utils.layers import CausalSelfAttention, SynthesizerAttention


@pytest.fixture
def precise():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)


def test_or_asks_for_a_one_among_the_first_two():
    task = synthesizer_tasks.or_of_two()
    assert task.inputs.argmax(-1).tolist() == [[0, 0, 2], [0, 1, 2], [1, 0, 2], [1, 1, 2]]
    assert task.targets.tolist() == [0, 1, 1, 1]


def test_recall_asks_for_the_bit_of_the_key_that_is_named():
    task = synthesizer_tasks.recall_of_three()
    symbols = task.inputs.argmax(-1)
    assert len({tuple(row) for row in symbols.tolist()}) == 144
    for row, bit in zip(symbols.tolist(), task.targets.tolist(), strict=True):
        asked = row[3] - 6
        assert 2 * asked + bit in row[:3]
        assert sorted(symbol // 2 for symbol in row[:3]) == [0, 1, 2]


@pytest.mark.parametrize(("layer", "best"), [("synthesizer", 1 / 16), ("comparing", 0)])
def test_at_or_a_synthesizer_stops_at_a_sixteenth_and_comparing_goes_on(precise, layer, best):
    make = {
        "synthesizer": lambda: SynthesizerAttention(12, 2, 3),
        "comparing": lambda: CausalSelfAttention(12, 1),
    }
    found = synthesizer_tasks.fit(make[layer](), synthesizer_tasks.or_of_two(), steps=150)
    assert found.losses[-1] == pytest.approx(best, abs=1e-4)
    assert found.worst == pytest.approx(4 * best, abs=1e-2)
    assert found.losses == sorted(found.losses, reverse=True)


def test_curves_are_carried_on_to_one_length_and_end_above_zero():
    fits = [synthesizer_tasks.Fit([0.5, 1e-9], 0.0), synthesizer_tasks.Fit([0.7], 0.7)]
    series = synthesizer_tasks.curves({"layer": fits}, {"1/16": 1 / 16})
    assert series["layer"] == [0.5] + [1e-6] * 199
    assert series["-1/16"] == [1 / 16] * 200


def test_the_report_has_every_seed_and_the_worst_error_of_the_first():
    fits = [synthesizer_tasks.Fit([0.5, 0.25], 0.3), synthesizer_tasks.Fit([0.7], 0.9)]
    line = synthesizer_tasks.report({"layer": fits})
    assert line.split() == "layer mean squared error 0.2500 0.7000, worst error 0.30".split()
