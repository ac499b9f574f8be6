"""How the invented scenes are told in German and in English, word linked to word.

A clause is built as a list of (word, keys): two words translate each other if they share a key.
"""

from typing import Any, NamedTuple

from attn_course.translation.lexicon import MODALS, Noun, Verb

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
        """Whether its accusative cannot be taken for a nominative."""
        masculine = self.noun.gender == "m" and not self.plural
        return masculine and self.determiner == "der"

    def _pick(self, table, case):
        column = 3 if self.plural else "mfn".index(self.noun.gender)
        return table[case].split()[column]

    def german(self, case: str) -> list[str]:
        """[determiner, (adjective,) noun], declined."""
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
        """[determiner, (adjective,) noun]."""
        words = []
        if self.adjective:
            words.append(self.adjective[1])
        noun = self.noun
        words.append(noun.english_plural if self.plural else noun.english)
        is_vowel = words[0][0] in "aeiou"
        articles = {"der": "the", "ein": "an" if is_vowel else "a", **FEW}
        return [articles[self.determiner], *words]


def decline(noun: Noun, case: str, plural: bool) -> str:
    """The noun in its case and number, e.g. Hunden."""
    if not plural:
        weak = noun.weak if case != "nom" else ""
        return noun.german + weak
    if case == "dat" and noun.plural[-1] not in "ns":
        return noun.plural + "n"
    return noun.plural


def tag(words: list[str], name: Any) -> Words:
    """Words -> [(word, keys)]; the same position under the same name means the same thing."""
    last = len(words) - 1
    tagged = []
    for i, word in enumerate(words):
        place = "adj"
        if i == 0:
            place = "det"
        if i == last:
            place = "noun"
        tagged.append((word, {(name, place)}))
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
        """[(word, keys)] with `front` before the verb, or with the verb at the end if it is None."""
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
        """[(word, keys)]: subject, verb, objects, place, and the time first or last."""
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
