"""Knows where parallel text comes from and refuses damaged text in one sentence; knows no subwords."""

import gzip
import hashlib
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from attn_course.translation.scenes import draw

URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
CHECKSUMS = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
}
SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}
ADVICE = "the embedded corpus needs no download and works now"


class DataError(ValueError):
    """Text that cannot be used; the message is one sentence for the reader."""


class Corpus(NamedTuple):
    """Three lists of (German, English) pairs; gold links of the test pairs, if there are any."""

    train: list
    val: list
    test: list
    links: list


def load(name, *, data=None):
    """The corpus of that name: "multi30k", "embedded", or a "tiny" one."""
    if name == "multi30k":
        return multi30k(data)
    return embedded(num_train=60, num_val=2, num_test=14) if name == "tiny" else embedded()


def embedded(*, num_train=8000, num_val=200, num_test=500, seed=0):
    """Invented scenes, made on the spot, no sentence in two splits; the test split has gold links."""
    scenes = draw(num_train + num_val + num_test, seed)
    pairs, kept = [(scene.german, scene.english) for scene in scenes], num_train + num_val
    links = [scene.links for scene in scenes[kept:]]
    return Corpus(pairs[:num_train], pairs[num_train:kept], pairs[kept:], links)


def multi30k(data=None):
    """Multi30k from the folder `data`, else from $ATTN_DATA, else from the user's cache, else downloaded."""
    folder = data or os.environ.get("ATTN_DATA")
    find = _given(Path(folder)) if folder else _fetched
    splits = {}
    for split, stem in SPLITS.items():
        german, english = (_unzip(find(f"{stem}.{language}.gz")) for language in ("de", "en"))
        splits[split] = list(zip(german, english, strict=True))
    return Corpus(**splits, links=[])


def _given(folder):
    """A finder of checked files in the reader's own folder, which is never written to."""

    def find(name):
        path = folder / name
        if not path.is_file():
            raise DataError(
                f"{path} is missing: give the folder of Multi30k's raw files, or none; {ADVICE}."
            )
        if hashlib.sha256(path.read_bytes()).hexdigest() != CHECKSUMS[name]:
            raise DataError(f"{path} is damaged (its checksum differs): replace it; {ADVICE}.")
        return path

    return find


def _fetched(name):
    """The cached file; one that is missing or damaged is downloaded aside, checked, then moved in."""
    import pooch  # only a download needs it
    from requests import RequestException

    pooch.get_logger().setLevel("WARNING")
    cache = pooch.os_cache("attn_utils") / "multi30k"
    try:
        return Path(pooch.retrieve(URL + name, "sha256:" + CHECKSUMS[name], fname=name, path=cache))
    except (OSError, RequestException, ValueError) as error:
        raise DataError(
            f"{name} could not be downloaded ({type(error).__name__}): go online, or put Multi30k's "
            f"raw files in a folder and name it with --data or ATTN_DATA; {ADVICE}."
        ) from None  # a notebook would show the whole network stack


def _unzip(path):
    try:
        return _lines(gzip.decompress(path.read_bytes()).decode())
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is damaged ({type(error).__name__}): replace it; {ADVICE}."
        ) from error


def _lines(text):
    """Lines end at a newline alone: str.splitlines would also cut at rarer characters inside one."""
    return text.removesuffix("\n").split("\n")


def read_lines(path):
    """The lines of a UTF-8 text file that is not empty."""
    try:
        lines = _lines(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({type(error).__name__}).") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text (byte {error.start} is no character)."
        ) from error
    if not any(map(str.strip, lines)):
        raise DataError(f"{path} is empty.")
    return lines


def read_parallel(source, reference):
    """(source lines, reference lines) of two files that must have equally many."""
    sources, references = read_lines(source), read_lines(reference)
    if len(sources) != len(references):
        raise DataError(
            f"{source} has {len(sources)} lines but {reference} has {len(references)}: "
            "line n of one must translate line n of the other."
        )
    return sources, references
