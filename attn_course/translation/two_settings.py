"""Why one slot has two scores: notebooks 10 and 11 train *dot* on other amounts of the invented text."""

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

from attn_course.recorded_runs import read
from attn_course.translation import scoring
from attn_course.translation.config import PRESETS
from attn_course.translation.corpora import embedded
from attn_course.translation.training import Trainer
from attn_course.translation.vocabulary import encode_corpus

SCENES = {2700: 200, 8000: 500}  # to train on, and to test on, in 10 and in 11
BUDGETS = (120_000, 162_000)  # target subwords, in 11 and in 10


def record(options: SimpleNamespace) -> dict[str, Any]:
    """Train *dot* with seed 1 on each number of scenes with each budget.

    The configuration that is recorded is that of all runs, but for the budget.

    options: device, where to train.
    """
    runs = []
    for num_train, num_test in SCENES.items():
        corpus = embedded(num_train=num_train, num_test=num_test)
        sources, references = map(list, zip(*corpus.test, strict=True))
        for tokens in BUDGETS:
            config = replace(PRESETS["default"], tokens=tokens)
            run = Trainer(corpus, config, device=options.device, progress=False).fit()
            encoded = encode_corpus(corpus, size=config.vocabulary).train
            in_a_pass = sum(len(target) + 1 for _, target in encoded)
            bleu = scoring.score(run.translate(sources), references)["bleu"]
            runs.append(
                {
                    "scenes": num_train,
                    "tokens": tokens,
                    "passes": round(tokens / in_a_pass, 2),
                    "bleu": round(bleu, 1),
                }
            )
    return {"config": asdict(PRESETS["default"]), "runs": runs}


def recorded_table() -> str:
    """Return the recorded scores as text: the command, and a line for each run."""
    recorded = read("two_settings")
    lines = [recorded["command"], "scenes   subwords  passes  test BLEU of dot"]
    for run in recorded["runs"]:
        line = f"{run['scenes']:6,} {run['tokens']:10,} {run['passes']:7.1f} {run['bleu']:10.1f}"
        lines.append(line)
    return "\n".join(lines)
