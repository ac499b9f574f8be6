"""Knows how a run is recorded: `python -m attn_course.knowledge default --seeds 0 1 2 --write FILE`."""

import argparse
import json
import re
import shlex
import sys
import time
import warnings
from dataclasses import asdict, replace
from pathlib import Path

import torch

from attn_course.knowledge import GROUPS, PRESETS, Lab, findings
from attn_course.knowledge.model import ATTENTION, best_device


def record(preset, seed, *, folder=None, forgetting=True):
    """Everything notebook 08 shows of one seed, as plain data."""
    start, lab = time.process_time(), Lab(preset, seed=seed)
    pretrained = lab.model()
    checkpoint = folder / f"{preset.attention}-{seed}.pt" if folder else None
    losses = lab.pretrain(pretrained, checkpoint=checkpoint)
    models = {"no pretraining": lab.from_scratch(), "pretrained": lab.finetune(pretrained)}
    found = {"seed": seed, "majority": findings.majority(lab.world)}
    found |= {"loss": [round(loss, 4) for loss in losses[:: max(1, len(losses) // 20)]]}
    for name, model in models.items():
        found[name] = {group: findings.recalls(lab, model, group) for group in GROUPS}
    found["swapped"] = findings.recalls(lab, models["pretrained"], "held", swapped=True)
    found["cpu_seconds"] = round(time.process_time() - start, 1)
    ways = findings.WAYS if forgetting else ()
    found["forgetting"] = {way: findings.forgetting(lab, pretrained, way) for way in ways}
    return found


def main(arguments=None):
    """Record some seeds of a preset in a file."""
    options = _options(arguments)
    preset = _preset(options)
    torch.set_num_threads(options.threads)
    for folder in filter(None, (options.folder, options.write.parent)):
        folder.mkdir(parents=True, exist_ok=True)
    choices = {"folder": options.folder, "forgetting": options.forgetting}
    try:
        with warnings.catch_warnings(action="error", category=UserWarning):
            runs = [record(preset, seed, **choices) for seed in options.seeds]
    except UserWarning as stopped:  # half a run is not recorded
        raise SystemExit(f"{stopped} With --folder the same command carries on.") from None
    except ValueError as error:
        raise SystemExit(str(error)) from None
    whole = {
        "command": "python -m attn_course.knowledge " + shlex.join(arguments or sys.argv[1:]),
        "preset": asdict(preset),
        "machine": f"{best_device().type}, {options.threads} threads, torch {torch.__version__}",
        "runs": runs,
    }
    text = _compact(json.dumps(whole, indent=1))
    options.write.write_text(text + "\n", encoding="utf-8")


def _preset(options):
    """The preset that was named, with the changes that were asked for."""
    preset = PRESETS[options.preset]
    steps = [name for name in asdict(preset) if name.endswith("_steps")]
    return replace(
        preset,
        attention=options.attention or preset.attention,
        num_people=tuple(options.people or preset.num_people),
        **{name: max(1, round(options.fraction * getattr(preset, name))) for name in steps},
    )


def _compact(text):
    """Innermost lists on one line each."""
    return re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m attn_course.knowledge", description=__doc__)
    parser.add_argument("preset", choices=PRESETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run each")
    parser.add_argument("--attention", choices=ATTENTION, help="instead of the preset's")
    counts = {"nargs": 3, "metavar": ("TOLD", "HELD", "STRANGERS")}
    parser.add_argument("--people", type=int, **counts, help="instead of the preset's")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the preset's steps")
    flag = argparse.BooleanOptionalAction
    parser.add_argument("--forgetting", action=flag, default=True, help="fine-tune for too long")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on a CPU")
    parser.add_argument("--folder", type=Path, help="where to keep checkpoints and resume from")
    parser.add_argument("--write", type=Path, required=True, help="the file to write")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
