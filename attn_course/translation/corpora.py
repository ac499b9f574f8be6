"""Parallel corpora: embedded, downloaded or read from files; damaged files are refused in one sentence."""

import gzip
import hashlib
import os
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

from attn_course.errors import UserError
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
ADVICE = 'the preset "default" needs no download'

TextPair = tuple[str, str]


class Corpus(NamedTuple):
    """Three lists of (German, English) pairs; gold links of the test pairs, if there are any."""

    train: list[TextPair]
    val: list[TextPair]
    test: list[TextPair]
    links: list[frozenset]


def load(name: str, *, data: str | None = None) -> Corpus:
    """The corpus of that name: "multi30k", "embedded", or a "tiny" one.

    data: the folder of Multi30k's raw files; None looks elsewhere, see `multi30k`.
    """
    if name == "multi30k":
        return multi30k(data)
    if name == "tiny":
        return embedded(num_train=60, num_val=2, num_test=14)
    return embedded()


def embedded(
    *, num_train: int = 8000, num_val: int = 200, num_test: int = 500, seed: int = 0
) -> Corpus:
    """Invented scenes, made on the spot, no sentence in two splits; the test split has gold links."""
    num_kept = num_train + num_val
    scenes = draw(num_kept + num_test, seed)
    pairs = [(scene.german, scene.english) for scene in scenes]
    return Corpus(
        train=pairs[:num_train],
        val=pairs[num_train:num_kept],
        test=pairs[num_kept:],
        links=[scene.links for scene in scenes[num_kept:]],
    )


def multi30k(data: str | None = None) -> Corpus:
    """Multi30k, real captions of photographs.

    From the folder `data`, else from $ATTN_DATA, else from the user's cache, else downloaded.
    """
    folder = data or os.environ.get("ATTN_DATA")
    splits = {}
    for split, stem in SPLITS.items():
        texts = []
        for name in (f"{stem}.de.gz", f"{stem}.en.gz"):
            path = _given(Path(folder), name) if folder else _fetched(name)
            texts.append(_lines(gzip.decompress(path.read_bytes()).decode()))
        splits[split] = list(zip(*texts, strict=True))
    return Corpus(**splits, links=[])


def _given(folder, name):
    """The checked file in the reader's own folder, which is never written to."""
    path = folder / name
    if not path.is_file():
        raise UserError(
            f"{path} is missing: --data or ATTN_DATA names the folder of Multi30k's raw files; {ADVICE}."
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != CHECKSUMS[name]:
        raise UserError(f"{path} is damaged (its checksum differs): replace it; {ADVICE}.")
    return path


def _fetched(name):
    """The cached file; one that is missing or damaged is downloaded aside, checked, then moved in."""
    import pooch  # only a large corpus needs it
    from requests import RequestException

    pooch.get_logger().setLevel("WARNING")
    checksum = "sha256:" + CHECKSUMS[name]
    folder = Path(pooch.os_cache("attn_utils")) / "multi30k"
    try:
        return Path(pooch.retrieve(URL + name, checksum, fname=name, path=folder))
    except (OSError, RequestException, ValueError) as error:
        kind = type(error).__name__
        raise UserError(
            f"{name} could not be downloaded ({kind}): go online, or put Multi30k's raw files in a "
            f"folder and name it with --data or ATTN_DATA; {ADVICE}."
        ) from None  # a notebook would show the whole network stack


def _lines(text):
    """Lines end at a newline alone: str.splitlines would also cut at rarer characters inside one."""
    return text.removesuffix("\n").split("\n")


def read_lines(path: str | Path) -> list[str]:
    """The lines of a UTF-8 text file that is not empty; a file that ends in .gz is unpacked.

    path: "-" reads what is piped in.
    """
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        if Path(path).suffix == ".gz":
            content = gzip.decompress(content)
        lines = _lines(content.decode("utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}).") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 text (byte {error.start} is no character)."
        ) from error
    if not any(map(str.strip, lines)):
        raise UserError(f"{path} is empty.")
    return lines


def read_parallel(source: str | Path, reference: str | Path) -> tuple[list[str], list[str]]:
    """The lines of a source and of a reference file, which must have equally many.

    Both are UTF-8 text; a name that ends in .gz is unpacked.
    """
    sources = read_lines(source)
    references = read_lines(reference)
    if len(sources) != len(references):
        raise UserError(
            f"{source} has {len(sources)} lines but {reference} has {len(references)}: "
            "line n of one must translate line n of the other."
        )
    return sources, references
