"""The numbers that notebooks 10 and 11 print beside their runs."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attn_course.translation import (
    expected_time,
    recorder,
    scoring,
    setting,
    tables,
)
from attn_course.translation.config import PRESETS, for_gpu
from attn_course.translation.corpora import Corpus, embedded


def test_no_prediction_has_a_smaller_smoothed_loss_than_the_smallest():
    floor = tables.smallest_loss(50, 0.1)
    wanted = torch.full((1, 50), 0.1 / 50, dtype=torch.float64)
    wanted[0, 7] += 0.9
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    true = torch.tensor([7])
    assert loss(wanted.log(), true).item() == pytest.approx(floor)
    for share in (0.8, 0.95):
        other = torch.full((1, 50), (1 - share) / 49, dtype=torch.float64)
        other[0, 7] = share
        assert loss(other.log(), true).item() > floor


def test_the_smallest_error_rate_is_that_of_one_right_link_for_each_linked_word():
    links = [frozenset({(0, 0), (0, 1), (1, 2)}), frozenset({(1, 0)})]
    corpus = Corpus(train=[], val=[], test=[("a b c", "x y"), ("a", "x y")], links=links)
    found = [{(0, 0), (1, 2)}, {(1, 0), (0, 0)}]  # the unlinked word links to something, wrongly
    num_right = sum(len(ours & gold) for ours, gold in zip(found, links, strict=True))
    expected = 1 - 2 * num_right / (4 + 4)
    vocabulary = SimpleNamespace(words=str.split)
    assert tables.smallest_error_rate(corpus, vocabulary) == pytest.approx(expected)


def test_a_running_mean_starts_where_there_are_enough_numbers():
    places, means = tables.running_mean([1, 2, 6, 4], 2)
    assert places.tolist() == [2, 3, 4]
    assert means.tolist() == [1.5, 4, 5]


def test_every_record_of_every_architecture_has_its_line():
    found = {"GRU": recorder.records("translation_dot_[0-9]")}
    found["Transformer"] = recorder.records("translation_transformer_[0-9]")
    command, _, *lines = tables.of_architectures(found).splitlines()
    assert command == found["Transformer"][-1]["command"]
    assert len(lines) == sum(map(len, found.values()))
    last = found["Transformer"][-1]
    assert lines[-1].split()[0] == "Transformer"
    assert lines[-1].split()[-1] == f"{last['test']['beam 5']['bleu']:.1f}"


def test_systems_that_err_on_the_same_sentences_have_a_wider_interval_apart():
    records = recorder.records("embedded_dot_[0-9]")
    one, other = (record["counts"] for record in records[:2])
    _, low, high, _ = scoring.bootstrap(one, other, np.random.default_rng(0), 2000)
    assert tables.width_apart(one, other) > 1.1 * (high - low)


def test_the_table_of_trainers_says_which_numbers_are_of_training_validation_and_test():
    pairs = [("a", "the dogs run home"), ("b", "a cat")]
    metrics = [{"loss": 2.0, "perplexity": np.e**1.5, "bleu": 33.3}]
    trainer = SimpleNamespace(metrics=metrics)
    run = SimpleNamespace(translate=lambda sources: ["the dogs run home", "two cats"])
    split, names, line = tables.of_trainers({"dot": trainer}, {"dot": run}, pairs).splitlines()
    for title, number in (("train", "loss"), ("validation", "perplexity"), ("test", "n-grams")):
        assert split.index(title) == names.index(number)
    assert line.split() == ["dot", "2.00", "4.48", "1.50", "33.3", "[0.67", "0.75", "1.", "1.", "]"]


def test_p_is_written_as_neither_0_nor_1():
    assert scoring.p_value(0, 2000) == "p below 0.0015"
    assert scoring.p_value(1, 2000) == "p = 0.0005"
    assert scoring.p_value(2000, 2000) == "p above 0.9985"


def test_minutes_are_said_before_training_and_a_long_run_on_a_cpu_is_warned_of():
    _, small = setting("tiny", tokens=1)
    short = expected_time("tiny", small, 3, device="cpu")
    assert "device: cpu" in short
    assert "preset: tiny" in short
    assert "less than a minute" in short
    assert "WARNING" not in short
    long = expected_time("full", {"dot": PRESETS["full"]}, 3, device="cpu")
    assert "78 minutes" in long  # three times the 1,558 seconds of the recorded run
    assert "WARNING" in long


def test_a_gpu_gets_an_estimate_that_is_called_one_and_no_warning():
    told = expected_time("full", {"dot": PRESETS["full"]}, 3, device=torch.device("meta"))
    assert "an estimate, not measured" in told
    assert "WARNING" not in told and "times as much text" not in told
    changed = {"dot": for_gpu(PRESETS["full"])}
    told = expected_time("full", changed, 3, device=torch.device("meta"))
    assert "16,000,000 subwords for each of 3 runs" in told
    assert "each step takes 4 times as much text: 4,000 subwords a step" in told


def test_without_gold_links_the_bundled_model_links_every_english_word_and_is_named():
    pairs = embedded(num_train=2, num_test=3).test
    real = Corpus(train=[], val=[], test=pairs, links=[])
    links, name = tables.links_of(real)
    assert name == "links of the bundled model"
    for (german, english), found in zip(pairs, links, strict=True):
        num_words = [len(re.findall(r"\w+|[^\w\s]", text)) for text in (english, german)]
        assert sorted(t for t, _ in found) == list(range(num_words[0]))
        assert all(s < num_words[1] for _, s in found)


def test_gold_links_are_used_where_there_are_any():
    corpus = embedded(num_train=2, num_test=3)
    assert tables.links_of(corpus) == (corpus.links, "gold links")
