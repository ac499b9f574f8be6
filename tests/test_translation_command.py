"""`attn translate`: what it prints, and one sentence for everything that can go wrong."""

import gzip
import html
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attn_course import cli
from attn_course.translation import command
from attn_course.translation.config import PRESETS
from attn_course.translation.corpora import load
from attn_course.translation.recorder import (
    read_record,
    without_paths,
)
from attn_course.translation.sentence import Candidate, Explanation, draw
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer


def main(words):
    """The exit status of `attn translate`."""
    return cli.main(["translate", *words])


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
    assert date.fromisoformat(record["date"]) <= date.today()
    assert record["config"]["attention"] == "mean" and record["config"]["seed"] == 7
    assert len(record["hypotheses"]) == len(record["source_words"]) == 14
    assert record["counts"].shape == (14, 10)
    assert record["metrics"][-1]["tokens"] >= PRESETS["tiny"].tokens and record["cpu_seconds"] > 0
    assert set(record["test"]) == {"perplexity", "greedy", "beam 5"}


def test_score_prints_bleu_of_plain_or_packed_files_with_a_beam_of_five_unless_told(
    run, tmp_path, capsys
):
    texts = {"a.de": "Der Hund schläft.\n", "a.en": "The dog is sleeping.\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    plain = ["--source", str(tmp_path / "a.de"), "--reference", str(tmp_path / "a.en")]
    packed = ["--source", f"{plain[1]}.gz", "--reference", f"{plain[3]}.gz"]
    outputs = []
    for options in (plain, packed, [*plain, "--beam", "5"]):
        assert main(["score", str(run), *options]) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1
    assert outputs[0].startswith("BLEU ") and "tok:13a" in outputs[0]


@pytest.mark.parametrize("year", ["2016", "2017", "2018"])
def test_score_finds_the_test_set_of_a_year_by_its_name_in_the_data_folder(
    run, tmp_path, capsys, monkeypatch, year
):
    files = {"de": "Der Hund schläft.\n", "en": "The dog is sleeping.\n"}
    paths = {language: tmp_path / f"test_{year}_flickr.{language}.gz" for language in files}
    for language, text in files.items():
        paths[language].write_bytes(gzip.compress(text.encode()))
    named = ["--source", str(paths["de"]), "--reference", str(paths["en"])]
    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    outputs = []
    for options in (named, ["--test", year, "--data", str(tmp_path)], ["--test", year]):
        assert main(["score", str(run), *options]) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1 and outputs[0].startswith("BLEU ")


def test_a_translator_is_trained_on_text_of_one_s_own_and_recorded_as_that(tmp_path, capsys):
    corpus = load("embedded")
    folder = tmp_path / "text"
    folder.mkdir()
    sources, targets = zip(*corpus.train[:300], strict=True)
    (folder / "train.de").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (folder / "train.en.gz").write_bytes(gzip.compress("\n".join(targets).encode()))
    words = ["train", "--preset", "tiny", "--data", str(folder), "--out", str(tmp_path / "run")]
    assert main(words) == 0
    assert "BLEU" in capsys.readouterr().out
    record = read_record(tmp_path / "run" / "record.json")
    assert record["config"]["corpus"] == "own"
    assert record["command"] == "attn translate train --preset tiny --data DIR --out RUN"
    assert len(record["hypotheses"]) == 15  # one pair in 20 is kept for the test

    (folder / "train.de").write_text("\n".join(reversed(sources)) + "\n", encoding="utf-8")
    before = (tmp_path / "run" / "record.json").read_bytes()
    assert "on other text" in refuse(capsys, *words)
    assert (tmp_path / "run" / "record.json").read_bytes() == before


def test_with_data_the_sizes_are_those_of_the_ladder_unless_a_preset_is_named(tmp_path):
    unset = dict.fromkeys(option.name for option in command.translate.commands["train"].params)
    options = SimpleNamespace(**unset | {"data": str(tmp_path), "seed": 1})
    assert command.config_of(options) == replace(PRESETS["ladder"], corpus="own")
    options.data = None
    assert command.config_of(options) == PRESETS["default"]


def test_a_gpu_takes_four_times_the_text_and_says_so(capsys, monkeypatch):
    messages = []
    monkeypatch.setattr(command.log, "info", lambda text, *values: messages.append(text % values))
    full = PRESETS["full"]
    assert command.config_for_gpu(full, None).tokens == 4 * full.tokens
    assert "4,000 subwords a step, 16,000,000 in all" in messages.pop()
    assert command.config_for_gpu(full, 5_000_000).tokens == 5_000_000
    assert "4,000 subwords a step, 5,000,000 in all" in messages.pop()
    assert command.config_for_gpu(PRESETS["ladder"], None) == PRESETS["ladder"] and not messages


def test_show_draws_a_row_for_each_english_word(run, capsys):
    assert main(["Der Hund schläft.", str(run), "--show"]) == 0
    text, heads, *rows = capsys.readouterr().out.splitlines()
    assert heads.split() == ["Der", "Hund", "schläft", "."]
    assert len(rows) == len(Run.load(run).vocabulary.words(text)) > 0


def test_shades_stand_for_quarters():
    weights = np.array([[0.0, 0.3, 0.5, 0.7, 1.0]])
    german = list("abcde")
    found = Explanation("", [Candidate("x", 0.0)], german, ["x"], weights, None)
    assert draw(found).splitlines() == ["  a b c d e", "x   ░ ▒ ▓ █"]


@pytest.mark.parametrize("width", [40, 80])
def test_a_map_is_never_wider_than_the_terminal(width):
    german = [*"abc", "Donaudampfschifffahrtsgesellschaft" * 3, *("Wort" for _ in range(40))]
    english = ["so", "dogdog" * 40]
    weights = np.full((2, len(german)), 0.5)
    found = Explanation("", [Candidate("x", 0.0)], german, english, weights, None)
    lines = draw(found, width).splitlines()
    assert max(map(len, lines)) <= width
    heads = [line.split() for line in lines if "▒" not in line and line]
    assert sum(map(len, heads)) == len(german)


def test_a_page_holds_map_hypotheses_a_dark_version_and_nothing_that_runs(run, tmp_path, capsys):
    sentence = "Der <b>Hund</b> schläft."
    assert main([sentence, str(run), "--html", str(tmp_path / "page.html"), "--beam", "3"]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    best = capsys.readouterr().out.splitlines()[0]
    assert html.escape(best) in page and page.count("<li>") == 3
    assert "<b>" not in page and "<script" not in page
    assert page.count('scope="col"') == len(Run.load(run).vocabulary.words(sentence))
    light, dark = page.split("prefers-color-scheme: dark")
    for name in ("--text", "--page", "--line", "--ink", "--remark"):
        assert f"{name}:" in light and f"{name}:" in dark.split("</style>")[0]


def test_a_page_that_cannot_be_written_gets_one_sentence(run, tmp_path, capsys):
    assert main(["Der Hund.", str(run), "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_sentence_far_from_the_training_text_gets_a_remark(run, capsys):
    assert main(["Quantum chromodynamics confuses everybody.", str(run)]) == 0
    remark = capsys.readouterr().err
    assert "4 of 4 words never occur" in remark and "(Quantum, chromodynamics, " in remark
    known = load("tiny").train[0][0]
    assert main([known, str(run)]) == 0
    assert capsys.readouterr().err == ""


def test_nothing_slow_is_loaded_before_it_is_needed():
    code = """
import sys, attn_course.translation.command
assert "torch" not in sys.modules  # options are read first
import attn_course.translation.bundled
assert "sacrebleu" not in sys.modules  # a sentence is not scored
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def piped(monkeypatch, content):
    """What stands for the standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_lines_that_are_piped_in_are_translated_in_order_and_empty_ones_stay(
    run, capsys, monkeypatch
):
    first, second = [german for german, _ in load("tiny").test[:2]]
    translator = Run.load(run, device="cpu")
    expected = translator.translate([first, second, "Quantum."], beam_size=3)
    piped(monkeypatch, f"{first}\n\n{second}\nQuantum.\n".encode())
    assert main(["-", str(run), "--beam", "3"]) == 0
    out, err = capsys.readouterr()
    first, empty, *others = out.split("\n")[:-1]
    assert [first, *others] == expected and empty == ""
    assert "1 of 4 lines are far" in err and "(4)" in err


def test_a_training_that_was_stopped_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    steps = iter(range(100))
    take = Trainer.take

    def pressed(training, step):
        take(training, step)
        if next(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Trainer, "take", pressed)
    assert main([*TRAIN, str(tmp_path / "run")]) == 130
    sentence = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.fullmatch(
        r"attn translate: stopped after \d+ of 1,600 subwords; all of it is kept: "
        r"the same command goes on from there\.",
        sentence,
    )


def test_a_transformer_is_trained_as_long_and_cooled_down_as_it_was_told(tmp_path):
    folder = tmp_path / "run"
    words = "train --preset tiny --architecture transformer --tokens 800 --cooldown 0.5 --out"
    assert main([*words.split(), str(folder)]) == 0
    record = read_record(folder / "record.json")
    config = record["config"]
    assert config["architecture"] == "transformer" and record["ended"] == "budget spent"
    assert config["tokens"] == 800 and config["cooldown"] == 0.5


def test_the_recorded_command_names_no_folder():
    typed = ["train", "--data", "/somewhere/m30k", "--seed", "2", "--out=/elsewhere/run"]
    shown = without_paths(typed, data="DIR", out="RUN")
    assert shown == "train --data DIR --seed 2 --out RUN"


@pytest.mark.parametrize("damage", [b"", b"junk", "half", {"losses": []}, ["no run"]])
def test_a_damaged_checkpoint_gets_one_sentence(run, tmp_path, capsys, damage):
    folder = shutil.copytree(run, tmp_path / "run")
    path = folder / "last.pt"
    if damage == "half":
        damage = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(damage) if isinstance(damage, bytes) else torch.save(damage, path)
    error = refuse(capsys, *TRAIN, folder)
    assert "last.pt is damaged" in error and "delete it" in error


CONTENTS = {
    "none": b"",
    "blank": b"\n \n",
    "one": b"One.\n",
    "two": b"Eins.\nZwei.\n",
    "latin": b"caf\xe9\n",
    "a.gz": b"no gzip",
}


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        ("train --out x --attention dots", "'bilinear', 'additive'"),
        ("train --out x --preset huge", "'full', 'large'"),
        (
            "train --out x --seed one",
            "--seed must be a whole number from 1 to 1,048,576, not 'one'",
        ),
        ("train --out x --tokens 0", "--tokens must be a whole number from 1 to 2^40, not '0'"),
        (
            "train --out x --cooldown 1.5",
            "--cooldown must be a number above 0 and up to 1, not '1.5'",
        ),
        (
            "train --out x --cooldown nan",
            "--cooldown must be a number above 0 and up to 1, not 'nan'",
        ),
        ("train --out x --architecture lstm", "'gru', 'transformer'"),
        ("train --out x --architecture transformer --attention dot", "leave --attention out"),
        ("train --out x --colour red", "--colour"),
        ("train --out x --data TMP", "lacks train.de and train.en (or the same with .gz)"),
        (
            "train --out x --data TMP --preset full",
            "six files are at https://github.com/multi30k/dataset/tree/master/data/task1/raw",
        ),
        ("train --out x --data TMP/nowhere", "nowhere does not exist"),
        ("train --out TMP/two --preset tiny", "cannot be used"),
        ("train --out RUN --preset tiny --attention mean --seed 8", "other settings"),
        ("Hund RUN --beam 0", "--beam"),
        ("Hund RUN --beam 101", "--beam"),
        ("Hund RUN --device cuda", "no GPU"),
        ("Hund RUN --device mps", "no Apple GPU"),
        ("Hund RUN --device gpu", "no device 'gpu'"),
        ("Hund RUN --device meta", "no device 'meta'"),
        ("Hund RUN --device cpu:3", "no device 'cpu:3'"),
        ("Hund TMP/nowhere", "no finished run"),
        ("'' RUN", "the sentence is empty"),
        ("- RUN --show", "for one sentence"),
        ("score RUN --source TMP/none --reference TMP/two", "none is empty"),
        ("score RUN --source TMP/blank --reference TMP/two", "blank is empty"),
        ("score RUN --source TMP/latin --reference TMP/two", "latin is not UTF-8 text (byte 3 is"),
        ("score RUN --source TMP/nowhere --reference TMP/two", "nowhere does not exist"),
        (
            "score RUN --source TMP/a.gz --reference TMP/two",
            "a.gz is damaged, or is not packed by gzip",
        ),
        ("score RUN --source TMP/two --reference TMP/one", "2 lines but"),
        ("score RUN --source TMP/two", "name two files with --source and --reference, or a test"),
        ("score RUN", "name two files with --source and --reference, or a test set with --test"),
        ("score RUN --source TMP/two --reference TMP/two --test 2016", "name two files"),
        ("score RUN --test 2019", "'2016', '2017', '2018'"),
        (
            "score RUN --test 2017 --data TMP",
            "lacks test_2017_flickr.de.gz or test_2017_flickr.en.gz, the test set of 2017: it is at https",
        ),
        ("score RUN --test 2018", "--test 2018 needs a folder: name it with --data or ATTN_DATA"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    run, tmp_path, capsys, monkeypatch, words, claim
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.delenv("ATTN_DATA", raising=False)
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    typed = shlex.split(words.replace("RUN", str(run)).replace("TMP", str(tmp_path)))
    assert claim in refuse(capsys, *typed)
    assert set(os.listdir(tmp_path)) == set(CONTENTS)


@pytest.mark.parametrize(("content", "claim"), [(b"", "- is empty"), (b"\xff", "- is not UTF-8")])
def test_a_bad_pipe_gets_one_sentence(run, capsys, monkeypatch, content, claim):
    piped(monkeypatch, content)
    assert claim in refuse(capsys, "-", run)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("best.pt", "no finished run"),
        ("config.json", "no finished run"),
        ("vocabulary.json", "no finished run"),
        ("known_words.npz", "known_words.npz is damaged"),
    ],
)
def test_a_damaged_run_gets_one_sentence(run, tmp_path, capsys, name, claim):
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / name).write_text("{}")
    assert claim in refuse(capsys, "Ein Hund.", folder)


def test_help_shows_the_three_forms_with_every_preset_and_option(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.count("Usage: attn translate") == 3 and all(name in out for name in PRESETS)
    for form in command.translate.commands.values():
        assert all(f"{param.opts[-1]} " in out for param in form.params if "-" in param.opts[-1])
    assert main(["train", "-h"]) == 0
    assert capsys.readouterr().out.startswith("Usage: attn translate train")
