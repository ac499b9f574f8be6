"""Records a run: `python -m attn_course.knowledge default --seeds 0 1 2 --write FILE`."""

import argparse
import json
import re
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attn_course.errors import UserError
from attn_course.knowledge import GROUPS, PRESETS, Lab, Preset, findings
from attn_course.knowledge.model import ATTENTION
from attn_course.training.devices import DeviceLike, best_device


def record(
    preset: Preset,
    seed: int,
    *,
    folder: Path | None = None,
    forgetting: bool = True,
    device: DeviceLike = None,
) -> dict[str, Any]:
    """Everything notebook 08 shows of one seed, as plain data.

    folder: where a checkpoint of the pretraining is kept and resumed from.
    forgetting: whether to fine-tune for too long as well.
    """
    start = time.process_time()
    lab = Lab(preset, seed=seed, device=device)
    pretrained = lab.model()
    checkpoint = folder / f"{preset.attention}-{seed}.pt" if folder else None
    losses = lab.pretrain(pretrained, checkpoint=checkpoint)
    tuned = lab.finetune(pretrained)
    models = {"no pretraining": lab.from_scratch(), "pretrained": tuned}
    found: dict[str, Any] = {
        "seed": seed,
        "majority": findings.majority(lab.world),
        "loss": _stretches(losses),
    }
    for name, model in models.items():
        found[name] = {}
        for group in GROUPS:
            found[name][group] = findings.recalls(lab, model, group)
    found["swapped"] = findings.recalls(lab, tuned, "held", swapped=True)
    seconds = time.process_time() - start
    found["cpu_seconds"] = round(seconds, 1)
    found["forgetting"] = {}
    if forgetting:
        for way in findings.WAYS:
            found["forgetting"][way] = findings.forgetting(lab, pretrained, way)
    return found


def _stretches(losses):
    """The first loss, then the mean of each hundredth of the run."""
    means = [losses[0]]
    for stretch in np.array_split(losses, min(100, len(losses))):
        means.append(stretch.mean())
    return [round(float(mean), 4) for mean in means]


def main(arguments: Sequence[str] | None = None) -> None:
    """Record some seeds of a preset in a file."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = _options(words)
    try:
        runs = _runs(options)
    except UserWarning as stopped:  # half a run is not recorded
        raise SystemExit(f"{stopped} With --folder the same command carries on.") from None
    except UserError as refusal:
        raise SystemExit(str(refusal)) from None
    device = best_device(options.device).type
    whole = {
        "command": "python -m attn_course.knowledge " + shlex.join(words),
        "preset": asdict(_preset(options)),
        "machine": f"{device}, {options.threads} threads, torch {torch.__version__}",
        "runs": runs,
    }
    text = _compact(json.dumps(whole, indent=1))
    options.write.write_text(text + "\n", encoding="utf-8")


def _runs(options):
    torch.set_num_threads(options.threads)
    options.write.parent.mkdir(parents=True, exist_ok=True)
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    runs = []
    with warnings.catch_warnings(action="error", category=UserWarning):
        for seed in options.seeds:
            run = record(
                _preset(options),
                seed,
                folder=options.folder,
                forgetting=options.forgetting,
                device=options.device,
            )
            runs.append(run)
    return runs


def _preset(options):
    """The preset that was named, with the changes that were asked for."""
    preset = PRESETS[options.preset]
    changes: dict[str, Any] = {}
    if options.steps:
        names = ("pretrain_steps", "finetune_steps", "scratch_steps")
        changes |= zip(names, options.steps, strict=True)
    if options.batch_size:
        changes["batch_size"] = options.batch_size
    if options.attention:
        changes["attention"] = options.attention
    if options.people:
        changes["num_people"] = tuple(options.people)
    return replace(preset, **changes)


def _compact(text):
    """Innermost lists on one line each."""
    return re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)


def _at_least(lowest):
    """A reader of whole numbers from lowest on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} on")
        return int(text)

    return read


def _options(words):
    parser = argparse.ArgumentParser(prog="python -m attn_course.knowledge", description=__doc__)
    parser.add_argument("preset", choices=PRESETS)
    count = _at_least(1)
    parser.add_argument("--seeds", type=_at_least(0), nargs="+", default=[0], help="one run each")
    parser.add_argument("--attention", choices=ATTENTION, help="instead of the preset's")
    parser.add_argument(
        "--people",
        type=count,
        nargs=3,
        metavar=("TOLD", "HELD", "STRANGERS"),
        help="instead of the preset's",
    )
    parser.add_argument(
        "--steps",
        type=count,
        nargs=3,
        metavar=("PRETRAIN", "FINETUNE", "SCRATCH"),
        help="instead of the preset's",
    )
    parser.add_argument("--batch-size", type=count, help="instead of the preset's")
    parser.add_argument(
        "--forgetting",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="fine-tune for too long",
    )
    parser.add_argument("--threads", type=count, default=1, help="of torch, on a CPU")
    parser.add_argument("--device", help="cpu, cuda or mps, if not the best there is")
    parser.add_argument("--folder", type=Path, help="where to keep checkpoints and resume from")
    parser.add_argument("--write", type=Path, required=True, help="the file to write")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
