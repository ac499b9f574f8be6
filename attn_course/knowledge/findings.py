"""Measurements on a trained model, and the baselines they are compared with."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attn_course import recorded_runs
from attn_course.knowledge.experiment import Lab
from attn_course.knowledge.model import LanguageModel
from attn_course.knowledge.presets import Preset
from attn_course.knowledge.world import GROUPS, QUESTION, World
from attn_course.training.devices import DeviceLike

WAYS = {  # of fine-tuning for ten times as long as needed: rate, biographies in each batch
    "gentle": (5e-4, 0),
    "harsh": (3e-3, 0),
    "harsh, with rehearsal": (3e-3, 64),
}
Z = 1.959964  # of a normal distribution, 95% lies within so many standard deviations


Interval = tuple[float, float, float]  # a share, and the ends of where it may lie
Curves = dict[str, list[float]]


class Recall(NamedTuple):
    """A person's birth place, the model's answer, and the probability that the model gave to it."""

    truth: str
    answer: str
    confidence: float

    @property
    def right(self) -> bool:
        return self.answer == self.truth


def recalls(lab: Lab, model: LanguageModel, group: str, *, swapped: bool = False) -> list[Recall]:
    """Ask a model about everyone in a group.

    swapped: the family name comes first in the question.
    Returns one Recall for each person.
    """
    people = lab.world.group(group)
    names = [person.name for person in people]
    if swapped:
        names = [f"{person.family} {person.first}" for person in people]
    replies = lab.ask(model, [QUESTION.format(name=name) for name in names])
    pairs = zip(people, replies, strict=True)
    return [Recall(person.city, *reply) for person, reply in pairs]


def score(answers: Sequence[str], truths: Sequence[str]) -> Interval:
    """Return the share of right answers and its 95% interval after Wilson.

    answers, truths: one of each for every person, in the same order.
    Returns (share, low, high), numbers from 0 to 1.
    """
    n = len(truths)
    pairs = zip(answers, truths, strict=True)
    share = sum(answer == truth for answer, truth in pairs) / n
    extra = Z**2 / n
    middle = share + extra / 2
    variance = share * (1 - share) + extra / 4
    half = Z * math.sqrt(variance / n)
    low = (middle - half) / (1 + extra)
    high = (middle + half) / (1 + extra)
    return share, low, high


def recorded(name: str) -> dict[str, Any]:
    """Return a recorded run, attn_course/runs/NAME.json, its answers as Recall again.

    Returns {"command", "preset", "machine", "runs": one a seed}.
    """
    whole = recorded_runs.read(name)
    for run in whole["runs"]:
        for model in ("no pretraining", "pretrained"):
            for group, rows in run[model].items():
                run[model][group] = _recalls(rows)
        run["swapped"] = _recalls(run["swapped"])
    return whole


def _recalls(rows):
    return [Recall(*row) for row in rows]


def pooled(runs: Iterable[dict], model: str, group: str) -> list[Recall]:
    """Return the recalls of one model and group over several recorded runs."""
    recalls = []
    for run in runs:
        recalls += run[model][group]
    return recalls


def score_of(recalls: Sequence[Recall]) -> Interval:
    """Return the `score` of a list of Recall."""
    return score(
        answers=[recall.answer for recall in recalls],
        truths=[recall.truth for recall in recalls],
    )


def majority(world: World) -> str:
    """Return the answer that is right most often among the people told."""
    counts = Counter(person.city for person in world.group("told"))
    city, _ = counts.most_common(1)[0]
    return city


def cities_of_namesakes(world: World) -> list[set[str]]:
    """Return for each stranger the cities of the people told and held who share one of the names."""
    cities = defaultdict(set)
    for person in world.group("told") + world.group("held"):
        cities[person.first].add(person.city)
        cities[person.family].add(person.city)
    return [cities[person.first] | cities[person.family] for person in world.group("strangers")]


def forgetting(lab: Lab, pretrained: LanguageModel, way: str) -> Curves:
    """Fine-tune for ten times as long as needed, in one of the WAYS, and ask again and again.

    Returns {"steps": after which the model was asked, "told": shares of right answers, "held": shares}.
    """
    rate, rehearse = WAYS[way]
    usual = lab.preset.finetune_steps
    quarters = {usual * k // 4 for k in range(5)}
    longer = {usual * k for k in range(2, 11)}
    asked_after: list[float] = sorted(quarters | longer)
    curves: Curves = {"steps": asked_after, "told": [], "held": []}

    def watch(step: int, model: LanguageModel) -> None:
        if step not in asked_after:
            return
        for group in ("told", "held"):
            asked = recalls(lab, model, group)
            num_right = sum(recall.right for recall in asked)
            curves[group].append(num_right / len(asked))

    lab.finetune(pretrained, steps=10 * usual, rate=rate, rehearse=rehearse, watch=watch)
    return curves


def record(
    preset: Preset,
    seeds: Sequence[int],
    *,
    folder: Path,
    watch_forgetting: bool = True,
    device: DeviceLike = None,
) -> dict[str, Any]:
    """Return everything that notebook 08 shows of these seeds, as plain data.

    folder: where checkpoints of the pretraining are kept and resumed from.
    watch_forgetting: whether to fine-tune for too long as well.
    """
    runs = []
    for seed in seeds:
        start = time.process_time()
        lab = Lab(preset, seed=seed, device=device)
        pretrained = lab.model()
        losses = lab.pretrain(pretrained, checkpoint=folder / f"{preset.attention}-{seed}.pt")
        tuned = lab.finetune(pretrained)
        models = {"no pretraining": lab.from_scratch(), "pretrained": tuned}
        record_of_run: dict[str, Any] = {
            "seed": seed,
            "majority": majority(lab.world),
            "loss": _stretches(losses),
        }
        for name, model in models.items():
            record_of_run[name] = {group: recalls(lab, model, group) for group in GROUPS}
        record_of_run["swapped"] = recalls(lab, tuned, "held", swapped=True)
        record_of_run["cpu_seconds"] = round(time.process_time() - start, 1)
        ways = WAYS if watch_forgetting else ()
        record_of_run["forgetting"] = {way: forgetting(lab, pretrained, way) for way in ways}
        runs.append(record_of_run)
    return {"preset": asdict(preset), "runs": runs}


def _stretches(losses):
    """Return the first loss, then the mean of each hundredth of the run."""
    parts = np.array_split(losses, min(100, len(losses)))
    means = [losses[0], *(part.mean() for part in parts)]
    return [round(float(mean), 4) for mean in means]
