"""Knows what is measured on a trained model, and against what; trains nothing but for forgetting."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attn_course.knowledge.world import QUESTION

RUNS = Path(__file__).parents[2] / "solutions" / "runs"
WAYS = {  # of fine-tuning for ten times as long as needed: rate, biographies in each batch
    "gentle": (5e-4, 0),
    "harsh": (3e-3, 0),
    "harsh, with rehearsal": (3e-3, 64),
}


class Recall(NamedTuple):
    """Where a person was born, what the model said, and the probability it gave to that."""

    truth: str
    answer: str
    confidence: float

    @property
    def right(self):
        return self.answer == self.truth


def recalls(lab, model, group, *, swapped=False):
    """One Recall for each person of a group; swapped: the family name is asked for first."""
    people = lab.world.group(group)
    names = [f"{p.family} {p.first}" if swapped else p.name for p in people]
    replies = lab.ask(model, [QUESTION.format(name=name) for name in names])
    return [Recall(person.city, *reply) for person, reply in zip(people, replies, strict=True)]


def score(answers, truths):
    """The share of right answers and its 95% interval after Wilson: (share, low, high)."""
    n, z = len(truths), 1.959964
    share = float(np.mean([a == b for a, b in zip(answers, truths, strict=True)]))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return share, float(middle - half), float(middle + half)


def recorded(name):
    """A recorded run, solutions/runs/NAME.json, its answers as Recall again."""
    path = RUNS / f"{name}.json"
    if not path.exists():
        raise ValueError(f"there is no recorded run solutions/runs/{path.name}.")
    whole = json.loads(path.read_text("utf-8"))
    for run in whole["runs"]:
        for model in ("no pretraining", "pretrained"):
            run[model] = {
                group: [Recall(*row) for row in rows] for group, rows in run[model].items()
            }
        run["swapped"] = [Recall(*row) for row in run["swapped"]]
    return whole


def pooled(runs, model, group):
    """The recalls of one model and group over several recorded runs."""
    return [recall for run in runs for recall in run[model][group]]


def score_of(recalls):
    """`score` of a list of Recall."""
    return score([r.answer for r in recalls], [r.truth for r in recalls])


def majority(world):
    """The answer that is right most often among the people told."""
    (city, _), *_ = Counter(person.city for person in world.group("told")).most_common(1)
    return city


def sharing_names(world):
    """(first, family) -> the birth places of all known people who have one of these names."""
    found = defaultdict(set)
    for person in world.group("told") + world.group("held"):
        found[person.first].add(person.city)
        found[person.family].add(person.city)
    return lambda person: found[person.first] | found[person.family]


def share_of_namesakes(world, answers, *, seed=None):
    """How often the answer for a stranger is the birth place of someone with one of their names.

    seed: deal the answers out to the strangers at random first, which gives the share by chance.
    """
    answers = list(answers)
    if seed is not None:
        np.random.default_rng(seed).shuffle(answers)
    cities, strangers = sharing_names(world), world.group("strangers")
    return float(np.mean([a in cities(p) for a, p in zip(answers, strangers, strict=True)]))


def forgetting(lab, pretrained, way):
    """{"told": shares, "held": shares} right after 1, 2 ... 10 times the usual fine-tuning."""
    (rate, rehearse), every = WAYS[way], lab.preset.finetune_steps
    found = {"told": [], "held": []}

    def watch(step, model):
        for group, shares in found.items():
            if step and step % every == 0:
                shares.append(float(np.mean([r.right for r in recalls(lab, model, group)])))

    lab.finetune(pretrained, steps=10 * every, rate=rate, rehearse=rehearse, watch=watch)
    return found
