"""Parallel corpora: invented, Multi30k, or text of the reader's own.

A file that is missing or damaged is refused in one sentence.
"""

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
ADDRESS = "https://github.com/multi30k/dataset/tree/master/data/task1/raw"  # for people
CHECKSUMS = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
}
TEST_SETS = {year: f"test_{year}_flickr" for year in ("2016", "2017", "2018")}
SPLITS = {"train": "train", "val": "val", "test": TEST_SETS["2016"]}
LANGUAGES = ("de", "en")  # what is translated, and what comes out
ADVICE = 'the preset "default" needs no download'

# Text of the reader's own
LONGEST = 400  # characters; no pair with a longer side is kept
FEWEST = 100  # pairs to train on
HELD_OUT = 1000  # pairs at most for a split that the reader does not have, and one pair in 20

TextPair = tuple[str, str]


class Corpus(NamedTuple):
    """Three lists of (German, English) pairs; gold links of the test pairs, if there are any."""

    train: list[TextPair]
    val: list[TextPair]
    test: list[TextPair]
    links: list[frozenset]


def load(name: str, *, data: str | None = None) -> Corpus:
    """Return the corpus of that name: "multi30k", "own", "embedded", or a "tiny" one.

    data: the folder of the files, which "own" needs; without it Multi30k is looked for elsewhere, see
    `multi30k`.
    """
    if name == "multi30k":
        return multi30k(data)
    if name == "own":
        if data is None:
            raise UserError("text of your own is in a folder: name it with --data.")
        return own_text(data)
    if name == "tiny":
        return embedded(num_train=60, num_val=2, num_test=14)
    return embedded()


def name_of(data: str | Path) -> str:
    """Return "multi30k" if the folder has a file of Multi30k's test set of 2016, else "own"."""
    return "multi30k" if any(Path(data).glob(f"{SPLITS['test']}.*")) else "own"


def embedded(
    *, num_train: int = 8000, num_val: int = 200, num_test: int = 500, seed: int = 0
) -> Corpus:
    """Return invented scenes, no sentence in two splits; the test split has gold links."""
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
    """Return Multi30k, real captions of photographs.

    The files are those in the folder `data`, else in $ATTN_DATA, else in the user's cache, where they are
    downloaded to.
    """
    folder = data or os.environ.get("ATTN_DATA")
    paths = _checked(_folder(folder)) if folder else {name: _fetched(name) for name in CHECKSUMS}
    splits = {}
    for split, stem in SPLITS.items():
        texts = [read_lines(paths[f"{stem}.{language}.gz"]) for language in LANGUAGES]
        splits[split] = list(zip(*texts, strict=True))
    return Corpus(**splits, links=[])


def _folder(path):
    """The path of a folder that exists."""
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(
            f"{folder} is no folder." if folder.exists() else f"{folder} does not exist."
        )
    return folder


def _checked(folder):
    """{name: path} of Multi30k's six files in the reader's own folder, which is never written to."""
    paths = {name: folder / name for name in CHECKSUMS}
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        raise UserError(
            f"{folder} lacks {_listed(missing)} of Multi30k's six files: they are at {ADDRESS}; {ADVICE}."
        )
    for name, path in paths.items():
        if hashlib.sha256(path.read_bytes()).hexdigest() != CHECKSUMS[name]:
            raise UserError(f"{path} is damaged (its checksum differs): replace it; {ADVICE}.")
    return paths


def _listed(names):
    """Words joined as in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def own_text(folder: str | Path) -> Corpus:
    """Return the parallel corpus in a folder: train.de and train.en, and val and test of the same form.

    Each file is UTF-8 text with a sentence a line, packed if its name ends in .gz too. Where val or test
    is missing, at most one pair in 20 is taken out of train for it. Pairs with an empty or very long
    side are left out.
    """
    folder = _folder(folder)
    train = _usable(_split_of(folder, "train"))
    others = {}
    for split in ("val", "test"):
        has_split = any(_path_of(folder, split, language) for language in LANGUAGES)
        others[split] = _usable(_split_of(folder, split)) if has_split else []
        if not others[split]:
            others[split], train = _held_out(train)
    if len(train) < FEWEST:
        raise UserError(
            f"{folder} has {len(train)} pairs of sentences to train on, and at least {FEWEST} are needed "
            f"(pairs with an empty side, or with one of more than {LONGEST} characters, do not count, nor do "
            "those that are held out for validation and test)."
        )
    return Corpus(train, others["val"], others["test"], links=[])


def _split_of(folder, stem):
    """The pairs of one split, from its two files."""
    paths = {f"{stem}.{language}": _path_of(folder, stem, language) for language in LANGUAGES}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        raise UserError(
            f"{folder} lacks {_listed(missing)} (or the same with .gz): a corpus is two text files, and line "
            f"n of train.en translates line n of train.de; Multi30k's six files are at {ADDRESS}."
        )
    return list(zip(*read_parallel(*paths.values()), strict=True))


def _path_of(folder, stem, language):
    """The file stem.language or stem.language.gz in a folder, or None."""
    names = (f"{stem}.{language}", f"{stem}.{language}.gz")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _usable(pairs):
    """The pairs of which both sides are neither empty nor very long, without blanks at the ends."""
    stripped = [(source.strip(), target.strip()) for source, target in pairs]
    return [pair for pair in stripped if all(0 < len(side) <= LONGEST for side in pair)]


def _held_out(pairs):
    """(pairs at regular distances, all others whose source is not among them)."""
    held_out = pairs[:: max(20, -(-len(pairs) // HELD_OUT))]
    sources = {source for source, _ in held_out}
    return held_out, [pair for pair in pairs if pair[0] not in sources]


def test_set(year: str, data: str | None = None) -> tuple[list[str], list[str]]:
    """Return German and English of Multi30k's test set of a year, from `data` or else $ATTN_DATA.

    The set of 2016 is downloaded where neither names a folder.
    """
    folder = data or os.environ.get("ATTN_DATA")
    stem = TEST_SETS[year]
    if folder:
        paths = [_path_of(_folder(folder), stem, language) for language in LANGUAGES]
    elif stem == SPLITS["test"]:
        paths = [_fetched(f"{stem}.{language}.gz") for language in LANGUAGES]
    else:
        raise UserError(f"--test {year} needs a folder: name it with --data or ATTN_DATA.")
    if None in paths:
        raise UserError(
            f"{folder} lacks {stem}.de.gz or {stem}.en.gz, the test set of {year}: it is at {ADDRESS}."
        )
    return read_parallel(*paths)


def _fetched(name):
    """The path of the cached file; a missing or damaged one is downloaded aside, checked, then moved in."""
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
            f"{name} could not be downloaded ({kind}): go online, or put {_listed(CHECKSUMS)} from {ADDRESS} "
            f"in a folder and name it with --data or ATTN_DATA; {ADVICE}."
        ) from None  # a notebook would show the whole network stack


def _lines(text):
    """Lines end at a newline alone: str.splitlines would also cut at rarer characters inside one."""
    return text.removesuffix("\n").split("\n")


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 text file that is not empty; a file that ends in .gz is unpacked.

    path: "-" reads what is piped in.
    """
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        if Path(path).suffix == ".gz":
            content = gzip.decompress(content)
        lines = _lines(content.decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is damaged, or is not packed by gzip.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}).") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 text (byte {error.start} is no character)."
        ) from error
    if not any(map(str.strip, lines)):
        raise UserError(f"{path} is empty.")
    return lines


def read_parallel(source: str | Path, reference: str | Path) -> tuple[list[str], list[str]]:
    """Return the lines of a source and of a reference file, which must have equally many.

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
