"""`attn translate`: what it prints, and one sentence for everything that can go wrong."""

import shutil

import pytest
import torch

from attn_course.translation.command import main
from attn_course.translation.config import PRESETS
from attn_course.translation.recording import read_record, without_paths

TRAIN = ("train", "--preset", "tiny", "--attention", "mean", "--seed", "7", "--out")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder made by the command itself."""
    folder = tmp_path_factory.mktemp("translate") / "run"
    assert main([*TRAIN, str(folder)]) == 0
    return folder


def refuse(capsys, *argv):
    """The one sentence that the command refuses with."""
    assert main(list(map(str, argv))) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.strip().endswith(".")
    return err


def test_a_run_folder_holds_settings_command_curve_and_hypotheses(run):
    record = read_record(run / "record.json")
    assert record["command"] == f"attn translate {' '.join(TRAIN)} RUN"
    assert record["config"]["attention"] == "mean" and record["config"]["seed"] == 7
    assert len(record["hypotheses"]) == len(record["source_words"]) == 14
    assert record["counts"].shape == (14, 10)
    assert record["metrics"][-1]["tokens"] >= PRESETS["tiny"].tokens and record["cpu_seconds"] > 0
    assert set(record["test"]) == {"perplexity", "greedy", "beam 5"}


def test_score_prints_bleu_with_its_signature(run, tmp_path, capsys):
    source, reference = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("Der Hund schläft.\nDie Frau wartet.\n", encoding="utf-8")
    reference.write_text("The dog is sleeping.\nThe woman is waiting.\n", encoding="utf-8")
    assert main(["score", str(run), "--source", str(source), "--reference", str(reference)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("BLEU ") and "tok:13a" in out


def test_a_sentence_is_translated_on_one_line(run, capsys):
    assert main(["Der Hund schläft.", str(run)]) == 0
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "reference", "claim"),
    [
        (b"", b"One.\n", "is empty"),
        (b"Eins.\nZwei.\n", b"One.\n", "2 lines"),
        (b"Hund " * 2000 + b"\n", b"Dog.\n", "line 1 has"),
        (b"\xff\xfe\n", b"One.\n", "not UTF-8"),
    ],
)
def test_a_bad_file_gets_one_sentence(run, tmp_path, capsys, source, reference, claim):
    (tmp_path / "a.de").write_bytes(source)
    (tmp_path / "a.en").write_bytes(reference)
    files = ["--source", tmp_path / "a.de", "--reference", tmp_path / "a.en"]
    assert claim in refuse(capsys, "score", run, *files)


def test_a_missing_run_gets_one_sentence(tmp_path, capsys):
    assert "no finished run" in refuse(capsys, "Ein Hund.", tmp_path / "nowhere")


def test_an_empty_sentence_gets_one_sentence(run, capsys):
    assert "empty" in refuse(capsys, " ", run)


def test_the_recorded_command_names_no_folder():
    typed = ["train", "--data", "/somewhere/m30k", "--seed", "2", "--out=/elsewhere/run"]
    assert without_paths(typed) == "attn translate train --data DIR --seed 2 --out RUN"


def test_data_for_the_embedded_corpus_gets_one_sentence(tmp_path, capsys):
    assert "needs no data" in refuse(capsys, "train", "--data", tmp_path, "--out", tmp_path / "run")


def test_a_file_in_the_way_of_the_run_gets_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert "cannot be used" in refuse(capsys, *TRAIN, tmp_path / "file")


def test_a_run_with_other_settings_is_left_alone(run, capsys):
    assert "other settings" in refuse(capsys, *TRAIN[:-2], "8", "--out", run)


@pytest.mark.parametrize("damage", [b"", b"junk", "half", {"losses": []}, ["no run"]])
def test_a_damaged_checkpoint_gets_one_sentence(run, tmp_path, capsys, damage):
    folder = shutil.copytree(run, tmp_path / "run")
    path = folder / "last.pt"
    if damage == "half":
        damage = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(damage) if isinstance(damage, bytes) else torch.save(damage, path)
    error = refuse(capsys, *TRAIN, folder)
    assert "last.pt is damaged" in error and "delete it" in error


@pytest.mark.parametrize("name", ["best.pt", "config.json", "vocabulary.json"])
def test_a_damaged_run_gets_one_sentence(run, tmp_path, capsys, name):
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / name).write_text("{}")
    assert "no finished run" in refuse(capsys, "Ein Hund.", folder)


@pytest.mark.parametrize(
    ("option", "value", "claim"),
    [
        ("--attention", "dots", "'dot', 'additive'"),
        ("--preset", "huge", "'full', 'large'"),
        ("--seed", "one", "'one' is not a whole number"),
        ("--tokens", "0", "'0' is not a whole number"),
    ],
)
def test_a_bad_value_gets_one_sentence_with_the_good_ones(capsys, option, value, claim):
    assert claim in refuse(capsys, "train", "--out", "x", option, value)


def test_an_unknown_option_gets_one_sentence(capsys):
    assert "--colour" in refuse(capsys, "train", "--out", "x", "--colour", "red")


def test_missing_data_gets_one_sentence(tmp_path, capsys):
    error = refuse(
        capsys, "train", "--preset", "full", "--data", tmp_path, "--out", tmp_path / "run"
    )
    assert "is missing" in error and "embedded corpus" in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", [["--beam", "0"], ["--beam", "101"]])
def test_a_beam_holds_one_to_a_hundred_hypotheses(run, capsys, option):
    assert "--beam" in refuse(capsys, "Ein Hund.", run, *option)


def test_help_shows_the_three_forms_and_every_preset(capsys):
    for argv in (["--help"], ["train", "-h"]):
        assert main(argv) == 0
        out = capsys.readouterr().out
        assert out.count("attn translate") == 3 and all(name in out for name in PRESETS)
