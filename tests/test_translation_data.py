"""Text on its way to tensors: corpora, vocabulary, batches."""

import gzip
import hashlib
import shutil

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from attn_course import translation
from attn_course.errors import UserError
from attn_course.translation import corpora
from attn_course.translation.batches import bucket, collate
from attn_course.translation.config import setting
from attn_course.translation.vocabulary import BOS, EOS, PAD, Vocabulary
from attn_utils.layers import SLOTS

TEXTS = ["Ein Hund rennt über die Wiese.", "A dog is running, quickly."] * 3
VOCABULARY = Vocabulary.learn(TEXTS, size=80)


@given(st.lists(st.sampled_from("Hund dog über is".split()), min_size=1).map(" ".join))
@example(TEXTS[1])
def test_text_survives_the_vocabulary(text):
    assert VOCABULARY.decode(VOCABULARY.encode(text)) == text


def test_learning_twice_gives_the_same_vocabulary():
    again = Vocabulary.learn(TEXTS, size=80)
    assert again.tokenizer.to_str() == VOCABULARY.tokenizer.to_str()


def test_decoding_stops_at_the_end_mark():
    ids = VOCABULARY.encode("Ein Hund")
    assert VOCABULARY.decode([*ids, EOS, *ids]) == "Ein Hund"


@pytest.mark.parametrize(
    ("text", "words"),
    [("A dog, quickly.", "A dog , quickly ."), ("A dog,rennt.", "A dog ,rennt .")],
)
def test_each_punctuation_mark_opens_a_word(text, words):
    assert VOCABULARY.words(text) == words.split()
    assert VOCABULARY.word_numbers(VOCABULARY.encode(text))[-1] + 1 == len(words.split())


def test_a_preset_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match="tiny, default, ladder, full, large, not 'huge'"):
        setting("huge", tokens=1)


def test_the_default_setting_has_the_given_sizes_and_budget_for_every_attention():
    corpus, configs = setting("default", tokens=99, num_train=5, num_val=1, num_test=2)
    assert len(corpus.train) == 5 and len(corpus.test) == len(corpus.links) == 2
    assert {name: config.attention for name, config in configs.items()} == {k: k for k in SLOTS}
    assert {config.tokens for config in configs.values()} == {99}


@pytest.mark.parametrize("name", translation.__all__)
def test_every_name_of_the_package_can_be_imported(name):
    assert getattr(translation, name) is not None


def test_inputs_are_targets_one_step_later():
    batch = collate([([5, 6, 7], [8]), ([5], [8, 9, 10])])
    assert batch.source.tolist() == [[5, 6, 7, EOS], [5, EOS, PAD, PAD]]
    assert batch.lengths.tolist() == [4, 2]
    assert batch.inputs.tolist() == [[BOS, 8, PAD, PAD], [BOS, 8, 9, 10]]
    assert batch.targets.tolist() == [[8, EOS, PAD, PAD], [8, 9, 10, EOS]]


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80))
def test_buckets_hold_every_pair_once_and_keep_to_their_size(lengths):
    pairs = [([4] * s, [4] * t) for s, t in lengths]
    groups = bucket(pairs, max_tokens=60, generator=torch.Generator().manual_seed(0))
    assert sorted(i for group in groups for i in group) == list(range(len(pairs)))
    for group in groups:
        longest = max(max(len(pairs[i][0]), len(pairs[i][1])) + 1 for i in group)
        assert len(group) == 1 or longest * len(group) <= 60


def test_buckets_waste_little_on_padding():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(5, 30, (2000,), generator=generator).tolist()
    pairs = [([4] * n, [4] * n) for n in lengths]
    groups = bucket(pairs, max_tokens=500, generator=generator)
    padded = sum(len(group) * max(lengths[i] for i in group) for group in groups)
    assert sum(lengths) / padded > 0.95


def fake_multi30k(folder, monkeypatch):
    """Six small files under Multi30k's names, with checksums to match."""
    checksums = {}
    for name in corpora.CHECKSUMS:
        data = gzip.compress("eins\u2028zwei\ndrei\n".encode())
        (folder / name).write_bytes(data)
        checksums[name] = hashlib.sha256(data).hexdigest()
    monkeypatch.setattr(corpora, "CHECKSUMS", checksums)


def test_lines_end_at_newlines_alone(tmp_path, monkeypatch):
    fake_multi30k(tmp_path, monkeypatch)
    assert corpora.multi30k(tmp_path).val == [
        ("eins\u2028zwei", "eins\u2028zwei"),
        ("drei", "drei"),
    ]


def test_the_environment_names_the_data_folder(tmp_path, monkeypatch):
    fake_multi30k(tmp_path, monkeypatch)
    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    assert len(corpora.load("multi30k").test) == 2


def one_sentence(error):
    """The message, after checking that it is a single sentence."""
    message = str(error.value)
    assert message.endswith(".") and "\n" not in message
    return message


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    fake_multi30k(tmp_path, monkeypatch)
    (tmp_path / "val.en.gz").write_bytes(b"half")
    with pytest.raises(UserError) as error:
        corpora.multi30k(tmp_path)
    assert "val.en.gz is damaged" in one_sentence(error)


