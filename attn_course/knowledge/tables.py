"""Lines and numbers about recalls that notebook 08 prints and draws."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from attn_course.knowledge import findings
from attn_course.knowledge.experiment import Lab
from attn_course.knowledge.findings import Recall
from attn_course.knowledge.model import LanguageModel
from attn_course.knowledge.world import CITIES, GROUPS, World

Score = Callable[[Sequence[str], Sequence[str]], tuple[float, float, float]]
FEWEST = 5  # answers at a level, below which its share says nothing


def of_models(lab: Lab, models: Mapping[str, LanguageModel], score: Score) -> str:
    """Return a line for each group and model, the majority first: share of right answers, its interval.

    score: (answers, truths) -> (share, low, high).
    """
    common = findings.majority(lab.world)
    lines = []
    for group in GROUPS:
        truths = [person.city for person in lab.world.group(group)]
        answers_by_model = {"majority": [common] * len(truths)}
        for name, model in models.items():
            asked = findings.recalls(lab, model, group)
            answers_by_model[name] = [recall.answer for recall in asked]
        for name, answers in answers_by_model.items():
            share, low, high = score(answers, truths)
            interval = f"({low:.0%} to {high:.0%})"
            lines.append(f"{group:10} {name:15} {share:5.0%}   {interval}")
    return "\n".join(lines)


def of_seeds(runs: Iterable[dict]) -> str:
    """Return a line for each recorded run and model: the share of right answers in each group."""
    lines = []
    for run in runs:
        for name in ("no pretraining", "pretrained"):
            line = f"seed {run['seed']}, {name:15}"
            for group in GROUPS:
                asked = run[name][group]
                share, _, _ = findings.score_of(asked)
                line += f"   {group} {share:4.0%}"
            lines.append(line)
    return "\n".join(lines)


def calibration(recalls: Sequence[Recall], num_levels: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of right answers at each level of probability.

    Returns the middles of the levels and the shares, both (num_levels,); nan where answers are too few.
    """
    edges = np.linspace(0, 1, num_levels + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    inner = edges[1:-1]
    confidences = [recall.confidence for recall in recalls]
    levels = np.digitize(confidences, inner)
    hits = np.array([recall.right for recall in recalls])
    shares = np.full(num_levels, np.nan)
    for level in range(num_levels):
        at_level = hits[levels == level]
        if len(at_level) >= FEWEST:
            shares[level] = at_level.mean()
    return middles, shares


def namesakes(run: dict, num_deals: int = 1000) -> tuple[float, float]:
    """Return the share of answers of a recorded run that name a namesake's city, and that share by chance.

    The chance is the mean over deals of the same answers to the strangers at random.
    """
    cities = findings.cities_of_namesakes(World(seed=run["seed"]))
    answers = [recall.answer for recall in run["pretrained"]["strangers"]]
    shares = []
    for seed in range(num_deals):
        dealt = list(answers)
        np.random.default_rng(seed).shuffle(dealt)
        shares.append(_share_inside(dealt, cities))
    return _share_inside(answers, cities), float(np.mean(shares))


def _share_inside(answers, sets):
    """Return the share of answers that are in the set beside them."""
    return float(np.mean([answer in cities for answer, cities in zip(answers, sets, strict=True)]))


def no_cities(runs: Iterable[dict]) -> list[str]:
    """Return a line for each answer about a stranger that is no city: seed, person, answer."""
    lines = []
    for run in runs:
        seed = run["seed"]
        people = World(seed=seed).group("strangers")
        recalls = run["pretrained"]["strangers"]
        for person, recall in zip(people, recalls, strict=True):
            if recall.answer in CITIES:
                continue
            lines.append(f"seed {seed}, {person.name:14} {recall.answer!r}")
    return lines
