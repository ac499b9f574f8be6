"""The invented scenes: agreement over the whole lexicon, word order, gold links."""

import itertools
import re

import pytest

from attn_course.translation.corpora import embedded
from attn_course.translation.lexicon import ADJECTIVES, NOUNS, PLACES, VERBS
from attn_course.translation.scenes import FEW, Clause, Phrase, decline, draw, finish

ALL_NOUNS = NOUNS + [noun for noun, _ in PLACES]
SCENES = draw(1500, seed=5)
# The mark of case, number and gender that exactly one word of a noun phrase has to carry.
MARK = {
    "nom": {"m": "r", "f": "e", "n": "s", "plural": "e"},
    "acc": {"m": "n", "f": "e", "n": "s", "plural": "e"},
    "dat": {"m": "m", "f": "r", "n": "m", "plural": "n"},
}


def words(text):
    """Words and punctuation marks, as the gold links count them."""
    return re.findall(r"\w+|[.,]", text)


def noun(german):
    return next(noun for noun in ALL_NOUNS if noun.german == german)


def verb(infinitive, particle=""):
    return next(v for v in VERBS if (v.infinitive, v.particle) == (infinitive, particle))


@pytest.mark.parametrize("case", ["nom", "acc", "dat"])
def test_case_and_gender_are_marked_once_in_every_phrase(case):
    determiners = [("der", False), ("der", True), ("ein", False), *((few, True) for few in FEW)]
    for one, (determiner, plural) in itertools.product(ALL_NOUNS, determiners):
        mark = MARK[case]["plural" if plural else one.gender]
        for row in ADJECTIVES:
            first, adjective, _ = Phrase(determiner, row, one, plural).german(case)
            ending = adjective.removeprefix(row[0])
            bare = first in FEW or first == "ein"  # these say nothing of case: the adjective must
            if bare:
                assert ending == "e" + mark.replace("e", "") or ending == mark
            else:
                assert first[-1] == mark
                weak = (not plural and case == "nom") or (
                    case == "acc" and one.gender in "fn" and not plural
                )
                assert ending == ("e" if weak else "en")


def test_every_dative_plural_ends_in_n_or_is_a_foreign_plural_in_s():
    for one in ALL_NOUNS:
        assert decline(one, "dat", True)[-1] == ("s" if one.plural.endswith("s") else "n")


def test_weak_masculines_and_only_they_change_in_the_singular():
    weak = {one.german: decline(one, "dat", False) for one in ALL_NOUNS if one.weak}
    assert weak == {
        "Junge": "Jungen",
        "Student": "Studenten",
        "Nachbar": "Nachbarn",
        "Affe": "Affen",
    }
    for one in ALL_NOUNS:
        assert one.weak == "" or one.gender == "m"
        assert decline(one, "nom", False) == one.german


def test_endings_of_nouns_agree_with_their_gender():
    for one in ALL_NOUNS:
        if one.german.endswith(("in", "ung")):
            assert one.gender == "f"
        if one.german.endswith("chen") and one.german not in ("Kuchen",):
            assert one.gender == "n"
        if one.german.endswith("e") and not one.weak:
            assert one.gender == "f"
        if one.german.endswith("er") and "e" in one.german[:-2] + "e" and one.german != "Fenster":
            assert one.gender in "mf"


def test_participles_show_their_particle():
    for one in VERBS:
        inseparable = one.infinitive.startswith(("be", "ver", "er")) and not one.particle
        start = one.particle if inseparable else one.particle + "ge"
        assert one.participle.startswith(start), one
        assert one.participle.endswith(("t", "en")) and one.singular.endswith("t"), one


def test_every_english_article_fits_the_next_word():
    for scene in SCENES:
        for article, follower in itertools.pairwise(words(scene.english.lower())):
            if article in ("a", "an"):
                assert (article == "an") == (follower[0] in "aeiou"), scene.english


def phrase(german, *, determiner="der", plural=False, adjective=None):
    row = next((row for row in ADJECTIVES if row[0] == adjective), None)
    return Phrase(determiner, row, noun(german), plural)


def event(tense="present", **changes):
    parts = {"subject": phrase("Mann"), "objects": {"acc": phrase("Ball", adjective="rot")}}
    parts |= {"time": [("heute", "today")], "place": (("in", "in"), phrase("Park"))}
    return Clause("main", verb("heben", "auf"), tense, **(parts | changes))


@pytest.mark.parametrize(
    ("tense", "front", "german", "english"),
    [
        (
            "present",
            "subject",
            "Der Mann hebt heute im Park den roten Ball auf.",
            "The man is picking up the red ball in the park today.",
        ),
        (
            "present",
            "time",
            "Heute hebt der Mann im Park den roten Ball auf.",
            "Today the man is picking up the red ball in the park.",
        ),
        (
            "past",
            "acc",
            "Den roten Ball hat der Mann heute im Park aufgehoben.",
            "The man picked up the red ball in the park today.",
        ),
        (
            "wollen",
            "place",
            "Im Park will der Mann heute den roten Ball aufheben.",
            "The man wants to pick up the red ball in the park today.",
        ),
    ],
)
def test_the_finite_verb_is_second_and_the_rest_of_it_last(tense, front, german, english):
    clause = event(tense)
    scene = finish(clause.german(front), clause.english(time_first=front == "time"))
    assert (scene.german, scene.english) == (german, english)


@pytest.mark.parametrize(
    ("tense", "ending"),
    [("present", "aufhebt"), ("past", "aufgehoben hat"), ("können", "aufheben kann")],
)
def test_the_verb_ends_a_subordinate_clause(tense, ending):
    assert finish(event(tense).german(), event(tense).english()).german.endswith(ending + ".")


def test_a_relative_pronoun_agrees_with_its_noun():
    for german, pronoun in [("Mann", "der"), ("Frau", "die"), ("Mädchen", "das")]:
        inner = event(subject=phrase(german), time=None, place=None)._replace(name="inner")
        clause = event(subject=phrase(german), relative=inner)
        text = finish(clause.german("subject"), clause.english()).german
        assert f"{german}, {pronoun} den roten Ball aufhebt, hebt heute" in text


def test_links_join_words_that_mean_the_same():
    clause = event()
    scene = finish(clause.german("time"), clause.english(time_first=True))
    german, english = words(scene.german), words(scene.english)
    pairs = {(english[i], german[j]) for i, j in scene.links}
    assert pairs == {
        *[("Today", "Heute"), ("the", "der"), ("man", "Mann"), ("is", "hebt"), ("picking", "hebt")],
        *[("up", "auf"), ("the", "den"), ("red", "roten"), ("ball", "Ball"), ("in", "im")],
        *[("the", "im"), ("park", "Park"), (".", ".")],
    }


def test_every_word_is_linked_but_some_german_commas():
    for scene in SCENES:
        german, english = words(scene.german), words(scene.english)
        assert {i for i, _ in scene.links} == set(range(len(english))), scene
        linked = {j for _, j in scene.links}
        assert all(word == "," for j, word in enumerate(german) if j not in linked), scene


def test_word_order_differs_in_most_scenes():
    def crosses(scene):
        return any(a < c and b > d for (a, b), (c, d) in itertools.permutations(scene.links, 2))

    assert sum(map(crosses, SCENES[:300])) > 150


def test_the_same_seed_draws_the_same_scenes():
    assert draw(50, seed=5) == SCENES[:50]


def test_no_sentence_is_in_two_splits():
    corpus = embedded(num_train=300, num_val=50, num_test=50)
    sources = [german for split in corpus[:3] for german, _ in split]
    assert len(set(sources)) == 400 and len(corpus.links) == 50
