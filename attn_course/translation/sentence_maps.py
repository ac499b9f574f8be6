"""Attention maps of a few sentences, recorded so that they can be drawn without torch.

`python -m attn_course.runs sentence_maps` records them again, with the bundled model. The sentences were
chosen because that model translates them well.
"""

from typing import Any, NamedTuple

import numpy as np

from attn_course import recorded_runs
from attn_course.translation.config import BEAM

SENTENCES = {
    "hat": "Eine Frau mit einem roten Hut liest ein Buch.",
    "street": "Auf der Straße spielt ein junger Mann Gitarre.",
}
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
        """Return for each English word the German one at which it looks most, and that weight."""
        looked_at = [self.german[s] for s in self.weights.argmax(1)]
        largest = self.weights.max(1).tolist()
        return list(zip(self.english, looked_at, largest, strict=True))


def recorded_map(name: str) -> SentenceMap:
    """Return the recorded map of one of SENTENCES."""
    recorded = recorded_runs.read("sentence_maps")["maps"][name]
    return SentenceMap(**recorded | {"weights": np.array(recorded["weights"])})


def record() -> dict[str, Any]:
    """Translate every sentence with the bundled model, and record where each English word looked."""
    from attn_course.translation.bundled import FOLDER, open_run
    from attn_course.translation.sentence import explain

    run = open_run()
    trained = recorded_runs.read_json(FOLDER / "record.json")
    maps = {}
    for name, sentence in SENTENCES.items():
        explanation = explain(run, sentence, FOLDER, beam_size=BEAM)
        maps[name] = {
            "sentence": sentence,
            "translation": explanation.translation,
            "english": explanation.english,
            "german": [*explanation.german, END],
            "weights": _with_end(explanation.weights),
        }
    return {
        "model": trained["command"],
        "seed": trained["config"]["seed"],
        "beam": BEAM,
        "maps": maps,
    }


def _with_end(weights):
    """Return rows of plain numbers that sum to one: the end mark gets the weight that no word has."""
    words = weights.round(4)
    rest = 1 - words.sum(1, keepdims=True)
    rows = np.hstack([words, rest.clip(0)])
    return rows.round(4).tolist()
