"""Attention maps of a few sentences, recorded so that they can be drawn without torch.

python -m attn_course.translation.sentence_maps [RUN] records them again, with the model that comes with
the course or with the run in RUN. The sentences were chosen because that model translates them well.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attn_course.translation.config import BEAM

FILE = Path(__file__).parents[1] / "runs" / "sentence_maps.json"
SENTENCES = {
    "hat": "Eine Frau mit einem roten Hut liest ein Buch.",
    "street": "Auf der Straße spielt ein junger Mann Gitarre.",
}
COMMAND = "python -m attn_course.translation.sentence_maps"
END = "(end)"  # the mark behind the last German word, which has a key and a value too


class SentenceMap(NamedTuple):
    """One sentence and where each word of its translation looked.

    german: its words and the mark at its end. weights: (English words, German words), rows sum to one.
    """

    sentence: str
    translation: str
    english: list[str]
    german: list[str]
    weights: np.ndarray

    def strongest(self) -> list[tuple]:
        """Each English word, the German one at which it looks most, and that weight."""
        looked_at = [self.german[place] for place in self.weights.argmax(1)]
        largest = self.weights.max(1).tolist()
        return list(zip(self.english, looked_at, largest, strict=True))


def recorded_map(name: str, path: Path = FILE) -> SentenceMap:
    """The recorded map of one of SENTENCES."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    found = whole["maps"][name]
    weights = np.array(found["weights"])
    return SentenceMap(**{**found, "weights": weights})


def record_maps(run: Path | None = None, path: Path = FILE) -> dict[str, Any]:
    """Translate every sentence with a run and write its map; what was written is returned too."""
    from attn_course.training.files import write_json
    from attn_course.translation.bundled import (
        folder_of,
        open_run,
    )
    from attn_course.translation.sentence import explain

    folder = folder_of(run)
    opened = open_run(run)
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    maps = {}
    for name, sentence in SENTENCES.items():
        found = explain(opened, sentence, folder, beam_size=BEAM)
        maps[name] = {
            "sentence": sentence,
            "translation": found.translation,
            "english": found.english,
            "german": [*found.german, END],
            "weights": _with_end(found.weights),
        }
    written = {
        "command": COMMAND if run is None else f"{COMMAND} RUN",
        "model": record["command"],
        "seed": record["config"]["seed"],
        "beam": BEAM,
        "maps": maps,
    }
    write_json(path, written)
    return written


def _with_end(weights):
    """Rows of plain numbers that sum to one: what no word has is the end mark's."""
    words = weights.round(4)
    rest = 1 - words.sum(1, keepdims=True)
    rows = np.hstack([words, rest.clip(0)])
    return rows.round(4).tolist()


def main(argv: Sequence[str] | None = None) -> None:
    """Record every map and print the translations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, nargs="?")
    options = parser.parse_args(argv)
    written = record_maps(options.run)
    for found in written["maps"].values():
        print(found["sentence"], "->", found["translation"])


if __name__ == "__main__":
    main()
