"""The translator that comes with the course: small, recorded, offline, and honest about itself."""

import json
import re
import shutil

import pytest
import torch

from attn_course import cli
from attn_course.translation import bundled
from attn_course.translation.config import PRESETS
from attn_course.translation.corpora import load
from attn_course.translation.known_words import KnownWords, words_of
from attn_course.translation.recorder import record
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer


def main(words):
    """The exit status of `attn translate`."""
    return cli.main(["translate", *words])


def test_the_model_is_small_in_half_precision_and_has_its_record_beside_it():
    weights = torch.load(bundled.FOLDER / "best.pt", weights_only=True)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert sum(path.stat().st_size for path in bundled.FOLDER.iterdir()) <= 8_000_000
    kept = json.loads((bundled.FOLDER / "record.json").read_text("utf-8"))
    assert kept["command"].startswith("attn translate train ")
    assert kept["num_parameters"] == sum(tensor.numel() for tensor in weights.values())
    whole = kept["test"]["beam 5"]
    halved = kept["in half precision"]["beam 5"]
    assert halved["bleu"] == pytest.approx(whole["bleu"], abs=0.3)
    assert halved["signature"] == whole["signature"]


def test_a_sentence_is_translated_without_a_run(capsys):
    assert main(["Ein Hund rennt durch den Schnee."]) == 0
    out, err = capsys.readouterr()
    assert {"dog", "snow"} <= set(words_of(out)) and err == ""


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("The children are singing about an enormous elephant.", "since 4 of 8 words never occur"),
        ("Hello world", "since 0 of 2 words are common"),
        ("A man in a red hat.", "since 0 of 6 words are common"),
        ("Un chien court dans la neige.", "since 5 of 6 words never occur"),
    ],
)
def test_a_sentence_of_another_language_gets_a_remark(sentence, claim, capsys):
    assert main([sentence]) == 0
    remark = capsys.readouterr().err
    assert f"this does not look like the German this model knows, {claim}" in remark
    assert remark.endswith(": do not trust the translation.\n")


def test_a_word_that_was_never_met_is_named(capsys):
    assert main(["Ein Hund jagt ein Einhorn im Schnee."]) == 0
    remark = capsys.readouterr().err
    assert "does not contain Einhorn: what became of this word is a guess." in remark


def test_a_run_is_made_ready_with_scores_of_its_own(tmp_path):
    corpus = load("tiny")
    trainer = Trainer(corpus, PRESETS["tiny"], tmp_path / "run", device="cpu", progress=False)
    record(trainer, trainer.fit(), "attn translate train")
    kept = bundled.bundle(tmp_path / "run", corpus, tmp_path / "ready")
    assert set(kept["in half precision"]) == {"perplexity", "greedy", "beam 5"}
    assert "hypotheses" not in kept
    shutil.rmtree(tmp_path / "run")
    run = bundled.open_run(tmp_path / "ready", device="cpu")
    assert isinstance(run, Run) and next(run.model.parameters()).dtype is torch.float32
    assert len(run.translate(["Der Hund schläft."])) == 1
    assert KnownWords.load(tmp_path / "ready").unknown(corpus.train[0][0]) == []


KNOWN = KnownWords.of(
    [
        ("Ein Hund, der rennt.", "A dog that runs."),
        ("Hunde, die ein Kind sieht.", "Dogs that a child sees."),
    ]
)


def test_a_word_is_known_as_it_was_written_and_the_first_with_a_capital_too():
    assert KNOWN.unknown("Rennt ein hund, DER läuft?") == ["hund", "DER", "läuft"]
    assert KNOWN.unknown("rennt") == KNOWN.unknown("Sieht") == []
    assert KNOWN.unknown("hunde") == ["hunde"]


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Zwei Katzen.", "this does not look like .* since 2 of 2 words never occur"),
        ("Ein Hund sieht zwei Katzen.", "2 of 5 words never occur"),
        ("🐕 ... !", "there is no word"),
        ("Ein Hund, der rennt, rennt.", None),
        ("Ein Hund, der rennt, rennt, rennt.", "6 words are more than .* has 5"),
    ],
)
def test_what_is_far_from_the_training_text_gets_a_remark_that_says_why(sentence, claim):
    remark = KNOWN.remark(sentence)
    if claim is None:
        assert remark is None
    else:
        assert re.match(claim, remark) and remark.endswith(": do not trust the translation.")


def test_lines_that_are_far_are_numbered_and_empty_ones_are_not():
    assert KNOWN.remark_on_lines(["Ein Hund rennt.", ""]) is None
    remark = KNOWN.remark_on_lines(["Zwei Katzen.", "", "Ein Hund.", *["!"] * 5])
    assert remark.startswith("6 of 8 lines are far") and "(1, 4, 5, 6, 7, ...)" in remark
