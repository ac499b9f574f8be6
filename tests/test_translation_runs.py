"""The recorded runs under attn_course/runs: their figures follow from what they keep."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from course import ROOT

from attn_course.errors import UserError
from attn_course.translation import recorder
from attn_course.translation.bundled import FOLDER
from attn_course.translation.config import PRESETS, Config, transformer
from attn_course.translation.corpora import embedded
from attn_course.translation.recorder import read_record, recorded
from attn_course.translation.scoring import bleu_of_counts, bootstrap, score

RECORDS = {
    path.stem: read_record(path)
    for path in sorted((ROOT / "attn_course" / "runs").glob("[et]*_[0-9].json"))
}


@pytest.mark.parametrize("name", RECORDS)
def test_bleu_follows_from_the_recorded_counts(name):
    record = RECORDS[name]
    bleu = bleu_of_counts(record["counts"].sum(0))
    assert bleu == pytest.approx(record["test"]["greedy"]["bleu"], abs=1e-9)
    size = 1000 if name.startswith("translation") else 500
    assert len(record["hypotheses"]) == len(record["counts"]) == len(record["source_words"]) == size


def test_every_recorded_score_has_one_signature():
    every = [record["test"] for record in RECORDS.values()]
    found = {test[search]["signature"] for test in every for search in ("greedy", "beam 5")}
    assert len(every) >= 25 and len(found) == 1


ROWS = {  # The page's names of the records translation_NAME_SEED
    "no attention": "none",
    "mean of the states": "mean",
    "scaled dot": "dot",
    "additive": "additive",
    "multi-head": "multihead",
    "Transformer": "transformer",
    "scaled dot, larger model": "long_dot",
    "scaled dot, `--preset full`": "full_dot",
    "Transformer, `--preset full`": "full_transformer",
    "scaled dot, `--preset large`": "large_dot",
    "Transformer, `--preset large --tokens 10000000`": "large_transformer",
}


def row_of(label, found):
    """The line of the page's table about the seeds of one model."""
    seeds = [str(record["config"]["seed"]) for record in found]
    seconds = sorted(record["cpu_seconds"] for record in found)
    times = f"{seconds[0]:.0f}-{seconds[-1]:.0f}"
    if len(seeds) < 3:
        times = " / ".join(f"{record['cpu_seconds']:,.0f}" for record in found)
    cells = [
        f"{label}, seed{'s' if len(seeds) > 1 else ''} {' / '.join(seeds)}",
        f"{found[0]['config']['tokens']:,}",
        times,
        *scores_of([record["test"] for record in found]),
    ]
    return f"| {' | '.join(cells)} |"


def scores_of(tests):
    for search in ("greedy", "beam 5"):
        yield " / ".join(f"{test[search]['bleu']:.1f}" for test in tests)


def test_the_table_of_the_translator_page_is_that_of_the_records():
    page = (ROOT / "docs" / "translator.md").read_text("utf-8").splitlines()
    for label, name in ROWS.items():
        assert row_of(label, recorder.records(f"translation_{name}_[0-9]")) in page
    found = [re.fullmatch(r"translation_(.+)_\d", name) for name in RECORDS]
    assert {name[1] for name in found if name} == set(ROWS.values())
    kept = json.loads((FOLDER / "record.json").read_text("utf-8"))
    bundled = [line for line in page if line.startswith("| the bundled model")]
    greedy, beam = scores_of([kept["in half precision"]])
    assert len(bundled) == 1 and bundled[0].endswith(f"| {greedy} | {beam} |")


def test_every_record_says_how_it_was_made():
    for path in (ROOT / "attn_course" / "runs").glob("*.json"):
        record = json.loads(path.read_text("utf-8"))
        assert record["command"].startswith(("attn translate train ", "python -m attn_course."))
        assert {"config", "preset", "setting", "settings", "model"} & set(record), path.name


def test_the_command_of_a_record_names_its_seed_and_its_model():
    for record in RECORDS.values():
        config = Config(**record["config"])
        command = record["command"]
        assert f"--seed {config.seed} " in command
        is_transformer = config.architecture == "transformer"
        assert is_transformer == ("--architecture transformer" in command)
        assert "--threads 1" in command and "1 threads" in record["machine"]


def test_the_ladder_differs_in_attention_and_seed_alone():
    for record in RECORDS.values():
        if "--preset ladder" not in record["command"]:
            continue
        found = Config(**record["config"])
        expected = replace(PRESETS["ladder"], attention=found.attention)
        if found.architecture == "transformer":
            expected = transformer(PRESETS["ladder"])
        assert found == replace(expected, seed=found.seed)


@pytest.mark.parametrize(("worse", "better"), [("none", "mean"), ("mean", "dot")])
def test_each_step_of_the_ladder_is_significant(worse, better):
    """Counts of a sentence are added over the seeds, so that sentences alone are resampled."""
    totals = [
        sum(RECORDS[f"translation_{attention}_{seed}"]["counts"] for seed in (1, 2, 3))
        for attention in (worse, better)
    ]
    *_, p = bootstrap(*totals, np.random.default_rng(0), 1000)
    assert p < 0.01


def test_the_embedded_ladder_can_be_scored_again_from_its_hypotheses():
    references = [english for _, english in embedded().test]
    for slot, records in recorded("embedded").items():
        assert [record["config"]["seed"] for record in records] == [1, 2, 3]
        found = score(records[0]["hypotheses"], references)["bleu"]
        assert found == pytest.approx(records[0]["test"]["greedy"]["bleu"], abs=1e-9), slot


def test_the_table_has_a_line_for_each_attention_with_mean_and_spread():
    record = {"test": {"greedy": {"bleu": 10.0}, "perplexity": 3.0}, "cpu_seconds": 60}
    better = {**record, "test": {"greedy": {"bleu": 13.0}, "perplexity": 5.0}}
    _, mean, dot = recorder.table({"mean": [record, better], "dot": [record]}).splitlines()
    assert mean.split() == ["mean", "10.0", "13.0", "11.5", "2.1", "4.00", "60"]
    assert dot.split() == ["dot", "10.0", "10.0", "-", "3.00", "60"]


def test_groups_by_length_hold_every_sentence_once():
    ladder = recorder.recorded("translation")
    record = ladder["dot"][0]
    (middle,), whole = recorder.by_length(ladder, num_groups=1)
    bleu = [found["test"]["greedy"]["bleu"] for found in ladder["dot"]]
    assert middle == record["source_words"].mean()
    assert whole["dot"] == pytest.approx([np.mean(bleu)], abs=1e-9)
    middles, series = recorder.by_length(ladder)
    assert middles == sorted(middles) and {len(row) for row in series.values()} == {4}


def test_records_come_with_the_smallest_budget_first():
    budgets = [record["config"]["tokens"] for record in recorder.records("translation*_dot_1")]
    assert len(budgets) > 1 and budgets == sorted(budgets)


@pytest.mark.parametrize("name", ["10_translation", "11_bleu_comparison"])
def test_numbers_in_a_reference_answer_are_printed_by_a_cell(name):
    cells = json.loads((ROOT / "solutions" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    shown = [float(number) for number in re.findall(r"\d+\.\d*", printed)]
    for cell in cells:
        if "written" in cell["metadata"]:
            for number in re.findall(r"\d+\.\d+", "".join(cell["source"])):
                digits = len(number.partition(".")[2])
                assert float(number) in {round(x, digits) for x in shown}, number


def test_a_missing_ladder_is_one_sentence():
    with pytest.raises(UserError, match="no recorded run attn_course/runs/nowhere"):
        recorded("nowhere")
