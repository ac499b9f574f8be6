"""The experiment of 16.6: memories that are asked for the newest value, and what was recorded."""

import pytest
import torch

from attn_course.experiments import overwriting
from attn_course.experiments.overwriting import AssignmentTexts, LetterMemory, newest_values, texts


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)


def test_the_newest_value_is_that_of_the_last_write_of_the_asked_letter():
    letters, asked = torch.tensor([[0, 1, 0, 2]]), torch.tensor([[0, 0, 1, 0]])
    values = torch.arange(16.0).reshape(1, 4, 4)
    right, times = newest_values(AssignmentTexts(letters, values, asked))
    assert right[0, :, 0].tolist() == [0, 0, 4, 8]
    assert times.tolist() == [[1, 1, 1, 2]]


def test_only_letters_that_have_a_value_are_asked_for():
    _, times = newest_values(texts(20, 12, 0))
    assert times.min() >= 1


def test_the_error_of_the_mean_of_m_values_is_one_minus_one_over_m():
    letters = torch.zeros(5000, 4, dtype=torch.long)
    values = torch.randn(5000, 4, 4)
    error = (values.mean(1) - values[:, -1]).square().mean().item()
    assert error == pytest.approx(1 - 1 / 4, rel=0.03)
    _, times = newest_values(AssignmentTexts(letters, values, letters))
    assert times[0].tolist() == [1, 2, 3, 4]


def test_the_delta_rule_with_orthonormal_keys_at_full_strength_makes_no_error():
    memory = LetterMemory("delta rule")
    with torch.no_grad():
        memory.number.fill_(0.0)
        for table in (memory.queries, memory.keys):
            table.weight.copy_(torch.eye(8)[:6])
        text = texts(5, 40, 1)
        right, _ = newest_values(text)
        assert memory.strength == 1
        assert torch.allclose(memory(text), right)


@pytest.mark.parametrize("kind", ["linear", "softmax with a slope"])
def test_the_weights_of_a_memory_see_the_past_alone_and_add_up_to_one(kind):
    memory = LetterMemory(kind)
    weights = memory.weights(torch.randn(2, 7, 8), torch.randn(2, 7, 8))
    assert torch.allclose(weights.sum(-1), torch.ones(2, 7))
    assert weights.triu(1).abs().max() == 0


def test_in_every_recorded_seed_the_delta_rule_alone_returns_the_newest_value():
    results = overwriting.recorded()
    assert len(results["seeds"]) >= 10
    for seed in range(len(results["seeds"])):
        runs = {kind: results["errors"][kind][seed]["96"] for kind in overwriting.KINDS}
        assert max(runs["delta rule"].values()) < 1e-3
        assert 0.7 < runs["linear"]["4"] < 0.85
        assert 0.35 < runs["linear that fades"]["4"] < 0.6
        assert runs["softmax with a slope"]["4"] < 0.1
        assert results["errors"]["delta rule"][seed]["strength"]["eta"] == pytest.approx(
            1, abs=0.01
        )


def test_more_letters_than_rows_cost_at_least_what_15_proves():
    for count, errors in overwriting.recorded()["delta_rule_by_letters"].items():
        assert min(errors) > 1 - overwriting.WIDTH / int(count) - 0.02
