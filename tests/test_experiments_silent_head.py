"""The experiment of 16.1: heads that may stay silent, and what was recorded."""

import pytest
import torch

from attn_course.experiments import silent_head
from attn_course.experiments.attention_sink import NUM_LETTERS, NumberedTexts, window_of


def test_texts_have_no_start_token():
    text = silent_head.texts(4, 10, 0)
    assert text.letters.shape == (4, 10)
    assert text.letters.lt(NUM_LETTERS).all() and text.numbers.ge(1).all()


def test_a_sink_multiplies_the_output_by_its_sigmoid():
    torch.manual_seed(0)
    plain, sink = silent_head.SilentHead("nothing"), silent_head.SilentHead("sink at 0")
    scores, numbers = torch.randn(3, 5), torch.rand(3, 5)
    gate = torch.sigmoid(scores.logsumexp(-1))
    assert torch.allclose(sink.read(scores, numbers), gate * plain.read(scores, numbers))


def test_the_gate_of_the_token_depends_on_the_letter_alone():
    head = silent_head.SilentHead("gate of the token")
    with torch.no_grad():
        head.gate[3] = -50.0
    text = NumberedTexts(torch.tensor([[3, 1, 3]]), torch.tensor([[1.0, 2.0, 1.5]]))
    output = head(text, window_of(3, 3, 0))[0]
    assert output[[0, 2]].abs().max() < 1e-9 and output[1] > 0.4


@pytest.mark.parametrize("kind", silent_head.KINDS)
def test_the_run_that_the_notebook_shows_is_the_recorded_one(kind):
    torch.set_default_dtype(torch.float64)
    recorded = silent_head.recorded()["errors"][kind][0]["window"]
    errors = silent_head.errors(silent_head.train(kind))
    assert errors == pytest.approx(recorded, abs=0.005)


def test_in_every_recorded_seed_only_a_sink_lets_the_head_be_silent():
    results = silent_head.recorded()
    assert len(results["seeds"]) >= 10
    for seed in range(len(results["seeds"])):
        runs = {kind: results["errors"][kind][seed] for kind in silent_head.KINDS}
        assert runs["nothing"]["window"]["none"] > 1.4
        assert min(runs["gate of the token"]["window"].values()) > 0.7
        for kind in ("sink, learned", "sink at 0"):
            assert max(runs[kind]["window"].values()) < 0.02
            assert max(runs[kind]["longer window"].values()) < 0.05
            among = list(runs[kind]["among"].values())
            assert among == sorted(among) and among[0] < 0.02 and among[-1] > 1
