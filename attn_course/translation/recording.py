"""Knows what is kept of a finished run: settings, curve, test scores, hypotheses; trains nothing."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from attn_course.translation import scoring
from attn_course.translation.corpora import DataError
from attn_course.translation.runs import write_json
from attn_utils.layers import SLOTS

RUNS = Path(__file__).parents[2] / "solutions" / "runs"
PATHS = {"--data": "DIR", "--out": "RUN"}


def without_paths(argv):
    """The command as typed, but with no folder of anybody's machine in it.

    >>> without_paths(["train", "--data", "/home/ada/m30k", "--out=here"])
    'attn translate train --data DIR --out RUN'
    """
    words = [part for word in argv for part in word.split("=", 1)]
    words = [PATHS.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    return shlex.join(["attn", "translate", *words])


def record(trainer, run, command):
    """Write record.json, what is kept of a run, in the run's folder; it is returned too."""
    machine = [
        trainer.device.type,
        f"{torch.get_num_threads()} threads",
        f"torch {torch.__version__}",
    ]
    result = {
        "command": command,
        "config": asdict(trainer.config),
        "num_parameters": sum(p.numel() for p in run.model.parameters()),
        "machine": ", ".join(machine),
        "cpu_seconds": trainer.at["cpu_seconds"],
        "metrics": trainer.metrics,
        **_test(run, trainer.corpus.test),
    }
    write_json(trainer.folder / "record.json", result)
    return result


def _test(run, pairs):
    """Scores of the test pairs; hypotheses and BLEU counts of greedy search, sentence by sentence.

    From the counts the score, its bootstrap and its dependence on length can be computed again without
    the references.
    """
    sources, references = (list(side) for side in zip(*pairs, strict=True))
    ids = [tuple(map(run.vocabulary.encode, pair)) for pair in pairs]
    greedy, beam = (run.translate(sources, beam_size=size) for size in (1, 5))
    scores = {
        "greedy": scoring.score(greedy, references),
        "beam 5": scoring.score(beam, references),
    }
    return {
        "test": {"perplexity": scoring.perplexity(run.model, ids), **scores},
        "source_words": _row(len(source.split()) for source in sources),
        "counts": list(map(_row, scoring.counts(greedy, references))),
        "hypotheses": greedy,
    }


def read_record(path):
    """A record, with source_words (n,) and counts (n, 10) as arrays."""
    result = json.loads(Path(path).read_text(encoding="utf-8"))
    rows = [list(map(int, row.split())) for row in (result["source_words"], *result["counts"])]
    return result | {"source_words": np.array(rows[0]), "counts": np.array(rows[1:])}


def records(pattern):
    """The committed records solutions/runs/PATTERN.json, the smallest budget first."""
    found = [read_record(path) for path in sorted(RUNS.glob(f"{pattern}.json"))]
    return sorted(found, key=lambda record: record["config"]["tokens"])


def recorded(name):
    """The committed records solutions/runs/NAME_ATTENTION_SEED.json as {attention: [one a seed]}."""
    runs = {slot: records(f"{name}_{slot}_[0-9]") for slot in SLOTS}
    if not any(runs.values()):
        raise DataError(f"there is no recorded run solutions/runs/{name}_*.json.")
    return {slot: found for slot, found in runs.items() if found}


def table(ladder):
    """{attention: records} as text: test BLEU of each seed (greedy), mean, sample deviation, and cost."""
    lines = [f"{'':10} BLEU of each seed       mean  spread  perplexity  CPU seconds each"]
    for slot, found in ladder.items():
        bleu = np.array([record["test"]["greedy"]["bleu"] for record in found])
        perplexity = np.mean([record["test"]["perplexity"] for record in found])
        seconds = np.mean([record["cpu_seconds"] for record in found])
        spread = f"{bleu.std(ddof=1):.1f}" if len(bleu) > 1 else "-"
        seeds = " ".join(f"{score:5.1f}" for score in bleu)
        lines.append(
            f"{slot:10} {seeds:20} {bleu.mean():7.1f} {spread:>7} {perplexity:11.2f} {seconds:12.0f}"
        )
    return "\n".join(lines)


def by_length(ladder, *, num_groups=4):
    """(mean source words, {attention: BLEU averaged over seeds}) of groups of equally many sentences."""
    words = next(iter(ladder.values()))[0]["source_words"]
    edges = np.quantile(words, np.arange(1, num_groups) / num_groups)
    groups = [np.digitize(words, edges) == k for k in range(num_groups)]
    series = {
        slot: [np.mean([_bleu(record, rows) for record in found]) for rows in groups]
        for slot, found in ladder.items()
    }
    return [words[rows].mean() for rows in groups], series


def _bleu(record, rows):
    return scoring.bleu_of_counts(record["counts"][rows].sum(0))


def _row(numbers):
    return " ".join(map(str, numbers))
