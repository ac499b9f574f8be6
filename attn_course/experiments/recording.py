"""Write down what an experiment found, with its command, and read it again.

A record is one JSON file in `attn_course/runs/`: the command, then what the experiment's `record` returns
(its settings and seeds among it), then the machine and the CPU seconds.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

RUNS = Path(__file__).parents[1] / "runs"


def record_to_file(module: str, record: Callable[[], dict]) -> None:
    """Run `record` on one thread and write what it returns to the file named on the command line.

    module: the name of the experiment's module, such as "induction".
    """
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python -m attn_course.experiments.{module} FILE")
    path = sys.argv[1]
    torch.set_num_threads(1)

    start = time.process_time()
    found = record()
    whole = {
        "command": f"python -m attn_course.experiments.{module} {path}",
        **found,
        "machine": f"cpu, {torch.get_num_threads()} thread, torch {torch.__version__}",
        "cpu_seconds": round(time.process_time() - start, 1),
    }
    lines = [f' "{name}": {json.dumps(value)}' for name, value in whole.items()]
    inside = ",\n".join(lines)
    Path(path).write_text(f"{{\n{inside}\n}}\n", encoding="utf-8")


def read_record(name: str) -> dict:
    """What was recorded for the course in `runs/NAME.json`."""
    text = (RUNS / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)


def rounded(values: list | tuple, digits: int = 4) -> list[float]:
    """Numbers to a few places, as they are written down."""
    return [round(float(value), digits) for value in values]
