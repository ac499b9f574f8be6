"""How random scenes are drawn, the same ones for the same seed."""

import random

from attn_course.translation.grammar import COMMA, FEW, Clause, Phrase, ToldScene, Words
from attn_course.translation.lexicon import (
    ADJECTIVES,
    CONJUNCTIONS,
    MODALS,
    NOUNS,
    PLACES,
    TIMES,
    VERBS,
)

KINDS = ("simple", "simple", "relative", "after", "before")


def draw(num_scenes: int, seed: int) -> list[ToldScene]:
    """A list of different Scenes."""
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
    """Two tagged sentences -> ToldScene: full stops, capitals, links."""
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
