"""Knows how to draw random scenes, the same ones for the same seed; knows no rule of either language."""

import random

from attn_course.translation.grammar import COMMA, FEW, Clause, Phrase, Scene
from attn_course.translation.lexicon import (
    ADJECTIVES,
    CONJUNCTIONS,
    MODALS,
    NOUNS,
    PLACES,
    TIMES,
    VERBS,
)


def draw(num_scenes, seed):
    """A list of different Scenes."""
    rng, scenes = random.Random(seed), {}
    while len(scenes) < num_scenes:
        scene = _scene(rng)
        scenes[scene.german] = scene
    return list(scenes.values())


def _phrase(rng, noun, *, plural):
    fitting = [a for a in ADJECTIVES if set(a[2]) & set(noun.kinds)]
    adjective = rng.choice(fitting) if rng.random() < 0.5 else None
    determiner = rng.choice(["der", *FEW] if plural else ["der", "ein"])
    return Phrase(determiner, adjective, noun, plural)


def _of_kind(rng, kind, *, but=None):
    """A phrase about a noun of the kind, never about the noun `but`."""
    nouns = [noun for noun in NOUNS if kind in noun.kinds and noun is not but]
    return _phrase(rng, rng.choice(nouns), plural=rng.random() < 0.3)


def _place(rng):
    noun, ways = rng.choice(PLACES)
    return tuple(rng.choice(ways)), _phrase(rng, noun, plural=False)


def _clause(rng, name, *, verbs=VERBS, subject=None, adverbs=0.4, tense=None):
    verb = rng.choice(verbs)
    subject = subject or _of_kind(rng, "person" if verb.objects else "being")
    return Clause(
        name=name,
        verb=verb,
        tense=tense or rng.choice(["present", "present", "past", rng.choice(list(MODALS))]),
        subject=subject,
        objects={case: _of_kind(rng, kind, but=subject.noun) for case, kind in verb.objects},
        time=rng.choice(TIMES) if rng.random() < adverbs else None,
        place=_place(rng) if rng.random() < adverbs else None,
    )


def _front(rng, clause):
    """What stands before the verb: the subject, an adverbial, or an object that its case gives away."""
    fronts = ["subject"] + ["time"] * bool(clause.time) + ["place"] * bool(clause.place)
    acc = clause.objects.get("acc")
    if acc and acc.determiner == "der" and acc.noun.gender == "m" and not acc.plural:
        fronts.append("acc")
    return rng.choice(fronts)


def _scene(rng):
    kind = rng.choice(["simple", "simple", "relative", "after", "before"])
    main = _clause(rng, "main")
    if kind == "relative":
        subject = main.subject
        bare = [verb for verb in VERBS if not verb.objects]
        animal = "animal" in subject.noun.kinds
        inner = _clause(rng, "inner", subject=subject, verbs=bare if animal else VERBS, adverbs=0.2)
        main = main._replace(relative=inner)
    front = _front(rng, main)
    if kind not in ("after", "before"):
        return finish(main.german(front), main.english(time_first=front == "time"))
    return _joined(rng, main, first=kind == "before")


def _joined(rng, main, *, first):
    """A main clause and one with its verb at the end, the latter first or last."""
    german, english = rng.choice(CONJUNCTIONS)
    main, tense = main._replace(time=None), None
    if german == "während":  # two events at once are told in one tense
        main, tense = main._replace(tense="present"), "present"
    other = _clause(rng, "other", tense=tense)
    side = [(german, {"conjunction"}), *other.german()]
    english_side = [(english, {"conjunction"}), *other.english()]
    if not first:
        return finish([*main.german("subject"), COMMA, *side], [*main.english(), *english_side])
    comma = (",", {"comma"})
    return finish([*side, comma, *_verb_first(main)], [*english_side, comma, *main.english()])


def _verb_first(clause):
    """The clause as it goes on after another one has taken the place before the verb."""
    subject = clause.german("subject")
    size = len(clause.subject.german("nom"))
    return [subject[size], *subject[:size], *subject[size + 1 :]]


def finish(german, english):
    """Two tagged sentences -> Scene: full stops, capitals, links."""
    german, english = ([*words, (".", {"stop"})] for words in (german, english))
    links = frozenset(
        (i, j) for i, (_, e) in enumerate(english) for j, (_, g) in enumerate(german) if e & g
    )
    texts = (" ".join(word for word, _ in words) for words in (german, english))
    texts = [text[0].upper() + text[1:].replace(" ,", ",").replace(" .", ".") for text in texts]
    return Scene(*texts, links)