def test_all_of_multi30k_s_files_that_are_missing_are_named_with_their_address(
    tmp_path, monkeypatch
):
    fake_multi30k(tmp_path, monkeypatch)
    for name in ("val.de.gz", "test_2016_flickr.en.gz"):
        (tmp_path / name).unlink()
    assert corpora.name_of(tmp_path) == "multi30k"
    with pytest.raises(UserError) as error:
        corpora.load("multi30k", data=tmp_path)
    message = one_sentence(error)
    assert "lacks val.de.gz and test_2016_flickr.en.gz of Multi30k's six files" in message
    assert corpora.ADDRESS in message and "train.de.gz" not in message


def own_text(folder, num_pairs, stem="train", packed=False):
    """Two files of so many different pairs in a folder."""
    for language, word in (("de", "Hund"), ("en", "dog")):
        content = "".join(f"{word} {k} {stem}.\r\n" for k in range(num_pairs)).encode()
        path = folder / f"{stem}.{language}"
        if packed:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content))
        else:
            path.write_bytes(content)


@pytest.mark.parametrize("packed", [False, True])
def test_own_text_keeps_its_splits(tmp_path, packed):
    for stem, num_pairs in (("train", 120), ("val", 3), ("test", 2)):
        own_text(tmp_path, num_pairs, stem, packed)
    corpus = corpora.load("own", data=tmp_path)
    assert [len(split) for split in corpus[:3]] == [120, 3, 2]
    assert corpus.test[1] == ("Hund 1 test.", "dog 1 test.")


def test_own_text_without_val_and_test_gives_up_one_pair_in_twenty_for_each(tmp_path):
    own_text(tmp_path, 400)
    train, val, test, links = corpora.own_text(tmp_path)
    assert (len(train), len(val), len(test), links) == (361, 20, 19, [])
    assert len({*train, *val, *test}) == 400


def test_a_sentence_that_is_held_out_stays_nowhere_in_the_training_text(tmp_path):
    for language in ("de", "en"):
        lines = [f"Satz {k % 150}" for k in range(450)]  # each three times
        (tmp_path / f"train.{language}").write_text("\n".join(lines))
    corpus = corpora.own_text(tmp_path)
    assert not {*corpus.train} & {*corpus.val, *corpus.test}


def test_pairs_with_an_empty_or_a_very_long_side_are_left_out(tmp_path):
    own_text(tmp_path, 300, "train")
    own_text(tmp_path, 5, "val")
    for language, line in (("de", "Ein Wort"), ("en", "")):
        with (tmp_path / f"val.{language}").open("a") as file:
            file.write(f"{line}\n{'x' * 401}\n")
    assert len(corpora.own_text(tmp_path).val) == 5


@pytest.mark.parametrize(
    ("files", "claim"),
    [
        ({}, "lacks train.de and train.en (or the same with .gz)"),
        ({"train.de": "a\n" * 200}, "lacks train.en (or"),
        ({"train.de": "a\n" * 200, "train.en": "a\n" * 199}, "has 200 lines but"),
        ({"train.de": "a\n" * 99, "train.en": "a\n" * 99}, "nor do those that are held out"),
        ({"train.de": "a\n", "train.en": "a\n", "val.en": "a\n"}, "lacks val.de (or"),
        ({"train.de": "a\n", "train.en.gz": "no gzip"}, "train.en.gz is damaged, or is not packed"),
    ],
)
def test_own_text_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, files, claim):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        corpora.load("own", data=tmp_path)
    assert claim in one_sentence(error)


def test_a_notebook_shows_one_sentence_in_place_of_a_traceback(tmp_path, monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("ATTN_DATA", str(tmp_path))
    shell = InteractiveShell()
    shell.run_cell("from attn_course.translation import setting; setting('ladder', tokens=1)")
    shown = capsys.readouterr().out
    assert (
        "lacks train.de.gz, train.en.gz, val.de.gz, val.en.gz," in shown
        and len(shown.strip().splitlines()) == 1
    )


def test_offline_without_data_says_what_to_do(tmp_path, monkeypatch):
    import pooch
    import requests

    def offline(*args, **options):
        raise requests.ConnectionError("no network")

    monkeypatch.delenv("ATTN_DATA", raising=False)
    monkeypatch.setattr(requests, "get", offline)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path)
    with pytest.raises(UserError) as error:
        corpora.multi30k()
    assert "--data" in one_sentence(error) and "needs no download" in str(error.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_damaged_cached_file_is_fetched_again(tmp_path, monkeypatch):
    import pooch

    good = tmp_path / "good"
    good.mkdir()
    fake_multi30k(good, monkeypatch)
    cache = tmp_path / "cache"
    (cache / "multi30k").mkdir(parents=True)
    (cache / "multi30k" / "val.en.gz").write_bytes(b"half")
    monkeypatch.delenv("ATTN_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: cache)

    def download(url, output_file, pooch):
        shutil.copy(good / url.rsplit("/", 1)[1], output_file)

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda url, **options: download)
    assert len(corpora.multi30k().val) == 2
