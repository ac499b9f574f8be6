"""Attention changed at test time: an empty setting changes nothing, and every other one does what it says."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from attn_course import recorded_runs
from attn_course.errors import UserError
from attn_course.translation import ablation
from attn_course.translation.ablation import AblatedTranslator, AblationSetting
from attn_course.translation.batches import pad_source
from attn_course.translation.config import Config, transformer
from attn_course.translation.decoding import beam, greedy
from attn_course.translation.models import build
from attn_course.translation.trained_translator import Run
from attn_course.translation.vocabulary import BOS, Vocabulary

SOURCES = [[5, 6, 7, 8, 9], [6], [7, 8, 5]]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    config = replace(transformer(Config()), embedding=16, width=16, dropout=0.0)
    return build(config, 20).eval()


def logits_of(model, setting, sources=SOURCES, tokens=(5, 9, 12)):
    """What follows each of some tokens, (B, T, V), one step after another."""
    translator = AblatedTranslator(model, setting)
    with torch.no_grad():
        memory = translator.encode(*pad_source(sources))
        state, found = None, []
        for token in (BOS, *tokens):
            last = torch.full((len(sources), 1), token)
            logits, _, state = translator.decode(last, memory, state)
            found.append(logits)
    return torch.cat(found, 1)


@pytest.mark.parametrize("search", [greedy, beam])
def test_an_empty_setting_is_the_model_itself(search, model):
    expected = search(model, *pad_source(SOURCES), max_length=9)
    found = search(AblatedTranslator(model), *pad_source(SOURCES), max_length=9)
    assert found == expected


SETTINGS = [
    "encoder*0",
    "decoder*2",
    "cross-scale",
    "cross-heads",
    "encoder-1.2",
    "encoder-positions",
    "decoder-positions",
    "-causal",
    "pads=2 -padding",
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_change_changes_what_is_predicted_and_no_sentence_notices_its_batch(setting, model):
    changed = logits_of(model, setting)
    assert not torch.allclose(changed, logits_of(model, ""), atol=1e-6)
    for row, source in enumerate(SOURCES):
        torch.testing.assert_close(logits_of(model, setting, [source])[0], changed[row])


@pytest.mark.parametrize("search", [greedy, beam])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_search_follows_every_setting_alone_and_in_a_batch(setting, search, model):
    changed = AblatedTranslator(model, setting)
    together = search(changed, *pad_source(SOURCES), max_length=6)
    alone = [search(changed, *pad_source([source]), max_length=6)[0] for source in SOURCES]
    assert together == alone


def test_masked_padding_changes_nothing(model):
    torch.testing.assert_close(logits_of(model, "pads=7"), logits_of(model, ""))


def test_without_positions_the_encoder_does_not_see_the_order(model):
    one = logits_of(model, "encoder-positions", [[5, 6, 7]])
    torch.testing.assert_close(logits_of(model, "encoder-positions", [[7, 5, 6]]), one)


def test_without_a_look_at_the_source_every_sentence_is_the_same(model):
    found = logits_of(model, "cross-heads")
    torch.testing.assert_close(found[0], found[1])


def test_all_heads_one_by_one_are_no_heads(model):
    every = " ".join(f"cross-{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3, 4))
    torch.testing.assert_close(logits_of(model, every), logits_of(model, "cross-heads"))


def test_a_setting_that_does_not_exist_is_named():
    for word in ("nowhere*2", "cross*x", "sharp", "pads=x"):
        with pytest.raises(UserError, match="is not a change of attention"):
            AblationSetting.parse(f"encoder*0 {word}")


def test_a_stopped_measurement_goes_on_and_the_table_compares_with_the_intact_model(
    tmp_path, model, monkeypatch
):
    texts = ["a b c d e f", "b c d e f g", "c d e f g h a b"]
    pairs = [(text, text) for text in texts]
    vocabulary = Vocabulary.learn([f"{letter} " * 9 for letter in "abcdefgh"], size=20)
    monkeypatch.setattr(ablation, "open_run", lambda device: Run(model, vocabulary))
    monkeypatch.setattr(ablation, "load", lambda name, data: SimpleNamespace(test=pairs))
    monkeypatch.setattr(ablation, "settings_of", lambda model: ["", "cross*0"])
    kept = {"hypotheses": texts, "counts": [[6, 5, 4, 3, 6, 5, 4, 3, 6, 6]] * 3}
    (tmp_path / "intact.json").write_text(json.dumps(kept))  # as if it had been made before
    found = ablation.record(tmp_path)["settings"]
    assert list(found) == ["", "cross*0"]
    assert found[""] == {
        "bleu": 100.0,
        "interval": [100.0, 100.0],
        "lost": 0.0,
        "lost interval": [0.0, 0.0],
        "changed": 0,
    }
    assert found["cross*0"]["lost"] == 100 - found["cross*0"]["bleu"]
    assert found["cross*0"]["changed"] == 3


def test_the_recorded_table_holds_every_setting_with_its_interval_command_and_date():
    found = recorded_runs.read("ablation")
    assert found["command"].startswith("python -m attn_course.runs ablation") and found["date"]
    assert found["beam"] == 5 and found["test"].startswith("1,000 sentences")
    torch.manual_seed(0)
    settings = ablation.settings_of(build(transformer(Config()), 20))
    assert list(found["settings"]) == settings
    for row in found["settings"].values():
        low, high = row["interval"]
        assert low <= row["bleu"] <= high
    table = ablation.recorded_table({"intact": "", "no causal mask": "-causal"})
    command, _, intact, causal = table.splitlines()
    assert command == found["command"]
    assert f"{found['settings']['']['bleu']:.1f}" in intact and causal.startswith("no causal mask")
    assert causal.endswith(f" {found['settings']['-causal']['changed']}")
