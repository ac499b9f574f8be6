"""Knows how the invented scenes are told in German and in English, word linked to word; knows no model.

A clause is built as a list of (word, keys): two words translate each other if they share a key.
"""

from typing import NamedTuple

from attn_course.translation.lexicon import MODALS, Noun, Verb

COMMA = (",", set())

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


class Scene(NamedTuple):
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

    def _pick(self, table, case):
        return table[case].split()[3 if self.plural else "mfn".index(self.noun.gender)]

    def german(self, case):
        """[determiner, (adjective,) noun], declined."""
        few = self.determiner in FEW
        words = [self.determiner if few else self._pick(DETERMINERS[self.determiner], case)]
        if self.adjective:
            ending = self._pick(ENDINGS["few" if few else self.determiner], case)
            words.append(self.adjective[0] + ending)
        return [*words, decline(self.noun, case, self.plural)]

    def english(self):
        """[determiner, (adjective,) noun]."""
        words = [self.adjective[1]] if self.adjective else []
        words.append(self.noun.english_plural if self.plural else self.noun.english)
        article = {"der": "the", "ein": "an" if words[0][0] in "aeiou" else "a"}
        return [(article | FEW)[self.determiner], *words]


def decline(noun, case, plural):
    """The noun in its case and number, e.g. Hunden."""
    if not plural:
        return noun.german + (noun.weak if case != "nom" else "")
    return noun.plural + ("n" if case == "dat" and noun.plural[-1] not in "ns" else "")


def tag(words, name):
    """Words -> [(word, keys)]; the same position under the same name means the same thing."""
    last = len(words) - 1
    places = ["det", *["adj"] * (last - 1), "noun"]
    return [(word, {(name, place)}) for word, place in zip(words, places, strict=True)]


class Clause(NamedTuple):
    """One event, told in either language; `name` keeps its keys apart from those of another clause."""

    name: str
    verb: Verb
    tense: str  # "present", "past", or the German infinitive of a modal verb
    subject: Phrase
    objects: dict  # case -> Phrase
    time: list | None
    place: tuple | None  # (German preposition, English preposition), Phrase
    relative: "Clause | None" = None  # what else the subject is doing

    def key(self, part):
        return (self.name, part)

    def german(self, front=None):
        """[(word, keys)] with `front` before the verb, or with the verb at the end if it is None."""
        parts = {"subject": self._german_subject()}
        if "dat" in self.objects:
            parts["dat"] = tag(self.objects["dat"].german("dat"), self.key("dat"))
        if self.time:
            parts["time"] = [
                (word, {(self.key("time"), i)}) for i, (word, _) in enumerate(self.time)
            ]
        if self.place:
            parts["place"] = self._german_place()
        if "acc" in self.objects:
            parts["acc"] = tag(self.objects["acc"].german("acc"), self.key("acc"))
        finite, tail = self._german_verb()
        first = [*parts.pop(front), finite] if front else []
        rest = [word for part in parts.values() for word in part]
        return first + rest + (tail if front else self._at_the_end(finite, tail))

    def _german_subject(self):
        words = tag(self.subject.german("nom"), self.key("subject"))
        if self.relative:
            phrase = self.subject._replace(determiner="der", adjective=None)
            pronoun = (phrase.german("nom")[0], {self.key("who")})
            words += [COMMA, pronoun, *self.relative.german_predicate(), COMMA]
        return words

    def german_predicate(self):
        """All but the subject, verb at the end."""
        return self.german()[len(self.subject.german("nom")) :]

    def _german_place(self):
        (preposition, _), phrase = self.place
        words = tag(phrase.german("dat"), self.key("place"))
        short = CONTRACTIONS.get((preposition, words[0][0]))
        if short:
            return [(short, {self.key("where"), *words[0][1]}), *words[1:]]
        return [(preposition, {self.key("where")}), *words]

    def _german_verb(self):
        """The finite verb, and what stands at the end of a main clause."""
        verb, act, more, aid = (
            self.verb,
            self.key("act"),
            self.key("particle"),
            self.key("auxiliary"),
        )
        if self.tense == "present":
            finite = verb.infinitive if self.subject.plural else verb.singular
            return (finite, {act}), [(verb.particle, {more})] if verb.particle else []
        if self.tense == "past":
            auxiliary = {"hat": "haben", "ist": "sind"}[verb.auxiliary]
            finite = auxiliary if self.subject.plural else verb.auxiliary
            return (finite, {aid}), [(verb.participle, {act, more})]
        finite = self.tense if self.subject.plural else MODALS[self.tense][0]
        return (finite, {aid}), [(verb.particle + verb.infinitive, {act, more})]

    def _at_the_end(self, finite, tail):
        """A separable verb in the present closes up; any other finite verb comes last."""
        if self.tense == "present" and tail:
            return [(tail[0][0] + finite[0], tail[0][1] | finite[1])]
        return [*tail, finite]

    def english(self, *, time_first=False):
        """[(word, keys)]: subject, verb, objects, place, and the time first or last."""
        time = [
            (word, {(self.key("time"), i)})
            for i, (_, words) in enumerate(self.time or [])
            for word in words.split()
        ]
        words = tag(self.subject.english(), self.key("subject"))
        if self.relative:
            pronoun = "who" if "person" in self.subject.noun.kinds else "that"
            words += [(pronoun, {self.key("who")}), *self.relative.english_predicate()]
        words += self._english_verb() + self._english_objects()
        if self.place:
            words += [(self.place[0][1], {self.key("where")})]
            words += tag(self.place[1].english(), self.key("place"))
        return time + words if time_first else words + time

    def english_predicate(self):
        """All but the subject."""
        return self.english()[len(self.subject.english()) :]

    def _english_verb(self):
        verb, act, aid = self.verb, self.key("act"), self.key("auxiliary")
        more = self.key("particle")
        whole = {act} if verb.follow and verb.particle else {act, more}
        if self.tense == "present":
            words = [("are" if self.subject.plural else "is", {act}), (verb.ing, whole)]
        elif self.tense == "past":
            words = [(verb.past, whole | {aid})]
        else:
            modal = MODALS[self.tense][2 if self.subject.plural else 1]
            words = [(word, {aid}) for word in modal.split()] + [(verb.english, whole)]
        return words + ([(verb.follow, {more if verb.particle else act})] if verb.follow else [])

    def _english_objects(self):
        phrases = {
            case: tag(phrase.english(), self.key(case)) for case, phrase in self.objects.items()
        }
        if len(phrases) == 2:
            to = ("to", phrases["dat"][0][1])
            return [*phrases["acc"], to, *phrases["dat"]]
        return [word for phrase in phrases.values() for word in phrase]
