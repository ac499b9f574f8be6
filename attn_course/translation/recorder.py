"""The record of a finished run: settings, curve, test scores, hypotheses."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attn_course.errors import UserError
from attn_course.recorded_runs import FOLDER, read_json, write_json
from attn_course.translation import scoring
from attn_course.translation.config import ATTENTIONS
from attn_course.translation.corpora import TextPair
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer

Record = dict[str, Any]
Curves = dict[str, list[float]]
Ladder = dict[str, list[Record]]


def without_paths(words: Iterable[str], **placeholders: str) -> str:
    """Return a command as it was typed, with no folder of anybody's machine in it.

    placeholders: {option: what is written in place of the path after it}.

    >>> without_paths(["attn", "--data", "/home/ada/m30k", "--out=here"], data="DIR", out="RUN")
    'attn --data DIR --out RUN'
    """
    written = []
    before = ""
    for part in chain.from_iterable(word.split("=", 1) for word in words):
        written.append(placeholders.get(before, part))
        before = part.removeprefix("--")
    return shlex.join(written)


def record(trainer: Trainer, run: Run, command: str) -> Record:
    """Write the record of a run to record.json in its folder, and return it.

    command: what was typed, without anybody's folders.
    """
    threads = torch.get_num_threads()
    result = {
        "command": command,
        "date": date.today().isoformat(),
        "config": asdict(trainer.config),
        "num_parameters": sum(p.numel() for p in run.model.parameters()),
        "machine": f"{trainer.device.type}, {threads} threads, torch {torch.__version__}",
        "cpu_seconds": trainer.counters["cpu_seconds"],
        "ended": "budget spent" if trainer.spent else trainer.why_early(),
        "metrics": trainer.metrics,
        **scores_of_test(run, trainer.corpus.test),
    }
    write_json(trainer.folder / "record.json", result)
    return result


def scores_of_test(run: Run, pairs: Sequence[TextPair]) -> Record:
    """Return the scores of the test pairs, and each sentence's hypothesis and BLEU counts of greedy search.

    The keys are "test", "source_words", "counts" and "hypotheses". From the counts the score, its bootstrap
    and its dependence on length can be computed again without the references.
    """
    sources, references = zip(*pairs, strict=True)
    greedy = run.translate(sources)
    beam = run.translate(sources, beam_size=5)
    encoded = [run.vocabulary.encode_pair(pair) for pair in pairs]
    return {
        "test": {
            "perplexity": scoring.perplexity(run.model, encoded),
            "greedy": scoring.score(greedy, references),
            "beam 5": scoring.score(beam, references),
        },
        "source_words": _row(len(source.split()) for source in sources),
        "counts": [_row(counts) for counts in scoring.counts(greedy, references)],
        "hypotheses": greedy,
    }


def _row(numbers):
    return " ".join(map(str, numbers))


def read_record(path: Path) -> Record:
    """Return a record, with source_words (n,) and counts (n, 10) as arrays."""
    result = read_json(path)
    result["source_words"] = np.array(result["source_words"].split(), int)
    result["counts"] = np.array([row.split() for row in result["counts"]], int)
    return result


def records(pattern: str) -> list[Record]:
    """Return the committed records attn_course/runs/PATTERN.json, the smallest budget first."""
    committed = [read_record(path) for path in sorted(FOLDER.glob(f"{pattern}.json"))]
    return sorted(committed, key=lambda record: record["config"]["tokens"])


def recorded(name: str) -> Ladder:
    """Return the committed records attn_course/runs/NAME_ATTENTION_SEED.json, {attention: [one a seed]}."""
    runs = {}
    for attention in ATTENTIONS:
        seeds = records(f"{name}_{attention}_[0-9]")
        if seeds:
            runs[attention] = seeds
    if not runs:
        raise UserError(f"there is no recorded run attn_course/runs/{name}_*.json.")
    return runs


def table(ladder: Ladder) -> str:
    """Return {attention: records} as text: test BLEU of each seed (greedy), mean, spread and cost."""
    lines = [f"{'':5} test BLEU of each seed       mean  spread  perplexity  CPU seconds each"]
    for name, runs in ladder.items():
        bleu = np.array([record["test"]["greedy"]["bleu"] for record in runs])
        perplexity = np.mean([record["test"]["perplexity"] for record in runs])
        seconds = np.mean([record["cpu_seconds"] for record in runs])
        seeds = " ".join(f"{score:5.1f}" for score in bleu)
        spread = f"{bleu.std(ddof=1):.1f}" if len(bleu) > 1 else "-"
        lines.append(
            f"{name:10} {seeds:20} {bleu.mean():7.1f} {spread:>7} {perplexity:11.2f} {seconds:12.0f}"
        )
    return "\n".join(lines)


def by_length(ladder: Ladder, *, num_groups: int = 4) -> tuple[list[float], Curves]:
    """Return BLEU by the length of the source, in groups of equally many sentences.

    Returns the mean number of source words of each group, and {attention: BLEU of each group, averaged
    over seeds}.
    """
    some = next(iter(ladder.values()))
    words = some[0]["source_words"]
    shares = np.arange(1, num_groups) / num_groups
    numbers = np.digitize(words, np.quantile(words, shares))
    middles = []
    series: Curves = {name: [] for name in ladder}
    for k in range(num_groups):
        rows = numbers == k
        middles.append(words[rows].mean())
        for name, runs in ladder.items():
            bleu = [scoring.bleu_of_counts(record["counts"][rows].sum(0)) for record in runs]
            series[name].append(float(np.mean(bleu)))
    return middles, series
