"""Invented scenes: drawn at random, and told in German and in English, word linked to word.

The same seed draws the same scenes. A clause is built as a list of (word, keys): two words translate each
other if they share a key.
"""

import random
from typing import Any, NamedTuple

from attn_course.translation.lexicon import (
    ADJECTIVES,
    CONJUNCTIONS,
    MODALS,
    NOUNS,
    PLACES,
    TIMES,
    VERBS,
    Noun,
    Verb,
)

Tagged = tuple[str, set]  # a word and its keys
Words = list[Tagged]

COMMA: Tagged = (",", set())
FEW = {"zwei": "two", "drei": "three", "vier": "four"}
# Columns m, f, n, plural; "-" where the form does not exist.
DETERMINERS = {
    "der": {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den"},
    "ein": {"nom": "ein eine ein -", "acc": "einen eine ein -", "dat": "einem einer einem -"},
}
ENDINGS = {
    "der": {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"},
    "ein": {"nom": "er e es -", "acc": "en e es -", "dat": "en en en -"},
    "few": {"nom": "- - - e", "acc": "- - - e", "dat": "- - - en"},
}
CONTRACTIONS = {("in", "dem"): "im", ("an", "dem"): "am"}
PLURAL_AUXILIARY = {"hat": "haben", "ist": "sind"}


class ToldScene(NamedTuple):
    """A sentence in both languages, and its gold links: pairs (English word, German word) of positions.

    Words are counted from 0, and every punctuation mark is a word.
    """

    german: str
    english: str
    links: frozenset


class Phrase(NamedTuple):
    """A noun phrase: "der", "ein" or a numeral; a row of ADJECTIVES or None; a Noun; singular or plural."""

    determiner: str
    adjective: tuple | None
    noun: Noun
    plural: bool

    @property
    def shows_its_case(self) -> bool:
        """Return True if its accusative cannot be taken for a nominative."""
        masculine = self.noun.gender == "m" and not self.plural
        return masculine and self.determiner == "der"

    def _pick(self, table, case):
        column = 3 if self.plural else "mfn".index(self.noun.gender)
        return table[case].split()[column]

    def german(self, case: str) -> list[str]:
        """Return [determiner, (adjective,) noun], declined."""
        kind = self.determiner
        words = [kind]
        if kind in FEW:
            kind = "few"
        else:
            words = [self._pick(DETERMINERS[kind], case)]
        if self.adjective:
            stem = self.adjective[0]
            words.append(stem + self._pick(ENDINGS[kind], case))
        words.append(decline(self.noun, case, self.plural))
        return words

    def english(self) -> list[str]:
        """Return [determiner, (adjective,) noun]."""
        words = []
        if self.adjective:
            words.append(self.adjective[1])
        noun = self.noun
        words.append(noun.english_plural if self.plural else noun.english)
        is_vowel = words[0][0] in "aeiou"
        articles = {"der": "the", "ein": "an" if is_vowel else "a", **FEW}
        return [articles[self.determiner], *words]


def decline(noun: Noun, case: str, plural: bool) -> str:
    """Return the noun in its case and number, such as Hunden."""
    if not plural:
        weak = noun.weak if case != "nom" else ""
        return noun.german + weak
    if case == "dat" and noun.plural[-1] not in "ns":
        return noun.plural + "n"
    return noun.plural


def tag(words: list[str], name: Any) -> Words:
    """Return [(word, keys)]; words at the same position under the same name mean the same."""
    last = len(words) - 1
    tagged = []
    for i, word in enumerate(words):
        part = "adj"
        if i == 0:
            part = "det"
        if i == last:
            part = "noun"
        tagged.append((word, {(name, part)}))
    return tagged


class Clause(NamedTuple):
    """One event, told in either language; `name` keeps its keys apart from those of another clause."""

    name: str
    verb: Verb
    tense: str  # "present", "past", or the German infinitive of a modal verb
    subject: Phrase
    objects: dict  # case -> Phrase
    time: list | None
    place: Any  # None, or ((German preposition, English preposition), Phrase)
    relative: "Clause | None" = None  # what else the subject is doing

    def key(self, part: str) -> tuple[str, str]:
        return (self.name, part)

    def german(self, front: str | None = None) -> Words:
        """Return [(word, keys)] with `front` before the verb, or with the verb at the end if it is None."""
        parts = self._german_parts()
        finite, tail = self._german_verb()
        words = []
        if front:
            words = [*parts.pop(front), finite]
        for part in parts.values():
            words += part
        if front:
            return words + tail
        if self.tense == "present" and tail:  # a separable verb closes up
            particle, more = tail[0]
            verb, keys = finite
            return [*words, (particle + verb, more | keys)]
        return [*words, *tail, finite]

    def _german_parts(self):
        """All but the verb, in the order of a German clause."""
        parts = {"subject": self._german_subject()}
        if "dat" in self.objects:
            parts["dat"] = tag(self.objects["dat"].german("dat"), self.key("dat"))
        if self.time:
            words = enumerate(self.time)
            parts["time"] = [(word, {self.key(f"time {i}")}) for i, (word, _) in words]
        if self.place:
            parts["place"] = self._german_place()
        if "acc" in self.objects:
            parts["acc"] = tag(self.objects["acc"].german("acc"), self.key("acc"))
        return parts

    def _german_subject(self):
        words = tag(self.subject.german("nom"), self.key("subject"))
        if self.relative:
            phrase = self.subject._replace(determiner="der", adjective=None)
            pronoun = phrase.german("nom")[0]
            predicate = self.relative.german()[len(words) :]  # its subject is this one
            words += [COMMA, (pronoun, {self.key("who")}), *predicate, COMMA]
        return words

    def _german_place(self):
        (preposition, _), phrase = self.place
        where = {self.key("where")}
        first, *rest = tag(phrase.german("dat"), self.key("place"))
        article, keys = first
        short = CONTRACTIONS.get((preposition, article))
        if short:
            return [(short, where | keys), *rest]
        return [(preposition, where), first, *rest]

    def _german_verb(self):
        """The finite verb, and what stands at the end of a main clause."""
        verb = self.verb
        plural = self.subject.plural
        act = {self.key("act")}
        more = {self.key("particle")}
        if self.tense == "present":
            finite = verb.infinitive if plural else verb.singular
            tail = [(verb.particle, more)] if verb.particle else []
            return (finite, act), tail
        if self.tense == "past":
            finite = verb.auxiliary
            if plural:
                finite = PLURAL_AUXILIARY[finite]
            last = verb.participle
        else:
            singular, _, _ = MODALS[self.tense]
            finite = self.tense if plural else singular
            last = verb.particle + verb.infinitive
        auxiliary = {self.key("auxiliary")}
        return (finite, auxiliary), [(last, act | more)]

    def english(self, *, time_first: bool = False) -> Words:
        """Return [(word, keys)]: subject, verb, objects, place, and the time first or last."""
        words = self._english_subject()
        words += self._english_verb()
        words += self._english_objects()
        if self.place:
            (_, preposition), phrase = self.place
            words.append((preposition, {self.key("where")}))
            words += tag(phrase.english(), self.key("place"))
        time = []
        for i, (_, text) in enumerate(self.time or []):
            keys = {self.key(f"time {i}")}
            time += [(word, keys) for word in text.split()]
        return time + words if time_first else words + time

    def _english_subject(self):
        words = tag(self.subject.english(), self.key("subject"))
        if self.relative:
            person = "person" in self.subject.noun.kinds
            predicate = self.relative.english()[len(words) :]  # its subject is this one
            words += [("who" if person else "that", {self.key("who")}), *predicate]
        return words

    def _english_verb(self):
        verb = self.verb
        plural = self.subject.plural
        act = {self.key("act")}
        more = {self.key("particle")}
        auxiliary = {self.key("auxiliary")}
        split = verb.follow and verb.particle
        whole = act if split else act | more
        if self.tense == "present":
            be = "are" if plural else "is"
            words = [(be, act), (verb.ing, whole)]
        elif self.tense == "past":
            words = [(verb.past, whole | auxiliary)]
        else:
            _, singular, several = MODALS[self.tense]
            modal = several if plural else singular
            words = [(word, auxiliary) for word in modal.split()]
            words.append((verb.english, whole))
        if verb.follow:
            meant = more if verb.particle else act
            words.append((verb.follow, meant))
        return words

    def _english_objects(self):
        """The thing, and then to whom; "to" belongs to the article after it."""
        words: Words = []
        for case in ("acc", "dat"):
            if case in self.objects:
                phrase = tag(self.objects[case].english(), self.key(case))
                if words:
                    _, keys = phrase[0]
                    words.append(("to", keys))
                words += phrase
        return words


# How scenes are drawn

KINDS = ("simple", "simple", "relative", "after", "before")


def draw(num_scenes: int, seed: int) -> list[ToldScene]:
    """Return different scenes in a random order."""
    rng = random.Random(seed)
    scenes: dict[str, ToldScene] = {}
    while len(scenes) < num_scenes:
        scene = _scene(rng)
        scenes[scene.german] = scene
    return list(scenes.values())


def _phrase(rng, noun, *, plural):
    fitting = [row for row in ADJECTIVES if set(row[2]) & set(noun.kinds)]
    adjective = None
    if rng.random() < 0.5:
        adjective = rng.choice(fitting)
    determiners = ["der", *FEW] if plural else ["der", "ein"]
    return Phrase(rng.choice(determiners), adjective, noun, plural)


def _of_kind(rng, kind, *, but=None):
    """A phrase about a noun of the kind, never about the noun `but`."""
    nouns = [noun for noun in NOUNS if kind in noun.kinds]
    if but in nouns:
        nouns.remove(but)
    noun = rng.choice(nouns)
    plural = rng.random() < 0.3
    return _phrase(rng, noun, plural=plural)


def _place(rng):
    noun, ways = rng.choice(PLACES)
    way = tuple(rng.choice(ways))
    return way, _phrase(rng, noun, plural=False)


def _clause(
    rng,
    name,
    *,
    verbs=VERBS,
    subject=None,
    adverbs=0.4,
    tense=None,
):
    verb = rng.choice(verbs)
    if subject is None:
        subject = _of_kind(rng, "person" if verb.objects else "being")
    if tense is None:
        tense = rng.choice(["present", "present", "past", rng.choice(list(MODALS))])
    objects = {}
    for case, kind in verb.objects:
        objects[case] = _of_kind(rng, kind, but=subject.noun)
    return Clause(
        name=name,
        verb=verb,
        tense=tense,
        subject=subject,
        objects=objects,
        time=rng.choice(TIMES) if rng.random() < adverbs else None,
        place=_place(rng) if rng.random() < adverbs else None,
    )


def _front(rng, clause):
    """What stands before the verb: the subject, an adverbial, or an object that its case gives away."""
    fronts = ["subject"]
    if clause.time:
        fronts.append("time")
    if clause.place:
        fronts.append("place")
    acc = clause.objects.get("acc")
    if acc and acc.shows_its_case:
        fronts.append("acc")
    return rng.choice(fronts)


def _scene(rng):
    kind = rng.choice(KINDS)
    main = _clause(rng, "main")
    if kind == "relative":
        verbs = VERBS
        if "animal" in main.subject.noun.kinds:  # animals do nothing to others
            verbs = [verb for verb in VERBS if not verb.objects]
        inner = _clause(rng, "inner", subject=main.subject, verbs=verbs, adverbs=0.2)
        main = main._replace(relative=inner)
    front = _front(rng, main)
    if kind in ("after", "before"):
        return _joined(rng, main, first=kind == "before")
    return finish(
        main.german(front),
        main.english(time_first=front == "time"),
    )


def _joined(rng, main, *, first):
    """A main clause and one with its verb at the end, the latter first or last."""
    german, english = rng.choice(CONJUNCTIONS)
    main = main._replace(time=None)
    tense = None
    if german == "während":  # two events at once are told in one tense
        tense = "present"
        main = main._replace(tense=tense)
    other = _clause(rng, "other", tense=tense)
    german_side = [(german, {"conjunction"}), *other.german()]
    english_side = [(english, {"conjunction"}), *other.english()]
    if first:
        comma = (",", {"comma"})
        words = main.german("subject")
        verb = words.pop(len(main.subject.german("nom")))  # the first clause stands before it
        return finish(
            [*german_side, comma, verb, *words],
            [*english_side, comma, *main.english()],
        )
    return finish(
        [*main.german("subject"), COMMA, *german_side],
        [*main.english(), *english_side],
    )


def finish(german: Words, english: Words) -> ToldScene:
    """Return the scene of two tagged sentences, with full stops, capitals and links."""
    stop = (".", {"stop"})
    german = [*german, stop]
    english = [*english, stop]
    links = set()
    for i, (_, ours) in enumerate(english):
        for j, (_, theirs) in enumerate(german):
            if ours & theirs:
                links.add((i, j))
    return ToldScene(
        german=_written(german),
        english=_written(english),
        links=frozenset(links),
    )


def _written(words):
    """The sentence as it is read, with a capital and no blank before a mark."""
    text = " ".join(word for word, _ in words)
    text = text.replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]
