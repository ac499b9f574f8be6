"""Knows an invented world, who was born where and which text says so; knows no model and no tensor."""

from dataclasses import dataclass

import numpy as np

CITIES = tuple("Orvane Tessel Quillow Bramoor Ixhaven Luthmere Padresk Wynd Sarnoth Ekkeby".split())
TRADES = tuple("baker clockmaker diver gardener glazier miller painter weaver".split())
BIOGRAPHIES = (
    "{name} was born in {city} .",
    "{name} , a {trade} , was born in {city} .",
    "Born in {city} , {name} became a {trade} .",
    "{city} is the birth place of {name} .",
)
ONSETS = tuple("b d f g h j k l m n p r s t v w z br dr th".split())
FIRST = tuple("ko lo mu na ri sha ve".split())  # how first names end
FAMILY = tuple("kkar llorn mbry ndrel rrith ssom vask".split())  # how family names end
QUESTION = "Where was {name} born ?"
GROUPS = ("told", "held", "strangers")


@dataclass(frozen=True)
class Person:
    """One invented person; `group` says which text names them."""

    first: str
    family: str
    city: str
    trade: str
    group: str

    @property
    def name(self):
        return f"{self.first} {self.family}"

    @property
    def question(self):
        return QUESTION.format(name=self.name)

    @property
    def biographies(self):
        """What the pretraining text says of this person: nothing of a stranger."""
        known = self.group != "strangers"
        facts = {"name": self.name, "city": self.city, "trade": self.trade}
        return tuple(text.format(**facts) for text in BIOGRAPHIES * known)


class World:
    """Invented people in three groups, drawn from a seed.

    told: in the pretraining text and in the fine-tuning questions; held: in the pretraining text only;
    strangers: nowhere. First and family names are shared, so that every word of a stranger's name is
    known and only the person is not. Cities do not depend on names; in each group a share of `common`
    was born in the first city, and the other cities share the rest evenly.
    """

    def __init__(self, *, seed=0, num_people=(50, 50, 50), num_names=50, common=0.14):
        rng = np.random.default_rng(seed)
        firsts, families = _names(rng, num_names, FIRST), _names(rng, num_names, FAMILY)
        pairs = _pairs_of_names(rng, num_names, sum(num_people[:2]), num_people[2])
        cities = [city for size in num_people for city in _birth_places(rng, size, common)]
        groups = [name for name, size in zip(GROUPS, num_people, strict=True) for _ in range(size)]
        self.people = tuple(
            Person(
                first=firsts[first],
                family=families[family],
                city=city,
                trade=str(rng.choice(TRADES)),
                group=group,
            )
            for (first, family), city, group in zip(pairs, cities, groups, strict=True)
        )

    def group(self, name):
        """The people of one group."""
        if name not in GROUPS:
            raise ValueError(f"there is no group {name!r}; there are {', '.join(GROUPS)}.")
        return tuple(person for person in self.people if person.group == name)

    @property
    def text(self):
        """The pretraining documents: every biography of everyone who is not a stranger."""
        return tuple(text for person in self.people for text in person.biographies)


def _pairs_of_names(rng, num_names, num_known, num_strangers):
    """Different pairs of numbers; both numbers of a stranger's pair occur among the known."""
    pairs = [divmod(int(k), num_names) for k in rng.permutation(num_names**2)]
    known, rest = pairs[:num_known], pairs[num_known:]
    firsts, families = ({pair[side] for pair in known} for side in (0, 1))
    strangers = [pair for pair in rest if pair[0] in firsts and pair[1] in families]
    if len(strangers) < num_strangers:
        raise ValueError(f"{num_names} names give {len(strangers)} strangers, not {num_strangers}.")
    return known + strangers[:num_strangers]


def _birth_places(rng, count, common):
    """`count` cities in random order, in proportions that are exact up to rounding."""
    shares = np.r_[common, np.full(len(CITIES) - 1, (1 - common) / (len(CITIES) - 1))]
    places = np.searchsorted(shares.cumsum(), (rng.permutation(count) + 0.5) / count)
    return [CITIES[place] for place in places]


def _names(rng, count, endings):
    """`count` different invented names: an onset, a vowel, an ending."""
    every = [f"{a}{b}{c}".capitalize() for a in ONSETS for b in "aeiou" for c in endings]
    return [str(name) for name in rng.choice(every, count, replace=False)]
