"""An analysis of errors on real captions, beside their German sources: what is lost, and what is invented."""

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from attn_course.recorded_runs import read
from attn_course.translation.corpora import SPLITS, TextPair, multi30k
from attn_course.translation.known_words import words_of
from attn_course.translation.recorder import Record, records
from attn_course.translation.scoring import bleu_of_counts

COLOURS = {
    "rot": ("red",),
    "blau": ("blue",),
    "grün": ("green",),
    "gelb": ("yellow",),
    "schwarz": ("black",),
    "weiß": ("white",),
    "braun": ("brown",),
    "grau": ("gray", "grey"),
    "orange": ("orange",),
    "rosa": ("pink",),
    "lila": ("purple",),
}
NUMBERS = {"zwei": ("two",), "drei": ("three",), "vier": ("four",), "fünf": ("five",)}
KINDS: dict[str, Mapping[str, tuple[str, ...]]] = {"colours": COLOURS, "numbers": NUMBERS}
ENDINGS = "(e|er|es|en|em|farbene?[nrsm]?)?"
BEGINNINGS = f"(hell|dunkel|{'|'.join(COLOURS)})?"  # of compounds, as in dunkelblau or rotbraun
RUNS = {  # recorded runs whose translations of the test captions are analysed
    "none": "translation_none_1",
    "mean": "translation_mean_1",
    "dot": "translation_dot_1",
    "Transformer": "translation_large_transformer_2",
}
ASKED = (40, 77)  # captions that notebook 11 asks about
RANKS = (0.05, 0.25, 0.5, 0.75)  # of the captions that are shown, by the chrF of dot


def record(options: SimpleNamespace) -> dict[str, Any]:
    """Analyse what recorded runs wrote for the test captions of 2016.

    options: data, the folder of Multi30k's raw files.
    """
    corpus = multi30k(options.data)
    runs = {name: records(pattern)[0] for name, pattern in RUNS.items()}
    known_words = {word for german, _ in corpus.train for word in words_of(german)}
    unseen = [sorted(set(words_of(german)) - known_words) for german, _ in corpus.test]
    groups = np.minimum([len(words) for words in unseen], 2)
    hypotheses = {name: run["hypotheses"] for name, run in runs.items()}
    return {
        "setting": {
            "corpus": "multi30k",
            "split": SPLITS["test"],
            "captions": "40 and 77, and those whose chrF by dot has rank 5%, 25%, 50% and 75%",
        },
        "commands": {name: run["command"] for name, run in runs.items()},
        "words": {
            kind: {
                name: words_kept(corpus.test, texts, KINDS[kind])
                for name, texts in hypotheses.items()
            }
            for kind in KINDS
        },
        "unseen": {name: bleu_by_group(run, groups) for name, run in runs.items()},
        "captions": [
            {
                "number": k,
                "german": corpus.test[k][0],
                "reference": corpus.test[k][1],
                "unseen": unseen[k],
                "written": {name: texts[k] for name, texts in hypotheses.items()},
            }
            for k in (*ASKED, *_of_ranks(hypotheses["dot"], corpus.test))
        ],
    }


def _of_ranks(hypotheses, pairs):
    """Return the numbers of the captions whose chrF has one of the ranks, the worst first."""
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    scores = [
        chrf.sentence_score(text, [english]).score
        for text, (_, english) in zip(hypotheses, pairs, strict=True)
    ]
    order = np.argsort(scores, kind="stable")
    return [int(order[int(rank * len(order))]) for rank in RANKS]


def words_kept(
    pairs: Sequence[TextPair], hypotheses: Sequence[str], kind: Mapping[str, tuple[str, ...]]
) -> dict[str, int]:
    """Count the words of a kind, such as colours, that translations keep, lose and invent.

    Returns "asked", how many stand in the German and in the reference; "kept", how many of these stand in
    the translation; and "invented", how many stand in the translation but not in the German, where a
    compound such as dunkelblau or rothaarig counts as the colour.
    """
    counts = {"asked": 0, "kept": 0, "invented": 0}
    for (german, english), hypothesis in zip(pairs, hypotheses, strict=True):
        sources = [word.lower() for word in words_of(german)]
        targets = {word.lower() for word in words_of(english)}
        written = {word.lower() for word in words_of(hypothesis)}
        for stem, translations in kind.items():
            in_source = any(re.fullmatch(stem + ENDINGS, word) for word in sources)
            is_written = not written.isdisjoint(translations)
            if in_source and not targets.isdisjoint(translations):
                counts["asked"] += 1
                counts["kept"] += is_written
            is_near = any(re.match(BEGINNINGS + stem, word) for word in sources)
            counts["invented"] += is_written and not is_near
    return counts


def bleu_by_group(run: Record, groups: np.ndarray) -> list[dict[str, float]]:
    """Return the test BLEU of a recorded run on each group of captions, and how many captions that are."""
    return [
        {
            "captions": int((groups == group).sum()),
            "bleu": round(float(bleu_of_counts(run["counts"][groups == group].sum(0))), 1),
        }
        for group in np.unique(groups)
    ]


def recorded_table() -> str:
    """Return the recorded counts as text: a line for each run."""
    analysis = recorded()
    sizes = [group["captions"] for group in next(iter(analysis["unseen"].values()))]
    lines = [
        f"{'':12} colours          numbers          BLEU by words never seen in training",
        f"{'':12} kept  invented   kept  invented    none ({sizes[0]})  one ({sizes[1]})  more ({sizes[2]})",
    ]
    for name, groups in analysis["unseen"].items():
        cells = []
        for kind in KINDS:
            counts = analysis["words"][kind][name]
            cells.append(f"{counts['kept'] / counts['asked']:4.0%} {counts['invented']:9}   ")
        bleu = [group["bleu"] for group in groups]
        lines.append(
            f"{name:12} {cells[0]}{cells[1]} {bleu[0]:10.1f} {bleu[1]:10.1f} {bleu[2]:11.1f}"
        )
    return "\n".join(lines)


def recorded() -> dict[str, Any]:
    """Return the recorded analysis, as `record` made it, with the command that did."""
    return read("captions")
