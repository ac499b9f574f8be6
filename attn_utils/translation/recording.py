"""Knows what is kept of a finished run: settings, curve, test scores, hypotheses; trains nothing."""

import shlex
from dataclasses import asdict

import torch

from attn_utils.translation import scoring
from attn_utils.translation.runs import write_json

PATHS = {"--data": "DIR", "--out": "RUN"}


def without_paths(argv):
    """The command as typed, but with no folder of anybody's machine in it.

    >>> without_paths(["train", "--data", "/home/ada/m30k", "--out", "here"])
    'attn translate train --data DIR --out RUN'
    """
    words = [PATHS.get(before, word) for before, word in zip(["", *argv], argv, strict=False)]
    return shlex.join(["attn", "translate", *words])


def record(trainer, run, command):
    """Score the test set, greedily and with a beam of 5, and write record.json in the run's folder.

    The sentences' BLEU counts are kept beside the hypotheses: the score, its bootstrap and its
    dependence on length can be computed again without the references.
    """
    sources, references = (list(side) for side in zip(*trainer.corpus.test, strict=True))
    ids = [tuple(map(run.vocabulary.encode, pair)) for pair in trainer.corpus.test]
    result = {
        "command": command,
        "config": asdict(trainer.config),
        "num_parameters": sum(p.numel() for p in run.model.parameters()),
        "machine": f"{trainer.device.type}, {torch.get_num_threads()} threads, torch {torch.__version__}",
        "cpu_seconds": trainer.at["cpu_seconds"],
        "metrics": trainer.metrics,
        "test": {"perplexity": scoring.perplexity(run.model, ids)},
        "source_words": " ".join(str(len(source.split())) for source in sources),
    }
    for name, beam_size in (("greedy", 1), ("beam 5", 5)):
        hypotheses = run.translate(sources, beam_size=beam_size)
        result["test"][name] = scoring.score(hypotheses, references)
        if beam_size == 1:
            counts = scoring.counts(hypotheses, references)
            result |= {
                "hypotheses": hypotheses,
                "counts": [" ".join(map(str, row)) for row in counts],
            }
    write_json(trainer.folder / "record.json", result)
    return result
