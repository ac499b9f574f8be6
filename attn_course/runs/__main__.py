"""Record one of the course's results: `python -m attn_course.runs NAME` writes attn_course/runs/NAME.json.

A recording that was stopped goes on where it was if the same --folder is given.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import torch

from attn_course import recorded_runs
from attn_course.command_line import SETTINGS, Command, WholeNumber, run
from attn_course.experiments import (
    attention_sink,
    delayed_copy,
    induction,
    multi_head_task,
    overwriting,
    silent_head,
)
from attn_course.knowledge import PRESETS, findings
from attn_course.training.devices import best_device
from attn_course.translation import ablation, captions, parts, sentence_maps, two_settings
from attn_course.translation.recorder import without_paths


def _knowledge(options, *, preset, seeds=(0,), watch_forgetting=True):
    return findings.record(
        preset,
        seeds,
        folder=options.folder,
        watch_forgetting=watch_forgetting,
        device=options.device,
    )


SYNTHESIZER = replace(PRESETS["default"], attention="synthesizer")
SMALLER = replace(  # the full model on a smaller world, as far as one core takes it in an hour
    PRESETS["full"],
    num_people=(40, 20, 20),
    pretrain_steps=2000,
    finetune_steps=100,
    scratch_steps=200,
    batch_size=32,
)
RECORDINGS: dict[str, Callable[[SimpleNamespace], dict[str, Any]]] = {
    "knowledge": partial(_knowledge, preset=PRESETS["default"], seeds=(0, 1, 2)),
    "knowledge_synthesizer": partial(_knowledge, preset=SYNTHESIZER, seeds=(0, 1, 2)),
    "knowledge_full": partial(_knowledge, preset=SMALLER, watch_forgetting=False),
    "knowledge_gpu": partial(_knowledge, preset=PRESETS["full"]),  # not yet: it wants a GPU
    "heads": lambda options: multi_head_task.record(),
    "position": lambda options: delayed_copy.record(),
    "longer": lambda options: delayed_copy.record_longer(),
    "induction": lambda options: induction.record(),
    "attention_sink": lambda options: attention_sink.record(),
    "silent_head": lambda options: silent_head.record(),
    "overwriting": lambda options: overwriting.record(),
    "sentence_maps": lambda options: sentence_maps.record(),
    "captions": captions.record,
    "two_settings": two_settings.record,
    "ablation": lambda options: ablation.record(options.folder, options.data),
    "seq2seq": parts.record,
}


PATH = click.Path(path_type=Path)


@click.command(
    cls=Command, context_settings=SETTINGS, epilog=f"NAME is one of {', '.join(RECORDINGS)}."
)
@click.argument("name", type=click.Choice(list(RECORDINGS)), metavar="NAME")
@click.option("--out", type=PATH, help="The file, if not attn_course/runs/NAME.json.")
@click.option("--folder", type=PATH, help="Where to keep what is done, and resume from.")
@click.option("--data", help="The folder of Multi30k's raw files, if not downloaded.")
@click.option("--device", help="cpu, cuda or mps, if not the best there is.")
@click.option(
    "--threads", type=WholeNumber(1, 1024), default=1, show_default=True, help="Of torch, on a CPU."
)
@click.pass_obj
def record(words: list[str], **settings: Any) -> None:
    """Record one of the course's results in a file.

    A recording that was stopped goes on where it was if the same --folder is given.
    """
    options = SimpleNamespace(**settings)
    torch.set_num_threads(options.threads)
    start = time.process_time()
    with tempfile.TemporaryDirectory(prefix="attn-") as temporary:
        options.folder = options.folder or Path(temporary)
        options.folder.mkdir(parents=True, exist_ok=True)
        try:
            with warnings.catch_warnings(action="error", category=UserWarning):
                result = RECORDINGS[options.name](options)
        except UserWarning as stopped:  # half a run is not recorded
            message = f"{stopped} With --folder the same command carries on."
            raise KeyboardInterrupt(message) from None
    device = best_device(options.device).type
    command = ["python", "-m", "attn_course.runs", *words]
    typed = without_paths(command, folder="DIR", data="DIR", out="DIR")
    recorded = {
        "command": typed,
        "date": date.today().isoformat(),
        "machine": f"{device}, {options.threads} threads, torch {torch.__version__}",
        "cpu_seconds": round(time.process_time() - start, 1),
        **result,
    }
    recorded_runs.write_json(options.out or recorded_runs.FOLDER / f"{options.name}.json", recorded)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record one result in a file; return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    return run(record, "python -m attn_course.runs", words, {"": "torch"})


if __name__ == "__main__":
    sys.exit(main())
