"""The experiment at the end of notebook 15: what a state of d rows reads back."""

import pytest
import torch

from attn_course.experiments import associative_recall


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)


@pytest.mark.parametrize(("n", "d"), [(10, 4), (12, 8), (6, 4)])
@pytest.mark.parametrize("weigh", [associative_recall.any_sign, associative_recall.linear_weights])
def test_training_meets_the_bound_and_does_not_pass_it(n, d, weigh):
    error = associative_recall.squared_error(associative_recall.train(n, d, weigh)).item()
    assert error == pytest.approx(1 - d / n, abs=1e-3)
    assert error >= 1 - d / n - 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_every_seed_of_the_training_that_14_shows_meets_the_bound(seed):
    weights = associative_recall.train(10, 4, associative_recall.linear_weights, seed)
    assert associative_recall.squared_error(weights).item() == pytest.approx(0.6, abs=1e-4)


def test_as_many_rows_as_keys_read_all_back():
    weights = associative_recall.train(4, 4, associative_recall.any_sign)
    assert associative_recall.squared_error(weights).item() < 1e-6


@pytest.mark.parametrize("n", [10, 100])
def test_softmax_reads_every_key_in_two_dimensions(n):
    weights = associative_recall.softmax_on_a_circle(n)
    assert weights.diag().min() > 0.998
    assert torch.linalg.matrix_rank(weights) == n


def test_the_error_is_that_of_reading_random_values():
    torch.manual_seed(0)
    weights = torch.rand(5, 5).softmax(-1)
    values = torch.randn(5, 200_000)
    read = (weights @ values - values).square().mean().item()
    assert associative_recall.squared_error(weights).item() == pytest.approx(read, rel=0.01)


def test_linear_weights_are_products_of_exponentials_and_add_up_to_one():
    torch.manual_seed(0)
    q, k = torch.randn(2, 6, 4)
    found = associative_recall.linear_weights(q, k)
    ratio = (q[0].exp() @ k[1].exp()) / (q[0].exp() @ k[2].exp())
    assert torch.allclose(found[0, 1] / found[0, 2], ratio)
    assert torch.allclose(found.sum(-1), torch.ones(6))


def test_errors_by_count_follow_the_bound_and_softmax_stays_at_zero():
    found = associative_recall.errors_by_count([2, 6, 12], widths=[4])
    assert found["weights of any sign, d = 4"] == pytest.approx(
        [0, 1 - 4 / 6, 1 - 4 / 12], abs=1e-3
    )
    assert max(found["softmax, d = 2"]) < 1e-5
