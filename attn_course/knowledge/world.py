"""An invented world: who was born where, and which text says so."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from attn_course.errors import UserError

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
COMMON = 0.14  # the share of people who were born in the first city


@dataclass(frozen=True)
class Person:
    """One invented person; `group` says which text names them."""

    first: str
    family: str
    city: str
    trade: str
    group: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.family}"

    @property
    def question(self) -> str:
        return QUESTION.format(name=self.name)

    @property
    def biographies(self) -> tuple[str, ...]:
        """Return the documents on this person in the pretraining text; none for a stranger."""
        if self.group == "strangers":
            return ()
        facts = {"name": self.name, "city": self.city, "trade": self.trade}
        return tuple(text.format(**facts) for text in BIOGRAPHIES)


class World:
    """Invented people in three groups, drawn from a seed.

    told: in the pretraining text and in the fine-tuning questions; held: in the pretraining text only;
    strangers: nowhere. First and family names are shared, so that every word of a stranger's name is
    known and only the person is not. Cities do not depend on names; in each group a share of COMMON
    was born in the first city, and the other cities share the rest evenly.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        num_people: tuple[int, int, int] = (50, 50, 50),
        num_names: int = 50,
    ) -> None:
        rng = np.random.default_rng(seed)
        firsts = _names(rng, num_names, FIRST)
        families = _names(rng, num_names, FAMILY)
        num_told, num_held, num_strangers = num_people
        pairs = _pairs_of_names(rng, num_names, num_told + num_held, num_strangers)
        cities = []
        groups = []
        for name, size in zip(GROUPS, num_people, strict=True):
            cities += _birth_places(rng, size)
            groups += [name] * size
        people = []
        for (first, family), city, group in zip(pairs, cities, groups, strict=True):
            person = Person(
                first=firsts[first],
                family=families[family],
                city=city,
                trade=str(rng.choice(TRADES)),
                group=group,
            )
            people.append(person)
        self.people = tuple(people)

    def group(self, name: str) -> tuple[Person, ...]:
        """Return the people of one group."""
        if name not in GROUPS:
            names = ", ".join(GROUPS)
            raise UserError(f"there is no group {name!r}; there are {names}.")
        return tuple(person for person in self.people if person.group == name)

    @property
    def text(self) -> tuple[str, ...]:
        """Return the pretraining documents: every biography of everyone who is not a stranger."""
        return tuple(text for person in self.people for text in person.biographies)


def _pairs_of_names(rng, num_names, num_known, num_strangers):
    """Draw different pairs of numbers; both numbers of a stranger's pair occur among the known pairs."""
    pairs = [divmod(int(k), num_names) for k in rng.permutation(num_names**2)]
    named = pairs[:num_known]
    firsts = {first for first, _ in named}
    families = {family for _, family in named}
    strangers = [pair for pair in pairs[num_known:] if pair[0] in firsts and pair[1] in families]
    if len(strangers) < num_strangers:
        raise UserError(f"{num_names} names give {len(strangers)} strangers, not {num_strangers}.")
    return named + strangers[:num_strangers]


def _birth_places(rng, count):
    """Draw `count` cities in random order, in proportions that are exact up to rounding."""
    num_others = len(CITIES) - 1
    shares = np.full(len(CITIES), (1 - COMMON) / num_others)
    shares[0] = COMMON
    ends = np.cumsum(shares)
    quantiles = (rng.permutation(count) + 0.5) / count
    places = np.searchsorted(ends, quantiles)
    return [CITIES[k] for k in places]


def _names(rng, count, endings):
    """Draw `count` different invented names: an onset, a vowel, an ending."""
    every = ["".join(parts).capitalize() for parts in product(ONSETS, "aeiou", endings)]
    return rng.choice(every, count, replace=False).tolist()
