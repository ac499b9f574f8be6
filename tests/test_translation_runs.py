"""The recorded runs under solutions/runs: their figures follow from what they keep."""

import pytest
from course import ROOT

from attn_utils.translation.config import PRESETS
from attn_utils.translation.corpora import DataError, embedded
from attn_utils.translation.recording import read_record, recorded
from attn_utils.translation.scoring import bleu_of_counts, bootstrap, score

RECORDS = {
    path.stem: read_record(path)
    for path in sorted((ROOT / "solutions" / "runs").glob("translation_*"))
}
LADDER = {
    name: record for name, record in RECORDS.items() if "--preset ladder" in record["command"]
}


@pytest.mark.parametrize("name", RECORDS)
def test_bleu_follows_from_the_recorded_counts(name):
    record = RECORDS[name]
    bleu = bleu_of_counts(record["counts"].sum(0))
    assert bleu == pytest.approx(record["test"]["greedy"]["bleu"], abs=1e-9)
    assert len(record["hypotheses"]) == len(record["counts"]) == len(record["source_words"]) == 1000


def test_the_ladder_differs_in_attention_and_seed_alone():
    for record in LADDER.values():
        config = {**record["config"], "attention": "dot", "seed": 1}
        assert config == vars(PRESETS["ladder"])


@pytest.mark.parametrize(("worse", "better"), [("none", "mean"), ("mean", "dot")])
def test_each_step_of_the_ladder_is_significant(worse, better):
    """Counts of a sentence are added over the seeds, so that sentences alone are resampled."""
    totals = [
        sum(RECORDS[f"translation_{attention}_{seed}"]["counts"] for seed in (1, 2, 3))
        for attention in (worse, better)
    ]
    assert bootstrap(*totals, num_samples=1000)["p"] < 0.01


def test_the_embedded_ladder_can_be_scored_again_from_its_hypotheses():
    references = [english for _, english in embedded().test]
    for slot, records in recorded("embedded").items():
        assert [record["config"]["seed"] for record in records] == [1, 2, 3]
        found = score(records[0]["hypotheses"], references)["bleu"]
        assert found == pytest.approx(records[0]["test"]["greedy"]["bleu"], abs=1e-9), slot
        for record in records:
            bleu = bleu_of_counts(record["counts"].sum(0))
            assert bleu == pytest.approx(record["test"]["greedy"]["bleu"], abs=1e-9), slot


def test_a_missing_ladder_is_one_sentence():
    with pytest.raises(DataError, match="no recorded run solutions/runs/nowhere"):
        recorded("nowhere")
