"""What is measured on a trained model, and against what. Trains nothing but for forgetting."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attn_course.knowledge.lab import Lab
from attn_course.knowledge.model import LanguageModel
from attn_course.knowledge.world import QUESTION, Person, World
from attn_course.refusals import BadRun

RUNS = Path(__file__).parents[2] / "solutions" / "runs"
WAYS = {  # of fine-tuning for ten times as long as needed: rate, biographies in each batch
    "gentle": (5e-4, 0),
    "harsh": (3e-3, 0),
    "harsh, with rehearsal": (3e-3, 64),
}
Z = 1.959964  # of a normal distribution, 95% lies within so many standard deviations


class Recall(NamedTuple):
    """Where a person was born, what the model said, and the probability it gave to that."""

    truth: str
    answer: str
    confidence: float

    @property
    def right(self) -> bool:
        return self.answer == self.truth


def recalls(lab: Lab, model: LanguageModel, group: str, *, swapped: bool = False) -> list[Recall]:
    """One Recall for each person of a group; swapped: the family name is asked for first."""
    people = lab.world.group(group)
    questions = []
    for person in people:
        name = f"{person.family} {person.first}" if swapped else person.name
        questions.append(QUESTION.format(name=name))
    replies = lab.ask(model, questions)
    return [Recall(person.city, *reply) for person, reply in zip(people, replies, strict=True)]


def score(answers: Sequence[str], truths: Sequence[str]) -> tuple[float, float, float]:
    """The share of right answers and its 95% interval after Wilson: (share, low, high)."""
    n = len(truths)
    right = [answer == truth for answer, truth in zip(answers, truths, strict=True)]
    share = float(np.mean(right))
    shrink = 1 + Z**2 / n
    middle = (share + Z**2 / (2 * n)) / shrink
    variance = share * (1 - share) / n + Z**2 / (4 * n**2)
    half = Z * np.sqrt(variance) / shrink
    return share, float(middle - half), float(middle + half)


def recorded(name: str) -> dict[str, Any]:
    """A recorded run, solutions/runs/NAME.json, its answers as Recall again."""
    path = RUNS / f"{name}.json"
    if not path.exists():
        raise BadRun(f"there is no recorded run solutions/runs/{path.name}.")
    whole = json.loads(path.read_text("utf-8"))
    for run in whole["runs"]:
        for model in ("no pretraining", "pretrained"):
            for group, rows in run[model].items():
                run[model][group] = _recalls(rows)
        run["swapped"] = _recalls(run["swapped"])
    return whole


def _recalls(rows: list[list]) -> list[Recall]:
    return [Recall(*row) for row in rows]


def pooled(runs: Iterable[dict], model: str, group: str) -> list[Recall]:
    """The recalls of one model and group over several recorded runs."""
    return [recall for run in runs for recall in run[model][group]]


def score_of(recalls: Sequence[Recall]) -> tuple[float, float, float]:
    """`score` of a list of Recall."""
    answers = [recall.answer for recall in recalls]
    truths = [recall.truth for recall in recalls]
    return score(answers, truths)


def majority(world: World) -> str:
    """The answer that is right most often among the people told."""
    counts = Counter(person.city for person in world.group("told"))
    city, _ = counts.most_common(1)[0]
    return city


def sharing_names(world: World) -> Callable[[Person], set[str]]:
    """A function: person -> the birth places of all known people who have one of their names."""
    found = defaultdict(set)
    for person in world.group("told") + world.group("held"):
        found[person.first].add(person.city)
        found[person.family].add(person.city)
    return lambda person: found[person.first] | found[person.family]


def share_of_namesakes(world: World, answers: Iterable[str], *, seed: int | None = None) -> float:
    """How often the answer for a stranger is the birth place of someone with one of their names.

    seed: deal the answers out to the strangers at random first, which gives the share by chance.
    """
    dealt = list(answers)
    if seed is not None:
        np.random.default_rng(seed).shuffle(dealt)
    cities = sharing_names(world)
    strangers = world.group("strangers")
    hits = [answer in cities(person) for answer, person in zip(dealt, strangers, strict=True)]
    return float(np.mean(hits))


def forgetting(lab: Lab, pretrained: LanguageModel, way: str) -> dict[str, list[float]]:
    """{"told": shares, "held": shares} right after 1, 2 ... 10 times the usual fine-tuning."""
    rate, rehearse = WAYS[way]
    every = lab.preset.finetune_steps
    found: dict[str, list[float]] = {"told": [], "held": []}

    def watch(step: int, model: LanguageModel) -> None:
        if step == 0 or step % every:
            return
        for group, shares in found.items():
            right = [recall.right for recall in recalls(lab, model, group)]
            shares.append(float(np.mean(right)))

    lab.finetune(pretrained, steps=10 * every, rate=rate, rehearse=rehearse, watch=watch)
    return found
